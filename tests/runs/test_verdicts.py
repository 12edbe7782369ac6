from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from longfair.errors import UsageError
from longfair.runs import statistics, verdicts
from longfair.runs.claims import CheckResult, Claim, Reported
from longfair.runs.rules.about_equal import AboutEqualRule
from longfair.runs.rules.conjunction import AllRule
from longfair.runs.rules.dominance import DominatesRule
from longfair.runs.rules.exact import ExactRule
from longfair.runs.rules.gain import (
    AtLeastRule,
    DifferenceRule,
    HighestRule,
    LowestRule,
    ReductionRule,
    Target,
    of_effect,
)
from longfair.runs.rules.level import BoundRule, ValueRule
from longfair.runs.rules.rule import (
    AtBest,
    AtWorst,
    Guarded,
    Limited,
    Quantity,
    Rule,
    methods_of,
)
from longfair.runs.rules.share import ShareRule
from longfair.runs.rules.ties import TiesRule
from longfair.runs.rules.words import FROM_WEAK_TO_STRONG, weakest
from longfair.runs.smoothing import Smoothing
from longfair.runs.store import Store, no_results
from longfair.runs.verdicts import Verdict, judge, judge_all, judge_by_settings
from longfair.wording import certainty

BIAS = Quantity({"": "bias"})
SPREAD = np.array([-0.012, -0.006, 0.0, 0.006, 0.012])


def rows(
    method: str,
    values: Sequence[float],
    *,
    variant: str = "as_coded",
    metric: str = "bias",
    phase: str = "final",
    step: int = 100,
    group: int = -1,
    first_seed: int = 0,
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "method": method,
            "variant": variant,
            "seed": np.arange(first_seed, first_seed + len(values)),
            "phase": phase,
            "step": step,
            "metric": metric,
            "group": group,
            "value": np.asarray(values, dtype=np.float64),
        }
    )


def claim_of(
    rule: Rule,
    seeds: int = 5,
    variants: tuple[str, ...] = ("as_coded",),
    measures: tuple[str, ...] = ("",),
) -> Claim:
    return Claim(
        id="toy-1",
        paper="toy",
        asked="paper",
        source="Figure 1",
        statement="It is so.",
        rule=rule,
        variants=variants,
        measures=dict.fromkeys(variants, measures),
        experiment="toy/lending",
        seeds=seeds,
        reported=Reported(0.1, "text"),
    )


def verdict_of(rule: Rule, *tables: pd.DataFrame, seeds: int = 5) -> Verdict:
    results = pd.concat(tables, ignore_index=True) if tables else no_results()
    (verdict,) = judge(claim_of(rule, seeds), results, profile="book")
    return verdict


def lowest(*others: str, margin: float = 0.0, among: Any = "all") -> LowestRule:
    return LowestRule(BIAS, "fair", others or ("greedy",), among, margin)


def test_steps_are_those_of_training() -> None:
    """A curve may go over the steps of an evaluation, or over states."""
    tables = (
        rows("fair", 0.1 + SPREAD, step=0),
        rows("fair", 0.1 + SPREAD, step=255, phase="curve", metric="at_bias"),
    )
    assert verdict_of(BoundRule(BIAS, "fair", high=0.5), *tables).steps == 0


# --- the words, as functions of an interval ---------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.9, 1.1, "reproduced"),
        (1.0, 1.0, "reproduced"),
        (0.75, 1.25, "reproduced"),
        (0.74, 1.2, "inconclusive"),
        (0.8, 1.26, "inconclusive"),
        (0.5, 2.0, "inconclusive"),
        (0.5, 0.75, "inconclusive"),
        (1.25, 1.5, "inconclusive"),
        (0.5, 0.74, "not reproduced"),
        (1.26, 1.3, "not reproduced"),
    ],
)
def test_words_for_a_value(low: float, high: float, word: str) -> None:
    assert ValueRule(BIAS, "fair", target=1.0, tolerance=0.25).word(low, high) == word


@pytest.mark.parametrize(
    ("low", "high", "size", "word"),
    [
        (0.1, 0.2, 0.0, "reproduced"),
        (0.0, 0.2, 0.0, "inconclusive"),
        (-0.1, 0.2, 0.0, "inconclusive"),
        (0.0, 0.0, 0.0, "not reproduced"),
        (-0.1, 0.0, 0.0, "not reproduced"),
        (-0.2, -0.1, 0.0, "contradicted"),
        (0.5, 0.9, 0.5, "reproduced"),
        (0.4, 0.9, 0.5, "direction only"),
        (0.1, 0.4, 0.5, "direction only"),
        (0.0, 0.4, 0.5, "not reproduced"),
        (-0.1, 0.4, 0.5, "not reproduced"),
        (-0.1, 0.5, 0.5, "inconclusive"),
        (-0.2, -0.1, 0.5, "contradicted"),
    ],
)
def test_words_for_an_effect(low: float, high: float, size: float, word: str) -> None:
    assert of_effect(low, high, size) == word
    assert lowest(margin=size).word(low, high) == word
    assert HighestRule(BIAS, "fair", ("greedy",), "all", size).word(low, high) == word
    assert ReductionRule(BIAS, "fair", ("greedy",), "all", size).word(low, high) == word


@pytest.mark.parametrize(
    ("low", "high", "target", "word"),
    [
        (0.8, 0.95, 0.875, "reproduced"),
        (0.775, 0.975, 0.875, "reproduced"),
        (0.77, 0.95, 0.875, "direction only"),
        (0.98, 0.99, 0.875, "direction only"),
        (0.1, 0.2, 0.875, "direction only"),
        (0.0, 0.7, 0.875, "not reproduced"),
        (0.0, 0.8, 0.875, "inconclusive"),
        (-1.0, 2.0, 0.875, "inconclusive"),
        (-0.2, -0.1, 0.875, "contradicted"),
        (-0.95, -0.8, -0.875, "reproduced"),
        (-0.2, -0.1, -0.875, "direction only"),
        (0.1, 0.2, -0.875, "contradicted"),
    ],
)
def test_words_for_a_size_from_both_sides(
    low: float, high: float, target: float, word: str
) -> None:
    size = Target(target, 0.1)
    assert size.word(low, high) == word
    assert ReductionRule(BIAS, "fair", ("greedy",), "all", size).word(low, high) == word
    assert DifferenceRule(BIAS, "fair", ("greedy",), "all", size).word(low, high) == word


@pytest.mark.parametrize(
    ("low", "high", "margin", "word"),
    [
        (0.0, 0.1, 0.0, "reproduced"),
        (0.0, 0.0, 0.0, "reproduced"),
        (-0.1, 0.1, 0.0, "inconclusive"),
        (-0.1, 0.0, 0.0, "inconclusive"),
        (-0.2, -0.1, 0.0, "contradicted"),
        (-0.1, 0.1, 0.1, "reproduced"),
        (-0.2, -0.1, 0.1, "inconclusive"),
        (-0.3, -0.2, 0.1, "contradicted"),
    ],
)
def test_words_for_no_loss(low: float, high: float, margin: float, word: str) -> None:
    assert AtLeastRule(BIAS, "fair", ("greedy",), "all", margin).word(low, high) == word


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.1, 0.2, "reproduced"),
        (-0.5, 1.0, "reproduced"),
        (-0.51, 0.2, "inconclusive"),
        (0.2, 1.1, "inconclusive"),
        (-2.0, 2.0, "inconclusive"),
        (1.0, 1.5, "inconclusive"),
        (1.01, 1.5, "contradicted"),
        (-0.9, -0.51, "contradicted"),
    ],
)
def test_words_for_a_bound(low: float, high: float, word: str) -> None:
    assert BoundRule(BIAS, "fair", -0.5, 1.0).word(low, high) == word


