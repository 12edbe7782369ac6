"""ELBERT's ablations and extensions: they vary what they say, and notions are what they are."""

from __future__ import annotations

from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from longfair.agents.evaluation import EpisodeTotals
from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.envs.sb3 import BatchVecEnv
from longfair.metrics.supply_demand import accuracy_parity, demographic_parity, equalised_odds
from longfair.papers import registry
from longfair.papers.elbert import world_results as worlds
from longfair.papers.elbert.ablations import (
    ABLATIONS,
    ALPHAS,
    ALPHAS_OF_FIGURE_5,
    LENDING,
)
from longfair.papers.elbert.attention import ATTENTION_HARDER
from longfair.papers.elbert.bellman import no_bellman_equation, rate
from longfair.papers.elbert.infectious import INFECTIOUS_HARDER
from longfair.papers.elbert.lending import PROBLEM, WORLD
from longfair.papers.elbert.measures import measured_by_notion
from longfair.papers.elbert.notion_wrappers import NOTIONS, AllNotions, SomeNotions
from longfair.papers.elbert.notions import EXTENSIONS
from longfair.papers.elbert.world_results import FIGURE_9, supply_and_demand
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.untrained import real_thresholds
from longfair.runs.tables import checked

EXPERIMENTS = {e.name: e for e in (*ABLATIONS, *EXTENSIONS)}


def arms(name: str, profile: str = "smoke") -> dict[str, Any]:
    return {arm.method: arm for arm in EXPERIMENTS[name].arms[profile]}


def final(table: pd.DataFrame) -> Any:
    return table[table["phase"] == "final"].set_index(["metric", "group"])["value"]


# What is varied ----------------------------------------------------------------------------------


def test_alpha_is_all_that_figures_5_and_7_vary() -> None:
    grids = {"attention-harder": ALPHAS_OF_FIGURE_5, **ALPHAS}
    for name, alphas in grids.items():
        for profile in EXPERIMENTS[f"alpha-{name}"].arms:
            found = [arm.config for arm in arms(f"alpha-{name}", profile).values()]
            assert [config.method.alpha for config in found] == list(alphas)
            rest = [str({**asdict(c), "method": {**asdict(c.method), "alpha": 0}}) for c in found]
            assert len(set(rest)) == 1


def test_the_authors_grids_can_be_run_with_their_settings() -> None:
    main = next(a for a in ATTENTION_HARDER.arms["paper"] if a.name == "elbert-po.as_coded")
    assert arms("alpha-attention-harder", "paper")["elbert-po-alpha-20000"].config == main.config
    assert arms("beta-attention-harder", "paper")["elbert-po-beta-20"].config == main.config


def test_attention_looks_at_the_clipping_alone() -> None:
    everywhere, here = (
        arms(f"details-{name}") for name in ("infectious-harder", "attention-harder")
    )
    assert len(here) < len(everywhere)
    assert {arm.config.learning.clipping for arm in here.values()} == {"joint", "separate"}


@pytest.mark.parametrize("name", ["lending", "attention-harder", "infectious-harder"])
def test_every_detail_differs_from_its_method_in_one_field(name: str) -> None:
    found = {method: arm.config for method, arm in arms(f"details-{name}").items()}
    for method, config in found.items():
        main = (
            found[method.removesuffix("-" + method.split("-")[-1])]
            if method.count("-") > 1
            else config
        )
        if method.startswith("static"):
            continue
        first, second = asdict(config), asdict(main)
        for part in ("method", "learning"):
            first |= {f"{part}.{k}": v for k, v in first.pop(part).items()}
            second |= {f"{part}.{k}": v for k, v in second.pop(part).items()}
        different = [field for field in first if first[field] != second[field]]
        assert len(different) == (config is not main), method


def test_reporting_more_changes_nothing_else() -> None:
    strategy = ElbertPO.as_coded(2e5)
    ours = train_and_evaluate(LENDING.learned(strategy, "smoke"), 3)
    theirs = train_and_evaluate(PROBLEM.learned(strategy, "smoke"), 3)
    shared = ours[ours["metric"].isin(theirs["metric"].unique())].reset_index(drop=True)
    pd.testing.assert_frame_equal(shared, theirs, check_dtype=False)


