"""Doughnuts for a crowd that comes and goes: fairness between people that needs memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode
from scipy.sparse import csr_array

from longfair.envs.tabular import TabularModel, require_small
from longfair.envs.vector import (
    BoolArray,
    FairVectorEnv,
    FloatArray,
    IntArray,
    Transition,
    checked_discrete,
)
from longfair.settings import Count, Length, NonNegative, Probability, validate


@dataclass(frozen=True)
class DoughnutParams:
    """Everything that defines a doughnut problem. The defaults are those of the deep agents."""

    PRESETS: ClassVar[tuple[str, ...]] = ("deep", "tabular")

    presence_probability: Annotated[tuple[Probability, ...], Length(1)] = (0.8, 0.8, 0.8, 0.8, 0.8)
    """Probability that each of the P people stands at the counter, drawn anew at every step."""
    episode_length: Count = 100
    """Doughnuts per episode, one a step."""
    smoothing: NonNegative = 1e-4
    """Added inside the logarithm of the reward: 0 in the paper, 0.0001 in the authors' code."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)

    @classmethod
    def deep(cls) -> DoughnutParams:
        """Return the problem of the deep agents: 5 people, 100 doughnuts."""
        return cls()

    @classmethod
    def tabular(cls) -> DoughnutParams:
        """Return the problem of the tabular agents: 3 people, 12 doughnuts."""
        return cls(presence_probability=(0.8, 0.8, 0.8), episode_length=12)


class DoughnutVectorEnv(FairVectorEnv):
    r"""One doughnut a step goes to one of a few people, who are not always there to take it.

    At every step each person :math:`i` is at the counter with probability :math:`p_i`,
    independently of everything else. The agent hands one doughnut to one person. If that person is
    there, the person's count :math:`n_i` rises by one; if not, the doughnut is wasted. The reward
    of a served doughnut is the Nash welfare of all counts so far, so a fair split is rewarded at
    every moment and not only at the end. The observation says who is there and nothing about the
    past: an agent that wants to be fair has to remember, and wrappers in `longfair.envs.memory`
    append what each of the paper's agents remembers.

    ## Action space

    `Discrete(P)`: the person who is offered the doughnut.

    ## Observation space

    `Box(0, 1, (P,))`: 1 for each person at the counter, else 0. The counts are not observed.

    ## Rewards

    For a doughnut that is taken, :math:`\sum_i \log(n_i + 1 + \lambda)` with the counts after this
    doughnut, where :math:`\lambda` is `smoothing`; 0 for a wasted one. Counts are whole doughnuts,
    the logarithm is natural.

    ## Starting state

    Nobody has had a doughnut; who is at the counter is drawn.

    ## Episode end

    Truncated after `episode_length` doughnuts. Never terminated.

    ## Information

    The groups are the people: G = P.

    | Key | Shape | Meaning |
    | --- | --- | --- |
    | `supply` | (N, G) | 1 for the person who got this step's doughnut |
    | `demand` | (N, G) | 1 for every person who was at the counter when it was handed out |
    | `group_state` | (N, G, 1) | doughnuts the person has had in this episode |
    | `welfare` | (N,) | Nash welfare of the counts after this step, wasted or not |
    | `wasted` | (N,) | whether this step's doughnut was wasted (boolean) |

    The long-term benefit rate of a person is the share of the person's visits that ended with a
    doughnut. `welfare` and `wasted` belong to the step just made, also when it ended an episode.

    ## Arguments

    `preset`: `"deep"` (default: 5 people, 100 doughnuts) or `"tabular"` (3 people, 12 doughnuts).
    `params`: a `DoughnutParams` instead of a preset, with any number of people.
    `episode_length`: replaces that of the preset.

    ## Vectorised use

    `gymnasium.make_vec("longfair/Doughnut-v0", num_envs=256, preset="tabular")` steps 256 copies
    together; `gymnasium.make("longfair/Doughnut-v0")` is a batch of one. `tabular()` in this
    module writes a small problem out in full.

    ## Version history

    v0: first version. The order within a step is doughnut, next people, reward, as in the authors'
    code. The reward adds the code's `smoothing`, which the paper's formula does not have; over an
    episode of the presets it is worth less than 0.01.
    """

    params_class = DoughnutParams
    people = True
    finite = True

    def __init__(
        self,
        num_envs: int = 1,
        params: DoughnutParams | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
    ) -> None:
        self.params = params = DoughnutParams.deep() if params is None else params
        people = len(params.presence_probability)
        super().__init__(
            num_envs=num_envs,
            num_groups=people,
            episode_length=params.episode_length,
            observation_space=Box(0.0, 1.0, (people,), np.float32),
            action_space=Discrete(people),
            autoreset_mode=autoreset_mode,
        )
        self.memory_units = np.arange(people)  # a memory counts for every person
        # One row per copy: comparing equal shapes is several times faster than broadcasting.
        self._presence_probability = np.tile(params.presence_probability, (num_envs, 1))
        # What the welfare gains when a person who has had k doughnuts gets one more.
        self._gain = np.diff(np.log(np.arange(params.episode_length + 1) + 1 + params.smoothing))
        self._nobody_served = people * math.log(1 + params.smoothing)
        self._first_cell = np.arange(num_envs) * people
        self._present = np.zeros((num_envs, people), dtype=np.bool_)
        self._counts = np.zeros((num_envs, people), dtype=np.int64)
        self._welfare = np.zeros(num_envs)

    def _restart(self, copies: BoolArray) -> None:
        self._counts[copies] = 0
        self._welfare = np.where(copies, self._nobody_served, self._welfare)
        np.copyto(self._present, self._draw_presence(), where=copies[:, None])

    def _transition(self, actions: IntArray) -> Transition:
        cell = self._first_cell + actions
        served = self._present.reshape(-1).take(cell)
        cells = self._counts.reshape(-1)
        count = cells.take(cell)
        cells[cell] = count + served
        self._welfare = self._welfare + self._gain.take(count) * served
        supply = np.zeros(self._counts.shape)
        supply.reshape(-1)[cell] = served
        demand = self._present.astype(np.float64)
        self._present = self._draw_presence()
        return Transition(
            self._welfare * served,
            supply,
            demand,
            np.zeros(len(cell), np.bool_),
            {"welfare": self._welfare.copy(), "wasted": ~served},
        )

    def _draw_presence(self) -> BoolArray:
        present: BoolArray = self.np_random.random(self._counts.shape) < self._presence_probability
        return present

    def _observation(self) -> Any:
        return self._present.astype(np.float32)

    def _group_state(self) -> FloatArray:
        return self._counts[:, :, None].astype(np.float64)

    def tabular(self) -> TabularModel:
        """Write the problem out in full; see the function `tabular` of this module."""
        return tabular(params=self.params)

    def _checked_actions(self, actions: Any) -> IntArray:
        return checked_discrete(actions, self.num_envs, self.num_groups)


