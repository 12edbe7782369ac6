"""What may be called while a learner of Stable-Baselines3 learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

Callbacks = Callable[..., Any] | BaseCallback | list[BaseCallback]
"""A function of locals and globals, a callback, or several."""
