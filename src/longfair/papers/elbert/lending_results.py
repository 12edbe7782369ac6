"""ELBERT's lending results as tidy tables, and small simulations that explain them.

Reading results in general is the matter of `longfair.runs.tidy`. The second part plays lenders that
need no training.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longfair.agents.evaluation import EpisodeTotals, acting, play_episodes
from longfair.agents.policies import applicants
from longfair.arrays import FloatArray
from longfair.figures import Figure, LineStyle, group_rates
from longfair.figures.style import BLACK, GREEN, GREY, ORANGE, PURPLE
from longfair.metrics.benefit import benefit_rate, bias
from longfair.papers.elbert import world_results as worlds
from longfair.papers.elbert.lending import (
    LIGHTER_ALPHAS,
    PROBLEM,
    REFERENCES,
    STATIC_OPTIMUM,
    WORLD,
)
from longfair.papers.elbert.measures import measured
from longfair.papers.page import Look, Runs
from longfair.papers.protocol import two_seeds
from longfair.runs import tidy
from longfair.runs.statistics import estimate

POSTER: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "reward": {
        "g-ppo": (0.150, 0.148),
        "r-ppo": (0.170, 0.168),
        "a-ppo": (0.168, 0.135),
        "elbert-po": (0.182, 0.180),
    },
    "bias": {
        "g-ppo": (0.150, 0.161),
        "r-ppo": (0.104, 0.100),
        "a-ppo": (0.073, 0.046),
        "elbert-po": (0.019, 0.023),
    },
}
"""What the authors' poster shows for lending, read off its plots, by metric and method.

