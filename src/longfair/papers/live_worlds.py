"""Worlds that readers move in the page, without a kernel.

A world has a model in `book/_static/worlds.js`, and here its data and a still figure for readers
without scripts. A test compares what the script computes with what Python computes. A further
world is an entry here and one of the same name there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from longfair.figures import Figure
from longfair.papers.elbert import live_histories, live_lending
from longfair.papers.fairmdp import live_price
from longfair.papers.fairqcm import live_doughnuts
from longfair.papers.ucbfair import live_population


@dataclass(frozen=True)
class LiveWorld:
    """What the page needs from Python."""

    name: str
    """As in `<longfair-world name="...">`."""
    data: Callable[[], dict[str, Any]]
    """Returns what the script needs, ready for JSON."""
    still: Callable[[], Figure]
    """Draws what stands in the page where scripts are off."""

    def opening(self) -> str:
        """Return the element's opening tag, with the data behind it.

        The data stand in the page itself: a page that is opened from a disk may load no others.
        """
        # A "<" could end the script's element.
        data = json.dumps(self.data(), separators=(",", ":")).replace("<", "\\u003c")
        script = f'<script type="application/json">{data}</script>'
        return f'<longfair-world name="{self.name}">{script}'


WORLDS = (
    LiveWorld("lending", live_lending.data, live_lending.still),
    LiveWorld("histories", live_histories.data, live_histories.still),
    LiveWorld("doughnuts", live_doughnuts.data, live_doughnuts.still),
    LiveWorld("population", live_population.data, live_population.still),
    LiveWorld("price", live_price.data, live_price.still),
)
"""All worlds, in the order of the book."""
