"""Runs that a reader makes while reading.

What learners give is compared with nothing, for another machine may end elsewhere. So the check of
the pages only wants to see that they run: with the variable `SHORT` in the environment they are as
short as probes. Pages are written without it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import pandas as pd

from longfair.papers.protocol import train_and_evaluate
from longfair.papers.setting import Setting
from longfair.runs.evidence import REFERENCE

LIVE = "live"
"""Variant of these runs."""

SHORT = "LONGFAIR_SHORT_LIVE_RUNS"
"""Name of the variable."""


def as_long_as_asked(setting: Setting) -> Setting:
    """Return the setting, or a short form of it where `SHORT` is set."""
    return setting.shortened() if os.environ.get(SHORT) else setting


def live_runs(
    learners: Mapping[str, Setting], run: int, lines: Mapping[str, Setting] | None = None
) -> pd.DataFrame:
    """Train while the reader waits.

    Parameters
    ----------
    learners
        Method to setting.
    run
        Number of the run; profiles use small ones.
    lines
        Policies without training that stand beside them.

    Returns
    -------
    pandas.DataFrame
        Results in the columns of `Store.load` that tables and figures need.
    """
    short = {method: as_long_as_asked(setting) for method, setting in learners.items()}
    tables = [
        train_and_evaluate(setting, run).assign(method=method, variant=variant, seed=run)
        for variant, settings in ((LIVE, short), (REFERENCE, lines or {}))
        for method, setting in settings.items()
    ]
    return pd.concat(tables, ignore_index=True)