def test_the_weakest_word_decides_a_conjunction() -> None:
    assert weakest(["reproduced", "direction only"]) == "direction only"
    assert weakest(["reproduced", "not attempted", "inconclusive"]) == "not attempted"
    assert weakest(["not attempted", "not reproduced"]) == "not reproduced"
    assert weakest(FROM_WEAK_TO_STRONG) == "contradicted"


# --- rules on tables --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("centre", "word"), [(0.1, "reproduced"), (0.3, "not reproduced"), (0.15, "inconclusive")]
)
def test_a_value_is_judged(centre: float, word: str) -> None:
    verdict = verdict_of(ValueRule(BIAS, "fair", 0.1, 0.05), rows("fair", centre + SPREAD))
    assert verdict.word == word
    assert verdict.estimate == pytest.approx(centre)
    assert verdict.interquartile_mean == pytest.approx(centre)
    assert verdict.interval is not None
    assert verdict.interval[0] < centre < verdict.interval[1]


@pytest.mark.parametrize(
    ("other", "word"),
    [(0.3, "reproduced"), (0.101, "inconclusive"), (0.01, "contradicted")],
)
def test_the_lowest_is_judged(other: float, word: str) -> None:
    uneven = other + SPREAD[[2, 0, 4, 1, 3]]
    verdict = verdict_of(lowest(), rows("fair", 0.1 + SPREAD), rows("greedy", uneven))
    assert verdict.word == word
    assert verdict.estimate == pytest.approx(other - 0.1)


def test_the_highest_is_the_mirror_image() -> None:
    rule = HighestRule(BIAS, "fair", ("greedy",), "all")
    fair, greedy = rows("fair", 0.3 + SPREAD), rows("greedy", 0.1 + SPREAD)
    verdict = verdict_of(rule, fair, greedy)
    assert verdict.word == "reproduced"
    assert verdict.estimate == pytest.approx(0.2)
    assert verdict_of(lowest(), fair, greedy).word == "contradicted"


def test_a_tie_is_not_the_lowest() -> None:
    verdict = verdict_of(lowest(), rows("fair", [0.0] * 5), rows("greedy", [0.0] * 5))
    assert verdict.word == "not reproduced"
    assert verdict.interval == (0.0, 0.0)


def test_comparisons_are_paired_by_seed() -> None:
    noise = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    shuffled = rows("greedy", noise + 0.1 + 0.01 * SPREAD).sample(frac=1, random_state=1)
    verdict = verdict_of(lowest(), rows("fair", noise), shuffled)
    assert verdict.word == "reproduced"
    assert verdict.interval is not None
    assert verdict.interval[1] - verdict.interval[0] < 0.01


def test_every_other_method_must_be_beaten() -> None:
    tables = [rows("fair", 0.1 + SPREAD), rows("greedy", 0.5 + SPREAD), rows("idle", 0.0 + SPREAD)]
    verdict = verdict_of(lowest("greedy", "idle"), *tables)
    assert verdict.word == "contradicted"
    assert verdict.estimate == pytest.approx(-0.1)
    assert "idle" in verdict.detail


def test_a_margin_that_is_missed_leaves_the_direction() -> None:
    tables = [rows("fair", 0.1 + SPREAD), rows("greedy", 0.3 + SPREAD)]
    assert verdict_of(lowest(margin=0.1), *tables).word == "reproduced"
    assert verdict_of(lowest(margin=0.25), *tables).word == "direction only"


@pytest.mark.parametrize(
    ("fair", "threshold", "word"),
    [
        (0.05, 0.75, "reproduced"),
        (0.2, 0.75, "direction only"),
        (0.4, 0.75, "not reproduced"),
        (0.6, 0.75, "contradicted"),
    ],
)
def test_a_reduction_is_judged(fair: float, threshold: float, word: str) -> None:
    rule = ReductionRule(BIAS, "fair", ("greedy",), "all", threshold)
    greedy = rows("greedy", 0.4 + SPREAD[[3, 0, 4, 1, 2]])
    verdict = verdict_of(rule, rows("fair", fair + SPREAD), greedy)
    assert verdict.word == word
    assert verdict.estimate == pytest.approx(1 - fair / 0.4)
    assert verdict.interquartile_mean == pytest.approx(1 - fair / 0.4)


@pytest.mark.parametrize(
    ("fair", "target", "word"),
    [
        (0.05, 0.875, "reproduced"),
        (0.01, 0.875, "direction only"),
        (0.2, 0.875, "direction only"),
        (0.6, 0.875, "contradicted"),
    ],
)
def test_a_reduction_that_is_too_large_is_not_the_one_that_is_claimed(
    fair: float, target: float, word: str
) -> None:
    rule = ReductionRule(BIAS, "fair", ("greedy",), "all", Target(target, 0.05))
    greedy = rows("greedy", 0.4 + SPREAD[[3, 0, 4, 1, 2]])
    verdict = verdict_of(rule, rows("fair", fair + 0.2 * SPREAD), greedy)
    assert verdict.word == word
    assert "claimed 0.875 within 0.05" in verdict.detail


def test_a_difference_of_a_claimed_size_may_be_below_zero() -> None:
    rule = DifferenceRule(BIAS, "fair", ("greedy",), "all", Target(-0.3, 0.1))
    greedy = rows("greedy", 0.4 + SPREAD[[3, 0, 4, 1, 2]])
    verdict = verdict_of(rule, rows("fair", 0.1 + SPREAD), greedy)
    assert verdict.word == "reproduced"
    assert verdict.estimate == pytest.approx(-0.3)
    assert verdict.measured == "bias, fair less greedy"


LOST = [-2.3, -2.2, -2.4, -300.0, -2.1, -2.3, -2.2, -71.0, -2.2, -2.3]


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [(0.02, 0.6, "reproduced"), (0.0, 0.5, "inconclusive"), (0.6, 1.0, "contradicted")],
)
def test_a_share_of_runs_has_the_exact_interval(low: float, high: float, word: str) -> None:
    verdict = verdict_of(ShareRule(BIAS, "fair", None, "below", -50, low, high), rows("fair", LOST))
    assert verdict.word == word
    assert verdict.estimate == 0.2
    # Clopper and Pearson's interval of 2 in 10, from their tables.
    assert verdict.interval == pytest.approx((0.0252, 0.5561), abs=1e-4)
    assert verdict.measured == "share of runs with bias below -50, fair"
    assert "2 of 10 runs of fair have bias below -50" in verdict.detail


def test_a_share_counts_neither_side_at_the_number_itself() -> None:
    above = ShareRule(BIAS, "fair", None, "above", 1.0, 0.0, 1.0)
    assert verdict_of(above, rows("fair", [0.0, 1.0, 1.0, 2.0, 3.0])).estimate == 0.4
    assert verdict_of(above).word == "not attempted"
    assert verdict_of(above, rows("fair", [0.0, 1.0]), seeds=3).word == "inconclusive"


def test_shares_of_two_methods_are_paired_by_seed() -> None:
    rule = ShareRule(BIAS, "fair", "greedy", "below", 0.0, -1.0, 0.0)
    fair, greedy = rows("fair", [1.0] * 10), rows("greedy", [-1.0] * 8 + [1.0] * 2)
    verdict = verdict_of(rule, fair, greedy.sample(frac=1, random_state=1))
    assert verdict.word == "reproduced"
    assert verdict.estimate == pytest.approx(-0.8)
    assert verdict.measured == "share of runs with bias below 0, fair less greedy"
    assert "0 of 10 runs of fair and 8 of 10 runs of greedy" in verdict.detail
    assert verdict_of(rule, fair).missing == ("greedy",)
    assert verdict_of(rule, fair, rows("greedy", [1.0], first_seed=50)).word == "inconclusive"


