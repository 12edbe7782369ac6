"""Attention allocation: a few inspectors, several sites, and incidents that follow neglect."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike

from longfair.arrays import BoolArray, FloatArray
from longfair.compiling import njit
from longfair.envs.vector import FairVectorEnv, Restart, Transition, action_array
from longfair.errors import UsageError
from longfair.settings import (
    Count,
    EpisodeLength,
    Length,
    Natural,
    NonNegative,
    Range,
    checked,
    require_length,
    shortened,
    validate,
    validated,
)

_HIGHEST_LOGIT = 300.0


@dataclass(frozen=True)
class AttentionParams:
    """Everything that defines an attention allocation problem.

    The defaults are ELBERT's original environment.
    """

    PRESETS: ClassVar[tuple[str, ...]] = ("elbert", "elbert_harder", "fppo")

    units: Count = 6
    """Units of attention given out in every step."""
    initial_rate: Annotated[tuple[NonNegative, ...], Length(2)] = (8.0, 6.0, 4.0, 3.0, 1.5)
    """G rates: expected incidents per step at every site at the start of an episode."""
    decrease: tuple[NonNegative, ...] = (0.1, 0.1, 0.1, 0.1, 0.1)
    """G numbers: how much one unit lowers the rate of its site."""
    increase: tuple[NonNegative, ...] = (0.1, 0.1, 0.1, 0.1, 0.1)
    """G numbers: how much the rate of a site rises in a step without any unit."""
    discovered_weight: NonNegative = 1.0
    """Reward per discovered incident."""
    missed_weight: NonNegative = 0.25
    """Cost per incident that nobody discovered."""
    logit_limit: Annotated[float, Range(0.0, _HIGHEST_LOGIT)] = 3.0
    """The action space is [-`logit_limit`, `logit_limit`] for every site."""
    episode_length: EpisodeLength = 1024
    """Steps per episode."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)
        for field in ("decrease", "increase"):
            require_length(field, getattr(self, field), len(self.initial_rate), "initial_rate")

    @classmethod
    def elbert(cls) -> AttentionParams:
        """ELBERT's original environment: 6 units, all rates move by 0.1, 1024 steps."""
        return cls()

    @classmethod
    def elbert_harder(cls) -> AttentionParams:
        """ELBERT's harder environment: 30 units, busier sites, reward for missed incidents only."""
        return cls(
            units=30,
            initial_rate=(30.0, 25.0, 22.5, 17.5, 12.5),
            decrease=(0.004, 0.01, 0.016, 0.02, 0.04),
            increase=(0.08, 0.2, 0.4, 0.8, 2.0),
            discovered_weight=0.0,
        )

    @classmethod
    def fppo(cls) -> AttentionParams:
        """F-PPO's environment: neglect costs more at some sites, 1000 steps, logits not clipped.

        The limit of 100 stands for "no clipping": a Gaussian policy does not get there.
        """
        return cls(increase=(0.2, 0.26, 0.4, 0.6, 0.3), logit_limit=100.0, episode_length=1000)


