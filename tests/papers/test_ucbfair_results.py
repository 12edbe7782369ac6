"""What pages show of the population: portraits, courses of episodes, and the 16 starts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from longfair.agents.ucbfair.settings import LUCBFairSettings
from longfair.envs.population import PopulationModel, PopulationParams, start_grid
from longfair.envs.population.exact import Planner, Resolution, constrained_optimum
from longfair.errors import UsageError
from longfair.papers.page import NOT_STORED, Page, Runs
from longfair.papers.registry import experiment
from longfair.papers.ucbfair.results import (
    IN_FIGURES,
    POPULATION,
    RANKS_IN_WORDS,
    above_optimum,
    along_episodes,
    constant_losses,
    cost_in_words,
    end_figure,
    farthest_from_optimum,
    from_starts,
    grid_error,
    optimum_by_grid,
    portraits,
    price_of_fairness,
    random_losses,
    run_ends,
    runs_below,
    runs_in_words,
    runs_under,
    starts_figure,
    strictest_cell,
    training_figure,
    with_arms_of,
)
from longfair.papers.ucbfair.theorem import bounds, example, run
from longfair.papers.ucbfair.theorem_results import (
    beside_bound,
    both_ends,
    linear_figure,
    linear_runs,
)
from longfair.runs.statistics import estimate
from longfair.runs.tidy import between_runs, written


def made_up(method: str, metric: str, values: list[float]) -> pd.DataFrame:
    """Return two runs that are the same."""
    steps = range(len(values))
    rows = pd.concat([pd.DataFrame({"step": steps, "value": values, "seed": s}) for s in (0, 1)])
    return rows.assign(
        method=method, variant="reference", metric=metric, phase="curve", group=-1, profile="smoke"
    )


@pytest.fixture
def runs() -> Runs:
    results = pd.concat(
        [
            made_up("myopic", "at_loss", [0.5, 0.8, 0.9]),
            made_up("constant", "at_loss", [0.6, 0.4, 0.1]),
            made_up("constant", "from_loss", [0.2, 0.3, 0.7]),
            made_up("myopic", "from_loss", [1.0, 1.0, 0.7]),
        ],
        ignore_index=True,
    )
    return Runs(experiment("ucbfair/synthetic"), "smoke", POPULATION).showing(results)


def test_a_portrait_is_what_a_policy_does_in_one_step(runs: Runs) -> None:
    found = portraits(runs, {"constant": "strict", "myopic": "greedy"}, size=5)
    assert list(dict.fromkeys(found["panel"])) == ["strict", "greedy"]
    strict = found[found["panel"] == "strict"]
    states = start_grid(5)
    model = PopulationModel(PopulationParams.synthetic())
    action = (0.3 + 4) / 8  # the threshold 0.3 between -4 and 4
    outcome = model.outcome(states, np.full(2, action))
    moved = strict[["change_0", "change_1"]].to_numpy()
    np.testing.assert_allclose(moved, outcome.next_rates - states, atol=1e-12)
    np.testing.assert_allclose(strict["shade"], 1 - model.reward(outcome))


def test_the_shade_of_a_portrait_is_named(runs: Runs) -> None:
    gaps = portraits(runs, {"constant": "strict"}, shade="qualification", size=3)
    np.testing.assert_allclose(gaps["shade"], (gaps["rate_0"] - gaps["rate_1"]) ** 2)
    with pytest.raises(UsageError, match="shade='reward'"):
        portraits(runs, {"constant": "strict"}, shade="reward")
    with pytest.raises(UsageError, match="method 'l-ucbfair' is none without training"):
        portraits(runs, {"l-ucbfair": "learned"})


def test_courses_stand_under_the_names_of_figures(runs: Runs) -> None:
    found = along_episodes(runs, "at_loss", "constant", "myopic", "optimum")
    assert list(found) == ["one threshold for all", "Myopic"]
    assert found["Myopic"].tolist() == [0.5, 0.8, 0.9]


def test_the_best_and_the_worst_start_are_told(runs: Runs) -> None:
    found = from_starts(runs, "myopic", "constant").set_index("name")
    assert found.loc["Myopic", ["value", "low", "high"]].tolist() == [pytest.approx(0.9), 0.7, 1.0]
    assert found.loc["one threshold for all", "low"] == 0.2


def test_the_figure_of_the_starts_shows_what_is_stored(runs: Runs) -> None:
    figure = starts_figure(runs, "myopic", "optimum", "constant")
    assert figure is not None
    assert figure.data["name"].tolist() == ["Myopic", "one threshold for all"]
    assert starts_figure(runs, "optimum") is None


def learned_beside_optimum(runs: Runs) -> Runs:
    """Return two runs of L-UCBFair that differ, and the optimum, from all 16 starts."""
    starts = np.arange(16)
    learned = made_up("l-ucbfair", "from_loss", list(0.2 + 0.01 * starts))
    apart = learned["value"] + np.where(learned["seed"] == 0, 0.05, 0.15)
    best = made_up("optimum", "from_loss", list(0.1 + 0.01 * starts))
    worst_start = (best["step"] == 3) & (best["seed"] < 2)
    best = best.assign(value=best["value"].mask(worst_start, best["value"] - 0.02))
    rows = [learned.assign(value=apart, variant="calibrated"), best]
    return runs.showing(pd.concat(rows, ignore_index=True))


def test_learned_arms_are_told_by_start_as_the_mean_of_their_runs(runs: Runs) -> None:
    stored = learned_beside_optimum(runs)
    (row,) = from_starts(stored, ("l-ucbfair", "calibrated"), ("td3", "as_coded")).to_numpy()
    assert row[0] == "L-UCBFair, our numbers"
    assert row[1:4].tolist() == pytest.approx([0.375, 0.3, 0.45])
    assert from_starts(stored.showing(stored.results.iloc[:0]), "optimum").empty


def test_losses_stand_beside_the_optimum_by_start(runs: Runs) -> None:
    stored = learned_beside_optimum(runs)
    arm = ("l-ucbfair", "calibrated")
    table = above_optimum(stored, arm, "optimum", "constant")
    assert isinstance(table, pd.DataFrame)
    assert list(table) == ["L-UCBFair, our numbers", "exact optimum"]
    assert list(table.index[[0, 3, -1]]) == ["0.01 and 0.01", "0.01 and 0.99", "mean"]
    told = table["L-UCBFair, our numbers"].iloc[[0, 3, -1]].tolist()
    losses = np.array([0.15, 0.25])
    assert told == [written(estimate(losses + more)) for more in (0.0, 0.02, 0.02 / 16)]
    assert table["exact optimum"].iloc[0] == "0.000"
    assert farthest_from_optimum(stored, arm, 2) == "0.20 on average, at most 0.22"


def test_nothing_is_compared_without_the_optimum(runs: Runs) -> None:
    assert repr(above_optimum(runs, "constant")) == repr(runs.missing)
    assert farthest_from_optimum(runs, "constant") == NOT_STORED
    assert farthest_from_optimum(learned_beside_optimum(runs), "constant") == NOT_STORED


def test_the_optimum_by_grid_is_that_of_the_planner() -> None:
    known = replace(PopulationParams.synthetic(), episode_length=4)
    coarse = Resolution(11, 7)
    found = optimum_by_grid(known, (coarse, coarse.finer()))
    assert found.index.tolist() == ["11 rates, 7 thresholds", "21 rates, 13 thresholds"]
    planner = Planner(known, resolution=coarse)
    worth = planner.at(planner.plan().reward[0], start_grid(4)).mean()
    assert found["on the grid"].iloc[0] == pytest.approx(1 - worth / 4)
    assert found.iloc[1]["played"] == pytest.approx(found.iloc[1]["on the grid"], abs=0.02)


def test_what_is_left_of_the_grid_s_error_is_less_than_its_bound() -> None:
    known = replace(PopulationParams.synthetic(), episode_length=10)
    grids = [Resolution(11, 7)]
    while len(grids) < 4:
        grids.append(grids[-1].finer())
    losses = optimum_by_grid(known, grids)["on the grid"]
    found = grid_error(losses.iloc[:3].tolist())
    assert found.change == pytest.approx(losses.iloc[2] - losses.iloc[1])
    assert found.bound is not None
    assert abs(losses.iloc[3] - losses.iloc[2]) <= found.bound


@pytest.mark.parametrize(
    ("values", "ratio", "bound", "words"),
    [
        ([0.8, 0.4, 0.3], 4.0, 0.1, "4.0 times less than from the grid before"),
        ([0.46, 0.3, 0.2], 1.6, 0.1 / 0.6, "no more than 0.1667 is left"),
        ([0.4, 0.3, 0.2], 1.0, None, "hardly less than before, so nothing bounds what is left"),
        ([0.2, 0.4, 0.3], -2.0, None, "nothing bounds"),
        ([0.2, 0.3, 0.3], np.inf, 0.0, "no more than 0.0000"),
    ],
)
def test_the_error_of_a_grid_is_bounded_where_changes_shrink(
    values: list[float], ratio: float, bound: float | None, words: str
) -> None:
    found = grid_error(values)
    assert found.ratio == pytest.approx(ratio)
    assert found.bound == (None if bound is None else pytest.approx(bound))
    assert words in str(found)


def test_an_error_takes_three_grids() -> None:
    with pytest.raises(UsageError, match="three grids"):
        grid_error([0.2, 0.1])


def test_a_smaller_budget_costs_more() -> None:
    known, grid = replace(PopulationParams.synthetic(), episode_length=15), Resolution(21, 11)
    found = price_of_fairness(known, (0.5, 0.001), grid)
    assert found.loc[0.5, ["more than without a budget", "price"]].tolist() == [0, 0]
    best = constrained_optimum(Planner(known, resolution=grid), start_grid(4), 0.001)
    assert found.loc[0.001, "mean loss"] == pytest.approx(best.loss)
    more = best.loss - found.loc[0.5, "mean loss"]
    assert found.loc[0.001, "more than without a budget"] == pytest.approx(more)
    assert more > 0


def test_a_price_is_asked_for_each_disparity() -> None:
    known, grid = replace(PopulationParams.synthetic(), episode_length=15), Resolution(21, 11)
    found = price_of_fairness(known, (0.03,), grid, disparity="qualification")
    planner = Planner(known, disparity="qualification", resolution=grid)
    best = constrained_optimum(planner, start_grid(4), 0.03)
    assert found.loc[0.03, "mean loss"] == pytest.approx(best.loss)
    assert best.price > 0
    assert found.loc[0.03, "price"] == best.price


def test_every_method_of_the_paper_has_a_style() -> None:
    for name in ("synthetic", "adult"):
        methods = experiment(f"ucbfair/{name}").methods("book")
        assert set(methods) <= set(POPULATION.all_styles)
    drawn = [(s.colour, s.marker) for s in POPULATION.styles.values()]
    assert len(set(drawn)) == len(drawn)


LEARNED = {("l-ucbfair", "calibrated"): "learned", ("td3", "as_published"): "another"}


def ended(runs: Runs, *ends: list[float]) -> Runs:
    """Return runs of L-UCBFair and TD3 with such losses, of episodes and of the last policies."""
    rows = [
        {"method": method, "variant": variant, "seed": seed, "value": value, "metric": metric}
        | {"phase": phase, "step": step}
        for (method, variant), values in zip(LEARNED, ends, strict=False)
        for seed, value in enumerate(values)
        for metric, phase, step in (
            ("loss", "final", 20),
            ("training_loss", "curve", 10),
            ("training_loss", "curve", 20),
        )
    ]
    return runs.showing(pd.DataFrame(rows).assign(group=-1, profile="smoke"))


ALIKE = [0.1 * number for number in range(1, 11)]
TWO_KINDS = [*(0.1 + 0.001 * number for number in range(8)), 0.9, 0.901]


def test_runs_end_where_they_are_stored(runs: Runs) -> None:
    names = {**LEARNED, ("r-td3", "as_coded"): "not stored"}
    ends = run_ends(ended(runs, ALIKE), "loss", names)
    assert ends["value"].tolist() == ALIKE
    assert set(ends["method"]) == {"learned"}
    assert end_figure(ended(runs, ALIKE), "loss", names) is None  # one arm is no comparison
    assert run_ends(runs.showing(pd.DataFrame()), "loss", names).empty


def test_the_median_of_runs_of_one_kind_has_an_interval_by_ranks(runs: Runs) -> None:
    figure = end_figure(ended(runs, ALIKE, TWO_KINDS), "loss", LEARNED)
    assert figure is not None
    assert len(figure.data) == 20
    assert "learned: runs 0.5 (0.2 to 0.9)" in figure.alt_text
    assert "another: runs 0.104." in figure.alt_text  # no interval where no run ends
    assert "another, 8 and 2 runs" in figure.marks
    assert RANKS_IN_WORDS.startswith("An interval by ranks goes from the second lowest of ten")
    assert between_runs(pd.Series(range(1, 11))) == (2, 9)
    assert between_runs(pd.Series(range(1, 6))) == (3, 3)
    assert between_runs(pd.Series(range(1, 7))) == (1, 6)


def test_runs_that_are_equal_have_no_interval(runs: Runs) -> None:
    figure = end_figure(ended(runs, [0.3] * 10, [0.4] * 10), "loss", LEARNED)
    assert figure is not None
    assert figure.marks == "all runs of a policy are equal"


def test_curves_have_a_band_where_runs_are_of_one_kind(runs: Runs) -> None:
    for ends, told in (
        (ALIKE, "median and 95 % interval by ranks, 10 seeds"),
        (TWO_KINDS, "median without interval where runs are of two kinds: L-UCBFair, 8 and 2 runs"),
    ):
        shown = ended(runs, ends)
        figure = training_figure(shown, "training_loss", "calibrated", ["l-ucbfair"])
        assert figure is not None
        assert figure.marks == f"{told}; thin lines are single runs"
        assert ("(band 0.2 to 0.9)" in figure.alt_text) == (ends is ALIKE)
    nothing = runs.showing(pd.DataFrame())
    assert training_figure(nothing, "training_loss", "calibrated", ["l-ucbfair"]) is None


@pytest.fixture(scope="module")
def lost() -> pd.DataFrame:
    return linear_runs(6, {"the theorem's": None, "0.05": 0.05}, seeds=(0, 1))


def test_regret_and_distortion_stand_beside_their_bounds_as_shares_of_everything(
    lost: pd.DataFrame,
) -> None:
    shares = beside_bound(lost, (2, 6))
    assert shares.index.tolist() == [2, 6]
    problem = example()
    price = 2.0 * problem.horizon / (problem.most_fair() - problem.wanted)
    literal = LUCBFairSettings.as_published(episodes=6, cells=9, largest_price=price)
    limits = bounds(6, problem.horizon, 4, 9, price)
    runs_of_it = [run(problem, literal, seed) for seed in (0, 1)]
    for name, column in (("regret", "regret"), ("distortion", "missing fairness")):
        bound = getattr(limits, name) / (6 * problem.horizon)
        assert shares.loc[6, (column, "the bound")] == f"{bound:.1f}"
        sums = np.array([getattr(one, name).sum() for one in runs_of_it])
        so_far = np.maximum(sums, 0.0 if name == "distortion" else -np.inf) / (6 * problem.horizon)
        assert shares.loc[6, (column, "the theorem's")] == runs_in_words(so_far)


def test_a_price_that_may_hardly_rise_is_like_none() -> None:
    """The theorem's step of the price is in proportion to its bound."""
    settings = LUCBFairSettings.calibrated(episodes=6, cells=3)
    tiny, none = (run(example(), replace(settings, largest_price=p), 0) for p in (1e-12, 0.0))
    assert np.isfinite(tiny).all()
    np.testing.assert_allclose(tiny.regret, none.regret, atol=1e-9)
    assert (none.price == 0).all()
    assert (tiny.price <= 1e-12).all()


