"""The deep experiments of FairQCM: what is run, with which settings, and what is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pandas as pd
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from longfair.agents.evaluation import Act, acting
from longfair.agents.fairqcm.counterfactuals import (
    Counterfactuals,
    DoughnutCounterfactuals,
    LoanCounterfactuals,
)
from longfair.agents.fairqcm.deep_q_learning import DeepQLearning, GreedyPolicy
from longfair.agents.fairqcm.dqn import FairDQN
from longfair.agents.fairqcm.presets import LEARNING, Learning, Switches
from longfair.agents.fairqcm.recurrent import RecurrentDQN
from longfair.agents.fairqcm.replay import Imagination
from longfair.agents.policies import (
    AnybodyAtRandom,
    LaggingGroupBestCredit,
    LeastServedThere,
    Rotation,
    SomebodyThereAtRandom,
)
from longfair.envs.doughnut import DoughnutParams
from longfair.envs.elapsed import ElapsedTime
from longfair.envs.loan_pool import LoanPoolParams
from longfair.envs.loan_pool.exact import OptimalLender
from longfair.envs.memory import AllocationMemory, FullMemory, MinMemory, ResetMemory
from longfair.runs.experiment import Arm, Experiment

FloatArray = NDArray[np.float64]
Batch = VectorEnv[Any, Any, Any]


@dataclass(frozen=True)
class LearnerConfig:
    """One deep learner on one problem."""

    problem: str
    """`"doughnuts"`, `"lending"` or `"lending-continuous"`."""
    memory: str
    """`"full"`, `"min"`, `"reset"`, or `"none"` for the recurrent agent."""
    counterfactual: bool = False
    """Whether memories that did not occur are learned from: FairQCM."""
    switches: Switches = field(default_factory=Switches)
    learning: Learning = field(default_factory=Learning)
    episodes: int = 1000
    """Training episodes, each followed by one greedy evaluation episode."""


@dataclass(frozen=True)
class ReferenceConfig:
    """One policy that needs no training."""

    problem: str
    policy: str
    episodes: int = 1000


LAST_EPISODES = 200
"""Episodes on which the last policy is evaluated once more, beyond what the authors do."""


def train_and_evaluate(config: LearnerConfig, seed: int) -> pd.DataFrame:
    """Train an agent and play a greedy episode with what it knew after each training episode.

    Parameters
    ----------
    config
        What to run.
    seed
        Number of the run. Training and evaluation draw from disjoint streams made from it, the
        same for every method. The authors share one stream, so that their evaluation changes their
        training.

    Returns
    -------
    pandas.DataFrame
        The result table; see `measured`.
    """
    training, evaluation = (int(s) for s in np.random.SeedSequence(seed).generate_state(2))
    model = learner(config, seed, training % 2**31)
    policies = PolicyOfEveryEpisode(config.switches.evaluated)
    model.learn(config.episodes * episode_length(config.problem), callback=policies)
    curve = play_greedily(policies, config, _stream(evaluation, 1))
    last = PolicyOfEveryEpisode.of_one(policies.policies[-1], LAST_EPISODES)
    return measured(curve, play_greedily(last, config, _stream(evaluation, 2)))


def evaluate_reference(config: ReferenceConfig, seed: int) -> pd.DataFrame:
    """Evaluate a policy that needs no training, on the episodes the learned ones get."""
    _, evaluation = (int(s) for s in np.random.SeedSequence(seed).generate_state(2))
    policy = REFERENCE_POLICIES[config.problem][config.policy]
    env = make_problem(config.problem, config.episodes)
    curve = play(acting(policy.make(_stream(evaluation, 3))), env, _stream(evaluation, 1))
    env = make_problem(config.problem, LAST_EPISODES)
    last = play(acting(policy.make(_stream(evaluation, 4))), env, _stream(evaluation, 2))
    return measured(curve, last)


def _stream(seed: int, index: int) -> int:
    """Return an independent seed of at most 32 bits."""
    return int(np.random.SeedSequence((seed, index)).generate_state(1)[0])


# Problems and learners --------------------------------------------------------------------------


def episode_length(problem: str) -> int:
    """Return the steps of an episode."""
    return 100 if problem == "doughnuts" else 40


def make_problem(problem: str, copies: int, smoothing: float = 1e-4) -> Batch:
    """Make copies of a problem, as it is without any memory."""
    if problem == "doughnuts":
        params: Any = replace(DoughnutParams.deep(), smoothing=smoothing)
        return gymnasium.make_vec("longfair/Doughnut-v0", num_envs=copies, params=params)
    preset = "continuous" if problem == "lending-continuous" else "discrete"
    params = getattr(LoanPoolParams, preset)()
    return gymnasium.make_vec("longfair/LoanPool-v0", num_envs=copies, params=params)


MEMORIES: Mapping[str, type[AllocationMemory]] = {
    "full": FullMemory,
    "min": MinMemory,
    "reset": ResetMemory,
}


def observed(config: LearnerConfig, copies: int) -> tuple[Batch, AllocationMemory | None]:
    """Compose what an agent sees; return it and the memory in it, if there is one."""
    env = make_problem(config.problem, copies, config.switches.smoothing)
    memory = None
    if config.memory != "none":
        env = memory = MEMORIES[config.memory](env)
    if config.switches.time_observed:
        env = ElapsedTime(env)
    return env, memory


def counterfactuals(config: LearnerConfig) -> Counterfactuals:
    """Return which memories are imagined in a problem."""
    switches, length = config.switches, episode_length(config.problem)
    if config.problem == "doughnuts":
        return DoughnutCounterfactuals(length, switches.always_received)
    return LoanCounterfactuals(length, switches.always_received, gap_before=switches.gap_before)


def learner(config: LearnerConfig, run: int, seed: int) -> FairDQN:
    """Make the agent.

    Parameters
    ----------
    config
        Problem, method and settings.
    run
        Number of the run, from which an exploration rate that carries over follows.
    seed
        Seed of networks, agent and environment.
    """
    env, memory = observed(config, 1)
    learning, switches = config.learning, config.switches
    exploration = learning.exploration
    if switches.exploration_carries_over:
        exploration = exploration.after_runs(run, config.episodes)
    settings: dict[str, Any] = {
        "learning": learning,
        "exploration": exploration,
        "terminal_mask": switches.terminal_mask,
        "seed": seed,
    }
    if config.memory == "none":
        training, width = switches.recurrent_training, switches.recurrent_width
        return RecurrentDQN(env, training=training, width=width, **settings)
    imagination = None
    if config.counterfactual and memory is not None:
        columns = memory.env.single_observation_space, memory.single_observation_space
        first, last = (space.shape[0] for space in columns)  # type: ignore[index]  # flat boxes
        imagination = Imagination(counterfactuals(config), memory, (first, last))
    return FairDQN(env, imagination=imagination, **settings)


# Greedy episodes --------------------------------------------------------------------------------


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

    @classmethod
    def of_one(cls, policy: GreedyPolicy, episodes: int) -> PolicyOfEveryEpisode:
        """Return a record in which one policy plays all episodes."""
        record = cls()
        record.policies, record.of_episode = [policy], [0] * episodes
        return record

    def __call__(self, agent: DeepQLearning) -> None:
        """Keep the policy at the end of an episode."""
        network = getattr(agent, self.network)
        if self._vector is None or not np.array_equal(self._vector, network.vector):
            self._vector = network.vector.copy()
            self.policies.append(agent.greedy_policy(self.network))
        self.of_episode.append(len(self.policies) - 1)


def play_greedily(
    record: PolicyOfEveryEpisode, config: LearnerConfig, seed: int
) -> dict[str, FloatArray]:
    """Play one greedy episode for every training episode, side by side."""
    env, _ = observed(config, len(record.of_episode))
    edges = np.searchsorted(record.of_episode, np.arange(len(record.policies) + 1))
    slices = [slice(first, last) for first, last in pairwise(edges)]
    states: list[Any] = [None] * len(slices)

    def act(observation: Any, info: dict[str, Any]) -> Any:
        actions = np.empty(len(observation), np.int64)
        for number, (policy, rows) in enumerate(zip(record.policies, slices, strict=True)):
            actions[rows], states[number] = policy.act(observation[rows], states[number])
        return actions

    return play(act, env, seed)


def play(act: Act, env: Batch, seed: int) -> dict[str, FloatArray]:
    """Play exactly one episode in every copy.

    Parameters
    ----------
    act
        The policy.
    env
        Copies of a problem whose episodes all have the same length.
    seed
        Seed of the environment.

    Returns
    -------
    dict of str to numpy.ndarray
        For every episode, shape (N,): `return`, the sum of rewards; `welfare`, the sum over steps
        of the welfare of the counts, whatever was wasted or fined; `allocated`, how many doughnuts
        or loans reached somebody; `invalid`, how many went to people who were not there or had not
        asked; and in lending `margin_met`, 1 or 0.
    """
    observation, info = env.reset(seed=seed)
    names = ("return", "welfare", "allocated", "invalid")
    totals = {name: np.zeros(env.num_envs) for name in names}
    ended = np.zeros(env.num_envs, dtype=bool)
    while not ended.all():
        observation, reward, terminated, truncated, info = env.step(act(observation, info))
        granted = info["supply"].sum(axis=1)
        for name, value in zip(names, (reward, info["welfare"], granted, 1 - granted), strict=True):
            totals[name] += value
        ended = terminated | truncated
    if "missed_margin" in info:
        totals["margin_met"] = 1.0 - info["missed_margin"]
    totals["steps"] = totals["allocated"] + totals["invalid"]
    return totals


# Results ----------------------------------------------------------------------------------------

BIN = 10
"""Evaluation episodes that one point of a learning curve averages, as in the authors' plots."""

