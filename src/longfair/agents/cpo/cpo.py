r"""Constrained policy optimisation (Achiam et al. 2017) on a batch of episodes.

The policy seeks reward under a limit d on the cost of an episode,

.. math:: \max_\pi\ J(\pi) \quad \text{such that} \quad J_C(\pi) \le d .

After every batch it moves to the best policy of a trust region, by the local model of
`longfair.agents.cpo.trust_region`, and a line search holds the step against the samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray
from torch import Tensor
from torch.distributions import Independent
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from longfair.agents.cpo.networks import (
    Critic,
    GaussianPolicy,
    divergence,
    fisher_product,
    frozen,
    gradient_of,
    tanh_layers,
)
from longfair.agents.cpo.settings import CPOSettings
from longfair.agents.cpo.trust_region import Case, backtracked, trust_region_step
from longfair.agents.fairqcm.deep_q_learning import OnlySpaces, spaces_of
from longfair.agents.fairqcm.networks import seeded
from longfair.agents.learning import saving
from longfair.agents.ppo.f_ppo import WORLDS
from longfair.agents.ppo.rollout import generalised_advantages
from longfair.agents.register import register
from longfair.errors import UsageError, near_misses

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]

ACCEPTED_SHARE = 0.1
"""Share of the predicted improvement that the line search wants as coded."""


class Played(NamedTuple):
    """One episode of T steps in each of N copies."""

    observations: Float32Array
    """(T, N, I): before the steps."""
    actions: Float32Array
    """(T, N, A): as drawn, not clipped."""
    rewards: FloatArray
    """(T, N)."""
    costs: FloatArray
    """(T, N)."""


class Report(NamedTuple):
    """What one batch brought."""

    reward: float
    """Mean reward of an episode."""
    cost: float
    """Mean cost of an episode, as the limit counts it."""
    case: Case
    """How the step came about."""
    length: float
    """What the line search made of it; 0 if the policy stayed."""
    divergence: float
    """Of the policy that it led to."""


Callback = Callable[[Any], bool | None]
"""Called with the agent; returning False ends the learning."""


@register(
    label="CPO",
    loaded_by="longfair.agents.cpo.cpo:CPO",
    needs=("short_term_gap",),
    actions=("continuous",),
    environments=WORLDS,
)
class CPO(saving.Saved):
    """Constrained policy optimisation with a Gaussian policy.

    Parameters
    ----------
    env
        A batch environment with flat observations and continuous actions, whose episodes all have
        the same length. One episode in every copy makes a batch.
    settings
        The cost, its limit, and all numbers of the algorithm.
    seed
        Seed of networks, actions and the environment.

    Attributes
    ----------
    report
        What the last batch brought; None before the first.
    num_timesteps
        Steps taken, of all copies together.

    Notes
    -----
    Implementation details, with their source:

    1. Policy and critics are separate networks with tanh. Critics also see the share of the
       episode that has passed (code).
    2. The end of an episode counts as terminal (code).
    3. Advantages of the reward are standardised. Those of the cost are centred and keep their
       scale, so that the predicted cost is one. As coded they are divided by their deviation and
       not centred: what is taken off is the mean of the standardised advantages of the reward, 0.
    4. As published the bounded cost is discounted. As coded it is not, though its gradient is.
    5. The line search wants the divergence and the predicted cost within bounds, and no loss of
       reward unless the limit is broken. As coded it tests a step whose length it has squared, and
       then takes the one that it has not; it wants a tenth of the predicted improvement, and holds
       the cost's linear model against the limit.
    6. The conjugate gradient is not damped (code).
    7. Critics are fitted to returns of this batch and the one before, by L-BFGS without a line
       search (code).
    8. Where the limit is kept with certainty the code can pick the multiplier of a branch that is
       empty. That is not copied: with the authors' settings the limit is never kept.
    """

    name: ClassVar[str] = "cpo"
    revision: ClassVar[int] = CPOSettings.revision

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        settings: CPOSettings | None = None,
        seed: int | None = None,
    ) -> None:
        self.env, self.seed = env, seed
        self.settings = settings = CPOSettings() if settings is None else settings
        observed, acting = _sizes(env)
        sizes = observed + 1, *settings.hidden, 1
        self.policy, *critics = seeded(
            seed,
            lambda: torch.nn.ModuleList(
                [
                    GaussianPolicy((observed, *settings.hidden, acting)),
                    tanh_layers(sizes),
                    tanh_layers(sizes),
                ]
            ),
        )
        self.value, self.cost = (
            Critic(
                layers, settings.critic_rate, settings.critic_steps, settings.critic_penalty
            )
            for layers in critics
        )
        # The environment's generator starts from the seed itself: this must be another stream.
        self.rng = np.random.default_rng(None if seed is None else (seed, 1))
        self.num_timesteps = 0
        self.report: Report | None = None
        self._unused_seed = seed
        self._batch_before: tuple[Tensor, Tensor] | None = None

    # Acting -------------------------------------------------------------------------------------

    def predict(
        self,
        observation: NDArray[Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Float32Array, None]:
        """Choose an action in every copy.

        Parameters
        ----------
        observation
            (N, I).
        state, episode_start
            Not used; for the signature of agents with a memory.
        deterministic
            Take the mean instead of drawing.

        Returns
        -------
        actions, state
            (N, A), clipped to the action space, and None.
        """
        return self._executed(self._chosen(observation, deterministic)), None

    def _chosen(self, observation: NDArray[Any], deterministic: bool = False) -> Float32Array:
        with torch.no_grad():
            found = self.policy(torch.from_numpy(np.asarray(observation, np.float32)))
        mean: Float32Array = found.mean.numpy()
        if deterministic:
            return mean
        noise = self.rng.standard_normal(mean.shape, dtype=np.float32)
        return mean + found.stddev.numpy() * noise

    def _executed(self, actions: Float32Array) -> Float32Array:
        space = self.env.single_action_space
        assert isinstance(space, spaces.Box)
        return np.clip(actions, space.low, space.high)

    # Learning -----------------------------------------------------------------------------------

    def learn(
        self,
        total_timesteps: int,
        callback: Callback | None = None,
        progress_bar: bool = False,
        reset_num_timesteps: bool = True,
    ) -> Self:
        """Play and learn.

        Parameters
        ----------
        total_timesteps
            Steps of all copies together; rounded up to whole episodes of all copies.
        callback
            Called with the agent after every batch. Returning False ends the learning.
        progress_bar
            Show how far the learning is.
        reset_num_timesteps
            Count steps from zero; else go on.
        """
        from rich.progress import Progress

        torch.set_flush_denormal(True)
        if reset_num_timesteps:
            self.num_timesteps = 0
        last = self.num_timesteps + total_timesteps
        with Progress(disable=not progress_bar) as progress:
            bar = progress.add_task("Learning", total=total_timesteps)
            while self.num_timesteps < last:
                played = self._play()
                self.num_timesteps += played.rewards.size
                self.report = self._learn_from(played)
                progress.advance(bar, played.rewards.size)
                if callback is not None and callback(self) is False:
                    break
        return self

    def _play(self) -> Played:
        """Play one episode in every copy with the present policy."""
        if self.env.metadata.get("autoreset_mode") != AutoresetMode.SAME_STEP:
            raise UsageError("the environment must restart copies at once: AutoresetMode.SAME_STEP")
        observation, _ = self.env.reset(seed=self._unused_seed)
        self._unused_seed = None
        rows: list[tuple[Any, ...]] = []
        ended = np.zeros(self.env.num_envs, np.bool_)
        while not ended.any():
            actions = self._chosen(observation)
            seen = np.array(observation, np.float32)
            observation, reward, terminated, truncated, info = self.env.step(
                self._executed(actions)
            )
            rows.append((seen, actions, reward, _cost(info, self.settings.cost)))
            ended = terminated | truncated
        if not ended.all():
            raise UsageError("episodes of different lengths: CPO needs equal ones")
        observations, drawn, rewards, costs = map(np.stack, zip(*rows, strict=True))
        if not (np.isfinite(rewards).all() and np.isfinite(costs).all()):
            raise UsageError("the environment returned a reward or a cost that is not finite")
        return Played(observations, drawn, rewards.astype(float), costs.astype(float))

    def _learn_from(self, played: Played) -> Report:
        """Improve the policy, and then the critics, by one batch."""
        settings = self.settings
        inputs = with_time(played.observations)
        ends = np.zeros(played.rewards.shape, np.bool_)
        ends[-1] = True

        def estimated(signal: FloatArray, values: FloatArray, decay: float) -> FloatArray:
            last = np.zeros((signal.shape[1], 1))
            found, _ = generalised_advantages(
                signal[..., None], values[..., None], last, ends, settings.discount, decay
            )
            return found[..., 0]

        values, costs = (
            critic.values(inputs).double().numpy().reshape(ends.shape)
            for critic in (self.value, self.cost)
        )
        signals = played.rewards, played.costs
        nothing = np.zeros(ends.shape)
        returns = [estimated(signal, nothing, 1.0) for signal in signals]
        report = self._move(
            played,
            standardised(estimated(played.rewards, values, settings.decay)),
            self._scaled(estimated(played.costs, costs, settings.cost_decay)),
            returns[1],
        )
        self._fit(inputs, returns)
        return report

    def _scaled(self, cost_advantages: FloatArray) -> FloatArray:
        """Return the cost's advantages as its gradient is taken of them."""
        if self.settings.as_coded:
            return cost_advantages / cost_advantages.std(ddof=1)
        return cost_advantages - cost_advantages.mean()

    def _move(
        self,
        played: Played,
        advantages: FloatArray,
        cost_advantages: FloatArray,
        cost_returns: FloatArray,
    ) -> Report:
        """Take one step in the trust region."""
        settings, steps = self.settings, len(played.rewards)
        observations, actions = (_flat(array) for array in (played.observations, played.actions))
        if settings.as_coded:
            weight, spent = float(steps), played.costs.sum(axis=0).mean()
        else:
            weight, spent = float((settings.discount ** np.arange(steps)).sum()), cost_returns[0].mean()
        excess = float(spent) - settings.limit
        here = self.policy(observations)
        log_prob = here.log_prob(actions)
        samples = Samples(
            actions, log_prob.detach(), *(_flat(a) for a in (advantages, weight * cost_advantages))
        )
        reward, cost = samples.surrogates(here)
        gradient, cost_gradient = (
            gradient_of(part, self.policy).double().numpy() for part in (reward, cost)
        )
        step = trust_region_step(
            gradient,
            cost_gradient,
            excess,
            fisher_product(self.policy, observations),
            settings.max_divergence,
            settings.conjugate_steps,
        )
        start = parameters_to_vector(self.policy.parameters()).detach()
        direction = torch.from_numpy(step.vector).to(start.dtype)
        before, began = frozen(here), reward.item()

        def at(length: float) -> tuple[float, float, float]:
            """Go there, and return gain, cost and divergence."""
            vector_to_parameters(start + length * direction, self.policy.parameters())
            with torch.no_grad():
                there = self.policy(observations)
                gain, change = samples.surrogates(there)
                return gain.item() - began, change.item(), divergence(before, there).item()

        predicted, predicted_cost = gradient @ step.vector, cost_gradient @ step.vector

        def accepted(length: float) -> bool:
            gain, change, moved = at(length)
            return (
                moved <= settings.max_divergence
                and change <= max(-excess, 0.0)
                and (excess > 0.0 or gain >= 0.0)
            )

        def accepted_as_coded(length: float) -> bool:
            gain, _, moved = at(length**2)
            return (
                moved <= settings.max_divergence
                and length**2 * predicted_cost <= max(-excess, 0.0)
                and (step.case == "recovery" or gain >= ACCEPTED_SHARE * length * predicted)
            )

        test = accepted_as_coded if settings.as_coded else accepted
        length = backtracked(test, settings.shrinking, settings.trials)
        moved = at(length)[2]
        whole = float(played.rewards.sum(axis=0).mean())
        return Report(whole, float(spent), step.case, length, moved)

    def _fit(self, inputs: Tensor, returns: list[FloatArray]) -> None:
        """Fit the critics to this batch and the one before."""
        targets = torch.stack([_flat(array) for array in returns])
        batches = [(inputs, targets)]
        if self._batch_before is not None:
            batches.append(self._batch_before)
        all_inputs = torch.cat([batch[0] for batch in batches])
        all_targets = torch.cat([batch[1] for batch in batches], dim=1)
        for critic, target in zip((self.value, self.cost), all_targets, strict=True):
            critic.fit(all_inputs, target)
        self._batch_before = inputs, targets

    # Saving -------------------------------------------------------------------------------------

    def _arrays(self) -> saving.Arrays:
        """Return views of all parameters by name."""
        modules = {"policy": self.policy, "value": self.value.layers, "cost": self.cost.layers}
        return {
            f"{name}.{part}": tensor.numpy()
            for name, module in modules.items()
            for part, tensor in module.state_dict().items()
        }

    def _to_saved(self) -> tuple[saving.Arrays, saving.Settings]:
        return self._arrays(), {
            "settings": asdict(self.settings),
            "seed": self.seed,
            "num_timesteps": self.num_timesteps,
            "spaces": list(map(saving.space_to_json, spaces_of(self.env))),
        }

    @classmethod
    def _from_saved(
        cls, arrays: saving.Arrays, settings: saving.Settings, env: Any, **kwargs: Any
    ) -> Self:
        observed, acting = map(saving.space_from_json, settings["spaces"])
        if env is None:
            env = OnlySpaces(observed, acting)
        elif spaces_of(env) != (observed, acting):
            raise UsageError(
                f"it was trained on {observed} and {acting}, the environment has "
                f"{env.single_observation_space} and {env.single_action_space}"
            )
        told = {"settings": _settings(settings["settings"]), "seed": settings["seed"]}
        agent = cls(env, **{**told, **kwargs})
        saving.fill(agent._arrays(), arrays)
        agent.num_timesteps = settings["num_timesteps"]
        return agent


