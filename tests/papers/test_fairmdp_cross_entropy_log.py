"""Our loan problem and our search give the numbers of the authors' own, for the same draws.

The logs are `authors_logs/loan_mdp.npz` and `authors_logs/loan_search.npz`, explained in
`authors_logs/README.md`. The logged draws are fed to our environment and to our search, which work
out everything else again.

The networks compute in single precision, and processors add the terms of a sum in different orders.
So their two outputs agree to a few roundings of those sums, and rewards and gaps, which are of the
size of 1 to 10, to 1e-5. Rewards of policies that hardly ever lend agree to 1e-10: there both
outputs are rounded and can sum to more than one, so that the recursion tells apart who earns the
same, mostly by rounding. The elites are the same five in the same order in all logged iterations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from longfair.agents.fair_mdp.cross_entropy import (
    Gaussians,
    Generation,
    Scores,
    elite_weights,
    search,
)
from longfair.agents.fair_mdp.floored_gaussians import FlooredGaussians
from longfair.agents.fair_mdp.policy_network import PolicyNetwork
from longfair.agents.fair_mdp.softmax_network import SoftmaxNetwork
from longfair.envs.loan_mdp import LoanMDPParams, LoanModel
from longfair.envs.loan_mdp.exact import evaluate
from longfair.papers.fairmdp import search_training
from longfair.papers.fairmdp.cross_entropy import setting_of
from longfair.papers.fairmdp.loans import loan_problem
from longfair.papers.fairmdp.search_training import Scorer, final_rows, lending
from longfair.papers.setting import Setting

LOGS = Path(__file__).parent / "authors_logs"
WORLD = dict(np.load(LOGS / "loan_mdp.npz"))
LOG = dict(np.load(LOGS / "loan_search.npz"))
DRAWS = LOG["draws"] / 16.0
STEPS, COPIES = WORLD["action"].shape
EXACT = {"rtol": 1e-12, "atol": 1e-12}
SINGLE = {"rtol": 1e-6, "atol": 1e-6}
"""Rounding to single precision, in which moments are logged."""
ROUNDING = 2.0**-24
"""The largest relative error of one number in single precision."""
PLAYED = {"rtol": 0, "atol": 1e-5}
"""Rewards, gaps and rates of networks, whose chances are known to single precision."""
NEVER = 9.999885845
"""Reward of who never lends."""
PARAMS = LoanMDPParams.fico()


# The problem


class LoggedDraws:
    """Uniform numbers in the order in which our environment draws them.

    The authors' majority has the low numbers, ours the high ones. Their applicants' first loans are
    drawn one by one; ours at once, so that any number from the cell of what came out will do.
    """

    def __init__(self) -> None:
        paid = np.rint(WORLD["alpha"][0] - np.array(PARAMS.prior)[WORLD["group"], 0]).astype(int)
        cells = [WORLD[f"initial_{group}"][2, ::-1] for group in (0, 1)]
        middles = [law.cumsum() - law / 2 for law in cells]
        within = [
            middles[group][number] for group, number in zip(WORLD["group"], paid, strict=True)
        ]
        start = np.stack([1.0 - WORLD["group_uniform"].astype(np.float64), within])
        self._draws = iter([start, *WORLD["step_uniform"].astype(np.float64)])

    def random(self, shape: Any) -> NDArray[np.float64]:
        return next(self._draws, np.full(shape, 0.5))


class LoggedChoices:
    """Uniform numbers behind choices; the authors lend where one is above the first output."""

    def __init__(self, _: int | None) -> None:
        self._draws = iter(1.0 - WORLD["action_uniform"].astype(np.float64))

    def random(self, _: int) -> NDArray[np.float64]:
        return next(self._draws)


@pytest.fixture(scope="module")
def replayed() -> dict[str, Any]:
    """Let the logged network play in our environment; arrays (T, N) of what ours tells."""
    setting = setting_of("cce-dp", "as_coded", "book")
    env = setting.world.make(COPIES)
    env.unwrapped._np_random = LoggedDraws()  # type: ignore[assignment]  # stands in for one
    rows = np.repeat(WORLD["network"][None], COPIES, axis=0)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(search_training.np.random, "default_rng", LoggedChoices)
        act = lending(setting.method.policy, rows, 0)
    observation, info = env.reset()
    seen, told = [observation], []
    for _ in range(STEPS):
        actions = act(observation, info)
        observation, reward, _, ends, info = env.step(actions)
        seen.append(info["final_obs"] if ends.any() else observation)
        told.append({"action": actions, "reward": reward, "ends": ends})
    return {
        "seen": np.array(seen),
        **{name: np.array([facts[name] for facts in told]) for name in told[0]},
    }


def test_applicants_choices_and_rewards_are_the_authors(replayed: dict[str, Any]) -> None:
    group = np.broadcast_to(WORLD["group"], (STEPS + 1, COPIES))
    theirs = np.stack([WORLD["alpha"], WORLD["beta"], group], axis=2)
    np.testing.assert_allclose(replayed["seen"], theirs, rtol=1e-6)
    np.testing.assert_array_equal(replayed["action"], WORLD["action"])
    assert 50 < (WORLD["action"] == 0).sum() < WORLD["action"].size - 50
    np.testing.assert_allclose(replayed["reward"], WORLD["reward"], **EXACT)
    assert replayed["ends"].sum(axis=0).tolist() == [1] * COPIES
    assert replayed["ends"][-1].all()
    discounted = PARAMS.discount ** np.arange(STEPS) @ replayed["reward"]
    np.testing.assert_allclose(discounted, WORLD["discounted"], **EXACT)
    np.testing.assert_allclose(replayed["action"].mean(axis=0), WORLD["share_lent"], **EXACT)


def test_first_situations_and_who_is_qualified_are_the_authors() -> None:
    law = LoanModel(PARAMS).initial_law()
    for group, applicants in enumerate(loan_problem().applicants):
        alpha, beta, theirs = WORLD[f"initial_{group}"][:, ::-1]
        first = applicants.beliefs[applicants.belief[: len(theirs)]]
        np.testing.assert_allclose(first, np.stack([alpha, beta], axis=1), **EXACT)
        np.testing.assert_allclose(law[group, : len(theirs)], theirs, **EXACT)
        np.testing.assert_allclose(applicants.initial, theirs, **EXACT)
        qualified = WORLD[f"qualified_{group}"][::-1]
        np.testing.assert_allclose(applicants.qualified, qualified, **EXACT)


def situations() -> list[tuple[int, int]]:
    """Return group and row of the logged situations in our problem."""
    rows = [
        {tuple(counts): row for row, counts in enumerate(applicants.counts.tolist())}
        for applicants in loan_problem().applicants
    ]
    return [(group, rows[group][tuple(counts)]) for group, *counts in WORLD["counts"].tolist()]


def test_repayment_and_profit_of_situations_are_the_authors() -> None:
    problem, found = loan_problem(), situations()
    repaid = [problem.applicants[group].repaid[row] for group, row in found]
    profit = np.array([problem.applicants[group].profit[row] for group, row in found])
    np.testing.assert_allclose(repaid, WORLD["situation_repaid"], **EXACT)
    ours = problem.reward_offset + np.stack([np.zeros_like(profit), profit], axis=1)
    np.testing.assert_allclose(ours, WORLD["situation_reward"], **EXACT)


def outputs_of_situations(*, race_blind: bool) -> NDArray[Any]:
    """Return both outputs (P, R, 2) of our networks in the logged situations."""
    problem = loan_problem()
    network = SoftmaxNetwork(race_blind=race_blind)
    outputs = network.outputs(problem, DRAWS[0][WORLD["nets"]])
    columns = [(group, problem.applicants[group].belief[row]) for group, row in situations()]
    return np.stack([outputs[group][:, column] for group, column in columns], axis=1)


def terms_of_situations(*, race_blind: bool) -> NDArray[Any]:
    """Return the size (P, R, 1) of all terms that are added to the networks' last two outputs."""
    network = SoftmaxNetwork(race_blind=race_blind)
    rows = network.checked(DRAWS[0][WORLD["nets"]])
    sizes = [
        [np.abs(signal) @ np.abs(last) for signal, last in network.last_layers(inputs, rows)]
        for inputs in network.inputs(loan_problem())
    ]
    beliefs = [(group, loan_problem().applicants[group].belief[row]) for group, row in situations()]
    both = [np.array(sizes[group])[:, belief].sum(axis=1) for group, belief in beliefs]
    return np.stack(both, axis=1)[..., None]


