"""Tables of the searches and of the learners, read from a small store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import betabinom

from longfair.envs.loan_mdp import LoanMDPParams
from longfair.papers.fairmdp import cross_entropy_results as tidy
from longfair.papers.fairmdp import exploration_results
from longfair.papers.fairmdp.cross_entropy import FIGURE1
from longfair.papers.fairmdp.exploration import EXPLORATION
from longfair.papers.live import LIVE
from longfair.papers.page import NOT_STORED, Runs

QUANTITIES = {"reward": 10.4, "profit": 0.4, "gap_dp": 0.1, "gap_dp_discounted": 0.08,
              "gap_eo": 0.07, "gap_eo_discounted": 0.06, "share_fair": 0.5}  # fmt: skip


def run(method: str, variant: str, seed: int, values: Mapping[str, float]) -> pd.DataFrame:
    frame = pd.DataFrame({"metric": list(values), "value": list(values.values())})
    return frame.assign(
        paper="fairmdp", experiment=FIGURE1.id, profile="book", method=method, variant=variant,
        seed=seed, phase="final", step=80, group=-1,
    )  # fmt: skip


def searches() -> pd.DataFrame:
    """Three searches of Algorithm 2, of which the last one collapsed."""
    good = [run("cce-dp", "as_coded", seed, QUANTITIES) for seed in (0, 1)]
    bad = dict.fromkeys(QUANTITIES, 0.0) | {"reward": 10.0, "profit": -2e-7, "share_fair": 1.0}
    return pd.concat([*good, run("cce-dp", "as_coded", 2, bad)], ignore_index=True)


def shown(results: pd.DataFrame) -> Runs:
    return Runs(FIGURE1, "book", tidy.LOOK).showing(results)


def test_summary_counts_the_searches_that_hardly_lend() -> None:
    row = tidy.summary(searches()).loc[("cce-dp", "as_coded")]
    assert row["hardly lend"] == "1 of 3"
    assert row["profit"] == "0.400"
    assert row["range"] == "0.000 to 0.400"
    assert row["fair in the last population"] == "67%"
    alone = tidy.summary(searches().query("seed == 2")).loc[("cce-dp", "as_coded")]
    assert alone["profit"] == "0.000"
    assert alone["gap"] == "0.000"


def test_figure_1_stands_beside_what_is_printed() -> None:
    table = tidy.beside_the_paper(shown(searches()))
    assert isinstance(table, pd.DataFrame)
    line = table.loc[("Algorithm 2, parity", "reward")]
    assert line["printed"] == "10.40"
    assert line["as coded"].startswith("10.267 [")
    ranges = tidy.beside_the_paper(shown(searches()), ranges=True)
    assert isinstance(ranges, pd.DataFrame)
    assert ranges.loc[("Algorithm 2, parity", "reward"), "as coded"] == "10.000 to 10.400"
    assert table.loc[("Algorithm 2, parity", "parity gap"), "as coded"].startswith("0.067 [")
    assert table.loc[("race-blind", "reward"), "as coded"] == ""


def test_as_published_the_gap_is_discounted() -> None:
    results = run("cce-dp", "as_published", 0, QUANTITIES)
    table = tidy.beside_the_paper(shown(results))
    assert isinstance(table, pd.DataFrame)
    assert table.loc[("Algorithm 2, parity", "parity gap"), "as published"] == "0.080"
    both = pd.concat([results, run("cce-dp", "as_coded", 0, QUANTITIES)], ignore_index=True)
    rows = tidy.by_tolerance(both).set_index("variant")
    assert rows["tolerance"].unique().tolist() == [0.1]
    assert rows["gap"].to_dict() == {"as_coded": 0.1, "as_published": 0.08}


def test_tolerances_come_from_the_names_of_the_methods() -> None:
    rows = pd.concat(
        [
            run(f"cce-dp{ending}", "as_coded", 0, QUANTITIES | {"gap_dp": tolerance})
            for tolerance, (_, ending) in tidy.TOLERANCES.items()
        ]
    )
    table = tidy.by_tolerance(rows)
    assert table["gap"].tolist() == table["tolerance"].tolist() == [0.025, 0.05, 0.1, 0.2]
    assert set(table["method"]) == {"cce-dp"}


def test_the_check_is_shown_for_methods_with_a_constraint() -> None:
    values = {"share_passing": 0.5, "share_passing_unfair": 0.1, "share_fair": 0.4,
              "returned_passes": 1.0}  # fmt: skip
    rows = pd.concat(
        [
            run(method, variant, 0, values)
            for method, variant in [
                ("race-blind", "as_published"),
                ("cce-dp", "as_published"),
                ("cce-dp", "as_coded"),
                ("optimistic-dp", "as_published"),
            ]
        ]
    )
    table = tidy.checked_policies(rows)
    assert table.index.tolist() == ["cce-dp", "optimistic-dp"]
    assert table.loc["cce-dp", "pass and are unfair"] == 0.1
    written = tidy.checked(shown(rows))
    assert isinstance(written, pd.DataFrame)
    assert written.loc["Algorithm 2, parity", "pass and are unfair"] == "10.0%"
    assert str(tidy.checked(shown(rows.iloc[:0]))).startswith("These runs are not stored yet")


CORNERS = [
    {"problem": problem, "notion": notion, "rates": rates, "gap": gap, "profit": 0.4 + gap}
    for problem in ("episode", "finite")
    for notion in ("dp", "eo")
    for rates in ("as_coded", "discounted")
    for gap in (0.2, 0.1)
]
OPTIMA = [
    {"notion": notion, "rates": rates, "tolerance": tolerance, "profit": profit, "gap": gap}
    for notion in ("dp", "eo")
    for rates in ("as_coded", "discounted")
    for tolerance, profit, gap in ((0.1, 0.5, 0.1), (None, 0.6, 0.2))
]
NUMBERS = {"frontiers": CORNERS, "optima": OPTIMA}


def test_frontier_of_one_notion_and_gap() -> None:
    found = tidy.frontier(NUMBERS, "dp", "discounted")
    assert found["gap"].tolist() == [0.1, 0.2]


def test_searches_stand_beside_the_best_policies_and_under_the_frontier() -> None:
    results = pd.concat(
        [searches(), run("race-blind", "as_coded", 0, QUANTITIES | {"gap_dp": 0.4})]
    )
    figure = tidy.scatter(shown(results), NUMBERS, "dp", "as_coded")
    assert figure is not None
    assert (
        "Reference best within 0.1: gap in lending rates 0.1, profit of an episode 0.5."
        in figure.alt_text
    )
    assert "from 0.500 at a gap of 0.100 to 0.600 at 0.200" in figure.alt_text
    (line,) = [one for one in figure.figure.axes[0].lines if len(one.get_xydata()) == 2]
    assert line.get_xdata() == pytest.approx([0.1, 0.2])
    assert set(figure.data["method"]) == {"race-blind", "cce-dp", "best", "best-free"}
    assert tidy.scatter(shown(results), NUMBERS, "dp", "as_published") is None


def test_tolerances_have_the_bar_that_they_set() -> None:
    rows = pd.concat(
        [
            run(f"cce-dp{ending}", "as_coded", seed, QUANTITIES | {"gap_dp": tolerance})
            for tolerance, (_, ending) in tidy.TOLERANCES.items()
            for seed in (0, 1)
        ]
    )
    one, sweep = (shown(rows[(rows["method"] == "cce-dp") == alone]) for alone in (True, False))
    gap = tidy.against_tolerance(one, sweep, NUMBERS, "gap", "as_coded")
    assert gap is not None
    assert "median, no interval, 2 seeds" in gap.alt_text
    assert "the tolerance goes from 0.025 to 0.2" in gap.alt_text
    profit = tidy.against_tolerance(one, sweep, NUMBERS, "profit", "as_coded")
    assert profit is not None
    assert "best within the tolerance goes from 0.5 to 0.6" in profit.alt_text
    assert tidy.against_tolerance(one, sweep, NUMBERS, "gap", "as_published") is None


def test_searches_are_counted_in_words() -> None:
    runs = shown(searches())
    assert tidy.kept(runs, "cce-dp", "as_coded") == "3 of 3 searches"
    high = shown(run("cce-dp", "as_coded", 0, QUANTITIES | {"gap_dp": 0.11}))
    assert tidy.kept(high, "cce-dp", "as_coded") == "0 of 1 searches"
    assert tidy.kept(high, "cce-dp", "as_coded", tolerance=0.2) == "1 of 1 searches"
    assert tidy.kept(high, "cce-eo", "as_coded", "eo") == NOT_STORED
    tight = searches().assign(method="cce-dp-0050")
    assert tidy.tight_searches_that_hardly_lend(shown(tight)) == "as coded, 1 of 3"


def test_returned_policies_are_counted_beside_the_elites() -> None:
    values = QUANTITIES | {"gap_dp_returned": 0.12, "gap_dp_population": 0.11}
    rows = [
        run("cce-dp", "as_coded", seed, values | {"gap_dp_returned": gap})
        for seed, gap in enumerate((0.12, 0.09))
    ]
    runs = shown(pd.concat(rows, ignore_index=True))
    assert tidy.kept(runs, "cce-dp", "as_coded") == "2 of 2 searches"
    assert tidy.kept(runs, "cce-dp", "as_coded", returned=True) == "1 of 2 searches"
    assert tidy.largest_disagreement(runs, "as_coded") == pytest.approx(0.02)
    assert np.isnan(tidy.largest_disagreement(runs, "as_published"))
    assert tidy.range_of_gaps(runs, "cce-dp", "as_coded") == "0.100 to 0.100"
    assert tidy.range_of_gaps(runs, "cce-dp", "as_published") == NOT_STORED
    published = shown(run("cce-dp", "as_published", 0, values | {"returned_passes": 1.0}))
    assert tidy.median_gap_as_coded(published, "cce-dp") == "0.100"
    assert tidy.median_gap_as_coded(runs, "cce-dp") == NOT_STORED
    assert tidy.passing(published, "cce-dp") == "1 of 1 searches"
    assert tidy.passing(runs, "cce-dp") == NOT_STORED


def test_seeming_cost_compares_the_searches_in_the_middle() -> None:
    blind = [run("race-blind", "as_coded", seed, QUANTITIES | {"profit": 0.5}) for seed in (0, 1)]
    assert tidy.seeming_cost(shown(pd.concat([searches(), *blind])), "as_coded") == pytest.approx(
        1 - 0.4 / 0.5
    )


def test_ends_have_names_or_say_what_makes_them() -> None:
    table = tidy.ends(shown(searches()))
    assert isinstance(table, pd.DataFrame)
    assert table.index.tolist() == [("Algorithm 2, parity", "as coded")]
    few = tidy.ends(shown(searches()), "hardly lend")
    assert isinstance(few, pd.DataFrame)
    assert few.to_numpy().tolist() == [["1 of 3"]]
    assert "longfair run fairmdp/figure1" in str(tidy.ends(shown(searches().iloc[:0])))


def test_who_lends_with_one_chance_has_no_gap_and_may_lose() -> None:
    table = tidy.constant_lenders((0.0, 1.0))
    gaps = table.filter(like="gap_").to_numpy()
    np.testing.assert_allclose(gaps, 0.0, atol=1e-12)
    assert table.loc[0.0, "profit"] == 0.0
    assert table.loc[1.0, "profit"] == pytest.approx(-0.0583, abs=1e-4)


def test_live_searches_stop_early() -> None:
    table = tidy.live(1000, 1, ["race-blind", "cce-dp"])
    assert table["step"].max() == 1
    assert set(table["method"]) == {"race-blind", "cce-dp"}
    assert set(table["variant"]) == {LIVE}


def test_learners_are_summarised() -> None:
    values = {"regret": 50.0, "regret_exploring": 48.0, "slope_ratio": 0.01, "gap_largest": 0.11,
              "fair": 0.0}  # fmt: skip
    fair = values | {"gap_largest": 0.09, "fair": 1.0}
    rows = pd.concat(
        [run("explore-commit", "as_published", seed, v) for seed, v in enumerate((values, fair))]
    )
    line = exploration_results.summary(rows, "as_published").loc["explore 100, commit"]
    assert line["always fair"] == "1 of 2"
    assert line["largest gap"] == "0.090 to 0.110"
    assert line["while exploring"] == "48.0"


def explorers(results: pd.DataFrame) -> Runs:
    return Runs(EXPLORATION, "book", exploration_results.LOOK).showing(results)


def regrets(method: str, seed: int, slope: float) -> pd.DataFrame:
    steps = [0, 500, 1000]
    frame = pd.DataFrame({"step": steps, "value": [slope * step for step in steps]})
    return frame.assign(
        method=method, variant="as_published", seed=seed, phase="curve", metric="regret", group=-1
    )


def test_the_coins_line_leaves_the_picture() -> None:
    rows = pd.concat(
        [
            regrets(method, seed, slope)
            for method, slope in [
                ("coin", 6.0),
                ("explore-commit", 0.6),
                ("explore-commit-030", 0.2),
            ]
            for seed in (0, 1, 2)
        ]
    )
    figure = exploration_results.regret_figure(explorers(rows), "as_published", 1000.0)
    assert figure is not None
    lines = figure.figure.axes[0].lines
    assert [max(line.get_xdata()) for line in lines] == [0, 1000]
    assert set(figure.data["method"]) == {"coin", "explore-commit"}
    assert "mean and 95 % interval, 3 seeds" in figure.alt_text
    assert exploration_results.regret_figure(explorers(rows), "as_coded", 1000.0) is None


def test_fair_banks_are_counted() -> None:
    values = {"fair": 1.0, "gap_largest": 0.09}
    unfair = {"fair": 0.0, "gap_largest": 0.12}
    rows = pd.concat(
        [run("explore-commit", "as_published", seed, v) for seed, v in enumerate((values, unfair))]
    )
    runs = explorers(rows)
    found = exploration_results.always_fair(runs, "explore-commit", "as_published")
    assert found == "1 of 2 banks"
    assert exploration_results.largest_gap(runs, "explore-commit", "as_published") == 0.12
    assert exploration_results.always_fair(runs, "coin", "as_published") == NOT_STORED


def test_distance_from_the_tolerance_is_that_of_single_runs() -> None:
    rows = pd.concat(
        [
            run(method, "as_published", seed, {"regret": 10.0 * episodes, "gap_largest": gap})
            for episodes, method in exploration_results.LENGTHS.items()
            for seed, gap in enumerate((0.09, 0.13))
        ]
    )
    table = exploration_results.by_exploration(explorers(rows))
    assert isinstance(table, pd.DataFrame)
    line = table.loc[("as published", 30)]
    assert line["regret"] == 300.0
    assert line["distance of gap from tolerance"] == pytest.approx(0.02)
    assert table.loc[("as coded", 30)].isna().all()
    assert "longfair run" in str(exploration_results.by_exploration(explorers(rows.iloc[:0])))


def test_banks_that_explore_more_estimate_better() -> None:
    few, many = (exploration_results.explored([1000, 1001], episodes) for episodes in (20, 2000))
    truth = few.loc["truth"]
    assert truth["majority, beta"] == pytest.approx(0.1901, abs=1e-4)
    chance = [
        table["minority, alpha"] / (table["minority, alpha"] + table["minority, beta"])
        for table in (few, many)
    ]
    errors = [(found.drop("truth") - found["truth"]).abs().mean() for found in chance]
    assert errors[1] < errors[0]


def test_banks_that_commit_are_measured_in_the_true_problem() -> None:
    table = exploration_results.committed_banks([1000])
    line = table.loc["bank 1000"]
    assert line["best fair reward"] == pytest.approx(10.41072, abs=1e-5)
    # It plans for the tolerance in the estimated problem, so in the true one it is somewhere near.
    assert 0.0 < abs(line["gap (tolerance 0.1)"] - 0.1) < 0.02


def test_learners_that_never_ran_are_said_so() -> None:
    runs = explorers(run("coin", "as_published", 0, {"fair": 1.0}).iloc[:0])
    assert "fairmdp/exploration" in str(exploration_results.ends(runs, "as_published"))


def test_bound_says_nothing_about_the_loan_problem() -> None:
    found = exploration_results.bound(replace(LoanMDPParams.fico(), discount=1.0, episode_length=6))
    # Rarest are situations after a loan in each of the five steps before the last: nothing has
    # drifted, so the number repaid is beta-binomial, and the coin takes an action in the sixth.
    params = LoanMDPParams.fico()
    rarest = min(
        share * betabinom.pmf(np.arange(loans + 6), loans + 5, *prior).min()
        for share, loans, prior in zip(
            params.group_probability, params.exploration, params.prior, strict=True
        )
    )
    assert found.least == pytest.approx(rarest * 0.5**5 * 0.5 / 6)
    assert found.required > 1e11
    assert found.trivial == pytest.approx(12.0)
    assert found.regret[100] == pytest.approx(1200.0)
    assert np.diff(found.regret)[100:] == pytest.approx(2 * found.value_error)
    assert found.value_error > 1000 * found.trivial


def test_the_bound_stands_beside_the_regret() -> None:
    runs = explorers(run("explore-commit", "as_published", 0, {"regret": 629.0}))
    table = exploration_results.bound_table(runs)["loan problem"]
    assert table["regret of the banks that explore 100 and commit"] == "629"
    assert table["largest regret there can be"] == "102,000"
    none = exploration_results.bound_table(explorers(runs.results.iloc[:0]))["loan problem"]
    assert none["regret of the banks that explore 100 and commit"] == NOT_STORED
    assert table["bound on the regret of 1,000 episodes"] == "1.8·10²¹"


def test_cost_of_no_runs_is_said_so() -> None:
    none = [shown(searches().iloc[:0])]
    for words in (tidy.cost_in_words(none, [FIGURE1]), tidy.cost_of_runs(*none)):
        assert str(words).startswith("These runs are not stored yet")


def test_cost_in_words_counts_the_stored_runs() -> None:
    stored = Runs(FIGURE1, "book"), Runs(EXPLORATION, "book")
    counts = [len(runs.provenance()) for runs in stored]
    text = str(tidy.cost_in_words(stored, [FIGURE1]))
    assert text.startswith(f"The {counts[0]} runs behind the figures of the paper took ")
    assert f"these are {sum(counts)} runs and " in text


def test_cost_is_summed_by_experiment() -> None:
    runs = pd.DataFrame(
        {
            "experiment": ["fairmdp/a", "fairmdp/a", "fairmdp/a", "fairmdp/b"],
            "core_seconds": [30.0, 60.0, 90.0, 12.0],
        }
    )
    table = tidy.cost_of_experiments(runs)
    assert table["runs"].tolist() == [3, 1]
    assert table["core seconds, median run"].tolist() == [60.0, 12.0]
    assert table["core minutes in all"].tolist() == [3.0, 0.2]
