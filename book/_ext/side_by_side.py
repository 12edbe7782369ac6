"""Write what the page has that compares the papers: who learned where, and what is proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from markdown_table import table
from stored_runs import once

COULD = "could"
"""Stands where the register says that a learner can act, and no run is stored."""
NEVER = " "
"""Stands where it cannot."""
PROVEN = ("Theorem", "Proposition")
"""How the source of a claim begins that is proven in its paper."""


@dataclass(frozen=True)
class Learners:
    """A row: learners that share their way of learning."""

    title: str
    classes: frozenset[str]
    """Classes of method settings, or of learning settings, that are theirs."""
    agents: frozenset[str] = frozenset()
    """Names in the register, which says where else they could act."""


def _row(title: str, classes: str, agents: str = "") -> Learners:
    return Learners(title, frozenset(classes.split()), frozenset(agents.split()))


ROWS = (
    _row("G-PPO, or PPO", "Strategy", "g-ppo"),
    _row("R-PPO", "RPPO", "r-ppo"),
    _row("A-PPO", "APPO WindowedAPPO", "a-ppo windowed-a-ppo"),
    _row(
        "ELBERT-PO",
        "ElbertPO SeveralNotionsPO DemandRegularisedPO",
        "elbert-po several-notions-po demand-regularised-po",
    ),
    _row("F-PPO-L", "FPPOL", "f-ppo-l"),
    _row(
        "F-PPO, F-PPO-S",
        "LendingFPPO AttentionFPPO EpidemicFPPO StandardisedFirst WithoutTies",
        "f-ppo-lending f-ppo-attention f-ppo-epidemic",
    ),
    _row("CPO", "CPOSettings", "cpo"),
    _row("FairQCM and its rivals, tables", "EvaluatedLearning CheckedLearning", "fairqcm-tabular"),
    _row("FairQCM and its rivals, networks", "DeepLearning", "fairqcm-dqn recurrent-dqn"),
    _row("DQN with ledgers, asked here", "LedgerLearning", "ledger-dqn"),
    _row("search for a linear rule, asked here", "WeightSearch"),
    _row("L-UCBFair", "UCBLearning", "l-ucbfair"),
    _row("R-TD3, TD3", "TD3Learning BestTD3Learning", "r-td3"),
    _row("cross-entropy search", "Wanted"),
    _row("exploring, then committing", "Exploring"),
    _row("Q-learning with a balance, asked here", "Meeting", "memory-q-learning"),
)
"""Learners in the order of the papers."""


def row_of(config: Mapping[str, Any]) -> Learners | None:
    """Find the row of a run's settings; None if nothing learns in it.

    Raises
    ------
    ValueError
        If no row has what learns in it.
    """
    if not isinstance(config.get("learning"), Mapping):
        return None
    parts = (config["learning"], config["method"])
    classes = {str(part["class"]) for part in parts if isinstance(part, Mapping)}
    found = [row for row in ROWS if row.classes & classes]
    if len(found) != 1:
        raise ValueError(
            f"{' with '.join(sorted(classes))} belongs to {len(found)} rows of the table of "
            "learners and worlds: name it in one of them"
        )
    return found[0]


def counted(runs: pd.DataFrame) -> dict[tuple[str, str], int]:
    """Count stored runs of every row in every environment, a shared run once."""
    number: dict[tuple[str, str], int] = {}
    for config in once(runs)["config"]:
        if row := row_of(config):
            world = str(config["world"]["environment"]).split("/")[-1].removesuffix("-v0")
            number[row.title, world] = number.get((row.title, world), 0) + 1
    return number


def who_learned_where(runs: pd.DataFrame, acting: list[dict[str, Any]]) -> str:
    """Write the table.

    Parameters
    ----------
    runs
        As from `stored_runs.stored_runs`.
    acting
        As from `longfair.papers.who_acts_where.who_acts_where`.
    """
    number = counted(runs)
    worlds = list(dict.fromkeys(w for row in acting for w in (*row["acts_in"], *row["refused"])))
    rows = []
    for row in ROWS:
        able = {w for one in acting if one["agent"] in row.agents for w in one["acts_in"]}
        cells = [number.get((row.title, w), COULD if w in able else NEVER) for w in worlds]
        rows.append([row.title, *cells])
    return table(["Learners", *worlds], rows)


def proven(rows: Sequence[Mapping[str, Any]], papers: Mapping[str, str]) -> str:
    """Write the papers' theorems and propositions that are judged, with what came out.

    Parameters
    ----------
    rows
        Claims with their verdicts, as ``longfair claims --json`` prints them.
    papers
        Id of a paper to what a reader calls it.
    """
    lines = [
        [
            f"[{title}](papers/{paper}.md)",
            row["source"],
            row["statement"],
            f"[{row['answer']}](claims/{row['id']}.md)",
        ]
        for paper, title in papers.items()
        for row in rows
        if row["paper"] == paper and row["asked"] == "paper" and row["source"].startswith(PROVEN)
    ]
    return table(["Paper", "Place", "What we checked", "Here"], lines)
