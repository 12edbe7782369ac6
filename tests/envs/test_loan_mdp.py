"""The individual loan problem: initial law, exact values, linear programs, both faces.

Exact values were computed independently, by dynamic programming and linear programming, and hold
to the digits given. Simulations are compared within four standard errors.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from scipy import sparse
from scipy.optimize import linprog
from scipy.stats import beta

from longfair.agents.finite import FiniteProblem
from longfair.envs.loan_mdp import (
    LoanMDPParams,
    LoanMDPVectorEnv,
    LoanModel,
    tabular,
)
from longfair.envs.tabular import TabularModel
from longfair.errors import UsageError

FICO, DISCRETISED = LoanMDPParams.fico(), LoanMDPParams.discretised()
OFFSET_TOTAL = 9.999886
"""2 (1 - 0.8^51) / (1 - 0.8): what the reward offset adds up to."""


@cache
def written_out(preset: str) -> TabularModel:
    return tabular(preset)


@cache
def best_policy() -> tuple[float, Any]:
    """Return value and actions (51, S) of the best policy of the continuous problem."""
    model = written_out("fico")
    solution = FiniteProblem.of_face(model).backward_induction(model.horizon, FICO.discount)
    return float(solution.values[0] @ model.initial_distribution), solution.actions


def best_value(params: LoanMDPParams) -> float:
    model = tabular(params=params)
    value = np.zeros(len(model.states))
    for _ in range(model.horizon):
        future = (model.transition @ value).reshape(-1, 2)
        value = (model.reward + params.discount * future).max(axis=1)
    return float(value @ model.initial_distribution)


def course(model: TabularModel, lend: Any) -> tuple[Any, Any]:
    """Return expected rewards (H,) and each group's chance of a loan (H, 2), step by step.

    `lend` has shape (S,) or (H, S): the chance of a loan.
    """
    minority = model.states[:, 0] == 0
    share = np.array([model.initial_distribution[minority].sum(), 0.0])
    share[1] = 1 - share[0]
    state, rewards, loans = model.initial_distribution, [], []
    for chance in np.broadcast_to(lend, (model.horizon, len(model.states))):
        flow = state[:, None] * np.stack([1 - chance, chance], axis=1)
        rewards.append((flow * model.reward).sum())
        lent = flow[:, 1]
        loans.append([lent[minority].sum(), lent[~minority].sum()] / share)
        state = flow.ravel() @ model.transition
    return np.array(rewards), np.array(loans)


def discounted(series: Any) -> Any:
    """Return the discounted sum over the first axis."""
    return np.tensordot(FICO.discount ** np.arange(len(series)), series, axes=1)


# Beliefs and starts ------------------------------------------------------------------------------


def test_initial_law() -> None:
    """Exact to four decimals."""
    minority, majority = LoanModel(FICO).initial_law()
    expected = [0.0289, 0.0454, 0.0607, 0.0776, 0.0985, 0.1284, 0.1825, 0.3780, 0, 0, 0]
    np.testing.assert_allclose(minority, expected, rtol=0, atol=5.1e-5)
    expected = [
        0.0054, 0.0088, 0.0122, 0.0159, 0.0204, 0.0260, 0.0336, 0.0453, 0.0660, 0.1173, 0.6490,
    ]  # fmt: skip
    np.testing.assert_allclose(majority, expected, rtol=0, atol=5.1e-5)
    np.testing.assert_allclose(minority.sum(), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("threshold", "minority", "majority"), [(0.82, 0.5605, 0.7664), (0.85238, 0.3780, 0.7664)]
)
def test_share_of_qualified_applicants(threshold: float, minority: float, majority: float) -> None:
    """Exact to four decimals from the law; the environment's draws follow it."""
    model = LoanModel(FICO)
    copies = 40_000
    env = LoanMDPVectorEnv(copies, replace(FICO, qualified_mean=threshold))
    _, info = env.reset(seed=1)
    group = info["group_state"][:, 1, 0].astype(int)
    for of_group, expected in enumerate((minority, majority)):
        loans = FICO.exploration[of_group]
        repayments = np.arange(loans + 1)
        counts = np.stack([repayments, loans - repayments, 0 * repayments], axis=1)
        first, second = model.belief(np.full(loans + 1, of_group), counts)
        share = model.initial_law()[of_group, : loans + 1][first / (first + second) >= threshold]
        assert share.sum() == pytest.approx(expected, abs=5.1e-5)
        members = group == of_group
        error = np.sqrt(expected * (1 - expected) / members.sum())
        assert info["qualified"][members].mean() == pytest.approx(expected, abs=4 * error)


