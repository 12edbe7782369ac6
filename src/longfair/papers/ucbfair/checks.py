"""Exact statements about the short-sighted baselines, checked by computing them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from longfair.agents.policies.population import BASELINES, ShortSighted
from longfair.envs.population import PopulationModel, PopulationParams, start_grid
from longfair.runs.claims import CheckResult
from longfair.wording import numeral

SIZE, COARSE = 32, 16
"""States along a rate: of flows, and where every baseline is searched twice in two populations."""

AGREEMENT = 0.8
"""Share of the states in which two flows have to point the same way in both groups."""


SAME_THRESHOLD = 1e-5
"""Difference of two thresholds below which they count as one: descent ends that near."""

VALUES, INSTANCES = 10, 200
"""Values of a feature, and features of each kind, on which all classifiers are tried."""

ROUNDING = 1e-12
"""Difference of two rewards below which they count as equal."""


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
    return _compared_flows(PopulationParams.adult(), ("grid", "gd"))


def same_flow_box() -> CheckResult:
    """Figure 1, as `same_flow` by descent, with thresholds down to twice our bound.

    Returns
    -------
    CheckResult
        As `same_flow`.
    """
    doubled = replace(PopulationParams.adult(), threshold_range=(1 / 16, 15 / 16))
    return _compared_flows(doubled, ("gd",))


def _compared_flows(params: PopulationParams, searches: tuple[str, ...]) -> CheckResult:
    computed = {}
    for name in ("myopic", "maxmin"):
        for search in searches:
            plain, fair = (directions(params, one, search) for one in (name, f"{name}-fair"))
            computed[f"{name}_{search}"] = float((plain == fair).all(axis=1).mean())
    parts = ", ".join(
        f"{key.replace('_gd', ' by descent').replace('_grid', ' by grid')} {value:.0%}"
        for key, value in computed.items()
    )
    return CheckResult(
        min(computed.values()) >= AGREEMENT,
        computed,
        f"With thresholds from 1/{1 / params.threshold_range[0]:g} on, both groups move the same "
        f"way with and without the fairness term in these shares of the states: {parts}.",
        instances=len(computed) * SIZE**2,
    )


def blind_to_qualification() -> CheckResult:
    """Section 5: a term for equal qualification changes nothing that a short-sighted policy does.

    Returns
    -------
    CheckResult
        Computed: by population, baseline and search, by how much a threshold differs at most with
        and without the term.
    """
    populations = {"Gaussian": PopulationParams.synthetic(), "Adult": PopulationParams.adult()}
    states, computed = start_grid(COARSE), {}
    for population, params in populations.items():
        model = PopulationModel(params)
        for name in ("myopic", "maxmin"):
            for search in ("grid", "gd"):
                fair = replace(BASELINES[f"{name}-fair"], notion="qualification")
                plain, blind = (
                    ShortSighted(model, cost, search).choose(states)
                    for cost in (BASELINES[name], fair)
                )
                computed[f"{population}_{name}_{search}"] = float(np.abs(plain - blind).max())
    largest = max(computed.values())
    return CheckResult(
        largest <= SAME_THRESHOLD,
        computed,
        f"With and without the term no threshold differs by more than {numeral(largest, 1)}.",
        instances=len(computed) * COARSE**2,
    )


def threshold_is_optimal() -> CheckResult:
    """Theorem 4.2: where the chance to be qualified rises with the feature, a threshold is best.

    Features with `VALUES` values are drawn at random, and weights of true positives and true
    negatives. Every deterministic classifier of a feature is tried.

    Returns
    -------
    CheckResult
        Computed: the most that any classifier has above the best threshold, where the chance rises,
        and in how many features of another kind a threshold is not best.
    """
    rng = np.random.default_rng(0)
    accepts = (np.arange(2**VALUES)[:, None] >> np.arange(VALUES)) & 1
    thresholds = (np.diff(accepts, axis=1) >= 0).all(axis=1)
    excess = {}
    for kind in ("rising", "any"):
        found = []
        for _ in range(INSTANCES):
            share, weights = rng.dirichlet(np.ones(VALUES)), rng.random(2)
            chance = rng.random(VALUES)
            chance = np.sort(chance) if kind == "rising" else chance
            accepted, rejected = weights[0] * share * chance, weights[1] * share * (1.0 - chance)
            reward = accepts @ accepted + (1 - accepts) @ rejected
            found.append(reward.max() - reward[thresholds].max())
        excess[kind] = np.array(found)
    computed = {
        "excess": float(excess["rising"].max()),
        "exceptions": float((excess["any"] > ROUNDING).sum()),
    }
    return CheckResult(
        computed["excess"] <= ROUNDING,
        computed,
        f"In {INSTANCES} features that rise none of {2**VALUES} classifiers is better than the "
        f"best threshold; in {computed['exceptions']:.0f} of {INSTANCES} of any kind one is.",
        instances=INSTANCES,
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
        "the unqualified of every group, and leaves a squared gap of at most {left}."
    )
    return CheckResult(
        bool(least.min() >= 0.99 and gap <= 1e-4),
        computed,
        detail.format(**computed, left=numeral(float(gap), 1)),
        instances=SIZE**2,
    )
