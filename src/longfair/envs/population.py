"""A population whose qualification follows the decisions made about it: replicator dynamics."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike
from scipy.special import ndtr

from longfair.envs.parameters import named_preset
from longfair.envs.vector import BoolArray, FairVectorEnv, FloatArray, Transition
from longfair.errors import UsageError
from longfair.settings import (
    Count,
    OneOf,
    Positive,
    Probability,
    Range,
    checked,
    require_distribution,
    validate,
)

DISPARITIES = ("demographic parity", "equal opportunity", "equalised odds", "qualification")
"""What the numbers of `info["disparity"]` compare, in order; all are squared gaps in [0, 1]."""

_GROUPS = 2
_Share = Annotated[float, Range(0.0, 1.0, above=True)]
_ADULT_TABLE = Path(__file__).parent / "data" / "adult_survival.npz"
_ADULT_TABLE_SHA256 = "65ca0af0e10e4ecbee6a7e3b0a26af352fe0c6f649de7fc9e3cf4a31162b971b"


@dataclass(frozen=True)
class FitnessTable:
    """How well an individual's type spreads, by qualification and decision.

    Only ratios matter: a type that is twice as fit as another doubles its odds in one step. The
    numbers are positive.
    """

    PRESETS: ClassVar[tuple[str, ...]] = ("cited", "mild", "adult_1", "adult_2")

    unqualified_rejected: Positive = 0.1
    """Fitness of the unqualified who are rejected."""
    unqualified_accepted: Positive = 5.5
    """Fitness of the unqualified who are accepted."""
    qualified_rejected: Positive = 0.5
    """Fitness of the qualified who are rejected."""
    qualified_accepted: Positive = 1.0
    """Fitness of the qualified who are accepted."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is not a positive number."""
        validate(self)

    @classmethod
    def cited(cls) -> FitnessTable:
        """Return the table of earlier published work of the same authors (Raab and Liu, 2021)."""
        return cls()

    @classmethod
    def mild(cls) -> FitnessTable:
        """Return a table under which accepting the unqualified does less harm."""
        return cls(unqualified_accepted=2.0)

    @classmethod
    def adult_1(cls) -> FitnessTable:
        """Return the table `cited` with the one number changed that suits the Adult scores."""
        return cls(unqualified_accepted=1.25)

    @classmethod
    def adult_2(cls) -> FitnessTable:
        """Return the default table for the Adult scores, with all four numbers chosen for them."""
        return cls(0.3, 1.2, 0.4, 1.0)


