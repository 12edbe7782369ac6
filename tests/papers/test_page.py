"""What a page shows of stored runs, and what it says where there are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from longfair.errors import UsageError
from longfair.figures import Figure, Folded, LineStyle, Words, folded
from longfair.papers import registry
from longfair.papers.elbert.world_results import FIGURE_9, supply_and_demand
from longfair.papers.page import LEFT_OUT, NOT_STORED, Look, Page, Runs
from longfair.runs.rules.words import Word
from longfair.runs.store import Store
from longfair.runs.verdicts import Verdict

EXPERIMENT = registry.experiment("elbert/attention-harder")
LOOK = Look(
    styles={"bar": LineStyle("the bar", "black", "x", ":")},
    axes={"reward": "reward per step", "bias": "bias", "profit": "profit"},
    beside=("bar",),
)
HARDER = Look(LOOK.styles, axes=LOOK.axes, beside=("bar",), logarithmic_beyond={"reward": 0.25})


def results_of(method: str, variant: str, rewards: list[float]) -> pd.DataFrame:
    rows = [
        (phase, step, metric, seed, value)
        for seed, reward in enumerate(rewards)
        for phase, step in (("curve", 0), ("curve", 2000), ("final", 2000))
        for metric, value in {
            "reward": reward,
            "bias": reward / 10,
            "profit": reward + 1,
            **dict.fromkeys(FIGURE_9, reward * 2),
        }.items()
    ]
    frame = pd.DataFrame(rows, columns=["phase", "step", "metric", "seed", "value"])
    return frame.assign(method=method, variant=variant, group=-1)


LEARNED = pd.concat(
    [results_of("g-ppo", "as_coded", [0.1, 0.3]), results_of("elbert-po", "as_coded", [0.2, 0.4])]
)
RESULTS = pd.concat([LEARNED, results_of("bar", "reference", [0.5, 0.5])], ignore_index=True)
BAR = ("bar", "reference")


def runs_of(results: pd.DataFrame, look: Look = LOOK) -> Runs:
    runs = Runs(EXPERIMENT, "book", look)
    runs.__dict__["results"] = results
    return runs


RUNS, NONE = runs_of(RESULTS), runs_of(RESULTS.iloc[:0])


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Figures and captions that were shown."""
    shown: list[Any] = []
    bundle = Figure.bundle

    def bundled(figure: Figure, *given: Any) -> Any:
        shown.append(figure)
        return bundle(figure, *given)

    monkeypatch.setattr(Figure, "bundle", bundled)
    monkeypatch.setattr(
        "longfair.figures.display._display_caption", lambda page, _: shown.append(page)
    )

    def displayed(thing: Any, **_: Any) -> None:
        if not isinstance(thing, dict):  # The message of a figure, which is there already.
            shown.append(thing)

    monkeypatch.setattr("longfair.figures.display._display", displayed)
    return shown


def test_a_figure_says_which_methods_have_a_median() -> None:
    three = [results_of(name, "as_coded", [0.1, 0.2, 0.9]) for name in ("g-ppo", "elbert-po")]
    runs = runs_of(pd.concat(three, ignore_index=True), replace(LOOK, median=("g-ppo",)))
    for figure in (runs.curve_figure("bias", "as_coded"), runs.scatter_figure("as_coded")):
        assert figure is not None
        assert "mean and 95 % interval, 3 seeds; G-PPO: median, no interval." in figure.alt_text
    one = runs.curve_figure("bias", "as_coded", methods=["g-ppo"])
    assert one is not None
    assert "G-PPO: median, no interval." in one.alt_text
    assert "mean" not in one.alt_text


def test_curves_have_thin_lines_only_if_wanted() -> None:
    figure = RUNS.curve_figure("bias", "as_coded")
    assert figure is not None
    assert "mean, no interval, 2 seeds" in figure.alt_text
    assert "Horizontal reference lines: the bar 0.05." in figure.alt_text
    assert len(figure.data) == 8  # two methods, two seeds, two steps
    plain = RUNS.curve_figure("bias", "as_coded", thin_lines=False, beside=(), methods=["g-ppo"])
    assert plain is not None
    assert len(plain.data) == 4  # what is not drawn is in the data all the same
    assert len(plain.figure.axes[0].get_lines()) == 1
    assert "reference" not in plain.alt_text


