"""What a run is told: a world, a method, how it learns and how it is evaluated.

Everything here is a frozen record of plain values, so that a stored result can tell what it was
made with. Classes and functions are named, not imported, until a run needs them: declaring an
experiment costs nothing. A name without a colon stands in one of the tables below; packages outside
this one write ``"module:name"``.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from longfair.errors import UsageError, near_misses
from longfair.runs.experiment import Arm, Experiment
from longfair.settings import (
    Count,
    Length,
    Natural,
    OneOf,
    Positive,
    Probability,
    require_record,
    validate,
)

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

    from longfair.papers.protocol import Snapshots
    from longfair.runs.checkpoints import Checkpoint

WRAPPERS = {
    "running-rates": "longfair.envs.wrappers:RunningRates",
    "window-statistics": "longfair.envs.wrappers:WindowStatistics",
    "window-rates": "longfair.envs.wrappers:WindowRates",
    "history": "longfair.envs.history:History",
    "vaccination-counts": "longfair.envs.history:VaccinationCounts",
    "elapsed-time": "longfair.envs.elapsed:ElapsedTime",
    "full-memory": "longfair.envs.memory:FullMemory",
    "min-memory": "longfair.envs.memory:MinMemory",
    "reset-memory": "longfair.envs.memory:ResetMemory",
    "no-memory": "longfair.envs.memory:NoMemory",
    "all-notions": "longfair.papers.elbert.notion_wrappers:AllNotions",
    "some-notions": "longfair.papers.elbert.notion_wrappers:SomeNotions",
    "lending-gaps": "longfair.papers.fppo.gaps:LendingGaps",
    "attention-gaps": "longfair.papers.fppo.gaps:AttentionGaps",
    "epidemic-gaps": "longfair.papers.fppo.gaps:EpidemicGaps",
    "belief-features": "longfair.papers.fairmdp.exact_lending:Features",
}
"""What may stand between an environment and an agent."""

MEASURES = {
    "rates": "longfair.papers.elbert.measures:rates",
    "rates-and-extremes": "longfair.papers.elbert.measures:rates_and_extremes",
    "rates-by-notion": "longfair.papers.elbert.measures:rates_by_notion",
    "fppo-lending": "longfair.papers.fppo.measures:lending",
    "fppo-attention": "longfair.papers.fppo.measures:attention",
    "fppo-epidemic": "longfair.papers.fppo.measures:epidemic",
    "shares": "longfair.papers.fairqcm.measures:shares",
    "greedy-episodes": "longfair.papers.fairqcm.tabular_measures:greedy_episodes",
    "reference-episodes": "longfair.papers.fairqcm.tabular_measures:reference_episodes",
    "distances-to-exact": "longfair.papers.fairqcm.tabular_measures:distances_to_exact",
    "exact-lending": "longfair.papers.fairmdp.exact_lending:exact_lending",
    "searched-lending": "longfair.papers.fairmdp.search_training:searched_lending",
    "settled-lending": "longfair.papers.fairmdp.memory_training:settled_lending",
    "regret": "longfair.papers.fairmdp.regret:regret",
}
"""What is reported of policies; see `longfair.papers.protocol.Snapshots`."""


def resolved(what: str, name: str, known: Mapping[str, str]) -> Any:
    """Return the class or function of a name.

    Parameters
    ----------
    what
        Kind of thing, for the message.
    name
        A key of `known`, or ``"module:name"``.
    known
        Names and where they are found.

    Raises
    ------
    UsageError
        If the name is unknown, or nothing is found where it points.
    """
    module, _, attribute = _place(what, name, known).partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{what} {name!r} cannot be imported: {error}") from error


def _place(what: str, name: str, known: Mapping[str, str]) -> str:
    """Return where a name is found, ``"module:name"``, without looking there."""
    place = known.get(name, name)
    if ":" not in place:
        raise UsageError(f"unknown {what} {name!r}: {near_misses(name, known)}; or 'module:name'")
    return place


@dataclass(frozen=True)
class Wrapper:
    """Something around an environment that changes what agents see."""

    name: str
    """A key of `WRAPPERS`, or ``"module:class"``."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Arguments beside the environment."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def around(self, env: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
        """Return the environment with the wrapper around it."""
        wrapped: VectorEnv[Any, Any, Any] = self._class()(env, **self.settings)
        return wrapped

    @property
    def only_tells(self) -> bool:
        """Whether it adds to `info` and changes nothing else."""
        return getattr(self._class(), "only_tells", False)

    def parts(self) -> tuple[Any, ...]:
        """Return what decides numbers here, for a run's key."""
        return (self._class(),)

    def _class(self) -> Any:
        return resolved("wrapper", self.name, WRAPPERS)


@dataclass(frozen=True)
class World:
    """Where a method acts, and what it sees of it."""

    environment: str
    """Id of a Gymnasium environment."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `gymnasium.make_vec`, such as the preset."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the preset, by field of the environment's parameters."""
    wrappers: tuple[Wrapper, ...] = ()
    """From the inside to the outside."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def make(
        self, copies: int, episode_length: int | None = None, *, told: bool = True
    ) -> VectorEnv[Any, Any, Any]:
        """Make copies that are stepped together.

        Parameters
        ----------
        copies
            How many.
        episode_length
            Steps of an episode; the environment's own when not given.
        told
            Whether anybody reads what wrappers tell in `info`. Without a reader those that change
            nothing else, marked `only_tells`, are left out: they cost time.
        """
        import gymnasium

        arguments = dict(self.parameters)
        if self.changes:
            params = self.environment_class().chosen_params(**arguments)
            arguments = {"params": replace(params, **self.changes)}
        if episode_length is not None:
            arguments["episode_length"] = episode_length
        env = gymnasium.make_vec(self.environment, num_envs=copies, **arguments)
        for wrapper in self.wrappers:
            if told or not wrapper.only_tells:
                env = wrapper.around(env)
        return env

    def parts(self) -> tuple[Any, ...]:
        """Return what decides numbers here, for a run's key."""
        return (self.environment_class(),)

    def environment_class(self) -> Any:
        """Return the class of the batch."""
        import gymnasium

        from longfair.envs.making import environment_class, make_vector

        spec = gymnasium.spec(self.environment)
        entry = spec.vector_entry_point or spec.entry_point
        made_by = resolved("environment", entry, {}) if isinstance(entry, str) else entry
        return environment_class(**spec.kwargs) if made_by is make_vector else made_by


@dataclass(frozen=True)
class Untrained:
    """A method that learns nothing."""

    policy: str
    """A key of `longfair.papers.untrained.POLICIES`, or ``"module:function"``."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the policy."""
    curve: Natural = 0
    """Episodes of a learning curve, which is flat; none by default."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def make(self, world: World, seed: int) -> Any:
        """Return the policy.

        Parameters
        ----------
        world
            Where it will act.
        seed
            Seed of its own draws.
        """
        return self.parts()[0](world, seed, **self.settings)

    def parts(self) -> tuple[Any, ...]:
        """Return what decides numbers here, for a run's key."""
        from longfair.papers.untrained import POLICIES

        return (POLICIES.get(self.policy) or resolved("policy", self.policy, {}),)

    def shortened(self, rollouts: int) -> Untrained:
        """Return the same with a short curve."""
        return replace(self, curve=min(self.curve, 10 * rollouts))


@dataclass(frozen=True)
class PPO:
    """How methods of the PPO family learn; the defaults are those of ELBERT's lending script."""

    copies: Count = 2
    """Environments stepped together; the rollout is `copies` whole episodes."""
    minibatch: Count = 64
    epochs: Count = 10
    learning_rate: Positive = 1e-5
    hidden: Annotated[tuple[Count, ...], Length(1)] = (256, 128)
    total_steps: Count = 2_000_000
    annealed: bool = False
    """Whether the learning rate falls to zero in a straight line; the authors keep it."""
    clipping: Annotated[str, OneOf("joint", "separate")] = "joint"
    """Whether one norm of the gradient is clipped, or that of every network."""
    discount: Probability = 0.99

    name: ClassVar[str] = "ppo"
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def train(
        self, setting: Setting, seed: int, run: int, checkpoint: Checkpoint | None
    ) -> Snapshots:
        """Train; see `longfair.papers.ppo_training.train`."""
        from longfair.papers.ppo_training import train

        return train(self, setting, seed, checkpoint)

    def shortened(self, rollouts: int, episode_length: int) -> PPO:
        """Return the same for some rollouts, each used once."""
        total = rollouts * self.copies * episode_length
        return replace(self, total_steps=total, epochs=1)


@dataclass(frozen=True)
class Evaluating:
    """How policies are evaluated; the defaults are those of ELBERT's lending script."""

    every: Count = 5
    """Rollouts between two evaluations of the learning curve, the first before training."""
    episodes: Count = 3
    """Episodes per evaluation of the learning curve."""
    final_episodes: Count = 100
    """Episodes on which the last policy is evaluated."""
    episode_length: Count | None = 10_000
    """Steps of an episode; the environment's own if None."""
    measure: str = "rates"
    """A key of `MEASURES`, or ``"module:function"``."""
    counted: tuple[str, ...] = ()
    """Keys of the step's `info`, each one number per copy, that are added up too."""
    draws: str = "end first"
    """A key of `longfair.papers.protocol.DRAWS`: which streams of random numbers are used."""

    rollouts: ClassVar[int] = 2
    """Rollouts of `shortened`."""

    def __post_init__(self) -> None:
        """Check the settings."""
        from longfair.papers.protocol import draws_of  # it imports this module

        validate(self)
        _place("measure", self.measure, MEASURES)
        draws_of(self)

    def parts(self) -> tuple[Any, ...]:
        """Return what decides numbers here, for a run's key."""
        return (resolved("measure", self.measure, MEASURES),)

    def shortened(self) -> Evaluating:
        """Return the same for a look at every policy."""
        length = None if self.episode_length is None else min(self.episode_length, 100)
        return replace(self, every=1, episodes=1, final_episodes=2, episode_length=length)


@dataclass(frozen=True)
class Setting:
    """All that one run is told but its seed.

    `longfair.papers.protocol.train_and_evaluate` runs any of them.
    """

    world: World
    method: Any
    """A `longfair.agents.ppo.strategy.Strategy`, settings of another learner, or `Untrained`."""
    learning: Any
    """`PPO`, or another record with the methods `train` and `shortened`; None: nothing is learned.
    """
    evaluating: Evaluating
    episode_length: Count | None = None
    """Steps of a training episode; the environment's own if None."""
    training: tuple[Wrapper, ...] = ()
    """Wrappers around the world while training only."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)
        require_record("method", self.method)
        if self.learning is not None:
            require_record("learning", self.learning)

    def shortened(self) -> Setting:
        """Return the same settings for about two rollouts, to see whether anything changed."""
        rollouts, evaluating = self.evaluating.rollouts, self.evaluating.shortened()
        if self.learning is None:
            return replace(self, method=self.method.shortened(rollouts), evaluating=evaluating)
        length = self.episode_length or 0
        learning = self.learning.shortened(rollouts, length)
        return replace(self, learning=learning, evaluating=evaluating)


Methods = Mapping[tuple[str, str], tuple[Any, str]]
"""Method and variant to what is learned and a description."""

References = Mapping[str, tuple[Untrained, str]]
"""Name of a policy that learns nothing to the policy and a description."""


@dataclass(frozen=True)
class Problem:
    """A world, and by profile how one learns and is evaluated there, whatever the method."""

    world: World
    learning: Mapping[str, PPO]
    """By profile: the authors' own; ours; a few seconds."""
    evaluating: Mapping[str, Evaluating]
    episode_length: Mapping[str, Count]
    """Steps of a training episode, by profile."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def learned(self, method: Any, profile: str) -> Setting:
        """Return the settings under which a profile trains a method."""
        return Setting(
            self.world,
            method,
            self.learning[profile],
            self.evaluating[profile],
            self.episode_length[profile],
        )

    def untrained(self, policy: Untrained, evaluating: str | Evaluating) -> Setting:
        """Return the settings under which a profile, or another evaluation, plays a policy."""
        found = self.evaluating[evaluating] if isinstance(evaluating, str) else evaluating
        return Setting(self.world, policy, None, found)

    def arms(self, methods: Methods, references: References, profile: str) -> tuple[Arm, ...]:
        """Return an arm for every method and every reference policy."""
        from longfair.papers.protocol import train_and_evaluate

        learned = [
            Arm(method, variant, self.learned(how, profile), train_and_evaluate, description)
            for (method, variant), (how, description) in methods.items()
        ]
        reference = [
            Arm(name, "reference", self.untrained(how, profile), train_and_evaluate, description)
            for name, (how, description) in references.items()
        ]
        return (*learned, *reference)

    def experiment(
        self,
        identity: str,
        title: str,
        methods: Methods,
        references: References,
        seeds: Mapping[str, int],
        beside: tuple[Problem, References] | None = None,
    ) -> Experiment:
        """Return the experiment of all methods and reference policies in this world.

        Parameters
        ----------
        identity
            Id of the experiment.
        title
            One line for tables.
        methods, references
            What is compared.
        seeds
            Profiles, and the number of seeds of each.
        beside
            More reference policies, with the problem as they see it.
        """
        other, policies = beside or (self, {})
        return Experiment(
            id=identity,
            title=title,
            arms={
                profile: self.arms(methods, references, profile) + other.arms({}, policies, profile)
                for profile in seeds
            },
            seeds=seeds,
            horizon={profile: self.learning[profile].total_steps for profile in seeds},
        )
