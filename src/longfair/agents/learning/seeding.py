"""First weights that follow from a seed alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import torch
from torch import nn

from longfair.settings import Range

NetworkSeed = Annotated[int, Range(0, 2**64 - 1)]
"""A seed that torch's generator takes, and NumPy's."""
LegacySeed = Annotated[int, Range(0, 2**32 - 1)]
"""A seed that NumPy's global generator takes, which Stable-Baselines3 seeds too."""


def seeded(seed: int | None, make: Callable[[], nn.Module]) -> nn.Module:
    """Make a module with draws of its own seed, and leave torch's generator as it was.

    Without a seed the generator is used as it stands.
    """
    if seed is None:
        return make()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()
