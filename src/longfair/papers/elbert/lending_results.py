"""ELBERT's lending results as tidy tables, and small simulations that explain them.

The first part reads the table of `longfair.runs.store.Store.load` and gives estimates over seeds.
The second part plays lenders that need no training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longfair.agents.evaluation import EpisodeTotals, acting, play_episodes
from longfair.agents.heuristics import applicants
from longfair.metrics.benefit import benefit_rate, bias
from longfair.papers.elbert.lending import LENDING, reference_policy
from longfair.papers.elbert.measures import ALL_GROUPS
from longfair.runs.experiment import plan
from longfair.runs.statistics import Estimate, estimate, paired_difference
from longfair.runs.store import Store, no_results
from longfair.runs.verdicts import REFERENCE

FloatArray = NDArray[np.float64]

_ARM = ["method", "variant"]

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

# Reading results --------------------------------------------------------------------------------


def stored(store: Store, profile: str) -> pd.DataFrame:
    """Load the results of lending under a profile; no rows when there are none.

    Parameters
    ----------
    store
        Where the results are.
    profile
        Name of the profile.

    Returns
    -------
    pandas.DataFrame
        As from `Store.load`, methods in the order of the experiment.
    """
    if LENDING.id not in store.experiments():
        return no_results()
    return _in_order(store.load(experiment=LENDING.id, profile=profile))


def gaps(store: Store, profile: str) -> pd.DataFrame:
    """Say which runs of a profile are not stored, or no longer what the present code would give.

    Parameters
    ----------
    store
        Where the results are.
    profile
        Name of the profile.

    Returns
    -------
    pandas.DataFrame
        One row per arm with a gap: `method`, `variant` and the number of its runs in each status.
        No rows when every run is stored and fresh.
    """
    states = store.states(plan(LENDING, profile))
    counts = states.groupby([*_ARM, "status"], sort=False).size().unstack(fill_value=0)
    unfinished = counts.drop(columns="fresh", errors="ignore")
    return counts[unfinished.sum(axis=1) > 0].rename_axis(columns=None).reset_index()


def curve(results: pd.DataFrame, metric: str, variants: Sequence[str]) -> pd.DataFrame:
    """Select what was measured during training.

    Parameters
    ----------
    results
        As from `Store.load`.
    metric
        A metric of all groups together.
    variants
        Variants to keep.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `variant`, `seed`, `step`, `value`.
    """
    chosen = results[
        (results["phase"] == "curve")
        & (results["metric"] == metric)
        & (results["group"] == ALL_GROUPS)
        & results["variant"].isin(list(variants))
    ]
    return chosen[[*_ARM, "seed", "step", "value"]].reset_index(drop=True)


def final(results: pd.DataFrame) -> pd.DataFrame:
    """Select what was measured of the last policies.

    Parameters
    ----------
    results
        As from `Store.load`.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `variant`, `seed`, `metric`, `group`, `value`.
    """
    chosen = results[results["phase"] == "final"]
    return chosen[[*_ARM, "seed", "metric", "group", "value"]].reset_index(drop=True)


def over_seeds(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Estimate a mean over seeds, with its 95 % bootstrap interval, for every combination.

    Parameters
    ----------
    rows
        Column `value` and those of `by`; one row per combination and seed.
    by
        Columns that tell combinations apart. Their values name the estimate's random stream.

    Returns
    -------
    pandas.DataFrame
        The columns of `by`, then `value`, `low`, `high`, `seeds`, combinations in order of
        appearance. A single seed has no interval: `low` and `high` are then the value itself.
    """
    found = []
    for names, part in rows.groupby(list(by), sort=False):
        mean = estimate(part["value"], name=" ".join(map(str, names)))
        low, high = mean.interval or (mean.value, mean.value)
        found.append((*names, mean.value, low, high, mean.seeds))
    return pd.DataFrame(found, columns=[*by, "value", "low", "high", "seeds"])


