"""What a method of the PPO family changes: rewards, signals with critics, and the advantage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longfair.agents.ppo.parameters import finite
from longfair.agents.register import FAIR_PPO, Style, register
from longfair.arrays import FloatArray
from longfair.errors import UsageError, near_misses
from longfair.settings import shortened, validate

if TYPE_CHECKING:
    from torch import Tensor

    from longfair.agents.learning.actor import Actor

Arrays = Mapping[str, NDArray[Any]]

NOTHING: Arrays = MappingProxyType({})

FURTHEST = 1e4
"""Size of an intervention's continuous actions, at most: the square of their distance from the mean
is in the log-likelihood, and the likelihood in the ratio of the loss."""


class Rollout(NamedTuple):
    """What the environment gave back: T steps in N copies with G groups."""

    rewards: FloatArray
    """(T, N)."""
    supply: FloatArray
    """(T, N, G)."""
    demand: FloatArray
    """(T, N, G)."""
    starts: NDArray[np.bool_]
    """(T, N): whether an episode began with the step."""
    ends: NDArray[np.bool_]
    """(T, N): whether an episode ended with the step."""
    discount: float
    """Discount factor of the learner."""
    info: Arrays = NOTHING
    """(T, N, ...) each: what the strategy `needs`, as the infos of the T steps had it."""
    state: Arrays = NOTHING
    """What the strategy keeps from rollout to rollout, brought up to this one."""


class Moment(NamedTuple):
    """A choice that has been made and not yet executed, in N copies."""

    observation: NDArray[Any]
    """(N, ...): what the policy saw."""
    actions: NDArray[Any]
    """(N, ...): what it chose, a new array."""
    info: Arrays
    """Of the names in `Strategy.needs`, arrays (N, ...) of the infos before the step; after a
    reset, those that the environment gives there."""
    policy: Actor
    """The policy."""
    output: NDArray[np.float32]
    """(N, A): the policy's logits or means, which say how likely other actions were."""
    rollout: int
    """Number of the rollout, from 0 on; schedules go by it."""
    rng: np.random.Generator
    """The learner's generator."""


class Plan(NamedTuple):
    """What a strategy makes of a rollout, fixed for all minibatches of the update."""

    rewards: FloatArray
    """(T, N): rewards to learn from."""
    signals: FloatArray
    """(T, N, K): further per-step quantities that get critics and advantages."""
    features: FloatArray
    """(T, N, F): further per-step numbers needed when advantages are combined."""
    weights: NDArray[np.float32]
    """(1 + K,): weight of every advantage in a linear combination; reward first."""


@register(
    label="G-PPO",
    place=10,
    style=Style("#D55E00", "s"),
    loaded_by=FAIR_PPO,
)
@dataclass(frozen=True)
class Strategy:
    """Plain PPO (G-PPO in the papers); the methods override only what they change.

    Parameters
    ----------
    train_unused_critics
        Whether to train critics of supply and demand that the method does not use. The code of
        the ELBERT paper does, and they then share the joint clip of the gradient norm with the
        policy: slower, and a smaller policy step while those critics still fit.
    """

    name: ClassVar[str] = "g-ppo"
    revision: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()
    """Names of the environment's info arrays that the rollout keeps, and `intervene` gets."""
    told_by: ClassVar[str] = ""
    """What to do for an environment to tell them, for the error where it does not."""
    train_unused_critics: bool = False

    def __post_init__(self) -> None:
        """Raise `UsageError` for values that have no meaning."""
        validate(self)

    @property
    def standardises(self) -> bool:
        """Whether `advantage` divides by a deviation over the minibatch, which one sample lacks."""
        return True

    def why_not(self, env: Any) -> str:
        """Say why these settings have no meaning in an environment; empty if they have."""
        return ""

    def num_signals(self, num_groups: int) -> int:
        """Return the number K of signals that get a critic."""
        return 2 * num_groups if self.train_unused_critics else 0

    def initial_state(self, num_groups: int) -> Arrays:
        """Return what one model keeps from rollout to rollout, as named arrays.

        The strategy itself never changes. A model keeps the state, saves it, and logs what is a
        single number.
        """
        return NOTHING

    def next_state(self, rollout: Rollout) -> Arrays:
        """Return the state after a rollout, whose `state` is the one before it."""
        return rollout.state

    def intervene(self, moment: Moment) -> NDArray[Any]:
        """Return the actions (N, ...) to execute, between the choice and the environment.

        The policy learns from what is executed: log-probabilities are those of the returned
        actions under the policy.
        """
        return moment.actions

    def plan(self, rollout: Rollout) -> Plan:
        """Decide what to learn from a rollout."""
        signals = self._signals(rollout)
        steps, copies, count = signals.shape
        weights = np.zeros(1 + count, np.float32)
        weights[0] = 1.0
        return Plan(rollout.rewards, signals, np.zeros((steps, copies, 0)), weights)

    def advantage(self, advantages: Tensor, features: Tensor, plan: Plan) -> Tensor:
        """Combine the advantages of minibatches into one per sample.

        Parameters
        ----------
        advantages
            (..., B, 1 + K): one or several minibatches, each to be treated on its own.
        features
            (..., B, F).
        plan
            What `plan` made of the rollout.

        Returns
        -------
        Tensor
            (..., B).
        """
        return standardised(advantages[..., :1])[..., 0]

    def _signals(self, rollout: Rollout) -> FloatArray:
        if self.train_unused_critics:
            return supply_and_demand(rollout)
        return np.zeros((*rollout.rewards.shape, 0))


