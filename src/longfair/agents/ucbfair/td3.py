r"""R-TD3: TD3 with a reward whose weight on fairness grows from step to step.

Yin et al. (2023, Equation 6) minimise

.. math::

    \mathbb{E} \sum_{\tau=1}^{H} (1 - \lambda_\tau) \, \mathcal{L}(s_\tau, a_\tau)
    + \lambda_\tau \, \Delta(s_\tau, a_\tau), \qquad \lambda_\tau = \tau / H ,

with the TD3 of Stable-Baselines3, which stands here as it is. Implementation details, with their
sources:

1. The reward of a step is 1 minus the term of the sum (Equation 6, released code). With
   :math:`\lambda \equiv 0` it is the environment's own: the control "TD3" of Figure 4.
2. The agent sees the time, or its problem would not be Markov. The released code does not show it.
3. An episode ends at H for good: nothing is bootstrapped there (released code), because the sum has
   no further terms.
4. TD3's settings are those of Stable-Baselines3 before 2.3, which the paper's version had, and are
   written out: defaults changed since. One copy plays an episode, and as many gradient steps follow
   as it had steps. Gaussian noise of 0.1 is added for exploration (released code).
5. The released code raises :math:`1 - \Delta` to the 20th power, so small gaps count up to twenty
   times; it is the `exponent`. It has its own learning rate, batch and start: `as_coded`.
6. N copies of the environment may be stepped at once. N gradient steps then follow every step of
   them, the ratio of the defaults, unless `gradient_steps` says otherwise. This is ours.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self, Unpack

import gymnasium
import numpy as np
import torch
from gymnasium.vector import VectorWrapper
from numpy.typing import NDArray
from stable_baselines3 import TD3
from stable_baselines3.common.noise import NormalActionNoise, VectorizedActionNoise
from stable_baselines3.common.vec_env import VecEnv

from longfair.agents.learning import saving
from longfair.agents.learning.callbacks import Callbacks
from longfair.agents.learning.observations import observations
from longfair.agents.learning.seeding import LegacySeed
from longfair.agents.learning.spaces import Batch, require_restarts
from longfair.agents.policies.notions import NOTIONS
from longfair.agents.register import Style, register
from longfair.agents.ucbfair.td3_settings import Inherited, RTD3Settings
from longfair.errors import UsageError
from longfair.settings import Count, Give, Natural, shortened, validated

_AROUND = "BatchVecEnv around WeightedReward around the environment"
Environment = Annotated[VecEnv | gymnasium.Env[Any, Any], Give(_AROUND)]
"""What a model may be loaded for, or go on in."""


class WeightedReward(VectorWrapper[Any, Any, Any]):
    """Replace the reward by 1 minus the weighted mean of loss and disparity.

    Parameters
    ----------
    env
        A batch of `longfair/Population-v0`, possibly wrapped, that restarts copies at once.
    settings
        Weight, exponent and notion.
    """

    @validated
    def __init__(self, env: Batch, settings: RTD3Settings) -> None:
        length = getattr(env.unwrapped, "episode_length", None)
        if length is None or not hasattr(getattr(env.unwrapped, "model", None), "disparities"):
            raise UsageError(f"{env} tells no disparity: give a batch of longfair/Population-v0")
        require_restarts(env)
        super().__init__(env)
        self._length = int(length)
        self.settings = settings
        self._step = np.zeros(self.num_envs)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode in every copy."""
        if options:
            raise UsageError("options: all copies start together, so give none")
        self._step[:] = 0
        return self.env.reset(seed=seed)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take one step; `info` keeps the environment's reward as `own_reward`."""
        observation, reward, terminated, truncated, info = self.env.step(actions)
        self._step += 1
        weighted = self.weighted(reward, info["disparity"])
        info["own_reward"] = reward
        self._step[terminated | truncated] = 0
        return observation, weighted, terminated, truncated, info

    def weighted(self, reward: NDArray[Any], disparity: NDArray[Any]) -> NDArray[Any]:
        """Return the reward (N,) of the step that has just been made."""
        settings = self.settings
        gap = 1.0 - (1.0 - disparity[:, NOTIONS[settings.notion]]) ** settings.exponent
        share = self._step / self._length if settings.weight == "rising" else 0.0
        return 1.0 - (1.0 - share) * (1.0 - reward) - share * gap