def test_the_loss_of_a_constant_threshold_is_that_of_an_episode() -> None:
    known = replace(PopulationParams.synthetic(), episode_length=3)
    model, rates, losses = PopulationModel(known), start_grid(4), []
    for _ in range(3):
        outcome = model.outcome(rates, np.full((16, 2), (0.3 + 4) / 8))
        losses.append(1 - model.reward(outcome).mean())
        rates = outcome.next_rates
    found = constant_losses(known, [0.3, 4.0])
    assert found.loc[0.3] == pytest.approx(np.mean(losses))
    assert found.loc[4.0] > 0.99  # nobody is accepted


def test_random_thresholds_depend_on_the_population_and_the_seed_only() -> None:
    known = replace(PopulationParams.synthetic(), episode_length=5)
    mild = replace(PopulationParams.synthetic_mild(), episode_length=5)
    found = random_losses({"cited": known, "mild": mild}, copies=20)
    assert found["mild"] < found["cited"]
    assert found["cited"] == random_losses({"again": known}, copies=20)["again"]
    assert found["cited"] != random_losses({"other": known}, copies=20, seed=1)["other"]


def test_a_narrow_strictest_cell_is_the_strictest_threshold() -> None:
    known = replace(PopulationParams.adult_cited(), episode_length=20)
    loss, late = strictest_cell(known, cells=10**6, copies=2)
    always = constant_losses(known, [known.threshold_range[1]])
    assert loss == pytest.approx(always.iloc[0], abs=1e-4)
    wide_loss, wide_late = strictest_cell(known, cells=5, copies=2)
    assert wide_loss > loss
    assert wide_late < late <= 1.0


