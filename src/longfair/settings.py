"""The one validator of all settings: of environments, agents, strategies and their arguments.

A record says in its annotations what each field may be, and `validate` holds the values against
them:

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Learning:
...     steps: Count = 100
...     discount: Probability = 0.99
...     layers: Annotated[tuple[Count, ...], Length(1)] = (64, 64)
...     kind: Annotated[str, OneOf("linear", "exponential")] = "linear"
...     bound: NonNegative | None = None
...
...     def __post_init__(self) -> None:
...         validate(self)
>>> Learning(layers=[np.int64(32)]).layers
(32,)
>>> Learning(discount=1.5)
Traceback (most recent call last):
longfair.errors.UsageError: discount=1.5: give a finite number in [0, 1]

NumPy numbers become Python's, lists and arrays become tuples. Nothing else is converted: text is
no number, and True is not 1. The arguments of a function are held against the same annotations
where it is `validated`, and a single value with `checked`:

>>> @validated
... def learn(total_timesteps: Natural, progress_bar: bool = False) -> int:
...     return total_timesteps
>>> learn(-1)
Traceback (most recent call last):
longfair.errors.UsageError: total_timesteps=-1: give an integer of at least 0
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from longfair.errors import UsageError, near_misses

_SUM_TOLERANCE = 1e-9

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Record = TypeVar("Record", bound=Any)


class Range(NamedTuple):
    """Between which bounds a finite number lies; they belong to it unless they are said not to."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    """Whether the number must be above `low`."""
    below: bool = False
    """Whether the number must be below `high`."""
    infinite: bool = False
    """Whether the number may be infinite."""

    def __contains__(self, number: object) -> bool:
        """Say whether a number keeps the bounds."""
        assert isinstance(number, (int, float))
        over = number > self.low if self.above else number >= self.low
        under = number < self.high if self.below else number <= self.high
        return over and under and (self.infinite or _is_finite(number))

    def hold(self, numbers: NDArray[Any]) -> bool:
        """Say whether all numbers of an array keep the bounds."""
        over = numbers > self.low if self.above else numbers >= self.low
        under = numbers < self.high if self.below else numbers <= self.high
        return bool((over & under).all() and (self.infinite or np.isfinite(numbers).all()))

    @property
    def number(self) -> str:
        """What a real number is called."""
        return "a number" if self.infinite else "a finite number"

    def of(self, what: str) -> str:
        """Describe numbers of a kind with these bounds: `an integer of at least 1`."""
        low, high = _bound(self.low), _bound(self.high)
        if self.high == math.inf:
            if self.low == -math.inf:
                return what
            return f"{what} {'above' if self.above else 'of at least'} {low}"
        if what == "an integer":
            return f"{what} in {low}..{high}"
        return f"{what} in {'(' if self.above else '['}{low}, {high}{')' if self.below else ']'}"


class Length(NamedTuple):
    """How many entries a sequence has."""

    low: int
    high: int | None = None


class Axes(NamedTuple):
    """How many axes an array of finite numbers has, which is not empty; a `Range` bounds them."""

    axes: int


class Only(NamedTuple):
    """The one value that an argument may have, and why."""

    value: Any
    why: str


class Give(NamedTuple):
    """What an error asks for, where the kind alone would not tell a user how to come by it."""

    what: str


class OneOf:
    """The names that a text may have.

    Parameters
    ----------
    *names
        The names.
    """

    def __init__(self, *names: str) -> None:
        self.names = names

    def __repr__(self) -> str:
        """Write it as code: signatures in the book show it."""
        return f"OneOf({', '.join(map(repr, self.names))})"


Count = Annotated[int, Range(1)]
"""A whole number of at least 1."""
EpisodeLength = Annotated[int, Range(1, 1_000_000)]
"""Steps of an episode: some environments keep a table with a row for each."""
Natural = Annotated[int, Range(0)]
"""A whole number of at least 0."""
Seed = Natural
"""What a random generator is made from."""
Probability = Annotated[float, Range(0.0, 1.0)]
"""A number in [0, 1]."""
Share = Annotated[float, Range(0.0, 1.0, above=True)]
"""A number above 0 and at most 1."""
Discount = Annotated[float, Range(0.0, 1.0, below=True)]
"""A number of at least 0 and below 1, for sums that do not end."""
NonNegative = Annotated[float, Range(0.0)]
"""A finite number of at least 0."""
Positive = Annotated[float, Range(0.0, above=True)]
"""A finite number above 0."""


def validate(record: Any) -> None:
    """Hold every field of a dataclass against its annotation; call it in `__post_init__`.

    Parameters
    ----------
    record
        An instance, frozen or not. NumPy numbers and sequences in it are brought into Python's
        numbers and tuples.

    Raises
    ------
    UsageError
        Naming the first field that is wrong, its value and what is allowed.
    """
    kind_of_record: Any = type(record)
    for name, kind in _kinds(kind_of_record).items():
        given = getattr(record, name)
        kept = checked(name, given, kind)
        if kept is not given:
            object.__setattr__(record, name, kept)


def validated(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Hold the arguments of a function against its annotations whenever it is called.

    Arguments that are left out keep their defaults, which are not looked at.

    Parameters
    ----------
    function
        A function, a method or a constructor. What keyword arguments may be is told by
        ``**kwargs: Unpack[Kinds]`` with a `typing.TypedDict`.

    Raises
    ------
    UsageError
        When it is called: naming the first argument that is wrong, its value and what is allowed.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        given = signature.bind(*args, **kwargs)
        kinds = kinds_of_arguments(function)
        for name, value in given.arguments.items():
            if signature.parameters[name].kind is not inspect.Parameter.VAR_KEYWORD:
                given.arguments[name] = checked(name, value, kinds.get(name, Any))
            elif name not in kinds:
                given.arguments[name] = {
                    key: checked(key, entry, _kind_of(key, kinds)) for key, entry in value.items()
                }
        return function(*given.args, **given.kwargs)

    return call


@cache
def kinds_of_arguments(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function's arguments by name, also of those in ``**kwargs``."""
    kinds = get_type_hints(inspect.unwrap(function), include_extras=True)
    kinds.pop("return", None)
    for name, kind in list(kinds.items()):
        if get_origin(kind) is Unpack:
            del kinds[name]
            kinds |= get_type_hints(get_args(kind)[0], include_extras=True)
    return kinds


