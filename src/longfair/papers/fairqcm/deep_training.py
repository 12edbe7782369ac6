"""Training of FairQCM's deep agents, with a snapshot at the end of every training episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longfair.agents.fairqcm.counterfactuals import (
    Counterfactuals,
    DoughnutCounterfactuals,
    LoanCounterfactuals,
)
from longfair.agents.fairqcm.deep_q_learning import DeepQLearning, GreedyPolicy
from longfair.agents.fairqcm.dqn import FairDQN
from longfair.agents.fairqcm.ledger_dqn import LedgerDQN
from longfair.agents.fairqcm.ledgers import DoughnutLedger, Ledger, LoanLedger
from longfair.agents.fairqcm.presets import RUNS_OF_A_SCRIPT
from longfair.agents.fairqcm.recurrent import RecurrentDQN
from longfair.agents.fairqcm.replay import Imagination
from longfair.agents.fairqcm.weight_search import LinearRule, LinearSearch
from longfair.envs.memory import AllocationMemory
from longfair.papers.protocol import Act, Snapshots, side_by_side
from longfair.papers.setting import Setting

LEDGERS: dict[str, Ledger] = {
    "longfair/Doughnut-v0": DoughnutLedger(),
    "longfair/LoanPool-v0": LoanLedger(),
}
"""By environment."""


def train(setting: Setting, seed: int, run: int) -> Snapshots:
    """Train, and keep the greedy policy at the end of every training episode.

    Parameters
    ----------
    setting
        What to run: the method is `longfair.papers.fairqcm.deep.DeepQ`.
    seed
        Seed of networks, agent and environment.
    run
        Number of the run, from which an exploration rate that carries over follows.
    """
    agent = learner(setting, run, seed % 2**31)
    kept = PolicyOfEveryEpisode(setting.method.switches.evaluated)
    length = setting.episode_length or 0
    agent.learn(setting.learning.episodes * length, callback=kept)
    policies = [kept.policies[number] for number in kept.of_episode]
    return snapshots(policies, length, agent.learned())


def train_ledger(setting: Setting, seed: int) -> Snapshots:
    """Train an agent with a ledger, and keep the policy whenever all copies end an episode.

    Parameters
    ----------
    setting
        What to run: the method is a `longfair.agents.fairqcm.presets.Recipe`.
    seed
        Seed of networks, agent and environment.
    """
    learning, length = setting.learning, setting.episode_length or 0
    ledger = LEDGERS[setting.world.environment]
    env = setting.world.make(learning.copies)
    agent = LedgerDQN(env, ledger, setting.method, seed=seed % 2**31)
    policies: list[GreedyPolicy] = []

    def keep(agent: LedgerDQN) -> None:
        policies.append(agent.greedy_policy())

    agent.learn(learning.episodes * length, keep)
    return snapshots(policies, length * learning.copies, agent.learned())


def search_weights(setting: Setting, seed: int) -> Snapshots:
    """Search for the weights of a linear rule, and keep the rule after every round.

    Parameters
    ----------
    setting
        What to run: the method is a `longfair.agents.fairqcm.presets.WeightSearch`.
    seed
        Seed of candidates and environment.
    """
    search, length = setting.method, setting.episode_length or 0
    together = search.candidates * search.episodes
    env, ledger = setting.world.make(together), LEDGERS[setting.world.environment]
    rules: list[LinearRule] = []
    LinearSearch(env, ledger, search, seed % 2**31).learn(
        setting.learning.episodes * length, lambda agent: rules.append(agent.greedy_policy())
    )
    return snapshots(rules, length * together, [rule.weights for rule in rules])


def snapshots(
    policies: Sequence[GreedyPolicy | LinearRule], steps: int, learned: Sequence[NDArray[Any]]
) -> Snapshots:
    """Return policies that were kept every so many steps, and what training ended with."""

    def act(which: Sequence[int], episodes: int, seed: int | None) -> Act:
        return side_by_side([policies[number] for number in which], episodes)

    kept_at = [steps * (number + 1) for number in range(len(policies))]
    return Snapshots(kept_at, act, policies, learned)


def memory_of(env: Any) -> AllocationMemory | None:
    """Return the memory among the wrappers of an environment, if there is one."""
    while not isinstance(env, AllocationMemory):
        if not hasattr(env, "env"):
            return None
        env = env.env
    return env


def counterfactuals(setting: Setting) -> Counterfactuals:
    """Return which memories are imagined in a problem."""
    switches, length = setting.method.switches, setting.episode_length or 0
    if setting.world.environment == "longfair/Doughnut-v0":
        return DoughnutCounterfactuals(length, switches.always_received)
    return LoanCounterfactuals(length, switches.always_received, gap_before=switches.gap_before)


def learner(setting: Setting, run: int, seed: int) -> FairDQN:
    """Make the agent.

    Parameters
    ----------
    setting
        What to run.
    run
        Number of the run, from which an exploration rate that carries over follows. After as many
        as the authors' script plays, the script begins again.
    seed
        Seed of networks, agent and environment.
    """
    env = setting.world.make(1)
    memory = memory_of(env)
    learning, switches = setting.learning.settings, setting.method.switches
    exploration = learning.exploration
    if switches.exploration_carries_over:
        earlier = run % RUNS_OF_A_SCRIPT
        exploration = exploration.after_runs(earlier, setting.learning.episodes)
    settings: dict[str, Any] = {
        "learning": learning,
        "exploration": exploration,
        "terminal_mask": switches.terminal_mask,
        "seed": seed,
    }
    if memory is None:
        training, width = switches.recurrent_training, switches.recurrent_width
        return RecurrentDQN(env, training=training, width=width, **settings)
    imagination = None
    if setting.method.counterfactual:
        columns = memory.env.single_observation_space, memory.single_observation_space
        first, last = (space.shape[0] for space in columns)  # type: ignore[index]  # flat boxes
        imagination = Imagination(counterfactuals(setting), memory, (first, last))
    return FairDQN(env, imagination=imagination, **settings)


class PolicyOfEveryEpisode:
    """Keep the greedy policy at the end of every training episode.

    The target network changes every few episodes only, so each of its versions is kept once.

    Parameters
    ----------
    network
        `"target"` or `"online"`.

    Attributes
    ----------
    policies
        The different policies, in order.
    of_episode
        For every episode, which of them was the last.
    """

    def __init__(self, network: str = "target") -> None:
        self.network = network
        self.policies: list[GreedyPolicy] = []
        self.of_episode: list[int] = []
        self._vector: Any = None

    def __call__(self, agent: DeepQLearning) -> None:
        """Keep the policy at the end of an episode."""
        network = getattr(agent, self.network)
        if self._vector is None or not np.array_equal(self._vector, network.vector):
            self._vector = network.vector.copy()
            self.policies.append(agent.greedy_policy(self.network))
        self.of_episode.append(len(self.policies) - 1)
