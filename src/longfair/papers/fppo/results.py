"""How F-PPO's runs appear on pages, and what the paper's own figures show."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from types import MappingProxyType
from typing import Literal

import pandas as pd

from longfair.figures import Figure, LineStyle, Words
from longfair.figures.dot_intervals import dot_panels
from longfair.figures.style import BLACK, GREEN, GREY, PURPLE, SKY
from longfair.papers.fppo.attention import CASE
from longfair.papers.fppo.beyond import VARIANT
from longfair.papers.fppo.measures import ATTENTION_EPISODES
from longfair.papers.page import NOT_STORED, Look, Page, Runs, median_and_range
from longfair.papers.styles import METHODS
from longfair.runs.evidence import REFERENCE
from longfair.runs.rules.rule import listed
from longfair.runs.rules.words import AGAINST, IN_FAVOUR
from longfair.runs.statistics import share
from longfair.runs.tidy import (
    ARM,
    curve,
    final,
    in_order,
    interval_in_words,
    kinds,
    middle,
    middles,
    of_arm,
    written,
)
from longfair.runs.verdicts import Verdict
from longfair.wording import counted

Readings = Mapping[str, Mapping[str, float]]
"""Metric to method to what a figure shows."""

LEARNERS: Mapping[str, LineStyle] = {
    "ppo": LineStyle("PPO", METHODS["g-ppo"].colour, "s"),
    "a-ppo": METHODS["a-ppo"],
    "f-ppo": LineStyle("F-PPO", METHODS["elbert-po"].colour, "o"),
    "f-ppo-l": LineStyle("F-PPO-L", SKY, "H", "--"),
    "f-ppo-s": LineStyle("F-PPO-S", PURPLE, "p", ":"),
}
"""Styles of the methods that learn."""

IN_USE = {"f-ppo-in-use": LineStyle("F-PPO, massaged in use", LEARNERS["f-ppo"].colour, "D", ":")}
"""The style of F-PPO where it massages in use, beside F-PPO."""

TRAINED = (*LEARNERS, "cpo")
"""Methods that learn, of which there are variants."""

EPISODE = "step of an evaluation episode"
"""What is on the horizontal axis of the paper's figures."""

LENDING = Look(
    styles={
        **LEARNERS,
        **IN_USE,
        "f-ppo-exact": LineStyle("F-PPO, exact distance", BLACK, "X", "-."),
        "f-ppo-no-ties": LineStyle("F-PPO, no flipped ties", BLACK, "P", "-."),
        "f-ppo-standardised": LineStyle("F-PPO, standardised before", BLACK, "v", "-."),
        "ppo-200k": LineStyle("PPO, 200,000 steps", METHODS["g-ppo"].colour, "8", "-."),
        "a-ppo-200k": LineStyle("A-PPO, 200,000 steps", METHODS["a-ppo"].colour, "8", "-."),
        "threshold-3-2": LineStyle("threshold 3 / 2", GREEN, "^", ":"),
        "static-reward": LineStyle("thresholds between scores", GREEN, "D", ":"),
    },
    axes={
        "at_short_term_gap": "short-term gap",
        "at_long_term_gap": "long-term gap of the figure",
        "at_distance": "1-Wasserstein distance in scores",
        "at_cash": "cash",
        "training_gap": "short-term gap in training",
        "training_gap_deviation": "deviation of the short-term gap",
        "end_cash": "cash at the end",
        "end_long_term_gap": "figure's long-term gap at the end",
        "late_short_term_gap": "short-term gap",
        "end_distance": "1-Wasserstein distance at the end",
    },
    across=("end_cash", "end_long_term_gap"),
    beside=(),
    median=True,
    ranked=(*LEARNERS, *IN_USE, "equal-opportunity"),
)
"""How runs in bank loans appear. Some of F-PPO end lending and some do not: a mean is no run, and
an interval would reach where none ends. Of the others a run or two is far from the rest."""

