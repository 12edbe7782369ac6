"""Tables and curves of the exact solutions say what the numbers say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longfair.agents.fair_mdp.examples import cannot_be_fair, needs_randomness
from longfair.agents.fair_mdp.model import demographic_parity
from longfair.errors import UsageError
from longfair.papers.fairmdp import exact
from longfair.papers.fairmdp import exact_results as tidy
from longfair.runs.store import Store


@pytest.fixture(scope="module")
def numbers() -> Any:
    return tidy.stored(Store())


def test_a_store_without_the_numbers_says_what_computes_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"write_fairmdp_exact\.py --scale"):
        tidy.stored(Store(tmp_path))


def test_the_problem_is_that_of_the_presets() -> None:
    table = tidy.problem_table()
    assert table["share of applicants"].sum() == pytest.approx(1.0)
    alpha, beta = table.iloc[0][["belief about a stranger: alpha", "beta"]]
    assert table["chance of repayment"].iloc[0] == pytest.approx(alpha / (alpha + beta))
    # With the fitted beliefs the bank loses on the average applicant.
    assert tidy.average_chance() == pytest.approx(0.2929 * 0.7395 + 0.7071 * 0.8886, abs=1e-4)
    assert tidy.average_chance() < exact.break_even()


def test_the_program_names_the_situation_with_a_coin() -> None:
    table = tidy.solved("dp", (None, 0.1))
    assert table.index.tolist() == ["none", "0.1"]
    assert table["coin at"].tolist() == ["", "minority 6 / 3: 0.035".replace(" ", tidy.UNBROKEN)]
    assert table.loc["0.1", "gap"] == pytest.approx(0.1)
    opportunity = tidy.solved("eo", (0.1,))
    first, *_ = opportunity["coin at"].iloc[0].split("; ")
    assert first.replace(tidy.UNBROKEN, " ").startswith("minority 10 / 2: ")


def test_policies_keep_their_order_and_names(numbers: Any) -> None:
    table = tidy.policies_table(numbers)
    assert list(table.index) == list(tidy.POLICY_NAMES.values())
    assert list(exact.POLICIES) == list(tidy.POLICY_NAMES)
    assert table.loc["never lend", "profit"] == pytest.approx(0.0, abs=1e-9)
    assert table["profit"].max() == table.loc["best without constraint", "profit"]


def test_optima_by_tolerance(numbers: Any) -> None:
    table = tidy.optima_table(numbers)
    assert list(table.index) == ["0", "0.01", "0.025", "0.05", "0.1", "0.2", "none"]
    assert table["demographic parity", "as published"]["0.1"] == pytest.approx(10.41072, abs=6e-6)
    assert (table.diff().dropna() >= -1e-12).all(axis=None)
    prices = tidy.optima_table(numbers, "price")
    assert (prices.diff().dropna() <= 1e-12).all(axis=None)


def test_share_lost(numbers: Any) -> None:
    curves = tidy.share_lost(numbers, "episode")
    parity = curves["demographic parity, as published"]
    expected = 100 * (1 - (10.38589 - 9.999886) / (10.43301 - 9.999886))
    assert parity.iloc[0] == pytest.approx(expected, abs=0.01)
    assert curves.iloc[-1].to_numpy() == pytest.approx(0.0, abs=1e-9)
    assert (curves.diff().dropna() <= 1e-9).all(axis=None)
    assert curves["demographic parity, as coded"].max() < 0.05
    assert tidy.price_figure(numbers).data["demographic parity, as published"].tolist() == (
        parity.tolist()
    )
    assert len(tidy.share_lost(numbers, "finite").columns) == 2


def test_points_of_the_best_policies(numbers: Any) -> None:
    points = tidy.best_points(numbers, "dp", "discounted").set_index("method")
    assert points.loc["best", "bias"] == pytest.approx(0.1)
    assert points.loc["best", "reward"] == pytest.approx(10.41072 - 9.999886, abs=2e-5)
    assert points.loc["best-free", "bias"] == pytest.approx(0.264, abs=1e-4)


def test_cost_of_fairness_is_on_the_curve(numbers: Any) -> None:
    curve = tidy.share_lost(numbers, "episode")["demographic parity, as published"]
    cost = tidy.cost_of_fairness(numbers, "dp", "discounted", 0.1)
    assert 100 * cost == pytest.approx(curve.loc[0.1], abs=1e-5)
    assert tidy.cost_of_fairness(numbers, "eo", "as_coded", 0.1) < 1e-4


def test_rewards_without_the_offset() -> None:
    table = tidy.with_and_without_offset()
    assert table.loc["conservative", "without the offset"] == pytest.approx(0.000114, abs=1e-6)
    shares = table["share of the highest"]
    assert shares["Algorithm 2, demographic parity"] == pytest.approx(0.930, abs=5e-4)


def test_lending_over_time_adds_up_to_the_rates() -> None:
    found = exact.best_in_episode("dp", "as_coded", 0.1)
    course = tidy.lending_over_time(found.policy, "as_coded")
    assert course.shape == (51, 2)
    np.testing.assert_allclose(course.sum(axis=0) / 50, found.value.group_values, atol=1e-9)
    # The account is settled when it costs nothing any more.
    np.testing.assert_allclose(course[-1], [1.0, 0.0], atol=1e-6)


def test_under_the_measure_of_the_code_lending_parts_late() -> None:
    course = tidy.courses(0.1)
    assert course.shape == (51, 4)
    parted = tidy.decisions_as_without_constraint(course)
    assert 25 < parted < 50
    # As published the bank lends otherwise from the first decision on.
    first = course.iloc[0]
    difference = first["minority, gap as published"] - first["minority, gap as coded"]
    assert difference > tidy.PARTED


def test_coins_help_between_the_steps() -> None:
    problem = demographic_parity(needs_randomness())
    table = tidy.deterministic_and_stochastic(problem, [0.0, 0.25, 0.5])
    assert table["deterministic"].isna().tolist() == [True, True, False]
    np.testing.assert_allclose(table["stochastic"], [0.75, 0.875, 1.0], atol=1e-9)


def test_the_smallest_example_is_listed() -> None:
    table = tidy.deterministic_table(demographic_parity(needs_randomness()))
    assert table.loc["(1, 1)"].to_dict() == {
        "reward": 1.0,
        "value of group 0": 0.5,
        "value of group 1": 1.0,
        "gap": 0.5,
    }
    assert table["gap"].tolist() == [0.5] * 4


def test_best_policies_by_tolerance_toss_as_few_coins_as_they_must() -> None:
    table = tidy.best_by_tolerance(demographic_parity(needs_randomness()), (0.0, 0.25, None))
    assert table.index.tolist() == ["0", "0.25", "none"]
    np.testing.assert_allclose(table["reward"], [0.75, 0.875, 1.0], atol=1e-9)
    np.testing.assert_allclose(table["price of fairness"], [0.5, 0.5, 0.0], atol=1e-9)
    assert table["states with a coin"].tolist() == ["1", "1", "none"]


def test_smallest_gaps_with_and_without_coins() -> None:
    assert tidy.smallest_gaps(demographic_parity(needs_randomness())) == pytest.approx((0.0, 0.5))
    assert tidy.smallest_gaps(demographic_parity(cannot_be_fair())) == pytest.approx((1.0, 1.0))


def test_lines_begin_at_the_first_tolerance_that_is_kept() -> None:
    data = tidy.coins_figure(demographic_parity(needs_randomness()), points=56).data
    first = data.groupby("method")["step"].min()
    assert first["stochastic"] == pytest.approx(0.0, abs=1e-6)
    assert first["deterministic"] == pytest.approx(0.5, abs=1e-6)


def test_discretisations_with_the_same_numbers_count_once() -> None:
    row = {"profit_free": 1.0, "profit_fair": 0.9, "gap_free": 0.2, "discount": 0.9, "drift": 0.1}
    rows = [row, row | {"drift": 1.0, "gap_free": 0.200004}, row | {"profit_fair": 0.8}]
    found = tidy.distinct_discretisations({"discretisations": rows})
    assert found["profit_fair"].tolist() == [0.9, 0.8]


def test_printed_rewards_are_rounded() -> None:
    low, high = tidy.printed_loss()
    assert low == pytest.approx(0.02 / 0.42511, abs=1e-4)
    assert high == pytest.approx(0.04 / 0.43511, abs=1e-4)


def test_no_discretisation_gives_the_rewards_of_the_appendix(numbers: Any) -> None:
    """The largest of three errors stays far above rounding, for sums and normalised rewards."""
    ours = tidy.beside_appendix_g(numbers)
    gap, reward = ours.loc["gap without constraint"], ours.loc["reward without constraint"]
    assert round(gap["here"], 2) == gap["paper"]
    assert abs(reward["here"] - reward["paper"]) > 0.2
    cost = ours.loc["share of the profit that fairness costs"]
    assert cost["here"] > 5 * cost["paper"]
    table = tidy.closest_discretisations(numbers, count=5)
    assert table["largest error"].is_monotonic_increasing
    first = table.iloc[0]
    errors = [abs(first[column] - printed) for column, printed in tidy.APPENDIX_G.items()]
    assert first["largest error"] == pytest.approx(max(errors))
    assert first["largest error"] > 0.02
    same = [
        row
        for row in numbers["discretisations"]
        if row["bound"] == 30 and row["history"] == [7, 10]
        if row["discount"] == 0.8
    ]
    assert [row["profit_free"] for row in same] == pytest.approx([0.4331, 0.4331], abs=6e-5)


def test_solvers_that_were_not_tried_are_said_so() -> None:
    runs = [
        {"pairs": pairs, "problem": "loans", "solver": solver, "processor_seconds": 1.5}
        for pairs, solver in [
            (10, "linear program"),
            (10, "column generation"),
            (10, "duality"),
            (90, "column generation"),
            (90, "duality"),
        ]
    ]
    table = tidy.times(runs)
    assert table.loc[(90, "loans"), "linear program"] == "not tried"
    assert table.loc[(10, "loans"), "linear program"] == 1.5
