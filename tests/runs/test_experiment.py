from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from toy_experiment import ToySettings, toy_experiment, toy_work

from longfair.errors import UsageError
from longfair.runs.experiment import Arm, Experiment, Run, plan


@dataclass
class Thawed:
    bias: float = 0.1


def test_plan_finishes_a_seed_for_all_arms_before_the_next_seed() -> None:
    runs = plan(toy_experiment(), "smoke", seeds=2, first_seed=5)
    assert [run.name for run in runs] == [
        "toy/lending/smoke/fair.as_coded.005",
        "toy/lending/smoke/greedy.as_coded.005",
        "toy/lending/smoke/reject-all.reference.005",
        "toy/lending/smoke/fair.as_coded.006",
        "toy/lending/smoke/greedy.as_coded.006",
        "toy/lending/smoke/reject-all.reference.006",
    ]


def test_plan_uses_the_default_seeds_of_the_profile() -> None:
    assert len(plan(toy_experiment(), "book")) == 15


def test_an_arm_may_have_more_seeds_than_its_experiment() -> None:
    experiment = toy_experiment()
    fair, *others = experiment.arms["smoke"]
    cheap = replace(
        experiment, arms={**experiment.arms, "smoke": (replace(fair, seeds=4), *others)}
    )
    more = [run.seed for run in plan(cheap, "smoke") if run.arm.name == fair.name]
    assert more == [0, 1, 2, 3]
    assert (
        len(plan(cheap, "smoke")) == len(plan(experiment, "smoke")) + 4 - experiment.seeds["smoke"]
    )
    assert {run.seed for run in plan(cheap, "smoke", seeds=1)} == {0}
    with pytest.raises(UsageError, match=r"last of the seeds is 4294967296"):
        plan(cheap, "smoke", first_seed=2**32 - 3)


def test_plan_selects_methods_and_variants() -> None:
    runs = plan(toy_experiment(), "smoke", seeds=1, methods=["fair", "reject-all"])
    assert [run.arm.method for run in runs] == ["fair", "reject-all"]
    runs = plan(toy_experiment(), "smoke", seeds=1, variants=["reference"])
    assert [run.arm.method for run in runs] == ["reject-all"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profile": "bok"}, "unknown profile 'bok'.*did you mean 'book'"),
        ({"methods": ["fare"]}, "unknown method 'fare'.*did you mean 'fair'"),
        ({"variants": ["as_code"]}, "unknown variant 'as_code'.*'as_coded'"),
        ({"seeds": 0}, "seeds is 0: at least 1"),
        ({"seeds": -3}, "seeds is -3: at least 1"),
        ({"first_seed": -1}, "first seed is -1"),
        ({"first_seed": 2**32}, "first seed is 4294967296"),
        ({"first_seed": 0.0}, "first seed is 0.0"),
        ({"first_seed": 2**32 - 2, "seeds": 3}, "last of the seeds is 4294967296"),
        ({"seeds": 2.5}, "seeds is 2.5: at least 1"),
        ({"methods": ["fair"], "variants": ["reference"]}, "no arm with method"),
    ],
)
def test_plan_explains_bad_input(options: dict[str, object], message: str) -> None:
    arguments = {"profile": "smoke", **options}
    with pytest.raises(UsageError, match=message) as caught:
        plan(toy_experiment(), **arguments)  # type: ignore[arg-type]  # wrong on purpose
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "Fair PO"}, "method 'Fair PO'"),
        ({"method": "fair.po"}, "method 'fair.po'"),
        ({"variant": ""}, "variant ''"),
        ({"config": Thawed()}, "config of fair.as_coded is a Thawed"),
        ({"config": {"bias": 1}}, "config of fair.as_coded is a dict"),
        ({"config": ToySettings}, "config of fair.as_coded is a type"),
        ({"work": lambda config, seed: None}, "work of fair.as_coded"),
        ({"work": toy_experiment().arms["smoke"]}, "work of fair.as_coded"),
        ({"seeds": 0}, "fair.as_coded: 0 seeds"),
    ],
)
def test_an_arm_explains_what_is_wrong(change: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(Arm("fair", "as_coded", ToySettings(), toy_work), **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "lending"}, "no slash"),
        ({"id": "toy/lending/more"}, "experiment name 'lending/more'"),
        ({"arms": {}, "seeds": {}, "horizon": {}}, "no profile"),
        ({"seeds": {"smoke": 1}}, "seeds has profiles"),
        ({"horizon": {"smoke": 1, "book": 1, "paper": 1}}, "horizon has profiles"),
        ({"seeds": {"smoke": 0, "book": 1}}, "0 seeds"),
        ({"horizon": {"smoke": -1, "book": 1}}, "horizon -1 is negative"),
        ({"arms": {"smoke": (), "book": ()}}, "has no arm"),
    ],
)
def test_an_experiment_explains_what_is_wrong(change: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(toy_experiment(), **change)


def test_an_arm_may_not_appear_twice() -> None:
    arm = Arm("fair", "as_coded", ToySettings(), toy_work)
    with pytest.raises(UsageError, match=r"fair\.as_coded appears twice"):
        Experiment("toy/lending", "Toy", {"smoke": (arm, arm)}, {"smoke": 1}, {"smoke": 1})


def test_work_of_the_script_that_is_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker process knows the script by another name than `__main__`."""

    def work(config: object, seed: int) -> None:
        """Do nothing."""

    monkeypatch.setattr(work, "__qualname__", "work")
    monkeypatch.setattr(work, "__module__", "__main__")
    with pytest.raises(
        UsageError, match=r"work of fair\.as_coded is defined in the script that is"
    ):
        Arm("fair", "as_coded", ToySettings(), work)  # type: ignore[arg-type]  # returns nothing
    monkeypatch.setattr(work, "__module__", "a_module")
    Arm("fair", "as_coded", ToySettings(), work)  # type: ignore[arg-type]  # returns nothing


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, 1.0, True, float("nan"), "x", None])
def test_a_run_needs_a_seed_that_generators_take(seed: Any) -> None:
    arm = toy_experiment().arms["smoke"][0]
    with pytest.raises(UsageError, match=r"^seed is .*: give a whole number from 0 to 4294967295$"):
        Run("toy/lending", "smoke", arm, seed)
    assert Run("toy/lending", "smoke", arm, 2**32 - 1).name.endswith(".4294967295")


def test_an_experiment_cannot_be_changed_after_the_fact() -> None:
    with pytest.raises(TypeError):
        toy_experiment().arms["smoke"] = ()  # type: ignore[index]  # wrong on purpose


@pytest.mark.parametrize("what", ["method", "variant"])
def test_names_that_name_nothing_are_refused(what: str) -> None:
    names: dict[str, Any] = {f"{what}s": []}
    with pytest.raises(UsageError, match=f"^no {what} is named: name one or more, or leave"):
        plan(toy_experiment(), "smoke", **names)
