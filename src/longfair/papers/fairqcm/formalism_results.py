"""Tables of the FairQCM chapter on the formalism. Each takes seconds; nothing is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longfair.agents.evaluation import acting
from longfair.agents.finite import FiniteProblem
from longfair.agents.policies import (
    AnybodyAtRandom,
    LeastServedThere,
    Rotation,
    SomebodyThereAtRandom,
)
from longfair.arrays import FloatArray
from longfair.envs.doughnut import DoughnutParams
from longfair.metrics.memory_fairness import (
    Automaton,
    counts,
    is_markovian,
    log_nash_welfare,
    memory_of_automata,
    rawlsian_welfare,
    relaxed_parity,
    scheme_rewards,
)
from longfair.papers.fairqcm import counter
from longfair.papers.fairqcm.checks import (
    LENGTH,
    best_over_histories,
    counts_and_clock,
    two_monthly_scheme,
)
from longfair.papers.fairqcm.memory_checks import STATUSES, automata_of
from longfair.wording import numeral

_PEOPLE = len(DoughnutParams.tabular().presence_probability)

POLICIES: Mapping[str, Callable[[], Any]] = {
    "anybody at random": lambda: AnybodyAtRandom(_PEOPLE, seed=1),
    "somebody who is there": lambda: SomebodyThereAtRandom(_PEOPLE, seed=1),
    "turns, skipping the absent": lambda: Rotation(_PEOPLE),
    "whoever has had least": lambda: LeastServedThere(_PEOPLE),
}
"""Policies that need no training, for the paper's three people and twelve doughnuts."""


def received_under(policy: str, episodes: int, seed: int) -> FloatArray:
    """Play the paper's tabular doughnut problem and return who received what.

    Parameters
    ----------
    policy
        A name in `POLICIES`.
    episodes
        Number of episodes N, all played at once.
    seed
        Seed of who comes when; the same for every policy.

    Returns
    -------
    numpy.ndarray
        Shape (N, 12, 3).
    """
    env = gymnasium.make_vec("longfair/Doughnut-v0", num_envs=episodes, preset="tabular")
    act = acting(POLICIES[policy]())
    observation, info = env.reset(seed=seed)
    received = []
    for _ in range(DoughnutParams.tabular().episode_length):
        observation, _, _, _, info = env.step(act(observation, info))
        received.append(info["supply"])
    return np.stack(received, axis=1).astype(np.float64)


def audited(trace: pd.DataFrame, moments: Any = None) -> NDArray[np.bool_]:
    """Look whenever another two loans have been granted: a filter that depends on the trace.

    Parameters
    ----------
    trace
        Loans granted, one row per moment and one column per group.
    moments
        Not needed; filters are given the times, too.

    Returns
    -------
    numpy.ndarray
        Shape (T,): whether a moment is looked at.
    """
    loans = trace.to_numpy().sum(axis=1)
    looked_at: NDArray[np.bool_] = (loans.cumsum() % 2 == 0) & (loans > 0)
    return looked_at


def worth_of_memory() -> tuple[pd.DataFrame, pd.Series[float]]:
    """Compare policies without memory with the best ones that remember, exactly.

    The scheme is that of the check on rewards: two people, four doughnuts, Nash welfare after
    every second one. Without memory the only choice is whom to serve when both are there.

    Returns
    -------
    without : pandas.DataFrame
        Expected score of policies without memory, by the chance that the first person is served
        when both are there.
    with_memory : pandas.Series
        Expected score of a policy that serves whoever is behind, and the best of all policies.
    """
    chances = np.linspace(0.0, 1.0, 41)
    without = [_score_of(_memoryless(chance)) for chance in chances]
    frame = pd.DataFrame({"no memory": without}, index=pd.Index(chances, name="chance"))
    remembering = {
        "whoever is behind": _score_of(_behind()),
        "best of all": best_over_histories(two_monthly_scheme(), LENGTH),
    }
    return frame, pd.Series(remembering, name="score")


