"""The one way in which a run is made: train, keep snapshots, evaluate curve and end, report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longfair.arrays import FloatArray
from longfair.errors import UsageError, near_misses
from longfair.papers.setting import MEASURES, Evaluating, Setting, resolved
from longfair.runs.experiment import protocol

if TYPE_CHECKING:
    import pandas as pd
    from gymnasium.vector import VectorEnv

    from longfair.runs.checkpoints import Checkpoint

Act = Callable[[Any, dict[str, Any]], Any]

# Seeds ------------------------------------------------------------------------------------------


class Draws(NamedTuple):
    """Streams of an evaluation, by number."""

    policy: int | None
    """What the policies draw from; None: the policy of the curve plays on."""
    episodes: int
    """What the environment draws from."""


DRAWS = {
    "end first": {"curve": Draws(3, 4), "final": Draws(1, 2)},
    "curve first": {"curve": Draws(3, 1), "final": Draws(4, 2)},
    "curve first, one policy": {"curve": Draws(3, 1), "final": Draws(None, 2)},
}
"""Streams of a run's evaluations. All are disjoint, and stored results fix their numbers."""


def two_seeds(run: int) -> tuple[int, int]:
    """Return the seeds of training and of evaluation of a run.

    They are the same for every method, so that methods meet the same episodes and can be compared
    in pairs.
    """
    training, evaluation = (int(s) for s in np.random.SeedSequence(run).generate_state(2))
    return training, evaluation


def stream(seed: int, index: int) -> int:
    """Return an independent seed of at most 32 bits."""
    return int(np.random.SeedSequence((seed, index)).generate_state(1)[0])


# What was learned, and how it played ------------------------------------------------------------


class Snapshots(NamedTuple):
    """Policies kept along the way, the last one at the end."""

    steps: list[int]
    """Training steps behind each."""
    acting: Callable[[Sequence[int], int, int | None], Act]
    """Lets the snapshots of these numbers act side by side in so many episodes each. The last
    argument is the seed of their draws, None to draw on."""
    policies: Sequence[Any] = ()
    """The policies themselves, for measures that need no episodes."""
    learned: Sequence[NDArray[Any]] = ()
    """All numbers that training ended with: two trainings are the same if these are, to the bit."""


class Played(NamedTuple):
    """What came of episodes that P policies played, E each, ordered by policy, then episode."""

    steps: list[int]
    """(P,): training steps behind each policy."""
    totals: dict[str, FloatArray]
    """`reward` and `steps` (P E,), `supply` and `demand` (P E, G), and what was counted (P E,)."""

    def of_each(self) -> list[tuple[int, dict[str, FloatArray]]]:
        """Return training steps and totals of every policy."""
        policies = len(self.steps)
        parts = {name: np.split(values, policies) for name, values in self.totals.items()}
        return [
            (step, {name: part[number] for name, part in parts.items()})
            for number, step in enumerate(self.steps)
        ]


# The one function -------------------------------------------------------------------------------


@protocol("train-and-evaluate", revision=1)
def train_and_evaluate(
    setting: Setting,
    seed: int,
    checkpoint: Checkpoint | None = None,
    learned: list[NDArray[Any]] | None = None,
) -> pd.DataFrame:
    """Train a method, evaluate snapshots along the way and the last policy at length.

    Parameters
    ----------
    setting
        What to run.
    seed
        Number of the run. Training and evaluation draw from disjoint streams made from it.
    checkpoint
        Where training keeps what it needs to go on after it was stopped.
    learned
        Where to put `Snapshots.learned`, if anybody asks.

    Returns
    -------
    pandas.DataFrame
        The result table; see `longfair.runs`.
    """
    if setting.learning is None:
        snapshots = untrained(setting)
    else:
        training, _ = two_seeds(seed)
        snapshots = setting.learning.train(setting, training, seed, checkpoint)
    if learned is not None:
        learned += snapshots.learned
    measure = resolved("measure", setting.evaluating.measure, MEASURES)
    table: pd.DataFrame = measure(Evaluation(setting, snapshots, seed))
    return table


