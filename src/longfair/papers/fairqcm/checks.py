"""Exact statements of the FairQCM paper about fairness over time, checked by computing them.

Nothing here is trained. The statements about memory are in `longfair.papers.fairqcm.memory_checks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd

from longfair.agents.finite import FiniteProblem
from longfair.metrics.memory_fairness import (
    FairnessScheme,
    MemoryAugmentation,
    anytime,
    average_moment,
    bounded,
    capped_counts,
    counts,
    discounted_sum,
    every,
    last_moment,
    least_squared_unfairness,
    log_nash_welfare,
    long_term,
    memory_augmentation,
    nash_welfare,
    overall_unfairness,
    periodic,
    rawlsian_welfare,
    relaxed_parity,
    scheme_rewards,
    timepoint_first,
    unfairness,
    utilitarian_welfare,
    worst_moment,
)
from longfair.metrics.memory_fairness.schemes import OverTime, Welfare
from longfair.papers.fairqcm import counter
from longfair.papers.fairqcm.deep import config_of
from longfair.runs.claims import CheckResult

THOUSAND = 1000.0
MONTH = 20 * THOUSAND
SHIPMENTS: Mapping[str, np.ndarray] = {
    "one after the other": MONTH * np.array([[1, 0], [1, 0], [0, 1], [0, 1]]),
    "side by side": MONTH * np.full((4, 2), 0.5),
}
"""Figure 1: doses that countries A and B receive in each of four months, in two processes."""

WELFARES: Mapping[str, Welfare] = {
    "utilitarian": utilitarian_welfare,
    "Rawlsian": rawlsian_welfare,
    "Nash": nash_welfare,
    "logarithmic Nash": log_nash_welfare,
}
OVER_TIME: Mapping[str, OverTime] = {
    "last": last_moment,
    "average": average_moment,
    "discounted": partial(discounted_sum, discount=0.9),
    "worst": worst_moment,
}
TRACES = 500
ROUNDING = 1e-9


def shipment_table() -> pd.DataFrame:
    """Return what several notions say of the two processes of Figure 1, month by month.

    Returns
    -------
    pandas.DataFrame
        One row per process and month. Doses, unfairness, parity and worst-off country are in
        thousands; the Nash welfare is the sum of log(doses + 1).
    """
    parts = {}
    for process, shipments in SHIPMENTS.items():
        doses = counts(shipments)
        parts[process] = pd.DataFrame(
            {
                "A": doses[:, 0] / THOUSAND,
                "B": doses[:, 1] / THOUSAND,
                "unfairness to B": unfairness(doses)[:, 1] / THOUSAND,
                "parity": relaxed_parity(doses) / THOUSAND,
                "worst-off": rawlsian_welfare(doses) / THOUSAND,
                "log Nash": log_nash_welfare(doses),
            },
            index=pd.Index([1, 2, 3, 4], name="month"),
        )
    return pd.concat(parts, names=["process"])


FIGURE_1 = np.array(
    [
        [20, 0, 10, -20, 0, 9.9035],
        [40, 0, 20, -40, 0, 10.5967],
        [40, 20, 10, -20, 20, 20.5002],
        [40, 40, 0, 0, 40, 21.1933],
        [10, 10, 0, 0, 10, 18.4209],
        [20, 20, 0, 0, 20, 19.8071],
        [30, 30, 0, 0, 30, 20.6180],
        [40, 40, 0, 0, 40, 21.1933],
    ]
)
"""What `shipment_table` has to say, to four decimals, worked out by hand."""


def vaccine_shipments() -> CheckResult:
    """Figure 1: equally fair in the long term under any welfare function, but not at all times.

    Both processes end with the same status, so no function of it can tell them apart. The table
    of all months must agree with the one worked out by hand in every digit, and so must the
    scores of the anytime, periodic and individual notions.

    Returns
    -------
    CheckResult
        Computed, in thousands: anytime_1, anytime_2 (parity summed over the months), periodic_2
        and periodic_4 (the same of process 1, every 2 and 4 months), worst_1 (parity of its worst
        month), squared_1 (unfairness over time, squared, in thousands squared).
    """
    first, second = (counts(shipments) / THOUSAND for shipments in SHIPMENTS.values())
    parity = timepoint_first(relaxed_parity, discounted_sum)
    worst = timepoint_first(relaxed_parity, worst_moment)
    computed = {
        "anytime_1": float(anytime(first, parity)),
        "anytime_2": float(anytime(second, parity)),
        "periodic_2": float(periodic(first, parity, 2)),
        "periodic_4": float(periodic(first, parity, 4)),
        "worst_1": float(anytime(first, worst)),
        "squared_1": float(anytime(first, least_squared_unfairness)),
    }
    by_hand = {
        "anytime_1": -80.0,
        "anytime_2": 0.0,
        "periodic_2": -40.0,
        "periodic_4": 0.0,
        "worst_1": -40.0,
        "squared_1": -3200.0,
    }
    same_end = np.array_equal(first[-1], second[-1])
    same_digits = np.array_equal(shipment_table().to_numpy().round(4), FIGURE_1)
    detail = (
        "Both processes end with {:g} thousand doses each, so every long-term score is equal; "
        "parity summed over the months is {anytime_1:g} thousand for the first and {anytime_2:g} "
        "for the second."
    )
    return CheckResult(
        same_end and same_digits and computed == by_hand,
        computed,
        detail.format(first[-1, 0], **computed),
        instances=len(SHIPMENTS),
    )


def bounded_covers_all() -> CheckResult:
    """Definitions 4.1 to 4.4: long-term, periodic and anytime fairness as bounded fairness.

    On random traces, for every welfare function, every aggregation over time and the individual
    one: the last moment alone, the moments of a period cut out by hand, and all moments must give
    what a filter gives.

    Returns
    -------
    CheckResult
        Computed: comparisons, largest_difference.
    """
    generator = np.random.default_rng(44)
    statuses = counts(generator.integers(0, 3, size=(TRACES, 12, 3)).astype(np.float64))
    moments = np.arange(1, statuses.shape[1] + 1)
    aggregations = [
        timepoint_first(welfare, over_time)
        for welfare in WELFARES.values()
        for over_time in OVER_TIME.values()
    ] + [least_squared_unfairness]
    differences = []
    for welfare in WELFARES.values():
        last = timepoint_first(welfare, last_moment)
        ends = (anytime(statuses, last), bounded(statuses, last, moments == moments[-1]))
        differences += [np.abs(long_term(statuses, welfare) - end).max() for end in ends]
    for aggregation in aggregations:
        differences.append(
            np.abs(anytime(statuses, aggregation) - periodic(statuses, aggregation, 1)).max()
        )
        for period in (1, 2, 3, 5, 12):
            by_hand = anytime(statuses[:, period - 1 :: period], aggregation)
            views = (
                periodic(statuses, aggregation, period),
                bounded(statuses, aggregation, moments % period == 0),
            )
            differences += [np.abs(view - by_hand).max() for view in views]
    computed = {
        "comparisons": float(len(differences) * TRACES),
        "largest_difference": float(max(differences)),
    }
    detail = (
        f"{computed['comparisons']:.0f} scores of random traces, under {len(aggregations)} "
        "aggregations: each notion equals bounded fairness with its filter, up to rounding."
    )
    passed = computed["largest_difference"] <= ROUNDING
    return CheckResult(passed, computed, detail, instances=int(computed["comparisons"]))


KITCHENS: Mapping[str, np.ndarray] = {
    "Ada always first": np.tile([[1, 0], [0, 1]], (4, 1)),
    "first in turns": np.tile([[1, 0], [0, 1], [0, 1], [1, 0]], (2, 1)),
}
"""Doughnuts that Ada and Bo receive, one after the other, in two kitchens."""


def two_kitchens() -> CheckResult:
    """Definitions 4.9 to 4.11: individual unfairness sees what no timepoint-first score can.

    In both kitchens one child is ahead of the other at every second moment; in the first it is
    always Ada. Welfare functions that treat everybody alike give both the same score at every
    moment, so that every timepoint-first score is equal, while the unfairness to each child over
    time is not.

    Returns
    -------
    CheckResult
        Computed: largest_difference (of the timepoint-first scores), squared_first and
        squared_turns (unfairness over time, squared), to_bo (unfairness to Bo in the first).
    """
    first, turns = (counts(served) for served in KITCHENS.values())
    alike = [*WELFARES.values(), relaxed_parity]
    scores = [timepoint_first(welfare, time) for welfare in alike for time in OVER_TIME.values()]
    differences = [abs(float(anytime(first, score) - anytime(turns, score))) for score in scores]
    squared = [float(anytime(history, least_squared_unfairness)) for history in (first, turns)]
    to_each = overall_unfairness(first)
    balanced = bool(np.allclose(unfairness(first).sum(axis=1), 0.0))
    computed = {
        "largest_difference": max(differences),
        "squared_first": squared[0],
        "squared_turns": squared[1],
        "to_bo": float(to_each[1]),
    }
    detail = (
        f"{len(scores)} timepoint-first scores are equal in both kitchens; unfairness over time, "
        "squared, is {squared_first:g} where Ada is always first and {squared_turns:g} where they "
        "take turns."
    )
    passed = (
        computed["largest_difference"] <= ROUNDING
        and squared[0] < squared[1] == 0.0
        and to_each[1] > 0.0 > to_each[0]
        and balanced
    )
    return CheckResult(passed, computed, detail.format(**computed), instances=len(scores))


LENGTH = 4
PERIOD = 2


def two_monthly_scheme() -> FairnessScheme[np.ndarray]:
    """Return the scheme of the check below: Nash welfare of the counts at every second step."""
    return FairnessScheme(counts, timepoint_first(log_nash_welfare, discounted_sum), every(PERIOD))


def bounded_rewards() -> CheckResult:
    """Definition 5.8: with a memory, a bounded scheme is an ordinary decision problem.

    At a counter for two people the memory holds the counts and a clock of the filter's period.
    First, along random traces, the sum of the rewards read off the memory must be the score of the
    trace. Second, the best that dynamic programming reaches with states and memories must be the
    best score that any policy reaches, found by going through all histories.

    Returns
    -------
    CheckResult
        Computed: largest_difference, best_by_memory, best_over_histories.
    """
    memory = counts_and_clock()
    held = np.array(memory.memories)
    reward = scheme_rewards(held[:, None, :2], log_nash_welfare, held[:, 2:] == 0)[:, 0]

    states, actions = counter.random_traces(TRACES, LENGTH, seed=58)
    returns = reward[memory.along(states, actions)[:, 1:]].sum(axis=1)
    scores = two_monthly_scheme().score(counter.received(states, actions))

    arrival = counter.state_probabilities()
    transition = np.tile(arrival, (counter.STATES, counter.PEOPLE, 1))
    pairs = memory.augmented(transition)
    expected = pairs @ np.tile(reward, counter.STATES)
    solution = FiniteProblem.of(pairs, expected).backward_induction(LENGTH)
    beginnings = np.arange(counter.STATES) * len(held)
    computed = {
        "largest_difference": float(np.abs(returns - scores).max()),
        "best_by_memory": float(arrival @ solution.values[0, beginnings]),
        "best_over_histories": best_over_histories(two_monthly_scheme(), LENGTH),
    }
    gap = abs(computed["best_by_memory"] - computed["best_over_histories"])
    detail = (
        "The rewards add up to the score on every trace; the best policy with memory reaches "
        "{best_by_memory:.6f}, the best of all policies that see the whole past "
        "{best_over_histories:.6f}."
    )
    passed = computed["largest_difference"] <= ROUNDING and gap <= ROUNDING
    return CheckResult(passed, computed, detail.format(**computed), instances=TRACES)


CAP = 2
DISCOUNT = 0.5
FOREVER = 200
"""Steps after which nothing counts any more at this discount."""


def discounted_scheme() -> FairnessScheme[np.ndarray]:
    """Return the scheme of the check below: discounted Nash welfare of counts up to the cap."""
    return FairnessScheme(
        partial(capped_counts, cap=CAP),
        timepoint_first(log_nash_welfare, partial(discounted_sum, discount=DISCOUNT)),
    )


def discounted_rewards() -> CheckResult:
    """Definition 5.6: with a memory, a discounted scheme is an ordinary decision problem.

    At a counter for two people everybody's count matters up to a cap, so that a finite memory is
    enough for ever. Along random traces the discounted sum of the rewards read off the memory must
    be the score. For one to `LENGTH` steps the best that dynamic programming reaches with states
    and memories must be the best score of all policies, found by going through all histories. And
    the best value over an infinite time must lie between the latter and the latter plus all that
    later steps can still add.

    Returns
    -------
    CheckResult
        Computed: largest_difference, best_forever, lowest and highest (its bounds).
    """
    memory = capped_counts_held()
    reward = log_nash_welfare(np.array(memory.memories))
    scheme = discounted_scheme()
    states, actions = counter.random_traces(TRACES, LENGTH, seed=56)
    weights = DISCOUNT ** np.arange(LENGTH)
    returns = (reward[memory.along(states, actions)[:, 1:]] * weights).sum(axis=1)
    differences = [np.abs(returns - scheme.score(counter.received(states, actions))).max()]

    arrival = counter.state_probabilities()
    pairs = memory.augmented(np.tile(arrival, (counter.STATES, counter.PEOPLE, 1)))
    problem = FiniteProblem.of(pairs, pairs @ np.tile(reward, counter.STATES))
    beginnings = np.arange(counter.STATES) * len(reward)

    def best(steps: int) -> float:
        values = problem.backward_induction(steps, DISCOUNT).values
        return float(arrival @ values[0, beginnings])

    for steps in range(1, LENGTH + 1):
        by_history = best_over_histories(scheme, steps)
        differences.append(abs(best(steps) - by_history))
    later = DISCOUNT**LENGTH / (1.0 - DISCOUNT) * float(reward.max())
    computed = {
        "largest_difference": float(max(differences)),
        "best_forever": best(FOREVER),
        "lowest": by_history,
        "highest": by_history + later,
    }
    detail = (
        "The rewards add up to the score on every trace, and the best policies with memory are the "
        f"best of all for 1 to {LENGTH} steps; over an infinite time the best value is "
        "{best_forever:.4f}, between {lowest:.4f} and {highest:.4f}."
    )
    passed = (
        computed["largest_difference"] <= ROUNDING
        and computed["lowest"] <= computed["best_forever"] <= computed["highest"]
    )
    return CheckResult(passed, computed, detail.format(**computed), instances=TRACES + LENGTH)


def capped_counts_held() -> MemoryAugmentation[tuple[int, ...]]:
    """Return the memory of both people's counts, up to the cap."""

    def update(held: tuple[int, ...], state: int, action: int, after: int) -> tuple[int, ...]:
        return tuple(min(count, CAP) for count in counter.served(held, state, action))

    start: tuple[int, ...] = (0, 0)
    return memory_augmentation(start, update, states=counter.STATES, actions=counter.PEOPLE)


