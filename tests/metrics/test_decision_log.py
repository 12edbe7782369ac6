"""Rates and gaps of logged decisions: numbers by hand, coverage with clusters, bad logs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from longfair.errors import UsageError
from longfair.metrics.decision_log import benefit_gap, benefit_rates, gaps_over_time

LOG = pd.DataFrame(
    {
        "time": [0, 0, 1, 1, 2, 3, 3, 3],
        "person": ["a", "b", "a", "c", "d", "a", "b", "c"],
        "group": ["x", "x", "x", "y", "y", "x", "x", "y"],
        "decision": [1, 0, 1, 0, 1, 1, 0, 0],
        "outcome": [1, 0, 1, 1, 0, 0, np.nan, 1],
    }
)


def test_rates_are_favourable_decisions_among_all() -> None:
    rates = benefit_rates(LOG)
    assert rates.loc["x", "rate"] == pytest.approx(3 / 5)
    assert rates.loc["y", "rate"] == pytest.approx(1 / 3)
    assert rates["people"].tolist() == [2, 2]
    assert rates["decisions"].tolist() == [5, 3]
    # person a: 3 of 3, person b: 0 of 2; variance 2 ((3 - 1.8)^2 + (0 - 1.2)^2) / 25
    error = np.sqrt(2 * 2 * 1.2**2) / 5
    # Student's t with one degree of freedom is below 1 with probability 0.75.
    assert benefit_rates(LOG, level=0.5).loc["x", "low"] == pytest.approx(3 / 5 - error)


def test_notions_count_those_whose_outcome_was_seen() -> None:
    good = benefit_rates(LOG, "true-positive")
    assert good.loc["x", "rate"] == 1.0
    assert good.loc["y", "rate"] == 0.0
    bad = benefit_rates(LOG, "false-positive")
    assert bad.loc["x", "decisions"] == 2
    assert bad.loc["x", "rate"] == 0.5


def test_the_gap_names_its_groups() -> None:
    gap = benefit_gap(LOG)
    assert gap["gap"] == pytest.approx(3 / 5 - 1 / 3)
    assert (gap["most"], gap["least"]) == ("x", "y")


def test_windows_begin_with_the_first_decision() -> None:
    gaps = gaps_over_time(LOG.assign(time=LOG["time"] + 5), 2)
    assert gaps.index.tolist() == [5, 7]
    assert gaps.loc[5, "gap"] == pytest.approx(2 / 3)
    assert gaps.loc[7, "gap"] == 0.0
    assert set(gaps.loc[7, ["most", "least"]]) == {"x", "y"}


def test_one_person_has_no_interval() -> None:
    rates = benefit_rates(LOG[LOG["person"].isin(["a", "c", "d"])])
    assert np.isnan(rates.loc["x", "low"])
    assert np.isfinite(rates.loc["y", "low"])


def once(x: list[int], y: list[int]) -> pd.DataFrame:
    """One decision on every person of two groups."""
    return pd.DataFrame(
        {
            "time": 0,
            "person": range(len(x) + len(y)),
            "group": ["x"] * len(x) + ["y"] * len(y),
            "decision": [*x, *y],
        }
    )


def test_intervals_end_where_rates_and_gaps_do() -> None:
    log = once([1, 1, 1, 1, 0], [0, 0, 0, 1])
    rates = benefit_rates(log)
    assert rates.loc["x", "high"] == 1.0
    assert rates.loc["y", "low"] == 0.0
    assert rates.loc["x", "low"] == pytest.approx(0.8 - 0.2 * 2.7764451, rel=1e-6)
    assert benefit_gap(once([1] * 9 + [0], [0, 0, 1]), level=0.99)["high"] == 1.0


@pytest.mark.parametrize("twice", [False, True])
def test_a_rate_of_one_or_zero_has_the_exact_interval_of_its_people(twice: bool) -> None:
    """Of n people all or none: 0.025^(1/n) is the far end (Clopper and Pearson)."""
    log = once([1] * 5, [0] * 4)
    rates = benefit_rates(pd.concat([log] * (1 + twice)))
    far = 0.025 ** (1 / 5), 1 - 0.025 ** (1 / 4)
    np.testing.assert_allclose(rates[["low", "high"]], [[far[0], 1.0], [0.0, far[1]]])
    gap = benefit_gap(log)
    assert gap["low"] == pytest.approx(1.0 - np.hypot(1 - far[0], far[1]))
    assert gap["high"] == 1.0


def test_the_interval_of_a_gap_adds_the_distances_of_both_rates() -> None:
    gap = benefit_gap(once([1] * 5, [1, 0] * 8))
    half = np.sqrt(16 / 15 * 16 * 0.25) / 16 * 2.7764451
    assert gap["low"] == pytest.approx(0.5 - np.hypot(1 - 0.025 ** (1 / 5), half), rel=1e-6)
    assert gap["high"] == pytest.approx(0.5 + half, rel=1e-6)
    same = benefit_gap(once([1] * 5, [1] * 5))
    assert (same["gap"], same["high"]) == (0.0, pytest.approx(1 - 0.025 ** (1 / 5)))


def simulated(rng: np.random.Generator) -> pd.DataFrame:
    """People of two groups with chances of their own, decided on 1 to 12 times."""
    people = 120
    chance = rng.beta(1.2, [[1.2], [2.4]], size=(2, people))
    times = rng.integers(1, 13, size=(2, people))
    person = np.repeat(np.arange(2 * people), times.ravel())
    decided = rng.random(len(person)) < np.repeat(chance.ravel(), times.ravel())
    group = np.where(person < people, "x", "y")
    return pd.DataFrame(
        {"time": 0.0, "person": person, "group": group, "decision": decided.astype(int)}
    )


def test_intervals_hold_what_they_promise_although_people_come_again() -> None:
    rng = np.random.default_rng(0)
    gaps = [benefit_gap(simulated(rng)) for _ in range(400)]
    true = 1 / 2 - 1 / 3
    covered = np.mean([gap["low"] <= true <= gap["high"] for gap in gaps])
    assert 0.92 <= covered <= 0.98


@pytest.mark.parametrize(
    ("log", "notion", "word"),
    [
        (LOG.drop(columns="group"), "acceptance", "no column group"),
        (LOG.drop(columns="outcome"), "true-positive", "no column outcome"),
        (LOG.assign(decision=2), "acceptance", "column decision: give 0 or 1"),
        (LOG.assign(outcome=0.5), "true-positive", "or nothing"),
        (LOG.assign(time="monday"), "acceptance", "column time"),
        (LOG.assign(person=None), "acceptance", "column person: 8 rows are empty"),
        (LOG.assign(group=list("xxyyyxxy")), "acceptance", "in two groups"),
        (LOG.iloc[:0], "acceptance", "no decision"),
        (LOG, "luck", "notion='luck'"),
        (LOG.assign(outcome=np.where(LOG["decision"], 1, np.nan)), "true-positive", "unfavourable"),
        (None, "acceptance", "log=None: give a DataFrame"),
        (LOG.to_dict("list"), "acceptance", "give a DataFrame"),
        (pd.concat([LOG, LOG[["group"]]], axis=1), "acceptance", "2 columns group: give one"),
        (LOG.assign(person=[[1]] * 8), "acceptance", "column person: give numbers or text"),
        (LOG.assign(group=[(1, 2)] * 8), "acceptance", "column group: give numbers or text"),
        (LOG.assign(time=True), "acceptance", "column time"),
        (LOG.assign(time=1j), "acceptance", "column time"),
        (LOG.assign(time=pd.array([None, *range(7)], "Float64")), "acceptance", "column time"),
    ],
)
def test_a_bad_log_is_refused_in_one_line(log: pd.DataFrame, notion: str, word: str) -> None:
    with pytest.raises(UsageError, match=word) as refused:
        benefit_rates(log, notion)
    assert "\n" not in str(refused.value)


def test_one_group_has_no_gap() -> None:
    with pytest.raises(UsageError, match=r"one group only \(x\)"):
        benefit_gap(LOG[LOG["group"] == "x"])


@pytest.mark.parametrize("seen", [0, 1])
def test_a_group_with_outcomes_after_one_decision_only_has_no_rate(seen: int) -> None:
    hidden = (LOG["group"] == "x") & (LOG["decision"] != seen)
    log = LOG.assign(outcome=LOG["outcome"].mask(hidden))
    kind = "unfavourable" if seen else "favourable"
    with pytest.raises(UsageError, match=f"outcomes of {kind} decisions too, and group x"):
        benefit_rates(log, "true-positive")


def test_a_group_that_is_always_accepted_has_a_rate() -> None:
    log = LOG[(LOG["group"] == "y") | (LOG["decision"] == 1)]
    assert benefit_rates(log, "true-positive").loc["x", "rate"] == 1.0


def spread_out(times: list[float]) -> pd.DataFrame:
    """A decision on each group at every time."""
    count = len(times)
    return pd.DataFrame(
        {
            "time": np.repeat(times, 2),
            "person": range(2 * count),
            "group": ["x", "y"] * count,
            "decision": [1, 0] * count,
        }
    )


@pytest.mark.parametrize(
    ("times", "width"),
    [
        ([step / 10 for step in range(10)], 0.1),
        ([1e6 + step / 10 for step in range(10)], 0.1),
        ([-0.3 + step / 10 for step in range(10)], 0.1),
    ],
)
def test_rounding_moves_no_decision_to_another_window(times: list[float], width: float) -> None:
    gaps = gaps_over_time(spread_out(times), width)
    assert gaps.index.to_numpy() == pytest.approx(times)


@pytest.mark.parametrize(
    ("log", "width", "word"),
    [
        (LOG[LOG["group"] == "x"], 1, r"one group only \(x\)"),
        (LOG, 1e-300, "too many windows"),
        (LOG.assign(time=range(8)), 0.5, "no window has decisions on two groups"),
    ],
)
def test_gaps_over_no_time_are_refused(log: pd.DataFrame, width: float, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        gaps_over_time(log, width)


def test_groups_keep_their_whole_numbers() -> None:
    log = LOG.assign(group=LOG["group"].map({"x": 2**53 + 1, "y": 2**53}))
    assert benefit_gap(log)["most"] == 2**53 + 1
    assert gaps_over_time(log, 5).iloc[0]["most"] == 2**53 + 1


def test_groups_may_be_categories_of_which_some_never_appear() -> None:
    log = LOG.assign(group=pd.Categorical(LOG["group"], ["y", "x", "z"]))
    log["person"] = pd.Categorical(log["person"], ["nobody", *log["person"].unique()])
    assert benefit_rates(log).loc["x"].equals(benefit_rates(LOG).loc["x"])
    assert benefit_gap(log)["gap"] == benefit_gap(LOG)["gap"]
    assert gaps_over_time(log, 5)["gap"].tolist() == gaps_over_time(LOG, 5)["gap"].tolist()


def test_the_index_of_a_log_does_not_matter() -> None:
    log = LOG.set_index("group", drop=False)
    assert benefit_gap(log).equals(benefit_gap(LOG))


def test_times_may_be_of_a_nullable_kind() -> None:
    log = LOG.assign(time=LOG["time"].astype("Int64"))
    assert gaps_over_time(log, 2).index.tolist() == [0, 2]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_times_may_be_dates(zone: str | None) -> None:
    dates = pd.Timestamp("2025-03-01 08:00", tz=zone) + pd.to_timedelta(LOG["time"], unit="D")
    log = LOG.assign(time=dates)
    gaps = gaps_over_time(log, 2)
    assert gaps.index.tolist() == list(
        pd.to_datetime(["2025-03-01", "2025-03-03"]).tz_localize(zone)
    )
    numbers = gaps_over_time(LOG, 2)
    assert gaps["gap"].tolist() == numbers["gap"].tolist()
    assert benefit_rates(log, "true-positive").equals(benefit_rates(LOG, "true-positive"))


@pytest.mark.parametrize(
    "times", [["2025-03-01"] * 8, pd.to_datetime([*["2025-03-01"] * 7, pd.NaT])]
)
def test_dates_that_are_text_or_missing_are_refused_with_what_helps(times: Any) -> None:
    with pytest.raises(UsageError, match=r"column time: .*pandas\.to_datetime"):
        gaps_over_time(LOG.assign(time=times), 2)
