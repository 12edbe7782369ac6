"""Runs in front of the reader: as long as asked, and a look where pages are only checked."""

from __future__ import annotations

import pytest

from longfair.agents.ppo import Strategy
from longfair.papers.elbert.lending import PROBLEM, REFERENCES
from longfair.papers.live import LIVE, SHORT, as_long_as_asked, live_runs
from longfair.papers.protocol import train_and_evaluate
from longfair.runs.evidence import REFERENCE

SETTING = PROBLEM.learned(Strategy(), "smoke")


def test_a_run_is_as_long_as_asked_unless_pages_are_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(SHORT, raising=False)
    assert as_long_as_asked(SETTING) == SETTING
    monkeypatch.setenv(SHORT, "1")
    assert as_long_as_asked(SETTING) == SETTING.shortened() != SETTING


def test_learners_and_lines_come_with_what_figures_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHORT, "1")
    policy, _ = REFERENCES["accept-all"]
    line = PROBLEM.untrained(policy, SETTING.evaluating)
    live = live_runs({"g-ppo": SETTING}, 1000, {"accept-all": line})
    arms = set(zip(live["method"], live["variant"], live["seed"], strict=True))
    assert arms == {("g-ppo", LIVE, 1000), ("accept-all", REFERENCE, 1000)}
    assert {"curve", "final"} == set(live["phase"])
    # The tables of policies without training are compared, so those are never cut.
    played = live[live["variant"] == REFERENCE]["value"]
    assert played.tolist() == train_and_evaluate(line, 1000)["value"].tolist()
