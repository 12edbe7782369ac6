"""The tabular results of FairQCM: tables and figures, exact scores beside them, small studies.

Reading results in general is the matter of `longfair.runs.tidy`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from longfair.agents.fairqcm.presets import QLearningSettings
from longfair.agents.fairqcm.q_learning import TabularQLearning
from longfair.arrays import FloatArray, IntArray
from longfair.envs.doughnut import DoughnutParams
from longfair.envs.doughnut import exact as exact_doughnut
from longfair.envs.memory import FullMemory, IntegerCodes
from longfair.figures import Figure, LineStyle, Words, line_chart
from longfair.figures.style import BLACK, BLUE, GREY, ORANGE, PURPLE, SKY, VERMILION
from longfair.papers.fairqcm.tabular import (
    PUBLISHED,
    REFERENCE_POLICIES,
    SMALL,
    SMOOTHING,
    learned,
    reference,
    world,
)
from longfair.papers.fairqcm.tabular_exact import ExactValues
from longfair.papers.live import live_runs
from longfair.papers.page import NOT_STORED, Look, Runs
from longfair.runs.tidy import (
    ARM,
    ArmName,
    Quantities,
    all_written,
    change,
    curve,
    of_arm,
    over_seeds,
    written,
)

LOOK = Look(
    styles={
        "fairqcm": LineStyle("FairQCM", BLUE, "o"),
        "full": LineStyle("Full", VERMILION, "s"),
        "min": LineStyle("Min", PURPLE, "^", (0, (5, 1.5))),
        "reset": LineStyle("Reset", ORANGE, "D", (0, (3, 1, 1, 1))),
        "oracle": LineStyle("Oracle", BLACK, "*", ":"),
        "rotation": LineStyle("taking turns", SKY, "P", ":"),
        "random-present": LineStyle("random, present", GREY, "v", ":"),
        "fixed-priority": LineStyle("the first present", GREY, "+", ":"),
        "strict-rotation": LineStyle("turns, lost on the absent", GREY, "1", ":"),
        "random": LineStyle("Random", GREY, "x", ":"),
    },
    variants={
        "true_update": "true update",
        "without_real": "real memory once",
        "decay_every_visit": "decay at every visit",
        "without_smoothing": "no smoothing",
        "end_masked": "end masked",
        "with_time": "with time",
        "coded_with_time": "as coded, with time",
        "repeated": "nine updates a step",
        "constant_step": "constant step size",
        "coded_update": "waste counted",
        "without_time": "without time",
        "six_doughnuts": "six doughnuts",
        "three_people": "three people",
        "rarely_there": "one rarely there",
        "short_sight": "discount 0.9",
    },
    axes={
        "return": "return of a greedy episode",
        "welfare": "Nash welfare, summed over steps",
        "allocated": "doughnuts taken, of 12",
        "invalid": "doughnuts wasted, of 12",
    },
    beside=("oracle", "rotation", "random-present", "random"),
)
"""How tabular runs appear."""

MOMENTS = (8_000, 50_000, 100_000)
"""Training episodes: about the 100,000 steps of the paper's text, those of its code, and ours."""

PAPER_STEPS = 100_000
"""Steps of the paper's text."""

# Stored results ---------------------------------------------------------------------------------


def at_moments(runs: Runs, metric: str, *variants: str) -> pd.DataFrame | Words:
    """Lay learning curves out at `MOMENTS`, or at their end if they are shorter.

    Parameters
    ----------
    runs
        Stored runs.
    metric
        A metric of the curve.
    *variants
        Variants to keep.

    Returns
    -------
    pandas.DataFrame or Words
        Index `method`, `variant`; one column per moment with mean and interval.
    """
    rows = runs.results
    curves = rows[(rows["phase"] == "curve") & (rows["metric"] == metric)]
    curves = curves[curves["variant"].isin(list(variants))]
    if curves.empty:
        return runs.missing
    length = DoughnutParams.tabular().episode_length
    episodes = curves["step"] // length
    moments = sorted(set(MOMENTS) & set(episodes)) or [episodes.max()]
    found = over_seeds(curves[episodes.isin(moments)], [*ARM, "step"])
    found["text"] = all_written(found, ".2f")
    table = found.pivot(index=ARM, columns="step", values="text")
    order = pd.MultiIndex.from_frame(found[ARM].drop_duplicates())
    named = table.loc[order].rename(columns=lambda step: f"{step // length:,} episodes")
    return runs.labelled(named)


