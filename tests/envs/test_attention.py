"""Attention allocation: the decoder, one step, episode boundaries and reference values."""

from __future__ import annotations

import re
from typing import Any

import gymnasium
import numpy as np
import pytest
import scipy.stats
from allocation_reference import Reference, assert_agrees, play, pooled_rates
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from hypothesis import assume, given
from hypothesis import strategies as st
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from longfair.agents.policies import EqualLogits, GaussianLogits, ProportionalToRates
from longfair.envs.attention import (
    AttentionParams,
    AttentionVectorEnv,
    allocate_units,
)
from longfair.errors import UsageError

make_vector, make_scalar = AttentionVectorEnv.make, AttentionVectorEnv.make_scalar

# The decoder -----------------------------------------------------------------------------------


def one_after_another(logits: Any, units: int) -> Any:
    """The published code's loop: give each unit to the site with the largest residual."""
    residual = np.exp(logits) / np.exp(logits).sum()
    given_out = np.zeros(len(logits))
    for _ in range(units):
        site = int(np.argmax(residual))
        given_out[site] += 1
        residual[site] -= 1.0 / units
    return given_out


def decided_by_rounding(logits: Any, units: int) -> bool:
    """Whether two different logits leave remainders so close that rounding orders them."""
    quota = units * np.exp(logits) / np.exp(logits).sum()
    apart = np.abs((quota[:, None] - quota[None, :] + 0.5) % 1.0 - 0.5)
    return bool(((apart < 1e-9) & (np.subtract.outer(logits, logits) != 0)).any())


some_logits = st.one_of(
    # Training in the same process may have switched subnormal numbers off.
    st.lists(st.floats(-3.0, 3.0, width=32, allow_subnormal=False), min_size=2, max_size=8),
    # Few different values, so that many sites are tied exactly.
    st.lists(st.sampled_from([-3.0, -1.0, 0.0, 0.5, 3.0]), min_size=2, max_size=8),
)


@given(some_logits, st.sampled_from([1, 2, 5, 6, 7, 30]))
def test_largest_remainder_is_the_published_loop(logits: list[float], units: int) -> None:
    scores = np.array(logits)
    assume(not decided_by_rounding(scores, units))
    np.testing.assert_array_equal(
        allocate_units(scores[None], units)[0], one_after_another(scores, units)
    )


def test_largest_remainder_is_the_published_loop_on_many_draws() -> None:
    rng = np.random.default_rng(0)
    for units in (6, 30):
        logits = np.clip(rng.standard_normal((5000, 5)), -3.0, 3.0)
        expected = np.array([one_after_another(row, units) for row in logits])
        np.testing.assert_array_equal(allocate_units(logits, units), expected)


@pytest.mark.parametrize(
    ("logits", "units", "expected"),
    [
        ((0, 0, 0, 0, 0), 6, (2, 1, 1, 1, 1)),
        ((0, 0, 0, 0, 0), 30, (6, 6, 6, 6, 6)),
        ((3, -3, -3, -3, -3), 6, (6, 0, 0, 0, 0)),
        ((3, -3, -3, -3, -3), 30, (30, 0, 0, 0, 0)),
        ((-3, -3, 3, 3, 3), 5, (0, 0, 2, 2, 1)),
    ],
)
def test_decoder_vectors(logits: Any, units: int, expected: Any) -> None:
    np.testing.assert_array_equal(allocate_units([logits], units), [expected])


@pytest.mark.parametrize("sites", [2, 3, 5, 7, 11])
@pytest.mark.parametrize("units", [1, 4, 6, 30, 97])
def test_ties_go_to_the_lowest_index(sites: int, units: int) -> None:
    each, left = divmod(units, sites)
    expected = each + (np.arange(sites) < left)
    np.testing.assert_array_equal(allocate_units(np.full((1, sites), 1.3), units)[0], expected)


def test_allocation_is_whole_complete_and_does_not_depend_on_the_other_rows() -> None:
    logits = np.random.default_rng(1).uniform(-100, 100, (500, 6)).astype(np.float32)
    together = allocate_units(logits, 13)
    assert (together == together.astype(int)).all()
    assert (together >= 0).all()
    assert (together.sum(axis=1) == 13).all()
    for row in range(0, 500, 25):
        np.testing.assert_array_equal(allocate_units(logits[row : row + 1], 13)[0], together[row])


