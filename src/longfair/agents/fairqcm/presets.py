"""All settings of FairQCM's agents, and where the paper and its code differ.

Nothing here needs torch or a compiler: declaring an experiment costs no time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from longfair.errors import UsageError
from longfair.settings import (
    Count,
    Length,
    Natural,
    NonNegative,
    OneOf,
    Positive,
    Probability,
    Share,
    validate,
)

Sizes = Annotated[tuple[Count, ...], Length(1)]

RUNS_OF_A_SCRIPT = 10
"""Runs that each of the authors' scripts plays, one after the other."""


@dataclass(frozen=True)
class Exploration:
    """Share of random actions, lowered after every episode until it has reached a floor."""

    start: Probability = 1.0
    floor: Probability = 0.2
    factor: Probability = 0.999

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)

    def after_episode(self, rate: float) -> float:
        """Return the share for the next episode."""
        return rate * self.factor if rate > self.floor else rate

    def after_runs(self, runs: int, episodes: int) -> Exploration:
        """Return the schedule of a run that goes on where `runs` earlier ones have stopped.

        The authors' scripts keep the rate in an object that all runs share and never reset it. So
        with 1000 episodes a run, only the first run explores from 1 on, the second goes on at
        0.368, and the others keep the floor throughout.
        """
        rate = self.start
        for _ in range(runs * episodes):
            if rate <= self.floor:
                break
            rate = self.after_episode(rate)
        return replace(self, start=rate)


# Deep agents ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Switches:
    """One choice per difference between paper and code. The defaults are what the paper says.

    Where the paper says nothing, `as_published` follows the code, but for exploration, which starts
    anew in every run, and recurrent training, which takes whole episodes. Two more differences
    concern the tabular agents only and are settings of `QLearningSettings`.
    """

    always_received: bool = False
    """Imagined memories grow by what was wasted (code), or change as the real one would."""
    gap_before: bool = False
    """Imagined loan rewards look at the loans before the step (code), or after it."""
    exploration_carries_over: bool = False
    """The exploration rate goes on from the previous run (code), or starts anew in each."""
    smoothing: NonNegative = 0.0
    """Added inside the logarithm of the real doughnut reward: 0, or 0.0001 (code)."""
    recurrent_width: Count = 256
    """Size of the recurrent state: 256, or 16 (code)."""
    recurrent_training: Annotated[str, OneOf("episodes", "shuffled")] = "episodes"
    """Whole episodes, or unrelated transitions run as if they were one: "shuffled" (code)."""
    lending_memory: Annotated[str, OneOf("min", "full")] = "min"
    """What FairQCM remembers in lending: "min", or "full" (code)."""
    terminal_mask: bool = False
    """Nothing is expected after the end of an episode. The paper does not say; off in the code."""
    time_observed: bool = False
    """The agent sees how much of the episode is over. The paper does not say; off in the code."""
    evaluated: Annotated[str, OneOf("target", "online")] = "target"
    """Network of the greedy episodes, "target" or "online". The paper does not say."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)

    @classmethod
    def as_published(cls) -> Switches:
        """Return what the paper says."""
        return cls()

    @classmethod
    def as_coded(cls) -> Switches:
        """Return what the authors' scripts do."""
        return cls(
            always_received=True,
            gap_before=True,
            exploration_carries_over=True,
            smoothing=1e-4,
            recurrent_width=16,
            recurrent_training="shuffled",
            lending_memory="full",
        )


@dataclass(frozen=True)
class Learning:
    """Settings of deep Q-learning; the defaults are those of Full, Min and Reset on doughnuts."""

    revision: ClassVar[int] = 1

    learning_rate: Positive = 1e-4
    discount: Probability = 0.95
    buffer: Count = 400
    """Transitions kept, counterfactual ones included; learning starts when it is full."""
    batch: Count = 64
    """Transitions per gradient step."""
    target_every: Count = 1000
    """Gradient steps between two copies to the target network."""
    train_every: Count = 1
    """Steps in the environment between two gradient steps."""
    hidden: Sizes = (32, 16, 8)
    """Sizes of the layers before the output, or before the recurrent unit."""
    lowest_exploration: Probability = 0.2
    exploration_factor: Probability = 0.999
    """What the exploration rate is multiplied by after an episode, from 1 down to the lowest."""
    n_steps: Count = 1
    """Real steps between an observation and the one whose value stands for the rest."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)

    @property
    def exploration(self) -> Exploration:
        """Share of random actions by episode."""
        return Exploration(1.0, self.lowest_exploration, self.exploration_factor)


_DOUGHNUTS = Learning()
_LENDING = Learning(buffer=1000, target_every=100, hidden=(32, 8))

LEARNING: Mapping[str, Mapping[str, Learning]] = {
    "doughnuts": {
        "full": _DOUGHNUTS,
        "min": _DOUGHNUTS,
        "reset": _DOUGHNUTS,
        "rnn": Learning(2e-3, buffer=1000, batch=256, hidden=(32, 16)),
        "fairqcm": Learning(buffer=400 * 16, batch=64 * 32),
    },
    "lending": {
        "full": _LENDING,
        "min": _LENDING,
        "rnn": Learning(5e-3, buffer=2000, batch=512, hidden=(32, 16)),
        "fairqcm": Learning(buffer=8000, batch=512, target_every=100, hidden=(32, 8)),
    },
}
"""Tables 1 and 2 of the paper, by problem and method, with the code's intervals between copies."""


