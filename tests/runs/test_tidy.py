"""Stored results as tables, on made-up results whose answers are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from toy_experiment import provenance_of, toy_experiment, toy_table

from longfair.runs import tidy
from longfair.runs.experiment import Run, plan
from longfair.runs.keys import key_in
from longfair.runs.statistics import Estimate, estimate, paired_difference
from longfair.runs.store import Store

TOY = toy_experiment()
OTHER = replace(TOY, id="toy/attention")


def results_of(values: dict[tuple[str, str], list[float]]) -> pd.DataFrame:
    """Results whose final reward is given and whose bias is a tenth of it, by seed."""
    frames = []
    for (method, variant), rewards in values.items():
        for seed, reward in enumerate(rewards):
            rows: list[tuple[str, int, str, int, float]] = [
                ("curve", 0, "reward", -1, 0.0),
                ("curve", 50, "reward", -1, 2.0),
                ("curve", 50, "rate", 1, 9.0),
                ("curve", 100, "reward", -1, reward),
                ("final", 100, "reward", -1, reward),
                ("final", 100, "bias", -1, reward / 10),
                ("final", 100, "bias_exact", -1, reward / 9),
                ("final", 100, "rate", 0, 0.5),
                ("final", 100, "rate", 1, 0.25),
            ]
            frame = pd.DataFrame(rows, columns=["phase", "step", "metric", "group", "value"])
            frames.append(frame.assign(method=method, variant=variant, seed=seed))
    return pd.concat(frames, ignore_index=True)


GREEDY, FAIR, STATIC = ("g-ppo", "as_coded"), ("elbert-po", "as_coded"), ("bar", "reference")
RESULTS = results_of(
    {
        GREEDY: [0.1, 0.2, 0.3, 0.4],
        FAIR: [0.3, 0.3, 0.5, 0.5],
        STATIC: [0.2, 0.2, 0.2],
        ("another", "reference"): [0.6],
    }
)
NOTHING = RESULTS.iloc[:0]


# What is stored ---------------------------------------------------------------------------------


def of_an_older_revision(run: Run) -> dict[str, object]:
    provenance = provenance_of(run, revisions={"toy": 7})
    return {**provenance, "key": key_in(provenance).digest}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two results of the toy experiment, of older code, the last method first."""
    store = Store(tmp_path)
    for run in plan(TOY, "smoke", seeds=1):
        if run.arm.method != "greedy":
            store.write(run, toy_table(0.25), of_an_older_revision(run))
    return store


def test_results_come_in_the_order_of_experiments_and_of_their_methods(store: Store) -> None:
    for run in plan(OTHER, "smoke", seeds=1):
        store.write(run, toy_table(0.5), of_an_older_revision(run))
    table = tidy.stored(store, "smoke", OTHER, TOY)
    arms = table[["experiment", "method"]].drop_duplicates().itertuples(index=False, name=None)
    assert list(arms) == [
        ("toy/attention", "fair"),
        ("toy/attention", "greedy"),
        ("toy/attention", "reject-all"),
        ("toy/lending", "fair"),
        ("toy/lending", "reject-all"),
    ]


@pytest.mark.parametrize(
    ("profile", "experiment"), [("book", TOY), ("paper", TOY), ("book", OTHER)]
)
def test_what_is_not_stored_has_no_rows(store: Store, profile: str, experiment: object) -> None:
    table = tidy.stored(store, profile, experiment)
    assert table.empty
    assert "metric" in table.columns


def test_gaps_are_counted_by_arm_and_status(store: Store) -> None:
    gaps = tidy.gaps(store, "smoke", TOY, OTHER)
    assert gaps.index.names == ["experiment", "method", "variant"]
    assert len(gaps) == 6
    assert gaps.loc[("toy/lending", "fair", "as_coded")].to_dict() == {"stale": 1, "missing": 1}
    assert gaps.loc[("toy/attention", "fair", "as_coded"), "missing"] == 2


