"""How L-UCBFair's runs appear on pages, and the phase portraits of policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf, isqrt
from typing import NamedTuple

import numpy as np
import pandas as pd

from longfair.agents.policies.population import Cost
from longfair.envs.population import DISPARITIES, PopulationModel, PopulationParams, start_grid
from longfair.envs.population.exact import Planner, Resolution, constrained_optimum, follow
from longfair.errors import UsageError
from longfair.figures import Figure, LineStyle, Words
from longfair.figures.dot_intervals import dot_intervals
from longfair.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from longfair.papers.page import NOT_STORED, Look, Runs
from longfair.papers.setting import Setting, Untrained, World
from longfair.papers.ucbfair.experiments import PROFILES
from longfair.papers.ucbfair.flow import flow
from longfair.papers.untrained import params
from longfair.runs.evidence import REFERENCE
from longfair.runs.statistics import estimate
from longfair.runs.tidy import (
    ARM,
    UNITS_APART,
    ArmName,
    median_and_range,
    middles,
    middles_in_words,
    written,
)
from longfair.settings import Count, checked

STARTS = 4
"""Starts of the evaluation along a rate."""

SWEPT = {
    "l-ucbfair-cells-9": "9 cells",
    "l-ucbfair-cells-64": "64 cells",
    "l-ucbfair-cells-100": "100 cells",
    "l-ucbfair-budget-001": "budget 0.01",
    "l-ucbfair-ridge-1": "ridge 1, the theorem's",
    "l-ucbfair-bonus-0": "no bonus",
    "l-ucbfair-bonus-05": "bonus 0.5",
    "l-ucbfair-no-price": "no price on unfairness",
    "l-ucbfair-frozen": "targets never refreshed",
    "l-ucbfair-pooled": "one Gram matrix for all steps",
    "l-ucbfair-size-100": "100 features",
    "l-ucbfair-one-copy": "an episode for each policy",
    "l-ucbfair-sharpness-1": "sharpness 1, the script's",
    "l-ucbfair-price-step-10": "ten times the price's step",
    "l-ucbfair-highest-price-100": "ten times the price's bound",
    "l-ucbfair-learned-80": "80 learned features",
    "l-ucbfair-range-3": "thresholds from -3 to 3",
    "l-ucbfair-starts-middle": "starts in the middle",
    "l-ucbfair-script": "the script's numbers",
    "r-td3-every-step": "R-TD3, a gradient step for each step",
}
"""What the arms of the sweep change."""

RANKS_IN_WORDS = (
    "An interval by ranks goes from the second lowest of ten runs to the second highest; fewer "
    "than six have none."
)
"""What captions say of medians with intervals; see `tidy.between_runs`."""

POPULATION = Look(
    styles={
        "l-ucbfair-learned": LineStyle("L-UCBFair, learned features", PURPLE, "<"),
        "td3": LineStyle("TD3", GREY, "X", "--"),
        "myopic": LineStyle("Myopic", VERMILION, "s", ":"),
        "myopic-gd": LineStyle("Myopic, by descent", VERMILION, "D", ":"),
        "myopic-fair": LineStyle("Myopic-Fair", ORANGE, "s", ":"),
        "myopic-fair-gd": LineStyle("Myopic-Fair, by descent", ORANGE, "D", ":"),
        "myopic-fair-61": LineStyle("Myopic-Fair, 61 knots", ORANGE, "h", ":"),
        "maxmin": LineStyle("Maxmin", BLUE, "s", ":"),
        "maxmin-gd": LineStyle("Maxmin, by descent", BLUE, "D", ":"),
        "maxmin-fair": LineStyle("Maxmin-Fair", SKY, "s", ":"),
        "maxmin-fair-gd": LineStyle("Maxmin-Fair, by descent", SKY, "D", ":"),
        "random": LineStyle("random thresholds", SKY, "v", ":"),
        "constant": LineStyle("one threshold for all", GREEN, "*", ":"),
        "optimum": LineStyle("exact optimum", BLACK, "P", "-"),
    },
    axes={
        "at_loss": "loss of a step",
        "at_disparity": "squared gap in acceptance",
        "training_loss": "mean loss of an episode",
        "training_disparity": "mean disparity of an episode",
        "loss": "mean loss",
        "disparity_dp": "mean squared gap in acceptance",
        "gap": "difference of qualification rates at the end",
    },
    variants=SWEPT | {"calibrated": "our numbers", "one_change": "one change"},
    across=("loss", "disparity_dp"),
    median=True,
)
"""How runs in the population appear."""


def portraits(
    runs: Runs, methods: Mapping[str, str], shade: str = "loss", size: int = 40
) -> pd.DataFrame:
    """Follow policies without training for one step from every state of a grid.

    Parameters
    ----------
    runs
        Runs of the experiment that the policies belong to.
    methods
        Method to the title of its panel.
    shade
        ``"loss"`` of the step, or one of `DISPARITIES`.
    size
        States along a rate. A page carries a row for every state: with the paper's 100 that would
        be some 3 MB a figure, for streamlines and shades that look the same.

    Returns
    -------
    pandas.DataFrame
        Columns as `longfair.figures.phase_portrait` takes them.
    """
    if shade not in ("loss", *DISPARITIES):
        raise UsageError(f"shade={shade!r}: give 'loss' or one of {', '.join(DISPARITIES)}")
    parts = []
    for method, title in methods.items():
        setting = _setting(runs, method)
        policy = setting.method.make(setting.world, 0)
        moved = flow(policy, params(setting.world), size, draws=1)
        parts.append(moved.assign(panel=title, shade=moved[shade]))
    columns = ["panel", "rate_0", "rate_1", "change_0", "change_1", "shade"]
    return pd.concat(parts, ignore_index=True)[columns]


def _setting(runs: Runs, method: str) -> Setting:
    """Return the settings of a policy without training."""
    arms = runs.experiment.arms[runs.profile]
    settings = {arm.method: arm.config for arm in arms if isinstance(arm.config.method, Untrained)}
    if method not in settings:
        raise UsageError(f"method {method!r} is none without training: {', '.join(settings)} are")
    found: Setting = settings[method]
    return found


def along_episodes(runs: Runs, metric: str, *methods: str) -> pd.DataFrame:
    """Select what policies without training bring at every step, mean over the 16 starts.

    Parameters
    ----------
    runs
        Runs of an experiment.
    metric
        A metric of `longfair.papers.ucbfair.measures` that begins with ``at_``.
    *methods
        The policies.

    Returns
    -------
    pandas.DataFrame
        Index step, a column per policy under its label. No rows without results.
    """
    return _wide(runs, metric, methods).rename_axis("step")


def from_starts(runs: Runs, *policies: str | ArmName) -> pd.DataFrame:
    """Sum up how the mean loss of policies differs between the 16 starts, mean over runs.

    Parameters
    ----------
    runs
        Runs of an experiment.
    *policies
        A policy without training by its method; what was learned by its method and variant.

    Returns
    -------
    pandas.DataFrame
        Columns `name`, `series`, `value` (mean over the starts), `low` and `high` (from the best
        and the worst start), as `longfair.figures.dot_intervals` takes them. No rows without
        results.
    """
    losses = _by_start(runs, policies)
    ends = losses.agg(["mean", "min", "max"]).T.set_axis(["value", "low", "high"], axis=1)
    return ends.rename_axis("name").reset_index().assign(series="16 starts")


def starts_figure(runs: Runs, *policies: str | ArmName) -> Figure | None:
    """Draw the mean loss from the 16 starts, as `from_starts` sums it up; None without results."""
    spread = from_starts(runs, *policies)
    if spread.empty:
        return None
    return dot_intervals(spread, across="mean loss", band="mean, best and worst start")


def above_optimum(runs: Runs, *policies: str | ArmName, digits: int = 3) -> pd.DataFrame | Words:
    """Lay out by how much more than the exact optimum policies lose from each of the 16 starts.

    Parameters
    ----------
    runs
        Runs of an experiment.
    *policies
        As for `from_starts`.
    digits
        Digits after the point.

    Returns
    -------
    pandas.DataFrame
        Index: the rates at the start, and at last their mean; (17, policies): mean loss of a step
        less the optimum's, mean over runs with its interval at 95 %, as in "0.128 [0.121, 0.135]";
        without one where all runs are equal. Of runs of two kinds, between which their mean lies,
        the middle one, the lowest and the highest. Policies without results are left out.
    """
    optimum = _by_start(runs, ["optimum"])
    if optimum.empty:
        return runs.missing
    starts = [f"{low:.2f} and {high:.2f}" for low, high in start_grid(STARTS)]
    columns = {}
    for label, losses in _runs_by_start(runs, policies).items():
        apart = losses.sub(optimum.iloc[:, 0], axis=0)
        rows = [*apart.to_numpy(), apart.mean().to_numpy()]
        columns[label] = [runs_in_words(row, digits) for row in rows]
    table = pd.DataFrame(columns, index=pd.Index([*starts, "mean"], name="rates at the start"))
    return table if len(table.columns) else runs.missing


def runs_in_words(values: np.ndarray, digits: int = 3) -> str:
    """Write the mean of runs with its interval, if they differ and are of one kind.

    Of runs of two kinds it is the middle one, with the lowest and the highest, unless all are
    within `UNITS_APART` of the last digit.

    Parameters
    ----------
    values
        One per run.
    digits
        Digits after the point.
    """
    found = estimate(values)
    if found.two_kinds and float(np.ptp(values)) * 10**digits > UNITS_APART:
        return f"{median_and_range(pd.Series(values), digits)}, two kinds"
    alone = found.interval is None or found.interval[0] == found.interval[1]
    return f"{found.value:.{digits}f}" if alone else written(found, digits)


def farthest_from_optimum(runs: Runs, policy: str | ArmName, digits: int = 3) -> str:
    """Write by how much more than the optimum a policy loses: "0.128 on average, at most 0.136".

    Parameters
    ----------
    runs
        Runs of an experiment.
    policy
        As for `from_starts`.
    digits
        Digits after the point.
    """
    apart = _less_optimum(runs, [policy])
    if apart.empty:
        return NOT_STORED
    (losses,) = apart.to_numpy().T
    return f"{losses.mean():.{digits}f} on average, at most {losses.max():.{digits}f}"


def optimum_by_grid(known: PopulationParams, resolutions: Sequence[Resolution]) -> pd.DataFrame:
    """Compute the exact optimum's mean loss from the 16 starts on several grids.

    Parameters
    ----------
    known
        The population.
    resolutions
        The grids, the coarsest first. `grid_error` needs three.

    Returns
    -------
    pandas.DataFrame
        A row per grid; columns `on the grid`, what dynamic programming says, and `played`, what
        its policy then loses in the population itself.
    """
    rows, starts = {}, start_grid(STARTS)
    for one in resolutions:
        planner = Planner(known, resolution=one)
        plan = planner.plan()
        sums = planner.at(plan.reward[0], starts), follow(planner, plan, starts).reward
        rows[f"{one.rates} rates, {one.thresholds} thresholds"] = [
            1.0 - float(total.mean()) / known.episode_length for total in sums
        ]
    columns = ["on the grid", "played"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("knots")


SHRINKS = 1.5
"""Ratio of two changes of a value, from grid to grid, from which the next ones count as bounded."""


class GridError(NamedTuple):
    """How far the finest of three grids is from the limit, by how its values change."""

    change: float
    """From the middle grid to the finest one."""
    ratio: float
    """Change from the coarsest to the middle one, over that to the finest one; below 0 where they
    go opposite ways."""
    bound: float | None
    """What may be left at the finest grid; None where the ratio justifies no bound."""

    def __str__(self) -> str:
        """Say what is left, and why."""
        told = f"changes by {abs(self.change):.4f}"
        if self.bound is None:
            return f"{told}, hardly less than before, so nothing bounds what is left"
        return (
            f"{told}, {self.ratio:.1f} times less than from the grid before; if changes go on "
            f"shrinking so, or halve at least, no more than {self.bound:.4f} is left"
        )


def grid_error(values: Sequence[float]) -> GridError:
    """Bound the error of a value on the finest of three grids, each with half the distances.

    Changes that shrink by a ratio from grid to grid add up to the last one over the ratio less
    one. Of a ratio above 2 only a halving is used, which gives the last change itself. Changes that
    hardly shrink, by less than `SHRINKS`, or go opposite ways, bound nothing.

    Parameters
    ----------
    values
        On the coarsest grid, on the middle one and on the finest one.
    """
    if len(values) != 3:
        raise UsageError(f"values={list(values)}: give those of three grids")
    coarse, middle_one, fine = (float(value) for value in values)
    first, change = middle_one - coarse, fine - middle_one
    if change == 0.0:
        return GridError(0.0, inf, 0.0)
    ratio = first / change
    bound = abs(change) / (min(ratio, 2.0) - 1.0) if ratio >= SHRINKS else None
    return GridError(change, ratio, bound)


def price_of_fairness(
    known: PopulationParams,
    budgets: Sequence[float],
    resolution: Resolution,
    disparity: str = DISPARITIES[0],
) -> pd.DataFrame:
    """Compute the least mean loss from the 16 starts under budgets of a disparity.

    Parameters
    ----------
    known
        The population.
    budgets
        Largest mean disparities per step.
    resolution
        The grid.
    disparity
        One of `DISPARITIES`; squared gap in acceptance, if not told.

    Returns
    -------
    pandas.DataFrame
        Index budget; columns `mean loss`, `more than without a budget`, and `price`, what a unit
        of disparity costs.
    """
    planner = Planner(known, disparity=disparity, resolution=resolution)
    rows, starts = {}, start_grid(STARTS)
    free = 1.0 - planner.at(planner.plan().reward[0], starts).mean() / known.episode_length
    for budget in budgets:
        best = constrained_optimum(planner, starts, budget)
        rows[budget] = [best.loss, best.loss - free, best.price]
    columns = ["mean loss", "more than without a budget", "price"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("budget")


def budget_costs(cost: float) -> str:
    """Write what a budget costs; one that reads as zero costs nothing."""
    return f"{cost:.4f}" if round(cost, 4) else "nothing"


def heat(runs: Runs, metric: str, arms: Mapping[ArmName, str]) -> pd.DataFrame:
    """Lay out what an episode adds up to from every state of the finer grid, mean over runs.

    Parameters
    ----------
    runs
        Runs of an experiment.
    metric
        ``"heat_loss"`` or ``"heat_disparity"``.
    arms
        Method and variant to the title of the panel.

    Returns
    -------
    pandas.DataFrame
        As `longfair.figures.heat_maps.heat_maps` takes it. Arms without results are left out.
    """
    parts = []
    for arm, title in arms.items():
        if len(runs.results) and runs.has(arm):
            rows = runs.results
            own = rows[(rows["metric"] == metric) & (rows["method"] == arm[0])]
            means = own[own["variant"] == arm[1]].groupby("step")["value"].mean()
            parts.append(
                pd.DataFrame(start_grid(isqrt(len(means))), columns=["right", "height"]).assign(
                    panel=title, value=means.to_numpy()
                )
            )
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def step_costs(
    known: PopulationParams, rates: tuple[float, float], costs: Mapping[str, Cost], size: int = 61
) -> pd.DataFrame:
    """Lay out what short-sighted policies minimise, over both groups' thresholds.

    Parameters
    ----------
    known
        The population.
    rates
        The state.
    costs
        Title of the panel to the cost.
    size
        Thresholds along an axis, on the scale from 0 to 1.

    Returns
    -------
    pandas.DataFrame
        As `longfair.figures.heat_maps.heat_maps` takes it.
    """
    axis = np.linspace(0.0, 1.0, checked("size", size, Count))
    pairs = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    model = PopulationModel(known)
    return pd.concat(
        [
            pd.DataFrame(pairs, columns=["right", "height"]).assign(
                panel=title, value=cost.of(model, rates, pairs)
            )
            for title, cost in costs.items()
        ],
        ignore_index=True,
    )


def played(known: PopulationParams, actions: Iterable[np.ndarray]) -> float:
    """Play an episode from the starts of the evaluation, and return its mean loss.

    Parameters
    ----------
    known
        The population.
    actions
        Per step, actions (C, 16, 2) between 0 and 1 of C copies of the starts.
    """
    losses, _ = _episode(known, actions)
    return float(losses.mean())


def strictest_cell(
    known: PopulationParams, cells: int, copies: int = 50, seed: int = 0
) -> tuple[float, float]:
    """Return what always drawing from the strictest cell of L-UCBFair's grid brings.

    Parameters
    ----------
    known
        The population.
    cells
        Cells on a side of the grid.
    copies
        Episodes from each of the 16 starts.
    seed
        Seed of the draws.

    Returns
    -------
    tuple of float
        The mean loss, and the share that is qualified over the last fifth of the episode in the
        group that has fewer.
    """
    rng = np.random.default_rng(seed)
    shape = (known.episode_length, copies, STARTS**2, 2)
    losses, rates = _episode(known, 1.0 - rng.random(shape) / cells)
    late = rates[-(known.episode_length // 5) - 1 :]
    return float(losses.mean()), float(late.mean(axis=(0, 1, 2)).min())


def _episode(
    known: PopulationParams, actions: Iterable[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Play an episode; per step its mean loss and the rates (C, 16, 2) after it."""
    model, losses = PopulationModel(known), []
    rates = [start_grid(STARTS)[None]]
    for _, action in zip(range(known.episode_length), actions, strict=False):
        outcome = model.outcome(rates[-1], action)
        losses.append(1.0 - float(model.reward(outcome).mean()))
        rates.append(outcome.next_rates)
    return np.array(losses), np.array(rates[1:])


