r"""FairQCM with one network for all people and with imagined ledgers: deep Q-learning once more.

The loop is that of `longfair.agents.fairqcm.deep_q_learning`. What is learned from is imagined when
it is learned from,

.. math::

    Q(\langle s_t, \hat m_t \rangle, a_t) \leftarrow
    R(\hat m_{t+1}) - b_{t+1} + \gamma\, (1 - d)\, Q_{\bar\theta}
    (\langle s_{t+1}, \hat m_{t+1} \rangle, a^*), \qquad \hat m_{t+1} = \hat m_t + e_t .

`Recipe` says what is different from the paper. Every difference has its own setting, so that each
can be put in or left out alone.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import nn

from longfair.agents.fairqcm.deep_q_learning import DeepQLearning, Pace
from longfair.agents.fairqcm.ledgers import LEDGERS, Ledger, Situation
from longfair.agents.fairqcm.networks import ReluStack, ReluValues, orthogonal_start, relu_layers
from longfair.agents.fairqcm.presets import Recipe
from longfair.agents.fairqcm.replay import Step
from longfair.agents.learning.seeding import NetworkSeed
from longfair.agents.learning.spaces import Learned
from longfair.agents.register import register
from longfair.arrays import BoolArray, Float32Array, IntArray
from longfair.errors import UsageError
from longfair.settings import validated


class LedgerView:
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

    def read(self, observation: NDArray[Any]) -> Situation:
        """Return the situations that observations (N, I) tell of."""
        return self.ledger.read(observation)

    def values(
        self, network: ReluValues, seen: Situation, state: Any = None
    ) -> tuple[Float32Array, None]:
        """Return the value (B, P) of choosing each person; there is no state."""
        inputs = self.inputs(seen)
        values = network.outputs(inputs.reshape(-1, self.width))
        return values.reshape(len(inputs), self.ledger.people), None

    def of_choice(self, situation: Situation, actions: IntArray) -> tuple[Float32Array, IntArray]:
        """Return inputs (B, F) and outputs (B,) of the network that belong to choices (B,)."""
        inputs = self.inputs(situation)
        if self.recipe.by_person:
            return inputs[np.arange(len(actions)), actions], np.zeros(len(actions), np.int64)
        return inputs, actions


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


@register(
    label="ledger DQN",
    place=160,
    loaded_by="longfair.agents.fairqcm.ledger_dqn:LedgerDQN",
    needs=(),
    actions=("discrete",),
    environments=("longfair/Doughnut-v0", "longfair/LoanPool-v0"),
)
class LedgerDQN(DeepQLearning):
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
        Seed of the network, of exploration and minibatches, and of the environment.

    Notes
    -----
    Implementation details, with their source, beyond those of the loop:

    1. Orthogonal weights and ReLU (code).
    2. Imagined ledgers are drawn when a step is learned from, not when it is stored (ours). A
       stored step can so be seen with another ledger every time.
    3. The values of all people come from one network that is shown them one by one (ours).
    4. Double Q-learning (van Hasselt et al. 2016), if the recipe says so.
    5. The learning rate falls linearly over `learn` (ours).
    """

    name: ClassVar[str] = "ledger-dqn"
    revision: ClassVar[int] = Recipe.revision
    stack = ReluStack
    online: ReluStack
    target: ReluStack
    view: LedgerView

    @validated
    def __init__(
        self,
        env: Learned,
        ledger: Ledger,
        recipe: Recipe | None = None,
        seed: NetworkSeed = 0,
    ) -> None:
        self.ledger = ledger
        self.recipe = recipe = Recipe() if recipe is None else recipe
        shape = env.single_observation_space.shape
        if shape != (ledger.observed,):
            raise UsageError(
                f"observations of shape {shape}: give an environment whose observations have "
                f"{ledger.observed} numbers, as {type(ledger).__name__} describes"
            )
        ledger.require_rules_of(getattr(getattr(env, "unwrapped", env), "params", None))
        self.view = LedgerView(ledger, recipe)
        self.journal = Journal(recipe.kept)
        pace = Pace(
            recipe.learning_rate,
            recipe.last_rate,
            updates=recipe.updates,
            target_every=recipe.target_every,
        )
        super().__init__(env, self.view, pace, recipe.exploration, seed)

    def _module(self) -> nn.Module:
        sizes = (self.view.width, *self.recipe.hidden, self.view.outputs)
        return orthogonal_start(relu_layers(sizes))

    def _keep(self, step: Step) -> None:
        before, after = step.before, step.after
        self.journal.add(Steps(before, step.actions, after.ledger - before.ledger, after.scene))

    def _ready(self) -> bool:
        return self.journal.taken >= min(self.recipe.learning_starts, self.recipe.kept)

    def _minibatch(self, target_changed: bool) -> tuple[Float32Array, IntArray, Float32Array]:
        recipe = self.recipe
        steps = self.journal.draw(recipe.batch, self.rng)
        before, entries, rewards = self._imagine(steps)
        later = Situation(steps.next_scene, before + entries)
        targets = rewards / recipe.reward_unit + recipe.discount * self._value(later)
        situation = Situation(steps.before.scene, before)
        inputs, outputs = self.view.of_choice(situation, steps.actions)
        return inputs, outputs, targets.astype(np.float32)

    def _imagine(self, steps: Steps) -> tuple[IntArray, IntArray, NDArray[np.float64]]:
        """Return ledgers before the steps, entries and rewards, imagined for most of them."""
        recipe, ledger = self.recipe, self.ledger
        before, entries = steps.before.ledger, steps.entries
        granted = ledger.granted(entries)
        imagined = self.rng.random(len(before)) >= recipe.real_share
        if recipe.imagined == "nothing":
            imagined[:] = False
        elif recipe.imagined == "nearby":
            before = np.where(imagined[:, None], ledger.nearby(before, self.rng), before)
        else:
            drawn = ledger.anything(len(before), self.rng)
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
        values, _ = self.view.values(self.target, later)
        chooser = self.view.values(self.online, later)[0] if self.recipe.double else values
        best = values[np.arange(len(values)), chooser.argmax(axis=1)]
        over: BoolArray = self.ledger.ended(later.ledger) & self.recipe.clock
        return np.where(over, np.float32(0.0), best)

    def _settings(self) -> dict[str, Any]:
        ledger = {"class": type(self.ledger).__name__, **asdict(self.ledger)}
        return {"ledger": ledger, "recipe": asdict(self.recipe), "seed": self.seed}

    @classmethod
    def _arguments(cls, settings: dict[str, Any]) -> dict[str, Any]:
        ledger = dict(settings["ledger"])
        kind = LEDGERS[ledger.pop("class")]
        return {**settings, "ledger": kind(**ledger), "recipe": Recipe(**settings["recipe"])}
