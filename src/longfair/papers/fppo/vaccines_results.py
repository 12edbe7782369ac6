"""What the page on the epidemic shows of vaccines: who got them, and what their gap says."""

from __future__ import annotations

import pandas as pd

from longfair.figures import Words
from longfair.papers.fppo.epidemic import CASE
from longfair.papers.page import NOT_STORED, Runs
from longfair.runs.evidence import REFERENCE
from longfair.runs.rules.rule import listed
from longfair.runs.tidy import ARM, final
from longfair.wording import counted

DAYS = CASE.episode_length["book"]
"""Vaccines of an episode: one a day."""

COLUMNS = ("given", "reach a susceptible person", "lost in community 0", "lost in community 1")
"""Vaccines of an episode, in the table of `whom_they_reach`."""


def whom_they_reach(runs: Runs) -> pd.DataFrame | Words:
    """Lay out how many vaccines of an episode reach whom, and both gaps; means over runs.

    Parameters
    ----------
    runs
        Runs of the experiment `fppo/vaccines`.

    Returns
    -------
    pandas.DataFrame
        Index method and variant; columns `COLUMNS`, the gap at the end with all vaccines and with
        those that reach a susceptible person, and the number of runs.
    """
    if runs.results.empty:
        return runs.missing
    rows = final(runs.results)
    names = rows["metric"] + rows["group"].map({-1: "", 0: "_0", 1: "_1"})
    means = rows.assign(name=names).pivot_table(
        index=ARM, columns="name", values="value", sort=False
    )
    useful = means["useful_0"] + means["useful_1"]
    lost = means["lost_0"], means["lost_1"]
    counts = pd.DataFrame(
        dict(zip(COLUMNS, (useful + sum(lost), useful, *lost), strict=True)), index=means.index
    )
    gaps = means[["end_short_term_gap", "useful_gap"]]
    gaps = gaps.set_axis(["gap of all vaccines", "gap of those that reach"], axis=1)
    shown = counts.map("{:.1f}".format).join(gaps.map("{:.2f}".format))
    return runs.labelled(shown.assign(runs=rows.groupby(ARM)["seed"].nunique()))


def lost_in_words(runs: Runs) -> list[str]:
    """Say how long anybody can be protected, and what the gap of vaccines that are lost says.

    Parameters
    ----------
    runs
        Runs of the experiment `fppo/vaccines`.
    """
    day = 5
    left = {
        method: _susceptible(runs, method, day) for method in ("nobody", "uniform", "static-reward")
    }
    lost = {method: 100.0 * runs.mean("lost_share", method) for method in ("uniform", "max-degree")}
    return [
        f"After {day} days {left['nobody']} people are still susceptible if nobody is vaccinated, "
        f"{left['uniform']} if anybody is at random, and {left['static-reward']} under *Community "
        "1 first*. So most vaccines are lost on people who are ill or immune: "
        f"{lost['uniform']:.0f} % of those given at random, {lost['max-degree']:.0f} % of *Max*'s, "
        "which goes on when nobody is left to protect. *Community 1 first* then keeps its vaccine.",
        "The short-term gap counts them all. Under *Max* it is "
        f"{runs.mean('end_short_term_gap', 'max-degree'):.2f}, of vaccines that reach a "
        f"susceptible person {runs.mean('useful_gap', 'max-degree'):.2f}; under *Community 1 "
        f"first* both are {runs.mean('useful_gap', 'static-reward'):.2f}.",
        *_learned_in_words(runs),
    ]


def _learned_in_words(runs: Runs) -> list[str]:
    """Say what PPO and F-PPO as coded lose, and their gap of what they do not lose, if stored."""
    learned = {"PPO": ("ppo", "as_coded"), "F-PPO": ("f-ppo", "as_coded")}
    if not runs.has(*learned.values()):
        return []
    lost = [100.0 * runs.mean("lost_share", *arm) for arm in learned.values()]
    gaps = [f"{runs.mean('useful_gap', *arm):.2f} under {name}" for name, arm in learned.items()]
    return [
        f"As coded PPO loses {lost[0]:.0f} % of its vaccines and F-PPO {lost[1]:.0f} % "
        "(`fppo-vaccines-lost`). Counting only vaccines that reach somebody susceptible, the gap "
        f"is {listed(gaps)} (`fppo-vaccines-useful`)."
    ]


def of_both_forms(runs: Runs) -> str:
    """Say what PPO does with its vaccines as published and as coded."""
    told = []
    for variant, words in (("as_published", "As published"), ("as_coded", "as coded")):
        arm = ("ppo", variant)
        if not runs.has(arm):
            return f"What PPO does with its vaccines in either form is {NOT_STORED}."
        given = DAYS - runs.mean("kept", *arm)
        told.append(
            f"{words} PPO gives {given:.1f} of {DAYS} vaccines and loses "
            f"{given * runs.mean('lost_share', *arm):.1f} of them "
            f"({counted(runs.count(*arm), 'run')})"
        )
    return f"{'; '.join(told)}. Where fewer vaccines are given, fewer can be given unevenly."


def _susceptible(runs: Runs, method: str, day: int) -> str:
    """Write how many people are susceptible after so many days under a rule."""
    rows = runs.results
    chosen = (rows["metric"] == "at_susceptible") & (rows["step"] == day)
    own = rows[chosen & (rows["method"] == method) & (rows["variant"] == REFERENCE)]
    return NOT_STORED if own.empty else f"{own['value'].mean():.1f}"
