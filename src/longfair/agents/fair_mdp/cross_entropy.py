r"""Constrained cross-entropy search (Wen, Bastani, Topcu 2021, Algorithm 2).

The search keeps a distribution :math:`f_v` over policy parameters :math:`\theta` and moves it
towards the best of its own samples. With independent Gaussians the moments are
:math:`\eta = (E[\theta], E[\theta^2])`. One iteration:

1. draw :math:`\theta_1, \dots, \theta_n \sim f_v`, estimate rewards :math:`\hat R_i` and
   violations :math:`\hat\epsilon_i`;
2. sort by violation; if at least :math:`n'` of them satisfy
   :math:`\hat\epsilon_i \le (1 - \sigma) \epsilon`, sort these by decreasing reward; the first
   :math:`n'` are the elites. So the search first looks for feasible policies, then for good ones;
3. move the moments towards those of the elites,
   :math:`\eta \leftarrow \alpha\, \hat E_{elites}[\Gamma(\theta)] + (1 - \alpha)\, \eta`,
   the average weighted by how good an elite is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple, Self

import numpy as np

from longfair.arrays import FloatArray, IntArray
from longfair.errors import UsageError
from longfair.settings import Count, NonNegative, OneOf, Range, Share, validate, validated


class Scores(NamedTuple):
    """What is known of n samples."""

    reward: FloatArray
    """(n,): estimated rewards."""
    violation: FloatArray
    """(n,): estimated violations of the constraint; zeros where there is none."""


Score = Callable[[FloatArray], Scores]
"""Maps parameters (n, d) to their scores."""


@dataclass(frozen=True)
class CrossEntropy:
    r"""Settings of the search; the defaults are those of the authors' code.

    Parameters
    ----------
    population, elites
        Samples per iteration :math:`n`, and how many of them are elites :math:`n'`.
    iterations
        Number of iterations. The code's test of convergence never fires.
    smoothing
        Step :math:`\alpha` of the moments.
    weights
        `"linear"`: elites weigh as much as their reward, which must be positive (the paper).
        `"linear with floor"`: the same for rewards of either sign, with no weight below a small
        number; the paper does not say what a reward that is not positive weighs.
        `"exponential"`: those of `ExponentialWeights` (the code).
    tightening
        :math:`\sigma`: the search uses the tolerance :math:`(1 - \sigma) \epsilon` (the paper);
        0 in the code.

    Raises
    ------
    UsageError
        If a setting has no meaning.
    """

    revision: ClassVar[int] = 1

    population: Count = 50
    elites: Count = 5
    iterations: Count = 80
    smoothing: Share = 0.5
    weights: Annotated[str, OneOf("exponential", "linear", "linear with floor")] = "exponential"
    tightening: Annotated[float, Range(0.0, 1.0, below=True)] = 0.0

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)
        if self.elites > self.population:
            raise UsageError(
                f"elites={self.elites}: give 1 to population={self.population} of them"
            )

    def parts(self) -> tuple[type, ...]:
        """Return what decides numbers beside the search itself, for a run's key."""
        return (ExponentialWeights,) if self.weights == "exponential" else ()


@dataclass(frozen=True)
class Gaussians:
    """Independent Gaussians, one per parameter, by their first two moments."""

    mean: FloatArray
    """(d,)."""
    second_moment: FloatArray
    """(d,): expectation of the square."""
    bounds: tuple[float, float] | None = None
    """Draws outside are repeated until they are inside."""

    @classmethod
    def standard(cls, size: int) -> Self:
        """Return mean 0 and deviation 1 for every parameter, with which the code begins."""
        return cls(np.zeros(size), np.ones(size))

    @property
    def deviation(self) -> FloatArray:
        """(d,): standard deviations; rounding can make a variance negative, which counts as 0."""
        return np.sqrt(np.maximum(self.second_moment - self.mean**2, 0.0))

    def sample(self, number: int, generator: np.random.Generator) -> FloatArray:
        """Draw parameters (number, d)."""
        draws = generator.normal(self.mean, self.deviation, size=(number, len(self.mean)))
        if self.bounds is None:
            return draws
        low, high = self.bounds
        while (outside := (draws < low) | (draws > high)).any():
            column = np.nonzero(outside)[1]
            draws[outside] = generator.normal(self.mean[column], self.deviation[column])
        return draws

    def moved(self, samples: FloatArray, weights: FloatArray, step: float) -> Gaussians:
        """Move the moments a step towards the weighted ones of samples (n', d)."""
        share = weights / weights.sum()
        return Gaussians(
            step * (share @ samples) + (1.0 - step) * self.mean,
            step * (share @ samples**2) + (1.0 - step) * self.second_moment,
            self.bounds,
        )


@dataclass(frozen=True)
class Generation:
    """One iteration of the search."""

    number: int
    """From 1 on."""
    parameters: FloatArray
    """(n, d): the samples."""
    scores: Scores
    elites: IntArray
    """(n',): rows of the elites, best first."""
    distribution: Gaussians
    """From which the next samples would be drawn."""


