"""Several variants of a method in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from longfair.figures import LineStyle
from longfair.figures.style import BLUE, ORANGE, PURPLE, SKY, VERMILION
from longfair.papers.page import Runs
from longfair.runs.evidence import REFERENCE
from longfair.runs.tidy import ArmName

STYLES = (
    LineStyle("", BLUE, "o"),
    LineStyle("", VERMILION, "s"),
    LineStyle("", SKY, "D", (0, (3, 1, 1, 1))),
    LineStyle("", ORANGE, "^", (0, (5, 1.5))),
    LineStyle("", PURPLE, "v"),
)
"""Styles of the arms, in their order."""


def arms_as_methods(runs: Runs, name: str, arms: Sequence[ArmName]) -> Runs:
    """Return runs in which every arm counts as a method, so that one figure can hold them all.

    Parameters
    ----------
    runs
        The runs of one experiment.
    name
        Takes the place of the variant.
    arms
        The arms to keep, at most as many as there are `STYLES`. Policies without training are
        kept, too.

    Returns
    -------
    Runs
        Its methods are called like `"full with_time"`, and labelled in the words of the look.
    """
    names = runs.look.names
    styles = {
        " ".join(arm): replace(style, label=", ".join(names.get(part, part) for part in arm))
        for arm, style in zip(arms, STYLES, strict=False)
    }
    rows = runs.results.astype({"method": str, "variant": str})
    called = rows["method"] + " " + rows["variant"]
    parts = [rows[called == arm].assign(method=arm, variant=name) for arm in styles]
    untrained = rows[rows["variant"] == REFERENCE]
    look = replace(runs.look, styles={**runs.look.styles, **styles})
    return replace(runs, look=look).showing(pd.concat([*parts, untrained], ignore_index=True))
