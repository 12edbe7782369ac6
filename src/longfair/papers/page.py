"""What a notebook shows of stored runs: figures, tables, numbers in sentences, verdicts, origin.

A page is written before its numbers are known. So everything here says which command makes the
runs when there are none, and no notebook has to ask.
"""

from __future__ import annotations

import html
import importlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

import pandas as pd

from longfair.figures import (
    Figure,
    Folded,
    LineStyle,
    Words,
    claim_box,
    folded,
    learning_curves,
    offer,
    show,
    show_missing,
    trade_off,
)
from longfair.figures.style import VARIANT_NAMES
from longfair.papers import registry
from longfair.papers.live import LIVE, live_runs
from longfair.papers.setting import Setting
from longfair.papers.styles import METHODS
from longfair.runs import board, tidy
from longfair.runs.evidence import REFERENCE
from longfair.runs.experiment import Experiment
from longfair.runs.origin import origin
from longfair.runs.rules.words import Asked
from longfair.runs.statistics import estimate
from longfair.runs.store import Store
from longfair.runs.tidy import ArmName, Quantities
from longfair.runs.verdicts import Verdict
from longfair.wording import begun, by_middle, with_digits

ORIGIN = "Profile, versions and commits of this page, and its stored runs"
"""What stands on the folded table of a page's origin."""

NOT_STORED = "(not stored)"
"""What stands in a sentence where a number would; `Runs.say` leaves out such a sentence."""

LEFT_OUT = "Some runs are not stored yet, and what they would say is left out."
"""What is said in place of sentences that are left out."""

_ABSENT = re.compile(rf"{re.escape(NOT_STORED)}|\bnan\b")
"""Marks of a number that is absent, the second one from `Runs.mean`."""

_COUNTED: Mapping[Asked, str] = {"paper": "verdicts", "here": "answers to our questions"}
"""What is counted above the folded table, by who says it."""


@dataclass(frozen=True)
class Look:
    """How the runs of a page appear.

    Parameters
    ----------
    styles
        Styles of methods that are not among `longfair.papers.styles.METHODS`, or other ones.
    variants
        Names of further variants, and of methods that are only in tables.
    axes
        Metric to what stands on its axis.
    across
        The two metrics of `Runs.scatter`: up and to the right.
    beside
        Policies without training that are drawn as lines beside curves; None draws all, with
        their mean over the episodes of the curve.
    logarithmic_beyond
        Metric to a number beyond which its axis is logarithmic.
    every
        Profile to the number of neighbouring points of a curve that are averaged.
    median
        Whether figures show the median of the runs in place of a mean with its interval, or of
        which methods. It is the value of a run: of an even number, the lower one in the middle.
        Methods whose runs end in two kinds have it without being named, see `tidy.middles`.
    ranked
        Methods whose median has an interval by ranks, but where that would reach from one kind of
        runs to the other.
    """

    styles: Mapping[str, LineStyle] = field(default_factory=dict)
    variants: Mapping[str, str] = field(default_factory=dict)
    axes: Mapping[str, str] = field(
        default_factory=lambda: {"reward": "reward per step", "bias": "bias"}
    )
    across: tuple[str, str] = ("reward", "bias")
    beside: Sequence[str] | None = None
    logarithmic_beyond: Mapping[str, float] = field(default_factory=dict)
    every: Mapping[str, int] = field(default_factory=dict)
    median: bool | Collection[str] = False
    ranked: Collection[str] = ()

    @property
    def all_styles(self) -> dict[str, LineStyle]:
        """Styles of all methods."""
        return {**METHODS, **self.styles}

    @property
    def names(self) -> dict[str, str]:
        """Labels of all methods and variants."""
        methods = {method: style.label for method, style in self.all_styles.items()}
        return methods | {**VARIANT_NAMES, REFERENCE: "no training"} | dict(self.variants)