def test_the_two_axes_of_a_scatter_can_be_any_metric() -> None:
    figure = RUNS.scatter_figure("as_coded", across=("profit", "bias"), beside=["bar"])
    assert figure is not None
    assert figure.data["reward"].tolist() == [1.1, 1.3, 1.2, 1.4, 1.5]
    assert figure.data["bias"].iloc[-1] == pytest.approx(0.05)
    assert figure.figure.axes[0].get_ylabel() == "profit"


def test_a_scatter_takes_points_of_other_origin() -> None:
    points = pd.DataFrame({"method": ["bar"], "reward": [0.9], "bias": [0.0]})
    figure = RUNS.scatter_figure("as_coded", methods=["g-ppo"], points=points)
    assert figure is not None
    assert figure.data["reward"].tolist() == [0.1, 0.3, 0.9]


def test_without_runs_there_is_no_figure_and_no_number() -> None:
    assert RUNS.curve_figure("bias", "as_published") is None
    assert RUNS.scatter_figure("as_published") is None
    assert supply_and_demand(NONE.results) is None
    assert RUNS.number("bias", "g-ppo", "as_published") == NOT_STORED
    assert RUNS.spread("bias", "g-ppo", "as_published") == NOT_STORED
    assert RUNS.less("bias", ("g-ppo", "as_coded"), ("r-ppo", "as_coded")) == NOT_STORED
    for nothing in (
        NONE.say("never said"),
        NONE.table({"reward": ("reward", 3)}),
        NONE.differences({"x": (BAR, BAR)}, {"reward": ("reward", 3)}),
        NONE.cost(),
        RUNS.beside(NONE, {"reward": ("reward", 3)}),
    ):
        assert "longfair run elbert/attention-harder --profile book" in repr(nothing)


def test_numbers_stand_with_their_intervals_in_sentences() -> None:
    assert RUNS.number("reward", "g-ppo", "as_coded", 1) == "0.2 [-1.1, 1.5]"
    assert RUNS.less("reward", ("g-ppo", "as_coded"), BAR, 1) == "-0.3 [-1.6, 1.0]"
    assert RUNS.mean("reward", "bar") == 0.5
    assert repr(RUNS.say("one")) == "one"
    assert RUNS.say("one", "two")._repr_markdown_() == "- one\n- two"
    aside = RUNS.aside("a < b", "*one*")
    assert repr(aside) == "a < b\n*one*"
    folded_away = aside._repr_markdown_()
    assert folded_away.startswith('<details class="longfair-folded"><summary>a &lt; b</summary>')
    assert folded_away.endswith("\n\n*one*\n\n</details>")
    assert NONE.aside("heading", "never said") == NONE.missing


def test_sentences_that_lack_a_number_are_left_out() -> None:
    lacking = f"It is {NOT_STORED} at 0.5 here."
    nobody = f"Nobody has {RUNS.mean('bias', 'nobody'):.2f}!"
    assert RUNS.say(f"One. {lacking} *Two*? {nobody}").text == f"One. *Two*? {LEFT_OUT}"
    assert RUNS.say("One.\nTwo.", lacking).text == f"- One.\nTwo.\n- {LEFT_OUT}"
    assert RUNS.say("Nanny had 0.5 of it.").text == "Nanny had 0.5 of it."
    assert RUNS.say(lacking, nobody) == RUNS.aside("heading", lacking) == RUNS.missing
    assert RUNS.aside("heading", "One.", lacking).heading == "heading"


def test_tables_call_methods_as_figures_do() -> None:
    table = RUNS.table({"reward": ("reward", 1)}, "as_coded")
    assert isinstance(table, pd.DataFrame)
    assert list(table.index) == [("G-PPO", "as coded"), ("ELBERT-PO", "as coded")]
    named = RUNS.labelled(pd.DataFrame({"x": [1]}, index=pd.MultiIndex.from_tuples([BAR])))
    assert list(named.index) == [("the bar", "no training")]
    assert RUNS.learned == [("g-ppo", "as_coded"), ("elbert-po", "as_coded")]
    assert RUNS.has(BAR, ("g-ppo", "as_coded"))
    assert not RUNS.has(("r-ppo", "as_coded"))
    assert RUNS.last_of(*BAR)["reward"].tolist() == [0.5, 0.5]


