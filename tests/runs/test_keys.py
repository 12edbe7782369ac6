from __future__ import annotations

import enum
import importlib.metadata
import pickle
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest
from toy_experiment import ToySettings, toy_experiment, toy_work

from longfair.errors import UsageError
from longfair.runs import keys
from longfair.runs.experiment import Arm, Run, plan, protocol


def first_run(**settings: object) -> Run:
    return plan(toy_experiment(**settings), "smoke", seeds=1)[0]


def test_the_key_depends_on_settings_seed_and_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    run = first_run()
    key = keys.run_key(run)
    assert keys.run_key(first_run()).digest == key.digest
    assert keys.run_key(first_run(seconds=1.0)).digest != key.digest
    assert keys.run_key(replace(run, seed=1)).digest != key.digest
    assert replace(key, versions={**key.versions, "numpy": "0.1"}).digest != key.digest
    assert set(key.versions) == set(keys.PACKAGES_THAT_DECIDE)
    assert key.versions["numpy"] == importlib.metadata.version("numpy")


def test_a_worker_asks_its_own_code_for_revisions(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run("toy/lending", "smoke", Arm("fair", "as_coded", Whole(Method()), toy_work), 0)
    before = keys.run_key(run)
    sent = pickle.dumps(run)
    monkeypatch.setattr(Algorithm, "revision", 4)
    there = keys.run_key(pickle.loads(sent))
    assert (before.revisions["Algorithm"], there.revisions["Algorithm"]) == (3, 4)
    assert there.digest != before.digest


def test_versions_carry_no_local_label() -> None:
    assert all("+" not in version for version in keys.package_versions().values())


class Colour(enum.Enum):
    RED = "red"


@dataclass(frozen=True)
class Nested:
    settings: ToySettings
    layers: tuple[int, ...] = (256, 128)
    rates: object = None
    colour: Colour = Colour.RED


def test_settings_become_canonical_json() -> None:
    nested = Nested(ToySettings(bias=float("inf")), rates={"b": 1.5, "a": None})
    assert keys.canonical_json(nested) == (
        '{"class":"Nested","colour":"red","layers":[256,128],"rates":{"a":null,"b":1.5},'
        '"settings":{"bias":"inf","class":"ToySettings","diary":"","seconds":0.0,"trouble":""}}'
    )
    assert keys.classes_of(nested) == [Nested, ToySettings]


def test_settings_that_json_cannot_hold_are_named() -> None:
    with pytest.raises(UsageError, match=r"config\.rates\[1\] is a set"):
        keys.canonical_json(Nested(ToySettings(), rates=(1, {2})))


def test_differences_name_what_changed() -> None:
    key = keys.run_key(first_run())
    stored = {
        "config": {"class": "ToySettings"},
        "seed": 0,
        "revisions": {"toy": 2},
        "versions": {**key.versions, "numpy": "1.0"},
    }
    assert key.differences(stored) == [
        "other settings",
        "revision of toy 2 then, 1 now",
        f"numpy 1.0 then, {key.versions['numpy']} now",
    ]


class Algorithm:
    revision = 3


@dataclass(frozen=True)
class Method:
    name: ClassVar[str] = "fair-method"
    revision: ClassVar[int] = 2
    weight: float = 1.0


@dataclass(frozen=True)
class Whole:
    method: Method
    environment: str = "longfair/Lending-v0"

    def parts(self) -> tuple[type, ...]:
        return (Algorithm,)


class Remembering:
    """Answers that stay what they were."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def answer(self, question: str) -> Any:
        return self.kept.get(question)

    def remember(self, found: dict[str, Any]) -> None:
        self.kept |= found


def works_of_longfair(config: Any, seed: int) -> None:
    """Stand in for the work of an arm of this package."""


works_of_longfair.__module__ = "longfair.papers.protocol"
works_of_longfair.revision = 1  # type: ignore[attr-defined]  # as `protocol` declares it


@dataclass(frozen=True)
class OfLongfair:
    """Settings of this package that name a function of another."""

    measure: str = "elsewhere.measures:mine"


OfLongfair.__module__ = "longfair.papers.setting"


@pytest.mark.parametrize("config", [Whole(Method()), OfLongfair()])
def test_revisions_of_another_package_are_not_remembered(config: Any) -> None:
    """The stamp of this package's code says nothing of them, so they are asked every time."""
    answers = Remembering()
    keys.recall_revisions([Arm("fair", "as_coded", config, works_of_longfair)], answers, "stamp")
    assert answers.kept == {}
    own = Arm("fair", "as_coded", OfLongfair("longfair.papers.measures:mine"), works_of_longfair)
    keys.recall_revisions([own], answers, "stamp")
    assert len(answers.kept) == 1


def test_revisions_are_collected_from_work_settings_and_parts() -> None:
    arm = Arm("fair", "as_coded", Whole(Method()), toy_work)
    assert keys.revisions_of(arm) == {"toy": 1, "fair-method": 2, "Algorithm": 3}
    key = keys.run_key(Run("toy/lending", "smoke", arm, 0))
    assert '"revision' not in key.config
    assert replace(key, revisions={**key.revisions, "Algorithm": 4}).digest != key.digest


def test_a_part_without_a_revision_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Algorithm, "revision", 1.5)
    with pytest.raises(UsageError, match=r"Algorithm has revision 1\.5: declare an integer"):
        keys.revisions_of(Arm("fair", "as_coded", Whole(Method()), toy_work))


def test_two_parts_of_one_name_must_agree() -> None:
    @dataclass(frozen=True)
    class Namesake:
        name: ClassVar[str] = "Algorithm"
        revision: ClassVar[int] = 1

    arm = Arm("fair", "as_coded", Whole(Namesake()), toy_work)  # type: ignore[arg-type]  # any part
    with pytest.raises(UsageError, match="two parts named 'Algorithm'"):
        keys.revisions_of(arm)


@pytest.mark.parametrize(("name", "revision"), [("Lending!", 1), ("toy", 0), ("toy", True)])
def test_a_protocol_is_declared_well(name: str, revision: int) -> None:
    with pytest.raises(UsageError, match="protocol"):
        protocol(name, revision)
