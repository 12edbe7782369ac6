"""The page that compares the papers says what is stored and what was judged."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import generated
import side_by_side
from longfair.papers import registry
from longfair.runs.keys import canonical_json

PAGE = Path(__file__).resolve().parents[2] / "book" / "side_by_side.md"
ACTING = [
    {"agent": "g-ppo", "acts_in": ["Lending", "Doughnut"], "refused": {"LoanMDP": "no"}},
    {"agent": "cpo", "acts_in": [], "refused": dict.fromkeys(("Lending", "Doughnut"), "no")},
]


def run(learning: str, method: str, world: str, same_as: str | None = None) -> dict[str, Any]:
    parts = {"learning": {"class": learning}, "method": {"class": method}}
    return {"config": {**parts, "world": {"environment": world}}, "same_as": same_as}


def line(text: str, title: str) -> list[str]:
    found = next(row for row in text.splitlines() if row.startswith(f"| {title} |"))
    return [part.strip() for part in found.strip("|").split("|")][1:]


def test_cells_tell_runs_from_what_could_be_run_and_from_what_cannot() -> None:
    lending = run("PPO", "Strategy", "longfair/Lending-v0")
    shared = run("TrunkPPO", "Strategy", "longfair/Lending-v0", "other/lending")
    untrained = {"config": {"learning": None, "method": {"class": "Untrained"}}, "same_as": None}
    runs = pd.DataFrame([lending, lending, shared, untrained])
    text = side_by_side.who_learned_where(runs, ACTING)
    assert text.startswith("| Learners | Lending | Doughnut | LoanMDP |\n")
    assert line(text, "G-PPO, or PPO") == ["2", side_by_side.COULD, ""]
    assert line(text, "CPO") == ["", "", ""]


def test_what_no_row_has_is_named() -> None:
    with pytest.raises(ValueError, match="Dreaming with Strange belongs to 0 rows"):
        side_by_side.row_of(run("Dreaming", "Strange", "longfair/Lending-v0")["config"])


def test_every_learner_that_could_be_stored_has_one_row() -> None:
    """Else the first run that is stored of one would stop the build of the book."""
    found = set()
    for experiment in registry.experiments().values():
        for arm in (*itertools.chain(*experiment.arms.values()), *experiment.authors_arms):
            if row := side_by_side.row_of(json.loads(canonical_json(arm.config))):
                found.add(row.title)
    assert found == {row.title for row in side_by_side.ROWS}


def test_every_agent_of_the_register_has_one_row() -> None:
    # A process of its own: other tests register agents, which must not have rows.
    asked = [sys.executable, "-m", "longfair", "agents", "--json"]
    told = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    own = {row["agent"] for row in json.loads(told)}
    assert sorted(own) == sorted(name for row in side_by_side.ROWS for name in row.agents)


def test_theorems_are_those_of_the_board() -> None:
    text = side_by_side.proven(
        [
            {"id": claim.id, "answer": "checked", "asked": claim.asked, "paper": claim.paper}
            | {"source": claim.source, "statement": claim.statement}
            for claim in registry.claims()
        ],
        {"fairmdp": "Fair MDPs", "fppo": "F-PPO"},
    )
    assert "| [Fair MDPs](papers/fairmdp.md) | Theorem 2.5 |" in text
    assert "[checked](claims/fppo-t.md)" in text
    assert "fppo-vacuous" not in text  # asked here
    assert "ELBERT" not in text


def test_every_table_has_every_paper() -> None:
    text = PAGE.read_text(encoding="utf-8")
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert len(tables) == 3
    for part, title in itertools.product(tables, (*generated.PAPERS.values(), "R-TD3")):
        assert title in part
