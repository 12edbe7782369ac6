"""Where the paper of FairQCM and its code differ, and the settings of every method.

`Switches` holds the differences that concern the deep agents. Two more concern the tabular ones
only, whether the real memory is among the imagined ones and when exploration decays; they are
settings of `longfair.agents.fairqcm.q_learning`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from longfair.errors import UsageError, near_misses

EVALUATED = ("target", "online")


@dataclass(frozen=True)
class Switches:
    """One choice per difference. The defaults are what the paper says.

    Where the paper says nothing, `as_published` follows the code.
    """

    always_received: bool = False
    """Imagined memories grow by what was wasted (code), or change as the real one would."""
    gap_before: bool = False
    """Imagined loan rewards look at the loans before the step (code), or after it."""
    exploration_carries_over: bool = False
    """The exploration rate goes on from the previous run (code), or starts anew in each."""
    smoothing: float = 0.0
    """Added inside the logarithm of the real doughnut reward: 0, or 0.0001 (code)."""
    recurrent_width: int = 256
    """Size of the recurrent state: 256, or 16 (code)."""
    recurrent_training: str = "episodes"
    """Whole episodes, or unrelated transitions run as if they were one: "shuffled" (code)."""
    lending_memory: str = "min"
    """What FairQCM remembers in lending: "min", or "full" (code)."""
    terminal_mask: bool = False
    """Nothing is expected after the end of an episode. The paper does not say; off in the code."""
    time_observed: bool = False
    """The agent sees how much of the episode is over. The paper does not say; off in the code."""
    evaluated: str = "target"
    """Network of the greedy episodes, "target" or "online". The paper does not say."""

    def __post_init__(self) -> None:
        """Raise `UsageError` for an unknown network."""
        if self.evaluated not in EVALUATED:
            raise UsageError(
                f"evaluated={self.evaluated!r}: {near_misses(self.evaluated, EVALUATED)}"
            )

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

    learning_rate: float = 1e-4
    discount: float = 0.95
    buffer: int = 400
    """Transitions kept, counterfactual ones included; learning starts when it is full."""
    batch: int = 64
    """Transitions per gradient step."""
    target_every: int = 1000
    """Gradient steps between two copies to the target network."""
    train_every: int = 1
    """Steps in the environment between two gradient steps."""
    hidden: tuple[int, ...] = (32, 16, 8)
    """Sizes of the layers before the output, or before the recurrent unit."""
    lowest_exploration: float = 0.2
    exploration_factor: float = 0.999
    """What the exploration rate is multiplied by after an episode, from 1 down to the lowest."""
    n_steps: int = 1
    """Real steps between an observation and the one whose value stands for the rest."""


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