LAST = 100
"""Evaluation episodes at the end of training that a final value averages."""

THRESHOLDS = (900, 1000)
"""Doughnut returns of which the first episodes that reach them are looked up."""


def measured(curve: dict[str, FloatArray], last: dict[str, FloatArray]) -> pd.DataFrame:
    """Arrange the scores of a run as a result table.

    Parameters
    ----------
    curve
        What `play` returned for the greedy episode after every training episode.
    last
        The same for further episodes of the last policy.

    Returns
    -------
    pandas.DataFrame
        Phase `curve`: a row per `BIN` episodes and series of `play`. Phase `final`: every series
        averaged over the `LAST` last episodes; `return_all` and `welfare_all`, averaged over all;
        `allocated_first_100`; `episodes_to_900` and `episodes_to_1000` on doughnuts: the end of the
        first bin of the curve that reaches the return, and one more than the number of episodes
        if none does; `last_policy_return`, over fresh episodes of the last policy alone.
    """
    series = {name: values for name, values in curve.items() if name != "steps"}
    length = int(curve["steps"][0])
    episodes = len(curve["return"])
    bins = {name: values.reshape(-1, BIN).mean(axis=1) for name, values in series.items()}
    ends = np.arange(BIN, episodes + 1, BIN)
    frames = [
        pd.DataFrame({"phase": "curve", "step": ends * length, "metric": name, "value": values})
        for name, values in bins.items()
    ]
    final = {name: float(values[-LAST:].mean()) for name, values in series.items()}
    final |= {f"{name}_all": float(series[name].mean()) for name in ("return", "welfare")}
    final["allocated_first_100"] = float(series["allocated"][:LAST].mean())
    if "margin_met" not in series:
        for threshold in THRESHOLDS:
            reached = np.flatnonzero(bins["return"] >= threshold)
            first = ends[reached[0]] if len(reached) else episodes + 1
            final[f"episodes_to_{threshold}"] = float(first)
    final["last_policy_return"] = float(last["return"].mean())
    frames.append(
        pd.DataFrame(
            {
                "phase": "final",
                "step": episodes * length,
                "metric": list(final),
                "value": list(final.values()),
            }
        )
    )
    table = pd.concat(frames, ignore_index=True)
    table.insert(3, "group", np.int32(-1))
    return table.astype({"step": np.int64, "value": np.float64})


