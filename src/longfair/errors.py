"""The one kind of error a user of the library causes, and the help that goes with it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


class UsageError(ValueError):
    """Bad input: the message is one line saying what was given, what is allowed, what to do."""


_FEW = 20
"""As many names fit into one line."""


class FaultError(UsageError):
    """What the user did not do wrong, told in one line all the same; commands end with code 1."""


def near_misses(name: str, allowed: Iterable[str]) -> str:
    """Say which allowed names come close to a name that is not allowed.

    Parameters
    ----------
    name
        What the user gave.
    allowed
        What could have been given.

    Returns
    -------
    str
        One clause for the end of an error message. Few allowed names are all told, many counted. A
        name with the same numbers comes first, with or without zeros before them; then those that
        begin with what was given. Private names are left out.
    """
    names = sorted(one for one in allowed if not one.startswith("_"))
    same = [one for one in names if _without_zeros(one) == _without_zeros(name)]
    begun = [one for one in names if name and one.startswith(name)]
    ratio = {one: difflib.SequenceMatcher(None, one, name).ratio() for one in names}
    alike = sorted((one for one in names if ratio[one] >= 0.5), key=lambda one: -ratio[one])
    close = list(dict.fromkeys([*same, *begun, *alike]))[:3]
    hint = f"did you mean {' or '.join(repr(match) for match in close)}? " if close else ""
    if len(names) > _FEW:
        return f"{hint}allowed are {len(names)} names" + ("" if close else f", as {names[0]!r}")
    return f"{hint}allowed: {', '.join(names) if names else 'nothing yet'}"


def _without_zeros(name: str) -> str:
    return re.sub(r"(?<!\d)0+(?=\d)", "", name)
