"""No figure of stored runs has a mean with its interval where no run ends."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    ("ucbfair/synthetic", "book"): ucbfair_results.POPULATION,
}
"""What pages draw by the shared functions, with the look that they have there."""

MAY_AVERAGE = {
    "src/longfair/runs/tidy.py",
    "src/longfair/papers/page.py",  # one live run each
    "src/longfair/papers/fairqcm/tabular_results.py",  # a table
}
"""Files that may take means without asking whether runs are of two kinds."""


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[pd.DataFrame, pd.DataFrame, str]]:
    """Every table that a figure gets, the runs behind it, and the words; nothing is drawn."""
    shown: list[tuple[pd.DataFrame, pd.DataFrame, str]] = []
    middles, in_words = tidy.middles, tidy.middles_in_words

    def watched(rows: pd.DataFrame, by: list[str], *how: Any, **named: Any) -> pd.DataFrame:
        found = middles(rows, by, *how, **named)
        shown.append((rows.assign(**{"by": "|".join(by)}), found, ""))
        return found

    def told(rows: pd.DataFrame, by: list[str], *how: Any, **named: Any) -> str:
        words = in_words(rows, by, *how, **named)
        shown[-1] = (*shown[-1][:2], words)
        return words

    for module in (tidy, beyond_results, exploration_results, fppo_results):
        for name, function in (("middles", watched), ("middles_in_words", told)):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, function)
    for name in ("learning_curves", "trade_off"):
        monkeypatch.setattr(page, name, lambda *_, **__: None)
    return shown


def kept(rows: pd.DataFrame, found: pd.DataFrame, words: str) -> int:
    """Hold what is drawn against the runs; return how many arms end in two kinds."""
    by = rows["by"].iloc[0].split("|")
    odd = 0
    values = found.set_index(by)
    for name, own in rows.groupby(by, sort=False, observed=True)["value"]:
        last = own.index[-1:] if "step" not in by else name[by.index("step")]
        ends = rows["step"].max() if "step" in by else last
        gap = two_kinds(own)
        if gap is None or ("step" in by and name[by.index("step")] != ends):
            continue
        odd += 1
        one = values.loc[name]
        assert one["low"] <= one["value"] <= one["high"]
        assert one["value"] in own.tolist(), name  # a run, no mean of both kinds
        assert "median" in words, name
        below = int((own < gap).sum())
        assert "two kinds" not in words or one["low"] == one["high"]
        assert below
    return odd


@pytest.mark.parametrize(("experiment", "profile"), LOOKS)
def test_no_mean_stands_where_no_run_ends(
    drawn: list[tuple[pd.DataFrame, pd.DataFrame, str]], experiment: str, profile: str
) -> None:
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
    assert drawn
    found = sum(kept(*one) for one in drawn)
    if experiment in ("fairqcm/lending", "fairmdp/figure1"):
        assert found  # there are such runs, so the rule has something to do


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


@pytest.mark.parametrize(
    ("draw", "odd"),
    [(ladder, True), (groups, False), (regret, False)],
    ids=["ladder", "groups", "regret"],
)
def test_neither_do_the_figures_of_one_paper(
    drawn: list[tuple[pd.DataFrame, pd.DataFrame, str]],
    draw: Callable[[], Figure | None],
    odd: bool,
) -> None:
    figure = draw()
    assert figure is not None
    words = next(words for *_, words in drawn if words) if any(one[2] for one in drawn) else ""
    found = sum(kept(rows, table, words or figure.marks) for rows, table, _ in drawn)
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
