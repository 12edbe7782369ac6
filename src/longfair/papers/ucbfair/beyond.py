"""Beyond the paper: the ELBERT paper's learners in the population, beside the exact optimum.

They know nothing of the population. The long-term fairness that they seek is an equal benefit rate:
a group's true positives over its qualified, summed over an episode, which is equal opportunity over
time. F-PPO is not among them: it knows the rules of its own three worlds, and the register refuses
it here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from longfair.agents.ppo.a_ppo import APPO
from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.r_ppo import RPPO
from longfair.agents.ppo.strategy import Strategy
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.setting import PPO, Methods
from longfair.papers.ucbfair.experiments import ADULT, PROFILES, SYNTHETIC, Problem, references
from longfair.runs.experiment import Arm, Experiment

if TYPE_CHECKING:
    from longfair.papers.protocol import Snapshots
    from longfair.papers.setting import Setting
    from longfair.runs.checkpoints import Checkpoint

VARIANT = "as_coded"
"""ELBERT-PO, R-PPO and A-PPO as their paper's code has them."""


@dataclass(frozen=True)
class LastPolicy(PPO):
    """PPO's learning; the last policy alone is kept."""

    name: ClassVar[str] = "last-policy"
    revision: ClassVar[int] = 1

    def train(
        self, setting: Setting, seed: int, run: int, checkpoint: Checkpoint | None
    ) -> Snapshots:
        """Train; see `longfair.papers.ppo_training.train`."""
        found = super().train(setting, seed, run, checkpoint)
        return found._replace(policies=())


LEARNING = {
    "book": LastPolicy(
        copies=16,
        minibatch=400,
        epochs=8,
        learning_rate=1e-3,
        hidden=(64, 64),
        total_steps=400_000,
        annealed=True,
    ),
    "smoke": LastPolicy(
        copies=8, minibatch=24, epochs=2, learning_rate=1e-3, hidden=(16,), total_steps=192
    ),
}
"""Chosen on run numbers from 1000 on, on the reward of PPO alone."""

ALPHA = 10.0
"""ELBERT-PO's weight of the squared bias: a bias of 0.3 costs about what a single step can bring.

With 100 and more, runs of numbers from 1000 on ruin the population: a group's benefit rate also
rises when fewer of it qualify.
"""

TOLERANCE = 0.05
"""Disparity that R-PPO and A-PPO leave alone, as in attention and the epidemic."""

METHODS: Methods = {
    ("g-ppo", VARIANT): (Strategy(), "PPO on the reward"),
    ("r-ppo", VARIANT): (RPPO(tolerance=TOLERANCE), "penalises the whole disparity"),
    ("a-ppo", VARIANT): (APPO(tolerance=TOLERANCE), "terms of the disparity in the advantage"),
    ("elbert-po", VARIANT): (ElbertPO.as_coded(ALPHA), "equal benefit rates"),
}

BESIDE = ("myopic", "constant", "optimum")
"""Policies that need no training."""


def arms(problem: Problem, profile: str) -> tuple[Arm, ...]:
    """Return the learners, and policies that need no training."""
    length = PROFILES[profile].episode_length or problem.episode_length()
    learned = [
        Arm(
            name,
            variant,
            replace(
                problem.setting(method, LEARNING[profile], profile),
                episode_length=length,
            ),
            train_and_evaluate,
            description,
        )
        for (name, variant), (method, description) in METHODS.items()
    ]
    return (*learned, *(arm for arm in references(problem, profile) if arm.method in BESIDE))


EXPERIMENTS = tuple(
    Experiment(
        id=f"ucbfair/beyond-{name}",
        title=f"{title}: the ELBERT paper's learners beside the exact optimum",
        arms={profile: arms(problem, profile) for profile in LEARNING},
        seeds={"book": 10, "smoke": 2},
        horizon={profile: learning.total_steps for profile, learning in LEARNING.items()},
        authors="",
    )
    for name, title, problem in (
        ("synthetic", "Gaussian features", SYNTHETIC),
        ("adult", "Adult scores", ADULT),
    )
)
