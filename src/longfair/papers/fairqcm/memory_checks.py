"""Theorems 5.4 and 5.5 of the FairQCM paper, checked by building what their proofs describe.

The world is the counter of `longfair.papers.fairqcm.counter`. Two statuses are value-regular: how
much everybody received up to a cap, and by how much one is ahead of the other modulo a number.
For each value of each status an automaton is written by hand. A third status, whether both have
received equally much, has two values only and needs a memory that grows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from longfair.arrays import FloatArray, IntArray
from longfair.metrics.memory_fairness import (
    Automaton,
    MemoryAugmentation,
    as_words,
    automata_of_memory,
    automaton,
    capped_counts,
    count_gap_modulo,
    counts,
    equal_so_far,
    memory_augmentation,
    memory_needed,
    memory_of_automata,
    same_language,
)
from longfair.papers.fairqcm import counter
from longfair.runs.claims import CheckResult

CAP = 2
MODULUS = 3
TRACES = 2000
LENGTH = 24
LONGEST = 7

Value = tuple[int, ...]
Summary = tuple[int, ...]
"""What an automaton or a memory keeps of the past."""


@dataclass(frozen=True)
class Status:
    """A status at the counter, its values, and two hand-written ways to follow it.

    Parameters
    ----------
    name
        What the status is called.
    history
        From who received what (..., T, 2) to statuses (..., T, n).
    values
        All values.
    follow
        Summary of the past after one more step, for the memory: summary, state, person chosen.
    follow_value
        The same for the automaton of one value, which may forget what this value does not need.
    start
        Summary of the empty past.
    """

    name: str
    history: Callable[[FloatArray], FloatArray]
    values: tuple[Value, ...]
    follow: Callable[[Summary, int, int], Summary]
    follow_value: Callable[[Value, Summary, int, int], Summary]
    start: Summary


def _capped(past: Summary, state: int, person: int) -> Summary:
    return tuple(min(count, CAP) for count in counter.served(past, state, person))


def _capped_for(value: Value, past: Summary, state: int, person: int) -> Summary:
    """Count up to one more than the value needs: further, all that matters is that it is over."""
    limits = (min(needed + 1, CAP) for needed in value)
    return tuple(map(min, counter.served(past, state, person), limits))


def _gap(past: Summary, state: int, person: int) -> Summary:
    first, second = counter.served((0, 0), state, person)
    return ((past[0] + first - second) % MODULUS,)


STATUSES = (
    Status(
        name=f"counts up to {CAP}",
        history=partial(capped_counts, cap=CAP),
        values=tuple(np.ndindex(CAP + 1, CAP + 1)),
        follow=_capped,
        follow_value=_capped_for,
        start=(0, 0),
    ),
    Status(
        name=f"gap modulo {MODULUS}",
        history=partial(count_gap_modulo, modulus=MODULUS),
        values=tuple((value,) for value in range(MODULUS)),
        follow=_gap,
        follow_value=lambda value, past, state, person: _gap(past, state, person),
        start=(0,),
    ),
)


def automaton_of_value(status: Status, value: Value) -> Automaton:
    """Write the automaton that accepts exactly the traces with one value of a status.

    Parameters
    ----------
    status
        One of `STATUSES`.
    value
        One of its values.

    Returns
    -------
    Automaton
        It expects the first state, then an action and a state in turn.
    """
    waiting = -1  # in place of the state while an action has been read and no state yet

    def step(now: tuple[Summary, int | None], symbol: int) -> tuple[Summary, int | None] | None:
        past, state = now
        is_state = symbol < counter.STATES
        if state is None:
            return (past, symbol) if symbol == counter.EVERYBODY else None
        if state == waiting:
            return (past, symbol) if is_state else None
        if is_state:
            return None
        return status.follow_value(value, past, state, symbol - counter.STATES), waiting

    start: tuple[Summary, int | None] = (status.start, None)
    return automaton(
        start,
        step,
        lambda now: now[1] not in (None, waiting) and now[0] == value,
        counter.STATES + counter.PEOPLE,
    )


def automata_of(status: Status) -> list[Automaton]:
    """Return the hand-written automata of all values of a status, in their order."""
    return [automaton_of_value(status, value) for value in status.values]


def memory_of(status: Status) -> MemoryAugmentation[Summary]:
    """Return the hand-written memory of a status."""
    return memory_augmentation(
        status.start,
        lambda past, state, action, after: status.follow(past, state, action),
        states=counter.STATES,
        actions=counter.PEOPLE,
    )


def memory_from_automata() -> CheckResult:
    """Theorem 5.4: all automata side by side are a memory from which the status can be read.

    Returns
    -------
    CheckResult
        Computed: memories and largest_automaton of the first status, moments compared, mismatches.
    """
    moments, mismatches = 0, 0
    automata: list[Automaton] = []
    sizes = []
    for status in STATUSES:
        automata = automata_of(status)
        built = memory_of_automata(
            automata,
            first_state=counter.EVERYBODY,
            states=counter.STATES,
            actions=counter.PEOPLE,
        )
        states, actions = counter.random_traces(TRACES, LENGTH, seed=54)
        memories = built.augmentation.along(states, actions)[:, 1:]
        read_off = built.value_of_memory[memories]
        truth = _index_of_value(status, counter.received(states, actions))
        moments += truth.size
        mismatches += int((read_off != truth).sum())
        sizes.append((len(built.augmentation.memories), max(len(a.accepting) for a in automata)))
    computed = {
        "memories": float(sizes[0][0]),
        "largest_automaton": float(sizes[0][1]),
        "moments": float(moments),
        "mismatches": float(mismatches),
    }
    parts = (
        f"{len(status.values)} automata of up to {largest} states give {memories} memories "
        f"({status.name})"
        for status, (memories, largest) in zip(STATUSES, sizes, strict=True)
    )
    detail = (
        f"{'; '.join(parts)}; the status read off them differs from its definition at "
        f"{mismatches} of {moments} moments."
    )
    return CheckResult(mismatches == 0, computed, detail, instances=len(STATUSES))


def automata_from_memory() -> CheckResult:
    """Theorem 5.5: a memory that determines the status gives one automaton for each value.

    The automata must accept exactly the traces of their value and no word that is not a trace.
    They must also have the languages of the automata that were written by hand.

    Returns
    -------
    CheckResult
        Computed: words, wrong, broken_words, broken_accepted, different_languages.
    """
    words, wrong, broken, accepted, different = 0, 0, 0, 0, 0
    for status in STATUSES:
        memory = memory_of(status)
        value_of_memory = [status.values.index(past) for past in memory.memories]
        automata = automata_of_memory(
            memory,
            np.tile(value_of_memory, (counter.STATES, 1)),
            first_state=counter.EVERYBODY,
        )
        states, actions = counter.random_traces(TRACES, LENGTH, seed=55)
        traces = as_words(states, actions, counter.STATES)
        truth = _index_of_value(status, counter.received(states, actions))[:, -1]
        verdicts = np.stack([one.accepts(traces) for one in automata], axis=1)
        wrong += int((verdicts != (truth[:, None] == np.arange(len(automata)))).sum())
        words += verdicts.size
        spoiled = _spoiled(traces)
        accepted += int(sum(one.accepts(spoiled).sum() for one in automata))
        broken += len(spoiled)
        different += sum(
            not same_language(one, by_hand)
            for one, by_hand in zip(automata, automata_of(status), strict=True)
        )
    computed = {
        "words": float(words),
        "wrong": float(wrong),
        "broken_words": float(broken),
        "broken_accepted": float(accepted),
        "different_languages": float(different),
    }
    detail = (
        f"The automata built from the memories are wrong on {wrong} of {words} pairs of a trace "
        f"and a value, accept {accepted} of {broken} words that are no traces, and differ from "
        f"those written by hand for {different} values."
    )
    passed = not (wrong or accepted or different)
    return CheckResult(passed, computed, detail, instances=len(STATUSES))


def memory_growth() -> dict[str, list[int]]:
    """Count the memories that each status needs after 1 to `LONGEST` steps with everybody there.

    Returns
    -------
    dict of str to list of int
        By name of the status.
    """
    statuses = {status.name: status.history for status in STATUSES}
    statuses |= {"equal so far": equal_so_far, "counts": counts}
    return {
        name: [
            memory_needed(partial(_along_actions, history), actions=counter.PEOPLE, length=length)
            for length in range(1, LONGEST + 1)
        ]
        for name, history in statuses.items()
    }


def unbounded_count() -> CheckResult:
    """Definition 5.3: two values are not enough, a status can still need unbounded memory.

    Whether both have received equally much has two values. After t steps there are t + 1
    histories that some continuation tells apart, so the memory has to grow with the trace. For
    the value-regular statuses the number stops growing.

    Returns
    -------
    CheckResult
        Computed: capped, modulo, equal and count, the memories needed after the longest time.
    """
    growth = memory_growth()
    capped, modulo, equal, count = growth.values()
    line = list(range(2, LONGEST + 2))
    stops = capped[-1] == capped[-2] and modulo[-1] == modulo[-2]
    computed = {
        "capped": float(capped[-1]),
        "modulo": float(modulo[-1]),
        "equal": float(equal[-1]),
        "count": float(count[-1]),
    }
    detail = (
        f"After {LONGEST} steps {capped[-1]} memories are needed for counts up to {CAP} and "
        f"{modulo[-1]} for the gap modulo {MODULUS}, and more steps do not need more; whether both "
        f"are equal needs {equal[-1]}, one more with every step."
    )
    passed = stops and equal == line and count == line
    return CheckResult(passed, computed, detail, instances=len(growth))


def _along_actions(history: Callable[[FloatArray], FloatArray], actions: IntArray) -> FloatArray:
    """Return statuses (..., T, n) along actions (..., T) with everybody there."""
    return history(np.eye(counter.PEOPLE)[actions])


def _index_of_value(status: Status, received: FloatArray) -> IntArray:
    """Return (..., T): index of the value of the status at every moment, from its definition."""
    history = status.history(received)
    matches = (history[..., None, :] == np.array(status.values)).all(axis=-1)
    index: IntArray = matches.argmax(axis=-1)
    return index


def _spoiled(traces: IntArray) -> IntArray:
    """Return words that are no traces: in each, one symbol is of the wrong kind."""
    generator = np.random.default_rng(5)
    places = generator.integers(traces.shape[1], size=len(traces))
    rows = np.arange(len(traces))
    words = traces.copy()
    wanted_state = places % 2 == 0
    words[rows, places] = np.where(
        wanted_state,
        counter.STATES + generator.integers(counter.PEOPLE, size=len(traces)),
        generator.integers(counter.STATES, size=len(traces)),
    )
    return words
