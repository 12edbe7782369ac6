"""Number exercises, and whatever else Sphinx counts, from one on every page.

Without numbered chapters Sphinx counts through the whole book, so that a page would begin with
Exercise 47. Everything that shows or names a number takes it from the same record, which is put
right here once it is complete. Equations have numbers of their own page by a setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

Numbers = Mapping[str, Mapping[str, tuple[int, ...]]]
"""Kind to the names of what is counted, in the order of a page, to its number."""


def from_one(numbers: Numbers) -> dict[str, dict[str, tuple[int, ...]]]:
    """Count every kind of a page from one."""
    return {
        kind: {name: (place,) for place, name in enumerate(own, start=1)}
        for kind, own in numbers.items()
    }


def renumber(_app: Sphinx, environment: BuildEnvironment) -> list[str]:
    """Count on every page; none has to be written again for it, because a build begins anew."""
    environment.toc_fignumbers = {
        page: from_one(numbers) for page, numbers in environment.toc_fignumbers.items()
    }
    return []


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx, after its own numbers, which come at 500."""
    app.connect("env-get-updated", renumber, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