def test_a_method_that_pays_for_less_bias_with_reward_does_not_dominate() -> None:
    reward = Quantity({"": "reward"})
    rule = DominatesRule(
        (HighestRule(reward, "fair", ("greedy",), "all"), lowest(margin=0.1)),
    )
    bias = [rows("fair", 0.1 + SPREAD), rows("greedy", 0.4 + SPREAD)]

    def judged(level: float) -> str:
        own = rows("fair", level + SPREAD, metric="reward")
        return verdict_of(rule, *bias, own, rows("greedy", 1 + SPREAD, metric="reward")).word

    assert [judged(level) for level in (2.0, 0.5)] == ["reproduced", "contradicted"]


def test_the_smallest_of_several_reductions_counts() -> None:
    rule = ReductionRule(BIAS, "fair", ("greedy", "idle"), "all", 0.75)
    tables = [rows("fair", 0.1 + SPREAD), rows("greedy", 1 + SPREAD), rows("idle", 0.2 + SPREAD)]
    verdict = verdict_of(rule, *tables)
    assert verdict.word == "direction only"
    assert verdict.estimate == pytest.approx(0.5)


def test_nothing_can_be_reduced_from_zero() -> None:
    rule = ReductionRule(BIAS, "fair", ("greedy",), "all", 0.75)
    verdict = verdict_of(rule, rows("fair", 0.1 + SPREAD), rows("greedy", [0.0] * 5))
    assert verdict.word == "inconclusive"
    assert verdict.interval is None
    assert "not positive" in verdict.detail
    almost = rows("greedy", [0.0, 0.0, 0.0, 0.0, 0.1])
    verdict = verdict_of(rule, rows("fair", 0.1 + SPREAD), almost)
    assert verdict.word == "inconclusive"
    assert "undefined" in verdict.detail


@pytest.mark.parametrize(
    ("fair", "margin", "word"),
    [
        (0.5, 0.0, "reproduced"),
        (0.29, 0.1, "reproduced"),
        (0.3, 0.0, "inconclusive"),
        (0.1, 0.1, "contradicted"),
    ],
)
def test_no_loss_is_judged(fair: float, margin: float, word: str) -> None:
    rule = AtLeastRule(BIAS, "fair", ("greedy",), "all", margin)
    greedy = rows("greedy", 0.3 + SPREAD[[3, 0, 4, 1, 2]])
    assert verdict_of(rule, rows("fair", fair + SPREAD), greedy).word == word


def test_exact_equality_is_no_loss() -> None:
    rule = AtLeastRule(BIAS, "fair", ("greedy",), "all")
    same = 0.3 + SPREAD
    assert verdict_of(rule, rows("fair", same), rows("greedy", same)).word == "reproduced"


@pytest.mark.parametrize(
    ("other", "word"),
    [(0.11, "reproduced"), (0.06, "reproduced"), (0.15, "inconclusive"), (0.3, "contradicted")],
)
def test_equivalence_is_judged(other: float, word: str) -> None:
    rule = AboutEqualRule(BIAS, "fair", ("greedy",), "all", 0.05)
    uneven = other + SPREAD[[1, 0, 2, 3, 4]]
    verdict = verdict_of(rule, rows("fair", 0.1 + SPREAD), rows("greedy", uneven))
    assert verdict.word == word
    assert verdict.estimate == pytest.approx(0.1 - other)
    assert verdict.interquartile_mean == pytest.approx(0.1 - other)
    assert verdict.steps == 100


def test_equivalence_is_paired_by_seed_and_needs_a_narrow_interval() -> None:
    rule = AboutEqualRule(BIAS, "fair", ("greedy",), "all", 0.05)
    noise = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    fair, same = rows("fair", noise), rows("greedy", noise + 0.01 * SPREAD)
    assert verdict_of(rule, fair, same.sample(frac=1, random_state=1)).word == "reproduced"
    assert verdict_of(rule, fair, rows("greedy", noise[::-1])).word == "inconclusive"


def test_the_weakest_of_several_equivalences_counts_in_either_direction() -> None:
    rule = AboutEqualRule(BIAS, "fair", ("greedy", "idle", "low"), "all", 0.05)
    fair, near = rows("fair", 0.1 + SPREAD), rows("greedy", 0.11 + SPREAD)
    verdict = verdict_of(rule, fair, near, rows("idle", 0.12 + SPREAD), rows("low", 0 + SPREAD))
    assert verdict.word == "contradicted"
    assert verdict.estimate == pytest.approx(0.1)
    assert "less that of low" in verdict.detail
    assert "claimed within 0.05" in verdict.detail
    verdict = verdict_of(rule, fair, near, rows("idle", 0.08 + SPREAD), rows("low", 0.1 + SPREAD))
    assert verdict.word == "reproduced"
    assert "less that of idle" in verdict.detail


def test_equivalence_names_methods_that_were_not_run() -> None:
    fair, greedy = rows("fair", 0.1 + SPREAD), rows("greedy", 0.1 + SPREAD)
    some = AboutEqualRule(BIAS, "fair", ("greedy", "idle"), "available", 0.05)
    verdict = verdict_of(some, fair, greedy)
    assert verdict.word == "inconclusive"
    assert verdict.missing == ("idle",)
    assert "not compared with idle" in verdict.detail
    every = AboutEqualRule(BIAS, "fair", ("greedy", "idle"), "all", 0.05)
    assert verdict_of(every, fair, greedy).word == "not attempted"
    assert verdict_of(some, fair, greedy, seeds=6).word == "inconclusive"


@pytest.mark.parametrize(
    ("low", "high", "word", "claimed"),
    [
        (-np.inf, 0.2, "reproduced", "claimed at most 0.2"),
        (-np.inf, 0.1, "inconclusive", "claimed at most 0.1"),
        (-np.inf, 0.05, "contradicted", "claimed at most 0.05"),
        (0.05, np.inf, "reproduced", "claimed at least 0.05"),
        (0.2, np.inf, "contradicted", "claimed at least 0.2"),
        (0.05, 0.2, "reproduced", "claimed between 0.05 and 0.2"),
    ],
)
def test_a_bound_is_judged(low: float, high: float, word: str, claimed: str) -> None:
    verdict = verdict_of(BoundRule(BIAS, "fair", low, high), rows("fair", 0.1 + SPREAD))
    assert verdict.word == word
    assert verdict.estimate == pytest.approx(0.1)
    assert claimed in verdict.detail
    assert verdict_of(BoundRule(BIAS, "fair", low, high)).word == "not attempted"


def test_an_interval_ends_where_a_mean_cannot_lie() -> None:
    """The lower end passes zero, which no bias can, and the claim is about values from zero on."""
    table = rows("fair", [0.0, 0.0, 0.01, 0.02, 0.05])
    anywhere = verdict_of(BoundRule(BIAS, "fair", 0, 1), table)
    assert anywhere.interval is not None
    assert anywhere.interval[0] < 0
    assert anywhere.word == "inconclusive"
    share = replace(BIAS, possible={"bias": (0.0, 0.04), "another": (0.03, 1.0)})
    possible = verdict_of(BoundRule(share, "fair", 0, 1), table)
    assert possible.interval == (0.0, 0.04)
    assert possible.word == "reproduced"
    assert possible.estimate == anywhere.estimate


