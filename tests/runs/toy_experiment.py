"""A small experiment whose runs take no time, or misbehave on purpose."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from longfair.errors import UsageError
from longfair.runs.claims import CheckResult
from longfair.runs.experiment import Arm, Experiment, Run, protocol
from longfair.runs.keys import run_key

THREADS_AT_IMPORT = os.environ.get("OMP_NUM_THREADS")


@dataclass(frozen=True)
class ToySettings:
    bias: float = 0.1
    seconds: float = 0.0
    diary: str = ""
    trouble: str = ""


@protocol("toy")
def toy_work(settings: ToySettings, seed: int) -> pd.DataFrame:
    if settings.diary:
        note = Path(settings.diary) / f"{os.getpid()}.{time.monotonic_ns()}"
        note.write_text(f"{settings.bias} {seed}")
    time.sleep(settings.seconds)
    if settings.trouble:
        return in_trouble(settings, seed)
    return toy_table(settings.bias + 0.01 * np.random.default_rng(seed).standard_normal())


def in_trouble(settings: ToySettings, seed: int) -> pd.DataFrame:
    trouble = settings.trouble
    if trouble == "raises":
        raise RuntimeError("the loan\nofficer left")
    if trouble == "bad input":
        raise UsageError("interest is -1: use 0 or more")
    if trouble == "nan":
        return toy_table(float("nan"))
    if trouble == "is busy":
        end = time.thread_time() + 0.5
        while time.thread_time() < end:
            pass
        return toy_table(0.0)
    if trouble == "not a table":
        return 3  # type: ignore[return-value]  # wrong on purpose
    if trouble == "is slow at first":
        notes = [note.read_text() for note in Path(settings.diary).iterdir()]
        time.sleep(60.0 if notes.count(f"{settings.bias} {seed}") == 1 else 0.0)
    if trouble == "waits while held" and settings.bias > 0.1:
        while Path(settings.diary).with_name("held").exists():
            time.sleep(0.01)
    if trouble == "dies in company":
        while len(list(Path(settings.diary).iterdir())) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    return toy_table(0.0)


def toy_table(bias: float, steps: int = 100) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "phase": ["curve", "curve", "final"],
            "step": [steps // 2, steps, steps],
            "metric": "bias",
            "group": -1,
            "value": [2 * bias, bias, bias],
        }
    )


def provenance_of(run: Run, **changes: object) -> dict[str, object]:
    """What the runner says of a result, as far as the store needs it."""
    key = run_key(run)
    return {
        "key": key.digest,
        "config": json.loads(key.config),
        "seed": run.seed,
        "revisions": dict(key.revisions),
        "versions": dict(key.versions),
        "wall_seconds": 1.5,
        **changes,
    }


def toy_experiment(**settings: object) -> Experiment:
    arms = (
        Arm("fair", "as_coded", ToySettings(bias=0.1, **settings), toy_work, "shares alike"),
        Arm("greedy", "as_coded", ToySettings(bias=0.4, **settings), toy_work),
        Arm("reject-all", "reference", ToySettings(bias=0.2, **settings), toy_work),
    )
    return Experiment(
        id="toy/lending",
        title="Toy lending",
        arms={"smoke": arms, "book": arms},
        seeds={"smoke": 2, "book": 5},
        horizon={"smoke": 100, "book": 100},
    )


def halves() -> CheckResult:
    return CheckResult(1 / 2 == 0.5, {"half": 0.5}, "one divided by two is a half")
