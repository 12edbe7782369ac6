"""How agents and policies without training are drawn: importing this introduces them to figures.

Styles of agents come from their register; those of policies that several pages show stand here.
"""

from __future__ import annotations

from dataclasses import astuple

from longfair.agents.register import agents
from longfair.figures.style import (
    BLACK,
    GREEN,
    GREY,
    METHODS,
    SKY,
    LineStyle,
    introduce,
)

__all__ = ["METHODS"]

WITHOUT_TRAINING = {
    "reject-all": LineStyle("reject all", GREY, "x", ":"),
    "accept-all": LineStyle("accept all", GREY, "+", ":"),
    "accept-half": LineStyle("accept half", GREY, "1", ":"),
    "threshold-3-3": LineStyle("threshold 3 / 3 (myopic)", BLACK, "v", ":"),
    "threshold-2-2": LineStyle("threshold 2 / 2", BLACK, "<", ":"),
    "threshold-1-1": LineStyle("threshold 1 / 1", BLACK, ">", ":"),
    "threshold-2-1": LineStyle("threshold 2 / 1", GREEN, "*", ":"),
    "equal-opportunity": LineStyle("equal-opportunity oracle", SKY, "P", ":"),
}

introduce(
    {
        entry.name: LineStyle(entry.label, *astuple(entry.style))
        for entry in agents().values()
        if entry.style is not None
    }
)
introduce(WITHOUT_TRAINING)