@pytest.mark.parametrize("kind", [HighestRule, AboutEqualRule])
def test_an_interval_ends_where_a_difference_cannot_lie(kind: Any) -> None:
    table = pd.concat([rows("fair", [0.0, 0.0, 0.01, 0.02, 0.9]), rows("greedy", [0.01] * 5)])
    anywhere = verdict_of(kind(BIAS, "fair", ("greedy",), "all", 0.5), table)
    assert anywhere.interval is not None
    assert anywhere.interval[0] < -0.03
    within = replace(BIAS, possible={"bias": (0.0, 0.03)})
    possible = verdict_of(kind(within, "fair", ("greedy",), "all", 0.5), table)
    assert possible.interval is not None
    assert possible.interval[0] == -0.03


def test_a_method_without_an_optional_prefix_is_held_with_the_metric_without_it() -> None:
    """One method is measured with assistance, too; the other never gets any."""
    assisted = replace(BIAS, metrics={"": "assisted_bias"}, optional_prefix="assisted_")
    both = pd.concat(
        [rows("fair", 0.3 + SPREAD), rows("fair", 0.1 + SPREAD, metric="assisted_bias")]
    )
    greedy = rows("greedy", 0.2 + SPREAD)
    rule = LowestRule(BIAS, "fair", ("greedy",), "all", 0.0)
    assert verdict_of(rule, both, greedy).word == "contradicted"
    found = verdict_of(replace(rule, quantity=assisted), both, greedy)
    assert found.word == "reproduced"
    assert found.estimate == pytest.approx(0.1)
    strict = replace(rule, quantity=replace(assisted, optional_prefix=""))
    with pytest.raises(UsageError, match="results of greedy have no metric 'assisted_bias'"):
        verdict_of(strict, both, greedy)


def test_a_smoothed_metric_is_the_end_of_the_smoothed_curve() -> None:
    """A method that is not trained has no curve, and stands with its final number."""
    smoothed = replace(BIAS, metrics={"": "smoothed_bias"}, smoothing=Smoothing(0.5, 2))
    curves = [
        rows("fair", end + SPREAD, phase="curve", step=step)
        for step, end in ((0, 0.9), (10, 0.6), (20, 0.3))
    ]
    fair = pd.concat([*curves, rows("fair", 0.2 + SPREAD, step=20)])
    fixed = rows("fixed", 0.25 + SPREAD)
    rule = LowestRule(smoothed, "fair", ("fixed",), "all", 0.0)
    assert verdict_of(replace(rule, quantity=BIAS), fair, fixed).word == "reproduced"
    found = verdict_of(rule, fair, fixed)
    assert found.word == "contradicted"
    assert found.estimate == pytest.approx(0.25 - Smoothing(0.5, 2).end([0.9, 0.6, 0.3]))


def checks() -> dict[str, Any]:
    return {
        "halves": lambda: CheckResult(True, {"half": 0.5}, "it is a half", instances=40),
        "few": lambda: CheckResult(True, {}, "it is so", instances=3),
        "thirds": lambda: CheckResult(False, {}, "it is not a third"),
        "lost": lambda: CheckResult(False, {}, "nobody knows", otherwise="not reproduced"),
    }


def exact(rule: Rule) -> Verdict:
    claim = replace(claim_of(rule, 0, ("as_published",)), experiment=None, reported=None)
    (verdict,) = judge(claim, no_results(), profile="book", checks=checks())
    return verdict


def test_an_exact_claim_is_judged_by_its_check() -> None:
    verdict = exact(ExactRule("halves", "half"))
    assert (verdict.word, verdict.estimate, verdict.interval) == ("checked", 0.5, None)
    assert verdict.as_json()["instances"] == 40
    assert verdict.detail == "it is a half"
    assert exact(ExactRule("thirds")).word == "contradicted"
    both = exact(AllRule((ExactRule("halves"), ExactRule("few"))))
    assert (both.word, both.instances) == ("checked", 43)
    assert exact(ExactRule("lost")).word == "not reproduced"
    assert exact(AllRule((ExactRule("halves"), ExactRule("thirds")))).word == "contradicted"


def test_a_check_with_settings_of_ours_says_so() -> None:
    verdict = exact(ExactRule("thirds", settings="ours"))
    assert (verdict.whose, verdict.word) == ("our settings", "contradicted")
    assert verdict.detail == "our settings: it is not a third"
    assert exact(ExactRule("thirds")).whose == ""


def test_unknown_checks_and_numbers_name_the_near_miss() -> None:
    with pytest.raises(UsageError, match="unknown check 'halve': did you mean 'halves'"):
        exact(ExactRule("halve"))
    with pytest.raises(UsageError, match="computes no 'hal': did you mean 'half'"):
        exact(ExactRule("halves", "hal"))


def test_a_conjunction_shows_the_part_that_decides() -> None:
    rule = AllRule((ValueRule(BIAS, "fair", 0.1, 0.05), lowest(margin=0.25), lowest(margin=0.3)))
    tables = [rows("fair", 0.1 + SPREAD), rows("greedy", 0.3 + SPREAD)]
    (verdict,) = judge(replace(claim_of(rule), reported=None), pd.concat(tables), profile="book")
    assert [part.word for part in verdict.parts] == ["reproduced", *2 * ["direction only"]]
    assert verdict.word == "direction only"
    assert verdict.estimate == pytest.approx(0.2)
    assert verdict.measured == "bias, greedy less fair; condition 2 of 3 of the rule"


def test_a_conjunction_without_runs_says_once_what_is_missing() -> None:
    rule = AllRule((lowest("greedy", "idle"), lowest("idle"), BoundRule(BIAS, "fair", high=0.3)))
    verdict = verdict_of(rule, rows("unrelated", 0.1 + SPREAD))
    assert verdict.word == "not attempted"
    assert verdict.detail == "no results of fair, greedy, idle in as coded"
    partly = verdict_of(rule, rows("fair", 0.1 + SPREAD))
    assert "no results of greedy, idle" in partly.detail
    assert "(3) reproduced" in partly.detail


def test_a_conjunction_shows_its_first_part_beside_a_reported_value() -> None:
    rule = AllRule((ValueRule(BIAS, "fair", 0.1, 0.05), lowest(margin=0.25)))
    verdict = verdict_of(rule, rows("fair", 0.1 + SPREAD), rows("greedy", 0.3 + SPREAD))
    assert verdict.word == "direction only"
    assert verdict.estimate == pytest.approx(0.1)
    assert verdict.measured == "bias, fair; condition 1 of 2 of the rule"


EARLY = Quantity({"": "early_bias"}, group=1, phase="curve", window=(0.0, 1.0))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (ValueRule(BIAS, "fair", 0.1, 0.05), "bias, fair"),
        (BoundRule(BIAS, "fair", 0.0), "bias, fair"),
        (lowest(), "bias, greedy less fair"),
        (lowest("greedy", "idle"), "bias, idle less fair"),
        (HighestRule(BIAS, "fair", ("greedy:as_coded",), "all"), (
            "bias, fair less greedy as coded")),
        (ReductionRule(BIAS, "fair", ("greedy",), "all", 0.5), (
            "bias, fair: reduction from greedy")),
        (AtLeastRule(BIAS, "fair", ("greedy",), "all"), "bias, fair less greedy"),
        (AboutEqualRule(BIAS, "fair", ("greedy", "idle"), "all", 0.1), "bias, fair less greedy"),
        (ValueRule(EARLY, "fair", 0.1, 0.05), "early bias of group 1 during training, fair"),
    ],
)  # fmt: skip
def test_a_verdict_says_what_was_measured(rule: Rule, words: str) -> None:
    early = rows("fair", 0.1 + SPREAD, metric="early_bias", group=1, phase="curve")
    levels = {"fair": 0.1, "greedy": 0.3, "idle": 0.2}
    tables = [rows(name, level + SPREAD) for name, level in levels.items()]
    assert verdict_of(rule, early, *tables).measured == words