@pytest.mark.parametrize("race_blind", [False, True])
def test_networks_say_what_the_authors_say(race_blind: bool) -> None:
    """Weights before biases, layer by layer; the group is shown, or a 0 in its place.

    Outputs before the softmax are sums of hundreds to thousands. The order of adding, which is up
    to the processor, changes them by a few roundings; the softmax turns a difference into a factor
    of what is far from 1. What is too small for normal numbers is 0 for us or for them.
    """
    assert WORLD["parameters"] == SoftmaxNetwork().size == DRAWS.shape[2]
    theirs = WORLD["situation_score"][:, int(race_blind)].astype(np.float64)
    ours = outputs_of_situations(race_blind=race_blind).astype(np.float64)
    terms = terms_of_situations(race_blind=race_blind) * theirs[..., ::-1]
    allowed = 4 * ROUNDING * (1 + terms) * theirs + 5e-38
    assert (np.abs(ours - theirs) / allowed).max() < 1
    assert allowed.max() < 4e-4
    assert ((theirs > 0.01) & (theirs < 0.99)).any()
    assert (ours == theirs).mean() > 0.5


def test_small_outputs_are_numbers_and_both_can_sum_to_more_than_one() -> None:
    """Where a chance and its complement know 0 and the multiples of 3e-8."""
    problem, small = loan_problem(), WORLD["situation_score"][:, 0, :, 1] < 1e-8
    for found in (outputs_of_situations(race_blind=False), WORLD["situation_score"][:, 0]):
        assert len(np.unique(found[..., 1][small])) > 100
        over = found.astype(np.float64).sum(axis=2) - 1.0
        assert 0 < over.max() < 1.2e-7
    chances = PolicyNetwork().chances(problem, DRAWS[0][WORLD["nets"]])[0]
    assert set(chances[chances < 1e-7].tolist()) <= {i * 2.0**-25 for i in range(4)}


