"""The plan of a grid: every agent is asked about every environment."""

from __future__ import annotations

from longfair.agents.register import agents
from longfair.envs import NAMES
from longfair.papers.who_acts_where import who_acts_where


def test_every_pair_has_a_yes_or_a_reason() -> None:
    rows = {row["agent"]: row for row in who_acts_where()}
    assert set(rows) == set(agents())
    for row in rows.values():
        assert sorted([*row["acts_in"], *row["refused"]]) == sorted(NAMES)
    assert rows["r-ppo"]["refused"].keys() == {"LoanMDP"}
    assert rows["ledger-dqn"]["acts_in"] == ["Doughnut", "LoanPool"]
    assert rows["elbert-po"]["refused"] == {}
