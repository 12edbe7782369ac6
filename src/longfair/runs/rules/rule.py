"""What a rule is: it reads itself, judges a case, and has a name in the files of claims."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

from longfair.errors import UsageError
from longfair.runs.experiment import require_name
from longfair.runs.fields import Fields
from longfair.runs.rules.words import FROM_WEAK_TO_STRONG, Word, within
from longfair.runs.smoothing import PREFIX, Smoothing
from longfair.runs.tables import ALL_GROUPS, PHASES
from longfair.wording import plain as plain  # all rules ask for it here

if TYPE_CHECKING:
    from longfair.runs.rules.case import Case
    from longfair.runs.verdicts import Verdict

Ends = tuple[float, float]
EVERYWHERE: Ends = (-math.inf, math.inf)
"""Least and largest value."""

Found = Mapping[str, Any] | None
"""A verdict as JSON, or a part of one; None where there is none."""

_AT = "at_"
"""Begins the name of a metric that is told over the steps of an evaluation."""


class Asked(NamedTuple):
    """Between which ends a number is to lie, and the same in words."""

    low: float
    high: float
    words: str

    @classmethod
    def around(cls, target: float, tolerance: float) -> Self:
        """Ask for a target, give or take a tolerance."""
        return cls(target - tolerance, target + tolerance, f"{target:g} within {tolerance:g}")

    @classmethod
    def between(cls, low: float, high: float) -> Self:
        """Ask for two ends, one of which may be infinite."""
        if math.isinf(low):
            return cls(low, high, f"at most {high:g}")
        if math.isinf(high):
            return cls(low, high, f"at least {low:g}")
        return cls(low, high, f"between {low:g} and {high:g}")

    @classmethod
    def above(cls, margin: float) -> Self:
        """Ask for more than 0, or for no less than a margin that is not 0."""
        return cls.between(margin, math.inf) if margin else cls(0.0, math.inf, "more than 0")


class Rule(ABC):
    """Says how a claim is judged. Make it a frozen dataclass, and register it by its kind."""

    kind: ClassVar[str]
    """The word after ``kind:`` in a file of claims; set by `register`."""

    effect_name: ClassVar[str] = "difference"
    """What its effect is called."""

    @classmethod
    @abstractmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule's own keys; their types and ranges are its own affair."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods whose results it needs, the judged one first, with variants that are pinned."""
        return ()

    @property
    def checks(self) -> tuple[str, ...]:
        """Executable checks that it needs."""
        return ()

    @property
    def numbers(self) -> tuple[Numbers, ...]:
        """Numbers of single runs that it looks at."""
        return ()

    @property
    def asked(self) -> Asked:
        """What it asks of its effect."""
        return Asked.above(0.0)

    def leaves(self, measure: str, found: Found) -> Iterator[tuple[Rule, Found]]:
        """Go through the rules that it consists of by one measure, with what each found.

        Parameters
        ----------
        measure
            The measure.
        found
            What the whole found.
        """
        yield self, found

    def words(self, measure: str) -> str:
        """Say in plain words when the claim is reproduced, by one measure."""
        return f"the rule {plain(self.kind)} holds for {listed(self.methods)}"

    @abstractmethod
    def judge(self, case: Case) -> Verdict:
        """Judge a case.

        Parameters
        ----------
        case
            A claim in one variant, with the results; see there for what it offers.
        """


@dataclass(frozen=True)
class AboutMetrics:
    """What a file of claims says about metrics, before its claims.

    Parameters
    ----------
    possible, optional_prefix, smoothing
        As for `Quantity`.
    """

    possible: Mapping[str, Ends] = field(default_factory=dict)
    optional_prefix: str = ""
    smoothing: Smoothing | None = None


@dataclass(frozen=True)
class Quantity:
    """Which number of each run a rule looks at.

    Parameters
    ----------
    metrics
        Measure to name of the metric. In YAML ``metric`` is one name for all measures of the
        claim, or a mapping with one name per measure where the definitions differ.
    group
        Group, or -1 for all groups together.
    phase
        ``"final"``: the last policy. ``"curve"``: the mean over evaluations during training, or,
        of a metric whose name begins with ``at_``, over the steps of the last evaluation.
    window
        For the curve: first and last moment, as fractions of the run's last step. The whole
        curve is ``[0, 1]``.
    possible
        Metric to the least and the largest value that it can have, where that is known.
    optional_prefix
        A method whose runs lack a metric that begins so has the metric without it in its place.
    smoothing
        How curves are smoothed for metrics whose names begin with ``smoothed_``; None where there
        are none.
    """

    metrics: Mapping[str, str]
    group: int = ALL_GROUPS
    phase: str = "final"
    window: tuple[float, float] | None = None
    possible: Mapping[str, Ends] = field(default_factory=dict)
    optional_prefix: str = ""
    smoothing: Smoothing | None = None

    def measured(self, measure: str) -> str:
        """Say in plain words which number it is."""
        group = "" if self.group == ALL_GROUPS else f" of group {self.group}"
        metric, during = self.metrics[measure], ""
        if self.phase == "curve":
            prefix = self.optional_prefix if metric.startswith(self.optional_prefix) else ""
            of_evaluation = metric.startswith(prefix + _AT)
            during = " during an evaluation" if of_evaluation else " during training"
            metric = prefix + metric.removeprefix(prefix).removeprefix(_AT)
        return f"{plain(metric)}{group}{during}"

    def words(self, measure: str) -> str:
        """Say which number it is, and of which part of the training."""
        if self.window in (None, (0.0, 1.0)):
            return self.measured(measure)
        first, last = self.window or (0.0, 1.0)
        return f"{self.measured(measure)}, from {first:g} to {last:g} of it,"


