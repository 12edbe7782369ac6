"""Every argument of agents, wrappers, environments, policies and exact solvers times bad values."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest
from bad_values import BAD, allowed, without_bounds
from gymnasium.vector import AutoresetMode, VectorEnv
from solver_doors import SOLVERS, name_of, public_functions
from stable_baselines3.common.vec_env import VecEnv

import longfair.agents
import longfair.envs
from longfair.agents import policies
from longfair.agents.cpo import CPO, CPOSettings
from longfair.agents.fair_mdp.memory_q_learning import Books, MemoryQLearning
from longfair.agents.fairqcm.dqn import FairDQN
from longfair.agents.fairqcm.ledger_dqn import LedgerDQN
from longfair.agents.fairqcm.ledgers import DoughnutLedger
from longfair.agents.fairqcm.presets import Learning, QLearningSettings, Recipe, WeightSearch
from longfair.agents.fairqcm.q_learning import TabularQLearning
from longfair.agents.fairqcm.recurrent import RecurrentDQN
from longfair.agents.fairqcm.weight_search import LinearSearch
from longfair.agents.policies.policy import Policy
from longfair.agents.ppo import FairPPO, Strategy
from longfair.agents.register import agents
from longfair.agents.ucbfair.cells import Cells
from longfair.agents.ucbfair.features import RadialFeatures
from longfair.agents.ucbfair.learner import LUCBFair
from longfair.agents.ucbfair.td3 import RTD3, WeightedReward
from longfair.agents.ucbfair.td3_settings import RTD3Settings
from longfair.envs.elapsed import ElapsedTime
from longfair.envs.memory import AllocationMemory, FullMemory
from longfair.envs.sb3 import BatchVecEnv
from longfair.envs.vector import FairVectorEnv
from longfair.errors import UsageError
from longfair.settings import kinds_of_arguments

Door = Callable[..., Any]
Examples = Mapping[str, Callable[[], Mapping[str, Any]]]

PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def batch(name: str, num_envs: int = 1, **arguments: Any) -> Any:
    return gymnasium.make_vec(f"longfair/{name}-v0", num_envs=num_envs, **arguments)


def population() -> Any:
    return ElapsedTime(batch("Population", episode_length=5))


def counted(ledger: DoughnutLedger, copies: int) -> Any:
    env = batch("Doughnut", copies, preset="deep", episode_length=ledger.length)
    return ElapsedTime(FullMemory(env, "counts"))


GROUPS = {"adjacency": PATH, "group": (0, 1, 1)}

ENVIRONMENTS: Examples = {
    "FairVectorEnv": lambda: {
        "num_envs": 2,
        "num_groups": 2,
        "episode_length": 3,
        "observation_space": gymnasium.spaces.Box(0.0, 1.0, (2,)),
        "action_space": gymnasium.spaces.Discrete(2),
    },
    "ScalarFace": lambda: {
        "vector_env": batch("Lending", autoreset_mode=AutoresetMode.DISABLED).unwrapped
    },
    "AppendedMemory": lambda: {"env": batch("Lending"), "size": 1, "low": 0.0, "high": np.inf},
    "VaccinationCounts": lambda: {"env": batch("Epidemic")},
    "FeatureHistograms": lambda: {"env": batch("Population")},
    "IntegerCodes": lambda: {"env": FullMemory(batch("Doughnut", episode_length=3), "counts")},
    "WeightedReward": lambda: {"env": batch("Population"), "settings": RTD3Settings()},
}
"""Arguments that an environment or a wrapper needs; `env` is a batch of lending otherwise."""

POLICIES: Examples = {
    "ConstantAllocation": lambda: {"units": (1, 2, 3)},
    "GreedyDiscoveries": lambda: {"units": 3, "incidents": slice(2), "rows": 2},
    "ProportionalToIncidents": lambda: {"weights": (1.0, 2.0), "incidents": slice(2), "rows": 2},
    "ProportionalToExcess": lambda: {"target": 1.5, "incidents": slice(2), "rows": 2},
    "VaccinateHighestDegree": lambda: {"adjacency": PATH},
    "VaccinateMostExposed": lambda: {"adjacency": PATH},
    "VaccinationLottery": lambda: {**GROUPS, "chances": (0.5, 0.5), "exposure_weight": 1.0},
    "VaccinateThenWaste": lambda: {
        **GROUPS,
        "protected": 1,
        "useful_days": 2.5,
        "episode_length": 20,
    },
    "EqualOpportunityOracle": lambda: {"repay_probability": (0.1, 0.9)},
    "FixedPriority": lambda: {"order": (1, 0, 2)},
    "LaggingGroupBestCredit": lambda: {"groups": (0, 0, 1, 1)},
    "AcceptanceTable": lambda: {"probability": [[0.5, 1.0], [0.0, 1.0]]},
    "ShortSighted": lambda: {"model": batch("Population").unwrapped.model},
    "ConstantThresholds": lambda: {"actions": (0.25, 0.5)},
    "RandomThresholds": dict,
    "ProportionalToRates": dict,
    "EqualLogits": lambda: {"sites": 3},
    "GaussianLogits": lambda: {"sites": 3},
    "threshold_policy": lambda: {"thresholds": (3, 7)},
    "constant_policy": lambda: {"chance": 0.5},
}
"""Arguments that a policy needs; the number of `people` otherwise."""

LEARNERS: dict[Door, Callable[[], Mapping[str, Any]]] = {
    FairPPO: lambda: {"env": batch("Lending", 2, episode_length=8), "batch_size": 4, "seed": 1},
    CPO: lambda: {"env": batch("Attention"), "settings": CPOSettings(hidden=(4,)), "seed": 1},
    TabularQLearning: lambda: {
        "env": batch("Doughnut", preset="tabular"),
        "settings": QLearningSettings(),
        "seed": 1,
    },
    FairDQN: lambda: {"env": batch("Doughnut"), "learning": Learning(hidden=(4,)), "seed": 1},
    RecurrentDQN: lambda: {
        "env": batch("Doughnut"),
        "learning": Learning(hidden=(4, 4)),
        "width": 4,
        "seed": 1,
    },
    LedgerDQN: lambda: {
        "env": counted(DoughnutLedger(4), 2),
        "ledger": DoughnutLedger(4),
        "recipe": Recipe(hidden=(4,)),
        "seed": 1,
    },
    LinearSearch: lambda: {
        "env": counted(DoughnutLedger(4), 2),
        "ledger": DoughnutLedger(4),
        "search": WeightSearch(candidates=2, episodes=1),
        "seed": 1,
    },
    MemoryQLearning: lambda: {
        "problem": batch("LoanMDP").unwrapped.exact(),
        "step_weights": np.ones(batch("LoanMDP").unwrapped.exact().decisions),
        "books": Books(0.05, 1.0),
        "seed": 1,
    },
    LUCBFair: lambda: {"env": population(), "features": RadialFeatures.spread(4), "seed": 1},
    RTD3.around: lambda: {
        "env": BatchVecEnv(WeightedReward(population(), RTD3Settings())),
        "settings": RTD3Settings(hidden=(4,), buffer_size=10),
        "seed": 1,
    },
    Cells: lambda: {"per_action": 2},
    RadialFeatures: lambda: {"centres": np.zeros((3, 4))},
    RadialFeatures.spread: lambda: {"size": 3},
}
"""Learners and what they are made of, and arguments with which they are quickly made."""

LEARNING: Examples = {
    "learn_evaluated": lambda: {"episodes": 0, "seed": 1},
    "readings": lambda: {"applicants": 1, "generator": np.random.default_rng(1)},
}
"""Arguments that methods of learners need; no steps to learn otherwise."""

FREE = {"params", "changes", "dtype", "policy"}
"""Arguments without an annotation that says what they may be: the environment's class does, or
NumPy, or the function itself, because one or two shapes are possible."""


def modules_of(room: ModuleType) -> Iterator[ModuleType]:
    for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
        yield importlib.import_module(module.name)


def unfinished(kind: type[Any]) -> bool:
    """Return whether a method is left to subclasses, also where Gymnasium's base is no ABC."""
    left = (getattr(value, "__isabstractmethod__", False) for value in vars(kind).values())
    return inspect.isabstract(kind) or any(left)