@validated
def search(
    score: Score,
    start: Gaussians,
    tolerance: NonNegative,
    settings: CrossEntropy,
    generator: np.random.Generator,
) -> Iterator[Generation]:
    """Yield the iterations of the search.

    Parameters
    ----------
    score
        Rewards and violations of parameters (n, d).
    start
        Distribution of the first samples.
    tolerance
        Epsilon, at least 0.
    settings
        Settings of the search.
    generator
        Source of the samples. What `score` draws is its own business.

    Raises
    ------
    UsageError
        If the tolerance is negative, or a reward is not positive and weights are linear.
    """
    limit = (1.0 - settings.tightening) * tolerance
    distribution = start
    for number in range(1, settings.iterations + 1):
        parameters = distribution.sample(settings.population, generator)
        scores = score(parameters)
        elites = choose_elites(scores, limit, settings.elites)
        weights = elite_weights(scores.reward[elites], settings.weights)
        distribution = distribution.moved(parameters[elites], weights, settings.smoothing)
        yield Generation(number, parameters, scores, elites, distribution)


@validated
def choose_elites(
    scores: Scores, limit: Annotated[float, Range(0.0, infinite=True)], count: Count
) -> IntArray:
    """Return the rows of the elites (count,), best first.

    Parameters
    ----------
    scores
        Scores of n samples.
    limit
        Largest violation that counts as feasible.
    count
        Number of elites.

    Returns
    -------
    numpy.ndarray
        The best rewards among the feasible, if there are enough of them; otherwise the smallest
        violations, of equal ones the best rewards.
    """
    by_violation = np.lexsort((-scores.reward, scores.violation))
    feasible = by_violation[scores.violation[by_violation] <= limit]
    if len(feasible) < count:
        return by_violation[:count]
    best: IntArray = feasible[np.argsort(-scores.reward[feasible], kind="stable")]
    return best[:count]


def elite_weights(reward: FloatArray, kind: str) -> FloatArray:
    """Return how much each elite weighs (n',), given their rewards.

    Parameters
    ----------
    reward
        Rewards of the elites.
    kind
        As in `CrossEntropy`.

    Raises
    ------
    UsageError
        If a linear weight would not be positive.
    """
    if kind == "linear":
        if not reward.min() > 0:
            raise UsageError(
                f"an elite has reward {reward.min():g}: linear weights need positive rewards, "
                "add an offset or take 'linear with floor'"
            )
        return reward
    if kind == "linear with floor":
        return np.maximum(reward, _LEAST_WEIGHT)
    return ExponentialWeights.of(reward)


class ExponentialWeights:
    r"""How much elites weigh in the authors' code: :math:`\exp((R_i - R_{min}) / \kappa)`.

    The scale :math:`\kappa` is a fifth of the range of the elites' rewards, so that weights lie in
    :math:`[1, e^5]`. Where that fifth is below 1e-5 it is 1, and elites weigh the same but for the
    fifth decimal. The second revision compares the fifth, as the code does; the first compared the
    range.
    """

    name: ClassVar[str] = "exponential-weights"
    revision: ClassVar[int] = 2

    smallest_scale: ClassVar[float] = 1e-5

    @classmethod
    def of(cls, reward: FloatArray) -> FloatArray:
        """Return the weights (n',) of elites with these rewards."""
        scale = 0.2 * float(np.ptp(reward))
        if scale < cls.smallest_scale:
            scale = 1.0
        weights: FloatArray = np.exp((reward - reward.min()) / scale)
        return weights


_LEAST_WEIGHT = 1e-3
"""Weight of an elite whose reward is smaller; good policies of the loan problem earn 0.4."""


@validated
def required_rollouts(tolerance: Share, tightening: Share, risk: Share) -> int:
    r"""Return how many episodes per group make the tightened check safe (Theorem 4.2).

    By Hoeffding's inequality :math:`m \ge 32\, \sigma^{-2} \epsilon^{-2} \log(4 / \delta)` episodes
    estimate the values of two groups, each up to :math:`\sigma \epsilon / 4`, with probability
    :math:`1 - \delta`. The constants are our derivation, for rewards of either sign and at most 1:
    the printed ones do not survive.

    Parameters
    ----------
    tolerance, tightening, risk
        Epsilon, sigma and delta, each above 0 and at most 1.

    Raises
    ------
    UsageError
        If a number is out of range.
    """
    return int(np.ceil(32.0 * np.log(4.0 / risk) / (tightening * tolerance) ** 2))


@validated
def required_steps(
    tolerance: Share,
    tightening: Share,
    discount: Annotated[float, Range(0.0, 1.0, above=True, below=True)],
) -> int:
    r"""Return after how many steps an episode may be cut (Theorem 4.2).

    What comes after step T is worth at most :math:`\gamma^T` to a group, which is
    :math:`\sigma \epsilon / 4` from :math:`T = \log(4 / (\sigma \epsilon)) / \log(1 / \gamma)` on.
    Both errors of both groups together are :math:`\sigma \epsilon`.

    Parameters
    ----------
    tolerance, tightening, discount
        Epsilon, sigma and gamma, each above 0 and at most 1, gamma below 1.

    Raises
    ------
    UsageError
        If a number is out of range.
    """
    return int(np.ceil(np.log(4.0 / (tightening * tolerance)) / np.log(1.0 / discount)))
