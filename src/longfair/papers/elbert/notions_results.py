"""What the page on extensions of ELBERT-PO shows: other notions, and a demand that is protected."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from longfair.figures import Figure, LineStyle
from longfair.figures.style import BLUE, GREEN, ORANGE, PURPLE, SKY
from longfair.papers.elbert.measures import ALL_GROUPS
from longfair.papers.elbert.notion_wrappers import NOTIONS
from longfair.papers.elbert.notions import ASPIRATIONS, DEMAND_WEIGHTS
from longfair.papers.page import Look, Runs
from longfair.runs import tidy

NOTIONS_SHOWN: tidy.Quantities = {
    "reward": ("reward", 3),
    **{
        f"{notion.replace('-', '_')}_bias": (f"gap in {notion.replace('-', ' ')}", 3)
        for notion in NOTIONS
    },
}
"""What is shown of every method that was trained towards a notion."""

DEMAND_SHOWN: tidy.Quantities = {
    "reward": ("reward", 3),
    "bias": ("bias", 3),
    "demand_1": ("demand of group 1", 4),
}
"""What is shown of methods that protect the demand of group 1."""

NOTIONS_LOOK = Look(
    styles={
        f"elbert-po-{aspiration}": LineStyle(aspiration.replace("-", " "), colour, marker)
        for aspiration, colour, marker in zip(
            ASPIRATIONS, (SKY, PURPLE, ORANGE, GREEN), "osD^", strict=True
        )
    },
    variants={
        "g-ppo-short": "G-PPO",
        **{
            f"elbert-po-{aspiration}-short": aspiration.replace("-", " ")
            for aspiration in ASPIRATIONS
        },
    },
    axes={"reward": "reward per step"}
    | {
        f"{rate.replace(' ', '_')}_bias": f"gap in the {rate} rate"
        for rate in ("true positive", "acceptance", "accuracy")
    },
)
"""How runs trained towards notions appear."""

DEMAND_LOOK = Look(
    styles={
        f"elbert-po-demand-{weight}": LineStyle(f"weight {weight}", colour, marker)
        for weight, colour, marker in zip(
            DEMAND_WEIGHTS, (BLUE, SKY, PURPLE, ORANGE), "^osD", strict=True
        )
    },
    axes={"reward": "reward per step", "demand_1": "demand of group 1 lost"},
    across=("reward", "demand_1"),
    median=True,
)
"""How runs that protect a demand appear; with a weight of ten they are of two kinds."""


def by_length(runs: Runs) -> tuple[Runs, Runs]:
    """Part runs by the length of the episodes they were evaluated on: long, and short."""
    methods = runs.experiment.methods(runs.profile)
    short = [method for method in methods if method.endswith("-short")]
    return runs.only(*(set(methods) - set(short))), runs.only(*short)


def with_demand(runs: Runs) -> Runs:
    """Treat the demand of group 1 as a metric of the whole run."""
    found = runs.results
    here = (found["metric"] == "demand") & (found["group"] == 1)
    metric = found["metric"].astype(str).mask(here, "demand_1")
    return runs.showing(found.assign(metric=metric, group=found["group"].mask(here, ALL_GROUPS)))


def demand_pair(weight: int) -> tuple[tidy.ArmName, tidy.ArmName]:
    """Name the arm with a weight of the demand, and the one without."""
    return (f"elbert-po-demand-{weight}", "as_coded"), ("elbert-po-demand-0", "as_coded")


def demand_lost(runs: Runs, lenders: Runs, beside: Sequence[str]) -> Figure | None:
    """Draw reward against what is missing of the demand under a lender who refuses all.

    Parameters
    ----------
    runs, lenders
        As from `with_demand`: learned runs, and lenders that need no training.
    beside
        Lenders to draw as points with names.

    Returns
    -------
    Figure or None
        None without runs.
    """
    if runs.results.empty or lenders.results.empty:
        return None
    most = lenders.mean("demand_1", "reject-all")
    points = pd.DataFrame(
        {
            "method": list(beside),
            "reward": [lenders.mean("reward", lender) for lender in beside],
            "bias": [most - lenders.mean("demand_1", lender) for lender in beside],
        }
    )
    is_demand = runs.results["metric"] == "demand_1"
    lost = runs.results["value"].mask(is_demand, most - runs.results["value"])
    return runs.showing(runs.results.assign(value=lost)).scatter_figure("as_coded", points=points)
