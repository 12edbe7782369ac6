"""Every command in the README does what it says."""

from __future__ import annotations

import contextlib
import filecmp
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from longfair.runs import index

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCES = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
PROGRAMS = Path(sys.executable).parent


def commands(language: str) -> list[str]:
    """Lines of all code blocks of a language."""
    return [line for kind, text in FENCES if kind == language for line in text.splitlines()]


def test_the_two_commands_are_the_first_ones() -> None:
    assert commands("")[:2] == ["make book", "make test"]


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`?make ([a-z]+)", README))))
def test_make_target_exists(target: str) -> None:
    assert target in TARGETS


def test_make_help_names_every_target() -> None:
    answer = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    named = {line.split()[0] for line in answer.stdout.splitlines()[1:]}
    assert named == TARGETS


def test_continuous_integration_calls_the_readme_commands() -> None:
    assert re.search(r"\bmake test$", (ROOT / ".ci/run").read_text("utf-8"), re.MULTILINE)
    workflow = yaml.safe_load((ROOT / ".github/workflows/check.yml").read_text("utf-8"))
    runs = [step.get("run") for step in workflow["jobs"]["test"]["steps"]]
    assert ".ci/run" in runs
    assert "make book" in runs


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean clone of what is committed, with what was compiled and read of the same files."""
    folder = tmp_path_factory.mktemp("clone") / "longfair"
    subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, folder], check=True)
    bring_compiled(ROOT / "src", folder / "src")
    bring_index(ROOT / "results", folder / "results")
    return folder


def bring_compiled(source: Path, target: Path) -> None:
    """Copy what Numba compiled, if all files are the same, so that nothing is compiled twice.

    Numba tells by the time of a file whether what it made of it still holds; the index of a store
    tells by the times of all files whether they worked out what it remembers.
    """
    files = [
        str(file.relative_to(source))
        for ending in ("py", "yaml", "csv")
        for file in source.rglob(f"*.{ending}")
    ]
    if filecmp.cmpfiles(source, target, files, shallow=False)[0] != files:
        return
    for name in files:
        shutil.copystat(source / name, target / name)
    for made in source.rglob("__pycache__/*.nb[ic]"):
        copy = target / made.relative_to(source)
        copy.parent.mkdir(exist_ok=True)
        shutil.copy2(made, copy)


def bring_index(source: Path, target: Path) -> None:
    """Copy the index of a store, so that results which are the same are not examined twice.

    The index tells by size and times of a file whether what it says of it still holds, and by the
    code whether an answer does.
    """
    if not (source / index.FILE).exists():
        return
    with (
        contextlib.closing(sqlite3.connect(source / index.FILE)) as known,
        contextlib.closing(sqlite3.connect(target / index.FILE)) as copy,
        copy,
    ):
        known.backup(copy)
        rows = copy.execute("select path, file from files where problem = ''").fetchall()
        stamps = [
            (index.stamp_of(target / path), path)
            for path, file in rows
            if file == digest(target / path)
        ]
        copy.executemany("update files set stamp = ? where path = ?", stamps)


def digest(path: Path) -> str:
    """SHA-256 of a file; empty if there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


RERUNNING = [
    line
    for block in re.findall(
        r"^```{code-block} bash\n(.*?)^```$",
        (ROOT / "book/how_to_rerun.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    for line in block.splitlines()
    if line.split()[1:2] == ["rerun"]
]


def test_readme_and_book_rerun_a_claim_that_rests_on_runs() -> None:
    assert RERUNNING
    assert [line for line in commands("sh") if " rerun " in line] == RERUNNING


QUICK = " --seconds 3"
"""Which stored run is executed again is drawn by chance; here it is one that takes a moment."""


@pytest.mark.parametrize("command", commands("sh"))
def test_command_runs_in_a_clean_clone(command: str, clone: Path) -> None:
    assert command.startswith(".venv/bin/longfair ")
    paths = {
        "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(clone / "src"),
    }
    answer = subprocess.run(
        ["sh", "-c", command.replace(".venv/bin/", "") + QUICK * (" verify " in command)],
        cwd=clone,
        env=os.environ | paths,
        capture_output=True,
        text=True,
        check=False,
    )
    # `doctor` may find something to fix on this machine and says so with 1; 2 is a usage error.
    allowed = {0, 1} if command.endswith("doctor") else {0}
    assert answer.returncode in allowed, answer.stderr
    assert answer.stdout.strip()
    if " rerun " in command:
        assert "1 of 40 runs" in answer.stdout
        assert "every bit agrees" in answer.stdout or "within" in answer.stdout


def test_long_command_is_one_that_the_program_knows() -> None:
    (command,) = [line for line in commands("") if "longfair run" in line]
    experiment = command.split()[2]
    answer = subprocess.run(
        [PROGRAMS / "longfair", "list", experiment, "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {row["experiment"] for row in json.loads(answer.stdout)} == {experiment}


def test_python_example_runs() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", "\n".join(commands("python"))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip()


def test_linked_files_exist() -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / link).exists(), link


def test_layout_names_folders_that_exist() -> None:
    table = README.partition("## Layout")[2].partition("\n## ")[0]
    for row in table.splitlines():
        for folder in re.findall(r"`([\w/]+)/?`", row.partition("|")[2].partition("|")[0]):
            assert (ROOT / folder).is_dir(), folder


@pytest.mark.parametrize("page", ["how_to_rerun", "reference"])
def test_examples_of_the_book_run(page: str) -> None:
    """Python examples of prose pages run; commands name targets and subcommands that exist."""
    text = (ROOT / "book" / f"{page}.md").read_text(encoding="utf-8")
    for program in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert set(re.findall(r"make ([a-z]+)`", text)) <= TARGETS
    usage = subprocess.run(
        [PROGRAMS / "longfair", "--help"], capture_output=True, text=True, check=True
    ).stdout
    for command in re.findall(r"longfair ([a-z]+)", text):
        assert re.search(rf"^\s*{command}\b", usage, re.MULTILINE), command
