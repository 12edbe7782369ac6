"""By which squared gap between the groups policies for the population are held."""

from __future__ import annotations

from typing import Annotated

from longfair.settings import OneOf

NOTIONS = {
    "demographic-parity": 0,
    "equal-opportunity": 1,
    "equalised-odds": 2,
    "qualification": 3,
}
"""Squared gaps and where they stand in what the population tells."""

Notion = Annotated[str, OneOf(*NOTIONS)]
