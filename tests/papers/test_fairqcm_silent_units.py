"""Which units of FairQCM's networks still answer, and what is said of runs that learn nothing."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from longfair.papers.fairqcm import silent_units
from longfair.papers.fairqcm.deep import LENDING, config_of
from longfair.papers.fairqcm.deep_results import LENDING_LOOK
from longfair.papers.page import Runs

EPISODES = 30


def test_a_layer_of_one_unit_has_at_most_one_that_answers() -> None:
    setting = config_of("lending", "fairqcm", "as_published")
    settings = replace(setting.learning.settings, hidden=(32, 1))
    narrow = replace(setting, learning=replace(setting.learning, settings=settings))
    assert silent_units.answering_units(narrow, 1, EPISODES) <= 1
    assert 1 < silent_units.answering_units(setting, 1, EPISODES) <= 8


def made(returns: dict[str, list[float]]) -> Runs:
    rows = [
        (method, "reference" if method == "random" else "as_published", seed, value)
        for method, values in returns.items()
        for seed, value in enumerate(values)
    ]
    table = pd.DataFrame(rows, columns=["method", "variant", "seed", "value"])
    table = table.assign(metric="return", group=-1, step=40_000, phase="final")
    return Runs(LENDING, "book", LENDING_LOOK).showing(table)


def test_a_run_counts_where_all_methods_end_below_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    returns = {"random": [-290.0, -300.0, -310.0], "fairqcm": [-50.0, -870.0, -400.0]}
    runs = made({**returns, "full": [-60.0, -840.0, -70.0]})
    assert silent_units.worse_than_chance(runs, "fairqcm", "as_published") == {1, 2}
    left = {0: 5, 1: 1, 2: 7}
    monkeypatch.setattr(silent_units, "answering_units", lambda setting, run, episodes: left[run])
    first, second = silent_units.in_words(runs, ("fairqcm", "full"))
    assert first.startswith("Of 3 runs of each method, run 1 of FairQCM and Full end below")
    assert "has 8 units" in first
    assert "1 unit in run 1 can still" in second
    assert "it is 5 to 7" in second


def test_where_every_run_ends_so_low_no_others_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = made({"random": [-300.0], "fairqcm": [-800.0], "full": [-900.0]})
    monkeypatch.setattr(silent_units, "answering_units", lambda setting, run, episodes: 2)
    _, second = silent_units.in_words(runs, ("fairqcm", "full"))
    assert "2 units in run 0 can still" in second
    assert "other runs" not in second


def test_without_results_nothing_is_trained() -> None:
    runs = made({"random": [-300.0]})
    assert silent_units.in_words(runs.showing(runs.results.iloc[:0]), ("fairqcm", "full"))


def test_it_is_said_where_no_run_ends_so_low() -> None:
    runs = made({"random": [-300.0, -310.0], "fairqcm": [-50.0, -400.0], "full": [-60.0, -70.0]})
    (said,) = silent_units.in_words(runs, ("fairqcm", "full"))
    assert said.startswith("No run ends below")
