"""What ELBERT's pages read from stored runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from longfair.figures import Words
from longfair.metrics import two_trajectories
from longfair.papers import registry
from longfair.papers.elbert import ablations_results as ablations
from longfair.papers.elbert import histories
from longfair.papers.elbert import lending_results as lending
from longfair.papers.elbert import notions_results as notions
from longfair.papers.elbert import world_results as worlds
from longfair.papers.page import Look, Runs
from longfair.runs.tidy import middles
from longfair.runs.verdicts import Verdict

ATTENTION = registry.experiment("elbert/attention-harder")
LENDING = registry.experiment("elbert/lending")
COLUMNS = ["method", "variant", "seed", "phase", "step", "metric", "group", "value"]


def results_of(values: dict[tuple[str, str], list[dict[tuple[str, int], float]]]) -> pd.DataFrame:
    """Final values: arm to one mapping of metric and group to value per seed."""
    rows = [
        (*arm, seed, "final", 10, metric, group, value)
        for arm, seeds in values.items()
        for seed, measured in enumerate(seeds)
        for (metric, group), value in measured.items()
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def runs_of(experiment: str, results: pd.DataFrame, look: Look | None = None) -> Runs:
    return Runs(registry.experiment(experiment), "book", look or Look()).showing(results)


def sites(reward: float, worst: float, first: float = 1.0) -> dict[tuple[str, int], float]:
    return {
        ("reward", -1): reward,
        ("bias", -1): 0.1,
        ("disadvantaged_demand", -1): worst,
        ("demand", 0): first,
        ("demand", 1): 2.0,
    }


SITES = results_of(
    {
        ("elbert-po", "as_coded"): [sites(-2, 5), sites(-2, 6), sites(-90, 200)],
        ("gaussian", "reference"): [sites(-4, 20, 8.0)],
    }
)
HARDER = runs_of("elbert/attention-harder", SITES, worlds.ATTENTION)
EMPTY = runs_of("elbert/attention-harder", SITES.iloc[:0], worlds.ATTENTION)


def test_lost_sites_are_counted_in_tables_and_sentences() -> None:
    table = worlds.lost_table(HARDER)
    assert isinstance(table, pd.DataFrame)
    assert table.loc["ELBERT-PO", "lost"] == 1
    assert worlds.lost_in_words(SITES, "elbert-po") == "1 of 3 runs loses a site"
    assert worlds.lost_in_words(SITES, "elbert-po", "as_published").startswith("No runs")
    assert worlds.lost_in_words(SITES, "g-ppo").startswith("No runs")


def test_the_run_with_the_least_bias_is_shown_with_what_it_costs() -> None:
    def of(bias: float, reward: float, best: float) -> dict[tuple[str, int], float]:
        rates = {("rate", -1): 0.9, ("rate", 0): 0.001, ("rate", 1): best}
        return {("reward", -1): reward, ("bias_exact", -1): bias, **rates}

    rows = {("elbert-po", "as_published"): [of(0.05, -2, 0.5), of(0.01, -233, 0.012)]}
    runs = runs_of("elbert/attention-harder", results_of(rows))
    found = worlds.fairest_run(runs, "elbert-po", "as_published")
    assert found is not None
    assert found.to_dict() == {"bias": 0.01, "reward": -233, "best_rate": 0.012}
    assert worlds.fairest_run(runs, "elbert-po", "as_coded") is None


def test_demands_stand_by_site_and_summed() -> None:
    table = worlds.demand_by_site(HARDER)
    assert isinstance(table, pd.DataFrame)
    assert table.loc["at random"].tolist() == [8.0, 2.0]
    assert table.loc["ELBERT-PO"].tolist() == [1.0, 2.0]
    summed = worlds.summed_over_groups(SITES, "demand")
    assert summed["elbert-po", "as_coded"] == "3.00 [3.00, 3.00]"
    assert summed["gaussian", "reference"] == "10.00"


def many(rewards: list[float], biases: list[float]) -> list[dict[tuple[str, int], float]]:
    """One run for every pair of a reward and a bias."""
    return [
        {("reward", -1): reward, ("bias", -1): bias}
        for reward, bias in zip(rewards, biases, strict=True)
    ]


KEPT, LOST = [-2.1, -2.2, -2.3, -2.4, -2.5, -2.6], [-200.0, -150.0, -180.0]
APART = results_of(
    {
        ("elbert-po", "as_coded"): many(KEPT + LOST, [0.04] * 6 + [0.5] * 3),
        ("g-ppo", "as_coded"): many([-2.25, -2.5] * 4 + [-2.4], [0.3] * 9),
    }
)


def test_runs_of_two_kinds_stand_beside_the_poster_without_a_mean() -> None:
    runs = runs_of("elbert/attention-harder", APART, worlds.ATTENTION_HARDER)
    table = worlds.both_beside_poster(runs, EMPTY).set_index("metric", append=True)
    row = table.loc["book", "ELBERT-PO", "reward"]
    assert row["runs"] == "-2.500 (-200.000 to -2.100), two kinds"
    assert (row["agrees"], row["poster"]) == ("two kinds", -2.303)
    assert table.loc["book", "G-PPO", "reward"]["agrees"] == "yes"
    numbers = worlds.beside_poster(
        APART, worlds.POSTER["attention-harder"], worlds.READING_ERROR["attention-harder"]
    )
    middle = numbers[(numbers["method"] == "elbert-po") & (numbers["metric"] == "reward")]
    assert middle[["value", "low", "high"]].to_numpy().tolist() == [[-2.5, -200.0, -2.1]]


def test_a_single_run_neither_agrees_with_the_poster_nor_disagrees() -> None:
    one = results_of({("g-ppo", "as_coded"): many([-2.4], [0.3])})
    table = worlds.both_beside_poster(runs_of("elbert/attention-harder", one), EMPTY)
    assert table["agrees"].tolist() == ["one run", "one run"]
    assert table["runs"].tolist() == ["-2.400", "0.300"]


def test_a_method_is_the_best_of_a_run_in_bias_and_reward_at_once() -> None:
    runs = runs_of("elbert/attention-harder", APART)
    assert worlds.best_in_words(runs) == "3 of 9 runs"
    assert worlds.best_in_words(EMPTY) == "(not stored)"
    assert worlds.how_many(runs, "elbert-po") == "9 runs"
    single = results_of({("elbert-po", "as_coded"): many([-2.4], [0.3])})
    assert worlds.how_many(runs_of("elbert/attention-harder", single), "elbert-po") == "one run"
    assert worlds.how_many(EMPTY, "elbert-po") == "0 runs"


def test_wasted_vaccines_are_counted_by_hundreds() -> None:
    def vaccines(wasted: float) -> dict[tuple[str, int], float]:
        return {("wasted", -1): wasted, ("supply", 0): 0.3, ("supply", 1): 0.5}

    shares = [0.2, 0.24, 0.28]
    results = results_of({("g-ppo", "as_coded"): [vaccines(share) for share in shares]})
    table = worlds.wasted_table(runs_of("elbert/infectious-harder", results))
    assert isinstance(table, pd.DataFrame)
    assert table.loc[("G-PPO", "as coded")].item().startswith("30 [")
    medians = worlds.wasted_table(
        runs_of("elbert/infectious-harder", results, worlds.INFECTIOUS_APART)
    )
    assert isinstance(medians, pd.DataFrame)
    assert medians.loc[("G-PPO", "as coded")].item() == "30 (25 to 35)"


def test_a_verdict_is_told_with_its_number() -> None:
    claim = registry.select_claims(["elbert-trade-off-static"])[0]
    told = Verdict(claim, "as_coded", "code", "paper", "authors", "reproduced", 0.0738)
    assert worlds.verdict_in_words([told], claim.id, measure="code") == "*yes*, 0.074"
    whole = replace(told, interval=(0.0172, 0.1319))
    words = worlds.verdict_in_words([whole], claim.id, measure="code")
    assert words == "*yes*, 0.074 [0.017, 0.132]"
    without = replace(told, estimate=None)
    assert worlds.verdict_in_words([without], claim.id, measure="code") == "*yes*"
    assert worlds.verdict_in_words([told], claim.id, "ours", measure="code") == "*not judged*"


def test_without_runs_tables_name_the_command() -> None:
    for found in (
        worlds.lost_table(EMPTY),
        worlds.demand_by_site(EMPTY),
        worlds.wasted_table(EMPTY),
        worlds.span_beside(EMPTY, EMPTY, ["reward"]),
    ):
        assert isinstance(found, Words)
        assert "longfair run elbert/attention-harder" in found.text
    assert worlds.both_beside_poster(EMPTY, EMPTY).empty
    assert ablations.added_one([EMPTY]).empty


def test_the_last_evaluations_are_averaged_as_on_the_poster() -> None:
    rows = [
        ("elbert-po", "as_coded", seed, "curve", step, "bias", -1, 0.1 * (step > 3) + 0.01 * seed)
        for seed in (0, 1)
        for step in range(3 + worlds.LAST + 1)
    ]
    runs = runs_of("elbert/attention-harder", pd.DataFrame(rows, columns=COLUMNS))
    assert worlds.late_in_words(runs, "bias") == "0.105"
    found = worlds.late_in_words(runs, "bias", span=True)
    assert found == "0.105 (single evaluations from 0.100 to 0.110)"
    assert worlds.late_in_words(EMPTY, "bias") == "(not stored)"


def test_a_difference_in_one_group_is_that_of_its_own_numbers() -> None:
    arms = ("gaussian", "reference"), ("elbert-po", "as_coded")
    runs = runs_of("elbert/attention-harder", SITES)
    assert worlds.less_in_group(runs, "demand", 0, *arms).startswith("7.000")
    assert worlds.less_in_group(EMPTY, "demand", 0, *arms) == "(not stored)"


def test_a_single_run_stands_beside_the_span_of_ours() -> None:
    ours = runs_of("elbert/attention-harder", SITES)
    single = runs_of(
        "elbert/attention-harder", results_of({("elbert-po", "as_coded"): [sites(-3, 5)]})
    )
    table = worlds.span_beside(ours, single, ["reward"])
    assert isinstance(table, pd.DataFrame)
    assert table.loc["ELBERT-PO", "reward"].tolist() == [-90, -2, -3]


def test_forms_have_short_names_and_styles_of_their_own() -> None:
    experiment = registry.experiment("elbert/details-lending")
    look = ablations.look_of_forms(experiment, "book")
    assert look.names["elbert-po-raw"] == "raw"
    assert look.names["g-ppo-separate"] == "G-PPO, separate"
    assert look.names["elbert-po"] == "ELBERT-PO"
    styles = [look.all_styles[method] for method in experiment.methods("book")]
    assert len({(style.colour, style.marker) for style in styles}) == len(styles)
    assert look.logarithmic_beyond == {}
    weights = ablations.look_of_forms(registry.experiment("elbert/alpha-lending"), "book")
    assert [style.label for style in weights.styles.values()][-1] == "alpha 2,000,000"
    harder = ablations.look_of_forms(registry.experiment("elbert/beta-attention-harder"), "book")
    assert harder.logarithmic_beyond == {"reward": -3.0}


def test_changes_are_differences_from_the_code() -> None:
    values = {
        ("elbert-po", "as_coded"): [{("reward", -1): 1.0}, {("reward", -1): 2.0}],
        ("elbert-po-raw", "as_coded"): [{("reward", -1): 1.5}, {("reward", -1): 2.5}],
    }
    experiment = registry.experiment("elbert/details-lending")
    runs = runs_of(experiment.id, results_of(values), ablations.look_of_forms(experiment, "book"))
    table = ablations.changes_of_forms(runs, {"reward": ("reward", 1)})
    assert isinstance(table, pd.DataFrame)
    assert table["reward"].to_dict() == {"raw": "+0.5 [+0.5, +0.5]"}
    ranges = ablations.ranges_of_changes(runs, {"reward": ("reward", 1)})
    assert isinstance(ranges, pd.DataFrame)
    assert ranges["reward"].to_dict() == {"raw": "+0.5 (+0.5 to +0.5)"}
    assert isinstance(ablations.ranges_of_changes(runs.only(), {"reward": ("reward", 1)}), Words)
    assert "raw" in ablations.meanings(runs).index


def lender(reward: float, demand: float) -> dict[tuple[str, int], float]:
    return {("reward", -1): reward, ("bias", -1): 0.0, ("demand", 0): 0.9, ("demand", 1): demand}


def test_lost_demand_is_measured_from_the_lender_who_refuses_all() -> None:
    learned = results_of({("elbert-po-demand-0", "as_coded"): [lender(0.2, 0.18)] * 2})
    played = results_of(
        {
            ("reject-all", "reference"): [lender(0.0, 0.25)],
            ("threshold-2-1", "reference"): [lender(0.18, 0.20)],
        }
    )
    runs = notions.with_demand(runs_of("elbert/demand-lending", learned, notions.DEMAND_LOOK))
    lenders = notions.with_demand(runs_of("elbert/lending", played))
    figure = notions.demand_lost(runs, lenders, ["reject-all", "threshold-2-1"])
    assert figure is not None
    assert figure.data["bias"].tolist() == pytest.approx([0.07, 0.07, 0.0, 0.05])
    assert notions.demand_lost(lenders.only(), lenders, []) is None


def test_notions_are_parted_by_the_length_of_their_evaluation() -> None:
    values = {
        (f"elbert-po-equalised-odds{end}", "as_coded"): [lender(0.1, 0.2)] for end in ("", "-short")
    }
    runs = runs_of("elbert/notions-lending", results_of(values), notions.NOTIONS_LOOK)
    long, short = notions.by_length(runs)
    assert set(long.results["method"]) == {"elbert-po-equalised-odds"}
    assert set(short.results["method"]) == {"elbert-po-equalised-odds-short"}


def rates(reward: float, bias: float) -> dict[tuple[str, int], float]:
    return {("reward", -1): reward, ("bias", -1): bias} | {
        (metric, group): 0.5 for metric in lending.PANELS for group in (0, 1)
    }


def test_the_poster_stands_beside_our_runs_and_lenders_below() -> None:
    values = {
        ("g-ppo", "as_coded"): [rates(0.15, 0.16), rates(0.15, 0.14), rates(0.15, 0.12)],
        ("threshold-2-1", "reference"): [rates(0.18, 0.02)],
    }
    runs = runs_of("elbert/lending", results_of(values), lending.LOOK)
    table = lending.poster_table(runs, "ours", ["threshold-2-1"])
    assert table.loc["threshold 2 / 1", ("bias", "ours")] == "0.020"
    assert table.loc["threshold 2 / 1", ("bias", "poster, end")] == ""
    assert table.loc["G-PPO", ("reward", "poster, end")] == "0.148"
    assert lending.poster_table(runs.only("threshold-2-1"), "ours").empty
    bars = lending.group_bars(runs, "as_coded")
    assert bars is not None
    assert set(bars.data["method"]) == {"g-ppo", "threshold-2-1"}
    assert lending.group_bars(runs, "as_published") is None
    assert lending.poster_in_words(runs) == (
        "Of the 2 numbers at two million steps of the authors' curves, 2 lie within the "
        "intervals, widened by the reading error; of those at the end, 2."
    )
    assert lending.biases_beside_poster(runs) == "G-PPO 0.140 [0.090, 0.190] beside 0.150"
    bands = lending.bands(runs, ["g-ppo", "r-ppo"])
    assert list(bands.index) == ["G-PPO, reward", "G-PPO, bias"]
    assert bands.loc["G-PPO, bias", "3 runs"] == "0.1600, 0.1400, 0.1200"


def test_settings_show_only_what_differs() -> None:
    table = lending.settings_table()
    assert "copies" in table.index
    assert "discount" not in table.index
    assert np.all(table.nunique(axis=1) == 2)


def test_a_median_is_the_value_of_a_run_and_has_no_interval() -> None:
    assert worlds.ATTENTION_HARDER.median
    rows = SITES[(SITES["metric"] == "reward") & (SITES["method"] == "elbert-po")]
    (row,) = middles(rows, ["method"], median=True).to_dict("records")
    assert (row["value"], row["low"], row["high"]) == (-2, -2, -2)
    assert middles(rows, ["method"], median=False)["value"].item() == pytest.approx(-94 / 3)
    figure = HARDER.showing(SITES[SITES["metric"].isin(["reward", "bias"])])
    drawn = Runs(HARDER.experiment, "book", worlds.ATTENTION_HARDER).showing(figure.results)
    shown = drawn.scatter_figure("as_coded")
    assert shown is not None
    assert "median, no interval, 3 seeds" in shown.alt_text


def test_forms_of_other_pages_keep_their_styles() -> None:
    look = ablations.look_of_forms(registry.experiment("elbert/details-attention-harder"), "book")
    assert not {"elbert-po", "g-ppo"} & set(look.styles)
    assert look.median
    epidemic = registry.experiment("elbert/details-infectious-harder")
    assert ablations.look_of_forms(epidemic, "book").median


def test_the_best_weights_are_named_after_what_they_are_best_for() -> None:
    original, harder = worlds.ATTENTION.names, worlds.ATTENTION_HARDER.names
    assert original["static-optimum"] == "weights for the objective"
    assert harder["static-optimum"] == "weights for both"


def test_the_added_one_is_told_by_method() -> None:
    values = {
        ("elbert-po", "as_coded"): [{("bias", -1): 0.04, ("bias_exact", -1): 0.01}],
        ("g-ppo", "as_coded"): [{("bias", -1): 1.2, ("bias_exact", -1): 1.3}],
        ("g-ppo", "as_published"): [{("bias", -1): 1.0, ("bias_exact", -1): 9.0}],
    }
    table = ablations.added_one([runs_of("elbert/infectious-harder", results_of(values))])
    assert table.loc["infectious, harder"].to_dict() == {"ELBERT-PO": "-0.0300", "G-PPO": "0.1000"}


def test_small_histories_are_told_apart_by_sums_of_rates_only() -> None:
    pair = two_trajectories(crowd=5)
    table = histories.as_table(pair)
    assert table.groupby(["trajectory", "group"])[["supply", "demand"]].sum().nunique().max() == 2
    first, second = (histories.three_notions(one.supply, one.demand) for one in pair)
    assert first["squared sum"] == 0 < second["squared sum"]
    assert first["ELBERT bias"] == second["ELBERT bias"] == pytest.approx(4 / 6)
    assert histories.described(np.array([1, 2]), np.array([2, 4])) == ["1/2", "2/4", 3, "50%"]