def counts_and_clock() -> MemoryAugmentation[tuple[int, ...]]:
    """Return the memory of both people's counts, up to the length, and the clock of the filter."""

    def update(held: tuple[int, ...], state: int, action: int, after: int) -> tuple[int, ...]:
        grown = counter.served(held[:2], state, action)
        return (*(min(count, LENGTH) for count in grown), (held[2] + 1) % PERIOD)

    start: tuple[int, ...] = (0, 0, 0)
    return memory_augmentation(start, update, states=counter.STATES, actions=counter.PEOPLE)


def best_over_histories(scheme: FairnessScheme[np.ndarray], length: int) -> float:
    """Return the best score at the counter over all policies, however they use the past.

    Every sequence of states and actions is scored. From the end of the sequences, the best action
    is taken after each history, and the next state is averaged over.

    Parameters
    ----------
    scheme
        A scheme whose traces say who received what.
    length
        Number of steps; there are 8 to this power sequences.
    """
    steps = (counter.STATES, counter.PEOPLE) * length
    sequences = np.indices(steps).reshape(2 * length, -1)
    states, actions = sequences[0::2].T, sequences[1::2].T
    final = np.zeros((len(states), 1), dtype=np.int64)  # the last state decides nothing
    values = scheme.score(counter.received(np.hstack([states, final]), actions)).reshape(steps)
    for _ in range(length):
        values = values.max(axis=-1) @ counter.state_probabilities()
    return float(values)