def test_steps_that_are_too_large_change_nothing_else() -> None:
    main = {a.name: a.config for a in ATTENTION_HARDER.arms["book"]}
    large = {m: arm.config for m, arm in arms("larger-steps-attention-harder", "book").items()}
    for method in ("elbert-po", "g-ppo"):
        expected = main[f"{method}.as_coded"]
        assert replace(large[method], learning=expected.learning) == expected
    learning, usual = large["elbert-po"].learning, main["elbert-po.as_coded"].learning
    separate = large["elbert-po-separate"]
    assert separate.learning == replace(learning, clipping="separate")
    assert replace(separate, learning=learning) == large["elbert-po"]
    assert learning.copies > usual.copies
    assert learning.learning_rate > usual.learning_rate


def test_the_start_of_the_authors_runs_differs_from_them_in_its_end_alone() -> None:
    (stopped,) = (one for one in ABLATIONS if one.name == "authors-steps-attention-harder")
    whole = next(a.config for a in stopped.authors_arms if a.name == "elbert-po.as_coded")
    assert stopped.authors_arms == ATTENTION_HARDER.arms["paper"]
    start = arms("authors-steps-attention-harder", "book")["elbert-po"].config
    assert start.learning.total_steps < whole.learning.total_steps
    assert replace(start.learning, total_steps=whole.learning.total_steps) == whole.learning
    assert replace(start, learning=whole.learning, evaluating=whole.evaluating) == whole
    combined = arms("authors-steps-attention-harder", "book")["elbert-po-combined"].config
    assert combined.method.standardise == "combined"
    assert replace(combined, method=start.method) == start


def test_lengths_of_training_and_evaluation() -> None:
    found = {
        method: (arm.config.episode_length, arm.config.evaluating.episode_length)
        for method, arm in arms("episodes-lending", "book").items()
    }
    for method in ("g-ppo", "elbert-po"):
        assert found[f"{method}-short-short"] == (2048, 2048)
        assert found[f"{method}-short-long"] == (2048, 10_000)
        assert found[f"{method}-long-long"] == (10_000, 10_000)


@pytest.mark.parametrize("name", ["notions-lending", "demand-lending"])
def test_extensions_run(name: str) -> None:
    rewards = set()
    for arm in arms(name).values():
        values = final(checked(arm.work(arm.config, 1), arm.name))
        rewards.add(tuple(values))
    assert len(rewards) == len(arms(name))


def test_the_static_lender_is_fair_and_earns() -> None:
    arms = registry.experiment("elbert/lending").arms["book"]
    static = next(arm for arm in arms if arm.method == "static-optimum")
    values = final(static.work(static.config, 0))
    assert values["bias", -1] < 0.02
    assert values["reward", -1] > 0.18
    half = real_thresholds(None, None, (1.5, 7.0)).probability
    assert half[0, :3].tolist() == [0.0, 0.5, 1.0]
    assert not half[1].any()


# Notions -----------------------------------------------------------------------------------------


def test_all_notions_are_those_of_the_metrics() -> None:
    env = AllNotions(WORLD.make(200, 5))
    observation, info = env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(7):  # over the end of an episode
        group = observation[:, 7:9].argmax(axis=1)
        decision = rng.integers(2, size=200)
        observation, _, _, _, info = env.step(decision)
        outcome = info["demand"][:, :2].sum(axis=1).astype(int)
        odds = equalised_odds(decision, outcome, group, 2)
        expected = [
            odds.true_positive,
            odds.false_positive,
            demographic_parity(decision, group, 2),
            accuracy_parity(decision, outcome, group, 2),
        ]
        for key in ("supply", "demand"):
            whole = np.concatenate([getattr(pair, key) for pair in expected], axis=1)
            np.testing.assert_array_equal(info[key], whole)


def test_a_learner_sees_its_own_notions_only() -> None:
    env = BatchVecEnv(SomeNotions(AllNotions(WORLD.make(3, 5)), ("accuracy", "true-positive")))
    assert env.get_attr("num_groups") == [4, 4, 4]
    assert env.get_attr("num_envs") == [3, 3, 3]
    env.reset()
    infos: Any = env.step(np.array([0, 1, 1]))[3]
    # Everybody has an outcome to be judged on; only who repays has a positive one.
    assert infos.arrays["demand"][:, :2].sum() == 3
    assert infos.arrays["demand"].shape == (3, 4)


