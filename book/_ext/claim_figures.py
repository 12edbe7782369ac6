"""Draw a claim: the runs behind its verdicts, and what its rule asks of them.

A panel has the numbers of single runs, a row for each method. Where the rule is about a mean, what
it asks for is shaded there. Where it is about something else, such as the difference of two
methods, a panel below has that, seed by seed if it can be, with number and interval of the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sphinx.util.parallel import ParallelTasks, SerialTasks, make_chunks, parallel_available

from claim_board import headlines
from longfair.figures import Figure
from longfair.figures.run_strips import run_strips
from longfair.runs.claims import Claim
from longfair.runs.evidence import SETTINGS_IN_WORDS
from longfair.runs.keys import canonical_json, sha256
from longfair.runs.rules.about_equal import AboutEqualRule
from longfair.runs.rules.count import CountRule
from longfair.runs.rules.gain import DifferenceOfMeans, GainRule
from longfair.runs.rules.level import LevelRule
from longfair.runs.rules.paired import PairedRule
from longfair.runs.rules.rule import EVERYWHERE, Ends, Found, Quantity, Rule
from longfair.runs.rules.share import ShareRule
from longfair.runs.rules.trade_offs import TradeOffRule
from longfair.runs.sources import library_stamp
from longfair.runs.statistics import estimate, smallest, two_kinds, within_ends
from longfair.runs.store import Store
from longfair.wording import plain

Sheet = Mapping[str, Any]

MOST_PANELS = 12
"""Panels of a figure; what is beyond them is in the table of runs."""
_PANEL = ["title", "label"]
_RUNS = [*_PANEL, "method", "seed", "value"]
_MEANS = [*_PANEL, "method", "mean", "low", "high", "kinds"]
_CLAIMED = [*_PANEL, "method", "low", "high", "words"]


class Tables(NamedTuple):
    """What a figure draws; see `run_strips`."""

    runs: pd.DataFrame
    means: pd.DataFrame
    claimed: pd.DataFrame
    judged: list[str]
    first: int = MOST_PANELS
    """Panels at the beginning that belong to the first verdict."""

    def parted(self) -> list[Tables]:
        """Part what belongs to the first verdict from the rest, if there is any."""
        panels = self.means[_PANEL].drop_duplicates()
        parts = [panels[: self.first], panels[self.first :]]
        return [self._only(part) for part in parts if len(part)]

    def _only(self, panels: pd.DataFrame) -> Tables:
        runs, means, claimed = (one.merge(panels, on=_PANEL) for one in self[:3])
        return Tables(runs, means, claimed, self.judged, len(panels))


def tables(sheet: Sheet, claim: Claim) -> Tables:
    """Gather what the figure of a claim shows, the first verdict of every variant before others.

    Parameters
    ----------
    sheet
        Everything about the claim, with numbers of single runs.
    claim
        The claim.
    """
    ends = possible(claim)
    numbers = pd.DataFrame(sheet["numbers"])
    found = _Tables(claim.asked, ends, [], [], [])
    judged = numbers["judged"].astype(bool)
    of_verdicts = numbers[judged].groupby(["settings", "variant", "measure"])
    first = 0
    for verdict in _in_order(sheet["verdicts"]):
        which = (verdict["settings"], verdict["variant"], verdict["measure"])
        if which in of_verdicts.groups:
            rules = claim.rule.leaves(verdict["measure"], verdict)
            own = of_verdicts.get_group(which)
            found.judge(title(*which[:2]), own, rules, verdict["measure"])
            first = first or len({row[:2] for row in found.means})
    beside: Any = numbers[~judged].groupby(["settings", "variant", "number"], sort=False)
    for (settings, variant, words), own in beside:
        found.tell(title(settings, variant), words, own, "; not judged")
    means = pd.DataFrame(found.means, columns=_MEANS).drop_duplicates([*_PANEL, "method"])
    shown = means[_PANEL].drop_duplicates().head(MOST_PANELS)
    runs = pd.DataFrame(found.runs, columns=_RUNS).drop_duplicates()
    claimed = pd.DataFrame(found.claimed, columns=_CLAIMED).drop_duplicates()
    effects = set(means["method"]) - set(numbers["method"])
    blue = [plain(claim.rule.methods[0]), *sorted(effects)]
    runs, means, claimed = (one.merge(shown, on=_PANEL) for one in (runs, means, claimed))
    return Tables(runs, means, claimed, blue, first or MOST_PANELS)


Drawing = list[tuple[str, str]]
"""SVGs and their words: of a claim's first verdict, then, if there is more, of the rest."""


