"""The loan pool: observation, rewards, credit, boundaries, reference scores, written-out face."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from longfair.agents.evaluation import acting, play_episodes
from longfair.agents.policies import (
    AlwaysTheSame,
    AnybodyAtRandom,
    FixedPriority,
    LaggingGroupBestCredit,
    SomebodyThereAtRandom,
)
from longfair.envs.loan_pool import (
    LoanPoolParams,
    LoanPoolVectorEnv,
    tabular,
)
from longfair.errors import UsageError

make_vector, make_scalar = LoanPoolVectorEnv.make, LoanPoolVectorEnv.make_scalar

# A correct environment fails a comparison at four standard errors once in 16,000 times.
WIDTH = 4.0
ALWAYS = (1.0,) * 4
NEVER = (0.0,) * 4
REPAYING = LoanPoolParams(
    request_probability=ALWAYS,
    initial_repayment=ALWAYS,
    lowest_repayment=0.0,
    highest_repayment=1.0,
)
DEFAULTING = replace(REPAYING, initial_repayment=NEVER)


def lend(params: LoanPoolParams, people: list[int]) -> list[Any]:
    """Lend to one person after the other in a batch of one; return what the steps returned."""
    env = make_vector(1, params=params)
    env.reset(seed=0)
    return [env.step(np.array([person])) for person in people]


def rewards(steps: list[Any]) -> list[float]:
    return [float(step[1][0]) for step in steps]


# Observation -------------------------------------------------------------------------------------


def test_the_discrete_observation_is_requests_then_profit_then_credit_in_bits() -> None:
    observation, _ = make_vector(50).reset(seed=0)
    assert observation.shape == (50, 23)
    # 40 units of offset, levels 4 and 7; most significant bits first.
    rest = [0, 1, 0, 1, 0, 0, 0] + [1, 0, 0] * 2 + [1, 1, 1] * 2
    assert observation[:, 4:].tolist() == [rest] * 50


def test_the_continuous_observation_ends_with_repayment_probabilities() -> None:
    observation, _ = make_vector(1, preset="continuous").reset(seed=0)
    assert observation.shape == (1, 15)
    np.testing.assert_allclose(observation[0, 11:], [0.6, 0.6, 0.9, 0.9], rtol=1e-6)


@pytest.mark.parametrize("preset", LoanPoolParams.PRESETS)
def test_the_observation_tells_what_is_the_case(preset: str) -> None:
    env = make_vector(200, preset=preset)
    observation, _ = env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(39):
        asked = observation[:, :4]
        observation, _, _, _, info = env.step(rng.integers(4, size=200))
        np.testing.assert_array_equal(info["demand"], asked)
        assert observation[:, 4:11] @ [64, 32, 16, 8, 4, 2, 1] - 40 == pytest.approx(info["profit"])
        repayment = info["group_state"][..., 1]
        if preset == "discrete":
            level = observation[:, 11:].reshape(-1, 4, 3) @ [4, 2, 1]
            np.testing.assert_allclose(repayment, (level + 2) / 10)
        else:
            np.testing.assert_allclose(observation[:, 11:], repayment, rtol=1e-6)
            assert (repayment % 0.1 > 1e-3).any()


# One step ----------------------------------------------------------------------------------------


def test_the_reward_is_minus_the_gap_between_the_groups() -> None:
    assert rewards(lend(REPAYING, [0, 1, 2, 3, 3, 2, 0])) == [-1, -2, -1, 0, -1, -2, -1]


def test_a_loan_that_nobody_asked_for_costs_an_episode_length_and_changes_nothing() -> None:
    params = replace(REPAYING, request_probability=(1.0, 0.0, 1.0, 0.0))
    steps = lend(params, [0, 1, 3, 2])
    assert rewards(steps) == [-1, -40, -40, 0]
    assert [step[4]["invalid"][0] for step in steps] == [False, True, True, False]
    assert [step[4]["profit"][0] for step in steps] == [1, 1, 1, 2]
    assert [step[4]["welfare"][0] for step in steps] == [-1, -1, -1, 0]
    assert steps[-1][4]["group_state"][0, :, 0].tolist() == [1, 0, 1, 0]
    assert [step[4]["supply"][0].sum() for step in steps] == [1, 0, 0, 1]


def test_credit_moves_one_step_and_stays_within_its_bounds() -> None:
    params = replace(REPAYING, initial_repayment=(0.6, 0.6, 0.9, 0.9))
    start = np.array([6, 6, 9, 9])
    env = make_vector(300, params=params)
    env.reset(seed=0)
    repayment = np.tile(start, (300, 1)) / 10
    profit = np.zeros(300)
    for step in range(39):
        person = step % 4
        _, _, _, _, info = env.step(np.full(300, person))
        outcome = info["profit"] - profit
        assert set(np.unique(outcome)) <= {-1.0, 1.0}
        profit = info["profit"]
        repayment[:, person] = np.clip(repayment[:, person] + 0.1 * outcome, 0.0, 1.0)
        np.testing.assert_allclose(info["group_state"][..., 1], repayment, atol=1e-12)


def test_the_papers_credit_stays_between_two_and_nine_tenths() -> None:
    for initial, bound in ((0.2, 0.2), (0.9, 0.9)):
        params = replace(LoanPoolParams(), initial_repayment=(initial,) * 4)
        env = make_vector(500, params=params)
        env.reset(seed=0)
        seen = [env.step(np.zeros(500, np.int64))[4]["group_state"][:, 0, 1] for _ in range(30)]
        assert np.min(seen) == pytest.approx(0.2) or bound == 0.9
        assert np.max(seen) == pytest.approx(0.9) or bound == 0.2
        assert np.min(seen) >= 0.2 - 1e-12
        assert np.max(seen) <= 0.9 + 1e-12


def test_loans_are_repaid_as_often_as_the_credit_says() -> None:
    copies = 40_000
    env = make_vector(copies, params=replace(LoanPoolParams(), request_probability=ALWAYS))
    for person, chance in enumerate((0.6, 0.6, 0.9, 0.9)):
        env.reset(seed=person)
        repaid = env.step(np.full(copies, person))[4]["profit"] > 0
        error = math.sqrt(chance * (1 - chance) / copies)
        assert repaid.mean() == pytest.approx(chance, abs=WIDTH * error)


def test_a_real_valued_change_has_the_mean_and_deviation_it_should() -> None:
    copies = 40_000
    params = replace(
        LoanPoolParams.continuous(), request_probability=ALWAYS, initial_repayment=(0.5,) * 4
    )
    env = make_vector(copies, params=params)
    env.reset(seed=0)
    info = env.step(np.zeros(copies, np.int64))[4]
    change = info["group_state"][:, 0, 1] - 0.5
    for outcome in (-1, 1):
        moved = change[info["profit"] == outcome]
        error = 0.05 / math.sqrt(len(moved))
        assert moved.mean() == pytest.approx(0.1 * outcome, abs=WIDTH * error)
        assert moved.std() == pytest.approx(0.05, rel=0.05)
    np.testing.assert_allclose(info["group_state"][:, 1:, 1], 0.5)


@pytest.mark.parametrize("preset", LoanPoolParams.PRESETS)
def test_without_a_loan_no_credit_moves(preset: str) -> None:
    params = replace(getattr(LoanPoolParams, preset)(), request_probability=NEVER)
    info = lend(params, [0, 1, 2, 3])[-1][4]
    np.testing.assert_allclose(info["group_state"][0, :, 1], [0.6, 0.6, 0.9, 0.9], rtol=1e-12)


# Episode boundaries ------------------------------------------------------------------------------


def test_missing_the_margin_costs_ten_episode_lengths_at_the_last_step_only() -> None:
    steps = lend(DEFAULTING, [0, 2] * 20)
    assert rewards(steps) == [-1.0, 0.0] * 19 + [-1.0, -400.0]
    assert [bool(step[4]["missed_margin"][0]) for step in steps] == [False] * 39 + [True]
    assert [bool(step[3][0]) for step in steps] == [False] * 39 + [True]
    last = steps[-1][4]
    assert last["profit"][0] == -40
    assert last["welfare"][0] == 0
    assert last["final_info"]["group_state"][0, :, 0].tolist() == [20, 0, 20, 0]
    assert not last["group_state"][..., 0].any()


@pytest.mark.parametrize(("grants", "met"), [(3, False), (4, True)])
def test_four_units_of_profit_are_enough(grants: int, met: bool) -> None:
    # Person 0 asks and repays; nobody else asks.
    params = replace(REPAYING, request_probability=(1.0, 0.0, 0.0, 0.0))
    steps = lend(params, [0] * grants + [1] * (40 - grants))
    assert rewards(steps)[-1] == (-40.0 if met else -400.0)
    assert steps[-1][4]["invalid"][0]


def test_margin_and_costs_scale_with_the_episode_length() -> None:
    params = replace(DEFAULTING, episode_length=30, request_probability=(1.0, 0.0, 0.0, 0.0))
    assert params.required_profit == 3
    assert rewards(lend(params, [1] * 30)) == [-30.0] * 29 + [-300.0]
    assert LoanPoolParams().required_profit == 4


def test_a_new_episode_starts_as_the_first_did() -> None:
    env = make_vector(30)
    first, _ = env.reset(seed=0)
    for _ in range(40):
        observation, _, _, truncated, info = env.step(np.zeros(30, np.int64))
    assert truncated.all()
    np.testing.assert_array_equal(observation[:, 4:], first[:, 4:])
    assert (info["final_obs"][:, 4:] != first[:, 4:]).any(axis=1).all()
    np.testing.assert_allclose(info["group_state"][..., 1], [[0.6, 0.6, 0.9, 0.9]] * 30)
    # The profit of the old episode is not carried over: the bits say so, and so does the next step.
    info = env.step(np.zeros(30, np.int64))[4]
    assert np.abs(info["profit"]).max() == 1


def test_without_autoreset_some_copies_can_be_restarted() -> None:
    params = replace(REPAYING, initial_repayment=(0.9,) * 4, episode_length=3)
    env = LoanPoolVectorEnv(2, params, AutoresetMode.DISABLED)
    env.reset(seed=0)
    for _ in range(3):
        profit = env.step(np.array([0, 1]))[4]["profit"]
    observation, info = env.reset(options={"reset_mask": np.array([True, False])})
    assert info["group_state"][..., 0].tolist() == [[0, 0, 0, 0], [0, 3, 0, 0]]
    assert (observation[:, 4:7] @ [4, 2, 1] - 3).tolist() == [0, profit[1]]
    level = observation[:, 7:].reshape(2, 4, 4) @ [8, 4, 2, 1]
    np.testing.assert_allclose(level / 10, info["group_state"][..., 1])
    # Three loans cannot leave person 1 where it began.
    assert level[0].tolist() == [9, 9, 9, 9]
    assert level[1, 1] != 9


# Reference scores --------------------------------------------------------------------------------

# Score, its standard error as printed (half a digit where none is), standard deviation, and the
# share of episodes that miss the margin.
DISCRETE = {
    "anybody": (AnybodyAtRandom(4, seed=1), -295.3, 0.05, 126.0, 0.045),
    "somebody asking": (SomebodyThereAtRandom(4, seed=1), -151.7, 0.3, 108.0, 0.036),
    "always B": (AlwaysTheSame(4, 2), -838.0, 0.5, None, None),
    "always A": (AlwaysTheSame(4, 0), -918.0, 0.5, None, None),
    "B first": (FixedPriority((2, 3, 0, 1)), -812.0, 0.5, None, 0.023),
    "lagging group": (LaggingGroupBestCredit((0, 0, 1, 1)), -29.65, 0.09, None, 0.023),
}


class Watcher:
    """A policy that also notes the last info, for signals that `play_episodes` does not add up."""

    def __init__(self, agent: Any) -> None:
        self._act = acting(agent)
        self.welfare = 0.0
        self.missed = 0.0

    def __call__(self, observation: Any, info: dict[str, Any]) -> Any:
        self.note(info)
        return self._act(observation, info)

    def note(self, info: dict[str, Any]) -> None:
        if "supply" in info:
            self.welfare += info["welfare"].mean()
            self.missed = info["missed_margin"].mean()


def watched(agent: Any, params: LoanPoolParams, copies: int) -> tuple[Any, Watcher]:
    env = make_vector(copies, params=params)
    watcher = Watcher(agent)
    observation, info = env.reset(seed=5)
    total = np.zeros(copies)
    for _ in range(env.episode_length):
        observation, reward, _, _, info = env.step(watcher(observation, info))
        total += reward
    watcher.note(info)
    return total, watcher


@pytest.mark.parametrize("name", DISCRETE)
def test_reference_policies_score_as_published(name: str) -> None:
    agent, score, printed, deviation, missed = DISCRETE[name]
    copies = 20_000
    total, watcher = watched(agent, LoanPoolParams(), copies)
    error = math.hypot(total.std() / math.sqrt(copies), printed)
    assert total.mean() == pytest.approx(score, abs=WIDTH * error)
    if deviation is not None:
        assert total.std() == pytest.approx(deviation, rel=0.03)
    if missed is not None:
        error = math.sqrt(missed / copies)
        assert watcher.missed == pytest.approx(missed, abs=WIDTH * error + 0.0005)
    if name == "lagging group":
        assert watcher.welfare == pytest.approx(-20.4, abs=0.1)


@pytest.mark.parametrize(
    ("noise", "anybody", "asking", "lagging"),
    [
        (0.0, -295.4, -151.2, -29.5),
        (0.02, -295.7, -151.9, -29.7),
        (0.05, -296.9, -153.4, -29.9),
        (0.1, -303.9, -160.1, -31.7),
    ],
)
def test_the_continuous_variant_scores_as_published(
    noise: float, anybody: float, asking: float, lagging: float
) -> None:
    copies = 10_000
    env = make_vector(copies, params=replace(LoanPoolParams(), credit_noise=noise))
    policies = (
        (AnybodyAtRandom(4, seed=1), anybody),
        (SomebodyThereAtRandom(4, seed=1), asking),
        (LaggingGroupBestCredit((0, 0, 1, 1)), lagging),
    )
    for agent, score in policies:
        reward = play_episodes(acting(agent), env, seed=5).reward
        # The printed values come from 200,000 episodes.
        error = reward.std() * math.sqrt(1 / copies + 1 / 200_000)
        assert reward.mean() == pytest.approx(score, abs=WIDTH * error + 0.05)


# The face that is written out --------------------------------------------------------------------


@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_the_environment_moves_as_the_model_says(margin: float) -> None:
    params = replace(LoanPoolParams(), episode_length=3, margin=margin)
    model = tabular(params=params)
    assert model.horizon == 3
    assert model.fields[:1] + model.fields[5:7] == ("step", "gap", "profit")
    np.testing.assert_allclose(model.transition.sum(axis=1), 1.0, rtol=1e-12)
    over = model.states[:, 0] == 3
    assert not model.reward[over].any()
    assert model.reward[~over].all(axis=1).any()
    number = {tuple(row): index for index, row in enumerate(model.states.tolist())}
    assert len(number) == len(model.states)
    copies = 5000
    env = LoanPoolVectorEnv(copies, params, AutoresetMode.DISABLED)
    observation, info = env.reset(seed=2)
    profit = np.zeros(copies)
    rng = np.random.default_rng(0)

    def numbers(step: int) -> Any:
        loans, repayment = info["group_state"][..., 0], info["group_state"][..., 1]
        columns = [
            np.full((copies, 1), step),
            repayment * 10 - 2,
            loans @ [[1], [1], [-1], [-1]],
            profit[:, None],
            observation[:, :4],
        ]
        rows = np.rint(np.concatenate(columns, axis=1)).astype(int)
        return np.array([number[tuple(row)] for row in rows.tolist()])

    bound = WIDTH * math.sqrt(0.25 / copies)
    start = np.bincount(numbers(0), minlength=len(model.states)) / copies
    assert np.abs(start - model.initial_distribution).max() < bound
    for step in range(3):
        state, action = numbers(step), rng.integers(4, size=copies)
        observation, reward, _, _, info = env.step(action)
        profit = info["profit"]
        row = state * 4 + action
        assert (model.transition[row, numbers(step + 1)] > 0).all()
        expected = np.asarray(model.transition[row].mean(axis=0)).reshape(-1)
        seen = np.bincount(numbers(step + 1), minlength=len(model.states)) / copies
        assert np.abs(seen - expected).max() < bound
        error = WIDTH * reward.std() / math.sqrt(copies) + 1e-9
        assert reward.mean() == pytest.approx(model.reward[state, action].mean(), abs=error)


def test_a_pool_that_cannot_be_written_out_is_refused() -> None:
    with pytest.raises(UsageError, match="the loan pool written out takes at least"):
        tabular(params=LoanPoolParams())
    with pytest.raises(UsageError, match="real-valued"):
        tabular("continuous")


# What is given -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"groups": (0, 0, 0, 0)}, "groups="),
        ({"groups": (0, 1, 2, 1)}, "groups="),
        (
            {"request_probability": (0.9,) * 5},
            "request_probability has 5 entries: give 4, as many as groups",
        ),
        ({"request_probability": (0.9, 0.9, 0.9, 2.0)}, r"request_probability\[3\]=2.0"),
        ({"initial_repayment": (0.6, 0.6, 0.95, 0.9)}, r"initial_repayment\[2\].*\[0.2, 0.9\]"),
        ({"initial_repayment": (0.6, 0.65, 0.9, 0.9)}, r"initial_repayment\[1\].*4.5 credit steps"),
        ({"highest_repayment": 0.1}, "highest_repayment=0.1"),
        ({"lowest_repayment": -0.1}, "lowest_repayment=-0.1"),
        ({"credit_step": 0.0}, "credit_step=0"),
        ({"credit_step": "a"}, "credit_step='a'"),
        ({"credit_noise": -0.1}, "credit_noise=-0.1"),
        ({"margin": 1.5}, "margin=1.5"),
        ({"invalid_grant_cost": -1.0}, "invalid_grant_cost"),
        ({"missed_margin_cost": math.nan}, "missed_margin_cost"),
        ({"episode_length": 0}, "episode_length=0"),
    ],
)
def test_bad_parameters_are_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LoanPoolParams(**fields)


def test_presets_are_the_papers_problem() -> None:
    discrete = LoanPoolParams.discrete()
    assert discrete.request_probability == (0.9,) * 4
    assert discrete.initial_repayment == (0.6, 0.6, 0.9, 0.9)
    assert (discrete.episode_length, discrete.required_profit) == (40, 4)
    assert (discrete.invalid_reward, discrete.missed_reward) == (-40.0, -400.0)
    assert LoanPoolParams.continuous() == replace(discrete, credit_noise=0.05)
    assert make_vector(1, episode_length=7).params.episode_length == 7
    with pytest.raises(UsageError, match="did you mean 'discrete'"):
        make_vector(1, preset="discret")


@pytest.mark.parametrize("actions", [[4, 0], [-1, 0], [0.0, 1.0], [0]])
def test_bad_actions_are_refused(actions: list[Any]) -> None:
    env = make_vector(2)
    env.reset(seed=0)
    with pytest.raises(UsageError):
        env.step(np.array(actions))


def test_groups_of_any_size_can_play() -> None:
    params = LoanPoolParams(
        groups=(1, 0, 1), request_probability=(1.0,) * 3, initial_repayment=(0.9,) * 3
    )
    assert rewards(lend(params, [0, 2, 1])) == [-1.0, -2.0, -1.0]


# Faces -------------------------------------------------------------------------------------------


def rollout(env: LoanPoolVectorEnv, seed: int) -> list[Any]:
    rng = np.random.default_rng(9)
    seen = [env.reset(seed=seed)[0]]
    for _ in range(90):
        observation, reward, _, _, info = env.step(rng.integers(4, size=env.num_envs))
        seen += [observation, reward, info["supply"], info["group_state"]]
    return seen


@pytest.mark.parametrize("preset", LoanPoolParams.PRESETS)
def test_the_seed_decides_the_trajectory(preset: str) -> None:
    first, again, other = (rollout(make_vector(6, preset=preset), seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize("preset", LoanPoolParams.PRESETS)
def test_the_scalar_face_is_the_batch_of_one(preset: str) -> None:
    batch, scalar = make_vector(1, preset=preset), make_scalar(preset=preset)
    observation, _ = batch.reset(seed=3)
    np.testing.assert_array_equal(scalar.reset(seed=3)[0], observation[0])
    for step in range(39):
        many, one = batch.step(np.array([step % 4])), scalar.step(step % 4)
        np.testing.assert_array_equal(one[0], many[0][0])
        assert one[1] == many[1][0]
        assert one[4].keys() == many[4].keys()
        assert all(np.array_equal(one[4][key], many[4][key][0]) for key in one[4])


@pytest.mark.parametrize("preset", LoanPoolParams.PRESETS)
def test_the_usual_checkers_have_nothing_to_say(preset: str) -> None:
    env = gymnasium.make("longfair/LoanPool-v0", preset=preset).unwrapped
    check_env(env, skip_render_check=True)
    check_env_sb3(env)
    batch = gymnasium.make_vec("longfair/LoanPool-v0", num_envs=3, preset=preset)
    assert batch.observation_space.contains(batch.reset(seed=0)[0])