ATTENTION = Look(
    styles={
        **LEARNERS,
        **IN_USE,
        "cpo": METHODS["cpo"],
        "equal": LineStyle("every site", GREY, "x", ":"),
        "gaussian": LineStyle("at random", GREY, "+", ":"),
        "proportional": LineStyle("oracle", SKY, "P", ":"),
        "discovery": LineStyle("recent incidents", BLACK, "v", ":"),
        "greedy": LineStyle("greedy discoveries", BLACK, "<", ":"),
        "static-reward": LineStyle("weighted incidents", GREEN, "D", ":"),
        "above-target": LineStyle("incidents above a target", GREEN, "^", ":"),
    },
    axes={
        "at_short_term_gap": "short-term gap",
        "at_long_term_gap": "long-term gap of the figure",
        "at_distance": "1-Wasserstein distance",
        "at_reward": "reward per step, smoothed",
        "training_gap": "short-term gap in training",
        "training_gap_deviation": "deviation of the short-term gap",
        "late_reward": "reward per step",
        "late_long_term_gap": "long-term gap",
    },
    across=("late_reward", "late_long_term_gap"),
    beside=(),
    median=("cpo",),
    ranked=("cpo",),
)
"""How runs in attention allocation appear. CPO ends in more than one place: its mean is no run."""

APART = replace(
    ATTENTION,
    median=True,
    axes={**ATTENTION.axes, "training_gap_deviation": "deviation of that gap"},
    ranked=(*LEARNERS, *IN_USE, "above-target"),
    logarithmic_beyond={
        "at_short_term_gap": 0.2,
        "at_long_term_gap": 4.0,
        "at_reward": -3.0,
        "training_gap": 0.2,
        "training_gap_deviation": 0.05,
    },
)
"""The same as published, where runs of F-PPO end apart, too, and one is far from all others."""

EPIDEMIC = Look(
    styles={
        **LEARNERS,
        **IN_USE,
        "nobody": LineStyle("nobody", GREY, "x", ":"),
        "uniform": LineStyle("at random", GREY, "+", ":"),
        "max-degree": LineStyle("Max, most neighbours", BLACK, "v", ":"),
        "max-exposed": LineStyle("Max, most infected neighbours", BLACK, "^", ":"),
        "static-reward": LineStyle("community 1 first", GREEN, "D", ":"),
    },
    axes={
        "at_short_term_gap": "short-term gap",
        "at_long_term_gap": "long-term gap of the figure",
        "at_distance": "1-Wasserstein distance",
        "at_reward": "share of the healthy",
        "at_susceptible": "susceptible people",
        "training_gap": "short-term gap in training",
        "training_gap_deviation": "deviation of the short-term gap",
        "end_reward": "share of the healthy at the end",
        "end_long_term_gap": "long-term gap at the end",
    },
    across=("end_reward", "end_long_term_gap"),
    beside=(),
)
"""How runs in epidemic control appear."""

EPIDEMIC_APART = replace(
    EPIDEMIC, median=True, ranked=(*LEARNERS, *IN_USE, "max-degree", "uniform")
)
"""The same in curves. As published runs of PPO and A-PPO end in two kinds; as coded two runs of
F-PPO are far from the rest, and at some steps an interval of the mean would reach far beyond all.
"""

FIGURE_1: Readings = {
    "late_short_term_gap": {"equal-opportunity": 0.02, "ppo": 0.21, "a-ppo": 0.05, "f-ppo": 0.065},
    "late_peak": {"equal-opportunity": 0.08, "ppo": 0.313, "a-ppo": 0.107, "f-ppo": 0.122},
    "end_long_term_gap": {
        "equal-opportunity": 0.265,
        "ppo": 0.159,
        "a-ppo": 0.430,
        "f-ppo": 0.116,
    },
    "end_cash": {"equal-opportunity": 11_660, "ppo": 11_745, "a-ppo": 11_808, "f-ppo": 11_630},
}
"""Bank loans, read off the plots; see `READING_ERRORS`."""

FIGURE_3: Readings = {
    "end_short_term_gap": {"ppo": 0.077, "a-ppo": 0.054, "f-ppo": 0.067, "cpo": 0.078},
    "late_long_term_gap": {"ppo": 1.43, "a-ppo": 3.97, "f-ppo": 1.26, "cpo": 1.36},
    "late_reward": {"ppo": 2.39, "a-ppo": 1.69, "f-ppo": 2.36, "cpo": 1.71},
}
"""Attention allocation, read off the plots; see `READING_ERRORS`."""

