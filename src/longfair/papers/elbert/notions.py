"""ELBERT's appendices on lending: other notions of fairness, and demand that must not shrink.

The paper describes both and runs neither. A notion is a pair of supply and demand per group:

==================  ================================  ==========================
notion              supply counts                     demand counts
==================  ================================  ==========================
``true-positive``   accepted and would repay          would repay
``false-positive``  accepted and would not repay      would not repay
``acceptance``      accepted                          everybody
``accuracy``        decided as the outcome shows      everybody
==================  ================================  ==========================

Equal opportunity asks for equal true positive rates, equalised odds for equal false positive rates
as well, demographic parity for equal acceptance rates. Discovery probability in attention
allocation is equal opportunity, where every incident is a positive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from longfair.agents.evaluation import EpisodeTotals
from longfair.agents.ppo.demand_regularised import DemandRegularisedPO
from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.equalised_odds import SeveralNotionsPO
from longfair.agents.ppo.strategy import Strategy
from longfair.envs.sb3 import BatchInfos, BatchVecEnv
from longfair.papers.elbert import lending, lending_world, training
from longfair.papers.elbert.ablations import (
    SEEDS,
    evaluated_on_training_length,
    experiment,
    lending_settings,
)
from longfair.papers.elbert.measures import measured
from longfair.papers.elbert.training import TrainedConfig, World

GROUPS = 2
SCORES = 7

NOTIONS = ("true-positive", "false-positive", "acceptance", "accuracy")
"""In the order in which `AllNotions` gives them."""

ASPIRATIONS: Mapping[str, tuple[str, ...]] = {
    "equal-opportunity": ("true-positive",),
    "equalised-odds": ("true-positive", "false-positive"),
    "demographic-parity": ("acceptance",),
    "accuracy-parity": ("accuracy",),
}
"""Notions of the paper's Appendix A, and the rates that they want to be equal."""


@dataclass(frozen=True)
class NotionConfig:
    """One method that learns towards some notions, and is evaluated under all of them."""

    training: TrainedConfig
    notions: tuple[str, ...]


class AllNotions(VectorWrapper[Any, Any, Any, Any]):
    """Give supply and demand of lending under all notions: four times as many groups.

    Parameters
    ----------
    env
        A batch of `longfair/Lending-v0`, whose observation begins with score and group.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        self._member: NDArray[Any] = np.zeros((env.num_envs, GROUPS))

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start episodes."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._meet(observation, info)
        return observation, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Decide on one applicant in every copy; supply and demand have shape (N, 8)."""
        member, accepted = self._member, np.asarray(actions)[:, None]
        observation, reward, terminated, truncated, info = self.env.step(actions)
        repays = info["demand"].sum(axis=1, keepdims=True)
        demand = [member * repays, member * (1.0 - repays), member, member]
        right = accepted * repays + (1.0 - accepted) * (1.0 - repays)
        supply = [demand[0] * accepted, demand[1] * accepted, member * accepted, member * right]
        info["demand"] = np.concatenate(demand, axis=1)
        info["supply"] = np.concatenate(supply, axis=1)
        self._meet(observation, info)
        return observation, reward, terminated, truncated, info

    def _meet(self, observation: Any, info: dict[str, Any]) -> None:
        """Note the group of the applicant to be decided on next."""
        self._member = observation[:, SCORES : SCORES + GROUPS].astype(np.float64)
        info["group_state"] = np.tile(info["group_state"], (1, len(NOTIONS), 1))


class SomeNotions(BatchVecEnv):
    """Let Stable-Baselines3 train on some of all notions.

    Parameters
    ----------
    env
        A batch of `AllNotions`.
    notions
        The notions to keep, in this order.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], notions: tuple[str, ...]) -> None:
        super().__init__(env)
        places = np.concatenate([own_columns(notion) for notion in notions])
        self._columns: NDArray[np.int64] = places

    def step_wait(self) -> VecEnvStepReturn:
        """Take one step in every copy."""
        observation, reward, done, infos = super().step_wait()
        assert isinstance(infos, BatchInfos)
        for key in ("supply", "demand"):
            infos.arrays[key] = infos.arrays[key][:, self._columns]
        return observation, reward, done, infos

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute; a pair of supply and demand counts as a group."""
        if attr_name == "num_groups":
            return [len(self._columns) for _ in self._get_indices(indices)]
        return super().get_attr(attr_name, indices)


