"""Words and numbers as readers see them."""

from __future__ import annotations

import pytest

from longfair.wording import numeral, plain, with_interval


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "0"),
        (0.02294, "0.02294"),
        (-0.000746712, "-0.0007467"),
        (6.691e-06, "6.691·10⁻⁶"),
        (-1e-05, "-10⁻⁵"),
        (1.7e-16, "0"),
        (999.96, "1,000"),
        (-9000.0, "-9,000"),
        (-17000.0, "-17,000"),
        (97_228.7, "97,230"),
        (9_999_400.0, "9,999,000"),
        (12_345_678.0, "1.235·10⁷"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_four_digits_without_an_exponent(value: float, written: str) -> None:
    assert numeral(value) == written


def test_few_digits_leave_zeros_and_no_exponent() -> None:
    assert (numeral(123.4, 2), numeral(123_456.0, 3)) == ("120", "123,000")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("late_peak", "late peak"),
        ("elbert-po:as_coded", "elbert-po as coded"),
        ("bias_exact", "exact bias"),
        ("in_use", "massaging in use"),
    ],
)
def test_names_become_words(name: str, words: str) -> None:
    assert plain(name) == words


def test_a_number_stands_before_its_interval() -> None:
    assert with_interval(0.15, (0.148, 17_000.0)) == "0.15 [0.148, 17,000]"
    assert with_interval(0.15, None, "{:.0%}".format) == "15%"


def test_the_ends_of_an_interval_can_be_told_apart() -> None:
    assert with_interval(10.4328, (10.43261, 10.43299)) == "10.4328 [10.4326, 10.433]"
    assert with_interval(10.3999, (10.39952, 10.40031)) == "10.3999 [10.3995, 10.4003]"
    assert with_interval(10.4328, (10.42, 10.45)) == "10.43 [10.42, 10.45]"
    assert with_interval(2.5, (2.5, 2.5)) == "2.5 [2.5, 2.5]"
    assert with_interval(97_228.71, (97_228.7, 97_228.8)) == "97,230 [97,230, 97,230]"