FIGURE_4: Readings = {
    "end_short_term_gap": {"max-degree": 1.82, "ppo": 1.435, "a-ppo": 0.16, "f-ppo": 0.46},
    "end_long_term_gap": {"max-degree": 6.95, "ppo": 4.4, "a-ppo": 2.95, "f-ppo": 2.55},
    "end_reward": {"max-degree": 0.292, "ppo": 0.220, "a-ppo": 0.155, "f-ppo": 0.190},
}
"""Epidemic control, read off the plots; see `READING_ERRORS`."""

IN_FIGURE_1: Mapping[str, str] = {
    "late_short_term_gap": "short-term gap, last four fifths",
    "late_peak": "highest short-term gap after 300 applicants",
    "end_long_term_gap": "long-term gap at the end",
    "end_cash": "cash at the end",
}
"""What the metrics of `FIGURE_1` are called in tables."""

READING_ERRORS: Mapping[str, Mapping[str, float]] = {
    "fppo/lending": {
        "late_short_term_gap": 0.015,
        "late_peak": 0.005,
        "end_long_term_gap": 0.005,
        "end_cash": 10,
    },
    "fppo/attention": {
        "end_short_term_gap": 0.003,
        "late_long_term_gap": 0.1,
        "late_reward": 0.05,
    },
    "fppo/epidemic": {
        "end_short_term_gap": 0.01,
        "end_long_term_gap": 0.08,
        "end_reward": 0.004,
    },
}
"""Experiment to metric to half the width within which a number was read off its plot."""


Which = tuple[str, str, str]
"""Claim, variant and measure of a verdict."""


def judged(page: Page, asked: Mapping[str, Which]) -> str:
    """Write the words of verdicts, as in "*reproduced* for A and B and *inconclusive* for C".

    Parameters
    ----------
    page
        The page that shows the verdicts.
    asked
        What was asked in a few words, to its verdict.
    """
    found: dict[str, list[str]] = {}
    for what, which in asked.items():
        found.setdefault(_verdict(page, which).answer, []).append(what)
    return " and ".join(f"*{word}* for {listed(whats)}" for word, whats in found.items())


def by_verdict(page: Page, which: Which, holds: str, fails: str, unknown: str) -> str:
    """Write what a verdict allows one to say, and its word behind it.

    Parameters
    ----------
    page
        The page that shows the verdict.
    which
        The verdict.
    holds, fails, unknown
        What is said if runs speak for the claim, against it, or neither.
    """
    verdict = _verdict(page, which)
    told = {**dict.fromkeys(IN_FAVOUR, holds), **dict.fromkeys(AGAINST, fails)}
    return f"{told.get(verdict.word, unknown)} (*{verdict.answer}*)"


def _verdict(page: Page, which: Which) -> Verdict:
    claim, variant, measure = which
    return next(
        verdict
        for verdict in page.verdicts
        if (verdict.claim.id, verdict.variant, verdict.measure) == (claim, variant, measure)
    )


OUTSIDE = ", outside"
"""What is written behind a number of the paper that no range of ours holds."""


def beside_figure(
    runs: Runs,
    read: Readings,
    digits: Mapping[str, int],
    titles: Mapping[str, str] = MappingProxyType({}),
) -> pd.DataFrame | Words:
    """Hold runs, as coded, against what a figure of the paper shows.

    Parameters
    ----------
    runs
        Runs of the experiment that the figure is about.
    read
        What it shows.
    digits
        Metric to digits after the point.
    titles
        Metric to what stands over its column, where that is not its name.

    Returns
    -------
    pandas.DataFrame
        Index method; for every metric what came out, see `median_and_range`, and the paper's, which
        is marked where it lies beyond our lowest or highest run by more than the error of reading.
        The paper's are means of fewer episodes than ours, so a mark alone is no test.
    """
    if runs.results.empty:
        return runs.missing
    errors = READING_ERRORS[runs.experiment.id]
    rows = {}
    for method in next(iter(read.values())):
        own = "as_coded" if method in TRAINED else REFERENCE
        cells = {}
        for metric, numbers in read.items():
            name = titles.get(metric, metric.replace("_", " "))
            values = of_arm(runs.results, metric, method, own)
            cells[name] = median_and_range(values, digits[metric])
            low, high = numbers[method] - errors[metric], numbers[method] + errors[metric]
            inside = values.empty or (values.min() <= high and low <= values.max())
            where = "" if inside else OUTSIDE
            cells[f"{name}, paper"] = f"{numbers[method]:,.{digits[metric]}f}{where}"
        rows[method] = cells
    return runs.labelled(pd.DataFrame.from_dict(rows, orient="index"))


