"""Beyond FairQCM: an agent of the same family that shares as well as can be, fix by fix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from longfair.agents.fairqcm.presets import Recipe, WeightSearch
from longfair.papers.fairqcm.deep import (
    DESCRIPTIONS,
    REFERENCE_POLICIES,
    Sharing,
    config_of,
    counted,
    episode_length,
    world,
)
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.setting import Setting, World, Wrapper
from longfair.runs.experiment import Arm, Experiment
from longfair.settings import Count, validate

if TYPE_CHECKING:
    from longfair.papers.protocol import Snapshots
    from longfair.runs.checkpoints import Checkpoint

COPIES = 10
"""Training episodes that are played side by side; every copy's step counts."""

LAST_EPISODES: Mapping[str, int] = {"doughnuts": 500, "lending": 2000}
"""Fresh greedy episodes of the last policy, by problem: a missed margin is rare and costly."""


@dataclass(frozen=True)
class LedgerLearning:
    """How long an agent with a ledger learns; the rest says its recipe."""

    episodes: Count = 1000
    """Training episodes."""
    copies: Count = COPIES
    """Episodes that are played side by side. The policy then reached plays as many greedily."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def train(
        self, setting: Setting, seed: int, run: int, checkpoint: Checkpoint | None
    ) -> Snapshots:
        """Train; see `longfair.papers.fairqcm.deep_training.train_ledger`."""
        from longfair.papers.fairqcm.deep_training import train_ledger

        return train_ledger(setting, seed)

    def shortened(self, rollouts: int, episode_length: int) -> LedgerLearning:
        """Return the same for two bins of the curve."""
        return replace(self, episodes=20)


@dataclass(frozen=True)
class Searching:
    """In how many episodes a search tries weights; the rest says its `WeightSearch`."""

    episodes: Count = 1000

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def train(
        self, setting: Setting, seed: int, run: int, checkpoint: Checkpoint | None
    ) -> Snapshots:
        """Search; see `longfair.papers.fairqcm.deep_training.search_weights`."""
        from longfair.papers.fairqcm.deep_training import search_weights

        return search_weights(setting, seed)

    def shortened(self, rollouts: int, episode_length: int) -> Searching:
        """Return the same for two rounds of the longest."""
        return replace(self, episodes=200)


@dataclass(frozen=True)
class SharingAtLength(Sharing):
    """As many greedy episodes as training episodes, and many more of the last policy."""

    episodes: Count = COPIES
    draws: str = "curve first, one policy"

    rollouts: ClassVar[int] = 6


def observed(problem: str) -> World:
    """Compose what a ledger reads: the problem, the counts, the clock."""
    counts = Wrapper("full-memory", {"encoding": "counts"})
    return world(problem, (counts, Wrapper("elapsed-time")), smoothing=0.0)


def learned(
    problem: str, recipe: Recipe, episodes: int = 1000, last: int = 500, copies: int = COPIES
) -> Setting:
    """Return the settings of one recipe.

    Parameters
    ----------
    problem
        `"doughnuts"` or `"lending"`.
    recipe
        What the agent sees, imagines and learns.
    episodes
        Training episodes.
    last
        Fresh greedy episodes of the last policy.
    copies
        Training episodes that are played side by side.
    """
    return Setting(
        observed(problem),
        recipe,
        LedgerLearning(episodes, copies),
        SharingAtLength(final_episodes=last, counted=counted(problem), episodes=copies),
        episode_length(problem),
    )


def searched(problem: str, search: WeightSearch, episodes: int = 1000, last: int = 500) -> Setting:
    """Return the settings of a search for weights, with a greedy episode for each that it plays."""
    together = search.candidates * search.episodes
    return Setting(
        observed(problem),
        search,
        Searching(episodes),
        SharingAtLength(final_episodes=last, counted=counted(problem), episodes=together),
        episode_length(problem),
    )


def reference(problem: str, policy: str, episodes: int = 1000, last: int = 500) -> Setting:
    """Return the settings of a policy that needs no training, on the same episodes."""
    untrained, _ = REFERENCE_POLICIES[problem][policy]
    evaluating = SharingAtLength(final_episodes=last, counted=counted(problem))
    return Setting(observed(problem), replace(untrained, curve=episodes), None, evaluating)


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
    """Return FairQCM as published, as far as the agent with a ledger can be it.

    Different are: ten episodes side by side, then ten gradient steps in a row; minibatches of 256;
    imagined memories drawn when they are learned from; the greedy episodes are those of the
    learning network. The rungs below, `AUTHORS` and `DRAWN`, take these steps one after the other.
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


AUTHORS = ("fairqcm", "as_published")
"""First rung: the published agent in the authors' loop, the very runs of the paper's figures."""

DRAWN = "drawn"
"""Second rung: its imagined memories drawn when learned from, still one episode at a time."""


