r"""Several people decided on together (Wen, Bastani, Topcu 2021, Appendix A).

At every step the decision maker sees :math:`k` people and takes :math:`k` decisions at once. The
joint state is a tuple :math:`s = (s_1, \ldots, s_k)`, the joint action a tuple of actions. Person
:math:`i` has an individual reward :math:`\rho^i` and belongs to group :math:`z` with probability
:math:`p_{z,i}`. The value of a group averages over the places in the batch,

.. math::

    \rho_z^{(\pi)} = \frac{1}{k} \sum_{i=1}^{k} \frac{1}{p_{z,i}}
        \sum_{s : z_i = z} \sum_a \Lambda^{(\pi)}_{s,a} \, \rho^i_{s_i, a_i} .

That is linear in the occupancy again, so the linear program is as before. Deciding jointly matters
when decisions compete, for example when there is money for one loan only. The number of joint
states is :math:`S^k`, so this is for small problems.
"""

from __future__ import annotations

from functools import reduce
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, kron

from longfair.agents.fair_mdp.model import SeparableMDP
from longfair.agents.finite.problem import FiniteProblem
from longfair.arrays import BoolArray, FloatArray, IntArray
from longfair.errors import UsageError
from longfair.settings import Axes, Count, validated

LARGEST_JOINT = 2_000_000
"""Joint problems with more pairs of states and actions than this are refused."""


@validated
def batch_problem(
    mdp: SeparableMDP, people: Count, allowed: Annotated[ArrayLike, Axes(1)] | None = None
) -> FiniteProblem:
    """Return the problem of deciding on several people of one kind together.

    They start, and move, independently of each other. The reward is the mean of their rewards.

    Parameters
    ----------
    mdp
        The problem of one person.
    people
        Number of people k, at least 1.
    allowed
        Shape (A^k,), boolean: joint actions that may be taken, in the order of `joint_actions`;
        all when not given.

    Returns
    -------
    FiniteProblem
        S^k states, in the order of `numpy.ndindex`, the last person's state moving fastest.

    Raises
    ------
    UsageError
        If the joint problem is too large, or no joint action is allowed.
    """
    states, actions = mdp.reward.shape
    if (states * actions) ** people > LARGEST_JOINT:
        raise UsageError(
            f"people={people}: {states * actions} pairs of state and action to the power of the "
            f"number of people must lie between 1 and {LARGEST_JOINT:,}; give fewer people"
        )
    taken = joint_actions(actions, people)
    chosen = _checked(allowed, len(taken))
    # A Kronecker product orders pairs (s1, a1, s2, a2); we need (s1, s2, a1, a2).
    places = np.arange((states * actions) ** people).reshape((states, actions) * people)
    order = places.transpose([*range(0, 2 * people, 2), *range(1, 2 * people, 2)])
    rows = order.reshape(states**people, -1)[:, chosen].ravel()
    transition = reduce(lambda left, right: kron(left, right, "csr"), [mdp.transition] * people)
    shares = np.meshgrid(*[mdp.initial_distribution] * people, indexing="ij")
    start: FloatArray = np.prod(shares, axis=0).ravel()
    visits = np.indices((states,) * people).reshape(people, -1)
    return FiniteProblem(
        continuation=csr_array(mdp.discount * csr_array(transition)[rows]),
        inflow=(1.0 - mdp.discount) * start,
        reward=_mean_over_people(mdp.reward, visits, taken[chosen]),
        group_values=np.stack(
            [
                _mean_over_people(
                    (mdp.group == group)[:, None] * mdp.individual_reward / share,
                    visits,
                    taken[chosen],
                )
                for group, share in enumerate(mdp.group_share)
            ]
        ),
    )


@validated
def joint_actions(actions: Count, people: Count) -> IntArray:
    """Return all joint actions, (A^k, k): what is done with each person."""
    return np.indices((actions,) * people).reshape(people, -1).T


def _mean_over_people(single: FloatArray, visits: IntArray, taken: IntArray) -> FloatArray:
    """Average numbers (S, A) of single people over the people of joint states and actions."""
    total = np.zeros((visits.shape[1], len(taken)))
    for of_person, decided in zip(visits, taken.T, strict=True):
        total += single[of_person[:, None], decided]
    return total / len(visits)


def _checked(allowed: ArrayLike | None, count: int) -> BoolArray:
    chosen = np.ones(count, np.bool_) if allowed is None else np.asarray(allowed, np.bool_)
    if chosen.shape != (count,) or not chosen.any():
        raise UsageError(
            f"allowed has shape {chosen.shape} and {int(chosen.sum())} allowed actions: "
            f"give {count} booleans, one of them true"
        )
    return chosen
