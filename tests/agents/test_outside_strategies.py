"""Strategies of one's own: info they need, actions they change, a state that a model keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import VectorWrapper
from stable_baselines3.common.vec_env import DummyVecEnv

from longfair.agents.ppo import FairPPO, Strategy
from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.strategy import Moment, Plan, Rollout
from longfair.agents.register import FAIR_PPO, register
from longfair.errors import UsageError

EPISODE = 50
Arrays = Mapping[str, Any]


def lending(copies: int = 2) -> Any:
    return gymnasium.make_vec("longfair/Lending-v0", num_envs=copies, episode_length=EPISODE)


def singles() -> Any:
    make = partial(gymnasium.make, "longfair/Lending-v0", episode_length=EPISODE)
    return DummyVecEnv([make] * 2)


def learner(strategy: Strategy, env: Any = None, **settings: Any) -> FairPPO:
    small: dict[str, Any] = {"batch_size": 50, "n_epochs": 1, "net_arch": (8,), "seed": 1}
    return FairPPO(env=lending() if env is None else env, strategy=strategy, **(small | settings))


# Needs and intervenes ---------------------------------------------------------------------------


@dataclass(frozen=True)
class AcceptsEveryThird(Strategy):
    """Refuses all, and accepts by force when a copy's cash is a multiple of three."""

    name: ClassVar[str] = "accepts-every-third"
    needs: ClassVar[tuple[str, ...]] = ("group_state", "cash")

    def intervene(self, moment: Moment) -> Any:
        info, actions = moment.info, moment.actions
        assert info["group_state"].shape[:2] == (2, 2)
        return (info["cash"] % 3 == 0).astype(actions.dtype) if "cash" in info else 0 * actions


@pytest.mark.parametrize("make", [lending, singles])
def test_what_is_executed_is_what_the_strategy_says(make: Any) -> None:
    model = learner(AcceptsEveryThird(), make())
    model.learn(2 * EPISODE)
    buffer = model.rollout_buffer
    cash = buffer.info["cash"]
    assert buffer.info["group_state"].shape[:3] == (EPISODE, 2, 2)
    assert not buffer.actions[0].any()
    np.testing.assert_array_equal(buffer.actions[1:], cash[:-1] % 3 == 0)
    accepted = buffer.actions == 1  # and the environment saw these actions
    np.testing.assert_array_equal(buffer.rewards, accepted * (2 * buffer.demand.sum(axis=2) - 1))


@dataclass(frozen=True)
class UnlikelyLater(Strategy):
    """From the second rollout on executes what the policy holds less likely."""

    name: ClassVar[str] = "unlikely-later"

    def intervene(self, moment: Moment) -> Any:
        likely = moment.output.argmax(axis=1)
        return moment.actions if moment.rollout == 0 else 1 - likely


def test_an_intervention_knows_the_rollout_and_the_policy() -> None:
    plain, changed = (
        learner(Strategy(), learning_rate=1e-12),
        learner(UnlikelyLater(), learning_rate=1e-12),
    )
    for model in (plain, changed):
        model.learn(2 * EPISODE)
    np.testing.assert_array_equal(plain.rollout_buffer.actions, changed.rollout_buffer.actions)
    changed.learn(2 * EPISODE, reset_num_timesteps=False)
    buffer = changed.rollout_buffer
    observations = buffer.observations.reshape(-1, buffer.observations.shape[-1])
    unlikely = 1 - changed.policy.actor().output(observations).argmax(axis=-1)
    np.testing.assert_array_equal(buffer.actions.reshape(-1), unlikely)


def test_the_policy_learns_from_what_is_executed() -> None:
    model = learner(AcceptsEveryThird(), learning_rate=1e-12)
    model.learn(2 * EPISODE)
    samples = model._samples
    with torch.no_grad():
        actions = samples.actions[:, 0].long()
        _, log_prob, _ = model.policy.evaluate_actions(samples.observations, actions)
    torch.testing.assert_close(samples.old_log_prob, log_prob)


@dataclass(frozen=True)
class Illegal(Strategy):
    """Executes what no environment has."""

    name: ClassVar[str] = "illegal"
    executed: Any = None

    def intervene(self, moment: Moment) -> Any:
        return self.executed