# Policies that need no training -----------------------------------------------------------------


class Reference(NamedTuple):
    """A policy that needs no training."""

    make: Callable[[int], Any]
    """Makes the policy from a seed."""
    description: str


_GROUPS = (0, 0, 1, 1)

_OF_LENDING: Mapping[str, Reference] = {
    "random": Reference(lambda seed: AnybodyAtRandom(4, seed), "lends to anybody at random"),
    "random-present": Reference(
        lambda seed: SomebodyThereAtRandom(4, seed), "lends to one of those who ask, at random"
    ),
    "alternating": Reference(
        lambda seed: LaggingGroupBestCredit(_GROUPS),
        "lends to the group with fewer loans, there to the best credit",
    ),
}

REFERENCE_POLICIES: Mapping[str, Mapping[str, Reference]] = {
    "doughnuts": {
        "oracle": Reference(
            lambda seed: LeastServedThere(5), "serves whoever is there and has had least"
        ),
        "rotation": Reference(
            lambda seed: Rotation(5), "lets people take turns, skipping who is not there"
        ),
        "random-present": Reference(
            lambda seed: SomebodyThereAtRandom(5, seed), "serves somebody who is there, at random"
        ),
        "random": Reference(lambda seed: AnybodyAtRandom(5, seed), "serves anybody at random"),
    },
    "lending": {
        "oracle": Reference(lambda seed: OptimalLender(), "the exact optimum"),
        **_OF_LENDING,
    },
    "lending-continuous": _OF_LENDING,
}
"""By problem and id."""


