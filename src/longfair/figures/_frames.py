"""Reading the tables a caller gives, with a one-line message when a column is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from longfair.errors import UsageError


def require(frame: pd.DataFrame, columns: Sequence[str], name: str) -> pd.DataFrame:
    """Return the frame with a `variant` column; refuse a frame that is empty or incomplete."""
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise UsageError(
            f"{name} lacks the column {', '.join(missing)}; it has {', '.join(frame.columns)}"
        )
    if frame.empty:
        raise UsageError(f"{name} has no rows; give at least one")
    if frame[list(columns)].isna().any(axis=None):
        raise UsageError(f"{name} has missing values; drop or fill those rows first")
    return frame if "variant" in frame.columns else frame.assign(variant="")


def arms(frame: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield method, variant and rows of every method, in order of appearance."""
    for (method, variant), rows in frame.groupby(["method", "variant"], sort=False):
        yield str(method), str(variant), rows


def several_variants(frame: pd.DataFrame) -> bool:
    """Say whether the methods of a frame need their variant named."""
    return frame.loc[frame["variant"] != "reference", "variant"].nunique() > 1
