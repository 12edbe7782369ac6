"""ELBERT's ablations, and those that the paper lacks: one setting varied, all else as coded.

The paper varies alpha and beta. Its code has four habits that the text does not mention or does
not dwell on, and which are varied here: every advantage is standardised on its own, one norm of
the gradient is clipped over all networks together, lending is trained on episodes of 2048
applicants and evaluated on 10,000, and R-PPO subtracts what its formula adds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.r_ppo import RPPO
from longfair.agents.ppo.strategy import Strategy
from longfair.papers.elbert import attention, infectious, lending, lending_world
from longfair.papers.elbert.training import Learning, ReferenceConfig, TrainedConfig
from longfair.runs.experiment import Arm, Experiment, Work

AS_CODED = "as_coded"

Settings = Callable[[str, Strategy], TrainedConfig]
"""Makes the settings of a run from the profile and the method."""

Variations = Mapping[str, tuple[Any, str]]
"""Method to settings, with a `TrainedConfig` in them, and description."""

ALPHAS_OF_FIGURE_5 = (50, 200, 1000, 5000, 20_000)
BETAS_OF_FIGURE_8 = (1, 20, 100)

ALPHAS = {
    "lending": (20_000, 200_000, 2_000_000),
    "infectious": (2, 20, 200),
    "infectious-harder": (5, 50, 500),
    "attention": (5, 50, 500),
}
"""The paper's Figure 7 varies alpha here too, but neither text nor code gives the values.