def random_losses(
    populations: Mapping[str, PopulationParams], copies: int = 50, seed: int = 0
) -> pd.Series[float]:
    """Return the mean loss of thresholds that are drawn anew at every step, by population.

    Parameters
    ----------
    populations
        Name to population.
    copies
        Episodes from each of the 16 starts.
    seed
        Seed of the draws, the same for every population.
    """
    found = {}
    for name, known in populations.items():
        rng = np.random.default_rng(seed)
        drawn = (rng.random((copies, STARTS**2, 2)) for _ in range(known.episode_length))
        found[name] = played(known, drawn)
    return pd.Series(found, name="mean loss")


def constant_losses(known: PopulationParams, thresholds: Sequence[float]) -> pd.Series[float]:
    """Return the mean loss of one threshold for everybody, by threshold.

    Parameters
    ----------
    known
        The population.
    thresholds
        On the scale of the feature.
    """
    low, high = known.threshold_range
    actions = (np.asarray(thresholds, dtype=np.float64) - low) / (high - low)
    always = [np.full((known.episode_length, 1, STARTS**2, 2), action) for action in actions]
    losses = [played(known, action) for action in always]
    return pd.Series(losses, index=pd.Index(thresholds, name="threshold"), name="mean loss")


def explained_by_features(world: World, transitions: int, seed: int) -> pd.DataFrame:
    """Learn features from random play, and look at what they explain of steps kept back.

    Parameters
    ----------
    world
        The population.
    transitions
        Steps of random play, a tenth of which is kept back.
    seed
        Seed of play and of learning.

    Returns
    -------
    pandas.DataFrame
        One row each for reward, fairness, and the functions of the next state, lowest and highest;
        the share of the variance that is explained.
    """
    from longfair.agents.ucbfair.offline_features import OfflineLearning, fit, random_play

    learning = OfflineLearning(transitions=transitions)
    played = random_play(world.make(50, 50), transitions, learning.notion, seed)
    reward, fairness, *following = fit(played, learning, seed).explained
    rows = {
        "reward": reward,
        "fairness": fairness,
        "next state, least": min(following),
        "next state, most": max(following),
    }
    return pd.DataFrame({"share of the variance": rows})