def test_applicants_start_as_the_law_says() -> None:
    copies = 50_000
    env = LoanMDPVectorEnv(copies, FICO)
    observation, info = env.reset(seed=2)
    group = observation[:, 2].astype(int)
    share = 0.70705682
    assert group.mean() == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / copies))
    np.testing.assert_array_equal(info["counts"].sum(axis=1), np.array([7, 10])[group])
    prior = np.array(FICO.prior)[group]
    np.testing.assert_allclose(observation[:, :2], prior + info["counts"][:, :2], rtol=1e-6)
    for of_group, law in enumerate(LoanModel(FICO).initial_law()):
        members = info["counts"][group == of_group, 0]
        seen = np.bincount(members, minlength=11) / len(members)
        assert (np.abs(seen - law) <= 4.5 * np.sqrt(law * (1 - law) / len(members))).all()


def test_population_constants() -> None:
    """Exact to five decimals: lending to everybody loses money before the risk is priced."""
    means = np.array([a / (a + b) for a, b in FICO.prior])
    np.testing.assert_allclose(means, [0.73951, 0.88857], rtol=0, atol=5e-6)
    average = means @ FICO.group_probability
    assert average == pytest.approx(0.844902, abs=5e-7)
    stake = FICO.interest + FICO.principal
    assert FICO.principal / stake == pytest.approx(0.852380, abs=5e-7)
    assert stake * average - FICO.principal == pytest.approx(-0.0088, abs=5e-5)


@pytest.mark.parametrize(("first", "second"), [(2.0, 3.0), (12.5, 0.4)])
def test_the_price_of_risk(first: float, second: float) -> None:
    stake = FICO.interest + FICO.principal
    profit = stake * first / (first + second) - FICO.principal
    deviation = beta(first, second).std()
    coded = LoanModel(FICO).profit(first, second)
    assert coded == pytest.approx(profit - 0.01 * stake * np.sqrt(first + second) * deviation)
    true = LoanModel(replace(FICO, risk_measure="standard_deviation")).profit(first, second)
    assert true == pytest.approx(profit - 0.01 * stake * deviation)


# Exact values ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"exploration": (1, 5)}, 10.3881),
        ({"exploration": (1, 3)}, 10.3826),
        ({"risk_measure": "standard_deviation"}, 10.4376),
        ({"reward_offset": 0.0}, 10.4330 - OFFSET_TOTAL),
    ],
)
def test_value_of_the_best_policy(changes: dict[str, Any], value: float) -> None:
    """Exact to four decimals."""
    assert best_value(replace(FICO, **changes)) == pytest.approx(value, abs=6e-5)


@pytest.mark.parametrize(
    ("chance", "value"),
    [(0, OFFSET_TOTAL), (0.1, 9.9789), (0.25, 9.9547), (0.5, 9.9317), (0.75, 9.9280), (1, 9.9415)],
)
def test_value_of_lending_with_a_constant_chance(chance: float, value: float) -> None:
    """Exact to four decimals. Never to lend is best among these."""
    rewards, loans = course(written_out("fico"), chance)
    assert discounted(rewards) == pytest.approx(value, abs=6e-5)
    np.testing.assert_allclose(loans, chance, rtol=0, atol=1e-9)


def test_value_and_lending_rates_of_the_best_policy() -> None:
    """Exact to four decimals, and three: gaps of 0.264 discounted, of 0.330 without discount."""
    value, actions = best_policy()
    assert value == pytest.approx(10.43301, abs=6e-6)
    rewards, loans = course(written_out("fico"), actions)
    assert discounted(rewards) == pytest.approx(value, abs=1e-9)
    weight = discounted(np.ones(51))
    np.testing.assert_allclose(discounted(loans) / weight, [0.486, 0.750], rtol=0, atol=6e-4)
    # The authors divide 51 undiscounted decisions by 50.
    np.testing.assert_allclose(loans.sum(axis=0) / 50, [0.406, 0.737], rtol=0, atol=6e-4)