def drawings(
    sheets: Iterable[Sheet], claims: Mapping[str, Claim], store: Store, processes: int
) -> dict[str, Drawing]:
    """Draw claims that have numbers, beside each other, but for what the store remembers.

    Parameters
    ----------
    sheets
        Everything about the claims, with numbers of single runs.
    claims
        The claims by id, at least these.
    store
        Where results are.
    processes
        How many draw at the same time.
    """
    stamps = [library_stamp("figures"), library_stamp("runs"), Path(__file__).read_text("utf-8")]
    shown = {sheet["id"]: sheet for sheet in sheets if sheet["numbers"]}
    questions, drawn = {}, {}
    for name, sheet in shown.items():
        told = canonical_json([sheet["numbers"], sheet["verdicts"]])
        questions[name] = sha256(f"strips {stamps} {told} {claims[name]!r}")
        if (known := store.index.answer(questions[name])) is not None:
            drawn[name] = known
    made: dict[str, Drawing] = {}
    parallel = parallel_available and processes > 1
    tasks = ParallelTasks(processes) if parallel else SerialTasks()
    for names in make_chunks([name for name in shown if name not in drawn], processes):
        chunk = [(shown[name], claims[name]) for name in names]
        tasks.add_task(_drawn, chunk, lambda *answer: made.update(answer[-1]))
    tasks.join()
    store.index.remember({questions[name]: drawing for name, drawing in made.items()})
    return drawn | made


def _drawn(chunk: Iterable[tuple[Sheet, Claim]]) -> dict[str, Drawing]:
    found = {}
    for sheet, claim in chunk:
        figures = [strips(part) for part in tables(sheet, claim).parted()]
        found[sheet["id"]] = [(figure.svg().decode(), figure.alt_text) for figure in figures]
    return found


def strips(shown: Tables) -> Figure:
    """Draw tables."""
    return run_strips(shown.runs, shown.means, claimed=shown.claimed, judged=shown.judged)


def title(settings: str, variant: str) -> str:
    """Write what stands above the panels of the runs that a verdict goes by."""
    return f"{plain(variant)}, {SETTINGS_IN_WORDS[settings]}"


