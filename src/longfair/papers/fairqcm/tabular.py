"""FairQCM's tabular doughnuts: what is run, with which settings, and what is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from longfair.agents.evaluation import acting
from longfair.agents.fairqcm.presets import QLearningSettings
from longfair.agents.fairqcm.q_learning import EpisodeScores, TabularQLearning
from longfair.agents.finite import FiniteHorizonSolution, FiniteProblem
from longfair.agents.policies import (
    AllocationPolicy,
    AnybodyAtRandom,
    LeastServedThere,
    Rotation,
    SomebodyThereAtRandom,
)
from longfair.envs.doughnut import DoughnutParams
from longfair.envs.doughnut import tabular as written_out
from longfair.envs.tabular import TabularModel
from longfair.papers.protocol import two_seeds
from longfair.runs.experiment import Arm, Experiment, protocol

FloatArray = NDArray[np.float64]

ALL_GROUPS = -1
LAST_EPISODES = 100
"""Evaluation episodes at the end of training over which a final value is a mean."""
GOAL = 36.0
"""The return that `episodes_to_36` waits for, about 96 % of what is possible."""

# Learning curves --------------------------------------------------------------------------------


@dataclass(frozen=True)
class LearnerConfig:
    """One tabular agent on the paper's problem of 3 people and 12 doughnuts."""

    settings: QLearningSettings
    smoothing: float
    """Inside the logarithm of the reward, see `DoughnutParams`."""
    episodes: int = 100_000
    bin_episodes: int = 1000
    """Evaluation episodes that one point of the learning curve is the mean of."""

    def shortened(self) -> LearnerConfig:
        """Return the same for a few episodes."""
        return replace(self, episodes=400, bin_episodes=100)


@dataclass(frozen=True)
class ReferenceConfig:
    """One policy that learns nothing."""

    policy: str
    episodes: int = 10_000

    def shortened(self) -> ReferenceConfig:
        """Return the same for a few episodes."""
        return replace(self, episodes=200)


@protocol("tabular-learner")
def learn_and_measure(config: LearnerConfig, seed: int) -> pd.DataFrame:
    """Train an agent and play one greedy episode after each training episode.

    Parameters
    ----------
    config
        What to run.
    seed
        Number of the run. Training and evaluation draw from disjoint streams made from it, the
        same for every method, so that methods meet the same people and can be compared in pairs.

    Returns
    -------
    pandas.DataFrame
        The result table. Curves are means of `bin_episodes` evaluation episodes, at the number of
        doughnuts handed out in training by then.
    """
    training, evaluation = two_seeds(seed)
    params = replace(DoughnutParams.tabular(), smoothing=config.smoothing)
    agent = TabularQLearning(_batch(1, params), config.settings, training)
    scores = agent.learn_evaluated(config.episodes, evaluation)
    curve = _binned(_series(scores, params), config.bin_episodes)
    steps = (np.arange(len(curve["return"])) + 1) * config.bin_episodes * params.episode_length
    frames = [
        pd.DataFrame({"phase": "curve", "step": steps, "metric": metric, "value": values})
        for metric, values in curve.items()
    ]
    frames.append(_final_rows(scores, params, curve["return"], config.bin_episodes))
    return pd.concat(frames, ignore_index=True).assign(group=ALL_GROUPS)


@protocol("tabular-reference")
def play_reference(config: ReferenceConfig, seed: int) -> pd.DataFrame:
    """Play a policy that learns nothing; its curve would be flat, so it has final values only."""
    training, evaluation = two_seeds(seed)
    params = DoughnutParams.tabular()
    env = _batch(config.episodes, params)
    scores = _play(reference_policy(config.policy, training), env, evaluation)
    final = {metric: float(values.mean()) for metric, values in _series(scores, params).items()}
    final["return_all"] = final["return"]
    final["allocated_first_100"] = final["allocated"]
    rows = pd.DataFrame({"metric": list(final), "value": list(final.values())})
    return rows.assign(phase="final", step=0, group=ALL_GROUPS)


def reference_policy(name: str, seed: int) -> AllocationPolicy:
    """Return the reference policy of that name for the paper's three people."""
    people = len(DoughnutParams.tabular().presence_probability)
    if name == "oracle":
        return LeastServedThere(people)
    if name == "rotation":
        return Rotation(people)
    chosen = {"random": AnybodyAtRandom, "random-present": SomebodyThereAtRandom}[name]
    return chosen(people, seed)


