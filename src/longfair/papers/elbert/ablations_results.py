"""What the page on ablations shows of the many forms of ELBERT-PO."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch

from longfair.agents.ppo import ElbertPO
from longfair.figures import LineStyle, Words
from longfair.figures.style import BLACK, GREEN, GREY, ORANGE, PURPLE, SKY
from longfair.papers.live import as_long_as_asked
from longfair.papers.page import Look, Runs
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.setting import Setting
from longfair.papers.styles import METHODS
from longfair.runs import tidy
from longfair.runs.experiment import Experiment
from longfair.wording import with_digits

_COLOURS = (BLACK, ORANGE, GREEN, SKY, PURPLE, GREY)
_MARKERS = "vsD><P"


def look_of_forms(experiment: Experiment, profile: str) -> Look:
    """Return how the forms of a method appear: each has a short name and a style.

    What the code does looks as on every page. Where some runs lose a site, and where some come to
    rest apart from the others, figures show medians.

    Parameters
    ----------
    experiment
        The experiment that varies them.
    profile
        Name of the profile.
    """
    forms = [method for method in experiment.methods(profile) if method not in METHODS]
    styles = {
        method: LineStyle(_short(method), _COLOURS[place % 6], _MARKERS[place % 6])
        for place, method in enumerate(forms)
    }
    lost = experiment.name.endswith("attention-harder")
    beyond = {"reward": -3.0} if lost else {}
    apart = lost or "infectious" in experiment.name
    return Look(styles, logarithmic_beyond=beyond, beside=(), median=apart)


def _short(method: str) -> str:
    """Name a form by what sets it apart."""
    for base in ("g-ppo", "r-ppo"):
        if method.startswith(f"{base}-"):
            return f"{METHODS[base].label}, {method.removeprefix(f'{base}-').replace('-', ' ')}"
    name = method.removeprefix("elbert-po-").replace("-", " ")
    return re.sub(r"\d{5,}", lambda number: f"{int(number[0]):,}", name)


def meanings(*experiments: Runs) -> pd.DataFrame:
    """Say in words what every form is, under its name in tables and figures."""
    words = {
        runs.look.names[arm.method]: arm.description
        for runs in experiments
        for arm in runs.experiment.arms[runs.profile]
    }
    return pd.Series(words, name="what it is").to_frame()


def forms_of(runs: Runs, base: str) -> list[str]:
    """Return a method and its changed forms."""
    return [name for name in runs.experiment.methods(runs.profile) if name.startswith(base)]


def changes_of_forms(runs: Runs, quantities: tidy.Quantities) -> pd.DataFrame | Words:
    """Say by how much each changed form of a method differs from what the code does."""
    return runs.differences(_changes(runs), quantities)


def ranges_of_changes(runs: Runs, quantities: tidy.Quantities) -> pd.DataFrame | Words:
    """Say the same where runs end far apart: the median difference, the lowest and the highest.

    Parameters
    ----------
    runs
        Runs of forms of methods.
    quantities
        What to compare.

    Returns
    -------
    pandas.DataFrame
        One row per changed form; differences are paired by seed.
    """
    lines: dict[str, dict[str, str]] = {}
    for form, (changed, base) in _changes(runs).items():
        for metric, (title, digits) in quantities.items():
            one, other = (tidy.of_arm(runs.results, metric, *arm) for arm in (changed, base))
            apart = (one - other).dropna()
            if len(apart):
                text = tidy.median_and_range(apart, digits, signed=True)
                lines.setdefault(form, {})[title] = text
    return pd.DataFrame.from_dict(lines, orient="index") if lines else runs.missing


def _changes(runs: Runs) -> dict[str, tuple[tidy.ArmName, tidy.ArmName]]:
    """Return under its name each changed form, with what the code does."""
    return {
        runs.look.names[form]: ((form, "as_coded"), (base, "as_coded"))
        for base in ("elbert-po", "g-ppo", "r-ppo")
        for form in forms_of(runs, f"{base}-")
    }


def added_one(experiments: Iterable[Runs]) -> pd.DataFrame:
    """Return what the one that evaluations add does to the bias of methods as coded, on average."""
    added = {}
    for runs in experiments:
        if "bias_exact" in runs.last:
            coded = runs.last[runs.last["variant"] == "as_coded"]
            moved = (coded["bias_exact"] - coded["bias"]).groupby(coded["method"]).mean()
            name = runs.experiment.name.replace("-", ", ")
            written = moved.map(partial(with_digits, digits=4))
            added[name] = written.rename(index=runs.look.names)
    return pd.DataFrame(added).T.fillna("")


class WatchedPO(ElbertPO):
    """ELBERT-PO that remembers the spread and the weight of every advantage, in `watched`."""

    watched: ClassVar[list[tuple[list[float], list[float]]]] = []

    def advantage(self, advantages: torch.Tensor, features: Any, plan: Any) -> torch.Tensor:
        """Remember, then do what ELBERT-PO does."""
        spread = advantages.flatten(end_dim=-2).std(dim=0)
        self.watched.append((spread.tolist(), np.abs(plan.weights).tolist()))
        return super().advantage(advantages, features, plan)


def spread_of_advantages(setting: Setting, run: int) -> pd.DataFrame:
    """Train with a `WatchedPO` and return how far every advantage spreads, and its weight.

    Parameters
    ----------
    setting
        Settings with a `WatchedPO` and two groups.
    run
        Number of the run.

    Returns
    -------
    pandas.DataFrame
        One row per signal, means over the run.
    """
    WatchedPO.watched.clear()
    train_and_evaluate(as_long_as_asked(setting), run)
    spread, weight = np.transpose(WatchedPO.watched, (1, 2, 0))
    signals = [f"{what}, group {group}" for what in ("supply", "demand") for group in (0, 1)]
    return pd.DataFrame(
        {
            "spread": spread.mean(axis=1),
            "size of the weight": weight.mean(axis=1),
            "their product": (spread * weight).mean(axis=1),
        },
        index=["reward", *signals],
    ).round(2)
