"""Rules about what a gain costs: reward at equal unfairness, and the area below a frontier."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from longfair.runs.fields import is_number
from longfair.runs.rules.case import Case, Finding
from longfair.runs.rules.gain import of_effect
from longfair.runs.rules.paired import Shared, SharedRule
from longfair.runs.rules.rule import Numbers, Quantity, RuleFields, listed, plain, register
from longfair.runs.rules.words import Word
from longfair.runs.statistics import Floats
from longfair.wording import numeral

if TYPE_CHECKING:
    from longfair.runs.verdicts import Verdict


@dataclass(frozen=True)
class TradeOffRule(SharedRule):
    """Compare points of unfairness and reward; a rule says how.

    Every method is one point, the mean of its runs. Runs are resampled together, by seed. Words as
    for ``highest``.
    """

    reward: Quantity
    unfairness: Quantity
    method: str
    beside: tuple[str, ...]
    """Methods on the side of the judged one."""
    others: tuple[str, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        """The method, those on its side and the others."""
        return (self.method, *self.beside, *self.others)

    @property
    def numbers(self) -> tuple[Numbers, ...]:
        """Reward and unfairness, of all methods."""
        return tuple(Numbers(one, self.methods) for one in (self.reward, self.unfairness))

    def word(self, low: float, high: float) -> Word:
        """Return the word for an interval of the effect."""
        return of_effect(low, high, 0.0)

    @abstractmethod
    def effect(self, unfairness: Floats, reward: Floats) -> Floats:
        """Return the effect (...) of the points of all methods (methods, ...)."""

    @abstractmethod
    def described(self, case: Case) -> str:
        """Say what the effect is."""

    def compared(self, case: Case, shared: Shared) -> Verdict:
        """Judge the points of the methods."""
        of_reward, of_unfairness = zip(*shared.tables.values(), strict=True)
        values = np.array([of_unfairness, of_reward])
        points = values.mean(axis=2)
        said = ", ".join(
            f"{plain(method)} {numeral(reward)} at {numeral(unfairness)}"
            for method, unfairness, reward in zip(self.methods, *points, strict=True)
        )
        effect = case.percentile(
            self, [lambda weights: self.effect(*(values @ weights.T))], len(shared.seeds)
        )
        axes = f"{case.measured(self.reward)} at {case.measured(self.unfairness)}"
        finding = Finding(
            estimate=effect,
            measured=self.described(case),
            detail=f"{axes}: {said}; the effect is {effect}, claimed more than 0",
            seeds=shared.seeds,
        )
        return case.decided(finding, self.method, self.word)


@register("reward_at_equal_unfairness")
@dataclass(frozen=True)
class RewardAtEqualUnfairnessRule(TradeOffRule):
    """``kind: reward_at_equal_unfairness``. More reward than the others' frontier where it stands.

    ``metric`` is the reward, ``at`` the unfairness. The effect is the method's reward less what
    the others reach at its unfairness: on the upper hull of their points, because one may toss a
    coin between two policies. They need not be as unfair as they may, so that the frontier never
    falls; below their least unfairness their least unfair one stands for them, in the method's
    disfavour.
    """

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule."""
        method, reward = fields.method(), fields.quantity()
        unfairness = replace(reward, metrics=fields.metric("at"))
        return cls(reward, unfairness, method, (), fields.others(method))

    def words(self, measure: str) -> str:
        """Say above what the reward is to lie."""
        reward, unfairness = (one.words(measure) for one in (self.reward, self.unfairness))
        return (
            f"{reward} of {plain(self.method)} is above what {listed(self.others)}, or tossing a "
            f"coin between two of them, reach at its {unfairness}"
        )

    def effect(self, unfairness: Floats, reward: Floats) -> Floats:
        """Return the reward above the frontier."""
        above: Floats = reward[0] - frontier(unfairness[0], unfairness[1:], reward[1:])
        return above

    def described(self, case: Case) -> str:
        """Say what the effect is."""
        return (
            f"{case.measured(self.reward)} of {plain(self.method)} less that of the others' "
            f"frontier at its {case.measured(self.unfairness)}"
        )


