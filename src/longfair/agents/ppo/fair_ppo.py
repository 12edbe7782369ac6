"""PPO with fairness signals, which asks a strategy for its advantage.

Its interface is that of Stable-Baselines3; the update is its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, Unpack

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.vec_env import VecEnv

from longfair.agents.learning import saving
from longfair.agents.learning.callbacks import Callbacks
from longfair.agents.learning.observations import observations
from longfair.agents.learning.schedules import schedule_from_json, schedule_to_json, value_of
from longfair.agents.learning.seeding import LegacySeed
from longfair.agents.learning.threads import one_thread
from longfair.agents.ppo import logs, parameters
from longfair.agents.ppo import saved_parts as parts
from longfair.agents.ppo.arguments import (
    DEFAULT_BATCH,
    Environment,
    Inherited,
    Layers,
    Rate,
    episode_steps,
    require_environment,
    require_minibatches,
    require_rates,
    require_single_steps,
    rollout_steps,
    vectorised,
)
from longfair.agents.ppo.compiled_update import Coefficients
from longfair.agents.ppo.policy import FairActorCriticPolicy
from longfair.agents.ppo.rollout import Samples, SignalRolloutBuffer, generalised_advantages
from longfair.agents.ppo.strategy import (
    Arrays,
    Moment,
    Rollout,
    Strategy,
    intervened,
    not_told,
    planned,
)
from longfair.errors import UsageError
from longfair.settings import Count, Give, Natural, OneOf, validated

PolicyKind = Annotated[
    Annotated[str, OneOf("FairMlpPolicy")] | type[FairActorCriticPolicy],
    Give("'FairMlpPolicy', or a subclass of FairActorCriticPolicy"),
]
StrategyKind = Annotated[Strategy, Give("a strategy, such as longfair.agents.ppo.ElbertPO()")]


class FairPPO(saving.Saved, PPO):  # type: ignore[misc]  # its own load pickles nothing
    """Proximal policy optimisation whose advantage comes from a fairness strategy.

    Parameters
    ----------
    policy
        `"FairMlpPolicy"` or a subclass of `FairActorCriticPolicy`.
    env
        An environment whose infos carry `supply` and `demand`: its Gymnasium id, what
        `gymnasium.make` or `gymnasium.make_vec` returns, or a vector environment of
        Stable-Baselines3.
    strategy
        What the method changes; plain PPO when left out.
    net_arch
        Hidden sizes of the policy and of every critic.
    whole_episodes
        Start every rollout with fresh episodes. The ELBERT code does, with rollouts of whole
        episodes, so that totals per episode can be read off the rollout.
    bootstrap_truncated
        Add the discounted value of the final observation where an episode was cut by its length.
        The authors' codes treat such an end as terminal.
    n_steps
        Steps of a rollout per copy. By default those of one episode, where the environment says
        how long it is.
    **kwargs
        Arguments of `stable_baselines3.PPO`, as `longfair.agents.ppo.arguments.Inherited` lists
        them. Some have only one value here, because they belong to what is replaced.

    Raises
    ------
    UsageError
        If an argument is refused or out of range, a rollout would cut episodes, or a minibatch
        would have one sample.

    Notes
    -----
    Implementation details, with their source:

    1. Actions are sampled, a Gaussian's sample is clipped to the action space only for the
       environment; the buffer keeps the unclipped one (Stable-Baselines3).
    2. The environments of one rollout step together with a fixed policy, so values and
       log-probabilities are computed once per rollout in one pass. The numbers are those of
       computing them step by step.
    3. Advantages of reward and signals share discount and decay; each has its own critic (code).
    4. Numbers too small for full precision are flushed to zero from the first training on, in the
       whole thread and for good: Adam's moments of parameters without a gradient decay into that
       range, where arithmetic is many times slower.
    5. Critic loss: 0.5 times the sum over critics of their mean squared errors, no clipping (code).
    6. One gradient-norm clip over all networks together (code).
    7. Logs have Stable-Baselines3's names. Losses are those of the update's last minibatch, after
       its last step; rates and bias are those of all steps of the rollout.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"FairMlpPolicy": FairActorCriticPolicy}
    policy: FairActorCriticPolicy
    rollout_buffer: SignalRolloutBuffer

    @validated
    def __init__(
        self,
        policy: PolicyKind = "FairMlpPolicy",
        env: Environment | None = None,
        strategy: StrategyKind | None = None,
        net_arch: Layers = (64, 64),
        whole_episodes: bool = True,
        bootstrap_truncated: bool = False,
        learning_rate: Rate = 3e-4,
        n_steps: Count | None = None,
        **kwargs: Unpack[Inherited],
    ) -> None:
        require_rates(learning_rate=learning_rate, clip_range=kwargs.get("clip_range"))
        opened = vectorised(env)
        require_environment(opened, kwargs.get("_init_setup_model", True))
        self.strategy = strategy or Strategy()
        parts.require_meaning(self.strategy, opened)
        self.whole_episodes = whole_episodes
        self.bootstrap_truncated = bootstrap_truncated
        self.num_groups = 0 if opened is None else _num_groups(opened)
        self.seconds = {"collect": 0.0, "update": 0.0}
        self.strategy_state = dict(self.strategy.initial_state(self.num_groups))
        self._info: Arrays | None = None
        self._environment_state: Any = None
        arguments: dict[str, Any] = {
            "batch_size": DEFAULT_BATCH,
            **kwargs,
            "learning_rate": learning_rate,
            "n_steps": rollout_steps(opened, n_steps, whole_episodes),
            "rollout_buffer_class": SignalRolloutBuffer,
            "rollout_buffer_kwargs": {"num_groups": self.num_groups},
            "policy_kwargs": {
                "net_arch": list(net_arch),
                "num_signals": self.strategy.num_signals(self.num_groups),
            },
            "device": "cpu",
        }
        if opened is not None and self.strategy.standardises:
            samples = arguments["n_steps"] * opened.num_envs
            require_minibatches(samples, arguments["batch_size"])
        super().__init__(policy, opened, **arguments)

    def _setup_model(self) -> None:
        super()._setup_model()
        self.rng = np.random.default_rng(self.seed)
        self._episodes = logs.Episodes(self.n_envs)

    # Collecting ---------------------------------------------------------------------------------

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: Any,
        n_rollout_steps: int,
    ) -> bool:
        """Fill the buffer with steps of the present policy and compute all advantages."""
        started = time.perf_counter()
        rollout_buffer.reset()
        self._restore_environment(env)
        callback.on_rollout_start()
        if self.whole_episodes:
            self._last_obs = env.reset()  # type: ignore[assignment]  # declared as None before it
            self._last_episode_starts = np.ones(env.num_envs, dtype=bool)
        if self.whole_episodes or self._info is None or self.num_timesteps == 0:
            self._info = _info_of_reset(env, self.strategy)
        actor = self.policy.actor()
        rollout = self.num_timesteps // (n_rollout_steps * env.num_envs)
        bounds = self.action_space if isinstance(self.action_space, spaces.Box) else None
        finals: list[tuple[int, NDArray[np.bool_], NDArray[Any]]] = []
        steps_before = episode_steps(env)
        for step in range(n_rollout_steps):
            observation: Any = self._last_obs
            output = actor.output(observation)
            chosen = actor.drawn(output, self.rng)
            moment = Moment(observation, chosen, self._info, actor, output, rollout, self.rng)
            actions = intervened(self.strategy, moment)
            executed = actions if bounds is None else np.clip(actions, bounds.low, bounds.high)
            new_observation, rewards, dones, infos = env.step(executed)
            self.num_timesteps += env.num_envs
            callback.update_locals(locals())
            if not callback.on_step():
                return False
            supply, demand = group_signals(infos)
            self._info = needed(infos, self.strategy, self.strategy.needs)
            starts = self._last_episode_starts
            rollout_buffer.record(observation, actions, rewards, starts, supply, demand, self._info)
            if self.bootstrap_truncated and dones.any():
                finals.append((step, *_truncated_finals(infos, dones, observation)))
            self._last_obs = new_observation  # type: ignore[assignment]  # never a tuple here
            self._last_episode_starts = dones
            if step == 0:
                require_single_steps(env, steps_before, dones)
        self._check_finite(rollout_buffer)
        self._compute_advantages(rollout_buffer, finals)
        callback.update_locals(locals())
        callback.on_rollout_end()
        self.seconds["collect"] += time.perf_counter() - started
        return True

    def _check_finite(self, buffer: SignalRolloutBuffer) -> None:
        _require_finite("observation", buffer.observations)
        _require_finite("observation", np.asarray(self._last_obs)[None], "at the rollout's end")
        _require_finite("reward", buffer.rewards)
        signals = {"supply": buffer.supply, "demand": buffer.demand}
        for name, array in (signals | buffer.info).items():
            _require_finite(f"info {name!r}", array)

    def _compute_advantages(
        self,
        buffer: SignalRolloutBuffer,
        finals: list[tuple[int, NDArray[np.bool_], NDArray[Any]]],
    ) -> None:
        ends = buffer.ends(np.asarray(self._last_episode_starts, dtype=bool))
        rollout = Rollout(
            buffer.rewards,
            buffer.supply,
            buffer.demand,
            np.asarray(buffer.episode_starts, dtype=bool),
            ends,
            self.gamma,
            buffer.info,
            self.strategy_state,
        )
        self.strategy_state = parts.next_state(self.strategy, rollout)
        rollout = rollout._replace(state=self.strategy_state)
        self._log_rollout(rollout)
        plan = planned(self.strategy, rollout)
        observations = _flat(buffer.observations)
        actions = torch.from_numpy(_flat(buffer.actions))
        outputs, values = self.policy.evaluated(observations)
        with torch.no_grad():
            distribution = self.policy.distribution(torch.from_numpy(outputs))
            log_prob = distribution.log_prob(actions)
        last_values = self._values(self._last_obs)
        signals = np.concatenate([plan.rewards[..., None], plan.signals], axis=2)
        for step, copies, final_observations in finals:
            signals[step, copies] += self.gamma * self._values(final_observations)
        shape = (buffer.buffer_size, buffer.n_envs, -1)
        advantages, returns = generalised_advantages(
            signals,
            values.astype(np.float64).reshape(shape),
            last_values,
            ends,
            self.gamma,
            self.gae_lambda,
        )
        buffer.keep(values.reshape(shape), log_prob.numpy(), advantages, returns)
        self._plan = plan
        later = (returns, advantages, plan.features)
        self._samples = Samples(
            torch.from_numpy(observations),
            actions.reshape(len(actions), -1).float(),
            log_prob,
            *(torch.from_numpy(_flat(array).astype(np.float32)) for array in later),
        )

    def _log_rollout(self, rollout: Rollout) -> None:
        """Hand finished episodes to Stable-Baselines3's log, and log rates and bias."""
        if self.ep_info_buffer is not None:
            self.ep_info_buffer.extend(self._episodes.finished(rollout))
        for name, value in logs.of_rollout(rollout).items():
            self.logger.record(f"rollout/{name}", value)
        for name, array in rollout.state.items():
            if array.size == 1:
                self.logger.record(f"strategy/{name}", array.item())

    def _values(self, observations: Any) -> NDArray[np.float64]:
        """Return (B, 1 + K) values of observations (B, input)."""
        with torch.no_grad():
            values = self.policy.predict_values(torch.from_numpy(np.asarray(observations)))
        return values.numpy().astype(np.float64)

    # Learning -----------------------------------------------------------------------------------

    @validated
    def learn(
        self,
        total_timesteps: Natural,
        callback: Callbacks | None = None,
        log_interval: Count | None = 1,
        tb_log_name: str = "PPO",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Learn, in whole rollouts, on one thread; arguments as for `stable_baselines3.PPO.learn`.

        Parameters
        ----------
        total_timesteps
            Steps of all copies together; rounded up to whole rollouts.
        callback
            Called in every step, as in Stable-Baselines3.
        log_interval
            Rollouts between two logs; None for no logs.
        tb_log_name
            Name of the run in TensorBoard.
        reset_num_timesteps
            Count steps from zero; else go on.
        progress_bar
            Show how far the learning is.
        """
        if self.env is None:
            raise UsageError(
                "there is no environment to learn in: load the model with FairPPO.load(path, env)"
            )
        if not hasattr(self, "policy"):
            raise UsageError("there are no networks yet: leave _init_setup_model=False away")
        with one_thread():
            return super().learn(
                total_timesteps,
                callback,
                log_interval,  # type: ignore[arg-type]  # None is asked for, and not declared
                tb_log_name,
                reset_num_timesteps,
                progress_bar,
            )

    def train(self) -> None:
        """Update policy and critics on the collected rollout."""
        started = time.perf_counter()
        torch.set_flush_denormal(True)
        self.policy.set_training_mode(True)
        remaining = self._current_progress_remaining
        learning_rate = value_of("learning_rate", self.lr_schedule, remaining)
        self.policy.optimizer.learning_rate = learning_rate
        self.logger.record("train/learning_rate", learning_rate)
        clip_range = value_of("clip_range", self.clip_range, remaining)  # type: ignore[arg-type]  # a schedule by now
        for _ in range(self.n_epochs):
            if not self._train_epoch(clip_range):
                break
        self._n_updates += self.n_epochs
        self._log_update(clip_range)
        self.seconds["update"] += time.perf_counter() - started

    def _log_update(self, clip_range: float) -> None:
        losses = logs.of_update(self.policy, self._last_batch, self._coefficients(clip_range))
        for name, value in losses.items():
            self.logger.record(f"train/{name}", value)
        returns, advantages = self._samples.returns[:, 0], self._samples.advantages[:, 0]
        explained = logs.explained_variance(returns, advantages)
        self.logger.record("train/explained_variance", explained)
        self.logger.record("train/clip_range", clip_range)
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def _coefficients(self, clip_range: float) -> Coefficients:
        return Coefficients(clip_range, float(self.vf_coef), float(self.ent_coef))

    def _train_epoch(self, clip_range: float) -> bool:
        """Go once through the samples; return False when the policy moved beyond `target_kl`."""
        write_gradient = self.policy.gradient_writer(self._coefficients(clip_range))
        combine = partial(self.strategy.advantage, plan=self._plan)
        minibatches = self.rollout_buffer.minibatches(
            self._samples, self.batch_size, self.rng, combine
        )
        for batch in minibatches:
            self._last_batch = batch
            divergence = write_gradient(batch)
            if self.target_kl is not None and divergence > 1.5 * self.target_kl:
                return False
            self.policy.move(self.max_grad_norm)
        return True

    # Acting -------------------------------------------------------------------------------------

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[NDArray[Any], Any]:
        """Choose an action in every copy, as in Stable-Baselines3.

        Parameters
        ----------
        observation
            (N, ...), or a single one without the axis of copies.
        state, episode_start
            Not used; for the signature of agents with a memory.
        deterministic
            Take the most likely action instead of drawing.

        Returns
        -------
        actions, state
            (N, ...), or a single one as it was given, and None.

        Raises
        ------
        UsageError
            If it is not one observation per copy, or holds what is no finite number.
        """
        seen = observations(observation, self.observation_space.shape, single=True)
        return super().predict(seen, state, episode_start, deterministic)

    # What Stable-Baselines3 offers beside -------------------------------------------------------

    @validated
    def set_random_seed(self, seed: LegacySeed | None = None) -> None:
        """Start all random numbers anew, as in Stable-Baselines3; None leaves them as they are."""
        super().set_random_seed(seed)
        if seed is not None:
            self.rng = np.random.default_rng(seed)

    @validated
    def set_env(self, env: Environment, force_reset: bool = True) -> None:
        """Go on in another environment of the same kind.

        Parameters
        ----------
        env
            As for the class. Spaces, groups and the number of copies are those the model has.
        force_reset
            Start with fresh episodes.

        Raises
        ------
        UsageError
            If the environment is of another kind, or its episodes would be cut.
        """
        opened = vectorised(env)
        saving.require_same_spaces(opened, self.observation_space, self.action_space)
        parts.require_meaning(self.strategy, opened)
        for what, own, given in (
            ("groups", self.num_groups, _num_groups(opened)),
            ("copies", self.n_envs, opened.num_envs),
        ):
            if own != given:
                raise UsageError(
                    f"the environment has {given} {what}, the model was made for {own}: save it, "
                    "and load it with FairPPO.load(path, env)"
                )
        rollout_steps(opened, self.n_steps, self.whole_episodes)
        super().set_env(opened, force_reset)
        if force_reset:
            self._info = None

    def get_parameters(self) -> dict[str, dict[str, Any]]:
        """Return networks and optimiser, as in Stable-Baselines3, and the strategy's state."""
        found: dict[str, dict[str, Any]] = super().get_parameters()
        if self.strategy_state:
            found["strategy"] = {name: np.array(a) for name, a in self.strategy_state.items()}
        return found

    @validated
    def set_parameters(  # type: ignore[override]  # there is no other device
        self,
        load_path_or_dict: Annotated[
            str | Path | Mapping[str, Any], Give("what get_parameters returns, or a file of save")
        ],
        exact_match: bool = True,
        device: Annotated[str, OneOf("auto", "cpu")] = "auto",
    ) -> None:
        """Take over the parameters of another model; nothing is changed if they do not fit.

        Parameters
        ----------
        load_path_or_dict
            What `get_parameters` returned, or a file that `save` wrote. A file holds no moments of
            the optimiser, so learning goes on with fresh ones.
        exact_match
            Whether nothing may be missing. Else only what is given is replaced.
        device
            For the signature of Stable-Baselines3.

        Raises
        ------
        UsageError
            If parameters are missing, do not belong to the model, have another shape or are not
            finite.
        """
        own = {
            place: {name: np.asarray(value) for name, value in entries.items()}
            for place, entries in self.get_parameters().items()
        }
        given = load_path_or_dict
        if not isinstance(given, Mapping):
            arrays, _ = saving.read(Path(given))
            fresh = {name: np.zeros_like(array) for name, array in own["policy.optimizer"].items()}
            given = {**parts.by_object(arrays), "policy.optimizer": fresh}
        found = parameters.fitting(own, given, exact_match)
        for name, array in found.get("policy", {}).items():
            own["policy"][name][...] = array
        self.policy.optimizer.load_state_dict(
            own["policy.optimizer"] | found.get("policy.optimizer", {})
        )
        self.strategy_state = {**self.strategy_state, **found.get("strategy", {})}

    # Saving -------------------------------------------------------------------------------------

    def save(self, path: Any, exclude: Any = None, include: Any = None) -> None:
        """Save parameters and settings without pickling anything.

        A learning rate or a clip range that is a function of the remaining progress cannot be
        written down, and has to be given to `load` again. `longfair.agents.learning.schedules`
        has those that can.

        Parameters
        ----------
        path
            File to write.
        exclude, include
            Arguments of Stable-Baselines3 that choose attributes to pickle; give none.
        """
        super().save(path, exclude, include)

    def learned(self) -> list[NDArray[Any]]:
        """Return the parameters of all networks, and what the strategy keeps."""
        return list(self._arrays().values())

    def _arrays(self) -> saving.Arrays:
        networks = {name: value.numpy() for name, value in self.policy.state_dict().items()}
        return networks | parts.stored(self.strategy_state)

    def _to_saved(self) -> tuple[saving.Arrays, saving.Settings]:
        arrays = self._arrays()
        settings = {name: getattr(self, name) for name in _SAVED}
        settings |= {
            "strategy": parts.strategy_to_json(self.strategy),
            "policy": self.policy_class.__name__,
            "net_arch": list(self.policy_kwargs["net_arch"]),
            "clip_range": schedule_to_json(self.clip_range),
            "learning_rate": schedule_to_json(self.learning_rate),
            "observation_space": saving.space_to_json(self.observation_space),
            "action_space": saving.space_to_json(self.action_space),
        }
        return arrays, settings

    @classmethod
    def _from_saved(
        cls, arrays: saving.Arrays, settings: saving.Settings, env: Any, /, **kwargs: Any
    ) -> FairPPO:
        env = vectorised(env)
        for name in {"policy", "strategy"} & set(kwargs):
            raise UsageError(
                f"{name} is what was saved: to go on with another, make a FairPPO with it, and "
                "give the file to its set_parameters"
            )
        settings = dict(settings)
        strategy = parts.strategy_from_json(settings.pop("strategy"))
        policy = parts.policy_of(settings.pop("policy"))
        observation_space = saving.space_from_json(settings.pop("observation_space"))
        action_space = saving.space_from_json(settings.pop("action_space"))
        if env is not None:
            saving.require_same_spaces(env, observation_space, action_space)
        num_groups, timesteps = settings.pop("num_groups"), settings.pop("num_timesteps")
        settings["net_arch"] = tuple(settings["net_arch"])
        for name in ("clip_range", "learning_rate"):
            if name not in kwargs:
                settings[name] = schedule_from_json(name, settings[name])
        model = cls(policy, env, strategy, **{**settings, **kwargs}, _init_setup_model=False)
        if env is None:
            model.observation_space, model.action_space = observation_space, action_space
            model.n_envs, model.num_groups = 1, num_groups
            model.rollout_buffer_kwargs = {"num_groups": num_groups}
            model.policy_kwargs["num_signals"] = strategy.num_signals(num_groups)
        model._setup_model()
        own = {name: value.numpy() for name, value in model.policy.state_dict().items()}
        model._restore_strategy(arrays)
        saving.fill(own, arrays)
        model.num_timesteps = timesteps
        return model

    # Going on -----------------------------------------------------------------------------------

    def executed(self) -> NDArray[Any]:
        """Return the actions (T, N, ...) of the last rollout, as the environment got them."""
        actions: NDArray[Any] = self.rollout_buffer.actions.copy()
        if isinstance(self.action_space, spaces.Box):
            np.clip(actions, self.action_space.low, self.action_space.high, out=actions)
        return actions

    def training_state(
        self, executed: NDArray[Any] | None = None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return what training needs to go on to the same bits, at the start of a rollout.

        Parameters
        ----------
        executed
            Needed where rollouts cut episodes: all actions (T, N, ...) of the training so far, as
            `executed` returned them rollout by rollout. Going on then begins with repeating them,
            which brings any environment to where it was.

        Returns
        -------
        arrays : dict
            Parameters, the optimiser's moments, and `executed` where it was given.
        settings : dict
            Plain values: counters, and the states of the generators of learner and environment.

        Raises
        ------
        UsageError
            If rollouts cut episodes and the actions so far are not given, or the environment is no
            batch of Gymnasium's, whose generator can be asked for.
        """
        optimizer = self.policy.optimizer
        arrays = {"parameters": self._parameters().copy(), "moments": optimizer.moments.copy()}
        arrays |= parts.stored(self.strategy_state)
        settings = {
            "num_timesteps": self.num_timesteps,
            "updates": self._n_updates,
            "steps": optimizer.steps,
            "learner": saving.generator_to_json(self.rng),
        }
        if self.whole_episodes:
            settings["environment"] = saving.generator_to_json(_generator_of(self.env))
        else:
            arrays[_EXECUTED] = self._all_of(executed)
        return arrays, settings

    def _all_of(self, executed: NDArray[Any] | None) -> NDArray[Any]:
        given = 0 if executed is None else len(executed) * self.n_envs
        if executed is None or given != self.num_timesteps:
            raise UsageError(
                f"rollouts cut episodes, and the actions of {given} of {self.num_timesteps} steps "
                "are given: give all of them as executed, or use whole_episodes=True"
            )
        return executed

    def restore_training_state(
        self, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]
    ) -> None:
        """Take over what `training_state` returned, in an agent made with the same settings.

        Learn the rest with ``learn(total - model.num_timesteps, reset_num_timesteps=False)``.

        Parameters
        ----------
        arrays, settings
            As returned there.
        """
        optimizer, arrays = self.policy.optimizer, dict(arrays)
        self._environment_state = arrays.pop(_EXECUTED, settings.get("environment"))
        self._restore_strategy(arrays)
        saving.fill({"parameters": self._parameters(), "moments": optimizer.moments}, arrays)
        optimizer.steps = settings["steps"]
        self.num_timesteps, self._n_updates = settings["num_timesteps"], settings["updates"]
        saving.restore_generator(self.rng, settings["learner"])

    def _restore_strategy(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take the arrays of the strategy's state out of all that were saved."""
        names = [name for name in arrays if name.startswith(parts.STATE)]
        own = parts.stored(self.strategy.initial_state(self.num_groups))
        saving.fill(own, {name: arrays.pop(name) for name in names})
        self.strategy_state = parts.by_object(own).get("strategy", {})

    def _parameters(self) -> NDArray[Any]:
        """Return all parameters as one vector, a view."""
        parameters: NDArray[Any] = self.policy.flat.values.detach().numpy()
        return parameters

    def _restore_environment(self, env: VecEnv) -> None:
        """Bring the environment to where it was, once, after `learn` has reset it."""
        state, self._environment_state = self._environment_state, None
        if isinstance(state, np.ndarray):
            for actions in state:
                observation, _, self._last_episode_starts, infos = env.step(actions)
                self._last_obs = observation  # type: ignore[assignment]  # never a tuple here
                self._info = needed(infos, self.strategy, self.strategy.needs)
        elif state is not None:
            saving.restore_generator(_generator_of(env), state)


_SAVED = (
    "n_steps",
    "batch_size",
    "n_epochs",
    "gamma",
    "gae_lambda",
    "ent_coef",
    "vf_coef",
    "max_grad_norm",
    "target_kl",
    "seed",
    "whole_episodes",
    "bootstrap_truncated",
    "num_groups",
    "num_timesteps",
)
"""Plain settings that are saved as they are."""


_EXECUTED = "executed"


def needed(infos: Any, strategy: Strategy, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Return info arrays (N, ...) of one step.

    Parameters
    ----------
    infos
        Those of the step.
    strategy
        Who needs them.
    names
        Which arrays.

    Raises
    ------
    UsageError
        When the environment does not give one of them.
    """
    arrays = getattr(infos, "arrays", None)
    given = infos[0] if arrays is None else arrays
    for name in names:
        if name not in given:
            raise not_told(strategy, name, given)
    if arrays is not None:
        return {name: np.array(arrays[name]) for name in names}
    return {name: _stacked(infos, name) for name in names}


def _info_of_reset(env: VecEnv, strategy: Strategy) -> dict[str, NDArray[Any]]:
    """Return those of the info arrays that a reset gives, too."""
    infos = env.reset_infos
    info = needed(infos, strategy, tuple(name for name in strategy.needs if name in infos[0]))
    for name, array in info.items():
        _require_finite(f"info {name!r}", array[None], "after a reset")
    return info


def _require_finite(
    what: str, array: NDArray[Any], when: str = "step {step} of the rollout"
) -> None:
    """Refuse numbers (T, N, ...) of the environment that are not finite."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        step, copy, *_ = place = tuple(np.argwhere(~np.isfinite(array))[0])
        raise UsageError(
            f"the environment returned {what} {array[place]} in copy {copy}, "
            f"{when.format(step=step)}: give finite numbers"
        )


def group_signals(infos: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return supply and demand (N, G) from the infos of one step.

    Reads the batch arrays where the environment keeps them (`infos.arrays`), and stacks the
    dictionaries of single environments otherwise.

    Raises
    ------
    UsageError
        If the infos lack one of them.
    """
    arrays = getattr(infos, "arrays", None)
    if arrays is None:
        return _stacked(infos, "supply"), _stacked(infos, "demand")
    for name in ("supply", "demand"):
        if name not in arrays:
            raise _lacking(name)
    return arrays["supply"], arrays["demand"]


def _stacked(infos: Sequence[Mapping[str, Any]], name: str) -> NDArray[Any]:
    """Return what the infos of all copies have under a name (N, ...)."""
    if not all(name in info for info in infos):
        raise _lacking(name)
    return np.stack([info[name] for info in infos])


def _lacking(name: str) -> UsageError:
    return UsageError(
        f"the info of a step has no {name!r}: every environment of longfair gives it, so leave "
        "away the wrapper that drops it, or have an environment of your own give it in every step"
    )


def _truncated_finals(
    infos: Any, dones: NDArray[np.bool_], observation: NDArray[Any]
) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Return which copies were truncated (N,), and their final observations.

    Raises
    ------
    UsageError
        If a final observation has another shape than the others of its copy.
    """
    ended = {copy: infos[copy] for copy in np.flatnonzero(dones)}
    truncated = np.zeros(len(dones), dtype=bool)
    truncated[[copy for copy, info in ended.items() if info.get("TimeLimit.truncated")]] = True
    rows = [info["terminal_observation"] for copy, info in ended.items() if truncated[copy]]
    shape = observation.shape[1:]
    for row in rows:
        if np.shape(row) != shape:
            raise UsageError(
                f"terminal_observation has shape {np.shape(row)}, the observation {shape}: give an "
                "environment whose wrappers change both alike"
            )
    return truncated, np.asarray(rows, np.float32).reshape(-1, *shape)


def _flat(array: NDArray[Any]) -> NDArray[Any]:
    """Join the axes of time and copies."""
    steps, copies, *rest = array.shape
    return array.reshape(steps * copies, *rest)


def _num_groups(env: VecEnv) -> int:
    try:
        return int(env.get_attr("num_groups")[0])
    except AttributeError:
        raise UsageError(
            f"{env} has no num_groups: give an environment of longfair.envs, or one that has it"
        ) from None


def _generator_of(env: VecEnv | None) -> np.random.Generator:
    """Return the one generator that drives all copies."""
    batch = getattr(env, "env", None)
    if batch is None:
        raise UsageError(f"{env} has no single generator: train on what gymnasium.make_vec returns")
    generator: np.random.Generator = batch.unwrapped.np_random
    return generator
