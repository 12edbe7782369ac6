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
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from longfair.agents.cpo.fisher import fisher_product
from longfair.agents.cpo.networks import (
    Critic,
    GaussianPolicy,
    divergence,
    gradient_of,
    tanh_layers,
)
from longfair.agents.cpo.samples import Played, Samples, flat, samples_of, standardised, with_time
from longfair.agents.cpo.settings import CPOSettings
from longfair.agents.cpo.trust_region import (
    Case,
    Moved,
    Step,
    accepted,
    accepted_as_coded,
    backtracked,
    trust_region_step,
)
from longfair.agents.learning import saving
from longfair.agents.learning.observations import observations
from longfair.agents.learning.seeding import NetworkSeed, seeded
from longfair.agents.learning.spaces import (
    Learned,
    fitting,
    generator_of,
    require_restarts,
    spaces_of,
    spaces_to_json,
)
from longfair.agents.learning.threads import one_thread
from longfair.agents.ppo.f_ppo import ANY_GAPS, GAPS, WORLDS
from longfair.agents.ppo.rollout import generalised_advantages
from longfair.agents.register import Style, register
from longfair.arrays import Float32Array, FloatArray
from longfair.errors import UsageError, near_misses
from longfair.settings import Natural, Seed, validated


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
    place=120,
    style=Style("#882255", "8"),
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
    6. The Fisher matrix is not damped (code, which names a damping of 0.001 and forgets it).
    7. Critics are fitted to returns of this batch and the one before, by L-BFGS. As coded it goes
       a thousandth of every step, without looking whether that is too far.
    8. Where the limit is kept with certainty the code can pick the multiplier of a branch that is
       empty. That is not copied: with the authors' settings the limit is never kept.
    """

    name: ClassVar[str] = "cpo"
    revision: ClassVar[int] = CPOSettings.revision
    policy: GaussianPolicy

    @validated
    def __init__(
        self,
        env: Learned,
        settings: CPOSettings | None = None,
        seed: NetworkSeed | None = None,
    ) -> None:
        self.env: Any = env
        self.seed = seed
        self.settings = settings = CPOSettings() if settings is None else settings
        observed, acting = _sizes(env)
        networks: Any = seeded(seed, lambda: _networks(observed, acting, settings.hidden))
        self.policy, *critics = networks
        self.value, self.cost = (
            Critic(
                layers,
                settings.critic_rate,
                settings.critic_steps,
                settings.critic_penalty,
                searching=not settings.as_coded,
            )
            for layers in critics
        )
        # The environment's generator starts from the seed itself: this must be another stream.
        self.rng = np.random.default_rng(None if seed is None else (seed, 1))
        self._shown = np.random.default_rng(None if seed is None else (seed, 2))
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

        Raises
        ------
        UsageError
            If it is not one observation per copy, or holds what is no finite number.
        """
        seen = observations(observation, self.env.single_observation_space.shape)
        return self._executed(self._chosen(seen, None if deterministic else self._shown)), None

    @validated
    def set_random_seed(self, seed: Seed | None = None) -> None:
        """Start the draws of `predict` anew; what is learned does not depend on them."""
        self._shown = np.random.default_rng(seed)

    def _chosen(self, observation: NDArray[Any], rng: np.random.Generator | None) -> Float32Array:
        """Draw actions (N, A) from a generator; without one take the means."""
        with torch.no_grad():
            found = self.policy(torch.tensor(observation, dtype=torch.float32))
        mean: Float32Array = found.mean.numpy()
        if rng is None:
            return mean
        noise = rng.standard_normal(mean.shape, dtype=np.float32)
        drawn: Float32Array = mean + found.stddev.numpy() * noise
        return drawn

    def _executed(self, actions: Float32Array) -> Float32Array:
        space = self.env.single_action_space
        assert isinstance(space, spaces.Box)
        return np.clip(actions, space.low, space.high)

    # Learning -----------------------------------------------------------------------------------

    @validated
    def learn(
        self,
        total_timesteps: Natural,
        callback: Callback | None = None,
        progress_bar: bool = False,
        reset_num_timesteps: bool = True,
    ) -> Self:
        """Play and learn, on one thread.

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

        Notes
        -----
        Denormal numbers are flushed to zero from the first learning on, in the whole thread and for
        good.
        """
        from rich.progress import Progress

        torch.set_flush_denormal(True)
        if reset_num_timesteps:
            self.num_timesteps = 0
        last = self.num_timesteps + total_timesteps
        with one_thread(), Progress(disable=not progress_bar) as progress:
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
        require_restarts(self.env)
        observation, _ = self.env.reset(seed=self._unused_seed)
        self._unused_seed = None
        rows: list[tuple[Any, ...]] = []
        ended = np.zeros(self.env.num_envs, np.bool_)
        while not ended.any():
            actions = self._chosen(observation, self.rng)
            seen = np.array(observation, np.float32)
            observation, reward, terminated, truncated, info = self.env.step(
                self._executed(actions)
            )
            rows.append((seen, actions, reward, _cost(info, self.settings.cost, len(seen))))
            ended = terminated | truncated
        if not ended.all():
            raise UsageError("episodes of different lengths: CPO needs equal ones")
        if len(rows) * self.env.num_envs < 2:
            raise UsageError(
                "one copy with one step per episode gives 1 sample, and advantages cannot be "
                "standardised over one: give more copies or longer episodes"
            )
        observed, drawn, rewards, costs = map(np.stack, zip(*rows, strict=True))
        if not (np.isfinite(rewards).all() and np.isfinite(costs).all()):
            raise UsageError("the environment returned a reward or a cost that is not finite")
        return Played(observed, drawn, rewards.astype(float), costs.astype(float))

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
            for critic in self._critics().values()
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
            return cost_advantages / float(cost_advantages.std(ddof=1))
        return cost_advantages - float(cost_advantages.mean())

    def _move(
        self,
        played: Played,
        advantages: FloatArray,
        cost_advantages: FloatArray,
        cost_returns: FloatArray,
    ) -> Report:
        """Take one step in the trust region."""
        settings, steps = self.settings, len(played.rewards)
        if settings.as_coded:
            weight, spent = float(steps), float(played.costs.sum(axis=0).mean())
        else:
            weight = float((settings.discount ** np.arange(steps)).sum())
            spent = float(cost_returns[0].mean())
        excess = spent - settings.limit
        samples = samples_of(
            self.policy,
            flat(played.observations),
            flat(played.actions),
            flat(advantages),
            flat(weight * cost_advantages),
        )
        step = self._step(samples, excess)
        at = self._path(samples, step.vector)
        accepts = accepted_as_coded if settings.as_coded else accepted
        length = backtracked(
            lambda length: accepts(step, length, at, excess, settings.max_divergence),
            settings.shrinking,
            settings.trials,
        )
        reward = float(played.rewards.sum(axis=0).mean())
        return Report(reward, spent, step.case, length, at(length).divergence)

    def _step(self, samples: Samples, excess: float) -> Step:
        """Return the step that the local model of the samples asks for."""
        reward, cost = samples.surrogates(self.policy(samples.observations))
        gradient, cost_gradient = (
            gradient_of(part, self.policy).double().numpy() for part in (reward, cost)
        )
        return trust_region_step(
            gradient,
            cost_gradient,
            excess,
            fisher_product(self.policy, samples.observations, self.settings.damping),
            self.settings.max_divergence,
            self.settings.conjugate_steps,
        )

    def _path(self, samples: Samples, vector: FloatArray) -> Callable[[float], Moved]:
        """Return what moves the policy by a length of a step, and tells where that leads."""
        start = parameters_to_vector(self.policy.parameters()).detach()
        direction = torch.tensor(vector, dtype=start.dtype)
        with torch.no_grad():
            before = self.policy(samples.observations)
            began, _ = samples.surrogates(before)

        def at(length: float) -> Moved:
            vector_to_parameters(start + length * direction, self.policy.parameters())
            with torch.no_grad():
                there = self.policy(samples.observations)
                gain, cost = samples.surrogates(there)
                return Moved((gain - began).item(), cost.item(), divergence(before, there).item())

        return at

    def _fit(self, inputs: Tensor, returns: list[FloatArray]) -> None:
        """Fit the critics to this batch and the one before."""
        targets = torch.stack([flat(array) for array in returns])
        batches = [(inputs, targets)]
        if self._batch_before is not None:
            batches.append(self._batch_before)
        all_inputs = torch.cat([batch[0] for batch in batches])
        all_targets = torch.cat([batch[1] for batch in batches], dim=1)
        for critic, target in zip(self._critics().values(), all_targets, strict=True):
            critic.fit(all_inputs, target)
        self._batch_before = inputs, targets

    # Going on -----------------------------------------------------------------------------------

    def training_state(self) -> tuple[saving.Arrays, saving.Settings]:
        """Return what training needs to go on to the same bits, between two batches.

        Returns
        -------
        arrays : dict
            Parameters, what L-BFGS remembers, and the batch before.
        settings : dict
            Plain values: counters, and the states of the generators of agent and environment.
        """
        arrays = {name: array.copy() for name, array in self._arrays().items()}
        for name, critic in self._critics().items():
            arrays |= {f"{name} memory {key}": array for key, array in critic.memory().items()}
        if self._batch_before is not None:
            arrays |= {
                f"before {number}": part.numpy() for number, part in enumerate(self._batch_before)
            }
        return arrays, {
            "num_timesteps": self.num_timesteps,
            "agent": saving.generator_to_json(self.rng),
            "environment": saving.generator_to_json(generator_of(self.env)),
        }

    def restore_training_state(self, arrays: saving.Arrays, settings: saving.Settings) -> None:
        """Take over what `training_state` returned, in an agent made with the same settings.

        Learn the rest with ``learn(total - agent.num_timesteps, reset_num_timesteps=False)``.

        Parameters
        ----------
        arrays, settings
            As returned there.
        """
        own = self._arrays()
        saving.fill(own, {name: arrays[name] for name in own})
        for name, critic in self._critics().items():
            start = f"{name} memory "
            critic.remember(
                {key.removeprefix(start): a for key, a in arrays.items() if key.startswith(start)}
            )
        if "before 0" in arrays:
            inputs, targets = (torch.tensor(arrays[f"before {part}"]) for part in (0, 1))
            self._batch_before = inputs, targets
        self.num_timesteps = settings["num_timesteps"]
        saving.restore_generator(self.rng, settings["agent"])
        # The first reset would otherwise seed the environment, and undo this.
        self._unused_seed = None
        saving.restore_generator(generator_of(self.env), settings["environment"])

    # Saving -------------------------------------------------------------------------------------

    def _critics(self) -> dict[str, Critic]:
        return {"value": self.value, "cost": self.cost}

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
            "spaces": spaces_to_json(self.env),
        }

    @classmethod
    def _from_saved(
        cls, arrays: saving.Arrays, settings: saving.Settings, env: Any, /, **kwargs: Any
    ) -> Self:
        env = fitting(env, settings["spaces"])
        content = settings["settings"]
        own = CPOSettings(**{**content, "hidden": tuple(content["hidden"])})
        told = {"settings": own, "seed": settings["seed"]}
        agent = cls(env, **{**told, **kwargs})
        saving.fill(agent._arrays(), arrays)
        agent.num_timesteps = settings["num_timesteps"]
        return agent


