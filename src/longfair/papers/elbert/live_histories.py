"""Two groups on two days, moved by the reader: a live world about Section 2.3 of ELBERT."""

from __future__ import annotations

from typing import Any

from longfair.figures import Figure, trajectories
from longfair.metrics import two_trajectories
from longfair.papers.elbert.histories import as_table

CROWD = 5
"""People in the large crowds of the two histories to begin with, as on the poster."""
MOST = 12
"""Most applications of a group on both days together."""


def data() -> dict[str, Any]:
    """Return the two histories, for the script."""
    pair = two_trajectories(CROWD)
    return {
        "groups": pair[0].groups,
        "most": MOST,
        "histories": [
            {"name": one.name, "supply": one.supply, "demand": one.demand} for one in pair
        ],
    }


def still() -> Figure:
    """Draw the two histories."""
    return trajectories(as_table(two_trajectories(CROWD)))
