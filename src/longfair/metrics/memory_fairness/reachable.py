"""Numbering everything that can be reached, shared by memories and automata."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import numpy as np

from longfair.arrays import IntArray
from longfair.errors import UsageError

Item = TypeVar("Item", bound=Hashable)

LARGEST = 100_000
"""With more items than this, the set is taken for one that never stops growing."""


def reachable(
    initial: Item, successors: Callable[[Item], Iterable[Item]]
) -> tuple[tuple[Item, ...], IntArray]:
    """Give numbers to all items that can be reached, in the order of discovery.

    Parameters
    ----------
    initial
        Gets number 0; anything hashable.
    successors
        The items that follow an item, equally many for every item.

    Returns
    -------
    items : tuple
        The items by number.
    table : numpy.ndarray
        Shape (items, successors): numbers of the successors.

    Raises
    ------
    UsageError
        If there are more than `LARGEST` items.
    """
    items, numbers = [initial], {initial: 0}
    rows: list[list[int]] = []
    for item in items:  # grows while it is read
        row = []
        for after in successors(item):
            if after not in numbers:
                numbers[after] = len(items)
                items.append(after)
            row.append(numbers[after])
        rows.append(row)
        if len(items) > LARGEST:
            raise UsageError(
                f"more than {LARGEST} memories or automaton states can be reached: keep them "
                "finite and small, for example with capped counts"
            )
    return tuple(items), np.array(rows, dtype=np.int64)
