"""Claims: what a paper says, and the rule by which it will be judged.

Claims live in one YAML file per paper. They are written, with their rules, before the runs
that they judge. A file is read strictly: a key that is not known is an error, because a
misspelt rule would otherwise silently be a weaker rule.

A file looks like this::

    paper: elbert
    claims:
      - id: elbert-01
        source: Figure 4, lending
        statement: ELBERT-PO has the lowest bias, about 0.02.
        experiment: elbert/lending
        horizon: 5000000
        seeds: 10
        variants: [as_coded, as_published]
        reported: {value: 0.023, how: read off a plot, error: 0.003}
        rule:
          kind: all
          rules:
            - {kind: value, method: elbert-po, metric: bias, tolerance: 0.02}
            - {kind: lowest, method: elbert-po, others: [g-ppo, r-ppo], metric: bias,
               among: available}

The rules are described by the classes below; `longfair.runs.verdicts` says how each is judged.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from longfair.errors import UsageError, near_misses
from longfair.runs.experiment import require_name, split_id
from longfair.runs.tables import ALL_GROUPS, PHASES

How = Literal["text", "read off a plot"]
Among = Literal["all", "available"]


@dataclass(frozen=True)
class CheckResult:
    """Outcome of an executable check of an exact statement.

    Parameters
    ----------
    passed
        Whether the statement holds.
    computed
        Numbers that were computed, by name.
    detail
        One sentence on what was computed.
    otherwise
        Verdict if the statement does not hold: "not reproduced" where the paper does not say
        enough to compute its very number.
    """

    passed: bool
    computed: dict[str, float]
    detail: str
    otherwise: Literal["contradicted", "not reproduced"] = "contradicted"


Check = Callable[[], CheckResult]


@dataclass(frozen=True)
class Reported:
    """The number a paper reports.

    Parameters
    ----------
    value
        The number.
    how
        ``"text"`` if the paper prints it, ``"read off a plot"`` if it was measured in a figure.
    error
        Half width of the reading error; 0 for text.
    """

    value: float
    how: How
    error: float = 0.0


@dataclass(frozen=True)
class Quantity:
    """Which number of each run a rule looks at.

    Parameters
    ----------
    metrics
        Variant to name of the metric. In YAML ``metric`` is one name for all variants, or a
        mapping with one name per variant where the definitions differ.
    group
        Group, or -1 for all groups together.
    phase
        ``"final"``: the last policy. ``"curve"``: the mean over evaluations during training.
    window
        For the curve: first and last moment, as fractions of the run's last step. The whole
        curve is ``[0, 1]``.
    """

    metrics: Mapping[str, str]
    group: int = ALL_GROUPS
    phase: str = "final"
    window: tuple[float, float] | None = None


@dataclass(frozen=True)
class ValueRule:
    """``kind: value``. The method's mean is the target, give or take the tolerance.

    In YAML the target is the reported value unless it is given.
    """

    quantity: Quantity
    method: str
    target: float
    tolerance: float


@dataclass(frozen=True)
class ExtremeRule:
    """``kind: lowest`` or ``highest``. The method beats every other one by more than a margin."""

    quantity: Quantity
    method: str
    others: tuple[str, ...]
    among: Among
    lowest: bool
    margin: float = 0.0


@dataclass(frozen=True)
class ReductionRule:
    """``kind: reduction``. ``1 - mean(method) / mean(other)`` is at least the threshold."""

    quantity: Quantity
    method: str
    others: tuple[str, ...]
    among: Among
    threshold: float


@dataclass(frozen=True)
class AtLeastRule:
    """``kind: at_least``. The method is at least as high as the others, less a margin."""

    quantity: Quantity
    method: str
    others: tuple[str, ...]
    among: Among
    margin: float = 0.0


@dataclass(frozen=True)
class AboutEqualRule:
    """``kind: about_equal``. The method differs from each other one by no more than a margin.

    This is a test of equivalence: wide intervals do not count as equality.
    """

    quantity: Quantity
    method: str
    others: tuple[str, ...]
    among: Among
    margin: float


@dataclass(frozen=True)
class BoundRule:
    """``kind: bound``. The method's mean lies between ``low`` and ``high``, ends included.

    In YAML one of the two may be left out: there is no bound on that side.
    """

    quantity: Quantity
    method: str
    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True)
class ExactRule:
    """``kind: exact``. A named check passes. ``shows`` names the computed number to print."""

    check: str
    shows: str | None = None


@dataclass(frozen=True)
class AllRule:
    """``kind: all``. Every one of the rules.

    The number printed is that of the rule that decides, the first of those with the weakest
    verdict. A claim with a reported value prints the first rule's, to stand beside that value.
    """

    rules: tuple[Rule, ...]


LevelRule = ValueRule | BoundRule
ComparisonRule = ExtremeRule | ReductionRule | AtLeastRule
Rule = LevelRule | ComparisonRule | AboutEqualRule | ExactRule | AllRule


@dataclass(frozen=True)
class Claim:
    """A statement of a paper that can be checked.

    Parameters
    ----------
    id
        Unique over all papers.
    paper
        Id of the paper.
    source
        Where the paper says it.
    statement
        What it says, in our words.
    rule
        How it is judged.
    variants
        Variants in which it is judged, each apart.
    experiment
        Id of the experiment whose results judge it; None for exact claims.
    horizon
        Training steps the paper's statement refers to; None if it does not depend on training.
    seeds
        Seeds needed; with fewer the verdict is at best inconclusive. 0 for exact claims.
    reported
        The reported number, if there is one.
    note
        What a reader should know besides.
    """

    id: str
    paper: str
    source: str
    statement: str
    rule: Rule
    variants: tuple[str, ...]
    experiment: str | None = None
    horizon: int | None = None
    seeds: int = 0
    reported: Reported | None = None
    note: str = ""


def load_claims(path: Path) -> list[Claim]:
    """Read a file of claims.

    Parameters
    ----------
    path
        YAML file as described in the module's docstring.

    Returns
    -------
    list of Claim
        In the order of the file.

    Raises
    ------
    UsageError
        If the file is not as described; the message names the file, the claim and the key.
    """
    fields = _Fields(_content(path), str(path))
    paper = fields.name("paper")
    claims = [
        _claim(_Fields(item, f"{path}, claim {position + 1}"), paper)
        for position, item in enumerate(fields.sequence("claims"))
    ]
    fields.finish()
    require_distinct(claims)
    return claims


def require_distinct(claims: list[Claim]) -> None:
    """Refuse two claims with one id."""
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise UsageError(f"claim id {claim.id!r} is used twice: ids must be unique")
        seen.add(claim.id)


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
    if isinstance(rule, AllRule):
        names = [name for part in rule.rules for name in methods_of(part)]
    elif isinstance(rule, ExactRule):
        names = []
    elif isinstance(rule, LevelRule):
        names = [rule.method]
    else:
        names = [rule.method, *rule.others]
    return tuple(dict.fromkeys(name.partition(":")[0] for name in names))


class _StrictLoader(yaml.SafeLoader):
    """YAML without aliases and without deep nesting, so that no short file means a huge one."""

    deepest = 20

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # not in the stubs
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases are not allowed", problem_mark=mark)
        if self._depth == self.deepest:
            raise yaml.MarkedYAMLError(problem="nested too deeply", problem_mark=mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _content(path: Path) -> Any:
    """Read a YAML file in which every key is given once."""
    try:
        loader = _StrictLoader(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        _require_each_key_once(node, str(path))
        return None if node is None else loader.construct_document(node)
    except UsageError:
        raise
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read the claims in {path}: it is not UTF-8") from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(
            f"cannot read the claims in {path}: {' '.join(str(error).split())}"
        ) from error


def _require_each_key_once(node: yaml.Node | None, where: str, item: str = "part") -> None:
    """Refuse a doubled key, of which YAML would take the last in silence."""
    if isinstance(node, yaml.SequenceNode):
        for position, part in enumerate(node.value):
            place = f"{where}, {item} {position + 1}"
            _require_each_key_once(part, f"{place}{_id_of(part)}" if item == "claim" else place)
    if not isinstance(node, yaml.MappingNode):
        return
    seen = set()
    for key, value in node.value:
        name = str(key.value)
        if name in seen:
            raise UsageError(f"{where}: key {name!r} is given twice")
        seen.add(name)
        if name == "claims":
            _require_each_key_once(value, where, "claim")
        else:
            _require_each_key_once(value, f"{where}: {name}")


def _id_of(node: yaml.Node) -> str:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next((f" ({value.value})" for key, value in pairs if key.value == "id"), "")


class _Fields:
    """Take the keys of a mapping one by one, and complain about what is wrong or left."""

    def __init__(self, content: Any, where: str) -> None:
        self.where = where
        if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
            raise UsageError(f"{where}: expected keys and values, found {_short(content)}")
        self._left = dict(content)
        self._asked: list[str] = []

    def take(self, key: str, default: Any = ...) -> Any:
        self._asked.append(key)
        if key in self._left:
            return self._left.pop(key)
        if default is not ...:
            return default
        hint = f" (found {', '.join(self._left)})" if self._left else ""
        raise UsageError(f"{self.where}: key {key!r} is missing{hint}")

    def text(self, key: str, default: Any = ...) -> str:
        value = self.take(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, value, "text")
        if default is ... and not value.strip():
            raise self.wrong(key, value, "text, not empty")
        return " ".join(value.split())

    def name(self, key: str) -> str:
        value = self.text(key)
        require_name(f"{self.where}: {key}", value)
        return value

    def method(self, key: str) -> str:
        return self._method(key, self.take(key))

    def methods(self, key: str) -> tuple[str, ...]:
        names = tuple(self._method(key, value) for value in self.sequence(key))
        if not names or len(set(names)) != len(names):
            raise self.wrong(key, list(names), "a list of distinct methods")
        return names

    def _method(self, key: str, value: Any) -> str:
        """Accept ``method`` or ``method:variant``."""
        if not isinstance(value, str):
            raise self.wrong(key, value, "the id of a method")
        for part in value.split(":", 1):
            require_name(f"{self.where}: {key}", part)
        return value

    def number(self, key: str, default: Any = ..., low: float = -math.inf) -> float:
        value = self.take(key, default)
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or value < low:
            raise self.wrong(
                key, value, f"a number, at least {low:g}" if low > -1e9 else "a number"
            )
        return float(value)

    def integer(self, key: str, default: Any = ..., low: int = 0) -> int:
        value = self.take(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < low:
            raise self.wrong(key, value, f"a whole number, at least {low}")
        return value

    def choice(self, key: str, allowed: Collection[str], default: Any = ...) -> Any:
        value = self.take(key, default)
        if value not in allowed:
            raise UsageError(
                f"{self.where}: {key} is {value!r}: {near_misses(str(value), allowed)}"
            )
        return value

    def sequence(self, key: str) -> list[Any]:
        value = self.take(key)
        if not isinstance(value, list):
            raise self.wrong(key, value, "a list")
        return value

    def has(self, key: str) -> bool:
        return key in self._left

    def wrong(self, key: str, value: Any, wanted: str) -> UsageError:
        return UsageError(f"{self.where}: {key} is {_short(value)}; it must be {wanted}")

    def finish(self) -> None:
        for key in self._left:
            raise UsageError(f"{self.where}: unknown key {key!r}: {near_misses(key, self._asked)}")


def _claim(fields: _Fields, paper: str) -> Claim:
    identifier = fields.name("id")
    fields.where = f"{fields.where} ({identifier})"
    variants = tuple(str(name) for name in fields.sequence("variants"))
    for variant in variants:
        require_name(f"{fields.where}: variant", variant)
    if not variants:
        raise fields.wrong("variants", [], "a list with at least one variant")
    if len(set(variants)) != len(variants):
        raise fields.wrong("variants", list(variants), "a list of distinct variants")
    reported = _reported(fields.take("reported", None), fields.where)
    rule = _rule(fields.take("rule"), f"{fields.where}: rule", variants, reported)
    experiment = None
    if methods_of(rule):
        experiment = fields.text("experiment")
        split_id(experiment, fields.where)
    claim = Claim(
        id=identifier,
        paper=paper,
        source=fields.text("source"),
        statement=fields.text("statement"),
        rule=rule,
        variants=variants,
        experiment=experiment,
        horizon=fields.integer("horizon") if fields.has("horizon") else None,
        seeds=fields.integer("seeds", low=2) if experiment else 0,
        reported=reported,
        note=fields.text("note", ""),
    )
    fields.finish()
    return claim


def _reported(content: Any, where: str) -> Reported | None:
    if content is None:
        return None
    fields = _Fields(content, f"{where}: reported")
    reported = Reported(
        value=fields.number("value"),
        how=fields.choice("how", ("text", "read off a plot")),
        error=fields.number("error", 0.0, low=0.0),
    )
    fields.finish()
    return reported


def _rule(content: Any, where: str, variants: tuple[str, ...], reported: Reported | None) -> Rule:
    fields = _Fields(content, where)
    kind = fields.choice("kind", tuple(_KINDS))
    rule = _KINDS[kind](fields, variants, reported)
    fields.finish()
    return rule


def _value(fields: _Fields, variants: tuple[str, ...], reported: Reported | None) -> Rule:
    default = reported.value if reported is not None else ...
    return ValueRule(
        quantity=_quantity(fields, variants),
        method=fields.method("method"),
        target=fields.number("target", default),
        tolerance=fields.number("tolerance", low=0.0),
    )


def _lowest(fields: _Fields, variants: tuple[str, ...], reported: Reported | None) -> Rule:
    margin = fields.number("margin", 0.0, low=0.0)
    return ExtremeRule(**_comparison(fields, variants), lowest=True, margin=margin)


def _highest(fields: _Fields, variants: tuple[str, ...], reported: Reported | None) -> Rule:
    margin = fields.number("margin", 0.0, low=0.0)
    return ExtremeRule(**_comparison(fields, variants), lowest=False, margin=margin)


def _reduction(fields: _Fields, variants: tuple[str, ...], reported: Reported | None) -> Rule:
    threshold = fields.number("threshold", low=0.0)
    return ReductionRule(**_comparison(fields, variants), threshold=threshold)


def _at_least(fields: _Fields, variants: tuple[str, ...], reported: Reported | None) -> Rule:
    margin = fields.number("margin", 0.0, low=0.0)
    return AtLeastRule(**_comparison(fields, variants), margin=margin)


def _about_equal(fields: _Fields, variants: tuple[str, ...], reported: Reported | None) -> Rule:
    margin = fields.number("margin", low=0.0)
    if margin == 0:
        raise fields.wrong("margin", margin, "above 0: no interval lies within a margin of 0")
    return AboutEqualRule(**_comparison(fields, variants), margin=margin)


def _bound(fields: _Fields, variants: tuple[str, ...], reported: Reported | None) -> Rule:
    low = fields.number("low") if fields.has("low") else -math.inf
    high = fields.number("high") if fields.has("high") else math.inf
    if math.isinf(low) and math.isinf(high):
        raise UsageError(f"{fields.where}: no bound: give 'low', 'high' or both")
    if low > high:
        raise fields.wrong("low", low, f"at most high, which is {high:g}")
    return BoundRule(_quantity(fields, variants), fields.method("method"), low, high)


def _exact(fields: _Fields, variants: tuple[str, ...], reported: Reported | None) -> Rule:
    shows = fields.text("shows") if fields.has("shows") else None
    return ExactRule(check=fields.name("check"), shows=shows)


def _all(fields: _Fields, variants: tuple[str, ...], reported: Reported | None) -> Rule:
    parts = fields.sequence("rules")
    if len(parts) < 2:
        raise fields.wrong("rules", parts, "a list of at least two rules")
    return AllRule(
        tuple(
            _rule(part, f"{fields.where}, part {position + 1}", variants, reported)
            for position, part in enumerate(parts)
        )
    )


_KINDS: dict[str, Callable[[_Fields, tuple[str, ...], Reported | None], Rule]] = {
    "value": _value,
    "lowest": _lowest,
    "highest": _highest,
    "reduction": _reduction,
    "at_least": _at_least,
    "about_equal": _about_equal,
    "bound": _bound,
    "exact": _exact,
    "all": _all,
}


def _comparison(fields: _Fields, variants: tuple[str, ...]) -> dict[str, Any]:
    method, others = fields.method("method"), fields.methods("others")
    if method in others:
        raise fields.wrong("others", list(others), f"without {method!r}, which is the method")
    return {
        "quantity": _quantity(fields, variants),
        "method": method,
        "others": others,
        "among": fields.choice("among", ("all", "available"), "all"),
    }


def _quantity(fields: _Fields, variants: tuple[str, ...]) -> Quantity:
    metric = fields.take("metric")
    if isinstance(metric, str):
        metric = dict.fromkeys(variants, metric)
    if not isinstance(metric, dict) or set(metric) != set(variants):
        raise fields.wrong("metric", metric, f"a name, or one name for each of {list(variants)}")
    phase = fields.choice("phase", PHASES, "final")
    window = fields.take("window", None)
    if (phase == "curve") != (window is not None):
        raise fields.wrong("window", window, "given with 'phase: curve', and only then")
    return Quantity(
        metrics=metric,
        group=fields.integer("group", ALL_GROUPS, low=ALL_GROUPS),
        phase=phase,
        window=None if window is None else _window(fields, window),
    )


def _window(fields: _Fields, window: Any) -> tuple[float, float]:
    wanted = "[first, last] with 0 <= first <= last <= 1, fractions of the training steps"
    if not isinstance(window, list) or len(window) != 2:
        raise fields.wrong("window", window, wanted)
    if not all(isinstance(end, int | float) for end in window) or not (
        0 <= window[0] <= window[1] <= 1
    ):
        raise fields.wrong("window", window, wanted)
    return float(window[0]), float(window[1])


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
