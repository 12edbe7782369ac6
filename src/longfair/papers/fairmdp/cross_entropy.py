"""Figures 1, 2a and 2b of the fair MDP paper: constrained cross-entropy and its baselines.

The paper does not say how often its searches were repeated; here each is run on ten seeds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pandas as pd

from longfair.agents.fair_mdp.baselines import ConstantPolicy, Constraint
from longfair.agents.fair_mdp.cross_entropy import (
    CrossEntropy,
    FloatArray,
    Generation,
    Scores,
    required_rollouts,
    required_steps,
    search,
)
from longfair.agents.fair_mdp.policy_network import PolicyNetwork
from longfair.envs.loan_mdp import LoanMDPParams, LoanModel
from longfair.envs.loan_mdp.exact import EVERYBODY, LoanProblem, Outcome, evaluate, roll_out
from longfair.papers.fairmdp.measured import mean_quantities, mean_rates, placed, table
from longfair.papers.protocol import two_seeds
from longfair.runs.experiment import Arm, Experiment, protocol


@dataclass(frozen=True)
class Sampling:
    """How policies are estimated from sampled episodes; as coded they are evaluated exactly.

    Number and length of the episodes are those that Theorem 4.2 asks for.
    """

    tightening: float = 0.1
    """Sigma: the part of the tolerance that is kept for errors of estimation. The paper's value is
    not known; a larger one takes fewer episodes and leaves less room to the search."""
    risk: float = 0.05
    """Delta: probability with which an estimate may be further off than that."""

    def size(self, tolerance: float) -> tuple[int, int]:
        """Return the number of episodes per group and policy, and their length."""
        return (
            required_rollouts(tolerance, self.tightening, self.risk),
            required_steps(tolerance, self.tightening, LoanMDPParams.fico().discount),
        )


@dataclass(frozen=True)
class SearchConfig:
    """One search for a policy."""

    constraint: Constraint
    policy: PolicyNetwork | ConstantPolicy = field(default_factory=PolicyNetwork)
    settings: CrossEntropy = field(default_factory=CrossEntropy)
    tolerance: float = 0.1
    sampling: Sampling | None = None
    """None: exact evaluation, and the last sample is returned (code). Otherwise policies are
    estimated from episodes, and a fresh draw is returned (paper)."""

    def seen(self, outcome: Outcome) -> FloatArray:
        """Return the rewards (P,) that the search sees: with the 2 per step of the code."""
        return outcome.reward

    def shortened(self) -> SearchConfig:
        """Return the same for two small iterations."""
        return replace(self, settings=replace(self.settings, population=6, elites=3, iterations=2))


@dataclass(frozen=True)
class ProfitSearchConfig(SearchConfig):
    """One search that sees the bank's profit alone: the paper knows no constant per step."""

    def seen(self, outcome: Outcome) -> FloatArray:
        """Return the profits (P,)."""
        return outcome.profit


class Scorer:
    """Scores samples exactly or from episodes, as a search asks for it.

    Parameters
    ----------
    config
        What is searched.
    generator
        Source of the episodes.
    """

    def __init__(self, config: SearchConfig, generator: np.random.Generator) -> None:
        self.config = config
        self.generator = generator

    def __call__(self, parameters: FloatArray) -> Scores:
        """Return the scores of parameters (n, d)."""
        constraint = self.config.constraint
        if self.config.sampling is None:
            outcome = self.exact(parameters)
            return Scores(self.config.seen(outcome), constraint.violation(outcome))
        outcome = self.estimated(parameters, EVERYBODY)
        same = constraint.looks_at == "nothing" or constraint.who == EVERYBODY
        compared = outcome if same else self.estimated(parameters, constraint.who)
        return Scores(self.config.seen(outcome), constraint.violation(compared))

    def exact(self, parameters: FloatArray) -> Outcome:
        """Return the outcome of policies by backward recursion."""
        problem = loan_problem()
        return evaluate(problem, self.config.policy.chances(problem, parameters))

    def estimated(self, parameters: FloatArray, who: int) -> Outcome:
        """Return the average of the episodes that Theorem 4.2 asks for."""
        assert self.config.sampling is not None
        rollouts, steps = self.config.sampling.size(self.config.tolerance)
        problem = loan_problem(steps)
        chances = self.config.policy.chances(problem, parameters)
        return roll_out(problem, chances, rollouts, self.generator, who)


