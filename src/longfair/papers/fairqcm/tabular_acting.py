"""Tables of action values that act in the doughnut problem, where no memory is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from longfair.arrays import FloatArray, IntArray
from longfair.envs.doughnut.compiled import TIE
from longfair.papers.protocol import Act
from longfair.papers.setting import Setting, Wrapper
from longfair.papers.untrained import params


def acting(
    setting: Setting, tables: Sequence[FloatArray]
) -> Callable[[Sequence[int], int, int | None], Act]:
    """Return how tables act side by side; see `Snapshots.acting`.

    Parameters
    ----------
    setting
        What the tables were learned with.
    tables
        As `TabularQLearning.values`.
    """
    ties = [np.random.default_rng()]

    def act(which: Sequence[int], episodes: int, seed: int | None) -> Act:
        if seed is not None:
            ties[:] = [np.random.default_rng(seed)]
        return Greedy(setting, [tables[number] for number in which], episodes, ties[0])

    return act


class Greedy:
    """Take the best known action in the doughnut problem, by a memory of one's own.

    Parameters
    ----------
    setting
        What the tables were learned with.
    tables
        As `TabularQLearning.values`.
    episodes
        Episodes of each table, all of which begin at the same moment.
    ties
        Chooses between actions that are equally good.
    """

    def __init__(
        self,
        setting: Setting,
        tables: Sequence[FloatArray],
        episodes: int,
        ties: np.random.Generator,
    ) -> None:
        remembers = Wrapper(f"{setting.method.memory}-memory", {"encoding": "counts"})
        self._memory: Any = remembers.around(setting.world.make(1))
        people = np.arange(tables[0].shape[-1])
        self._presence_weights = 2**people
        self._memory_weights = (params(setting.world).episode_length + 1) ** people
        self._values = np.stack(tables)
        self._table = np.repeat(np.arange(len(tables)), episodes)
        self._time = setting.method.time
        self._ties = ties

    def __call__(self, observation: Any, info: dict[str, Any]) -> IntArray:
        """Choose a person in every copy (N,), given who is there (N, P)."""
        if "supply" not in info or "_final_obs" in info:  # episodes begin
            self._elapsed, self._counts = 0, np.zeros(observation.shape, np.int64)
        else:
            self._elapsed += 1
            self._counts = self._memory.update(self._counts, info["supply"].astype(np.int64))
        values = self._values[
            self._table,
            self._elapsed if self._time else 0,
            observation.astype(np.int64) @ self._presence_weights,
            self._counts @ self._memory_weights,
        ]
        best = values >= values.max(axis=1, keepdims=True) - TIE
        chosen: IntArray = (best * self._ties.random(best.shape)).argmax(axis=1)
        return chosen