def changes(
    runs: Runs, pairs: Mapping[ArmName, ArmName], quantities: Quantities
) -> pd.DataFrame | Words:
    """Say by how much one arm differs from another, paired by seed.

    Parameters
    ----------
    runs
        Stored runs.
    pairs
        Changed arm to the arm it was made from.
    quantities
        Final metric to column title and number of digits.

    Returns
    -------
    pandas.DataFrame or Words
        Index: method and variant of the changed arm. Column `compared with`, then the difference
        with its interval per quantity; pairs without results are left out.
    """
    known = {arm: base for arm, base in pairs.items() if runs.has(arm, base)}
    table = runs.differences({arm: (arm, base) for arm, base in known.items()}, quantities)
    if isinstance(table, Words):
        return table
    names = runs.look.names
    compared = [" ".join(names[part] for part in base) for base in known.values()]
    table.insert(0, "compared with", compared)
    return table


def early_lead(runs: Runs, first: ArmName, second: ArmName, digits: int = 2) -> str:
    """Say by how much an arm scores more than another over the 100,000 steps of the paper's text.

    Parameters
    ----------
    runs
        Stored runs.
    first, second
        The arms; their runs are paired by seed.
    digits
        Digits to write.
    """

    def early(arm: ArmName) -> pd.Series[float]:
        rows = curve(runs.results, "return", arm[1])
        rows = rows[(rows["method"] == arm[0]) & (rows["step"] <= PAPER_STEPS)]
        return rows.groupby("seed")["value"].mean()

    found = change(early(first), early(second), " ".join((*first, *second, "early return")))
    return NOT_STORED if found is None else written(found, digits)


def who_arrives(runs: Runs, method: str, variant: str, within: int | None = None) -> str:
    """Say how many runs of an arm reach the goal, as in "3 of 10 runs".

    Parameters
    ----------
    runs
        Stored runs.
    method, variant
        The arm.
    within
        Steps that they may take; all of theirs if not given.
    """
    if not runs.has((method, variant)):
        return NOT_STORED
    first = of_arm(runs.results, "episodes_to_36", method, variant)
    trained = curve(runs.results, "return", variant).query("method == @method")["step"].max()
    steps = trained if within is None else min(within, trained)
    reached = first <= steps // DoughnutParams.tabular().episode_length
    return f"{reached.sum()} of {len(first)} runs"


def distance_figure(runs: Runs, metric: str, what: str) -> Figure | None:
    """Draw distances to the exact values on a logarithmic scale; None without runs.

    Parameters
    ----------
    runs
        Runs of the experiment `fairqcm/convergence`.
    metric
        `"relative_distance"` or `"mean_distance"`.
    what
        What it is, in lower case.
    """
    if runs.results.empty:
        return None
    table = distance_curves(runs.results, metric)
    names = runs.look.names
    table.columns = table.columns.map(lambda arm: ", ".join(names[part] for part in arm))
    table.index = table.index / 1000
    return line_chart(
        table, across="training episodes (thousands)", up=f"{what}, log 10", logarithmic=True
    )


