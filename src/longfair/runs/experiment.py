"""What is run: arms, experiments, and the single runs they expand into.

An experiment is data. It says which methods are compared, with which settings, under which
profile and on how many seeds. It does not say how the runs are executed or where results go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from longfair.errors import UsageError, near_misses

if TYPE_CHECKING:
    import pandas

_NAME = re.compile(r"[a-z0-9]+([-_][a-z0-9]+)*")

LAST_SEED = 2**32 - 1
"""The largest seed: NumPy's global generator, which libraries of agents seed, takes no larger."""

Work = Callable[..., "pandas.DataFrame"]
"""A module-level function of ``(config, seed)`` that returns the result table of one run.

A function with a third parameter ``checkpoint`` is also given a
`longfair.runs.checkpoints.Checkpoint`, so that a long run can go on where it was stopped.
"""


Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def protocol(name: str, revision: int = 1) -> Callable[[Decorated], Decorated]:
    """Declare the name and the revision of a work function, which are part of its runs' keys.

    Parameters
    ----------
    name
        Name that stays when the function moves to another module.
    revision
        Raised by hand when the numbers that the function returns are meant to change.

    Returns
    -------
    callable
        Gives a function the attributes ``name`` and ``revision``, and returns it.

    Raises
    ------
    UsageError
        If the name is malformed or the revision is not an integer of at least 1.
    """
    require_name("name of a protocol", name)
    if type(revision) is not int or revision < 1:
        raise UsageError(
            f"revision of protocol {name!r} is {revision!r}: give an integer of at least 1"
        )

    def declare(work: Decorated) -> Decorated:
        work.name, work.revision = name, revision  # type: ignore[attr-defined]  # attributes of a function
        return work

    return declare


def require_name(what: str, name: str) -> None:
    """Refuse a name that could not be part of a file name in the store.

    Parameters
    ----------
    what
        What the name is for; appears in the message.
    name
        Lower-case letters and digits, joined by single hyphens or underscores.

    Raises
    ------
    UsageError
        If the name has any other character.
    """
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise UsageError(
            f"{what} {name!r} is not allowed: use lower-case letters and digits, "
            "joined by single hyphens or underscores"
        )


@dataclass(frozen=True)
class Arm:
    """One method, in one variant, with the settings it has under one profile.

    Parameters
    ----------
    method
        Published name of the method as an identifier, such as ``"elbert-po"``.
    variant
        ``"as_coded"``, ``"as_published"``, or ``"reference"`` for methods that learn nothing.
    config
        Frozen dataclass of plain values (numbers, text, tuples, mappings, nested dataclasses).
    work
        Module-level function of ``(config, seed)`` that returns the result table of one run.
    description
        One sentence for tables.
    seeds
        Default number of seeds, where it is another than the experiment's; at least 1.

    Raises
    ------
    UsageError
        If a name cannot be part of a file name, the config is not a frozen dataclass, the work is
        not a module-level function (a worker process could not find it), or there are no seeds.
    """

    method: str
    variant: str
    config: Any
    work: Work
    description: str = ""
    seeds: int | None = None

    def __post_init__(self) -> None:
        """Check the parts."""
        require_name("method", self.method)
        require_name("variant", self.variant)
        if self.seeds is not None and self.seeds < 1:
            raise UsageError(f"{self.name}: {self.seeds} seeds; at least 1 is needed")
        _require_frozen(self.config, f"the config of {self.name}")
        _require_module_level(self.work, self.name)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what `longfair.runs.keys` keeps on it: a worker asks its own code."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @property
    def name(self) -> str:
        """Method and variant joined by a dot, as in the store's file names."""
        return f"{self.method}.{self.variant}"