def run_ends(runs: Runs, metric: str, arms: Mapping[ArmName, str]) -> pd.DataFrame:
    """Select where runs end.

    Parameters
    ----------
    runs
        Runs of an experiment.
    metric
        A metric of the last policies.
    arms
        Method and variant to the name in the figure.

    Returns
    -------
    pandas.DataFrame
        Columns `method` (the name), `variant` (empty), `seed` and `value`. Arms without results are
        left out.
    """
    parts = [
        runs.last_of(*arm)[["seed", metric]].assign(method=name)
        for arm, name in arms.items()
        if len(runs.results) and runs.has(arm)
    ]
    if not parts:
        return pd.DataFrame(columns=[*ARM, "seed", "value"])
    ends = pd.concat(parts, ignore_index=True).assign(variant="").rename(columns={metric: "value"})
    return ends[[*ARM, "seed", "value"]]


def end_figure(runs: Runs, metric: str, arms: Mapping[ArmName, str]) -> Figure | None:
    """Draw where runs end, every run and the median; None with fewer than two arms.

    The median has an interval by ranks, see `tidy.between_runs`, but where runs are of two kinds:
    there it would reach where no run ends.

    Parameters
    ----------
    runs
        Runs of an experiment.
    metric
        One of the look's axes.
    arms
        Method and variant to the name in the figure.
    """
    ends = run_ends(runs, metric, arms)
    names = list(dict.fromkeys(ends["method"]))
    if len(names) < 2:
        return None
    found = middles(ends, ARM, median=True, ranked=names)
    shown, single = (
        table.rename(columns={"method": "name"}).assign(series="runs") for table in (found, ends)
    )
    across = runs.look.axes[metric]
    if (ends.groupby("method")["value"].nunique() == 1).all():
        return dot_intervals(shown, across=across, band="all runs of a policy are equal")
    band = middles_in_words(ends, ARM, {}, median=True, ranked=names)
    return dot_intervals(shown, across=across, band=band, runs=single)


