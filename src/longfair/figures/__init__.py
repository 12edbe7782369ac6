"""Show: tidy tables in; a drawing, its alternative text and its data out.

Every plotting function returns a `Figure`.  Nothing here reads files or computes statistics:
intervals arrive as columns.
"""

from __future__ import annotations

from longfair.figures.claim_box import ClaimBox, claim_box
from longfair.figures.display import (
    Figure,
    Folded,
    Words,
    drawing,
    folded,
    offer,
    show,
    show_missing,
)
from longfair.figures.environment_pictures import policy_lines, policy_shares
from longfair.figures.group_rates import group_rates
from longfair.figures.learning_curves import curve_panels, learning_curves
from longfair.figures.line_chart import line_chart
from longfair.figures.source import Source, source_of
from longfair.figures.style import GROUPS, METHODS, LineStyle, group_style, method_style
from longfair.figures.trade_off import trade_off
from longfair.figures.trajectories import trajectories

__all__ = [
    "GROUPS",
    "METHODS",
    "ClaimBox",
    "Figure",
    "Folded",
    "LineStyle",
    "Source",
    "Words",
    "claim_box",
    "curve_panels",
    "drawing",
    "folded",
    "group_rates",
    "group_style",
    "learning_curves",
    "line_chart",
    "method_style",
    "offer",
    "policy_lines",
    "policy_shares",
    "show",
    "show_missing",
    "source_of",
    "trade_off",
    "trajectories",
]