@dataclass(frozen=True)
class PopulationParams:
    """Everything that defines a population problem. The defaults are the synthetic features."""

    PRESETS: ClassVar[tuple[str, ...]] = ("synthetic", "synthetic_mild", "adult", "adult_easier")

    features: Annotated[str, OneOf("gaussian", "adult")] = "gaussian"
    """`"gaussian"`: features of the qualified and the unqualified are normal with means 1 and -1
    and standard deviation 1. `"adult"`: scores fitted to the Adult data, see the class notes."""
    threshold_range: tuple[float, float] = (-4.0, 4.0)
    """Thresholds that the actions 0 and 1 stand for."""
    fitness: FitnessTable = FitnessTable()
    """How qualification reacts to decisions."""
    group_probability: tuple[_Share, _Share] = (0.5, 0.5)
    """Shares of the two groups; they never change."""
    true_positive_weight: Probability = 1.0
    """Worth of accepting the whole population if everybody is qualified."""
    true_negative_weight: Probability = 0.0
    """Worth of rejecting the whole population if nobody is qualified."""
    start_range: tuple[Probability, Probability] = (0.01, 0.99)
    """Qualification rates at the start of an episode are uniform in this range, independently."""
    starts: tuple[tuple[Probability, Probability], ...] = ()
    """Given states instead: copy i starts every episode in state number i, counted in a circle."""
    rate_margin: Annotated[float, Range(0.0, 0.5)] = 0.001
    """Rates are kept this far from 0 and 1, which a group could never leave."""
    episode_length: Count = 100
    """Steps per episode."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)
        require_distribution("group_probability", self.group_probability, _GROUPS)
        rate = Annotated[float, Range(self.rate_margin, 1.0 - self.rate_margin)]
        checked("starts", self.starts, tuple[tuple[rate, rate], ...])
        checked("start_range", self.start_range, tuple[rate, rate])
        if self.features == "adult":
            checked("threshold_range", self.threshold_range, tuple[Probability, Probability])
        for field in ("threshold_range", "start_range"):
            low, high = getattr(self, field)
            checked(f"{field}[1]", high, Annotated[float, Range(low)])

    @classmethod
    def synthetic(cls) -> PopulationParams:
        """Return Gaussian features, fitness table `cited`, 100 steps."""
        return cls()

    @classmethod
    def synthetic_mild(cls) -> PopulationParams:
        """Return Gaussian features with the easier fitness table `mild`, 100 steps."""
        return cls(fitness=FitnessTable.mild())

    @classmethod
    def adult(cls) -> PopulationParams:
        """Return scores fitted to the Adult data, fitness table `adult_2`, 150 steps."""
        return cls(
            features="adult",
            threshold_range=(1 / 32, 31 / 32),
            fitness=FitnessTable.adult_2(),
            episode_length=150,
        )

    @classmethod
    def adult_easier(cls) -> PopulationParams:
        """Return scores fitted to the Adult data, fitness table `adult_1`, 150 steps."""
        return replace(cls.adult(), fitness=FitnessTable.adult_1())

    def starting_at(self, states: ArrayLike) -> PopulationParams:
        """Return these parameters with given starts.

        Parameters
        ----------
        states
            Shape (M, 2): qualification rates. Copy i of a batch starts in state i modulo M.
        """
        rows = np.asarray(states, dtype=np.float64)
        if rows.ndim != 2:
            raise UsageError(f"states have shape {rows.shape}: give (M, {_GROUPS})")
        return replace(self, starts=tuple(tuple(row) for row in rows.tolist()))


def start_grid(size: int = 4) -> FloatArray:
    """Return the states (size * size, 2) of a square grid of rates from 0.01 to 0.99.

    The paper evaluates all its algorithms from the same 16 states; with the default size these
    are the ones that fit what is known about them.
    """
    checked("size", size, Count)
    rates = np.linspace(0.01, 0.99, size)
    return np.stack(np.meshgrid(rates, rates, indexing="ij"), axis=-1).reshape(-1, _GROUPS)


class Acceptance(Protocol):
    """How many of each group and label pass a threshold."""

    def __call__(self, rates: FloatArray, thresholds: FloatArray) -> FloatArray:
        """Return shares (..., G, 2), unqualified first, for rates and thresholds (..., G)."""


class GaussianAcceptance:
    """Features are normal with mean 1 for the qualified, -1 for the unqualified, deviation 1."""

    def __call__(self, rates: FloatArray, thresholds: FloatArray) -> FloatArray:
        """Return acceptance shares; they do not depend on the qualification rates."""
        shares: FloatArray = ndtr(_LABEL_MEANS - thresholds[..., None])
        return shares


_LABEL_MEANS = np.array([-1.0, 1.0])


class SurvivalTable:
    """Scores from tables: the share of each group and label that reaches a threshold.

    Parameters
    ----------
    knots
        (K,): qualification rates at which the table was made, evenly spaced.
    survival
        (K, K, G, 2, B + 1): share of a group and label (unqualified, qualified) whose score is at
        least 0, 1/B, ..., 1, for every pair of knots.

    Notes
    -----
    Between knots, shares are interpolated linearly in both rates and in the threshold. Beyond the
    outermost knots the outermost values hold.
    """

    def __init__(self, knots: FloatArray, survival: FloatArray) -> None:
        self.knots = knots
        self.survival = survival
        size, edges = len(knots), survival.shape[-1]
        self._first, self._scale = knots[0], (size - 1) / (knots[-1] - knots[0])
        self._bins = edges - 1
        self._flat = survival.reshape(-1)
        self._row_strides = np.array([size, 1]) * _GROUPS * 2 * edges
        self._cell = np.arange(_GROUPS * 2).reshape(_GROUPS, 2) * edges

    def __call__(self, rates: FloatArray, thresholds: FloatArray) -> FloatArray:
        """Return acceptance shares; those of each group depend on the rates of both."""
        row, row_part = _position((rates - self._first) * self._scale, len(self.knots) - 1)
        edge, edge_part = _position(thresholds * self._bins, self._bins)
        start = (row * self._row_strides).sum(axis=-1)[..., None, None]
        index = start + self._cell + edge[..., None]
        first, second = row_part[..., 0, None, None], row_part[..., 1, None, None]
        left, right = self._row_strides
        upper = self._between(index, right, second)
        lower = self._between(index + left, right, second)
        step = self._between(index + 1, right, second)
        lower_step = self._between(index + left + 1, right, second)
        at_edge = upper + first * (lower - upper)
        past_edge = step + first * (lower_step - step)
        shares: FloatArray = at_edge + edge_part[..., None] * (past_edge - at_edge)
        return shares

    def _between(self, index: Any, stride: Any, part: FloatArray) -> Any:
        near, far = self._flat.take(index), self._flat.take(index + stride)
        return near + part * (far - near)


def _position(value: FloatArray, cells: int) -> tuple[Any, FloatArray]:
    """Split a position on a line of cells into the cell's number and the part of it passed."""
    inside = np.minimum(np.maximum(value, 0.0), cells)
    cell = np.minimum(inside.astype(np.int64), cells - 1)
    return cell, inside - cell


