"""Doughnuts for a crowd that comes and goes: fairness between people that needs memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode

from longfair.arrays import BoolArray, FloatArray, IntArray
from longfair.envs.doughnut.params import DoughnutParams
from longfair.envs.doughnut.written_out import tabular
from longfair.envs.tabular import TabularModel
from longfair.envs.vector import FairVectorEnv, Restart, Transition
from longfair.settings import Count, validated

if TYPE_CHECKING:
    from longfair.envs.doughnut.compiled import CompiledDoughnuts


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

    @validated
    def __init__(
        self,
        num_envs: Count = 1,
        params: DoughnutParams | None = None,
        autoreset_mode: Restart = AutoresetMode.SAME_STEP,
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
        return self.np_random.random(self._counts.shape) < self._presence_probability

    def _observation(self) -> Any:
        return self._present.astype(np.float32)

    def _group_state(self) -> FloatArray:
        return self._counts[:, :, None].astype(np.float64)

    def tabular(self) -> TabularModel:
        """Write the problem out in full; see `longfair.envs.doughnut.tabular`."""
        return tabular(params=self.params)

    def compiled(self) -> CompiledDoughnuts:
        """Return the problem as compiled code plays it; see `longfair.envs.doughnut.compiled`."""
        # Imported when asked for: loading machine code takes longer than all the rest.
        from longfair.envs.doughnut.compiled import CompiledDoughnuts

        return CompiledDoughnuts(self.params)
