r"""What fairness costs, at a tolerance that the reader chooses: a live world.

The problem is the loan problem with bounded counts, for the paper's Algorithm 1, with demographic
parity. The best profit is a concave function of the tolerance, made of straight pieces, and at
every corner of it stands a policy without coins. Between two corners the best policy mixes the
occupancies :math:`\lambda` and :math:`\lambda'` of their policies. In a state where one lends and
the other does not, it lends with chance

.. math::

    \frac{(1 - w)\,\lambda_{s,1} + w\,\lambda'_{s,1}}{(1 - w)\,\lambda_s + w\,\lambda'_s},

where w is the place between the corners, from 0 to 1.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from longfair.agents.finite import lagrangian
from longfair.agents.finite.problem import deterministic, occupancy
from longfair.figures import Figure, line_chart
from longfair.papers.fairmdp.exact import discounted_steps, finite_problem
from longfair.papers.fairmdp.loans import finite_loan_problem

GROUPS = ("minority", "majority")
"""Names of the groups, in the order of the problem."""
TOLERANCE = 0.1
"""Where the slider stands at first."""


@cache
def frontier() -> lagrangian.Frontier:
    """Return the best reward of a step at every tolerance."""
    return lagrangian.frontier(finite_problem("dp"))


@cache
def corners() -> tuple[lagrangian.Corner, ...]:
    """Return the policies at the corners of the frontier, from the smallest gap on.

    The first has a gap of zero or below: from it on, mixtures reach every tolerance.
    """
    problem = finite_problem("dp")
    price = frontier().price
    # A corner is the best point at every price between the slopes beside it.
    between = [price[0] * (1.0 + 1e-9), *((price[1:] + price[:-1]) / 2.0), 0.0]
    sign = 1 if lagrangian.corner(problem, 0.0).gap >= 0.0 else -1
    return tuple(lagrangian.corner(problem, float(at), sign) for at in between)


def data() -> dict[str, Any]:
    """Return states, corners, and what changes from one corner to the next, for the script."""
    problem, states = finite_problem("dp"), finite_loan_problem()[1].states
    visited = [occupancy(problem, deterministic(problem, one.actions)) for one in corners()]
    # 1 where the bank lends, 0 where it denies, -1 where it never comes.
    lends = [np.where(one.sum(axis=1) > 0.0, one.argmax(axis=1), -1) for one in visited]
    weight = [one.sum(axis=1) for one in visited]
    changes = []
    for left, right in pairwise(range(len(visited))):
        changed = np.flatnonzero(lends[left] != lends[right])
        columns = changed, lends[right][changed], weight[left][changed], weight[right][changed]
        changes.append(list(zip(*(column.tolist() for column in columns), strict=True)))
    return {
        "groups": GROUPS,
        "start": TOLERANCE,
        "states": states[:, :3].tolist(),
        "lends": lends[0].tolist(),
        "gap": [corner.gap for corner in corners()],
        "profit": [corner.reward * discounted_steps() for corner in corners()],
        "rates": [corner.value.group_values.tolist() for corner in corners()],
        "changes": changes,
    }


def still() -> Figure:
    """Draw the best profit at every tolerance."""
    profit = pd.DataFrame(
        {"best profit": frontier().reward * discounted_steps()},
        index=pd.Index(frontier().gap, name="tolerance"),
    )
    return line_chart(profit, across="tolerance", up="profit of the best fair policy")
