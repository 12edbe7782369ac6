"""Where the numbers of a page came from, as a table for its last section."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import longfair
from longfair.runs.keys import package_versions
from longfair.runs.machine import class_of, commit_of
from longfair.runs.sources import source_digest

_DIGITS = 12
"""Digits of commits and digests that are shown."""


def origin(
    profile: str,
    packages: Sequence[str],
    sources: Sequence[Any] = (),
    provenance: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Say with which settings, code, versions and stored runs a page was made.

    Parameters
    ----------
    profile
        The page's profile.
    packages
        Distributions that matter to the page.
    sources
        Functions or classes whose code decides its numbers.
    provenance
        The stored runs it shows, as from `Store.provenance`; None if there are none.

    Returns
    -------
    pandas.DataFrame
        One row per fact, column ``value``.
    """
    commit = commit_of(Path(longfair.__file__).parent)
    versions = package_versions()
    facts: dict[str, Any] = {
        "profile": profile,
        "commit the page was made from": (commit.name or "none")[:_DIGITS]
        + " + changes" * bool(commit.dirty),
        "python": ".".join(platform.python_version_tuple()[:2]),
        **{name: versions[name] for name in packages},
    }
    if sources:
        facts["digest of the source"] = source_digest(*sources)[:_DIGITS]
    if provenance is not None:
        finished = provenance["finished"].str.slice(stop=len("2026-01-31"))
        facts |= {
            "stored runs": len(provenance),
            "of these, from a tree with changes": int(provenance["dirty"].sum()),
            "commits of the stored runs": ", ".join(
                sorted({str(name)[:_DIGITS] for name in provenance["commit"]})
            ),
            "first and last finished": f"{finished.min()} and {finished.max()}",
            "processors of the stored runs": _processors(provenance),
        }
    return pd.Series(facts, name="value").to_frame()


def _processors(provenance: pd.DataFrame) -> str:
    """Count the runs of every class of processors; older files say less of theirs."""
    told: list[dict[str, Any]] = [
        {str(name): value for name, value in row.dropna().items()}
        for _, row in provenance.iterrows()
    ]
    names = Counter(class_of(each) if "processor" in each else "unknown" for each in told)
    return ", ".join(f"{runs} {name}" for name, runs in names.most_common())
