"""Which stored runs a verdict rests on: those with the authors' settings, and ours.

What the authors ran is judged on runs with the authors' settings and steps. An experiment declares
those settings, by default with its profile ``paper``. Whether a stored run has them follows from
the settings stored in it, not from the name of its profile: where the authors' runs are short
enough for ``book`` to have them too, runs of ``book`` count. An arm with a setting that decides and
that the authors leave open can be declared to have ours, by ``chosen_here`` of the experiment. Runs
that have them but for fewer steps are told apart from runs with settings of ours. They are judged
beside the authors' all the same.

A policy that learns nothing has no learning curve, so how often one is taken and over how many
episodes does not count for it. The episodes that the last policy is judged by do, because the
spread over runs depends on them. Nor does the curve count for a run that stops early.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from longfair.runs.experiment import Arm, Experiment, Run
from longfair.runs.index import Entry
from longfair.runs.keys import canonical_json, sha256
from longfair.runs.sources import library_stamp
from longfair.runs.store import Store, no_results

Settings = Literal["authors", "short", "ours"]
"""Whose settings runs have: the authors', theirs for fewer steps, or ours."""

SETTINGS_IN_WORDS: Mapping[str, str] = {
    "authors": "the authors' settings",
    "short": "the authors' settings, short of their steps",
    "ours": "our settings",
}
"""Whose settings runs have, in words; the nearest to the authors' first."""

REFERENCE = "reference"
"""Variant of methods that learn nothing; they stand in every variant's comparison."""

PUBLISHED = ("as_coded", "as_published", REFERENCE)
"""Variants that can have the authors' settings; every other one names a change of ours."""

OURS = "book"
"""Profile whose runs are judged beside those with the authors' settings."""

_CURVE = ("every", "episodes")
_STEPS = "total_steps"
_RUN = ["profile", "method", "variant", "seed"]


@dataclass(frozen=True)
class Evidence:
    """The stored runs of an experiment, each with its settings and whether it is stale.

    Parameters
    ----------
    experiment
        Declares the authors' settings, and what its runs would be now.
    runs
        One row per run: ``profile``, ``method``, ``variant``, ``seed``, ``settings`` (of
        `Settings`), ``stale``, ``stamp`` of its file.
    """

    experiment: Experiment
    runs: pd.DataFrame

    @classmethod
    def of(cls, store: Store, experiment: Experiment) -> Evidence:
        """Look at the runs that a store has of an experiment.

        Parameters
        ----------
        store
            Where the results are.
        experiment
            Whose runs.
        """
        declared = {
            arm.name: _essence(arm, json.loads(canonical_json(arm.config)))
            for arm in (*experiment.arms.get(experiment.authors, ()), *experiment.authors_arms)
            if arm.variant in PUBLISHED and arm.name not in experiment.chosen_here
        }
        arms = {
            profile: {arm.name: arm for arm in chosen}
            for profile, chosen in experiment.arms.items()
        }
        found = []
        for profile, entry in _entries(store, experiment):
            name, _, seed = Path(entry.path).stem.rpartition(".")
            if name in arms[profile] and seed.isdigit():
                run = Run(experiment.id, profile, arms[profile][name], int(seed))
                found.append((run, entry))
        rows = []
        states = store.states_of(run for run, _ in found)
        for (run, state), (_, entry) in zip(states, found, strict=True):
            arm = run.arm
            settings: Settings = "ours"
            if arm.name in declared and not entry.problem:
                config = _essence(arm, store.index.provenance(entry)["config"])
                settings = _whose(config, declared[arm.name])
            identity = (run.profile, arm.method, arm.variant, run.seed)
            rows.append((*identity, settings, state.status == "stale", entry.size_and_times))
        runs = pd.DataFrame(rows, columns=[*_RUN, "settings", "stale", "stamp"])
        return cls(experiment, runs.astype({"settings": str, "stale": bool}))

    @property
    def digest(self) -> str:
        """Changes with every run that is added, redone or gone stale."""
        return sha256(self.runs.to_csv(index=False))

    def pools(self, profile: str | None = None) -> dict[str, Evidence]:
        """Return the runs that may stand beside each other, by what they have in common.

        Parameters
        ----------
        profile
            Only the runs of this profile, whatever their settings.

        Returns
        -------
        dict of str to Evidence
            First the runs with the authors' settings, each seed once; then all runs of `OURS`.
            With a profile, its runs alone.
        """
        if profile is not None:
            return {profile: self._of(profile)}
        theirs = self.runs[self.runs["settings"] == "authors"]
        declared_first = (theirs["profile"] != self.experiment.authors).argsort(kind="stable")
        theirs = theirs.iloc[declared_first].drop_duplicates(_RUN[1:])
        return {SETTINGS_IN_WORDS["authors"]: replace(self, runs=theirs), OURS: self._of(OURS)}

    def _of(self, profile: str) -> Evidence:
        return replace(self, runs=self.runs[self.runs["profile"] == profile])

    def results(self, store: Store, methods: Sequence[str]) -> pd.DataFrame:
        """Load what these runs gave, with the settings and the staleness of each.

        Parameters
        ----------
        store
            Where the results are.
        methods
            Only these.
        """
        chosen = self.runs[self.runs["method"].isin(methods)]
        tables = [
            store.load(experiment=self.experiment.id, profile=str(profile), methods=list(methods))
            for profile in chosen["profile"].unique()
        ]
        table = pd.concat(tables, ignore_index=True) if tables else no_results()
        return table.merge(chosen[[*_RUN, "settings", "stale"]], on=_RUN, how="inner")


