r"""The best that can be done with doughnuts by seeing who is there and nothing else, exactly.

A policy that sees neither counts nor the time, and leaves nothing to chance, names one person for
every set of people who are there. Then every step serves person :math:`i` with the same probability
:math:`p_i`, whatever came before, and with :math:`T = \sum_i p_i` and
:math:`n_i \sim \mathrm{Binomial}(t - 1, p_i)` the expected return is

.. math::

    \sum_i f(p_i), \qquad f(p) = \sum_t \big(
        p\,\mathbb E \log(n + 2 + \lambda) + (T - p)\,\mathbb E \log(n + 1 + \lambda) \big).

Naming somebody who is there in place of somebody who is not raises every term, so only policies
that never waste need be looked at, and they share one :math:`T`. There are too many of them to play
each, but which sets of a size a person gets matters only through their number, and so the numbers
are gone through. When everybody is there with the same probability, people can be renumbered.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from longfair.agents.finite import FiniteProblem
from longfair.arrays import FloatArray, IntArray
from longfair.envs.doughnut import DoughnutParams, tabular
from longfair.envs.doughnut.exact import controller_score, memoryless, somebody_there_at_random
from longfair.errors import UsageError
from longfair.runs.claims import CheckResult

LARGEST_CROWD = 5
"""Beyond it the ways to share grow too many to be gone through."""

ROUNDING = 1e-9


class BestMemoryless(NamedTuple):
    """The best policy that sees who is there, and nothing else, and leaves nothing to chance."""

    reward: float
    """Its expected return."""
    served: tuple[float, ...]
    """(P,): the probability that a step serves each person, in rising order."""
    compared: int
    """Ways to share that were compared."""


def best_memoryless(params: DoughnutParams) -> BestMemoryless:
    """Find the best deterministic policy that sees neither counts nor the time.

    Parameters
    ----------
    params
        A problem of at most `LARGEST_CROWD` people, who are all there with one probability.

    Returns
    -------
    BestMemoryless
        Its return, and whom it serves how often.

    Raises
    ------
    UsageError
        If there are more people, or some are there more often than others.
    """
    people = len(params.presence_probability)
    if people > LARGEST_CROWD or len(set(params.presence_probability)) > 1:
        raise UsageError(
            f"presence_probability={params.presence_probability}: give at most {LARGEST_CROWD} "
            "equal probabilities"
        )
    base = math.comb(people - 1, (people - 1) // 2) + 1
    worth = _worth_by_sets(params, base)
    # Larger sets first: at each size only what differs by more than people's names is kept.
    ways = np.zeros((1, people), np.int64)
    for size in range(people, 2, -1):
        added = _sets_shared(people, size) * base ** (size - 1)
        ways = np.unique(np.sort((ways[:, None] + added).reshape(-1, people), axis=1), axis=0)
    # Pairs last, and whoever is there alone is named: these ways are many, and not kept.
    added = _sets_shared(people, 2) * base + 1
    totals = np.array([worth[way + added].sum(axis=1) for way in ways])
    way, pairs = np.unravel_index(totals.argmax(), totals.shape)
    chances = np.sort(_served(ways[way] + added[pairs], params, base))
    score = controller_score(memoryless(chances), params.episode_length, params.smoothing)
    return BestMemoryless(score.reward, tuple(map(float, chances)), totals.size)


def _served(sets: IntArray, params: DoughnutParams, base: int) -> FloatArray:
    """Return how probably a step serves people, from the sets that they are named for.

    The k-th digit of `sets` to the base says for how many sets of k people.
    """
    presence, people = params.presence_probability[0], len(params.presence_probability)
    sizes = np.arange(1, people + 1)
    numbers = sets[:, None] // base ** (sizes - 1) % base
    chance = np.power(presence, sizes) * np.power(1.0 - presence, people - sizes)
    served: FloatArray = numbers.astype(np.float64) @ chance
    return served


def _worth_by_sets(params: DoughnutParams, base: int) -> FloatArray:
    """Return what a person adds to the return, by the sets named for, written as in `_served`."""
    presence, people = params.presence_probability[0], len(params.presence_probability)
    ranges = [range(math.comb(people - 1, size) + 1) for size in range(people)]
    numbers = np.array(list(itertools.product(*ranges)))
    sets = numbers @ base ** np.arange(people)
    worth = np.full(base**people, -np.inf)
    worth[sets] = _worth(_served(sets, params, base), 1 - (1 - presence) ** people, params)
    return worth


def _sets_shared(people: int, size: int) -> IntArray:
    """Return (W, P): for how many of the sets of a size each person is named, in every way."""
    ways = {(0,) * people}
    for there in itertools.combinations(range(people), size):
        ways = {
            tuple(number + (person == named) for person, number in enumerate(way))
            for way in ways
            for named in there
        }
    return np.array(sorted(ways))


def _worth(served: FloatArray, taken: float, params: DoughnutParams) -> FloatArray:
    """Return (N,): what people add to the return who are served with probabilities (N,).

    `taken` is the probability that a step serves anybody.
    """
    from scipy.stats import binom

    steps = np.arange(params.episode_length)
    counts = np.arange(params.episode_length + 1)
    welfare = np.log(counts + 1 + params.smoothing)
    # How often a count is met at the beginning of a step, over all steps.
    met = binom.pmf(counts, steps[:, None], served[:, None, None]).sum(axis=1)
    own = met[:, :-1] @ welfare[1:]
    others: FloatArray = met @ welfare
    worth: FloatArray = served * own + (taken - served) * others
    return worth


def memoryless_policies() -> CheckResult:
    """On doughnuts chance beats every fixed choice that sees only who is there.

    First, on a small problem every policy that names one person for each set of people who are
    there, wasting ones among them, is evaluated with all counts in the state; the formula must
    give the same returns, and the best of them must be the one that is found without trying all.
    Then the best is found for the problem of the deep agents, and held against choosing somebody
    who is there at random, whose return is computed exactly.

    Returns
    -------
    CheckResult
        Computed: best (return of the best fixed choice), at_random, often and rarely (its largest
        and smallest probability to serve somebody), largest_difference (on the small problem).
    """
    small = DoughnutParams((0.8, 0.8), episode_length=4)
    exact, formula = _every_policy(small)
    params = DoughnutParams.deep()
    best = best_memoryless(params)
    chance = somebody_there_at_random(params.presence_probability)
    at_random = controller_score(chance, params.episode_length, params.smoothing).reward
    differences = [*np.abs(exact - formula), abs(exact.max() - best_memoryless(small).reward)]
    computed = {
        "best": best.reward,
        "at_random": at_random,
        "often": best.served[-1],
        "rarely": best.served[0],
        "largest_difference": float(max(differences)),
    }
    detail = (
        "The best fixed choice that sees only who is there has {best:.2f}, and choosing somebody "
        "there at random {at_random:.2f}."
    )
    passed = computed["largest_difference"] <= ROUNDING and best.reward < at_random
    return CheckResult(passed, computed, detail.format(**computed), instances=best.compared)


def _every_policy(params: DoughnutParams) -> tuple[FloatArray, FloatArray]:
    """Return the exact returns of all memoryless policies of a small problem, and the formula's."""
    people = len(params.presence_probability)
    model = tabular(params=params)
    problem = FiniteProblem.of_face(model)
    sets = model.states[:, :people] @ 2 ** np.arange(people)
    there = np.arange(2**people)[:, None] >> np.arange(people) & 1
    chance = np.where(there, params.presence_probability, 1 - np.array(params.presence_probability))
    exact, formula = [], []
    for named in itertools.product(range(people), repeat=2**people):
        policy = np.eye(people)[np.array(named)[sets]]
        values = problem.policy_values(np.tile(policy, (model.horizon, 1, 1)), model.horizon, 1.0)
        exact.append(float(model.initial_distribution @ values[0]))
        served = (there * np.eye(people)[list(named)] * chance.prod(axis=1)[:, None]).sum(axis=0)
        formula.append(_worth(served, served.sum(), params).sum())
    return np.array(exact), np.array(formula)
