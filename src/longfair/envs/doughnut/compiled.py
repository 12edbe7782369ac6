"""The doughnut problem once more, compiled, and Q-learning on it, for millions of short episodes.

The environment `longfair/Doughnut-v0` steps many copies together and spends some microseconds on
each call. A tabular learner cannot use that: every step changes the table that the next step reads,
so there is one copy, and the call would cost a hundred times as much as the step. The functions
here do what the environment does, for one copy, and are called from compiled code only.

They are a second face of the rules, so they can go wrong on their own. The tests play the same
actions with the same random numbers here and in the batch and compare presence, counts and rewards.

Everything that is compiled stands in this one file, the learner's loop as well. Machine code is
kept beside the source until the file changes, and a caller in another file would keep an old copy
of what it calls. `CompiledDoughnuts` is what the environment hands out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from longfair.arrays import BoolArray, FloatArray, IntArray
from longfair.compiling import njit
from longfair.envs.doughnut.params import DoughnutParams
from longfair.errors import UsageError, near_misses

LARGEST_TABLE = 50_000_000
"""Tables with more entries than this are refused: they would not fit a laptop."""

TIE = 1e-5
"""Values that differ by less are taken as equal when the best action is chosen."""

MEMORIES = ("full", "min", "reset")
"""What an agent remembers of the counts: all, how far ahead, or since all were last equal."""

_FULL, _MIN, _RESET = range(3)

Generators = tuple[np.random.Generator, np.random.Generator]
"""Who comes to the counter, and random choices, from streams that do not touch each other."""


class Doughnuts(NamedTuple):
    """A doughnut problem as compiled code takes it."""

    presence: FloatArray
    """(P,): probability that each person is at the counter."""
    length: int
    """Doughnuts per episode."""
    smoothing: float
    """Added inside the logarithm of the reward."""


class Rules(NamedTuple):
    """How a tabular agent learns, as compiled code takes it; see `QLearningSettings` of FairQCM."""

    memory: int
    imagine: bool
    imagine_real: bool
    waste_counts: bool
    decay_at_every_visit: bool
    exploration_decay: float
    least_exploration: float
    step_size: float
    step_size_decay: float
    discount: float
    stop_at_end: bool
    time: bool
    repeats: int


class Tables(NamedTuple):
    """What is learned. L is 1, or one more than the doughnuts when time is remembered."""

    values: FloatArray
    """(L, 2^P, (T + 1)^P, P)."""
    updates: IntArray
    """Same shape: how often each entry was updated."""
    exploration: FloatArray
    """(L, 2^P, (T + 1)^P): probability of a random choice at the next visit."""


class CompiledDoughnuts:
    """One copy of the problem that compiled code plays, for learners that keep a table.

    Parameters
    ----------
    params
        The parameters of the environment.

    Attributes
    ----------
    problem
        The same as compiled code takes them.
    """

    tie = TIE

    def __init__(self, params: DoughnutParams) -> None:
        presence = np.array(params.presence_probability, dtype=np.float64)
        self.problem = Doughnuts(presence, params.episode_length, float(params.smoothing))

    def tables(self, time: bool) -> Tables:
        """Return tables in which nothing is learned, with a layer per doughnut if `time`.

        Raises
        ------
        UsageError
            When they would not fit a laptop.
        """
        people, length = len(self.problem.presence), self.problem.length
        shape = (length + 1 if time else 1, 2**people, (length + 1) ** people, people)
        if (entries := math.prod(shape)) > LARGEST_TABLE:
            raise UsageError(
                f"the table would have {entries:,} entries: at most {LARGEST_TABLE:,} are allowed; "
                "give fewer people or a shorter episode"
            )
        return Tables(np.zeros(shape), np.zeros(shape, np.int64), np.ones(shape[:3]))

    def learn(
        self,
        settings: Mapping[str, Any],
        tables: Tables,
        episodes: int,
        training: Generators,
        evaluation: Generators,
        scores: FloatArray,
    ) -> None:
        """Play and learn episodes; where `scores` (3, E) has room, play a greedy one after each.

        Parameters
        ----------
        settings
            How to learn, by the names of `Rules`; the memory by its name.
        tables
            Changed in place.
        episodes
            How many.
        training, evaluation
            Sources of chance.
        scores
            Shape (3, E): reward, welfare and doughnuts of the greedy episodes, filled in.
        """
        rules = Rules(**{**settings, "memory": memory_kind(settings["memory"])})
        learn_episodes(self.problem, rules, tables, episodes, training, evaluation, scores)


class Step(NamedTuple):
    """What an experience shares with its imagined ones: all but memories and reward."""

    now: int
    then: int
    presence: int
    next_presence: int
    action: int
    last: bool


def memory_kind(memory: str) -> int:
    """Return the number that compiled code knows a kind of memory by.

    Raises
    ------
    UsageError
        When there is no such kind.
    """
    if memory not in MEMORIES:
        raise UsageError(f"memory {memory!r}: {near_misses(memory, MEMORIES)}")
    return MEMORIES.index(memory)


@njit(cache=True)
def draw_presence(problem: Doughnuts, world: np.random.Generator, present: BoolArray) -> None:
    """Draw who is at the counter into `present` (P,), in order of the persons."""
    for person in range(len(present)):
        present[person] = world.random() < problem.presence[person]


@njit(cache=True)
def serve(present: BoolArray, counts: IntArray, person: int) -> bool:
    """Offer the doughnut to a person, who counts it if present; say whether it was taken."""
    if present[person]:
        counts[person] += 1
        return True
    return False


@njit(cache=True)
def welfare(counts: IntArray, smoothing: float) -> float:
    """Return the Nash welfare of counts (P,), the sum of log(count + 1 + smoothing)."""
    total = 0.0
    for person in range(len(counts)):
        total += math.log(counts[person] + 1 + smoothing)
    return total


@njit(cache=True)
def shorten(memory: IntArray, kind: int) -> None:
    """Reduce counts (P,) in place to what an agent of that kind remembers after the step."""
    least = memory.min()
    if kind == _MIN or (kind == _RESET and least == memory.max()):
        memory -= least


@njit(cache=True)
def presence_code(present: BoolArray) -> int:
    """Return the sum of 2^i over the persons i who are present."""
    code = 0
    for person in range(len(present) - 1, -1, -1):
        code = 2 * code + int(present[person])
    return code


@njit(cache=True)
def memory_code(memory: IntArray, length: int) -> int:
    """Return the sum of (T + 1)^i m_i, as `longfair.envs.memory.IntegerCodes` does."""
    code = 0
    for person in range(len(memory) - 1, -1, -1):
        code = (length + 1) * code + memory[person]
    return code


@njit(cache=True)
def learn_episodes(
    problem: Doughnuts,
    rules: Rules,
    tables: Tables,
    episodes: int,
    training: Generators,
    evaluation: Generators,
    scores: FloatArray,
) -> None:
    """Play and learn episodes; where `scores` (3, E) has room, play a greedy one after each."""
    for episode in range(episodes):
        learn_episode(problem, rules, tables, training)
        if episode < scores.shape[1]:
            scores[:, episode] = greedy_episode(problem, rules, tables.values, evaluation)


@njit(cache=True)
def learn_episode(problem: Doughnuts, rules: Rules, tables: Tables, training: Generators) -> None:
    """Play one exploring episode and learn from every step."""
    world, choices = training
    people, length = len(problem.presence), problem.length
    present = np.zeros(people, np.bool_)
    counts = np.zeros(people, np.int64)
    before, after = np.zeros(people, np.int64), np.zeros(people, np.int64)  # memory
    draw_presence(problem, world, present)
    for elapsed in range(length):
        now, then = (elapsed, elapsed + 1) if rules.time else (0, 0)
        presence = presence_code(present)
        real = memory_code(before, length)
        action = explore(rules, tables, now, presence, real, choices)
        taken = serve(present, counts, action)
        after[action] += int(taken)
        shorten(after, rules.memory)
        reward = welfare(counts, problem.smoothing) if taken else 0.0
        draw_presence(problem, world, present)
        step = Step(now, then, presence, presence_code(present), action, elapsed + 1 == length)
        for _ in range(rules.repeats):
            update(rules, tables, step, real, reward, memory_code(after, length))
        if rules.imagine:
            learn_imagined(rules, tables, step, before, taken, length)
        before[:] = after


@njit(cache=True)
def learn_imagined(
    rules: Rules, tables: Tables, step: Step, memory: IntArray, taken: bool, length: int
) -> None:
    """Learn the step again for everybody having had none or one more than in `memory` (P,)."""
    people = len(memory)
    imagined = np.zeros(people, np.int64)
    for pattern in range(0 if rules.imagine_real else 1, 2**people):
        for person in range(people):  # the first person is the slowest to change
            imagined[person] = memory[person] + (pattern >> (people - 1 - person) & 1)
        if imagined.max() >= length:
            continue
        before = memory_code(imagined, length)
        if taken or rules.waste_counts:
            imagined[step.action] += 1
        reward = welfare(imagined, 0.0) if taken else 0.0
        update(rules, tables, step, before, reward, memory_code(imagined, length))


@njit(cache=True)
def update(
    rules: Rules, tables: Tables, step: Step, memory: int, reward: float, next_memory: int
) -> None:
    """Move one entry towards reward plus discounted best value afterwards."""
    target = reward
    if not (rules.stop_at_end and step.last):
        target += rules.discount * tables.values[step.then, step.next_presence, next_memory].max()
    entry = (step.now, step.presence, memory, step.action)
    tables.updates[entry] += 1
    rate = rules.step_size
    if rules.step_size_decay > 0.0:
        rate /= tables.updates[entry] ** rules.step_size_decay
    tables.values[entry] += rate * (target - tables.values[entry])


@njit(cache=True)
def explore(
    rules: Rules,
    tables: Tables,
    now: int,
    presence: int,
    memory: int,
    choices: np.random.Generator,
) -> int:
    """Choose a person at random or the best known one, and let exploration decay."""
    exploration = tables.exploration[now, presence, memory]
    at_random = choices.random() < exploration
    if (at_random or rules.decay_at_every_visit) and exploration > rules.least_exploration:
        tables.exploration[now, presence, memory] = exploration * rules.exploration_decay
    values = tables.values[now, presence, memory]
    if at_random:
        return int(choices.random() * len(values))
    return best(values, choices)


@njit(cache=True)
def best(values: FloatArray, choices: np.random.Generator) -> int:
    """Return the index of the largest value; of several within `TIE`, one at random."""
    bar = values.max() - TIE
    tied = 0
    for value in values:
        tied += value >= bar
    place = int(choices.random() * tied) if tied > 1 else 0
    chosen = 0
    for index in range(len(values)):
        if values[index] >= bar:
            chosen = index
            if place == 0:
                break
            place -= 1
    return chosen


@njit(cache=True)
def greedy_episode(
    problem: Doughnuts, rules: Rules, values: FloatArray, evaluation: Generators
) -> tuple[float, float, float]:
    """Play one episode with the best known actions; return reward, welfare and doughnuts taken."""
    world, choices = evaluation
    people = len(problem.presence)
    present = np.zeros(people, np.bool_)
    counts, memory = np.zeros(people, np.int64), np.zeros(people, np.int64)
    total_reward, total_welfare, allocated = 0.0, 0.0, 0.0
    draw_presence(problem, world, present)
    for elapsed in range(problem.length):
        now = elapsed if rules.time else 0
        known = values[now, presence_code(present), memory_code(memory, problem.length)]
        action = best(known, choices)
        taken = serve(present, counts, action)
        memory[action] += int(taken)
        shorten(memory, rules.memory)
        total_welfare += welfare(counts, 0.0)
        if taken:
            allocated += 1.0
            total_reward += welfare(counts, problem.smoothing)
        draw_presence(problem, world, present)
    return total_reward, total_welfare, allocated
