from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from longfair.errors import UsageError
from longfair.runs.claims import Change, Reported, load_claims
from longfair.runs.rules.about_equal import AboutEqualRule
from longfair.runs.rules.conjunction import AllRule
from longfair.runs.rules.dominance import DominatesRule
from longfair.runs.rules.exact import ExactRule
from longfair.runs.rules.gain import (
    AtLeastRule,
    DifferenceRule,
    HighestRule,
    LowestRule,
    ReductionRule,
    Target,
)
from longfair.runs.rules.level import BoundRule, ValueRule
from longfair.runs.rules.rule import Guarded, Quantity, methods_of
from longfair.runs.rules.share import ShareRule
from longfair.runs.smoothing import Smoothing

DAY = date(2025, 1, 31)
COMPARISON = {"method": "fair", "others": ["greedy"], "metric": "bias"}
SIZED = {"kind": "difference", **COMPARISON, "target": 0.5, "tolerance": 0.1}
SHARE = {"kind": "share", "method": "fair", "metric": "bias", "high": 0.2}
DOMINATES = {
    "kind": "dominates", "method": "fair", "others": ["greedy"],
    "metrics": {"bias": "lower", "reward": "higher"},
}  # fmt: skip


class WithoutAliases(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def claim(**changes: Any) -> dict[str, Any]:
    content = {
        "id": "toy-1",
        "asked": "paper",
        "source": "Figure 1",
        "statement": "The fair method\n  is fair.",
        "experiment": "toy/lending",
        "seeds": 10,
        "variants": ["as_coded", "as_published"],
        "rule": {"kind": "lowest", **COMPARISON},
    }
    content.update(changes)
    return {key: value for key, value in content.items() if value is not None}


def load(folder: Path, *claims: dict[str, Any], **top: Any) -> list[Any]:
    path = folder / "claims.yaml"
    content = {"paper": "toy", "claims": list(claims), **top}
    path.write_text(yaml.dump(content, Dumper=WithoutAliases))
    return load_claims(path)


def quantity(metric: str = "bias", **changes: Any) -> Quantity:
    return Quantity({"": metric}, **changes)


def test_a_claim_is_read(tmp_path: Path) -> None:
    reported = {"value": 0.02, "how": "read off a plot", "error": 0.003}
    (read,) = load(tmp_path, claim(reported=reported, horizon=5_000_000, note="A note."))
    assert read.id == "toy-1"
    assert read.paper == "toy"
    assert read.asked == "paper"
    assert read.statement == "The fair method is fair."
    assert read.experiment == "toy/lending"
    assert read.horizon == 5_000_000
    assert read.seeds == 10
    assert read.variants == ("as_coded", "as_published")
    assert read.reported == Reported(0.02, "read off a plot", 0.003)
    assert read.note == "A note."
    assert read.rule == LowestRule(quantity(), "fair", ("greedy",), "all")


def test_a_paper_may_report_a_number_of_one_measure_only(tmp_path: Path) -> None:
    measures = {"as_coded": ["code", "text"], "as_published": ["text"]}
    rule = {**COMPARISON, "kind": "lowest", "metric": {"code": "bias", "text": "bias_exact"}}
    reported = {"value": 0.02, "how": "text"}
    told = {}
    for measure in ("", "code"):
        named = {**reported, "measure": measure} if measure else reported
        (read,) = load(tmp_path, claim(measures=measures, rule=rule, reported=named))
        told[measure] = [read.reported_by(name) for name in ("code", "text")]
    assert told == {"": [0.02, 0.02], "code": [0.02, None]}
    (read,) = load(tmp_path, claim())
    assert read.reported_by("") is None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            {"kind": "value", "method": "fair", "metric": "bias", "tolerance": 0.01},
            ValueRule(quantity(), "fair", target=0.02, tolerance=0.01),
        ),
        (
            {"kind": "value", "method": "fair", "metric": "bias", "tolerance": 0.01, "target": 1},
            ValueRule(quantity(), "fair", target=1.0, tolerance=0.01),
        ),
        (
            {"kind": "highest", **COMPARISON, "margin": 0.1, "among": "available"},
            HighestRule(quantity(), "fair", ("greedy",), "available", margin=0.1),
        ),
        (
            {"kind": "reduction", **COMPARISON, "threshold": 0.875},
            ReductionRule(quantity(), "fair", ("greedy",), "all", size=0.875),
        ),
        (
            {"kind": "reduction", **COMPARISON, "target": 0.875, "tolerance": 0.05},
            ReductionRule(quantity(), "fair", ("greedy",), "all", size=Target(0.875, 0.05)),
        ),
        (
            {"kind": "difference", **COMPARISON, "target": -0.5, "tolerance": 0.1},
            DifferenceRule(quantity(), "fair", ("greedy",), "all", size=Target(-0.5, 0.1)),
        ),
        (
            {"kind": "share", "method": "fair", "metric": "bias", "above": 0.5, "high": 0.2},
            ShareRule(quantity(), "fair", None, "above", 0.5, low=0.0, high=0.2),
        ),
        (
            {"kind": "share", **COMPARISON, "below": 0.5, "low": 0},
            ShareRule(quantity(), "fair", "greedy", "below", 0.5, low=0.0, high=1.0),
        ),
        (
            {
                "kind": "dominates",
                "method": "fair",
                "others": ["greedy"],
                "group": 1,
                "metrics": {"bias": "lower", "reward": "higher"},
                "margins": {"bias": 0.1},
            },
            DominatesRule(
                (
                    LowestRule(quantity(group=1), "fair", ("greedy",), "all", margin=0.1),
                    HighestRule(quantity("reward", group=1), "fair", ("greedy",), "all"),
                )
            ),
        ),
        (
            {"kind": "at_least", **COMPARISON, "margin": 0.01, "group": 1},
            AtLeastRule(quantity(group=1), "fair", ("greedy",), "all", margin=0.01),
        ),
        (
            {"kind": "lowest", **COMPARISON, "phase": "curve", "window": [0.9, 1]},
            LowestRule(quantity(phase="curve", window=(0.9, 1.0)), "fair", ("greedy",), "all"),
        ),
        (
            {
                "kind": "lowest",
                **COMPARISON,
                "guard": {"metric": "reward", "others": ["idle"], "margin": 0.1},
            },
            Guarded(
                LowestRule(quantity(), "fair", ("greedy",), "all"),
                AtLeastRule(quantity("reward"), "fair", ("idle",), "all", 0.1),
            ),
        ),
        (
            {
                "kind": "value",
                "method": "fair:as_coded",
                "metric": "bias",
                "tolerance": 0.1,
                "guard": {"kind": "bound", "method": "fair", "metric": "reward", "low": 0},
            },
            Guarded(
                ValueRule(quantity(), "fair:as_coded", 0.02, 0.1),
                BoundRule(quantity("reward"), "fair", low=0.0),
            ),
        ),
        (
            {"kind": "about_equal", **COMPARISON, "margin": 0.01},
            AboutEqualRule(quantity(), "fair", ("greedy",), "all", margin=0.01),
        ),
        (
            {"kind": "bound", "method": "fair", "metric": "bias", "high": 0.1},
            BoundRule(quantity(), "fair", high=0.1),
        ),
        (
            {"kind": "bound", "method": "fair", "metric": "bias", "low": -1, "high": 0.1},
            BoundRule(quantity(), "fair", low=-1.0, high=0.1),
        ),
        ({"kind": "exact", "check": "halves", "shows": "half"}, ExactRule("halves", "half")),
        (
            {"kind": "exact", "check": "halves", "settings": "ours"},
            ExactRule("halves", settings="ours"),
        ),
        (
            {
                "kind": "all",
                "rules": [{"kind": "exact", "check": "a"}, {"kind": "exact", "check": "b"}],
            },
            AllRule((ExactRule("a"), ExactRule("b"))),
        ),
    ],
)
def test_every_kind_of_rule_is_read(tmp_path: Path, content: Any, expected: Any) -> None:
    is_exact = content["kind"] in ("exact", "all")
    extra = {"experiment": None, "seeds": None} if is_exact else {}
    reported = {"value": 0.02, "how": "text"}
    (read,) = load(tmp_path, claim(rule=content, reported=reported, **extra))
    assert read.rule == expected


