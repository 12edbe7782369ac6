"""FairQCM on the loan problem: what is measured, and when."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from longfair.papers.fairmdp.memory_learner import (
    BOOKS,
    MEMORY_LEARNER,
    METHODS,
    learn_and_measure,
)
from longfair.papers.fairmdp.other_learners import PROBLEM
from longfair.runs.experiment import Arm
from longfair.runs.tables import checked


def arm(method: str, variant: str, profile: str = "smoke") -> Arm:
    return next(
        arm
        for arm in MEMORY_LEARNER.arms[profile]
        if (arm.method, arm.variant) == (method, variant)
    )


def finals(table: pd.DataFrame) -> pd.Series:
    rows = table[(table["phase"] == "final") & (table["group"] < 0)]
    return rows.set_index("metric")["value"]


@pytest.mark.parametrize("method", METHODS)
def test_runs_end_at_the_horizon_and_depend_on_their_seed_only(method: str) -> None:
    chosen = arm(method, "as_published")
    table = checked(learn_and_measure(chosen.config, 0), chosen.name)
    assert table["step"].max() == MEMORY_LEARNER.horizon["smoke"]
    pd.testing.assert_frame_equal(table, checked(learn_and_measure(chosen.config, 0), chosen.name))
    assert not table.equals(checked(learn_and_measure(chosen.config, 1), chosen.name))


def test_early_is_measured_after_the_experience_of_the_other_learners() -> None:
    config = arm("fairqcm", "as_coded", "book").config
    assert config.early * 51 == PROBLEM.learning["book"].total_steps
    assert config.checkpoints == [5120, 10240, 20480, 40960, 81920, 163840, 327680, 655360]
    table = learn_and_measure(arm("fairqcm", "as_coded").config, 2)
    first = table[(table["phase"] == "curve") & (table["step"] == 640 * 51)]
    assert len(first) > 0
    for metric, value in first[["metric", "value"]].itertuples(index=False):
        assert finals(table)[f"{metric}_early"] == value


@pytest.mark.parametrize(("variant", "gap"), [("as_coded", "gap_dp"), ("as_published", None)])
def test_the_gap_of_the_variant_is_the_one_that_is_kept(variant: str, gap: str | None) -> None:
    config = replace(arm("fairqcm", variant).config, early=10_000, judged_on=200_000)
    found = finals(learn_and_measure(config, 1000))
    assert found[gap or "gap_dp_discounted"] == pytest.approx(0.1, abs=0.012)
    assert 0.0 < found["price"] < BOOKS[variant][1].steepest
    other = "gap_dp_discounted" if gap else "gap_dp"
    assert abs(found[other] - 0.1) > 0.02


def test_methods_differ_in_their_memory_only() -> None:
    for variant in BOOKS:
        first, *others = (arm(method, variant, "book").config for method in METHODS)
        for other in others:
            assert replace(other, learning=first.learning) == first
            assert replace(other.learning, memory=first.learning.memory) == first.learning