@register(
    label="R-TD3",
    place=190,
    style=Style("#332288", "h"),
    loaded_by="longfair.agents.ucbfair.td3:RTD3",
    needs=("disparity",),
    actions=("continuous",),
    environments=("longfair/Population-v0",),
)
class RTD3(TD3):
    """Stable-Baselines3's TD3; `around` makes it for an environment and settings.

    What learns is not overridden. Saving and loading are Stable-Baselines3's too, which pickle:
    load only what you trust. `training_state` pickles nothing.
    """

    name: ClassVar[str] = RTD3Settings.name
    revision: ClassVar[int] = RTD3Settings.revision
    settings: RTD3Settings | None = None
    """What `around` made the agent for; None for one that was made in another way."""

    @classmethod
    @validated
    def around(
        cls,
        env: Annotated[VecEnv, Give(_AROUND)],
        settings: RTD3Settings | None = None,
        seed: LegacySeed | None = None,
        **kwargs: Unpack[Inherited],
    ) -> Self:
        """Return an agent ready to learn.

        Parameters
        ----------
        env
            `longfair.envs.sb3.BatchVecEnv` around `WeightedReward` around the environment. A weight
            that rises needs the time: `longfair.envs.elapsed.ElapsedTime` shows it. As coded
            `longfair.envs.population.histograms.FeatureHistograms` stands in its place.
        settings
            Settings, the same as those of the reward.
        seed
            Seed of the networks, of the draws and of the environment.
        **kwargs
            Further arguments of `stable_baselines3.TD3`, such as `tensorboard_log`; those of
            `longfair.agents.ucbfair.td3_settings.Inherited`.

        Raises
        ------
        UsageError
            If the reward is not that of the settings, or its weight rises and no time is shown.
        """
        chosen = RTD3Settings() if settings is None else settings
        _require_reward(env, chosen)
        actions = env.action_space.shape
        assert actions is not None
        noise, train_freq = _for_copies(
            NormalActionNoise(np.zeros(actions), np.full(actions, chosen.action_noise)),
            env.num_envs,
        )
        agent = cls(
            "MlpPolicy",
            env,
            learning_rate=chosen.learning_rate,
            buffer_size=chosen.buffer_size,
            learning_starts=chosen.learning_starts,
            batch_size=chosen.batch_size,
            tau=0.005,
            gamma=0.99,
            train_freq=train_freq,
            gradient_steps=chosen.gradient_steps,
            action_noise=noise,
            replay_buffer_kwargs={"handle_timeout_termination": False},
            policy_delay=2,
            target_policy_noise=0.2,
            target_noise_clip=0.5,
            policy_kwargs={"net_arch": list(chosen.hidden)},
            seed=seed,
            device="cpu",
            **kwargs,
        )
        agent.settings = chosen
        return agent

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[NDArray[Any], Any]:
        """Choose an action in every copy; see `stable_baselines3.TD3.predict`.

        Raises
        ------
        UsageError
            If it is not one observation per copy, or holds what is no finite number.
        """
        seen = observations(observation, self.observation_space.shape, single=True)
        return super().predict(seen, state, episode_start, deterministic)

    @validated
    def learn(
        self,
        total_timesteps: Natural,
        callback: Callbacks | None = None,
        log_interval: Count | None = 4,
        tb_log_name: str = "TD3",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Learn; see `stable_baselines3.TD3.learn`, whose arguments are checked here."""
        return super().learn(
            total_timesteps,
            callback,
            log_interval,  # type: ignore[arg-type]  # None is asked for, and not declared
            tb_log_name,
            reset_num_timesteps,
            progress_bar,
        )

    @classmethod
    @validated
    def load(
        cls,
        path: Any,
        env: Environment | None = None,
        device: Any = "auto",
        custom_objects: dict[str, Any] | None = None,
        print_system_info: bool = False,
        force_reset: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Load; see `stable_baselines3.TD3.load`. The environment may have other copies.

        Raises
        ------
        UsageError
            If the file cannot be read, or the environment's reward is not that of the settings.
        """
        try:
            model = super().load(
                path, env, device, custom_objects, print_system_info, force_reset, **kwargs
            )
        except OSError as error:
            raise UsageError(f"cannot read a model from {path}: {error}") from error
        model._require_reward_of(env)
        noise: Any = model.action_noise
        single = getattr(noise, "base_noise", noise)
        before = 1 if single is noise else noise.n_envs
        if noise is not None and before != model.n_envs:
            model.action_noise, model.train_freq = _for_copies(single, model.n_envs)
            model._convert_train_freq()
        return model

    @validated
    def set_env(self, env: Environment, force_reset: bool = True) -> None:
        """Go on in another environment with as many copies; see `stable_baselines3.TD3.set_env`."""
        copies = getattr(env, "num_envs", 1)
        if copies != self.n_envs:
            raise UsageError(
                f"the environment has {copies} copies, the model was made for {self.n_envs}: save "
                "it, and load it with RTD3.load(path, env)"
            )
        self._require_reward_of(env)
        super().set_env(env, force_reset)

    def _require_reward_of(self, env: Any) -> None:
        """Refuse an environment to go on in whose reward is not that of the settings."""
        if env is not None and self.settings is not None:
            _require_reward(env, self.settings)

    def learned(self) -> list[NDArray[Any]]:
        """Return the parameters of all networks."""
        return [parameter.detach().numpy() for parameter in self.policy.parameters()]

    # Going on -----------------------------------------------------------------------------------

    def training_state(self, actions: NDArray[Any]) -> tuple[saving.Arrays, saving.Settings]:
        """Return what training needs to go on to the same bits, at the start of a rollout.

        Parameters
        ----------
        actions
            All actions (T, N, ...) of the training so far, on the scale from -1 to 1, as a callback
            finds them in ``locals["buffer_actions"]``. Going on begins with repeating them, which
            brings environment and replay buffer to where they were.

        Returns
        -------
        arrays : dict
            Parameters, the optimisers' moments, and `actions`.
        settings : dict
            Plain values: counters, and the states of all generators that learning draws from.

        Raises
        ------
        UsageError
            If the actions are not those of all steps.
        """
        given = len(actions) * self.n_envs
        if given != self.num_timesteps:
            raise UsageError(
                f"the actions of {given} of {self.num_timesteps} steps are given: give all of them"
            )
        tensors = {f"{_POLICY}{name}": part for name, part in self.policy.state_dict().items()}
        for start, optimizer in self._optimizers().items():
            for number, moments in optimizer.state_dict()["state"].items():
                tensors |= {f"{start}{number} {name}": part for name, part in moments.items()}
        arrays = {name: tensor.numpy().copy() for name, tensor in tensors.items()}
        arrays |= {"actions": actions, "torch": torch.get_rng_state().numpy()}
        name, arrays["numpy"], *rest = np.random.get_state()  # noqa: NPY002  # what SB3 draws from
        return arrays, {
            "updates": self._n_updates,
            "numpy": [name, *rest],
            "random actions": saving.generator_to_json(self.action_space.np_random),
        }

    def restore_training_state(self, arrays: saving.Arrays, settings: saving.Settings) -> None:
        """Take over what `training_state` returned, in an agent made with the same settings.

        Learn the rest with ``learn(total - model.num_timesteps, reset_num_timesteps=False)``.

        Parameters
        ----------
        arrays, settings
            As returned there.
        """
        self._repeat(arrays["actions"])
        self.policy.load_state_dict(_tensors(arrays, _POLICY))
        for start, optimizer in self._optimizers().items():
            state: dict[int, dict[str, torch.Tensor]] = {}
            for key, tensor in _tensors(arrays, start).items():
                number, name = key.split(" ")
                state.setdefault(int(number), {})[name] = tensor
            optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
        self._n_updates = settings["updates"]
        # Last, because making the agent and stepping the environment may have drawn.
        saving.restore_generator(self.action_space.np_random, settings["random actions"])
        name, *rest = settings["numpy"]
        np.random.set_state((name, arrays["numpy"], *rest))  # noqa: NPY002  # as above
        torch.set_rng_state(torch.from_numpy(arrays["torch"]))

    def _repeat(self, actions: NDArray[Any]) -> None:
        """Take the steps of a new training again and remember them, without learning."""
        assert self.env is not None
        assert self.replay_buffer is not None
        self._last_obs = self.env.reset()  # type: ignore[assignment]  # declared as None before it
        for scaled in actions:
            step = self.env.step(self.policy.unscale_action(scaled))
            observation, rewards, dones, infos = step
            self.num_timesteps += self.n_envs
            self._episode_num += int(np.count_nonzero(dones))
            self._store_transition(
                self.replay_buffer,
                scaled,
                observation,  # type: ignore[arg-type]  # arrays, from a Box
                rewards,
                dones,
                infos,
            )

    def _optimizers(self) -> dict[str, torch.optim.Optimizer]:
        """Return the optimisers, by how the names of their moments start."""
        return {
            "moments of actor ": self.actor.optimizer,
            "moments of critic ": self.critic.optimizer,
        }


def _for_copies(noise: Any, copies: int) -> tuple[Any, Any]:
    """Return the noise of so many copies, and how often they learn."""
    if copies == 1:
        return noise, (1, "episode")
    # Copies need not end their episodes together, so Stable-Baselines3 counts their steps.
    return VectorizedActionNoise(noise, copies), (1, "step")


def _require_reward(env: Any, settings: RTD3Settings) -> None:
    """Refuse an environment whose reward is not that of the settings, or that hides the time."""
    layers = _layers(env)
    rewards = [layer for layer in layers if isinstance(layer, WeightedReward)]
    if len(rewards) != 1:
        raise UsageError(
            f"env={shortened(env)} has {len(rewards)} WeightedReward in it: give {_AROUND}"
        )
    for name in ("weight", "exponent", "notion"):
        own, given = (getattr(one, name) for one in (rewards[0].settings, settings))
        if own != given:
            raise UsageError(
                f"{name}={given!r}, and {own!r} in the reward: give both the same settings"
            )
    shown = (getattr(layer, mark, False) for layer in layers for mark in _SHOWN)
    if settings.weight == "rising" and not any(shown):
        raise UsageError(
            "weight='rising' needs the time, which is not shown: put "
            "longfair.envs.elapsed.ElapsedTime around the environment"
        )


_SHOWN = ("shows_time", "as_released")
"""What wrappers declare that show the time, or what the released code shows."""


def _layers(env: Any) -> list[VectorWrapper[Any, Any, Any, Any]]:
    """Return the wrappers of the batch behind a vector environment, from the outside."""
    layers, layer = [], getattr(env.unwrapped, "env", None)
    while isinstance(layer, VectorWrapper):
        layers.append(layer)
        layer = layer.env
    return layers


_POLICY = "parameter "


def _tensors(arrays: saving.Arrays, start: str) -> dict[str, torch.Tensor]:
    """Return the arrays whose names start so, by the rest of their names."""
    return {
        name.removeprefix(start): torch.from_numpy(array)
        for name, array in arrays.items()
        if name.startswith(start)
    }
