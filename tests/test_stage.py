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


def test_unknown_word_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert stage.main(["walk"]) == 2
    assert "Usage" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (119.9, "119.9 s"), (125, "2 min 5 s")]
)
def test_durations_are_written_for_readers(seconds: float, text: str) -> None:
    assert stage.clock(seconds) == text