# Experiments ------------------------------------------------------------------------------------

DESCRIPTIONS = {
    "full": "deep Q-learning that remembers what everybody received",
    "min": "deep Q-learning that remembers by how much everybody is ahead",
    "reset": "deep Q-learning that remembers what everybody received since all were equal",
    "rnn": "recurrent deep Q-learning that sees no memory",
    "fairqcm": "deep Q-learning from real and counterfactual memories",
}

SWITCHES = {"as_coded": Switches.as_coded(), "as_published": Switches.as_published()}

UPDATES_PER_EPISODE = 5
"""Gradient steps per episode of the published recurrent network, which is 256 wide.

The paper does not say how often it learns. One step of gradient descent on whole episodes costs as
much as a hundred of the narrow network's steps in the environment, so it cannot learn at each.
"""

EPISODES = {"smoke": 40, "book": 1000}
SEEDS = {"smoke": 2, "book": 10}
"""The profile `book` has the paper's full length, so there is no further one."""


def config_of(problem: str, method: str, variant: str, profile: str = "book") -> LearnerConfig:
    """Return the settings of one of the paper's methods in one variant.

    Parameters
    ----------
    problem
        `"doughnuts"`, `"lending"` or `"lending-continuous"`.
    method
        `"full"`, `"min"`, `"reset"`, `"rnn"` or `"fairqcm"`.
    variant
        `"as_coded"` or `"as_published"`.
    profile
        `"smoke"` plays few episodes and learns from the third of them on; the others are alike.
    """
    switches = SWITCHES[variant]
    learning = LEARNING["doughnuts" if problem == "doughnuts" else "lending"][method]
    if method == "rnn" and switches.recurrent_training == "episodes":
        every = episode_length(problem) // UPDATES_PER_EPISODE
        learning = replace(
            learning, train_every=every, target_every=max(learning.target_every // every, 1)
        )
    if profile == "smoke":
        # Two episodes of real steps, and as many transitions as they bring with imagined ones.
        kept = 2 * episode_length(problem) * (8 if method == "fairqcm" else 1)
        learning = replace(learning, buffer=kept, batch=min(learning.batch, 128))
    memory = {"rnn": "none", "fairqcm": "full"}.get(method, method)
    if method == "fairqcm" and problem != "doughnuts":
        memory = switches.lending_memory
    return LearnerConfig(
        problem, memory, method == "fairqcm", switches, learning, EPISODES[profile]
    )


def learned_arms(
    problem: str, methods: tuple[str, ...], variants: tuple[str, ...], profile: str
) -> list[Arm]:
    """Return one arm per method and variant of the paper."""
    return [
        Arm(
            method,
            variant,
            config_of(problem, method, variant, profile),
            train_and_evaluate,
            DESCRIPTIONS[method],
        )
        for method in methods
        for variant in variants
    ]


def reference_arms(problem: str, profile: str) -> list[Arm]:
    """Return one arm per policy that needs no training."""
    return [
        Arm(
            name,
            "reference",
            ReferenceConfig(problem, name, EPISODES[profile]),
            evaluate_reference,
            policy.description,
        )
        for name, policy in REFERENCE_POLICIES[problem].items()
    ]


def changed_arms(problem: str, profile: str) -> list[Arm]:
    """Return published methods with one thing changed; the variant names the change."""

    def published(method: str) -> LearnerConfig:
        return config_of(problem, method, "as_published", profile)

    def learning(config: LearnerConfig, **changes: Any) -> LearnerConfig:
        return replace(config, learning=replace(config.learning, **changes))

    def switched(config: LearnerConfig, **changes: Any) -> LearnerConfig:
        return replace(config, switches=replace(config.switches, **changes))

    full, fair = published("full"), published("fairqcm")
    timed = {"terminal_mask": True, "time_observed": True}
    changed = {
        ("full", "large_batch"): learning(
            full, batch=fair.learning.batch, buffer=fair.learning.buffer
        ),
        ("full", "timed"): switched(full, **timed),
        ("fairqcm", "small_batch"): learning(fair, batch=full.learning.batch),
        ("fairqcm", "false_update"): switched(fair, always_received=True, gap_before=True),
        ("fairqcm", "timed"): switched(fair, **timed),
    }
    if problem == "doughnuts":
        narrow = switched(published("rnn"), recurrent_width=16)
        every_step = LEARNING[problem]["rnn"].target_every
        changed["rnn", "narrow"] = learning(narrow, train_every=1, target_every=every_step)
    else:
        changed["fairqcm", "full_memory"] = replace(fair, memory="full")
    return [
        Arm(method, variant, config, train_and_evaluate, CHANGES[variant])
        for (method, variant), config in changed.items()
    ]


CHANGES = {
    "large_batch": "with the minibatches and the buffer of FairQCM",
    "small_batch": "with the minibatches of Full",
    "false_update": "with the counterfactuals of the code",
    "timed": "sees the time and expects nothing after the end",
    "narrow": "as narrow as in the code, learning at every step",
    "full_memory": "remembers the loans of both groups",
}
"""Single changes to published methods, by variant."""


def _experiment(
    name: str, title: str, methods: tuple[str, ...], variants: tuple[str, ...], *, changed: bool
) -> Experiment:
    """Return the experiment of a problem: the paper's methods, changes to them, references."""
    return Experiment(
        id=f"fairqcm/{name}",
        title=title,
        arms={
            profile: (
                *learned_arms(name, methods, variants, profile),
                *(changed_arms(name, profile) if changed else ()),
                *reference_arms(name, profile),
            )
            for profile in EPISODES
        },
        seeds=SEEDS,
        horizon={
            profile: episodes * episode_length(name) for profile, episodes in EPISODES.items()
        },
    )


BOTH = ("as_coded", "as_published")

DOUGHNUTS = _experiment(
    "doughnuts",
    "Doughnuts with deep agents: five memories beside policies that need no training",
    ("full", "min", "reset", "rnn", "fairqcm"),
    BOTH,
    changed=True,
)
LENDING = _experiment(
    "lending",
    "Simulated lending with deep agents: four memories beside policies that need no training",
    ("full", "min", "rnn", "fairqcm"),
    BOTH,
    changed=True,
)
LENDING_CONTINUOUS = _experiment(
    "lending-continuous",
    "Simulated lending with real-valued credit: three memories",
    ("full", "min", "fairqcm"),
    ("as_published",),
    changed=False,
)

EXPERIMENTS = (DOUGHNUTS, LENDING, LENDING_CONTINUOUS)
