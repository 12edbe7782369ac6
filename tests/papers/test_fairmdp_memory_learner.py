"""FairQCM on the loan problem: what is measured, and when."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from longfair.errors import UsageError
from longfair.papers.fairmdp.memory_learner import (
    BANKS,
    MEMORY_LEARNER,
    METHODS,
)
from longfair.papers.fairmdp.other_learners import PROBLEM
from longfair.papers.protocol import train_and_evaluate, two_seeds
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
    table = checked(train_and_evaluate(chosen.config, 0), chosen.name)
    assert table["step"].max() == MEMORY_LEARNER.horizon["smoke"]
    pd.testing.assert_frame_equal(table, checked(train_and_evaluate(chosen.config, 0), chosen.name))
    assert not table.equals(checked(train_and_evaluate(chosen.config, 1), chosen.name))


def test_early_is_measured_after_the_experience_of_the_other_learners() -> None:
    learning = arm("fairqcm", "as_coded", "book").config.learning
    assert learning.early * 51 == PROBLEM.learning["book"].total_steps
    assert learning.checkpoints == [5120, 10240, 20480, 40960, 81920, 163840, 327680, 655360]
    table = train_and_evaluate(arm("fairqcm", "as_coded").config, 2)
    first = table[(table["phase"] == "curve") & (table["step"] == 640 * 51)]
    assert len(first) > 0
    for metric, value in first[["metric", "value"]].itertuples(index=False):
        assert finals(table)[f"{metric}_early"] == value


@pytest.mark.parametrize(("variant", "gap"), [("as_coded", "gap_dp"), ("as_published", None)])
def test_the_gap_of_the_variant_is_the_one_that_is_kept(variant: str, gap: str | None) -> None:
    setting = arm("fairqcm", variant).config
    setting = replace(
        setting,
        learning=replace(setting.learning, early=10_000),
        evaluating=replace(setting.evaluating, judged_on=200_000),
    )
    found = finals(train_and_evaluate(setting, 1000))
    assert found[gap or "gap_dp_discounted"] == pytest.approx(0.1, abs=0.012)
    assert 0.0 < found["price"] < BANKS[variant].books.steepest
    other = "gap_dp_discounted" if gap else "gap_dp"
    assert abs(found[other] - 0.1) > 0.02


def test_methods_differ_in_their_memory_only() -> None:
    for variant in BANKS:
        first, *others = (arm(method, variant, "book").config for method in METHODS)
        for other in others:
            assert replace(other, learning=first.learning) == first
            same = replace(other.learning.settings, memory=first.learning.settings.memory)
            assert replace(other.learning, settings=same) == first.learning


def test_a_bank_with_a_balance_plays_no_episodes_side_by_side() -> None:
    setting = arm("fairqcm", "as_coded").config
    snapshots = setting.learning.train(setting, two_seeds(0)[0], 0, None)
    with pytest.raises(UsageError, match="side by side have no meaning"):
        snapshots.acting([0], 3, 0)
