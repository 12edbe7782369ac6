"""What was found, in one picture and a few sentences: the landing page of the book.

Every number is read from stored results, or from exact ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from longfair.papers import registry
from longfair.papers.elbert import lending_results, world_results
from longfair.papers.fairmdp.cross_entropy_results import LOOK as SEARCHES
from longfair.papers.fairmdp.cross_entropy_results import frontier
from longfair.papers.fairmdp.exact_results import stored
from longfair.papers.fairqcm.deep_results import DOUGHNUTS_LOOK
from longfair.papers.fppo.results import HARDLY_LENDING, LENDING
from longfair.papers.page import Look, Page, Runs
from longfair.papers.styles import METHODS
from longfair.papers.ucbfair.results import POPULATION as POPULATION_LOOK
from longfair.runs.evidence import REFERENCE
from longfair.runs.statistics import estimate, share
from longfair.runs.store import Store
from longfair.runs.tidy import of_arm, written


@dataclass(frozen=True)
class Finding:
    """One sentence with a number, the page that explains it, and the claim that was judged."""

    sentence: str
    notebook: str
    """Path below `notebooks`, without its ending."""
    claim: str
    """Id of the claim whose verdict the sentence tells."""
    further: str = ""
    """A sentence without a number that another page explains."""
    further_notebook: str = ""
    """That page."""


@dataclass(frozen=True)
class World:
    """A world of ELBERT's in the picture."""

    title: str
    experiment: str
    profile: str
    look: Look
    """That of its page, from which names are taken."""
    fixed: tuple[str, ...]
    """Policies without training."""


ELBERT_WORLDS = (
    World(
        "Bank loans (ELBERT)",
        "elbert/lending",
        "paper",
        lending_results.LOOK,
        ("threshold-2-1", "static-optimum"),
    ),
    World(
        "Infections, harder (ELBERT)",
        "elbert/infectious-harder",
        "book",
        world_results.INFECTIOUS,
        ("static-optimum", "highest-degree", "vaccinate-then-waste"),
    ),
    World(
        "Attention, harder (ELBERT)",
        "elbert/attention-harder",
        "book",
        world_results.ATTENTION_HARDER,
        ("static-optimum",),
    ),
)


@dataclass(frozen=True)
class Shown:
    """A world of another paper in the picture."""

    title: str
    experiment: str
    axes: tuple[str, str]
    metrics: tuple[tuple[str, float, float], tuple[str, float, float]]
    """To the right and up: a metric, from what it is counted, and 1, or -1 for what is less."""
    look: Look
    """That of its page, from which names are taken."""
    arms: Mapping[tuple[str, str], str]
    """Method and variant to kind."""
    names: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Method and variant to its name where two variants are shown."""


F_PPO_LENDING = Shown(
    "Bank loans (F-PPO)",
    "fppo/lending",
    ("distance of the groups' scores", "cash at the end"),
    (("end_distance", 0.0, 1.0), ("end_cash", 0.0, 1.0)),
    LENDING,
    {
        ("ppo", "as_coded"): "reward",
        ("a-ppo", "as_coded"): "others",
        ("f-ppo-l", "as_coded"): "paper",
        ("f-ppo", "as_coded"): "paper",
        ("threshold-2-2", REFERENCE): "fixed",
    },
)

F_PPO_BY_ITS_FIGURE = replace(
    F_PPO_LENDING,
    axes=("gap that the paper's figure plots", F_PPO_LENDING.axes[1]),
    metrics=(("end_long_term_gap", 0.0, 1.0), F_PPO_LENDING.metrics[1]),
)
"""The same world by the distance of the paper's figure, in place of that of its text."""

DOUGHNUTS = Shown(
    "Doughnuts (FairQCM)",
    "fairqcm/doughnuts",
    ("doughnuts wasted", "welfare of the counts"),
    (("allocated", 100.0, -1.0), ("welfare", 0.0, 1.0)),
    DOUGHNUTS_LOOK,
    {
        **{(name, "as_coded"): "others" for name in ("full", "min", "reset", "rnn")},
        ("fairqcm", "as_coded"): "paper",
        ("random-present", REFERENCE): "fixed",
    },
)

