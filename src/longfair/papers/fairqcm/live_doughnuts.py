"""Doughnuts by a rule that remembers the last few of them: a live world.

Of the people at the counter the one is served who had fewest of the last so many doughnuts. Who
comes does not depend on who is served, so all memories meet the same people, in the page and here.
"""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd
from gymnasium.vector import AutoresetMode

from longfair.arrays import FloatArray, IntArray
from longfair.envs.doughnut import DoughnutParams, DoughnutVectorEnv
from longfair.figures import Figure, line_chart
from longfair.settings import Range, checked

PARAMS = DoughnutParams.deep()
Span = Annotated[int, Range(0, PARAMS.episode_length)]
EPISODES = 20
"""Episodes over which the page takes means."""
SPANS = (0, 1, 2, 3, 5, 10, 20, 50, PARAMS.episode_length)
"""Memories to choose from: how many of the last doughnuts are remembered."""
START = 0
"""Place of the memory that the page begins with."""
SIDES = 60
"""Sides of the die that decides ties: it is fair among 1, 2, 3, 4 and 5 people."""
SEED = 0


@dataclass(frozen=True)
class Course:
    """What a memory leads to: E episodes, T doughnuts, P people."""

    counts: IntArray
    """(E, P): doughnuts that everybody has had in the end."""
    returns: FloatArray
    """(E,): sum of the rewards."""
    lead: FloatArray
    """(T,): by how much the best served is ahead of the worst served so far, mean of episodes."""
    people: IntArray
    """(T, E): who was there, one bit for each person, the first the lowest."""


def dice() -> IntArray:
    """Return draws (T, E) that decide ties, from 0 to `SIDES` - 1."""
    shape = (PARAMS.episode_length, EPISODES)
    return np.random.default_rng((SEED, 1)).integers(SIDES, size=shape)  # (SEED,) is the people's


def follow(span: int, coin: bool) -> Course:
    """Serve of those who are there the one who had fewest of the last doughnuts.

    Parameters
    ----------
    span
        How many of the last doughnuts are remembered, wasted ones included.
    coin
        Whether a draw decides between equals; else the first of them in a fixed order is served.

    Raises
    ------
    UsageError
        If `span` is not a number of doughnuts.
    """
    span = checked("span", span, Span)
    env = DoughnutVectorEnv(EPISODES, PARAMS, AutoresetMode.DISABLED)
    observation, _ = env.reset(seed=SEED)
    served = np.zeros((PARAMS.episode_length, *observation.shape), dtype=np.int64)
    returns, lead, people = np.zeros(EPISODES), [], []
    for step, draws in enumerate(dice()):
        there = observation > 0.0
        remembered = served[max(step - span, 0) : step].sum(axis=0)
        fewest = np.where(there, remembered, PARAMS.episode_length + 1)
        equal = there & (fewest == fewest.min(axis=1, keepdims=True))
        chosen = draws % np.maximum(equal.sum(axis=1), 1) if coin else np.zeros_like(draws)
        # The place of the chosen one among equals; the first person where nobody is there.
        actions = (equal.cumsum(axis=1) > chosen[:, None]).argmax(axis=1)
        people.append(there @ (1 << np.arange(there.shape[1])))
        observation, reward, _, _, info = env.step(actions)
        served[step] = info["supply"]
        returns += reward
        lead.append(np.ptp(served[: step + 1].sum(axis=0), axis=1).mean())
    return Course(served.sum(axis=0), returns, np.array(lead), np.array(people))


def data() -> dict[str, Any]:
    """Return who comes and how ties are decided, for the script."""
    return {
        "groups": [str(person + 1) for person in range(len(PARAMS.presence_probability))],
        "length": PARAMS.episode_length,
        "episodes": EPISODES,
        "smoothing": PARAMS.smoothing,
        "spans": SPANS,
        "start": START,
        # The scale for all choices: a fixed order without memory has the largest lead.
        "most": 10 * math.ceil(follow(0, coin=False).lead[-1] / 10),
        "there": _bytes(follow(0, coin=True).people),
        "dice": _bytes(dice()),
    }


def _bytes(numbers: IntArray) -> str:
    return base64.b64encode(numbers.astype(np.uint8).tobytes()).decode()


def still() -> Figure:
    """Draw the leads of three memories, with a coin between equals."""
    shown = {"remembers nothing": 0, "the last ten": 10, "all doughnuts": PARAMS.episode_length}
    lines = {name: follow(span, coin=True).lead for name, span in shown.items()}
    handed = pd.Index(np.arange(PARAMS.episode_length) + 1, name="doughnuts")
    return line_chart(
        pd.DataFrame(lines, index=handed),
        across="doughnuts handed out",
        up="lead of the best served over the worst served",
    )