@cache
def occupancy_program(tolerance: float | None) -> tuple[float, Any]:
    """Solve the linear program of the finite problem, with demographic parity if asked for.

    Returns the reward, not normalised, and the lending rates of minority and majority.
    """
    model, discount = written_out("discretised"), DISCRETISED.discount
    size = len(model.states)
    flow = sparse.csr_array(
        sparse.kron(sparse.eye_array(size), np.ones((1, 2))) - discount * model.transition.T
    )
    group = np.repeat(model.states[:, 0], 2)
    lends = np.tile([0.0, 1.0], size)
    share = np.array(DISCRETISED.group_probability)
    of_group = np.stack([lends * (group == z) / share[z] for z in (0, 1)])
    gap = of_group[1] - of_group[0]
    bounds = {} if tolerance is None else {"A_ub": np.stack([gap, -gap]), "b_ub": [tolerance] * 2}
    solution = linprog(
        -model.reward.ravel(),
        A_eq=flow,
        b_eq=(1 - discount) * model.initial_distribution,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10},
        **bounds,
    )
    assert solution.status == 0
    assert solution.x.sum() == pytest.approx(1.0, abs=1e-6)
    return -solution.fun / (1 - discount), of_group @ solution.x


@pytest.mark.parametrize(
    ("tolerance", "reward", "minority", "majority"),
    [
        (None, 0.4331, 0.486, 0.750),
        (0.1, 0.4108, 0.631, 0.731),
        (0.01, 0.3885, 0.640, 0.650),
        (0.0, 0.3860, 0.643, 0.643),
    ],
)
def test_linear_programs_of_the_finite_problem(
    tolerance: float | None, reward: float, minority: float, majority: float
) -> None:
    """Exact to four decimals, rates to three; the solver keeps its equations to 1e-10."""
    found, rates = occupancy_program(tolerance)
    assert found == pytest.approx(reward, abs=6e-5)
    np.testing.assert_allclose(rates, [minority, majority], rtol=0, atol=6e-4)


def test_dynamic_programming_agrees_with_the_linear_program() -> None:
    long = replace(DISCRETISED, episode_length=200)
    assert best_value(long) == pytest.approx(occupancy_program(None)[0], abs=1e-7)


@pytest.mark.parametrize(("bound", "value"), [(10, 0.4066), (20, 0.4319), (40, 0.4331)])
def test_how_far_to_count(bound: int, value: float) -> None:
    """Exact to four decimals: a bound of 30 costs nothing, one of 10 does."""
    params = replace(DISCRETISED, largest_count=bound, episode_length=200)
    assert best_value(params) == pytest.approx(value, abs=6e-5)


@pytest.mark.parametrize("drift", [0.0, 1.0])
def test_the_drift_does_not_matter_to_the_best_policy(drift: float) -> None:
    """Exact to four decimals: after a denial it never lends again, whatever the drift."""
    params = replace(DISCRETISED, denial_drift=drift, episode_length=200)
    assert best_value(params) == pytest.approx(0.4331, abs=6e-5)


# The tabular face --------------------------------------------------------------------------------


