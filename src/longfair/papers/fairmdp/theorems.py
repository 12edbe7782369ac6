"""Theorems 4.2 and 5.1, Appendix A and what Section 6 says of two baselines, by computing them.

The printed constants of both theorems are lost. Those used here are derived anew; see
`longfair.agents.fair_mdp.cross_entropy` and `longfair.agents.fair_mdp.explore_then_commit`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from longfair.agents.fair_mdp.batch_decisions import batch_problem
from longfair.agents.fair_mdp.cross_entropy import required_rollouts
from longfair.agents.fair_mdp.explore_then_commit import value_error
from longfair.agents.fair_mdp.model import SeparableMDP, demographic_parity
from longfair.agents.finite import lagrangian, linear_program
from longfair.agents.finite.problem import FiniteProblem, evaluate
from longfair.arrays import FloatArray
from longfair.envs.loan_mdp import LoanMDPParams
from longfair.envs.loan_mdp.exact import roll_out
from longfair.papers.fairmdp import exact
from longfair.papers.fairmdp.checks import ROUNDING, random_problem
from longfair.papers.fairmdp.loans import LoanEpisode, loan_episode, loan_problem, measures
from longfair.papers.fairmdp.searching import Sampling
from longfair.runs.claims import CheckResult
from longfair.wording import power_of_ten

TOLERANCE = 0.1


def tightened_check(repeats: int = 20) -> CheckResult:
    """Theorem 4.2: a policy that passes the tightened check is fair, but for a small probability.

    Lenders with one chance of a loan for each group have the difference of the two as their gap.
    Some are unfair by little, half as unfair as they may be the others. Each is checked with as
    many episodes, as long, as the theorem asks for.

    Parameters
    ----------
    repeats
        Checks of every policy.

    Returns
    -------
    CheckResult
        Computed: unfair_pass and fair_pass, shares of the checks that unfair and fair policies
        pass; episodes per group.
    """
    sampling = Sampling()
    rollouts, steps = sampling.size(TOLERANCE)
    low = np.repeat(np.linspace(0.0, 0.85, 8), 5)
    gaps = np.tile(TOLERANCE * np.array([1.001, 1.01, 1.1, 1.4, 0.5]), 8)
    fair = gaps <= TOLERANCE
    problem = loan_problem(steps)
    chances = [
        np.repeat(chance[:, None], len(group.beliefs), axis=1)
        for chance, group in zip((low, low + gaps), problem.applicants, strict=True)
    ]
    generator = np.random.default_rng(42)
    limit = (1.0 - sampling.tightening) * TOLERANCE
    passes = np.mean(
        [
            roll_out(problem, chances, rollouts, generator).gap(discounted=True) <= limit
            for _ in range(repeats)
        ],
        axis=0,
    )
    computed = {
        "unfair_pass": float(passes[~fair].mean()),
        "fair_pass": float(passes[fair].mean()),
        "episodes": float(required_rollouts(TOLERANCE, sampling.tightening, sampling.risk)),
    }
    detail = (
        f"Of {repeats} checks each, {(~fair).sum()} unfair policies pass {{unfair_pass:.1%}}, "
        f"where at most {sampling.risk:.0%} are allowed, and {fair.sum()} fair ones "
        "{fair_pass:.0%}, with {episodes:,.0f} episodes per group."
    )
    passed = bool(passes[~fair].max() <= sampling.risk) and computed["fair_pass"] > 0.5
    return CheckResult(passed, computed, detail.format(**computed), instances=len(gaps))


def stricter_set(problems: int = 25) -> CheckResult:
    """Theorem 5.1: a coin is always fair, and a policy planned in a stricter set is fair.

    Random problems are estimated with an error of at most h in every transition probability, so
    that values are off by at most tau. The best policy of the estimated problem within the
    tolerance less 2 tau keeps the tolerance in the true one, and loses at most 2 tau against the
    best within the tolerance less 4 tau.

    Parameters
    ----------
    problems
        Number of random problems.

    Returns
    -------
    CheckResult
        Computed: coin_gap, excess (largest gap less the tolerance), loss (largest share of 2 tau),
        careless (problems in which planning with the full tolerance breaks it).
    """
    generator = np.random.default_rng(51)
    steps, tolerance, error = 3, 0.05, 0.0002
    coins, excesses, losses, careless = [], [], [], 0
    for _ in range(problems):
        true = _of_actions(random_problem(generator, states=4), generator)
        other = random_problem(generator, states=4).transition
        estimated = replace(
            true, transition=csr_array((1.0 - error) * true.transition + error * other)
        )
        largest = float(max(1.0, np.abs(true.reward).max()))
        tau = value_error(len(true.group), steps, largest, error)
        real, planned = (_episodes(problem, steps) for problem in (true, estimated))
        coins.append(evaluate(real, np.full(real.reward.shape, 1.0 / real.actions)).gap)
        policy = lagrangian.solve(planned, tolerance - 2.0 * tau).policy
        found = evaluate(real, policy)
        full = lagrangian.solve(planned, tolerance).policy
        careless += evaluate(real, full).gap > tolerance + ROUNDING
        best = lagrangian.solve(real, tolerance - 4.0 * tau).value
        excesses.append(found.gap - tolerance)
        losses.append((best.reward - found.reward) / (2.0 * tau))
    computed = {
        "coin_gap": max(coins),
        "excess": max(excesses),
        "loss": max(losses),
        "careless": float(careless),
    }
    passed = computed["coin_gap"] <= ROUNDING and computed["excess"] <= 0 and computed["loss"] <= 1
    detail = (
        f"On {problems} problems the coin's gap is at most "
        f"{power_of_ten(max(ROUNDING, *coins), 1)}, the gap of "
        "the planned policy stays {room:.4f} and more below the tolerance, and its loss is at most "
        "{loss:.0%} of the bound. Planning with the full tolerance breaks it in {careless:.0f}."
    )
    written = detail.format(room=-computed["excess"], **computed)
    return CheckResult(passed, computed, written, instances=problems)


def batches(problems: int = 10) -> CheckResult:
    """Appendix A: the linear program finds the best fair policy for people decided on together.

    Two people whose decisions do not compete are worth as much as one: the mean over places of the
    best single policy. If only one of them may be given something, no more than that.

    Parameters
    ----------
    problems
        Number of random problems.

    Returns
    -------
    CheckResult
        Computed: difference (largest, from one person), excess (of a gap over the tolerance),
        advantage (largest, of competing people over one person).
    """
    generator = np.random.default_rng(7)
    differences, excesses, advantages = [], [], []
    for _ in range(problems):
        mdp = random_problem(generator, states=4, actions=2)
        single = demographic_parity(mdp)
        joint, competing = (
            batch_problem(mdp, 2, allowed) for allowed in (None, [True, True, True, False])
        )
        least = max(linear_program.smallest_tolerance(problem) for problem in (single, competing))
        one, two, scarce = (
            linear_program.solve(problem, least + 0.05).value
            for problem in (single, joint, competing)
        )
        differences.append(abs(two.reward - one.reward))
        excesses.append(max(two.gap, scarce.gap) - least - 0.05)
        advantages.append(scarce.reward - one.reward)
    computed = {
        "difference": max(differences),
        "excess": max(excesses),
        "advantage": max(advantages),
    }
    passed = max(computed.values()) <= ROUNDING
    detail = (
        f"On {problems} problems two people are worth what one is within "
        f"{power_of_ten(max(ROUNDING, computed['difference']), 1)}, and "
        "competing ones no more; every policy "
        "keeps the tolerance."
    )
    return CheckResult(passed, computed, detail, instances=problems)


def race_blind() -> CheckResult:
    """Section 6: the best policy without constraint needs the belief and not the group.

    The groups exchange their names, with their beliefs and histories. Whoever then has the same
    belief at the same step is worth the same loan.

    Returns
    -------
    CheckResult
        Computed: situations, different (of them, with another action).
    """
    params = LoanMDPParams.fico()
    exchanged = replace(params, prior=params.prior[::-1], exploration=params.exploration[::-1])
    first, second = (_best_actions(loan_episode(chosen)) for chosen in (params, exchanged))
    different = sum(second[1 - key[0], *key[1:]] != action for key, action in first.items())
    computed = {"situations": float(len(first)), "different": float(different)}
    detail = (
        "In {situations:,.0f} situations of both groups, {different:.0f} decisions change when the "
        "groups exchange their names."
    )
    passed = different == 0 and len(first) == len(second)
    return CheckResult(passed, computed, detail.format(**computed))


def conservative(policies: int = 200) -> CheckResult:
    """Equation 8 without a tolerance: only policies that treat all states alike satisfy it.

    The worst two distributions are those on the state that is lent to most and on the one that is
    lent to least. A state includes the group here, and any two distributions are compared.

    Parameters
    ----------
    policies
        Number of random policies of each kind.

    Returns
    -------
    CheckResult
        Computed: alike (largest gap of policies that treat states alike), other (smallest worst
        gap of the others).
    """
    laws, chances = _laws_and_chances(policies)
    points = np.eye(chances.shape[1])
    alike = np.repeat(chances[:, :1], chances.shape[1], axis=1)
    computed = {
        "alike": _largest_gap(laws, alike),
        "other": min(float(np.ptp(points @ chance)) for chance in chances),
    }
    passed = computed["alike"] <= ROUNDING and computed["other"] > ROUNDING
    detail = (
        f"Over {policies} policies and 500 pairs of distributions each, the gap is at most "
        f"{power_of_ten(max(ROUNDING, computed['alike']), 1)} where "
        "states are treated alike; every other "
        "policy has a gap somewhere."
    )
    return CheckResult(passed, computed, detail, instances=policies)


def conservative_within_tolerance(policies: int = 200) -> CheckResult:
    """Equation 8 within 0.1: whether only policies that treat all states alike satisfy it.

    Chances within a band as wide as the tolerance satisfy it, for the worst two distributions are
    those on two states. What such a band can earn is told beside.

    Parameters
    ----------
    policies
        Number of random policies within a band.

    Returns
    -------
    CheckResult
        Computed: band (largest worst gap within a band of 0.1), apart (smallest difference between
        two states' chances there), profit (of the best band that begins at no loans), profit_alike
        (of the best constant chance on a grid).
    """
    _, chances = _laws_and_chances(policies)
    worst = np.ptp(0.5 + TOLERANCE * (chances - 0.5), axis=1)
    profit, *alike = (
        float(measures(exact.episode(), lending)["profit"])
        for lending in (
            exact.within_band(0.0, TOLERANCE),
            *(exact.constant(chance) for chance in np.linspace(0.0, 1.0, 21)),
        )
    )
    computed = {
        "band": float(worst.max()),
        "apart": float(worst.min()),
        "profit": profit,
        "profit_alike": max(alike),
    }
    satisfied = computed["band"] <= TOLERANCE + ROUNDING
    passed = not (satisfied and computed["apart"] > ROUNDING)
    detail = (
        f"Of {policies} random policies within a band of {TOLERANCE} none treats all states alike, "
        "and the gap under the worst two distributions is at most {band:.3f}. On the loan problem "
        "the best policy with chances of a loan between 0 and 0.1 earns a profit of {profit:.4f}, "
        "and the best of 21 constant chances {profit_alike:.4f}."
    )
    return CheckResult(passed, computed, detail.format(**computed))


def _of_actions(mdp: SeparableMDP, generator: np.random.Generator) -> SeparableMDP:
    """Make the individual reward that of the action alone, as Section 5 assumes."""
    worth = generator.random(mdp.reward.shape[1])
    return replace(mdp, individual_reward=np.tile(worth, (len(mdp.group), 1)))


def _episodes(mdp: SeparableMDP, steps: int) -> FiniteProblem:
    """Return the problem of episodes without discount, values being sums over the steps."""
    values = demographic_parity(mdp).group_values
    problem = FiniteProblem.of(mdp.transition, mdp.reward, mdp.initial_distribution, values)
    return problem.unrolled(steps)


def _best_actions(episode: LoanEpisode) -> dict[tuple[int, ...], bool]:
    """Return the best decision without constraint by group, repayments, defaults and denials."""
    policy = lagrangian.solve(episode.problem(), None).policy
    lends = policy[:, 1] > 0.5
    return {
        tuple(map(int, state)): bool(lend)
        for state, lend in zip(episode.states, lends, strict=True)
    }


def _laws_and_chances(policies: int, states: int = 6) -> tuple[FloatArray, FloatArray]:
    """Draw 500 pairs of distributions for every policy, and its chances of a loan."""
    generator = np.random.default_rng(8)
    laws = generator.dirichlet(np.full(states, 0.1), size=(policies, 2, 500))
    return laws, generator.random((policies, states))


def _largest_gap(laws: FloatArray, chances: FloatArray) -> float:
    """Return the largest gap of policies (P, S) under pairs of distributions (P, 2, N, S)."""
    rates = np.einsum("pgns,ps->pgn", laws, chances)
    return float(np.abs(rates[:, 0] - rates[:, 1]).max())