First the learning curve at 2,000,000 training steps, then the scatter plot, which is the end of
the curves at 5,000,000.
"""

READING_ERROR: Mapping[str, tuple[float, float]] = {
    "reward": (0.003, 0.002),
    "bias": (0.004, 0.003),
}
"""Half widths of the reading errors of `POSTER`."""

MOMENTS = ("at two million", "at the end")
"""Where the two numbers of `POSTER` were read."""

LOOK = Look(
    styles={
        "elbert-po-light": LineStyle("ELBERT-PO, weight / 100", ORANGE, "D", "--"),
        "elbert-po-discounted": worlds.DISCOUNTED,
        **{
            f"elbert-po-discounted-{alpha}": LineStyle(
                f"discounted totals, weight {alpha:,}", colour, marker, "--"
            )
            for alpha, colour, marker in zip(
                LIGHTER_ALPHAS, (GREY, BLACK, GREEN, PURPLE), "<>vD", strict=True
            )
        },
        "static-optimum": LineStyle("best thresholds", GREEN, "X", ":"),
    },
    variants={"ablation": "ablation"},
    beside=("threshold-3-3", "threshold-2-1", "static-optimum", "equal-opportunity"),
)
"""How runs in lending appear."""

APART = replace(LOOK, median=True)
"""The same where one run ends apart from the others, and none near the mean."""

PANELS: Mapping[str, str] = {
    "rate": "true positive rate",
    "supply": "supply per step",
    "demand": "demand per step",
}
"""What `group_bars` draws."""

# Reading results --------------------------------------------------------------------------------


def final_table(results: pd.DataFrame) -> pd.DataFrame:
    """Lay out reward and bias of the last policies for reading.

    Parameters
    ----------
    results
        As from `Store.load`.

    Returns
    -------
    pandas.DataFrame
        Index `method`, `variant`. For reward, bias (as evaluated by the authors) and bias without
        the one added per episode: mean with interval, and interquartile mean; number of seeds.
    """
    titles = {"reward": "reward", "bias": "bias", "bias_exact": "exact bias"}
    table = tidy.final_table(results, {metric: (title, 3) for metric, title in titles.items()})
    for place, (metric, title) in enumerate(titles.items()):
        runs = [tidy.of_arm(results, metric, *arm) for arm in table.index]
        middles = [f"{estimate(values, 'interquartile mean').value:.3f}" for values in runs]
        table.insert(2 * place + 1, f"{title}, IQM", middles)
    return table


def beside_poster(results: pd.DataFrame) -> pd.DataFrame:
    """Hold the last policies, as coded, against the numbers on the authors' poster.

    Parameters
    ----------
    results
        As from `Store.load`.

    Returns
    -------
    pandas.DataFrame
        One row per method and metric: `method`, `metric`, our `value`, `low`, `high`, in words as
        `written`; the poster's
        `at two million` and `at the end`; and for each of these whether it lies within our
        interval, widened by the reading error (`... agrees`), as from `worlds.beside_poster`.
    """
    found = pd.DataFrame()
    for place, moment in enumerate(MOMENTS):
        read = {
            metric: {method: values[place] for method, values in methods.items()}
            for metric, methods in POSTER.items()
        }
        error = {metric: errors[place] for metric, errors in READING_ERROR.items()}
        held = worlds.beside_poster(results, read, error)
        held = held.rename(columns={"poster": moment, "agrees": f"{moment} agrees"})
        found = pd.concat([found, held.drop(columns=found.columns, errors="ignore")], axis=1)
    return found


def poster_table(runs: Runs, heading: str, lenders: Sequence[str] = ()) -> pd.DataFrame:
    """Lay out the last policies as coded beside the numbers on the authors' poster.

    Parameters
    ----------
    runs
        Runs of the lending experiment.
    heading
        What to call them.
    lenders
        Policies without training to put below, which are not on the poster.

    Returns
    -------
    pandas.DataFrame
        One row per method; columns: metric and column. No rows without runs as coded.
    """
    shown: dict[str, dict[tuple[str, str], str]] = {}
    rows = beside_poster(runs.results) if (runs.results["variant"] == "as_coded").any() else None
    for row in [] if rows is None else rows.to_dict("records"):
        cells = shown.setdefault(row["method"], {})
        cells[row["metric"], heading] = row["written"]
        cells[row["metric"], "poster, two million"] = f"{row['at two million']:.3f}"
        cells[row["metric"], "poster, end"] = f"{row['at the end']:.3f}"
    for lender in lenders if shown else ():
        shown[lender] = {(metric, heading): f"{runs.mean(metric, lender):.3f}" for metric in POSTER}
    return runs.labelled(pd.DataFrame.from_dict(shown, orient="index").fillna(""))


def poster_in_words(runs: Runs) -> str:
    """Say how many of the poster's numbers the runs as coded agree with.

    Parameters
    ----------
    runs
        Runs of the lending experiment.
    """
    held = beside_poster(runs.results)
    if held.empty:
        return runs.missing.text
    at_two_million, at_the_end = (held[f"{moment} agrees"].eq("yes").sum() for moment in MOMENTS)
    return (
        f"Of the {len(held)} numbers at two million steps of the authors' curves, {at_two_million} "
        "lie within the intervals, widened by the reading error; of those at the end, "
        f"{at_the_end}."
    )


def biases_beside_poster(runs: Runs) -> str:
    """List the bias of every method as coded with the poster's at two million steps.

    Parameters
    ----------
    runs
        Runs of the lending experiment.
    """
    held = beside_poster(runs.results)
    rows = held[held["metric"] == "bias"].to_dict("records")
    parts = [
        f"{runs.look.names[row['method']]} {row['written']} beside {row['at two million']:.3f}"
        for row in rows
    ]
    return ", ".join(parts)


def group_bars(runs: Runs, variant: str) -> Figure | None:
    """Draw rate, supply and demand of every group for one variant and the lenders beside it.

    Parameters
    ----------
    runs
        Runs of the lending experiment.
    variant
        Variant to draw.

    Returns
    -------
    Figure or None
        None without runs of this variant.
    """
    rows = tidy.final(runs.results)
    learned = rows["variant"] == variant
    rows = rows[learned | rows["method"].isin(list(runs.look.beside or ()))]
    if not learned.any():
        return None
    rows = rows[rows["metric"].isin(list(PANELS)) & (rows["group"] >= 0)]
    by = [*tidy.ARM, "metric", "group"]
    return group_rates(
        tidy.middles(rows, by),
        quantities=PANELS,
        interval=tidy.middles_in_words(rows, by, runs.look.names),
        group_names=["group 0 (starts higher)", "group 1"],
        styles=runs.look.styles,
    )


def best_thresholds_in_words() -> str:
    """Say which thresholds the search for ELBERT's objective found, and what they do."""
    limits = [float(limit) for limit in STATIC_OPTIMUM.settings["limits"]]
    below = [f"{limit % 1:.2f} (score {math.floor(limit)})" for limit in limits]
    return (
        f"The best thresholds are {limits[0]:.2f} for group 0 and {limits[1]:.2f} for group 1. "
        "Scores above a threshold are accepted. The next score below it is refused with a chance "
        f"that is its fraction, {below[0]} and {below[1]}, and lower ones always."
    )