def test_pages_squeeze_the_axis_of_the_reward_and_no_other(drawn: list[Any]) -> None:
    harder = runs_of(RESULTS, HARDER)
    harder.curves("reward", "as_coded", "A caption.")
    harder.scatter("as_coded", caption="A caption.")
    harder.curves("bias", "as_coded", "A caption.")
    RUNS.curves("reward", "as_coded", "A caption.")
    figures = [thing for thing in drawn if isinstance(thing, Figure)]
    squeezed = "reward per step (logarithmic above 0.25)"
    labels = [figure.figure.axes[0].get_ylabel() for figure in figures]
    assert labels == [squeezed, squeezed, "bias", "reward per step"]
    assert 'download="attention_harder_reward_as_coded_book.csv"' in drawn[1]
    assert 'download="attention_harder_trade_off_as_coded_book.csv"' in drawn[3]


def test_a_missing_figure_is_a_line(drawn: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    NONE.curves("bias", "as_coded", "A caption.")
    assert "longfair run elbert/attention-harder --profile book" in capsys.readouterr().out
    assert drawn == []


def test_live_runs_have_no_band_and_a_table(drawn: list[Any]) -> None:
    live = pd.concat([results_of("g-ppo", "live", [0.3]), results_of("bar", "reference", [0.5])])
    RUNS.live_curves(live, "reward", "A caption.")
    assert "no band" in drawn[0].alt_text
    assert "Horizontal reference lines: the bar 0.5." in drawn[0].alt_text
    table = RUNS.live_table(live, {"reward": ("reward", 2), "unknown": ("not measured", 1)})
    assert table.to_dict() == {"reward": {"G-PPO": "0.30", "the bar": "0.50"}}


def test_claims_are_folded_with_their_reasons(tmp_path: Path) -> None:
    page = Page("smoke", claims=["elbert-24"], store=Store(tmp_path))
    found = page.claims()
    assert isinstance(found, Folded)
    assert found.heading == "Verdicts: 1 checked"
    assert found._repr_html_().startswith('<details class="longfair-folded"><summary>')
    assert "elbert-24" in repr(found)
    assert "longfair-claims" in found.marked_up
    assert "finite differences" in found.plain or "gradient" in found.plain


def test_verdicts_and_answers_are_counted_apart(tmp_path: Path) -> None:
    page = Page("smoke", store=Store(tmp_path))
    words: dict[str, Word] = {
        "elbert-24": "checked",
        "elbert-static": "contradicted",
        "elbert-static-lending": "not reproduced",
    }
    page.__dict__["verdicts"] = [
        Verdict(claim, "as_coded", "", "book", "", words[claim.id])
        for claim in registry.select_claims(list(words))
    ]
    found = page.claims()
    assert isinstance(found, Folded)
    assert found.heading == "Verdicts: 1 checked; answers to our questions: 2 no"
    assert "elbert-static (as coded): no." in found.plain
    assert "contradicted" not in found.plain + found.marked_up


def test_a_page_on_an_empty_store_says_how_to_fill_it(tmp_path: Path, drawn: list[Any]) -> None:
    page = Page("smoke", "elbert/lending", look=LOOK, store=Store(tmp_path))
    assert page.of("elbert/lending").results.empty
    assert page.of("elbert/lending", "paper").profile == "paper"
    assert page.claims().heading.startswith("Verdicts: ")
    assert "not attempted" in repr(page.claims())
    page.gaps()
    missing = drawn[-1]
    assert isinstance(missing, Folded)
    assert "G-PPO" in missing.plain
    facts = page.origin(["numpy"])
    assert isinstance(facts, Folded)
    assert "numpy" in facts.plain
    assert "stored runs" not in facts.plain


def test_unknown_experiments_and_claims_are_refused() -> None:
    with pytest.raises(UsageError, match="elbert/lending"):
        Page("book", "elbert/lendin")
    with pytest.raises(UsageError, match="unknown claim"):
        Page("book", claims=["elbert-999"])


def test_words_are_not_folded_and_tables_are() -> None:
    words = Words("nothing")
    assert folded(words, "heading") is words
    table = folded(pd.DataFrame({"x": [1.5]}), "a < b")
    assert isinstance(table, Folded)
    assert "<summary>a &lt; b</summary>" in table._repr_html_()
    assert "1.5" in repr(table)
