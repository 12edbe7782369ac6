"""Exact statements about F-PPO: its proposition, and what its distances see."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longfair.arrays import FloatArray
from longfair.envs.lending import LendingParams
from longfair.metrics.distances import cloud_distance, score_distance, sorted_count_distance
from longfair.metrics.sinkhorn import sinkhorn_distance
from longfair.runs.claims import CheckResult

SCORES = 7
DRAWS = 2000
ROUNDING = 1e-9
REPAY = np.array(LendingParams.fppo().repay_probability)
INITIAL = np.array(LendingParams.fppo().initial_distribution)


def proposition_1() -> CheckResult:
    """Proposition 1: a Lipschitz classifier's gaps are bounded by the 1-Wasserstein distance.

    With acceptance h and chance to be qualified g, both Lipschitz in the score, the gap of
    acceptance is at most l_h d, and that of true positive rates at most (l_h + l_g) d over P(y),
    where P(y) is the share of the qualified, the same in both groups. The proof needs that last
    condition; here groups are drawn so that it holds to rounding.

    Returns
    -------
    CheckResult
        Computed: the largest shares of both bounds that were used.
    """
    rng = np.random.default_rng(2401)
    parity, opportunity = [], []
    for _ in range(DRAWS):
        accept, qualified = rng.random((2, SCORES))
        first, second = _same_share_qualified(qualified, rng)
        distance = float(score_distance(first, second))
        steep = (np.abs(np.diff(accept)).max(), np.abs(np.diff(qualified)).max())
        share = float(first @ qualified)
        parity.append(abs((first - second) @ accept) / (steep[0] * distance))
        gap = abs((first - second) @ (accept * qualified)) / share
        opportunity.append(gap / (sum(steep) * distance / share))
    computed = {
        "largest_parity": float(max(parity)),
        "largest_opportunity": float(max(opportunity)),
    }
    detail = (
        f"On {DRAWS} random classifiers on {SCORES} scores the gap of acceptance reaches "
        f"{computed['largest_parity']:.3f} of its bound, that of true positive rates "
        f"{computed['largest_opportunity']:.3f}."
    )
    passed = max(computed.values()) <= 1.0 + ROUNDING
    return CheckResult(passed, computed, detail, instances=DRAWS)


def vacuous_bound() -> CheckResult:
    """Where the bounds say nothing: the lenders that one meets in lending are steep.

    A lender who refuses below a score and accepts from it on has a Lipschitz constant of 1 per
    score. At the start of lending the distance of the groups is one score, so both bounds are at
    least 1, which every gap of two rates obeys.

    Returns
    -------
    CheckResult
        Computed: distance, the smaller of the bounds over all thresholds, the largest true gap.
    """
    thresholds = np.arange(SCORES) >= np.arange(1, SCORES)[:, None]
    bounds, gaps = bounds_and_gaps(thresholds.astype(np.float64))
    distance = float(score_distance(*INITIAL))
    computed = {
        "distance": distance,
        "smallest_bound": float(bounds.min()),
        "largest_gap": float(gaps[:, 1].max()),
    }
    detail = (
        f"At the start of lending the distance is {distance:g}, so that both bounds are at least "
        f"{computed['smallest_bound']:.2f} for every threshold; the largest gap of true positive "
        f"rates there is {computed['largest_gap']:.2f}."
    )
    passed = bool((bounds >= np.maximum(gaps, 1.0) - ROUNDING).all())
    return CheckResult(passed, computed, detail, instances=len(thresholds))


def bounds_and_gaps(accept: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the proposition's bounds and the true gaps at the start of lending.

    Parameters
    ----------
    accept
        (L, K): chance of L lenders to accept an applicant of each of K scores.

    Returns
    -------
    bounds, gaps : numpy.ndarray
        (L, 2) each: of the rates of acceptance, and of the true positive rates. The bound on the
        latter is taken with the larger of the groups' shares of the qualified.
    """
    steep = np.abs(np.diff(accept)).max(axis=1)
    share = (INITIAL @ REPAY).max()
    steeper = steep + np.abs(np.diff(REPAY)).max()
    bounds = np.stack([steep, steeper / share], axis=1) * score_distance(*INITIAL)
    qualified = INITIAL * REPAY
    rates = accept @ INITIAL.T, accept @ qualified.T / qualified.sum(axis=1)
    gaps = np.stack([np.abs(np.subtract(*rate.T)) for rate in rates], axis=1)
    return bounds, gaps