@register("hypervolume")
@dataclass(frozen=True)
class HypervolumeRule(TradeOffRule):
    """``kind: hypervolume``. A family of methods covers more of the trade-off than another one.

    ``metric`` is the reward, ``at`` the unfairness, ``beside`` lists members of the method's
    family, ``others`` the other family, and ``corner: [unfairness, reward]`` is the worst point
    that counts. The effect is the area of what the family dominates inside the corner, less that
    of the other.
    """

    corner: tuple[float, float]

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule."""
        method, reward = fields.method(), fields.quantity()
        unfairness = replace(reward, metrics=fields.metric("at"))
        others = fields.others(method)
        beside = fields.distinct("beside", (method, *others)) if fields.has("beside") else ()
        corner = fields.sequence("corner")
        if len(corner) != 2 or not all(map(is_number, corner)):
            raise fields.wrong("corner", list(corner), "[unfairness, reward], two numbers")
        return cls(reward, unfairness, method, beside, others, (corner[0], corner[1]))

    def words(self, measure: str) -> str:
        """Say which area is to be the larger one."""
        reward, unfairness = (one.words(measure) for one in (self.reward, self.unfairness))
        return (
            f"{listed((self.method, *self.beside))} dominate a larger area of {reward} by "
            f"{unfairness} than {listed(self.others)}, inside {self.corner[0]:g} of {unfairness} "
            f"and {self.corner[1]:g} of {reward}"
        )

    def effect(self, unfairness: Floats, reward: Floats) -> Floats:
        """Return by how much the area is larger."""
        own = 1 + len(self.beside)
        first = hypervolume(unfairness[:own], reward[:own], *self.corner)
        second = hypervolume(unfairness[own:], reward[own:], *self.corner)
        return first - second

    def described(self, case: Case) -> str:
        """Say what the effect is."""
        names = ", ".join(plain(method) for method in (self.method, *self.beside))
        return (
            f"area that {names} dominate, less that of the others: "
            f"{case.measured(self.reward)} by {case.measured(self.unfairness)}"
        )


def frontier(at: Floats, unfairness: Floats, reward: Floats) -> Floats:
    """Return the most reward of mixtures of policies that are at most so unfair.

    Parameters
    ----------
    at
        Unfairness, shape (...).
    unfairness, reward
        Of the policies, shape (policies, ...).

    Returns
    -------
    numpy.ndarray
        Shape (...). Below the least unfairness, the reward of the least unfair policy.
    """
    at = np.maximum(at, unfairness.min(axis=0))
    single = np.where(unfairness <= at, reward, -np.inf).max(axis=0)
    fairer, less_fair = unfairness[:, None], unfairness[None, :]
    across = (fairer <= at) & (at < less_fair)
    part = np.where(across, (at - fairer) / np.where(across, less_fair - fairer, 1.0), 0.0)
    mixed = np.where(across, (1.0 - part) * reward[:, None] + part * reward[None, :], -np.inf)
    best: Floats = np.maximum(single, mixed.max(axis=(0, 1)))
    return best


def hypervolume(
    unfairness: Floats, reward: Floats, most_unfair: float, least_reward: float
) -> Floats:
    """Return the area that policies dominate.

    Parameters
    ----------
    unfairness, reward
        Of the policies, shape (policies, ...).
    most_unfair, least_reward
        The corner that bounds the area.

    Returns
    -------
    numpy.ndarray
        Shape (...), in units of both axes.
    """
    order = np.argsort(unfairness, axis=0)
    sorted_unfairness = np.minimum(np.take_along_axis(unfairness, order, 0), most_unfair)
    height = np.maximum(np.take_along_axis(reward, order, 0) - least_reward, 0.0)
    ends = np.concatenate([sorted_unfairness[1:], np.full_like(sorted_unfairness[:1], most_unfair)])
    area: Floats = (np.maximum.accumulate(height, axis=0) * (ends - sorted_unfairness)).sum(axis=0)
    return area