@protocol("constrained-search")
def search_and_measure(config: SearchConfig, seed: int) -> pd.DataFrame:
    """Search for a policy; measure the elites of every iteration and the last population exactly.

    Parameters
    ----------
    config
        What is searched.
    seed
        Number of the run. Search and final check draw from disjoint streams made from it.

    Returns
    -------
    pandas.DataFrame
        The result table; see `longfair.runs`. Steps are iterations. Metrics of the final phase are
        means over the elites, with `_population` over all samples of the last iteration, with
        `_returned` those of the policy that would be used.
    """
    training, evaluation = two_seeds(seed)
    scorer = Scorer(config, np.random.default_rng((training, 1)))
    generator = np.random.default_rng((training, 0))
    parts, last = [], None
    start = config.policy.start()
    for last in search(scorer, start, config.tolerance, config.settings, generator):
        elites = scorer.exact(last.parameters[last.elites])
        parts.append(table("curve", last.number, mean_quantities(elites)))
    assert last is not None
    returned = last.parameters[-1:]
    if config.sampling is not None:
        returned = last.distribution.sample(1, generator)
    checker = Scorer(config, np.random.default_rng(evaluation))
    return pd.concat([*parts, final_rows(checker, last, returned)], ignore_index=True)


def final_rows(checker: Scorer, last: Generation, returned: FloatArray) -> pd.DataFrame:
    """Measure the last population, and check it as Theorem 4.2 wants if it was estimated.

    Parameters
    ----------
    checker
        Scores policies with episodes that the search has not seen.
    last
        Last iteration.
    returned
        Parameters (1, d) of the policy that would be used.
    """
    config = checker.config
    population, chosen = checker.exact(last.parameters), checker.exact(returned)
    elites = checker.exact(last.parameters[last.elites])
    truth = replace(config.constraint, looks_at="episode")
    fair = truth.violation(population) <= config.tolerance
    overall = {
        **mean_quantities(elites),
        **mean_quantities(population, "_population"),
        **mean_quantities(chosen, "_returned"),
        "share_fair": float(fair.mean()),
        "deviation": float(last.distribution.deviation.mean()),
    }
    if config.sampling is not None:
        limit = (1.0 - config.settings.tightening) * config.tolerance
        passing = checker(last.parameters).violation <= limit
        overall["share_passing"] = float(passing.mean())
        overall["share_passing_unfair"] = float((passing & ~fair).mean())
        overall["returned_passes"] = float(checker(returned).violation[0] <= limit)
    rates = placed(mean_rates(elites), "final", last.number)
    return pd.concat([table("final", last.number, overall), rates], ignore_index=True)


@cache
def loan_problem(steps: int | None = None) -> LoanProblem:
    """Write out the loan problem of the paper's first figure, or its first steps only."""
    return LoanProblem.of(LoanModel(LoanMDPParams.fico()), steps)


NETWORK = PolicyNetwork()

METHODS: dict[str, tuple[Constraint, PolicyNetwork | ConstantPolicy, str]] = {
    "race-blind": (
        Constraint("nothing"),
        PolicyNetwork(race_blind=True),
        "maximises the reward and does not see the group",
    ),
    "optimistic-dp": (
        Constraint("first step", "dp"),
        NETWORK,
        "equal chances of a loan in the first step",
    ),
    "optimistic-eo": (
        Constraint("first step", "eo"),
        NETWORK,
        "equal chances of a loan in the first step for those who start qualified",
    ),
    "conservative": (
        Constraint("nothing"),
        ConstantPolicy(),
        "the same chance of a loan for everybody, always",
    ),
    "cce-dp": (Constraint("episode", "dp"), NETWORK, "equal loans over time (Algorithm 2)"),
    "cce-eo": (
        Constraint("episode", "eo"),
        NETWORK,
        "equal loans over time for those who start qualified (Algorithm 2)",
    ),
}
"""Methods of Figure 1: what their constraint looks at, and their policies."""

CONSERVATIVE_ITERATIONS = 50
"""Iterations of the search over constant policies (code); all others take 80."""

SETTINGS = {
    "paper": CrossEntropy(),
    "book": CrossEntropy(),
    "smoke": CrossEntropy(population=10, elites=3, iterations=4),
}
"""Settings by profile. The authors' own take seconds, so the book's are the same."""


