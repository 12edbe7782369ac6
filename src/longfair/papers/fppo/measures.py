"""What F-PPO's evaluation reports: curves over the steps of an evaluation, and their summaries.

Rows of phase `curve` whose metric begins with `at_` are over the steps of an evaluation of the last
policy: their `step` is the number of steps made in the episode, and a window of a rule is a part of
the episode. `training_gap` and `training_gap_deviation` are over training steps (Figure 2).

In every world there are the figure's own metrics and the distance that the text speaks of:

- `at_short_term_gap`: lending, mean true positive rates of the last 300 applicants, averaged over
  ten episodes before the gap is taken, as in the figure; attention, shares since the start;
  epidemic, vaccines over new infections since the start. `at_short_term_gap_each`: the gap is
  taken in every episode, and in attention over the last 300 steps.
- `at_long_term_gap`: lending and epidemic, exact transport between the clouds of the groups' states
  in as many episodes as the figure is drawn from; attention, largest deviation of a rate from the
  mean. `at_distance`: true 1-Wasserstein distance of the groups, in scores; in the epidemic,
  between shares of health states, any two 1 apart; in attention, of the sites' shares of all
  incident rates from equal shares, any two sites 1 apart.
- `at_reward`: mean reward per step, attention smoothed over time. In lending `at_cash`, and once
  `late_peak`, the highest short-term gap after 300 steps. In attention `swing`, how far the
  long-term gap of ten episodes swings over time.

What is drawn from several episodes is computed from batches of as many as the authors had, and
averaged over the batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.metrics.distances import cloud_distance, score_distance
from longfair.metrics.windows import windowed_gap, windowed_rates, windowed_share_deviation
from longfair.papers.protocol import Evaluation
from longfair.runs.experiment import protocol
from longfair.runs.tables import rows

Recorded = Mapping[str, FloatArray]
Curves = dict[str, tuple[NDArray[np.int64], FloatArray]]
"""Metric to the steps (S,) at which it is told, and its values (S,)."""
OfEpisodes = Callable[[Recorded], Curves]
"""Makes curves of what `recorded` keeps."""

WINDOW = 300
LENDING_EPISODES, ATTENTION_EPISODES, EPIDEMIC_EPISODES = 10, 10, 200
"""Episodes behind a point of the authors' figures."""

SMOOTHING = 10.0
"""Standard deviation, in steps, of the Gaussian that smooths the reward of Figure 3c."""

TOLD = 100
"""About how many moments of an episode are told; states are those before a step."""


@protocol("fppo-lending")
def lending(evaluation: Evaluation) -> pd.DataFrame:
    """Report an evaluation in lending."""
    return _reported(evaluation, ("supply", "demand", "cash"), lending_curves)


@protocol("fppo-attention")
def attention(evaluation: Evaluation) -> pd.DataFrame:
    """Report an evaluation in attention allocation."""
    return _reported(evaluation, ("allocation",), attention_curves)


@protocol("fppo-epidemic")
def epidemic(evaluation: Evaluation) -> pd.DataFrame:
    """Report an evaluation in epidemic control."""
    return _reported(evaluation, ("supply", "demand", "health_counts"), epidemic_curves)


