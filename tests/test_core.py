"""The wheel in an environment that holds its core dependencies and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
HEAVY = ("torch", "numba", "stable_baselines3", "jupyter_book")


def needed(wheel: Path) -> set[str]:
    """Canonical names of everything that a wheel needs without its extras, to the last."""
    (found,) = metadata.distributions(path=[str(wheel)])
    waiting, names = list(found.requires or ()), set()
    while waiting:
        requirement = Requirement(waiting.pop())
        extras = requirement.extras or {""}
        name = canonicalize_name(requirement.name)
        marker = requirement.marker
        if name in names or (marker and not any(marker.evaluate({"extra": e}) for e in extras)):
            continue
        names.add(name)
        waiting += metadata.requires(requirement.name) or ()
    return names


def sources(folder: Path) -> Path:
    """What a wheel is built from, copied: a build leaves files in its tree, and reads old ones."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


def link(name: str, place: Path) -> None:
    """Put an installed distribution into another environment, by links."""
    for file in metadata.files(name) or ():
        first = file.parts[0]
        target = place / first
        if first not in {"..", "__pycache__"} and not target.exists():
            target.symlink_to(Path(str(metadata.distribution(name).locate_file(first))))


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel and its core dependencies."""
    folder = tmp_path_factory.mktemp("core")
    source = sources(folder / "source")
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    subprocess.run([*build, "--wheel-dir", folder, source], check=True)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "empty", symlinks=True)
    python = folder / "empty" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--quiet"]
    subprocess.run([*pip, wheel], check=True)
    (place,) = (folder / "empty" / "lib").glob("python*/site-packages")
    for name in sorted(needed(wheel)):
        link(name, place)
    return python


def run(python: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [python, *arguments],
        cwd=python.parent,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("module", HEAVY)
def test_core_has_nothing_heavy(core: Path, module: str) -> None:
    answer = run(core, "-c", f"import {module}")
    assert "ModuleNotFoundError" in answer.stderr


def test_first_example_of_the_readme_runs(core: Path) -> None:
    answer = run(core, "-c", EXAMPLES[0])
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("[")


EVERY_ENVIRONMENT = """
import gymnasium
import numpy as np
from longfair.envs import NAMES, environment_id
for name in NAMES:
    worlds = gymnasium.make_vec(environment_id(name), num_envs=3)
    worlds.reset(seed=0)
    worlds.action_space.seed(0)
    for _ in range(3):
        step = worlds.step(worlds.action_space.sample())
    assert np.isfinite(step[1]).all()
    print(name)
import longfair.figures, longfair.metrics.sinkhorn, longfair.metrics.memory_fairness
"""


def test_every_environment_and_metric_works_uncompiled(core: Path) -> None:
    answer = run(core, "-c", EVERY_ENVIRONMENT)
    assert answer.returncode == 0, answer.stderr
    assert len(answer.stdout.split()) == 7


def test_agents_are_refused_in_one_line(core: Path) -> None:
    answer = run(core, "-m", "longfair", "run", "elbert/lending")
    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1
    assert "pip install '.[agents]'" in answer.stderr