def test_huge_logits_do_not_overflow() -> None:
    np.testing.assert_array_equal(allocate_units([[1e6, 0.0], [-1e6, -1e6]], 4), [[4, 0], [2, 2]])


# Parameters --------------------------------------------------------------------------------------


def test_presets() -> None:
    original, harder, fppo = (
        AttentionParams.elbert(),
        AttentionParams.elbert_harder(),
        AttentionParams.fppo(),
    )
    assert (original.units, harder.units, fppo.units) == (6, 30, 6)
    assert original.initial_rate == fppo.initial_rate == (8, 6, 4, 3, 1.5)
    assert harder.initial_rate == (30, 25, 22.5, 17.5, 12.5)
    assert original.decrease == fppo.decrease == original.increase == (0.1,) * 5
    assert harder.decrease == (0.004, 0.01, 0.016, 0.02, 0.04)
    assert harder.increase == (0.08, 0.2, 0.4, 0.8, 2)
    assert fppo.increase == (0.2, 0.26, 0.4, 0.6, 0.3)
    weights = [(each.discovered_weight, each.missed_weight) for each in (original, harder, fppo)]
    assert weights == [(1, 0.25), (0, 0.25), (1, 0.25)]
    assert [each.episode_length for each in (original, harder, fppo)] == [1024, 1024, 1000]
    assert [each.logit_limit for each in (original, harder, fppo)] == [3, 3, 100]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"units": 0}, "units=0"),
        ({"units": 2.5}, "units=2.5"),
        ({"initial_rate": (1.0,)}, "initial_rate has 1 entries"),
        ({"initial_rate": (1.0, 2.0)}, "decrease has 5 entries: give 2, as many as initial_rate"),
        ({"initial_rate": (1.0, 2.0, 3.0, 4.0, -1.0)}, r"initial_rate\[4\]=-1.0"),
        ({"decrease": (0.1, 0.1, -0.1, 0.1, 0.1)}, r"decrease\[2\]=-0.1"),
        ({"increase": (0.1,) * 4}, "increase has 4 entries: give 5"),
        ({"increase": (0.1, float("inf"), 0.1, 0.1, 0.1)}, r"increase\[1\]=inf"),
        ({"discovered_weight": -1.0}, "discovered_weight=-1.0"),
        ({"missed_weight": float("nan")}, "missed_weight=nan"),
        ({"logit_limit": 301.0}, "logit_limit=301.0"),
        ({"episode_length": 0}, "episode_length=0"),
    ],
)
def test_bad_parameters_name_the_field(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        AttentionParams(**fields)


def test_unknown_preset_is_answered_with_near_misses() -> None:
    with pytest.raises(UsageError, match="elbert_harder"):
        make_vector(preset="elbert_hard")


# One step ----------------------------------------------------------------------------------------


def random_logits(env: AttentionVectorEnv, rng: np.random.Generator) -> Any:
    shape = (env.num_envs, env.num_groups)
    return np.clip(rng.standard_normal(shape), -3, 3).astype(np.float32)


@pytest.mark.parametrize("preset", AttentionParams.PRESETS)
def test_one_step_obeys_the_definition(preset: str) -> None:
    env = make_vector(64, preset, episode_length=400)
    params, rng = env.params, np.random.default_rng(0)
    _, info = env.reset(seed=1)
    rate = info["group_state"][:, :, 0]
    np.testing.assert_array_equal(rate, np.tile(params.initial_rate, (64, 1)))
    touched_floor = False
    for _ in range(300):
        logits = random_logits(env, rng)
        observation, reward, terminated, truncated, info = env.step(logits)
        units, seen, occurred = info["allocation"], info["supply"], info["demand"]
        np.testing.assert_array_equal(units, allocate_units(logits, params.units))
        np.testing.assert_array_equal(seen, np.minimum(units, occurred))
        np.testing.assert_array_equal(observation, np.hstack([seen, occurred, units]))
        assert env.observation_space.contains(observation)
        missed = (occurred - seen).sum(axis=1)
        gain = params.discovered_weight * seen.sum(axis=1) - params.missed_weight * missed
        np.testing.assert_allclose(reward, gain, atol=1e-12)
        lowered = np.maximum(rate - np.multiply(params.decrease, units), 0.0)
        touched_floor |= bool((lowered == 0).any())
        rate = np.where(units > 0, lowered, rate + np.array(params.increase))
        np.testing.assert_allclose(info["group_state"][:, :, 0], rate, atol=1e-12)
        assert not terminated.any()
        assert not truncated.any()
    assert touched_floor or preset == "elbert_harder"


def test_incidents_are_poisson_at_the_rate_before_its_update() -> None:
    params = AttentionParams(
        units=1, initial_rate=(4.0, 0.0), decrease=(4.0, 0.0), increase=(0.0, 50.0)
    )
    env = AttentionVectorEnv(20_000, params)
    env.reset(seed=0)
    logits = np.tile(np.float32([3, -3]), (20_000, 1))
    first = env.step(logits)[4]["demand"]
    second = env.step(logits)[4]["demand"]
    assert (first[:, 1] == 0).all()
    assert (second[:, 0] == 0).all()
    # Mean and variance of a Poisson number are its rate; errors for 20,000 draws.
    assert first[:, 0].mean() == pytest.approx(4.0, abs=4 * (4 / 20_000) ** 0.5)
    assert first[:, 0].var() == pytest.approx(4.0, abs=4 * (36 / 20_000) ** 0.5)
    assert second[:, 1].mean() == pytest.approx(50.0, abs=4 * (50 / 20_000) ** 0.5)


def test_rates_rise_without_a_limit() -> None:
    env = make_vector(1, "fppo", episode_length=6000)
    env.reset(seed=0)
    for _ in range(5000):
        _, _, _, _, info = env.step(np.float32([[50, -50, -50, -50, -50]]))
    expected = [0.0, 6 + 0.26 * 5000, 4 + 0.4 * 5000, 3 + 0.6 * 5000, 1.5 + 0.3 * 5000]
    np.testing.assert_allclose(info["group_state"][0, :, 0], expected)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (np.zeros((2, 4)), r"shape \(2, 4\)"),
        (np.zeros(5), r"shape \(5,\)"),
        (np.zeros((2, 5), bool), "dtype bool"),
        (np.array([["a"] * 5] * 2), "dtype"),
        (np.array([[0, 0, 3.5, 0, 0], [0] * 5]), r"logit 3.5 is not allowed: clip to \[-3, 3\]"),
        (np.array([[0, 0, 0, 0, 0], [0, -4, 0, 0, 0.0]]), "logit -4"),
        (np.array([[0, np.nan, 0, 0, 0], [0] * 5]), "logit nan"),
        (np.array([[0, -np.inf, 0, 0, 0], [0] * 5]), "logit -inf"),
    ],
)
def test_bad_actions_are_refused(actions: Any, message: str) -> None:
    env = make_vector(2)
    env.reset(seed=0)
    with pytest.raises(UsageError, match=message):
        env.step(actions)