def config_of(method: str, variant: str, profile: str, tolerance: float = 0.1) -> SearchConfig:
    """Return what a method of Figure 1 searches.

    Parameters
    ----------
    method
        A key of `METHODS`.
    variant
        `"as_coded"`: exact evaluation, exponential weights, undiscounted gaps, no tightening.
        `"as_published"`: estimates from as many episodes as Theorem 4.2 asks for, weights linear
        in the profit, discounted gaps; Algorithm 2 keeps a part of the tolerance for errors of
        estimation. `"with_offset"`: the same, but weights are linear in the profit and the code's
        2 per step, which the paper does not have.
    profile
        A key of `SETTINGS`.
    tolerance
        Epsilon.
    """
    constraint, policy, _ = METHODS[method]
    settings = SETTINGS[profile]
    if isinstance(policy, ConstantPolicy):
        settings = replace(settings, iterations=min(settings.iterations, CONSERVATIVE_ITERATIONS))
    if variant == "as_coded":
        return SearchConfig(constraint, policy, settings, tolerance)
    sampling = Sampling()
    guarded = constraint.looks_at == "episode"
    kind, weights = _PUBLISHED[variant]
    settings = replace(
        settings, weights=weights, tightening=sampling.tightening if guarded else 0.0
    )
    return kind(replace(constraint, discounted=True), policy, settings, tolerance, sampling)


_PUBLISHED: dict[str, tuple[type[SearchConfig], str]] = {
    "as_published": (ProfitSearchConfig, "linear with floor"),
    "with_offset": (SearchConfig, "linear"),
}
"""What searches by the paper's text see, and how their elites weigh."""

VARIANTS = ("as_coded", *_PUBLISHED)

TOLERANCES = {"0025": 0.025, "0050": 0.05, "0200": 0.2}
"""Tolerances of Figure 2 beside the 0.1 of Figure 1, by what is added to a method's name."""


def _figure1(profile: str) -> tuple[Arm, ...]:
    return tuple(
        Arm(
            method,
            variant,
            config_of(method, variant, profile),
            search_and_measure,
            METHODS[method][2],
        )
        for variant in VARIANTS
        for method in METHODS
    )


def _tolerances(profile: str) -> tuple[Arm, ...]:
    return tuple(
        Arm(
            f"{method}-{name}",
            variant,
            config_of(method, variant, profile, tolerance),
            search_and_measure,
            f"tolerance {tolerance:g}: {METHODS[method][2]}",
        )
        for variant in VARIANTS
        for name, tolerance in TOLERANCES.items()
        for method in ("cce-dp", "optimistic-dp")
    )


def _ingredients(profile: str) -> tuple[Arm, ...]:
    """Change one thing at a time on the way from the code to the paper."""
    coded = config_of("cce-dp", "as_coded", profile)
    published = config_of("cce-dp", "with_offset", profile)
    tightened = replace(coded.settings, tightening=published.settings.tightening)
    configs = {
        "linear-weights": (
            replace(coded, settings=replace(coded.settings, weights="linear")),
            "as coded, but elites weigh as much as their reward with the constant",
        ),
        "linear-profit": (
            ProfitSearchConfig(
                coded.constraint,
                coded.policy,
                replace(coded.settings, weights="linear with floor"),
                coded.tolerance,
            ),
            "as coded, but elites weigh as much as their profit",
        ),
        "discounted-gap": (
            replace(coded, constraint=published.constraint),
            "as coded, but loans of the constraint are discounted",
        ),
        "tightened": (
            replace(coded, settings=tightened),
            "as coded, but with the tightened tolerance",
        ),
        "sampled": (
            replace(coded, sampling=published.sampling),
            "as coded, but estimated from episodes",
        ),
        "exponential-weights": (
            replace(published, settings=tightened),
            "as published, but elites weigh exponentially",
        ),
    }
    return tuple(
        Arm(f"cce-dp-{name}", "one_change", config, search_and_measure, description)
        for name, (config, description) in configs.items()
    )


SEEDS = {"smoke": 2, "book": 10, "paper": 10}
ITERATIONS = {profile: settings.iterations for profile, settings in SETTINGS.items()}

FIGURE1 = Experiment(
    id="fairmdp/figure1",
    title="Constrained cross-entropy and its baselines on the loan problem, tolerance 0.1",
    arms={profile: _figure1(profile) for profile in SETTINGS},
    seeds=SEEDS,
    horizon=ITERATIONS,
)

SWEEP = Experiment(
    id="fairmdp/tolerances",
    title="Constrained cross-entropy and the optimistic baseline under other tolerances",
    arms={profile: _tolerances(profile) for profile in SETTINGS},
    seeds=SEEDS,
    horizon=ITERATIONS,
)

INGREDIENTS = Experiment(
    id="fairmdp/ingredients",
    title="Constrained cross-entropy with one thing changed between code and paper",
    arms={profile: _ingredients(profile) for profile in SETTINGS},
    seeds=SEEDS,
    horizon=ITERATIONS,
)

EXPERIMENTS = (FIGURE1, SWEEP, INGREDIENTS)
