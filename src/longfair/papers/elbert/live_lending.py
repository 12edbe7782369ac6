"""Lending with a threshold for each group, over ten thousand applicants: a live world.

Who comes is drawn once and stored as whole numbers, three for every applicant: for group, score
and outcome. So all thresholds meet the same draws, in the page and here.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Annotated, Any

import numpy as np
import pandas as pd
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from longfair.agents.policies.lending import applicants
from longfair.arrays import FloatArray
from longfair.envs.lending import LendingParams, LendingVectorEnv
from longfair.figures import Figure, line_chart
from longfair.figures.display import drawing
from longfair.metrics import benefit_rate, bias
from longfair.settings import Range, checked

Pair = tuple[Annotated[int, Range(0, 7)], Annotated[int, Range(0, 7)]]

PARAMS = LendingParams.elbert_evaluation()
GROUPS = ("advantaged", "disadvantaged")
"""Names of the groups, in the order of the environment."""
START = (3, 3)
"""The myopic lender: from this score on the next loan is profitable."""
LEVELS = 2**16
"""A draw is one of so many equally likely numbers; two bytes hold it."""
EVERY = 100
"""Applicants between two points of a course."""
SEED = 0


@dataclass(frozen=True)
class Course:
    """What thresholds lead to, at T points: after every `EVERY` applicants."""

    profit: FloatArray
    """(T, N): change of the bank's cash since the start, in loans."""
    rates: FloatArray
    """(T, N, G): benefit rates so far: loans that are repaid, over all people who would repay."""
    bias: FloatArray
    """(T, N): distance between the groups' rates."""
    scores: FloatArray
    """(T, N, G): mean credit score of every group."""


class Replay:
    """Deals stored draws to an environment that asks for random numbers.

    Parameters
    ----------
    draws
        Shape (T, 3), from 0 to `LEVELS` - 1.
    """

    def __init__(self, draws: NDArray[np.uint16]) -> None:
        self._rows = iter((draws + 0.5) / LEVELS)

    def random(self, shape: tuple[int, int]) -> FloatArray:
        """Return the next applicant's draws (3, N), the same for every copy."""
        return np.tile(next(self._rows)[:, None], shape[1])


@cache
def draws() -> NDArray[np.uint16]:
    """Return draws (T + 1, 3) for group, score and outcome; the last applicant is not served."""
    shape = (PARAMS.episode_length + 1, 3)
    return np.random.default_rng(SEED).integers(LEVELS, size=shape, dtype=np.uint16)


def follow(thresholds: Sequence[Sequence[int]]) -> Course:
    """Lend from a score on, and see what becomes of the bank and of both groups.

    Parameters
    ----------
    thresholds
        N pairs, one number per group, from 0 (everybody gets a loan) to 7 (nobody does).

    Raises
    ------
    UsageError
        If a threshold is out of range.
    """
    limits = np.array([checked("thresholds", tuple(pair), Pair) for pair in thresholds])
    copies, scores = np.arange(len(limits)), len(PARAMS.repay_probability)
    env = LendingVectorEnv(len(limits), PARAMS, AutoresetMode.DISABLED)
    replay: Any = Replay(draws())
    env.np_random = replay
    observation, _ = env.reset()
    supply, demand = np.zeros((2, *limits.shape))
    points = []
    for served in range(1, PARAMS.episode_length + 1):
        group, score = applicants(observation, len(GROUPS), scores)
        lends = (score >= limits[copies, group]).astype(np.int64)
        observation, _, _, _, info = env.step(lends)
        supply += info["supply"]
        demand += info["demand"]
        if served % EVERY == 0:
            rates = benefit_rate(supply, demand)
            means = info["group_state"] @ np.arange(scores)
            points.append((info["cash"] - PARAMS.starting_cash, rates, bias(rates), means))
    return Course(*(np.stack(part) for part in zip(*points, strict=True)))


def data() -> dict[str, Any]:
    """Return the problem and the draws, for the script."""
    earned = PARAMS.loan_amount * PARAMS.interest_rate
    # One scale for all choices, so that the reader sees which earns more.
    profits = follow(list(product(range(8), repeat=2))).profit
    return {
        "groups": GROUPS,
        "start": START,
        "every": EVERY,
        "initial": PARAMS.initial_distribution,
        "repay": PARAMS.repay_probability,
        "groupLimit": PARAMS.group_probability[0],
        "massShift": PARAMS.mass_shift,
        "profit": [-PARAMS.loan_amount, earned],
        "levels": LEVELS,
        "profits": [profits.min(), profits.max()],
        # Two bytes a number, the lower one first, whatever the machine.
        "draws": base64.b64encode(draws()[:-1].astype("<u2").tobytes()).decode(),
    }


@drawing
def still() -> Figure:
    """Draw the course of the thresholds that the page begins with."""
    course = follow([START])
    served = np.arange(1, len(course.profit) + 1) * EVERY
    lines = {f"benefit rate, {name}": course.rates[:, 0, g] for g, name in enumerate(GROUPS)}
    lines["bias"] = course.bias[:, 0]
    frame = pd.DataFrame(lines, index=pd.Index(served, name="applicants"))
    figure = line_chart(frame, across="applicants", up="rate and bias so far")
    profit = course.profit[-1, 0] / PARAMS.episode_length
    told = f"Profit of the bank from each applicant: {profit:.3f}"
    (axes,) = figure.figure.axes
    axes.text(0.98, 0.95, told, transform=axes.transAxes, ha="right", va="top")
    return replace(figure, alt_text=f"{figure.alt_text} {told}.")