def stored_runs(runs: Runs, *methods: str, variant: str = "as_coded") -> str:
    """Write how many runs of methods are stored, as in "PPO 10, A-PPO 1".

    Parameters
    ----------
    runs
        Runs of an experiment.
    *methods
        The methods.
    variant
        Their variant.
    """
    rows = runs.results[runs.results["variant"] == variant]
    counts = rows.groupby("method")["seed"].nunique()
    names = runs.look.names
    return ", ".join(f"{names.get(one, one)} {counts.get(one, 0)}" for one in methods)


MASSAGED = "massaged_"
"""How the names of metrics begin that are of F-PPO with massaging in use."""


def with_massaging_in_use(runs: Runs) -> Runs:
    """Add F-PPO as published, massaged in use, as a method beside those that never massage.

    Parameters
    ----------
    runs
        Runs in one of the three worlds.

    Returns
    -------
    Runs
        The same and, behind F-PPO, its rows that begin with `MASSAGED`, without that.
    """
    (in_use,) = IN_USE
    rows = runs.results
    alone = rows[(rows["method"] == "f-ppo") & (rows["variant"] == "as_published")]
    massaged = alone[alone["metric"].str.startswith(MASSAGED)]
    names = massaged["metric"].str.removeprefix(MASSAGED)
    both = pd.concat([rows, massaged.assign(method=in_use, metric=names)])
    methods = list(dict.fromkeys(rows["method"]))
    if "f-ppo" in methods:
        methods.insert(methods.index("f-ppo") + 1, in_use)
    return runs.showing(in_order(both, methods))


def kinds_told(runs: Runs, metric: str, variant: str, *methods: str) -> str:
    """Say of whose runs a curve ends in two kinds, with the share of the lower one.

    Parameters
    ----------
    runs
        Runs in one of the three worlds.
    metric
        Of a curve, whose last step decides.
    variant, *methods
        The arms.

    Returns
    -------
    str
        A sentence with the share's exact interval over runs, behind a space; empty where there are
        no such runs.
    """
    rows = curve(runs.results, metric, variant)
    rows = rows[rows["method"].isin(list(methods))]
    told = [
        f"{runs.look.names[method]}, "
        f"a share of {written(share([True] * below + [False] * above), 2)} in the lower one"
        for (method, _), (below, above) in kinds(rows, [*ARM, "step"]).items()
    ]
    return f" Runs end in two kinds: {'; '.join(told)}." if told else ""


def middle_run(runs: Runs, metric: str, method: str, variant: str, digits: int = 3) -> str:
    """Write the median of an arm's runs, which is the value of a run.

    Parameters
    ----------
    runs
        Runs of an experiment.
    metric
        A final metric of all groups together.
    method, variant
        The arm.
    digits
        Digits after the point.
    """
    values = of_arm(runs.results, metric, method, variant)
    if values.empty:
        return NOT_STORED
    return f"{middle(values):,.{digits}f}"


def middle_points(runs: Runs, methods: Sequence[str]) -> pd.DataFrame:
    """Return where policies without training stand in a scatter, by their medians as learners do.

    Parameters
    ----------
    runs
        Runs of an experiment.
    methods
        The policies.

    Returns
    -------
    pandas.DataFrame
        As `Runs.scatter_figure` takes further points: method, reward (up) and bias (to the right).
    """
    up, right = runs.look.across
    found = [
        (
            method,
            *(middle(of_arm(runs.results, metric, method, REFERENCE)) for metric in (up, right)),
        )
        for method in methods
        if runs.has((method, REFERENCE))
    ]
    return pd.DataFrame(found, columns=["method", "reward", "bias"])


Measures = Mapping[str, Literal["lower", "higher"]]
"""Final metric to which is better."""


