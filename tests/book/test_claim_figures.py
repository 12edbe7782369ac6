"""A claim's figure shows what decides: the runs, the very interval, and what is asked for."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import claim_figures
from longfair.figures.run_strips import width
from longfair.papers import registry
from longfair.papers.claim_sheet import sheets
from longfair.runs.statistics import two_kinds
from longfair.runs.store import Store

ROOT = Path(__file__).resolve().parents[2]
TEXT = re.compile(r'<text style="([^"]*)"(?: x="([^"]*)")?[^>]*transform="([^"]*)"[^>]*>([^<]*)<')


def drawn(name: str) -> tuple[dict[str, Any], claim_figures.Tables]:
    (claim,) = registry.select_claims([name])
    (sheet,) = sheets([claim], Store())
    return sheet, claim_figures.tables(sheet, claim)


def rows(tables: claim_figures.Tables) -> dict[tuple[str, str, str], list[float]]:
    return {
        (row.title, row.label, row.method): [row.mean, row.low, row.high]
        for row in tables.means.itertuples()
    }


def title(verdict: dict[str, Any]) -> str:
    return f"{verdict['variant'].replace('_', ' ')}, {verdict['whose']}"


def test_the_interval_that_is_drawn_is_the_one_that_decides() -> None:
    sheet, tables = drawn("fppo-1a-below")
    apart = tables.means[tables.means["kinds"] != ""]
    medians = set(apart[["title", "label", "method"]].itertuples(index=False, name=None))
    found = rows(tables)
    compared = 0
    for verdict in sheet["verdicts"]:
        for part in verdict["parts"]:
            where = (title(verdict), *part["measured"].split(", "))
            if where not in medians and part["interval"]:
                assert found[where] == pytest.approx([part["estimate"], *part["interval"]])
                assert max(found[where]) <= 1
                compared += 1
    assert compared


@pytest.mark.parametrize("name", ["fairmdp-12", "fairmdp-13", "fppo-1a-below"])
def test_no_bar_is_a_mean_of_runs_of_two_kinds(name: str) -> None:
    _, tables = drawn(name)
    means = tables.means.set_index(["title", "label", "method"])
    for row, own in tables.runs.groupby(["title", "label", "method"], sort=False):
        gap, bar = two_kinds(own["value"]), means.loc[row]
        if gap is None or math.isnan(bar["mean"]):
            assert bar["kinds"] == ""
            continue
        below = int((own["value"] < gap).sum())
        assert bar["kinds"] == f"{below} and {len(own) - below} runs"
        assert bar["mean"] in own["value"].tolist()
        assert pd.isna(bar["low"])
    if name.startswith("fairmdp"):
        assert "median where runs are of two kinds" in " ".join(
            text.get_text().replace("\n", " ") for text in claim_figures.strips(tables).figure.texts
        )


def test_differences_are_drawn_with_number_and_interval_of_the_verdict() -> None:
    sheet, tables = drawn("elbert-06")
    found = rows(tables)
    for verdict in sheet["verdicts"]:
        judged = verdict["parts"][1] if verdict["parts"] else verdict
        label = judged["measured"]
        number, *ends = found[title(verdict), label, "difference"]
        assert number == pytest.approx(judged["estimate"])
        if judged["interval"]:
            assert ends == pytest.approx(judged["interval"])
        runs = tables.runs
        dots = runs[(runs["title"] == title(verdict)) & (runs["label"] == label)]
        assert len(dots) == verdict["seeds"]
        assert dots["value"].mean() == pytest.approx(number)


def test_the_first_verdict_of_every_variant_comes_before_what_stands_beside_it() -> None:
    _, tables = drawn("elbert-07")
    judged = tables.means[~tables.means["label"].str.endswith("not judged")]
    assert judged["title"].unique().tolist() == [
        "as coded, the authors' settings",
        "as published, our settings",
        "as coded, our settings",
    ]


def test_what_the_first_verdict_looks_at_is_drawn_apart() -> None:
    sheet, tables = drawn("elbert-01")
    first, rest = tables.parted()
    verdict = sheet["verdicts"][0]
    assert set(first.means["title"]) == {title(verdict)}
    assert first.means["label"].unique().tolist() == [
        "bias",
        "reward",
        "reward, elbert-po less reject-all",
        "bias, a-ppo less elbert-po",
    ]
    for whole, *parts in zip(tables[:3], first[:3], rest[:3], strict=True):
        assert len(whole) == sum(map(len, parts)) > len(parts[0]) > 0


def test_one_verdict_has_one_figure() -> None:
    means = pd.DataFrame({"title": ["a"], "label": ["b"], "method": ["c"]})
    whole = claim_figures.Tables(means, means, means, [], 1)
    (part,) = whole.parted()
    assert part.means.equals(means)


@pytest.mark.parametrize(
    ("name", "label", "method", "asked"),
    [
        ("fppo-1a-below", "late peak", "f-ppo", (-math.inf, 0.1, "claimed at most 0.1")),
        ("elbert-07", "bias", "a-ppo", (0.29, 0.37, "claimed 0.33 within 0.04")),
        ("elbert-07", "bias, a-ppo less r-ppo", "difference",
         (0.1, math.inf, "claimed at least 0.1")),
        ("elbert-lost-site-authors", "disadvantaged demand", "elbert-po",
         (30, math.inf, "counted: above 30")),
    ],
)  # fmt: skip
def test_what_is_asked_for_is_drawn(
    name: str, label: str, method: str, asked: tuple[float, float, str]
) -> None:
    claimed = drawn(name)[1].claimed
    own = claimed[(claimed["label"] == label) & (claimed["method"] == method)].iloc[0]
    assert (pytest.approx(own["low"]), pytest.approx(own["high"]), own["words"]) == asked


def test_every_rule_says_what_it_asks_for() -> None:
    asked = [
        (claim.id, rule.asked)
        for claim in registry.claims()
        if claim.experiment is not None
        for measure in {name for names in claim.measures.values() for name in names}
        for rule, _ in claim.rule.leaves(measure, None)
    ]
    for name, (low, high, words) in asked:
        assert low <= high, name
        assert words, name


def beside(text: tuple[str, ...], last: float) -> float:
    """By how many points a text of an SVG leaves the drawing."""
    style, across, moved, said = text
    size = float(re.findall(r"font-size: ([\d.]+)px", style)[0])
    long = 72 * width(said, size, "bold" if "font-weight: 700" in style else "normal")
    begin = float(across or re.findall(r"translate\(([\d.-]+)", moved)[0])
    begin -= {"middle": long / 2, "end": long}.get(style.rpartition("text-anchor: ")[2], 0.0)
    return max(-begin, begin + long - last)


def test_no_text_leaves_the_figure_of_any_claim(book: Path) -> None:
    figures = sorted((ROOT / "book" / "claims").glob("*.svg"))
    assert len(figures) > 200
    outside = {}
    for path in figures:
        drawing = path.read_text(encoding="utf-8")
        last = float(re.findall(r'viewBox="0 0 ([\d.]+)', drawing)[0])
        texts = TEXT.findall(drawing)
        assert len(texts) == drawing.count("<text") > 0, path.name
        if cut := {text[-1] for text in texts if beside(text, last) > 0}:
            outside[path.stem] = cut
    assert outside == {}


class Forgetful(Store):
    """A store whose index remembers for as long as it lives, and nothing from before."""

    def __init__(self) -> None:
        self.index: Any = Remembering()


class Remembering(dict[str, Any]):
    def answer(self, question: str) -> Any:
        return self.get(question)

    remember = dict.update


def test_what_is_drawn_beside_each_other_is_what_one_process_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ["fppo-1a-below", "fairqcm-f2a", "fairqcm-f3a"]
    claims = {claim.id: claim for claim in registry.select_claims(names)}
    own = sheets(claims.values(), Store())
    alone, store = claim_figures.drawings(own, claims, Forgetful(), 1), Forgetful()
    assert set(alone) == set(claims)
    assert claim_figures.drawings(own, claims, store, 2) == alone
    monkeypatch.setattr(claim_figures, "strips", None)  # nothing is drawn twice
    assert claim_figures.drawings(own, claims, store, 2) == alone