@pytest.mark.parametrize(
    ("executed", "told"),
    [
        (np.array([0, 2]), "action 2 is not allowed: give integers in 0..1"),
        (np.array([0, -1]), "action -1 is not allowed"),
        (np.array([0.0, 1.0]), "actions have dtype float64"),
        (np.array([0]), r"^Illegal.intervene gave actions of shape \(1,\): give \(2,\)"),
        (0, r"^Illegal.intervene gave actions of shape \(\): give \(2,\)"),
    ],
)
def test_an_intervention_with_illegal_actions_ends_in_one_line(executed: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told) as raised:
        learner(Illegal(executed=executed)).learn(EPISODE)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("executed", [0.0, np.zeros(5), np.zeros((1, 5)), np.zeros((2, 4))])
def test_an_intervention_on_numbers_keeps_their_shape(executed: Any) -> None:
    env = gymnasium.make_vec("longfair/Attention-v0", num_envs=2, episode_length=EPISODE)
    with pytest.raises(UsageError, match=r"intervene gave actions of shape .* give \(2, 5\)"):
        learner(Illegal(executed=executed), env).learn(EPISODE)


NO_NUMBERS = {
    "nothing": None,
    "infinite": np.full((2, 5), np.inf),
    "one not a number": np.where(np.eye(2, 5), np.nan, 0.0),
    "text": np.full((2, 5), "0.0"),
    "objects": np.full((2, 5), None),
    "ragged": [[0.0] * 5, [0.0] * 4],
    "complex": np.zeros((2, 5), complex),
}


@pytest.mark.parametrize("executed", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_an_intervention_gives_finite_numbers(executed: Any) -> None:
    env = gymnasium.make_vec("longfair/Attention-v0", num_envs=2, episode_length=EPISODE)
    told = r"^Illegal.intervene gave actions .*: give finite numbers of shape \(2, 5\)$"
    with pytest.raises(UsageError, match=told) as raised:
        learner(Illegal(executed=executed), env).learn(EPISODE)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("executed", "told"),
    [
        (np.full((2, 5), 1e30), "gave an action of size 1e[+]30: give at most 10000"),
        (np.full((2, 5), -1e5), "gave an action of size 100000: give at most 10000"),
        (np.ones((2, 5), bool), "gave booleans: give numbers"),
    ],
)
def test_an_intervention_gives_numbers_that_a_gaussian_can_learn_from(
    executed: Any, told: str
) -> None:
    env = gymnasium.make_vec("longfair/Attention-v0", num_envs=2, episode_length=EPISODE)
    with pytest.raises(UsageError, match=rf"^Illegal.intervene {told}") as raised:
        learner(Illegal(executed=executed), env).learn(EPISODE)
    assert "\n" not in str(raised.value)


def test_booleans_are_no_decisions() -> None:
    with pytest.raises(UsageError, match=r"^Illegal.intervene gave booleans: give numbers"):
        learner(Illegal(executed=np.array([True, False]))).learn(EPISODE)


def test_a_policy_that_is_no_longer_finite_ends_in_one_line() -> None:
    env = gymnasium.make_vec("longfair/Attention-v0", num_envs=2, episode_length=EPISODE)
    model = learner(Strategy(), env)
    with torch.no_grad():
        model.policy.networks.policy_bias[:] = torch.nan
    observations = torch.zeros((3, *model.observation_space.shape))
    with pytest.raises(UsageError, match="outputs are no longer finite: train with a") as raised:
        model.policy.get_distribution(observations)
    assert "\n" not in str(raised.value)


@dataclass(frozen=True)
class Muddled(Strategy):
    """Plans with one array that is not what it must be; G-PPO has no signals."""

    name: ClassVar[str] = "muddled"
    field: str = ""
    given: Any = None

    def plan(self, rollout: Rollout) -> Any:
        plan = super().plan(rollout)
        return plan._replace(**{self.field: self.given}) if self.field else self.given