def better_without_training(runs: Runs, measures: Measures, variant: str = "as_coded") -> str:
    """Name the policy without training that is better by all measures than most runs of F-PPO.

    Parameters
    ----------
    runs
        Runs in one of the three worlds.
    measures
        What is compared: each run of F-PPO with the mean of a policy.
    variant
        Of F-PPO.
    """
    if not runs.has(("f-ppo", variant)):
        return NOT_STORED
    trained = runs.last_of("f-ppo", variant)
    compared = {"lower": operator.lt, "higher": operator.gt}
    beaten = {
        method: sum(
            all(
                compared[way](runs.mean(metric, method), run[metric])
                for metric, way in measures.items()
            )
            for _, run in trained.iterrows()
        )
        for method, own in runs.arms
        if own == REFERENCE
    }
    best = max(beaten, key=lambda method: beaten[method])
    if not beaten[best]:
        return f"no run is worse than any of {len(beaten)} policies without training"
    name = runs.look.names.get(best, best)
    return (
        f"*{name}* is, than {beaten[best]} of {len(trained)} runs; none of the {len(beaten)} "
        "policies without training is better than more of them"
    )


def most_of_the_trained(runs: Runs, metric: str, searched: Sequence[str], digits: int) -> str:
    """Hold the learner with the most of a metric against rules that were found by search.

    Learners count as coded, and those that have all their runs.

    Parameters
    ----------
    runs
        Runs in one of the three worlds.
    metric
        A final metric, more of which is better.
    searched
        Rules, by their names in the experiment.
    digits
        Digits after the point.

    Returns
    -------
    str
        The end of a sentence: the method, its mean, and by how much it differs from every rule,
        paired by seed.
    """
    seeds, variant = runs.experiment.seeds[runs.profile], "as_coded"
    means = {
        method: runs.mean(metric, method, variant)
        for method in TRAINED
        if len(of_arm(runs.results, metric, method, variant)) >= seeds
    }
    if not means:
        return f"no method that learns has {seeds} runs yet."
    best = max(means, key=means.__getitem__)
    names = runs.look.names
    beside = [
        f"{runs.less(metric, (best, variant), (rule, REFERENCE), digits)} from that of "
        f"*{names.get(rule, rule)}*"
        for rule in searched
    ]
    mean = f"{means[best]:,.{digits}f}"
    return (
        f"of all that learn as coded {names[best]} has the most, {mean} on average, which differs "
        f"by {' and by '.join(beside)}."
    )


def massaging_in_training(
    runs: Runs, since: int, digits: int = 3, variant: str = "as_coded"
) -> str:
    """Say what the short-term gap of training is with massaging, F-PPO, and without, F-PPO-L.

    Parameters
    ----------
    runs
        Runs in one of the three worlds.
    since
        Training step from which on rollouts are averaged.
    digits
        Digits after the point.
    variant
        Of both methods.

    Returns
    -------
    str
        A sentence or two: the gaps as from `median_and_range` with the number of runs, and of what
        there are no runs.
    """
    rows = runs.results[
        (runs.results["metric"] == "training_gap")
        & (runs.results["variant"] == variant)
        & (runs.results["step"] >= since)
    ]
    means = rows.groupby(["method", "seed"])["value"].mean()
    texts, missing = [], []
    for method in ("f-ppo", "f-ppo-l"):
        name = runs.look.names[method]
        own = means[means.index.get_level_values("method") == method]
        if own.empty:
            missing.append(name)
        else:
            gap = median_and_range(own, digits)
            texts.append(f"{gap} in {counted(len(own), 'run')} of {name}")
    told = f"From training step {since:,} on the mean short-term gap is {' and '.join(texts)}."
    waiting = (
        f"Runs of {' and '.join(missing)} are not stored yet, and the comparison waits for them."
    )
    return " ".join([told] * bool(texts) + [waiting] * bool(missing))


def rollouts_above(runs: Runs, tolerance: float, variant: str = "as_coded") -> str:
    """Say in what share of rollouts the mean short-term gap is above what the regulariser allows.

    There most steps count as unfair to the present, and the advantage is penalised.

    Parameters
    ----------
    runs
        Runs in one of the three worlds.
    tolerance
        Largest gap that is allowed.
    variant
        Of F-PPO and F-PPO-L.

    Returns
    -------
    str
        A sentence: median and range of the share over runs, for each method with runs.
    """
    rows = runs.results[
        (runs.results["metric"] == "training_gap") & (runs.results["variant"] == variant)
    ]
    above = (rows["value"] > tolerance).groupby([rows["method"], rows["seed"]]).mean() * 100.0
    methods = above.index.get_level_values("method")
    texts = [
        f"{median_and_range(above[methods == method], 0)} % of the rollouts of "
        f"{runs.look.names[method]}"
        for method in ("f-ppo-l", "f-ppo")
        if method in methods
    ]
    if not texts:
        return NOT_STORED
    return f"The mean short-term gap is above {tolerance} in {' and in '.join(texts)}."


