r"""FairQCM with one network for all people and with imagined ledgers: deep Q-learning once more.

The loop is that of the paper: act epsilon-greedily, keep what happened, and learn from it as it was
and as it would have been with other memories,

.. math::

    Q(\langle s_t, \hat m_t \rangle, a_t) \leftarrow
    R(\hat m_{t+1}) - b_{t+1} + \gamma\, (1 - d)\, Q_{\bar\theta}
    (\langle s_{t+1}, \hat m_{t+1} \rangle, a^*), \qquad \hat m_{t+1} = \hat m_t + e_t .

`Recipe` says what is different. Every difference has its own setting, so that each can be put in or
left out alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from torch import nn

from longfair.agents.fairqcm.dqn import Exploration
from longfair.agents.fairqcm.ledgers import BoolArray, Float32Array, IntArray, Ledger, Situation
from longfair.agents.fairqcm.networks import (
    Adam,
    ReluStack,
    SharedParameters,
    orthogonal_start,
    relu_trace,
)
from longfair.agents.ppo import saving
from longfair.errors import UsageError, near_misses

IMAGINED = ("nothing", "nearby", "anything")


@dataclass(frozen=True)
class Recipe:
    """What the agent sees, imagines and learns. The defaults are all fixes together."""

    imagined: str = "anything"
    """Ledgers learned from besides the real one: "nothing", "nearby" (the memories of the paper, at
    the real time), or "anything" (counts, profit and clock drawn anew)."""
    real_share: float = 0.25
    """Share of a minibatch whose ledgers are the real ones."""
    granted_anyway: bool = False
    """Imagined ledgers book what was wasted, with the rewards of the authors' code."""
    clock: bool = True
    """The agent sees the time left, and nothing is expected after the end."""
    by_person: bool = True
    """One network values everybody by the same numbers; else one network sees all bits."""
    hidden: tuple[int, ...] = (64, 32)
    """Sizes of the hidden layers."""
    shortfall: bool = True
    """The welfare of equal shares is taken off every reward. At a given time it is the same for
    all choices, so no preference changes."""
    double: bool = True
    """The learning network chooses the next action, the target network values it."""
    discount: float = 1.0
    learning_rate: float = 2e-3
    last_rate: float = 0.02
    """What the learning rate is multiplied by at the end; it falls linearly until then."""
    reward_unit: float = 5.0
    """What rewards are divided by."""
    batch: int = 256
    updates: int = 1
    """Gradient steps per step of all copies."""
    target_every: int = 1000
    """Gradient steps between two copies to the target network."""
    kept: int = 100_000
    """Real steps kept."""
    learning_starts: int = 1000
    """Real steps before the first gradient step, or all that are kept if these are fewer."""
    lowest_exploration: float = 0.2
    exploration_factor: float = 0.999
    """What the exploration rate is multiplied by after an episode, from 1 down to the lowest."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first setting that is out of range."""
        if self.imagined not in IMAGINED:
            raise UsageError(f"imagined={self.imagined!r}: {near_misses(self.imagined, IMAGINED)}")
        if self.imagined == "anything" and self.granted_anyway:
            raise UsageError("granted_anyway=True: the code imagines nearby memories only")
        if self.discount >= 1.0 and not self.clock:
            raise UsageError("discount=1 without a clock: values grow for ever, give less than 1")
        for name in ("real_share", "discount", "last_rate"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise UsageError(f"{name}={getattr(self, name)!r}: give a number in [0, 1]")
        for name in ("batch", "updates", "target_every", "kept", "learning_starts"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name}={getattr(self, name)!r}: give at least 1")


class View:
    """How a network looks at a situation, and values every choice in it.

    Parameters
    ----------
    ledger
        The problem's bookkeeping.
    recipe
        Says what is seen.
    """

    def __init__(self, ledger: Ledger, recipe: Recipe) -> None:
        self.ledger, self.recipe = ledger, recipe
        blank = ledger.read(np.zeros((1, ledger.observed)))
        self.width = self.inputs(blank).shape[-1]
        self.outputs = 1 if recipe.by_person else ledger.people

    def inputs(self, situation: Situation) -> Float32Array:
        """Return what the network sees: (B, P, F) by person, or (B, I) in bits."""
        if self.recipe.by_person:
            return self.ledger.by_person(situation, self.recipe.clock)
        bits = self.ledger.bits(situation)
        if not self.recipe.clock:
            return bits
        return np.concatenate([bits, self.ledger.left(situation.ledger)], axis=1)

    def values(self, network: ReluStack | GreedyView, situation: Situation) -> Float32Array:
        """Return the value (B, P) of choosing each person."""
        inputs = self.inputs(situation)
        values = network.outputs(inputs.reshape(-1, self.width))
        return values.reshape(len(inputs), self.ledger.people)

    def of_choice(self, situation: Situation, actions: IntArray) -> tuple[Float32Array, IntArray]:
        """Return inputs (B, F) and outputs (B,) of the network that belong to choices (B,)."""
        inputs = self.inputs(situation)
        if self.recipe.by_person:
            return inputs[np.arange(len(actions)), actions], np.zeros(len(actions), np.int64)
        return inputs, actions


class GreedyView:
    """The greedy policy of a network as it was, over observations of the environment.

    Parameters
    ----------
    view
        How the network looks at a situation.
    network
        The network; copied.
    """

    def __init__(self, view: View, network: ReluStack) -> None:
        self._view = view
        self._layers = [(weight.copy(), bias.copy()) for weight, bias in network.layers]

    def outputs(self, inputs: Float32Array) -> Float32Array:
        """Map inputs (B, I) to outputs (B, A)."""
        return relu_trace(self._layers, inputs)[-1]

    def act(self, observation: NDArray[Any], state: Any = None) -> tuple[IntArray, None]:
        """Return the best action (B,) for observations (B, ...); there is no state."""
        situation = self._view.ledger.read(observation)
        return self._view.values(self, situation).argmax(axis=1), None


class Steps(NamedTuple):
    """B real steps."""

    before: Situation
    actions: IntArray
    """(B,)."""
    entries: IntArray
    """(B, E): what was booked."""
    next_scene: IntArray
    """(B, S)."""


class Journal:
    """The latest real steps, the newest replacing the oldest.

    Parameters
    ----------
    capacity
        Steps kept.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.taken = 0
        self._columns: list[IntArray] = []

    @property
    def size(self) -> int:
        """Number of steps that can be drawn."""
        return min(self.taken, self.capacity)

    def add(self, steps: Steps) -> None:
        """Write steps of all copies."""
        arrays = (*steps.before, steps.actions, steps.entries, steps.next_scene)
        if not self._columns:
            self._columns = [
                np.zeros((self.capacity, *array.shape[1:]), np.int64) for array in arrays
            ]
        rows = np.arange(self.taken, self.taken + len(steps.actions)) % self.capacity
        for column, array in zip(self._columns, arrays, strict=True):
            column[rows] = array
        self.taken += len(steps.actions)

    def draw(self, size: int, generator: np.random.Generator) -> Steps:
        """Draw steps uniformly, with replacement."""
        rows = generator.integers(self.size, size=size)
        scene, ledger, actions, entries, next_scene = (c.take(rows, 0) for c in self._columns)
        return Steps(Situation(scene, ledger), actions, entries, next_scene)


class FallingAdam(Adam):
    """Adam with a learning rate that falls linearly.

    Parameters
    ----------
    parameters
        What is moved.
    first
        Learning rate at the start.
    share
        What is left of it at the end, as a share.
    """

    def __init__(self, parameters: SharedParameters, first: float, share: float) -> None:
        super().__init__(parameters, first)
        self._first, self._share = first, share

    def advance_to(self, progress: float) -> None:
        """Set the learning rate for the moment `progress` in [0, 1]."""
        self._learning_rate = self._first * (1.0 - progress * (1.0 - self._share))


Callback = Callable[["LedgerDQN"], None]


class LedgerDQN:
    """Deep Q-learning from real and imagined ledgers, several episodes side by side.

    Parameters
    ----------
    env
        A batch environment whose observation `ledger` can read. All episodes have the length of
        the ledger. Every copy's step counts as one.
    ledger
        The problem's bookkeeping.
    recipe
        What is seen, imagined and learned.
    seed
        Seed of the networks, of exploration and minibatches, and of the environment.

    Attributes
    ----------
    num_timesteps
        Real steps taken.
    exploration_rate
        Share of random actions.

    Notes
    -----
    Implementation details, with their source:

    1. Orthogonal weights, ReLU, mean squared error, Adam, uniform minibatches with replacement,
       exploration that falls after every episode: as in the authors' code.
    2. Imagined ledgers are drawn when a step is learned from, not when it is stored (ours). A
       stored step can so be seen with another ledger every time.
    3. The values of all people come from one network that is shown them one by one (ours).
    4. Double Q-learning (van Hasselt et al. 2016), if the recipe says so.
    5. The learning rate falls linearly over `learn` (ours).
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        ledger: Ledger,
        recipe: Recipe | None = None,
        seed: int = 0,
    ) -> None:
        self.env, self.ledger = env, ledger
        self.recipe = Recipe() if recipe is None else recipe
        shape = env.single_observation_space.shape
        if shape != (ledger.observed,):
            raise UsageError(
                f"observations of shape {shape}: give an environment whose observations have "
                f"{ledger.observed} numbers, as {type(ledger).__name__} describes"
            )
        self.view = View(ledger, self.recipe)
        self.online, self.target = (self._network(seed) for _ in range(2))
        self.journal = Journal(self.recipe.kept)
        self.exploration = Exploration(
            1.0, self.recipe.lowest_exploration, self.recipe.exploration_factor
        )
        self.exploration_rate = self.exploration.start
        self.num_timesteps = 0
        self._seed = seed
        # The environment's generator starts from the seed itself: this must be another stream.
        self._rng = np.random.default_rng((seed, 1))
        self._adam = FallingAdam(self.online, self.recipe.learning_rate, self.recipe.last_rate)
        self._updates = 0

    def _network(self, seed: int) -> ReluStack:
        sizes = (self.view.width, *self.recipe.hidden, self.view.outputs)
        layers: list[nn.Module] = []
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            for before, after in pairwise(sizes):
                layers += [nn.Linear(before, after), nn.ReLU()]
            module = nn.Sequential(*layers[:-1])
            orthogonal_start(module)
        return ReluStack(module)

    # Acting -------------------------------------------------------------------------------------

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[IntArray, None]:
        """Return one action per observation (N, I), epsilon-greedy unless `deterministic`."""
        return self._choose(self.ledger.read(observation), deterministic), None

    def _choose(self, situation: Situation, deterministic: bool) -> IntArray:
        greedy: IntArray = self.view.values(self.online, situation).argmax(axis=1)
        if deterministic:
            return greedy
        explores = self._rng.random(len(greedy)) < self.exploration_rate
        anybody = self._rng.integers(self.ledger.people, size=len(greedy))
        return np.where(explores, anybody, greedy)

    def greedy_policy(self) -> GreedyView:
        """Return a copy that acts greedily and no longer changes."""
        return GreedyView(self.view, self.online)

    # Learning -----------------------------------------------------------------------------------

    def learn(
        self, total_timesteps: int, callback: Callback | None = None, progress_bar: bool = False
    ) -> Self:
        """Play from fresh episodes on, and learn.

        Parameters
        ----------
        total_timesteps
            Real steps, of all copies together; rounded up to whole steps of all copies. The
            learning rate falls over these.
        callback
            Called with the agent whenever the episodes of all copies have ended.
        progress_bar
            Accepted for the common signature; leave it alone, a callback can tell the progress.
        """
        if progress_bar:
            raise UsageError("progress_bar=True: there is none, give a callback instead")
        observation, _ = self.env.reset(seed=self._seed)
        now = self.ledger.read(observation)
        rounds = -(-total_timesteps // self.env.num_envs)
        for played in range(rounds):
            now, ended = self._play(now)
            first = min(self.recipe.learning_starts, self.recipe.kept)
            if self.num_timesteps >= first:
                self._adam.advance_to(played / rounds)
                for _ in range(self.recipe.updates):
                    self._update()
            if ended:
                for _ in range(self.env.num_envs):
                    self.exploration_rate = self.exploration.after_episode(self.exploration_rate)
                if callback is not None:
                    callback(self)
        return self

    def _play(self, now: Situation) -> tuple[Situation, bool]:
        """Take one step in all copies and write it down; return what follows, and whether anew."""
        actions = self._choose(now, deterministic=False)
        observation, _, _, _, info = self.env.step(actions)
        ended = "_final_obs" in info
        after = self.ledger.read(info["final_obs"] if ended else observation)
        self.journal.add(Steps(now, actions, after.ledger - now.ledger, after.scene))
        self.num_timesteps += len(actions)
        return (self.ledger.read(observation) if ended else after), ended

    def _update(self) -> None:
        """Make one gradient step."""
        recipe = self.recipe
        if self._updates % recipe.target_every == 0:
            self.target.copy_from(self.online)
        steps = self.journal.draw(recipe.batch, self._rng)
        before, entries, rewards = self._imagine(steps)
        later = Situation(steps.next_scene, before + entries)
        targets = rewards / recipe.reward_unit + recipe.discount * self._value(later)
        situation = Situation(steps.before.scene, before)
        inputs, outputs = self.view.of_choice(situation, steps.actions)
        self.online.descend(inputs, outputs, targets.astype(np.float32))
        self._adam.step()
        self._updates += 1

    def _imagine(self, steps: Steps) -> tuple[IntArray, IntArray, NDArray[np.float64]]:
        """Return ledgers before the steps, entries and rewards, imagined for most of them."""
        recipe, ledger = self.recipe, self.ledger
        before, entries = steps.before.ledger, steps.entries
        granted = ledger.granted(entries)
        imagined = self._rng.random(len(before)) >= recipe.real_share
        if recipe.imagined == "nothing":
            imagined[:] = False
        elif recipe.imagined == "nearby":
            before = np.where(imagined[:, None], ledger.nearby(before, self._rng), before)
        else:
            drawn = ledger.anything(len(before), self._rng)
            before = np.where(imagined[:, None], drawn, before)
        rewards = ledger.rewards(before + entries, granted)
        if recipe.granted_anyway:
            taken = ledger.granted_anyway(entries, steps.actions)
            entries = np.where(imagined[:, None], taken, entries)
            coded = ledger.coded_rewards(before, before + entries, granted)
            rewards = np.where(imagined, coded, rewards)
        if recipe.shortfall:
            rewards = rewards - ledger.equal_shares(before + entries)
        return before, entries, rewards

    def _value(self, later: Situation) -> Float32Array:
        """Return what is expected from situations on, (B,)."""
        values = self.view.values(self.target, later)
        chooser = self.view.values(self.online, later) if self.recipe.double else values
        best = values[np.arange(len(values)), chooser.argmax(axis=1)]
        over: BoolArray = self.ledger.ended(later.ledger) & self.recipe.clock
        return np.where(over, np.float32(0.0), best)

    # Saving -------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Save network and recipe without pickling anything."""
        settings = {
            "recipe": asdict(self.recipe),
            "num_timesteps": self.num_timesteps,
            "exploration_rate": self.exploration_rate,
        }
        saving.write(Path(path), {"network": self.online.vector}, settings)

    @classmethod
    def load(
        cls, path: str | Path, env: VectorEnv[Any, Any, Any], ledger: Ledger, seed: int = 0
    ) -> Self:
        """Load what `save` wrote. Learning goes on with an empty journal and a fresh optimiser."""
        parameters, settings = saving.read(Path(path))
        recipe = settings["recipe"]
        agent = cls(env, ledger, Recipe(**{**recipe, "hidden": tuple(recipe["hidden"])}), seed)
        if parameters["network"].shape != agent.online.vector.shape:
            raise UsageError(f"{path} was trained with another ledger: give the same problem")
        agent.online.vector[:] = parameters["network"]
        agent.target.copy_from(agent.online)
        agent.num_timesteps = settings["num_timesteps"]
        agent.exploration_rate = settings["exploration_rate"]
        return agent
