"""The lending environment: its rules step by step, and the reference values of whole episodes.

The reference values come from an independent simulator: 1024 episodes of 2048 applicants, 512 of
10,000, and for the last table single batches of 10 episodes. A comparison allows four standard
errors of the difference, with the spread of our own episodes, plus the rounding of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import gymnasium
import numpy as np
import pytest

from longfair.agents.evaluation import EpisodeTotals, play_episodes
from longfair.agents.policies import applicants, constant_policy, threshold_policy
from longfair.envs.lending import LendingParams, LendingVectorEnv
from longfair.errors import UsageError

PARAMS = LendingParams.elbert()
INITIAL = np.array(PARAMS.initial_distribution)
REPAY = np.array(PARAMS.repay_probability)

AGENTS: dict[str, Callable[[], Any]] = {
    "reject all": lambda: threshold_policy((7, 7)),
    "accept all": lambda: threshold_policy((0, 0)),
    "accept half": lambda: constant_policy(0.5),
    ">=3 / >=3": lambda: threshold_policy((3, 3)),
    ">=2 / >=2": lambda: threshold_policy((2, 2)),
    ">=1 / >=1": lambda: threshold_policy((1, 1)),
    ">=2 / >=1": lambda: threshold_policy((2, 1)),
}
EPISODES = {2048: 512, 10_000: 128}
"""How many episodes of each length are played with every policy."""
REFERENCE_EPISODES = {2048: 1024, 10_000: 512}


def make(copies: int, **options: Any) -> LendingVectorEnv:
    env = gymnasium.make_vec("longfair/Lending-v0", num_envs=copies, **options)
    assert isinstance(env.unwrapped, LendingVectorEnv)
    return env.unwrapped


def side_by_side(agents: list[Any], copies: int) -> Callable[[Any, Any], Any]:
    """Let each agent decide in its own `copies` of one batch.

    All of them accept by a table; looking up in all tables at once saves most of the time.
    """
    tables = np.stack([agent.probability for agent in agents]).repeat(copies, axis=0)
    rows, rng = np.arange(len(tables)), np.random.default_rng(11)

    def act(observation: Any, _: Any) -> Any:
        group, score = applicants(observation, *tables.shape[1:])
        return (tables[rows, group, score] > rng.random(len(rows))).astype(np.int64)

    return act


@cache
def played(length: int) -> dict[str, EpisodeTotals]:
    copies = EPISODES[length]
    agents = [make_agent() for make_agent in AGENTS.values()]
    env = make(copies * len(agents), episode_length=length)
    totals = play_episodes(side_by_side(agents, copies), env, seed=3)
    parts = zip(*(np.split(column, len(agents)) for column in totals), strict=True)
    return {name: EpisodeTotals(*part) for name, part in zip(AGENTS, parts, strict=True)}


def assert_mean(sample: Any, value: float, episodes: int, digits: int = 4) -> None:
    error = sample.std() * np.sqrt(1 / len(sample) + 1 / episodes)
    assert sample.mean() == pytest.approx(value, abs=4 * error + 0.5 * 10.0**-digits)


def around_the_rates(totals: EpisodeTotals, offset: float = 0.0) -> Any:
    """Return an array (episodes, G) with the pooled rates as mean and the right spread.

    The spread of a ratio of means is that of each episode's influence on it.
    """
    need = totals.demand + offset
    rates = totals.supply.sum(axis=0) / need.sum(axis=0)
    return rates + (totals.supply - rates * need) / need.mean(axis=0)


# Whole episodes ----------------------------------------------------------------------------------

TIGHT = [
    ("accept all", -0.0127, 0.0, -0.1025, 0.0),
    ("accept half", 0.0090, 0.0007, -0.0287, 0.0008),
    (">=3 / >=3", 0.1889, 0.1829, 0.1460, 0.1669),
    (">=2 / >=2", 0.2120, 0.0761, 0.1844, 0.0948),
    (">=1 / >=1", 0.1920, 0.0446, 0.1848, 0.0632),
    (">=2 / >=1", 0.2010, 0.0103, 0.1848, 0.0231),
]
"""Policy; reward per step and pooled bias in 2048 steps; the same in 10,000 steps."""


@pytest.mark.parametrize(
    ("policy", "length", "reward", "bias"),
    [(row[0], 2048, row[1], row[2]) for row in TIGHT]
    + [(row[0], 10_000, row[3], row[4]) for row in TIGHT],
)
def test_rewards_and_biases_of_threshold_lenders(
    policy: str, length: int, reward: float, bias: float
) -> None:
    totals = played(length)[policy]
    assert_mean(totals.reward / length, reward, REFERENCE_EPISODES[length])
    rates = around_the_rates(totals)
    first, second = rates.mean(axis=0)
    gap = (rates[:, 0] - rates[:, 1]) * np.sign(first - second)
    if policy == "accept half":
        # Both rates are one half: the value is the size of the noise, not a difference.
        assert abs(gap.mean()) <= 4 * gap.std() / np.sqrt(len(gap))
    else:
        assert_mean(gap, bias, REFERENCE_EPISODES[length])


RATES = [
    ("accept all", 1.00, 1.00),
    ("accept half", 0.502, 0.498),
    (">=3 / >=3", 0.624, 0.452),
    (">=2 / >=2", 0.836, 0.746),
    (">=1 / >=1", 0.921, 0.862),
    (">=2 / >=1", 0.836, 0.862),
]
"""True positive rates with one added to each episode's demand: 30 episodes of 10,000 steps."""


