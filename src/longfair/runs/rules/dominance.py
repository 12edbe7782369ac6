"""A rule about a trade-off: the method is better on every one of several metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from longfair.runs.rules.conjunction import AllRule
from longfair.runs.rules.rule import RuleFields, register

_DIRECTIONS = {"higher": "highest", "lower": "lowest"}
_SHARED = ("method", "others", "among", "group", "phase", "window")


@register("dominates")
@dataclass(frozen=True)
class DominatesRule(AllRule):
    """``kind: dominates``. The method is better than each other one on every metric.

    ``metrics: {reward: higher, bias: lower}`` names the metrics and what is better, ``margins``
    by how much at least (0 where none is given). A conjunction of ``highest`` and ``lowest``,
    one part per metric, with their words: a method that pays for less bias with reward does not
    dominate, however small its bias.
    """

    @classmethod
    def read(cls, fields: RuleFields) -> Self:
        """Read the rule, and make its parts."""
        metrics, margins = fields.mapping("metrics"), fields.mapping("margins", {})
        if len(metrics) < 2 or not all(way in list(_DIRECTIONS) for way in metrics.values()):
            raise fields.wrong("metrics", metrics, "two or more metrics, each higher or lower")
        if not set(margins) <= set(metrics):
            raise fields.wrong("margins", margins, f"about {', '.join(metrics)} only")
        shared = {key: fields.take(key) for key in _SHARED if fields.has(key)}
        parts = [
            {
                **shared,
                "kind": _DIRECTIONS[direction],
                "metric": metric,
                "margin": margins.get(metric, 0),
            }
            for metric, direction in metrics.items()
        ]
        return cls(tuple(fields.part(part, part["metric"]) for part in parts))
