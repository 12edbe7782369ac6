"""The log of F-PPO's training in lending."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from longfair.agents.ppo.advantage_terms import with_terms
from longfair.papers.fppo.falling import FALLING, TOLD, shares_of_spread
from longfair.papers.fppo.falling_training import RolloutLog
from longfair.papers.fppo.learning import TrunkPPO
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
