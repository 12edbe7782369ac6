"""What a reader sees of a page before anything is opened, and how much that is."""

from __future__ import annotations

import re

FOLDED = re.compile(
    r"^(:{3,}|`{3,})\{dropdown\}.*?^\1$|<details.*?</details>", re.MULTILINE | re.DOTALL
)
SOLUTION = re.compile(r"```\{solution-start\}.*?```\{solution-end\}", re.DOTALL)
NOT_WORDS = re.compile(
    r"\$\$.*?\$\$(?: \(.*?\))?|\$[^$]+\$|^\|[-| ]+\|$|(?<=\])\([^)]*\)", re.MULTILINE | re.DOTALL
)
INCLUDED = re.compile(r"^(`{3,})\{include\}.*?^\1$", re.MULTILINE | re.DOTALL)
ROLE = re.compile(r"\{[\w:-]+\}`[^`]*`")
"""A number from the store, a citation, a reference: one word each."""

EDGE = re.compile(r"^(?::{3,}|`{3,}).*$", re.MULTILINE)
"""The first and the last line of what is folded."""

ITEM = r"(?:[-*]|\d+\.) "
BETWEEN = re.compile(rf"\n\s*\n|\n(?=\s*{ITEM}|\|)")
"""What separates paragraphs, items of a list, and rows of a table."""


def words(text: str) -> int:
    """Count the words that a reader sees before anything is opened."""
    for hidden in (FOLDED, SOLUTION, INCLUDED, NOT_WORDS):
        text = hidden.sub(" ", text)
    return len(re.findall(r"\w[\w'-]*", ROLE.sub(" role ", text)))


def blocks(text: str) -> list[str]:
    """Split into paragraphs and items of lists, without those inside, also of what is folded."""
    opened = EDGE.sub("\n", INCLUDED.sub("\n", text))
    parts = [part.strip() for part in BETWEEN.split(opened)]
    return [part for part in parts if part and not part.startswith(("|", "#"))]


def is_item(block: str) -> bool:
    """Whether a block is an item of a list."""
    return re.match(ITEM, block) is not None
