"""Claims: what a paper says, and the rule by which it will be judged.

Claims live in one YAML file per paper. They are written, with their rules, before the runs
that they judge. A file is read strictly: a key that is not known is an error, because a
misspelt rule would otherwise silently be a weaker rule.

A file looks like this::

    paper: elbert
    claims:
      - id: elbert-01
        asked: paper
        source: Figure 4, lending
        statement: ELBERT-PO has the lowest bias, about 0.02.
        experiment: elbert/lending
        horizon: 5000000
        seeds: 10
        variants: [as_coded, as_published]
        measures: {as_coded: [code, text], as_published: [text]}
        reported: {value: 0.023, how: read off a plot, error: 0.003, measure: code}
        rule:
          kind: all
          rules:
            - {kind: value, method: elbert-po, metric: {code: bias, text: bias_exact},
               tolerance: 0.02}
            - {kind: lowest, method: elbert-po, others: [g-ppo, r-ppo], metric: reward,
               among: available}
        changed:
          - {date: 2025-01-31, was: a tolerance of 0.01, now: one of 0.02, why: see the note}

A file may also say, before its claims, what values a metric can have at all, as in ``possible:
{share_of_runs: [0, 1]}``. Intervals of its mean end there. And it may name a prefix of metrics that
not all methods have, as in ``optional_prefix: assisted``: a method that never gets assistance is
then held with its ``reward`` against the ``assisted_reward`` of one that does. And it may say how
curves are smoothed, as in ``smoothing: {deviation: 5, times: 2}``: ``smoothed_reward`` is then the
last point of the reward's smoothed curve, see `longfair.runs.smoothing`.

A *variant* says how a method was trained, a *measure* how its runs are measured. They are two
switches: every pair under ``measures`` is judged apart. Where measures do not differ, the key is
left out, and one measure without a name is judged in every variant.

A claim may name metrics that are told ``beside`` those that are judged, as in ``beside: [reward]``.

`longfair.runs.rules` has the kinds of rules, one class each.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from yaml.composer import Composer

from longfair.errors import UsageError, near_misses
from longfair.runs.experiment import require_name, split_id
from longfair.runs.fields import Fields
from longfair.runs.rules.rule import AboutMetrics, Rule, RuleFields
from longfair.runs.rules.words import Asked
from longfair.runs.smoothing import PREFIX, Smoothing


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
    instances
        On how many instances the statement was checked: drawn inputs, problems, or 1 where it is
        about one thing.
    otherwise
        Verdict if the statement does not hold: "not reproduced" where the paper does not say
        enough to compute its very number.
    """

    passed: bool
    computed: dict[str, float]
    detail: str
    instances: int = 1
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
    measure
        The measure that it is a number of, where the claim is judged by several and the paper
        reports one; empty if it is of each.
    """

    value: float
    how: Literal["text", "read off a plot"]
    error: float = 0.0
    measure: str = ""


@dataclass(frozen=True)
class Change:
    """What was changed in a claim's rule after its runs; a mark that stays.

    Parameters
    ----------
    date
        Day of the change, as ``year-month-day``.
    was, now
        The rule before and after, in words.
    why
        The reason, one sentence.
    """

    date: str
    was: str
    now: str
    why: str


@dataclass(frozen=True)
class Claim:
    """A statement that can be checked: a paper's, or a question of ours about its subject.

    Parameters
    ----------
    id
        Unique over all papers.
    paper
        Id of the paper.
    asked
        Whether the paper says it, or it is asked here.
    source
        Where the paper says it, or what the question is about.
    statement
        What is said, in our words.
    rule
        How it is judged.
    variants
        Variants in which it is judged, each apart.
    measures
        Variant to the measures by which its runs are judged, each apart; ``("",)`` where there
        is but one.
    experiment
        Id of the experiment whose results judge it; None for exact claims.
    horizon
        Training steps the paper's statement refers to; None if it does not depend on training.
    seeds
        Seeds needed; with fewer the verdict is at best inconclusive. 0 for exact claims.
    reported
        The reported number, if there is one.
    changed
        Changes of the rule after its runs, oldest first.
    note
        What a reader should know besides.
    beside
        Metrics that are not judged and stand beside those that are, such as the reward that a low
        bias costs.
    """

    id: str
    paper: str
    asked: Asked
    source: str
    statement: str
    rule: Rule
    variants: tuple[str, ...]
    measures: Mapping[str, tuple[str, ...]]
    experiment: str | None = None
    horizon: int | None = None
    seeds: int = 0
    reported: Reported | None = None
    changed: tuple[Change, ...] = ()
    note: str = ""
    beside: tuple[str, ...] = ()

    def reported_by(self, measure: str) -> float | None:
        """Return the number that the paper reports by a measure, if there is one."""
        if self.reported is None or self.reported.measure not in ("", measure):
            return None
        return self.reported.value


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
    fields = Fields(_content(path), str(path))
    paper = fields.name("paper")
    ranges = fields.mapping("possible", {})
    possible = {name: Fields(ranges, f"{path}: possible").ends(name) for name in ranges}
    prefix = fields.name("optional_prefix") + "_" if fields.has("optional_prefix") else ""
    about_metrics = AboutMetrics(possible, prefix, _smoothing(fields))
    claims = [
        _claim(Fields(item, f"{path}, claim {position + 1}"), paper, about_metrics)
        for position, item in enumerate(fields.sequence("claims"))
    ]
    fields.finish()
    require_distinct(claims)
    used = {
        metric
        for claim in claims
        for part in claim.rule.numbers
        for metric in part.quantity.metrics.values()
    }
    for metric in possible:
        if metric not in used:
            raise UsageError(
                f"{path}: possible: no rule uses {metric!r}: {near_misses(metric, used)}"
            )
    smoothed = PREFIX if about_metrics.smoothing else ""
    for key, begin in (("optional_prefix", prefix), ("smoothing", smoothed)):
        if begin and not any(metric.startswith(begin) for metric in used):
            raise UsageError(f"{path}: {key}: no rule's metric begins with {begin!r}")
    return claims


def require_distinct(claims: list[Claim]) -> None:
    """Refuse two claims with one id."""
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise UsageError(f"claim id {claim.id!r} is used twice: ids must be unique")
        seen.add(claim.id)


class _StrictLoader(Composer, yaml.CSafeLoader):
    """YAML without aliases and without deep nesting, so that no short file means a huge one.

    libyaml reads the text, seven times as fast as Python does, and Python composes the nodes.
    """

    deepest = 20

    def __init__(self, stream: str) -> None:
        yaml.CSafeLoader.__init__(self, stream)
        Composer.__init__(self)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()
        mark = event.start_mark
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


def _claim(fields: Fields, paper: str, about_metrics: AboutMetrics) -> Claim:
    identifier = fields.name("id")
    fields.where = f"{fields.where} ({identifier})"
    variants = _names(fields, "variants", "variant")
    measures = _measures(fields, variants)
    reported = _reported(fields, measures)
    rule = RuleFields(
        fields.take("rule"),
        f"{fields.where}: rule",
        tuple(dict.fromkeys(name for names in measures.values() for name in names)),
        None if reported is None else reported.value,
        about_metrics,
        variants,
    ).rule()
    experiment = fields.text("experiment") if rule.methods else None
    if experiment is not None:
        split_id(experiment, fields.where)
    claim = Claim(
        id=identifier,
        paper=paper,
        asked=fields.choice("asked", ("paper", "here")),
        source=fields.text("source"),
        statement=fields.text("statement"),
        rule=rule,
        variants=variants,
        measures=measures,
        experiment=experiment,
        horizon=fields.integer("horizon") if fields.has("horizon") else None,
        seeds=fields.integer("seeds", low=2) if experiment is not None else 0,
        reported=reported,
        changed=_changed(fields),
        note=fields.text("note", ""),
        beside=_names(fields, "beside", "metric") if fields.has("beside") else (),
    )
    fields.finish()
    return claim


def _smoothing(file: Fields) -> Smoothing | None:
    if not file.has("smoothing"):
        return None
    fields = Fields(file.take("smoothing"), f"{file.where}: smoothing")
    deviation, times = fields.number("deviation"), fields.integer("times", low=1)
    if deviation <= 0.0:
        raise fields.wrong("deviation", deviation, "a number of evaluations above 0")
    fields.finish()
    return Smoothing(deviation, times)


def _names(fields: Fields, key: str, what: str) -> tuple[str, ...]:
    names = tuple(str(name) for name in fields.sequence(key))
    for name in names:
        require_name(f"{fields.where}: {what}", name)
    if not names:
        raise fields.wrong(key, [], f"a list with at least one {what}")
    if len(set(names)) != len(names):
        raise fields.wrong(key, list(names), f"a list of distinct {what}s")
    return names


def _measures(claim: Fields, variants: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    content = claim.take("measures", None)
    if content is None:
        return dict.fromkeys(variants, ("",))
    fields = Fields(content, f"{claim.where}: measures")
    measures = {variant: _names(fields, variant, "measure") for variant in variants}
    fields.finish()
    return measures


def _changed(claim: Fields) -> tuple[Change, ...]:
    changes = []
    for number, content in enumerate(claim.sequence("changed") if claim.has("changed") else (), 1):
        fields = Fields(content, f"{claim.where}: changed, {number}")
        day = fields.take("date")
        if type(day) is not datetime.date:
            raise fields.wrong("date", day, "a day, such as 2025-01-31")
        changes.append(Change(str(day), *(fields.text(key) for key in ("was", "now", "why"))))
        fields.finish()
    return tuple(changes)


def _reported(claim: Fields, measures: Mapping[str, tuple[str, ...]]) -> Reported | None:
    content = claim.take("reported", None)
    if content is None:
        return None
    fields = Fields(content, f"{claim.where}: reported")
    names = {name for several in measures.values() for name in several}
    reported = Reported(
        value=fields.number("value"),
        how=fields.choice("how", ("text", "read off a plot")),
        error=fields.number("error", 0.0, low=0.0),
        measure=fields.choice("measure", names) if fields.has("measure") else "",
    )
    fields.finish()
    return reported