# The search


class Fed(np.random.Generator):
    """Standard normal numbers as the authors' search drew them."""

    def __init__(self, draws: NDArray[np.float64]) -> None:
        super().__init__(np.random.PCG64(0))
        self._draws = draws

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        assert size == self._draws.shape
        return loc + scale * self._draws


@dataclass(frozen=True)
class Iteration:
    """One logged iteration, and our setting for it."""

    name: str
    method: str
    number: int = 0
    tolerance: float = 0.1

    def __str__(self) -> str:
        """Name the test."""
        return f"{self.name}-{self.number}"

    def logged(self, what: str) -> Any:
        return LOG[f"{self.name}_{what}"][self.number]

    @property
    def setting(self) -> Setting:
        setting = setting_of(self.method, "as_coded", "book", self.tolerance)
        once = replace(setting.learning.settings, iterations=1)
        return replace(setting, learning=replace(setting.learning, settings=once))

    @property
    def start(self) -> Gaussians:
        """From what was drawn: of later iterations, what is logged of the one before."""
        if self.number:
            before = replace(self, number=self.number - 1)
            moments = before.logged("mean"), before.logged("second_moment")
            return FlooredGaussians(*(moment.astype(np.float64) for moment in moments))
        if f"{self.name}_start_mean" not in LOG:
            start: Gaussians = self.setting.method.policy.start()
            return start
        mean = LOG[f"{self.name}_start_mean"].astype(np.float64)
        deviation = LOG[f"{self.name}_start_deviation"].astype(np.float64)
        return FlooredGaussians(mean, mean**2 + deviation**2)

    @property
    def scores(self) -> Scores:
        """The authors' own; race-blind sorts by the reward alone."""
        gap = self.logged("gap")
        return Scores(self.logged("reward"), 0.0 * gap if self.method == "race-blind" else gap)

    def search(self, score: Any) -> Generation:
        """Run one iteration of our search on the logged draws."""
        settings = self.setting.learning.settings
        draws = Fed(DRAWS[self.number])
        return next(search(score, self.start, self.tolerance, settings, draws))

    @property
    def scorer(self) -> Scorer:
        return Scorer(self.setting, np.random.default_rng(0))


