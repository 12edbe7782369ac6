"""Beyond the paper: F-PPO and ELBERT-PO in each other's worlds, by both papers' measures.

The two papers share three worlds. ELBERT asks for equal benefit rates over an episode, F-PPO for
close distributions of the groups' states. Does one bring the other? Both methods, and PPO, learn in
each world as each paper has it: its parameters, and what its agents see. Lending and the epidemic
have the same parameters in both papers, attention has not.

All methods learn alike, with the cheap settings and the episodes of ELBERT's `book`, and are
evaluated as F-PPO's case studies are. F-PPO is the published one, which regularises the
1-Wasserstein distance of the text, and in attention, where the text leaves open between what, the
code's gap. ELBERT-PO is the coded one, which is
judged at the authors' settings elsewhere. Nobody is massaged at evaluation, as in the authors' own,
but in the arm `f-ppo-in-use`, which is F-PPO once more, massaged in use as the text has it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Annotated, ClassVar

from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.f_ppo import FPPOL
from longfair.agents.ppo.strategy import Strategy
from longfair.papers.elbert import attention as elbert_attention
from longfair.papers.elbert import infectious as elbert_epidemic
from longfair.papers.elbert import lending as elbert_lending
from longfair.papers.fppo import attention, epidemic, lending
from longfair.papers.fppo.methods import CaseStudy
from longfair.papers.setting import Evaluating, Problem, References, World, Wrapper
from longfair.runs.experiment import Arm, Experiment
from longfair.settings import Count, OneOf

VARIANT = "each_other"


@dataclass(frozen=True)
class Judging(Evaluating):
    """The last policy alone, by both papers' measures."""

    every: Count = 1_000_000
    measure: str = "longfair.papers.fppo.both_papers:both_papers"
    world: Annotated[str, OneOf("lending", "attention", "epidemic")] = "lending"

    in_use: ClassVar[bool] = False
    """Whether the policy acts with its strategy's interventions."""


@dataclass(frozen=True)
class JudgingInUse(Judging):
    """The last policy alone, acting as it does in training."""

    in_use: ClassVar[bool] = True


@dataclass(frozen=True)
class Shared:
    """A world that both papers have."""

    case: CaseStudy
    """F-PPO's."""
    elbert: Problem
    """ELBERT's."""
    elbert_po: ElbertPO
    gaps: str
    """What tells F-PPO's gaps in `info`."""
    episodes: int
    """Episodes of an evaluation, as in F-PPO's case study."""
    references: References
    """Policies that need no training and act on what both papers' agents see."""

    def worlds(self) -> dict[str, World]:
        """Return the world as each paper has it; gaps are told in both."""
        of_elbert = self.elbert.world
        told = Wrapper(self.gaps, {"as_coded": False})
        return {
            "fppo": self.case.worlds["as_published"],
            "elbert": replace(of_elbert, wrappers=(*of_elbert.wrappers, told)),
        }

    def methods(self) -> dict[str, tuple[Strategy, str]]:
        """Return what learns."""
        massaged, _ = self.case.methods(as_coded=False)["f-ppo"]
        assert isinstance(massaged, FPPOL)
        return {
            "g-ppo": (Strategy(), "PPO on the reward"),
            "elbert-po": (self.elbert_po, "equal benefit rates, as coded"),
            "f-ppo": (massaged, "close distributions and massaged actions, as published"),
        }

    def experiments(self, name: str) -> list[Experiment]:
        """Return the experiments of both papers' forms of this world."""
        found = []
        for paper, world in self.worlds().items():
            evaluating = {
                profile: Judging(
                    final_episodes=self.episodes if profile == "book" else 4,
                    episode_length=self.case.evaluating[profile].episode_length,
                    world=name,
                )
                for profile in SEEDS
            }
            problem = Problem(
                world,
                learning={profile: self.elbert.learning[profile] for profile in SEEDS},
                evaluating=evaluating,
                episode_length={profile: self.elbert.episode_length[profile] for profile in SEEDS},
            )
            methods = {(key, VARIANT): told for key, told in self.methods().items()}
            title = f"{TITLES[name]}, as {PAPERS[paper]} has it: each other's methods"
            experiment = problem.experiment(
                f"fppo/beyond-{name}-{paper}", title, methods, self.references, SEEDS
            )
            arms = {key: (*own, _in_use(own)) for key, own in experiment.arms.items()}
            found.append(replace(experiment, authors="", arms=arms))
        return found


def _in_use(arms: tuple[Arm, ...]) -> Arm:
    """Return F-PPO's arm once more, massaged in use."""
    (arm,) = (arm for arm in arms if arm.method == "f-ppo")
    judging = arm.config.evaluating
    told = {one.name: getattr(judging, one.name) for one in fields(judging)}
    config = replace(arm.config, evaluating=JudgingInUse(**told))
    return replace(arm, method="f-ppo-in-use", config=config, description=IN_USE)


IN_USE = "close distributions and massaged actions, as published, also in use"
SEEDS = {"book": 10, "smoke": 2}
PAPERS = {"fppo": "F-PPO", "elbert": "ELBERT"}
TITLES = {"lending": "Bank loans", "attention": "Attention", "epidemic": "The epidemic"}


def _of(references: References, *names: str) -> References:
    return {name: references[name] for name in names}


SHARED = {
    "lending": Shared(
        lending.CASE,
        elbert_lending.PROBLEM,
        ElbertPO.as_coded(elbert_lending.ALPHA),
        "lending-gaps",
        100,
        _of(lending.REFERENCES, "accept-all", "threshold-2-2", "equal-opportunity"),
    ),
    "attention": Shared(
        attention.CASE,
        elbert_attention.ORIGINAL,
        ElbertPO.as_coded(elbert_attention.ALPHA["elbert"], elbert_attention.BETA),
        "attention-gaps",
        100,
        _of(attention.REFERENCES, "equal", "gaussian", "proportional"),
    ),
    "epidemic": Shared(
        epidemic.CASE,
        elbert_epidemic.ORIGINAL,
        ElbertPO.as_coded(elbert_epidemic.ALPHA["elbert"]["as_coded"]),
        "epidemic-gaps",
        1000,
        _of(epidemic.REFERENCES, "nobody", "uniform", "max-exposed"),
    ),
}

EXPERIMENTS = tuple(
    experiment for name, shared in SHARED.items() for experiment in shared.experiments(name)
)
