r"""Fairness schemes: what fairness over time is measured by.

A scheme :math:`\langle U, W_{ex}, B \rangle` names a status function :math:`U`, an extended
aggregation :math:`W_{ex}` from a sequence of statuses to one number (higher is fairer), and a
filter :math:`B` that says at which moments one looks. The score of a trace :math:`\tau_T` of
:math:`T` actions is

.. math::

    \mathcal{F}(\tau_T) = W_{ex}\big(U(\tau_{t_1}), \dots, U(\tau_{t_k})\big), \qquad
    t_1 < \dots < t_k \text{ all } t \le T \text{ with } B(\tau_t) = 1 .

Here a sequence of statuses with a filter is an array (..., T, n) and a boolean array (..., T).
Leading axes are separate traces, so thousands of traces are scored at once.

References
----------
Alamdari et al. (2024), Definitions 4.1 to 4.9, 5.6 and 5.8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from longfair.arrays import BoolArray, FloatArray, IntArray
from longfair.errors import UsageError
from longfair.metrics._arrays import finite

Trace = TypeVar("Trace")

Welfare = Callable[[FloatArray], FloatArray]
"""W: statuses (..., n) to numbers (...)."""

OverTime = Callable[[FloatArray, BoolArray], FloatArray]
"""W_time: numbers (..., T) and which of them count (..., T) to numbers (...)."""

ExtendedAggregation = Callable[[FloatArray, BoolArray], FloatArray]
"""W_ex: statuses (..., T, n) and which moments count (..., T) to scores (...)."""


def timepoint_first(welfare: Welfare, over_time: OverTime) -> ExtendedAggregation:
    r"""Aggregate over people at every moment, then over time.

    .. math::  W_{ex}(u_1, \dots, u_k) = W_{time}\big(W(u_1), \dots, W(u_k)\big)

    Parameters
    ----------
    welfare
        :math:`W`.
    over_time
        :math:`W_{time}`, such as the functions of `longfair.metrics.memory_fairness.over_time`.

    Returns
    -------
    callable
        :math:`W_{ex}`.
    """

    def aggregate(statuses: FloatArray, counted: BoolArray) -> FloatArray:
        return over_time(welfare(statuses), counted)

    return aggregate


def long_term(statuses: ArrayLike, welfare: Welfare) -> FloatArray:
    r"""Long-term fairness, Definition 4.1: :math:`W(U(\tau_T))`.

    Parameters
    ----------
    statuses
        Shape (..., T, n).
    welfare
        :math:`W`.

    Returns
    -------
    numpy.ndarray
        Shape (...).
    """
    return welfare(_histories(statuses)[..., -1, :])


def periodic(statuses: ArrayLike, aggregation: ExtendedAggregation, period: int) -> FloatArray:
    r"""Periodic fairness, Definition 4.2: :math:`W_{ex}(U(\tau_p), U(\tau_{2p}), \dots)`.

    Parameters
    ----------
    statuses
        Shape (..., T, n).
    aggregation
        :math:`W_{ex}`.
    period
        :math:`p`, at least 1 and at most T.

    Returns
    -------
    numpy.ndarray
        Shape (...).
    """
    history = _histories(statuses)
    return bounded(history, aggregation, every(period)(None, _moments(history)))


def anytime(statuses: ArrayLike, aggregation: ExtendedAggregation) -> FloatArray:
    """Anytime fairness, Definition 4.3: periodic fairness of period 1.

    Parameters
    ----------
    statuses
        Shape (..., T, n).
    aggregation
        :math:`W_{ex}`.

    Returns
    -------
    numpy.ndarray
        Shape (...).
    """
    return bounded(statuses, aggregation, True)


def bounded(
    statuses: ArrayLike, aggregation: ExtendedAggregation, counted: ArrayLike
) -> FloatArray:
    """Bounded fairness, Definition 4.4: only the moments that count.

    Parameters
    ----------
    statuses
        Shape (..., T, n).
    aggregation
        :math:`W_{ex}`.
    counted
        Shape (..., T): the filter :math:`B` at every moment, true or false.

    Returns
    -------
    numpy.ndarray
        Shape (...).

    Raises
    ------
    UsageError
        If the shapes do not fit.
    """
    history = _histories(statuses)
    return aggregation(history, _fitting(counted, history))


Filter = Callable[[Trace, IntArray], BoolArray]
"""B: a trace and the moments 1 to T to booleans (..., T)."""


def every_moment(trace: object, moments: IntArray) -> BoolArray:
    r"""Look always, :math:`B \equiv 1`.

    Parameters
    ----------
    trace
        Ignored.
    moments
        Shape (T,).

    Returns
    -------
    numpy.ndarray
        Shape (T,), all true.
    """
    return np.ones(len(moments), dtype=bool)


def every(period: int) -> Filter[object]:
    r"""Look whenever a period is over, :math:`B(\tau_t) = 1 \iff p \mid t`.

    Parameters
    ----------
    period
        :math:`p`, at least 1.

    Returns
    -------
    callable
        The filter.

    Raises
    ------
    UsageError
        If the period is smaller than 1.
    """
    if period < 1:
        raise UsageError(f"period must be at least 1 step; given {period}")
    return lambda trace, moments: moments % period == 0


@dataclass(frozen=True)
class FairnessScheme(Generic[Trace]):
    r"""A fairness scheme :math:`\langle U, W_{ex}, B \rangle`, Definition 4.5.

    What a trace is, is up to the status and the filter: an array of who received what, a table of
    logged decisions, or anything else that both of them can read.

    Parameters
    ----------
    status
        :math:`U`: a trace, or many, to statuses (..., T, n).
    aggregation
        :math:`W_{ex}`.
    filter
        :math:`B`; every moment by default.
    """

    status: Callable[[Trace], FloatArray]
    aggregation: ExtendedAggregation
    filter: Filter[Trace] = every_moment

    def score(self, trace: Trace) -> FloatArray:
        r"""Return the score :math:`\mathcal{F}(\tau_T)` of a trace, Definition 4.7.

        Parameters
        ----------
        trace
            What `status` and `filter` read.

        Returns
        -------
        numpy.ndarray
            Shape (...): one score for each trace.
        """
        history = _histories(self.status(trace))
        return bounded(history, self.aggregation, self.filter(trace, _moments(history)))


class PolicyScore(NamedTuple):
    """Estimated score of a policy."""

    mean: float
    """Mean over traces."""
    standard_error: float
    """Standard error of that mean; not a number for a single trace."""


def policy_score(scores: ArrayLike) -> PolicyScore:
    r"""Estimate :math:`\mathcal{F}_T(\pi) = E_{\tau_T \sim \pi}[\mathcal{F}(\tau_T)]`.

    Definition 4.8.

    Parameters
    ----------
    scores
        Scores of independent traces of the policy, at least one.

    Returns
    -------
    PolicyScore
        Mean and standard error.

    Raises
    ------
    UsageError
        If there is no score.
    """
    values = finite(scores, "scores").ravel()
    if not values.size:
        raise UsageError("scores must hold at least one trace; given none")
    error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan
    return PolicyScore(float(values.mean()), float(error))


def scheme_rewards(statuses: ArrayLike, welfare: Welfare, counted: ArrayLike = True) -> FloatArray:
    r"""Rewards of a (bounded) reward-like scheme, :math:`\tilde B(s_{t+1}) W(\tilde U(s_{t+1}))`.

    If the sum over time is plain, the undiscounted return is the score of the trace; if it is
    discounted and every moment counts, the discounted return is.  They are rewards in the usual
    sense only where status and filter are functions of the state, that is, of what the agent
    remembers.

    Parameters
    ----------
    statuses
        Shape (..., T, n).
    welfare
        :math:`W`.
    counted
        Shape (..., T): the filter at every moment.

    Returns
    -------
    numpy.ndarray
        Shape (..., T): reward of the action that led to each moment.
    """
    history = _histories(statuses)
    return np.where(_fitting(counted, history), welfare(history), 0.0)


def _histories(statuses: ArrayLike) -> FloatArray:
    history = finite(statuses, "statuses")
    if history.ndim < 2 or 0 in history.shape[-2:]:
        raise UsageError(
            f"statuses must end with the axes (moments, people), neither empty; given "
            f"{history.shape}"
        )
    return history


def _moments(history: FloatArray) -> IntArray:
    """Return the moments 1 to T."""
    return np.arange(1, history.shape[-2] + 1)


def _fitting(counted: ArrayLike, history: FloatArray) -> BoolArray:
    try:
        return np.broadcast_to(np.asarray(counted, dtype=bool), history.shape[:-1])
    except ValueError:
        raise UsageError(
            f"counted has the shape {np.shape(counted)}, which does not fit the moments "
            f"{history.shape[:-1]} of the statuses"
        ) from None