def farthest(settings: Iterable[str]) -> Settings | Literal[""]:
    """Return of several settings those farthest from the authors'; empty if nothing is known."""
    found: tuple[Settings, ...] = ("ours", "short", "authors")
    kinds = set(settings)
    return next((kind for kind in found if kind in kinds), "")


def digest_of(store: Store, experiment: Experiment) -> str:
    """Return `Evidence.digest`, remembered while neither a file nor the code changes.

    Parameters
    ----------
    store, experiment
        As for `Evidence.of`.
    """
    held = [f"{entry.path} {entry.bytes_digest}" for _, entry in _entries(store, experiment)]
    arms = (*experiment.arms.values(), experiment.authors_arms)
    declared = [(arm.name, arm.config) for several in arms for arm in several]
    question = f"evidence {experiment.id} {library_stamp()} {sha256(f'{held} {declared}')}"
    return str(store.index.remembered(question, lambda: Evidence.of(store, experiment).digest))


def _entries(store: Store, experiment: Experiment) -> Iterator[tuple[str, Entry]]:
    """Go through what is stored of an experiment, with the profile of each file."""
    for profile in experiment.arms:
        for entry in store.index.entries(f"{experiment.id}/{profile}"):
            yield profile, entry


def _essence(arm: Arm, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return settings without those of the learning curve where nothing is learned."""
    return _without(config, "evaluating", _CURVE) if arm.variant == REFERENCE else config


def _whose(config: Mapping[str, Any], authors: Mapping[str, Any]) -> Settings:
    """Say whose settings a run has that was stored with these.

    Parameters
    ----------
    config
        What is stored.
    authors
        The authors' settings of its arm.
    """
    if config == authors:
        return "authors"
    steps, full = (_steps(one) for one in (config, authors))
    return "short" if steps < full and _but_for_steps(config) == _but_for_steps(authors) else "ours"


def _steps(config: Mapping[str, Any]) -> int:
    """Return the training steps that settings name; 0 if they name none."""
    learning = config.get("learning")
    return int(learning.get(_STEPS, 0)) if isinstance(learning, Mapping) else 0


def _but_for_steps(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return settings without the training steps and the learning curve on the way."""
    return _without(_without(config, "learning", (_STEPS,)), "evaluating", _CURVE)


def _without(config: Mapping[str, Any], part: str, names: Sequence[str]) -> Mapping[str, Any]:
    """Return settings without some of those in one of their parts, if they have it."""
    held = config.get(part)
    if not isinstance(held, Mapping):
        return config
    return {**config, part: {name: value for name, value in held.items() if name not in names}}