ITERATIONS = [
    Iteration("parity", "cce-dp"),
    Iteration("parity", "cce-dp", 1),
    Iteration("opportunity", "cce-eo"),
    Iteration("first_parity", "optimistic-dp"),
    Iteration("first_opportunity", "optimistic-eo"),
    Iteration("race_blind", "race-blind"),
    Iteration("race_blind", "race-blind", 1),
    Iteration("late", "cce-dp"),
    Iteration("unfair", "cce-dp"),
    Iteration("fallen", "cce-dp", tolerance=0.025),
]
LATE, _, FALLEN = ITERATIONS[-3:]
each = pytest.mark.parametrize("iteration", ITERATIONS, ids=str)


@cache
def scored(iteration: Iteration) -> Generation:
    """Run one iteration of our search with our scores."""
    return iteration.search(iteration.scorer)


@each
def test_rewards_and_gaps_of_populations_are_the_authors(iteration: Iteration) -> None:
    """Undiscounted loans over 50."""
    generation = scored(iteration)
    theirs = iteration.scores
    np.testing.assert_allclose(generation.scores.reward, theirs.reward, **PLAYED)
    np.testing.assert_allclose(generation.scores.violation, theirs.violation, **PLAYED)
    outcome = iteration.scorer.exact(generation.parameters)
    np.testing.assert_allclose(outcome.rates(), iteration.logged("rates"), **PLAYED)
    if iteration.method == "race-blind":
        np.testing.assert_allclose(outcome.gap(0), iteration.logged("gap"), **PLAYED)
    if f"{iteration.name}_opportunity_gap" in LOG:
        np.testing.assert_allclose(outcome.gap(1), iteration.logged("opportunity_gap"), **PLAYED)


@each
def test_elites_and_moments_are_the_authors(iteration: Iteration) -> None:
    """The five, in their order, their weights, and half a step of both moments."""
    generation = scored(iteration)
    assert generation.elites[::-1].tolist() == iteration.logged("elites").tolist()
    for found in (generation, iteration.search(lambda _: iteration.scores)):
        moved = found.distribution
        tolerance = {"rtol": 0, "atol": 1e-4} if found is generation else SINGLE
        np.testing.assert_allclose(moved.mean, iteration.logged("mean"), **tolerance)
        second = iteration.logged("second_moment")
        np.testing.assert_allclose(moved.second_moment, second, **tolerance)


def test_nearly_equal_elites_weigh_the_same_and_second_moments_have_a_floor() -> None:
    """The code compares a fifth of the range of the elites' rewards with 1e-5.

    Also, by an accident, no second moment is below 1e-5.
    """
    reward = LATE.logged("reward")[LATE.logged("elites")]
    assert 1e-5 < np.ptp(reward) < 5e-5
    np.testing.assert_allclose(elite_weights(reward, "exponential"), 1.0, rtol=0, atol=5e-5)
    second = scored(LATE).distribution.second_moment
    floored = LATE.logged("second_moment") == np.float32(1e-5)
    assert floored.any()
    np.testing.assert_array_equal(second == 1e-5, floored)


def test_who_hardly_lends_is_told_apart_as_there() -> None:
    """A search that has fallen: nearly all of its policies never lend, but for rounding.

    Rewards differ in the eighth decimal, for the most part above what never lending earns: who
    lends a little more seems to earn more, because outputs that sum to more than one multiply what
    comes after. That decides which are the elites.
    """
    generation, theirs = scored(FALLEN), FALLEN.logged("reward")
    flat = np.abs(theirs - NEVER) < 1e-6
    assert flat.sum() > 20
    np.testing.assert_allclose(generation.scores.reward[flat], theirs[flat], rtol=0, atol=1e-10)
    assert len(np.unique(theirs[flat])) > 12
    assert flat[FALLEN.logged("elites")].all()
    # As published a chance and its complement sum to one, and most of them earn the same.
    problem = loan_problem()
    chances = PolicyNetwork().chances(problem, generation.parameters)
    published = evaluate(problem, chances).reward[flat]
    assert np.unique(published, return_counts=True)[1].max() > 20
    assert published.max() < problem.offset_total + 1e-12
    assert theirs[flat].max() > problem.offset_total + 1e-9