def test_a_verdict_without_a_number_measures_nothing() -> None:
    assert verdict_of(lowest()).measured == ""
    assert exact(ExactRule("thirds")).measured == ""
    assert exact(ExactRule("halves", "half")).measured == "half"
    both = AllRule((ExactRule("halves", "half"), ExactRule("thirds")))
    assert (exact(both).estimate, exact(both).measured) == (None, "")


# --- seeds, methods, variants -----------------------------------------------------------------


def test_one_seed_decides_nothing() -> None:
    verdict = verdict_of(lowest(), rows("fair", [0.1]), rows("greedy", [0.9]), seeds=0)
    assert verdict.word == "inconclusive"
    assert verdict.estimate == pytest.approx(0.8)
    assert verdict.interval is None
    assert "1 seed of the 5 needed" in verdict.detail


def test_fewer_seeds_than_needed_decide_nothing() -> None:
    tables = [rows("fair", 0.1 + SPREAD), rows("greedy", 0.5 + SPREAD)]
    verdict = verdict_of(lowest(), *tables, seeds=6)
    assert verdict.word == "inconclusive"
    assert verdict.interval is not None
    assert "5 seeds of the 6 needed" in verdict.detail


def test_only_shared_seeds_count() -> None:
    greedy = rows("greedy", 0.5 + np.tile(SPREAD, 2), first_seed=2)
    verdict = verdict_of(lowest(), rows("fair", 0.1 + np.tile(SPREAD, 2)), greedy, seeds=3)
    assert verdict.seeds == (2, 3, 4, 5, 6, 7, 8, 9)
    assert verdict.word == "reproduced"
    apart = rows("greedy", 0.5 + SPREAD, first_seed=7)
    verdict = verdict_of(lowest(), rows("fair", 0.1 + SPREAD), apart, seeds=3)
    assert verdict.word == "inconclusive"
    assert "share no seed" in verdict.detail


def test_a_method_that_was_not_run_is_named() -> None:
    fair, greedy = rows("fair", 0.1 + SPREAD), rows("greedy", 0.5 + SPREAD)
    verdict = verdict_of(lowest("greedy", "idle"), fair, greedy)
    assert verdict.word == "not attempted"
    assert verdict.missing == ("idle",)
    assert "idle" in verdict.detail
    assert verdict_of(lowest(), greedy).missing == ("fair",)
    assert verdict_of(ValueRule(BIAS, "fair", 0.1, 0.1), greedy).word == "not attempted"
    assert verdict_of(lowest()).word == "not attempted"


def test_among_available_those_that_were_run_can_only_speak_against_it() -> None:
    rule = lowest("greedy", "idle", among="available")
    fair, greedy = rows("fair", 0.1 + SPREAD), rows("greedy", 0.5 + SPREAD)
    verdict = verdict_of(rule, fair, greedy)
    assert verdict.word == "inconclusive"
    assert verdict.missing == ("idle",)
    assert "not compared with idle" in verdict.detail
    assert verdict.detail.endswith("inconclusive until it is, reproduced so far")
    assert verdict_of(rule, fair, greedy, rows("idle", 0.5 + SPREAD)).word == "reproduced"
    assert verdict_of(rule, fair, rows("greedy", 0.05 + SPREAD)).word == "contradicted"
    assert verdict_of(rule, fair).word == "not attempted"
    assert verdict_of(rule, greedy).word == "not attempted"


def test_each_variant_is_judged_apart_with_shared_references() -> None:
    results = pd.concat(
        [
            rows("fair", 0.1 + SPREAD),
            rows("fair", 0.9 + SPREAD, variant="as_published"),
            rows("idle", 0.5 + SPREAD, variant="reference"),
        ]
    )
    claim = claim_of(lowest("idle"), variants=("as_coded", "as_published"))
    verdicts = judge(claim, results, profile="book")
    assert [(verdict.variant, verdict.word) for verdict in verdicts] == [
        ("as_coded", "reproduced"),
        ("as_published", "contradicted"),
    ]


def test_each_measure_is_judged_apart() -> None:
    both = Quantity({"code": "bias", "text": "bias_exact"})
    rule = ValueRule(both, "fair", 0.1, 0.05)
    exactly = rows("fair", 0.3 + SPREAD, metric="bias_exact")
    results = pd.concat([rows("fair", 0.1 + SPREAD), exactly])
    verdicts = judge(claim_of(rule, measures=("code", "text")), results, profile="book")
    assert [(verdict.measure, verdict.word, verdict.measured) for verdict in verdicts] == [
        ("code", "reproduced", "bias, fair"),
        ("text", "not reproduced", "exact bias, fair"),
    ]
    assert verdicts[1].name == "toy-1 (as coded, text)"


# --- questions of ours ------------------------------------------------------------------------


def test_the_sentences_about_a_question_speak_in_answers() -> None:
    def asked_here(rule: Rule, *tables: pd.DataFrame) -> Verdict:
        claim = replace(claim_of(rule), asked="here")
        (verdict,) = judge(claim, pd.concat(tables, ignore_index=True), profile="book")
        return verdict

    fair, low, high = rows("fair", 0.1 + SPREAD), rows("greedy", 0.05 + SPREAD), 0.5 + SPREAD
    both = asked_here(AllRule((ValueRule(BIAS, "fair", 0.1, 0.05), lowest())), fair, low)
    assert (both.word, both.answer) == ("contradicted", "no")
    assert both.detail.startswith("(1) yes: bias of fair")
    assert "; (2) no: bias of fair" in both.detail
    assert [part["answer"] for part in both.as_json()["parts"]] == ["yes", "no"]
    waiting = asked_here(lowest("greedy", "idle", among="available"), fair, rows("greedy", high))
    assert waiting.detail.endswith("cannot be told until it is, yes so far")
    rewards = [rows("fair", SPREAD, metric="reward"), rows("idle", 0.5 + SPREAD, metric="reward")]
    guarded = Guarded(lowest(), AtLeastRule(REWARD, "fair", ("idle",), "all"))
    dear = asked_here(guarded, fair, rows("greedy", high), *rewards)
    assert dear.answer == "in part"
    assert "but its price is not excluded, no: reward of fair" in dear.detail
    lifted = asked_here(AtWorst(lowest(), {"": "not reproduced"}), fair, low)
    assert (lifted.word, lifted.answer) == ("not reproduced", "no")
    assert lifted.detail.endswith(", asked for: more than 0")


# --- settings and steps -----------------------------------------------------------------------


def with_settings(table: pd.DataFrame, settings: str, stale: int = 0) -> pd.DataFrame:
    return table.assign(profile="book", settings=settings, stale=table["seed"] < stale)


def test_a_verdict_says_first_that_the_settings_are_ours() -> None:
    fair, greedy = rows("fair", 0.1 + SPREAD), rows("greedy", 0.5 + SPREAD)
    theirs = verdict_of(lowest(), with_settings(fair, "authors"), with_settings(greedy, "authors"))
    assert theirs.settings == "authors"
    assert theirs.detail.startswith("bias of fair")
    ours = verdict_of(lowest(), with_settings(fair, "authors"), with_settings(greedy, "ours"))
    assert ours.settings == "ours"
    assert ours.detail.startswith("our settings: bias of fair")
    short = verdict_of(lowest(), with_settings(fair, "short"), with_settings(greedy, "authors"))
    assert short.settings == "short"
    assert short.detail.startswith("the authors' settings, short of their steps: bias of fair")
    assert verdict_of(lowest(), fair, greedy).settings == ""


def test_a_verdict_says_how_many_of_its_runs_are_stale() -> None:
    tables = [rows("fair", 0.1 + SPREAD), rows("greedy", 0.5 + SPREAD)]
    verdict = verdict_of(lowest(), *(with_settings(table, "authors", stale=2) for table in tables))
    assert verdict.stale == 4
    assert verdict.detail.endswith("; 4 of the runs are stale")