def lending_curves(played: Recorded) -> Curves:
    """Return the curves of Figure 1."""
    supply, demand = played["supply"], played["demand"]
    steps = np.arange(1, len(supply) + 1)
    rates = windowed_rates(supply, demand, WINDOW)
    of_mean = _batches(rates, LENDING_EPISODES).mean(axis=2)
    gap = np.ptp(of_mean, axis=2).mean(axis=1)
    each = windowed_gap(supply, demand, WINDOW).mean(axis=1)
    told, states = moments(len(steps)), played["group_state"]
    before = told[:-1]
    return {
        "at_short_term_gap": _at(told, gap),
        "at_short_term_gap_each": _at(told, each),
        "at_long_term_gap": (before, _cloud_distances(states[before], LENDING_EPISODES)),
        "at_distance": (
            before,
            score_distance(states[before, :, 0], states[before, :, 1]).mean(axis=1),
        ),
        "at_cash": _at(told, played["cash"].mean(axis=1)),
        "at_reward": _at(told, played["reward"].mean(axis=1)),
        "late_peak": (steps[-1:], gap[min(WINDOW, len(gap) // 2) :].max(keepdims=True)),
    }


def attention_curves(played: Recorded) -> Curves:
    """Return the curves of Figure 3."""
    units, rates = played["allocation"], played["group_state"][..., 0]
    told = moments(len(units))
    before = told[:-1]
    reward = gaussian_filter1d(played["reward"].mean(axis=1), SMOOTHING)
    total = rates.sum(axis=2, keepdims=True)
    shares = rates / np.where(total > 0, total, 1.0)
    unequal = 0.5 * np.abs(shares - 1.0 / rates.shape[2]).sum(axis=2) * (total[..., 0] > 0)
    deviation = np.abs(rates - rates.mean(axis=2, keepdims=True)).max(axis=2)
    whole, last = (windowed_share_deviation(units, w).mean(axis=1) for w in (len(units), WINDOW))
    return {
        "at_short_term_gap": _at(told, whole),
        "at_short_term_gap_each": _at(told, last),
        "at_long_term_gap": (before, deviation.mean(axis=1)[before]),
        "at_distance": (before, unequal.mean(axis=1)[before]),
        "at_rates": (before, rates.mean(axis=(1, 2))[before]),
        "at_reward": _at(told, reward),
        "swing": (told[-1:], _swing(deviation)),
    }


def epidemic_curves(played: Recorded) -> Curves:
    """Return the curves of Figure 4."""
    supply, demand = played["supply"], played["demand"]
    told = moments(len(supply))
    before = told[:-1]
    gap = windowed_gap(supply, demand, len(supply), offset=1.0).mean(axis=1)
    counts, shares = played["health_counts"], played["group_state"]
    distance = 0.5 * np.abs(shares[:, :, 0] - shares[:, :, 1]).sum(axis=2)
    return {
        "at_short_term_gap": _at(told, gap),
        "at_long_term_gap": (before, _cloud_distances(counts[before], EPIDEMIC_EPISODES)),
        "at_distance": (before, distance.mean(axis=1)[before]),
        "at_reward": _at(told, played["reward"].mean(axis=1)),
    }


def moments(steps: int) -> NDArray[np.int64]:
    """Return the steps made at the moments that are told, 0 and the last among them."""
    return np.unique(np.linspace(0, steps, min(steps, TOLD) + 1).astype(np.int64))


def _at(told: NDArray[np.int64], values: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Tell values (T,) that stand after a step has been made."""
    after = told[told > 0]
    return after, values[after - 1]


def _batches(values: FloatArray, size: int) -> FloatArray:
    """Split copies, the second axis of values, into batches: (T, batches, size, ...)."""
    steps, copies, *rest = values.shape
    size = min(size, copies)
    count = copies // size
    return values[:, : count * size].reshape(steps, count, size, *rest)


def _swing(values: FloatArray) -> FloatArray:
    """Return (1,): how far the mean of ten episodes swings over the last four fifths of the steps.

    That is the standard deviation over the steps of values (T, N), averaged over batches.
    """
    late = values[len(values) // 5 :]
    swings = _batches(late, ATTENTION_EPISODES).mean(axis=2).std(axis=0)
    return np.array([swings.mean()])


def _cloud_distances(states: FloatArray, size: int) -> FloatArray:
    """Return the mean distance (S,) of the two groups' clouds in batches of episodes.

    Parameters
    ----------
    states
        (S, N, 2, K).
    size
        Episodes of a cloud.
    """
    batches = _batches(states, size)
    distances: FloatArray = np.array(
        [[cloud_distance(c[:, 0], c[:, 1]) for c in moment] for moment in batches]
    )
    means: FloatArray = distances.mean(axis=1)
    return means


def _reported(evaluation: Evaluation, keys: tuple[str, ...], curves: OfEpisodes) -> pd.DataFrame:
    """Play the last policy, and arrange curves and their summaries as a result table.

    Where the policy also plays with its strategy's interventions, metrics of that begin with
    `massaged_`, and those that begin with `massaging_` are by how much it differs.
    """
    trained = evaluation.snapshots.steps[-1]
    told = curves(recorded(evaluation, keys, 0))
    final = summaries(told)
    if len(evaluation.snapshots.steps) > 1:
        massaged = curves(recorded(evaluation, keys, 1, massaging=True))
        found = summaries(massaged)
        told |= {f"massaged_{metric}": curve for metric, curve in massaged.items()}
        differences = {f"massaging_{name}": found[name] - final[name] for name in found}
        final |= {f"massaged_{name}": value for name, value in found.items()} | differences
    for gaps in evaluation.snapshots.policies:
        told["training_gap"] = np.array(gaps.steps), np.array(gaps.means)
        told["training_gap_deviation"] = np.array(gaps.steps), np.array(gaps.deviations)
    frames = [rows("curve", steps, metric, values) for metric, (steps, values) in told.items()]
    frames += [rows("final", [trained], metric, [value]) for metric, value in final.items()]
    return pd.concat([frame for frame in frames if len(frame)], ignore_index=True)


def summaries(curves: Curves) -> dict[str, float]:
    """Sum up curves over the steps of an evaluation.

    Returns
    -------
    dict of str to float
        Of every curve, without its `at_`, the mean; `late_...`, the mean over the last four fifths;
        `end_...`, the last value; `change_...`, the last value less that after a fifth of the
        episode. And what a curve tells once.
    """
    found = {}
    for metric, (steps, values) in curves.items():
        name = metric.removeprefix("at_")
        found[name] = float(values.mean())
        if name != metric:
            late = values[steps >= 0.2 * steps[-1]]
            found[f"late_{name}"] = float(late.mean())
            found[f"end_{name}"] = float(values[-1])
            found[f"change_{name}"] = float(values[-1] - late[0])
    return found


def recorded(
    evaluation: Evaluation, keys: tuple[str, ...], snapshot: int, *, massaging: bool = False
) -> dict[str, FloatArray]:
    """Play one episode with a snapshot in every copy, and keep what happened.

    All snapshots of a run meet the same draws. Only massaging reads the gaps that wrappers tell.

    Returns
    -------
    dict of str to numpy.ndarray
        `reward` (T, N) and facts (T, N, ...) of the steps. `group_state`, and other keys that tell
        a moment, have T + 1 rows: before every step, and at the end.
    """
    episodes = evaluation.setting.evaluating.final_episodes
    act, env, seed = evaluation.ready([snapshot], episodes, "final", told=massaging)
    observation, info = env.reset(seed=seed)
    moment = [key for key in ("group_state", *keys) if key in info]
    kept: dict[str, list[Any]] = {key: [info[key]] for key in moment}
    kept |= {key: [] for key in keys if key not in moment} | {"reward": []}
    ended = np.zeros(episodes, np.bool_)
    while not ended.any():
        observation, reward, terminated, truncated, info = env.step(act(observation, info))
        ended = terminated | truncated
        reached = info["final_info"] if ended.any() else info
        for key, seen in kept.items():
            seen.append(reward if key == "reward" else (reached if key in moment else info)[key])
    if not ended.all():
        raise UsageError("episodes of different lengths: curves over steps need equal ones")
    return {key: np.stack(seen) for key, seen in kept.items()}
