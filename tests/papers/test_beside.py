"""Numbers of single runs behind the verdicts, and what stands beside them."""

from __future__ import annotations

from longfair.papers import registry
from longfair.papers.claim_numbers import Pools, beside, numbers, with_beside
from longfair.runs.board import verdicts
from longfair.runs.claims import Claim
from longfair.runs.store import Store

UNFAIR = ("bias", "gap", "disparity", "distance")
"""What metrics of unfairness have in their names, and rewards have not."""
NO_METHOD_PLAYS = {"fairqcm-t1", "fairqcm-t1-elsewhere"}
"""The distance there is that of a table to its limit."""


def metrics(claim: Claim) -> set[str]:
    return {name for one in claim.rule.numbers for name in one.quantity.metrics.values()}


def unfair(metric: str) -> bool:
    return any(name in metric for name in UNFAIR)


def test_a_low_bias_never_stands_without_what_it_costs() -> None:
    alone = [
        claim.id
        for claim in registry.claims()
        if metrics(claim) and all(map(unfair, metrics(claim))) and not claim.beside
    ]
    assert set(alone) == NO_METHOD_PLAYS


def test_what_stands_beside_is_summed_up_and_marked() -> None:
    (claim,) = registry.select_claims(["ucbfair-c1"])
    pools = Pools(Store())
    judged = verdicts([claim], pools.store, registry.experiments(), registry.checks())
    rows = numbers(claim, judged, pools)
    assert {row["number"] for row in rows if row["judged"]} == {"gap"}
    told = beside(rows)
    assert {row["number"] for row in told} == {"loss"}
    assert {row["method"] for row in told} == set(claim.rule.methods)
    for row in told:
        own = [one["value"] for one in rows if one["number"] == "loss"
               and one["method"] == row["method"] and one["variant"] == row["variant"]]  # fmt: skip
        assert (row["lowest"], row["highest"], row["runs"]) == (min(own), max(own), len(own))
        assert row["lowest"] <= row["median"] <= row["highest"]


def test_a_method_that_never_massages_is_told_with_the_metric_it_has() -> None:
    (claim,) = registry.select_claims(["fppo-1b-order"])
    pools = Pools(Store())
    judged = verdicts([claim], pools.store, registry.experiments(), registry.checks())
    rows = [row for row in numbers(claim, judged, pools) if row["variant"] == "as_published"]
    values = {
        (row["measure"], row["method"]): row["value"]
        for row in rows
        if row["seed"] == 0 and "distance" in row["number"]
    }
    assert values["in_use", "ppo"] == values["text", "ppo"]
    assert values["in_use", "f-ppo"] != values["text", "f-ppo"]


def test_what_stands_beside_is_of_the_runs_that_are_judged() -> None:
    (claim,) = registry.select_claims(["elbert-15"])
    found = {}
    for profile in (None, "book", "paper"):
        pools = Pools(Store(), profile)
        judged = verdicts(
            [claim], pools.store, registry.experiments(), registry.checks(), profile=profile
        )
        rows = with_beside(judged, pools)
        for row in rows:
            assert {one["runs"] for one in row["beside"]} <= {row["seeds"]}
        found[profile] = sum(bool(row["beside"]) for row in rows)
    assert found[None] >= found["book"] > 0
    assert found["paper"] == sum(one.word != "not attempted" for one in judged)