def _cost(info: dict[str, Any], name: str, copies: int) -> FloatArray:
    """Return the costs (N,) of a step."""
    if name not in info:
        told_by = ANY_GAPS if name in GAPS else near_misses(name, info)
        raise UsageError(f"the cost is info {name!r}: {told_by}")
    cost: FloatArray = np.array(info[name])
    if cost.shape != (copies,) or cost.dtype.kind not in "biuf":
        raise UsageError(
            f"the cost is info {name!r}, an array of {cost.dtype} and shape {cost.shape}: "
            f"name one with a number for every copy, ({copies},)"
        )
    return cost


def _sizes(env: Any) -> list[int]:
    """Return how many numbers are observed, and how many an action has."""
    sizes = []
    for what, space in zip(("observations", "actions"), spaces_of(env), strict=True):
        if not isinstance(space, spaces.Box) or len(space.shape) != 1:
            raise UsageError(f"{what} are {space}: CPO needs a Box of one axis")
        sizes.append(space.shape[0])
    return sizes


def _networks(observed: int, acting: int, hidden: tuple[int, ...]) -> torch.nn.ModuleList:
    """Return the policy, and the layers of the two critics."""
    sizes = observed + 1, *hidden, 1
    policy = GaussianPolicy((observed, *hidden, acting))
    return torch.nn.ModuleList([policy, tanh_layers(sizes), tanh_layers(sizes)])
