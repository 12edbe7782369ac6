"""Tasks say what they do, how long each stage took, and end with one clear line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import stage


@pytest.fixture(autouse=True)
def _record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "RECORD", tmp_path / "_build" / "stages.json")


def test_task_reports_its_stages(capfd: pytest.CaptureFixture[str]) -> None:
    assert stage.main(["start", "book"]) == 0
    assert stage.main(["run", "pages", sys.executable, "-c", "print('working')"]) == 0
    assert stage.main(["run", "checks", sys.executable, "-c", ""]) == 0
    assert stage.main(["end", "open the book"]) == 0
    out = capfd.readouterr().out.splitlines()
    assert "=== make book: pages" in out
    assert "working" in out
    assert out[-2].startswith("stages: pages 0.")
    assert ", checks 0." in out[-2]
    assert out[-1].startswith("make book finished in 0.")
    assert out[-1].endswith(": open the book")


def test_failing_stage_stops_the_task(capfd: pytest.CaptureFixture[str]) -> None:
    stage.main(["start", "test"])
    assert stage.main(["run", "types", sys.executable, "-c", "raise SystemExit(3)"]) == 3
    assert capfd.readouterr().out.splitlines()[-1].startswith("make test FAILED in stage 'types'")


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_stages_run_beside_each_other(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each waits for what the other writes."""
    waits = "import pathlib, sys, time\n"
    waits += "mine, other = map(pathlib.Path, sys.argv[1:])\nmine.touch()\n"
    waits += "while not other.exists(): time.sleep(0.01)\nprint('met')"
    ways = [str(tmp_path / "one"), str(tmp_path / "two")]
    stage.main(["start", "test"])
    command = ["run", "types", *python(waits), *ways, "--", "pages", *python(waits), *ways[::-1]]
    assert stage.main(command) == 0
    assert stage.main(["end", "done"]) == 0
    out = capfd.readouterr().out.splitlines()
    assert {"=== make test: types, pages", "types: met", "pages: met"} <= set(out)
    assert [line.split(":")[0] for line in out if line.startswith("---")] == [
        "--- types",
        "--- pages",
    ]
    assert out[-2].startswith("stages: types ")


@pytest.mark.parametrize("place", [0, 1])
def test_one_failing_stage_of_several_fails(place: int, capfd: pytest.CaptureFixture[str]) -> None:
    codes = ["import sys; print('wrong', file=sys.stderr); sys.exit(3)", "print('fine')"]
    first, second = python(codes[place]), python(codes[1 - place])
    stage.main(["start", "test"])
    assert stage.main(["run", "one", *first, "--", "two", *second]) == 3
    out = capfd.readouterr().out
    name = ["one", "two"][place]
    assert f"make test FAILED in stage '{name}'" in out
    assert f"{name}: wrong" in out
    assert out.count("FAILED") == 1


@pytest.mark.parametrize("words", [[], ["types"], ["types", "mypy", "--"], ["a", "b", "--", "c"]])
def test_a_stage_without_a_command_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    stage.main(["start", "test"])
    assert stage.main(["run", *words]) == 2
    assert "a stage is a name and a command" in capsys.readouterr().err


def test_unknown_word_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert stage.main(["walk"]) == 2
    assert "Usage" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (119.9, "119.9 s"), (125, "2 min 5 s")]
)
def test_durations_are_written_for_readers(seconds: float, text: str) -> None:
    assert stage.clock(seconds) == text
