"""The worked example of the page *Adding an environment* works as printed."""

from __future__ import annotations

import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as check_env_of_sb3

from longfair.errors import UsageError

PAGE = Path(__file__).parents[2] / "book" / "environments" / "adding_an_environment.md"
BLOCK = re.compile(r"```\{code-block\} python\n:class: worked-example\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def example() -> Iterator[types.ModuleType]:
    """Execute the blocks of the page, in order, as one module."""
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 5
    module = types.ModuleType("worked_example")
    sys.modules[module.__name__] = module
    exec(compile("\n".join(blocks), str(PAGE), "exec"), module.__dict__)
    yield module
    del sys.modules[module.__name__]


def test_both_faces_pass_the_checkers(example: types.ModuleType) -> None:
    check_env(example.ClinicVectorEnv.make_scalar(), skip_render_check=True)
    check_env_of_sb3(example.ClinicVectorEnv.make_scalar())


IN_THE_LIBRARY = """
import sys, types
import longfair.envs, longfair.envs.registration as registration
import pytest

code, tests = sys.argv[1:]
clinic = types.ModuleType("longfair.envs.clinic")
sys.modules[clinic.__name__] = clinic
exec(compile(code, "clinic.py", "exec"), clinic.__dict__)
longfair.envs.NAMES = registration.NAMES = (*registration.NAMES, "Clinic")
registration.register_all()
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-k", "Clinic", tests]))
"""
"""Do what the page says: the first two blocks in a file of their own, its name in NAMES."""


def test_the_example_passes_the_tests_of_every_environment() -> None:
    code = "\n".join(BLOCK.findall(PAGE.read_text(encoding="utf-8"))[:2])
    tests = str(Path(__file__).with_name("test_registry.py"))
    ran = subprocess.run(
        [sys.executable, "-c", IN_THE_LIBRARY, code, tests], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout
    assert re.search(r"^\d\d passed", ran.stdout, flags=re.MULTILINE)


def test_nobody_is_lost(example: types.ModuleType) -> None:
    env = example.ClinicVectorEnv.make(num_envs=50, preset="busy")
    _, info = env.reset(seed=1)
    waiting = info["group_state"][..., 0]
    rng = np.random.default_rng(1)
    for _ in range(99):
        _, reward, _, _, info = env.step(rng.integers(0, 2, 50))
        waiting = waiting + info["demand"] - info["supply"]
        np.testing.assert_array_equal(waiting, info["group_state"][..., 0])
        np.testing.assert_array_equal(reward, -waiting.sum(axis=1))


def test_the_page_tells_the_truth_about_the_longest_list(example: types.ModuleType) -> None:
    assert example.rates[0] < example.rates[1]
    assert 0.0 < example.bias(example.rates) < 0.1


def test_bad_input_is_refused(example: types.ModuleType) -> None:
    env = example.ClinicVectorEnv.make(num_envs=2)
    env.reset(seed=0)
    with pytest.raises(UsageError, match="action 2"):
        env.step(np.array([0, 2]))
    with pytest.raises(UsageError, match="quiet"):
        example.ClinicVectorEnv.make(preset="quite")