def bands(runs: Runs, methods: Sequence[str], count: int = 3) -> pd.DataFrame:
    """Hold the band of the authors' plots, drawn from the first few runs, against an interval.

    Parameters
    ----------
    runs
        Runs of the lending experiment, as coded.
    methods
        Methods to show.
    count
        How many runs the band is drawn from.

    Returns
    -------
    pandas.DataFrame
        One row per method and metric; arms with too few runs are left out.
    """
    rows = {}
    for method in methods:
        for metric in POSTER:
            values = tidy.of_arm(runs.results, metric, method, "as_coded")
            if len(values) >= count:
                few = values.iloc[:count]
                low, high = published_band(few.to_list(), np.random.default_rng(7))
                rows[f"{runs.look.names[method]}, {metric}"] = {
                    f"{count} runs": ", ".join(f"{value:.4f}" for value in few),
                    "authors' recipe on these": f"{low:.4f} to {high:.4f}",
                    f"95 % interval, {len(values)} runs": runs.number(
                        metric, method, "as_coded", 4
                    ),
                }
    return pd.DataFrame.from_dict(rows, orient="index")


def settings_table() -> pd.DataFrame:
    """Return the settings in which our profile differs from the authors'.

    Returns
    -------
    pandas.DataFrame
        Index `setting`; besides, how far one rollout can move a policy.
    """
    columns = {}
    for profile, title in (("paper", "authors' settings (paper)"), ("book", "ours (book)")):
        learning = PROBLEM.learning[profile]
        rollout = learning.copies * PROBLEM.episode_length[profile]
        gradient_steps = learning.epochs * rollout / learning.minibatch
        columns[title] = {
            **asdict(learning),
            **asdict(PROBLEM.evaluating[profile]),
            "gradient steps per rollout": round(gradient_steps),
            "learning rate x gradient steps": f"{learning.learning_rate * gradient_steps:.4f}",
        }
    table = pd.DataFrame(columns).rename_axis("setting")
    return table[table.nunique(axis=1) > 1]


def published_band(values: Sequence[float], generator: np.random.Generator) -> tuple[float, float]:
    """Compute the band that the authors' plots draw around a mean over runs.

    Parameters
    ----------
    values
        One number per run.
    generator
        Source of the resampling.

    Returns
    -------
    tuple of float
        The 10th and 90th percentile of 100 means, each of 30 draws with replacement.

    Notes
    -----
    Thirty draws from three runs vary much less than three new runs would. The band is a property
    of the number thirty, not of the number of runs.
    """
    means = generator.choice(np.asarray(values), size=(100, 30)).mean(axis=1)
    low, high = np.percentile(means, [10, 90])
    return float(low), float(high)


# Playing lenders that need no training ----------------------------------------------------------


def play_reference(policy: str, episodes: int, episode_length: int, seed: int) -> EpisodeTotals:
    """Play episodes with a policy that needs no training.

    Parameters
    ----------
    policy
        Id of a reference policy, such as `"threshold-2-1"`.
    episodes, episode_length
        How many episodes, and how many applicants in each.
    seed
        Under the same seed two policies meet the same applicants until their decisions differ.

    Returns
    -------
    EpisodeTotals
        Sums over each episode.
    """
    for_agent, for_env = two_seeds(seed)
    act = acting(REFERENCES[policy][0].make(WORLD, for_agent))
    return play_episodes(act, _lending(episodes, episode_length), for_env)


