"""Words and numbers that all tables of measured speeds share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longfair.wording import numeral

NOT_MEASURED = "Not measured yet: `make bench` measures it on a quiet machine.\n"


def measured_on(measured: Mapping[str, Any]) -> str:
    """Write when and on what a stored benchmark was measured."""
    machine = measured["machine"]
    return (
        f"measured on {measured['date']} on {machine['processor']}, {machine['system']}, "
        f"Python {machine['python']}.\n"
    )


def three_digits(value: float) -> str:
    """Write a number with three digits, which is more than timings are good for."""
    return numeral(value, 3)
