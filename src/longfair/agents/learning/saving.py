"""Save a trained agent as plain arrays and text, and read it back without running any code.

Stable-Baselines3 pickles parts of a model, and reading a pickle can run anything. Here a model is
a NumPy archive: one array per parameter, and one piece of JSON with the settings.
"""

from __future__ import annotations

import inspect
import json
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from longfair.errors import UsageError
from longfair.settings import kinds_of_arguments, require_among

Arrays = dict[str, NDArray[Any]]
Settings = dict[str, Any]

_SETTINGS = "settings"


class Saved:
    """Saving and loading of an agent; a class fills in `_to_saved` and `_from_saved`."""

    def _to_saved(self) -> tuple[Arrays, Settings]:
        """Return parameters, and settings that JSON can write."""
        raise NotImplementedError

    @classmethod
    def _from_saved(cls, arrays: Arrays, settings: Settings, env: Any, /, **kwargs: Any) -> Self:
        """Return the agent that `_to_saved` described.

        What comes first is never given by name, so that arguments may be called the same.
        """
        raise NotImplementedError

    def learned(self) -> list[NDArray[Any]]:
        """Return the arrays that `save` writes, which hold all that was learned."""
        return list(self._to_saved()[0].values())

    def save(self, path: Any, exclude: Any = None, include: Any = None) -> None:
        """Save parameters and settings without pickling anything.

        Parameters
        ----------
        path
            File to write.
        exclude, include
            Arguments of Stable-Baselines3 that choose attributes to pickle; give none.
        """
        if exclude is not None or include is not None:
            raise UsageError("exclude and include choose what to pickle: nothing is pickled here")
        write(Path(path), *self._to_saved())

    @classmethod
    def load(cls, path: Any, env: Any = None, **kwargs: Any) -> Self:
        """Load an agent saved by `save`.

        Parameters
        ----------
        path
            File to read.
        env
            Environment to go on learning in. Most agents need none to predict. L-UCBFair does,
            whose policy has as many steps as an episode, and so do tables, which belong to a
            problem.
        **kwargs
            Arguments of the class to replace, such as `learning_rate` or `settings`.

        Raises
        ------
        UsageError
            If the file is no saved agent of the class, an argument is unknown or refused, or the
            environment is not one that the agent was made for.

        Notes
        -----
        The moments of the optimiser are not saved: learning goes on with fresh ones.
        """
        _require_arguments(cls.__init__, kwargs)
        arrays, settings = read(Path(path))
        try:
            return cls._from_saved(arrays, settings, env, **kwargs)
        except UsageError as error:
            raise UsageError(f"cannot load {path}: {error}") from error
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            what = f"no {error} in it" if isinstance(error, KeyError) else _first_line(error)
            raise UsageError(f"{path} is not a model saved by {cls.__name__}: {what}") from error


def write(path: Path, parameters: Arrays, settings: Settings) -> None:
    """Write parameters and settings to a NumPy archive.

    Raises
    ------
    UsageError
        When the file cannot be written.
    """
    try:
        with path.open("wb") as file:
            np.savez(file, **parameters, **{_SETTINGS: np.array(json.dumps(settings))})  # type: ignore[arg-type]  # names of parameters are no keywords of savez
    except OSError as error:
        raise UsageError(f"cannot write the model to {path}: {error.strerror}") from error


def read(path: Path) -> tuple[Arrays, Settings]:
    """Read parameters and settings.

    Raises
    ------
    UsageError
        When the file cannot be read, is not a saved model, or holds parameters that are not
        finite.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            parameters = {name: archive[name] for name in archive.files}
        settings = json.loads(str(parameters.pop(_SETTINGS)))
    except OSError as error:
        raise UsageError(f"cannot read a model from {path}: {error}") from error
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(
            f"{path} is not a model saved by longfair: {_first_line(error)}"
        ) from error
    if not isinstance(settings, dict):
        raise UsageError(f"{path} is not a model saved by longfair: its settings have no names")
    for name, array in parameters.items():
        if array.dtype.kind not in "fiub" or not np.isfinite(array).all():
            raise UsageError(f"{path} is damaged: {name} holds what is not a finite number")
    return parameters, settings


def fill(arrays: dict[str, NDArray[Any]], parameters: Arrays) -> None:
    """Copy saved parameters into the arrays of a model, in place.

    Parameters
    ----------
    arrays
        The model's own arrays, by the names they are saved under.
    parameters
        What was read.

    Raises
    ------
    UsageError
        When a name is missing or too many, or a shape differs.
    """
    if missing := sorted(arrays.keys() ^ parameters.keys()):
        raise UsageError(f"parameter {missing[0]} is missing in the file, or not of this model")
    for name, array in arrays.items():
        if array.shape != parameters[name].shape:
            raise UsageError(
                f"{name} has shape {parameters[name].shape}: its settings say {array.shape}"
            )
        array[...] = parameters[name]


def space_to_json(space: spaces.Space[Any]) -> dict[str, Any]:
    """Describe a `Discrete` space or a `Box` of real numbers."""
    if isinstance(space, spaces.Discrete):
        content = {"kind": "discrete", "n": int(space.n), "start": int(space.start)}
        # Gymnasium before 1.4 cannot be told of another type.
        return content if space.dtype == np.int64 else {**content, "dtype": str(space.dtype)}
    assert isinstance(space, spaces.Box)
    return {
        "kind": "box",
        "low": space.low.tolist(),
        "high": space.high.tolist(),
        "dtype": str(space.dtype),
    }


def space_from_json(content: dict[str, Any]) -> spaces.Space[Any]:
    """Return the space that `space_to_json` described.

    Older files tell neither where numbers start nor their type: zero and single precision.
    """
    if content["kind"] == "discrete":
        told = {name: content[name] for name in ("start", "dtype") if name in content}
        return spaces.Discrete(content["n"], **told)
    kind: Any = np.dtype(content.get("dtype", "float32")).type
    low, high = (np.array(content[bound], kind) for bound in ("low", "high"))
    return spaces.Box(low, high, dtype=kind)


def require_same_spaces(
    env: Any, observation: spaces.Space[Any], action: spaces.Space[Any]
) -> None:
    """Raise `UsageError` unless an environment has the spaces that an agent was trained on."""
    if (env.observation_space, env.action_space) != (observation, action):
        raise UsageError(
            f"it was trained on {observation} and {action}, the environment has "
            f"{env.observation_space} and {env.action_space}"
        )


def generator_to_json(generator: np.random.Generator) -> Any:
    """Describe the state of a random generator; whole numbers are kept whole."""
    state = generator.bit_generator.state
    return json.loads(json.dumps(state, default=lambda array: array.tolist()))


def restore_generator(generator: np.random.Generator, state: Any) -> None:
    """Set a generator to the state that `generator_to_json` described."""
    try:
        generator.bit_generator.state = state
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(f"not the state of a {type(generator.bit_generator).__name__}") from error


def _require_arguments(function: Callable[..., Any], given: Iterable[str]) -> None:
    """Refuse names that are no arguments of a function, unless it takes any."""
    parameters = inspect.signature(function).parameters
    kinds = kinds_of_arguments(function)
    anything = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    if not anything or kinds.keys() - parameters:  # else nothing tells what the others are
        require_among(given, {*parameters, *kinds} - {"self", "kwargs"})


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
