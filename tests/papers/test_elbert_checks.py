"""The exact checks pass, compute the paper's numbers, and can fail."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from longfair.metrics.aggregation import two_trajectories
from longfair.papers import elbert, registry
from longfair.papers.elbert import checks
from longfair.papers.elbert.checks import exact_notions

CHECKS = {name: registry.checks()[name] for name in elbert.CHECKS}


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_passes_and_says_so_in_one_line(name: str) -> None:
    result = CHECKS[name]()
    assert result.passed
    assert result.detail.endswith(".")
    assert "\n" not in result.detail
    assert all(np.isfinite(value) for value in result.computed.values())
    assert CHECKS[name]() == result  # nothing in it depends on when it runs


def test_the_numbers_of_section_2_3() -> None:
    computed = CHECKS["temporal-discrimination"]().computed
    assert computed == {
        "signed_a": 0.0,
        "signed_b": 0.99,
        "squared_a": 0.0,
        "squared_b": 1.0001,
        "elbert_a": 99 / 101,
        "elbert_b": 99 / 101,
    }


def test_the_posters_crowd_of_five_tells_the_same_story() -> None:
    first, second = (exact_notions(trajectory) for trajectory in two_trajectories(5))
    assert first == (0, 0, Fraction(2, 3))
    assert second == (Fraction(4, 5), Fraction(26, 25), Fraction(2, 3))


def test_the_soft_bias_is_strictly_above_and_tight_only_at_equal_rates() -> None:
    computed = CHECKS["soft-bias-bounds"]().computed
    assert 0.0 < computed["smallest_excess"] < 1e-50
    assert 0.99 < computed["largest_share"] < 1.0
    assert computed["share_at_equal_rates"] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "function", "wrong"),
    [
        ("temporal-discrimination", "signed_gap_sum", lambda supply, demand: 0.0),
        ("soft-bias-bounds", "soft_bias", lambda rates, beta: rates.max(axis=-1)),
        (
            "horizon-one",
            "long_term_benefit_rate",
            lambda supply, demand, axis, discount=1.0, offset=0.0: (
                supply.sum(axis) / (demand.sum(axis) + 1)
            ),
        ),
    ],
)
def test_a_wrong_metric_fails_the_check(
    name: str, function: str, wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, function, wrong)
    assert not CHECKS[name]().passed
