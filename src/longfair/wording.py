"""Words and numbers as readers see them, in all rooms: names, numbers, how sure a verdict is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from numbers import Real
from typing import Any

MOST_DIGITS = 8
"""Significant digits that tell the ends of an interval apart, at most."""

LARGE = 1e7
"""From here on numbers are written with a power of ten."""

ROUNDING = 1e-15
"""What is nearer to zero is left by rounding, and is written as 0."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_SAID = {"bias_exact": "exact bias", "in_use": "massaging in use"}
"""Names that are no words, even without their underscores."""

_MEASURED = {
    "code": "by the code's formula",
    "text": "by the text's formula",
    "figure": "as the figures plot it",
    "in_use": "massaged in use",
    "as_reported": "as reported",
    "last_policy": "by the last policy",
    "late": "late in an episode",
    "end": "at the end of an episode",
}
"""Measures by which one claim is judged more than once, as they stand beside a verdict."""

Row = Mapping[str, Any]
"""A verdict as `longfair.runs.verdicts.Verdict.as_json` has it."""


def numeral(value: float, digits: int = 4) -> str:
    """Write a number with a few significant digits.

    Parameters
    ----------
    value
        The number.
    digits
        Significant digits; zeros at the end of a fraction are left out.

    Returns
    -------
    str
        As in "0.0229", "-17,000" and "97,230"; with a power of ten only below 0.0001 and from
        `LARGE` on, and "0" within `ROUNDING` of zero.
    """
    if abs(value) < ROUNDING:
        return "0"
    text = f"{value:.{digits}g}"
    large = "e+" in text or abs(float(text)) >= 1000
    return f"{float(text):,.0f}" if large and abs(float(text)) < LARGE else _raised(text)


def power_of_ten(value: float, digits: int = 2) -> str:
    """Write a number of any size with a power of ten, as in "2.3·10⁻²¹"."""
    return _raised(f"{value:.{digits - 1}e}") if value else "0"


def _raised(text: str) -> str:
    """Write a number's exponent, if it has one, as a power of ten: 1e-05 is 10⁻⁵."""
    mantissa, mark, exponent = text.partition("e")
    if not mark:
        return text
    power = f"10{str(int(exponent)).translate(_RAISED)}"
    return f"{mantissa[:-1]}{power}" if mantissa in ("1", "-1") else f"{mantissa}·{power}"


def unsigned_zero(form: str) -> str:
    """Let a format, such as "+.3f" and ".0%", write what reads as zero without a minus."""
    sign = form[:1] if form[:1] in ("+", "-", " ") else ""
    return f"{sign}z{form.removeprefix(sign)}"


def numerals(table: Any, digits: int = 6) -> Any:
    """Write every number of a table by itself: pandas gives a whole column the digits of one.

    Parameters
    ----------
    table
        A table or a series of pandas, of numbers and other things.
    digits
        Significant digits, as for `numeral`.

    Returns
    -------
    pandas.DataFrame or pandas.Series
        Numbers as text, nothing where there is none, and all else as it is.
    """
    return table.map(partial(_cell, digits=digits))


def _cell(value: Any, digits: int) -> Any:
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    if float(value).is_integer():
        return f"{int(float(value)):,}"
    return "" if math.isnan(value) else numeral(float(value), digits)


def with_digits(value: float, digits: int) -> str:
    """Write a number with so many digits after the point; nothing where there is none."""
    return "" if math.isnan(value) else f"{value:z,.{digits}f}"


def digits_for(interval: Iterable[float], least: int = 4) -> int:
    """Say with how many significant digits the two ends of an interval are written apart.

    Parameters
    ----------
    interval
        Both ends.
    least
        As many as are enough for most.

    Returns
    -------
    int
        At least this many; no more where the ends are the same to `MOST_DIGITS`.
    """
    low, high = interval
    enough = range(least, MOST_DIGITS + 1)
    return next((one for one in enough if numeral(low, one) != numeral(high, one)), least)


