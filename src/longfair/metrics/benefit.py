r"""Long-term benefit rates, the bias between groups, and the gradients that reduce it.

At every time step :math:`t` a group :math:`g` has a *demand* :math:`D_g(t)`, for example the
applicants who would repay, and receives a *supply* :math:`S_g(t)`, for example those of them
who got the loan.  Both are summed over time first; the ratio is taken afterwards:

.. math::

    z_g = \frac{\eta^S_g}{\eta^D_g},\qquad
    \eta^S_g = \sum_t \gamma^t S_g(t),\qquad
    \eta^D_g = \sum_t \gamma^t D_g(t).

The *bias* is the distance between the best and the worst served group,

.. math::

    b = \max_g z_g - \min_g z_g ,

and its smooth companion replaces maximum and minimum by log-sum-exp of sharpness
:math:`\beta`,

.. math::

    b^{soft}_\beta = \frac{1}{\beta}
        \Big[\log\sum_g e^{\beta z_g} + \log\sum_g e^{-\beta z_g}\Big],
    \qquad b \le b^{soft}_\beta \le b + \frac{2\log M}{\beta}

for :math:`M` groups.  The left inequality is strict from two groups on; the right one is an
equality exactly when all rates are equal.

Every function takes groups on the last axis and any number of leading axes, and returns plain
NumPy values: an array, or a NumPy scalar where no axis is left.

References
----------
Xu et al. (2024), *Adapting Static Fairness to Sequential Decision-Making*, Definitions 2.2 and
2.3, Propositions 3.1 and 3.3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.metrics._arrays import axes_of, finite, non_negative, same_shape, with_groups
from longfair.settings import NonNegative, Positive, Share, checked


class SquaredBiasGradient(NamedTuple):
    """Derivatives of the squared bias by the totals it is made of.

    Attributes
    ----------
    supply
        Derivative by each group's cumulative supply, shape (..., groups).
    demand
        Derivative by each group's cumulative demand, shape (..., groups).
    """

    supply: FloatArray
    demand: FloatArray


def cumulative(
    signal: ArrayLike, *, axis: int | tuple[int, ...], discount: float = 1.0
) -> FloatArray:
    r"""Sum a signal over time, and over episodes if asked: :math:`\sum_t \gamma^t x(t)`.

    Parameters
    ----------
    signal
        Any finite array.
    axis
        The time axis; or a tuple whose first entry is the time axis and whose other entries
        (episodes, environments) are pooled without discount.
    discount
        :math:`\gamma` in (0, 1].  At 1, the default, nothing is discounted.

    Returns
    -------
    numpy.ndarray
        `signal` without the axes named.

    Raises
    ------
    UsageError
        If `axis` does not fit, a value is not finite, or `discount` is outside (0, 1].
    """
    array = finite(signal, "signal")
    axes = axes_of(axis, array.ndim)
    discount = checked("discount", discount, Share)
    if discount < 1.0:
        time = axes[0]
        weights = discount ** np.arange(array.shape[time])
        shape = [1] * array.ndim
        shape[time] = -1
        array = array * weights.reshape(shape)
    total: FloatArray = array.sum(axis=axes)
    return total


def benefit_rate(
    supply: ArrayLike,
    demand: ArrayLike,
    *,
    offset: float = 0.0,
    no_demand: float | None = None,
) -> FloatArray:
    """Divide totals: supply / (demand + offset).

    Parameters
    ----------
    supply, demand
        Totals of equal shape; demand is not negative. Supply may exceed demand, as vaccines for
        nobody ill do, or be negative: rates are then above 1, or below 0.
    offset
        Added to every demand.  The published evaluation of ELBERT adds one per episode.
    no_demand
        The rate of a group whose denominator is zero.  By default such a group is an error,
        because a group nobody asked anything for has no rate; pass 0.0 for the convention of the
        published code, which calls it a rate of zero.

    Returns
    -------
    numpy.ndarray
        Rates, the shape of `supply`.

    Raises
    ------
    UsageError
        If shapes differ, a value is not finite, a demand or `offset` is negative, or a
        denominator is zero and `no_demand` is not given.
    """
    numerator, base = finite(supply, "supply"), non_negative(demand, "demand")
    same_shape(numerator, base, "supply and demand")
    no_demand = checked("no_demand", no_demand, float | None)
    denominator = base + checked("offset", offset, NonNegative)
    empty = denominator == 0.0
    if no_demand is None and empty.any():
        raise UsageError(
            f"{int(empty.sum())} of {empty.size} rates have no demand; "
            "pass no_demand=0.0 to call such a rate zero"
        )
    rates = numerator / np.where(empty, 1.0, denominator)
    return rates if no_demand is None else np.where(empty, no_demand, rates)[()]


def long_term_benefit_rate(
    supply: ArrayLike,
    demand: ArrayLike,
    *,
    axis: int | tuple[int, ...],
    discount: float = 1.0,
    offset: float = 0.0,
    no_demand: float | None = None,
) -> FloatArray:
    """Ratio of cumulative supply to cumulative demand, per group (Definition 2.2).

    Aggregation comes before the ratio.  Pooling several episodes therefore gives a ratio of
    means, not a mean of ratios.

    Parameters
    ----------
    supply, demand
        Supply and demand at every step, equal shapes, for example (time, groups) or
        (episodes, time, groups).
    axis
        The time axis; or a tuple whose first entry is the time axis and whose other entries
        (episodes, environments) are pooled too.
    discount
        Discount per time step in (0, 1].
    offset
        Added to the pooled demand.  With the number of episodes as offset this is the published
        evaluation formula of ELBERT (one per episode).
    no_demand
        The rate of a group without demand; by default that is an error.

    Returns
    -------
    numpy.ndarray
        Rates: `supply` without the axes named.

    Raises
    ------
    UsageError
        As `cumulative` and `benefit_rate`.

    Examples
    --------
    >>> supply = [[0, 0], [100, 1]]        # two steps, two groups
    >>> demand = [[1, 100], [100, 1]]
    >>> long_term_benefit_rate(supply, demand, axis=0).round(3)
    array([0.99, 0.01])
    """
    numerator, base = finite(supply, "supply"), non_negative(demand, "demand")
    same_shape(numerator, base, "supply and demand")
    return benefit_rate(
        cumulative(numerator, axis=axis, discount=discount),
        cumulative(base, axis=axis, discount=discount),
        offset=offset,
        no_demand=no_demand,
    )


def bias(rates: ArrayLike) -> FloatArray:
    """Distance between the highest and the lowest rate (Definition 2.3).

    Parameters
    ----------
    rates
        Benefit rates, shape (..., groups).

    Returns
    -------
    numpy.ndarray
        Shape (...): maximum minus minimum over groups, zero for one group.

    Raises
    ------
    UsageError
        If a rate is not finite or there is no group.
    """
    array = with_groups(rates, "rates")
    spread: FloatArray = array.max(axis=-1) - array.min(axis=-1)
    return spread


def bias_gradient(rates: ArrayLike) -> FloatArray:
    """Differentiate the exact bias by each rate: +1 at the largest, -1 at the smallest.

    The bias has a kink where rates tie.  This function then takes the *last* of the largest and
    the *first* of the smallest rates, so that two equal rates give (-1, +1), as in the published
    code.  Any such choice is a subgradient.

    Parameters
    ----------
    rates
        Benefit rates, shape (..., groups).

    Returns
    -------
    numpy.ndarray
        Shape (..., groups); the entries of each gradient sum to zero.

    Raises
    ------
    UsageError
        If a rate is not finite or there is no group.
    """
    array = with_groups(rates, "rates")
    groups = np.arange(array.shape[-1])
    largest = array.shape[-1] - 1 - array[..., ::-1].argmax(axis=-1)
    smallest = array.argmin(axis=-1)
    gradient: FloatArray = (groups == largest[..., None]).astype(np.float64)
    gradient -= groups == smallest[..., None]
    return gradient


def soft_bias(rates: ArrayLike, beta: float) -> FloatArray:
    r"""Smooth upper companion of the bias, by log-sum-exp (Proposition 3.3 bounds it).

    It never reaches zero: at equal rates of :math:`M` groups it is
    :math:`2\log(M)/\beta`.

    Parameters
    ----------
    rates
        Benefit rates, shape (..., groups).
    beta
        Sharpness, positive; the larger, the closer to the exact bias.

    Returns
    -------
    numpy.ndarray
        Shape (...).

    Raises
    ------
    UsageError
        If a rate is not finite, there is no group, or `beta` is not positive.
    """
    scaled = _scaled(rates, beta)
    return (_log_sum_exp(scaled) + _log_sum_exp(-scaled)) / beta


def soft_bias_gradient(rates: ArrayLike, beta: float) -> FloatArray:
    r"""Differentiate the soft bias: :math:`softmax(\beta z) - softmax(-\beta z)`.

    Parameters
    ----------
    rates
        Benefit rates, shape (..., groups).
    beta
        Sharpness, positive.

    Returns
    -------
    numpy.ndarray
        Shape (..., groups); the entries of each gradient sum to zero.

    Raises
    ------
    UsageError
        If a rate is not finite, there is no group, or `beta` is not positive.
    """
    scaled = _scaled(rates, beta)
    return _softmax(scaled) - _softmax(-scaled)


def squared_bias_gradient(
    supply: ArrayLike, demand: ArrayLike, *, beta: float | None = None
) -> SquaredBiasGradient:
    r"""Differentiate the squared bias by cumulative supply and demand.

    With :math:`h = b^2` and :math:`z_g = \eta^S_g/\eta^D_g` the chain rule gives

    .. math::

        \frac{\partial h}{\partial z_g} = 2\,b\,\frac{\partial b}{\partial z_g},\qquad
        \frac{\partial h}{\partial \eta^S_g} = \frac{1}{\eta^D_g}\frac{\partial h}{\partial z_g},
        \qquad
        \frac{\partial h}{\partial \eta^D_g} =
            -\frac{\eta^S_g}{(\eta^D_g)^2}\frac{\partial h}{\partial z_g}.

    The fairness-aware advantage of ELBERT-PO is the reward advantage minus
    :math:`\alpha` times the sum over groups of (supply derivative times supply advantage plus
    demand derivative times demand advantage).

    Parameters
    ----------
    supply, demand
        Cumulative supply and demand, shape (..., groups); every demand is positive.
    beta
        Sharpness of the soft bias.  By default the exact bias is used, which is what the paper
        does for two groups.

    Returns
    -------
    SquaredBiasGradient
        The derivatives, each of shape (..., groups).

    Raises
    ------
    UsageError
        If shapes differ, a value is not finite, a demand is not positive, or `beta` is not
        positive.
    """
    totals, base = with_groups(supply, "supply"), with_groups(demand, "demand")
    rates = benefit_rate(totals, base)
    if beta is None:
        size, slope = bias(rates), bias_gradient(rates)
    else:
        size, slope = soft_bias(rates, beta), soft_bias_gradient(rates, beta)
    by_supply = 2.0 * np.asarray(size)[..., None] * slope / base
    return SquaredBiasGradient(supply=by_supply, demand=-rates * by_supply)


def _scaled(rates: ArrayLike, beta: float) -> FloatArray:
    array = with_groups(rates, "rates")
    return float(checked("beta", beta, Positive)) * array


def _log_sum_exp(values: FloatArray) -> FloatArray:
    total: FloatArray = np.logaddexp.reduce(values, axis=-1)
    return total


def _softmax(values: FloatArray) -> FloatArray:
    return np.exp(values - _log_sum_exp(values)[..., None])