@dataclass(frozen=True)
class Recipe:
    """What a ledger agent sees, imagines and learns. The defaults are all fixes together."""

    revision: ClassVar[int] = 1

    imagined: Annotated[str, OneOf("nothing", "nearby", "anything")] = "anything"
    """Ledgers learned from besides the real one: "nothing", "nearby" (the memories of the paper, at
    the real time), or "anything" (counts, profit and clock drawn anew)."""
    real_share: Probability = 0.25
    """Share of a minibatch whose ledgers are the real ones."""
    granted_anyway: bool = False
    """Imagined ledgers book what was wasted, with the rewards of the authors' code."""
    clock: bool = True
    """The agent sees the time left, and nothing is expected after the end."""
    by_person: bool = True
    """One network values everybody by the same numbers; else one network sees all bits."""
    hidden: Sizes = (64, 32)
    """Sizes of the hidden layers."""
    shortfall: bool = True
    """The welfare of equal shares is taken off every reward. At a given time it is the same for
    all choices, so no preference changes."""
    double: bool = True
    """The learning network chooses the next action, the target network values it."""
    discount: Probability = 1.0
    learning_rate: Positive = 2e-3
    last_rate: Probability = 0.02
    """What the learning rate is multiplied by at the end; it falls linearly until then."""
    reward_unit: Positive = 5.0
    """What rewards are divided by."""
    batch: Count = 256
    updates: Count = 1
    """Gradient steps per step of all copies."""
    target_every: Count = 1000
    """Gradient steps between two copies to the target network."""
    kept: Count = 100_000
    """Real steps kept."""
    learning_starts: Count = 1000
    """Real steps before the first gradient step, or all that are kept if these are fewer."""
    lowest_exploration: Probability = 0.2
    exploration_factor: Probability = 0.999
    """What the exploration rate is multiplied by after an episode, from 1 down to the lowest."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first setting that is out of range."""
        validate(self)
        if self.imagined == "anything" and self.granted_anyway:
            raise UsageError("granted_anyway=True: the code imagines nearby memories only")
        if self.discount == 1.0 and not self.clock:
            raise UsageError("discount=1 without a clock: values grow for ever, give less than 1")

    @property
    def exploration(self) -> Exploration:
        """Share of random actions by episode."""
        return Exploration(1.0, self.lowest_exploration, self.exploration_factor)


@dataclass(frozen=True)
class WeightSearch:
    """A linear rule on what a ledger shows of every person, and the search for its weights."""

    revision: ClassVar[int] = 1

    columns: Annotated[tuple[Natural, ...], Length(1)] = (0, 1)
    """Numbers of `Ledger.by_person` that count; those that all people share decide nothing."""
    candidates: Count = 2
    """Weights that are tried in a round."""
    episodes: Count = 5
    """Episodes in which each is tried."""
    elites: Natural = 0
    """How many of a round the next one is drawn around; 0: draw anew and keep the best of all."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first setting that is out of range."""
        validate(self)


# Tabular agents ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class QLearningSettings:
    """What a tabular agent remembers, what it imagines, and how it learns.

    The defaults are Q-learning with full memory, as in the paper's text. The details are numbered
    in `longfair.agents.fairqcm.q_learning`.
    """

    revision: ClassVar[int] = 1

    memory: Annotated[str, OneOf("full", "min", "reset")] = "full"
    """`"full"`, `"min"` or `"reset"`."""
    imagine: bool = False
    """Learn from counterfactual memories too: FairQCM. Needs full memory."""
    imagine_real: bool = False
    """Whether the imagined memories contain the real one (detail 7)."""
    waste_counts: bool = False
    """Whether an imagined person counts a doughnut that in truth was wasted (detail 6)."""
    decay_at_every_visit: bool = True
    """Whether exploration decays at every visit or only at random choices (detail 4)."""
    exploration_decay: Probability = 0.95
    least_exploration: Probability = 0.2
    step_size: Share = 0.1
    """The constant c of detail 5."""
    step_size_decay: Probability = 0.0
    """The power of detail 5; 0 keeps the step size constant."""
    discount: Probability = 0.99
    stop_at_end: bool = False
    """Whether the last step of an episode learns its reward alone (detail 9)."""
    time: bool = False
    """Whether the agent also remembers how many doughnuts have been handed out (detail 9)."""
    repeats: Count = 1
    """How often each real step is learned, for comparisons with equal numbers of updates."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first setting that is out of range."""
        validate(self)
        if self.imagine and self.memory != "full":
            raise UsageError(
                f"memory={self.memory!r} with imagine=True: imagined rewards need all counts, "
                "so give memory='full'"
            )

    def as_coded(self) -> QLearningSettings:
        """Return these settings with the four deviations of the authors' code (4, 6, 7).

        The fourth is the smoothing of the reward (8), which belongs to the environment.
        """
        return replace(self, imagine_real=True, waste_counts=True, decay_at_every_visit=False)
