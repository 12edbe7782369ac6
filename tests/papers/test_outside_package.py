"""A package outside this one adds a method, an environment, an experiment, a claim and a check."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from longfair.agents import register
from longfair.cli import main
from longfair.papers import registry

Command = Callable[..., subprocess.CompletedProcess[str]]

AGENTS = '''
from dataclasses import dataclass

from longfair.agents.ppo.strategy import Strategy
from longfair.agents.register import FAIR_PPO, Style, register


@register(label="Cautious", style=Style("#117733", "h"), loaded_by=FAIR_PPO)
@dataclass(frozen=True)
class Cautious(Strategy):
    """PPO by another name."""

    name = "cautious"
    revision = 3
    weight: float = 1.0
'''
PACKAGE = """
import gymnasium

from longfair.envs.lending import LendingVectorEnv
from longfair.papers.setting import PPO, Evaluating, Problem, Untrained, World, Wrapper
from outside_paper.agents import Cautious


def make(num_envs, episode_length):
    return LendingVectorEnv.make(num_envs, episode_length=episode_length)


make.revision = 1
gymnasium.register("outside/Lending-v0", vector_entry_point="outside_paper:make")
PROBLEM = Problem(
    World("outside/Lending-v0", wrappers=(Wrapper("running-rates"),)),
    {"smoke": PPO(copies=2, minibatch=50, epochs=1, learning_rate=0.001, hidden=(8,),
                  total_steps=512)},
    {"smoke": Evaluating(1, 1, 2, 256)},
    {"smoke": 256},
)
EXPERIMENTS = (
    PROBLEM.experiment(
        "outside/tiny",
        "A tiny experiment",
        {("cautious", "as_published"): (Cautious(), "another name")},
        {"half": (Untrained("accept-with-chance", {"chance": 0.5}), "a coin")},
        {"smoke": 2},
    ),
)
CHECKS = {"one-is-one": "outside_paper.proofs:one_is_one"}
"""
PROOFS = """
from longfair.runs.claims import CheckResult


def one_is_one():
    return CheckResult(True, {"one": 1.0}, "One is one.")
"""
CLAIMS = """
paper: outside
claims:
  - id: outside-1
    asked: here
    source: here
    statement: One is one.
    variants: [as_published]
    rule: {kind: exact, check: one-is-one, shows: one}
  - id: outside-2
    asked: here
    source: here
    statement: The method has a bias of about a half.
    experiment: outside/tiny
    horizon: 512
    seeds: 2
    variants: [as_published]
    reported: {value: 0.5, how: text, error: 1.0}
    rule: {kind: value, method: cautious, metric: bias, tolerance: 1.0}
"""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Make a distribution that is installed nowhere but on the path."""
    package, info = tmp_path / "outside_paper", tmp_path / "outside_paper-1.0.dist-info"
    package.mkdir()
    info.mkdir()
    (package / "__init__.py").write_text(PACKAGE)
    (package / "agents.py").write_text(AGENTS)
    (package / "proofs.py").write_text(PROOFS)
    (package / "claims.yaml").write_text(CLAIMS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside-paper\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[longfair.papers]\noutside = outside_paper\n"
        "[longfair.agents]\noutside = outside_paper.agents\n"
    )
    return tmp_path


SEVERAL = """
import contextlib, io, json, sys
from longfair.cli import main
shown = []
for arguments in json.loads(sys.argv[1]):
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            main(arguments)
    except SystemExit as left:
        assert left.code == 0, (arguments, out.getvalue())
    shown.append(out.getvalue())
print(json.dumps(shown))
"""
"""What answers several commands in one process: most of what a process costs is its imports."""


def process(
    outside: Path, *arguments: str, run: Sequence[str] = ("-m", "longfair")
) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(outside), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, *run, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )


def longfair(outside: Path, *arguments: str) -> str:
    done = process(outside, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def several(outside: Path, *commands: Sequence[str]) -> list[Any]:
    """Return what commands that print JSON answer in one process, after one another."""
    done = process(outside, json.dumps(commands), run=("-c", SEVERAL))
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(shown) for shown in json.loads(done.stdout)]