def _in_order(verdicts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Put the first verdict of every variant and measure before what stands beside it."""
    first = headlines(verdicts)
    return [*first, *(row for row in verdicts if row not in first)]


def possible(claim: Claim) -> dict[str, Ends]:
    """Least and largest value of the numbers of single runs, by their words, where it is known."""
    rows = [one.quantity for one in claim.rule.numbers]
    known = {metric: ends for row in rows for metric, ends in row.possible.items()}
    measures = dict.fromkeys(name for names in claim.measures.values() for name in names)
    asked = [(row, measure) for row in rows for measure in measures]
    asked += [(Quantity({name: metric}), name) for name in measures for metric in claim.beside]
    named = {row.words(measure): row.metrics[measure] for row, measure in asked}
    return {words: known[metric] for words, metric in named.items() if metric in known}


# Tables -----------------------------------------------------------------------------------------


class _Tables(NamedTuple):
    """Rows of the tables, as far as they are known."""

    asked: str
    ends: Mapping[str, Ends]
    runs: list[tuple[Any, ...]]
    means: list[tuple[Any, ...]]
    claimed: list[tuple[Any, ...]]

    def judge(
        self,
        title: str,
        own: pd.DataFrame,
        rules: Iterator[tuple[Rule, Found]],
        measure: str,
    ) -> None:
        """Add what belongs to one verdict."""
        for rule, found in rules:
            for one in rule.numbers:
                words, methods = one.quantity.words(measure), list(map(plain, one.methods))
                rows = own[(own["number"] == words) & own["method"].isin(methods)]
                self.tell(title, words, rows)
                self._add_asked(title, words, rule, rows)
            self._add_effect(title, own, rule, found, measure)

    def tell(self, title: str, words: str, rows: pd.DataFrame, note: str = "") -> None:
        """Add a number of some methods."""
        label, ends = words.strip(",") + note, self.ends.get(words, EVERYWHERE)
        for method, own in rows.groupby("method", sort=False):
            values = tuple(own["value"])
            self.means.append((title, label, method, *(_medians(values) or _mean(values, ends))))
            by_seed = zip(own["seed"], own["value"], strict=True)
            self.runs.extend((title, label, method, seed, value) for seed, value in by_seed)

    def _add_asked(self, title: str, words: str, rule: Rule, rows: pd.DataFrame) -> None:
        """Say what is asked of a method's mean, or which of its runs are counted."""
        if not isinstance(rule, LevelRule | ShareRule):
            return
        (low, high, asked), verb = rule.asked, self._claimed
        if isinstance(rule, ShareRule):
            (low, high, asked), verb = rule.counted, "counted:"
        for method in rows["method"].unique():
            self.claimed.append((title, words.strip(","), method, low, high, f"{verb} {asked}"))

    def _add_effect(
        self,
        title: str,
        own: pd.DataFrame,
        rule: Rule,
        found: Found,
        measure: str,
    ) -> None:
        """Add a row for what the rule judges, if that is no method's mean."""
        wide = None if isinstance(rule, LevelRule) else _by_seed(own, rule, measure)
        if wide is None:
            return
        if isinstance(rule, CountRule):
            self._add_counted(title, wide, rule, measure)
        told = _of_guard(rule, wide, measure) if found is None else found
        if told is None or told["estimate"] is None:
            return
        label = told["measured"]
        name = rule.effect_name
        low, high = told["interval"] or (None, None)
        by_seed = differences(rule, wide, told["estimate"])
        middle = _medians(tuple(by_seed)) or (told["estimate"], low, high, "")
        self.means.append((title, label, name, *middle))
        self.runs.extend((title, label, name, seed, value) for seed, value in by_seed.items())
        least, most, words = rule.asked
        self.claimed.append((title, label, name, least, most, f"{self._claimed} {words}"))

    def _add_counted(self, title: str, wide: pd.DataFrame, rule: CountRule, measure: str) -> None:
        """Add the differences by which runs are counted, seed by seed."""
        gains = _gains(rule, wide, rule.sign)
        others = " or ".join(plain(other) for other in rule.others)
        first, second = (plain(rule.method), others)[:: rule.sign]
        label = f"{rule.quantity.words(measure).strip(',')}, {first} less {second}"
        self.means.append((title, label, "difference", math.nan, None, None, ""))
        hardest = zip(gains.index, rule.hardest(gains.to_numpy()), strict=True)
        self.runs.extend((title, label, "difference", *one) for one in hardest)
        low, high, words = rule.counted
        self.claimed.append((title, label, "difference", low, high, f"counted: {words}"))

    @property
    def _claimed(self) -> str:
        return "claimed" if self.asked == "paper" else "asked for:"


_Bar = tuple[float, float | None, float | None, str]
"""Where a bar is, the ends of its interval, and the runs of each kind where there are two."""


@cache
def _mean(values: tuple[float, ...], ends: Ends) -> _Bar:
    """Return a mean with the interval that verdicts use."""
    found = within_ends(estimate(values), *ends)
    return found.value, found.low, found.high, ""


@cache
def _medians(values: tuple[float, ...]) -> _Bar | None:
    """Return the median of runs of two kinds, since none is where their mean is; else None."""
    gap = two_kinds(values)
    if gap is None:
        return None
    below = sum(value < gap for value in values)
    middle = float(np.quantile(values, 0.5, method="lower"))
    return middle, None, None, f"{below} and {len(values) - below} runs"


def _by_seed(own: pd.DataFrame, rule: Rule, measure: str) -> pd.DataFrame | None:
    """Return the numbers of a rule's methods on the seeds that they share; None if there are none.

    A rule with several numbers has a table without columns.
    """
    if isinstance(rule, TradeOffRule):
        return pd.DataFrame()
    words = rule.numbers[0].quantity.words(measure)
    methods = list(map(plain, rule.methods))
    rows = own[(own["number"] == words) & own["method"].isin(methods)]
    wide = rows.pivot_table(index="seed", columns="method", values="value").dropna()
    return None if wide.empty else wide


def _gains(rule: PairedRule, wide: pd.DataFrame, sign: float) -> pd.DataFrame:
    """By how much the method is better than each other one, seed by seed."""
    others = [plain(other) for other in rule.others if plain(other) in wide]
    return sign * wide[others].rsub(wide[plain(rule.method)], axis=0)


def differences(rule: Rule, wide: pd.DataFrame, effect: float) -> pd.Series[float]:
    """Return the differences, by seed, whose mean is the effect; none where there are no such."""
    nothing: pd.Series[float] = pd.Series(dtype=float)
    if not isinstance(rule, AboutEqualRule | DifferenceOfMeans):
        return nothing
    gains = _gains(rule, wide, getattr(rule, "sign", 1.0))
    nearest = (gains.mean() - effect).abs().idxmin()
    fits = np.isclose(gains[nearest].mean(), effect, rtol=1e-6, atol=1e-12)
    return gains[nearest] if fits else nothing


def _of_guard(rule: Rule, wide: pd.DataFrame, measure: str) -> dict[str, Any] | None:
    """Return what a guard that compares methods finds, which no verdict tells as a number."""
    if not isinstance(rule, GainRule) or plain(rule.method) not in wide:
        return None
    others = [other for other in rule.others if plain(other) in wide]
    own = wide[plain(rule.method)].to_numpy()
    effects = [rule.effect(own, wide[plain(other)].to_numpy()) for other in others]
    found = smallest(effects)
    worst = plain(others[int(np.argmin([effect.value for effect in effects]))])
    sign = int(getattr(rule, "sign", 1.0))
    first, second = (plain(rule.method), worst)[::sign]
    return {
        "estimate": found.value,
        "interval": found.interval,
        "measured": f"{rule.quantity.measured(measure)}, {first} less {second}",
    }