These are the value of the main experiment, a tenth and ten times of it.
"""


def lending_settings(profile: str, strategy: Strategy) -> TrainedConfig:
    """Return the settings of the lending experiment."""
    main = lending.LEARNING[profile]
    learning = Learning(
        main.copies,
        main.minibatch,
        main.epochs,
        main.learning_rate,
        main.hidden,
        main.total_steps,
    )
    return TrainedConfig(
        "elbert", strategy, learning, lending.EVALUATING[profile], lending.EPISODE_LENGTH[profile]
    )


_HARDER = attention.HARDER.learning
SHORT_ATTENTION_HARDER = replace(
    attention.HARDER,
    learning={**_HARDER, "book": replace(_HARDER["book"], total_steps=2_000_000)},
)
"""The harder attention environment; under `book` two of the five million steps, for their cost."""

PROBLEMS: Mapping[str, tuple[Settings, Work]] = {
    "lending": (lending_settings, lending_world.train_and_evaluate),
    "attention": (
        partial(attention.trained, attention.ORIGINAL),
        attention.train_and_evaluate,
    ),
    "attention-harder": (
        partial(attention.trained, SHORT_ATTENTION_HARDER),
        attention.train_and_evaluate,
    ),
    "infectious": (
        partial(infectious.trained, infectious.ORIGINAL),
        infectious.train_and_evaluate,
    ),
    "infectious-harder": (
        partial(infectious.trained, infectious.HARDER),
        infectious.train_and_evaluate,
    ),
}
"""Settings and work of the main experiments, by name; fewer steps in harder attention."""


def over_alpha(settings: Settings, alphas: tuple[int, ...], profile: str) -> Variations:
    """Return ELBERT-PO with several weights of the squared bias."""
    return {
        f"elbert-po-alpha-{alpha}": (
            settings(profile, ElbertPO.as_coded(float(alpha))),
            f"ELBERT-PO with alpha {alpha:,}",
        )
        for alpha in alphas
    }


def over_beta(settings: Settings, profile: str) -> Variations:
    """Return ELBERT-PO with several sharpnesses of the soft bias."""
    return {
        f"elbert-po-beta-{beta}": (
            settings(profile, ElbertPO.as_coded(attention.HARDER.alpha, float(beta))),
            f"ELBERT-PO with beta {beta}",
        )
        for beta in BETAS_OF_FIGURE_8
    }


def over_details(settings: Settings, elbert_po: ElbertPO, r_ppo: RPPO, profile: str) -> Variations:
    """Return what the code does, with one of its habits changed at a time."""
    main = settings(profile, elbert_po)
    g_ppo = settings(profile, Strategy(train_unused_critics=True))
    return {
        "elbert-po": (
            main,
            "ELBERT-PO as coded: every advantage standardised, one norm for all networks",
        ),
        "elbert-po-combined": (
            replace(main, strategy=replace(elbert_po, standardise="combined")),
            "ELBERT-PO, raw advantages combined, then standardised once",
        ),
        "elbert-po-raw": (
            replace(main, strategy=replace(elbert_po, standardise="none")),
            "ELBERT-PO, raw advantages combined, as in Proposition 3.2",
        ),
        "elbert-po-separate": (
            replace(main, clipping="separate"),
            "ELBERT-PO, the gradient of every network clipped on its own",
        ),
        "g-ppo": (g_ppo, "G-PPO as coded, training critics it does not use"),
        "g-ppo-separate": (
            replace(g_ppo, clipping="separate"),
            "G-PPO, the gradient of every network clipped on its own",
        ),
        "r-ppo": (settings(profile, r_ppo), "R-PPO as coded: the disparity is subtracted"),
        "r-ppo-plus": (
            settings(profile, replace(r_ppo, sign=1)),
            "R-PPO with Equation 27 as printed: the disparity is added",
        ),
    }


def evaluated_on_training_length(config: TrainedConfig) -> TrainedConfig:
    """Return the same training, evaluated on episodes as long as those of the training."""
    evaluating = replace(config.evaluating, episode_length=config.episode_length)
    return replace(config, evaluating=evaluating)


def over_episode_length(profile: str) -> Variations:
    """Return lending with training episodes as short as coded, or as long as evaluated.

    As many long episodes make a rollout about five times as long, so that its updates move the
    policy about five times as far. With one long episode a rollout is about as long as coded.
    """
    found: dict[str, tuple[TrainedConfig, str]] = {}
    for name, label, strategy in (
        ("g-ppo", "G-PPO", Strategy(train_unused_critics=True)),
        ("elbert-po", "ELBERT-PO", ElbertPO.as_coded(lending.ALPHA)),
    ):
        short = lending_settings(profile, strategy)
        long = replace(short, episode_length=short.evaluating.episode_length)
        one = replace(long, learning=replace(long.learning, copies=1))
        found |= {
            f"{name}-short-short": (
                evaluated_on_training_length(short),
                f"{label}, trained and evaluated on short episodes",
            ),
            f"{name}-short-long": (
                short,
                f"{label} as coded: trained on short, evaluated on long episodes",
            ),
            f"{name}-long-long": (long, f"{label}, trained and evaluated on long episodes"),
            f"{name}-long-long-one": (one, f"{label}, the same with one episode per rollout"),
        }
    return found


LARGER_STEPS = {
    "book": Learning(8, 256, 4, 1e-4, (64, 64), 1_200_000, annealed=True),
    "smoke": attention.SMOKE,
}
"""Larger rollouts and steps than ELBERT-PO bears in the harder attention environment."""


def with_larger_steps(profile: str) -> Variations:
    """Return methods in the harder attention environment with steps that are too large."""
    problem = attention.HARDER
    elbert_po = replace(
        attention.trained(problem, profile, ElbertPO.as_coded(problem.alpha, attention.BETA)),
        learning=LARGER_STEPS[profile],
    )
    return {
        "elbert-po": (elbert_po, "ELBERT-PO as coded"),
        "elbert-po-separate": (
            replace(elbert_po, clipping="separate"),
            "ELBERT-PO, the gradient of every network clipped on its own",
        ),
        "g-ppo": (
            replace(elbert_po, strategy=Strategy(train_unused_critics=True)),
            "G-PPO as coded",
        ),
    }


AUTHORS_STEPS = {
    "book": replace(_HARDER["paper"], total_steps=1_000_000),
    "smoke": attention.SMOKE,
}
"""The authors' settings in the harder attention environment, for a fifth of their steps."""


def with_authors_steps(profile: str) -> Variations:
    """Return ELBERT-PO in the harder attention environment, at the start of the authors' runs."""
    problem = attention.HARDER
    elbert_po = ElbertPO.as_coded(problem.alpha, attention.BETA)
    config = replace(
        attention.trained(problem, profile, elbert_po), learning=AUTHORS_STEPS[profile]
    )
    combined = replace(config, strategy=replace(elbert_po, standardise="combined"))
    return {
        "elbert-po": (config, "ELBERT-PO as coded: every advantage standardised"),
        "elbert-po-combined": (combined, "raw advantages combined, then standardised once"),
    }


def experiment(
    name: str,
    title: str,
    work: Work,
    variations: Callable[[str], Variations],
    seeds: Mapping[str, int],
    reference: Callable[[str], tuple[Arm, ...]] = lambda profile: (),
) -> Experiment:
    """Make an experiment out of variations of one method, all as coded.

    Parameters
    ----------
    name, title
        Of the experiment.
    work
        What runs one arm.
    variations
        Settings of the arms under a profile.
    seeds
        Profiles, and the number of seeds of each.
    reference
        Arms of policies that need no training.
    """
    by_profile = {profile: variations(profile) for profile in seeds}
    return Experiment(
        id=f"elbert/{name}",
        title=title,
        arms={
            profile: (
                *(
                    Arm(method, AS_CODED, config, work, description)
                    for method, (config, description) in found.items()
                ),
                *reference(profile),
            )
            for profile, found in by_profile.items()
        },
        seeds=seeds,
        horizon={
            profile: _training(next(iter(found.values()))[0]).learning.total_steps
            for profile, found in by_profile.items()
        },
    )