def test_the_bounds_of_the_action_space_are_allowed_after_rounding() -> None:
    env = AttentionVectorEnv(1, AttentionParams(logit_limit=2.7))
    env.reset(seed=0)
    env.step(env.action_space.high)
    env.step(env.action_space.low.astype(np.float64))


# Episodes ----------------------------------------------------------------------------------------


def test_the_end_of_an_episode_keeps_its_last_step() -> None:
    env = make_vector(3, episode_length=4)
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(2):
        for _ in range(3):
            assert "final_obs" not in env.step(random_logits(env, rng))[4]
        observation, _, terminated, truncated, info = env.step(random_logits(env, rng))
        assert truncated.all()
        assert not terminated.any()
        assert info["_final_obs"].all()
        last = np.hstack([info["supply"], info["demand"], info["allocation"]])
        np.testing.assert_array_equal(info["final_obs"], last)
        assert (last.sum(axis=1) > 0).all()
        np.testing.assert_array_equal(observation, 0)
        start = np.tile(env.params.initial_rate, (3, 1))
        np.testing.assert_array_equal(info["group_state"][:, :, 0], start)
        assert (info["final_info"]["group_state"][:, :, 0] != start).any(axis=1).all()


def test_without_autoreset_the_caller_resets_some_copies() -> None:
    env = AttentionVectorEnv(3, AttentionParams(episode_length=2), AutoresetMode.DISABLED)
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    env.step(random_logits(env, rng))
    before, _, _, truncated, info = env.step(random_logits(env, rng))
    assert truncated.all()
    with pytest.raises(UsageError, match="reset"):
        env.step(random_logits(env, rng))
    mask = np.array([True, False, True])
    after, again = env.reset(options={"reset_mask": mask})
    np.testing.assert_array_equal(after[mask], 0)
    np.testing.assert_array_equal(after[~mask], before[~mask])
    np.testing.assert_array_equal(again["group_state"][1], info["group_state"][1])


