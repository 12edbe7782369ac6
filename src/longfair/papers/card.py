"""A card for any policy: how it does in every world of the papers that it can act in.

Each world is played as its paper's experiment plays it: the same evaluation episodes, measures and
seeds as the stored runs of `book`. Beside the policy stand one that needs no thought and the best
one that is known without learning, on the same episodes.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from longfair.errors import UsageError, near_misses
from longfair.metrics.benefit import benefit_rate, bias
from longfair.papers import registry
from longfair.papers.protocol import Evaluation, train_and_evaluate, untrained
from longfair.papers.setting import Setting, Untrained, World, Wrapper, resolved
from longfair.runs.statistics import Estimate, estimate
from longfair.settings import shortened
from longfair.wording import counted, numeral

PROFILE = "book"
"""Whose evaluation is used."""


NO_GAIN = 1e-12
"""Differences below it are rounding."""

_LONGEST = 200
"""Characters that are shown of what a stranger's error says."""


@dataclass(frozen=True)
class Course:
    """A world in which policies are compared."""

    experiment: str
    """Whose world and evaluation it is."""
    measures: Mapping[str, str]
    """Measure of the experiment to its name; the first is what is aimed at."""
    trivial: str
    """A policy without training that needs no thought."""
    best: str
    """The best policy that is known without learning: an exact optimum, or found by search.

    No other stored one is as good by all measures and better by one.
    """
    policies: str = ""
    """Experiment that declares these two; the same one when empty."""


_RATES = {"reward": "reward per step", "bias": "bias in benefit rates"}
_GAPS = {
    "late_reward": "reward per step, late",
    "late_short_term_gap": "short-term gap, late",
    "late_long_term_gap": "long-term gap, late",
    "late_distance": "distance of the text, late",
}
_HANDED_OUT = {"return": "score", "welfare": "Nash welfare", "invalid": "handed to nobody"}
_POPULATION = {
    "loss": "loss per step",
    "disparity_dp": "squared gap in acceptance",
    "disparity_eop": "squared gap in true positive rates",
    "disparity_eo": "squared gap of equalised odds",
    "disparity_qr": "squared gap in qualification",
    "lower_rate": "lower qualification rate, end",
}
_NOTIONS = {
    "true_positive_bias": "bias in true positive rates",
    "false_positive_bias": "bias in false positive rates",
    "acceptance_bias": "bias in acceptance",
    "accuracy_bias": "bias in accuracy",
}

_LENDING_RATES = {
    "reward": "discounted reward",
    "gap_dp_discounted": "gap in lending rates",
    "gap_eo_discounted": "gap among the qualified",
}

COURSES = (
    Course("elbert/lending", _RATES, "accept-all", "static-optimum"),
    Course("elbert/notions-lending", _NOTIONS, "accept-all", "static-optimum", "elbert/lending"),
    Course("elbert/attention", _RATES, "equal", "static-optimum"),
    Course("elbert/attention-harder", _RATES, "equal", "static-optimum"),
    Course("elbert/infectious", _RATES, "uniform", "static-optimum"),
    Course("elbert/infectious-harder", _RATES, "uniform", "vaccinate-then-waste"),
    Course("fppo/lending", _GAPS, "accept-all", "static-reward"),
    Course("fppo/attention", _GAPS, "equal", "above-target"),
    Course("fppo/epidemic", _GAPS, "uniform", "static-reward"),
    Course("fairqcm/doughnuts", _HANDED_OUT, "random", "oracle"),
    Course("fairqcm/lending", _HANDED_OUT, "random", "oracle"),
    Course("fairmdp/individuals", _LENDING_RATES, "lend-to-all", "fair-optimum"),
    Course("ucbfair/synthetic", _POPULATION, "random", "optimum"),
    Course("ucbfair/adult", _POPULATION, "random", "optimum"),
)
"""All worlds."""

BENEFIT_BIAS = ("benefit_bias", "bias in benefit rates")
"""What every world is judged by besides, and its name: supply and demand are told everywhere."""

RISING = frozenset({"reward", "late_reward", "return", "welfare", "lower_rate"})
"""Measures of which more is better. Of all others, biases, gaps, distances and losses, less is."""