@cache
def adult_table() -> SurvivalTable:
    """Return the survival table of the Adult scores that comes with the package.

    Raises
    ------
    UsageError
        When the table is missing or is not the one this version was verified with.
    """
    remedy = "run `python scripts/make_adult_tables.py` in the repository and reinstall"
    if not _ADULT_TABLE.is_file():
        raise UsageError(f"{_ADULT_TABLE} is missing: {remedy}")
    content = _ADULT_TABLE.read_bytes()
    if hashlib.sha256(content).hexdigest() != _ADULT_TABLE_SHA256:
        raise UsageError(f"{_ADULT_TABLE} is not the table of this version: {remedy}")
    with np.load(io.BytesIO(content)) as table:
        return SurvivalTable(table["knots"], table["survival"].astype(np.float64))


class Outcome(NamedTuple):
    """What thresholds do to a population in one step. Shares are of the whole population."""

    true_positives: FloatArray
    """(..., G): qualified and accepted."""
    true_negatives: FloatArray
    """(..., G): unqualified and rejected."""
    acceptance: FloatArray
    """(..., G, 2): share accepted of each group's unqualified, then of its qualified."""
    next_rates: FloatArray
    """(..., G): qualification rates after the step."""


class PopulationModel:
    r"""The decision problem without episodes: what an action does in a state.

    Short-sighted baselines, phase portraits and exact solvers ask it about many states and actions
    at once. It is deterministic: the population is as large as one likes.

    Parameters
    ----------
    params
        The parameters.
    """

    def __init__(self, params: PopulationParams) -> None:
        self.params = params
        self.shares = np.array(params.group_probability)
        self._low, high = params.threshold_range
        self._width = high - self._low
        self._accept: Acceptance = (
            GaussianAcceptance() if params.features == "gaussian" else adult_table()
        )
        table = params.fitness
        # By label (unqualified, qualified): fitness when rejected, and what acceptance adds.
        self._rejected = np.array([table.unqualified_rejected, table.qualified_rejected])
        accepted = np.array([table.unqualified_accepted, table.qualified_accepted])
        self._added = accepted - self._rejected

    def thresholds(self, actions: ArrayLike) -> FloatArray:
        """Return the thresholds that actions in [0, 1] stand for, of the same shape."""
        thresholds: FloatArray = self._low + self._width * np.asarray(actions, dtype=np.float64)
        return thresholds

    def outcome(self, rates: ArrayLike, actions: ArrayLike) -> Outcome:
        """Return what actions (..., G) do in states (..., G)."""
        rate = np.asarray(rates, dtype=np.float64)
        acceptance = self._accept(rate, self.thresholds(actions))
        qualified = self.shares * rate
        unqualified = self.shares - qualified
        return Outcome(
            qualified * acceptance[..., 1],
            unqualified * (1.0 - acceptance[..., 0]),
            acceptance,
            self._next_rates(rate, acceptance),
        )

    def group_reward(self, outcome: Outcome) -> FloatArray:
        """Return the reward (..., G) that each group alone would bring as the whole population."""
        rewards: FloatArray = self._worth(outcome) / self.shares
        return rewards

    def reward(self, outcome: Outcome) -> FloatArray:
        """Return the reward (...): weighted true positives and true negatives."""
        total: FloatArray = self._worth(outcome).sum(axis=-1)
        return total

    def disparities(self, rates: ArrayLike, outcome: Outcome) -> FloatArray:
        """Return the squared gaps (..., 4) between the groups, in the order of `DISPARITIES`."""
        rate = np.asarray(rates, dtype=np.float64)
        acceptance = outcome.acceptance
        accepted = rate * acceptance[..., 1] + (1.0 - rate) * acceptance[..., 0]
        squares = (acceptance[..., 0, :] - acceptance[..., 1, :]) ** 2
        gaps = np.broadcast_arrays(
            (accepted[..., 0] - accepted[..., 1]) ** 2,
            squares[..., 1],
            0.5 * (squares[..., 0] + squares[..., 1]),
            (rate[..., 0] - rate[..., 1]) ** 2,
        )
        return np.stack(gaps, axis=-1)

    def _worth(self, outcome: Outcome) -> FloatArray:
        params = self.params
        return (
            params.true_positive_weight * outcome.true_positives
            + params.true_negative_weight * outcome.true_negatives
        )

    def _next_rates(self, rate: FloatArray, acceptance: FloatArray) -> FloatArray:
        fitness = self._rejected + self._added * acceptance
        qualified = rate * fitness[..., 1]
        following = qualified / (qualified + (1.0 - rate) * fitness[..., 0])
        margin = self.params.rate_margin
        kept: FloatArray = np.minimum(np.maximum(following, margin), 1.0 - margin)
        return kept


