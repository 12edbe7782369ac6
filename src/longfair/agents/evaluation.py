"""Play whole episodes with a fixed policy and add up what every group got."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces

from longfair.agents.learning.spaces import Batch
from longfair.arrays import FloatArray
from longfair.errors import UsageError
from longfair.settings import Give, Natural, validated

if TYPE_CHECKING:
    from longfair.agents.learning.actor import Actor

Act = Annotated[
    Callable[[Any, dict[str, Any]], Any],
    Give("a function of observations and info, such as longfair.agents.evaluation.acting(policy)"),
]
"""Maps observations and the batch `info` that came with them to one action per copy."""


class Agent(Protocol):
    """Whatever decides: learned agents of Stable-Baselines3 and heuristics alike."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]:
        """Return one action per observation, and the next state (None without memory)."""


class EpisodeTotals(NamedTuple):
    """Sums over one episode in each of N copies."""

    reward: FloatArray
    """(N,)."""
    supply: FloatArray
    """(N, G)."""
    demand: FloatArray
    """(N, G)."""
    steps: FloatArray
    """(N,): lengths of the episodes."""


@validated
def play_episodes(act: Act, env: Batch, seed: Natural) -> EpisodeTotals:
    """Play exactly one episode in every copy of a batch environment.

    Parameters
    ----------
    act
        The policy: maps observations and the batch's `info` to actions. `acting` makes one of
        anything with `predict`.
    env
        A batch environment whose `info` carries `supply` and `demand`.
    seed
        Seed of the environment. Use seeds that no training run has used.

    Raises
    ------
    UsageError
        When the environment's `info` lacks one of these, or its reward is not finite.
    """
    observation, info = env.reset(seed=seed)
    if "group_state" not in info:
        raise UsageError(f"env={env} tells nothing of groups: give a batch of longfair")
    playing = np.ones(env.num_envs, dtype=bool)
    reward_total, steps = np.zeros(env.num_envs), np.zeros(env.num_envs)
    groups = info["group_state"].shape[1]
    supply, demand = np.zeros((env.num_envs, groups)), np.zeros((env.num_envs, groups))
    while playing.any():
        actions = act(observation, info)
        observation, reward, terminated, truncated, info = env.step(actions)
        reward_total += np.where(playing, reward, 0.0)
        supply += info["supply"] * playing[:, None]
        demand += info["demand"] * playing[:, None]
        steps += playing
        playing &= ~(terminated | truncated)
    if not np.isfinite(reward_total).all():
        raise UsageError("the environment returned a reward that is not finite")
    return EpisodeTotals(reward_total, supply, demand, steps)


def acting(agent: Agent, *, deterministic: bool = False) -> Act:
    """Let an agent act, telling it the batch `info` first if it has an `observe` method.

    Oracles need it: they may look at the `group_state` that learned agents do not see. An agent
    that returns a state gets it back at the next step. Make a new function for new episodes.

    Parameters
    ----------
    agent
        Anything with `predict`.
    deterministic
        Ask for its likeliest actions in place of draws.
    """
    observe = getattr(agent, "observe", None)
    asked = {"deterministic": True} if deterministic else {}
    remembered: dict[str, Any] = {}

    def act(observation: Any, info: dict[str, Any]) -> Any:
        if observe is not None:
            observe(info)
        actions, state = agent.predict(observation, **remembered, **asked)
        if state is not None:
            remembered["state"] = state
        return actions

    return act


def acting_snapshots(
    snapshots: list[Actor], episodes: int, action_space: spaces.Space[Any], rng: np.random.Generator
) -> Act:
    """Let P snapshots of a policy act side by side, each in `episodes` copies.

    Copies are ordered by snapshot, then episode. A learning curve is evaluated in one go: the time
    goes into the number of steps, hardly into the number of snapshots.
    """
    stack = type(snapshots[0]).stack(snapshots)
    bounds = action_space if isinstance(action_space, spaces.Box) else None

    def act(observation: Any, info: dict[str, Any]) -> Any:
        actions = stack.sample(observation.reshape(len(snapshots), episodes, -1), rng)
        actions = actions.reshape(len(snapshots) * episodes, *actions.shape[2:])
        return actions if bounds is None else np.clip(actions, bounds.low, bounds.high)

    return act