@pytest.mark.parametrize(("preset", "states"), [("discretised", 1922), ("fico", 73_034)])
def test_the_tabular_face_is_a_decision_problem(preset: str, states: int) -> None:
    model = written_out(preset)
    assert model.states.shape == (states, 4)
    assert model.transition.shape == (2 * states, states)
    assert model.reward.shape == (states, 2)
    np.testing.assert_allclose(model.transition.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert model.transition.data.min() > 0
    assert model.initial_distribution.sum() == pytest.approx(1.0, abs=1e-12)
    assert len(np.unique(model.states, axis=0)) == states
    # Groups never mix.
    entries = model.transition.tocoo()
    group = model.states[:, 0]
    np.testing.assert_array_equal(group[entries.row // 2], group[entries.col])


def test_states_that_an_episode_can_reach() -> None:
    """32,708 for the minority and 36,686 for the majority, counted at the 51 decisions."""
    states = written_out("fico").states
    taken = states[:, 1:].sum(axis=1) - np.array([7, 10])[states[:, 0]]
    assert taken.min() == 0
    counts = np.bincount(states[taken < 51, 0])
    assert counts.tolist() == [32_708, 36_686]
    over = taken == 51
    assert not written_out("fico").reward[over].any()


@pytest.mark.parametrize("preset", ["fico", "discretised"])
def test_the_tabular_face_agrees_with_simulation(preset: str) -> None:
    """Play a random policy: every transition is possible, and counts move as far as expected."""
    model = written_out(preset)
    copies, steps = 2000, 20
    env = LoanMDPVectorEnv(copies, getattr(LoanMDPParams, preset)())
    # Denials are not part of a finite state, whose dynamics do not need them.
    kept = np.array([1, 1, 1, int(preset == "fico")])
    bases = np.array([2, 128, 128, 128])

    def code(states: Any) -> Any:
        return np.ravel_multi_index(tuple(states.T), bases)

    order = np.argsort(code(model.states))
    codes = code(model.states)[order]

    def rows(info: dict[str, Any]) -> Any:
        states = np.column_stack([info["group_state"][:, 1, 0].astype(int), info["counts"]]) * kept
        found = np.searchsorted(codes, code(states))
        assert (codes[found] == code(states)).all()
        return order[found]

    counted = model.states.astype(float)
    mean = model.transition @ counted
    variance = model.transition @ counted**2 - mean**2
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=3)
    state = rows(info)
    surprise, spread = np.zeros(4), np.zeros(4)
    for _ in range(steps):
        actions = (rng.random(copies) < 0.6).astype(np.int64)
        _, reward, _, _, info = env.step(actions)
        np.testing.assert_allclose(reward, model.reward[state, actions], rtol=0, atol=1e-12)
        following, taken = rows(info), 2 * state + actions
        chances = np.asarray(model.transition[taken, following])
        assert (chances > 0).all(), "a transition that the tabular face says is impossible"
        surprise += (counted[following] - mean[taken]).sum(axis=0)
        spread += variance[taken].sum(axis=0)
        state = following
    assert spread[1] > 0
    assert spread[2] > 0
    assert (np.abs(surprise) <= 4 * np.sqrt(spread.clip(0)) + 1e-6).all()


def test_simulated_returns_agree_with_exact_values() -> None:
    """A policy that lends when the mean belief is at least 0.85."""
    model = written_out("fico")
    params = FICO
    first, second = LoanModel(params).belief(model.states[:, 0], model.states[:, 1:])
    rewards, chances = course(model, (first / (first + second) >= 0.85).astype(float))
    exact = discounted(rewards)
    copies = 4000
    env = LoanMDPVectorEnv(copies, params)
    observation, info = env.reset(seed=4)
    group = info["group_state"][:, 1, 0].astype(int)
    total, loans = np.zeros(copies), np.zeros(copies)
    for step in range(51):
        alpha, beta_ = observation[:, 0].astype(float), observation[:, 1].astype(float)
        # Single precision moves the belief a little; the margin keeps ties where they are.
        actions = (alpha / (alpha + beta_) >= 0.85 - 1e-6).astype(np.int64)
        observation, reward, _, truncated, info = env.step(actions)
        total += 0.8**step * reward
        loans += info["supply"].sum(axis=1)
    assert truncated.all()
    assert total.mean() == pytest.approx(exact, abs=4 * total.std() / np.sqrt(copies))
    for of_group, rate in enumerate(chances.mean(axis=0)):
        members = loans[group == of_group] / 51
        error = members.std() / np.sqrt(len(members))
        assert members.mean() == pytest.approx(rate, abs=4 * error)


def test_problems_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="at most 10,000,000"):
        tabular("fico", episode_length=300)
    with pytest.raises(UsageError, match="at most 10,000,000"):
        tabular(params=replace(DISCRETISED, largest_count=2000))


# Steps of the environment ------------------------------------------------------------------------


def test_every_step_follows_the_rules() -> None:
    """Recompute each copy's step in plain Python."""
    copies = 12
    env = LoanMDPVectorEnv(copies, FICO)
    rng = np.random.default_rng(1)
    observation, info = env.reset(seed=5)
    qualified = info["qualified"]
    for _ in range(50):
        before, state = info["counts"], observation.astype(float)
        actions = rng.integers(0, 2, copies)
        observation, reward, terminated, truncated, info = env.step(actions)
        assert not (terminated | truncated).any()
        np.testing.assert_array_equal(info["qualified"], qualified)
        for copy in range(copies):
            alpha, second, group = state[copy]
            change = info["counts"][copy] - before[copy]
            if actions[copy]:
                assert change.tolist() in ([1, 0, 0], [0, 1, 0])
                moved = [alpha + change[0], second + change[1], group]
                mean = alpha / (alpha + second)
                root = np.sqrt(alpha * second / ((alpha + second) * (alpha + second + 1)))
                expected = 2 + 1.17318629 * mean - 1 - 0.01 * 1.17318629 * root
            else:
                assert change.tolist() == [0, 0, 1]
                moved, expected = [alpha, second + 0.1, group], 2.0
            np.testing.assert_allclose(observation[copy], moved, rtol=1e-5)
            assert reward[copy] == pytest.approx(expected, abs=1e-6)
            belief = np.zeros((2, 2))
            belief[int(group)] = 1, observation[copy, 0] / observation[copy, :2].sum()
            np.testing.assert_allclose(info["group_state"][copy], belief, rtol=1e-6)
            np.testing.assert_array_equal(info["demand"][copy], belief[:, 0])
            np.testing.assert_array_equal(info["supply"][copy], belief[:, 0] * actions[copy])
    assert env.step(np.zeros(copies, dtype=np.int64))[3].all()


def test_a_partial_reset_keeps_the_other_applicants() -> None:
    """Also whether they were qualified, which their present belief no longer tells."""
    env = LoanMDPVectorEnv(200, FICO, AutoresetMode.DISABLED)
    _, info = env.reset(seed=10)
    qualified = info["qualified"]
    for _ in range(15):
        observation, _, _, _, info = env.step(np.zeros(200, dtype=np.int64))
    mask = np.arange(200) < 100
    after, new = env.reset(options={"reset_mask": mask})
    np.testing.assert_array_equal(after[~mask], observation[~mask])
    np.testing.assert_array_equal(new["counts"][~mask], info["counts"][~mask])
    np.testing.assert_array_equal(new["qualified"][~mask], qualified[~mask])
    assert not new["counts"][mask, 2].any()


def test_a_loan_is_repaid_as_often_as_the_belief_says() -> None:
    copies = 20_000
    env = LoanMDPVectorEnv(copies, FICO)
    observation, info = env.reset(seed=6)
    mean = observation[:, 0] / observation[:, :2].sum(axis=1)
    before = info["counts"][:, 0]
    repaid = env.step(np.ones(copies, dtype=np.int64))[4]["counts"][:, 0] - before
    error = np.sqrt((mean * (1 - mean)).sum())
    assert abs((repaid - mean).sum()) <= 4 * error


def test_bounded_counts_drift_at_random_and_stop_at_the_bound() -> None:
    copies = 20_000
    env = LoanMDPVectorEnv(copies, DISCRETISED)
    _, info = env.reset(seed=7)
    before = info["counts"][:, 1]
    _, reward, _, _, info = env.step(np.zeros(copies, dtype=np.int64))
    rises = info["counts"][:, 1] - before
    assert not reward.any(), "no offset"
    assert rises.mean() == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / copies))
    env = LoanMDPVectorEnv(200, replace(DISCRETISED, largest_count=12))
    env.reset(seed=8)
    for _ in range(40):
        observation, _, _, _, info = env.step(np.ones(200, dtype=np.int64))
        assert observation in env.observation_space
    assert info["counts"][:, :2].max() == 12
    assert (info["counts"][:, 0] == 12).mean() > 0.5


