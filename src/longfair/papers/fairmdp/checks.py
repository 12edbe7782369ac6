"""Exact statements of the fair MDP paper, checked by computing them.

Nothing here is trained. The package gives the names that the claims use.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from longfair.agents.fair_mdp.examples import (
    cannot_be_fair,
    deterministic_policies,
    needs_randomness,
)
from longfair.agents.fair_mdp.model import (
    SeparableMDP,
    demographic_parity,
    equal_opportunity,
)
from longfair.agents.finite import column_generation, lagrangian, linear_program
from longfair.agents.finite.problem import FiniteProblem
from longfair.agents.finite.solution import NoFairPolicyError
from longfair.papers.fairmdp.exact import (
    best_in_episode,
    discounted_steps,
    episode,
    finite_problem,
    program,
)
from longfair.papers.fairmdp.loans import measures
from longfair.papers.fairmdp.notions import Rates
from longfair.runs.claims import CheckResult
from longfair.wording import power_of_ten

ROUNDING = 1e-8
"""How far two exact solvers may differ."""

PRINTED = 0.005
"""What rounding to two decimals hides."""

NEAR = 1e-5
"""How far from the best reward a policy may be that is called as good."""

RANDOM_PROBLEMS = 25
"""With each of two notions of fairness."""

QUALIFIED = [[False, True, True], [False, True, True]]
"""Of three states of a group, in which people start qualified; shuffled for every problem."""

LOANS = ("dp", "eo")
"""Notions of fairness of the loan problem."""


def randomness() -> CheckResult:
    """Theorem 2.5: fairness can need randomness, and can be out of reach.

    Returns
    -------
    CheckResult
        Computed: smallest_deterministic_gap and smallest_gap of the first problem,
        smallest_gap_of_second of the second.
    """
    first, second = (demographic_parity(mdp) for mdp in (needs_randomness(), cannot_be_fair()))
    gaps = [value.gap for _, value in deterministic_policies(first)]
    computed = {
        "smallest_deterministic_gap": min(gaps),
        "smallest_gap": linear_program.solve(first, 0.0).value.gap,
        "smallest_gap_of_second": linear_program.smallest_tolerance(second),
    }
    passed = (
        abs(computed["smallest_deterministic_gap"] - 0.5) <= ROUNDING
        and computed["smallest_gap"] <= ROUNDING
        and abs(computed["smallest_gap_of_second"] - 1.0) <= ROUNDING
        and _says_infeasible(second, 0.99)
    )
    detail = (
        f"All {len(gaps)} deterministic policies of the first problem have a gap of at least "
        "{smallest_deterministic_gap:g}, a stochastic one has {smallest_gap:g}; in the second "
        "problem the smallest gap of any policy is {smallest_gap_of_second:g}."
    )
    return CheckResult(passed, computed, detail.format(**computed), instances=2)


def linear_program_is_exact() -> CheckResult:
    """Theorem 3.1: the program's policy is fair and best, or there is no fair policy.

    The policy's value is computed forward. The best value comes from two other solvers: duality,
    and generation of policies. Random problems are used, with demographic parity and with equal
    opportunity, at tolerances around the smallest that can be kept, and the loan problem with both.

    Returns
    -------
    CheckResult
        Computed: problems, infeasible, largest_difference (of rewards), largest_excess (of a gap
        over its tolerance), loan_reward (of the loan problem with parity at 0.1, as a sum).
    """
    generator = np.random.default_rng(31)
    cases = [demographic_parity(random_problem(generator)) for _ in range(RANDOM_PROBLEMS)]
    cases += [
        equal_opportunity(random_problem(generator), generator.permuted(QUALIFIED, axis=1).ravel())
        for _ in range(RANDOM_PROBLEMS)
    ]
    differences, excesses, infeasible, reported = [], [], 0, 0
    for problem in cases:
        least = linear_program.smallest_tolerance(problem)
        for tolerance in (0.5 * least, least + 0.01, least + 0.1):
            if tolerance < least - ROUNDING:
                infeasible += 1
                reported += _says_infeasible(problem, tolerance)
                continue
            found = _compared(problem, tolerance)
            differences.append(found[0])
            excesses.append(found[1])
    for notion in LOANS:
        for tolerance in (0.1, 0.01, 0.0):
            difference, excess = _compared(finite_problem(notion), tolerance)
            differences.append(difference)
            excesses.append(excess)
    computed = {
        "problems": float(len(cases) + len(LOANS)),
        "infeasible": float(infeasible),
        "largest_difference": max(differences),
        "largest_excess": max(excesses),
        "loan_reward": discounted_steps() * program("dp", 0.1).value.reward,
    }
    passed = reported == infeasible and max(differences) <= ROUNDING and max(excesses) <= ROUNDING
    most = max(ROUNDING, *differences, *excesses)
    detail = (
        f"On {len(cases) + len(LOANS)} problems, half of them with equal opportunity, the rewards "
        f"of three solvers differ, and gaps exceed their tolerance, by at most "
        f"{power_of_ten(most, 1)}; of "
        f"{infeasible} tolerances that cannot be kept {reported} are reported."
    )
    return CheckResult(passed, computed, detail, instances=len(cases) + len(LOANS))


def price_as_coded() -> CheckResult:
    """Figures 1a and 1c for the best policies, with undiscounted gaps; see `_price`."""
    return _price("as_coded")


def price_as_published() -> CheckResult:
    """Figures 1a and 1c for the best policies, with discounted gaps; see `_price`."""
    return _price("discounted")


def appendix_g_gap() -> CheckResult:
    """Appendix G: the gap without constraint is 0.26, and a tolerance of 0.01 can be kept.

    Returns
    -------
    CheckResult
        Computed: gap_without_constraint, gap, reward_without_constraint, reward.
    """
    computed = _appendix_g()
    passed = (
        abs(computed["gap_without_constraint"] - 0.26) <= PRINTED
        and computed["gap"] <= 0.01 + ROUNDING
        and computed["reward"] < computed["reward_without_constraint"]
    )
    detail = (
        "The gap is {gap_without_constraint:.4f} without constraint and {gap:.4f} with a tolerance "
        "of 0.01; the reward falls from {reward_without_constraint:.4f} to {reward:.4f}."
    )
    return CheckResult(passed, computed, detail.format(**computed))


def appendix_g_level() -> CheckResult:
    """Appendix G: the rewards are 0.69 and 0.68.

    Returns
    -------
    CheckResult
        Computed: as in `appendix_g_gap`, and cost (part of the reward that fairness takes).
    """
    computed = _appendix_g()
    computed["cost"] = 1.0 - computed["reward"] / computed["reward_without_constraint"]
    passed = (
        abs(computed["reward_without_constraint"] - 0.69) <= PRINTED
        and abs(computed["reward"] - 0.68) <= PRINTED
    )
    detail = (
        "The reward is {reward_without_constraint:.4f} without constraint and {reward:.4f} with a "
        "tolerance of 0.01: fairness costs {cost:.1%} of the profit, where the printed rewards "
        f"differ by {1 - 0.68 / 0.69:.1%}."
    )
    return CheckResult(passed, computed, detail.format(**computed), otherwise="not reproduced")


def without_the_step() -> CheckResult:
    """Whether a policy that sees what the networks see comes near the best one, gaps as coded.

    The networks see the belief and the group. Situations of the best policy within 0.1 that look
    alike to them are merged, and each takes the action that it has in most visits.

    Returns
    -------
    CheckResult
        Computed: reward, gap, short (of the best reward), sights (what can be seen), situations.
    """
    written, best = episode(), best_in_episode("dp", "as_coded", 0.1)
    group, repaid, lost, denied = written.states.T
    # A denial adds a tenth of a default.
    seen = np.stack([group, repaid, 10 * lost + denied], axis=1)
    sights, which = np.unique(seen, axis=0, return_inverse=True)
    visits = np.zeros((len(sights), 2))
    np.add.at(visits, which.ravel(), best.occupancy.reshape(-1, 2))
    lending = (visits[:, 1] > visits[:, 0]).astype(np.float64)[which.ravel()]
    worth = measures(written, lending)
    computed = {
        "reward": float(worth["reward"]),
        "gap": float(worth["gap_dp"]),
        "short": best.value.reward - float(worth["reward"]),
        "sights": float(len(sights)),
        "situations": float(len(seen)),
    }
    passed = computed["gap"] <= 0.1 + ROUNDING and computed["short"] <= NEAR
    detail = (
        "Who sees the belief and the group tells {sights:,.0f} of {situations:,.0f} situations "
        "apart. A deterministic policy of these has a reward of {reward:.5f} with a gap of "
        "{gap:.4f}, {short:.6f} less than the best policy within 0.1."
    )
    return CheckResult(passed, computed, detail.format(**computed))


def random_problem(
    generator: np.random.Generator, states: int = 6, actions: int = 3
) -> SeparableMDP:
    """Draw a small problem whose second half of states is better off, so that gaps are common.

    Parameters
    ----------
    generator
        Source of the numbers.
    states
        Number of states, even: one half for each group.
    actions
        Number of actions.
    """
    half = states // 2
    group = np.repeat([0, 1], half)
    within = group[:, None] == group
    transition = generator.dirichlet(np.ones(half), size=(states, actions))
    rows = np.zeros((states, actions, states))
    rows[np.broadcast_to(within[:, None, :], rows.shape)] = transition.ravel()
    return SeparableMDP(
        transition=csr_array(rows.reshape(-1, states)),
        reward=generator.normal(size=(states, actions)),
        individual_reward=generator.random((states, actions)) + 0.7 * group[:, None],
        group=group,
        initial_distribution=generator.dirichlet(np.ones(states)),
        discount=0.8,
    )


def _price(rates: Rates) -> CheckResult:
    """Compare what fairness within 0.1 costs the best policies under both notions.

    Returns
    -------
    CheckResult
        Computed: cost_of_parity, cost_of_opportunity, difference.
    """
    free = best_in_episode("dp", rates, None).value.reward
    parity, opportunity = (
        free - best_in_episode(notion, rates, 0.1).value.reward for notion in ("dp", "eo")
    )
    computed = {
        "cost_of_parity": parity,
        "cost_of_opportunity": opportunity,
        "difference": parity - opportunity,
    }
    low, high = 0.03 - 2 * PRINTED, 0.03 + 2 * PRINTED
    detail = (
        "Within a tolerance of 0.1 the best policies lose {cost_of_parity:.5f} to demographic "
        "parity and {cost_of_opportunity:.5f} to equal opportunity."
    )
    passed = low <= computed["difference"] <= high
    return CheckResult(passed, computed, detail.format(**computed))


def _appendix_g() -> dict[str, float]:
    free, fair = program("dp", None), program("dp", 0.01)
    return {
        "gap_without_constraint": free.value.gap,
        "gap": fair.value.gap,
        "reward_without_constraint": discounted_steps() * free.value.reward,
        "reward": discounted_steps() * fair.value.reward,
    }


def _compared(problem: FiniteProblem, tolerance: float) -> tuple[float, float]:
    """Return how far three solvers differ in reward, and the excess of the gap."""
    found = [
        solver.solve(problem, tolerance).value
        for solver in (linear_program, lagrangian, column_generation)
    ]
    return float(np.ptp([value.reward for value in found])), found[0].gap - tolerance


def _says_infeasible(problem: FiniteProblem, tolerance: float) -> bool:
    try:
        linear_program.solve(problem, tolerance)
    except NoFairPolicyError:
        return True
    return False