def distance_curves(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Average a distance over seeds, per number of training episodes and arm, as powers of ten.

    Parameters
    ----------
    results
        Results of the experiment `fairqcm/convergence`, as from `Store.load`.
    metric
        `"relative_distance"` or `"mean_distance"`.

    Returns
    -------
    pandas.DataFrame
        Index: training episodes; one column per arm, a pair of method and variant.
    """
    rows = results[(results["phase"] == "curve") & (results["metric"] == metric)]
    means = rows.groupby(["step", *ARM], sort=False)["value"].mean().unstack(ARM)
    means.index = means.index // SMALL.changes["episode_length"]
    return means.map(np.log10).rename_axis("training episodes")


# Exact scores -----------------------------------------------------------------------------------


def exact_scores() -> pd.DataFrame:
    """Compute what policies that learn nothing are expected to score in the paper's problem.

    Returns
    -------
    pandas.DataFrame
        Index `method`, best first; columns `return` and `allocated`.
    """
    params = DoughnutParams.tabular()
    presence, length = params.presence_probability, params.episode_length
    controllers = {
        "rotation": exact_doughnut.rotation_skipping_absent,
        "random-present": exact_doughnut.somebody_there_at_random,
        "fixed-priority": exact_doughnut.fixed_priority,
        "strict-rotation": exact_doughnut.strict_rotation,
        "random": exact_doughnut.anybody_at_random,
    }
    scores = {
        "oracle": exact_doughnut.least_served_score(
            len(presence), presence[0], length, params.smoothing
        )
    } | {
        name: exact_doughnut.controller_score(controller(presence), length, params.smoothing)
        for name, controller in controllers.items()
    }
    table = pd.DataFrame(
        {name: {"return": s.reward, "allocated": s.allocated} for name, s in scores.items()}
    )
    return table.T.rename_axis("method").sort_values("return", ascending=False)


def optimum(discount: float = 1.0) -> float:
    """Return the best expected return of the paper's problem, by dynamic programming."""
    exact = ExactValues(DoughnutParams.tabular(), discount)
    return exact.value_of(exact.solution.action_values)


# Small studies ----------------------------------------------------------------------------------


def live(run: int, episodes: int, bin_episodes: int = 500) -> pd.DataFrame:
    """Train the paper's agents as coded, and play policies that learn nothing.

    Parameters
    ----------
    run
        Number of the run.
    episodes
        Training episodes.
    bin_episodes
        Evaluation episodes that one point of the curve is the mean of.

    Returns
    -------
    pandas.DataFrame
        As from `longfair.papers.live.live_runs`.
    """
    coded = SMOOTHING["as_coded"]
    agents = {
        method: learned(settings.as_coded(), coded, episodes, bin_episodes)
        for method, (settings, _) in PUBLISHED.items()
    }
    return live_runs(agents, run, {policy: reference(policy) for policy in REFERENCE_POLICIES})


def learner(settings: QLearningSettings, smoothing: float, seed: int) -> TabularQLearning:
    """Make an agent for the paper's three people and twelve doughnuts."""
    return TabularQLearning(world(smoothing).make(1), settings, seed)


def first_choice(settings: QLearningSettings, episodes: Sequence[int], seed: int) -> pd.DataFrame:
    """Follow what an agent thinks of wasting its first doughnut.

    At the start of an episode persons 1 and 2 are there and person 0 is not.

    Parameters
    ----------
    settings
        The agent's.
    episodes
        Training episodes after which its table is read, in rising order.
    seed
        Seed of training.

    Returns
    -------
    pandas.DataFrame
        Index: training episodes; columns `waste` (the value of offering the doughnut to person 0),
        `serve` (the better of the others), and `gap`, the second less the first.
    """
    agent = learner(settings, SMOOTHING["as_published"], seed)
    length = agent.problem.length
    lines = {}
    for count in episodes:
        agent.learn(count * length - agent.num_timesteps)
        waste, *serve = agent.values[0, 0b110, 0]
        lines[count] = {"waste": waste, "serve": max(serve), "gap": max(serve) - waste}
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("training episodes")


def errors(
    settings: QLearningSettings, episodes: Sequence[int], seed: int, copies: int = 400
) -> pd.DataFrame:
    """Follow how far values are from where they settle, and the difference that decides.

    Wasting leaves the memory as it is, serving adds a doughnut to it. To an agent that does not
    know the time, the difference of the two memories' values decides between them.

    Parameters
    ----------
    settings
        The agent's; it does not know the time.
    episodes
        Training episodes after which its table is read, in rising order.
    seed
        Seed of training and of the episodes in which it then acts greedily.
    copies
        Number of these.

    Returns
    -------
    pandas.DataFrame
        Index: training episodes; columns `value` (of the memory as it is, in the mean over who may
        come next) and `difference`: root mean squares of how far they are from those after the last
        of `episodes`, over decisions between somebody who is there and somebody who is not.
    """
    agent = learner(settings, SMOOTHING["as_published"], seed)
    there = agent.problem.presence
    people = np.arange(2 ** len(there))[:, None] >> np.arange(len(there)) & 1
    chances = np.where(people, there, 1 - there).prod(axis=1)
    values, decisions = {}, {}
    for count in episodes:
        agent.learn(count * agent.problem.length - agent.num_timesteps)
        values[count] = chances @ agent.values[0].max(axis=2)
        decisions[count] = _decisions(agent, copies, seed)
    lines = {}
    for count, (wasting, serving) in decisions.items():
        missing = values[count] - values[episodes[-1]]
        apart = missing[wasting] - missing[serving]
        lines[count] = {"value": _size(missing[wasting]), "difference": _size(apart)}
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("training episodes")


def _size(errors: FloatArray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def _decisions(agent: TabularQLearning, copies: int, seed: int) -> tuple[IntArray, IntArray]:
    """Play greedily; return codes of the memory after wasting (D,), and after serving (D,)."""
    env = IntegerCodes(FullMemory(world(SMOOTHING["as_published"]).make(copies), "counts"))
    codes, _ = env.reset(seed=seed)
    people = np.arange(len(agent.problem.presence))
    wasting, serving = [], []
    for _ in range(agent.problem.length):
        who, memory = codes.T
        there = who[:, None] >> people & 1 > 0
        best = np.where(there, agent.values[0, who, memory], -np.inf).argmax(axis=1)
        either = there.any(axis=1) & ~there.all(axis=1)
        wasting.append(memory[either])
        serving.append((memory + (agent.problem.length + 1) ** best)[either])
        codes = env.step(agent.predict(codes)[0])[0]
    return np.concatenate(wasting), np.concatenate(serving)


def exact_first_choice(discount: float) -> pd.Series[float]:
    """Return the exact values that `first_choice` estimates, with optimal play afterwards."""
    exact = ExactValues(DoughnutParams.tabular(), discount)
    start = np.array([0, 1, 1, 0, 0, 0])  # who is there, and what everybody has had
    (row,) = np.flatnonzero((exact.model.states == start).all(axis=1))
    waste, *serve = exact.solution.action_values[0, row]
    return pd.Series({"waste": waste, "serve": max(serve), "gap": max(serve) - waste})