@dataclass(frozen=True)
class Numbers:
    """One number of every run of some methods."""

    quantity: Quantity
    methods: tuple[str, ...]


@dataclass(frozen=True)
class OfQuantity(Rule):
    """A rule about one quantity, of a method and perhaps of others."""

    quantity: Quantity
    method: str

    @property
    def methods(self) -> tuple[str, ...]:
        """The method."""
        return (self.method,)

    @property
    def numbers(self) -> tuple[Numbers, ...]:
        """The quantity, of all methods."""
        return (Numbers(self.quantity, self.methods),)

    def word(self, low: float, high: float) -> Word:
        """Return the word for an interval of the effect: whether it lies within what is asked."""
        return within(low, high, self.asked.low, self.asked.high)


class Compound(Rule):
    """A rule that consists of others, and needs what they need."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Rule, ...]:
        """The rules it consists of."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods of all parts."""
        return tuple(name for part in self.parts for name in part.methods)

    @property
    def checks(self) -> tuple[str, ...]:
        """Checks of all parts."""
        return tuple(name for part in self.parts for name in part.checks)

    @property
    def numbers(self) -> tuple[Numbers, ...]:
        """Numbers of all parts."""
        return tuple(one for part in self.parts for one in part.numbers)


@dataclass(frozen=True)
class Guarded(Compound):
    """A rule with a guard: what the claimed effect must not cost.

    Any rule may have the key ``guard``. It holds a rule of any kind; its kind is ``at_least`` and
    its method the judged one unless it says otherwise, so that
    ``guard: {metric: reward, others: [accept-half]}`` reads: at a reward no lower than that of
    ``accept-half``. While the guard is not *reproduced* the word is at most *direction only*, and
    the sentence says what the guard found. A guard never makes a word better or worse otherwise.
    """

    rule: Rule
    guard: Rule

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the guard, and as the rule what is left."""
        guard = fields.take("guard")
        rule = fields.rule()
        if isinstance(guard, dict):
            method = {"method": rule.methods[0]} if rule.methods else {}
            guard = {"kind": "at_least", **method, **guard}
        return cls(rule, fields.part(guard, "guard"))

    @property
    def parts(self) -> tuple[Rule, ...]:
        """The rule, then the guard."""
        return self.rule, self.guard

    def leaves(self, measure: str, found: Found) -> Iterator[tuple[Rule, Found]]:
        """Go through the rule, and through the guard, which no verdict tells."""
        yield from self.rule.leaves(measure, found)
        yield from self.guard.leaves(measure, None)

    def words(self, measure: str) -> str:
        """Say what the rule asks, and what it must not cost."""
        return f"{self.rule.words(measure)}, while {self.guard.words(measure)}"

    def judge(self, case: Case) -> Verdict:
        """Judge by the rule; ask the guard only where it can matter."""
        verdict = self.rule.judge(case)
        if verdict.word != "reproduced":
            return verdict
        found = self.guard.judge(case)
        two_kinds = verdict.two_kinds or found.two_kinds
        if found.word == "reproduced":
            return replace(verdict, two_kinds=two_kinds)
        return replace(
            verdict,
            word="direction only",
            two_kinds=two_kinds,
            detail=f"{verdict.detail}; but its price is not excluded, {case.told(found.word)}: "
            f"{found.detail}",
        )


@dataclass(frozen=True)
class Limited(Compound):
    """A rule whose word is never beyond another one, on one side."""

    key: ClassVar[str]
    """The key of the limit in a file of claims."""
    case_of: ClassVar[str]
    """When the limit matters: what stands before it in the rule's words."""

    rule: Rule
    limits: Mapping[str, Word]
    """By variant; under an empty name for all variants."""

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the word or the words, and as the rule what is left."""
        limits = fields.limits(cls.key)
        return cls(fields.rule(), limits)

    @property
    def parts(self) -> tuple[Rule, ...]:
        """The rule."""
        return (self.rule,)

    def leaves(self, measure: str, found: Found) -> Iterator[tuple[Rule, Found]]:
        """Go through the rule."""
        yield from self.rule.leaves(measure, found)

    def words(self, measure: str) -> str:
        """Say what the rule asks, and how bad or how good its word can be."""
        return self.told(measure, str)

    def told(self, measure: str, said: Callable[[Word], str]) -> str:
        """Say the same with what is said for a word, as the answers to questions of ours."""
        limit = plain(self.key)
        words = (f"{said(word)} {limit} {name}".rstrip() for name, word in self.limits.items())
        return f"{self.rule.words(measure)} (if {self.case_of}: {listed(tuple(words))})"

    @abstractmethod
    def chosen(self, word: Word, limit: Word) -> Word:
        """Choose between the rule's word and the limit."""

    @abstractmethod
    def reason(self, limit: Word) -> str:
        """Say why there is a limit, at the end of the sentence about what was found."""

    def _stays_open(self, verdict: Verdict, limit: Word) -> bool:
        """Say whether the limit keeps a verdict open that enough runs would decide."""
        with_enough = verdict.with_enough if verdict.lacks == "width" else None
        return with_enough is not None and self.chosen(with_enough, limit) == "inconclusive"

    def judge(self, case: Case) -> Verdict:
        """Judge by the rule, and change a word beyond the limit; without runs there is none."""
        verdict = self.rule.judge(case)
        if verdict.word == "not attempted":
            return verdict
        limit = self.limits.get(case.blank.variant, self.limits.get("", verdict.word))
        changed = replace(verdict, word=self.chosen(verdict.word, limit))
        if changed.answer == verdict.answer and not self._stays_open(verdict, limit):
            return changed
        if changed.word == "inconclusive":
            changed = replace(changed, lacks="paper", enough_seeds=None)
        told = f"{plain(self.key)} {changed.answer}, {self.reason(limit)}"
        return replace(changed, detail=f"{verdict.detail}; {told}")