def test_any_number_of_groups() -> None:
    params = LoanMDPParams(
        prior=((1.0, 1.0), (2.0, 1.0), (3.0, 0.5)),
        group_probability=(0.2, 0.3, 0.5),
        exploration=(0, 0, 0),
    )
    env = LoanMDPVectorEnv(30, params)
    observation, info = env.reset(seed=9)
    assert set(observation[:, 2]) == {0.0, 1.0, 2.0}
    assert info["group_state"].shape == (30, 3, 2)
    assert not info["counts"].any()
    assert tabular(params=params, episode_length=3).initial_distribution.max() == 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prior": ((1.0, 0.0), (1.0, 1.0))}, r"prior\[0\]\[1\]=0.0: give a finite number above 0"),
        (
            {"group_probability": (1.0,)},
            "group_probability has 1 entries: give 2, as many as prior",
        ),
        ({"exploration": (7,)}, "exploration has 1 entries: give 2"),
        ({"exploration": (7, -1)}, r"exploration\[1\]=-1"),
        ({"interest": -0.1}, "interest=-0.1"),
        ({"risk_measure": "as_code"}, "did you mean 'as_coded'"),
        ({"denial_drift": 1.1}, "denial_drift=1.1"),
        ({"discount": 1.5}, "discount=1.5"),
        ({"largest_count": 9}, "largest_count=9: give an integer of at least 10"),
    ],
)
def test_impossible_parameters_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(FICO, **change)