def test_returned_arrays_are_not_overwritten() -> None:
    env = make_vector(4, episode_length=2)
    rng = np.random.default_rng(0)
    kept, copies = [], []
    kept.append(env.reset(seed=0)[1]["group_state"])
    copies.append(kept[-1].copy())
    for _ in range(6):
        observation, reward, _, _, info = env.step(random_logits(env, rng))
        kept += [observation, reward, *(info[key] for key in sorted(info) if key[:5] != "final")]
        copies += [np.copy(array) for array in kept[len(copies) :]]
    for array, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_the_seed_fixes_the_trajectory() -> None:
    def demands(seed: int) -> Any:
        env = make_vector(5, episode_length=7)
        env.reset(seed=seed)
        rng = np.random.default_rng(9)
        return np.array([env.step(random_logits(env, rng))[4]["demand"] for _ in range(20)])

    np.testing.assert_array_equal(demands(4), demands(4))
    assert (demands(4) != demands(5)).any()


def test_the_scalar_face_is_a_batch_of_one() -> None:
    batch, scalar = make_vector(1, "fppo", episode_length=5), make_scalar("fppo", episode_length=5)
    batch.reset(seed=2)
    scalar.reset(seed=2)
    rng = np.random.default_rng(0)
    for step in range(5):
        logits = random_logits(batch, rng)
        many, one = batch.step(logits), scalar.step(logits[0])
        shown = many[4]["final_obs"] if step == 4 else many[0]
        np.testing.assert_array_equal(shown[0], one[0])
        assert (many[1][0], many[3][0]) == (one[1], one[3])
        for key in ("supply", "demand", "allocation"):
            np.testing.assert_array_equal(many[4][key][0], one[4][key])


# Both checkers advise against unbounded counts and unnormalised logits, which the problem has.
@pytest.mark.filterwarnings("ignore:.*Box:UserWarning")
@pytest.mark.parametrize("preset", AttentionParams.PRESETS)
def test_checkers_find_no_error(preset: str) -> None:
    env = gymnasium.make("longfair/Attention-v0", preset=preset).unwrapped
    check_env(env, skip_render_check=True)
    check_env_sb3(env)


# Reference values --------------------------------------------------------------------------------


def expected_with_constant_units(params: AttentionParams, units: Any) -> tuple[float, Any]:
    """Exact expected reward per step and pooled rates when every site always gets its units."""
    rate, units = np.array(params.initial_rate), np.asarray(units)
    supply, demand = np.zeros_like(rate), np.zeros_like(rate)
    counts = np.arange(120)[:, None]
    for _ in range(params.episode_length):
        chance = scipy.stats.poisson.pmf(counts, rate)
        supply += (np.minimum(counts, units) * chance).sum(axis=0)
        demand += rate
        rate = np.maximum(rate - np.multiply(params.decrease, units), 0.0)
    gain = params.discovered_weight * supply - params.missed_weight * (demand - supply)
    return gain.sum() / params.episode_length, supply / (demand + 1.0)