def training_figure(runs: Runs, metric: str, variant: str, methods: Sequence[str]) -> Figure | None:
    """Draw a metric during training, every run and the median with its interval by ranks.

    Methods whose runs end in two kinds have no interval, as in `end_figure`.

    Parameters
    ----------
    runs
        Runs of an experiment.
    metric
        One of the look's axes.
    variant
        Variant to draw.
    methods
        Methods to draw.
    """
    if runs.results.empty:
        return None
    look = replace(runs.look, median=True, ranked=methods)
    shown = replace(runs, look=look).showing(runs.results)
    return shown.curve_figure(metric, variant, methods=methods)


def with_arms_of(runs: Runs, other: Runs, *arms: ArmName) -> Runs:
    """Put arms of another experiment before those of an experiment, for one table of both.

    Parameters
    ----------
    runs, other
        Runs of two experiments in the same population.
    *arms
        Methods and variants of `other`. Those without results are left out.
    """
    found = other.results
    keys = pd.MultiIndex.from_frame(found[["method", "variant"]])
    return runs.showing(pd.concat([found[keys.isin(arms)], runs.results], ignore_index=True))


def runs_below(runs: Runs, arm: ArmName, beside: str | ArmName) -> str:
    """Say how many runs of an arm lose less than a policy or than those of another arm: "2 of 10".

    Parameters
    ----------
    runs
        Runs of an experiment.
    arm
        Method and variant of what was learned.
    beside
        Method of a policy without training, or another arm. Where its runs differ, every run is
        compared with that of its seed, as the claims do.
    """
    other = (beside, REFERENCE) if isinstance(beside, str) else beside
    if runs.results.empty or not runs.has(arm, other):
        return NOT_STORED
    losses, others = (runs.last_of(*which).set_index("seed")["loss"] for which in (arm, other))
    paired = others.reindex(losses.index) if len(others) > 1 else others.item()
    return f"{(losses < paired).sum()} of {len(losses)}"


