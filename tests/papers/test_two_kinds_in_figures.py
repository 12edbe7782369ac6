"""No figure of stored runs has a mean with its interval where no run ends."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

from longfair.figures import Figure
from longfair.papers import page, registry
from longfair.papers.elbert import lending_results, notions_results, world_results
from longfair.papers.fairmdp import cross_entropy_results, exploration_results
from longfair.papers.fairqcm import beyond_results, deep_results, tabular_results
from longfair.papers.fppo import results as fppo_results
from longfair.papers.page import Look, Page, Runs
from longfair.papers.ucbfair import results as ucbfair_results
from longfair.runs import tidy
from longfair.runs.statistics import two_kinds

ROOT = Path(__file__).resolve().parents[2]
LOOKS: dict[tuple[str, str], Look] = {
    ("elbert/lending", "book"): lending_results.LOOK,
    ("elbert/lending", "paper"): lending_results.LOOK,
    ("elbert/notions-lending", "book"): notions_results.NOTIONS_LOOK,
    ("elbert/infectious-harder", "book"): world_results.INFECTIOUS,
    ("elbert/attention", "book"): world_results.ATTENTION,
    ("fairqcm/doughnuts", "book"): deep_results.DOUGHNUTS_LOOK,
    ("fairqcm/lending", "book"): deep_results.LENDING_LOOK,
    ("fairqcm/lending-continuous", "book"): deep_results.LENDING_LOOK,
    ("fairqcm/tabular", "book"): tabular_results.LOOK,
    ("fairmdp/figure1", "book"): cross_entropy_results.LOOK,
    ("fppo/lending", "book"): fppo_results.LENDING,
    ("fppo/attention", "book"): fppo_results.ATTENTION,
    ("fppo/epidemic", "book"): fppo_results.EPIDEMIC_APART,
    ("ucbfair/synthetic", "book"): ucbfair_results.POPULATION,
}
"""What pages draw by the shared functions, with the look that they have there."""

MAY_AVERAGE = {
    "src/longfair/runs/tidy.py",
    "src/longfair/papers/page.py",  # one live run each
    "src/longfair/papers/fairqcm/tabular_results.py",  # a table
}
"""Files that may take means without asking whether runs are of two kinds."""


class Drawn(NamedTuple):
    """What figures got, and what is said of it."""

    tables: list[tuple[pd.DataFrame, list[str], pd.DataFrame]]
    """Runs, the columns that tell them apart, and what is drawn of them."""
    words: list[str]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """Tables and words of all figures; the shared ones are not drawn."""
    shown, inside = Drawn([], []), []
    middles, in_words = tidy.middles, tidy.middles_in_words

    def watched(rows: pd.DataFrame, by: list[str], *how: Any, **named: Any) -> pd.DataFrame:
        inside.append(by)  # it calls itself for parts of the rows
        found = middles(rows, by, *how, **named)
        inside.pop()
        if not inside:
            shown.tables.append((rows, by, found))
        return found

    def told(*asked: Any, **named: Any) -> str:
        shown.words.append(in_words(*asked, **named))
        return shown.words[-1]

    for module in (tidy, beyond_results, exploration_results, fppo_results, ucbfair_results):
        for name, function in (("middles", watched), ("middles_in_words", told)):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, function)
    for name in ("learning_curves", "trade_off"):
        monkeypatch.setattr(page, name, lambda *_, **__: None)
    return shown


def kept(rows: pd.DataFrame, by: list[str], found: pd.DataFrame) -> int:
    """Hold what is drawn against the runs; return of how many means it would be wrong."""
    odd = 0
    shown = found.set_index(by)
    if "step" in by:
        arm = [column for column in by if column != "step"]
        rows = rows[rows["step"] == rows.groupby(arm, observed=True)["step"].transform("max")]
    for name, own in rows.groupby(by, sort=False, observed=True)["value"]:
        if two_kinds(own) is not None:
            odd += 1
            one = shown.loc[name]
            assert one["value"] in own.tolist(), name  # a run, no mean of both kinds
            assert one["low"] <= one["value"] <= one["high"]
    return odd


@pytest.mark.parametrize(("experiment", "profile"), LOOKS)
def test_no_mean_stands_where_no_run_ends(drawn: Drawn, experiment: str, profile: str) -> None:
    runs = Page(profile).of(experiment, look=LOOKS[experiment, profile])
    variants = list(dict.fromkeys(variant for _, variant in runs.learned))
    assert variants
    known = set(runs.results["metric"])
    for variant in variants:
        for metric in set(runs.look.axes) & known:
            if len(tidy.curve(runs.results, metric, variant)):
                runs.curve_figure(metric, variant)
        if set(runs.look.across) <= known:
            runs.scatter_figure(variant)
    assert len(drawn.tables) == len(drawn.words) > 0
    found = [kept(*one) for one in drawn.tables]
    assert all("median" in words for words, odd in zip(drawn.words, found, strict=True) if odd)
    if experiment in ("fairqcm/lending", "fairmdp/figure1"):
        assert any(found)  # there are such runs, so the rule has something to do


def ladder() -> Figure | None:
    look = beyond_results.look("doughnuts")
    return beyond_results.loss_figure(
        Page("book").of("fairqcm/beyond-doughnuts", look=look), "doughnuts"
    )


def groups() -> Figure | None:
    return lending_results.group_bars(
        Page("book").of("elbert/lending", look=lending_results.LOOK), "as_coded"
    )


def regret() -> Figure | None:
    runs: Runs = Page("book").of("fairmdp/exploration", look=exploration_results.LOOK)
    return exploration_results.regret_figure(runs, "as_published", 1e9)


def disparities() -> Figure | None:
    runs = Page("book").of("ucbfair/synthetic", look=ucbfair_results.POPULATION)
    names = {arm: " ".join(arm) for arm in runs.learned}
    return ucbfair_results.end_figure(runs, "disparity_dp", names)


def losses() -> Figure | None:
    runs = Page("book").of("ucbfair/synthetic", look=ucbfair_results.POPULATION)
    names = {arm: " ".join(arm) for arm in runs.learned}
    return ucbfair_results.end_figure(runs, "loss", names)


@pytest.mark.parametrize(
    ("draw", "odd"),
    [(ladder, True), (groups, False), (regret, False), (disparities, True), (losses, False)],
    ids=["ladder", "groups", "regret", "disparities", "losses"],
)
def test_neither_do_the_figures_of_one_paper(
    drawn: Drawn,
    draw: Callable[[], Figure | None],
    odd: bool,
) -> None:
    figure = draw()
    assert figure is not None
    found = sum(kept(*one) for one in drawn.tables)
    assert found or not odd
    assert ("two kinds" in figure.marks) == bool(found)
    assert ("two kinds" in figure.alt_text) == bool(found)


def test_nothing_else_takes_means_for_a_figure() -> None:
    """Whoever draws runs asks `tidy.middles`, which knows the rule."""
    assert registry.experiments()
    found = set()
    for folder in ("src/longfair", "notebooks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            names = {
                node.id if isinstance(node, ast.Name) else node.attr
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.Name | ast.Attribute)
            }
            if "over_seeds" in names:
                found.add(path.relative_to(ROOT).as_posix())
    assert found == MAY_AVERAGE
