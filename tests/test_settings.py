"""The validator of settings, and every field of every record times values it may not have."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_type_hints

import numpy as np
import pytest
from bad_values import BAD, allowed, without_bounds

from longfair import settings
from longfair.agents.fair_mdp.baselines import Constraint
from longfair.agents.fair_mdp.memory_q_learning import Books, QLearning
from longfair.agents.fairqcm.presets import LEARNING
from longfair.agents.ucbfair.settings import LUCBFairSettings
from longfair.agents.ucbfair.td3_settings import RTD3Settings
from longfair.errors import UsageError
from longfair.papers import registry
from longfair.papers.setting import Evaluating, Setting, Untrained, World
from longfair.papers.ucbfair.learning import TD3Learning, UCBLearning
from longfair.runs.keys import classes_of
from longfair.settings import Count, Length, OneOf, Probability, checked, validate

ROOMS = ("longfair.envs", "longfair.agents", "longfair.papers")
"""Packages whose records are looked at as soon as they are held against their annotations."""

UNBOUNDED = {
    "Entry.place",
    "LoanLedger.invalid_reward",
    "LoanLedger.missed_reward",
    "LoanLedger.required_profit",
    "LoanMDPParams.reward_offset",
    "PopulationParams.threshold_range",
    "Problem.constant",
}
"""Fields in which every finite number has a meaning."""

WORLD = World("longfair/LoanMDP-v0")

EXAMPLES: dict[str, dict[str, Any]] = {
    "agents.fair_mdp.memory_q_learning.Books": {"tolerance": 0.05, "steepest": 1.0},
    "agents.fairqcm.counterfactuals.DoughnutCounterfactuals": {"largest": 100},
    "agents.fairqcm.counterfactuals.LoanCounterfactuals": {"largest": 40},
    "agents.register.Entry": {"agent": object, "name": "toy", "label": "Toy"},
    "agents.register.Style": {"colour": "red", "marker": "o"},
    "envs.doughnut.exact.Controller": {"serving": np.full((1, 1, 2), 0.5)},
    "envs.population.params.FitnessTable": {
        "unqualified_rejected": 0.2,
        "unqualified_accepted": 3.0,
        "qualified_rejected": 0.7,
        "qualified_accepted": 1.1,
    },
    "papers.fairmdp.memory_learner.Bank": {"rates": "as_coded", "books": Books(0.05, 1.0)},
    "papers.fairmdp.memory_learner.Meeting": {"settings": QLearning()},
    "papers.fairmdp.searching.Wanted": {"constraint": Constraint("nothing")},
    "papers.fairqcm.deep.DeepLearning": {"settings": LEARNING["doughnuts"]["full"]},
    "papers.fppo.falling.LoggedPPO": {"rollout": 20, "hidden": (8, 8, 8), "total_steps": 40},
    "papers.fppo.learning.TrunkPPO": {"rollout": 20, "hidden": (8, 8, 8), "total_steps": 40},
    "papers.setting.Problem": {
        "world": WORLD,
        "learning": {},
        "evaluating": {},
        "episode_length": {},
    },
    "papers.setting.Setting": {
        "world": WORLD,
        "method": Untrained("random"),
        "learning": None,
        "evaluating": Evaluating(),
    },
    "papers.setting.Untrained": {"policy": "random"},
    "papers.setting.World": {"environment": "longfair/LoanMDP-v0"},
    "papers.setting.Wrapper": {"name": "elapsed-time"},
    "papers.ucbfair.experiments.Problem": {"preset": "adult", "notion": "dp", "constant": 0.7},
    "papers.ucbfair.experiments.Profile": {
        "ucb": UCBLearning(),
        "td3": TD3Learning(400),
        "gradient_steps": 1,
        "episode_length": None,
        "final_episodes": 10,
    },
}
"""What the required fields of a record may be, by its module and name."""


def example(record: type[Any]) -> dict[str, Any]:
    return EXAMPLES.get(f"{record.__module__}.{record.__qualname__}".removeprefix("longfair."), {})


def records() -> list[type[Any]]:
    """Every dataclass of the rooms that calls the validator."""
    found: dict[str, type[Any]] = {}
    for room in ROOMS:
        package = importlib.import_module(room)
        names = [module.name for module in pkgutil.walk_packages(package.__path__, f"{room}.")]
        for module in [package, *map(importlib.import_module, names)]:
            for value in vars(module).values():
                concrete = isinstance(value, type) and not inspect.isabstract(value)
                if concrete and dataclasses.is_dataclass(value):
                    record: Any = value
                    after = getattr(record, "__post_init__", None)
                    if after is not None and "validate" in after.__code__.co_names:
                        found[f"{record.__module__}.{record.__qualname__}"] = record
    return list(found.values())


RECORDS = records()
FIELDS = [
    (record, field.name) for record in RECORDS for field in dataclasses.fields(record) if field.init
]


@pytest.mark.parametrize(
    ("record", "field"), FIELDS, ids=[f"{record.__name__}-{field}" for record, field in FIELDS]
)
def test_no_field_takes_what_its_annotation_forbids(record: type[Any], field: str) -> None:
    kind = get_type_hints(record, include_extras=True)[field]
    good = example(record)
    for bad in BAD:
        if not allowed(kind, bad):
            with pytest.raises(UsageError) as error:
                record(**good | {field: bad})
            assert field in str(error.value), bad
            assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("record", "field"), FIELDS, ids=[f"{record.__name__}-{field}" for record, field in FIELDS]
)
def test_every_number_has_bounds(record: type[Any], field: str) -> None:
    """Or it is listed as one of which every finite value has a meaning."""
    kind = get_type_hints(record, include_extras=True)[field]
    unbounded = f"{record.__name__}.{field}" in UNBOUNDED
    assert unbounded == without_bounds(kind)


@pytest.mark.parametrize("field", ["method", "learning"])
def test_what_is_learned_and_how_are_records(field: str) -> None:
    """Any record may be one; what its own fields may be, the record says."""
    for bad in BAD:
        if field == "learning" and bad is None:
            continue  # nothing is learned
        with pytest.raises(UsageError, match=f"^{field}=.*a record"):
            Setting(**example(Setting) | {field: bad})


def test_every_setting_is_held_against_its_annotations() -> None:
    """All records that stand in the settings of an arm."""
    arms = [
        arm
        for experiment in registry.experiments().values()
        for profile in experiment.arms.values()
        for arm in profile
    ]
    found = {record for arm in arms for record in classes_of(arm.config)}
    fields = {record for record in found if dataclasses.fields(record)}
    assert fields - set(RECORDS) == set()


def test_there_are_a_thousand_bad_cases() -> None:
    hints = {record: get_type_hints(record, include_extras=True) for record in RECORDS}
    cases = sum(not allowed(hints[record][field], bad) for record, field in FIELDS for bad in BAD)
    assert cases >= 1000


# The validator itself ----------------------------------------------------------------------------


def test_the_example_of_the_module_runs() -> None:
    assert doctest.testmod(settings) == doctest.TestResults(failed=0, attempted=6)


@dataclasses.dataclass(frozen=True)
class Example:
    count: Count = 1
    share: Probability = 0.5
    pair: tuple[float, float] = (0.0, 1.0)
    many: Annotated[tuple[Count, ...], Length(1)] = (3,)
    kind: Annotated[str, OneOf("linear", "square")] = "linear"
    flag: bool = False
    either: Probability | tuple[Probability, ...] | None = None
    weights: Mapping[str, float] = dataclasses.field(default_factory=dict)
    call: Callable[[float], float] = math.sqrt

    def __post_init__(self) -> None:
        validate(self)


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({"count": np.int64(7)}, 7),
        ({"share": np.float32(0.5)}, 0.5),
        ({"share": 1}, 1),
        ({"pair": [np.float64(1), 2]}, (1.0, 2)),
        ({"many": np.array([1, 2])}, (1, 2)),
        ({"many": range(1, 3)}, (1, 2)),
        ({"flag": np.True_}, True),
        ({"either": [0.5]}, (0.5,)),
        ({"either": None}, None),
    ],
)
def test_numbers_and_sequences_become_pythons(change: dict[str, Any], kept: Any) -> None:
    (field,) = change
    found = getattr(Example(**change), field)
    assert found == kept
    assert type(found) is type(kept)
    if isinstance(kept, tuple):
        assert [type(entry) for entry in found] == [type(entry) for entry in kept]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 0}, "count=0: give an integer of at least 1"),
        ({"count": 1.0}, "count=1.0: give an integer of at least 1"),
        ({"share": 1.0000001}, "share=1.0000001: give a finite number in [0, 1]"),
        ({"share": "0.5"}, "share='0.5': give a finite number in [0, 1]"),
        ({"pair": 0.5}, "pair=0.5: give a sequence"),
        ({"pair": (1.0,)}, "pair has 1 entries: give 2"),
        ({"pair": (1.0, math.nan)}, "pair[1]=nan: give a finite number"),
        ({"many": ()}, "many has 0 entries: give at least 1"),
        ({"many": "12"}, "many='12': give a sequence"),
        ({"kind": "liner"}, "kind='liner': did you mean 'linear'? allowed: linear, square"),
        ({"kind": 3}, "kind=3: allowed: linear, square"),
        ({"flag": 1}, "flag=1: give True or False"),
        ({"either": "x"}, "either='x': give a finite number in [0, 1] or a sequence or None"),
        ({"weights": {"a": "x"}}, "weights['a']='x': give a finite number"),
        ({"weights": ()}, "weights=(): give a mapping"),
        ({"call": 3}, "call=3: give something that can be called"),
    ],
)
def test_an_error_says_what_was_given_and_what_is_allowed(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as error:
        Example(**change)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "preset",
    [getattr(one, name) for one in (LUCBFairSettings, RTD3Settings) for name in one.PRESETS],
)
def test_presets_know_what_can_be_changed(preset: Any) -> None:
    with pytest.raises(UsageError, match=r"^unknown setting 'notin': did you mean 'notion'"):
        preset(notin="qualification")


def test_an_unchanged_value_is_kept_as_it_is() -> None:
    pair = (0.25, 0.5)
    assert Example(pair=pair).pair is pair


def test_arguments_outside_records_are_held_against_the_same_annotations() -> None:
    assert checked("window", np.int32(3), Count) == 3
    with pytest.raises(UsageError, match=r"window=0: give an integer of at least 1"):
        checked("window", 0, Count)