def test_there_is_no_gap_where_every_run_is_fresh(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = store.states(plan(TOY, "smoke")).assign(status="fresh")
    monkeypatch.setattr(Store, "states", lambda self, runs: states)
    assert tidy.gaps(store, "smoke", TOY).empty


def test_the_command_names_every_experiment() -> None:
    assert tidy.nothing_to_show("book", TOY, OTHER) == (
        "These runs are not stored yet: "
        "`longfair run toy/lending toy/attention --profile book` makes them."
    )


def test_methods_are_brought_into_an_order() -> None:
    table = pd.DataFrame({"method": ["random", "full", "fairqcm"], "value": [1, 2, 3]})
    ordered = tidy.in_order(table, ["full", "fairqcm", "random"])
    assert ordered["method"].tolist() == ["full", "fairqcm", "random"]
    assert ordered.index.tolist() == [0, 1, 2]


def test_cost_adds_up() -> None:
    provenance = pd.DataFrame(
        {
            "method": ["elbert-po", "elbert-po", "g-ppo", "random"],
            "variant": ["as_coded", "as_coded", "as_coded", "reference"],
            "steps": [2000, 2000, 2000, 255],
            "core_seconds": [10.0, 26.0, 3600.0, 6.0],
        }
    )
    methods = ["g-ppo", "elbert-po", "random"]
    table = tidy.cost(provenance, methods)
    assert list(table.index) == [GREEDY, FAIR, ("random", "reference")]
    assert list(table["runs"]) == [1, 2, 1]
    assert list(table["training steps"]) == [2000, 2000, "none"]
    assert table.loc[FAIR, "core seconds, median run"] == 18.0
    assert list(table["core minutes in all"]) == [60.0, 0.6, 0.1]
    hours = tidy.cost(provenance, methods, "hours")
    assert list(hours["core hours in all"]) == [1.0, 0.01, 0.0]


def test_the_interval_of_a_median_goes_from_run_to_run() -> None:
    ten = pd.Series(np.arange(10.0)[::-1])
    assert tidy.between_runs(ten) == (1.0, 8.0)
    assert tidy.between_runs(ten[:6]) == (4.0, 9.0)
    assert tidy.between_runs(ten[:5]) == (7.0, 7.0)
    rng = np.random.default_rng(0)
    held = [
        low <= 0.0 <= high
        for low, high in (
            tidy.between_runs(pd.Series(rng.standard_cauchy(10))) for _ in range(2000)
        )
    ]
    assert np.mean(held) == pytest.approx(0.979, abs=0.01)


def test_medians_have_intervals_where_runs_are_of_one_kind() -> None:
    rows = pd.DataFrame(
        {
            "method": ["elbert-po", "g-ppo"] * 10,
            "variant": "as_coded",
            "seed": np.repeat(range(10), 2),
            "value": np.arange(20.0),
        }
    )
    two, one = tidy.middles(rows, tidy.ARM, True, ranked=("g-ppo",)).to_dict("records")
    assert (two["value"], two["low"], two["high"]) == (8.0, 8.0, 8.0)
    assert (one["value"], one["low"], one["high"]) == (9.0, 3.0, 17.0)


# Selecting --------------------------------------------------------------------------------------


def test_a_curve_is_of_all_groups_and_one_variant() -> None:
    rows = tidy.curve(RESULTS, "reward", "as_coded")
    assert list(rows.columns) == ["method", "variant", "seed", "step", "value"]
    assert set(rows["method"]) == {"g-ppo", "elbert-po"}
    assert rows["value"].iloc[:3].tolist() == [0.0, 2.0, 0.1]
    assert rows["step"].iloc[:3].tolist() == [0, 50, 100]
    assert tidy.curve(RESULTS, "rate", "as_coded").empty


def test_curves_are_averaged_in_whole_blocks() -> None:
    rows = tidy.curve(RESULTS, "reward", "reference", every=2)
    assert rows["value"].tolist() == [1.0] * 4
    assert rows["step"].tolist() == [50] * 4


def test_final_values_of_one_arm_are_indexed_by_seed() -> None:
    assert list(tidy.final(RESULTS).columns) == [
        "method", "variant", "seed", "metric", "group", "value",
    ]  # fmt: skip
    assert len(tidy.final(RESULTS)) == 5 * 12
    assert tidy.of_arm(RESULTS, "reward", *GREEDY).to_dict() == {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4}
    assert tidy.of_arm(RESULTS, "rate", *GREEDY).empty  # only groups have one


def test_references_are_averaged_in_the_order_asked_for() -> None:
    found = tidy.references(RESULTS, "reward")
    assert found.to_dict("records") == [
        {"method": "bar", "value": pytest.approx(0.2)},
        {"method": "another", "value": 0.6},
    ]
    asked = tidy.references(RESULTS, "reward", ["unknown", "another", "bar"])
    assert list(asked.columns) == ["method", "value"]
    assert list(asked["method"]) == ["another", "bar"]
    assert tidy.references(RESULTS, "reward", []).empty


def test_references_of_curves_average_all_episodes() -> None:
    found = tidy.curve_references(RESULTS, "reward").set_index("method")["value"]
    assert found.to_dict() == pytest.approx({"bar": 2.2 / 3, "another": 2.6 / 3})


def test_one_row_per_run_and_one_column_per_quantity() -> None:
    runs = tidy.by_seed(RESULTS)
    assert list(runs.columns) == [
        "method", "variant", "seed", "reward", "bias", "bias_exact", "rate_0", "rate_1",
    ]  # fmt: skip
    assert list(runs["reward"].iloc[:5]) == [0.1, 0.2, 0.3, 0.4, 0.3]
    assert list(dict.fromkeys(runs["method"])) == ["g-ppo", "elbert-po", "bar", "another"]


# Estimating -------------------------------------------------------------------------------------


def test_estimates_are_those_of_the_statistics_module() -> None:
    bands = tidy.over_seeds(tidy.curve(RESULTS, "reward", "as_coded"), [*tidy.ARM, "step"])
    assert list(bands["method"]) == ["g-ppo"] * 3 + ["elbert-po"] * 3
    last = bands.iloc[2]
    expected = estimate([0.1, 0.2, 0.3, 0.4], name="g-ppo as_coded 100")
    assert (last["value"], last["low"], last["high"]) == (
        expected.value,
        expected.low,
        expected.high,
    )
    assert last["seeds"] == 4


def test_one_seed_has_no_interval() -> None:
    one = tidy.over_seeds(tidy.final(results_of({GREEDY: [0.5]})), ["metric", "group"])
    assert (one["low"] == one["value"]).all()
    assert (one["high"] == one["value"]).all()


def test_of_two_seeds_no_interval_is_drawn() -> None:
    rows = tidy.final(results_of({GREEDY: [0.1, 0.2], FAIR: [0.1, 0.2, 0.4]}))
    rows = rows[rows["metric"] == "reward"]
    two, three = tidy.middles(rows, tidy.ARM, median=False).to_dict("records")
    assert two["low"] == two["high"] == two["value"]
    assert three["low"] < three["value"] < three["high"]
    words = tidy.interval_in_words(rows)
    assert words == "mean and 95 % interval, 2 to 3 seeds, none of fewer than three"
    words = tidy.interval_in_words(rows[rows["method"] == "g-ppo"])
    assert words == "mean, no interval, 2 seeds"
    one = tidy.final(results_of({GREEDY: [0.1]}))
    assert tidy.interval_in_words(one) == "mean, no interval, 1 seed"


def test_methods_with_two_kinds_of_runs_have_the_median_beside_the_means_of_others() -> None:
    rows = tidy.final(results_of({GREEDY: [0.1, 0.2, 0.9], FAIR: [0.1, 0.2, 0.9]}))
    rows = rows[rows["metric"] == "reward"]
    mean, median = tidy.middles(rows, tidy.ARM, median=("elbert-po",)).to_dict("records")
    assert mean["value"] == pytest.approx(0.4)
    assert mean["low"] < mean["value"] < mean["high"]
    assert median["low"] == median["high"] == median["value"] == 0.2


TWO = [*np.linspace(-413.0, -271.0, 8), -890.0, -880.0]
ONE = np.linspace(-60.0, -50.0, 10)


def curves_of_two_kinds() -> pd.DataFrame:
    """Curves of two methods: the runs of one end in two kinds, and were alike at the first step."""
    parts = [
        pd.DataFrame({"method": method, "variant": "as_coded", "seed": range(10)}).assign(
            step=step, value=values
        )
        for method, ends in (("rnn", TWO), ("min", ONE))
        for step, values in ((0, ONE), (10, ends))
    ]
    return pd.concat(parts, ignore_index=True)


def test_where_runs_end_in_two_kinds_a_figure_has_their_median_and_says_how_many_are_of_each():
    rows, by = curves_of_two_kinds(), [*tidy.ARM, "step"]
    found = tidy.middles(rows, by).set_index(["method", "step"])
    assert found.index.tolist() == [("rnn", 0), ("rnn", 10), ("min", 0), ("min", 10)]
    for step in (0, 10):  # a line is one thing all along
        own = found.loc["rnn", step]
        values = rows.query(f"method == 'rnn' and step == {step}")["value"]
        assert own["low"] == own["high"] == own["value"] == tidy.middle(values)
    assert found.loc[("min", 10), "low"] < found.loc[("min", 10), "value"]
    assert tidy.kinds(rows, by) == {("rnn", "as_coded"): (2, 8)}
    assert tidy.middles_in_words(rows, by, {"rnn": "RNN"}) == (
        "mean and 95 % interval, 10 seeds; median without interval where runs are of two kinds: "
        "RNN, 2 and 8 runs"
    )
    assert tidy.middles_in_words(rows[rows["method"] == "rnn"], by, {}) == (
        "median without interval where runs are of two kinds: rnn, 2 and 8 runs"
    )
    again = pd.concat([rows, rows.assign(variant="as_published")])
    assert "RNN, as coded, 2 and 8 runs; RNN, as_published" in tidy.middles_in_words(
        again, by, {"rnn": "RNN", "as_coded": "as coded"}
    )


@pytest.mark.parametrize("below", [1, 2, 5, 8, 9])
def test_an_interval_by_ranks_does_not_reach_from_one_kind_of_runs_to_the_other(below):
    rows, by = curves_of_two_kinds(), [*tidy.ARM, "step"]
    last = (rows["method"] == "rnn") & (rows["step"] == 10)
    rows.loc[last, "value"] = [*ONE[:below] - 100.0, *ONE[below:]]
    found = tidy.middles(rows, by, median=True, ranked=("rnn", "min")).set_index(["method", "step"])
    own, other = found.loc["rnn"], found.loc["min"]
    assert (other["low"] < other["high"]).all()
    words = tidy.middles_in_words(rows, by, {}, median=True, ranked=("rnn", "min"))
    assert words.startswith("median and 95 % interval by ranks, 10 seeds")
    if 1 < below < 9:
        assert (own["low"] == own["high"]).all()
        assert words.endswith(f"of two kinds: rnn, {below} and {10 - below} runs")
    else:
        end = own.loc[10]
        assert (end["low"] > -100) == (end["high"] > -100) == (below == 1)
        assert "two kinds" not in words
    assert tidy.kinds(rows, by) == {("rnn", "as_coded"): (below, 10 - below)}


def test_runs_that_part_only_on_the_way_keep_their_mean():
    rows = curves_of_two_kinds()
    rows["step"] = 10 - rows["step"]
    assert tidy.kinds(rows, [*tidy.ARM, "step"]) == {}
    found = tidy.middles(rows, [*tidy.ARM, "step"])
    assert (found["low"] < found["high"]).all()


def test_one_metric_in_two_kinds_makes_medians_of_all_metrics_of_an_arm():
    rows = curves_of_two_kinds().rename(columns={"step": "metric"})
    found = tidy.middles(rows, [*tidy.ARM, "metric"]).set_index(["method", "metric"])
    assert (found.loc["rnn", "low"] == found.loc["rnn", "high"]).all()
    assert (found.loc["min", "low"] < found.loc["min", "high"]).all()


def test_a_median_that_is_asked_for_stays_and_the_others_are_held_against_the_rule():
    rows, by = curves_of_two_kinds(), [*tidy.ARM, "step"]
    assert tidy.middles_in_words(rows, by, {}, median=True) == "median, no interval, 10 seeds"
    assert tidy.middles_in_words(rows, by, {"min": "Min"}, median=("min",)) == (
        "Min: median, no interval; median without interval where runs are of two kinds: "
        "rnn, 2 and 8 runs"
    )
    found = tidy.middles(rows, by, median=("min",))
    assert (found["low"] == found["high"]).all()


def test_seeds_are_counted_in_words() -> None:
    learned = RESULTS[RESULTS["variant"] == "as_coded"]
    assert tidy.seeds_in_words(RESULTS) == "1 to 4 seeds"
    assert tidy.seeds_in_words(learned) == "4 seeds"
    assert tidy.seeds_in_words(RESULTS[RESULTS["seed"] == 0]) == "1 seed"


def test_numbers_are_written_with_sign_and_interval_where_there_is_one() -> None:
    assert tidy.written(Estimate(0.12345, None, None, 1, "mean")) == "0.123"
    found = Estimate(1.234, 0.5, 2.0, 9, "mean")
    assert tidy.written(found, 1) == "1.2 [0.5, 2.0]"
    assert tidy.written(found, 2, signed=True) == "+1.23 [+0.50, +2.00]"


def test_a_number_that_would_read_as_zero_has_more_digits() -> None:
    found = Estimate(0.00002, -0.00041, 0.00026, 9, "mean")
    assert tidy.written(found, 3) == "0.00002 [-0.00041, 0.00026]"
    assert tidy.written(Estimate(0.2, -30.0, 20.0, 9, "mean"), 0) == "0 [-30, 20]"
    assert tidy.written(Estimate(0.0, 0.0, 0.0, 9, "mean"), 2) == "0.00 [0.00, 0.00]"


def test_final_values_are_laid_out_with_intervals_and_seeds() -> None:
    quantities = {"reward": ("reward", 3), "bias": ("gap", 2), "rate": ("rate", 1)}
    table = tidy.final_table(RESULTS, quantities)
    assert table.index.names == ["method", "variant"]
    expected = estimate([0.1, 0.2, 0.3, 0.4], name="g-ppo as_coded reward")
    assert table.loc[GREEDY, "reward"] == tidy.written(expected)
    assert table.loc[("another", "reference"), "gap"] == "0.06"
    assert table["seeds"].tolist() == [4, 4, 3, 1]
    assert set(table["rate"]) == {""}  # only groups have one


def test_where_no_run_ends_at_the_mean_a_table_shows_the_middle_and_the_ends() -> None:
    lost = [2.0, 2.02, 2.03, 2.04, 2.05, 2.06, 2.07, 2.08, 2.09, 90.0]
    kept = [1.0 + seed / 100 for seed in range(10)]
    results = results_of({GREEDY: kept, FAIR: lost})
    quantities = {"reward": ("reward", 2)}
    table = tidy.final_table(results, quantities)
    assert table.loc[FAIR, "reward"] == "2.05 (2.00 to 90.00), two kinds"
    assert table.loc[GREEDY, "reward"].startswith("1.04 [1.02")
    apart = tidy.differences(results, {"less": (FAIR, GREEDY)}, quantities)
    assert apart.loc["less", "reward"] == "+1.01 (+1.00 to +88.91), two kinds"


def test_an_interval_is_cut_to_what_is_possible() -> None:
    results = results_of({FAIR: [0.0, 0.01, 0.0, 0.02, 0.01, 0.05, 0.09, 0.2]})
    table = tidy.final_table(results, {"bias": ("bias", 3), "reward": ("reward", 2)})
    assert table.loc[FAIR, "bias"].startswith("0.005 [0.000, ")
    assert table.loc[FAIR, "reward"].startswith("0.05 [-0.0")
    assert tidy.possible(Estimate(0.9, 0.7, 1.2, 9, "mean"), "margin_met").interval == (0.7, 1.0)


def test_two_kinds_that_nobody_could_see_are_written_as_one() -> None:
    nearly = [0.39, *[0.4 + seed / 10_000 for seed in range(9)]]
    table = tidy.final_table(results_of({FAIR: nearly}), {"reward": ("reward", 3)})
    assert estimate(nearly).two_kinds
    assert table.loc[FAIR, "reward"].startswith("0.399 [")


@pytest.mark.parametrize(
    ("reward", "bias", "first"),
    [
        ("reward", "bias", (0.1, 0.01)),
        ("reward", "bias_exact", (0.1, 0.1 / 9)),
        ("bias_exact", "reward", (0.1 / 9, 0.1)),
    ],
)
def test_reward_and_bias_are_the_metrics_asked_for(
    reward: str, bias: str, first: tuple[float, float]
) -> None:
    runs = tidy.reward_and_bias(RESULTS, reward, bias)
    assert list(runs.columns) == ["method", "variant", "seed", "reward", "bias"]
    assert len(runs) == 12
    assert tuple(runs.loc[0, ["reward", "bias"]]) == first


def test_the_same_arms_stand_side_by_side_and_say_whether_their_intervals_meet() -> None:
    ours = results_of({GREEDY: [0.1, 0.2, 0.3, 0.4], FAIR: [0.3, 0.3, 0.5, 0.5], STATIC: [0.2]})
    theirs = results_of({FAIR: [0.41], GREEDY: [0.9]})
    table = tidy.side_by_side(
        {"ours": ours, "theirs": theirs}, {"reward": ("reward", 2), "bias": ("bias", 1)}
    )
    assert list(table.index) == [GREEDY, FAIR]
    assert list(table["reward"].columns) == ["ours", "theirs", "intervals meet"]
    assert table.loc[FAIR, ("reward", "theirs")] == "0.41"
    assert table.loc[FAIR, ("reward", "ours")].startswith("0.40 [0.2")
    assert list(table["reward", "intervals meet"]) == ["no", "yes"]
    assert list(table["bias", "intervals meet"]) == ["no", "yes"]
    assert tidy.side_by_side({"ours": ours, "none": NOTHING}, {"reward": ("reward", 2)}).empty
    assert tidy.side_by_side(
        {"ours": ours, "static": RESULTS[RESULTS["variant"] == "reference"]},
        {"reward": ("reward", 2)},
    ).empty


def test_runs_of_two_kinds_stand_side_by_side_without_an_interval() -> None:
    agreed = [0.50, 0.51, 0.52, 0.53, 0.54, 0.55, 0.56, 0.57]
    one_kind, apart = (results_of({FAIR: [*agreed, last]}) for last in (0.58, 9.0))
    table = tidy.side_by_side({"ours": apart, "theirs": one_kind}, {"reward": ("reward", 2)})
    assert table.loc[FAIR, ("reward", "ours")] == "0.54 (0.50 to 9.00), two kinds"
    assert table.loc[FAIR, ("reward", "theirs")].startswith("0.54 [0.5")
    assert table.loc[FAIR, ("reward", "intervals meet")] == "two kinds"


def test_rows_are_written_in_a_format_and_one_seed_without_an_interval() -> None:
    means = pd.DataFrame(
        {"value": [0.5, 0.25], "low": [0.4, 0.25], "high": [0.6, 0.25], "seeds": [3, 1]}
    )
    assert list(tidy.all_written(means, ".0%")) == ["50% [40%, 60%]", "25%"]


def test_a_table_can_show_metrics_of_single_groups() -> None:
    table = tidy.final_table(RESULTS, {"rate_1": ("rate of group 1", 2)})
    assert set(table["rate of group 1"]) == {"0.25 [0.25, 0.25]", "0.25"}


# Comparing --------------------------------------------------------------------------------------


def test_differences_are_paired_by_shared_seeds() -> None:
    found = tidy.difference(RESULTS, "reward", FAIR, STATIC)
    assert found is not None
    assert found.seeds == 3
    assert found.value == pytest.approx((0.1 + 0.1 + 0.3) / 3)
    assert tidy.difference(RESULTS, "reward", FAIR, ("r-ppo", "as_coded")) is None


def test_arms_and_metric_name_the_random_stream_of_a_difference() -> None:
    first, second = (tidy.of_arm(RESULTS, "reward", *arm) for arm in (FAIR, GREEDY))
    stream = "elbert-po as_coded g-ppo as_coded reward"
    found = tidy.difference(RESULTS, "reward", FAIR, GREEDY)
    assert found == paired_difference(first, second, name=stream)


def test_without_shared_seeds_nothing_is_compared() -> None:
    first = tidy.of_arm(RESULTS, "reward", *GREEDY)
    assert tidy.change(first[[2]], first[[0]], "none") is None
    found = tidy.change(first, first - 2.0, "two")
    assert found is not None
    assert found.value == pytest.approx(2.0)


def test_a_table_of_differences_leaves_out_what_is_not_there() -> None:
    pairs = {"fairness": (FAIR, GREEDY), "nothing": (FAIR, ("min", "as_coded"))}
    table = tidy.differences(RESULTS, pairs, {"reward": ("last", 3), "invalid": ("wasted", 1)})
    assert table.index.tolist() == ["fairness"]
    assert table.columns.tolist() == ["last"]
    assert table.loc["fairness", "last"].startswith("+0.150 [+0.0")
    arms = tidy.differences(RESULTS, {FAIR: (FAIR, GREEDY)}, {"reward": ("last", 1)})
    assert arms.index.names == ["method", "variant"]
    assert tidy.differences(RESULTS, {}, {}).empty


def test_a_sign_is_given_only_where_the_interval_has_one() -> None:
    assert tidy.sign(Estimate(2.0, 1.0, 3.0, 10, "mean")) == 1
    assert tidy.sign(Estimate(-2.0, -3.0, -1.0, 10, "mean")) == -1
    assert tidy.sign(Estimate(2.0, -1.0, 3.0, 10, "mean")) == 0
    assert tidy.sign(Estimate(2.0, None, None, 1, "mean")) == 0