FIRST_STEP = {
    "deviation": "at_long_term_gap",
    "rate": "at_rates",
    "distance": "at_distance",
}
"""What is said of the sites to the curve that has it at the first step."""


def sites_at_start(runs: Runs) -> dict[str, float]:
    """Return how unequal the sites of attention allocation are before anybody acts.

    Parameters
    ----------
    runs
        Runs in attention allocation.

    Returns
    -------
    dict of str to float
        The largest deviation from the mean rate, the mean rate, and the distance of the text.
    """
    return _at_start(runs, FIRST_STEP)


def lending_at_start(runs: Runs) -> dict[str, float]:
    """Return how far the groups' scores are apart before anybody applies.

    Parameters
    ----------
    runs
        Runs in bank loans.

    Returns
    -------
    dict of str to float
        `long_term_gap`, by the distance of the figure, and `distance`, by that of the text.
    """
    return _at_start(runs, {name: f"at_{name}" for name in DISTANCES})


def _at_start(runs: Runs, curves: Mapping[str, str]) -> dict[str, float]:
    """Return the mean over runs of curves at their first step; not a number where there is none."""
    first = runs.results.query("phase == 'curve' and step == 0")
    means = first.groupby("metric")["value"].mean()
    return {name: float(means.get(metric, math.nan)) for name, metric in curves.items()}


def noise_of_ten_episodes(runs: Runs, method: str) -> float:
    """Return how far a late long-term gap of ten episodes is from that of many.

    Parameters
    ----------
    runs
        Runs in attention allocation.
    method
        A policy without training, of which every run plays the same policy.

    Returns
    -------
    float
        Standard deviation, from runs of `EPISODES_OF_A_RUN` episodes each.
    """
    values = of_arm(runs.results, "late_long_term_gap", method, REFERENCE)
    return float(values.std() * math.sqrt(EPISODES_OF_A_RUN / ATTENTION_EPISODES))


EPISODES_OF_A_RUN = CASE.evaluating["book"].final_episodes
"""Episodes behind a value of a stored run in attention allocation."""


EACH_OTHER = {
    "bias": ("bias", 3),
    "late_short_term_gap": ("short-term gap", 3),
    "late_distance": ("1-Wasserstein distance", 3),
    "reward": ("reward of a step", 3),
}
"""Measures of both papers: metric to its name and digits."""


LOOKS = {"lending": LENDING, "attention": ATTENTION, "epidemic": EPIDEMIC}
"""The worlds that both papers have, and how F-PPO's runs appear there."""


def each_other(page: Page, world: str) -> pd.DataFrame | Words:
    """Lay out both papers' measures of all methods in a world, as each paper has it.

    Parameters
    ----------
    page
        Page whose profile is shown.
    world
        A key of `LOOKS`.

    Returns
    -------
    pandas.DataFrame
        Index world and method; a column per measure, see `median_and_range`. Worlds without runs
        are left out.
    """
    worlds = {f"{world}, {paper}'s": runs for paper, runs in _as_each_has(page, world).items()}
    rows = {}
    for world, runs in worlds.items():
        if runs.results.empty:
            continue
        names = {**runs.look.names, "g-ppo": runs.look.names["ppo"]}
        arms = runs.results[["method", "variant"]].drop_duplicates()
        for method, variant in arms.itertuples(index=False):
            rows[world, names.get(method, method)] = {
                name: median_and_range(of_arm(runs.results, metric, method, variant), digits)
                for metric, (name, digits) in EACH_OTHER.items()
            }
    if not rows:
        missing = " ".join(runs.experiment.id for runs in worlds.values())
        profile = next(iter(worlds.values())).profile
        return Words(
            "None of these runs has been made yet. What makes them: "
            f"`longfair run {missing} --profile {profile}`."
        )
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["world", "method"])


_DRAWN = {"bias": "bias", "late_distance": "distance"}
_AGAINST_PPO = {
    "elbert-po": METHODS["elbert-po"].label,
    "f-ppo": LEARNERS["f-ppo"].label,
    **{method: style.label for method, style in IN_USE.items()},
}


