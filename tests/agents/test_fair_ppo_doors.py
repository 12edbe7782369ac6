"""FairPPO opens what others hand it, honours or refuses arguments, comes back, and goes on."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

from longfair.agents.learning.schedules import Annealed
from longfair.agents.ppo import ElbertPO, FairPPO, Strategy
from longfair.agents.ppo.policy import FairActorCriticPolicy
from longfair.agents.ppo.separate_clipping import SeparatelyClippedPolicy
from longfair.agents.ppo.shared_trunk import SharedTrunkPolicy
from longfair.agents.register import FAIR_PPO, agents, register
from longfair.envs.sb3 import BatchVecEnv
from longfair.errors import UsageError

LENDING = "longfair/Lending-v0"


def lending(copies: int = 2, length: int = 50) -> Any:
    return gymnasium.make_vec(LENDING, num_envs=copies, preset="elbert", episode_length=length)


def model_of(env: Any = None, **settings: Any) -> FairPPO:
    small: dict[str, Any] = {
        "batch_size": 50,
        "n_epochs": 1,
        "net_arch": (8,),
        "seed": 1,
        "verbose": 0,
    }
    return FairPPO(env=lending() if env is None else env, **(small | settings))


# Doors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "env",
    [
        "longfair/LoanPool-v0",
        gymnasium.make("longfair/LoanPool-v0"),
        gymnasium.make_vec("longfair/LoanPool-v0", num_envs=3),
        BatchVecEnv(gymnasium.make_vec("longfair/LoanPool-v0", num_envs=3)),
        DummyVecEnv([lambda: gymnasium.make("longfair/LoanPool-v0")] * 2),
    ],
    ids=["id", "make", "make_vec", "adapter", "DummyVecEnv"],
)
def test_every_door_trains(env: Any) -> None:
    model = model_of(env, batch_size=40)
    assert model.n_steps == 40  # the environment's own episodes
    assert model.num_groups == 4
    model.learn(2 * model.n_steps * model.n_envs)
    assert model.num_timesteps == 2 * model.n_steps * model.n_envs


def test_wrappers_of_a_batch_are_kept() -> None:
    from longfair.envs.wrappers import RunningRates

    assert model_of(RunningRates(lending())).observation_space != model_of().observation_space


def test_anything_else_is_refused() -> None:
    with pytest.raises(UsageError, match="env=3: give a Gymnasium id"):
        model_of(3)


def test_observations_have_one_axis() -> None:
    shaped = gymnasium.wrappers.ReshapeObservation(gymnasium.make(LENDING), (3, 3))
    with pytest.raises(UsageError, match=r"observations are Box.*FlattenObservation"):
        model_of(shaped)
    assert model_of(gymnasium.wrappers.FlattenObservation(shaped)).observation_space.shape == (9,)


# Arguments --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"clip_range_vf": 0.1}, "clip_range_vf=0.1: only None is possible here, the critics'"),
        ({"normalize_advantage": False}, "normalize_advantage=False: only True"),
        ({"policy_kwargs": {"net_arch": [8]}}, "policy_kwargs=.*give net_arch="),
        ({"use_sde": True}, "use_sde=True: only False"),
        ({"device": "cuda"}, "device='cuda': only 'cpu'"),
        ({"gamma": 1.5}, "gamma=1.5"),
        ({"gamma": float("nan")}, "gamma=nan"),
        ({"gae_lambda": 2}, "gae_lambda=2"),
        ({"clip_range": -1}, "clip_range=-1"),
        ({"n_epochs": 0}, "n_epochs=0"),
        ({"seed": 2**32}, r"seed=4294967296: give an integer in 0\.\.4294967295"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"n_steps": 0}, "n_steps=0"),
        ({"ent_coef": float("nan")}, "ent_coef=nan"),
        ({"max_grad_norm": "x"}, "max_grad_norm='x'"),
        ({"batch_size": 33}, "batch_size=33 leaves 1 of the 100 samples of a rollout over"),
        ({"batch_size": 33, "strategy": ElbertPO()}, "batch_size=33 leaves 1 of the 100"),
        ({"n_steps": 75}, "n_steps=75 cuts episodes of 50 steps: give a multiple of 50"),
    ],
)
def test_an_argument_is_honoured_or_refused_in_one_line(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        model_of(**settings)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:.*truncated mini-batch")
def test_a_minibatch_of_one_sample_may_be_where_nothing_is_standardised() -> None:
    model = model_of(batch_size=33, strategy=ElbertPO(standardise="none"))
    model.learn(100)
    assert np.isfinite(model.policy.flat.values.detach().numpy()).all()


@pytest.mark.filterwarnings("ignore:.*truncated mini-batch")
def test_a_model_that_is_loaded_to_predict_has_no_minibatches(tmp_path: Path) -> None:
    model_of(lending(3), batch_size=49).save(tmp_path / "model")  # 50 steps of one copy leave 1
    FairPPO.load(tmp_path / "model")


def test_episodes_may_be_cut_when_rollouts_go_on() -> None:
    assert model_of(n_steps=75, whole_episodes=False).n_steps == 75


# Saving -----------------------------------------------------------------------------------------


STRATEGIES = {entry.name: entry for entry in agents().values() if issubclass(entry.agent, Strategy)}


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_every_strategy_survives_save_and_load(name: str, tmp_path: Path) -> None:
    kind, where = STRATEGIES[name].agent, STRATEGIES[name].environments
    model = model_of(where and gymnasium.make_vec(where[0], episode_length=50), strategy=kind())
    model.save(tmp_path / "model")
    again = FairPPO.load(tmp_path / "model")
    assert type(again.strategy) is kind
    assert again.strategy == model.strategy
    observation = model.observation_space.sample()
    actions = [agent.predict(observation, deterministic=True)[0] for agent in (again, model)]
    assert np.array_equal(*actions)


def test_schedules_and_the_class_of_the_policy_come_back(tmp_path: Path) -> None:
    model = model_of(policy=SeparatelyClippedPolicy, learning_rate=Annealed(1e-3), clip_range=0.1)
    model.learn(100)
    model.save(tmp_path / "model")
    again = FairPPO.load(tmp_path / "model", lending())
    assert type(again.policy) is SeparatelyClippedPolicy
    assert again.learning_rate == Annealed(1e-3)
    assert again.clip_range(0.5) == 0.1  # type: ignore[operator]  # a schedule
    assert type(FairPPO.load(tmp_path / "model").policy) is not FairActorCriticPolicy


@pytest.mark.parametrize(
    "kind", [FairActorCriticPolicy, SeparatelyClippedPolicy, SharedTrunkPolicy]
)
def test_a_policy_of_ones_own_comes_back(kind: Any, tmp_path: Path) -> None:
    own = type(f"Own{kind.__name__}", (kind,), {})
    model_of(policy=own, net_arch=(8, 8, 8)).save(tmp_path / "model")
    assert type(FairPPO.load(tmp_path / "model").policy) is own


def test_a_schedule_that_nobody_can_write_down_must_be_given_again(tmp_path: Path) -> None:
    model = model_of(learning_rate=lambda left: 1e-3 * left**2)
    model.save(tmp_path / "model")
    with pytest.raises(UsageError, match="learning_rate was a function, which is not saved"):
        FairPPO.load(tmp_path / "model")
    assert FairPPO.load(tmp_path / "model", learning_rate=1e-4).learning_rate == 1e-4


@register(label="defined elsewhere", loaded_by=FAIR_PPO)
class DefinedElsewhere(Strategy):
    name = "defined-elsewhere"
    revision = 1


def test_a_strategy_of_ones_own_comes_back(tmp_path: Path) -> None:
    model_of(strategy=DefinedElsewhere()).save(tmp_path / "model")
    assert isinstance(FairPPO.load(tmp_path / "model").strategy, DefinedElsewhere)


class Unregistered(Strategy):
    name = "unregistered"
    revision = 1


def test_a_strategy_outside_the_register_says_how_it_is_saved(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'unregistered': decorate it with .*\.register$"):
        model_of(strategy=Unregistered()).save(tmp_path / "model")


@pytest.mark.parametrize(
    "change", [lambda s: {}, lambda s: {**s, "policy": "Nobody"}, lambda s: {**s, "net_arch": [9]}]
)
def test_a_damaged_model_ends_in_one_line(tmp_path: Path, change: Any) -> None:
    from longfair.agents.learning import saving

    model_of().save(tmp_path / "model")
    parameters, settings = saving.read(tmp_path / "model")
    saving.write(tmp_path / "model", parameters, change(settings))
    with pytest.raises(UsageError, match="model") as caught:
        FairPPO.load(tmp_path / "model")
    assert "\n" not in str(caught.value)


# Going on ---------------------------------------------------------------------------------------


class StateAt(BaseCallback):
    """Take the training state at the start of a rollout."""

    def __init__(self, rollout: int) -> None:
        super().__init__()
        self.rollout, self.count = rollout, 0
        self.state: Any = None

    def _on_rollout_start(self) -> None:
        if self.count == self.rollout:
            assert isinstance(self.model, FairPPO)
            self.state = self.model.training_state()
        self.count += 1

    def _on_step(self) -> bool:
        return True


@pytest.mark.parametrize("rollout", [0, 2])
def test_training_goes_on_to_the_same_bits(rollout: int) -> None:
    settings = {"learning_rate": Annealed(1e-3), "strategy": STRATEGIES["elbert-po"].agent()}
    whole, callback = model_of(**settings), StateAt(rollout)
    whole.learn(400, callback=callback)
    resumed = model_of(**settings)
    resumed.restore_training_state(*callback.state)
    resumed.learn(400 - resumed.num_timesteps, reset_num_timesteps=False)
    ends = [model.training_state() for model in (whole, resumed)]
    assert ends[0][1] == ends[1][1]
    for name, array in ends[0][0].items():
        np.testing.assert_array_equal(array, ends[1][0][name])


def pickled(agent: Any) -> Any:
    return pickle.loads(pickle.dumps(agent))


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
@pytest.mark.parametrize("policy", ["FairMlpPolicy", SeparatelyClippedPolicy, SharedTrunkPolicy])
def test_a_copy_learns_to_the_same_bits(policy: Any, copied: Any) -> None:
    model = model_of(policy=policy, net_arch=(8, 8, 8), strategy=STRATEGIES["elbert-po"].agent())
    model.learn(100)
    twin = copied(model)
    for one in (model, twin):
        before = one.policy.flat.values.detach().clone()
        one.learn(200, reset_num_timesteps=False)
        assert not before.equal(one.policy.flat.values)
    ends = [one.training_state() for one in (model, twin)]
    assert ends[0][1] == ends[1][1]
    for name, array in ends[0][0].items():
        np.testing.assert_array_equal(array, ends[1][0][name])


def test_training_that_cuts_episodes_goes_on_with_all_its_actions_only() -> None:
    model = model_of(n_steps=75, whole_episodes=False)
    model.learn(300)
    for given in (None, model.executed()[1:]):
        with pytest.raises(UsageError, match="use whole_episodes=True"):
            model.training_state(given)


class Spoilt(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Returns observations that are not finite, or an info without one of its arrays."""

    def __init__(self, env: Any, lacks: str = "", spoils_at: int = -1) -> None:
        super().__init__(env)
        self.lacks, self.spoils_at, self.steps = lacks, spoils_at, 0

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.steps += 1
        if self.steps == self.spoils_at:
            observation = np.full_like(observation, np.nan)
        kept = {name: value for name, value in info.items() if name != self.lacks}
        return observation, reward, terminated, truncated, kept