def test_biases_compare_groups_within_a_notion() -> None:
    supply = np.array([[4.0, 2.0, 1.0, 1.0, 8.0, 8.0, 6.0, 3.0]])
    demand = np.array([[7.0, 7.0, 3.0, 3.0, 15.0, 15.0, 11.0, 11.0]])
    table = measured_by_notion(
        EpisodeTotals(np.ones(1), supply, demand, np.full(1, 10.0)), "final", 0
    )
    values = final(table)
    found = [values[f"{n.replace('-', '_')}_bias", -1] for n in NOTIONS]
    assert found == pytest.approx([0.25, 0.0, 0.0, 0.25])
    assert list(table["metric"]).count("reward") == 1


# Statements --------------------------------------------------------------------------------------


def test_equal_futures_give_unequal_rates() -> None:
    result = no_bellman_equation()
    assert result.passed
    assert rate([(1, 1), (1, 2)]) == Fraction(2, 3)
    assert rate([(1, 1), (100, 200)]) == Fraction(101, 201)


# Tables ------------------------------------------------------------------------------------------


COLUMNS = ["method", "variant", "seed", "phase", "step", "metric", "group", "value"]


def results_of(values: dict[str, list[float]]) -> pd.DataFrame:
    rows = [
        (method, "as_coded", seed, phase, 5, metric, group, value * factor)
        for method, found in values.items()
        for seed, value in enumerate(found)
        for phase in ("curve", "final")
        for metric, group, factor in [
            ("reward", -1, 1.0),
            ("bias", -1, 2.0),
            ("wasted", -1, 0.25),
            ("supply", 0, 0.5),
            ("supply", 1, 0.5),
        ]
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_share_of_wasted_vaccines() -> None:
    share = worlds.wasted_share(results_of({"g-ppo": [0.4, 0.8], "nobody": [0.0]}))
    assert share["method"].tolist() == ["g-ppo", "g-ppo"]
    assert share["value"].tolist() == pytest.approx([0.25, 0.25])


def test_best_and_worst_served_groups_are_chosen_at_every_step() -> None:
    values = {  # rate, supply and demand of two groups, by step
        0: [(0.2, 1.0, 5.0), (0.5, 2.0, 4.0)],
        9: [(0.6, 3.0, 5.0), (0.5, 4.0, 8.0)],
    }
    rows = [
        ("elbert-po", "as_coded", 0, "curve", step, metric, group, value)
        for step, groups in values.items()
        for group, numbers in enumerate(groups)
        for metric, value in zip(("rate", "supply", "demand"), numbers, strict=True)
    ]
    found = worlds.extremes(pd.DataFrame(rows, columns=COLUMNS))
    assert (found["group"] == -1).all()
    wide = found.pivot(index="step", columns="metric", values="value")
    assert wide["advantaged_supply"].tolist() == [2.0, 3.0]
    assert wide["advantaged_demand"].tolist() == [4.0, 5.0]
    assert wide["disadvantaged_supply"].tolist() == [1.0, 4.0]
    assert wide["disadvantaged_demand"].tolist() == [5.0, 8.0]


def test_extremes_are_those_of_the_evaluation() -> None:
    arm = next(a for a in INFECTIOUS_HARDER.arms["smoke"] if a.name == "elbert-po.as_coded")
    results = arm.work(arm.config, 1).assign(method=arm.method, variant=arm.variant, seed=1)
    found = worlds.extremes(results).set_index(["metric", "step"])["value"]
    stored = results[results["metric"].isin(list(FIGURE_9)) & (results["phase"] == "curve")]
    pd.testing.assert_series_equal(
        found.sort_index(), stored.set_index(["metric", "step"])["value"].sort_index()
    )
    assert len(found) >= 2 * len(FIGURE_9)


def test_figure_9_has_a_panel_per_method_and_medians_over_seeds() -> None:
    arms_9 = [a for a in INFECTIOUS_HARDER.arms["smoke"] if a.variant == "as_coded"]
    assert len(arms_9) == 4
    runs = {
        (arm.method, seed): arm.work(arm.config, seed).assign(
            method=arm.method, variant=arm.variant, seed=seed
        )
        for arm in arms_9
        for seed in (1, 2)
    }
    figure = supply_and_demand(pd.concat(runs.values()))
    assert figure is not None
    drawn = figure.data
    assert list(drawn["panel"].unique()) == ["G-PPO", "R-PPO", "A-PPO", "ELBERT-PO"]
    assert set(drawn["method"]) == set(FIGURE_9)
    assert (drawn["low"] == drawn["high"]).all()  # medians
    of_one = pd.concat([runs["r-ppo", 1], runs["r-ppo", 2]])
    of_both = worlds.extremes(of_one).groupby(["metric", "step"])["value"]
    expected = of_both.min()  # the lower of the two in the middle
    found = drawn[drawn["panel"] == "R-PPO"].set_index(["method", "step"])["value"]
    pd.testing.assert_series_equal(found.sort_index(), expected.sort_index(), check_names=False)
    assert supply_and_demand(of_one[:0]) is None


def test_beginnings_are_smoothed_as_on_the_poster() -> None:
    steps = range(0, 1_500_000, 20_480)
    level = {("g-ppo", 0): 1.0, ("elbert-po-combined", 0): 2.0, ("elbert-po-combined", 1): 4.0}
    rows = [
        (method, "as_coded", seed, "curve", step, "reward", -1, value + 10.0 * (step == 0))
        for (method, seed), value in level.items()
        for step in steps
    ]
    found = worlds.start_beside_poster(pd.DataFrame(rows, columns=COLUMNS), "reward")
    assert found["runs"].tolist() == [1, 1, 1, 2, 2, 2]
    assert found["poster"].tolist() == [-3.9, -3.08, -2.86, -4.9, -3.93, -3.27]
    combined = found.loc["elbert-po-combined"]
    later = combined.loc[[500_000, 1_000_000]]
    np.testing.assert_allclose(later[["median", "lowest", "highest"]], [[3, 2, 4]] * 2, atol=0.01)
    assert 3.4 < combined.loc[0, "median"] < 4.2  # the spike of 10 counts for about a tenth


def test_lost_sites_are_counted_and_their_runs_kept_apart() -> None:
    ends = [("elbert-po", -90.0, 0.5, 400.0), ("elbert-po", -40.0, 0.25, 31.0)]
    ends += [("elbert-po", -2.25, 0.03, 30.0), ("g-ppo", -2.5, 0.3, 4.0)]
    rows = [
        (method, "as_coded", seed, "final", 10, metric, -1, value)
        for seed, (method, *values) in enumerate(ends)
        for metric, value in zip(("reward", "bias", "disadvantaged_demand"), values, strict=True)
    ]
    rows.append(("r-ppo", "as_published", 0, "final", 10, "reward", -1, -2.0))
    found = worlds.lost_sites(pd.DataFrame(rows, columns=COLUMNS))
    assert found.index.tolist() == ["elbert-po", "g-ppo"]
    assert found[["runs", "lost"]].to_numpy().tolist() == [[3, 2], [1, 0]]
    assert found.loc["elbert-po", "share"] == "67% [9%, 99%]"
    assert found.loc["elbert-po", "reward, lost"] == "-90.0 to -40.0"
    assert found.loc["elbert-po", "bias, lost"] == "0.25 to 0.50"
    assert found.loc["elbert-po", "reward, kept"] == "-2.25"
    assert found.loc["g-ppo", ["reward, lost", "bias, kept"]].tolist() == ["", "0.30"]
    assert worlds.lost_sites(pd.DataFrame(rows, columns=COLUMNS), "reference").empty


def test_the_poster_agrees_within_interval_and_reading_error() -> None:
    results = results_of({"g-ppo": [0.175, 0.1752], "elbert-po": [0.1, 0.11]})
    name = "infectious-harder"
    held = worlds.beside_poster(results, worlds.POSTER[name], worlds.READING_ERROR[name])
    table = held.set_index(["method", "metric"])
    assert table.loc[("g-ppo", "reward"), "agrees"] == "yes"
    assert table.loc[("elbert-po", "reward"), "agrees"] == "no"
    assert table.loc[("elbert-po", "bias"), "poster"] == 0.05