POPULATION = Shown(
    "Population (L-UCBFair)",
    "ucbfair/synthetic",
    ("disparity", "minus the loss"),
    (("disparity_dp", 0.0, 1.0), ("loss", 0.0, -1.0)),
    POPULATION_LOOK,
    {
        ("r-td3", "as_published"): "paper",
        ("l-ucbfair", "calibrated"): "paper",
        ("l-ucbfair", "as_published"): "paper",
        ("random", REFERENCE): "fixed",
        ("constant", REFERENCE): "fixed",
        ("optimum", REFERENCE): "optimum",
    },
    {
        ("l-ucbfair", "calibrated"): "L-UCBFair, our numbers",
        ("l-ucbfair", "as_published"): "L-UCBFair, the theorem's numbers",
    },
)

KINDS = {"g-ppo": "reward", "r-ppo": "others", "a-ppo": "others", "elbert-po": "paper"}
"""Method of ELBERT's to its kind in the picture."""


def points() -> pd.DataFrame:
    """Return the points of the picture, as `figures.worlds` takes them: medians of runs as coded.

    A world without results is left out.
    """
    parts = [*(_elbert(world) for world in ELBERT_WORLDS), _loans()]
    parts += [_world(world) for world in (F_PPO_LENDING, DOUGHNUTS, POPULATION)]
    return pd.concat([part for part in parts if len(part)], ignore_index=True)