def single(length: int = 20) -> Any:
    return gymnasium.make("longfair/Lending-v0", episode_length=length)


@pytest.mark.parametrize("steps", [20, None, 40])
def test_a_wrapper_that_skips_steps_is_refused(steps: int | None) -> None:
    for env in (Repeating(single()), DummyVecEnv([lambda: Repeating(single())] * 2)):
        with pytest.raises(UsageError, match=r"a step takes 2 steps .* skips or repeats steps"):
            FairPPO(env=env, strategy=ElbertPO(), n_steps=steps).learn(1)


class Repeating(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Takes every action twice, as `MaxAndSkipObservation` does with pictures."""

    def step(self, action: Any) -> Any:
        outcome = self.env.step(action)
        return outcome if outcome[2] or outcome[3] else self.env.step(action)


@pytest.mark.parametrize("whole", [True, False])
def test_wrappers_that_skip_nothing_are_not_refused(whole: bool) -> None:
    limited = gymnasium.wrappers.TimeLimit(single(), 7)
    stacked = gymnasium.wrappers.FlattenObservation(single())
    for env in (limited, stacked, lending(2, 5), VecMonitor(BatchVecEnv(lending(2, 5)))):
        model = FairPPO(env=env, n_steps=None if whole else 3, whole_episodes=whole, n_epochs=1)
        model.learn(3 * model.n_steps)


def test_observations_that_are_not_finite_are_blamed_on_the_environment() -> None:
    for at, told in ((3, "step 3 of the rollout"), (10, "at the rollout's end")):
        model = FairPPO(env=Spoilt(single(), spoils_at=at), whole_episodes=False, n_steps=10)
        with pytest.raises(UsageError, match=f"returned observation nan in copy 0, {told}"):
            model.learn(10)


@pytest.mark.parametrize("name", ["supply", "demand"])
def test_a_lacking_info_is_named(name: str) -> None:
    with pytest.raises(UsageError, match=f"the info of a step has no '{name}': every environment"):
        FairPPO(env=Spoilt(single(), lacks=name)).learn(1)
