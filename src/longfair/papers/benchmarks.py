"""What `longfair bench` measures: environments and training.

Speeds of the authors' own code stand beside ours. They were measured with the unedited
repositories on a quiet core of a 2-core x86-64 machine, steps per second of CPU time, and scaled
to a core on which a fixed Python loop takes 2.5 ms. On another machine the ratio is a guide, not a
measurement.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from longfair.agents.ppo import FairPPO
from longfair.envs import NAMES, environment_id
from longfair.papers.elbert import bench_cases as elbert_cases
from longfair.papers.fppo import bench_cases as fppo_cases
from longfair.runs import bench

COPIES = (1, 64, 256, 1024)

PUBLISHED_ENVIRONMENT_STEPS = {
    ("Lending", "elbert"): 1045,
    ("Lending", "fppo"): 255,
    ("Attention", "elbert"): 900,
    ("Attention", "elbert_harder"): 544,
    ("Attention", "fppo"): 943,
    ("Epidemic", "elbert"): 946,
    ("Epidemic", "elbert_harder"): 823,
    ("Epidemic", "fppo"): 209,
    ("Doughnut", "deep"): 106_000,
    ("Doughnut", "tabular"): 323_000,
    ("LoanPool", "discrete"): 113_000,
}
"""Steps per second of the authors' environments, by ours and preset."""


TrainingCase = elbert_cases.TrainingCase | fppo_cases.TrainingCase

PUBLISHED_TRAINING_STEPS = (
    elbert_cases.PUBLISHED_STEPS_PER_SECOND | fppo_cases.PUBLISHED_STEPS_PER_SECOND
)
"""Training steps per second of the authors' code, by experiment."""

PUBLISHED_HOURS = elbert_cases.PUBLISHED_HOURS | fppo_cases.PUBLISHED_HOURS
"""Hours of a run of the authors' code, by experiment."""

PROPOSED = ("elbert-po", "f-ppo")
"""The papers' own methods."""


def environment_benchmarks(quick: bool) -> list[dict[str, Any]]:
    """Measure steps per second of every environment: scalar face, then 1 to 1024 copies.

    Parameters
    ----------
    quick
        First preset of every environment only, and fewer windows.

    Returns
    -------
    list of dict
        `environment`, `preset`, `face`, `copies`, `steps_per_second` (of processor time, the best
        of several windows), and `times_published` where the authors' environment was measured.
    """
    windows = 5 if quick else 15
    rows = []
    for name in NAMES:
        for preset in _presets(name)[: 1 if quick else None]:
            published = PUBLISHED_ENVIRONMENT_STEPS.get((name, preset))
            for face, copies in [("scalar", 1), *(("batch", copies) for copies in COPIES)]:
                advance = _stepper(name, preset, face, copies)
                rate = bench.steps_per_second(advance, windows=windows)
                rows.append(
                    {
                        "environment": name,
                        "preset": preset,
                        "face": face,
                        "copies": copies,
                        "steps_per_second": round(rate),
                        "times_published": None
                        if published is None
                        else round(rate / published, 2),
                    }
                )
    return rows


def training_benchmarks(quick: bool) -> list[dict[str, Any]]:
    """Measure training against the machine's matrix-multiply rate, measured in turns with it.

    Parameters
    ----------
    quick
        ELBERT-PO and F-PPO only, and fewer repeats.

    Returns
    -------
    list of dict
        `experiment`, `method`, `settings` (profile), `steps_per_second` (everything included),
        `roofline_fraction` (arithmetic of the updates per second over the machine's
        matrix-multiply rate), `share_of_update` (of the whole time; the rest is collecting,
        advantages and evaluation), `times_published` (training without evaluation), `hours` of a
        whole run, and `times_less_hours` than the authors' own code with their own settings.
        All of processor time, the best of the repeats.
    """
    cases: list[TrainingCase] = [*elbert_cases.cases(), *fppo_cases.cases()]
    with bench.one_torch_thread():
        return [
            _training_row(case, repeats=2 if quick else 5)
            for case in cases
            if not quick or case.method in PROPOSED
        ]


def _presets(name: str) -> tuple[str, ...]:
    env: Any = gymnasium.make_vec(environment_id(name), num_envs=1).unwrapped
    presets: tuple[str, ...] = env.params.PRESETS
    return presets


def _stepper(name: str, preset: str, face: str, copies: int) -> Callable[[], int]:
    """Return a function that makes 64 steps of all copies with actions drawn beforehand."""
    rounds = 64
    if face == "scalar":
        scalar = gymnasium.make(environment_id(name), preset=preset)
        scalar.action_space.seed(0)
        choices = [scalar.action_space.sample() for _ in range(rounds)]
        scalar.reset(seed=0)

        def advance_scalar() -> int:
            for action in choices:
                _, _, terminated, truncated, _ = scalar.step(action)
                if terminated or truncated:
                    scalar.reset()
            return rounds

        return advance_scalar
    batch = gymnasium.make_vec(environment_id(name), num_envs=copies, preset=preset)
    batch.action_space.seed(0)
    actions = [batch.action_space.sample() for _ in range(rounds)]
    batch.reset(seed=0)

    def advance() -> int:
        for action in actions:
            batch.step(action)
        return rounds * copies

    return advance


def _training_row(case: TrainingCase, repeats: int) -> dict[str, Any]:
    model = case.model()
    steps = model.n_steps * model.n_envs
    model.learn(steps)
    # Schedules of massaging go by this number.
    model.num_timesteps += case.rollouts_before * steps
    clock = time.process_time
    rate, collect, update = 0.0, np.inf, np.inf
    for _ in range(repeats):
        rate = max(rate, bench.matrix_multiply_rate((512,), clock=clock))
        before, started = dict(model.seconds), clock()
        model.learn(steps, reset_num_timesteps=False)
        elapsed = clock() - started
        part = model.seconds["update"] - before["update"]
        part /= part + model.seconds["collect"] - before["collect"]
        collect, update = min(collect, elapsed * (1.0 - part)), min(update, elapsed * part)
    training = collect + update
    total = training + case.evaluation_seconds(model)
    hours = case.config.learning.total_steps / steps * total / 3600
    published = PUBLISHED_TRAINING_STEPS[case.experiment]
    return {
        "experiment": case.experiment,
        "method": f"{case.method} {case.variant}",
        "settings": case.profile,
        "steps_per_second": round(steps / total),
        "roofline_fraction": round(update_operations(model) / update / rate, 3),
        "share_of_update": round(update / total, 3),
        "times_published": round(steps / training / published, 1),
        "hours": round(hours, 3),
        "times_less_hours": round(PUBLISHED_HOURS[case.experiment] / hours, 1),
    }


def update_operations(model: FairPPO) -> float:
    """Count the floating-point operations of the matrix products of one update.

    Forward, by the weights and by the inputs, of all layers; the first layer's inputs need no
    gradient.
    """
    networks = model.policy.networks
    trunk, heads = getattr(networks, "trunk_weights", ()), getattr(networks, "heads", networks)
    layers = [*trunk, *heads.weights, heads.policy_weight, heads.value_weight]
    matrices = sum(weight.numel() for weight in layers)
    samples = model.n_steps * model.n_envs * model.n_epochs
    return float(2 * samples * (3 * matrices - layers[0].numel()))