def seeds_in_words(rows: pd.DataFrame) -> str:
    """Say on how many seeds the methods of a table rest, as in "10 seeds" or "3 to 10 seeds"."""
    counts = rows.groupby(_ARM)["seed"].nunique()
    few, many = int(counts.min()), int(counts.max())
    if few < many:
        return f"{few} to {many} seeds"
    return f"{many} seeds" if many > 1 else "1 seed, which has no interval"


def references(results: pd.DataFrame, metric: str, policies: Sequence[str]) -> pd.DataFrame:
    """Average over seeds what policies reach that need no training.

    Parameters
    ----------
    results
        As from `Store.load`.
    metric
        A metric of all groups together.
    policies
        Ids of the policies, in the order wanted; those without results are left out.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `value`.
    """
    rows = final(results[results["variant"] == REFERENCE])
    means = rows[rows["metric"] == metric].groupby("method")["value"].mean()
    return means.reindex(list(policies)).dropna().rename_axis("method").reset_index()


def by_seed(results: pd.DataFrame) -> pd.DataFrame:
    """Lay the last policies out as one row per run and one column per quantity.

    Parameters
    ----------
    results
        As from `Store.load`.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `variant`, `seed`, then one per metric; metrics of single groups are
        called `rate_0`, `rate_1` and so on.
    """
    rows = final(results)
    suffix = np.where(rows["group"] == ALL_GROUPS, "", "_" + rows["group"].astype(str))
    rows = rows.assign(metric=rows["metric"] + suffix)
    return _wide(rows, [*_ARM, "seed"], "value").reset_index()


def trade_off_summary(results: pd.DataFrame, metric: str = "bias") -> pd.DataFrame:
    """Estimate reward and bias of the last policies, in the columns `figures.trade_off` reads.

    Parameters
    ----------
    results
        As from `Store.load`.
    metric
        Which bias: `"bias"` or `"bias_exact"`.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `variant`, `reward`, `reward_low`, `reward_high`, `bias`, `bias_low`,
        `bias_high`.
    """
    rows = final(results).replace({"metric": {metric: "bias", "bias": metric}})
    rows = rows[rows["metric"].isin(["reward", "bias"])]
    means = over_seeds(rows, [*_ARM, "metric"])
    parts = [_wide(means, _ARM, column) for column in ("value", "low", "high")]
    table = parts[0].join([parts[1].add_suffix("_low"), parts[2].add_suffix("_high")])
    return table.reset_index()


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
    quantities = {"reward": "reward", "bias": "bias", "bias_exact": "exact bias"}
    rows = final(results)
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for (method, variant), of_arm in rows.groupby(_ARM, sort=False):
        line: dict[str, Any] = {}
        for metric, title in quantities.items():
            values = of_arm.loc[of_arm["metric"] == metric, "value"]
            name = f"{method} {variant} {metric}"
            line[title] = written(estimate(values, name=name))
            line[f"{title}, IQM"] = f"{estimate(values, 'interquartile mean').value:.3f}"
        lines[str(method), str(variant)] = line | {"seeds": of_arm["seed"].nunique()}
    table = pd.DataFrame.from_dict(lines, orient="index")
    return table.rename_axis(_ARM)


def difference(
    results: pd.DataFrame, metric: str, first: tuple[str, str], second: tuple[str, str]
) -> Estimate | None:
    """Estimate by how much one arm's last policies differ from another's, paired by seed.

    Parameters
    ----------
    results
        As from `Store.load`.
    metric
        A metric of all groups together.
    first, second
        Method and variant.

    Returns
    -------
    Estimate or None
        Mean of first less second over the seeds that both have; None if they share no seed.
    """
    rows = final(results)
    rows = rows[rows["metric"] == metric]
    columns = [_of_arm(rows, *arm) for arm in (first, second)]
    shared = columns[0].index.intersection(columns[1].index)
    if shared.empty:
        return None
    name = f"{metric} {first} {second}"
    return paired_difference(columns[0][shared], columns[1][shared], name=name)