def with_interval(
    value: Any, interval: Iterable[Any] | None, written: Callable[[Any], str] | None = None
) -> str:
    """Write a number and, in brackets, its interval if it has one, as in "0.15 [0.148, 0.152]".

    Parameters
    ----------
    value, interval
        The number, and both ends.
    written
        Writes one number; by default `numeral`, with as many digits as tell the ends apart.
    """
    interval = interval if interval is None else tuple(interval)
    if written is None:
        digits = 4 if interval is None else digits_for(interval)
        written = partial(numeral, digits=digits)
    ends = "" if interval is None else " [{}, {}]".format(*map(written, interval))
    return written(value) + ends


def by_measure(name: str) -> str:
    """Say by which measure a claim is judged, in words that need no explanation beside them."""
    return _MEASURED.get(name, plain(name))


def part_of(measured: str, number: int, parts: int) -> str:
    """Say of what is measured that it is what one of several conditions of a rule asks."""
    return f"{measured}; condition {number} of {parts} of the rule" if measured else ""


def plain(name: str) -> str:
    """Write the name of a metric, a measure or a method with its variant, as words."""
    return _SAID.get(name, name).replace("_", " ").replace(":", " ")


def begun(text: str, names: Iterable[str]) -> str:
    """Begin a sentence with a capital letter, unless it begins with one of some names."""
    return text if text.startswith(tuple(names)) else text[:1].upper() + text[1:]


def counted(number: int, noun: str) -> str:
    """Write a number of things, as in "1 run" and "1,200 runs"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def certainty(row: Row) -> list[str]:
    """Say whether runs are of two kinds, how often one is better, what wider intervals say.

    Where nothing is random only that is said, because there is one value and no interval.

    Parameters
    ----------
    row
        A verdict as ``longfair claims --json`` has it.

    Returns
    -------
    list of str
        Phrases in this order, those that apply: two kinds of runs, seeds on which a compared method
        is better, the word at 99 and 99.9 %, what would decide an *inconclusive*.
    """
    if row.get("one_value"):
        return ["nothing is random: one value"]
    told = (
        "runs of two kinds" if row.get("two_kinds") else "",
        better_in(row),
        _level(row),
        _missing(row),
    )
    return [words for words in told if words]


def short_of_horizon(row: Row) -> bool:
    """Say whether runs without the authors' settings end before the claim's horizon."""
    return row["settings"] != "authors" and 0 < (row["steps"] or 0) < (row["horizon"] or 0)


def steps_of(row: Row) -> str:
    """Say how many training steps runs have, and of how many where they end before the horizon."""
    if not row["steps"]:
        return ""
    return f"{row['steps']:,}" + (f" of {row['horizon']:,}" if short_of_horizon(row) else "")


def better_in(row: Row) -> str:
    """Say on how many seeds a compared method is the better one."""
    if not row.get("better"):
        return ""
    return f"better in {round(row['better'][0] * row['seeds'])} of {row['seeds']}"


def by_middle(row: Row) -> str:
    """Say what the effect is with interquartile means in place of means, where it has one."""
    middle = row.get("interquartile_mean")
    return "" if middle is None else f"{numeral(middle)} with interquartile means"


def _level(row: Row) -> str:
    """Say what becomes of a word or an answer by intervals at 99 and at 99.9 %."""
    words = (("99 %", row.get("answer_99")), ("99.9 %", row.get("answer_999")))
    if words[0][1] is None or row["verdict"] == "inconclusive":
        return ""
    other = next((f"at {level} {word}" for level, word in words if word != row["answer"]), "")
    return other or "the same at 99.9 %"


def _missing(row: Row) -> str:
    """Say what would decide an *inconclusive*."""
    if row["verdict"] != "inconclusive":
        return ""
    enough = row.get("enough_seeds")
    return {
        "": "",
        "runs": f"the rule asks for {enough} runs",
        "width": f"about {enough or 0:,} runs would decide",
        "effect": "at the edge of what is asked: how many runs would decide cannot be guessed",
        "steps": "longer runs would decide",
        "paper": "what we could not read, or the text leaves open, decides",
    }[row.get("lacks", "")]
