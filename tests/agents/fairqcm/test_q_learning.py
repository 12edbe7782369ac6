"""The compiled learner against the environment, and against Q-learning written out in Python."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest

from longfair.agents.fairqcm.presets import QLearningSettings
from longfair.agents.fairqcm.q_learning import TabularQLearning
from longfair.envs.doughnut import DoughnutParams
from longfair.envs.doughnut.compiled import (
    TIE,
    draw_presence,
    memory_code,
    memory_kind,
    presence_code,
    serve,
    shorten,
    welfare,
)
from longfair.envs.memory import FullMemory, IntegerCodes, MinMemory, ResetMemory
from longfair.errors import UsageError

MEMORIES = {"full": FullMemory, "min": MinMemory, "reset": ResetMemory}
SMALL = DoughnutParams((0.8, 0.5, 0.7), episode_length=5)
FAIRQCM = QLearningSettings(imagine=True)


def doughnuts(params: DoughnutParams = SMALL, copies: int = 1) -> Any:
    return gymnasium.make_vec("longfair/Doughnut-v0", num_envs=copies, params=params)


def coded(memory: str, params: DoughnutParams = SMALL, copies: int = 1) -> IntegerCodes:
    return IntegerCodes(MEMORIES[memory](doughnuts(params, copies), encoding="counts"))


@pytest.mark.parametrize("memory", MEMORIES)
def test_the_compiled_rules_are_those_of_the_environment(memory: str) -> None:
    env, actions = coded(memory), np.random.default_rng(1)
    observation, _ = env.reset(seed=2)
    problem, world = env.unwrapped.compiled().problem, np.random.default_rng(2)
    wasted = 0
    for _episode in range(40):
        counts, remembered = np.zeros(3, np.int64), np.zeros(3, np.int64)
        present = np.zeros(3, np.bool_)
        draw_presence(problem, world, present)
        for step in range(SMALL.episode_length):
            codes = presence_code(present), memory_code(remembered, SMALL.episode_length)
            assert codes == tuple(observation[0])
            person = int(actions.integers(3))
            observation, reward, _, truncated, info = env.step(np.array([person]))
            taken = serve(present, counts, person)
            remembered[person] += taken
            shorten(remembered, memory_kind(memory))
            assert info["wasted"][0] == (not taken)
            expected = welfare(counts, problem.smoothing) if taken else 0.0
            assert reward[0] == pytest.approx(expected, abs=1e-12)
            assert truncated[0] == (step + 1 == SMALL.episode_length)
            state = info["final_info"] if truncated[0] else info
            np.testing.assert_array_equal(state["group_state"][0, :, 0], counts)
            draw_presence(problem, world, present)
            wasted += not taken
    assert 40 < wasted < 160  # both kinds of step occurred


class WrittenOut:
    """Q-learning and FairQCM on the real environment, one line of the description after another."""

    def __init__(self, settings: QLearningSettings, seed: int) -> None:
        self.settings, self.env = settings, coded(settings.memory)
        world, choices, _ = np.random.SeedSequence(seed).spawn(3)
        self.env.unwrapped.np_random = np.random.default_rng(world)
        self.choices = np.random.default_rng(choices)
        layers = SMALL.episode_length + 1 if settings.time else 1
        self.values = np.zeros((layers, 8, (SMALL.episode_length + 1) ** 3, 3))
        self.updates = np.zeros(self.values.shape, int)
        self.exploration = np.ones(self.values.shape[:3])

    def code(self, memory: Any) -> int:
        return int(memory @ (SMALL.episode_length + 1) ** np.arange(3))

    def act(self, key: tuple[int, int, int]) -> int:
        settings, exploration = self.settings, self.exploration[key]
        at_random = self.choices.random() < exploration
        if (settings.decay_at_every_visit or at_random) and exploration > 0.2:
            self.exploration[key] *= 0.95
        if at_random:
            return int(self.choices.random() * 3)
        best = np.flatnonzero(self.values[key] >= self.values[key].max() - TIE)
        return int(best[int(self.choices.random() * len(best))] if len(best) > 1 else best[0])

    def update(self, entry: Any, reward: float, then: Any, last: bool) -> None:
        settings = self.settings
        future = 0.0 if settings.stop_at_end and last else self.values[then].max()
        self.updates[entry] += 1
        step_size = settings.step_size * self.updates[entry] ** -settings.step_size_decay
        target = reward + settings.discount * future
        self.values[entry] = (1 - step_size) * self.values[entry] + step_size * target

    def learn(self, episodes: int) -> None:
        observation, _ = self.env.reset()
        for _ in range(episodes):
            for step in range(SMALL.episode_length):
                presence, real = (int(code) for code in observation[0])
                before = self.env.env.memory[0].copy()
                now, then = (step, step + 1) if self.settings.time else (0, 0)
                action = self.act((now, presence, real))
                observation, reward, _, truncated, info = self.env.step(np.array([action]))
                last = bool(truncated[0])
                seen = (info["final_obs"] if last else observation)[0]
                for _ in range(self.settings.repeats):
                    self.update(
                        (now, presence, real, action), reward[0], (then, *map(int, seen)), last
                    )
                if self.settings.imagine:
                    self.imagine(before, info["supply"][0], now, then, presence, seen[0], action)

    def imagine(
        self, real: Any, supply: Any, now: int, then: int, presence: int, after: int, action: int
    ) -> None:
        received = supply.astype(int)
        if self.settings.waste_counts:
            received = np.eye(3, dtype=int)[action]
        for offset in product((0, 1), repeat=3):
            memory = real + np.array(offset)
            if (offset == (0, 0, 0) and not self.settings.imagine_real) or memory.max() >= 5:
                continue
            # The memory update of the environment's own wrapper, from a memory that did not occur.
            afterwards = self.env.env.update(memory, received)
            reward = np.log(afterwards + 1).sum() if supply.any() else 0.0
            key = (now, presence, self.code(memory), action)
            last = now + 1 == SMALL.episode_length
            self.update(key, reward, (then, int(after), self.code(afterwards)), last)


@pytest.mark.parametrize(
    "settings",
    [
        QLearningSettings(),
        QLearningSettings(memory="min").as_coded(),
        QLearningSettings(memory="reset", stop_at_end=True),
        QLearningSettings(repeats=3),
        FAIRQCM,
        FAIRQCM.as_coded(),
        replace(FAIRQCM, time=True, step_size=0.9, step_size_decay=0.75),
        replace(FAIRQCM.as_coded(), time=True, stop_at_end=True),
    ],
)
def test_learning_is_what_is_written_out(settings: QLearningSettings) -> None:
    expected = WrittenOut(settings, seed=4)
    expected.learn(60)
    agent = TabularQLearning(doughnuts(), settings, seed=4)
    agent.learn(100)
    agent.learn(200)
    np.testing.assert_array_equal(agent.updates, expected.updates)
    np.testing.assert_allclose(agent.values, expected.values, rtol=1e-10, atol=1e-12)


def test_the_end_needs_no_mask_when_time_is_remembered() -> None:
    agents = [
        TabularQLearning(doughnuts(), replace(FAIRQCM, time=True, stop_at_end=stop), seed=1)
        for stop in (False, True)
    ]
    first, second = (agent.learn(500).values for agent in agents)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("settings", "per_step"),
    [(QLearningSettings(), 1), (FAIRQCM, 8), (FAIRQCM.as_coded(), 9)],
)
def test_number_of_memories_learned_from(settings: QLearningSettings, per_step: int) -> None:
    agent = TabularQLearning(doughnuts(DoughnutParams.tabular()), settings, seed=0).learn(2)
    assert agent.num_timesteps == 12
    assert agent.updates.sum() == 12 * per_step


def test_memories_without_room_are_not_imagined() -> None:
    # One person who is always there: after k of 5 doughnuts k and k + 1 are imagined, up to 4.
    alone = doughnuts(DoughnutParams((1.0,), episode_length=5))
    agent = TabularQLearning(alone, FAIRQCM.as_coded(), seed=0).learn(5)
    np.testing.assert_array_equal(agent.updates[0, 1, :, 0], [2, 3, 3, 3, 3, 0])


def test_what_is_learned_can_be_played_in_the_environment() -> None:
    params, copies = DoughnutParams.tabular(), 2000
    agent = TabularQLearning(doughnuts(params), FAIRQCM.as_coded(), seed=5)
    scores = agent.learn_evaluated(20_000, seed=6)
    env = coded("full", params, copies)
    observation, _ = env.reset(seed=7)
    total = np.zeros(copies)
    for _ in range(params.episode_length):
        observation, reward, *_ = env.step(agent.predict(observation)[0])
        total += reward
    error = np.hypot(total.std() / copies**0.5, scores.reward[-1000:].std() / 1000**0.5)
    assert abs(total.mean() - scores.reward[-1000:].mean()) < 4 * error
    assert total.mean() > 37.3


def test_time_is_a_third_column() -> None:
    agent = TabularQLearning(doughnuts(), replace(FAIRQCM, time=True), seed=0)
    agent.values[3, 7, 0] = [0.0, 2.0, 1.0]
    actions, _ = agent.predict([[7, 0, 3]])
    assert actions.tolist() == [1]
    with pytest.raises(UsageError, match=r"shape \(1, 2\): give \(N, 3\)"):
        agent.predict([[7, 0]])


def test_equally_good_people_are_chosen_equally_often() -> None:
    agent = TabularQLearning(doughnuts(), seed=0)
    agent.values[0, 7, 0] = [1.0, 1.0 - TIE / 2, 0.5]
    observation = np.tile([7, 0], (1000, 1))
    chosen = np.bincount(agent.predict(observation)[0], minlength=3)
    assert chosen[2] == 0
    assert 400 < chosen[0] < 600
    assert not agent.predict(observation, deterministic=True)[0].any()


def test_evaluation_neither_learns_nor_disturbs() -> None:
    learned = TabularQLearning(doughnuts(), FAIRQCM, seed=3).learn(500)
    evaluated = TabularQLearning(doughnuts(), FAIRQCM, seed=3)
    scores = evaluated.learn_evaluated(100, seed=8)
    np.testing.assert_array_equal(learned.values, evaluated.values)
    assert scores.reward.shape == (100,)
    assert (scores.welfare >= scores.reward - 0.01).all()  # a wasted step keeps its welfare
    assert scores.allocated.max() <= SMALL.episode_length


def test_saved_and_loaded(tmp_path: Any) -> None:
    agent = TabularQLearning(doughnuts(), FAIRQCM.as_coded(), seed=3).learn(500)
    agent.save(tmp_path / "agent.npz")
    again = TabularQLearning.load(tmp_path / "agent.npz", doughnuts(), seed=1)
    np.testing.assert_array_equal(agent.values, again.values)
    assert (again.settings, again.num_timesteps) == (agent.settings, 500)
    assert again.learn(5).num_timesteps == 505
    with pytest.raises(UsageError, match="give env"):
        TabularQLearning.load(tmp_path / "agent.npz")
    with pytest.raises(UsageError, match="make the same environment"):
        TabularQLearning.load(tmp_path / "agent.npz", doughnuts(replace(SMALL, smoothing=0.0)))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"memory": "ful"}, r"memory='ful': did you mean 'full'"),
        ({"memory": "min", "imagine": True}, "imagined rewards need all counts"),
        ({"step_size": 1.5}, r"step_size=1\.5: give a finite number in \(0, 1\]"),
        ({"step_size": 0.0}, r"step_size=0\.0"),
        ({"discount": -0.1}, "discount"),
        ({"least_exploration": 2.0}, "least_exploration"),
        ({"repeats": 0}, "repeats=0: give an integer of at least 1"),
    ],
)
def test_bad_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        QLearningSettings(**wrong)


def test_other_environments_and_huge_tables_are_refused() -> None:
    with pytest.raises(UsageError, match="hands out no doughnuts"):
        TabularQLearning(gymnasium.make_vec("longfair/LoanPool-v0", num_envs=1))
    with pytest.raises(UsageError, match="at most 50,000,000 are allowed"):
        TabularQLearning(gymnasium.make_vec("longfair/Doughnut-v0", num_envs=1))
    for code in ([[8, 0]], [[-1, 0]], [[0.5, 0]], [[0, 10**9]]):
        with pytest.raises(UsageError, match=r"observations=.*: give whole numbers, by column"):
            TabularQLearning(doughnuts()).predict(code)
    with pytest.raises(UsageError, match="only False is possible here"):
        TabularQLearning(doughnuts()).learn(5, progress_bar=True)
