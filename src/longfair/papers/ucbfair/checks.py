"""Exact statements about the short-sighted baselines, checked by computing them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longfair.agents.policies.population import BASELINES, ShortSighted
from longfair.envs.population import PopulationModel, PopulationParams, start_grid
from longfair.runs.claims import CheckResult

SIZE = 32
"""States along a rate."""

AGREEMENT = 0.8
"""Share of the states in which two flows have to point the same way in both groups."""


def directions(params: PopulationParams, baseline: str, search: str) -> NDArray[np.float64]:
    """Return the signs (S, 2) of what a baseline's first step does to the rates of a grid."""
    model, states = PopulationModel(params), start_grid(SIZE)
    actions = ShortSighted(model, BASELINES[baseline], search).choose(states)
    moved: NDArray[np.float64] = np.sign(model.outcome(states, actions).next_rates - states)
    return moved


def same_flow() -> CheckResult:
    """Figure 1: baselines look the same with and without their fairness term.

    Returns
    -------
    CheckResult
        Computed: by baseline and search, the share of the grid on which both groups' rates move the
        same way.
    """
    params = PopulationParams.adult()
    computed = {}
    for name in ("myopic", "maxmin"):
        for search in ("grid", "gd"):
            plain, fair = (directions(params, one, search) for one in (name, f"{name}-fair"))
            computed[f"{name}_{search}"] = float((plain == fair).all(axis=1).mean())
    parts = ", ".join(f"{key.replace('_', ' by ')} {value:.0%}" for key, value in computed.items())
    return CheckResult(
        min(computed.values()) >= AGREEMENT,
        computed,
        f"Both groups move the same way with and without the fairness term on: {parts}.",
        instances=len(computed) * SIZE**2,
    )


def accept_everybody() -> CheckResult:
    """With (tp, demographic parity) the exact short-sighted choice is to accept everybody.

    The thresholds are bounded, so a few at the ends of the features are out of reach.

    Returns
    -------
    CheckResult
        Computed: over a grid of states, the smallest share of a group's qualified, and of its
        unqualified, that Myopic-Fair accepts, and the largest squared gap that this leaves.
    """
    model, states = PopulationModel(PopulationParams.synthetic()), start_grid(SIZE)
    actions = ShortSighted(model, BASELINES["myopic-fair"]).choose(states)
    outcome = model.outcome(states, actions)
    least = outcome.acceptance.min(axis=(0, 1))
    gap = model.disparities(states, outcome)[:, 0].max()
    computed = {
        "qualified": float(least[1]),
        "unqualified": float(least[0]),
        "largest_gap": float(gap),
    }
    detail = (
        "Myopic-Fair accepts at least {qualified:.2%} of the qualified and {unqualified:.2%} of "
        "the unqualified of every group, and leaves a squared gap of at most {largest_gap:.1g}."
    )
    return CheckResult(
        bool(least.min() >= 0.99 and gap <= 1e-4),
        computed,
        detail.format(**computed),
        instances=SIZE**2,
    )
