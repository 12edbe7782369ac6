"""ELBERT's infectious disease experiments, original and harder: what is run, and how."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gymnasium
import pandas as pd
from gymnasium.vector import VectorEnv

from longfair.agents.evaluation import Agent
from longfair.agents.policies import (
    VaccinateHighestDegree,
    VaccinateMostExposed,
    VaccinateNobody,
    VaccinateUniformly,
    VaccinationLottery,
)
from longfair.agents.ppo.a_ppo import APPO
from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.r_ppo import RPPO
from longfair.agents.ppo.strategy import Strategy
from longfair.envs.epidemic import EpidemicParams
from longfair.papers.elbert import training
from longfair.papers.elbert.lending import Evaluating
from longfair.papers.elbert.training import Learning, ReferenceConfig, TrainedConfig, World
from longfair.runs.experiment import Arm, Experiment

STATIC = {
    "elbert": {"static-reward": (1.0, 1.59), "static-optimum": (0.44, 1.49)},
    "elbert_harder": {"static-reward": (0.99, 0.03), "static-optimum": (0.49, 0.24)},
}
"""The best lotteries, by preset and policy: chance of group 1, and weight of infected neighbours.

Found by `longfair.papers.elbert.static_search` on episodes that no result uses.
"""


def infectious_world(preset: str) -> World:
    """Say where methods are trained, and that wasted vaccines are counted."""
    return World(partial(_batch, preset), counted=("wasted",))


def train_and_evaluate(config: TrainedConfig, seed: int) -> pd.DataFrame:
    """Train and evaluate a method; see `longfair.papers.elbert.training`."""
    return training.train_and_evaluate(config, seed, infectious_world(config.preset))


def evaluate_reference(config: ReferenceConfig, seed: int) -> pd.DataFrame:
    """Evaluate a policy that needs no training; see `longfair.papers.elbert.training`."""
    return training.evaluate_reference(
        config, seed, infectious_world(config.preset), reference_policy
    )


def reference_policy(config: ReferenceConfig, seed: int) -> Agent:
    """Return the reference policy of the settings."""
    params = EpidemicParams()  # the presets share one network
    if config.policy == "nobody":
        return VaccinateNobody(len(params.group))
    if config.policy == "uniform":
        return VaccinateUniformly(len(params.group), seed=seed)
    if config.policy == "highest-degree":
        return VaccinateHighestDegree(params.adjacency())
    if config.policy == "most-exposed":
        return VaccinateMostExposed(params.adjacency())
    chance, exposure_weight = STATIC[config.preset][config.policy]
    chances = (1.0 - chance, chance)
    return VaccinationLottery(params.adjacency(), params.group, chances, exposure_weight, seed)


REFERENCE_POLICIES = {
    "nobody": "vaccinates nobody",
    "uniform": "anybody or nobody with equal chances, as an untrained policy draws",
    "highest-degree": "the susceptible person with the most neighbours",
    "most-exposed": "the susceptible person with the most infected neighbours",
    "static-reward": "a lottery between the groups, the best one for the reward alone",
    "static-optimum": "a lottery between the groups, the best one for ELBERT's objective",
}
"""Policies that need no training."""


@dataclass(frozen=True)
class Problem:
    """What sets the paper's two infectious disease environments apart."""

    preset: str
    alpha: dict[str, float]
    """ELBERT-PO's weight of the squared bias, by variant."""
    learning: dict[str, Learning]
    """Settings by profile: the authors' own; ours; a few seconds."""


SMOKE = Learning(
    copies=50,
    minibatch=250,
    epochs=2,
    learning_rate=1e-3,
    hidden=(32,),
    total_steps=4_000,
    annealed=True,
)

HARDER = Problem(
    preset="elbert_harder",
    alpha={"as_coded": 50.0, "as_published": 50.0},
    learning={
        "paper": Learning(250, 64, 10, 1e-5, (512, 256), 5_000_000),
        "book": Learning(250, 1000, 4, 4e-4, (64, 64), 1_500_000, annealed=True),
        "smoke": SMOKE,
    },
)
ORIGINAL = Problem(
    preset="elbert",
    alpha={"as_coded": 20.0, "as_published": 10.0},
    learning={
        "paper": Learning(250, 64, 10, 1e-5, (512, 256), 10_000_000),
        "book": Learning(250, 1000, 4, 4e-4, (64, 64), 1_000_000, annealed=True),
        "smoke": SMOKE,
    },
)
"""Table 1 of the paper gives alpha 10 for the original environment, the authors' script 20."""

