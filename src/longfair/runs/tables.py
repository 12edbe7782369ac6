"""The result table of one run: five columns, one number per row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from longfair.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = pa.schema(
    [
        pa.field("phase", pa.string(), nullable=False),
        pa.field("step", pa.int64(), nullable=False),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("group", pa.int32(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
    ]
)
"""Columns of a result table. ``group`` is -1 for a quantity of all groups together."""

PHASES = ("curve", "final")
"""``curve`` rows are evaluations during training, ``final`` rows the last policy."""

ALL_GROUPS = -1


def rows(
    phase: str, steps: npt.ArrayLike, metric: str, values: npt.ArrayLike, group: int = ALL_GROUPS
) -> pd.DataFrame:
    """Arrange numbers of one metric as rows of a result table, one per step."""
    import pandas as pd

    frame = pd.DataFrame({"step": np.asarray(steps, np.int64), "value": np.asarray(values, float)})
    return frame.assign(phase=phase, metric=metric, group=np.int32(group))


def checked(table: pd.DataFrame, run: str) -> pd.DataFrame:
    """Return a result table with exactly the columns and types the store holds.

    Parameters
    ----------
    table
        What the work of a run returned.
    run
        Name of the run, for messages.

    Returns
    -------
    pandas.DataFrame
        Columns ``phase``, ``step``, ``metric``, ``group``, ``value`` in this order.

    Raises
    ------
    UsageError
        If a column is missing, unknown or of another type, the table is empty, a phase is
        unknown, two rows describe the same quantity, or a value is not finite.
    """
    _require_columns(table, run)
    table = table.loc[:, SCHEMA.names].reset_index(drop=True)
    table = _typed(table, run)
    _require_phases(table, run)
    _require_finite(table, run)
    repeated = table.duplicated(["phase", "step", "metric", "group"])
    if repeated.any():
        raise UsageError(f"{run}: {_describe(table[repeated].iloc[0])} appears twice; keep one row")
    return table


def _require_columns(table: object, run: str) -> None:
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise UsageError(
            f"{run}: the work returned a {type(table).__name__}; return a pandas.DataFrame "
            f"with columns {', '.join(SCHEMA.names)}"
        )
    if set(table.columns) != set(SCHEMA.names):
        raise UsageError(
            f"{run}: the result has columns {', '.join(map(str, table.columns)) or 'none'}; "
            f"it must have {', '.join(SCHEMA.names)}"
        )
    if table.empty:
        raise UsageError(f"{run}: the result has no rows; return at least one")


def _typed(table: pd.DataFrame, run: str) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, object] = {}
    for name, wanted in (("step", np.int64), ("group", np.int32)):
        column = table[name].to_numpy()
        if not np.issubdtype(column.dtype, np.integer):
            raise UsageError(f"{run}: column {name} is {column.dtype}; it must hold integers")
        columns[name] = column.astype(wanted)
    for name in ("phase", "metric"):
        if not table[name].map(lambda cell: isinstance(cell, str)).all():
            raise UsageError(f"{run}: column {name} must hold text")
        columns[name] = table[name].astype("str")
    try:
        columns["value"] = table["value"].to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{run}: column value must hold numbers: {error}") from error
    return pd.DataFrame({name: columns[name] for name in SCHEMA.names})


def _require_phases(table: pd.DataFrame, run: str) -> None:
    unknown = sorted(set(table["phase"]) - set(PHASES))
    if unknown:
        raise UsageError(f"{run}: unknown phase {unknown[0]!r}; allowed: {', '.join(PHASES)}")


def _require_finite(table: pd.DataFrame, run: str) -> None:
    broken = ~np.isfinite(table["value"].to_numpy())
    if broken.any():
        row = table[broken].iloc[0]
        raise UsageError(
            f"{run}: {_describe(row)} is {row['value']}; results must be finite, so nothing was "
            "stored: look for a division by zero or a diverged training run"
        )


def _describe(row: pd.Series) -> str:
    group = "" if row["group"] == ALL_GROUPS else f" of group {row['group']}"
    return f"{row['metric']}{group} ({row['phase']}) at step {row['step']}"