def classes_of(room: ModuleType, *kinds: type[Any]) -> list[type[Any]]:
    """Return the public classes of a kind that are defined in a room of the library."""
    found = {
        value
        for module in modules_of(room)
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, kinds)
        and value.__module__ == module.__name__
        and not name.startswith("_")
        and not unfinished(value)
    }
    return sorted(found, key=lambda value: value.__qualname__)


def doors() -> dict[str, tuple[Door, Callable[[], Mapping[str, Any]]]]:
    """Every door by its name, and what makes arguments that it takes."""
    found: dict[str, tuple[Door, Callable[[], Mapping[str, Any]]]] = {}
    for kind in classes_of(longfair.envs, VectorEnv, gymnasium.Env, VecEnv):
        found[kind.__qualname__] = kind, ENVIRONMENTS.get(kind.__qualname__, _lending_if(kind))
        if issubclass(kind, FairVectorEnv) and kind is not FairVectorEnv:
            found[f"{kind.__qualname__}.make"] = kind.make, dict
            found[f"{kind.__qualname__}.make_scalar"] = kind.make_scalar, dict
    found["WeightedReward"] = WeightedReward, ENVIRONMENTS["WeightedReward"]
    offered: list[Any] = classes_of(policies, Policy)
    offered += [policies.threshold_policy, policies.constant_policy]
    for door in offered:
        found[door.__qualname__] = door, POLICIES.get(door.__qualname__, lambda: {"people": 3})
    for door, example in LEARNERS.items():
        found[door.__qualname__] = door, example
    for door, example in SOLVERS.items():
        found[name_of(door)] = door, example
    for door in LEARNERS:
        for name in ("learn", *LEARNING):
            kind = _class_of(door)
            if hasattr(kind, name):
                found[f"{kind.__qualname__}.{name}"] = (
                    _method_of(door, name),
                    LEARNING.get(name, _no_steps(kind)),
                )
    return found


