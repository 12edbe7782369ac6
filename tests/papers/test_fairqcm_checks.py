"""The exact checks of the FairQCM paper pass, compute its numbers, and can fail."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from longfair.papers import fairqcm, registry
from longfair.papers.fairqcm import checks, counter, memory_checks
from longfair.runs.claims import load_claims

CHECKS = {name: registry.checks()[name] for name in fairqcm.CHECKS}


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_passes_and_says_so_in_one_line(name: str) -> None:
    result = CHECKS[name]()
    assert result.passed
    assert result.detail.endswith(".")
    assert "\n" not in result.detail
    assert all(np.isfinite(value) for value in result.computed.values())
    assert CHECKS[name]() == result  # nothing in it depends on when it runs


def test_every_check_is_judged_by_a_claim() -> None:
    judged = set()
    for claim in load_claims(Path(str(fairqcm.__file__)).with_name("claims.yaml")):
        judged |= set(claim.rule.checks)
    assert set(CHECKS) <= judged


def test_the_sums_of_figure_1() -> None:
    table = checks.shipment_table()
    first = table.loc["one after the other"].sum().round(4)
    second = table.loc["side by side"].sum().round(4)
    columns = ["unfairness to B", "parity", "worst-off", "log Nash"]
    np.testing.assert_array_equal(first[columns], [40, -80, 60, 62.1937])
    np.testing.assert_array_equal(second[columns], [0, 0, 100, 80.0392])


def test_somebody_who_sees_the_whole_past_does_no_better_than_one_with_a_memory() -> None:
    computed = CHECKS["bounded-rewards"]().computed
    assert computed["best_by_memory"] == pytest.approx(computed["best_over_histories"], abs=1e-12)
    # Serving one each within the first two steps gives 2 log 2 there; nobody can do better.
    assert computed["best_over_histories"] < 2 * np.log(2) + 2 * np.log(3)


def test_a_wrong_welfare_fails_figure_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "log_nash_welfare", lambda doses: np.log(doses + 2).sum(axis=-1))
    assert not CHECKS["vaccine-shipments"]().passed


def test_a_filter_off_by_one_fails_the_notions(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(statuses: np.ndarray, aggregation: object, period: int) -> np.ndarray:
        moments = np.arange(statuses.shape[1])
        return checks.bounded(statuses, aggregation, moments % period == 0)

    monkeypatch.setattr(checks, "periodic", late)
    assert not CHECKS["bounded-covers-all"]().passed


def test_a_memory_that_forgets_fails_the_rewards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        counter, "served", lambda counts, state, person: tuple(np.minimum(counts, 1).tolist())
    )
    assert not CHECKS["bounded-rewards"]().passed


def test_an_automaton_that_miscounts_fails_both_theorems(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = dataclasses.replace(
        memory_checks.STATUSES[0], history=lambda received: np.minimum(received.cumsum(1), 1)
    )
    monkeypatch.setattr(memory_checks, "STATUSES", (wrong,))
    assert not memory_checks.automata_from_memory().passed
    monkeypatch.setattr(memory_checks, "STATUSES", (wrong, memory_checks.STATUSES[0]))
    assert not memory_checks.memory_from_automata().passed


def test_a_status_that_stays_small_fails_the_unbounded_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        memory_checks, "equal_so_far", lambda received: received.cumsum(axis=-2) % 2
    )
    assert not CHECKS["unbounded-count"]().passed


def test_a_welfare_that_prefers_ada_tells_the_kitchens_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    computed = CHECKS["two-kitchens"]().computed
    # Ada is ahead by one at four of eight moments: half a doughnut more than the mean, each time.
    assert (computed["to_bo"], computed["squared_first"]) == (2.0, -8.0)
    monkeypatch.setattr(checks, "WELFARES", {"of Ada": lambda counts: counts[..., 0]})
    assert not CHECKS["two-kitchens"]().passed


def test_a_memory_that_forgets_fails_the_discounted_rewards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    computed = CHECKS["discounted-rewards"]().computed
    assert computed["highest"] - computed["lowest"] < 0.3
    monkeypatch.setattr(
        counter, "served", lambda counts, state, person: tuple(np.minimum(counts, 1).tolist())
    )
    assert not CHECKS["discounted-rewards"]().passed


def test_a_setting_off_the_table_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {**checks.TABLES["lending"], "min": (1e-4, 0.99, 0.2, 1000, 64, 40)}
    monkeypatch.setattr(checks, "TABLES", {"lending": wrong})
    result = CHECKS["tables-of-settings"]()
    assert not result.passed
    assert result.computed["different"] == 2.0  # in both variants