@pytest.mark.parametrize(
    ("field", "given", "told"),
    [
        ("rewards", np.full((EPISODE, 2), np.nan), "rewards that are not all finite"),
        ("rewards", np.zeros(EPISODE), r"rewards of shape \(50,\): give \(50, 2\)"),
        ("signals", np.zeros((3, 3)), r"signals of shape \(3, 3\): give \(50, 2, 0\)"),
        ("signals", np.zeros((EPISODE, 2, 1)), r"signals of .*: give \(50, 2, 0\)"),
        ("features", np.zeros((EPISODE, 2)), r"features of shape \(50, 2\): give \(50, 2, 2\)"),
        ("features", None, "features that are not all finite: give finite numbers"),
        ("features", [[[0.0]], [[0.0, 1.0]]], "features that are not all finite"),
        ("weights", [np.inf], "weights that are not all finite"),
        ("weights", np.ones(3), r"weights of shape \(3,\): give \(1,\)"),
        ("", None, "None: give a Plan"),
    ],
)
def test_a_plan_of_other_numbers_is_refused(field: str, given: Any, told: str) -> None:
    with pytest.raises(UsageError, match=f"^Muddled.plan gave {told}") as raised:
        learner(Muddled(field=field, given=given)).learn(EPISODE)
    assert "\n" not in str(raised.value)


@dataclass(frozen=True)
class Wishes(Strategy):
    """Needs what no environment has."""

    name: ClassVar[str] = "wishes"
    needs: ClassVar[tuple[str, ...]] = ("grup_state",)


@pytest.mark.parametrize("make", [lending, singles])
def test_info_that_is_not_there_is_named(make: Any) -> None:
    with pytest.raises(UsageError, match="needs info 'grup_state': did you mean 'group_state'"):
        learner(Wishes(), make()).learn(2 * EPISODE)


class Spoilt(VectorWrapper[Any, Any, Any, Any]):
    """Tells a number that is not finite in the second copy, once, in some step or after a reset."""

    def __init__(self, name: str, number: float, step: int = 0) -> None:
        super().__init__(lending())
        self.name, self.number, self.left = name, number, step

    def reset(self, **given: Any) -> Any:
        observation, info = self.env.reset(**given)
        return observation, info if self.left else self._spoil(info)

    def step(self, actions: Any) -> Any:
        *found, info = self.env.step(actions)
        self.left -= 1
        return *found, info if self.left else self._spoil(info)

    def _spoil(self, info: dict[str, Any]) -> dict[str, Any]:
        array = info[self.name].astype(float)
        array[1] = self.number
        return info | {self.name: array}


@dataclass(frozen=True)
class Reads(Strategy):
    """Needs the groups' states, which a reset gives as well."""

    name: ClassVar[str] = "reads"
    needs: ClassVar[tuple[str, ...]] = ("group_state",)


@pytest.mark.parametrize(
    ("name", "number", "step", "told"),
    [
        ("group_state", np.nan, 3, "info 'group_state' nan in copy 1, step 2 of the rollout"),
        ("group_state", -np.inf, 50, "info 'group_state' -inf in copy 1, step 49 of the rollout"),
        ("group_state", np.inf, 0, "info 'group_state' inf in copy 1, after a reset"),
        ("supply", np.nan, 3, "info 'supply' nan in copy 1, step 2 of the rollout"),
        ("demand", np.inf, 3, "info 'demand' inf in copy 1, step 2 of the rollout"),
    ],
)
def test_info_that_is_not_finite_is_named(name: str, number: float, step: int, told: str) -> None:
    with pytest.raises(UsageError, match=f"^the environment returned {told}: give finite numbers$"):
        learner(Reads(), Spoilt(name, number, step)).learn(EPISODE)


def test_info_that_nobody_needs_may_be_anything() -> None:
    learner(Strategy(), Spoilt("group_state", np.nan, 3)).learn(EPISODE)


# State ------------------------------------------------------------------------------------------


