"""ELBERT's attention experiments, original and harder: what is run, and with which settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
from gymnasium.vector import VectorEnv

from longfair.agents.evaluation import Agent
from longfair.agents.policies import (
    ConstantAllocation,
    EqualLogits,
    GaussianLogits,
    ProportionalToIncidents,
    ProportionalToRates,
)
from longfair.agents.ppo.a_ppo import APPO
from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.r_ppo import RPPO
from longfair.agents.ppo.strategy import Strategy
from longfair.envs.history import History
from longfair.envs.wrappers import RunningRates
from longfair.papers.elbert import training
from longfair.papers.elbert.lending import Evaluating
from longfair.papers.elbert.training import Learning, ReferenceConfig, TrainedConfig, World
from longfair.runs.experiment import Arm, Experiment

SITES = 5
ROWS = 8
"""Past steps that agents observe."""

INCIDENTS = slice(SITES, 2 * SITES)
"""Where a row of the observation holds the incidents of every site."""

CONSTANT = {
    "elbert_harder": {"constant-reward": (12, 7, 5, 4, 2), "constant-optimum": (9, 7, 6, 5, 3)}
}
"""Units of the best constant allocations, by preset and policy, found by trying all of them.

`longfair.agents.policies.constant_allocations` does it exactly. In the original environment the
best one, for the reward and for ELBERT's objective, is that of the policy `equal`.
"""

STATIC = {
    "elbert": {"static-optimum": (0.0, -0.14, 2.9, -0.15, -0.06)},
    "elbert_harder": {
        "static-reward": (0.0, 0.57, 1.2, 1.35, 1.56),
        "static-optimum": (0.0, 0.68, 0.86, 0.97, 1.02),
    },
}
"""Logarithms of the sites' weights in the best proportional policies, by preset and policy.

Found by `longfair.papers.elbert.static_search` on episodes that no result uses.
"""


def attention_world(preset: str) -> World:
    """Say where methods are trained: what happened in the last steps, and the running rates."""
    return World(partial(_observed_batch, preset))


def train_and_evaluate(config: TrainedConfig, seed: int) -> pd.DataFrame:
    """Train and evaluate a method; see `longfair.papers.elbert.training`."""
    return training.train_and_evaluate(config, seed, attention_world(config.preset))


def evaluate_reference(config: ReferenceConfig, seed: int) -> pd.DataFrame:
    """Evaluate a policy that needs no training; see `longfair.papers.elbert.training`."""
    return training.evaluate_reference(
        config, seed, attention_world(config.preset), reference_policy
    )


def reference_policy(config: ReferenceConfig, seed: int) -> Agent:
    """Return the reference policy of the settings."""
    if config.policy == "equal":
        return EqualLogits(SITES)
    if config.policy == "gaussian":
        return GaussianLogits(SITES, seed=seed)
    if config.policy == "proportional":
        return ProportionalToRates()
    if config.policy.startswith("constant-"):
        return ConstantAllocation(CONSTANT[config.preset][config.policy])
    weights = np.exp(STATIC[config.preset][config.policy])
    return ProportionalToIncidents(tuple(weights), INCIDENTS, ROWS)


REFERENCE_POLICIES = {
    "equal": "the same number of units everywhere",
    "gaussian": "random logits, as an untrained policy draws them",
    "proportional": "units in proportion to the true rates, which no learned policy sees",
    "constant-reward": "the best constant allocation for the reward alone",
    "constant-optimum": "the best constant allocation for ELBERT's objective",
    "static-reward": "units in proportion to weighted recent incidents, best for the reward alone",
    "static-optimum": "units in proportion to weighted recent incidents, best for the objective",
}
"""Policies that need no training; those found by a search only where one was made."""


def has_policy(preset: str, policy: str) -> bool:
    """Say whether a reference policy exists for a preset."""
    searched = policy.startswith(("constant-", "static-"))
    return not searched or policy in {**CONSTANT.get(preset, {}), **STATIC[preset]}


@dataclass(frozen=True)
class Problem:
    """What sets the paper's two attention environments apart."""

    preset: str
    alpha: float
    """ELBERT-PO's weight of the squared bias."""
    penalty: float
    """R-PPO's weight of the disparity."""
    learning: dict[str, Learning]
    """Settings by profile: the authors' own; ours; a few seconds."""
    evaluating: dict[str, Evaluating]
    """How policies are evaluated, by profile."""


SMOKE = Learning(
    copies=2,
    minibatch=200,
    epochs=2,
    learning_rate=3e-3,
    hidden=(16,),
    total_steps=1_600,
    annealed=True,
)

EVALUATING = {
    "paper": Evaluating(every=5, episodes=10, final_episodes=100, episode_length=1024),
    "book": Evaluating(every=4, episodes=4, final_episodes=100, episode_length=1024),
    "smoke": Evaluating(every=1, episodes=2, final_episodes=4, episode_length=100),
}

