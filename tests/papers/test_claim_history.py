"""The words of a rule, the commits that wrote them, and the marks of those that came late."""

from __future__ import annotations

import re

from longfair.papers import claim_history, registry
from longfair.papers.claim_history import Event, history, rules_of

TEXT = """paper: toy
claims:
  - id: one
    statement: A sentence.
    # about the rule
    rule:
      kind: lowest
      others: [a,
        b]
    note: after
  - id: two
    rule: {kind: exact, check: c}
"""


def test_rules_are_read_whatever_their_layout() -> None:
    assert rules_of(TEXT) == {
        "one": "kind: lowest others: [a, b]",
        "two": "{kind: exact, check: c}",
    }


def test_every_claim_of_the_papers_has_a_rule_in_its_file() -> None:
    for paper in registry.papers():
        file = claim_history.Path(claim_history.longfair.__file__).parent / "papers" / paper
        rules = rules_of((file / "claims.yaml").read_text(encoding="utf-8"))
        assert set(rules) == {claim.id for claim in registry.claims() if claim.paper == paper}


def test_a_commit_is_told_where_the_words_changed(monkeypatch) -> None:  # type: ignore[no-untyped-def]  # a fixture
    texts = {"a1": TEXT, "b2": TEXT.replace("A sentence", "Other"), "c3": TEXT.replace("b]", "c]")}
    told = "\n".join(f"{name} 2026-01-0{day}" for day, name in enumerate(texts, 1))

    def git(folder: object, command: str, *arguments: str) -> str:
        return told if command == "log" else texts[arguments[0].partition(":")[0]]

    monkeypatch.setattr(claim_history, "git", git)
    claim_history._histories.cache_clear()
    assert history("elbert", "one") == [
        Event("a1", "2026-01-01", "kind: lowest others: [a, b]"),
        Event("c3", "2026-01-03", "kind: lowest others: [a, c]"),
    ]
    assert [event.commit for event in history("elbert", "two")] == ["a1"]
    claim_history._histories.cache_clear()


def test_a_claim_that_says_its_rule_came_after_runs_carries_the_mark() -> None:
    late = re.compile(r"(asked|written) (after (its|the) runs|when the (first of its )?runs)", re.I)
    said = [claim for claim in registry.claims() if late.search(claim.note)]
    assert len(said) > 10
    # Its note goes on: after the runs of another claim, and before its own.
    assert {claim.id for claim in said if not claim.changed} == {"elbert-episodes-one"}
