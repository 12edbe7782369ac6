"""Setting up does nothing when nothing is needed, and says in one line what is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import install

KNOWN = "6746"


def chosen(digest: str) -> dict[str, Any]:
    """What pip reports of a build of torch with a digest."""
    return {
        "metadata": {"name": "torch", "version": "2.0+cpu"},
        "download_info": {
            "url": "file:///torch.whl",
            "archive_info": {"hashes": {"sha256": digest}},
        },
    }


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A project whose environment is this interpreter; the list of pip calls."""
    (tmp_path / "requirements.lock").write_text("numpy==1.0\n")
    (tmp_path / "requirements.hashes").write_text("numpy==1.0 --hash=sha256:0\n")
    (tmp_path / "requirements.torch.hashes").write_text(f"torch==2.0 --hash=sha256:{KNOWN}\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / ".venv").mkdir()
    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(install, "LOCK", tmp_path / "requirements.lock")
    monkeypatch.setattr(install, "HASHES", tmp_path / "requirements.hashes")
    monkeypatch.setattr(install, "TORCH", tmp_path / "requirements.torch.hashes")
    monkeypatch.setattr(install, "CHOSEN", tmp_path / ".venv" / "chosen.txt")
    monkeypatch.setattr(install, "STAMP", tmp_path / ".venv" / "stamp")
    monkeypatch.setattr(install, "LOG", tmp_path / ".venv" / "log")
    monkeypatch.setattr(install, "PYTHON", Path(sys.executable))
    calls: list[list[str]] = []
    monkeypatch.setattr(install, "pip", lambda *arguments: calls.append(list(arguments)))
    monkeypatch.setattr(install, "missing", lambda: [chosen(KNOWN)])
    return calls


def test_installs_hashed_files_then_torch_then_the_package_then_nothing(
    project: list[list[str]],
) -> None:
    assert install.main() == 0
    hashed, torch, package = project
    assert hashed == ["--require-hashes", "--no-deps", "-r", str(install.HASHES)]
    assert torch == ["--require-hashes", "--no-deps", "-r", str(install.CHOSEN)]
    assert install.CHOSEN.read_text() == f"torch==2.0+cpu --hash=sha256:{KNOWN}\n"
    assert "--no-deps" in package
    assert "--no-build-isolation" in package
    assert install.main() == 0
    assert len(project) == 3


def test_a_build_of_torch_that_is_not_known_is_refused(
    project: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(install, "missing", lambda: [chosen("0bad")])
    assert install.main() == 1
    assert len(project) == 1
    assert not install.STAMP.exists()
    said = capsys.readouterr().err
    assert "file:///torch.whl is a build of torch==2.0+cpu" in said
    assert "add --hash=sha256:0bad" in said


def test_what_is_there_is_not_fetched_again(
    project: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "missing", list)
    assert install.main() == 0
    assert [call for call in project if str(install.CHOSEN) in call] == []


def test_pip_is_asked_with_the_versions_whose_files_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def pip(*arguments: str) -> None:
        versions = Path(arguments[arguments.index("-c") + 1]).read_text().splitlines()
        assert "torch==2.13.0" in versions
        assert all("hash" not in line for line in versions)
        Path(arguments[arguments.index("--report") + 1]).write_text('{"install": []}')

    monkeypatch.setattr(install, "pip", pip)
    assert install.missing() == []


@pytest.mark.parametrize(
    "name",
    [
        "requirements.lock",
        "requirements.hashes",
        "requirements.torch.hashes",
        "pyproject.toml",
    ],
)
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
