"""A new kind of rule is one class: everything else finds it by its registration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
import pytest
import yaml

from longfair.errors import UsageError
from longfair.runs.claims import Claim, load_claims
from longfair.runs.rules import rule as rules
from longfair.runs.rules.case import Case
from longfair.runs.rules.earliest import first_reached
from longfair.runs.rules.rule import Quantity, Rule, RuleFields, register
from longfair.runs.rules.words import Word
from longfair.runs.verdicts import Verdict, judge


@dataclass(frozen=True)
class EveryRunBelow(Rule):
    """A kind that the library does not have: no run exceeds a limit."""

    quantity: Quantity
    method: str
    limit: float

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        return cls(fields.quantity(), fields.method(), fields.number("limit", low=0.0))

    @property
    def methods(self) -> tuple[str, ...]:
        return (self.method,)

    def judge(self, case: Case) -> Verdict:
        values = case.values(self.quantity, self.method)
        if values is None:
            return case.not_attempted([self.method])
        worst = float(values.max())
        word: Word = "reproduced" if worst <= self.limit else "contradicted"
        return replace(case.blank, word=word, estimate=worst, detail=f"at most {worst:g}")


def claims_with(folder: Path, **rule: object) -> list[Claim]:
    claim = {
        "id": "toy-1", "asked": "here", "source": "Figure 1", "statement": "So.",
        "experiment": "toy/lending", "seeds": 2, "variants": ["as_coded"],
        "rule": {"kind": "every_run_below", "method": "fair", "metric": "bias", **rule},
    }  # fmt: skip
    path = folder / "claims.yaml"
    path.write_text(yaml.dump({"paper": "toy", "claims": [claim]}))
    return load_claims(path)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_KINDS", dict(rules._KINDS))
    register("every_run_below")(EveryRunBelow)


def bias_of(method: str, *values: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "method": method, "variant": "as_coded", "seed": np.arange(len(values)),
            "phase": "final", "step": 7, "metric": "bias", "group": -1, "value": values,
        }
    )  # fmt: skip


@pytest.mark.usefixtures("registered")
def test_a_new_kind_is_read_and_judged(tmp_path: Path) -> None:
    (claim,) = claims_with(tmp_path, limit=0.5)
    (verdict,) = judge(claim, bias_of("fair", 0.1, 0.4), profile="book")
    assert (verdict.word, verdict.estimate, verdict.detail) == ("reproduced", 0.4, "at most 0.4")
    (verdict,) = judge(claim, bias_of("fair", 0.1, 0.6), profile="book")
    assert verdict.word == "contradicted"
    (verdict,) = judge(claim, bias_of("greedy", 0.1), profile="book")
    assert (verdict.word, verdict.missing) == ("not attempted", ("fair",))


@pytest.mark.usefixtures("registered")
def test_keys_of_a_new_kind_are_read_strictly(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown key 'limits': did you mean 'limit'"):
        claims_with(tmp_path, limit=0.5, limits=1)
    with pytest.raises(UsageError, match="limit is -1; it must be a number, at least 0"):
        claims_with(tmp_path, limit=-1)


@pytest.mark.usefixtures("registered")
def test_a_kind_belongs_to_one_class() -> None:
    with pytest.raises(UsageError, match="kind 'every_run_below' exists already"):
        register("every_run_below")(EveryRunBelow)


def test_a_kind_that_nobody_registered_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="kind is 'every_run_below'"):
        claims_with(tmp_path, limit=0.5)


def word_of(claim: Claim, *methods: tuple[str, list[float]]) -> str:
    results = pd.concat([bias_of(method, *values) for method, values in methods])
    (verdict,) = judge(claim, results, profile="book")
    return verdict.word


ONE_CATASTROPHE = [0.1] * 9 + [90.0]


def test_wins_count_runs_and_not_how_far_one_of_them_is_off(tmp_path: Path) -> None:
    (claim,) = claims_with(tmp_path, kind="wins", others=["greedy"], better="lower")
    greedy = ("greedy", [0.2] * 10)
    assert word_of(claim, ("fair", ONE_CATASTROPHE), greedy) == "reproduced"
    assert word_of(claim, ("fair", [0.1] * 7 + [0.3] * 3), greedy) == "inconclusive"
    assert word_of(claim, ("fair", [0.3] * 9 + [0.1]), greedy) == "contradicted"
    (upward,) = claims_with(tmp_path, kind="wins", others=["greedy"], better="higher")
    assert word_of(upward, ("fair", ONE_CATASTROPHE), greedy) == "contradicted"


def test_ties_count_runs_in_which_methods_are_alike_on_either_side(tmp_path: Path) -> None:
    (claim,) = claims_with(tmp_path, kind="ties", others=["greedy"], margin=0.05)
    greedy = ("greedy", [0.2] * 10)
    assert word_of(claim, ("fair", [0.16] * 5 + [0.24] * 4 + [90.0]), greedy) == "reproduced"
    assert word_of(claim, ("fair", [0.2] * 7 + [0.3] * 3), greedy) == "inconclusive"
    assert word_of(claim, ("fair", [0.3] * 5 + [0.1] * 4 + [0.2]), greedy) == "contradicted"
    with pytest.raises(UsageError, match=r"margin is 0\.0; .* above 0"):
        claims_with(tmp_path, kind="ties", others=["greedy"], margin=0.0)


def test_a_negative_margin_lets_the_winner_be_a_little_worse(tmp_path: Path) -> None:
    rule = {"kind": "wins", "others": ["greedy"], "better": "lower"}
    values = ("fair", [0.22] * 10), ("greedy", [0.2] * 10)
    (strict,) = claims_with(tmp_path, **rule)
    (lenient,) = claims_with(tmp_path, **rule, margin=-0.05)
    assert word_of(strict, *values) == "contradicted"
    assert word_of(lenient, *values) == "reproduced"


def test_at_least_with_a_negative_margin_asks_for_a_gain(tmp_path: Path) -> None:
    rule = {"kind": "at_least", "others": ["greedy"], "margin": -0.05}
    (claim,) = claims_with(tmp_path, **rule)
    greedy = ("greedy", [0.2, 0.21] * 3)
    assert word_of(claim, ("fair", [0.3, 0.31] * 3), greedy) == "reproduced"
    assert word_of(claim, ("fair", [0.21, 0.22] * 3), greedy) == "contradicted"


def test_a_claim_about_unknown_settings_is_never_contradicted(tmp_path: Path) -> None:
    rule = {"kind": "highest", "others": ["greedy"]}
    (strict,) = claims_with(tmp_path, **rule)
    (lenient,) = claims_with(tmp_path, **rule, at_worst="not reproduced")
    worse = ("fair", [0.1, 0.11] * 3), ("greedy", [0.2, 0.21] * 3)
    better = ("fair", [0.3, 0.31] * 3), ("greedy", [0.2, 0.21] * 3)
    assert [word_of(strict, *worse), word_of(lenient, *worse)] == ["contradicted", "not reproduced"]
    assert [word_of(strict, *better), word_of(lenient, *better)] == ["reproduced", "reproduced"]


def test_a_word_at_worst_is_none_where_nothing_ran(tmp_path: Path) -> None:
    rule = {"kind": "highest", "others": ["greedy"], "at_worst": "inconclusive"}
    (claim,) = claims_with(tmp_path, **rule)
    assert word_of(claim, ("greedy", [0.2, 0.21] * 3)) == "not attempted"


def test_settings_may_be_unknown_in_one_variant_alone(tmp_path: Path) -> None:
    rule = {"kind": "highest", "others": ["greedy"]}
    worse = ("fair", [0.1, 0.11] * 3), ("greedy", [0.2, 0.21] * 3)
    (claim,) = claims_with(tmp_path, **rule, at_worst={"as_coded": "not reproduced"})
    assert word_of(claim, *worse) == "not reproduced"
    for wrong in ({"as_told": "not reproduced"}, {"as_coded": "bad"}, "bad", {}, None, [1]):
        with pytest.raises(UsageError, match="at_worst"):
            claims_with(tmp_path, **rule, at_worst=wrong)
    both = replace(claim, rule=replace(claim.rule, limits={"as_told": "not reproduced"}))
    assert word_of(both, *worse) == "contradicted"


def test_a_claim_that_open_settings_decide_is_never_reproduced(tmp_path: Path) -> None:
    rule = {"kind": "highest", "others": ["greedy"]}
    (strict,) = claims_with(tmp_path, **rule, at_best="inconclusive")
    worse = ("fair", [0.1, 0.11] * 3), ("greedy", [0.2, 0.21] * 3)
    better = ("fair", [0.3, 0.31] * 3), ("greedy", [0.2, 0.21] * 3)
    assert [word_of(strict, *worse), word_of(strict, *better)] == ["contradicted", "inconclusive"]
    (both,) = claims_with(tmp_path, **rule, at_best="inconclusive", at_worst="not reproduced")
    assert [word_of(both, *worse), word_of(both, *better)] == ["not reproduced", "inconclusive"]
    assert word_of(strict, ("greedy", [0.2, 0.21] * 3)) == "not attempted"


@pytest.mark.parametrize(
    ("limit", "why"),
    [
        (
            "inconclusive",
            "cannot be told, since what we could not read, or the text leaves open, decides it",
        ),
        ("direction only", "in part, since the rule asks for less than the sentence says"),
    ],
)
def test_a_word_at_best_says_why(tmp_path: Path, limit: str, why: str) -> None:
    methods = {"fair": [0.3, 0.31], "greedy": [0.2, 0.21]}
    results = pd.concat([bias_of(name, *values * 3) for name, values in methods.items()])
    (claim,) = claims_with(tmp_path, kind="highest", others=["greedy"], at_best=limit)
    (verdict,) = judge(claim, results, profile="book")
    assert verdict.detail.endswith(why)


@pytest.mark.parametrize(
    ("limit", "gain", "lacks"),
    [
        ({}, 0.05, "width"),
        ({"at_best": "inconclusive"}, 0.05, "paper"),
        ({"at_best": "inconclusive"}, -0.05, "width"),
        ({"at_worst": "inconclusive"}, -0.05, "paper"),
        ({"at_best": "direction only"}, 0.05, "width"),
    ],
)
def test_more_runs_do_not_decide_what_a_limit_keeps_open(
    tmp_path: Path, limit: dict[str, str], gain: float, lacks: str
) -> None:
    spread = [-0.2, 0.2, -0.1, 0.1, 0.0, 0.0]
    methods = {"fair": [0.2 + gain + each for each in spread], "greedy": [0.2] * 6}
    results = pd.concat([bias_of(name, *values) for name, values in methods.items()])
    (claim,) = claims_with(tmp_path, kind="highest", others=["greedy"], **limit)
    (verdict,) = judge(claim, results, profile="book")
    assert (verdict.word, verdict.lacks) == ("inconclusive", lacks)
    assert (verdict.enough_seeds is None) == (lacks == "paper")
    assert ("since" in verdict.detail) == (lacks == "paper")


def test_settings_may_decide_in_one_variant_alone(tmp_path: Path) -> None:
    rule = {"kind": "highest", "others": ["greedy"]}
    better = ("fair", [0.3, 0.31] * 3), ("greedy", [0.2, 0.21] * 3)
    (claim,) = claims_with(tmp_path, **rule, at_best={"as_coded": "direction only"})
    assert word_of(claim, *better) == "direction only"
    with pytest.raises(UsageError, match="at_best"):
        claims_with(tmp_path, **rule, at_best={"as_told": "direction only"})


def test_a_gain_over_several_says_that_its_interval_is_of_no_pair(tmp_path: Path) -> None:
    """The number is that of the nearest; the ends could come from another one."""
    methods = {"fair": [0.3, 0.31], "greedy": [0.2, 0.21], "slow": [0.1, 0.11]}
    results = pd.concat([bias_of(name, *values * 3) for name, values in methods.items()])
    for others, ends in ((["greedy", "slow"], "for the nearest of all 2"), (["greedy"], "than 0")):
        (claim,) = claims_with(tmp_path, kind="highest", others=others)
        (verdict,) = judge(claim, results, profile="book")
        assert verdict.detail.endswith(ends)


def curves_of(method: str, *runs: list[float]) -> pd.DataFrame:
    return pd.concat(
        pd.DataFrame(
            {
                "method": method, "variant": "as_coded", "seed": seed, "phase": "curve",
                "step": 10 * (np.arange(len(run)) + 1), "metric": "bias", "group": -1, "value": run,
            }
        )
        for seed, run in enumerate(runs)
    )  # fmt: skip


def test_the_earliest_is_who_is_first_on_the_mean_curve_not_in_single_runs(tmp_path: Path) -> None:
    (claim,) = claims_with(tmp_path, kind="earliest", others=["slow"], level=5)
    jumpy = [[0.0, 0.0, 9.0, 0.0, 9.0, 9.0], [9.0, 0.0, 0.0, 0.0, 9.0, 9.0]] * 5
    steady = [[0.0, 0.0, 0.0, 6.0, 6.0, 6.0]] * 10
    results = pd.concat([curves_of("fair", *steady), curves_of("slow", *jumpy)])
    (verdict,) = judge(claim, results, profile="book")
    assert verdict.estimate == 10.0  # after 40 against 50 steps, though runs jump there at 10
    assert "fair after 40, slow after 50" in verdict.detail
    (claim,) = claims_with(tmp_path, kind="earliest", others=["never"], level=5)
    results = pd.concat([curves_of("fair", *steady), curves_of("never", *[[0.0] * 6] * 10)])
    (verdict,) = judge(claim, results, profile="book")
    assert (verdict.word, verdict.estimate) == ("reproduced", 30.0)  # never: one evaluation later
    assert "never never" in verdict.detail
    (verdict,) = judge(claim, curves_of("fair", *steady), profile="book")
    assert (verdict.word, verdict.missing) == ("not attempted", ("never",))
    once = pd.concat([curves_of("fair", *[[6.0]] * 10), curves_of("never", *[[0.0]] * 10)])
    with pytest.raises(UsageError, match=r"^claim toy-1: a curve with 1 evaluations cannot tell"):
        judge(claim, once, profile="book")


def test_a_level_is_reached_by_runs_that_are_all_exactly_at_it() -> None:
    """The mean of some thousands in equal parts can be a thousand less some rounding."""
    for number in range(2, 60):
        runs = pd.DataFrame(np.full((3, number), 1000.0), index=[1, 2, 3])
        assert first_reached(runs, np.full(number, 1 / number), 1000.0) == 1.0


def test_each_measure_has_its_own_rule(tmp_path: Path) -> None:
    path = tmp_path / "claims.yaml"
    claims_with(tmp_path, kind="wins", others=["greedy"], better="lower")
    text = yaml.safe_load(path.read_text())
    bounds = {
        measure: {"kind": "bound", "method": method, "metric": "bias", "high": 0.2}
        for measure, method in (("code", "fair"), ("text", "greedy"))
    }
    text["claims"][0] |= {
        "measures": {"as_coded": ["code", "text"]},
        "rule": {"kind": "by_measure", **bounds},
        "seeds": 5,
    }
    path.write_text(yaml.dump(text))
    (claim,) = load_claims(path)
    assert claim.rule.methods == ("fair", "greedy")
    assert "fair" in claim.rule.words("code")
    assert "greedy" in claim.rule.words("text")
    results = pd.concat([bias_of("fair", *[0.1] * 5), bias_of("greedy", *[0.3] * 5)])
    verdicts = {one.measure: one for one in judge(claim, results, profile="book")}
    assert verdicts["code"].word == "reproduced"
    assert verdicts["text"].word == "contradicted"
    del text["claims"][0]["rule"]["text"]
    path.write_text(yaml.dump(text))
    with pytest.raises(UsageError, match="text"):
        load_claims(path)