TABLES: Mapping[str, Mapping[str, tuple[float, float, float, int, int, int]]] = {
    "doughnuts": {
        "full": (1e-4, 0.95, 0.2, 400, 64, 100),
        "min": (1e-4, 0.95, 0.2, 400, 64, 100),
        "reset": (1e-4, 0.95, 0.2, 400, 64, 100),
        "rnn": (2e-3, 0.95, 0.2, 1000, 256, 100),
        "fairqcm": (1e-4, 0.95, 0.2, 6400, 2048, 100),
    },
    "lending": {
        "full": (1e-4, 0.95, 0.2, 1000, 64, 40),
        "min": (1e-4, 0.95, 0.2, 1000, 64, 40),
        "rnn": (5e-3, 0.95, 0.2, 2000, 512, 40),
        "fairqcm": (1e-4, 0.95, 0.2, 8000, 512, 40),
    },
}
"""Tables 1 and 2: learning rate, discount, lowest exploration, buffer, minibatch, episode length.

The printed cells could not be read. These are the defaults of the authors' code with the commands
of its README.
"""


def tables_of_settings() -> CheckResult:
    """Tables 1 and 2: the runs judged as coded and as published have the paper's settings.

    Returns
    -------
    CheckResult
        Computed: cells, different.
    """
    cells = different = 0
    for problem, methods in TABLES.items():
        for method, row in methods.items():
            for variant in ("as_coded", "as_published"):
                setting = config_of(problem, method, variant)
                learning = setting.learning.settings
                used = (
                    learning.learning_rate,
                    learning.discount,
                    learning.lowest_exploration,
                    learning.buffer,
                    learning.batch,
                    setting.episode_length,
                )
                cells += len(row)
                different += sum(one != other for one, other in zip(used, row, strict=True))
    detail = f"{cells} settings of methods in two problems and two variants; {different} differ."
    computed = {"cells": float(cells), "different": float(different)}
    return CheckResult(different == 0, computed, detail, instances=cells)
