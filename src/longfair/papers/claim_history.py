"""When the rule of a claim was written, and when it was changed, read from the repository.

The words of a claim's rule are looked up in every commit of its file. A commit in which they are
other words than before is an event. Marked changes (`changed` in the file) say why.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

import longfair
from longfair.runs.machine import git


class Event(NamedTuple):
    """A commit that wrote the rule of a claim."""

    commit: str
    date: str
    """As ``year-month-day``."""
    rule: str
    """The rule in the words of the file, without indentation and line breaks."""


def history(paper: str, claim: str) -> list[Event]:
    """Return the commits that wrote a claim's rule, oldest first.

    Parameters
    ----------
    paper, claim
        Ids.

    Returns
    -------
    list of Event
        Nothing outside a repository. Where the repository is shallow, the first event is its first
        commit.
    """
    return _histories(paper).get(claim, [])


@cache
def _histories(paper: str) -> dict[str, list[Event]]:
    file = Path(longfair.__file__).parent / "papers" / paper / "claims.yaml"
    told = git(file.parent, "log", "--reverse", "--format=%H %as", "--", file.name) or ""
    found: dict[str, list[Event]] = defaultdict(list)
    for line in told.splitlines():
        commit, date = line.split()
        text = git(file.parent, "show", f"{commit}:./{file.name}") or ""
        for claim, rule in rules_of(text).items():
            if not found[claim] or found[claim][-1].rule != rule:
                found[claim].append(Event(commit, date, rule))
    return dict(found)


def rules_of(text: str) -> dict[str, str]:
    """Return the rule of every claim in the text of a file, by the claim's id.

    Parameters
    ----------
    text
        A file of claims; its layout is that of the files here, two spaces to a level.
    """
    rules = {}
    for part in re.split(r"^  - (?=id: )", text, flags=re.MULTILINE)[1:]:
        name = part.splitlines()[0].removeprefix("id: ").strip()
        rule = re.search(r"^    rule:(.*?)(?=^    \S|\Z)", part, re.MULTILINE | re.DOTALL)
        if rule:
            lines = (line.partition(" # ")[0].strip() for line in rule[1].splitlines())
            kept = (line for line in lines if line and not line.startswith("#"))
            rules[name] = " ".join(kept)
    return rules
