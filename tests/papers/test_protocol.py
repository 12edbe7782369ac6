"""One function runs any setting: grids are products, seeds are shared, names are checked."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import product

import pytest

from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.strategy import Strategy
from longfair.errors import UsageError
from longfair.papers import registry
from longfair.papers.elbert.lending import PROBLEM, REFERENCES
from longfair.papers.protocol import DRAWS, train_and_evaluate
from longfair.papers.setting import PPO, Evaluating, Setting, Untrained, World, Wrapper
from longfair.runs.keys import canonical_json, parts_of
from longfair.runs.tables import checked

WORLDS = {
    "longfair/Lending-v0": 20,
    "longfair/Attention-v0": 20,
    "longfair/Epidemic-v0": 20,
    "longfair/LoanPool-v0": 20,
}
METHODS = {"g-ppo": Strategy(train_unused_critics=True), "elbert-po": ElbertPO.as_coded(1000.0)}
PPO_SMALL = PPO(copies=2, minibatch=20, epochs=4, learning_rate=0.05, hidden=(8,), total_steps=80)
EVALUATING = Evaluating(every=1, episodes=2, final_episodes=3, episode_length=20)


def test_a_grid_is_the_product_of_two_lists() -> None:
    tables = {}
    for (environment, length), (name, method) in product(WORLDS.items(), METHODS.items()):
        world = World(environment, wrappers=(Wrapper("running-rates"),))
        setting = Setting(world, method, PPO_SMALL, EVALUATING, length)
        tables[environment, name] = checked(train_and_evaluate(setting, 0), name)
    assert len(tables) == len(WORLDS) * len(METHODS)
    for table in tables.values():
        assert table.loc[table["phase"] == "curve", "step"].unique().tolist() == [0, 40, 80]
    for environment in WORLDS:
        first, second = (tables[environment, name] for name in METHODS)
        assert not first.equals(second)


def test_every_experiment_is_declared_through_the_one_protocol() -> None:
    for found in registry.experiments().values():
        for arms in found.arms.values():
            for arm in arms:
                assert arm.work is train_and_evaluate, f"{found.id}: {arm.name}"
                assert isinstance(arm.config, Setting), f"{found.id}: {arm.name}"


def test_streams_of_an_evaluation_are_disjoint() -> None:
    for draws in DRAWS.values():
        numbers = [number for pair in draws.values() for number in pair if number is not None]
        assert len(set(numbers)) == len(numbers)


def test_a_setting_names_all_parts_that_decide_numbers() -> None:
    arm = next(a for a in registry.experiment("elbert/lending").arms["book"])
    names = {getattr(part, "name", part.__name__) for part in parts_of(arm)}
    assert {"LendingVectorEnv", "RunningRates", "ppo", "rates"} <= names
    for found in registry.experiments().values():
        for profile_arms in found.arms.values():
            for one in profile_arms:
                assert all(isinstance(part.revision, int) for part in parts_of(one)), one.name


def test_changes_of_parameters_reach_the_environment() -> None:
    world = World("longfair/Doughnut-v0", {"preset": "deep"}, {"smoothing": 0.25})
    params = world.make(3, episode_length=7).unwrapped.params  # type: ignore[attr-defined]  # ours
    assert (params.smoothing, params.episode_length) == (0.25, 7)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (replace(PROBLEM.world, wrappers=(Wrapper("runing-rates"),)), "running-rates"),
        (replace(PROBLEM.world, wrappers=(Wrapper("nowhere:Thing"),)), "nowhere:Thing"),
    ],
)
def test_unknown_wrappers_are_refused_in_one_line(setting: World, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        setting.make(1)
    assert "\n" not in str(caught.value)


def test_unknown_policies_are_refused() -> None:
    good = PROBLEM.untrained(REFERENCES["accept-all"][0], "smoke")
    with pytest.raises(UsageError, match="acept"):
        train_and_evaluate(replace(good, method=Untrained("acept")), 0)


@pytest.mark.parametrize(
    ("field", "name", "message"),
    [
        ("measure", "rats", "unknown measure 'rats': did you mean 'rates'"),
        ("draws", "end", "unknown draws 'end': did you mean 'end first'"),
    ],
)
def test_unknown_measures_and_draws_are_refused_when_told(
    field: str, name: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        Evaluating(**{field: name})  # type: ignore[arg-type]  # both are text
    assert "\n" not in str(caught.value)


def test_shortened_settings_are_of_the_same_kind_and_short() -> None:
    for found in registry.experiments().values():
        for arm in found.arms["book"]:
            if isinstance(arm.config, Setting):
                short = arm.config.shortened()
                assert canonical_json(short.world) == canonical_json(arm.config.world)
                if isinstance(short.learning, PPO):
                    rollout = short.learning.copies * (short.episode_length or 0)
                    assert short.learning.total_steps <= 10 * rollout


def test_declaring_experiments_imports_no_machinery() -> None:
    """What trains, evaluates or proves is imported when a run needs it."""
    script = (
        "import sys; from longfair.papers import registry; registry.experiments(); "
        "print([m for m in sys.modules if m in ('matplotlib', 'numba', 'pandas', 'scipy')"
        " or m.startswith('longfair.papers')"
        " and m.endswith(('training', 'exact_lending', 'measures', 'checks', '_results'))])"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