class AttentionVectorEnv(FairVectorEnv):
    r"""A few units of attention are spread over several sites, and neglected sites get worse.

    Think of inspectors and factories. In every step :math:`y_g \sim \mathrm{Poisson}(\mu_g)`
    incidents occur at site :math:`g`, and :math:`a_g` units there discover
    :math:`\min(a_g, y_g)` of them. A site that got units has its rate :math:`\mu_g` lowered by
    `decrease` for each of them, but not below zero. A site that got none has its rate raised by
    `increase`, without a limit. Every site is a group.

    ## Action space

    `Box(-logit_limit, logit_limit, (G,))`: one logit per site. The `units` are divided in
    proportion to the softmax of the logits, rounded to whole units by largest remainder (see
    `allocate_units`). A Gaussian policy has to clip its samples to the space, as
    Stable-Baselines3 does.

    ## Observation space

    `Box(0, inf, (3 * G,))`: what the last step brought. Incidents discovered (G numbers),
    incidents occurred (G), units given (G); all zero at the start of an episode. The rates are
    not observed. What each paper's agents see is a composition of wrappers:
    `History(RunningRates(env, offset=1.0), 8)` for ELBERT and
    `History(WindowRates(env, 300, offset=1.0), 8)` for F-PPO, both of 160 numbers.

    ## Rewards

    `discovered_weight` times the incidents discovered, minus `missed_weight` times the incidents
    missed, summed over sites.

    ## Starting state

    The initial rates, and an empty observation. Two policies with one seed meet independent
    incidents after the first step in which their units differ.

    ## Episode end

    Truncated after `episode_length` steps. Never terminated.

    ## Information

    | Key | Shape | Meaning |
    | --- | --- | --- |
    | `supply` | (N, G) | incidents discovered at every site |
    | `demand` | (N, G) | incidents that occurred at every site |
    | `group_state` | (N, G, 1) | current rate of every site, in expected incidents per step |
    | `allocation` | (N, G) | units given to every site |

    The long-term benefit rate of a site, total supply over total demand, is the chance that an
    incident there is discovered.

    ## Arguments

    `preset`: `"elbert"` (default), `"elbert_harder"`, `"fppo"`. `params`: an `AttentionParams`
    instead of a preset. `episode_length`: replaces that of the preset.

    ## Vectorised use

    `gymnasium.make_vec("longfair/Attention-v0", num_envs=256, preset="elbert_harder")` steps 256
    copies together; `gymnasium.make("longfair/Attention-v0")` is a batch of one.

    ## Version history

    v0: first version. Incidents are drawn at the rate before its update. Missed incidents cost
    0.25 in all presets: ELBERT's main text leaves the factor out for the harder environment, its
    appendix, code and figures have it. Rates do not fall below zero: F-PPO's text omits the
    floor, its code has it.
    """

    params_class = AttentionParams
    continuous = True

    @validated
    def __init__(
        self,
        num_envs: Count = 1,
        params: AttentionParams | None = None,
        autoreset_mode: Restart = AutoresetMode.SAME_STEP,
    ) -> None:
        self.params = params = AttentionParams.elbert() if params is None else params
        sites = len(params.initial_rate)
        limits = np.repeat([params.units, np.inf, params.units], sites).astype(np.float32)
        action_space = Box(-params.logit_limit, params.logit_limit, (sites,), np.float32)
        super().__init__(
            num_envs=num_envs,
            num_groups=sites,
            episode_length=params.episode_length,
            observation_space=Box(np.zeros_like(limits), limits, dtype=np.float32),
            action_space=action_space,
            autoreset_mode=autoreset_mode,
        )
        # The limit as the action space knows it, after rounding to single precision.
        self._limit = float(action_space.high[0])
        self._initial = np.array(params.initial_rate)
        self._decrease = np.array(params.decrease)
        self._increase = np.array(params.increase)
        self._rate = np.empty((num_envs, sites))
        self._last_step = np.zeros((num_envs, 3 * sites), np.float32)

    def _restart(self, copies: BoolArray) -> None:
        self._rate[copies] = self._initial
        self._last_step[copies] = 0.0

    def _transition(self, actions: FloatArray) -> Transition:
        units = largest_remainders(actions.astype(np.float64, copy=False), self.params.units)
        incidents = self.np_random.poisson(self._rate).astype(np.float64)
        discovered = np.minimum(units, incidents)
        self._last_step = np.concatenate(
            [discovered, incidents, units], axis=1, dtype=np.float32, casting="same_kind"
        )
        served = np.maximum(self._rate - self._decrease * units, 0.0)
        self._rate = np.where(units > 0, served, self._rate + self._increase)
        seen, occurred = np.einsum("ng->n", discovered), np.einsum("ng->n", incidents)
        params = self.params
        reward = params.discovered_weight * seen - params.missed_weight * (occurred - seen)
        never = np.zeros(self.num_envs, np.bool_)
        return Transition(reward, discovered, incidents, never, {"allocation": units})

    def _observation(self) -> Any:
        return self._last_step.copy()

    def _group_state(self) -> FloatArray:
        return self._rate[:, :, None].copy()

    def _checked_actions(self, actions: Any) -> FloatArray:
        array = action_array(actions, self.action_space.shape, "numbers")
        # A logit that is not a number fails this comparison as well.
        if not np.abs(array).max() <= self._limit:
            bad = array[~(np.abs(array) <= self._limit)][0]
            raise UsageError(
                f"logit {bad!s} is not allowed: clip to [{-self._limit:g}, {self._limit:g}]"
            )
        return array


def allocate_units(logits: ArrayLike, units: int) -> FloatArray:
    r"""Divide whole units in proportion to the softmax of logits, by largest remainder.

    With probabilities :math:`p_g` and :math:`N` units, every site first gets
    :math:`\lfloor N p_g \rfloor`. The units left over go to the sites with the largest remainders
    :math:`N p_g - \lfloor N p_g \rfloor`, and among equal ones to the lowest index. This is
    Hamilton's method of apportionment. The published code gets the same counts by handing out
    one unit after another to the site that is furthest below its share.

    Parameters
    ----------
    logits
        Shape (N, G), finite, with at least one site.
    units
        Units to give out in every row, at least 0.

    Returns
    -------
    numpy.ndarray
        Shape (N, G): whole numbers, as floats, that sum to `units` in every row.

    Raises
    ------
    UsageError
        If `logits` has another shape or a value that is not finite, or `units` is no such number.
    """
    given = UsageError(f"logits={shortened(logits)}: give rows of finite numbers, one per site")
    try:
        rows = np.asarray(logits, np.float64)
    except (TypeError, ValueError):
        raise given from None
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
        raise given
    return largest_remainders(rows, checked("units", units, Natural))


@njit(cache=True)
def largest_remainders(logits: FloatArray, units: int) -> FloatArray:
    """Do what `allocate_units` does, for an array of double precision.

    Parameters
    ----------
    logits, units
        Shape (N, G), and the units to give out in every row.

    Returns
    -------
    numpy.ndarray
        Shape (N, G): whole numbers, as floats.
    """
    copies, sites = logits.shape
    allocation = np.empty((copies, sites))
    remainder = np.empty(sites)
    for copy in range(copies):
        top, total, left = logits[copy].max(), 0.0, float(units)
        for site in range(sites):
            remainder[site] = math.exp(logits[copy, site] - top)
            total += remainder[site]
        for site in range(sites):
            quota = remainder[site] * (units / total)
            allocation[copy, site] = math.floor(quota)
            remainder[site] = quota - allocation[copy, site]
            left -= allocation[copy, site]
        for _ in range(int(left)):
            first = remainder.argmax()
            allocation[copy, first] += 1.0
            remainder[first] = -1.0
    return allocation