EVALUATING = {
    "paper": Evaluating(every=5, episodes=200, final_episodes=2000, episode_length=20),
    "book": Evaluating(every=6, episodes=200, final_episodes=2000, episode_length=20),
    "smoke": Evaluating(every=1, episodes=20, final_episodes=50, episode_length=20),
}

TOLERANCE = 0.05
"""Disparity that R-PPO and A-PPO leave alone."""


def methods(alpha: dict[str, float]) -> dict[tuple[str, str], tuple[Strategy, str]]:
    """Return the four methods in both variants.

    Parameters
    ----------
    alpha
        ELBERT-PO's weight of the squared bias, by variant.
    """
    r_ppo = RPPO(penalty=0.1, tolerance=TOLERANCE, offset=1.0)
    a_ppo = APPO(level_weight=0.1, change_weight=0.1, tolerance=TOLERANCE, offset=1.0)
    return {
        ("g-ppo", "as_coded"): (
            Strategy(train_unused_critics=True),
            "PPO on the reward, training the fairness critics it does not use",
        ),
        ("g-ppo", "as_published"): (Strategy(), "PPO on the reward"),
        ("r-ppo", "as_coded"): (
            replace(r_ppo, train_unused_critics=True),
            "penalises the whole disparity once it exceeds the tolerance",
        ),
        ("r-ppo", "as_published"): (
            replace(r_ppo, excess_only=True),
            "penalises what exceeds the tolerance",
        ),
        ("a-ppo", "as_coded"): (
            replace(a_ppo, train_unused_critics=True),
            "fairness terms in the advantage, scaled to [0, 1] per minibatch",
        ),
        ("a-ppo", "as_published"): (
            replace(a_ppo, as_coded=False),
            "raw fairness terms in the advantage, at the state before the step",
        ),
        ("elbert-po", "as_coded"): (
            ElbertPO.as_coded(alpha["as_coded"]),
            "every advantage standardised before the chain rule combines them",
        ),
        ("elbert-po", "as_published"): (
            ElbertPO.as_published(alpha["as_published"]),
            "raw advantages combined by the chain rule, discounted totals",
        ),
    }


def trained(problem: Problem, profile: str, strategy: Strategy) -> TrainedConfig:
    """Return the settings under which a profile trains a method on a problem."""
    return TrainedConfig(
        problem.preset,
        strategy,
        problem.learning[profile],
        EVALUATING[profile],
        EVALUATING[profile].episode_length,
    )


def arms(problem: Problem, profile: str) -> tuple[Arm, ...]:
    """Return the four methods in both variants, and the reference policies."""
    learned = [
        Arm(method, variant, trained(problem, profile, strategy), train_and_evaluate, description)
        for (method, variant), (strategy, description) in methods(problem.alpha).items()
    ]
    reference = [
        Arm(
            policy,
            "reference",
            ReferenceConfig(problem.preset, policy, EVALUATING[profile]),
            evaluate_reference,
            description,
        )
        for policy, description in REFERENCE_POLICIES.items()
    ]
    return (*learned, *reference)


def _batch(preset: str, copies: int, episode_length: int) -> VectorEnv[Any, Any, Any]:
    return gymnasium.make_vec(
        "longfair/Epidemic-v0", num_envs=copies, preset=preset, episode_length=episode_length
    )


def _experiment(name: str, title: str, problem: Problem, paper_seeds: int) -> Experiment:
    return Experiment(
        id=f"elbert/{name}",
        title=title,
        arms={profile: arms(problem, profile) for profile in problem.learning},
        seeds={"smoke": 2, "book": 10, "paper": paper_seeds},
        horizon={profile: learning.total_steps for profile, learning in problem.learning.items()},
    )


INFECTIOUS = _experiment(
    "infectious", "An epidemic on a network: four methods beside untrained policies", ORIGINAL, 1
)
INFECTIOUS_HARDER = _experiment(
    "infectious-harder", "An epidemic on a network where immunity is lost again", HARDER, 1
)