def test_it_runs_and_is_judged_and_nothing_goes_stale(outside: Path) -> None:
    store = ["--store", str(outside / "results")]
    (outside / "results").mkdir()
    one = ("--methods", "reject-all", "--seeds", "1", "--workers", "1")
    longfair(outside, "run", "elbert/lending", *one, *store)
    longfair(outside, "run", "outside/tiny", "--workers", "1", *store)
    judging = ("claims", "--paper", "outside", "--profile", "smoke", "--json")
    rows, agents, judged = several(
        outside, ["list", "--json", *store], ["agents", "--json"], [*judging, *store]
    )
    assert not any(row["stale"] or row["damaged"] for row in rows)
    (cautious,) = (row for row in agents if row["agent"] == "cautious")
    assert (cautious["label"], cautious["revision"]) == ("Cautious", 3)
    fresh = {(row["experiment"], row["profile"]): row["fresh"] for row in rows if row["fresh"]}
    assert fresh == {("elbert/lending", "smoke"): 1, ("outside/tiny", "smoke"): 4}
    words = {one["id"]: one["verdict"] for one in judged}
    assert words["outside-1"] == "checked"
    assert words["outside-2"] != "not attempted"


def test_nothing_in_the_project_s_own_store_goes_stale(outside: Path) -> None:
    rows = json.loads(longfair(outside, "list", "--json"))
    assert sum(row["fresh"] for row in rows if row["profile"] == "book") > 1000
    assert sum(row["stale"] + row["damaged"] for row in rows) == 0


PAPER = r"'outside' \(longfair\.papers\) of outside-paper 1\.0 .*"
BY_AGENTS = r"'outside' \(longfair\.agents\) of outside-paper 1\.0 .*"


@pytest.fixture
def here(
    outside: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    """Run the command in this process, which is quicker; the package is forgotten afterwards."""

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        shown = capsys.readouterr()
        assert isinstance(caught.value.code, int)
        return subprocess.CompletedProcess(arguments, caught.value.code, shown.out, shown.err)

    forget()
    monkeypatch.syspath_prepend(str(outside))
    yield call
    forget()


def forget() -> None:
    for known in (registry.experiments, registry.claims, registry.checks, register._import_all):
        known.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "outside_paper"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1 / 0", "importing it raised ZeroDivisionError: division by zero"),
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("def (", r"SyntaxError: .*__init__\.py, line 1"),
        ("raise SystemExit('gone')", "SystemExit: gone"),
        ("EXPERIMENTS = 5", "EXPERIMENTS is 5, not a tuple of Experiment"),
        ("EXPERIMENTS = (5,)", "EXPERIMENTS holds 5, which is no Experiment"),
        ("CHECKS = 5", "CHECKS is 5, not a mapping"),
        ("CHECKS = {'one': 1}", "the check 'one' is 1, not a function"),
    ],
)
def test_a_broken_paper_is_named_in_one_line(
    outside: Path, here: Command, text: str, why: str
) -> None:
    (outside / "outside_paper" / "__init__.py").write_text(text)
    refused(here("list", "--store", str(outside)), PAPER + why)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import nowhere_at_all", "No module named 'nowhere_at_all'"),
        ("def (", r"SyntaxError: .*agents\.py, line 1"),
    ],
)
def test_broken_agents_are_named_in_one_line(
    outside: Path, here: Command, text: str, why: str
) -> None:
    (outside / "outside_paper" / "__init__.py").write_text("")
    (outside / "outside_paper" / "agents.py").write_text(text)
    refused(here("agents"), BY_AGENTS + why)


def test_the_process_names_what_is_broken_in_one_line(outside: Path) -> None:
    package = outside / "outside_paper"
    (package / "__init__.py").write_text("raise SystemExit('gone')")
    (package / "agents.py").write_text("1 / 0")
    refused(process(outside, "list", "--store", str(outside)), PAPER + "SystemExit: gone")
    (package / "__init__.py").write_text("")
    refused(process(outside, "agents"), BY_AGENTS + "ZeroDivisionError: division by zero")


@pytest.mark.parametrize(
    ("text", "why"),
    [("1 / 0", "line 1.* raised ZeroDivisionError"), ("def (", "line 1.* raised SyntaxError")],
)
def test_a_part_that_is_imported_late_is_named_in_one_line(
    outside: Path, text: str, why: str
) -> None:
    package = outside / "outside_paper" / "__init__.py"
    measured = "Evaluating(1, 1, 2, 256, measure='outside_paper.proofs:measure')"
    assert "Evaluating(1, 1, 2, 256)" in PACKAGE
    package.write_text(PACKAGE.replace("Evaluating(1, 1, 2, 256)", measured))
    (outside / "outside_paper" / "proofs.py").write_text(text)
    done = process(outside, "list", "outside", "--store", str(outside))
    refused(done, rf"of outside-paper 1\.0 .* its code \(.*proofs\.py, {why}")


def refused(done: subprocess.CompletedProcess[str], message: str) -> None:
    """Require one line that names the package and what to do, and exit code 2."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert re.search(message, done.stderr), done.stderr
    assert done.stderr.endswith("; repair outside-paper or uninstall it\n")
