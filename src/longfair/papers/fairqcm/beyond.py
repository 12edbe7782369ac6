"""Beyond FairQCM: an agent of the same family that shares as well as can be, fix by fix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from gymnasium.vector import VectorEnv

from longfair.agents.evaluation import acting
from longfair.agents.fairqcm.deep_q_learning import GreedyPolicy
from longfair.agents.fairqcm.ledger_dqn import LedgerDQN
from longfair.agents.fairqcm.ledgers import DoughnutLedger, Ledger, LoanLedger
from longfair.agents.fairqcm.presets import Recipe
from longfair.envs.elapsed import ElapsedTime
from longfair.envs.memory import FullMemory
from longfair.papers.fairqcm.deep import REFERENCE_POLICIES, make_problem, measured, play
from longfair.runs.experiment import Arm, Experiment

COPIES = 10
"""Training episodes that are played side by side; every copy's step counts."""

LAST_EPISODES: Mapping[str, int] = {"doughnuts": 500, "lending": 2000}
"""Fresh greedy episodes of the last policy, by problem: a missed margin is rare and costly."""

LEDGERS: Mapping[str, Ledger] = {"doughnuts": DoughnutLedger(), "lending": LoanLedger()}
"""By problem."""


@dataclass(frozen=True)
class LedgerConfig:
    """One learner on one problem."""

    problem: str
    """`"doughnuts"` or `"lending"`."""
    recipe: Recipe = field(default_factory=Recipe)
    episodes: int = 1000
    """Training episodes."""
    last_episodes: int = 500
    """Fresh greedy episodes of the last policy."""


@dataclass(frozen=True)
class ReferenceConfig:
    """One policy that needs no training."""

    problem: str
    policy: str
    episodes: int = 1000
    last_episodes: int = 500


def observed(problem: str, copies: int) -> VectorEnv[Any, Any, Any]:
    """Compose what a ledger reads: the problem, the counts, the clock."""
    return ElapsedTime(FullMemory(make_problem(problem, copies, smoothing=0.0), encoding="counts"))


def train_and_evaluate(config: LedgerConfig, seed: int) -> pd.DataFrame:
    """Train an agent and play a greedy episode for every training episode.

    Parameters
    ----------
    config
        What to run.
    seed
        Number of the run. Training and evaluation draw from disjoint streams made from it, the
        same for every method.

    Returns
    -------
    pandas.DataFrame
        The result table; see `longfair.papers.fairqcm.deep.measured`. Training episodes end
        `COPIES` at a time, and the policy then reached plays as many greedy episodes.
    """
    training, evaluation = (int(s) for s in np.random.SeedSequence(seed).generate_state(2))
    ledger = LEDGERS[config.problem]
    agent = LedgerDQN(
        observed(config.problem, COPIES), ledger, config.recipe, seed=training % 2**31
    )
    policies: list[GreedyPolicy] = []

    def keep(agent: LedgerDQN) -> None:
        policies.append(agent.greedy_policy())

    agent.learn(config.episodes * ledger.length, keep)
    curve = play_greedily(policies, COPIES, config.problem, _stream(evaluation, 1))
    last = play_greedily(
        policies[-1:], config.last_episodes, config.problem, _stream(evaluation, 2)
    )
    return measured(curve, last)


def play_greedily(policies: list[GreedyPolicy], episodes: int, problem: str, seed: int) -> Any:
    """Let every policy play some episodes, all side by side; see `deep.play`."""

    def act(observation: Any, info: dict[str, Any]) -> Any:
        parts = np.split(observation, len(policies))
        return np.concatenate(
            [policy.act(part)[0] for policy, part in zip(policies, parts, strict=True)]
        )

    return play(act, observed(problem, episodes * len(policies)), seed)


def evaluate_reference(config: ReferenceConfig, seed: int) -> pd.DataFrame:
    """Evaluate a policy that needs no training, on the episodes the learned ones get."""
    _, evaluation = (int(s) for s in np.random.SeedSequence(seed).generate_state(2))
    policy = REFERENCE_POLICIES[config.problem][config.policy].make(_stream(evaluation, 3))
    curve, last = (
        play(acting(policy), observed(config.problem, episodes), _stream(evaluation, number))
        for number, episodes in ((1, config.episodes), (2, config.last_episodes))
    )
    return measured(curve, last)


def _stream(seed: int, index: int) -> int:
    """Return an independent seed of at most 32 bits."""
    return int(np.random.SeedSequence((seed, index)).generate_state(1)[0])


# Recipes ----------------------------------------------------------------------------------------

ALL_FIXES: Mapping[str, Recipe] = {
    "doughnuts": Recipe(),
    "lending": Recipe(reward_unit=20.0, target_every=250, shortfall=False),
}
"""All fixes together, by problem. Chosen on runs with numbers from 1000 on.

Equal groups have no gap, so that lending rewards count from equal shares as they are.
"""

PUBLISHED_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "doughnuts": {"kept": 200, "hidden": (32, 16, 8), "target_every": 1000},
    "lending": {"kept": 730, "hidden": (32, 8), "target_every": 100},
}
"""What differs between the problems in the paper. Kept are about as many real steps as the paper's
buffer spans."""

REAL_SHARE: Mapping[str, float] = {"doughnuts": 1 / 33, "lending": 1 / 11}
"""Real transitions among those that the paper's buffer keeps."""


