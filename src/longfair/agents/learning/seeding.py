"""First weights that follow from a seed alone."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


def seeded(seed: int | None, make: Callable[[], nn.Module]) -> nn.Module:
    """Make a module with draws of its own seed, and leave torch's generator as it was.

    Without a seed the generator is used as it stands.
    """
    if seed is None:
        return make()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()