class Line(NamedTuple):
    """One measure of a policy in one world."""

    measure: str
    policy: Estimate
    trivial: float
    best: float
    rising: bool
    """Whether more of it is better."""

    @property
    def gain(self) -> float:
        """By how much the best known policy is better than the trivial one; negative if worse."""
        return (self.best - self.trivial) * (1 if self.rising else -1)

    @property
    def way(self) -> float | None:
        """How far from the trivial policy (0) to the best known one (1); None if it is no better.

        Whoever is worse than the trivial policy has a negative way.
        """
        if self.gain < NO_GAIN:
            return None
        return (self.policy.value - self.trivial) / (self.best - self.trivial)

    @property
    def position(self) -> str:
        """The way in per cent, or in words why there is none."""
        if self.way is not None:
            return f"{round(100 * self.way) or 0} %"
        return "equal" if self.gain > -NO_GAIN else "trivial wins"


class Played(NamedTuple):
    """What a policy does in one world."""

    course: Course
    plain: bool
    """Whether the policy saw the environment alone, without what the paper's agents see more."""
    lines: list[Line]

    def rows(self) -> list[dict[str, str]]:
        """Return a table in words and numbers."""
        return [
            {
                "measure": line.measure,
                "better": "more" if line.rising else "less",
                "policy": str(line.policy),
                f"trivial: {self.course.trivial}": numeral(line.trivial),
                f"best: {self.course.best}": numeral(line.best),
                "of the way": line.position,
            }
            for line in self.lines
        ]


class Card(NamedTuple):
    """What a policy does wherever it can act, and why not elsewhere."""

    played: list[Played]
    refused: dict[str, str]
    """Experiment in which it cannot act, to the reason."""
    failed: dict[str, str]
    """Experiment in which its own code failed, to what happened there."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        played = {
            course.experiment: {
                "trivial": course.trivial,
                "best": course.best,
                "measures": [
                    {
                        "measure": line.measure,
                        "better": "more" if line.rising else "less",
                        "value": line.policy.value,
                        "low": line.policy.low,
                        "high": line.policy.high,
                        "trivial": line.trivial,
                        "best": line.best,
                        "way": line.way,
                    }
                    for line in lines
                ],
            }
            for course, _, lines in self.played
        }
        return {"played": played, "refused": self.refused, "failed": self.failed}


class PolicyError(UsageError):
    """A stranger's policy failed in its own code."""


def given(world: World | None, seed: int | None, place: str) -> Any:
    """Return a copy of the policy that stands at a place, as it was when it was made.

    Parameters
    ----------
    world, seed
        Not used: the policy is what it is.
    place
        As in `policy_at`.
    """
    return _Watched(_copied(policy_at(place)))


def _copied(policy: Any) -> Any:
    """Return a copy, so that what a policy counts or draws in one run changes no other."""
    with contextlib.suppress(Exception):  # one that cannot be copied plays on as it is
        return copy.deepcopy(policy)
    return policy


class _Watched:
    """A stranger's policy, whose errors while it plays are told in one line."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._policy, name)
        return _watched(found, name) if name == "observe" else found

    def predict(self, observation: Any, **remembered: Any) -> tuple[Any, Any]:
        """Return the policy's actions, and the state that it wants back."""
        actions, state = _watched(self._policy.predict, "predict")(observation, **remembered)
        return actions, state


