"""F-PPO's methods, the same in all three worlds but for their numbers and their massaging."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from longfair.agents.cpo.settings import CPOSettings
from longfair.agents.ppo.f_ppo import FPPOL, WindowedAPPO
from longfair.agents.ppo.massaging.attention import AttentionFPPO
from longfair.agents.ppo.massaging.epidemic import EpidemicFPPO
from longfair.agents.ppo.massaging.lending import LendingFPPO
from longfair.agents.ppo.strategy import Strategy
from longfair.papers.fppo.learning import Trajectories, TrunkPPO
from longfair.papers.setting import Evaluating, References, Setting, World
from longfair.runs.experiment import Arm, Experiment

VARIANTS = {"as_coded": True, "as_published": False}
"""Variant, and whether it is the code's."""


CHOSEN_HERE = ("a-ppo.as_published", "f-ppo.as_published", "f-ppo-s.as_published")
"""Arms whose runs have our settings in every world.

The text names no weights of A-PPO. Those of the code belong to terms that are scaled first; as
published they weigh raw terms, which is our choice. So is, as published, what massaging reads in
lending, when it begins in attention, and who is never its substitute in the epidemic.
"""


def authors(what: Any) -> dict[str, Any]:
    """Return what both profiles with the authors' settings have; the book needs no cheaper ones."""
    return {"book": what, "paper": what}


Changes = Callable[["CaseStudy", str], dict[str, tuple[Setting, str]]]
"""Settings and description by method, of a case study in a profile."""


def no_changes(case: CaseStudy, profile: str) -> dict[str, tuple[Setting, str]]:
    """Return none."""
    return {}


@dataclass(frozen=True)
class CaseStudy:
    """One of the paper's three case studies."""

    identity: str
    title: str
    worlds: Mapping[str, World]
    """By variant: what agents see, and how gaps are taken, differ."""
    massaged: type[LendingFPPO | AttentionFPPO | EpidemicFPPO]
    """F-PPO with the massaging of this world."""
    a_ppo: tuple[float, float]
    """Weight of both terms of A-PPO, and its tolerance."""
    learning: Mapping[str, TrunkPPO]
    """By profile: the authors' own, in the book too; a few seconds."""
    evaluating: Mapping[str, Evaluating]
    episode_length: Mapping[str, int]
    references: References
    seeds: Mapping[str, int]
    constrained: Mapping[str, Trajectories] = field(default_factory=dict)
    """By profile: how constrained policy optimisation learns, where the code compares it."""
    regularised: Mapping[str, World] = field(default_factory=dict)
    """By variant: F-PPO's world, where it is told another long-term gap; others never read it."""
    elsewhere: Mapping[str, tuple[World, str]] = field(default_factory=dict)
    """F-PPO as coded, trained in another world: its name, the world and a description."""
    changed: Changes = no_changes
    """What else is trained with one thing changed, given the case study and a profile."""
    chosen_here: tuple[str, ...] = CHOSEN_HERE
    """Arms of which the text leaves open what decides: their runs have our settings."""

    def methods(self, as_coded: bool) -> dict[str, tuple[Strategy, str]]:
        """Return strategy and description of every method that learns."""
        weight, tolerance = self.a_ppo
        massaged = self.massaged.in_code() if as_coded else self.massaged.in_text()
        terms = {term.name: getattr(massaged, term.name) for term in fields(FPPOL)}
        return {
            "ppo": (Strategy(), "PPO on the reward"),
            "a-ppo": (
                WindowedAPPO(
                    level_weight=weight,
                    change_weight=weight,
                    tolerance=tolerance,
                    as_coded=as_coded,
                ),
                "terms of the short-term gap in the advantage",
            ),
            "f-ppo": (massaged, "terms of both gaps in the advantage, and massaged actions"),
            "f-ppo-l": (FPPOL(**terms), "F-PPO without massaging"),
            "f-ppo-s": (
                replace(massaged, penalty_weight=0.0, bonus_weight=0.0),
                "PPO with massaged actions",
            ),
        }

    def setting(self, method: Any, profile: str, variant: str) -> Setting:
        """Return the settings under which a profile trains a method.

        As published, a method that massages is also evaluated with massaging, as the text has it.
        A method that is told nothing has one setting for both variants where its worlds differ in
        nothing else: its runs are the same runs.
        """
        massaged = variant == "as_published" and isinstance(method, self.massaged)
        worlds = {**self.worlds, **self.regularised} if isinstance(method, FPPOL) else self.worlds
        world, coded = worlds[variant], worlds["as_coded"]
        # The last wrapper tells gaps, and changes nothing else.
        same = world.wrappers[:-1] == coded.wrappers[:-1]
        if variant == "as_published" and not method.needs and same:
            world = coded
        return Setting(
            world,
            method,
            replace(self.learning[profile], massaged_at_evaluation=massaged),
            self.evaluating[profile],
            self.episode_length[profile],
        )

    def arms(self, profile: str) -> tuple[Arm, ...]:
        """Return all methods in both variants, and the policies that need no training.

        Constrained policy optimisation is the code's alone: the text's CPO is a rule.
        """
        from longfair.papers.protocol import train_and_evaluate

        arms = []
        for variant, as_coded in VARIANTS.items():
            for name, (method, description) in self.methods(as_coded).items():
                setting = self.setting(method, profile, variant)
                arms.append(Arm(name, variant, setting, train_and_evaluate, description))
            if as_coded and profile in self.constrained:
                setting = self.setting(CPOSettings(as_coded=True), profile, variant)
                setting = replace(setting, learning=self.constrained[profile])
                limited = "seeks the reward under a limit on the short-term gap"
                arms.append(Arm("cpo", variant, setting, train_and_evaluate, limited))
        for name, (world, description) in self.elsewhere.items():
            method, _ = self.methods(as_coded=True)["f-ppo"]
            setting = replace(self.setting(method, profile, "as_coded"), world=world)
            arms.append(Arm(name, "as_coded", setting, train_and_evaluate, description))
        for name, (setting, description) in self.changed(self, profile).items():
            arms.append(Arm(name, "one_change", setting, train_and_evaluate, description))
        for name, (policy, description) in self.references.items():
            setting = Setting(self.worlds["as_coded"], policy, None, self.evaluating[profile])
            arms.append(Arm(name, "reference", setting, train_and_evaluate, description))
        return tuple(arms)

    def experiment(self) -> Experiment:
        """Return the experiment of all arms."""
        return Experiment(
            id=self.identity,
            title=self.title,
            arms={profile: self.arms(profile) for profile in self.seeds},
            seeds=self.seeds,
            horizon={profile: self.learning[profile].total_steps for profile in self.seeds},
            chosen_here=self.chosen_here,
        )