def _lending_if(kind: type[Any]) -> Callable[[], Mapping[str, Any]]:
    if "env" not in kinds_of_arguments(kind.__init__):
        return dict
    name = "Doughnut" if issubclass(kind, AllocationMemory) else "Lending"
    return lambda: {"env": batch(name)}


def _no_steps(kind: type[Any]) -> Callable[[], Mapping[str, Any]]:
    (first, *_) = kinds_of_arguments(kind.learn)
    return lambda: {first: 0}


def _class_of(door: Any) -> Any:
    """Return the class that a door belongs to, or is."""
    return getattr(door, "__self__", door)


def _method_of(door: Door, name: str) -> Door:
    method = getattr(_class_of(door), name)

    def call(**arguments: Any) -> Any:
        return method(made(door), **arguments)

    call.__wrapped__ = method  # type: ignore[attr-defined]  # what it stands for
    return call


@cache
def made(door: Door) -> Any:
    return door(**LEARNERS[door]())


def _initial(door: Door) -> Any:
    """Return the function behind a door; of a class, its constructor."""
    return door.__init__ if isinstance(door, type) else door  # type: ignore[misc]  # of a class


def kinds_of(door: Door) -> dict[str, Any]:
    return kinds_of_arguments(getattr(_initial(door), "__func__", _initial(door)))


DOORS = doors()
ARGUMENTS = [(name, kind) for name, (door, _) in DOORS.items() for kind in kinds_of(door)]


@cache
def example(name: str) -> Mapping[str, Any]:
    return DOORS[name][1]()


def test_every_learner_and_every_policy_has_a_door_here() -> None:
    for entry in agents().values():
        if entry.agent.__module__.startswith("longfair.") and not issubclass(entry.agent, Strategy):
            assert f"{entry.agent.__qualname__}.learn" in DOORS, entry.name
    offered = {name for name in policies.__all__ if name not in ("applicants", "Policy")}
    assert offered - {"AllocationPolicy"} <= DOORS.keys()


FOUND = {"checked_rows", "require_distribution", "policy_of", "solution", "inputs_of"}
"""Functions that solvers call with what they have found."""


def test_every_number_of_an_exact_solver_has_bounds() -> None:
    doors = {
        inspect.unwrap(getattr(_initial(door), "__func__", _initial(door)))
        for door, _ in DOORS.values()
    }
    for function in public_functions():
        name = f"{function.__module__}.{function.__qualname__}"
        if hasattr(function, "__wrapped__"):
            assert inspect.unwrap(function) in doors, f"{name} has no door here"
        elif "." not in function.__qualname__ and function.__name__ not in FOUND:
            kinds = inspect.get_annotations(function)
            bare = {key for key, kind in kinds.items() if kind in BARE and key != "return"}
            assert not bare, f"{name}: say which numbers {bare} may be"


BARE = {"int", "float", "int | None", "float | None", "Sequence[float]", "Sequence[int]"}


def test_there_are_a_thousand_bad_cases() -> None:
    cases = sum(
        not allowed(kinds_of(DOORS[name][0])[argument], bad)
        for name, argument in ARGUMENTS
        for bad in BAD
    )
    assert cases >= 1000


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_no_argument_takes_what_its_annotation_forbids(name: str, argument: str) -> None:
    door, _ = DOORS[name]
    kind = kinds_of(door)[argument]
    assert argument in FREE or (kind is not Any and not without_bounds(kind))
    for bad in BAD:
        if not allowed(kind, bad):
            with pytest.raises(UsageError) as error:
                door(**{**example(name), argument: bad})
            assert argument in str(error.value), bad
            assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", DOORS)
def test_every_argument_is_annotated(name: str) -> None:
    door, _ = DOORS[name]
    given = inspect.signature(door).parameters.values()
    told = {one.name for one in given if one.kind is not inspect.Parameter.VAR_KEYWORD}
    assert told - {"self", "cls"} <= kinds_of(door).keys()


@pytest.mark.parametrize("name", DOORS)
def test_numpy_s_numbers_and_arrays_are_taken(name: str) -> None:
    door, make = DOORS[name]
    defaults = {
        one.name: one.default
        for one in inspect.signature(door).parameters.values()
        if one.default is not inspect.Parameter.empty
    }
    door(**{key: _as_numpy(value) for key, value in {**defaults, **make()}.items()})


def _as_numpy(value: Any) -> Any:
    if isinstance(value, bool | int | float):
        kinds = {bool: np.bool_, int: np.int64, float: np.float64}
        return kinds[type(value)](value)
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return np.array(value)
    return value