def runs_under(runs: Runs, arm: ArmName, metric: str, bound: float) -> str:
    """Say in how many of an arm's runs a metric of the last policy is below a bound: "2 of 10".

    Parameters
    ----------
    runs
        Runs of an experiment.
    arm
        Method and variant.
    metric
        A metric of the last policies.
    bound
        The bound.
    """
    if runs.results.empty or not runs.has(arm):
        return NOT_STORED
    values = runs.last_of(*arm)[metric]
    return f"{(values < bound).sum()} of {len(values)}"


IN_FIGURES = {
    "ucbfair/synthetic": (("l-ucbfair", "calibrated"),),
    "ucbfair/synthetic-qr": (("l-ucbfair", "calibrated"), ("r-td3", "as_published")),
    "ucbfair/adult": (
        ("l-ucbfair", "calibrated"),
        ("r-td3", "as_published"),
        ("td3", "as_published"),
    ),
}
"""Experiment to the learners, method and variant, that the paper's figures show in it."""

HOURS = 4
"""Of a machine with two cores, in which the paper was to be run."""


def cost_in_words(runs: Sequence[Runs]) -> str:
    """Say what the runs of the paper cost, on two cores and in all: from their provenance.

    A run that was taken over from another experiment counts once.

    Parameters
    ----------
    runs
        Runs of all experiments of the paper.
    """
    tables = [one.provenance() for one in runs if len(one.results)]
    if not tables:
        return NOT_STORED
    stored = pd.concat(tables)
    stored = stored[stored["same_as"].isna()]
    home = stored[stored["experiment"].isin(IN_FIGURES)]
    shown = [
        variant == REFERENCE or (method, variant) in IN_FIGURES[name]
        for name, method, variant in zip(
            home["experiment"], home["method"], home["variant"], strict=True
        )
    ]
    figures, own, everything = (
        part["core_seconds"].sum() / 3600 for part in (home[shown], home, stored)
    )
    found = set(zip(home["experiment"], home["method"], home["variant"], strict=True))
    names = POPULATION.names
    waiting = [
        f"{names[method]} in `{name}`"
        for name, arms in IN_FIGURES.items()
        for method, variant in arms
        if (name, method, variant) not in found
    ]
    without = f", without {' and '.join(waiting)}, not run yet," if waiting else ""
    return (
        f"What the paper's figures show, its learners and baselines in {sum(shown)} stored runs"
        f"{without} took {figures:.1f} core hours, which is {figures / 2:.1f} hours on two cores. "
        f"All arms of the same experiments took {own:.1f} core hours, and with the sweeps and "
        f"everything else that is asked here {len(stored)} runs took {everything:.1f}. The aim "
        f"was {HOURS} hours on two cores: the figures {_holds(figures)}, all runs together "
        f"{_holds(everything)}. Other work ran on the machine at the time. {_updates_in_words()}"
    )