def published(problem: str) -> Recipe:
    """Return FairQCM as published, as far as this agent can be it.

    Different are: ten episodes side by side; minibatches of 256; imagined memories drawn when they
    are learned from; the greedy episodes are those of the learning network.
    """
    return Recipe(
        imagined="nearby",
        real_share=REAL_SHARE[problem],
        clock=False,
        by_person=False,
        shortfall=False,
        double=False,
        discount=0.95,
        learning_rate=1e-4,
        last_rate=1.0,
        reward_unit=1.0,
        updates=COPIES,
        **PUBLISHED_SETTINGS[problem],
    )


def ladder(problem: str) -> dict[str, tuple[Recipe, str]]:
    """Return the recipes from the authors' code up to all fixes, each with what it adds."""
    best, start = ALL_FIXES[problem], published(problem)
    steps: dict[str, tuple[dict[str, Any], str]] = {
        "published": ({"granted_anyway": False}, "imagined memories book what really happened"),
        "clock": ({"clock": True}, "sees the time left and expects nothing after the end"),
        "steps": (
            _taken(best, "learning_rate", "last_rate", "reward_unit", "updates", "target_every"),
            "fewer and larger gradient steps, which shrink; rewards in larger units",
        ),
        "replay": (_taken(best, "kept"), "learns from all steps so far"),
        "by-person": (
            _taken(best, "by_person", "hidden"),
            "one network that values everybody by the same, invariant numbers",
        ),
        "ledgers": (
            _taken(best, "imagined", "real_share"),
            "imagines any ledger: counts, profit and clock",
        ),
        "double": (_taken(best, "double"), "double Q-learning"),
        "undiscounted": (_taken(best, "discount"), "does not discount"),
        "shortfall": (
            _taken(best, "shortfall"),
            "rewards count from what equal shares would give",
        ),
    }
    if problem == "lending":
        del steps["shortfall"]
    recipe = replace(start, granted_anyway=True)
    rungs = {"coded": (recipe, "FairQCM with the imagined memories of the authors' code")}
    for name, (changes, description) in steps.items():
        recipe = replace(recipe, **changes)
        rungs[name] = recipe, description
    return rungs


def without(problem: str) -> dict[str, tuple[Recipe, str]]:
    """Return all fixes but one, for each."""
    best, start = ALL_FIXES[problem], published(problem)
    steps: dict[str, tuple[dict[str, Any], str]] = {
        "memories": ({"imagined": "nothing"}, "imagines nothing"),
        "ledgers": (
            _taken(start, "imagined", "real_share"),
            "imagines only the memories of the paper",
        ),
        "published": (
            {**_taken(start, "imagined", "real_share"), "granted_anyway": True},
            "imagines the memories of the authors' code",
        ),
        "clock": (
            {**_taken(start, "imagined", "real_share"), "clock": False, "discount": 0.95},
            "does not see the time, and therefore discounts and imagines no clock",
        ),
        "steps": (_taken(start, "learning_rate", "last_rate"), "small gradient steps"),
        "replay": (_taken(start, "kept"), "learns from the latest steps only"),
        "by-person": (
            _taken(start, "by_person", "hidden"),
            "one network that sees everything in bits",
        ),
        "double": (_taken(start, "double"), "no double Q-learning"),
        "undiscounted": (_taken(start, "discount"), "discounts as the paper does"),
        "shortfall": (_taken(start, "shortfall"), "rewards as they are"),
    }
    if problem == "lending":
        del steps["shortfall"]
    return {
        name: (replace(best, **changes), f"all fixes, but {description}")
        for name, (changes, description) in steps.items()
    }


def _taken(recipe: Recipe, *names: str) -> dict[str, Any]:
    return {name: getattr(recipe, name) for name in names}


# Experiments ------------------------------------------------------------------------------------

COMPLETE = {"doughnuts": "shortfall", "lending": "undiscounted"}
"""Last rung of each ladder: all fixes together."""

EPISODES = {"smoke": 40, "book": 1000}
SEEDS = {"smoke": 2, "book": 10}


def _arms(problem: str, profile: str) -> tuple[Arm, ...]:
    episodes = EPISODES[profile]
    last = 100 if profile == "smoke" else LAST_EPISODES[problem]
    learned = [
        Arm(
            name,
            variant,
            LedgerConfig(problem, _shortened(recipe, profile), episodes, last),
            train_and_evaluate,
            description,
        )
        for variant, recipes in (("ladder", ladder(problem)), ("without", without(problem)))
        for name, (recipe, description) in recipes.items()
    ]
    references = [
        Arm(
            name,
            "reference",
            ReferenceConfig(problem, name, episodes, last),
            evaluate_reference,
            policy.description,
        )
        for name, policy in REFERENCE_POLICIES[problem].items()
    ]
    return (*learned, *references)


def _shortened(recipe: Recipe, profile: str) -> Recipe:
    """Return the recipe for a profile; `smoke` learns little, for it plays little."""
    return replace(recipe, updates=1, batch=32) if profile == "smoke" else recipe


def _experiment(problem: str, title: str) -> Experiment:
    return Experiment(
        id=f"fairqcm/beyond-{problem}",
        title=title,
        arms={profile: _arms(problem, profile) for profile in EPISODES},
        seeds=SEEDS,
        horizon={
            profile: episodes * LEDGERS[problem].length for profile, episodes in EPISODES.items()
        },
    )


BEYOND_DOUGHNUTS = _experiment(
    "doughnuts", "Doughnuts, from the authors' FairQCM to an agent that shares nearly optimally"
)
BEYOND_LENDING = _experiment(
    "lending", "Lending, from the authors' FairQCM to an agent that lends nearly optimally"
)

EXPERIMENTS = (BEYOND_DOUGHNUTS, BEYOND_LENDING)
