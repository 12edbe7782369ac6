"""Q-learning with books, compiled; `longfair.agents.fair_mdp.memory_q_learning` explains it.

It stands apart so that the settings can be declared without waiting for the compiler.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from longfair.agents.fair_mdp.memory_q_learning import Applications, Ledger, Values
from longfair.arrays import IntArray

DENY, LEND = 0, 1
"""Actions, again: what is compiled and kept does not hear of a change in another file."""

FIELDS = {
    Applications: ("following", "repaid", "profit", "booked", "first", "starts", "share"),
    Ledger: ("balances", "weight", "tolerance", "imagine", "exploration", "power"),
    Values: ("actions", "updates"),
}
"""Fields of the records, again: compiled code knows them by their order."""


@njit(cache=True)
def meet(
    world: Applications,
    ledger: Ledger,
    values: Values,
    readings: IntArray,
    balance: float,
    applicants: int,
    learning: bool,
    random: np.random.Generator,
) -> float:
    """Meet applicants; count the levels read into `readings` (K,); return the last balance."""
    levels = len(ledger.balances)
    largest = ledger.balances[levels - 1]
    width = ledger.balances[1] - ledger.balances[0]
    for _ in range(applicants):
        group = 1 if random.random() < world.share else 0
        here = world.first[group] + np.searchsorted(world.starts[group], random.random())
        level = int(np.rint((balance + largest) / width))
        readings[level] += 1
        row = level if values.actions.shape[1] > 1 else 0
        while here >= 0:
            if random.random() < ledger.exploration:
                action = LEND if random.random() < 0.5 else DENY
            else:
                action = (
                    LEND if values.actions[here, row, 1] > values.actions[here, row, 0] else DENY
                )
            if action == DENY:
                following = world.following[here, 0]
            else:
                balance += world.booked[here]
                repaid = random.random() < world.repaid[here]
                following = world.following[here, 2 if repaid else 1]
            if learning:
                learn(world, ledger, values, here, level, action, following)
            here = following
        balance = np.sign(balance) * max(abs(balance) - ledger.tolerance, 0.0)
        balance = min(max(balance, -largest), largest)
    return balance


@njit(cache=True)
def learn(
    world: Applications,
    ledger: Ledger,
    values: Values,
    here: int,
    level: int,
    action: int,
    following: int,
) -> None:
    """Learn one step: for all levels, for the one that was read, or for an agent without any."""
    rows = values.actions.shape[1]
    if ledger.imagine:
        first, end, column = 0, rows, 0
    else:
        column = level if rows > 1 else 0
        first, end = column, column + 1
    values.updates[here, column, action] += 1
    share = 1.0 / values.updates[here, column, action] ** ledger.power
    for row in range(first, end):
        target = 0.0
        if action == LEND:
            booked = world.booked[here]
            balance = ledger.balances[row if rows > 1 else level]
            target = world.profit[here] - ledger.weight * (balance + 0.5 * booked) * booked
        if following >= 0:
            target += max(values.actions[following, row, 0], values.actions[following, row, 1])
        values.actions[here, row, action] += share * (target - values.actions[here, row, action])