@pytest.mark.parametrize(("policy", "first", "second"), RATES)
def test_true_positive_rates_of_threshold_lenders(policy: str, first: float, second: float) -> None:
    rates = around_the_rates(played(10_000)[policy], offset=1.0)
    digits = 2 if policy == "accept all" else 3
    assert_mean(rates[:, 0], first, 30, digits)
    assert_mean(rates[:, 1], second, 30, digits)


@pytest.mark.parametrize(
    ("policy", "length", "value", "error"),
    [
        (">=3 / >=3", 2048, 0.1832, 0.0017),
        (">=3 / >=3", 10_000, 0.1670, 0.0027),
        (">=2 / >=1", 2048, 0.0202, 0.0005),
        (">=2 / >=1", 10_000, 0.0304, 0.0010),
    ],
)
def test_means_of_per_episode_biases(policy: str, length: int, value: float, error: float) -> None:
    totals = played(length)[policy]
    rates = totals.supply / totals.demand
    biases = rates.max(axis=1) - rates.min(axis=1)
    ours = biases.std() / np.sqrt(len(biases))
    assert biases.mean() == pytest.approx(value, abs=4 * np.hypot(ours, error))


def test_a_lender_who_never_lends_gets_nothing_and_changes_nothing() -> None:
    for totals in (played(2048)["reject all"], played(10_000)["reject all"]):
        assert not totals.reward.any()
        assert not totals.supply.any()
        # The scores stay as they are, so demand is that of the first step all along.
        demand = totals.demand / totals.steps[:, None]
        for group, value in enumerate((0.295, 0.2475)):
            assert_mean(demand[:, group], value, 10**9, digits=12)


@pytest.mark.parametrize(("policy", "cash"), [(">=3 / >=3", 11_408), ("accept all", 8_904)])
def test_final_cash_of_an_evaluation_batch(policy: str, cash: float) -> None:
    assert_mean(10_000 + played(10_000)[policy].reward, cash, 10, digits=0)


# Single steps ------------------------------------------------------------------------------------