def markovian_with() -> pd.DataFrame:
    """Say which quantities are functions of the state with which memory, on random traces.

    Returns
    -------
    pandas.DataFrame
        Rows are quantities, columns memories: "yes", or "no" if two moments of the traces have
        the same state and memory and different values.
    """
    states, actions = counter.random_traces(traces=3000, length=12, seed=51)
    received = counter.received(states, actions)
    status = counts(received)
    welfare = log_nash_welfare(status)
    quantities = {
        "parity": relaxed_parity(status),
        "worst-off": rawlsian_welfare(status),
        "log Nash": welfare,
        "log Nash, zero if wasted": np.where(received.any(axis=-1), welfare, 0.0),
    }
    memories = {
        "nothing": np.zeros_like(status),
        "Min": status - status.min(axis=-1, keepdims=True),
        "Reset": _since_all_were_equal(received),
        "Full": status,
    }
    now = states[:, 1:]
    return pd.DataFrame(
        {
            memory: {
                quantity: "yes" if is_markovian(values, now, *np.moveaxis(held, -1, 0)) else "no"
                for quantity, values in quantities.items()
            }
            for memory, held in memories.items()
        }
    )


def sizes() -> pd.DataFrame:
    """Return how large the automata and the memory built from them are, for both statuses."""
    rows = {}
    for status in STATUSES:
        automata: list[Automaton] = automata_of(status)
        states = [len(one.accepting) for one in automata]
        built = memory_of_automata(
            automata,
            first_state=counter.EVERYBODY,
            states=counter.STATES,
            actions=counter.PEOPLE,
        )
        rows[status.name] = {
            "values": len(status.values),
            "smallest automaton": min(states),
            "largest automaton": max(states),
            "product of all sizes": numeral(float(np.prod(states, dtype=float)), 2),
            "memories that occur": len(built.augmentation.memories),
        }
    return pd.DataFrame(rows).transpose()


def _score_of(policy: FloatArray) -> float:
    """Return the exact score of a policy (states, memories, people) with counts and a clock."""
    memory = counts_and_clock()
    held = np.array(memory.memories)
    reward = scheme_rewards(held[:, None, :2], log_nash_welfare, held[:, 2:] == 0)[:, 0]
    arrival = counter.state_probabilities()
    pairs = memory.augmented(np.tile(arrival, (counter.STATES, counter.PEOPLE, 1)))
    flat = policy.reshape(-1, counter.PEOPLE)
    expected = pairs @ np.tile(reward, counter.STATES)
    values = FiniteProblem.of(pairs, expected).policy_values(flat, LENGTH)[0]
    return float(arrival @ values.reshape(counter.STATES, -1)[:, 0])


def _memoryless(chance: float) -> FloatArray:
    """Return (states, memories, people): serve whoever is there; of two the first by chance."""
    by_state = np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0], [chance, 1.0 - chance]])
    return np.repeat(by_state[:, None], len(counts_and_clock().memories), axis=1)


def _behind() -> FloatArray:
    """Return (states, memories, people): of two who are there, serve the one who has had less."""
    policy = _memoryless(0.5)
    ahead = np.array([first > second for first, second, _ in counts_and_clock().memories])
    policy[counter.EVERYBODY, ~ahead] = (1.0, 0.0)
    policy[counter.EVERYBODY, ahead] = (0.0, 1.0)
    return policy


def _since_all_were_equal(received: FloatArray) -> FloatArray:
    """Return (N, T, 2): what everybody received since both were last equal."""
    held = np.zeros_like(received)
    memory = np.zeros_like(received[:, 0])
    for step in range(received.shape[1]):
        memory = memory + received[:, step]
        memory = np.where((memory == memory[:, :1]).all(axis=1, keepdims=True), 0.0, memory)
        held[:, step] = memory
    return held
