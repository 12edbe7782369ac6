"""What `longfair bench` measures: environments, training, and the stacked networks.

Speeds of the authors' own code stand beside ours. They were measured with the unedited
repositories on a quiet core of a 2-core x86-64 machine, steps per second of CPU time, and scaled
to a core on which a fixed Python loop takes 2.5 ms. On another machine the ratio is a guide, not a
measurement.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any
from unittest.mock import patch

import gymnasium
import numpy as np
import torch

from longfair.agents.evaluation import acting_snapshots
from longfair.agents.ppo import FairPPO, Strategy
from longfair.agents.ppo import networks as stacking
from longfair.agents.ppo.networks import FlatParameters, StackedActorCritic
from longfair.envs import NAMES, environment_id
from longfair.envs.sb3 import BatchVecEnv
from longfair.envs.wrappers import RunningRates
from longfair.papers.elbert.lending import EVALUATING, LEARNING, METHODS, Learning
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

PUBLISHED_TRAINING_STEPS = {"elbert/lending": 351}
"""Training steps per second of the authors' code, without evaluation."""

TRAINED = (("elbert-po", "as_coded"), ("g-ppo", "as_coded"), ("g-ppo", "as_published"))
"""Methods timed: `g-ppo` as coded trains the fairness critics too, as published it does not."""


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
                        "times_published": None if published is None else round(rate / published),
                    }
                )
    return rows


def training_benchmarks(quick: bool) -> list[dict[str, Any]]:
    """Measure training against the machine's matrix-multiply rate, measured in turns with it.

    Parameters
    ----------
    quick
        Fewer repeats.

    Returns
    -------
    list of dict
        `method`, `environment`, `settings` (profile), `steps_per_second` (everything included),
        `roofline_fraction` (arithmetic of the updates per second over the machine's
        matrix-multiply rate), `share_of_update` (of the whole time; the rest is collecting,
        advantages and evaluation), `times_published` and `hours` for the whole run.
    """
    rows = []
    with bench.one_torch_thread():
        for settings, (method, variant) in itertools.product(("paper", "book"), TRAINED):
            rows.append(_training_row(method, variant, settings, repeats=3 if quick else 7))
    return rows


def network_benchmarks(quick: bool) -> list[dict[str, Any]]:
    """Time a gradient of the stacked networks in one batched product and one at a time.

    Returns
    -------
    list of dict
        `networks` (hidden sizes times number), `minibatch`, microseconds `stacked` and `apart`,
        and which of them `chosen` is by the rule of `longfair.agents.ppo.networks`.
    """
    shapes = {"book": (11, (64, 64), 5), "lending": (11, (256, 128), 5)}
    if not quick:
        shapes |= {"infectious": (102, (512, 256), 5), "attention": (160, (128, 64), 11)}
    rows = []
    with bench.one_torch_thread(), torch.no_grad():
        for name, (inputs, hidden, critics) in shapes.items():
            for minibatch in (64, 4096) if quick else (64, 256, 1024, 4096):
                rows.append(_network_row(name, inputs, hidden, critics, minibatch))
    return rows


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


def _training_row(method: str, variant: str, settings: str, repeats: int) -> dict[str, Any]:
    strategy, _ = METHODS[method, variant]
    model = _lending_model(strategy, LEARNING[settings])
    steps = model.n_steps * model.n_envs
    model.learn(steps)
    rates, collects, updates = [], [], []
    for _ in range(repeats):
        rates.append(bench.matrix_multiply_rate((512,)))
        before = dict(model.seconds)
        model.learn(steps, reset_num_timesteps=False)
        collects.append(model.seconds["collect"] - before["collect"])
        updates.append(model.seconds["update"] - before["update"])
    evaluation = _evaluation_seconds(model, settings)
    total = median(collects) + median(updates) + evaluation
    published = PUBLISHED_TRAINING_STEPS["elbert/lending"]
    return {
        "method": f"{method} {variant}",
        "environment": "Lending",
        "settings": settings,
        "steps_per_second": round(steps / total),
        "roofline_fraction": round(update_operations(model) / median(updates) / median(rates), 3),
        "share_of_update": round(median(updates) / total, 3),
        "times_published": round(steps / (total - evaluation) / published, 1),
        "hours": round(LEARNING[settings].total_steps / steps * total / 3600, 3),
    }


def _lending_model(strategy: Strategy, learning: Learning) -> FairPPO:
    env = gymnasium.make_vec(environment_id("Lending"), num_envs=learning.copies)
    return FairPPO(
        "FairMlpPolicy",
        BatchVecEnv(RunningRates(env)),
        strategy,
        learning.hidden,
        n_steps=2048,
        batch_size=learning.minibatch,
        n_epochs=learning.epochs,
        learning_rate=learning.learning_rate,
        seed=0,
    )


def update_operations(model: FairPPO) -> float:
    """Count the floating-point operations of the matrix products of one update.

    Forward, by the weights and by the inputs, of all layers; the first layer's inputs need no
    gradient.
    """
    networks = model.policy.networks
    weights = [weight for weight in networks.parameters() if weight.dim() > 1]
    matrices = sum(weight.numel() for weight in weights) - sum(b.numel() for b in networks.biases)
    matrices -= networks.value_bias.numel()
    first = networks.weights[0].numel()
    samples = model.n_steps * model.n_envs * model.n_epochs
    return float(2 * samples * (3 * matrices - first))


def _evaluation_seconds(model: FairPPO, settings: str) -> float:
    """Return the evaluation's time per rollout, all snapshots evaluated side by side."""
    evaluating, learning = EVALUATING[settings], LEARNING[settings]
    rollouts = learning.total_steps // (model.n_steps * model.n_envs)
    snapshots = [model.policy.actor()] * (rollouts // evaluating.every)
    rng = np.random.default_rng(0)
    act = acting_snapshots(snapshots, evaluating.episodes, model.action_space, rng)
    env = gymnasium.make_vec(
        environment_id("Lending"), num_envs=len(snapshots) * evaluating.episodes
    )
    observation, info = env.reset(seed=0)
    padded = np.concatenate([observation, np.zeros((env.num_envs, 2), np.float32)], axis=1)
    steps = 100
    started = time.perf_counter()
    for _ in range(steps):
        env.step(act(padded, info))
    per_step = (time.perf_counter() - started) / steps
    return per_step * evaluating.episode_length / rollouts


def _network_row(
    name: str, inputs: int, hidden: tuple[int, ...], critics: int, minibatch: int
) -> dict[str, Any]:
    networks = StackedActorCritic(inputs, hidden, 2, critics)
    FlatParameters(networks)
    batch = torch.randn(minibatch, inputs)
    by_outputs, by_values = torch.randn(minibatch, 2), torch.randn(minibatch, critics)
    calls = max(2, 4096 // minibatch)

    def gradients(limit: int) -> None:
        with patch.object(stacking, "STACKED_LIMIT", limit):
            for _ in range(calls):
                trace = networks.trace(batch)
                networks.outputs(trace)
                networks.backward(trace, by_outputs, by_values)

    timings = bench.interleaved(
        {"stacked": partial(gradients, 2**62), "apart": partial(gradients, 0)}, repeats=9
    )
    microseconds = {key: timing.median / calls * 1e6 for key, timing in timings.items()}
    return {
        "networks": f"{name}: {1 + critics} of {'-'.join(map(str, hidden))}",
        "minibatch": minibatch,
        **{key: round(value) for key, value in microseconds.items()},
        "chosen": "stacked" if len(networks.trace(batch)) == 1 else "apart",
    }
