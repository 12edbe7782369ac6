"""Figures of stored results: what is drawn, beside what, and nothing without runs."""

from __future__ import annotations

import pandas as pd
import pytest

from longfair.figures import Figure, LineStyle
from longfair.papers.elbert import result_figures as elbert
from longfair.papers.elbert.attention import ATTENTION, ATTENTION_HARDER
from longfair.papers.seed_figures import interval_in_words, reward_against_bias, training_curves
from longfair.runs import tidy

STYLES = {"bar": LineStyle("the bar", "black", "x", ":")}


def results_of(method: str, variant: str, rewards: list[float]) -> pd.DataFrame:
    rows = [
        (phase, step, metric, seed, value)
        for seed, reward in enumerate(rewards)
        for phase, step in (("curve", 0), ("curve", 2000), ("final", 2000))
        for metric, value in {
            "reward": reward,
            "bias": reward / 10,
            "profit": reward + 1,
            **dict.fromkeys(elbert.FIGURE_9, reward * 2),
        }.items()
    ]
    frame = pd.DataFrame(rows, columns=["phase", "step", "metric", "seed", "value"])
    return frame.assign(method=method, variant=variant, group=-1)


LEARNED = pd.concat(
    [results_of("g-ppo", "as_coded", [0.1, 0.3]), results_of("elbert-po", "as_coded", [0.2, 0.4])]
)
RESULTS = pd.concat([LEARNED, results_of("bar", "reference", [0.5])], ignore_index=True)
NOTHING = RESULTS.iloc[:0]


def test_intervals_are_named_with_their_seeds() -> None:
    assert interval_in_words(LEARNED) == "mean and 95 % bootstrap interval, 2 seeds"


def test_curves_have_thin_lines_only_if_wanted() -> None:
    runs = tidy.curve(RESULTS, "bias", "as_coded")
    figure = training_curves(
        runs, "gap", references=tidy.references(RESULTS, "bias"), styles=STYLES
    )
    assert figure is not None
    assert "mean and 95 % bootstrap interval, 2 seeds" in figure.alt_text
    assert "Horizontal reference lines: the bar 0.05." in figure.alt_text
    assert len(figure.data) == len(runs)
    plain = training_curves(runs, "gap", references=NOTHING, thin_lines=False)
    assert plain is not None
    assert len(plain.data) == 4  # two methods at two steps
    assert len(plain.figure.axes[0].get_lines()) == 2
    assert "reference" not in plain.alt_text


def test_the_two_axes_of_a_scatter_can_be_any_metric() -> None:
    figure = reward_against_bias(LEARNED, reward="profit", reward_label="profit")
    assert figure is not None
    assert figure.data["reward"].tolist() == [1.1, 1.3, 1.2, 1.4]
    assert figure.figure.axes[0].get_ylabel() == "profit"


def test_without_runs_there_is_no_figure() -> None:
    assert training_curves(tidy.curve(NOTHING, "bias", "as_coded"), "gap") is None
    assert reward_against_bias(NOTHING) is None
    assert elbert.curves(RESULTS, "bias", "as_published") is None
    assert elbert.scatter(RESULTS, ["as_published"], ["bar"], STYLES) is None
    assert elbert.supply_and_demand(RESULTS, "as_published") is None


@pytest.mark.parametrize("metric", ["reward", "bias"])
def test_elberts_curves_stand_beside_policies_without_training(metric: str) -> None:
    figure = elbert.curves(RESULTS, metric, "as_coded", ["bar"], STYLES)
    assert figure is not None
    assert figure.figure.axes[0].get_ylabel() == elbert.QUANTITIES[metric]
    assert "the bar" in figure.alt_text
    alone = elbert.curves(RESULTS, metric, "as_coded", thin_lines=False)
    assert alone is not None
    assert "bar" not in alone.alt_text
    assert len(alone.data) == 4


def test_live_runs_have_no_band() -> None:
    live = results_of("g-ppo", "live", [0.3])
    assert "no band" in elbert.live_curves(live, "reward").alt_text
    bars = results_of("bar", "reference", [0.5])
    figure = elbert.live_curves(pd.concat([live, bars]), "reward", STYLES)
    assert "Horizontal reference lines: the bar 0.5." in figure.alt_text


def test_elberts_scatter_has_the_variants_asked_for_and_named_points() -> None:
    both = pd.concat([RESULTS, results_of("g-ppo", "as_published", [0.7, 0.9])])
    figure = elbert.scatter(both, ["as_published"], ["bar"], STYLES)
    assert figure is not None
    assert figure.data["reward"].tolist() == [0.7, 0.9, 0.5]
    assert figure.data["bias"].tolist() == pytest.approx([0.07, 0.09, 0.05])


def test_pages_squeeze_the_axis_of_the_reward_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr("longfair.figures.display._display_caption", lambda *_: None)
    monkeypatch.setattr("longfair.figures.display._display", drawn.append)
    experiments = {"harder": ATTENTION_HARDER, "original": ATTENTION}
    results = {"harder": RESULTS, "original": RESULTS}
    page = elbert.WorldPage(experiments, results, "book", STYLES, ["bar"], {"harder": 0.25})
    page.show_curves("harder", "reward", "as_coded")
    page.show_scatter("harder", "as_coded")
    page.show_curves("harder", "bias", "as_coded")
    page.show_curves("original", "reward", "as_coded")
    labels = [figure.figure.axes[0].get_ylabel() for figure in drawn]
    squeezed = "reward per step (logarithmic above 0.25)"
    assert labels == [squeezed, squeezed, "bias", "reward per step"]


def test_pages_show_figures_or_say_which_runs_are_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[tuple[str, str]] = []
    monkeypatch.setattr(
        "longfair.figures.display._display_caption",
        lambda marked_up, plain: shown.append((marked_up, plain)),
    )
    monkeypatch.setattr("longfair.figures.display._display", lambda figure: None)
    experiments = {"harder": ATTENTION_HARDER, "original": ATTENTION}
    page = elbert.WorldPage(
        experiments, {"harder": RESULTS, "original": NOTHING}, "book", STYLES, ["bar"]
    )
    page.show_curves("harder", "bias", "as_coded")
    page.show_scatter("harder", "as_coded")
    captions = [plain for _, plain in shown]
    assert captions[0].startswith("Bias during training, harder environment, as coded. Horizontal")
    assert captions[1].startswith("Reward against bias of the last policies, harder environment")
    assert 'download="attention_harder_trade_off_as_coded.csv"' in shown[1][0]
    page.show_curves("original", "bias", "as_coded")
    assert "longfair run elbert/attention --profile book" in capsys.readouterr().out
    assert len(shown) == 2
