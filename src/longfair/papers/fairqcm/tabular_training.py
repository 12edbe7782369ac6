"""Training of FairQCM's tabular agents."""

from __future__ import annotations

from longfair.agents.fairqcm.q_learning import TabularQLearning
from longfair.arrays import FloatArray
from longfair.papers.fairqcm.tabular_acting import acting
from longfair.papers.protocol import Snapshots, two_seeds
from longfair.papers.setting import Setting


def train_evaluated(setting: Setting, seed: int, run: int) -> Snapshots:
    """Train, and play one greedy episode after each training episode.

    Parameters
    ----------
    setting
        What to run: the method is a `longfair.agents.fairqcm.presets.QLearningSettings`, the
        learning a `longfair.papers.fairqcm.tabular.EvaluatedLearning`.
    seed
        Seed of agent and training episodes.
    run
        Number of the run, from which the evaluation's seed follows. It is the same for every
        method, so that methods meet the same people and can be compared in pairs.

    Returns
    -------
    Snapshots
        The last table; `policies` holds the `EpisodeScores` of the greedy episodes.
    """
    agent = TabularQLearning(setting.world.make(1), setting.method, seed)
    _, evaluation = two_seeds(run)
    scores = agent.learn_evaluated(setting.learning.episodes, evaluation)
    act = acting(setting, [agent.values])
    return Snapshots([agent.num_timesteps], act, [scores], agent.learned())


def train_checked(setting: Setting, seed: int) -> Snapshots:
    """Train, and keep a copy of the table at every checkpoint.

    Parameters
    ----------
    setting
        What to run: the method is a `longfair.agents.fairqcm.presets.QLearningSettings`, the
        learning a `longfair.papers.fairqcm.tabular.CheckedLearning`.
    seed
        Seed of agent and training episodes.

    Returns
    -------
    Snapshots
        `policies` holds the tables, see `TabularQLearning.values`.
    """
    agent = TabularQLearning(setting.world.make(1), setting.method, seed)
    steps: list[int] = []
    tables: list[FloatArray] = []
    for episodes in setting.learning.checkpoints:
        agent.learn(episodes * agent.problem.length - agent.num_timesteps)
        steps.append(agent.num_timesteps)
        tables.append(agent.values.copy())
    return Snapshots(steps, acting(setting, tables), tables, agent.learned())