def reached(totals: EpisodeTotals) -> dict[str, float]:
    """Return reward, rates and bias of some episodes, as the evaluation computes them."""
    rows = measured(totals, "final", 0).set_index(["metric", "group"])["value"]
    rates = {f"rate of group {group}": float(rows["rate", group]) for group in (0, 1)}
    return {"reward": float(rows["reward", -1]), **rates, "bias": float(rows["bias", -1])}


def score_history(
    policy: str, *, copies: int, episode_length: int, every: int, seed: int
) -> tuple[NDArray[np.int64], FloatArray]:
    """Follow the score distributions under a policy that needs no training.

    Parameters
    ----------
    policy
        Id of a reference policy.
    copies
        Episodes to average over.
    episode_length
        Applicants per episode.
    every
        Applicants between two looks.
    seed
        Seed of the applicants.

    Returns
    -------
    steps
        Shape (T,): number of applicants decided on.
    distributions
        Shape (T, G, C): mean share of every score in every group.
    """
    for_agent, for_env = two_seeds(seed)
    act = acting(REFERENCES[policy][0].make(WORLD, for_agent))
    env = _lending(copies, episode_length)
    observation, info = env.reset(seed=for_env)
    looks = [info["group_state"].mean(axis=0)]
    for step in range(1, episode_length + 1):
        observation, _, _, truncated, info = env.step(act(observation, info))
        if step % every == 0:
            last = info["final_info"] if truncated.all() else info
            looks.append(last["group_state"].mean(axis=0))
    return np.arange(len(looks)) * every, np.stack(looks)


def threshold_pairs(episodes: int, episode_length: int, seed: int) -> pd.DataFrame:
    """Play every pair of thresholds, one for each group, side by side.

    Parameters
    ----------
    episodes, episode_length
        Episodes per pair, and applicants in each.
    seed
        Seed of the applicants.

    Returns
    -------
    pandas.DataFrame
        One row per pair: `group 0` and `group 1` (accepted from this score on; one more than the
        highest score refuses everybody), `reward` per step, `bias` without any offset, `rate 0`
        and `rate 1`.
    """
    scores = 7
    pairs = np.stack(np.meshgrid(*[np.arange(scores + 1)] * 2, indexing="ij"), -1).reshape(-1, 2)
    limits = np.repeat(pairs, episodes, axis=0)
    copies = np.arange(len(limits))

    def act(observation: Any, info: dict[str, Any]) -> Any:
        group, score = applicants(observation, 2, scores)
        return (score >= limits[copies, group]).astype(np.int64)

    totals = play_episodes(act, _lending(len(limits), episode_length), seed)
    reward, supply, demand, steps = (
        total.reshape(len(pairs), episodes, *total.shape[1:]).sum(axis=1) for total in totals
    )
    rates = benefit_rate(supply, demand)
    return pd.DataFrame(
        {
            "group 0": pairs[:, 0],
            "group 1": pairs[:, 1],
            "reward": reward / steps,
            "bias": bias(rates),
            "rate 0": rates[:, 0],
            "rate 1": rates[:, 1],
        }
    )


def resampled_bias(
    totals: EpisodeTotals, episodes: int, draws: int, generator: np.random.Generator
) -> FloatArray:
    """Repeat an evaluation many times by drawing its episodes with replacement.

    Parameters
    ----------
    totals
        Many episodes of one policy.
    episodes
        Episodes of one evaluation.
    draws
        Evaluations.
    generator
        Source of the resampling.

    Returns
    -------
    numpy.ndarray
        Shape (draws,): the bias as the authors' evaluation computes it, with episodes pooled and
        one per episode added to the demand.
    """
    chosen = generator.integers(len(totals.steps), size=(draws, episodes))
    supply, demand = totals.supply[chosen].sum(axis=1), totals.demand[chosen].sum(axis=1)
    return bias(benefit_rate(supply, demand, offset=float(episodes)))


def _lending(copies: int, episode_length: int) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    return gymnasium.make_vec(
        "longfair/Lending-v0", num_envs=copies, preset="elbert", episode_length=episode_length
    )