def _play(policy: AllocationPolicy, env: VectorEnv[Any, Any, Any], seed: int) -> EpisodeScores:
    """Play one episode in every copy."""
    act = acting(policy)
    scores = EpisodeScores(*np.zeros((3, env.num_envs)))
    observation, info = env.reset(seed=seed)
    counts = np.zeros(info["group_state"].shape[:2])
    ended = False
    while not ended:
        observation, reward, _, truncated, info = env.step(act(observation, info))
        counts += info["supply"]
        scores.reward[:] += reward
        scores.welfare[:] += np.log(counts + 1).sum(axis=1)
        scores.allocated[:] += ~info["wasted"]
        ended = bool(truncated.all())  # all episodes are equally long
    return scores


def _series(scores: EpisodeScores, params: DoughnutParams) -> dict[str, FloatArray]:
    """Return the four series that are reported, one value per evaluation episode."""
    return {
        "return": scores.reward,
        "welfare": scores.welfare,
        "allocated": scores.allocated,
        "invalid": params.episode_length - scores.allocated,
    }


def _binned(series: Mapping[str, FloatArray], size: int) -> dict[str, FloatArray]:
    return {name: values.reshape(-1, size).mean(axis=1) for name, values in series.items()}


def _final_rows(
    scores: EpisodeScores, params: DoughnutParams, returns: FloatArray, bin_episodes: int
) -> pd.DataFrame:
    episodes = len(scores.reward)
    last = {
        metric: float(values[-LAST_EPISODES:].mean())
        for metric, values in _series(scores, params).items()
    }
    reached = np.flatnonzero(returns >= GOAL)
    last |= {
        "return_all": float(scores.reward.mean()),
        "allocated_first_100": float(scores.allocated[:100].mean()),
        "episodes_to_36": (reached[0] + 1) * bin_episodes if len(reached) else episodes + 1,
    }
    return pd.DataFrame(
        {
            "phase": "final",
            "step": episodes * params.episode_length,
            "metric": list(last),
            "value": np.array(list(last.values()), dtype=np.float64),
        }
    )


# Convergence to the exact action values ---------------------------------------------------------


@dataclass(frozen=True)
class ConvergenceConfig:
    """One agent on a small problem whose exact action values are known."""

    settings: QLearningSettings
    presence_probability: tuple[float, ...] = (0.8, 0.8)
    episode_length: int = 4
    checkpoints: tuple[int, ...] = (
        100,
        300,
        1_000,
        3_000,
        10_000,
        30_000,
        100_000,
        300_000,
        1_000_000,
    )
    """Training episodes after which the table is compared, in rising order."""

    def shortened(self) -> ConvergenceConfig:
        """Return the same up to the second comparison."""
        return replace(self, checkpoints=self.checkpoints[:2])


@protocol("tabular-convergence")
def converge(config: ConvergenceConfig, seed: int) -> pd.DataFrame:
    """Train an agent and compare its table with the exact action values along the way.

    Returns
    -------
    pandas.DataFrame
        The result table, as curve and for the last checkpoint as final: `relative_distance` is the
        largest absolute difference over all reachable states, memories and actions, divided by the
        largest exact action value; `mean_distance` is the mean difference, divided likewise;
        `relative_loss` is the share of the best value that the greedy policy does not reach.
    """
    training, _ = two_seeds(seed)
    params = DoughnutParams(config.presence_probability, config.episode_length, smoothing=0.0)
    exact = ExactValues(params, config.settings.discount)
    agent = TabularQLearning(_batch(1, params), config.settings, training)
    rows: list[tuple[int, str, float]] = []
    for episodes in config.checkpoints:
        agent.learn(episodes * params.episode_length - agent.num_timesteps)
        distances = exact.distances(agent.values)
        rows += [(agent.num_timesteps, name, value) for name, value in distances.items()]
    curve = pd.DataFrame(rows, columns=["step", "metric", "value"]).assign(phase="curve")
    final = curve[curve["step"] == agent.num_timesteps].assign(phase="final")
    return pd.concat([curve, final], ignore_index=True).assign(group=ALL_GROUPS)