def own_columns(notion: str) -> NDArray[np.int64]:
    """Return the columns of a notion in the supply and demand of `AllNotions`."""
    return NOTIONS.index(notion) * GROUPS + np.arange(GROUPS)


def measured_by_notion(totals: EpisodeTotals, phase: str, step: int) -> pd.DataFrame:
    """Return the reward, and rates and biases of every notion, as rows of a result table.

    The metrics of a notion are those of `measured` with its name in front, such as
    `acceptance_bias`.
    """
    frames = []
    for notion in NOTIONS:
        columns = own_columns(notion)
        part = totals._replace(supply=totals.supply[:, columns], demand=totals.demand[:, columns])
        frame = measured(part, phase, step)
        shared = frame["metric"] == "reward"
        named = frame["metric"].where(shared, f"{notion.replace('-', '_')}_" + frame["metric"])
        frames.append(frame.assign(metric=named)[~shared | (notion == NOTIONS[0])])
    return pd.concat(frames, ignore_index=True)


def train_and_evaluate(config: NotionConfig, seed: int) -> pd.DataFrame:
    """Train towards some notions and evaluate all; see `longfair.papers.elbert.training`."""
    world = World(
        partial(_observed_batch, config.training.preset),
        measure=measured_by_notion,
        adapt=partial(SomeNotions, notions=config.notions),
    )
    return training.train_and_evaluate(config.training, seed, world)


def _observed_batch(preset: str, copies: int, episode_length: int) -> VectorEnv[Any, Any, Any]:
    return AllNotions(lending_world.lending_world(preset).make(copies, episode_length))


DEMAND_WEIGHTS = (0, 1, 10, 100)
"""Weights of the disadvantaged group's demand; the paper gives none."""


def over_notions(profile: str) -> dict[str, tuple[NotionConfig, str]]:
    """Return plain PPO, and ELBERT-PO towards each of the paper's notions.

    Each is evaluated on long episodes as in the main experiment, and with `-short` behind its name
    on episodes as short as those of its training.
    """
    plain = NotionConfig(lending_settings(profile, Strategy()), ("true-positive",))
    found = {"g-ppo": (plain, "PPO on the reward")}
    for aspiration, notions in ASPIRATIONS.items():
        strategy = SeveralNotionsPO(
            alpha=lending.ALPHA, standardise="signals", notions=len(notions)
        )
        found[f"elbert-po-{aspiration}"] = (
            NotionConfig(lending_settings(profile, strategy), notions),
            f"ELBERT-PO towards {aspiration.replace('-', ' ')}",
        )
    short = {
        f"{method}-short": (
            replace(config, training=evaluated_on_training_length(config.training)),
            description,
        )
        for method, (config, description) in found.items()
    }
    return found | short


def over_demand_weight(profile: str) -> dict[str, tuple[TrainedConfig, str]]:
    """Return ELBERT-PO with several weights of the disadvantaged group's demand."""
    coded = ElbertPO.as_coded(lending.ALPHA)
    return {
        f"elbert-po-demand-{weight}": (
            lending_settings(
                profile,
                DemandRegularisedPO(
                    alpha=coded.alpha,
                    standardise=coded.standardise,
                    discounted_totals=coded.discounted_totals,
                    demand_weight=float(weight),
                ),
            ),
            f"ELBERT-PO that values the demand of group 1 by {weight}",
        )
        for weight in DEMAND_WEIGHTS
    }


EXTENSIONS = (
    experiment(
        "notions-lending",
        "Lending under four notions of fairness, each learned and all evaluated",
        train_and_evaluate,
        over_notions,
        SEEDS,
    ),
    experiment(
        "demand-lending",
        "Lending where the demand of the disadvantaged group is worth something",
        lending_world.train_and_evaluate,
        over_demand_weight,
        SEEDS,
    ),
)
"""What the paper describes in its Appendices A and E."""