class AtWorst(Limited):
    """A rule whose word is never worse than another one, by the key ``at_worst``.

    A sentence about settings, or a threshold, that the paper does not name cannot be contradicted
    by one of ours. The key holds one word, or one for each variant in which this is so.
    """

    key: ClassVar[str] = "at_worst"
    case_of: ClassVar[str] = "not"

    def chosen(self, word: Word, limit: Word) -> Word:
        """Choose the stronger word."""
        return max(word, limit, key=FROM_WEAK_TO_STRONG.index)

    def reason(self, limit: Word) -> str:
        """Say that too much is not known."""
        return "since we know too little to contradict it"


class AtBest(Limited):
    """A rule whose word is never better than another one, by the key ``at_best``.

    Where what we could not read, or the text leaves open, decides the word, one choice of ours
    under which its sentence holds does not reproduce it: it is *inconclusive*. Where the rule asks
    for less than the sentence says, it is *direction only*. The key holds what that of `AtWorst`
    does. A rule may have both.
    """

    key: ClassVar[str] = "at_best"
    case_of: ClassVar[str] = "so"

    def chosen(self, word: Word, limit: Word) -> Word:
        """Choose the weaker word."""
        return min(word, limit, key=FROM_WEAK_TO_STRONG.index)

    def reason(self, limit: Word) -> str:
        """Say what is open, the paper or our rule."""
        if limit == "direction only":
            return "since the rule asks for less than the sentence says"
        return "since what we could not read, or the text leaves open, decides it"