# Settings of `book`: as many steps as the authors', with fewer epochs and a learning rate larger by
# as much. With larger steps, or critics that fit worse, ELBERT-PO loses a site in some runs.
HARDER = Problem(
    preset="elbert_harder",
    alpha=2e4,
    penalty=20.0,
    learning={
        "paper": Learning(4, 64, 10, 1e-5, (128, 64), 5_000_000),
        "book": Learning(4, 64, 4, 2.5e-5, (64, 64), 5_000_000),
        "smoke": SMOKE,
    },
    evaluating={**EVALUATING, "book": replace(EVALUATING["book"], every=12)},
)
ORIGINAL = Problem(
    preset="elbert",
    alpha=50.0,
    penalty=10.0,
    learning={
        "paper": Learning(4, 64, 10, 1e-6, (128, 64), 20_000_000),
        "book": Learning(8, 256, 2, 2e-4, (64, 64), 1_200_000, annealed=True),
        "smoke": SMOKE,
    },
    evaluating=EVALUATING,
)

BETA = 20.0
"""Sharpness of the soft bias."""

TOLERANCE = 0.05
"""Disparity that R-PPO and A-PPO leave alone."""


def methods(alpha: float, penalty: float) -> dict[tuple[str, str], tuple[Strategy, str]]:
    """Return the four methods in both variants.

    Parameters
    ----------
    alpha
        ELBERT-PO's weight of the squared bias.
    penalty
        R-PPO's weight of the disparity.
    """
    r_ppo = RPPO(penalty=penalty, tolerance=TOLERANCE, excess_only=True, offset=1.0)
    a_ppo = APPO(level_weight=0.15, change_weight=0.15, tolerance=TOLERANCE, offset=1.0)
    return {
        ("g-ppo", "as_coded"): (
            Strategy(train_unused_critics=True),
            "PPO on the reward, training the fairness critics it does not use",
        ),
        ("g-ppo", "as_published"): (Strategy(), "PPO on the reward"),
        ("r-ppo", "as_coded"): (
            replace(r_ppo, train_unused_critics=True),
            "penalises what exceeds the tolerance, training critics it does not use",
        ),
        ("r-ppo", "as_published"): (r_ppo, "penalises what exceeds the tolerance"),
        ("a-ppo", "as_coded"): (
            replace(a_ppo, train_unused_critics=True),
            "fairness terms in the advantage, scaled to [0, 1] per minibatch",
        ),
        ("a-ppo", "as_published"): (
            replace(a_ppo, as_coded=False),
            "raw fairness terms in the advantage, at the state before the step",
        ),
        ("elbert-po", "as_coded"): (
            ElbertPO.as_coded(alpha, BETA),
            "every advantage standardised before the chain rule combines them",
        ),
        ("elbert-po", "as_published"): (
            ElbertPO.as_published(alpha, BETA),
            "raw advantages combined by the chain rule, discounted totals",
        ),
    }


def trained(problem: Problem, profile: str, strategy: Strategy) -> TrainedConfig:
    """Return the settings under which a profile trains a method on a problem."""
    return TrainedConfig(
        problem.preset,
        strategy,
        problem.learning[profile],
        problem.evaluating[profile],
        problem.evaluating[profile].episode_length,
    )


def arms(problem: Problem, profile: str) -> tuple[Arm, ...]:
    """Return the four methods in both variants, and the reference policies."""
    learned = [
        Arm(method, variant, trained(problem, profile, strategy), train_and_evaluate, description)
        for (method, variant), (strategy, description) in methods(
            problem.alpha, problem.penalty
        ).items()
    ]
    reference = [
        Arm(
            policy,
            "reference",
            ReferenceConfig(problem.preset, policy, problem.evaluating[profile]),
            evaluate_reference,
            description,
        )
        for policy, description in REFERENCE_POLICIES.items()
        if has_policy(problem.preset, policy)
    ]
    return (*learned, *reference)


def _observed_batch(preset: str, copies: int, episode_length: int) -> VectorEnv[Any, Any, Any]:
    env = gymnasium.make_vec(
        "longfair/Attention-v0", num_envs=copies, preset=preset, episode_length=episode_length
    )
    return History(RunningRates(env, offset=1.0), ROWS)


def _experiment(name: str, title: str, problem: Problem) -> Experiment:
    return Experiment(
        id=f"elbert/{name}",
        title=title,
        arms={profile: arms(problem, profile) for profile in problem.learning},
        seeds={"smoke": 2, "book": 10, "paper": 3},
        horizon={profile: learning.total_steps for profile, learning in problem.learning.items()},
    )


ATTENTION = _experiment(
    "attention",
    "Attention allocation: four methods beside policies that need no training",
    ORIGINAL,
)
ATTENTION_HARDER = _experiment(
    "attention-harder", "Attention allocation with busier sites, five times the units", HARDER
)
