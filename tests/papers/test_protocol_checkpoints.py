"""A training that was stopped goes on from its checkpoint to the same table, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from longfair.papers import ppo_training, registry
from longfair.papers.fppo import training as fppo_training
from longfair.papers.fppo.learning import TrunkPPO
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.setting import PPO
from longfair.papers.ucbfair import training as td3_training
from longfair.runs.checkpoints import Checkpoint


class StoppedError(Exception):
    """What stands for a kill."""


@pytest.mark.parametrize(
    "arm", ["elbert/lending elbert-po.as_coded", "elbert/attention a-ppo.as_coded"]
)
def test_a_stopped_run_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arm: str
) -> None:
    experiment, name = arm.split()
    setting = next(
        part.config for part in registry.experiment(experiment).arms["smoke"] if part.name == name
    )
    assert isinstance(setting.learning, PPO)
    steps = 4 * setting.learning.copies * setting.episode_length
    setting = replace(setting, learning=replace(setting.learning, total_steps=steps))
    expected = train_and_evaluate(setting, 3)
    checkpoint = Checkpoint(tmp_path / "run.npz", "key", seconds=0.0)
    starts = ppo_training.Keeping._on_rollout_start

    def stops_at_the_third(self: ppo_training.Keeping) -> None:
        starts(self)
        if self._rollouts == 3:
            raise StoppedError

    with monkeypatch.context() as patched:
        patched.setattr(ppo_training.Keeping, "_on_rollout_start", stops_at_the_third)
        with pytest.raises(StoppedError):
            train_and_evaluate(setting, 3, checkpoint)
    found = checkpoint.read()
    assert found is not None
    assert found[1]["rollouts"] == 2
    assert train_and_evaluate(setting, 3, checkpoint).equals(expected)


@pytest.mark.parametrize(
    ("arm", "rollout"),
    [
        ("fppo/lending f-ppo.as_published", 100),
        ("fppo/attention f-ppo.as_coded", 30),
        ("fppo/epidemic f-ppo.as_published", 50),
        ("fppo/epidemic a-ppo.as_coded", 50),
    ],
)
def test_a_run_that_cuts_episodes_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arm: str, rollout: int
) -> None:
    """Episodes have 20 to 100 steps, so that some rollouts here end within one."""
    experiment, name = arm.split()
    setting = next(
        part.config for part in registry.experiment(experiment).arms["smoke"] if part.name == name
    )
    assert isinstance(setting.learning, TrunkPPO)
    learning = replace(setting.learning, rollout=rollout, minibatch=10, total_steps=5 * rollout)
    setting = replace(setting, learning=learning)
    expected = train_and_evaluate(setting, 3)
    checkpoint = Checkpoint(tmp_path / "run.npz", "key", seconds=0.0)
    starts = fppo_training.RolloutGaps._on_rollout_start
    for stop in (2, 4):

        def stops(self: fppo_training.RolloutGaps, at: int = stop * rollout) -> None:
            starts(self)
            if self.num_timesteps == at:
                raise StoppedError

        with monkeypatch.context() as patched:
            patched.setattr(fppo_training.RolloutGaps, "_on_rollout_start", stops)
            with pytest.raises(StoppedError):
                train_and_evaluate(setting, 3, checkpoint)
        found = checkpoint.read()
        assert found is not None
        assert found[1]["model"]["num_timesteps"] == stop * rollout
    assert train_and_evaluate(setting, 3, checkpoint).equals(expected)


@pytest.mark.parametrize(
    ("arm", "copies", "gradient_steps"),
    [("r-td3.as_published", 4, 1), ("td3.as_coded", 4, 2), ("r-td3.as_published", 1, -1)],
)
def test_r_td3_goes_on_to_the_same_bits(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arm: str,
    copies: int,
    gradient_steps: int,
) -> None:
    """Episodes have 6 steps; the stops are within one, before and after learning starts."""
    setting = next(
        part.config
        for part in registry.experiment("ucbfair/adult").arms["smoke"]
        if part.name == arm
    )
    method = replace(
        setting.method, gradient_steps=gradient_steps, learning_starts=70, hidden=(40, 30)
    )
    world = replace(setting.world, changes={**setting.world.changes, "episode_length": 6})
    learning = replace(setting.learning, total_steps=300, copies=copies)
    setting = replace(setting, world=world, method=method, learning=learning)
    expected = train_and_evaluate(setting, 3)
    checkpoint = Checkpoint(tmp_path / "run.npz", "key", seconds=0.0)
    keeps = td3_training.Recording._on_step
    kept = []
    for stop in (4, 40, 116, 248):

        def stops(self: td3_training.Recording, at: int = stop) -> bool:
            if self.num_timesteps == at:
                raise StoppedError
            return keeps(self)

        with monkeypatch.context() as patched:
            patched.setattr(td3_training.Recording, "_on_step", stops)
            with pytest.raises(StoppedError):
                train_and_evaluate(setting, 3, checkpoint)
        found = checkpoint.read()
        kept.append(0 if found is None else len(found[0]["actions"]) * copies)
    assert kept == ([0, 36, 112, 244] if copies == 4 else [0, 36, 114, 246])
    assert train_and_evaluate(setting, 3, checkpoint).equals(expected)