def each_less_ppo(page: Page) -> Figure | None:
    """Draw by how much each method differs from PPO in its own measure and in the other's.

    Parameters
    ----------
    page
        Page whose profile is shown.

    Returns
    -------
    Figure or None
        A panel for each world and measure; None without runs.
    """
    single, learned = [], []
    for (metric, measure), world in product(_DRAWN.items(), LOOKS):
        for paper, runs in _as_each_has(page, world).items():
            learned.append(runs.results[runs.results["variant"] == VARIANT])
            of_ppo = of_arm(runs.results, metric, "g-ppo", VARIANT)
            for method, label in _AGAINST_PPO.items():
                own = of_arm(runs.results, metric, method, VARIANT)
                apart = (own - of_ppo).dropna()
                if apart.empty:
                    continue
                where = {"panel": f"{world}: {measure}", "name": f"as {paper} has it"}
                where["series"] = f"{label}{',' * (',' in label)} less PPO"
                single.append(apart.rename("value").reset_index().assign(**where))
    if not single:
        return None
    rows, by = pd.concat(single, ignore_index=True), ["panel", "name", "series"]
    told = [interval_in_words(pd.concat(learned))]
    if kinds(rows, by):  # of many arms, whose counts would fill a screen
        told.append("median without interval where runs are of two kinds, as the file shows")
    return dot_panels(
        middles(rows, by),
        rows,
        across="difference from PPO, paired by run",
        band="; ".join(told),
    )


def _as_each_has(page: Page, world: str) -> dict[str, Runs]:
    """Return the runs in a world as each paper has it, by paper."""
    return {
        paper: page.of(f"fppo/beyond-{world}-{key}", look=LOOKS[world])
        for key, paper in (("fppo", "F-PPO"), ("elbert", "ELBERT"))
    }


def both_distances(runs: Runs) -> pd.DataFrame:
    """Lay the figure's distance and the text's side by side, for policies without training.

    Parameters
    ----------
    runs
        Runs in bank loans.

    Returns
    -------
    pandas.DataFrame
        Columns `name`, `series`, `value`, `low`, `high`, as `figures.dot_intervals` takes them:
        distances at the end of an evaluation, as shares of those at its start.
    """
    rows = []
    untrained = runs.results[runs.results["variant"] == REFERENCE]
    for metric, series in DISTANCES.items():
        told = untrained[untrained["metric"] == f"at_{metric}"]
        start = told[told["step"] == 0].groupby("method", sort=False)["value"].mean()
        ends = final(untrained)
        shown = middles(ends[ends["metric"] == f"end_{metric}"], ["method"]).set_index("method")
        parts = shown[["value", "low", "high"]].div(start, axis=0)
        rows.append(parts.reset_index(names="name").assign(series=series))
    found = pd.concat(rows, ignore_index=True)
    return found.replace({"name": runs.look.names})


DISTANCES = {"long_term_gap": "the figure's", "distance": "the text's"}
"""Metric of a distance in bank loans to what it is called."""


HARDLY_LENDING = 10_100.0
"""Cash at the end below which a bank hardly lends; it begins with 10,000."""


def hardly_lending(runs: Runs, method: str, variant: str) -> tuple[int, int]:
    """Count the runs in bank loans that end as a bank that hardly lends, and all of them.

    Parameters
    ----------
    runs
        Runs in bank loans.
    method, variant
        The arm.
    """
    cash = of_arm(runs.results, "end_cash", method, variant)
    return int((cash < HARDLY_LENDING).sum()), len(cash)


def share_hardly_lending(runs: Runs, method: str, variant: str) -> str:
    """Write the share of an arm's runs that end as a bank that hardly lends, with its interval.

    Parameters
    ----------
    runs
        Runs in bank loans.
    method, variant
        The arm.
    """
    lost, ran = hardly_lending(runs, method, variant)
    return written(share([True] * lost + [False] * (ran - lost)), 2) if ran else NOT_STORED


def lending_only(runs: Runs) -> Runs:
    """Leave out the runs of methods that end as a bank that hardly lends.

    Parameters
    ----------
    runs
        Runs in bank loans.
    """
    results = runs.results
    cash = final(results).query("metric == 'end_cash'").set_index([*ARM, "seed"])["value"]
    keys = pd.MultiIndex.from_frame(results[[*ARM, "seed"]])
    return runs.showing(results[(cash.reindex(keys) >= HARDLY_LENDING).to_numpy()])
