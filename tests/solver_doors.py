"""Exact solvers and models, and arguments with which they are quickly called."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from longfair.agents import fair_mdp, finite
from longfair.agents.fair_mdp import batch_decisions, cross_entropy, explore_then_commit
from longfair.agents.fair_mdp.examples import needs_randomness
from longfair.agents.finite import (
    FiniteProblem,
    column_generation,
    lagrangian,
    linear_program,
    table_search,
)
from longfair.envs import doughnut, loan_mdp, loan_pool
from longfair.envs import population as population_room
from longfair.envs.doughnut import exact as doughnuts
from longfair.envs.doughnut import written_out as doughnut_states
from longfair.envs.loan_mdp import exact as loans
from longfair.envs.loan_mdp import two_outputs
from longfair.envs.loan_mdp import written_out as loan_states
from longfair.envs.loan_mdp.model import LoanModel
from longfair.envs.loan_mdp.params import LoanMDPParams
from longfair.envs.loan_pool import exact as pools
from longfair.envs.loan_pool import written_out as pool_states
from longfair.envs.loan_pool.params import LoanPoolParams
from longfair.envs.population import exact as populations
from longfair.envs.population.model import PopulationModel
from longfair.envs.population.params import PopulationParams, start_grid

ROOMS = (doughnut, loan_mdp, loan_pool, population_room, fair_mdp, finite)
"""Where exact solvers live."""

PRESENCE = (0.5, 0.75)
STARTS = ((0.25, 0.5), (0.5, 0.75))


@cache
def bank() -> Any:
    return loans.LoanProblem.of(LoanModel(LoanMDPParams.fico()), 2)


@cache
def chances() -> list[Any]:
    return [np.full((1, len(group.beliefs)), 0.5) for group in bank().applicants]


@cache
def small() -> FiniteProblem:
    return fair_mdp.demographic_parity(needs_randomness())


def coin() -> FiniteProblem:
    return FiniteProblem.of(np.full((2, 1, 2), 0.5), np.ones((2, 1)))


def planner() -> populations.Planner:
    params = PopulationParams(episode_length=2)
    return populations.Planner(params, resolution=populations.Resolution(3, 2))


def chance() -> np.random.Generator:
    return np.random.default_rng(1)


def one_loan() -> explore_then_commit.LoansSeen:
    seen, none = np.zeros(2, dtype=np.int64), np.zeros((2, 3), dtype=np.int64)
    return explore_then_commit.LoansSeen(seen, none, np.array([True, False]))


def outcome() -> loans.Outcome:
    return bank().evaluate(chances())


def bound(method: Callable[..., Any], on: Callable[[], Any]) -> Callable[..., Any]:
    """Return a method as a function of its arguments alone."""

    def call(**arguments: Any) -> Any:
        return method(on(), **arguments)

    call.__wrapped__ = method  # type: ignore[attr-defined]  # what it stands for
    call.__qualname__ = method.__qualname__
    return call


def _of_presence() -> Mapping[str, Any]:
    return {"presence": PRESENCE}


Door = Callable[..., Any]

SOLVERS: dict[Door, Callable[[], Mapping[str, Any]]] = {
    doughnuts.Controller: lambda: {"serving": np.full((1, 1, 2), 0.5)},
    doughnuts.memoryless: lambda: {"served": PRESENCE[:1]},
    doughnuts.anybody_at_random: _of_presence,
    doughnuts.somebody_there_at_random: _of_presence,
    doughnuts.fixed_priority: _of_presence,
    doughnuts.strict_rotation: _of_presence,
    doughnuts.rotation_skipping_absent: _of_presence,
    doughnuts.controller_score: lambda: {
        "controller": doughnuts.fixed_priority(PRESENCE),
        "episode_length": 2,
    },
    doughnuts.least_served_score: lambda: {"people": 2, "presence": 0.5, "episode_length": 2},
    LoanModel: lambda: {"params": LoanMDPParams.fico()},
    bound(loans.LoanProblem.of.__func__, lambda: loans.LoanProblem): lambda: {  # type: ignore[attr-defined]  # of a class method
        "model": LoanModel(LoanMDPParams.fico()),
        "steps": 2,
    },
    bound(loans.Outcome.rates, outcome): dict,
    bound(loans.Outcome.gap, outcome): dict,
    bound(loans.Outcome.first_gap, outcome): dict,
    bound(loans.Outcome.mixed, outcome): lambda: {"shares": (1.0,)},
    loans.evaluate: lambda: {"problem": bank(), "chances": chances()},
    two_outputs.evaluate_outputs: lambda: {
        "problem": bank(),
        "outputs": [np.stack([chance, 1.0 - chance], axis=2) for chance in chances()],
    },
    loans.roll_out: lambda: {
        "problem": bank(),
        "chances": chances(),
        "rollouts": 2,
        "generator": chance(),
    },
    pools.PairedLoanPool: dict,
    pools.loan_pool_value: lambda: {"pool": pools.PairedLoanPool(LoanPoolParams(episode_length=2))},
    pools.OptimalLender: lambda: {"pool": pools.PairedLoanPool(LoanPoolParams(episode_length=2))},
    doughnut_states.tabular: dict,
    loan_states.tabular: dict,
    pool_states.tabular: dict,
    start_grid: dict,
    PopulationModel: lambda: {"params": PopulationParams()},
    populations.Resolution: dict,
    populations.Planner: lambda: {
        "params": PopulationParams(episode_length=2),
        "resolution": populations.Resolution(3, 2),
    },
    bound(populations.Planner.plan, planner): dict,
    populations.PlannedThresholds: lambda: {"planner": planner(), "plan": planner().plan()},
    populations.follow: lambda: {
        "planner": planner(),
        "plan": planner().plan(),
        "starts": STARTS,
    },
    populations.constrained_optimum: lambda: {
        "planner": planner(),
        "starts": STARTS,
        "budget": 0.5,
    },
    batch_decisions.batch_problem: lambda: {"mdp": needs_randomness(), "people": 1},
    batch_decisions.joint_actions: lambda: {"actions": 2, "people": 1},
    cross_entropy.search: lambda: {
        "score": lambda rows: cross_entropy.Scores(rows[:, 0], rows[:, 0]),
        "start": cross_entropy.Gaussians.standard(1),
        "tolerance": 0.1,
        "settings": cross_entropy.CrossEntropy(),
        "generator": chance(),
    },
    cross_entropy.choose_elites: lambda: {
        "scores": cross_entropy.Scores(np.arange(3.0), np.arange(3.0)),
        "limit": 1.0,
        "count": 1,
    },
    cross_entropy.required_rollouts: lambda: {"tolerance": 0.1, "tightening": 0.5, "risk": 0.5},
    cross_entropy.required_steps: lambda: {"tolerance": 0.1, "tightening": 0.5, "discount": 0.5},
    explore_then_commit.explore: lambda: {
        "env": gymnasium.make_vec(
            "longfair/LoanMDP-v0",
            num_envs=2,
            episode_length=2,
            autoreset_mode=AutoresetMode.SAME_STEP,
        ),
        "chance": 0.5,
        "seed": 1,
        "generator": chance(),
    },
    explore_then_commit.estimate_strangers: lambda: {
        "loans": one_loan(),
        "denial_drift": 0.1,
        "groups": 1,
    },
    explore_then_commit.transition_error: lambda: {
        "states": 2,
        "actions": 2,
        "exploring": 2,
        "least": 0.5,
        "risk": 0.5,
    },
    explore_then_commit.required_exploration: lambda: {
        "states": 2,
        "actions": 2,
        "least": 0.5,
        "risk": 0.5,
    },
    explore_then_commit.value_error: lambda: {
        "states": 2,
        "steps": 2,
        "largest": 1.0,
        "error": 0.5,
    },
    explore_then_commit.regret_bound: lambda: {
        "episodes": (1.0, 5.0),
        "exploring": 2,
        "steps": 2,
        "largest": 1.0,
        "value_off": 0.5,
    },
    linear_program.solve: lambda: {"problem": small(), "tolerance": 1.0},
    column_generation.solve: lambda: {"problem": small(), "tolerance": 1.0},
    lagrangian.solve: lambda: {"problem": small(), "tolerance": 1.0},
    lagrangian.corner: lambda: {"problem": small(), "price": 0.5},
    lagrangian.frontier: lambda: {"problem": small()},
    table_search.solve: lambda: {
        "problem": small(),
        "tolerance": 1.0,
        "generator": chance(),
    },
    bound(lagrangian.Frontier.at, lambda: lagrangian.frontier(small())): lambda: {"tolerance": 2.0},
    bound(FiniteProblem.discounted, coin): lambda: {"discount": 0.5},
    bound(FiniteProblem.unrolled, small): lambda: {"horizon": 2},
    bound(FiniteProblem.backward_induction, small): lambda: {"horizon": 2},
    bound(FiniteProblem.policy_values, small): lambda: {
        "policy": np.full((small().states, small().actions), 1.0 / small().actions),
        "horizon": 2,
    },
}
"""Functions, constructors and methods, and what makes arguments that each of them takes."""


def name_of(door: Door) -> str:
    """Return how a door is called in the names of tests."""
    module = inspect.unwrap(door).__module__.removeprefix("longfair.")
    return f"{module}.{door.__qualname__}"


def public_functions() -> Iterator[Callable[..., Any]]:
    """Yield public functions, methods and constructors of the solvers' rooms, no environment's."""
    for room in ROOMS:
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            if module.name.endswith(".batch"):
                continue
            for name, value in vars(import_module(module.name)).items():
                if name.startswith("_") or getattr(value, "__module__", "") != module.name:
                    continue
                if inspect.isfunction(value):
                    yield value
                elif inspect.isclass(value):
                    yield from _of_class(value)


def _of_class(kind: type[Any]) -> Iterator[Callable[..., Any]]:
    for name, value in vars(kind).items():
        method = getattr(value, "__func__", value)
        if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_")):
            yield method
