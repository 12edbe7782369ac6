"""The written-out loan problem: known values, chance against exactness, and refusals."""

from __future__ import annotations

from dataclasses import replace

import gymnasium
import numpy as np
import pytest

import longfair  # noqa: F401  registers the environments
from longfair.agents.evaluation import play_episodes
from longfair.agents.fair_mdp.cross_entropy import required_rollouts, required_steps
from longfair.agents.fair_mdp.policy_network import PolicyNetwork
from longfair.envs.loan_mdp import LoanMDPParams, LoanMDPVectorEnv, LoanModel
from longfair.envs.loan_mdp.exact import EVERYBODY, QUALIFIED, LoanProblem, evaluate, roll_out
from longfair.errors import UsageError
from longfair.papers.fairmdp.loans import loan_episode, measures

FICO = LoanProblem.of(LoanModel(LoanMDPParams.fico()))
SHORT = LoanProblem.of(LoanModel(replace(LoanMDPParams.fico(), episode_length=6)))


def constant(problem: LoanProblem, *chances: float) -> list[np.ndarray]:
    return [np.repeat([[c] for c in chances], len(g.beliefs), 1) for g in problem.applicants]


def test_situations_and_beliefs_are_as_many_as_counted_by_hand() -> None:
    assert [len(group.step) for group in FICO.applicants] == [32_708, 36_686]
    # A tenth of a default per denial: beliefs are told apart by 10 defaults + denials.
    for group in FICO.applicants:
        repaid, defaults, denials = group.counts.T
        distinct = {*zip(repaid.tolist(), (10 * defaults + denials).tolist(), strict=True)}
        assert len(group.beliefs) == len(distinct)
    assert [len(group.beliefs) for group in FICO.applicants] == [14_340, 15_735]


def test_every_situation_has_the_belief_of_its_counts() -> None:
    for problem in (FICO, SHORT):
        for group, prior in zip(problem.applicants, LoanMDPParams.fico().prior, strict=True):
            alpha, beta = group.beliefs[group.belief].T
            assert alpha == pytest.approx(prior[0] + group.counts[:, 0])
            assert beta == pytest.approx(prior[1] + group.counts @ [0.0, 1.0, 0.1])
    # In few steps nobody can have ten denials: then beliefs are situations, in the same order.
    for group in SHORT.applicants:
        assert group.belief.tolist() == list(range(len(group.step)))


def test_first_law_is_beta_binomial_and_qualifies_from_082() -> None:
    minority, majority = FICO.applicants
    assert minority.initial == pytest.approx(
        [0.0289, 0.0454, 0.0607, 0.0776, 0.0985, 0.1284, 0.1825, 0.3780], abs=5e-5
    )
    assert majority.initial[-3:] == pytest.approx([0.0660, 0.1173, 0.6490], abs=5e-5)
    assert np.flatnonzero(minority.qualified).tolist() == [6, 7]
    assert np.flatnonzero(majority.qualified).tolist() == [9, 10]
    assert minority.initial[6:].sum() == pytest.approx(0.5605, abs=5e-5)
    assert minority.qualified.sum() == pytest.approx(1.0)


def test_constant_policies_have_the_known_rewards_and_no_gap() -> None:
    chances = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0]
    outcome = evaluate(FICO, constant(FICO, *chances))
    assert outcome.reward == pytest.approx(
        [9.9999, 9.9789, 9.9547, 9.9317, 9.9280, 9.9415], abs=5e-5
    )
    assert FICO.offset_total == pytest.approx(9.999886, abs=5e-7)
    assert outcome.profit == pytest.approx(outcome.reward - FICO.offset_total)
    for who in (EVERYBODY, QUALIFIED):
        # As coded, 51 decisions are divided by 50.
        assert outcome.rates(who)[:, 0] == pytest.approx(np.array(chances) * 51 / 50)
        assert outcome.rates(who, discounted=True)[:, 1] == pytest.approx(chances)
        for gap in (outcome.gap(who), outcome.gap(who, discounted=True), outcome.first_gap(who)):
            assert gap == pytest.approx(0.0, abs=1e-12)


def test_agrees_with_the_general_solver_on_a_policy_that_knows_the_step() -> None:
    params = replace(LoanMDPParams.fico(), episode_length=6)
    episode = loan_episode(params)
    lending = np.random.default_rng(0).random(len(episode.states))
    wanted = measures(episode, lending)
    outcome = evaluate(SHORT, [lending[episode.states[:, 0] == group][None] for group in (0, 1)])
    found = {
        "reward": outcome.reward,
        "profit": outcome.profit,
        "gap_dp": outcome.gap(),
        "gap_eo": outcome.gap(QUALIFIED),
        "gap_dp_discounted": outcome.gap(discounted=True),
        "gap_eo_discounted": outcome.gap(QUALIFIED, discounted=True),
    }
    assert {name: float(value[0]) for name, value in found.items()} == pytest.approx(wanted)


def test_agrees_with_episodes_of_the_environment() -> None:
    network = PolicyNetwork()
    parameters = np.random.default_rng(3).normal(size=(1, network.size))
    outcome = evaluate(FICO, network.chances(FICO, parameters))
    generator = np.random.default_rng(4)
    tables = [_chance_by_belief(group, network, parameters) for group in (0, 1)]

    def act(observation: np.ndarray, info: dict[str, np.ndarray]) -> np.ndarray:
        rows = np.rint(observation * [10, 10, 1]).astype(int).tolist()
        chance = [tables[group][alpha, beta] for alpha, beta, group in rows]
        return (generator.random(len(chance)) < chance).astype(np.int64)

    # Without discount and with everything counted from the first step on.
    episodes = 4000
    env = gymnasium.make_vec("longfair/LoanMDP-v0", num_envs=episodes)
    totals = play_episodes(act, env, seed=5)
    lent = totals.supply.sum(axis=0) / (totals.demand > 0).sum(axis=0) / 50
    assert lent == pytest.approx(outcome.rates()[0], abs=5 * 0.5 / np.sqrt(episodes * 0.29))
    undiscounted = replace(FICO, discount=1.0)
    expected = evaluate(undiscounted, network.chances(FICO, parameters)).reward[0]
    error = totals.reward.std() / np.sqrt(episodes)
    assert totals.reward.mean() == pytest.approx(expected, abs=4 * error)


