"""The wrappers that append memory to observations, against slow computations from the raw batch."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from longfair.envs.elapsed import ElapsedTime
from longfair.envs.epidemic import EpidemicParams
from longfair.envs.history import History
from longfair.envs.lending import LendingParams, LendingVectorEnv
from longfair.envs.loan_mdp import LoanMDPVectorEnv
from longfair.envs.population import PopulationParams, PopulationVectorEnv
from longfair.envs.scalar import ScalarFace
from longfair.envs.wrappers import RunningRates, WindowRates, WindowStatistics
from longfair.errors import UsageError

COPIES, LENGTH = 4, 23
SAME_STEP, NEXT_STEP = AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP


def lending(mode: AutoresetMode = AutoresetMode.SAME_STEP, copies: int = COPIES) -> Any:
    return LendingVectorEnv(copies, LendingParams(episode_length=LENGTH), mode)


class Diary:
    """What happened to each copy since its episode began, written down from the raw batch."""

    def __init__(self, observation: Any) -> None:
        self.now = observation
        self.steps: list[list[tuple[Any, Any, Any]]] = [[] for _ in observation]

    def note(self, info: dict[str, Any]) -> None:
        for copy, steps in enumerate(self.steps):
            steps.append((self.now[copy], info["supply"][copy], info["demand"][copy]))

    def forget(self, copies: Any) -> None:
        for copy in np.flatnonzero(copies):
            self.steps[copy] = []

    def rates(self, copy: int, offset: float = 0.0) -> Any:
        supply = sum((s for _, s, _ in self.steps[copy]), np.zeros(2))
        demand = sum((d for _, _, d in self.steps[copy]), np.zeros(2)) + offset
        return np.divide(supply, demand, out=np.zeros(2), where=demand > 0)

    def window(self, copy: int, length: int, more: int = 0) -> Any:
        kept, longer = self.steps[copy][-length:], self.steps[copy][-length - more :]
        supply = sum((s for _, s, _ in longer), np.zeros(2))
        demand = sum((d for _, _, d in longer), np.zeros(2))
        rates = np.divide(supply, demand, out=np.zeros(2), where=demand > 0)
        counts = np.zeros((2, 7))
        for applicant, _, _ in kept:
            counts[applicant[7:].argmax(), applicant[:7].argmax()] += 1
        return np.concatenate([rates, counts.ravel() / (len(kept) + 1)])


def compare(wrapped: Any, raw: Any, expected: Any, steps: int = 4 * LENGTH + 3) -> int:
    """Step both side by side and compare what is appended; return how many episodes ended."""
    observation, _ = raw.reset(seed=1)
    diary = Diary(observation)
    seen, _ = wrapped.reset(seed=1)
    boundaries = 0
    rng = np.random.default_rng(2)

    def check(appended: Any, plain: Any, rows: Any) -> None:
        assert appended.dtype == np.float32
        for copy in np.flatnonzero(rows):
            row = np.concatenate([plain[copy], expected(diary, copy)])
            np.testing.assert_allclose(appended[copy], row, rtol=0, atol=1e-6)

    check(seen, observation, np.ones(len(seen)))
    for _ in range(steps):
        actions = rng.integers(0, 2, len(seen))
        observation, _, terminated, truncated, info = raw.step(actions)
        seen, _, _, _, wrapped_info = wrapped.step(actions)
        diary.note(info)
        ended = terminated | truncated
        if ended.any():
            boundaries += 1
            check(wrapped_info["final_obs"], info["final_obs"], ended)
            diary.forget(ended)
        diary.now = observation
        check(seen, observation, np.ones(len(seen)))
        assert seen in wrapped.observation_space
    return boundaries


@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_running_rates_are_totals_since_the_episode_began(offset: float) -> None:
    wrapped = RunningRates(lending(), offset)
    assert wrapped.single_observation_space.shape == (11,)
    boundaries = compare(wrapped, lending(), lambda diary, copy: diary.rates(copy, offset))
    assert boundaries == 4


def test_a_group_without_demand_has_rate_zero() -> None:
    env = RunningRates(LendingVectorEnv(3, LendingParams(repay_probability=(0.0,) * 7)))
    observation, _ = env.reset(seed=1)
    for _ in range(5):
        np.testing.assert_array_equal(observation[:, 9:], 0.0)
        observation = env.step(np.ones(3, dtype=np.int64))[0]


def test_supply_without_demand_is_no_rate() -> None:
    """A vaccine is supply also on a day on which nobody of the group falls ill."""
    params = EpidemicParams(infection_probability=0.02)
    env = RunningRates(gymnasium.make_vec("longfair/Epidemic-v0", num_envs=20, params=params))
    env.reset(seed=0)
    supply, demand = np.zeros((20, 2)), np.zeros((20, 2))
    met = False
    for step in range(10):
        observation, _, _, _, info = env.step(np.full(20, step))
        supply, demand = supply + info["supply"], demand + info["demand"]
        met |= bool(((supply > 0) & (demand == 0)).any())
        expected = np.divide(supply, demand, out=np.zeros_like(supply), where=demand > 0)
        np.testing.assert_allclose(observation[:, -2:], expected, rtol=1e-6)
    assert met


def test_the_running_rate_counts_the_applicant_just_decided() -> None:
    env = RunningRates(LendingVectorEnv(50, LendingParams(repay_probability=(1.0,) * 7)))
    before, _ = env.reset(seed=1)
    after = env.step(np.ones(50, dtype=np.int64))[0]
    np.testing.assert_array_equal(after[:, 9:], before[:, 7:9])


@pytest.mark.parametrize("window", [1, 5, 300])
def test_window_statistics_look_at_the_last_decisions_only(window: int) -> None:
    wrapped = WindowStatistics(lending(), window)
    assert wrapped.single_observation_space.shape == (25,)
    boundaries = compare(wrapped, lending(), lambda diary, copy: diary.window(copy, window))
    assert boundaries == 4


@pytest.mark.parametrize("window", [1, 5, 300])
def test_the_published_window_takes_rates_over_one_decision_more(window: int) -> None:
    wrapped = WindowStatistics(lending(), window, as_coded=True)
    assert compare(wrapped, lending(), lambda diary, copy: diary.window(copy, window, more=1)) == 4


def test_wrappers_stack() -> None:
    wrapped = WindowStatistics(lending(), 5)
    both = RunningRates(wrapped)
    assert both.single_observation_space.shape == (27,)

    def expected(diary: Diary, copy: int) -> Any:
        return np.concatenate([diary.window(copy, 5), diary.rates(copy)])

    assert compare(both, lending(), expected) == 4


@pytest.mark.parametrize(
    ("wrapper", "expected"),
    [
        (RunningRates, lambda diary, copy: diary.rates(copy)),
        (lambda env: WindowStatistics(env, 4), lambda diary, copy: diary.window(copy, 4)),
    ],
)
def test_a_partial_reset_forgets_those_copies_only(wrapper: Any, expected: Any) -> None:
    wrapped, raw = wrapper(lending(AutoresetMode.DISABLED)), lending(AutoresetMode.DISABLED)
    observation, _ = raw.reset(seed=1)
    wrapped.reset(seed=1)
    diary = Diary(observation)
    rng = np.random.default_rng(3)
    for step in range(LENGTH - 1):
        actions = rng.integers(0, 2, COPIES)
        observation, _, _, _, info = raw.step(actions)
        seen = wrapped.step(actions)[0]
        diary.note(info)
        diary.now = observation
        if step in (6, 9):
            mask = np.arange(COPIES) < 2
            observation, _ = raw.reset(options={"reset_mask": mask})
            seen, _ = wrapped.reset(options={"reset_mask": mask})
            diary.forget(mask)
            diary.now = observation
        for copy in range(COPIES):
            np.testing.assert_allclose(seen[copy, 9:], expected(diary, copy), rtol=0, atol=1e-6)


def test_elapsed_time_runs_from_zero_to_one() -> None:
    params = PopulationParams.synthetic().starting_at([[0.2, 0.8]])
    env = ElapsedTime(PopulationVectorEnv(2, PopulationParams(episode_length=4)))
    assert env.single_observation_space.shape == (3,)
    observation, _ = env.reset(seed=1)
    times = [observation[0, 2]]
    for _ in range(5):
        observation, _, _, truncated, info = env.step(np.full((2, 2), 0.5))
        times.append(observation[0, 2])
        if truncated.any():
            np.testing.assert_array_equal(info["final_obs"][:, 2], 1.0)
    np.testing.assert_allclose(times, [0, 0.25, 0.5, 0.75, 0, 0.25])
    manual = ElapsedTime(PopulationVectorEnv(2, params, AutoresetMode.DISABLED))
    manual.reset(seed=1)
    manual.step(np.full((2, 2), 0.5))
    observation, _ = manual.reset(options={"reset_mask": np.array([True, False])})
    np.testing.assert_allclose(observation[:, 2], [0.0, 0.01])


def test_wrappers_refuse_what_they_cannot_wrap() -> None:
    foreign = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
    with pytest.raises(UsageError, match="no groups"):
        RunningRates(foreign)
    with pytest.raises(UsageError, match="no groups"):
        WindowStatistics(foreign)
    with pytest.raises(UsageError, match="no episode length"):
        ElapsedTime(foreign)
    for other in (RunningRates(lending()), gymnasium.make_vec("longfair/Doughnut-v0", num_envs=2)):
        with pytest.raises(UsageError, match="WindowStatistics directly around a batch of"):
            WindowStatistics(other)
    with pytest.raises(UsageError, match="offset=-1"):
        RunningRates(lending(), offset=-1.0)
    with pytest.raises(UsageError, match="window=0"):
        WindowStatistics(lending(), window=0)


def test_rates_within_an_episode_are_refused_where_they_have_no_meaning() -> None:
    """A copy of LoanMDP has one applicant, so no episode shows two groups."""
    for wrap in (RunningRates, WindowRates):
        with pytest.raises(UsageError, match="people of one group only"):
            wrap(LoanMDPVectorEnv.make(2))


def populations(mode: AutoresetMode) -> Any:
    """A batch without chance, which starts in the same states again and again."""
    params = PopulationParams(episode_length=4).starting_at([[0.2, 0.7], [0.6, 0.3]])
    return PopulationVectorEnv(2, params, mode)


@pytest.mark.parametrize(
    "wrap",
    [
        ElapsedTime,
        RunningRates,
        lambda env: WindowRates(env, 2),
        lambda env: History(env, 3),
        lambda env: ElapsedTime(History(RunningRates(env), 2)),
    ],
)
def test_all_ways_to_restart_show_the_same_episodes(wrap: Any) -> None:
    """With next-step the restart takes a step of its own, which shows the first observation."""
    actions = [np.full((2, 2), share, np.float32) for share in np.linspace(0.3, 0.7, 4)]
    same, following = (wrap(populations(mode)) for mode in (SAME_STEP, NEXT_STEP))
    first = same.reset(seed=1)[0]
    np.testing.assert_array_equal(following.reset(seed=1)[0], first)
    for _ in range(3):
        for action in actions:
            observation, _, _, truncated, info = same.step(action)
            last = following.step(action)[0]
            if truncated.any():
                np.testing.assert_array_equal(last, info["final_obs"])
            else:
                np.testing.assert_array_equal(last, observation)
        restarted = following.step(actions[0])[0]
        np.testing.assert_array_equal(restarted, observation)
        np.testing.assert_array_equal(restarted, first)


def test_a_wrapped_batch_of_one_has_a_scalar_face() -> None:
    scalar = ScalarFace(RunningRates(lending(AutoresetMode.DISABLED, copies=1)))
    batch = RunningRates(lending(copies=1))
    observation, _ = scalar.reset(seed=1)
    np.testing.assert_array_equal(observation, batch.reset(seed=1)[0][0])
    for _ in range(2 * LENGTH):
        observation, _, _, truncated, _ = scalar.step(1)
        observations, _, _, _, info = batch.step(np.ones(1, dtype=np.int64))
        if truncated:
            np.testing.assert_array_equal(observation, info["final_obs"][0])
            observation, _ = scalar.reset()
        np.testing.assert_array_equal(observation, observations[0])
    with pytest.raises(UsageError, match="num_envs=4"):
        ScalarFace(RunningRates(lending(AutoresetMode.DISABLED)))
    with pytest.raises(UsageError, match=r"AutoresetMode\.DISABLED"):
        ScalarFace(RunningRates(lending(copies=1)))