@dataclass(frozen=True)
class Experiment:
    """What is compared, under each profile.

    Parameters
    ----------
    id
        ``"<paper>/<name>"``.
    title
        One line for tables.
    arms
        Profile to arms. Method and variant together are unique within a profile.
    seeds
        Profile to default number of seeds, at least 1; an arm may have another.
    horizon
        Profile to training steps of the methods that learn.
    authors
        Profile whose arms have the authors' settings; an experiment without this profile has no
        such arms. `longfair.runs.evidence` says what follows from it.
    authors_arms
        Arms with the authors' settings that no profile runs to their end. Runs of this experiment
        that are shorter and else the same are named after them.
    chosen_here
        Names of arms of the authors' profile with a setting that decides and that the authors
        leave open, so that it was chosen here: their runs have our settings.

    Raises
    ------
    UsageError
        If the id is malformed, the profiles of the three mappings differ, an arm appears
        twice, a number is out of range, or `chosen_here` names what is no arm.
    """

    id: str
    title: str
    arms: Mapping[str, tuple[Arm, ...]]
    seeds: Mapping[str, int]
    horizon: Mapping[str, int]
    authors: str = "paper"
    authors_arms: tuple[Arm, ...] = ()
    chosen_here: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the parts and freeze the mappings."""
        split_id(self.id)
        for field in ("arms", "seeds", "horizon"):
            object.__setattr__(self, field, MappingProxyType(dict(getattr(self, field))))
        if not self.arms:
            raise UsageError(f"experiment {self.id} has no profile: give arms for at least one")
        for field in ("seeds", "horizon"):
            _require_same_profiles(self, field)
        for profile, arms in self.arms.items():
            require_name("profile", profile)
            _require_distinct(self.id, profile, arms)
            if self.seeds[profile] < 1:
                raise UsageError(
                    f"experiment {self.id}, profile {profile}: {self.seeds[profile]} seeds; "
                    "at least 1 is needed"
                )
            if self.horizon[profile] < 0:
                raise UsageError(
                    f"experiment {self.id}, profile {profile}: horizon "
                    f"{self.horizon[profile]} is negative; give the number of training steps"
                )
        known = {arm.name for arm in self.arms.get(self.authors, ())}
        for name in self.chosen_here:
            if name not in known:
                raise UsageError(
                    f"experiment {self.id}: chosen_here: {name!r} is no arm of the profile "
                    f"{self.authors!r}: {near_misses(name, known)}"
                )

    @property
    def paper(self) -> str:
        """Id of the paper."""
        return split_id(self.id)[0]

    @property
    def name(self) -> str:
        """Id within the paper."""
        return split_id(self.id)[1]

    def methods(self, profile: str) -> tuple[str, ...]:
        """Methods of a profile, each once, in the order of the arms."""
        return tuple(dict.fromkeys(arm.method for arm in self.arms[profile]))

    def variants(self, profile: str) -> tuple[str, ...]:
        """Variants of a profile, each once, in the order of the arms."""
        return tuple(dict.fromkeys(arm.variant for arm in self.arms[profile]))


@dataclass(frozen=True)
class Run:
    """One arm on one seed: the unit that is executed, stored, kept or redone.

    Parameters
    ----------
    experiment
        Id of the experiment.
    profile
        Profile the arm's settings belong to.
    arm
        Method, variant, settings and work.
    seed
        Whole number from 0 to `LAST_SEED`, given to the work.

    Raises
    ------
    UsageError
        If a name is malformed or the seed is no such number.
    """

    experiment: str
    profile: str
    arm: Arm
    seed: int

    def __post_init__(self) -> None:
        """Check the parts."""
        split_id(self.experiment)
        require_name("profile", self.profile)
        _require_seed("seed", self.seed)

    @property
    def name(self) -> str:
        """Unique name within a store, which is also the path of its file without ending."""
        return f"{self.experiment}/{self.profile}/{self.arm.name}.{self.seed:03d}"


def split_id(experiment: str, where: str = "") -> tuple[str, str]:
    """Split the id of an experiment into paper and name.

    Parameters
    ----------
    experiment
        ``"<paper>/<name>"``.
    where
        Where the id was found, for the message.

    Returns
    -------
    tuple of str
        Paper id and name.

    Raises
    ------
    UsageError
        If the id is not of that form.
    """
    paper, separator, name = experiment.partition("/")
    prefix = f"{where}: " if where else ""
    if not separator:
        raise UsageError(
            f"{prefix}experiment id {experiment!r} has no slash: write '<paper>/<name>'"
        )
    require_name(f"{prefix}paper id", paper)
    require_name(f"{prefix}experiment name", name)
    return paper, name


def plan(
    experiment: Experiment,
    profile: str,
    *,
    seeds: int | None = None,
    first_seed: int = 0,
    methods: Sequence[str] | None = None,
    variants: Sequence[str] | None = None,
) -> list[Run]:
    """Expand an experiment into its runs, all arms of a seed before the next seed.

    That order matters when a long computation is stopped early: the seeds that are complete
    are complete for every method, so paired comparisons can use them.

    Parameters
    ----------
    experiment
        What to expand.
    profile
        One of the experiment's profiles.
    seeds
        Number of seeds; the default of profile or arm when not given.
    first_seed
        The seeds are ``first_seed, first_seed + 1, ...``.
    methods, variants
        Keep only these; all when not given.

    Returns
    -------
    list of Run
        Never empty.

    Raises
    ------
    UsageError
        If a name is unknown, a number out of range, or nothing is left to run.
    """
    require_known("profile", profile, experiment.arms, f"experiment {experiment.id}")
    if seeds is not None and (type(seeds) is not int or seeds < 1):
        raise UsageError(f"seeds is {seeds!r}: at least 1 is needed, a whole number")
    _require_seed("first seed", first_seed)
    where = f"experiment {experiment.id}, profile {profile}"
    for what, names in (("method", methods), ("variant", variants)):
        if names is not None and not names:
            raise UsageError(f"no {what} is named: name one or more, or leave {what}s away for all")
    for method in methods or ():
        require_known("method", method, experiment.methods(profile), where)
    for variant in variants or ():
        require_known("variant", variant, experiment.variants(profile), where)
    arms = [
        arm
        for arm in experiment.arms[profile]
        if (methods is None or arm.method in methods)
        and (variants is None or arm.variant in variants)
    ]
    if not arms:
        raise UsageError(
            f"{where} has no arm with method in {list(methods or ())} and variant in "
            f"{list(variants or ())}: it has {', '.join(a.name for a in experiment.arms[profile])}"
        )
    number = {arm.name: seeds or arm.seeds or experiment.seeds[profile] for arm in arms}
    most = max(number.values())
    _require_seed("the last of the seeds", first_seed + most - 1)
    return [
        Run(experiment.id, profile, arm, first_seed + index)
        for index in range(most)
        for arm in arms
        if index < number[arm.name]
    ]


def require_known(what: str, name: str, allowed: Collection[str], of: str) -> None:
    """Refuse a name that is not among the allowed ones, and name the near misses.

    Parameters
    ----------
    what
        Kind of thing the name is for.
    name
        What was given.
    allowed
        What could have been given.
    of
        Where the allowed names belong; appears in the message.

    Raises
    ------
    UsageError
        If the name is unknown.
    """
    if name not in allowed:
        raise UsageError(f"unknown {what} {name!r} of {of}: {near_misses(name, allowed)}")


def _require_seed(what: str, seed: Any) -> None:
    if type(seed) is not int or not 0 <= seed <= LAST_SEED:
        raise UsageError(f"{what} is {seed!r}: give a whole number from 0 to {LAST_SEED}")


def _require_frozen(config: Any, what: str) -> None:
    is_instance = is_dataclass(config) and not isinstance(config, type)
    if not is_instance or not type(config).__dataclass_params__.frozen:
        raise UsageError(
            f"{what} is a {type(config).__name__}: use an instance of a frozen dataclass, "
            "so that its values can be part of the run's key"
        )


def _require_module_level(work: Any, arm: str) -> None:
    name = getattr(work, "__qualname__", "")
    if not callable(work) or not name or "<" in name or "." in name:
        raise UsageError(
            f"the work of {arm} is {work!r}: use a function defined at the top of a module, "
            "so that a worker process can import it"
        )
    if work.__module__ == "__main__":
        raise UsageError(
            f"the work of {arm} is defined in the script that is run, which a worker process knows "
            "by another name: put it into a module of its own and import it"
        )


def _require_same_profiles(experiment: Experiment, field: str) -> None:
    given, wanted = set(getattr(experiment, field)), set(experiment.arms)
    if given != wanted:
        raise UsageError(
            f"experiment {experiment.id}: {field} has profiles {sorted(given)}, "
            f"arms has {sorted(wanted)}; they must agree"
        )


def _require_distinct(experiment: str, profile: str, arms: tuple[Arm, ...]) -> None:
    if not arms:
        raise UsageError(f"experiment {experiment}, profile {profile} has no arm: give one or more")
    seen: set[str] = set()
    for arm in arms:
        if arm.name in seen:
            raise UsageError(
                f"experiment {experiment}, profile {profile}: {arm.name} appears twice; "
                "method and variant together must be unique"
            )
        seen.add(arm.name)