class PopulationVectorEnv(FairVectorEnv):
    r"""One threshold per group decides who is accepted, and decides who will be qualified.

    A population has two groups. In group :math:`g` a share :math:`s_g` is qualified. Everybody with
    a feature :math:`x` of at least the group's threshold :math:`a_g` is accepted: a share
    :math:`A_{1,g}` of the qualified and :math:`A_{0,g}` of the unqualified. What becomes of a group
    depends on how well its members do. With fitness :math:`U_{y\hat y}` of an individual of
    qualification :math:`y` that gets the decision :math:`\hat y`, a label has the mean fitness

    $$W_{y,g} = U_{y0} + (U_{y1} - U_{y0}) A_{y,g},$$

    and the share of the qualified follows the replicator equation,

    $$s_g \leftarrow \frac{s_g W_{1,g}}{s_g W_{1,g} + (1 - s_g) W_{0,g}}.$$

    In all fitness tables here the unqualified profit most from being accepted. So a lenient decider
    is rewarded at once and loses the qualified in the long run, and a strict one gives up reward
    now for a population that is worth accepting later.

    With the features `"adult"` the feature is a score: the fitted probability of a high income in
    the Adult census data, for groups Male and Female. The score is fitted anew to the present
    qualification rates, so each group's scores depend on both rates. The fits were made
    beforehand on a grid of rates and are interpolated.

    ## Action space

    `Box(0, 1, (2,))`: the threshold of each group on a scale from the lowest (0) to the highest (1)
    of `threshold_range`: -4 to 4 for Gaussian features, 1/32 to 31/32 for Adult scores.

    ## Observation space

    `Box(0, 1, (2,))`: qualification rate of each group. It is the whole state.

    ## Rewards

    `true_positive_weight` times the share of the whole population that is qualified and accepted,
    plus `true_negative_weight` times the share that is unqualified and rejected. The papers' loss
    is 1 minus the reward. In the presets only true positives count, so the reward is at most the
    mean qualification rate.

    ## Starting state

    Both rates are uniform in `start_range`, independently, or those of `starts`.

    ## Episode end

    Truncated after `episode_length` steps. Never terminated.

    ## Information

    | Key | Shape | Meaning |
    | --- | --- | --- |
    | `supply` | (N, 2) | share of the whole population that is in the group, qualified, accepted |
    | `demand` | (N, 2) | share of the whole population that is in the group and qualified |
    | `group_state` | (N, 2, 1) | qualification rate of the group |
    | `acceptance` | (N, 2, 2) | share accepted of the group's unqualified, then of its qualified |
    | `disparity` | (N, 4) | squared gaps between the groups, in the order below |

    Shares are probability masses: the groups' masses are `group_probability` at every step.
    `supply` over `demand` is a group's true positive rate. The gaps are those in acceptance rate
    (demographic parity), in true positive rate (equal opportunity), the mean of the squared gaps in
    true and false positive rate (equalised odds), and in qualification rate. `acceptance` and
    `disparity` belong to the step just made; the gap in qualification is that before the step.

    ## Arguments

    `preset`: `"synthetic"` (default), `"synthetic_mild"`, `"adult"`, `"adult_easier"`. `params`: a
    `PopulationParams` instead of a preset. `episode_length`: replaces that of the preset.
    `fitness`: name of a fitness table that replaces that of the preset: `"cited"`, `"mild"`,
    `"adult_1"`, `"adult_2"`.

    ## Vectorised use

    `gymnasium.make_vec("longfair/Population-v0", num_envs=256, preset="synthetic")` steps 256
    copies together; `gymnasium.make("longfair/Population-v0")` is a batch of one.
    `PopulationModel` in this module answers what an action does in a state without stepping.

    ## Version history

    v0: first version. The paper's fitness tables and its treatment of the Adult data are not
    public. `cited` is the one table in the authors' earlier code; the others, and the Adult scores,
    were chosen so that what the paper says about its figures holds. Rates stay 0.001 away from 0
    and 1.
    """

    params_class = PopulationParams
    continuous = True

    def __init__(
        self,
        num_envs: int = 1,
        params: PopulationParams | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
    ) -> None:
        self.params = params = PopulationParams.synthetic() if params is None else params
        super().__init__(
            num_envs=num_envs,
            num_groups=_GROUPS,
            episode_length=params.episode_length,
            observation_space=Box(0.0, 1.0, (_GROUPS,), np.float32),
            action_space=Box(0.0, 1.0, (_GROUPS,), np.float32),
            autoreset_mode=autoreset_mode,
        )
        self.model = PopulationModel(params)
        self._rates = np.full((num_envs, _GROUPS), 0.5)
        self._starts = _starts_of_copies(params.starts, num_envs)

    @classmethod
    def chosen_params(
        cls,
        preset: str | None = None,
        params: PopulationParams | None = None,
        episode_length: int | None = None,
        fitness: str | None = None,
    ) -> PopulationParams:
        """Return the parameters that the arguments of `make` and `make_vec` stand for.

        Parameters
        ----------
        preset, params, episode_length
            As for every environment.
        fitness
            Name of the fitness table that replaces that of the preset or the record.
        """
        chosen: PopulationParams = super().chosen_params(preset, params, episode_length)
        if fitness is None:
            return chosen
        return replace(chosen, fitness=named_preset(FitnessTable, str(fitness)))

    def _restart(self, copies: BoolArray) -> None:
        starts = self._starts
        if starts is None:
            starts = self.np_random.uniform(*self.params.start_range, self._rates.shape)
        self._rates = np.where(copies[:, None], starts, self._rates)

    def _transition(self, actions: FloatArray) -> Transition:
        rates = self._rates
        outcome = self.model.outcome(rates, actions)
        self._rates = outcome.next_rates
        facts = {
            "acceptance": outcome.acceptance,
            "disparity": self.model.disparities(rates, outcome),
        }
        return Transition(
            self.model.reward(outcome),
            outcome.true_positives,
            rates * self.model.shares,
            np.zeros(self.num_envs, np.bool_),
            facts,
        )

    def _observation(self) -> Any:
        return self._rates.astype(np.float32)

    def _group_state(self) -> FloatArray:
        return self._rates[:, :, None].copy()

    def _checked_actions(self, actions: Any) -> FloatArray:
        array = np.asarray(actions)
        if array.shape != self._rates.shape or array.dtype.kind not in "fiu":
            raise UsageError(
                f"actions have dtype {array.dtype} and shape {array.shape}: "
                f"give numbers of shape {self._rates.shape}"
            )
        # A threshold that is not a number fails this comparison as well.
        if not (array.min() >= 0.0 and array.max() <= 1.0):
            bad = array[~((array >= 0.0) & (array <= 1.0))][0]
            raise UsageError(f"threshold {bad!s} is not allowed: give numbers in [0, 1]")
        return array


def _starts_of_copies(starts: Sequence[tuple[float, float]], num_envs: int) -> FloatArray | None:
    """Return the start (N, 2) of every copy, or None when starts are drawn."""
    return np.array(starts)[np.arange(num_envs) % len(starts)] if starts else None
