"""A method that is put into the library is one file: it is found, and nothing else goes stale."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import longfair
from longfair.agents.register import agents
from longfair.papers import registry
from longfair.runs import sources
from longfair.runs.experiment import Run
from longfair.runs.keys import run_key

METHOD = '''
"""PPO by another name."""

from dataclasses import dataclass
from typing import ClassVar

from longfair.agents.ppo.strategy import Strategy
from longfair.agents.register import FAIR_PPO, register


@register(label="Hopeful", loaded_by=FAIR_PPO)
@dataclass(frozen=True)
class Hopeful(Strategy):
    """PPO that hopes."""

    name: ClassVar[str] = "hopeful"
    revision: ClassVar[int] = 1
'''

ASK = """
import json, sys
import longfair
from longfair.agents.register import agents, find
from longfair.papers import registry
from longfair.runs import sources

told = {"where": longfair.__file__, "agents": list(agents()), "modules": sorted(sys.modules)}
told["of hopeful"] = sorted(sources._reached({find("hopeful").agent.__module__}))
told["digests"] = {
    f"{name} {profile} {arm.name}": sources.arm_digest(arm)
    for name, experiment in registry.experiments().items()
    for profile, arms in experiment.arms.items()
    for arm in arms
}
print(json.dumps(told))
"""


def copy_of_the_library(folder: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(Path(longfair.__file__).parent, folder / "longfair", ignore=ignored)


def answer(question: str, folder: Path) -> dict[str, Any]:
    """What the library of a folder answers."""
    done = subprocess.run(
        [sys.executable, "-c", question],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(folder)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert Path(told["where"]).is_relative_to(folder)
    return told


@pytest.fixture(scope="module")
def with_method(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a copy of the library says of itself after one file was added."""
    folder = tmp_path_factory.mktemp("copy")
    (copy_of_the_library(folder) / "agents" / "ppo" / "hopeful.py").write_text(METHOD)
    return answer(ASK, folder)


def test_it_is_found_after_all_others(with_method: dict[str, Any]) -> None:
    own = [
        name for name, entry in agents().items() if entry.agent.__module__.startswith("longfair.")
    ]
    assert with_method["agents"] == [*own, "hopeful"]
    assert "longfair.agents.ppo.hopeful" in with_method["of hopeful"]


def test_no_other_digest_changes(with_method: dict[str, Any]) -> None:
    digests = {
        f"{name} {profile} {arm.name}": sources.arm_digest(arm)
        for name, experiment in registry.experiments().items()
        for profile, arms in experiment.arms.items()
        for arm in arms
    }
    assert len(digests) > 1000
    assert with_method["digests"] == digests


def test_modules_without_agents_are_not_imported_for_it(with_method: dict[str, Any]) -> None:
    for idle in ("agents.fair_mdp.compiled_books", "agents.evaluation", "figures", "papers.elbert"):
        assert f"longfair.{idle}" not in with_method["modules"]


EDITS = {
    "envs/parameters.py": ("give one of {', '", "it must be one of {', '"),
    "envs/vector.py": ("_begin_anew", "_start_again"),
    "agents/ppo/elbert_po.py": ("_total(", "_summed_up("),
    "agents/learning/saving.py": ('"""', '"""Agents in files. ', 1),
}
"""What changes no number: a message, private names, a docstring."""
UNUSED = "\n\ndef nobody_calls_me():\n    return 1\n"
PRESET = """

def _another_preset(cls):
    return cls.fppo()


LendingParams.another = classmethod(_another_preset)
LendingParams.PRESETS = (*LendingParams.PRESETS, "another")
"""

ASK_FOR_KEYS = """
import json
import longfair
from longfair.papers import registry
from longfair.runs.experiment import Run
from longfair.runs.keys import run_key

keys = {
    f"{name} {profile} {arm.name}": run_key(Run(name, profile, arm, 0)).digest
    for name, experiment in registry.experiments().items()
    for profile, arms in experiment.arms.items()
    for arm in arms
}
print(json.dumps({"where": longfair.__file__, "keys": keys}))
"""


def test_edits_that_change_no_number_leave_every_key(tmp_path: Path) -> None:
    """So no run is made again for them. Whether the numbers stay is for the probes to say."""
    copied = copy_of_the_library(tmp_path)
    for name, (old, new, *times) in EDITS.items():
        text = (copied / name).read_text(encoding="utf-8")
        assert old in text
        (copied / name).write_text(text.replace(old, new, *times), encoding="utf-8")
    for name, more in (("metrics/benefit.py", UNUSED), ("envs/lending/batch.py", PRESET)):
        with (copied / name).open("a", encoding="utf-8") as file:
            file.write(more)
    (copied / "agents" / "ppo" / "hopeful.py").write_text(METHOD)
    told = answer(ASK_FOR_KEYS, tmp_path)
    keys = {
        f"{name} {profile} {arm.name}": run_key(Run(name, profile, arm, 0)).digest
        for name, experiment in registry.experiments().items()
        for profile, arms in experiment.arms.items()
        for arm in arms
    }
    assert len(keys) > 1000
    assert told["keys"] == keys