def by_its_figure(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points with F-PPO's bank loans by the distance of its figure.

    Parameters
    ----------
    points
        As from `points`, where they are by the distance of the text.
    """
    others = points[points["world"] != F_PPO_LENDING.title]
    return pd.concat([others, _world(F_PPO_BY_ITS_FIGURE)], ignore_index=True)


def rules_ahead(points: pd.DataFrame) -> tuple[int, int]:
    """Count the worlds in which one rule is ahead of the paper's method on both axes.

    Parameters
    ----------
    points
        As from `points`.

    Returns
    -------
    tuple of int
        In how many worlds some fixed rule is above and to the left of every point of the paper's
        method, and how many worlds have such rules.
    """
    ahead = worlds = 0
    for _, own in points.groupby("world"):
        rules, learned = (own[own["kind"] == kind] for kind in ("fixed", "paper"))
        if len(rules) and len(learned):
            fairer = rules["right"] < learned["right"].min()
            better = rules["height"] > learned["height"].max()
            ahead += bool((fairer & better).any())
            worlds += 1
    return ahead, worlds


def _elbert(world: World) -> pd.DataFrame:
    runs = _runs(world.experiment, world.profile)
    arms = [(method, "as_coded", kind, METHODS[method].label) for method, kind in KINDS.items()]
    names = world.look.names
    arms += [(policy, REFERENCE, "fixed", names[policy]) for policy in world.fixed]
    rows = []
    for method, variant, kind, name in arms:
        if len(runs.results) and runs.has((method, variant)):
            last = runs.last_of(method, variant)
            rows.append((kind, name, last["bias"].median(), last["reward"].median()))
    return _placed(rows, world.title, "bias", "reward per step")


def _world(world: Shown) -> pd.DataFrame:
    """Return the medians of the arms of a world that are stored, as its axes show them."""
    runs = _runs(world.experiment, "book")
    rows = []
    for (method, variant), kind in world.arms.items():
        name = world.names.get((method, variant), world.look.names[method])
        if len(runs.results) and runs.has((method, variant)):
            last = runs.last_of(method, variant)
            right, height = (
                start + sign * float(last[metric].median()) for metric, start, sign in world.metrics
            )
            rows.append((kind, name, right, height))
    return _placed(rows, world.title, *world.axes)


def _loans() -> pd.DataFrame:
    searches: dict[str, tuple[str, ...]] = {"fairmdp/figure1": ("race-blind", "cce-dp")}
    tolerances = registry.experiment("fairmdp/tolerances").methods("book")
    searches["fairmdp/tolerances"] = tuple(name for name in tolerances if name.startswith("cce-dp"))
    rows = []
    for experiment, methods in searches.items():
        runs = _runs(experiment, "book")
        for method in methods:
            if len(runs.results) and runs.has((method, "as_coded")):
                last = runs.last_of(method, "as_coded")
                kind = "reward" if method == "race-blind" else "paper"
                name = SEARCHES.names["race-blind" if kind == "reward" else "cce-dp"]
                rows.append((kind, name, last["gap_dp"].median(), last["profit"].median()))
    if rows:
        widest = 1.1 * max(right for _, _, right, _ in rows)
        corners = frontier(stored(Store()), "dp", "as_coded")
        corners = corners[corners["gap"] <= widest]
        rows += [("optimum", "exact optimum", *corner) for corner in corners.to_numpy()]
    return _placed(rows, "Individual loans (fair MDPs)", "gap in lending rates", "profit")


def _placed(
    rows: list[tuple[str, str, float, float]], world: str, across: str, up: str
) -> pd.DataFrame:
    found = pd.DataFrame(rows, columns=["kind", "name", "right", "height"])
    return found.assign(world=world, across=across, up=up)


def findings() -> list[Finding]:
    """Return what was found, one sentence a paper; none without its results."""
    return list(_findings())


def _findings() -> Iterator[Finding]:
    lending = _runs("elbert/lending", "paper")
    learned, rule = ("elbert-po", "as_coded"), ("static-optimum", REFERENCE)
    if lending.has(learned, rule):
        yield Finding(
            "In bank loans ELBERT-PO is the fairest of four learners, as its paper says, and two "
            "thresholds found by a search are fairer on long episodes, and earn "
            f"{lending.less('reward', rule, learned, 4)} more per applicant.",
            "elbert/lending",
            "elbert-static-lending",
        )
    loans = _runs("fppo/lending", "book")
    if loans.has(("f-ppo", "as_coded")):
        cash = of_arm(loans.results, "end_cash", "f-ppo", "as_coded")
        yield Finding(
            f"In bank loans, as coded, a share of {written(share(cash < HARDLY_LENDING), 2)} of "
            "the runs of F-PPO ends as a bank that hardly lends.",
            "fppo/lending",
            "fppo-lends-to-nobody",
            "The term that is to close its long-term gap cannot see how far apart the groups "
            "begin.",
            "fppo/distance",
        )
    yield from _with_memory()
    searched = _runs("fairmdp/figure1", "book")
    if searched.has(("cce-dp", "as_coded")):
        yield Finding(
            "The fair MDPs' search keeps its limit, as its paper says, up to rounding, "
            f"but, as coded, misses a share of {_profit_left(searched)} of the profit of the best "
            "rule at this gap, which evens out at the end.",
            "fairmdp/cross_entropy",
            "fairmdp-optimum-coded",
        )
    yield from _on_adult()


def _with_memory() -> Iterator[Finding]:
    doughnuts = _runs("fairqcm/doughnuts", "book")
    tables = _runs("fairqcm/tabular", "book")
    rule = ("random-present", REFERENCE)
    if doughnuts.has(("fairqcm", "as_coded"), rule) and tables.has(("fairqcm", "as_published")):
        yield Finding(
            "FairQCM learns fastest of its paper's methods in tables, as the paper says, but with "
            "networks none of them reaches giving doughnuts at random to somebody who is there, "
            "and FairQCM, as coded, scores "
            f"{doughnuts.less('return', rule, ('fairqcm', 'as_coded'), 0)} less.",
            "fairqcm/doughnuts",
            "fairqcm-doughnuts-memoryless",
        )


def _profit_left(searched: Runs) -> str:
    """Write which share of the profit of the exact optimum at its gap a search does not make."""
    last = searched.last_of("cce-dp", "as_coded")
    corners = frontier(stored(Store()), "dp", "as_coded")
    best = np.interp(last["gap_dp"], corners["gap"], corners["profit"])
    return written(estimate(1.0 - last["profit"] / best, name="profit left"), 3)


def _on_adult() -> Iterator[Finding]:
    adult = _runs("ucbfair/adult", "book")
    drawn, learned = ("random", REFERENCE), ("l-ucbfair", "calibrated")
    if adult.has(learned, drawn):
        yield Finding(
            "On census data, with fitness chosen to allow the paper's figure, L-UCBFair loses less "
            "than every short-sighted rule, as its paper says, but cannot be told from random "
            f"thresholds (loss difference {adult.less('loss', learned, drawn, 4)}), which it "
            "beats with Gaussian features.",
            "ucbfair/adult",
            "ucbfair-like-random-adult",
        )


def _runs(experiment: str, profile: str) -> Runs:
    return Page(profile, experiment).of(experiment)