@register(label="PPO-Lagrangian", loaded_by=FAIR_PPO)
@dataclass(frozen=True)
class Lagrangian(ElbertPO):
    """PPO-Lagrangian: the weight of the bias grows while the bias is above a limit."""

    name: ClassVar[str] = "ppo-lagrangian"
    revision: ClassVar[int] = 1
    limit: float = 0.05
    rate: float = 10.0

    def initial_state(self, num_groups: int) -> Arrays:
        return {"multiplier": np.array(1.0), "rates": np.zeros(num_groups)}

    def next_state(self, rollout: Rollout) -> Arrays:
        rates = rollout.supply.sum(axis=(0, 1)) / rollout.demand.sum(axis=(0, 1))
        grown = rollout.state["multiplier"] + self.rate * (np.ptp(rates) - self.limit)
        return {"multiplier": np.maximum(0.0, grown), "rates": rates}

    def plan(self, rollout: Rollout) -> Plan:
        plan = super().plan(rollout)
        weights = plan.weights.copy()
        weights[1:] *= np.float32(rollout.state["multiplier"])
        return plan._replace(weights=weights)


def multiplier(model: FairPPO) -> float:
    return float(model.strategy_state["multiplier"])


def test_every_model_has_a_state_of_its_own() -> None:
    strategy = Lagrangian(alpha=10.0)
    first, second = learner(strategy), learner(strategy, seed=2)
    first.learn(4 * 2 * EPISODE)
    assert multiplier(first) != multiplier(second) == 1.0
    rates = first.rollout_buffer.supply.sum(axis=(0, 1)) / first.rollout_buffer.demand.sum((0, 1))
    np.testing.assert_allclose(first.strategy_state["rates"], rates)


def test_the_state_decides_the_update() -> None:
    """A rate of zero leaves the multiplier at one, and PPO-Lagrangian is ELBERT-PO."""
    plain, still, moving = (
        learner(strategy).learn(3 * 2 * EPISODE).policy.flat.values
        for strategy in (
            ElbertPO(alpha=10.0),
            Lagrangian(alpha=10.0, rate=0.0),
            Lagrangian(alpha=10.0),
        )
    )
    assert torch.equal(plain, still)
    assert not torch.equal(plain, moving)


def test_the_state_is_saved_and_logged(tmp_path: Path) -> None:
    model = learner(Lagrangian(alpha=10.0))
    model.learn(3 * 2 * EPISODE, log_interval=100)
    assert model.logger.name_to_value["strategy/multiplier"] == multiplier(model)
    assert "strategy/rates" not in model.logger.name_to_value
    model.save(tmp_path / "model")
    for env in (None, lending()):
        again = FairPPO.load(tmp_path / "model", env)
        assert multiplier(again) == multiplier(model)
        np.testing.assert_array_equal(again.strategy_state["rates"], model.strategy_state["rates"])


@pytest.mark.parametrize(
    "after",
    [
        {"rates": np.zeros(2)},
        {"multiplier": np.array(1.0), "rates": np.zeros(3)},
        {"multiplier": np.array(1), "rates": np.zeros(2)},
        {"multiplier": np.array(1.0), "rates": np.zeros(2), "more": np.zeros(1)},
    ],
)
def test_a_state_keeps_its_names_shapes_and_types(
    after: Arrays, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else what is saved could not be loaded, or would be rounded on the way."""
    monkeypatch.setattr(Lagrangian, "next_state", lambda *_: after)
    told = r"next_state of ppo-lagrangian returned .*was multiplier float64\(\), rates float64"
    with pytest.raises(UsageError, match=told):
        learner(Lagrangian(alpha=10.0)).learn(2 * EPISODE)


@pytest.mark.parametrize("argument", [{"strategy": ElbertPO()}, {"policy": "FairMlpPolicy"}])
def test_what_was_saved_is_not_replaced(argument: dict[str, Any], tmp_path: Path) -> None:
    learner(Lagrangian(alpha=10.0)).save(tmp_path / "model")
    with pytest.raises(UsageError, match=f"{next(iter(argument))} is what was saved: to go on"):
        FairPPO.load(tmp_path / "model", **argument)


def test_training_goes_on_with_the_state() -> None:
    whole, first = (learner(Lagrangian(alpha=10.0)) for _ in range(2))
    whole.learn(4 * 2 * EPISODE)
    first.learn(2 * 2 * EPISODE)
    second = learner(Lagrangian(alpha=10.0))
    second.restore_training_state(*first.training_state())
    second.learn(2 * 2 * EPISODE, reset_num_timesteps=False)
    assert multiplier(second) == multiplier(whole) != multiplier(first)
    assert torch.equal(second.policy.flat.values, whole.policy.flat.values)