class ExactValues:
    """Exact optimal action values of a doughnut problem, and how far a table is from them.

    Parameters
    ----------
    params
        A small problem.
    discount
        Discount of the learner.
    """

    def __init__(self, params: DoughnutParams, discount: float) -> None:
        self.model: TabularModel = written_out(params=params)
        self.discount = discount
        self.problem = FiniteProblem.of_face(self.model)
        self.solution: FiniteHorizonSolution = self.problem.backward_induction(
            self.model.horizon, discount
        )
        people = len(params.presence_probability)
        present, counts = self.model.states[:, :people], self.model.states[:, people:]
        self._presence = present @ 2 ** np.arange(people)
        self._memory = counts @ (params.episode_length + 1) ** np.arange(people)
        # After t doughnuts nobody can have had more than t together, and every way is possible.
        self.reachable = counts.sum(axis=1) <= np.arange(self.model.horizon)[:, None]
        self._best = self._start(self.solution.values[0])

    def learned(self, values: FloatArray) -> FloatArray:
        """Lay out a learner's table as the exact solver does, (H, S, A)."""
        layers = np.minimum(np.arange(self.model.horizon), len(values) - 1)
        learned: FloatArray = values[layers[:, None], self._presence, self._memory]
        return learned

    def distances(self, values: FloatArray) -> dict[str, float]:
        """Compare a learner's table `TabularQLearning.values` with the exact action values."""
        learned, exact = self.learned(values), self.solution.action_values
        difference = np.abs(learned - exact)[self.reachable]
        scale = exact[self.reachable].max()
        return {
            "relative_distance": float(difference.max() / scale),
            "mean_distance": float(difference.mean() / scale),
            "relative_loss": 1.0 - self.value_of(learned) / self._best,
        }

    def value_of(self, learned: FloatArray) -> float:
        """Return the exact value of choosing the largest of learned values (H, S, A)."""
        policy = np.eye(learned.shape[2])[learned.argmax(axis=2)]
        values = self.problem.policy_values(policy, self.model.horizon, self.discount)
        return self._start(values[0])

    def _start(self, values: FloatArray) -> float:
        return float(self.model.initial_distribution @ values)


def _batch(copies: int, params: DoughnutParams) -> VectorEnv[Any, Any, Any]:
    return gymnasium.make_vec("longfair/Doughnut-v0", num_envs=copies, params=params)


# What is run ------------------------------------------------------------------------------------

SMOOTHING = {"as_coded": 1e-4, "as_published": 0.0}
"""Inside the logarithm of the reward, in the authors' code and in the paper."""

FULL = QLearningSettings()
FAIRQCM = QLearningSettings(imagine=True)
PUBLISHED: dict[str, tuple[QLearningSettings, str]] = {
    "full": (FULL, "remembers what everybody has had"),
    "min": (QLearningSettings(memory="min"), "remembers by how much everybody is ahead"),
    "reset": (QLearningSettings(memory="reset"), "remembers since all had last had the same"),
    "fairqcm": (FAIRQCM, "as Full, and learns from imagined memories too"),
}
"""The paper's tabular agents."""

CODED = FAIRQCM.as_coded()
CHANGES: dict[tuple[str, str], tuple[QLearningSettings, float, str]] = {
    ("fairqcm", "true_update"): (
        replace(CODED, waste_counts=False),
        SMOOTHING["as_coded"],
        "as coded, but a wasted doughnut is counted by nobody",
    ),
    ("fairqcm", "without_real"): (
        replace(CODED, imagine_real=False),
        SMOOTHING["as_coded"],
        "as coded, but the real memory is not imagined once more",
    ),
    ("fairqcm", "decay_every_visit"): (
        replace(CODED, decay_at_every_visit=True),
        SMOOTHING["as_coded"],
        "as coded, but exploration decays at every visit",
    ),
    ("fairqcm", "without_smoothing"): (
        CODED,
        SMOOTHING["as_published"],
        "as coded, but without smoothing in the reward",
    ),
    ("fairqcm", "end_masked"): (
        replace(FAIRQCM, stop_at_end=True),
        SMOOTHING["as_published"],
        "as published, and the last step of an episode learns its reward alone",
    ),
    ("fairqcm", "with_time"): (
        replace(FAIRQCM, time=True),
        SMOOTHING["as_published"],
        "as published, and the memory holds how many doughnuts were handed out",
    ),
    ("fairqcm", "coded_with_time"): (
        replace(CODED, time=True),
        SMOOTHING["as_coded"],
        "as coded, and the memory holds how many doughnuts were handed out",
    ),
    ("full", "with_time"): (
        replace(FULL, time=True),
        SMOOTHING["as_published"],
        "as published, and the memory holds how many doughnuts were handed out",
    ),
    ("full", "repeated"): (
        replace(FULL.as_coded(), repeats=9),
        SMOOTHING["as_coded"],
        "as coded, but learns every step nine times, so as often as FairQCM",
    ),
}
"""One thing changed at a time, to see what it does; neither the paper's nor the code's."""