def tabular(
    preset: str = "tabular",
    params: DoughnutParams | None = None,
    episode_length: int | None = None,
) -> TabularModel:
    """Write a small doughnut problem out in full, with everybody's count in the state.

    Returns
    -------
    TabularModel
        A state is who is present (P numbers, 0 or 1) and what everybody has had (P counts, at
        most `episode_length` doughnuts together). Once all doughnuts are handed out nobody is
        served any more; an episode gets there at its end only.

    Raises
    ------
    UsageError
        When the problem is too large. The number of states is 2^P times the number of ways to hand
        out up to `episode_length` doughnuts: 3640 for the preset `tabular`.
    """
    chosen = DoughnutVectorEnv.chosen_params(preset, params, episode_length)
    presence, length = np.array(chosen.presence_probability), chosen.episode_length
    people = len(presence)
    size = 2**people * math.comb(length + people, people)
    require_small(size * people * 2**people, "the doughnut problem")
    patterns = np.arange(2**people)[:, None] >> np.arange(people) & 1
    chance = np.where(patterns, presence, 1 - presence).prod(axis=1)
    counts = _count_vectors(people, length)
    # Axes: counts before the step, people present, person offered the doughnut.
    served = (counts.sum(axis=1) < length)[:, None, None] & patterns.astype(np.bool_)
    after = np.where(served, _one_more(counts)[:, None, :], np.arange(len(counts))[:, None, None])
    welfare = np.log(counts + 1 + chosen.smoothing).sum(axis=1)
    next_states = after[..., None] * len(patterns) + np.arange(len(patterns))
    transition = csr_array(
        (
            np.tile(chance, size * people),
            next_states.reshape(-1),
            np.arange(size * people + 1) * len(patterns),
        ),
        shape=(size * people, size),
    )
    return TabularModel(
        fields=tuple(
            f"{name}_{person}" for name in ("present", "count") for person in range(people)
        ),
        states=np.concatenate(
            [np.tile(patterns, (len(counts), 1)), np.repeat(counts, len(patterns), axis=0)], axis=1
        ),
        initial_distribution=np.concatenate([chance, np.zeros(size - len(patterns))]),
        transition=transition,
        reward=(welfare[after] * served).reshape(size, people),
        horizon=length,
    )


def _count_vectors(people: int, total: int) -> IntArray:
    """Return all count vectors (C, P) that add up to at most `total`, all zeros first."""
    # Bars among stars: the gaps between increasing positions are the counts.
    positions = np.array(list(combinations(range(total + people), people)))
    counts: IntArray = np.diff(positions, axis=1, prepend=-1) - 1
    return counts


def _one_more(counts: IntArray) -> IntArray:
    """Return (C, P): the row of the vector with one more for each person, or C beyond the last."""
    base = counts.max() + 2
    weights = base ** np.arange(counts.shape[1])[::-1]
    # Lexicographic order of the rows is the order of these codes.
    codes = counts @ weights
    rows: IntArray = np.searchsorted(codes, codes[:, None] + weights)
    return rows