@pytest.mark.parametrize(
    ("preset", "units"), [("elbert", (2, 1, 1, 1, 1)), ("elbert_harder", (6, 6, 6, 6, 6))]
)
def test_equal_logits_against_the_exact_expectation(preset: str, units: Any) -> None:
    env = make_vector(400, preset)
    totals = play(EqualLogits(5), env)
    reward, rates = expected_with_constant_units(env.params, units)
    per_step = totals.reward / totals.steps
    assert per_step.mean() == pytest.approx(reward, abs=4 * per_step.std() / 20)
    # A step's supply varies by at most the demand does, so this is a generous standard error.
    error = np.sqrt(totals.demand.mean(axis=0) / 400) / (totals.demand.mean(axis=0) + 1.0)
    assert (np.abs(pooled_rates(totals) - rates) < 4 * error).all()


# 100 episodes each of a simulator written independently of this one.
REFERENCE = {
    ("elbert", "equal"): Reference(100, 0.096, 0.308, digits=(3, 3, 2)),
    ("elbert", "gaussian"): Reference(100, 0.212, 0.363, digits=(3, 3, 2)),
    ("elbert", "proportional"): Reference(100, 0.348, 0.155, digits=(3, 3, 2)),
    ("elbert_harder", "equal"): Reference(
        100, -4.219, 0.354, rates=(0.333, 0.413, 0.451, 0.546, 0.687), digits=(3, 3, 2)
    ),
    ("elbert_harder", "gaussian"): Reference(
        100, -4.79, 0.374, rates=(0.301, 0.376, 0.408, 0.487, 0.675), digits=(2, 3, 2)
    ),
    ("elbert_harder", "proportional"): Reference(
        100, -2.105, 0.159, rates=(0.619, 0.518, 0.461, 0.486, 0.577), digits=(3, 3, 2)
    ),
}


@pytest.mark.parametrize(("preset", "policy"), REFERENCE)
def test_reference_values(preset: str, policy: str) -> None:
    agent = {
        "equal": EqualLogits(5),
        "gaussian": GaussianLogits(5, seed=0),
        "proportional": ProportionalToRates(),
    }[policy]
    assert_agrees(play(agent, make_vector(1000, preset)), REFERENCE[preset, policy])


def test_untrained_policy_in_the_environment_of_fppo() -> None:
    """Reward near 1 at first, -3.7 after step 200; rates 28 apart at the end; equal shares.

    The expected values presumably come from one batch of ten episodes. The rates of neglected
    sites drift like a random walk, so episodes differ: over batches of ten the standard deviation
    is 0.6 for the reward and 2.7 for the largest deviation of a rate from the mean rate. Three of
    them are allowed.
    """
    env = make_vector(300, "fppo", episode_length=1001)
    agent = GaussianLogits(5, limit=100.0, seed=0)
    observation, info = env.reset(seed=0)
    rewards = []
    assert largest_deviation(info).mean() == pytest.approx(3.5)
    units = np.zeros((300, 5))
    for _ in range(1000):
        observation, reward, _, _, info = env.step(agent.predict(observation)[0])
        rewards.append(reward.mean())
        units += info["allocation"]
    shares = units / units.sum(axis=1, keepdims=True)
    assert np.mean(rewards[:10]) == pytest.approx(1.0, abs=0.15)
    assert np.mean(rewards[201:]) == pytest.approx(-3.7, abs=1.8)
    assert largest_deviation(info).mean() == pytest.approx(28.0, abs=8.1)
    assert np.abs(shares - 0.2).max(axis=1).mean() == pytest.approx(0.008, abs=0.001)


def largest_deviation(info: dict[str, Any]) -> Any:
    rate = info["group_state"][:, :, 0]
    return np.abs(rate - rate.mean(axis=1, keepdims=True)).max(axis=1)


@pytest.mark.parametrize(
    ("logits", "units", "said"),
    [
        ([[np.nan, 1.0]], 3, "logits=[[nan, 1.0]]: give rows of finite numbers, one per site"),
        ([[1.0, 2.0], [1.0]], 3, "give rows of finite numbers"),
        ([1.0, 2.0], 3, "give rows of finite numbers"),
        (np.zeros((2, 0)), 3, "give rows of finite numbers"),
        ([["much", "little"]], 3, "give rows of finite numbers"),
        ([[1.0, 2.0]], -3, "units=-3"),
        ([[1.0, 2.0]], 2.5, "units=2.5"),
    ],
)
def test_units_are_divided_among_finite_logits_only(logits: Any, units: Any, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        allocate_units(logits, units)
