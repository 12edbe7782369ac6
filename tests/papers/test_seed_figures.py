"""Figures of stored results: what is drawn, beside what, and nothing without runs."""

from __future__ import annotations

import pandas as pd

from longfair.figures import LineStyle
from longfair.papers.seed_figures import (
    interval_in_words,
    middles,
    reward_against_bias,
    training_curves,
)
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
    assert interval_in_words(LEARNED) == "mean, no interval, 2 seeds"


def test_curves_have_thin_lines_only_if_wanted() -> None:
    runs = tidy.curve(RESULTS, "bias", "as_coded")
    figure = training_curves(
        runs, "gap", references=tidy.references(RESULTS, "bias"), styles=STYLES
    )
    assert figure is not None
    assert "mean, no interval, 2 seeds" in figure.alt_text
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


def test_of_two_seeds_no_interval_is_drawn() -> None:
    rows = [
        {"method": method, "variant": "as_coded", "seed": seed, "step": 1, "value": value}
        for method, values in (("g-ppo", (0.1, 0.2)), ("r-ppo", (0.1, 0.2, 0.4)))
        for seed, value in enumerate(values)
    ]
    found = middles(pd.DataFrame(rows), ["method", "variant", "step"], median=False)
    two, three = found.to_dict("records")
    assert two["low"] == two["high"] == two["value"]
    assert three["low"] < three["value"] < three["high"]
    words = interval_in_words(pd.DataFrame(rows))
    assert words == "mean and 95 % interval, 2 to 3 seeds, none of two"
