"""Setting up does nothing when nothing is needed, and says in one line what is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import install


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A project whose environment is this interpreter; the list of pip calls."""
    (tmp_path / "requirements.lock").write_text("numpy==1.0\n")
    (tmp_path / "requirements.hashes").write_text("numpy==1.0 --hash=sha256:0\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / ".venv").mkdir()
    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(install, "LOCK", tmp_path / "requirements.lock")
    monkeypatch.setattr(install, "HASHES", tmp_path / "requirements.hashes")
    monkeypatch.setattr(install, "STAMP", tmp_path / ".venv" / "stamp")
    monkeypatch.setattr(install, "LOG", tmp_path / ".venv" / "log")
    monkeypatch.setattr(install, "PYTHON", Path(sys.executable))
    calls: list[list[str]] = []
    monkeypatch.setattr(install, "pip", lambda *arguments: calls.append(list(arguments)))
    return calls


def test_installs_hashed_files_then_the_rest_then_the_package_then_nothing(
    project: list[list[str]],
) -> None:
    assert install.main() == 0
    hashed, locked, package = project
    assert hashed == ["--require-hashes", "--no-deps", "-r", str(install.HASHES)]
    assert locked == ["-r", str(install.LOCK)]
    assert "--no-deps" in package
    assert "--no-build-isolation" in package
    assert install.main() == 0
    assert len(project) == 3


@pytest.mark.parametrize("name", ["requirements.lock", "requirements.hashes", "pyproject.toml"])
def test_installs_again_when_a_file_changes(project: list[list[str]], name: str) -> None:
    install.main()
    with (install.ROOT / name).open("a") as file:
        file.write("# changed\n")
    install.main()
    assert len(project) == 6


def test_failed_installation_is_tried_again(
    project: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: str) -> None:
        raise subprocess.CalledProcessError(1, ["pip", *arguments])

    with monkeypatch.context() as patch:
        patch.setattr(install, "pip", fail)
        assert install.main() == 1
    assert "installation failed" in capsys.readouterr().err
    assert install.main() == 0
    assert len(project) == 3


def test_pip_shows_signs_of_life_and_what_it_said_when_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nsleep 0.3\necho no such version\nexit 1\n")
    slow.chmod(0o755)
    monkeypatch.setattr(install, "PYTHON", slow)
    monkeypatch.setattr(install, "LOG", tmp_path / "log")
    monkeypatch.setattr(install, "HEARTBEAT", 0.1)
    with pytest.raises(subprocess.CalledProcessError):
        install.pip("-r", "requirements.lock")
    out = capsys.readouterr().out
    assert "... 0 s" in out
    assert "no such version" in out


def test_old_python_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    assert install.main() == 2
    assert capsys.readouterr().out.startswith("longfair needs Python 3.11 or newer, this is 3.9")