def test_fewer_than_five_runs_decide_nothing() -> None:
    fair, greedy = rows("fair", 0.1 + SPREAD[:4]), rows("greedy", 0.5 + SPREAD[:4])
    verdict = verdict_of(lowest(), fair, greedy, seeds=2)
    assert verdict.word == "inconclusive"
    assert "4 seeds of the 5 needed" in verdict.detail


class Pool:
    def __init__(self, *tables: pd.DataFrame) -> None:
        self.table = pd.concat(tables)

    def pools(self, profile: str | None) -> dict[str, Pool]:
        return {"paper": Pool(self.theirs), "book": self}

    @property
    def theirs(self) -> pd.DataFrame:
        return self.table[self.table["settings"] == "authors"]

    def results(self, store: object, methods: Sequence[str]) -> pd.DataFrame:
        return self.table[self.table["method"].isin(methods)]


def test_what_lacks_a_method_is_not_told_beside_the_same_number_that_lacks_none() -> None:
    rule = AllRule((lowest(), LowestRule(BIAS, "fair", ("late",), "all")))
    fair = with_settings(rows("fair", 0.5 + SPREAD), "authors")
    greedy = with_settings(rows("greedy", 0.1 + SPREAD), "authors")
    late = with_settings(rows("late", 0.9 + SPREAD), "ours")

    def told(*tables: pd.DataFrame) -> list[tuple[str, str]]:
        of: Any = {"toy/lending": Pool(*tables)}
        (verdicts,) = judge_by_settings([claim_of(rule)], of, of, {}).values()
        return [(verdict.settings, verdict.word) for verdict in verdicts]

    assert told(fair, greedy) == [("authors", "contradicted")]
    assert told(fair, greedy, late) == [("ours", "contradicted")]


@pytest.mark.parametrize(("horizon", "word"), [(1000, "inconclusive"), (100, "contradicted")])
def test_runs_that_end_early_cannot_refute_a_claim_about_the_end(horizon: int, word: str) -> None:
    claim = replace(claim_of(HighestRule(BIAS, "fair", ("greedy",), "all")), horizon=horizon)
    results = pd.concat([rows("fair", 0.1 + SPREAD), rows("greedy", 0.5 + SPREAD)])
    (verdict,) = judge(claim, with_settings(results, "ours"), profile="book")
    assert verdict.word == word
    assert ("100 steps of 1,000 cannot refute" in verdict.detail) == (horizon == 1000)
    question = replace(claim, asked="here")
    (told,) = judge(question, with_settings(results, "ours"), profile="book")
    assert ("100 steps of 1,000 cannot say no" in told.detail) == (horizon == 1000)
    assert ", claimed more than 0" in verdict.detail
    assert ", asked for: more than 0" in told.detail
    assert "claimed" not in told.detail
    (theirs,) = judge(claim, with_settings(results, "authors"), profile="book")
    assert theirs.word == "contradicted"
    (other,) = judge(replace(claim, rule=lowest()), with_settings(results, "ours"), profile="book")
    assert other.word == "reproduced"


@pytest.mark.parametrize("kind", [AboutEqualRule, TiesRule])
@pytest.mark.parametrize(("horizon", "word"), [(1000, "inconclusive"), (100, "reproduced")])
def test_runs_that_end_early_cannot_show_that_nothing_changes(
    kind: Any, horizon: int, word: str
) -> None:
    rule = kind(BIAS, "fair", ("greedy",), "all", margin=0.2)
    claim = replace(claim_of(rule), horizon=horizon)
    twice = np.tile(SPREAD, 2)
    results = pd.concat([rows("fair", 0.4 + twice), rows("greedy", 0.5 + twice)])
    (verdict,) = judge(claim, with_settings(results, "ours"), profile="book")
    assert verdict.word == word
    assert ("of 1,000 cannot show that nothing changes" in verdict.detail) == (horizon == 1000)
    (theirs,) = judge(claim, with_settings(results, "authors"), profile="book")
    assert theirs.word == "reproduced"


def test_a_judged_policy_without_training_has_the_steps_of_those_beside_it() -> None:
    """Else a rule turned round, *nobody is no lower than the learner*, knows no horizon."""
    claim = replace(claim_of(HighestRule(BIAS, "nobody", ("fair",), "all")), horizon=1000)
    untrained = rows("nobody", 0.1 + SPREAD, variant="reference", step=0)
    results = pd.concat([untrained, rows("fair", 0.5 + SPREAD)])
    (verdict,) = judge(claim, with_settings(results, "ours"), profile="book")
    assert (verdict.word, verdict.steps) == ("inconclusive", 100)
    assert "100 steps of 1,000 cannot refute" in verdict.detail


# --- guards -----------------------------------------------------------------------------------


REWARD = Quantity({"": "reward"})


@pytest.mark.parametrize(
    ("level", "word"),
    [(0.5, "reproduced"), (0.3, "direction only"), (0.1, "direction only")],
)
def test_a_bias_bought_with_the_reward_is_not_reproduced(level: float, word: str) -> None:
    rule = Guarded(lowest(), AtLeastRule(REWARD, "fair", ("idle",), "all"))
    tables = [rows("fair", 0.1 + SPREAD), rows("greedy", 0.5 + SPREAD)]
    tables += [rows("fair", level + SPREAD, metric="reward")]
    tables += [rows("idle", 0.3 + SPREAD[[3, 0, 4, 1, 2]], metric="reward")]
    verdict = verdict_of(rule, *tables)
    assert verdict.word == word
    assert verdict.measured == "bias, greedy less fair"
    assert ("reward of fair less that of idle" in verdict.detail) == (word != "reproduced")
    contradicted = replace(rule, rule=HighestRule(BIAS, "fair", ("greedy",), "all"))
    assert verdict_of(contradicted, *tables).word == "contradicted"
    both = AllRule((lowest(), rule))
    assert verdict_of(both, *tables).word == word
    assert set(methods_of(rule)) == {"fair", "greedy", "idle"}


def test_a_guard_that_nobody_can_ask_is_no_guard_passed() -> None:
    rule = Guarded(lowest(), AtLeastRule(REWARD, "fair", ("idle",), "all"))
    tables = [rows("fair", 0.1 + SPREAD), rows("greedy", 0.5 + SPREAD)]
    verdict = verdict_of(rule, *tables, rows("fair", 0.1 + SPREAD, metric="reward"))
    assert verdict.word == "direction only"
    assert "no results of idle" in verdict.detail


def test_a_variant_can_be_pinned() -> None:
    results = pd.concat(
        [rows("fair", 0.1 + SPREAD, variant="as_published"), rows("greedy", 0.5 + SPREAD)]
    )
    claim = claim_of(lowest("greedy:as_coded"), variants=("as_published",))
    (verdict,) = judge(claim, results, profile="book")
    assert verdict.word == "reproduced"
    claim = claim_of(lowest("greedy"), variants=("as_published",))
    (verdict,) = judge(claim, results, profile="book")
    assert verdict.word == "not attempted"


