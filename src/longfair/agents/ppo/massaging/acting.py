"""Massaging after training: a learned policy acts, and a strategy changes what it chose."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from longfair.agents.evaluation import Act
from longfair.agents.learning.actor import Actor
from longfair.agents.ppo.strategy import Moment, Strategy, intervened


def intervening(
    strategy: Strategy,
    actor: Actor,
    rollout: int,
    action_space: spaces.Space[Any],
    rng: np.random.Generator,
) -> Act:
    """Let a policy act as it did in some rollout of its training, interventions included.

    Parameters
    ----------
    strategy
        What intervenes.
    actor
        The policy.
    rollout
        Number of the rollout, which schedules go by.
    action_space
        Of one copy; a Gaussian's actions are clipped to it.
    rng
        What the policy draws from.

    Raises
    ------
    UsageError
        When acting, if the environment does not tell what the intervention reads, or the strategy
        wants what are no actions.
    """

    def act(observation: Any, info: dict[str, Any]) -> Any:
        known = {name: info[name] for name in strategy.needs if name in info}
        output = actor.output(observation)
        chosen = actor.drawn(output, rng)
        moment = Moment(observation, chosen, known, actor, output, rollout, rng)
        actions = intervened(strategy, moment)
        if isinstance(action_space, spaces.Box):
            return np.clip(actions, action_space.low, action_space.high)
        return actions

    return act
