"""Between which lending rates of the groups a gap is measured, and how steps count in them."""

from __future__ import annotations

from typing import Literal

Notion = Literal["dp", "eo"]
"""Demographic parity, over everybody, or equal opportunity, over those who start qualified."""
Rates = Literal["as_coded", "discounted", "first_step"]
"""Weights of the steps; see `longfair.papers.fairmdp.loans`."""