class Evaluation:
    """Policies, and the episodes that they play when a measure asks for them.

    Parameters
    ----------
    setting
        What is run.
    snapshots
        What was learned.
    run
        Number of the run.
    """

    def __init__(self, setting: Setting, snapshots: Snapshots, run: int) -> None:
        self.setting = setting
        self.snapshots = snapshots
        self.run = run
        self.seed = two_seeds(run)[1]
        """Where all streams of the evaluation come from."""

    def seed_of(self, index: int) -> int:
        """Return an independent seed for what a measure plays itself; give numbers from 10 on."""
        return stream(self.seed, index)

    def curve(self) -> Played | None:
        """Play episodes with all snapshots; None if nothing was learned and nothing is drawn."""
        steps, episodes = self.snapshots.steps, self.setting.evaluating.episodes
        if self.setting.learning is None:
            episodes = self.setting.method.curve
        return self._play(range(len(steps)), episodes, "curve") if episodes else None

    def final(self) -> Played:
        """Play episodes with the last policy."""
        last = len(self.snapshots.steps) - 1
        return self._play([last], self.setting.evaluating.final_episodes, "final")

    def ready(
        self, which: Sequence[int], episodes: int, phase: str, *, told: bool = True
    ) -> tuple[Act, VectorEnv[Any, Any, Any], int]:
        """Return snapshots that act side by side, copies of the world, and their seed.

        Parameters
        ----------
        which
            Numbers of the snapshots.
        episodes
            Episodes of each.
        phase
            `"curve"` or `"final"`, which draw from streams of their own.
        told
            Whether the policies or the measure read what wrappers tell; see `World.make`.
        """
        evaluating, draws = self.setting.evaluating, draws_of(self.setting.evaluating)[phase]
        own = None if draws.policy is None else stream(self.seed, draws.policy)
        act = self.snapshots.acting(which, episodes, own)
        copies = len(which) * episodes
        env = self.setting.world.make(copies, evaluating.episode_length, told=told)
        return act, env, stream(self.seed, draws.episodes)

    def _play(self, which: Sequence[int], episodes: int, phase: str) -> Played:
        act, env, seed = self.ready(which, episodes, phase)
        totals = play(act, env, self.setting.evaluating.counted, seed)
        return Played([self.snapshots.steps[number] for number in which], totals)


def draws_of(evaluating: Evaluating) -> dict[str, Draws]:
    """Return the streams of the curve and of the end."""
    if evaluating.draws not in DRAWS:
        raise UsageError(
            f"unknown draws {evaluating.draws!r}: {near_misses(evaluating.draws, DRAWS)}"
        )
    return DRAWS[evaluating.draws]


def play(
    act: Act, env: VectorEnv[Any, Any, Any], counted: Sequence[str], seed: int
) -> dict[str, FloatArray]:
    """Play one episode in every copy.

    Parameters
    ----------
    act
        The policy.
    env
        Copies whose episodes all have the same length, so that nothing of a second one is counted.
    counted
        Keys of the step's `info` to add up.
    seed
        Seed of the environment.

    Returns
    -------
    dict of str to numpy.ndarray
        As `Played.totals`.
    """
    from longfair.agents.evaluation import play_episodes
    from longfair.papers.counting import Counting

    counting = Counting(env, counted)
    return {**play_episodes(act, counting, seed)._asdict(), **counting.counts}


def untrained(setting: Setting) -> Snapshots:
    """Return a policy that learns nothing as what was learned in no steps."""
    from longfair.agents.evaluation import acting

    kept: list[Any] = []

    def act(which: Sequence[int], episodes: int, seed: int | None) -> Act:
        if seed is not None:
            kept[:] = [setting.method.make(setting.world, seed)]
        return acting(kept[0])

    return Snapshots([0], act)


def side_by_side(policies: Sequence[Any], episodes: int) -> Act:
    """Let greedy policies with states act side by side, each in some episodes.

    Parameters
    ----------
    policies
        Objects with ``act(observation, state) -> (actions, state)``. A policy that stands there
        several times in a row acts once, in all its episodes.
    episodes
        Episodes of each.
    """
    runs = [(policy, episodes * len(list(same))) for policy, same in groupby(policies)]
    edges = np.cumsum([0, *(rows for _, rows in runs)])
    states: list[Any] = [None] * len(runs)

    def act(observation: Any, info: dict[str, Any]) -> Any:
        actions = np.empty(len(observation), np.int64)
        for number, (policy, _) in enumerate(runs):
            rows = slice(edges[number], edges[number + 1])
            actions[rows], states[number] = policy.act(observation[rows], states[number])
        return actions

    return act