def checked(name: str, value: Any, kind: Any) -> Any:
    """Return a value as its kind wants it, or raise `UsageError` with its name.

    Parameters
    ----------
    name
        What the error calls it.
    value
        What was given.
    kind
        An annotation: `int`, `float`, `bool`, `str`, a class; `Annotated` with `Range`, `Length`,
        `OneOf`, `Axes`, `Only` or `Give`; `tuple`, `Sequence`, `list`, `Mapping`, `Literal`,
        `Callable`, `type`, and unions of these.
    """
    kind, origin, rules = _taken_apart(kind)
    if Give not in rules:
        return _kept(name, value, kind, origin, rules)
    try:
        return _kept(name, value, kind, origin, rules)
    except UsageError:
        raise _refused(name, value, rules[Give].what) from None


def _kept(name: str, value: Any, kind: Any, origin: Any, rules: Mapping[type, Any]) -> Any:
    if kind is Any:
        return value
    if Only in rules:
        return _only(name, value, rules[Only])
    if Axes in rules:
        return _array(name, value, rules[Axes].axes, rules.get(Range, Range()))
    if kind in (int, float):
        return _number(name, value, kind, rules.get(Range, Range()))
    if kind is str or origin is Literal:
        return _text(name, value, rules[OneOf].names if OneOf in rules else get_args(kind))
    if origin in (Union, types.UnionType):
        return _one_of_kinds(name, value, get_args(kind))
    if origin in (tuple, Sequence, list):
        entries = _sequence(name, value, kind, rules.get(Length, Length(0)))
        return list(entries) if origin is list else entries
    if origin is Mapping or origin is dict:
        return _mapping(name, value, get_args(kind)[1])
    if origin is type:
        return _subclass(name, value, get_args(kind)[0])
    return _instance(name, value, origin or kind)


def require_distribution(name: str, values: Sequence[float], size: int, like: str = "") -> None:
    """Raise `UsageError` unless a sequence has `size` probabilities that sum to one.

    Parameters are those of `require_length`.
    """
    require_length(name, values, size, like)
    if abs(sum(values) - 1.0) > _SUM_TOLERANCE:
        raise UsageError(f"{name} sums to {sum(values)!r}: give probabilities that sum to 1")


def require_length(name: str, values: Sequence[Any], size: int, like: str = "") -> None:
    """Raise `UsageError` unless a sequence has `size` entries.

    Parameters
    ----------
    name
        What the error calls the sequence.
    values
        The sequence.
    size
        How many entries it must have.
    like
        The field that has as many, if the number comes from one.
    """
    if len(values) != size:
        as_many = f", as many as {like} has" if like else ""
        raise UsageError(f"{name} has {len(values)} entries: give {size}{as_many}")


def require_among(given: Iterable[str], known: Iterable[str], what: str = "argument") -> None:
    """Raise `UsageError` unless all names are known.

    Parameters
    ----------
    given
        The names.
    known
        What they may be.
    what
        What the error calls them.
    """
    allowed = list(known)
    for name in given:
        if name not in allowed:
            raise UsageError(f"unknown {what} {name!r}: {near_misses(name, allowed)}")


def changed(record: Record, changes: Mapping[str, Any]) -> Record:
    """Return a record with some fields changed.

    Parameters
    ----------
    record
        An instance of a dataclass.
    changes
        New values by field.

    Raises
    ------
    UsageError
        If there is no such field, or it may not have the value.
    """
    require_among(changes, [field.name for field in dataclasses.fields(record)], "setting")
    return dataclasses.replace(record, **changes)


