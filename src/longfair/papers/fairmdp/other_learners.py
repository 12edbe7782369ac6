"""The learners of the ELBERT paper on the loan problem of the fair MDP paper.

They know the problem only from episodes, and know fairness only from the `supply` and `demand` that
the environment reports. What they learn is evaluated exactly, beside the exact optimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from longfair.agents.ppo.a_ppo import APPO
from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.fair_ppo import FairPPO
from longfair.agents.ppo.policy import Actor
from longfair.agents.ppo.r_ppo import RPPO
from longfair.agents.ppo.strategy import Strategy
from longfair.envs.loan_mdp import LoanMDPParams
from longfair.envs.loan_mdp.exact import Applicants, Outcome, evaluate
from longfair.envs.sb3 import BatchVecEnv
from longfair.papers.fairmdp.cross_entropy import loan_problem
from longfair.papers.fairmdp.measured import mean_quantities, mean_rates, placed, table
from longfair.runs.experiment import Arm, Experiment

Single = NDArray[np.float32]


@dataclass(frozen=True)
class Learning:
    """Settings of PPO, the same for all methods; chosen on run numbers from 1000 on."""

    copies: int = 256
    """Applicants met side by side; a rollout is one episode of each."""
    minibatch: int = 1632
    epochs: int = 4
    learning_rate: float = 3e-3
    hidden: tuple[int, ...] = (32, 32)
    total_steps: int = 1_044_480
    """80 rollouts; a multiple of the rollout times `curve`."""
    curve: int = 10
    """Evaluations of the learning curve."""


@dataclass(frozen=True)
class LearnerConfig:
    """One method."""

    strategy: Strategy
    learning: Learning = field(default_factory=Learning)


class Features(VectorWrapper[Any, Any, Any, Any]):
    """Show the mean and the weight of the belief in place of alpha and beta, which reach 60.

    Parameters
    ----------
    env
        A batch of loan problems.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        self.single_observation_space = Box(-1.0, 10.0, (3,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Single, dict[str, Any]]:
        """Start episodes; see `FairVectorEnv.reset`."""
        observation, info = self.env.reset(seed=seed, options=options)
        return features(*observation.T), info

    def step(self, actions: Any) -> tuple[Single, Any, Any, Any, dict[str, Any]]:
        """Take one step; see `FairVectorEnv.step`."""
        observation, *outcome, info = self.env.step(actions)
        if "final_obs" in info:
            info["final_obs"] = features(*info["final_obs"].T)
        reward, terminated, truncated = outcome
        return features(*observation.T), reward, terminated, truncated, info


def features(alpha: Any, beta: Any, group: Any) -> Single:
    """Return (N, 3): mean of the belief, logarithm of its weight, group."""
    total = alpha + beta
    return np.stack([alpha / total, np.log(total), group], axis=1).astype(np.float32)


def train_and_measure(config: LearnerConfig, seed: int) -> pd.DataFrame:
    """Train a method; evaluate its policy exactly along the way and at the end.

    Parameters
    ----------
    config
        What to run.
    seed
        Number of the run. The evaluation is exact, so it draws nothing.

    Returns
    -------
    pandas.DataFrame
        The result table; see `longfair.runs`. The policy is stochastic; metrics with `_mode` are
        those of its likelier actions.
    """
    training, _ = (int(s) for s in np.random.SeedSequence(seed).generate_state(2))
    learning = config.learning
    params = LoanMDPParams.fico()
    env = gymnasium.make_vec("longfair/LoanMDP-v0", num_envs=learning.copies)
    model = FairPPO(
        "FairMlpPolicy",
        BatchVecEnv(Features(env)),
        strategy=config.strategy,
        net_arch=learning.hidden,
        n_steps=params.episode_length,
        batch_size=learning.minibatch,
        n_epochs=learning.epochs,
        learning_rate=learning.learning_rate,
        gamma=params.discount,
        seed=training % 2**31,
    )
    parts = []
    for part in range(learning.curve + 1):
        step = model.num_timesteps
        outcome = exact(model.policy.actor())
        parts.append(table("curve", step, mean_quantities(outcome)))
        if part < learning.curve:
            model.learn(learning.total_steps // learning.curve, reset_num_timesteps=part == 0)
    mode = mean_quantities(exact(model.policy.actor(), mode=True), "_mode")
    parts.append(table("final", step, mean_quantities(outcome) | mode))
    parts.append(placed(mean_rates(outcome), "final", step))
    return pd.concat(parts, ignore_index=True)


def exact(actor: Actor, *, mode: bool = False) -> Outcome:
    """Evaluate a policy network of the PPO family exactly.

    Parameters
    ----------
    actor
        The policy.
    mode
        Whether to take the likelier action instead of drawing one.
    """
    problem = loan_problem()
    chances = [
        _chances(actor, group, number, mode) for number, group in enumerate(problem.applicants)
    ]
    return evaluate(problem, chances)


def _chances(actor: Actor, group: Applicants, number: int, mode: bool) -> Single:
    alpha, beta = group.beliefs.T
    output = actor.output(features(alpha, beta, np.full(len(alpha), float(number))))
    difference = output[:, 1] - output[:, 0]
    if mode:
        return (difference > 0).astype(np.float32)[None]
    chances: Single = np.tanh(difference * np.float32(0.5)) * np.float32(0.5) + np.float32(0.5)
    return chances[None]


TOLERANCE = 0.1
"""Disparity that R-PPO and A-PPO leave alone: the tolerance of the problem."""

ALPHA = 1.2
"""Weight of the squared bias: at a gap of 0.1 its slope is the price of fairness there."""

METHODS: dict[tuple[str, str], tuple[Strategy, str]] = {
    ("g-ppo", "as_coded"): (Strategy(train_unused_critics=True), "PPO on the reward"),
    ("g-ppo", "as_published"): (Strategy(), "PPO on the reward"),
    ("r-ppo", "as_coded"): (
        RPPO(tolerance=TOLERANCE, train_unused_critics=True),
        "penalises the disparity within the episode once it exceeds the tolerance",
    ),
    ("r-ppo", "as_published"): (
        RPPO(tolerance=TOLERANCE, excess_only=True),
        "penalises what exceeds the tolerance within the episode",
    ),
    ("a-ppo", "as_coded"): (
        APPO(tolerance=TOLERANCE, train_unused_critics=True),
        "fairness terms of the episode in the advantage, scaled to [0, 1] per minibatch",
    ),
    ("a-ppo", "as_published"): (
        APPO(tolerance=TOLERANCE, as_coded=False),
        "raw fairness terms of the episode in the advantage",
    ),
    ("elbert-po", "as_coded"): (
        ElbertPO.as_coded(ALPHA),
        "every advantage standardised before the chain rule combines them",
    ),
    ("elbert-po", "as_published"): (
        ElbertPO.as_published(ALPHA),
        "raw advantages combined by the chain rule, discounted totals",
    ),
    ("elbert-po-strong", "as_published"): (
        ElbertPO.as_published(10 * ALPHA),
        "the same with ten times the weight of fairness",
    ),
}
"""The four methods in both variants, ELBERT-PO also with a larger weight of fairness."""

LEARNING = {
    "paper": Learning(),
    "book": Learning(),
    "smoke": Learning(copies=32, minibatch=408, epochs=1, total_steps=6_528, curve=2),
}


def _arms(profile: str) -> tuple[Arm, ...]:
    return tuple(
        Arm(
            method,
            variant,
            LearnerConfig(strategy, LEARNING[profile]),
            train_and_measure,
            description,
        )
        for (method, variant), (strategy, description) in METHODS.items()
    )


OTHER_LEARNERS = Experiment(
    id="fairmdp/other-learners",
    title="The learners of the ELBERT paper on the individual loan problem",
    arms={profile: _arms(profile) for profile in LEARNING},
    seeds={"smoke": 2, "book": 10, "paper": 10},
    horizon={profile: learning.total_steps for profile, learning in LEARNING.items()},
)

EXPERIMENTS = (OTHER_LEARNERS,)