def test_both_ends_of_runs_in_the_linear_problem(lost: pd.DataFrame) -> None:
    table = both_ends(lost, 2)
    assert table.index.tolist() == ["the theorem's", "0.05"]
    own = lost[lost["method"] == "0.05"]
    for column, signal, steps in (
        ("regret, last 2", "regret", (5, 6)),
        ("missing fairness, first 2", "distortion", (1, 2)),
    ):
        part = own[own["step"].isin(steps)].groupby("seed")[signal].mean()
        assert table.loc["0.05", column] == runs_in_words(part.to_numpy(), 2)
    assert float(table.loc["0.05", "price"]) == pytest.approx(own["price"].max(), abs=0.005)


def test_the_linear_problem_is_drawn_run_by_run(lost: pd.DataFrame) -> None:
    figure = linear_figure(lost, "regret", averaged=3)
    assert figure.data["step"].unique().tolist() == [3, 6]
    first = lost[(lost["step"] <= 3) & (lost["seed"] == 1) & (lost["method"] == "0.05")]
    drawn = figure.data[(figure.data["seed"] == 1) & (figure.data["method"] == "0.05")]
    assert drawn["value"].iloc[0] == pytest.approx(first["regret"].mean())
    assert "thin lines are single runs" in figure.marks


def test_runs_below_a_policy_without_training_are_counted() -> None:
    stored = Page("book").of("ucbfair/synthetic")
    arm = ("r-td3", "as_published")
    losses = stored.last_of(*arm)["loss"]
    below = sum(loss < stored.mean("loss", "constant") for loss in losses)
    assert 0 < below < len(losses)
    assert runs_below(stored, arm, "constant") == f"{below} of {len(losses)}"
    assert runs_below(stored, arm, "optimum") == f"0 of {len(losses)}"
    drawn = Page("book").of("ucbfair/adult")
    arm = ("l-ucbfair", "calibrated")
    both = [drawn.last_of(*which) for which in (arm, ("random", "reference"))]
    own, other = (dict(zip(last["seed"], last["loss"], strict=True)) for last in both)
    below = sum(own[seed] < other[seed] for seed in own)
    assert below != sum(loss < drawn.mean("loss", "random") for loss in own.values())
    assert runs_below(drawn, arm, "random") == f"{below} of {len(own)}"
    assert runs_below(stored, ("r-td3", "as_coded"), "constant") == NOT_STORED
    assert runs_below(stored.showing(stored.results.iloc[:0]), arm, "constant") == NOT_STORED