def require_record(name: str, value: Any) -> None:
    """Raise `UsageError` unless a value is an instance of a dataclass."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        raise _refused(name, value, "a record, an instance of a dataclass")


def shortened(value: Any) -> str:
    """Write a value on one line of at most 60 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


@cache
def _taken_apart(annotation: Any) -> tuple[Any, Any, Mapping[type, Any]]:
    """Return the kind that an annotation is about, its origin, and its rules."""
    if get_origin(annotation) is not Annotated:
        return annotation, get_origin(annotation), {}
    kind, *rules = get_args(annotation)
    return kind, get_origin(kind), {type(rule): rule for rule in rules}


@cache
def _kinds(record: Any) -> dict[str, Any]:
    hints = get_type_hints(record, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(record)}


def _bound(number: int | float) -> str:
    """Write a bound; a whole number with all its digits."""
    return str(number) if isinstance(number, int) else f"{number:g}"


def _is_finite(number: int | float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer beyond all floating-point numbers
        return False


def _refused(name: str, value: Any, allowed: str) -> UsageError:
    return UsageError(f"{name}={shortened(value)}: give {allowed}")


def _kind_of(key: str, kinds: Mapping[str, Any]) -> Any:
    require_among([key], kinds)
    return kinds[key]


def _only(name: str, value: Any, only: Only) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    if type(plain) is type(only.value) and plain == only.value:
        return only.value
    raise UsageError(f"{name}={shortened(value)}: only {only.value!r} is possible here, {only.why}")


def _array(name: str, value: Any, axes: int, bounds: Range) -> Any:
    """Return an array as it is, and what can be one as an array."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    numbers = array.dtype.kind in "biuf" and array.ndim == axes and array.size
    if not numbers or not bounds.hold(array):
        raise _refused(name, value, f"{bounds.of('finite numbers')} in an array of {axes} axes")
    return array


def _number(name: str, value: Any, kind: type, bounds: Range) -> Any:
    numbers = (int, np.integer) if kind is int else (int, float, np.integer, np.floating)
    if isinstance(value, numbers) and not isinstance(value, bool):
        plain = value.item() if isinstance(value, np.generic) else value
        if plain in bounds:
            return plain
    raise _refused(name, value, bounds.of("an integer" if kind is int else bounds.number))


def _text(name: str, value: Any, names: Sequence[str]) -> str:
    if isinstance(value, str) and (value in names or not names):
        return value
    if not names:
        raise _refused(name, value, "text")
    hint = near_misses(value if isinstance(value, str) else "", names)
    raise UsageError(f"{name}={shortened(value)}: {hint}")


def _one_of_kinds(name: str, value: Any, kinds: Sequence[Any]) -> Any:
    """Return the value as the first of the kinds that takes it."""
    if value is None and types.NoneType in kinds:
        return None
    errors = []
    for kind in kinds:
        if kind is not types.NoneType:
            try:
                return checked(name, value, kind)
            except UsageError as error:
                errors.append(str(error))
    alternatives = [error.rpartition(": give ")[2] for error in errors[1:]]
    if types.NoneType in kinds:
        alternatives.append("None")
    raise UsageError(" or ".join([errors[0], *alternatives]))


def _sequence(name: str, value: Any, kind: Any, size: Length) -> Any:
    if isinstance(value, np.ndarray) and value.ndim:
        value = value.tolist()
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise _refused(name, value, "a sequence")
    kinds = get_args(kind)
    repeated = get_origin(kind) is not tuple or kinds[-1] is Ellipsis
    if not repeated:
        require_length(name, value, len(kinds))
    elif len(value) < size.low or (size.high is not None and len(value) > size.high):
        wanted = size.low if size.high == size.low else f"at least {size.low}"
        if size.high not in (None, size.low):
            wanted = f"{size.low} to {size.high}"
        raise UsageError(f"{name} has {len(value)} entries: give {wanted}")
    entries = tuple(
        checked(f"{name}[{place}]", entry, kinds[0] if repeated else kinds[place])
        for place, entry in enumerate(value)
    )
    unchanged = isinstance(value, tuple) and all(map(_same, entries, value))
    return value if unchanged else entries


def _same(one: Any, other: Any) -> bool:
    return one is other


def _mapping(name: str, value: Any, kind: Any) -> Any:
    if not isinstance(value, Mapping):
        raise _refused(name, value, "a mapping")
    for key, entry in value.items():
        checked(f"{name}[{key!r}]", entry, kind)
    return value


def _subclass(name: str, value: Any, kind: Any) -> Any:
    if isinstance(value, type) and (kind is Any or issubclass(value, kind)):
        return value
    raise _refused(name, value, "a class" if kind is Any else f"a subclass of {kind.__name__}")


def _instance(name: str, value: Any, kind: Any) -> Any:
    if kind is Callable:
        if callable(value):
            return value
        raise _refused(name, value, "something that can be called")
    if kind is bool:
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        raise _refused(name, value, "True or False")
    if isinstance(kind, type) and not isinstance(value, kind):
        raise _refused(name, value, f"a {kind.__name__}")
    return value
