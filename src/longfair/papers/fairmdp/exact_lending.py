"""Exact evaluation of policy networks on the loan problem, and what these see of it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from longfair.agents.learning.actor import Actor
from longfair.envs.loan_mdp.exact import Applicants, Outcome, evaluate
from longfair.papers.fairmdp.loans import loan_problem
from longfair.papers.fairmdp.measured import mean_quantities, mean_rates, placed, table
from longfair.papers.protocol import Evaluation
from longfair.runs.experiment import protocol

Single = NDArray[np.float32]


class Features(VectorWrapper[Any, Any, Any, Any]):
    """Show the mean and the weight of the belief in place of alpha and beta, which reach 60.

    Parameters
    ----------
    env
        A batch of loan problems.

    Notes
    -----
    An episode has applicants of one group only, so rates within it compare nothing. R-PPO and A-PPO
    are trained here all the same, to show what becomes of methods that need such rates.
    """

    rates_within_episode: ClassVar[bool] = True
    revision: ClassVar[int] = 1

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


@protocol("exact-lending")
def exact_lending(evaluation: Evaluation) -> pd.DataFrame:
    """Evaluate every policy exactly; metrics with `_mode` are those of its likelier actions.

    The evaluation draws nothing.
    """
    parts = []
    for step, actor in zip(evaluation.snapshots.steps, evaluation.snapshots.policies, strict=True):
        outcome = exact(actor)
        parts.append(table("curve", step, mean_quantities(outcome)))
    mode = mean_quantities(exact(actor, mode=True), "_mode")
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