def test_every_step_follows_the_rules() -> None:
    """Recompute each copy's step in plain Python from what was observed before it."""
    copies, steps = 6, 700
    # A shift that does not divide the initial masses, so that it meets scores with less than it.
    env = make(copies, params=replace(PARAMS, mass_shift=0.03, episode_length=250))
    rng = np.random.default_rng(0)
    observation, info = env.reset(seed=1)
    state, cash = info["group_state"], np.full(copies, 10_000.0)
    ends_reached, smaller_moves = set(), 0
    for _ in range(steps):
        # Mostly lending to one end of the scale drives mass against the bounds.
        actions = (rng.random(copies) < 0.9).astype(np.int64)
        before = observation
        observation, reward, terminated, truncated, info = env.step(actions)
        assert not terminated.any()
        after = info["final_info"]["group_state"] if truncated.any() else info["group_state"]
        for copy in range(copies):
            score, group = int(before[copy, :7].argmax()), int(before[copy, 7:].argmax())
            assert before[copy].sum() == 2.0
            expected = state[copy].copy()
            needs = np.zeros(2)
            repays = info["demand"][copy, group] == 1.0
            needs[group] = repays
            np.testing.assert_array_equal(info["demand"][copy], needs)
            np.testing.assert_array_equal(info["supply"][copy], needs * actions[copy])
            assert reward[copy] == (0.0 if not actions[copy] else 1.0 if repays else -1.0)
            cash[copy] += reward[copy]
            if actions[copy]:
                target = min(score + 1, 6) if repays else max(score - 1, 0)
                mass = min(0.03, expected[group, score])
                smaller_moves += mass < 0.0299
                expected[group, score] -= mass
                expected[group, target] += mass
                ends_reached.add((score, target))
            np.testing.assert_allclose(after[copy], expected, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(info["cash"], cash)
        if truncated.any():
            assert truncated.all()
            np.testing.assert_array_equal(info["group_state"], np.tile(INITIAL, (copies, 1, 1)))
            cash[:] = 10_000.0
        state = info["group_state"]
    assert {(0, 0), (6, 6)} <= ends_reached
    assert smaller_moves > 10


def test_probability_mass_is_conserved_and_never_negative() -> None:
    env = make(64, params=replace(PARAMS, mass_shift=0.03), episode_length=1500)
    env.reset(seed=2)
    accept = np.ones(64, dtype=np.int64)
    for _ in range(1200):
        info = env.step(accept)[4]
    state = info["group_state"]
    np.testing.assert_allclose(state.sum(axis=2), 1.0, rtol=0, atol=1e-10)
    assert (state >= 0).all()


def test_applicants_come_from_the_present_distribution() -> None:
    copies = 40_000
    env = make(copies)
    observation, _ = env.reset(seed=3)
    group, score = observation[:, 7:].argmax(axis=1), observation[:, :7].argmax(axis=1)
    demand = env.step(np.zeros(copies, dtype=np.int64))[4]["demand"]
    assert group.mean() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(copies))
    for of_group in (0, 1):
        members = group == of_group
        shares = np.bincount(score[members], minlength=7) / members.sum()
        errors = np.sqrt(INITIAL[of_group] * (1 - INITIAL[of_group]) / members.sum())
        assert (np.abs(shares - INITIAL[of_group]) <= 4.5 * errors).all()
    for level in range(6):
        repaid = demand.sum(axis=1)[score == level]
        error = np.sqrt(REPAY[level] * (1 - REPAY[level]) / len(repaid))
        assert repaid.mean() == pytest.approx(REPAY[level], abs=4.5 * error)


def test_the_outcome_does_not_depend_on_the_decision() -> None:
    accepting, refusing = make(500), make(500)
    accepting.reset(seed=4)
    refusing.reset(seed=4)
    accepted = accepting.step(np.ones(500, dtype=np.int64))
    refused = refusing.step(np.zeros(500, dtype=np.int64))
    np.testing.assert_array_equal(accepted[4]["demand"], refused[4]["demand"])
    assert not refused[4]["supply"].any()