def test_metrics_groups_and_windows_are_selected() -> None:
    results = pd.concat(
        [
            rows("fair", 9 + SPREAD),
            rows("fair", 8 + SPREAD, metric="rate"),
            rows("fair", 1 + SPREAD, metric="rate", group=1),
            rows("fair", 5 + SPREAD, metric="rate", group=1, phase="curve", step=10),
            rows("fair", 3 + SPREAD, metric="rate", group=1, phase="curve", step=80),
            rows("fair", 2 + SPREAD, metric="rate", group=1, phase="curve", step=100),
        ]
    )

    def estimate(**changes: Any) -> float | None:
        quantity = Quantity({"": "rate"}, **changes)
        return verdict_of(ValueRule(quantity, "fair", 1.0, 0.1), results).estimate

    assert estimate() == pytest.approx(8)
    assert estimate(group=1) == pytest.approx(1)
    assert estimate(group=1, phase="curve", window=(0.8, 1.0)) == pytest.approx(2.5)
    assert estimate(group=1, phase="curve", window=(0.0, 0.1)) == pytest.approx(5)
    with pytest.raises(UsageError, match=r"no evaluation of fair falls into the window"):
        estimate(group=1, phase="curve", window=(0.2, 0.3))
    with pytest.raises(UsageError, match="no group '3'"):
        estimate(group=3)
    with pytest.raises(UsageError, match=r"no metric 'rat'.*did you mean 'rate'"):
        verdict_of(ValueRule(Quantity({"": "rat"}), "fair", 1.0, 0.1), results)


def test_a_verdict_names_everything_it_rests_on() -> None:
    table = rows("fair", 0.1 + SPREAD, step=5_000)
    verdict = verdict_of(ValueRule(BIAS, "fair", 0.1, 0.05), table)
    assert verdict.profile == "book"
    assert verdict.variant == "as_coded"
    assert verdict.seeds == (0, 1, 2, 3, 4)
    assert verdict.steps == 5_000
    assert verdict.interval is not None
    assert verdict.as_json() == {
        "id": "toy-1",
        "paper": "toy",
        "asked": "paper",
        "statement": "It is so.",
        "source": "Figure 1",
        "reported": 0.1,
        "estimate": verdict.estimate,
        "measured": "bias, fair",
        "parts": [],
        "conditions": [],
        "interval": list(verdict.interval),
        "interquartile_mean": verdict.interquartile_mean,
        "seeds": 5,
        "steps": 5_000,
        "instances": 0,
        "horizon": None,
        "profile": "book",
        "settings": "",
        "whose": "",
        "measure": "",
        "variant": "as_coded",
        "verdict": "reproduced",
        "answer": "reproduced",
        "fragile": False,
        "two_kinds": False,
        "one_value": False,
        "verdict_99": "reproduced",
        "verdict_999": verdict.word_999,
        "answer_99": "reproduced",
        "answer_999": verdict.word_999,
        "error": verdict.error,
        "better": None,
        "lacks": "",
        "enough_seeds": None,
        "changed": [],
        "stale": 0,
        "detail": verdict.detail,
    }


def test_the_same_results_give_the_same_verdict_twice() -> None:
    tables = [rows("fair", 0.1 + SPREAD), rows("greedy", 0.3 + SPREAD)]
    assert verdict_of(lowest(), *tables) == verdict_of(lowest(), *tables)


def test_an_experiment_that_was_never_run_is_not_attempted(tmp_path: Path) -> None:
    verdicts = judge_all([claim_of(lowest())], Store(tmp_path), "book", {})
    assert [verdict.word for verdict in verdicts] == ["not attempted"]


# --- how certain a verdict is -----------------------------------------------------------------


SKEWED = np.array([0.84, -0.17, -0.29, -0.39, 22.83, -1.08, 2.24, 0.26, -2.41, 7.72])


def test_a_word_that_hangs_on_the_kind_of_interval_is_fragile() -> None:
    clear = verdict_of(BoundRule(BIAS, "fair", low=-10), rows("fair", SKEWED))
    assert (clear.word, clear.fragile, clear.word_99) == ("reproduced", False, "reproduced")
    values: Any = SKEWED
    student = statistics.smallest([statistics.mean_effect(values)], kind="t").interval
    both = statistics.smallest([statistics.mean_effect(values)]).interval
    assert student is not None
    assert both is not None
    between = (student[1] + both[1]) / 2
    hanging = verdict_of(BoundRule(BIAS, "fair", high=between), rows("fair", SKEWED))
    assert (hanging.word, hanging.fragile) == ("inconclusive", True)
    assert hanging.as_json()["fragile"] is True


def test_an_interval_of_no_width_is_left_out_however_its_ends_are_written() -> None:
    told = "mean 17,000 [17,000, 17,000], claimed at most 0.5 [0.5, 0.5]; 2 [1, 3]"
    left = verdicts._NO_WIDTH.sub("", told)
    assert left == "mean 17,000, claimed at most 0.5; 2 [1, 3]"


def test_where_nothing_is_random_there_is_one_value_and_no_interval() -> None:
    rule = AllRule((BoundRule(BIAS, "fair", low=0.3), BoundRule(BIAS, "greedy", low=0.2)))
    fair, greedy = rows("fair", [0.4] * 5, step=0), rows("greedy", [0.25] * 5, step=0)
    verdict = verdict_of(rule, fair, greedy)
    assert (verdict.word, verdict.one_value, verdict.interval) == ("reproduced", True, None)
    assert (verdict.word_999, verdict.error) == (None, None)
    assert [part.interval for part in verdict.parts] == [None, None]
    assert "bias of fair is 0.4, claimed at least 0.3" in verdict.detail
    for other in (rows("greedy", [0.25] * 5), rows("greedy", [0.25] * 4 + [0.3], step=0)):
        random = verdict_of(rule, fair, other)
        assert (random.one_value, random.parts[0].interval) == (False, (0.4, 0.4))
    alone = verdict_of(BoundRule(BIAS, "fair", low=0.3), rows("fair", [0.4], step=0))
    assert not alone.one_value


def test_runs_of_two_kinds_make_a_mean_fragile() -> None:
    verdict = verdict_of(BoundRule(BIAS, "fair", high=1000), rows("fair", LOST))
    assert (verdict.word, verdict.two_kinds, verdict.fragile) == ("reproduced", True, True)
    counted = verdict_of(ShareRule(BIAS, "fair", None, "below", -50, 0, 0.6), rows("fair", LOST))
    assert (counted.word, counted.two_kinds, counted.fragile) == ("reproduced", False, False)


def test_a_higher_level_can_take_a_word_back() -> None:
    fair = rows("fair", 1.0 + np.array([-1.0, 0.5, -0.5, 1.0, -1.2, 1.2, 0.3, -0.3, 0.8, -0.8]))
    verdict = verdict_of(BoundRule(BIAS, "fair", low=0.3), fair)
    words = (verdict.word, verdict.word_99, verdict.word_999)
    assert words == ("reproduced", "inconclusive", "inconclusive")


def test_no_word_comes_back_at_a_still_higher_level() -> None:
    """Five runs: at 99.9 % the bootstrap has no quantile, and Student's alone would decide."""
    profits = np.array([22.86, 19.33, 19.61, 22.89, 19.41])
    verdict = verdict_of(BoundRule(BIAS, "fair", low=4.0), rows("fair", profits))
    words = (verdict.word, verdict.word_99, verdict.word_999)
    assert words == ("reproduced", "inconclusive", "inconclusive")


def test_an_inconclusive_says_how_many_runs_would_decide() -> None:
    noise = np.array([-1.0, 0.5, -0.5, 1.0, -1.2, 1.2, 0.3, -0.3, 0.8, -0.8])
    verdict = verdict_of(BoundRule(BIAS, "fair", low=0.0), rows("fair", 0.2 + noise))
    assert verdict.word == "inconclusive"
    assert verdict.enough_seeds is not None
    low, _ = verdict.interval or (0.0, 0.0)
    assert verdict.enough_seeds == pytest.approx(10 * ((0.2 - low) / 0.2) ** 2, rel=0.12)
    few = verdict_of(BoundRule(BIAS, "fair", low=0.0), rows("fair", 9 + noise[:6]), seeds=8)
    assert (few.word, few.lacks, few.enough_seeds) == ("inconclusive", "runs", 8)
    assert certainty(few.as_json())[-1] == "the rule asks for 8 runs"
    sure = verdict_of(BoundRule(BIAS, "fair", low=0.0), rows("fair", 9 + noise))
    assert (sure.word, sure.lacks, sure.enough_seeds) == ("reproduced", "", None)
    at_the_edge = verdict_of(BoundRule(BIAS, "fair", low=0.0), rows("fair", noise))
    assert (at_the_edge.lacks, at_the_edge.enough_seeds) == ("effect", None)
    assert certainty(at_the_edge.as_json())[-1].startswith("at the edge of what is asked")