@dataclass(frozen=True)
class Runs:
    """The stored runs of one experiment under one profile, to be shown.

    Parameters
    ----------
    experiment
        The experiment.
    profile
        Name of the profile.
    look
        How its runs appear.
    store
        Where the results are.
    """

    experiment: Experiment
    profile: str
    look: Look = field(default_factory=Look)
    store: Store = field(default_factory=Store)

    @cached_property
    def results(self) -> pd.DataFrame:
        """Results as from `tidy.stored`; no rows where nothing is stored."""
        return tidy.stored(self.store, self.profile, self.experiment)

    @cached_property
    def last(self) -> pd.DataFrame:
        """Final values, one row per run, as from `tidy.by_seed`."""
        return tidy.by_seed(self.results) if len(self.results) else pd.DataFrame()

    def showing(self, results: pd.DataFrame) -> Runs:
        """Return the same runs with other results in their place, such as a part of them."""
        other = replace(self)
        other.__dict__["results"] = results
        return other

    def only(self, *methods: str) -> Runs:
        """Return the runs of some methods."""
        return self.showing(self.results[self.results["method"].isin(methods)])

    @property
    def missing(self) -> Words:
        """Which command makes these runs."""
        return Words(tidy.nothing_to_show(self.profile, self.experiment))

    @cached_property
    def arms(self) -> list[ArmName]:
        """Arms with results, in the order in which they first come."""
        return tidy.arms_of(self.results)

    def has(self, *arms: ArmName) -> bool:
        """Say whether there are results of all these arms."""
        return set(arms) <= set(self.arms)

    def count(self, method: str, variant: str) -> int:
        """Count the stored runs of an arm."""
        return len(self.last_of(method, variant)) if self.has((method, variant)) else 0

    @property
    def learned(self) -> list[ArmName]:
        """Arms that were trained, in the order of their experiment."""
        return [arm for arm in self.arms if arm[1] != REFERENCE]

    def last_of(self, method: str, variant: str) -> pd.DataFrame:
        """Return the final values of one arm, one row per run."""
        chosen = (self.last["method"] == method) & (self.last["variant"] == variant)
        return self.last[chosen]

    def labelled(self, table: pd.DataFrame) -> pd.DataFrame:
        """Write methods and variants as in the figures, and no other names of an index."""
        return table.rename(index=self.look.names)

    # Sentences ----------------------------------------------------------------------------------

    def say(self, *texts: str) -> Words:
        """Show texts, as a list if there are several, without sentences that lack a number.

        Parameters
        ----------
        *texts
            Each of one sentence or more.

        Returns
        -------
        Words
            What is left of the texts, and that something is left out; which command makes the runs
            where nothing is left.
        """
        known = [_known(text) for text in texts]
        told = [text for text in known if text]
        if self.results.empty or not told:
            return self.missing
        if known != list(texts):
            told.append(LEFT_OUT)
        return Words(" ".join(told) if len(texts) == 1 else "\n".join(f"- {one}" for one in told))

    def aside(self, heading: str, *texts: str) -> Words:
        """Say something that most readers can do without: it opens when its heading is clicked."""
        said = self.say(*texts)
        return said if said == self.missing else replace(said, heading=heading)

    def number(self, metric: str, method: str, variant: str, digits: int = 3) -> str:
        """Write what an arm reaches, with its interval, as in "0.150 [0.148, 0.152]".

        Parameters
        ----------
        metric
            A final metric of all groups together.
        method, variant
            The arm.
        digits
            Digits after the point.
        """
        values = tidy.of_arm(self.results, metric, method, variant)
        if values.empty:
            return NOT_STORED
        return tidy.written(estimate(values, name=f"{method} {variant} {metric}"), digits)

    def spread(self, metric: str, method: str, variant: str, digits: int = 3) -> str:
        """Write where an arm's runs end, as `median_and_range` does.

        For runs so far apart that an interval of their mean reaches what cannot occur.
        """
        if self.results.empty or not self.has((method, variant)):
            return NOT_STORED
        return median_and_range(self.last_of(method, variant)[metric], digits)

    def less(self, metric: str, first: ArmName, second: ArmName, digits: int = 3) -> str:
        """Write by how much the first arm differs from the second, paired by seed."""
        found = tidy.difference(self.results, metric, first, second)
        return NOT_STORED if found is None else tidy.written(found, digits)

    def mean(self, metric: str, method: str, variant: str = REFERENCE) -> float:
        """Return what an arm reaches on average; not a number without results."""
        return float(tidy.of_arm(self.results, metric, method, variant).mean())

    # Tables -------------------------------------------------------------------------------------

    def table(
        self, quantities: Quantities, *variants: str, scale: float = 1.0
    ) -> pd.DataFrame | Words:
        """Lay out final metrics with intervals; see `tidy.final_table`.

        Parameters
        ----------
        quantities
            What to show.
        *variants
            Variants to show; by default all.
        scale
            Factor of all values, such as the steps of an episode.
        """
        rows = self.results.assign(value=self.results["value"] * scale)
        rows = rows[rows["variant"].isin(variants)] if variants else rows
        return self.labelled(tidy.final_table(rows, quantities)) if len(rows) else self.missing

    def ranges(self, quantities: Quantities) -> pd.DataFrame | Words:
        """Lay out final metrics of runs that end apart, of which a mean would say nothing.

        Parameters
        ----------
        quantities
            What to show.

        Returns
        -------
        pandas.DataFrame
            Index method and variant; per quantity see `median_and_range`, and the number of runs.
        """
        if self.results.empty:
            return self.missing
        table = tidy.final_table(self.results, quantities, write=median_and_range)
        return self.labelled(table).rename(columns={"seeds": "runs"})

    def differences(
        self, pairs: Mapping[Any, tuple[ArmName, ArmName]], quantities: Quantities
    ) -> pd.DataFrame | Words:
        """Say by how much arms differ, paired by seed; see `tidy.differences`."""
        if self.results.empty:
            return self.missing
        found = tidy.differences(self.results, pairs, quantities)
        return self.missing if found.empty else self.labelled(found)

    def beside(self, other: Runs, quantities: Quantities) -> pd.DataFrame | Words:
        """Hold the learned arms of two profiles against each other; see `tidy.side_by_side`."""
        named = {"book": "our settings", "paper": "the authors'"}
        results = {named.get(one.profile, one.profile): one.results for one in (self, other)}
        found = tidy.side_by_side(results, quantities)
        return self.labelled(found) if len(found) else other.missing

    def cost(self, in_all: Literal["minutes", "hours"] = "hours") -> pd.DataFrame | Words:
        """Summarise what these runs cost; see `tidy.cost`."""
        if self.results.empty:
            return self.missing
        methods = self.experiment.methods(self.profile)
        return self.labelled(tidy.cost(self.provenance(), methods, in_all))

    def provenance(self) -> pd.DataFrame:
        """Return the provenance of these runs, as from `Store.provenance`."""
        return self.store.provenance(experiment=self.experiment.id, profile=self.profile)

    # Figures ------------------------------------------------------------------------------------

    def show(self, figure: Figure | None, caption: str, name: str) -> None:
        """Show a figure with its data, or which command makes the runs if it is None."""
        what = f"{self.experiment.name}_{name}".replace("-", "_")
        if figure is None:
            importlib.import_module("IPython.display").display(self.missing)
        else:
            show(figure, caption, name=what)

    def curves(
        self, metric: str, variant: str, caption: str, *, thin_lines: bool = True, **keywords: Any
    ) -> None:
        """Show a metric during training: mean and interval over seeds, and single runs.

        Parameters
        ----------
        metric
            One of the look's axes.
        variant
            Variant to draw.
        caption
            One or two plain sentences.
        thin_lines
            Whether single runs are drawn, too.
        **keywords
            What `curve_figure` takes.
        """
        figure = self.curve_figure(metric, variant, thin_lines=thin_lines, **keywords)
        self.show(figure, caption, f"{metric}_{variant}_{self.profile}")

    def curve_figure(
        self,
        metric: str,
        *variants: str,
        methods: Sequence[str] = (),
        thin_lines: bool = True,
        beside: Sequence[str] | None = None,
        across: str | None = None,
        every: int | None = None,
        apart: bool = False,
    ) -> Figure | None:
        """Draw a metric during training; None without runs.

        Parameters
        ----------
        metric
            One of the look's axes.
        *variants
            Variants to draw.
        methods
            Methods to draw; by default all.
        thin_lines
            Whether single runs are drawn, too.
        beside
            In place of the look's.
        across
            What is on the horizontal axis, if not training steps.
        every
            Average so many neighbouring points, in place of the look's number.
        apart
            Whether each method has a panel of its own even where they are few.
        """
        every = every or self.look.every.get(self.profile, 1)
        runs = pd.concat([tidy.curve(self.results, metric, one, every) for one in variants])
        runs = runs[runs["method"].isin(list(methods))] if methods else runs
        if runs.empty:
            return None
        return learning_curves(
            tidy.middles(runs, [*tidy.ARM, "step"], self.look.median, self.look.ranked),
            quantity=self.look.axes[metric],
            band=self._in_words(runs, [*tidy.ARM, "step"]),
            runs=runs,
            thin_lines=thin_lines,
            references=self._references(self.results, metric, beside),
            styles=self.look.styles,
            across=across,
            logarithmic_beyond=self.look.logarithmic_beyond.get(metric),
            apart=apart,
        )

    def _in_words(self, rows: pd.DataFrame, by: Sequence[str]) -> str:
        """Say what bands and crosses are, and which methods have the median in their place."""
        look = self.look
        return tidy.middles_in_words(rows, by, look.names, look.median, look.ranked)

    def scatter(self, *variants: str, caption: str, beside: Sequence[str] = ()) -> None:
        """Show the look's two metrics of the last policies, mean and interval over single runs.

        Parameters
        ----------
        *variants
            Variants to draw.
        caption
            One or two plain sentences.
        beside
            Policies without training that are drawn as points with names.
        """
        figure = self.scatter_figure(*variants, beside=beside)
        self.show(figure, caption, "_".join(["trade_off", *variants, self.profile]))

    def scatter_figure(
        self,
        *variants: str,
        methods: Sequence[str] = (),
        across: tuple[str, str] | None = None,
        beside: Sequence[str] = (),
        points: pd.DataFrame | None = None,
        frontier: pd.DataFrame | None = None,
    ) -> Figure | None:
        """Draw one metric against another; None without runs.

        Parameters
        ----------
        *variants
            Variants to draw.
        methods
            Methods to draw; by default all.
        across
            The metrics, in place of the look's.
        beside
            Policies without training that are drawn as points with names.
        points
            Columns method, reward, bias: further points with names.
        frontier
            Columns reward, bias: points that a black line joins.
        """
        up, right = across or self.look.across
        chosen = self.results[self.results["variant"].isin(list(variants))]
        chosen = chosen[chosen["method"].isin(list(methods))] if methods else chosen
        if chosen.empty:
            return None
        reward, bias = (
            tidy.references(self.results, metric, beside).rename(columns={"value": name})
            for metric, name in ((up, "reward"), (right, "bias"))
        )
        references = reward.merge(bias, on="method")
        if points is not None:
            references = pd.concat([references, points]) if len(references) else points
        seeds = tidy.reward_and_bias(chosen, up, right)
        rows = seeds.melt([*tidy.ARM, "seed"], var_name="metric")
        return trade_off(
            tidy.middles(rows, [*tidy.ARM, "metric"], self.look.median, self.look.ranked),
            interval=self._in_words(rows, [*tidy.ARM, "metric"]),
            seeds=seeds,
            references=None if references.empty else references,
            reward_label=self.look.axes[up],
            bias_label=self.look.axes[right],
            styles=self.look.styles,
            logarithmic_beyond=self.look.logarithmic_beyond.get(up),
            frontier=frontier,
        )

    def live_curves(
        self, live: pd.DataFrame, metric: str, caption: str, *, across: str | None = None
    ) -> None:
        """Show a metric of the one run per method that a reader has just made, as from `live`."""
        means = tidy.over_seeds(tidy.curve(live, metric, LIVE), [*tidy.ARM, "step"])
        played = live[live["variant"] == REFERENCE]
        figure = learning_curves(
            means,
            quantity=self.look.axes[metric],
            band="one run each, so no band",
            references=self._references(played, metric, list(dict.fromkeys(played["method"]))),
            styles=self.look.styles,
            across=across,
        )
        self.show(figure, caption, f"live_{metric}")

    def live_table(self, live: pd.DataFrame, quantities: Quantities) -> pd.DataFrame:
        """Lay out where live runs, as from `live`, have ended, in the digits asked for."""
        last = tidy.by_seed(live).set_index("method")
        columns = {
            title: last[metric].map(partial(with_digits, digits=digits))
            for metric, (title, digits) in quantities.items()
            if metric in last
        }
        return self.labelled(pd.DataFrame(columns))

    def _references(
        self, results: pd.DataFrame, metric: str, beside: Sequence[str] | None
    ) -> pd.DataFrame | None:
        beside = self.look.beside if beside is None else beside
        if beside is None:
            lines = tidy.curve_references(results, metric)
        else:
            lines = tidy.references(results, metric, beside)
        return None if lines.empty else lines


