"""The exact values that the book shows are those that the solvers find."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longfair.papers.exact_values import SOLVED

FILE = Path(__file__).parents[2] / "results" / "exact" / "environments.json"
STORED = {
    (row["environment"], row["preset"], row["policy"]): row["value"]
    for row in json.loads(FILE.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("name", ["Doughnut", "LoanMDP"])
def test_stored_values_are_what_the_solver_finds(name: str) -> None:
    found = {(name, preset, policy): value for preset, policy, value in SOLVED[name]()}
    assert found == pytest.approx({key: STORED[key] for key in STORED if key[0] == name})


def test_loan_pool_has_the_known_optimum() -> None:
    """The solver itself is held against these numbers in tests/agents."""
    assert STORED["LoanPool", "discrete", "best"] == pytest.approx(-22.5936, abs=5e-4)
    limited = STORED[
        "LoanPool", "discrete", "best of those that keep the difference to at most 10 loans"
    ]
    assert limited == pytest.approx(-22.856, abs=5e-4)


def test_known_scores_of_the_doughnut_problem() -> None:
    assert STORED["Doughnut", "deep", "anybody, at random"] == pytest.approx(791.144, abs=5e-4)
    assert STORED["Doughnut", "tabular", "anybody, at random"] == pytest.approx(25.480, abs=5e-4)


def test_best_is_best() -> None:
    plain = {key: value for key, value in STORED.items() if "discount" not in key[2]}
    for environment, preset in {key[:2] for key in plain}:
        values = {key[2]: plain[key] for key in plain if key[:2] == (environment, preset)}
        assert max(values, key=lambda policy: values[policy]).startswith("best")


def test_every_solved_environment_is_stored() -> None:
    assert {name for name, _, _ in STORED} == set(SOLVED)
