"""Constrained policy optimisation on a problem whose answer is known, and its doors."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from torch.nn.utils import parameters_to_vector

from longfair.agents.cpo import CPO, CPOSettings
from longfair.agents.cpo.networks import Critic, tanh_layers
from longfair.agents.register import find
from longfair.errors import UsageError
from longfair.papers.fppo.attention import world
from longfair.papers.fppo.gaps import AttentionGaps

STEPS, COPIES = 20, 16
SMALL: Any = {"hidden": (8,), "damping": 0.01, "critic_steps": 8}


class Target(VectorEnv[Any, Any, Any]):
    """Reward -(a - 1)^2, cost a^2: the more reward, the more cost; nothing happens over time."""

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(self, copies: int = COPIES) -> None:
        self.num_envs = copies
        self.single_observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.single_action_space = spaces.Box(-9.0, 9.0, (1,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, copies)
        self.action_space = batch_space(self.single_action_space, copies)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        if seed is not None:
            self._np_random = np.random.default_rng(seed)
        self.taken = 0
        return self._observed(), {}

    def _observed(self) -> Any:
        return self.np_random.uniform(-1.0, 1.0, (self.num_envs, 2)).astype(np.float32)

    def step(self, actions: Any) -> Any:
        self.taken += 1
        action = np.asarray(actions, float)[:, 0]
        ended = np.full(self.num_envs, self.taken % STEPS == 0)
        info = {"short_term_gap": action**2}
        return self._observed(), -((action - 1.0) ** 2), ended & False, ended, info


def learned(settings: CPOSettings, batches: int = 30, seed: int = 1) -> tuple[CPO, list[Any]]:
    agent, reports = CPO(Target(), settings, seed), []
    agent.learn(batches * STEPS * COPIES, lambda agent: reports.append(agent.report))
    return agent, reports


def test_without_a_limit_that_matters_the_reward_is_sought() -> None:
    agent, reports = learned(CPOSettings(limit=1e6, **SMALL))
    assert {report.case for report in reports} == {"free"}
    assert reports[-1].reward > 0.4 * reports[0].reward
    assert agent.policy.log_std.exp().item() < 0.6
    mean, _ = agent.predict(np.zeros((1, 2), np.float32), deterministic=True)
    assert mean[0, 0] == pytest.approx(1.0, abs=0.2)


def test_the_limit_is_sought_first_and_then_kept() -> None:
    """The spread shrinks until mean^2 + deviation^2 = 0.25 on average, as the limit wants."""
    limit = 0.25 * sum(0.9**step for step in range(STEPS))
    settings = CPOSettings(limit=limit, discount=0.9, **SMALL)
    agent, reports = learned(settings, 70)
    assert reports[0].case == "recovery"
    assert {"bound"} <= {report.case for report in reports}
    costs = np.array([report.cost for report in reports])
    assert costs[0] > 3 * limit
    assert costs[-40:].mean() < 1.1 * limit
    # Within the limit, the reward is more than that of doing nothing.
    assert np.mean([report.reward for report in reports[-40:]]) > -1.0 * STEPS
    mean, _ = agent.predict(np.zeros((1, 2), np.float32), deterministic=True)
    assert 0.2 < mean[0, 0] < 0.55


@pytest.mark.parametrize("limit", [0.0, 2.0, 1e6])
def test_no_step_goes_beyond_the_divergence_allowed(limit: float) -> None:
    _, reports = learned(CPOSettings(limit=limit, **SMALL), 15)
    assert max(report.divergence for report in reports) <= CPOSettings().max_divergence
    assert any(report.length > 0 for report in reports)


def test_as_coded_a_step_can_go_beyond() -> None:
    _, reports = learned(CPOSettings(limit=0.0, **SMALL, as_coded=True), 20)
    assert max(report.divergence for report in reports) > CPOSettings().max_divergence
    assert all(np.isfinite(report.reward) for report in reports)


def test_a_critic_comes_closer_and_remembers() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(200, 3)
    targets = inputs[:, 0] - 2.0 * inputs[:, 1]
    critic = Critic(tanh_layers((3, 16, 1)), 0.1, 25, 0.0)
    errors = []
    for _ in range(10):
        critic.fit(inputs, targets)
        errors.append(float((critic.values(inputs) - targets).square().mean()))
    assert errors[-1] < 0.1 * errors[0]
    other = Critic(tanh_layers((3, 16, 1)), 0.1, 25, 0.0)
    other.layers.load_state_dict(critic.layers.state_dict())
    other.remember(critic.memory())
    for each in (critic, other):
        each.fit(inputs, targets)
    for one, same in zip(critic.layers.parameters(), other.layers.parameters(), strict=True):
        assert torch.equal(one, same)


def test_saved_and_loaded_it_acts_the_same(tmp_path: Path) -> None:
    agent, _ = learned(CPOSettings(limit=2.0, **SMALL), 3)
    agent.save(tmp_path / "agent.npz")
    seen = np.random.default_rng(0).standard_normal((5, 2)).astype(np.float32)
    for env in (None, Target()):
        same = CPO.load(tmp_path / "agent.npz", env)
        for deterministic in (True, False):
            for one in (agent, same):
                one.set_random_seed(3)
            actions = [one.predict(seen, deterministic=deterministic)[0] for one in (agent, same)]
            assert np.array_equal(*actions)
        assert (same.settings, same.num_timesteps) == (agent.settings, agent.num_timesteps)
    same.learn(STEPS * COPIES)
    with pytest.raises(UsageError, match="loaded without an environment"):
        CPO.load(tmp_path / "agent.npz").learn(1)
    with pytest.raises(UsageError, match=r"cannot load .* it was trained on"):
        CPO.load(tmp_path / "agent.npz", world(True).make(1, 5))
    with pytest.raises(
        UsageError, match=r"cannot load .*env='longfair/Attention-v0': give a batch"
    ):
        CPO.load(tmp_path / "agent.npz", "longfair/Attention-v0")
    with pytest.raises(UsageError, match=r"^unknown argument 'nope': allowed: env, seed, settings"):
        CPO.load(tmp_path / "agent.npz", nope=3)


def test_without_an_environment_there_is_nothing_to_go_on_in(tmp_path: Path) -> None:
    CPO(Target(), CPOSettings(**SMALL), 1).save(tmp_path / "agent.npz")
    with pytest.raises(UsageError, match="loaded without an environment: give load an env"):
        CPO.load(tmp_path / "agent.npz").training_state()


def test_a_cost_is_a_number_for_every_copy() -> None:
    env = gymnasium.make_vec("longfair/Attention-v0", num_envs=2, episode_length=3)
    told = r"info 'supply', an array of \w+ and shape \(2, 5\): name one with .* copy, \(2,\)"
    with pytest.raises(UsageError, match=told):
        CPO(env, CPOSettings(cost="supply", **SMALL), 1).learn(6)


def test_one_sample_is_nothing_to_learn_from() -> None:
    env = AttentionGaps(
        gymnasium.make_vec("longfair/Attention-v0", num_envs=1, episode_length=1), window=5
    )
    with pytest.raises(UsageError, match="gives 1 sample"):
        CPO(env, CPOSettings(**SMALL), 1).learn(1)


def test_stopped_and_gone_on_with_it_ends_at_the_same_bits() -> None:
    settings = CPOSettings(limit=2.0, **SMALL)
    whole, _ = learned(settings, 6)
    part, _ = learned(settings, 3)
    arrays, state = part.training_state()
    other = CPO(Target(), settings, seed=1)
    other.restore_training_state(arrays, state)
    other.learn(3 * STEPS * COPIES, reset_num_timesteps=False)
    assert other.num_timesteps == whole.num_timesteps
    for one, same in zip(whole._arrays().values(), other._arrays().values(), strict=True):
        assert np.array_equal(one, same)
    assert other.report == whole.report


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
@pytest.mark.parametrize("batches", [0, 2])
def test_a_copy_learns_to_the_same_bits(batches: int, copied: Any) -> None:
    agent, _ = learned(CPOSettings(limit=3.0, **SMALL), batches)
    twin = copied(agent)
    for one in (agent, twin):
        one.learn(3 * STEPS * COPIES, reset_num_timesteps=False)
    (arrays, settings), (own_arrays, own_settings) = agent.training_state(), twin.training_state()
    assert own_settings == settings
    assert own_arrays.keys() == arrays.keys()
    for name, array in own_arrays.items():
        np.testing.assert_array_equal(array, arrays[name], err_msg=name)


def test_a_callback_ends_the_learning() -> None:
    agent = CPO(Target(), CPOSettings(**SMALL), seed=1)
    agent.learn(100 * STEPS * COPIES, lambda agent: agent.num_timesteps < 2 * STEPS * COPIES)
    assert agent.num_timesteps == 2 * STEPS * COPIES


def test_another_seed_is_another_policy() -> None:
    vectors = [
        parameters_to_vector(CPO(Target(), seed=seed).policy.parameters()).detach().numpy()
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(vectors[0], vectors[1])
    assert not np.array_equal(vectors[0], vectors[2])


def test_it_acts_in_attention_and_says_why_elsewhere_not() -> None:
    entry = find("cpo")
    assert entry.why_not(world(False).make(1)) == ""
    assert "continuous" in entry.why_not(gymnasium.make_vec("longfair/Lending-v0", num_envs=1))
    env = world(False).make(4, 30)
    agent = CPO(env, CPOSettings(**SMALL), seed=0).learn(120)
    assert agent.report is not None
    assert agent.report.cost > 0
    assert agent.predict(env.reset()[0])[0].shape == (4, 5)


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"limit": -1.0}, "limit"),
        ({"discount": 0.0}, "discount"),
        ({"max_divergence": 0.0}, "max_divergence"),
        ({"shrinking": 1.5}, "shrinking"),
        ({"trials": 0}, "trials"),
        ({"hidden": ()}, "hidden"),
        ({"critic_steps": 2.5}, "critic_steps"),
        ({"as_coded": "yes"}, "as_coded"),
    ],
)
def test_settings_without_meaning_are_refused_by_name(bad: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        CPOSettings(**bad)


def test_worlds_without_meaning_are_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match="actions are Discrete"):
        CPO(gymnasium.make_vec("longfair/Lending-v0", num_envs=1))
    with pytest.raises(UsageError, match="the cost is info 'short_term_gap'"):
        CPO(gymnasium.make_vec("longfair/Attention-v0", num_envs=1)).learn(1)
    with pytest.raises(UsageError, match="the cost is info 'gap': "):
        CPO(Target(), CPOSettings(cost="gap")).learn(1)