def beside_poster(results: pd.DataFrame, variant: str = "as_coded") -> pd.DataFrame:
    """Hold the last policies of a variant against the numbers on the authors' poster.

    Parameters
    ----------
    results
        As from `Store.load`.
    variant
        Variant to compare; the poster shows what the authors' code did.

    Returns
    -------
    pandas.DataFrame
        One row per method and metric: `method`, `metric`, our `value`, `low`, `high`; the poster's
        `at two million` and `at the end`; and for each of these whether it lies within our
        interval, widened by the reading error (`... agrees`).
    """
    rows = final(results)
    chosen = (rows["variant"] == variant) & rows["metric"].isin(list(POSTER))
    ours = over_seeds(rows[chosen], [*_ARM, "metric"]).drop(columns=["variant", "seeds"])
    for place, moment in enumerate(("at two million", "at the end")):
        pairs = zip(ours["metric"].astype(str), ours["method"].astype(str), strict=True)
        read = [POSTER[metric][method][place] for metric, method in pairs]
        error = ours["metric"].map(
            {metric: errors[place] for metric, errors in READING_ERROR.items()}
        )
        ours[moment] = read
        ours[f"{moment} agrees"] = (ours["low"] - error <= read) & (read <= ours["high"] + error)
    return ours


def written(found: Estimate, digits: int = 3) -> str:
    """Write an estimate with its interval, as in "0.150 [0.148, 0.152]"."""
    if found.interval is None:
        return f"{found.value:.{digits}f}"
    low, high = found.interval
    return f"{found.value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def cost(provenance: pd.DataFrame) -> pd.DataFrame:
    """Summarise what runs cost.

    Parameters
    ----------
    provenance
        As from `Store.provenance`.

    Returns
    -------
    pandas.DataFrame
        Index `method`, `variant`: number of runs, training steps of one, median core seconds of
        one, core hours of all.
    """
    groups = _in_order(provenance).groupby(_ARM, sort=False)
    return pd.DataFrame(
        {
            "runs": groups.size(),
            "training steps": groups["steps"].median().astype(int),
            "core seconds per run": groups["core_seconds"].median().round(1),
            "core hours in all": (groups["core_seconds"].sum() / 3600).round(2),
        }
    )


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


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Bring methods into the order of the experiment; the store's order is alphabetical."""
    order = {method: place for place, method in enumerate(LENDING.methods("book"))}
    return table.sort_values(
        "method", key=lambda column: column.map(order), kind="stable", ignore_index=True
    )


def _of_arm(rows: pd.DataFrame, method: str, variant: str) -> pd.Series[float]:
    """Return the values of one arm, indexed by seed."""
    chosen = rows[(rows["method"] == method) & (rows["variant"] == variant)]
    return chosen.set_index("seed")["value"]


def _wide(rows: pd.DataFrame, index: Sequence[str], values: str) -> pd.DataFrame:
    """Spread metrics over columns; rows and columns keep the order of their first appearance."""
    table = rows.pivot(index=list(index), columns="metric", values=values)
    order = pd.MultiIndex.from_frame(rows[list(index)].drop_duplicates())
    return table.loc[order, list(dict.fromkeys(rows["metric"]))].rename_axis(columns=None)


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
    for_agent, for_env = _two_seeds(seed)
    act = acting(reference_policy(policy, for_agent))
    return play_episodes(act, _lending(episodes, episode_length), for_env)


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
    for_agent, for_env = _two_seeds(seed)
    act = acting(reference_policy(policy, for_agent))
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


def _two_seeds(seed: int) -> tuple[int, int]:
    """Return unrelated seeds: an agent must not draw the numbers that draw the applicants."""
    first, second = np.random.SeedSequence(seed).generate_state(2)
    return int(first), int(second)


def _lending(copies: int, episode_length: int) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    return gymnasium.make_vec(
        "longfair/Lending-v0", num_envs=copies, preset="elbert", episode_length=episode_length
    )
