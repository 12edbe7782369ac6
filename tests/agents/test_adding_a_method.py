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
told["of hopeful"] = sources.source_modules(find("hopeful").agent)
told["digests"] = {
    f"{name} {profile} {arm.name}": sources.arm_digest(arm)
    for name, experiment in registry.experiments().items()
    for profile, arms in experiment.arms.items()
    for arm in arms
}
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def with_method(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a copy of the library says of itself after one file was added."""
    copy = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(longfair.__file__).parent, copy / "longfair", ignore=ignored)
    (copy / "longfair" / "agents" / "ppo" / "hopeful.py").write_text(METHOD)
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(copy)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert Path(told["where"]).is_relative_to(copy)
    return told


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