def test_a_measure_is_a_switch_beside_the_variant(tmp_path: Path) -> None:
    metric = {"code": "bias", "text": "bias_exact"}
    measures = {"as_coded": ["code", "text"], "as_published": ["text"]}
    rule = {"kind": "lowest", **COMPARISON, "metric": metric}
    (read,) = load(tmp_path, claim(rule=rule, measures=measures))
    assert read.measures == {"as_coded": ("code", "text"), "as_published": ("text",)}
    assert read.rule == LowestRule(Quantity(metric), "fair", ("greedy",), "all")
    (read,) = load(tmp_path, claim())
    assert read.measures == {"as_coded": ("",), "as_published": ("",)}


def test_a_change_of_a_rule_leaves_its_mark(tmp_path: Path) -> None:
    change = {"date": DAY, "was": "a mean", "now": "a share", "why": "The mean says nothing."}
    (read,) = load(tmp_path, claim(changed=[change]))
    assert read.changed == (Change("2025-01-31", "a mean", "a share", "The mean says nothing."),)


def test_methods_of_a_rule_are_named_once_and_without_their_variant() -> None:
    lowest = LowestRule(quantity(), "fair", ("greedy:as_coded", "idle"), "all")
    value = ValueRule(quantity(), "fair", 0.0, 0.1)
    bound, equal = BoundRule(quantity(), "idle"), AboutEqualRule(quantity(), "a", ("b",), "all", 1)
    assert methods_of(AllRule((bound, equal))) == ("idle", "a", "b")
    assert methods_of(AllRule((value, lowest, ExactRule("a")))) == ("fair", "greedy", "idle")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sauce": "Figure 1"}, r"\(toy-1\): unknown key 'sauce': did you mean 'source'"),
        ({"statement": None}, "key 'statement' is missing"),
        ({"id": "Toy 1"}, "id 'Toy 1' is not allowed"),
        ({"seeds": 1}, "seeds is 1; it must be a whole number, at least 2"),
        ({"seeds": True}, "seeds is True"),
        ({"seeds": None}, "key 'seeds' is missing"),
        ({"experiment": None}, "key 'experiment' is missing"),
        ({"experiment": "lending"}, "has no slash"),
        ({"variants": []}, "at least one variant"),
        ({"variants": "as_coded"}, "variants is 'as_coded'; it must be a list"),
        ({"reported": {"value": 1, "how": "text", "measure": "mine"}}, "measure is 'mine'"),
        ({"reported": {"value": 1, "how": "guessed"}}, "how is 'guessed': .*allowed: read off"),
        ({"reported": {"value": "1", "how": "text"}}, "value is '1'; it must be a number"),
        ({"reported": {"value": 1, "how": "text", "error": -1}}, "error is -1"),
        ({"rule": {"kind": "lowst", **COMPARISON}}, "kind is 'lowst': did you mean 'lowest'"),
        ({"rule": {"kind": "lowest", **COMPARISON, "margn": 1}}, "'margn': did you mean 'margin'"),
        ({"rule": {"kind": "lowest", **COMPARISON, "margin": -1}}, "margin is -1"),
        ({"rule": {"kind": "lowest", **COMPARISON, "others": []}}, "list of distinct methods"),
        (
            {"rule": {"kind": "lowest", **COMPARISON, "others": ["fair"]}},
            "without .fair., which is named before",
        ),
        ({"rule": {"kind": "lowest", **COMPARISON, "among": "some"}}, "among is 'some'"),
        ({"rule": {"kind": "lowest", **COMPARISON, "phase": "curve"}}, "window is None"),
        ({"rule": {"kind": "lowest", **COMPARISON, "window": [0, 1]}}, "only then"),
        (
            {"rule": {"kind": "lowest", **COMPARISON, "phase": "curve", "window": [0.9, 0.1]}},
            "fractions of the training steps",
        ),
        ({"rule": {"kind": "lowest", **COMPARISON, "metric": {"code": "bias"}}}, "each of"),
        (
            {"rule": {"kind": "lowest", **COMPARISON, "guard": {"metric": "reward"}}},
            "rule, guard: key 'others' is missing",
        ),
        ({"rule": {"kind": "lowest", **COMPARISON, "guard": "reward"}}, "guard: expected keys"),
        ({"asked": None}, "key 'asked' is missing"),
        ({"asked": "nobody"}, "asked is 'nobody': .*allowed: here, paper"),
        ({"measures": {"as_coded": ["code"]}}, "measures: key 'as_published' is missing"),
        ({"measures": {"as_coded": [], "as_published": ["text"]}}, "at least one measure"),
        ({"changed": [{"date": "May", "was": "a", "now": "b", "why": "c"}]}, "date is 'May'"),
        ({"changed": [{"date": DAY, "was": "a", "now": "b"}]}, "key 'why' is missing"),
        ({"rule": {"kind": "reduction", **COMPARISON}}, "key 'threshold' is missing"),
        ({"rule": {**SIZED, "others": ["greedy", "idle"]}}, "a list of one method"),
        ({"rule": {**SIZED, "tolerance": 0.5}}, "tolerance is 0.5; it must be below 0.5"),
        ({"rule": SHARE}, "one of 'above' and 'below'"),
        ({"rule": {**SHARE, "above": 1, "below": 2}}, "one of 'above' and 'below'"),
        ({"rule": {**SHARE, "above": 1, "high": 2}}, "high is 2.0; it must be between 0 and 1"),
        ({"rule": {**SHARE, "above": 1, "low": 0.5}}, "low is 0.5; .* between 0 and high, which"),
        (
            {"rule": {"kind": "share", "method": "fair", "metric": "bias", "above": 1}},
            "no share is claimed",
        ),
        ({"rule": {**DOMINATES, "metrics": {"bias": "lower"}}}, "two or more metrics"),
        ({"rule": {**DOMINATES, "metrics": {"bias": "low", "reward": "higher"}}}, "each higher or"),
        (
            {"rule": {**DOMINATES, "metrics": {"bias": ["lower"], "reward": "higher"}}},
            "each higher",
        ),
        ({"asked": ["paper"]}, r"asked is \['paper'\]: .*allowed: here, paper"),
        ({"rule": {**DOMINATES, "margins": {"rewards": 1}}}, "about bias, reward only"),
        ({"rule": {**DOMINATES, "margin": 1}}, "unknown key 'margin'"),
        ({"rule": {"kind": "value", "method": "fair", "metric": "bias"}}, "'target' is missing"),
        ({"rule": {"kind": "about_equal", **COMPARISON}}, "key 'margin' is missing"),
        ({"rule": {"kind": "about_equal", **COMPARISON, "margin": 0}}, "margin is 0.0; .* above 0"),
        ({"rule": {"kind": "bound", "method": "fair", "metric": "bias"}}, "give 'low', 'high' or"),
        (
            {"rule": {"kind": "bound", "method": "fair", "metric": "bias", "low": 2, "high": 1}},
            "low is 2.0; it must be at most high, which is 1",
        ),
        ({"rule": {"kind": "all", "rules": [{"kind": "exact", "check": "a"}]}}, "at least two"),
        ({"rule": "lowest"}, "expected keys and values, found 'lowest'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        load(tmp_path, claim(**changes))
    assert "\n" not in str(caught.value)
    assert "claims.yaml" in str(caught.value)


def test_ids_are_unique(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'toy-1' is used twice"):
        load(tmp_path, claim(), claim())


def test_the_file_is_read_as_strictly_as_its_claims(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown key 'claim': did you mean 'claims'"):
        load(tmp_path, claim(), claim=[])
    (tmp_path / "broken.yaml").write_text("paper: [")
    with pytest.raises(UsageError, match="cannot read the claims") as caught:
        load_claims(tmp_path / "broken.yaml")
    assert "\n" not in str(caught.value)


def test_a_file_says_what_values_a_metric_can_have(tmp_path: Path) -> None:
    bound = {"kind": "bound", "method": "fair", "metric": "bias", "high": 0.1}
    (read,) = load(tmp_path, claim(rule=bound), possible={"bias": [0, 1]})
    assert read.rule.quantity.possible == {"bias": (0.0, 1.0)}
    for wrong in ([1, 0], [0], [0, None], 1, [0, True], [0, 1, 2], [0, float("inf")]):
        with pytest.raises(UsageError, match=r"possible: bias is .*must be \[low, high\]"):
            load(tmp_path, claim(rule=bound), possible={"bias": wrong})
    with pytest.raises(UsageError, match="no rule uses 'bais': did you mean 'bias'"):
        load(tmp_path, claim(rule=bound), possible={"bais": [0, 1]})


def test_a_file_names_a_prefix_that_not_all_metrics_have(tmp_path: Path) -> None:
    bound = {"kind": "bound", "method": "fair", "metric": "assisted_bias", "high": 0.1}
    (read,) = load(tmp_path, claim(rule=bound), optional_prefix="assisted")
    assert read.rule.quantity.optional_prefix == "assisted_"
    with pytest.raises(UsageError, match="no rule's metric begins with 'asisted_'"):
        load(tmp_path, claim(rule=bound), optional_prefix="asisted")


def test_a_file_says_how_curves_are_smoothed(tmp_path: Path) -> None:
    bound = {"kind": "bound", "method": "fair", "metric": "smoothed_bias", "high": 0.1}
    smoothing = {"deviation": 5, "times": 2}
    (read,) = load(tmp_path, claim(rule=bound), smoothing=smoothing)
    assert read.rule.quantity.smoothing == Smoothing(5.0, 2)
    for wrong, said in (
        ({"deviation": 0}, "deviation is 0.0; it must be a number of evaluations above 0"),
        ({"times": 0}, "times is 0; it must be a whole number, at least 1"),
        ({"edges": "nearest"}, "smoothing: unknown key 'edges'"),
    ):
        with pytest.raises(UsageError, match=said):
            load(tmp_path, claim(rule=bound), smoothing=smoothing | wrong)
    with pytest.raises(UsageError, match="smoothing: no rule's metric begins with 'smoothed_'"):
        load(tmp_path, claim(rule=bound | {"metric": "bias"}), smoothing=smoothing)
    curve = bound | {"phase": "curve", "window": [0, 1]}
    with pytest.raises(UsageError, match="one that is not smoothed in 'phase: curve'"):
        load(tmp_path, claim(rule=curve), smoothing=smoothing)


TEXT = """\
paper: toy
claims:
  - id: toy-1
    asked: here
    source: Figure 1
    statement: The fair method is fair.
    experiment: toy/lending
    seeds: 10
    variants: [as_coded]
    rule: {kind: lowest, method: fair, others: [greedy], metric: bias}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seeds: 10", "seeds: 10\n    seeds: 2", "claim 1 (toy-1): key 'seeds' is given twice"),
        ("kind: lowest", "kind: highest, kind: lowest", "(toy-1): rule: key 'kind' is given twice"),
        ("paper: toy", "paper: toy\npaper: toy", "claims.yaml: key 'paper' is given twice"),
        ("[as_coded]", "[as_coded, as_coded]", "it must be a list of distinct variants"),
        ("The fair method is fair.", "' '", "statement is ' '; it must be text, not empty"),
        ("[greedy]", "&names [greedy], phase: *names", "aliases are not allowed"),
        ("[greedy]", "[" * 3000 + "]" * 3000, "nested too deeply"),
        ("seeds: 10", "seeds: " + "1" * 5000, "cannot read the claims in"),
        ("10", "10\n    ? [1, 2]\n    : 3", "cannot read the claims in"),
        ("fair.", "fair.\udcff", "it is not UTF-8"),
    ],
)
def test_what_yaml_would_let_pass_is_refused_in_one_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "claims.yaml"
    path.write_text(TEXT)
    assert [claim.id for claim in load_claims(path)] == ["toy-1"]
    path.write_bytes(TEXT.replace(old, new).encode(errors="surrogateescape"))
    with pytest.raises(UsageError) as caught:
        load_claims(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bomb_of_aliases_is_refused_before_it_grows(tmp_path: Path) -> None:
    rows = ["l0: &l0 [x, x, x, x, x, x, x, x, x]"]
    rows += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 9)]
    (tmp_path / "bomb.yaml").write_text("\n".join(rows))
    with pytest.raises(UsageError, match=r"aliases are not allowed.* line 2"):
        load_claims(tmp_path / "bomb.yaml")
