"""What F-PPO's pages read from stored runs."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from longfair.figures import Words
from longfair.papers import registry
from longfair.papers.fppo import results as fppo
from longfair.papers.page import Page, Runs
from longfair.runs.rules.words import Word
from longfair.runs.store import Store
from longfair.runs.verdicts import Verdict

COLUMNS = ["method", "variant", "seed", "phase", "step", "metric", "group", "value"]
METRICS = ("end_cash", "end_long_term_gap")


def runs_of(**arms: list[tuple[float, float]]) -> Runs:
    """Return runs of methods as coded, of which cash and gap at the end are given."""
    rows = [
        (method.replace("_", "-"), "as_coded", seed, "final", 700_000, metric, -1, value)
        for method, seeds in arms.items()
        for seed, values in enumerate(seeds)
        for metric, value in zip(METRICS, values, strict=True)
    ]
    experiment = registry.experiment("fppo/lending")
    return Runs(experiment, "book", fppo.LENDING).showing(pd.DataFrame(rows, columns=COLUMNS))


TWO_KINDS = runs_of(
    f_ppo=[(10_000.0, 0.34), (11_500.0, 0.12), (10_001.0, 0.35), (10_100.0, 0.3)],
    ppo=[(11_474.0, 0.19)],
)


def test_banks_that_hardly_lend_are_counted_and_left_out() -> None:
    assert fppo.hardly_lending(TWO_KINDS, "f-ppo", "as_coded") == (2, 4)
    assert fppo.hardly_lending(TWO_KINDS, "ppo", "as_coded") == (0, 1)
    assert fppo.hardly_lending(TWO_KINDS, "a-ppo", "as_coded") == (0, 0)
    left = fppo.lending_only(TWO_KINDS)
    assert sorted(left.last_of("f-ppo", "as_coded")["seed"].unique()) == [1, 3]
    assert fppo.hardly_lending(left, "f-ppo", "as_coded") == (0, 2)
    assert len(left.last_of("ppo", "as_coded")) == 1


def test_runs_of_two_kinds_show_the_middle_one_and_the_ends() -> None:
    table = TWO_KINDS.ranges({"end_cash": ("cash", 0), "end_long_term_gap": ("gap", 2)})
    assert isinstance(table, pd.DataFrame)
    assert table.loc[("F-PPO", "as coded"), "cash"] == "10,001 (10,000 to 11,500)"
    assert table.loc[("F-PPO", "as coded"), "gap"] == "0.30 (0.12 to 0.35)"
    assert table.loc[("F-PPO", "as coded"), "runs"] == 4
    assert table.loc[("PPO", "as coded"), "cash"] == "11,474"
    nothing = TWO_KINDS.showing(TWO_KINDS.results.iloc[:0])
    assert isinstance(nothing.ranges({"end_cash": ("cash", 0)}), Words)


def curves_of(metric: str, ends: list[float], method: str = "f-ppo") -> list[list[object]]:
    """Return rows of one curve as published, a seed for each value of its last step."""
    return [
        [method, "as_published", seed, "curve", step, metric, -1, end * step / 20]
        for seed, end in enumerate(ends)
        for step in (10, 20)
    ]


TWO_CURVES = TWO_KINDS.showing(
    pd.DataFrame(
        [
            *curves_of("at_short_term_gap", [1.0] * 7 + [9.0] * 3),
            *curves_of("massaged_at_short_term_gap", [2.0] * 10),
            *curves_of("at_short_term_gap", [3.0] * 10, "ppo"),
        ],
        columns=COLUMNS,
    )
)


def test_f_ppo_in_use_stands_beside_methods_that_never_massage() -> None:
    found = fppo.with_massaging_in_use(TWO_CURVES)
    assert found.arms == [(name, "as_published") for name in ("f-ppo", "f-ppo-in-use", "ppo")]
    own = found.results[found.results["method"] == "f-ppo-in-use"]
    assert set(own["metric"]) == {"at_short_term_gap"}
    assert own.query("step == 20")["value"].tolist() == [2.0] * 10
    figure = found.curve_figure("at_short_term_gap", "as_published", across=fppo.EPISODE)
    assert figure is not None
    assert set(figure.data["method"]) == {"f-ppo", "f-ppo-in-use", "ppo"}
    assert "F-PPO, massaged in use goes from 1 to 2." in figure.alt_text
    assert "F-PPO goes from 0.5 to 1." in figure.alt_text  # of two kinds, so without a band


def test_runs_of_two_kinds_are_told_with_their_share() -> None:
    metric, variant = "at_short_term_gap", "as_published"
    assert fppo.kinds_told(TWO_CURVES, metric, variant, "f-ppo", "ppo") == (
        " Runs end in two kinds: F-PPO, a share of 0.70 [0.35, 0.93] in the lower one."
    )
    assert fppo.kinds_told(TWO_CURVES, metric, variant, "ppo") == ""
    assert fppo.kinds_told(TWO_CURVES, "at_cash", variant, "ppo") == ""
    assert fppo.share_hardly_lending(TWO_KINDS, "f-ppo", "as_coded") == "0.50 [0.07, 0.93]"
    assert fppo.share_hardly_lending(TWO_KINDS, "a-ppo", "as_coded") == "(not stored)"


def test_without_runs_nothing_is_massaged_in_use(tmp_path: Path) -> None:
    none = Page("book", store=Store(tmp_path)).of("fppo/lending", look=fppo.LENDING)
    found = fppo.with_massaging_in_use(none)
    assert found.results.empty
    assert found.curve_figure("at_cash", "as_published") is None
    assert fppo.kinds_told(found, "at_cash", "as_published", "f-ppo") == ""


def test_the_papers_numbers_stand_beside_the_runs() -> None:
    read = {"end_cash": {"f-ppo": 11_630.0, "a-ppo": 11_808.0}}
    table = fppo.beside_figure(TWO_KINDS, read, {"end_cash": 0})
    assert isinstance(table, pd.DataFrame)
    assert table.loc["F-PPO", "end cash"] == "10,001 (10,000 to 11,500)"
    assert table.loc["F-PPO", "end cash, paper"] == "11,630, outside"
    assert table.loc["A-PPO", "end cash"] == "(not stored)"
    named = fppo.beside_figure(TWO_KINDS, read, {"end_cash": 0}, fppo.IN_FIGURE_1)
    assert list(named.columns) == ["cash at the end", "cash at the end, paper"]
    assert fppo.IN_FIGURE_1.keys() == fppo.FIGURE_1.keys()


@pytest.mark.parametrize(("read", "told"), [
    (11_500.0, "11,500"),
    (11_510.0, "11,510"),
    (11_511.0, "11,511, outside"),
    (9_989.0, "9,989, outside"),
])  # fmt: skip
def test_a_number_is_outside_by_more_than_the_error_of_reading(read: float, told: str) -> None:
    table = fppo.beside_figure(TWO_KINDS, {"end_cash": {"f-ppo": read}}, {"end_cash": 0})
    assert isinstance(table, pd.DataFrame)
    assert table.loc["F-PPO", "end cash, paper"] == told


def test_every_number_read_off_a_figure_has_its_error() -> None:
    read = {"lending": fppo.FIGURE_1, "attention": fppo.FIGURE_3, "epidemic": fppo.FIGURE_4}
    for world, numbers in read.items():
        assert fppo.READING_ERRORS[f"fppo/{world}"].keys() == numbers.keys()


def in_attention(rows: list[tuple[str, str, int, str, int, str, float]]) -> Runs:
    """Return runs in attention allocation from rows of all columns but the group."""
    columns = [name for name in COLUMNS if name != "group"]
    results = pd.DataFrame(rows, columns=columns).assign(group=-1)
    return Runs(registry.experiment("fppo/attention"), "book", fppo.ATTENTION).showing(results)


def test_every_method_that_learns_is_read_in_its_variant() -> None:
    runs = in_attention([("cpo", "as_coded", 0, "final", 1, "late_reward", 1.5)])
    table = fppo.beside_figure(runs, {"late_reward": {"cpo": 1.71}}, {"late_reward": 2})
    assert isinstance(table, pd.DataFrame)
    assert list(table.iloc[0]) == ["1.50", "1.71, outside"]


def test_sites_before_anybody_acts() -> None:
    curves = {"at_long_term_gap": 3.5, "at_rates": 4.5}
    rows = [
        ("equal", "reference", 0, "curve", step, metric, value / (1 + step))
        for metric, value in curves.items()
        for step in (0, 10)
    ]
    start = fppo.sites_at_start(in_attention(rows))
    assert (start["deviation"], start["rate"]) == (3.5, 4.5)
    assert math.isnan(start["distance"])


def test_groups_before_anybody_applies() -> None:
    rows = [
        ("ppo", "as_coded", 0, "curve", step, "at_long_term_gap", -1, 0.3 / (1 + step))
        for step in (0, 10)
    ]
    start = fppo.lending_at_start(TWO_KINDS.showing(pd.DataFrame(rows, columns=COLUMNS)))
    assert start["long_term_gap"] == 0.3
    assert math.isnan(start["distance"])


def test_policies_without_training_stand_at_their_medians() -> None:
    as_reference = TWO_KINDS.results.assign(
        variant="reference", method=TWO_KINDS.results["method"].replace("f-ppo", "threshold-2-2")
    )
    runs = TWO_KINDS.showing(as_reference)
    (point,) = fppo.middle_points(runs, ["threshold-2-2", "threshold-9"]).itertuples(index=False)
    assert tuple(point) == ("threshold-2-2", 10_001.0, 0.3)


def test_ten_episodes_are_noisier_than_those_of_a_run() -> None:
    assert fppo.EPISODES_OF_A_RUN == 100
    rows = [
        ("above-target", "reference", seed, "final", 1, "late_long_term_gap", value)
        for seed, value in enumerate((1.0, 1.01, 1.02))
    ]
    noise = fppo.noise_of_ten_episodes(in_attention(rows), "above-target")
    assert noise == pytest.approx(0.01 * math.sqrt(10))


def test_stored_runs_are_counted_by_method() -> None:
    assert fppo.stored_runs(TWO_KINDS, "ppo", "f-ppo", "f-ppo-l") == "PPO 1, F-PPO 4, F-PPO-L 0"
    assert fppo.stored_runs(TWO_KINDS, "ppo", variant="as_published") == "PPO 0"


def test_the_middle_run_is_a_run() -> None:
    assert fppo.middle_run(TWO_KINDS, "end_cash", "f-ppo", "as_coded", 0) == "10,001"
    assert fppo.middle_run(TWO_KINDS, "end_cash", "a-ppo", "as_coded", 0) == "(not stored)"


WITH_RULES = in_attention(
    [
        (method, variant, seed, "final", 1, metric, value + 0.1 * seed)
        for method, variant, reward, gap in (
            ("ppo", "as_coded", 2.4, 1.5),
            ("f-ppo", "as_coded", 2.3, 1.6),
            ("a-ppo", "as_published", 3.0, 1.0),
            ("above-target", "reference", 2.5, 1.4),
            ("static-reward", "reference", 1.3, 1.2),
            ("gaussian", "reference", 2.6, 1.7),
        )
        for metric, value in (("late_reward", reward), ("late_long_term_gap", gap))
        for seed in range(10)
    ]
)
BETTER: fppo.Measures = {"late_reward": "higher", "late_long_term_gap": "lower"}


def test_policies_without_training_are_better_only_where_they_are_by_every_measure() -> None:
    found = fppo.better_without_training(WITH_RULES, BETTER)
    # Reward below 2.95 in runs 0 to 6, gap above 1.85 from run 3 on.
    of_three = "none of the 3 policies without training is better than more of them"
    assert found == f"*incidents above a target* is, than 4 of 10 runs; {of_three}"
    both: fppo.Measures = {"late_reward": "higher", "late_long_term_gap": "higher"}
    assert fppo.better_without_training(WITH_RULES, both).startswith("*at random* is, than ")
    apart = in_attention(
        [
            (method, variant, 0, "final", 1, metric, value)
            for method, variant, value in (("f-ppo", "as_coded", 1.0), ("equal", "reference", 1.0))
            for metric in BETTER
        ]
    )
    none = "no run is worse than any of 1 policies without training"
    assert fppo.better_without_training(apart, {"late_reward": "higher"}) == none
    missing = fppo.better_without_training(WITH_RULES, BETTER, "as_published")
    assert missing == "(not stored)"


def test_the_best_of_the_trained_is_held_against_rules_that_were_searched() -> None:
    rules = ("above-target", "static-reward")
    assert fppo.most_of_the_trained(WITH_RULES, "late_reward", rules, 1) == (
        "of all that learn as coded PPO has the most, 2.9 on average, which differs by "
        "-0.1 [-0.1, -0.1] from that of *incidents above a target* and by "
        "1.1 [1.1, 1.1] from that of *weighted incidents*."
    )
    results = WITH_RULES.results
    short = WITH_RULES.showing(results[(results["method"] != "ppo") | (results["seed"] < 9)])
    best = fppo.most_of_the_trained(short, "late_reward", rules, 1)
    assert "learn as coded F-PPO has the most" in best
    few = WITH_RULES.showing(results[results["seed"] < 9])
    told = fppo.most_of_the_trained(few, "late_reward", rules, 1)
    assert told == "no method that learns has 10 runs yet."


def in_training(
    method: str, seed: int, gaps: tuple[float, ...]
) -> list[tuple[str, str, int, str, int, str, float]]:
    """Return rows of training gaps, at steps 1, 2 and so on."""
    return [
        (method, "as_coded", seed, "curve", step, "training_gap", gap)
        for step, gap in enumerate(gaps, start=1)
    ]


def test_massaging_in_training_waits_for_runs_without_it() -> None:
    alone = in_attention(in_training("f-ppo", 0, (0.9, 0.1, 0.2)))
    assert fppo.massaging_in_training(alone, 2, 2) == (
        "From training step 2 on the mean short-term gap is 0.15 in 1 run of F-PPO. "
        "Runs of F-PPO-L are not stored yet, and the comparison waits for them."
    )
    neither = alone.showing(alone.results.iloc[:0])
    assert fppo.massaging_in_training(neither, 2, 2) == (
        "Runs of F-PPO and F-PPO-L are not stored yet, and the comparison waits for them."
    )


def test_massaging_in_training_is_held_against_runs_without_it() -> None:
    rows = [
        *in_training("f-ppo", 0, (0.9, 0.1)),
        *in_training("f-ppo-l", 0, (0.9, 0.3)),
        *in_training("f-ppo-l", 1, (0.9, 0.5)),
    ]
    both = in_attention(rows)
    assert fppo.massaging_in_training(both, 2, 1).endswith(
        "is 0.1 in 1 run of F-PPO and 0.3 (0.3 to 0.5) in 2 runs of F-PPO-L."
    )


def test_rollouts_above_the_tolerance_are_counted_run_by_run() -> None:
    rows = [
        *in_training("f-ppo", 0, (0.9, 0.1, 0.1, 0.2)),
        *in_training("f-ppo-l", 0, (0.9, 0.3)),
        *in_training("f-ppo-l", 1, (0.9, 0.1)),
    ]
    both = in_attention(rows)
    assert fppo.rollouts_above(both, 0.1) == (
        "The mean short-term gap is above 0.1 in 50 (50 to 100) % of the rollouts of F-PPO-L "
        "and in 50 % of the rollouts of F-PPO."
    )


def test_both_methods_are_drawn_against_ppo_in_every_world() -> None:
    figure = fppo.each_less_ppo(Page("book"))
    assert figure is not None
    titles = [axes.get_title(loc="left") for axes in figure.figure.axes]
    assert titles == [
        f"{world}: {measure}" for measure in ("bias", "distance") for world in fppo.LOOKS
    ]
    assert set(figure.data["series"]) == {
        "ELBERT-PO less PPO",
        "F-PPO less PPO",
        "F-PPO, massaged in use, less PPO",
    }
    assert set(figure.data["name"]) == {"as F-PPO has it", "as ELBERT has it"}


def test_without_runs_nothing_is_drawn_against_ppo(tmp_path: Path) -> None:
    assert fppo.each_less_ppo(Page("book", store=Store(tmp_path))) is None


def test_what_is_not_made_yet_is_named_in_one_line(tmp_path: Path) -> None:
    words = fppo.each_other(Page("book", store=Store(tmp_path)), "lending")
    assert repr(words) == (
        "None of these runs has been made yet. What makes them: "
        "`longfair run fppo/beyond-lending-fppo fppo/beyond-lending-elbert --profile book`."
    )


def judged_page(tmp_path: Path, **words: Word) -> Page:
    page = Page("book", store=Store(tmp_path))
    page.__dict__["verdicts"] = [
        Verdict(claim, "as_coded", "", "book", "", words[claim.id.replace("-", "_")])
        for claim in registry.select_claims([name.replace("_", "-") for name in words])
    ]
    return page


def test_verdicts_of_one_word_stand_together(tmp_path: Path) -> None:
    page = judged_page(
        tmp_path, fppo_4c_max="inconclusive", fppo_4b="reproduced", fppo_1c="inconclusive"
    )
    asked = {name: (f"fppo-{name}", "as_coded", "") for name in ("4c-max", "4b", "1c")}
    assert fppo.judged(page, asked) == "*inconclusive* for 4c-max and 1c and *reproduced* for 4b"


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("reproduced", "it is (*reproduced*)"),
        ("direction only", "it is (*direction only*)"),
        ("contradicted", "it is not (*contradicted*)"),
        ("inconclusive", "who knows (*inconclusive*)"),
        ("not attempted", "who knows (*not attempted*)"),
    ],
)
def test_what_is_said_hangs_on_the_verdict(tmp_path: Path, word: Word, told: str) -> None:
    page = judged_page(tmp_path, fppo_4c_max=word)
    which = ("fppo-4c-max", "as_coded", "")
    assert fppo.by_verdict(page, which, "it is", "it is not", "who knows") == told
