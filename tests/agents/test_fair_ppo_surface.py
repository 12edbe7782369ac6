"""What Stable-Baselines3 offers beside learning: it works with FairPPO, or is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback

from longfair.agents.ppo import ElbertPO, FairPPO, Strategy
from longfair.agents.ppo.strategy import Rollout
from longfair.agents.register import FAIR_PPO, register
from longfair.errors import UsageError

LENDING = "longfair/Lending-v0"


def lending(copies: int = 2, length: int = 50) -> Any:
    return gymnasium.make_vec(LENDING, num_envs=copies, preset="elbert", episode_length=length)


def model_of(env: Any = None, **settings: Any) -> FairPPO:
    small: dict[str, Any] = {"batch_size": 50, "n_epochs": 2, "net_arch": (8,), "seed": 1}
    return FairPPO(env=lending() if env is None else env, **(small | settings))


@register(label="counting", loaded_by=FAIR_PPO)
@dataclass(frozen=True)
class Counting(Strategy):
    """Plain PPO that counts its rollouts."""

    name: ClassVar[str] = "counting-rollouts"
    revision: ClassVar[int] = 1

    def initial_state(self, num_groups: int) -> Mapping[str, Any]:
        return {"rollouts": np.zeros(1)}

    def next_state(self, rollout: Rollout) -> Mapping[str, Any]:
        return {"rollouts": rollout.state["rollouts"] + 1.0}


def flat(model: FairPPO) -> dict[str, Any]:
    """All that `get_parameters` tells, as copied arrays."""
    return {
        f"{place} {name}": np.asarray(value).copy()
        for place, entries in model.get_parameters().items()
        for name, value in entries.items()
    }


def assert_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name])


def assert_refused(call: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


# Parameters -------------------------------------------------------------------------------------


def test_parameters_go_from_model_to_model_with_moments_and_strategy() -> None:
    trained, other = model_of(strategy=Counting()), model_of(strategy=Counting(), seed=2)
    trained.learn(200)
    other.set_parameters(trained.get_parameters())
    assert_same(flat(other), flat(trained))
    assert flat(other)["strategy rollouts"] == [2.0]
    assert flat(other)["policy.optimizer steps"] > 0
    observation = trained.observation_space.sample()
    torch.testing.assert_close(*(m.policy.obs_to_tensor(observation)[0] for m in (trained, other)))
    before = flat(trained)
    other.learn(100)
    assert_same(flat(trained), before)  # what was handed over is not shared


def test_parameters_come_from_a_file_with_fresh_moments(tmp_path: Path) -> None:
    trained, other = model_of(strategy=Counting()), model_of(strategy=Counting(), seed=2)
    trained.learn(200)
    other.learn(100)
    trained.save(tmp_path / "model")
    for path in (tmp_path / "model", str(tmp_path / "model")):
        other.set_parameters(path)
        found, wanted = flat(other), flat(trained)
        moments = [name for name in found if name.startswith("policy.optimizer")]
        assert not any(found.pop(name).any() for name in moments)
        assert_same(found, {name: wanted[name] for name in found})


def test_some_parameters_may_be_replaced_alone() -> None:
    one, other = model_of(), model_of(seed=2)
    name = "networks.policy_weight"
    given = {"policy": {name: one.get_parameters()["policy"][name]}}
    before = flat(other)
    other.set_parameters(given, exact_match=False)
    after = flat(other)
    changed = [key for key in after if not np.array_equal(after[key], before[key])]
    assert changed == [f"policy {name}"]
    np.testing.assert_array_equal(after[changed[0]], flat(one)[changed[0]])


def wrong_parameters() -> dict[str, tuple[Any, str]]:
    own = model_of().get_parameters()
    policy = own["policy"]
    nan = {**policy, "networks.policy_bias": np.full_like(policy["networks.policy_bias"], np.nan)}
    return {
        "another architecture": (
            model_of(net_arch=(9,)).get_parameters(),
            r"networks.policy_weight'\] has shape \(9, 2\), that of this model \(8, 2\)",
        ),
        "another strategy": (
            model_of(strategy=ElbertPO()).get_parameters(),
            "networks.value_weight.* need the same net_arch, strategy",
        ),
        "no moments": ({"policy": policy}, "parameters lacks 'policy.optimizer'"),
        "a weight missing": (
            {**own, "policy": dict(list(policy.items())[1:])},
            r"parameters\['policy'\] lacks 'networks.policy_weight'",
        ),
        "a stranger": ({**own, "critic": {}}, "parameters has no 'critic'"),
        "a strange weight": (
            {**own, "policy": {**policy, "weight": 1.0}},
            r"parameters\['policy'\] has no 'weight'",
        ),
        "not a number": ({**own, "policy": nan}, "networks.policy_bias.*: give finite numbers"),
        "no mapping": ({**own, "policy": 3}, r"parameters\['policy'\]=3: give a mapping"),
        "no parameters": (3, "load_path_or_dict=3: give what get_parameters returns"),
        "no file": ("nowhere", "cannot read a model from nowhere"),
    }


@pytest.mark.parametrize("case", wrong_parameters())
def test_parameters_that_do_not_fit_change_nothing(case: str) -> None:
    given, message = wrong_parameters()[case]
    model = model_of(seed=2)
    before = flat(model)
    assert_refused(lambda: model.set_parameters(given), message)
    assert_same(flat(model), before)


# Observations -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int64, np.uint8])
def test_observations_of_any_numbers_are_taken(dtype: Any) -> None:
    policy = model_of().policy
    given = np.arange(18).reshape(2, 9).astype(dtype)
    wanted = given.astype(np.float32)
    one, other = (policy.predict(x, deterministic=True)[0] for x in (given, wanted))
    np.testing.assert_array_equal(one, other)
    given, wanted = torch.as_tensor(given), torch.as_tensor(wanted)
    torch.testing.assert_close(policy.predict_values(given), policy.predict_values(wanted))
    choices = torch.zeros(2, dtype=torch.long)
    for one, other in zip(
        policy.evaluate_actions(given, choices),
        policy.evaluate_actions(wanted, choices),
        strict=True,
    ):
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(policy(given, True), policy(wanted, True))


# Environment ------------------------------------------------------------------------------------


@pytest.mark.parametrize("env", ["longfair/LoanPool-v0", gymnasium.make("longfair/LoanPool-v0")])
def test_an_environment_is_set_by_what_the_constructor_takes(env: Any) -> None:
    model = model_of("longfair/LoanPool-v0", batch_size=40)
    model.learn(40)
    model.set_env(env)
    model.learn(40, reset_num_timesteps=False)
    assert model.num_timesteps == 80


@dataclass(frozen=True)
class Looking(Strategy):
    """Notes in which moments the cash of the step before is known."""

    name: ClassVar[str] = "looking"
    needs: ClassVar[tuple[str, ...]] = ("cash",)
    known: ClassVar[list[bool]] = []

    def intervene(self, moment: Any) -> Any:
        self.known.append("cash" in moment.info)
        return moment.actions


def test_learning_goes_on_in_a_batch_that_is_set() -> None:
    Looking.known.clear()
    model = model_of(whole_episodes=False, n_steps=75, strategy=Looking())
    model.learn(150)
    other = lending()
    model.set_env(other)
    model.learn(150, reset_num_timesteps=False)
    vectors: Any = model.get_env()
    assert vectors.env is other
    assert Looking.known == 2 * [False, *[True] * 74]  # nothing of the old batch is handed on
    # The rollout began with fresh episodes, and the first of them ended after 50 steps.
    assert model.rollout_buffer.episode_starts[[0, 50]].all()


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("no such thing", "env='no such thing': Malformed environment ID"),
        (3, "env=3: give a Gymnasium id"),
        (None, "env=None: give a Gymnasium id"),
        (lending(3), "has 3 copies, the model was made for 2: .*FairPPO.load"),
        (lending(length=60), "n_steps=50 cuts episodes of 60 steps"),
        ("longfair/LoanPool-v0", "it was trained on Box"),
    ],
)
def test_an_environment_of_another_kind_is_refused(env: Any, message: str) -> None:
    model = model_of()
    before = model.get_env()
    assert_refused(lambda: model.set_env(env), message)
    assert model.get_env() is before
    model.learn(100)


def test_a_method_is_not_set_into_a_world_it_does_not_know() -> None:
    groups = lending().unwrapped.num_groups
    assert groups == 2

    class Renamed(gymnasium.vector.VectorWrapper[Any, Any, Any, Any]):
        num_groups = 3

    assert_refused(lambda: model_of().set_env(Renamed(lending())), "has 3 groups, the model was")


def test_learning_needs_an_environment(tmp_path: Path) -> None:
    model_of().save(tmp_path / "model")
    model = FairPPO.load(tmp_path / "model")
    assert_refused(
        lambda: model.learn(100),
        r"no environment to learn in: load the model with FairPPO\.load\(path, env\)$",
    )


def test_a_model_needs_an_environment() -> None:
    for make in (FairPPO, lambda: FairPPO(env=None)):
        assert_refused(make, "env=None: give a Gymnasium id, what gymnasium.make or")


def test_learning_needs_networks() -> None:
    model = model_of(_init_setup_model=False)
    assert_refused(lambda: model.learn(100), "no networks yet: leave _init_setup_model=False away")
    model._setup_model()
    model.learn(100)


@pytest.mark.parametrize("steps", [-1, 1.5, "many", None])
def test_steps_that_mean_nothing_are_refused(steps: Any) -> None:
    assert_refused(lambda: model_of().learn(steps), "total_timesteps=.*: give an integer of at")


# Rollout ----------------------------------------------------------------------------------------


class Reading(BaseCallback):
    """Reads the buffer at the end of every rollout, as a logger would."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[Any] = []

    def _on_rollout_end(self) -> None:
        assert isinstance(self.model, FairPPO)
        self.read.append(list(self.model.rollout_buffer.get(30)))

    def _on_step(self) -> bool:
        return True