@pytest.mark.parametrize(
    ("limit", "high"), [(AtBest, math.inf), (AtWorst, 0.1)], ids=["at best", "at worst"]
)
def test_no_run_decides_what_the_paper_leaves_open(limit: type[Limited], high: float) -> None:
    limited = limit(BoundRule(BIAS, "fair", low=0.0, high=high), {"": "inconclusive"})
    verdict = verdict_of(limited, rows("fair", 0.2 + SPREAD))
    assert (verdict.word, verdict.lacks, verdict.enough_seeds) == ("inconclusive", "paper", None)
    why = "what we could not read, or the text leaves open, decides"
    assert certainty(verdict.as_json())[-1] == why


def test_a_conjunction_lacks_what_is_hardest_to_get() -> None:
    noise = np.array([-1.0, 0.5, -0.5, 1.0, -1.2, 1.2, 0.3, -0.3, 0.8, -0.8])
    near, edge = BoundRule(BIAS, "fair", low=-0.2), BoundRule(BIAS, "fair", low=0.0)
    both = verdict_of(AllRule((near, near)), rows("fair", noise))
    assert (both.lacks, both.enough_seeds) == ("width", both.parts[0].enough_seeds)
    hard = verdict_of(AllRule((near, edge)), rows("fair", noise))
    assert (hard.lacks, hard.enough_seeds) == ("effect", None)


def test_one_of_several_parts_refutes_by_its_share_of_the_error_only() -> None:
    table = rows("fair", SPREAD)
    alone = verdict_of(BoundRule(BIAS, "fair", low=-10.0), table)
    assert alone.interval is not None
    beyond, holds = alone.interval[1] + 1e-6, BoundRule(BIAS, "fair", low=-10.0)
    refuted = BoundRule(BIAS, "fair", low=beyond)
    assert verdict_of(refuted, table).word == "contradicted"
    both = verdict_of(AllRule((holds, refuted)), table)
    assert (both.word, both.lacks, both.with_enough) == ("inconclusive", "width", "contradicted")
    assert both.enough_seeds is not None
    assert both.enough_seeds > SPREAD.size
    assert "not sure enough for one of 2 parts" in both.detail
    assert both.parts[1].interval == verdict_of(refuted, table).interval
    far = BoundRule(BIAS, "fair", low=beyond + 10 * (alone.interval[1] - alone.interval[0]))
    clear = verdict_of(AllRule((holds, far)), table)
    assert clear.word == "contradicted"
    assert "not sure enough" not in clear.detail
    # What has to hold in every part needs no correction.
    assert verdict_of(AllRule((holds, holds)), table).word == "reproduced"


def test_many_true_parts_are_seldom_refuted_by_chance() -> None:
    generator = np.random.default_rng(1)
    # Sixteen sentences at the very edge of what is so, on independent runs, a hundred times.
    parts = tuple(BoundRule(BIAS, f"m{number}", low=0.0) for number in range(16))
    words = [
        verdict_of(
            AllRule(parts),
            *(rows(f"m{number}", generator.normal(size=10)) for number in range(16)),
        ).word
        for _ in range(30)
    ]
    assert words.count("contradicted") <= 3


def test_a_part_that_would_be_refuted_soonest_says_how_many_runs_decide() -> None:
    noise = np.array([-1.0, 0.5, -0.5, 1.0, -1.2, 1.2, 0.3, -0.3, 0.8, -0.8])
    slow, soon = BoundRule(BIAS, "fair", low=-0.05), BoundRule(BIAS, "fair", low=0.5)
    both = verdict_of(AllRule((slow, soon)), rows("fair", noise))
    alone = verdict_of(slow, rows("fair", noise))
    assert alone.enough_seeds is not None
    assert both.enough_seeds is not None
    assert both.enough_seeds < alone.enough_seeds
    assert both.with_enough == "contradicted"


def test_a_guard_on_runs_of_two_kinds_makes_a_word_fragile() -> None:
    reward = Quantity({"": "reward"})
    rule = Guarded(BoundRule(BIAS, "fair", high=1), BoundRule(reward, "fair", high=1000))
    tables = [rows("fair", [0.1] * 10), rows("fair", LOST, metric="reward")]
    verdict = verdict_of(rule, *tables)
    assert (verdict.word, verdict.two_kinds, verdict.fragile) == ("reproduced", True, True)


def test_a_difference_stands_beside_how_often_the_method_is_better() -> None:
    tables = [rows("fair", [1.0] * 10), rows("greedy", [2.0] * 8 + [0.5, 0.9])]
    verdict = verdict_of(lowest(), *tables)
    assert verdict.better is not None
    assert verdict.better == pytest.approx((0.8, 0.4439, 0.9748), abs=1e-4)


def test_where_a_part_is_taken_away_a_method_is_better_where_it_has_less() -> None:
    """Differences of small numbers are small beside a part."""
    tables = [rows("fair", [0.02] * 8 + [0.12, 0.13]), rows("greedy", [0.1] * 10)]
    verdict = verdict_of(ReductionRule(BIAS, "fair", ("greedy",), "all", 0.1), *tables)
    assert verdict.better is not None
    assert verdict.better[0] == 0.8


@pytest.mark.parametrize(("most", "stands"), [(16, True), (11, False)])
@pytest.mark.parametrize(("sign", "side"), [(1.0, "for"), (-1.0, "against")])
def test_a_mean_over_runs_of_two_kinds_needs_most_of_them(
    most: int, stands: bool, sign: float, side: str
) -> None:
    values = sign * np.array([*np.linspace(0.0, 0.01, most), *[-1.0] * 4])
    verdict = verdict_of(BoundRule(BIAS, "fair", low=sign * -0.9), rows("fair", values))
    spoken = "reproduced" if side == "for" else "contradicted"
    assert verdict.two_kinds
    assert verdict.word == (spoken if stands else "inconclusive")
    few = f"runs of two kinds, and {most} of {most + 4} alone speak {side} it"
    assert (few in verdict.detail) is not stands
    assert verdict.enough_seeds is None


def test_runs_speak_against_a_method_beside_the_one_that_decides() -> None:
    """In every run one of the two others is above, and neither is in most runs."""
    small = np.linspace(0.0, 0.01, 20)
    first, second = np.array([1.0] * 8 + [0.0] * 12), np.array([0.0] * 8 + [1.0] * 12)
    verdict = verdict_of(
        HighestRule(BIAS, "fair", ("a", "b"), "all"),
        rows("fair", 0.02 + small),
        rows("a", first),
        rows("b", second),
    )
    assert verdict.two_kinds
    assert verdict.interval is not None
    assert verdict.interval[1] < 0
    assert verdict.word == "inconclusive"
    assert "12 of 20 alone speak against it" in verdict.detail


def test_what_is_told_over_the_steps_of_an_evaluation_is_not_of_the_training() -> None:
    within = Quantity({"": "at_long_gap"}, phase="curve", window=(0.2, 1.0))
    assert within.words("") == "long gap during an evaluation, from 0.2 to 1 of it,"