def intervened(strategy: Strategy, moment: Moment) -> NDArray[Any]:
    """Return the actions (N, ...) that a strategy executes in place of what was chosen.

    Raises
    ------
    UsageError
        If they are no finite numbers, or too large for a likelihood, or booleans in place of
        numbers, or of another shape, or the environment does not tell what the strategy needs.
    """
    if type(strategy).intervene is Strategy.intervene:
        return moment.actions
    try:
        given, shape = strategy.intervene(moment), moment.actions.shape
    except KeyError as error:
        (name,) = error.args
        if name in strategy.needs and name not in moment.info:
            raise not_told(strategy, name, moment.info) from error
        raise
    actions = finite(given)
    if actions is None:
        raise UsageError(
            f"{type(strategy).__name__}.intervene gave actions {shortened(given)}: "
            f"give finite numbers of shape {shape}"
        )
    if actions.shape != shape:
        raise UsageError(
            f"{type(strategy).__name__}.intervene gave actions of shape {actions.shape}: "
            f"give {shape}, as they were chosen"
        )
    _require_likely(actions, moment.actions.dtype.kind, type(strategy).__name__)
    return actions


def _require_likely(actions: NDArray[Any], kind: str, name: str) -> None:
    """Raise `UsageError` for actions (N, ...) that the policy cannot have a likelihood of.

    Parameters
    ----------
    actions
        Finite numbers.
    kind
        Of the dtype of what was chosen: "f" where a Gaussian chose.
    name
        Of the strategy.
    """
    if actions.dtype.kind == "b" and kind != "b":
        raise UsageError(
            f"{name}.intervene gave booleans: give numbers, as they were chosen, such as "
            "mask.astype(moment.actions.dtype)"
        )
    if kind == "f" and actions.size:
        furthest = max(abs(actions.max()), abs(actions.min()))
        if furthest > FURTHEST:
            raise UsageError(
                f"{name}.intervene gave an action of size {furthest:g}: give at most "
                f"{FURTHEST:g}, beyond which no Gaussian policy can learn from it"
            )


def not_told(strategy: Strategy, name: str, told: Iterable[str]) -> UsageError:
    """Return the error of an environment that does not tell an info array."""
    remedy = strategy.told_by or near_misses(name, told)
    return UsageError(f"the strategy needs info {name!r}: {remedy}")


def planned(strategy: Strategy, rollout: Rollout) -> Plan:
    """Return what a strategy makes of a rollout.

    Raises
    ------
    UsageError
        If it is no plan, or has an array of another shape, or with numbers that are not finite.
    """
    plan, name = strategy.plan(rollout), f"{type(strategy).__name__}.plan"
    if not isinstance(plan, Plan):
        raise UsageError(f"{name} gave {shortened(plan)}: give a Plan")
    arrays: dict[str, NDArray[Any]] = {}
    for field, given in zip(Plan._fields, plan, strict=True):
        array = finite(given)
        if array is None:
            raise UsageError(f"{name} gave {field} that are not all finite: give finite numbers")
        arrays[field] = array
    steps, copies, groups = rollout.supply.shape
    signals = strategy.num_signals(groups)
    shapes = {
        "rewards": (steps, copies),
        "signals": (steps, copies, signals),
        "features": (steps, copies, *arrays["features"].shape[-1:]),  # as many as it likes
        "weights": (1 + signals,),
    }
    for field, shape in shapes.items():
        if arrays[field].shape != shape:
            raise UsageError(f"{name} gave {field} of shape {arrays[field].shape}: give {shape}")
    return plan


def supply_and_demand(rollout: Rollout) -> FloatArray:
    """Return (T, N, 2G): the supply of every group, then the demand of every group."""
    return np.concatenate([rollout.supply, rollout.demand], axis=2)


def standardised(values: Tensor) -> Tensor:
    """Centre and scale values (..., B, K) over the samples: unbiased deviation plus 1e-8."""
    import torch

    deviation, mean = torch.std_mean(values, dim=-2, keepdim=True)
    return (values - mean) / (deviation + 1e-8)


def running_rates(rollout: Rollout, offset: float) -> FloatArray:
    """Return (T, N, G): supply over demand + `offset`, both summed since the episode began.

    The present step counts. A rate is 0 while its denominator is 0.

    Raises
    ------
    UsageError
        When the rollout begins in the middle of an episode.
    """
    supply = _since_start(rollout.supply, rollout.starts)
    demand = _since_start(rollout.demand, rollout.starts) + offset
    return np.divide(supply, demand, out=np.zeros_like(supply), where=demand > 0)


def _since_start(values: FloatArray, starts: NDArray[np.bool_]) -> FloatArray:
    if not starts[0].all():
        raise UsageError("the rollout begins inside an episode: use whole_episodes=True")
    totals = np.cumsum(values, axis=0)
    before = totals - values
    first_step = np.maximum.accumulate(np.where(starts, np.arange(len(starts))[:, None], 0), axis=0)
    return totals - np.take_along_axis(before, first_step[..., None], axis=0)
