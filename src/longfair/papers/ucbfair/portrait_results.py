"""Portraits of learned policies, from the experiments `ucbfair/portraits-...`."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from longfair.figures import Figure
from longfair.figures.phase_portrait import phase_portrait
from longfair.papers.page import Runs
from longfair.papers.ucbfair.flow import MOMENTS, SIZE, stored_flow
from longfair.runs.tidy import ArmName

SHADES = {"loss": "loss of the step", "disparity": "disparity of the step"}
"""What a portrait is shaded by, in words."""

IN_WORDS = {"begin": "first step", "middle": "halfway"}
"""Moments of an episode, as titles of panels have them."""

STATES_IN_WORDS = (
    f"Each policy is of one run, which stored its moves in {SIZE} by {SIZE} states; the paper's "
    "100 by 100 would take new runs."
)
"""What captions of these portraits say."""


def learned_portraits(
    runs: Runs, arms: Mapping[ArmName, str], shade: str = "loss"
) -> Figure | None:
    """Draw where learned policies move populations, at the first step and halfway.

    Parameters
    ----------
    runs
        Runs of a portrait's experiment, one of each arm.
    arms
        Method and variant to what the panels call it.
    shade
        A key of `SHADES`.

    Returns
    -------
    Figure or None
        Two panels an arm; None if none of them is stored. Arms without a run are left out.
    """
    results, parts = runs.results, []
    for (method, variant), title in arms.items():
        if results.empty or not runs.has((method, variant)):
            continue
        own = results[(results["method"] == method) & (results["variant"] == variant)]
        own = own[own["seed"] == own["seed"].min()]
        parts += [
            stored_flow(own, moment, shade).assign(panel=f"{title}, {IN_WORDS[moment]}")
            for moment in MOMENTS
        ]
    if not parts:
        return None
    flows = pd.concat(parts, ignore_index=True)
    return phase_portrait(flows, shade=SHADES[shade], axes="qualified in group {}")


def rising(runs: Runs, method: str, variant: str) -> float:
    """Return the share of populations whose rates both rise with the first step."""
    return runs.mean("flow_up", method, variant)
