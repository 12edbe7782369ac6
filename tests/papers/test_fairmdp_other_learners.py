"""The learners of the ELBERT paper on the loan problem: observations and exact evaluation."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import gymnasium
import numpy as np
import pandas as pd
import pytest

from longfair.agents.evaluation import play_episodes
from longfair.agents.learning.actor import Actor
from longfair.papers.fairmdp.exact_lending import Features, exact, features
from longfair.papers.fairmdp.other_learners import METHODS, OTHER_LEARNERS, PROBLEM
from longfair.papers.protocol import train_and_evaluate
from longfair.runs.tables import checked


def actor(seed: int) -> Actor:
    generator = np.random.default_rng(seed)
    sizes = [3, 8, 2]
    layers = [
        (
            generator.normal(size=(before, after)).astype(np.float32),
            generator.normal(size=after).astype(np.float32),
        )
        for before, after in pairwise(sizes)
    ]
    return Actor(layers, None)


def test_features_are_mean_and_weight_of_the_belief() -> None:
    found = features(np.array([3.0]), np.array([1.0]), np.array([1.0]))
    assert found.tolist() == [[0.75, pytest.approx(np.log(4.0)), 1.0]]
    env = Features(gymnasium.make_vec("longfair/LoanMDP-v0", num_envs=5, episode_length=2))
    first, _ = env.reset(seed=0)
    assert first.shape == (5, 3)
    assert first.dtype == np.float32
    assert env.observation_space.contains(first)
    lend = np.ones(5, dtype=np.int64)
    env.step(lend)
    _, _, _, truncated, info = env.step(lend)
    assert truncated.all()
    # Two loans later the belief weighs two more.
    assert np.exp(info["final_obs"][:, 1]) == pytest.approx(np.exp(first[:, 1]) + 2.0, rel=1e-5)


def test_exact_values_agree_with_played_episodes() -> None:
    policy, generator = actor(1), np.random.default_rng(2)
    outcome = exact(policy)
    env = Features(gymnasium.make_vec("longfair/LoanMDP-v0", num_envs=3000))
    totals = play_episodes(lambda seen, _: policy.sample(seen, generator), env, seed=3)
    lent = totals.supply.sum(axis=0) / (totals.demand > 0).sum(axis=0) / 50
    assert lent == pytest.approx(outcome.rates()[0], abs=0.04)
    assert 0.1 < outcome.rates()[0, 0] < 0.9


def test_mode_takes_the_likelier_action() -> None:
    sharp = Actor([(w * 1000, b * 1000) for w, b in actor(1).layers], None)
    assert exact(sharp, mode=True).reward == pytest.approx(exact(sharp).reward, abs=1e-4)
    assert exact(actor(1), mode=True).reward != pytest.approx(exact(actor(1)).reward, abs=1e-4)


@pytest.mark.parametrize("method", ["elbert-po", "g-ppo"])
def test_runs_end_at_the_horizon_and_depend_on_their_seed_only(method: str) -> None:
    arm = next(a for a in OTHER_LEARNERS.arms["smoke"] if a.method == method)
    table = checked(train_and_evaluate(arm.config, 0), arm.name)
    assert table["step"].max() == OTHER_LEARNERS.horizon["smoke"]
    pd.testing.assert_frame_equal(table, checked(train_and_evaluate(arm.config, 0), arm.name))
    assert not table.equals(checked(train_and_evaluate(arm.config, 1), arm.name))


def test_rollouts_are_whole_episodes_and_fill_the_horizon() -> None:
    for profile, learning in PROBLEM.learning.items():
        rollout = 51 * learning.copies
        assert rollout % learning.minibatch == 0
        assert learning.total_steps % (rollout * PROBLEM.evaluating[profile].every) == 0


def test_strong_is_the_same_with_ten_times_the_weight() -> None:
    weak, strong = (
        METHODS["elbert-po-discounted", "ablation"][0],
        METHODS["elbert-po-discounted-strong", "ablation"][0],
    )
    assert strong == replace(weak, alpha=10 * weak.alpha)
