"""The log of F-PPO's training in lending, and what the page makes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from longfair.agents.ppo.advantage_terms import with_terms
from longfair.papers.fppo.falling import FALLING, TOLD, shares_of_spread
from longfair.papers.fppo.falling_results import falling_figure, why_in_words, why_table
from longfair.papers.fppo.falling_training import RolloutLog
from longfair.papers.fppo.learning import TrunkPPO
from longfair.papers.fppo.results import LENDING
from longfair.papers.page import Runs
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.registry import experiment
from longfair.papers.setting import Setting
from longfair.runs.checkpoints import Checkpoint
from longfair.runs.tables import checked


def of_lending(profile: str) -> Setting:
    arms = {arm.name: arm.config for arm in experiment("fppo/lending").arms[profile]}
    setting: Setting = arms["f-ppo.as_coded"]
    return setting


@pytest.fixture
def setting() -> Setting:
    (arm,) = FALLING.arms["smoke"]
    learning = replace(arm.config.learning, rollout=40, minibatch=20, total_steps=20 * 40)
    evaluating = replace(arm.config.evaluating, final_episodes=2, episode_length=60)
    logged: Setting = arm.config
    return replace(logged, learning=learning, evaluating=evaluating, episode_length=40)


@pytest.mark.parametrize("profile", ["book", "smoke"])
def test_the_arm_is_that_of_lending(profile: str) -> None:
    (arm,) = FALLING.arms[profile]
    own, logged = of_lending(profile), arm.config
    assert TrunkPPO(**vars(logged.learning)) == own.learning
    assert replace(logged, learning=own.learning, evaluating=own.evaluating) == own


def test_what_lending_reports_is_the_same_and_a_log_is_added(setting: Setting) -> None:
    logged = checked(train_and_evaluate(setting, 3), "logged")
    own = of_lending("smoke")
    plain = replace(
        own,
        learning=TrunkPPO(**vars(setting.learning)),
        evaluating=replace(setting.evaluating, measure=own.evaluating.measure),
        episode_length=setting.episode_length,
    )
    told = {f"training_{name}" for name in (*TOLD, "chance")}
    added = logged["metric"].isin(told)
    rest = logged[~added].reset_index(drop=True)
    pd.testing.assert_frame_equal(rest, checked(train_and_evaluate(plain, 3), "plain"))
    grouped = logged["group"].map({-1: "", 0: "_0", 1: "_1"})
    named = logged.assign(metric=logged["metric"] + grouped)[added]
    wide = named.pivot(index="step", columns="metric", values="value")
    assert wide.notna().all(axis=None)
    first = wide.index[0]
    assert wide[["training_chance_0", "training_chance_1"]].loc[first].between(0.4, 0.6).all()
    massaged = wide.index > 18 * setting.learning.rollout
    assert (wide["training_flips"][~massaged] == 0).all()
    assert (wide["training_flips"][massaged] > 0).any()
    assert (wide["training_loans"] <= setting.learning.rollout).all()
    assert (wide["training_profit"].abs() <= wide["training_loans"]).all()
    shares = wide[[f"training_share_{name}" for name in ("reward", "penalty", "bonus")]]
    assert np.allclose(shares.sum(axis=1), 1)


def test_a_stopped_log_goes_on_to_the_same_bits(
    setting: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = train_and_evaluate(setting, 3)
    checkpoint = Checkpoint(tmp_path / "run.npz", "key", seconds=0.0)
    starts = RolloutLog._on_rollout_start

    def stops(self: RolloutLog) -> None:
        starts(self)
        if len(self.steps) == 19:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(RolloutLog, "_on_rollout_start", stops)
        with pytest.raises(KeyboardInterrupt):
            train_and_evaluate(setting, 3, checkpoint)
    pd.testing.assert_frame_equal(train_and_evaluate(setting, 3, checkpoint), expected)


@pytest.mark.parametrize("scaled", [True, False])
def test_shares_are_those_of_the_advantage_that_is_used(scaled: bool) -> None:
    """A term's share is its regression on the standardised sum, in units of the sum's deviation."""
    rng = np.random.default_rng(0)
    terms, weights = rng.normal(size=(5, 64, 3)), (1.0, 1.12, 0.5)
    shares = shares_of_spread(terms, weights, scaled)
    used = with_terms(
        torch.tensor(terms[..., :1]), torch.tensor(terms[..., 1:]), weights[1:], scaled
    ).numpy()
    if scaled:
        terms = (terms - terms.min(axis=1, keepdims=True)) / np.ptp(terms, axis=1, keepdims=True)
    parts = terms * weights
    deviation = parts.sum(axis=2).std(axis=1)
    expected = [
        [np.cov(part, own, ddof=0)[0, 1] / used_deviation for part in minibatch.T]
        for minibatch, own, used_deviation in zip(
            parts, used / used.std(axis=1, keepdims=True), deviation, strict=True
        )
    ]
    assert np.allclose(shares, np.mean(expected, axis=0))
    assert shares.sum() == pytest.approx(1)


def test_without_spread_there_are_no_shares() -> None:
    assert shares_of_spread(np.ones((2, 4, 3)), (1.0, 1.0, 1.0), scaled=True).tolist() == [0, 0, 0]


# The page ----------------------------------------------------------------------------------------


def told(falls: bool, seed: int) -> pd.DataFrame:
    """Return a run of 40 rollouts of ten steps, made up."""
    steps = 10 * np.arange(1, 41)
    begun = np.arange(40) >= 18
    metrics = {
        ("training_chance", 0): np.where(begun, 0.2, 0.5),
        ("training_chance", 1): np.where(begun, 0.3, 0.6),
        ("training_flips", -1): 4.0 * begun,
        ("training_loans", -1): np.full(40, 2.0),
        ("training_profit", -1): np.full(40, -1.0 if falls else 1.0),
        ("training_share_reward", -1): np.full(40, 0.5),
        ("training_share_penalty", -1): np.full(40, 0.75),
        ("training_share_bonus", -1): np.full(40, -0.25),
    }
    rows = [
        pd.DataFrame({"step": steps, "value": values, "metric": name, "group": group})
        for (name, group), values in metrics.items()
    ]
    end = pd.DataFrame(
        {"step": [400], "value": 10_000.0 if falls else 11_000.0, "metric": "end_cash", "group": -1}
    )
    table = pd.concat([*(row.assign(phase="curve") for row in rows), end.assign(phase="final")])
    return table.assign(seed=seed, method="f-ppo", variant="as_coded", profile="book")


def made_up(*falls: bool) -> Runs:
    runs = Runs(experiment("fppo/why-banks-fall"), "book", LENDING)
    return runs.showing(pd.concat([told(own, seed) for seed, own in enumerate(falls)]))


def test_every_logged_run_has_a_row() -> None:
    table = why_table(made_up(False, True, True))
    assert isinstance(table, pd.DataFrame)
    assert list(table.index) == ["falls", "falls", "lends on"]
    assert set(table["chances before massaging"]) == {"0.50 and 0.60"}
    assert set(table["10 rollouts later"]) == {"0.20 and 0.30"}
    assert set(table["share flipped"]) == {"0.40"}
    assert list(table["a loan brought"]) == ["-0.50", "-0.50", "0.50"]
    shares = [
        table[f"% of the spread: {word}"].iloc[0] for word in ("advantage", "penalty", "bonus")
    ]
    assert shares == ["50", "75", "-25"]


def test_what_tells_the_runs_that_fall_is_said_only_if_it_does() -> None:
    runs = made_up(False, True, True)
    assert why_in_words(runs).startswith("Neither")
    rows = runs.results
    lends, chance = rows["seed"] == 0, rows["metric"] == "training_chance"
    higher = rows.assign(value=rows["value"] + 0.1 * (lends & chance))
    assert why_in_words(runs.showing(higher)) == (
        "The runs that fall had the lower chances of a loan before massaging began."
    )
    fewer = higher.assign(
        value=higher["value"] * np.where(lends & (rows["metric"] == "training_flips"), 0.5, 1.0)
    )
    assert why_in_words(runs.showing(fewer)).endswith(
        "massaging began, and had more of their decisions flipped."
    )


def test_a_run_that_falls_is_drawn() -> None:
    figure = falling_figure(made_up(False, True))
    assert figure is not None
    assert len(figure.figure.axes) == 3
    assert figure.data["flips per rollout, flips"].sum() == 4 * 22
    assert figure.data["% of the spread, penalty"].eq(75).all()


def test_without_runs_nothing_is_drawn() -> None:
    runs = made_up(True)
    empty = runs.showing(runs.results.iloc[:0])
    assert falling_figure(empty) is None
    assert "(not stored)" in why_in_words(empty)
    assert why_table(empty) == empty.missing
