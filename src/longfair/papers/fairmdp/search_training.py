"""How searches of Algorithm 2 are run, scored and reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from longfair.agents.fair_mdp.baselines import ConstantPolicy
from longfair.agents.fair_mdp.cross_entropy import Generation, Scores, search
from longfair.agents.fair_mdp.policy_network import PolicyNetwork
from longfair.agents.fair_mdp.softmax_network import SoftmaxNetwork
from longfair.arrays import FloatArray
from longfair.envs.loan_mdp.exact import EVERYBODY, Outcome, evaluate, roll_out
from longfair.envs.loan_mdp.two_outputs import evaluate_outputs
from longfair.papers.fairmdp.loans import loan_problem
from longfair.papers.fairmdp.measured import mean_quantities, mean_rates, placed, table
from longfair.papers.fairmdp.searching import Sampling, Searching, Wanted
from longfair.papers.protocol import Act, Evaluation, Snapshots
from longfair.papers.setting import Setting
from longfair.runs.experiment import protocol


class Found(NamedTuple):
    """What a search found."""

    generations: list[Generation]
    """One per iteration."""
    returned: FloatArray
    """(1, d): parameters of the policy that would be used."""


def train(searching: Searching, setting: Setting, seed: int) -> Snapshots:
    """Search; steps are iterations, and all samples of every iteration are kept."""
    generator = np.random.default_rng((seed, 0))
    scorer = Scorer(setting, np.random.default_rng((seed, 1)))
    wanted: Wanted = setting.method
    start = wanted.policy.start()
    generations = list(search(scorer, start, wanted.tolerance, searching.settings, generator))
    last = generations[-1]
    returned = last.parameters[-1:]
    if searching.sampling is not None:
        returned = last.distribution.sample(1, generator)

    def act(which: Sequence[int], episodes: int, seed: int | None) -> Act:
        chosen = [generations[number] for number in which]
        best = [generation.parameters[generation.elites[0]] for generation in chosen]
        return lending(wanted.policy, np.repeat(best, episodes, axis=0), seed)

    steps = [generation.number for generation in generations]
    return Snapshots(steps, act, [Found(generations, returned)], [last.parameters, returned])


class Scorer:
    """Scores samples exactly or from episodes, as a search asks for it.

    Parameters
    ----------
    setting
        What is searched, a `Wanted`, and how, a `Searching`.
    generator
        Source of the episodes.
    """

    def __init__(self, setting: Setting, generator: np.random.Generator) -> None:
        self.wanted: Wanted = setting.method
        self.sampling: Sampling | None = setting.learning.sampling
        self.generator = generator

    def __call__(self, parameters: FloatArray) -> Scores:
        """Return the scores of parameters (n, d)."""
        constraint = self.wanted.constraint
        if self.sampling is None:
            outcome = self.exact(parameters)
            return Scores(self.wanted.seen(outcome), constraint.violation(outcome))
        outcome = self.estimated(parameters, self.sampling, EVERYBODY)
        same = constraint.looks_at == "nothing" or constraint.who == EVERYBODY
        compared = outcome if same else self.estimated(parameters, self.sampling, constraint.who)
        return Scores(self.wanted.seen(outcome), constraint.violation(compared))

    def exact(self, parameters: FloatArray) -> Outcome:
        """Return the outcome of policies by backward recursion, as coded over both outputs."""
        problem, policy = loan_problem(), self.wanted.policy
        if isinstance(policy, SoftmaxNetwork):
            return evaluate_outputs(problem, policy.outputs(problem, parameters))
        return evaluate(problem, policy.chances(problem, parameters))

    def estimated(self, parameters: FloatArray, sampling: Sampling, who: int) -> Outcome:
        """Return the average of the episodes that Theorem 4.2 asks for."""
        rollouts, steps = sampling.size(self.wanted.tolerance)
        problem = loan_problem(steps)
        chances = self.wanted.policy.chances(problem, parameters)
        return roll_out(problem, chances, rollouts, self.generator, who)


@protocol("searched-lending")
def searched_lending(evaluation: Evaluation) -> pd.DataFrame:
    """Measure the elites of every iteration and the last population exactly.

    Steps are iterations. Metrics of the final phase are means over the elites, with `_population`
    over all samples of the last iteration, with `_returned` those of the policy that would be used.
    """
    found: Found = evaluation.snapshots.policies[0]
    checker = Scorer(evaluation.setting, np.random.default_rng(evaluation.seed))
    parts = []
    for generation in found.generations:
        elites = checker.exact(generation.parameters[generation.elites])
        parts.append(table("curve", generation.number, mean_quantities(elites)))
    tightening = evaluation.setting.learning.settings.tightening
    rows = final_rows(checker, found.generations[-1], found.returned, tightening)
    return pd.concat([*parts, rows], ignore_index=True)


def final_rows(
    checker: Scorer, last: Generation, returned: FloatArray, tightening: float
) -> pd.DataFrame:
    """Measure the last population, and check it as Theorem 4.2 wants if it was estimated.

    Parameters
    ----------
    checker
        Scores policies with episodes that the search has not seen.
    last
        Last iteration.
    returned
        Parameters (1, d) of the policy that would be used.
    tightening
        Part of the tolerance that the check keeps for errors of estimation.
    """
    wanted = checker.wanted
    population, chosen = checker.exact(last.parameters), checker.exact(returned)
    elites = checker.exact(last.parameters[last.elites])
    truth = replace(wanted.constraint, looks_at="episode")
    fair = truth.violation(population) <= wanted.tolerance
    overall = {
        **mean_quantities(elites),
        **mean_quantities(population, "_population"),
        **mean_quantities(chosen, "_returned"),
        "share_fair": float(fair.mean()),
        "deviation": float(last.distribution.deviation.mean()),
    }
    if checker.sampling is not None:
        limit = (1.0 - tightening) * wanted.tolerance
        passing = checker(last.parameters).violation <= limit
        overall["share_passing"] = float(passing.mean())
        overall["share_passing_unfair"] = float((passing & ~fair).mean())
        overall["returned_passes"] = float(checker(returned).violation[0] <= limit)
    rates = placed(mean_rates(elites), "final", last.number)
    return pd.concat([table("final", last.number, overall), rates], ignore_index=True)


def lending(
    policy: PolicyNetwork | ConstantPolicy, parameters: FloatArray, seed: int | None
) -> Act:
    """Let searched policies act in episodes of the loan problem.

    Parameters
    ----------
    policy
        Kind of policy.
    parameters
        (N, d): one row for every episode.
    seed
        Seed of their draws.
    """
    from scipy.spatial import KDTree

    problem = loan_problem()
    rows, which = np.unique(parameters, axis=0, return_inverse=True)
    chances: Sequence[Any] = policy.chances(problem, rows)
    beliefs = [KDTree(applicants.beliefs) for applicants in problem.applicants]
    generator = np.random.default_rng(seed)

    def act(observation: Any, info: dict[str, Any]) -> Any:
        chance = np.empty(len(observation))
        for number, (of_group, tree) in enumerate(zip(chances, beliefs, strict=True)):
            members = observation[:, 2] == number
            nearest = tree.query(observation[members, :2])[1]
            chance[members] = of_group[which[members], nearest]
        return (generator.random(len(observation)) < chance).astype(np.int64)

    return act
