"""Reading the tables a caller gives, with a one-line message when a column is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from longfair.errors import UsageError
from longfair.figures.style import LineStyle, label, method_style

Styles = Mapping[str, LineStyle] | None
"""Styles of methods the library does not know."""

Arms = dict[tuple[str, str], tuple[LineStyle, pd.DataFrame]]
"""Style and rows by method and variant."""

Policies = list[tuple[LineStyle, "pd.Series[float]"]]
"""Style and row of policies that learn nothing."""


def require(frame: pd.DataFrame, columns: Sequence[str], name: str) -> pd.DataFrame:
    """Return the frame; refuse one that is empty or incomplete."""
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise UsageError(
            f"{name} lacks the column {', '.join(missing)}; it has {', '.join(frame.columns)}"
        )
    if frame.empty:
        raise UsageError(f"{name} has no rows; give at least one")
    if frame[list(columns)].isna().any(axis=None):
        raise UsageError(f"{name} has missing values; drop or fill those rows first")
    return frame


def arms(frame: pd.DataFrame, styles: Styles) -> Arms:
    """Part a frame by method and variant, in order of appearance.

    Without a column `variant` there is one, whose name is empty. Labels of styles name the variant
    where methods come in several.
    """
    if "variant" not in frame.columns:
        frame = frame.assign(variant="")
    several = frame.loc[frame["variant"] != "reference", "variant"].nunique() > 1
    found: Arms = {}
    for (method, variant), rows in frame.groupby(["method", "variant"], sort=False):
        arm = str(method), str(variant)
        style = method_style(*arm, styles)
        found[arm] = replace(style, label=label(style, arm[1], several=several)), rows
    return found


def policies(references: pd.DataFrame | None, styles: Styles) -> Policies:
    """Style the rows of a table with the column method; none where there is no table."""
    rows = [] if references is None else [row for _, row in references.iterrows()]
    return [(method_style(str(row["method"]), "", styles), row) for row in rows]
