"""Models as plain arrays and JSON: what is written comes back, what is damaged is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from longfair.agents.learning import saving
from longfair.agents.learning.schedules import Annealed, schedule_from_json, schedule_to_json
from longfair.errors import UsageError


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(5),
        spaces.Discrete(3, start=-1),
        spaces.Box(np.array([-np.inf, 0.0], np.float32), np.float32(3.5)),
        spaces.Box(np.array([-np.inf, 0.1]), np.array([np.inf, 1e300]), dtype=np.float64),
        spaces.Box(0, 255, (2, 2), np.uint8),
        spaces.Box(-(2**62), 2**62 + 1, (2,), np.int64),
    ],
    ids=str,
)
def test_spaces_come_back(space: spaces.Space[Any]) -> None:
    content = json.loads(json.dumps(saving.space_to_json(space)))
    found = saving.space_from_json(content)
    assert found == space
    if isinstance(space, spaces.Box) and isinstance(found, spaces.Box):
        np.testing.assert_array_equal([found.low, found.high], [space.low, space.high])


def test_spaces_of_older_files_are_read() -> None:
    """They told neither the type of numbers nor the first choice."""
    found = saving.space_from_json({"kind": "box", "low": [0.1], "high": [1.0]})
    assert found == spaces.Box(np.array([0.1], np.float32), np.float32(1.0))
    assert found.dtype == np.float32
    assert saving.space_from_json({"kind": "discrete", "n": 3}) == spaces.Discrete(3)


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.SFC64])
def test_generators_go_on_where_they_were(kind: Any) -> None:
    generator, other = np.random.Generator(kind(1)), np.random.Generator(kind(2))
    generator.random(3, np.float32)
    saving.restore_generator(other, json.loads(json.dumps(saving.generator_to_json(generator))))
    assert generator.random(5).tolist() == other.random(5).tolist()
    with pytest.raises(UsageError, match="not the state of"):
        saving.restore_generator(other, {"state": 3})


def test_parameters_must_fit() -> None:
    target = {"a": np.zeros(3), "b": np.zeros((2, 2))}
    saving.fill(target, {"a": np.arange(3.0), "b": np.ones((2, 2))})
    assert target["a"].tolist() == [0, 1, 2]
    with pytest.raises(UsageError, match="b is missing"):
        saving.fill(target, {"a": np.zeros(3)})
    with pytest.raises(UsageError, match=r"a has shape \(4,\)"):
        saving.fill(target, {"a": np.zeros(4), "b": np.ones((2, 2))})


def test_damaged_files_end_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    saving.write(path, {"weight": np.array([1.0, np.nan])}, {})
    with pytest.raises(UsageError, match="weight holds what is not a finite number"):
        saving.read(path)
    np.savez(path, settings=np.array("[1]"))
    with pytest.raises(UsageError, match="settings have no names"):
        saving.read(path)
    np.save(tmp_path / "array.npy", np.zeros(3))
    for content in (b"", b"PK\x03\x04 no archive", (tmp_path / "array.npy").read_bytes()):
        path.write_bytes(content)
        with pytest.raises(UsageError, match="is not a model") as caught:
            saving.read(path)
        assert "\n" not in str(caught.value)


class Own(saving.Saved):
    """An agent with arguments called as those of loading are."""

    def __init__(self, arrays: int = 1, settings: int = 2) -> None:
        self.given = arrays, settings

    def _to_saved(self) -> tuple[saving.Arrays, saving.Settings]:
        return {}, {}

    @classmethod
    def _from_saved(
        cls, arrays: saving.Arrays, settings: saving.Settings, env: Any, /, **kwargs: Any
    ) -> Own:
        return cls(**kwargs)


class Open(Own):
    """One that takes any argument."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(kwargs["anything"])


def test_loading_replaces_arguments_and_refuses_unknown_ones(tmp_path: Path) -> None:
    Own().save(tmp_path / "own.npz")
    assert Own.load(tmp_path / "own.npz", settings=5, arrays=7).given == (7, 5)
    assert Open.load(tmp_path / "own.npz", anything=3).given == (3, 2)
    with pytest.raises(UsageError, match=r"^unknown argument 'setings': did you mean 'settings'"):
        Own.load(tmp_path / "own.npz", setings=5)


@pytest.mark.parametrize("setting", [0.1, Annealed(1e-3)])
def test_schedules_come_back(setting: Any) -> None:
    assert schedule_from_json("rate", json.loads(json.dumps(schedule_to_json(setting)))) == setting


def test_an_annealed_setting_falls_to_zero() -> None:
    assert [Annealed(2.0)(left) for left in (1.0, 0.25, 0.0)] == [2.0, 0.5, 0.0]
    with pytest.raises(UsageError, match="start"):
        Annealed(-1.0)


def test_a_function_cannot_be_written_down() -> None:
    assert schedule_to_json(lambda left: left) is None
    with pytest.raises(UsageError, match="give learning_rate= when loading"):
        schedule_from_json("learning_rate", None)