def ladder(problem: str) -> dict[str, tuple[Recipe, str]]:
    """Return the recipes of the agent with a ledger up to all fixes, each with what it adds.

    `AUTHORS` stands below them; `coded`, the habits of the authors' code, beside the third rung.
    """
    best, start = ALL_FIXES[problem], published(problem)
    steps: dict[str, tuple[dict[str, Any], str]] = {
        "published": (
            {"updates": COPIES},
            "ten episodes side by side, ten updates in a row",
        ),
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
    recipe = replace(start, updates=1)
    rungs = {DRAWN: (recipe, "imagined memories drawn when learned from; minibatches of 256")}
    for name, (changes, description) in steps.items():
        recipe = replace(recipe, **changes)
        rungs[name] = recipe, description
    return rungs


def coded(problem: str) -> tuple[Recipe, str]:
    """Return what stands beside the rung `published`: the imagined memories of the code."""
    recipe = replace(published(problem), granted_anyway=True)
    return recipe, "side by side, with the imagined memories of the authors' code"


def rungs(problem: str) -> list[tuple[str, str]]:
    """Return method and variant of every rung, from the published agent to all fixes."""
    return [AUTHORS, *((name, "ladder") for name in ladder(problem))]


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


COLUMNS: Mapping[str, tuple[int, ...]] = {"doughnuts": (0, 1), "lending": (0, 1, 2, 3, 4, 5, 6)}
"""What differs between people in the inputs of `Ledger.by_person`, by problem."""


def searches(problem: str) -> dict[str, tuple[WeightSearch, str]]:
    """Return the searches for the weights of a linear rule on the agent's own inputs.

    Chosen on runs with numbers from 1000 on, as the fixes were.
    """
    columns = COLUMNS[problem]
    return {
        "random-weights": (
            WeightSearch(columns),
            "a linear rule on the same inputs, the best of random weights",
        ),
        "cross-entropy": (
            WeightSearch(columns, candidates=20, elites=5),
            "a linear rule on the same inputs, weights by the cross-entropy method",
        ),
    }


def _taken(recipe: Recipe, *names: str) -> dict[str, Any]:
    return {name: getattr(recipe, name) for name in names}


# Experiments ------------------------------------------------------------------------------------

COMPLETE = {"doughnuts": "shortfall", "lending": "undiscounted"}
"""Last rung of each ladder: all fixes together."""

EPISODES = {"smoke": 20, "book": 1000}
SEEDS = {"smoke": 2, "book": 10}


def _arms(problem: str, profile: str) -> tuple[Arm, ...]:
    episodes = EPISODES[profile]
    last = 100 if profile == "smoke" else LAST_EPISODES[problem]
    recipes = {"ladder": {"coded": coded(problem), **ladder(problem)}, "without": without(problem)}
    trained = [
        Arm(
            name,
            variant,
            learned(
                problem,
                _shortened(recipe, profile),
                episodes,
                last,
                copies=1 if name == DRAWN else COPIES,
            ),
            train_and_evaluate,
            description,
        )
        for variant, found in recipes.items()
        for name, (recipe, description) in found.items()
    ]
    # The same settings as in `longfair.papers.fairqcm.deep`: its runs are taken over.
    authors = Arm(
        *AUTHORS,
        config_of(problem, *AUTHORS, profile),
        train_and_evaluate,
        f"as published: {DESCRIPTIONS[AUTHORS[0]]}",
    )
    sought = [
        Arm(
            name,
            "search",
            searched(problem, _shortened_search(search, profile), episodes, last),
            train_and_evaluate,
            description,
        )
        for name, (search, description) in searches(problem).items()
    ]
    references = [
        Arm(
            name,
            "reference",
            reference(problem, name, episodes, last),
            train_and_evaluate,
            description,
        )
        for name, (_, description) in REFERENCE_POLICIES[problem].items()
    ]
    return (authors, *trained, *sought, *references)


def _shortened(recipe: Recipe, profile: str) -> Recipe:
    """Return the recipe for a profile; `smoke` learns little, for it plays little."""
    return replace(recipe, updates=1, batch=32) if profile == "smoke" else recipe


def _shortened_search(search: WeightSearch, profile: str) -> WeightSearch:
    """Return the search for a profile; `smoke` tries fewer candidates in a round."""
    return replace(search, candidates=min(search.candidates, 4)) if profile == "smoke" else search


def _imagining(problem: str, profile: str) -> tuple[Arm, ...]:
    """Return all fixes, with and without what is imagined: the arms that need more runs."""
    names = {f"{COMPLETE[problem]}.ladder", "memories.without"}
    if problem == "lending":
        names.add("ledgers.without")
    return tuple(arm for arm in _arms(problem, profile) if arm.name in names)


def _experiment(
    name: str,
    problem: str,
    title: str,
    arms: Callable[[str, str], tuple[Arm, ...]] = _arms,
    seeds: Mapping[str, int] = SEEDS,
) -> Experiment:
    return Experiment(
        id=f"fairqcm/{name}-{problem}",
        title=title,
        arms={profile: arms(problem, profile) for profile in EPISODES},
        seeds=seeds,
        horizon={
            profile: episodes * episode_length(problem) for profile, episodes in EPISODES.items()
        },
    )


BEYOND_DOUGHNUTS = _experiment(
    "beyond",
    "doughnuts",
    "Doughnuts, from the published FairQCM to an agent that shares nearly optimally",
)
BEYOND_LENDING = _experiment(
    "beyond",
    "lending",
    "Lending, from the published FairQCM to an agent that lends nearly optimally",
)
MORE_SEEDS = {"smoke": 2, "book": 30}
IMAGINING_DOUGHNUTS, IMAGINING_LENDING = (
    _experiment(
        "imagining",
        problem,
        f"{problem.capitalize()}, all fixes: what imagining adds, over more runs",
        _imagining,
        MORE_SEEDS,
    )
    for problem in ("doughnuts", "lending")
)

EXPERIMENTS = (BEYOND_DOUGHNUTS, BEYOND_LENDING, IMAGINING_DOUGHNUTS, IMAGINING_LENDING)
