"""Values that most settings may not have, and which of them an annotation lets in.

What is said here of annotations is said apart from the validator, which is held against it.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args, get_origin

import numpy as np

from longfair.settings import Axes, Length, OneOf, Only, Range

BAD: tuple[Any, ...] = (
    math.nan,
    math.inf,
    -math.inf,
    -1e9,
    -1,
    1.0000001,
    "no such thing",
    "",
    None,
    True,
    np.True_,
    1 + 2j,
    b"x",
    (),
    (None,),
    ("x", "y"),
    (math.nan, math.nan),
    ((),),
    {},
    {"a": 1},
    {1},
    np.array(0.5),
    np.array([math.nan, 1.0]),
    np.zeros((2, 2, 2)),
    np.datetime64("2020-01-01"),
    object(),
)


def allowed(kind: Any, value: Any) -> bool:
    """Say, apart from the validator, whether an annotation lets a value in."""
    given: list[Any] = []
    if get_origin(kind) is Annotated:
        kind, *given = get_args(kind)
    only: list[Any] = [rule for rule in given if isinstance(rule, Only)]
    axes: list[Any] = [rule for rule in given if isinstance(rule, Axes)]
    rules: list[Any] = [rule for rule in given if isinstance(rule, Range | Length | OneOf)]
    if only:
        plain = value.item() if isinstance(value, np.generic) else value
        return type(plain) is type(only[0].value) and plain == only[0].value
    if axes:
        return _is_array(value, axes[0].axes)
    if get_origin(kind) in (types.UnionType, typing.Union):
        return any(allowed(member, value) for member in get_args(kind))
    if kind is types.NoneType:
        return value is None
    if kind in (int, float):
        whole = isinstance(value, int) and not isinstance(value, bool)
        number = whole or (kind is float and isinstance(value, float) and not math.isnan(value))
        return (
            number
            and all(
                rule.low <= value <= rule.high
                and not (rule.above and value == rule.low)
                and not (rule.below and value == rule.high)
                for rule in rules
            )
            and (math.isfinite(value) or any(rule.infinite for rule in rules))
        )
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if kind is bool:
        return isinstance(value, (bool, np.bool_))
    if kind is str:
        return isinstance(value, str) and all(value in rule.names for rule in rules)
    if get_origin(kind) in (tuple, Sequence, list):
        fits = isinstance(value, tuple) and all(
            rule.low <= len(value) <= (rule.high or math.inf) for rule in rules
        )
        first, *more = get_args(kind)
        kinds = [first] * len(value) if fits and (not more or more[0] is ...) else [first, *more]
        return fits and len(kinds) == len(value) and all(map(allowed, kinds, value))
    if get_origin(kind) in (dict, Mapping):
        return isinstance(value, dict) and all(
            allowed(get_args(kind)[1], entry) for entry in value.values()
        )
    if get_origin(kind) in (Callable, type):
        return callable(value) if get_origin(kind) is Callable else isinstance(value, type)
    return kind is Any or isinstance(value, get_origin(kind) or kind)


def _is_array(value: Any, axes: int) -> bool:
    """Say whether a bad value is an array of finite numbers by accident."""
    return isinstance(value, np.ndarray) and value.ndim == axes and bool(np.isfinite(value).all())


def without_bounds(kind: Any) -> bool:
    """Say whether an annotation lets any number in, finite or not meant at all."""
    return any(part in (int, float) for part in _parts(kind))


def _parts(kind: Any) -> list[Any]:
    """Return what a kind is made of, numbers with their bounds."""
    if get_origin(kind) is Annotated:
        inner, *rules = get_args(kind)
        bounded = any(isinstance(rule, Range | Only | Axes) for rule in rules)
        return [kind] if bounded else _parts(inner)
    if get_origin(kind) is Callable:
        return [kind]
    members = [part for part in get_args(kind) if not isinstance(part, str)]
    return [part for member in members for part in _parts(member)] if members else [kind]