def test_a_bank_without_cash_for_a_loan_terminates() -> None:
    params = replace(PARAMS, starting_cash=1.0, episode_length=50, repay_probability=(0.0,) * 7)
    env = make(4, params=params)
    env.reset(seed=5)
    actions = np.array([0, 1, 0, 1])
    _, reward, terminated, truncated, info = env.step(actions)
    np.testing.assert_array_equal(terminated, [False, True, False, True])
    assert not truncated.any()
    np.testing.assert_array_equal(reward, -actions)
    np.testing.assert_array_equal(info["_final_obs"], terminated)
    np.testing.assert_array_equal(info["cash"], [1.0, 0.0, 1.0, 0.0])


def test_ruin_in_the_last_step_is_a_termination() -> None:
    params = replace(PARAMS, starting_cash=1.0, episode_length=2, repay_probability=(0.0,) * 7)
    env = make(2, params=params)
    env.reset(seed=6)
    env.step(np.array([0, 0]))
    terminated, truncated = env.step(np.array([1, 0]))[2:4]
    np.testing.assert_array_equal(terminated, [True, False])
    np.testing.assert_array_equal(truncated, [False, True])


def test_every_copy_has_its_own_clock() -> None:
    """Episodes that end early must not move the end of the others."""
    params = replace(PARAMS, starting_cash=3.0, episode_length=12, repay_probability=(0.45,) * 7)
    copies = 100
    env = make(copies, params=params)
    env.reset(seed=8)
    rng = np.random.default_rng(0)
    elapsed, cash = np.zeros(copies, dtype=int), np.full(copies, 3.0)
    both = np.zeros(2, dtype=int)
    for _ in range(80):
        _, reward, terminated, truncated, info = env.step(rng.integers(0, 2, copies))
        elapsed += 1
        cash += reward
        np.testing.assert_array_equal(terminated, cash < 1)
        np.testing.assert_array_equal(truncated, (elapsed == 12) & ~terminated)
        ended = terminated | truncated
        np.testing.assert_array_equal(info.get("_final_obs", np.zeros(copies, bool)), ended)
        both += [terminated.sum(), truncated.sum()]
        np.testing.assert_array_equal(info["cash"], cash)
        elapsed[ended], cash[ended] = 0, 3.0
    assert (both > 50).all()


def test_interest_and_loan_amount_scale_the_reward() -> None:
    sure = replace(PARAMS, repay_probability=(1.0,) * 7, loan_amount=3.0, interest_rate=0.5)
    lost = replace(sure, repay_probability=(0.0,) * 7)
    for params, reward in ((sure, 1.5), (lost, -3.0)):
        env = make(3, params=params)
        env.reset(seed=7)
        np.testing.assert_array_equal(env.step(np.ones(3, dtype=np.int64))[1], np.full(3, reward))


@pytest.mark.parametrize(
    ("preset", "length"),
    [("elbert", 2048), ("elbert_evaluation", 10_000), ("fppo", 2000), ("fppo_evaluation", 10_000)],
)
def test_presets_differ_in_length_only(preset: str, length: int) -> None:
    params = getattr(LendingParams, preset)()
    assert params == replace(PARAMS, episode_length=length)
    assert make(1, preset=preset).episode_length == length


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"repay_probability": (0.5,)}, "repay_probability has 1 entries"),
        ({"initial_distribution": ()}, "initial_distribution has 0 entries: give at least 1"),
        ({"group_probability": (1.0,)}, "entries: give 2, as many as initial_distribution has"),
        ({"repay_probability": (0.5,) * 6}, r"initial_distribution\[0\] has 7 entries: give 6"),
        ({"initial_distribution": ((0.5,) * 7, (0.5,) * 7)}, "sums to 3.5"),
        ({"group_probability": (0.5, 0.6)}, "group_probability sums to 1.1"),
        ({"mass_shift": 1.5}, r"mass_shift=1.5: give a finite number in \[0, 1\]"),
        ({"starting_cash": 0.5}, "starting_cash=0.5"),
        ({"episode_length": 0}, "episode_length=0"),
    ],
)
def test_impossible_parameters_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(PARAMS, **change)