def _training(config: Any) -> TrainedConfig:
    """Return the settings of training, which may be part of larger settings."""
    found = config if isinstance(config, TrainedConfig) else config.training
    assert isinstance(found, TrainedConfig)
    return found


SEEDS = {"smoke": 1, "book": 10}
WITH_PAPER = {**SEEDS, "paper": 3}


def _over_alpha(name: str, alphas: tuple[int, ...], seeds: Mapping[str, int]) -> Experiment:
    settings, work = PROBLEMS[name]
    return experiment(
        f"alpha-{name}",
        f"ELBERT-PO's weight of the bias, {name.replace('-', ' ')}",
        work,
        lambda profile: over_alpha(settings, alphas, profile),
        seeds,
    )


def lending_static_optimum(profile: str) -> tuple[Arm, ...]:
    """Return the lender whose two thresholds a search has found."""
    arm = Arm(
        "static-optimum",
        "reference",
        ReferenceConfig("elbert", "static-optimum", lending.EVALUATING[profile]),
        lending_world.evaluate_static_optimum,
        "accepts from a real score on, one per group, the best ones for ELBERT's objective",
    )
    return (arm,)


def _over_details(
    name: str,
    elbert_po: ElbertPO,
    r_ppo: Strategy,
    reference: Callable[[str], tuple[Arm, ...]] = lambda profile: (),
    methods: tuple[str, ...] = (),
) -> Experiment:
    """Make an experiment of all details, or of those of some methods."""
    settings, work = PROBLEMS[name]
    assert isinstance(r_ppo, RPPO)

    def chosen(profile: str) -> Variations:
        found = over_details(settings, elbert_po, r_ppo, profile)
        return {method: found[method] for method in methods or found}

    return experiment(
        f"details-{name}",
        f"Habits of the authors' code changed one at a time, {name.replace('-', ' ')}",
        work,
        chosen,
        SEEDS,
        reference,
    )


ABLATIONS = (
    _over_alpha("attention-harder", ALPHAS_OF_FIGURE_5, WITH_PAPER),
    experiment(
        "beta-attention-harder",
        "ELBERT-PO's sharpness of the soft bias, attention harder",
        attention.train_and_evaluate,
        lambda profile: over_beta(PROBLEMS["attention-harder"][0], profile),
        WITH_PAPER,
    ),
    *(_over_alpha(name, alphas, SEEDS) for name, alphas in ALPHAS.items()),
    _over_details(
        "lending",
        ElbertPO.as_coded(lending.ALPHA),
        lending.METHODS["r-ppo", AS_CODED][0],
        lending_static_optimum,
    ),
    _over_details(
        "attention-harder",
        ElbertPO.as_coded(attention.HARDER.alpha, attention.BETA),
        attention.methods(attention.HARDER.alpha, attention.HARDER.penalty)["r-ppo", AS_CODED][0],
        # A run takes long: the clipping, as the critics' gradients are largest here, and the form
        # that differs from the published one in its plain totals alone.
        methods=(
            "elbert-po",
            "elbert-po-combined",
            "elbert-po-separate",
            "g-ppo",
            "g-ppo-separate",
        ),
    ),
    _over_details(
        "infectious-harder",
        ElbertPO.as_coded(infectious.HARDER.alpha[AS_CODED]),
        infectious.methods(infectious.HARDER.alpha)["r-ppo", AS_CODED][0],
    ),
    experiment(
        "larger-steps-attention-harder",
        "Steps that are too large, attention harder",
        attention.train_and_evaluate,
        with_larger_steps,
        SEEDS,
    ),
    experiment(
        "authors-steps-attention-harder",
        "The authors' settings for a million steps, attention harder",
        attention.train_and_evaluate,
        with_authors_steps,
        SEEDS,
    ),
    experiment(
        "episodes-lending",
        "Training episodes as short as coded or as long as evaluated, lending",
        lending_world.train_and_evaluate,
        over_episode_length,
        SEEDS,
    ),
)
"""Alpha and beta as in the paper, alpha elsewhere, habits of the code, and the size of steps."""