def _watched(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        with _told(f"its {name} failed", PolicyError):
            found = method(*arguments, **named)
        if name == "predict" and not (isinstance(found, Sequence) and len(found) == 2):
            raise PolicyError(
                f"its predict gave {shortened(found)}: give a pair, the actions and a state or None"
            )
        return found

    return call


@functools.cache
def policy_at(place: str) -> Any:
    """Return the policy that stands at a place; it is made once.

    Parameters
    ----------
    place
        ``"module:name"`` of an object with `predict`, or of a class or function that makes one
        without arguments.

    Raises
    ------
    UsageError
        If nothing is there, it has no `predict`, or importing or making it fails.
    """
    module, _, name = place.partition(":")
    if not (module and name):
        raise UsageError(f"policy {place!r}: give 'module:name', such as 'my_policies:generous'")
    with _told(f"policy {place!r}: importing {module} failed", where=False):
        found = resolved("policy", place, {})
    ready = hasattr(found, "predict") and not inspect.isclass(found)
    if ready or not callable(found):
        made = found
    else:
        with _told(f"policy {place!r} is no object with 'predict', and calling {name}() failed"):
            made = found()
    if not callable(getattr(made, "predict", None)):
        raise UsageError(
            f"policy {place!r} has no method 'predict': it should take observations and return a "
            "pair, the actions and a state or None"
        )
    return made


@contextlib.contextmanager
def _told(what: str, kind: type[UsageError] = UsageError, where: bool = True) -> Iterator[None]:
    """Say in one line what a stranger's code raised, and where in what was called."""
    try:
        yield
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        text = " ".join(str(error).split())[:_LONGEST]
        place = _where(error) if where else ""
        raise kind(f"{what}: {type(error).__name__}: {text}{place}") from error


def _where(error: BaseException) -> str:
    """Return the line at which an error came up, in the file of what was called."""
    _, _, *called = traceback.extract_tb(error.__traceback__)  # `_told` and what is in it
    if not called:
        return ""
    last = [frame for frame in called if frame.filename == called[0].filename][-1]
    return f" ({Path(last.filename).name}, line {last.lineno})"


def card(
    place: str,
    seeds: int = 10,
    experiments: Sequence[str] = (),
    tell: Callable[[str], None] = lambda line: None,
    show: Callable[[Played], None] = lambda played: None,
) -> Card:
    """Play a policy wherever it can act.

    Parameters
    ----------
    place
        As in `policy_at`.
    seeds
        Evaluations, each with its own episodes: those of the stored runs with the same numbers.
    experiments
        Only the worlds of these; all `COURSES` when empty.
    tell
        Is called before a world is played, with its name and the time left: as long for each
        world as for those before.
    show
        Is called with what came of a world as soon as it has been played.

    Raises
    ------
    UsageError
        If the policy cannot be had, or an experiment is not among `COURSES`.
    """
    if seeds < 1:
        raise UsageError(f"seeds={seeds}: give at least 1")
    known = {course.experiment: course for course in COURSES}
    for unknown in [name for name in experiments if name not in known]:
        raise UsageError(f"no card for experiment {unknown!r}: {near_misses(unknown, known)}")
    policy = policy_at(place)
    found = Card([], {}, {})
    ready: list[tuple[Course, Setting, World, bool]] = []
    for name, course in known.items():
        if experiments and name not in experiments:
            continue
        with _sorted_into(found, name):
            setting = _setting(course)
            worlds = (setting.world, plain(setting.world))
            fitting = _fitting(policy, worlds)
            ready.append((course, setting, worlds[fitting], bool(fitting)))
    started = time.monotonic()
    for number, (course, setting, world, is_plain) in enumerate(ready):
        left = (time.monotonic() - started) / max(number, 1) * (len(ready) - number)
        more = f", about {left:.0f} s left" if number else ""
        tell(f"playing {course.experiment}, {number + 1} of {counted(len(ready), 'world')}{more}")
        with _sorted_into(found, course.experiment):
            lines = _lines(course, setting, world, place, seeds)
            found.played.append(Played(course, is_plain, lines))
            show(found.played[-1])
    return found


@contextlib.contextmanager
def _sorted_into(found: Card, experiment: str) -> Iterator[None]:
    """Note on a card why a policy does not act in a world."""
    try:
        yield
    except PolicyError as error:
        found.failed[experiment] = str(error)
    except UsageError as error:
        found.refused[experiment] = str(error)


def _fitting(policy: Any, worlds: Sequence[World]) -> int:
    """Return the number of the first of several worlds in which a policy can act."""
    errors = []
    for number, world in enumerate(worlds):
        try:
            try_out(policy, world)
        except UsageError as error:
            errors.append(error)
        else:
            return number
    raise errors[0]


def plain(world: World) -> World:
    """Return a world without the wrappers that change what agents see.

    Parameters
    ----------
    world
        A world with wrappers.
    """
    kept: tuple[Wrapper, ...] = ()
    for wrapper in world.wrappers:
        before = replace(world, wrappers=kept).make(1).single_observation_space
        if wrapper.around(replace(world, wrappers=kept).make(1)).single_observation_space == before:
            kept = (*kept, wrapper)
    return replace(world, wrappers=kept)


def try_out(policy: Any, world: World) -> None:
    """Let a policy act once in a world.

    Parameters
    ----------
    policy
        Object with `predict`. Where it says of which `observation_space` it is, as agents of
        Stable-Baselines3 do, that is believed; otherwise it is tried.
    world
        The world.

    Raises
    ------
    PolicyError
        If its own code fails.
    UsageError
        If it cannot act there.
    """
    env = world.make(2)
    sees = getattr(policy, "observation_space", None)
    shape = env.single_observation_space.shape
    own = getattr(sees, "shape", sees)
    if sees is not None and own != shape:
        raise UsageError(f"made for observations of shape {own}, here it is {shape}")
    observation, info = env.reset(seed=0)
    actions = _asked(_Watched(_copied(policy)), observation, info)
    if actions.shape != env.action_space.shape:
        raise UsageError(f"its actions have shape {actions.shape}, not {env.action_space.shape}")
    with _told("its actions are refused"):
        env.step(actions)


def _asked(policy: Any, observation: Any, info: dict[str, Any]) -> NDArray[Any]:
    """Return what a policy does after a reset."""
    if hasattr(policy, "observe"):
        policy.observe(info)
    given = policy.predict(observation)[0]
    with _told(f"its predict gave actions {shortened(given)}", PolicyError):
        actions = np.asarray(given)
    if actions.dtype.kind == "f" and not np.isfinite(actions).all():
        raise PolicyError(f"its predict gave actions {shortened(given)}: give finite numbers")
    return actions


def _setting(course: Course) -> Setting:
    """Return world and evaluation of a course."""
    arms = registry.experiment(course.experiment).arms[PROFILE]
    found: Setting = next(arm.config for arm in arms if isinstance(arm.config, Setting))
    return replace(found, learning=None)


def _reference(course: Course, name: str) -> Untrained:
    """Return a policy without training by its name."""
    arms = registry.experiment(course.policies or course.experiment).arms[PROFILE]
    found: Untrained = next(arm.config.method for arm in arms if arm.method == name)
    return found


def _lines(course: Course, setting: Setting, world: World, place: str, seeds: int) -> list[Line]:
    """Play the policy in its world and the two beside it in theirs, on the same episodes."""
    beside = [_reference(course, name) for name in (course.trivial, course.best)]
    own = Untrained("longfair.papers.card:given", {"place": place}, beside[0].curve)
    played = [
        replace(setting, world=world, method=own),
        *(replace(setting, method=method) for method in beside),
    ]
    mine, trivial, best = (
        pd.DataFrame([_final(each, seed) for seed in range(seeds)]) for each in played
    )
    measures = dict([*course.measures.items(), BENEFIT_BIAS])
    return [
        Line(
            name,
            estimate(mine[key], name=name),
            trivial[key].mean(),
            best[key].mean(),
            key in RISING,
        )
        for key, name in measures.items()
        if key in mine
    ]


def _final(setting: Setting, seed: int) -> dict[str, float]:
    """Return the measures of the last policy, and its bias where they have none."""
    table = train_and_evaluate(setting, seed)
    last = table[table["phase"] == "final"]
    found = dict(zip(last["metric"], last["value"], strict=True))
    if not any(metric.endswith("bias") for metric in found):
        found[BENEFIT_BIAS[0]] = benefit_bias(setting, seed)
    return found


def benefit_bias(setting: Setting, seed: int) -> float:
    """Play the episodes of the end once more, and return the bias of what the groups got.

    Parameters
    ----------
    setting
        World, policy without training, and evaluation.
    seed
        Number of the evaluation.

    Returns
    -------
    float
        Largest less smallest benefit rate of a group, supply over demand, both summed over all
        episodes. ELBERT's own evaluation, which its worlds keep, adds one to the demand of each.
    """
    draws = setting.evaluating.draws.removesuffix(", one policy")  # which no curve has made here
    again = replace(setting, evaluating=replace(setting.evaluating, draws=draws))
    totals = Evaluation(again, untrained(again), seed).final().totals
    supply, demand = (totals[name].sum(axis=0) for name in ("supply", "demand"))
    return float(bias(benefit_rate(supply, np.maximum(demand, 1.0))))