class RuleFields(Fields):
    """Keys of a rule, with what the claim says about all of them.

    Parameters
    ----------
    content, where
        As for `Fields`.
    measures
        Measures by which the claim is judged.
    reported
        The reported value, or None.
    about_metrics
        What the file says about metrics.
    variants
        Variants in which the claim is judged.
    """

    def __init__(
        self,
        content: Any,
        where: str,
        measures: tuple[str, ...],
        reported: float | None,
        about_metrics: AboutMetrics,
        variants: tuple[str, ...],
    ) -> None:
        super().__init__(content, where)
        self.measures = measures
        self.reported = reported
        self.about_metrics = about_metrics
        self.variants = variants

    def rule(self) -> Rule:
        """Read the rule of the kind that is given."""
        for limited in (AtWorst, AtBest):
            if self.has(limited.key):
                return limited.read(self)
        if self.has("guard"):
            return Guarded.read(self)
        kind = self.choice("kind", tuple(_KINDS))
        rule = _KINDS[kind].read(self)
        self.finish()
        return rule

    def part(self, content: Any, name: str) -> Rule:
        """Read a rule that is part of this one."""
        where = f"{self.where}, {name}"
        about = self.measures, self.reported, self.about_metrics, self.variants
        return RuleFields(content, where, *about).rule()

    def limits(self, key: str) -> dict[str, Word]:
        """Read ``at_worst`` or ``at_best``: a word for all variants, or one for each of some."""
        given = self.take(key)
        found: dict[str, Word] = given if isinstance(given, dict) else {"": given}
        known = {*self.variants} if found is given else {""}
        words = all(word in FROM_WEAK_TO_STRONG for word in found.values())
        if not found or not found.keys() <= known or not words:
            wanted = f"one of {list(FROM_WEAK_TO_STRONG)}, or one for each of {list(self.variants)}"
            raise self.wrong(key, given, wanted)
        return found

    def method(self) -> str:
        """Read ``method``, which may be pinned to a variant: ``method:variant``."""
        return self._method("method", self.take("method"))

    def others(self, method: str, *, one: bool = False) -> tuple[str, ...]:
        """Read ``others``, the methods that one is compared with, or the only one."""
        names = self.distinct("others", (method,))
        if one and len(names) != 1:
            raise self.wrong("others", list(names), "a list of one method, to have one effect")
        return names

    def distinct(self, key: str, taken: tuple[str, ...]) -> tuple[str, ...]:
        """Read a list of methods, none of which is taken."""
        names = tuple(self._method(key, value) for value in self.sequence(key))
        if not names or len(set(names)) != len(names):
            raise self.wrong(key, list(names), "a list of distinct methods")
        for method in taken:
            if method in names:
                raise self.wrong(key, list(names), f"without {method!r}, which is named before")
        return names

    def quantity(self) -> Quantity:
        """Read ``metric``, ``group``, ``phase`` and ``window``."""
        metric = self.metric("metric")
        group = self.integer("group", ALL_GROUPS, low=ALL_GROUPS)
        phase = self.choice("phase", PHASES, "final")
        window = self.take("window", None)
        if (phase == "curve") != (window is not None):
            raise self.wrong("window", window, "given with 'phase: curve', and only then")
        moments = None if window is None else self._window(window)
        about = self.about_metrics
        if phase == "curve" and about.smoothing:
            for name in metric.values():
                if name.startswith(PREFIX):
                    raise self.wrong("metric", name, "one that is not smoothed in 'phase: curve'")
        return Quantity(
            metric,
            group,
            phase,
            moments,
            about.possible,
            about.optional_prefix,
            about.smoothing,
        )

    def metric(self, key: str) -> dict[str, str]:
        """Read the name of a metric, for all measures or one name for each."""
        metric = self.take(key)
        if isinstance(metric, str):
            metric = dict.fromkeys(self.measures, metric)
        if not isinstance(metric, dict) or set(metric) != set(self.measures):
            wanted = f"a name, or one name for each of the measures {list(self.measures)}"
            raise self.wrong(key, metric, wanted)
        return metric

    def _method(self, key: str, value: Any) -> str:
        if not isinstance(value, str):
            raise self.wrong(key, value, "the id of a method")
        for part in value.split(":", 1):
            require_name(f"{self.where}: {key}", part)
        return value

    def _window(self, window: Any) -> tuple[float, float]:
        if (
            not isinstance(window, list)
            or len(window) != 2
            or not all(isinstance(end, int | float) for end in window)
            or not 0 <= window[0] <= window[1] <= 1
        ):
            wanted = "[first, last] with 0 <= first <= last <= 1, fractions of the training steps"
            raise self.wrong("window", window, wanted)
        return float(window[0]), float(window[1])


_KINDS: dict[str, type[Rule]] = {}

RuleOfKind = TypeVar("RuleOfKind", bound=Rule)


def register(kind: str) -> Callable[[type[RuleOfKind]], type[RuleOfKind]]:
    """Make a class the rule of a kind.

    Parameters
    ----------
    kind
        The word after ``kind:`` in a file of claims.

    Returns
    -------
    callable
        Decorator of the class.

    Raises
    ------
    UsageError
        If there is another rule of this kind.
    """

    def registered(rule: type[RuleOfKind]) -> type[RuleOfKind]:
        if kind in _KINDS:
            raise UsageError(f"rule {rule.__name__}: kind {kind!r} exists already: rename it")
        rule.kind = kind
        _KINDS[kind] = rule
        return rule

    return registered


def methods_of(rule: Rule) -> tuple[str, ...]:
    """Name the methods a rule looks at, each once, the judged one first.

    Parameters
    ----------
    rule
        Any rule.

    Returns
    -------
    tuple of str
        Methods without the variant that may be pinned after a colon.
    """
    return tuple(dict.fromkeys(name.partition(":")[0] for name in rule.methods))


def listed(names: Sequence[str], last: str = "and") -> str:
    """Write names of methods as in "a, b and c"."""
    *first, final = map(plain, names)
    return f"{', '.join(first)} {last} {final}" if first else final