@pytest.mark.parametrize("strategy", [Strategy(), ElbertPO()])
def test_reading_the_buffer_changes_nothing(strategy: Strategy) -> None:
    silent, read, reading = model_of(strategy=strategy), model_of(strategy=strategy), Reading()
    silent.learn(200)
    read.learn(200, callback=reading)
    assert_same(flat(silent), flat(read))
    assert [[len(batch.observations) for batch in batches] for batches in reading.read] == [
        [30, 30, 30, 10]
    ] * 2


def test_the_buffer_says_what_that_of_stable_baselines3_would() -> None:
    model = model_of()
    model.learn(100)
    buffer = model.rollout_buffer
    plain = RolloutBuffer(
        50, model.observation_space, model.action_space, "cpu", model.gae_lambda, model.gamma, 2
    )
    plain.rewards = buffer.rewards.astype(np.float32)
    plain.values, plain.episode_starts = buffer.values.copy(), buffer.episode_starts
    plain.compute_returns_and_advantage(torch.zeros(2), np.ones(2))  # all episodes have ended
    np.testing.assert_allclose(buffer.advantages, plain.advantages, atol=1e-5)
    np.testing.assert_allclose(buffer.returns, plain.returns, atol=1e-5)
    (whole,) = buffer.get()
    assert whole.actions.shape == (100, 1)
    for kept, got in (
        (buffer.advantages, whole.advantages),
        (buffer.returns, whole.returns),
        (buffer.values, whole.old_values),
        (buffer.log_probs, whole.old_log_prob),
    ):
        np.testing.assert_array_equal(np.sort(kept, axis=None), np.sort(got.numpy()))
    assert (whole.old_log_prob < 0).all()


def test_what_would_be_ignored_is_refused() -> None:
    buffer = model_of().rollout_buffer
    assert_refused(lambda: buffer.get(10), "the rollout is not complete: call get after one")
    assert_refused(lambda: buffer.add(1, 2, 3, 4, 5, 6), "use record")
    assert_refused(
        lambda: buffer.compute_returns_and_advantage(torch.zeros(2), np.ones(2)),
        "advantages come from the strategy",
    )
    model = model_of()
    model.learn(100)
    with pytest.raises(ValueError, match="read-only"):
        model.rollout_buffer.advantages[:] = 0.0


# Random numbers ---------------------------------------------------------------------------------


def test_a_seed_given_later_repeats_learning() -> None:
    ends = []
    for first in (1, 2):
        model = model_of(seed=first)
        model.set_parameters(model_of().get_parameters())
        model.set_random_seed(5)
        ends.append(flat(model.learn(200)))
    assert_same(*ends)
    assert_refused(lambda: model_of().set_random_seed(-1), "seed=-1: give an integer in")