class Samples(NamedTuple):
    """The samples of a batch, S = T * N of them, as the surrogates see them."""

    actions: Tensor
    """(S, A)."""
    log_prob: Tensor
    """(S,): under the policy that acted."""
    advantages: Tensor
    """(S,): of the reward."""
    cost_advantages: Tensor
    """(S,): of the cost, in costs of an episode."""

    def surrogates(self, policy: Independent) -> tuple[Tensor, Tensor]:
        """Return gain of reward and of cost that a policy promises, two scalars."""
        ratio = (policy.log_prob(self.actions) - self.log_prob).exp()  # type: ignore[no-untyped-call]  # torch
        return (ratio * self.advantages).mean(), (ratio * self.cost_advantages).mean()


def with_time(observations: Float32Array) -> Tensor:
    """Append the share of the episode that has passed: (T, N, I) to (T * N, I + 1)."""
    steps, copies, _ = observations.shape
    passed = np.broadcast_to((np.arange(steps) / steps)[:, None, None], (steps, copies, 1))
    return _flat(np.concatenate([observations, passed], axis=2))


def standardised(values: FloatArray) -> FloatArray:
    """Return values with mean 0 and deviation 1."""
    centred: FloatArray = values - values.mean()
    return centred / max(centred.std(ddof=1), 1e-12)


def _flat(array: NDArray[Any]) -> Tensor:
    """Join the axes of time and copies, in single precision."""
    return torch.from_numpy(array.reshape(-1, *array.shape[2:]).astype(np.float32))


def _cost(info: dict[str, Any], name: str) -> FloatArray:
    if name not in info:
        raise UsageError(f"the cost is info {name!r}: {near_misses(name, info)}")
    cost: FloatArray = np.array(info[name])
    return cost


def _settings(content: dict[str, Any]) -> CPOSettings:
    return CPOSettings(**{**content, "hidden": tuple(content["hidden"])})


def _sizes(env: Any) -> tuple[int, int]:
    """Return how many numbers are observed, and how many an action has."""
    observed, acting = spaces_of(env)
    for what, space in (("observations", observed), ("actions", acting)):
        if not isinstance(space, spaces.Box) or len(space.shape) != 1:
            raise UsageError(f"{what} are {space}: CPO needs a Box of one axis")
    return observed.shape[0], acting.shape[0]