def test_runs_under_a_bound_are_counted() -> None:
    stored, arm = Page("book").of("ucbfair/synthetic"), ("r-td3", "as_published")
    rates = stored.last_of(*arm)["lower_rate"]
    assert runs_under(stored, arm, "lower_rate", 0.01) == f"{sum(rates < 0.01)} of {len(rates)}"
    assert runs_under(stored, ("r-td3", "as_coded"), "lower_rate", 0.01) == NOT_STORED


def test_learners_of_both_papers_stand_in_one_table() -> None:
    page = Page("book")
    own, others = page.of("ucbfair/synthetic"), page.of("ucbfair/beyond-synthetic")
    arms = (("r-td3", "as_published"), ("l-ucbfair", "calibrated"))
    joined = with_arms_of(others, own, *arms)
    quantities = {"loss": ("mean loss", 3)}
    table, alone = joined.table(quantities), others.table(quantities)
    assert isinstance(table, pd.DataFrame)
    assert isinstance(alone, pd.DataFrame)
    assert len(table) == len(alone) + len(arms)
    pd.testing.assert_frame_equal(table.iloc[len(arms) :], alone)


def test_the_cost_of_the_paper_is_that_of_its_provenance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five runs of an hour each: two in figures, one beside them, one elsewhere, one taken over."""
    page = Page("book")
    told = {
        "ucbfair/synthetic": [
            ("l-ucbfair", "calibrated", None),
            ("myopic", "reference", None),
            ("l-ucbfair", "as_published", None),
        ],
        "ucbfair/sweep": [("l-ucbfair-one", "one_change", None), ("l-ucbfair", "calibrated", "a")],
    }

    def provenance(runs: Runs) -> pd.DataFrame:
        name = runs.experiment.id
        rows = [(name, *run, 3600.0) for run in told[name]]
        columns = ["experiment", "method", "variant", "same_as", "core_seconds"]
        return pd.DataFrame(rows, columns=columns)

    monkeypatch.setattr(Runs, "provenance", provenance)
    words = cost_in_words([page.of(name) for name in told])
    assert "took 2.0 core hours, which is 1.0 hours on two cores" in words
    missing = "R-TD3 in `ucbfair/synthetic-qr` and L-UCBFair in `ucbfair/adult` and"
    assert f"in 2 stored runs, without L-UCBFair in `ucbfair/synthetic-qr` and {missing}" in words
    assert "the figures keep to it, all runs together keep to it" in words
    assert "experiments took 3.0 core hours" in words
    assert "4 runs took 4.0" in words
    assert "25% of the updates" in words
    told["ucbfair/sweep"] += [("l-ucbfair-one", "one_change", None)] * 5
    assert "all runs together take more" in cost_in_words([page.of(name) for name in told])


def test_the_figures_learners_are_arms() -> None:
    for name, arms in IN_FIGURES.items():
        known = {(arm.method, arm.variant) for arm in experiment(name).arms["book"]}
        assert set(arms) <= known