REFERENCE_POLICIES = {
    "oracle": "serves whoever is there and has had least",
    "rotation": "takes turns and skips whoever is not there",
    "random-present": "serves anybody who is there",
    "random": "chooses anybody, there or not",
}
"""Policies that learn nothing; the paper draws the first and the last."""

SIZES = {"book": (100_000, 1000, 10_000), "smoke": (2_000, 50, 500)}
"""Training episodes, episodes per point of the curve, and episodes of reference policies.

There is no profile `paper`: the code trains for 50,000 episodes and the paper for 100,000 steps,
and both are the beginning of a run of the profile `book`, which is why it counts as theirs.
"""


def _arms(profile: str) -> tuple[Arm, ...]:
    episodes, bin_episodes, reference_episodes = SIZES[profile]
    learners = {
        (method, variant): (
            settings.as_coded() if variant == "as_coded" else settings,
            SMOOTHING[variant],
            description,
        )
        for variant in SMOOTHING
        for method, (settings, description) in PUBLISHED.items()
    } | CHANGES
    learned = [
        Arm(
            method,
            variant,
            LearnerConfig(settings, smoothing, episodes, bin_episodes),
            learn_and_measure,
            description,
        )
        for (method, variant), (settings, smoothing, description) in learners.items()
    ]
    reference = [
        Arm(
            policy,
            "reference",
            ReferenceConfig(policy, reference_episodes),
            play_reference,
            description,
        )
        for policy, description in REFERENCE_POLICIES.items()
    ]
    return (*learned, *reference)


TABULAR = Experiment(
    id="fairqcm/tabular",
    title="Doughnuts for three people, with tables of action values",
    arms={profile: _arms(profile) for profile in SIZES},
    seeds={"smoke": 2, "book": 30},
    horizon={
        profile: episodes * DoughnutParams.tabular().episode_length
        for profile, (episodes, _, _) in SIZES.items()
    },
    authors="book",
)

PREMISES = replace(FAIRQCM, time=True, step_size=0.9, step_size_decay=0.75)
"""What Theorem 5.7 asks for: true updates of the memory, steps c / n^0.75 below 1, and a reward
and an end of the episode that state and memory tell."""

CONVERGENCE_ARMS: dict[tuple[str, str], tuple[QLearningSettings, str]] = {
    ("fairqcm", "as_published"): (PREMISES, "all premises of the theorem"),
    ("full", "as_published"): (
        replace(PREMISES, imagine=False),
        "the same without imagined memories",
    ),
    ("fairqcm", "constant_step"): (
        replace(PREMISES, step_size=0.1, step_size_decay=0.0),
        "the authors' constant step size",
    ),
    ("fairqcm", "coded_update"): (
        replace(PREMISES, waste_counts=True),
        "imagined memories count wasted doughnuts, as coded",
    ),
    ("fairqcm", "without_time"): (
        replace(PREMISES, time=False, stop_at_end=True),
        "the end of the episode is not to be seen",
    ),
}
"""The premises of the theorem, and one premise broken at a time."""

CHECKPOINTS = {
    "book": ConvergenceConfig(PREMISES).checkpoints,
    "smoke": (100, 300, 1_000),
}

CONVERGENCE = Experiment(
    id="fairqcm/convergence",
    title="Tables of action values against the exact ones: 2 people, 4 doughnuts",
    arms={
        profile: tuple(
            Arm(
                method,
                variant,
                ConvergenceConfig(settings, checkpoints=checkpoints),
                converge,
                description,
            )
            for (method, variant), (settings, description) in CONVERGENCE_ARMS.items()
        )
        for profile, checkpoints in CHECKPOINTS.items()
    },
    seeds={"smoke": 2, "book": 10},
    horizon={
        profile: checkpoints[-1] * ConvergenceConfig(PREMISES).episode_length
        for profile, checkpoints in CHECKPOINTS.items()
    },
)

EXPERIMENTS = (TABULAR, CONVERGENCE)