def _updates_in_words() -> str:
    """Say how many updates TD3 makes in these runs, beside the library's one for each step."""
    book = PROFILES["book"]
    share = book.gradient_steps / book.td3.copies
    return (
        f"R-TD3 and TD3 make {share:.0%} of the updates that Stable-Baselines3 makes by default; "
        "with all of them they would take several times as long."
    )


def _holds(core_hours: float) -> str:
    return "keep to it" if core_hours <= 2 * HOURS else "take more"


def _by_start(runs: Runs, policies: Iterable[str | ArmName]) -> pd.DataFrame:
    """Return the mean loss (16, policies) from every start, mean over runs, under names."""
    return pd.DataFrame({k: one.mean(axis=1) for k, one in _runs_by_start(runs, policies).items()})


def _runs_by_start(runs: Runs, policies: Iterable[str | ArmName]) -> dict[str, pd.DataFrame]:
    """Return the mean loss (16, runs) from every start, by name of the policy."""
    names, columns = runs.look.names, {}
    rows = runs.results[runs.results["metric"] == "from_loss"]
    for policy in policies:
        method, variant = (policy, REFERENCE) if isinstance(policy, str) else policy
        own = rows[(rows["method"] == method) & (rows["variant"] == variant)]
        if len(own):
            label = names.get(method, method)
            if variant != REFERENCE:
                label = f"{label}, {names.get(variant, variant)}"
            columns[label] = own.pivot_table(index="step", columns="seed", values="value")
    return columns


def _less_optimum(runs: Runs, policies: Iterable[str | ArmName]) -> pd.DataFrame:
    """Return mean losses as from `_by_start`, less the optimum's; nothing where it is missing."""
    optimum = _by_start(runs, ["optimum"])
    losses = _by_start(runs, policies)
    return losses.sub(optimum.iloc[:, 0], axis=0) if len(optimum) else pd.DataFrame()


def _wide(runs: Runs, metric: str, methods: tuple[str, ...]) -> pd.DataFrame:
    """Return a curve of every policy: its runs are the same, so their mean is each of them."""
    rows = runs.results
    chosen = rows[(rows["metric"] == metric) & (rows["variant"] == REFERENCE)]
    wide = chosen.pivot_table(index="step", columns="method", values="value")
    kept = [method for method in methods if method in wide]
    return wide[kept].rename(columns=runs.look.names).rename_axis(columns=None)
