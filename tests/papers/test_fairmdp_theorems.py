"""The checks of the fair MDP paper's theorems pass, and fail when what they check is broken."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from longfair.agents.finite import lagrangian
from longfair.papers.fairmdp import theorems
from longfair.papers.fairmdp.cross_entropy import Sampling
from longfair.runs.claims import CheckResult


@pytest.mark.parametrize(
    "check",
    [
        lambda: theorems.tightened_check(repeats=3),
        lambda: theorems.stricter_set(problems=5),
        lambda: theorems.batches(problems=2),
        lambda: theorems.conservative(policies=20),
    ],
)
def test_checks_pass(check: Callable[[], CheckResult]) -> None:
    found = check()
    assert found.passed
    assert found.instances >= 2
    assert found.detail.endswith(".")


def test_the_best_policy_is_race_blind_in_one_problem() -> None:
    found = theorems.race_blind()
    assert found.passed
    assert found.instances == 1
    assert "69,394 situations" in found.detail


def test_within_a_tolerance_a_band_satisfies_it_too_and_earns_more_than_any_constant() -> None:
    found = theorems.conservative_within_tolerance(policies=20)
    assert not found.passed
    assert 0 < found.computed["apart"] < found.computed["band"] <= 0.1
    assert found.computed["profit"] == pytest.approx(0.0325, abs=1e-4)
    assert found.computed["profit_alike"] == pytest.approx(0.0, abs=1e-9)


def test_few_episodes_let_unfair_policies_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sampling, "size", lambda *_: (300, 30))
    found = theorems.tightened_check(repeats=3)
    assert not found.passed
    assert found.computed["unfair_pass"] > 0.05


def test_planning_with_the_full_tolerance_is_not_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    assert theorems.stricter_set(problems=5).computed["careless"] > 0
    monkeypatch.setattr(theorems, "value_error", lambda *_: 1e-9)
    found = theorems.stricter_set(problems=5)
    assert not found.passed
    assert found.computed["excess"] > 0


def test_a_policy_that_sees_the_group_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    right = lagrangian.solve
    monkeypatch.setattr(lagrangian, "solve", lambda problem, _: right(problem, 0.1))
    assert not theorems.race_blind().passed


def test_a_program_that_ignores_the_constraint_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = theorems.linear_program.solve
    monkeypatch.setattr(theorems.linear_program, "solve", lambda problem, _: right(problem, None))
    assert theorems.batches(problems=3).computed["excess"] > 0


def test_a_wider_band_breaks_the_conservative_tolerance() -> None:
    laws = np.eye(2)[None, :, None, :]
    assert theorems._largest_gap(laws, np.array([[0.1, 0.25]])) == pytest.approx(0.15)