def test_the_log_has_every_kind_of_choice() -> None:
    """Enough feasible policies, and none; elites far apart, and nearly equal ones."""
    feasible = {
        str(iteration): int((iteration.logged("gap") < iteration.tolerance).sum())
        for iteration in ITERATIONS
    }
    assert feasible["unfair-0"] == 0
    assert all(number >= 5 for name, number in feasible.items() if name != "unfair-0")
    assert feasible["late-0"] < 40
    # Nearly equal elites weigh the same, others up to e^5.
    spread = [np.ptp(one.logged("reward")[one.logged("elites")]) for one in ITERATIONS]
    assert min(spread) < 1e-5 / 0.2 < max(spread)


@pytest.mark.parametrize(
    ("iteration", "gap"),
    [(ITERATIONS[0], "gap_dp"), (ITERATIONS[2], "gap_eo"), (ITERATIONS[5], "gap_dp")],
    ids=str,
)
def test_what_is_reported_is_what_the_authors_report(iteration: Iteration, gap: str) -> None:
    """Means over all samples and over the elites, and the groups' rates."""
    generation = scored(iteration)
    elites = iteration.logged("elites").astype(np.int64)
    last = replace(generation, elites=elites)
    rows = final_rows(iteration.scorer, last, generation.parameters[-1:], 0.0)
    found = rows[rows["group"] < 0].set_index("metric")["value"]
    reported = iteration.logged("reported")
    names = ("reward_population", f"{gap}_population", "reward", gap)
    ours = [found[name] for name in names]
    np.testing.assert_allclose(ours, reported[:4] * [1, -1, 1, -1], **PLAYED)
    if iteration.method == "race-blind":
        assert found["gap_eo_population"] == pytest.approx(-reported[10], abs=1e-5)


# The conservative baseline


@pytest.mark.parametrize("number", range(3))
def test_constant_policies_are_the_authors(number: int) -> None:
    """Draws outside [0, 1] are drawn again there as here; the log has those that were kept."""
    setting = setting_of("conservative", "as_coded", "book")
    assert setting.learning.settings.iterations == 50
    settings = replace(setting.learning.settings, iterations=1)
    chance = LOG["constant_chance"][number]
    mean, deviation = LOG["constant_mean"][number], LOG["constant_deviation"][number]
    start = setting.method.policy.start()
    if number:
        start = Gaussians(np.array([mean]), np.array([mean**2 + deviation**2]), start.bounds)
    assert start.mean == pytest.approx(mean, rel=1e-12)
    assert start.deviation == pytest.approx(deviation, rel=1e-12)
    draws = Fed((chance[:, None] - mean) / deviation)
    scorer = Scorer(setting, np.random.default_rng(0))
    generation = next(search(scorer, start, 0.1, settings, draws))
    np.testing.assert_allclose(generation.scores.reward, LOG["constant_reward"][number], **EXACT)
    outcome = scorer.exact(generation.parameters)
    assert max(LOG["constant_gap"].max(), outcome.gap(0).max()) < 1e-12
    np.testing.assert_allclose(
        outcome.gap(1), LOG["constant_opportunity_gap"][number], rtol=0, atol=1e-12
    )
    # Draws are rounded, so that some policies are the same; which of them is taken is no matter.
    elites = chance[LOG["constant_elites"][number]]
    np.testing.assert_allclose(chance[generation.elites[::-1]], elites, **EXACT)
    if number < 2:
        moved = generation.distribution
        assert moved.mean == pytest.approx(LOG["constant_mean"][number + 1], rel=1e-9)
        assert moved.deviation == pytest.approx(LOG["constant_deviation"][number + 1], rel=1e-9)