def blind_training() -> CheckResult:
    """Show that what the code calls long-term fairness cannot see the initial gap of lending.

    It takes the counts of the scores for samples, in any order. The two initial distributions are
    permutations of each other, so of expected counts the distance is 0. Of windows of 300 drawn
    applicants it is the same noise as of two groups that are alike.

    Returns
    -------
    CheckResult
        Computed: distance of the expected counts; means over drawn windows with the initial gap
        and without any; 1-Wasserstein distance of the initial distributions.
    """
    rng = np.random.default_rng(300)
    alike = np.stack([INITIAL[0], INITIAL[0]])
    with_gap, without = (training_distances(pair, rng) for pair in (INITIAL, alike))
    computed = {
        "expected": float(sinkhorn_distance(*(150.0 * INITIAL))),
        "with_gap": float(with_gap.mean()),
        "without_gap": float(without.mean()),
        "true_distance": float(score_distance(*INITIAL)),
    }
    difference = abs(computed["with_gap"] - computed["without_gap"])
    detail = (
        f"The groups' scores are {computed['true_distance']:g} apart. Of expected counts the "
        f"code's distance is {computed['expected']:g}; of {DRAWS} drawn windows it is "
        f"{computed['with_gap']:.2f} on average, and {computed['without_gap']:.2f} without any gap."
    )
    # A third of the deviation of a single window is out of reach of any regulariser's sight.
    passed = computed["expected"] < ROUNDING and difference < float(without.std()) / 3.0
    return CheckResult(passed, computed, detail, instances=DRAWS)


def plotted_distances() -> CheckResult:
    """Show that the plotted distances are not those of the proposition, at known states.

    Returns
    -------
    CheckResult
        Computed: of lending's start, the plotted and the true distance; of an epidemic in which
        everybody is infected, the same.
    """
    clouds = (np.tile(row, (10, 1)) for row in INITIAL)
    sizes = np.array([[0.0, 15.0, 0.0], [0.0, 19.0, 0.0]])
    shares = sizes / sizes.sum(axis=1, keepdims=True)
    computed = {
        "lending_plotted": cloud_distance(*clouds),
        "lending_true": float(score_distance(*INITIAL)),
        "epidemic_plotted": cloud_distance(sizes[:1], sizes[1:]),
        "epidemic_true": float(0.5 * np.abs(shares[0] - shares[1]).sum()),
    }
    detail = (
        f"At the start of lending {computed['lending_plotted']:.3f} is plotted where the "
        f"1-Wasserstein distance is {computed['lending_true']:g} scores; in an epidemic with "
        f"everybody infected {computed['epidemic_plotted']:g} is plotted where it is "
        f"{computed['epidemic_true']:g}."
    )
    passed = (
        abs(computed["lending_plotted"] - computed["lending_true"]) > 0.5
        and computed["epidemic_plotted"] > 3.0
        and computed["epidemic_true"] < ROUNDING
    )
    return CheckResult(passed, computed, detail, instances=2)


def _same_share_qualified(
    qualified: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw two distributions over scores with the same expected qualification.

    The second is a mixture of two draws, one on each side of the first's.
    """
    while True:
        first, low, high = rng.dirichlet(np.ones(SCORES), size=3)
        wanted, below, above = first @ qualified, low @ qualified, high @ qualified
        if min(below, above) < wanted < max(below, above):
            part = (wanted - below) / (above - below)
            return first, (1.0 - part) * low + part * high


def training_distances(distributions: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return what the code's training calls a distance, for drawn windows of 300 applicants.

    Parameters
    ----------
    distributions
        (2, K): probabilities of the K scores in both groups.
    rng
        Where applicants come from; each belongs to either group with probability one half.

    Returns
    -------
    numpy.ndarray
        (DRAWS,), in people per score.
    """
    return sinkhorn_distance(*_windows(distributions, rng))


def effect_of_smoothing(rng: np.random.Generator) -> pd.DataFrame:
    """Compare the code's distance with its exact limit, for windows of 300 applicants.

    Parameters
    ----------
    rng
        Where applicants come from, who are as at the start of lending.

    Returns
    -------
    pandas.DataFrame
        Index distance: its mean; the shares of windows in which it is off the exact one by more
        than 8 % and by more than 14 %; and the share of steps, in which the oldest applicant leaves
        the window and another one enters, that leave it as it was.
    """
    rest = _windows(INITIAL, rng, 299)
    before, after = (rest + _windows(INITIAL, rng, 1) for _ in range(2))
    exact = sorted_count_distance(*before)
    rows = {}
    for name, distance in {
        "smoothed, as in the code": sinkhorn_distance,
        "exact, of sorted counts": sorted_count_distance,
    }.items():
        held, reached = distance(*before), distance(*after)
        unchanged = np.abs(reached - held) < ROUNDING
        off = np.abs(held - exact)
        rows[name] = {
            "mean": held.mean(),
            **{f"off by over {part:.0%}": (off > part * exact).mean() for part in (0.08, 0.14)},
            "unchanged after a step": unchanged.mean(),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("distance between counts")


def _windows(
    distributions: FloatArray, rng: np.random.Generator, applicants: int = 300
) -> NDArray[np.int64]:
    """Draw counts (2, DRAWS, K) of the applicants' scores, by group."""
    members = rng.binomial(applicants, 0.5, size=DRAWS)
    return np.stack(
        [
            rng.multinomial(members, distributions[0]),
            rng.multinomial(applicants - members, distributions[1]),
        ]
    )
