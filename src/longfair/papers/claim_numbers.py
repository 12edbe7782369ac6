"""The numbers of single runs that the verdicts on a claim rest on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median
from typing import Any

from longfair.papers import registry
from longfair.runs.claims import Claim
from longfair.runs.evidence import OURS, Evidence
from longfair.runs.keys import sha256
from longfair.runs.outcomes import Outcomes
from longfair.runs.rules.rule import Numbers, Quantity, methods_of, plain
from longfair.runs.sources import stamp_of_rules
from longfair.runs.store import Store
from longfair.runs.verdicts import Verdict

Row = dict[str, Any]


class Pools:
    """The stored runs of experiments that may stand beside each other, loaded once.

    Parameters
    ----------
    store
        Where results are.
    profile
        Only runs of this profile.
    """

    def __init__(self, store: Store, profile: str | None = None) -> None:
        self.store = store
        self.profile = profile
        self._evidence: dict[str, Evidence] = {}
        self._outcomes: dict[tuple[str, str], Outcomes] = {}

    def evidence(self, experiment: str) -> Evidence:
        """Return the stored runs of an experiment."""
        if experiment not in self._evidence:
            found = Evidence.of(self.store, registry.experiment(experiment))
            self._evidence[experiment] = found
        return self._evidence[experiment]

    def outcomes(self, experiment: str, settings: str) -> Outcomes:
        """Return what the runs with the authors' settings gave, or those beside them."""
        which = (experiment, settings)
        if which not in self._outcomes:
            pools = tuple(self.evidence(experiment).pools(self.profile).values())
            pool = pools[0] if settings == "authors" else pools[-1]
            needed = {
                method
                for claim in registry.claims()
                if claim.experiment == experiment
                for method in methods_of(claim.rule)
            }
            self._outcomes[which] = Outcomes(pool.results(self.store, sorted(needed)))
        return self._outcomes[which]


def numbers(claim: Claim, verdicts: Iterable[Verdict], pools: Pools) -> list[Row]:
    """Return what the verdicts on a claim look at in single runs; remembered by the store.

    Parameters
    ----------
    claim
        The claim.
    verdicts
        Its verdicts.
    pools
        Where the runs are.

    Returns
    -------
    list of dict
        Keys ``settings``, ``variant``, ``measure``, ``number`` (in words), ``judged`` (whether a
        rule looks at it), ``method``, ``seed`` and ``value``; empty for exact claims.
    """
    if claim.experiment is None:
        return []
    judged = [one for one in verdicts if one.settings]
    asked = [(one.settings, one.variant, one.measure) for one in judged]
    stamp = (stamp_of_rules(claim.rule), pools.evidence(claim.experiment).digest)
    question = sha256(f"numbers {OURS} {pools.profile} {stamp} {asked} {claim!r}")
    return list(pools.store.index.remembered(question, lambda: list(_numbers(judged, pools))))


def beside(rows: Iterable[Row]) -> list[Row]:
    """Sum up what is told beside the judged numbers.

    Parameters
    ----------
    rows
        As from `numbers`.

    Returns
    -------
    list of dict
        Keys ``variant``, ``settings``, ``number``, ``method``, ``median``, ``lowest``, ``highest``
        and ``runs``; one for every number and method.
    """
    values: dict[tuple[str, ...], dict[int, float]] = {}
    for row in rows:
        if not row["judged"]:
            which = (row["variant"], row["settings"], row["number"], row["method"])
            values.setdefault(which, {})[row["seed"]] = row["value"]
    return [
        {
            **dict(zip(("variant", "settings", "number", "method"), which, strict=True)),
            "median": median(found.values()),
            "lowest": min(found.values()),
            "highest": max(found.values()),
            "runs": len(found),
        }
        for which, found in values.items()
    ]


def with_beside(verdicts: Iterable[Verdict], pools: Pools) -> list[Row]:
    """Return verdicts as plain objects, each with what is told beside its numbers.

    Parameters
    ----------
    verdicts
        On any claims.
    pools
        Where the runs are.

    Returns
    -------
    list of dict
        As from `Verdict.as_json`, and ``beside``: as from `beside`, for the runs of the verdict.
    """
    of_claim: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        of_claim.setdefault(verdict.claim.id, []).append(verdict)
    found = []
    for own in of_claim.values():
        claim = own[0].claim
        told = beside(numbers(claim, own, pools)) if claim.beside else []
        for verdict in own:
            which = (verdict.variant, verdict.settings)
            mine = [row for row in told if (row["variant"], row["settings"]) == which]
            found.append({**verdict.as_json(), "beside": mine})
    return found


def _numbers(verdicts: Iterable[Verdict], pools: Pools) -> Iterator[Row]:
    told: set[tuple[str, ...]] = set()
    for verdict in verdicts:
        outcomes = pools.outcomes(verdict.claim.experiment or "", verdict.settings)
        rule = verdict.claim.rule
        unjudged = tuple(
            Numbers(Quantity({verdict.measure: metric}), tuple(dict.fromkeys(rule.methods)))
            for metric in verdict.claim.beside
        )
        for asked in (*rule.numbers, *unjudged):
            words = asked.quantity.words(verdict.measure)
            for method in asked.methods:
                name = (verdict.settings, verdict.variant, verdict.measure, words, method)
                arm = outcomes.arm(method, verdict.variant)
                if arm is None or name in told:
                    continue
                told.add(name)
                metric = asked.quantity.metrics[verdict.measure]
                for seed, value in arm.by_seed(asked.quantity, metric).items():
                    yield {
                        "settings": verdict.settings,
                        "variant": verdict.variant,
                        "measure": verdict.measure,
                        "number": words,
                        "judged": asked not in unjudged,
                        "method": plain(method),
                        "seed": int(str(seed)),
                        "value": float(value),
                    }