def _chance_by_belief(
    group: int, network: PolicyNetwork, parameters: np.ndarray
) -> dict[tuple[int, int], float]:
    """Look beliefs up in tenths: they move by tenths, from a beginning that is the same."""
    tenths = np.rint(FICO.applicants[group].beliefs * 10).astype(int).tolist()
    chance = network.chances(FICO, parameters)[group][0].tolist()
    return {(alpha, beta): value for (alpha, beta), value in zip(tenths, chance, strict=True)}


def test_rollouts_estimate_the_outcome_without_bias() -> None:
    chances = [np.random.default_rng(1).random((1, len(g.beliefs))) for g in SHORT.applicants]
    exact = evaluate(SHORT, chances)
    generator = np.random.default_rng(2)
    rollouts, repeats = 500, 200
    many = [np.repeat(chance, repeats, axis=0) for chance in chances]
    for who in (EVERYBODY, QUALIFIED):
        found = roll_out(SHORT, many, rollouts, generator, who).sums[:, :, who]
        error = found.std(axis=0) / np.sqrt(repeats)
        assert np.all(np.abs(found.mean(axis=0) - exact.sums[0, :, who]) < 4 * error)
        # A chance of a loan in the first step has the variance of a binomial share.
        first = exact.sums[0, :, who, 3]
        wanted = np.sqrt(first * (1 - first) / rollouts)
        assert found[:, :, 3].std(axis=0) == pytest.approx(wanted, rel=0.2)


def test_rollouts_of_a_policy_spread_as_single_episodes_do() -> None:
    """The number of loans in one rollout has the distribution of a played episode."""
    chances = constant(SHORT, *[0.5] * 4000)
    sums = roll_out(SHORT, chances, 1, np.random.default_rng(6)).sums
    loans = sums[:, :, EVERYBODY, 1]
    assert loans.mean(axis=0) == pytest.approx([3.0, 3.0], abs=0.1)
    assert loans.var(axis=0) == pytest.approx([1.5, 1.5], abs=0.15)


def test_cutting_off_leaves_out_what_comes_later() -> None:
    cut = LoanProblem.of(LoanModel(LoanMDPParams.fico()), 23)
    whole = evaluate(FICO, constant(FICO, 1.0))
    part = evaluate(cut, constant(cut, 1.0))
    missing = 1.0 - part.rates(discounted=True)[0]
    assert missing == pytest.approx((0.8**23 - 0.8**51) / (1 - 0.8**51))
    assert part.rates()[0] == pytest.approx([23 / 50, 23 / 50])
    assert abs(whole.profit - part.profit) < 0.2 * 0.8**23 / 0.2


def test_sizes_of_the_theorem() -> None:
    assert required_rollouts(0.1, 0.1, 0.05) == 1_402_249
    assert required_steps(0.1, 0.1, 0.8) == 27
    # Hoeffding with a range of 2 for each of two groups; an error and a rest of a quarter each.
    rollouts, steps = required_rollouts(0.1, 0.25, 0.05), required_steps(0.1, 0.25, 0.8)
    quarter = 0.25 * 0.1 / 4
    assert 4 * np.exp(-2 * rollouts * quarter**2 / 2**2) == pytest.approx(0.05, rel=1e-3)
    assert 0.8**steps <= quarter < 0.8 ** (steps - 1)


@pytest.mark.parametrize(
    ("chances", "message"),
    [
        ([np.zeros((1, 3))] * 2, "chances have shape"),
        ([np.full((1, len(g.beliefs)), 1.5) for g in SHORT.applicants], "give probabilities"),
        ([np.full((1, len(g.beliefs)), np.nan) for g in SHORT.applicants], "give probabilities"),
    ],
)
def test_refuses_what_is_no_policy(chances: list[np.ndarray], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate(SHORT, chances)


def test_refuses_problems_it_cannot_write_out() -> None:
    with pytest.raises(UsageError, match="bounded counts"):
        LoanProblem.of(LoanModel(LoanMDPParams.discretised()))
    with pytest.raises(UsageError, match="steps=52: give 1 to 51"):
        LoanProblem.of(LoanModel(LoanMDPParams.fico()), 52)
    with pytest.raises(UsageError, match="nobody who starts qualified"):
        LoanProblem.of(LoanModel(replace(LoanMDPParams.fico(), qualified_mean=0.99)))
    for numbers in ((0.0, 0.1, 0.1), (0.1, 2.0, 0.1)):
        with pytest.raises(UsageError, match=r"give a finite number in \(0, 1\]"):
            required_rollouts(*numbers)
    with pytest.raises(UsageError, match="discount=1"):
        required_steps(0.1, 0.1, 1.0)


def test_the_environment_hands_its_situations_out() -> None:
    params = replace(LoanMDPParams.fico(), episode_length=6)
    handed = LoanMDPVectorEnv(1, params).exact()
    halves = [np.full((1, len(group.beliefs)), 0.5) for group in handed.applicants]
    np.testing.assert_array_equal(handed.evaluate(halves).sums, evaluate(SHORT, halves).sums)