class Page:
    """What a notebook shows of stored runs.

    Parameters
    ----------
    profile
        Profile whose runs it shows.
    *experiments
        Ids of its experiments.
    look
        How their runs appear.
    claims
        Ids of claims of the page that are not about these experiments.
    store
        Where the results are; by default this project's.

    Raises
    ------
    UsageError
        If an experiment or a claim is unknown.
    """

    def __init__(
        self,
        profile: str,
        *experiments: str,
        look: Look | None = None,
        claims: Sequence[str] = (),
        store: Store | None = None,
    ) -> None:
        pd.set_option("display.max_colwidth", None)
        self.profile = profile
        self.experiments = tuple(registry.experiment(name) for name in experiments)
        self.look = look or Look()
        self.claim_ids = {claim.id for claim in registry.select_claims(list(claims)) if claims}
        self.store = store or Store()

    def of(self, experiment: str, profile: str = "", look: Look | None = None) -> Runs:
        """Return the runs of an experiment, under the page's profile or another one."""
        chosen = registry.experiment(experiment)
        return Runs(chosen, profile or self.profile, look or self.look, self.store)

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Verdicts on the claims of the page: on the authors' settings first, then on ours."""
        ids = {experiment.id for experiment in self.experiments}
        chosen = [
            claim
            for claim in registry.claims()
            if claim.experiment in ids or claim.id in self.claim_ids
        ]
        return board.verdicts(chosen, self.store, registry.experiments(), registry.checks())

    def claims(self) -> Folded | Words:
        """Show the verdicts as a folded table, with what decides each below it."""
        verdicts = self.verdicts
        if not verdicts:
            return Words(tidy.nothing_to_show(self.profile, *self.experiments))
        box = claim_box([verdict.as_json() for verdict in verdicts])
        details = [_reasons(verdict) for verdict in verdicts]
        counted = board.counts(verdicts)
        summary = "; ".join(
            f"{title}: " + ", ".join(f"{number} {word}" for word, number in counted[asked].items())
            for asked, title in _COUNTED.items()
            if counted[asked]
        )
        items = "".join(f"<li>{html.escape(reason)}</li>" for reason in details)
        return Folded(
            summary.capitalize(),
            f"{box._repr_html_()}<ul>{items}</ul>",
            "\n".join([repr(box), *details]),
        )

    def gaps(self) -> None:
        """Say which runs of the page are missing or stale; nothing to list is one line."""
        missing = tidy.gaps(self.store, self.profile, *self.experiments)
        if len(self.experiments) == 1:
            missing = missing.droplevel("experiment")
        show_missing(missing.rename(index=self.look.names), f"the profile `{self.profile}`")

    def live(
        self, learners: Mapping[str, Setting], run: int, lines: Mapping[str, Setting] | None = None
    ) -> pd.DataFrame:
        """Train while the reader waits; see `longfair.papers.live.live_runs`."""
        return live_runs(learners, run, lines)

    def origin(self, packages: Sequence[str], sources: Sequence[Any] = ()) -> Folded | Words:
        """Offer all final values to download, and say where the page came from.

        Parameters
        ----------
        packages
            Distributions that matter to the page.
        sources
            Functions or classes whose code decides its numbers.
        """
        shown = [runs for one in self.experiments if len((runs := self.of(one.id)).results)]
        tables = {runs.experiment.id: runs.last for runs in shown}
        folders = f"results/<experiment>/{self.profile}"
        offer(tables, "All final values, one row per run, to download", folders)
        provenance = pd.concat([runs.provenance() for runs in shown]) if shown else None
        return folded(origin(self.profile, packages, sources, provenance), ORIGIN)


def median_and_range(values: pd.Series[float], digits: int) -> str:
    """Write runs as `longfair.runs.tidy.median_and_range` does, and say where there are none."""
    return tidy.median_and_range(values, digits) if len(values) else NOT_STORED


def _known(text: str) -> str:
    """Leave out sentences that lack a number."""
    sentences = re.split(r"(?<=[.?!])\s+", text)
    absent = [_ABSENT.search(sentence) is not None for sentence in sentences]
    if not any(absent):
        return text
    return " ".join(one for one, lacks in zip(sentences, absent, strict=True) if not lacks)


def _reasons(verdict: Verdict) -> str:
    """Say what decides a verdict, in one line."""
    methods = verdict.claim.rule.methods
    details = (part.detail.rstrip(".") for part in verdict.parts or [verdict])
    parts = " ".join(f"{begun(detail, methods)}." for detail in details)
    if middle := by_middle(verdict.as_json()):
        parts += f" {begun(verdict.measured, methods)}: {middle}."
    return f"{verdict.name}: {verdict.answer}. {parts}"
