"""ELBERT's ablations, and those that the paper lacks: one setting varied, all else as coded.

The paper varies alpha and beta. Its code has four habits that the text does not mention or does
not dwell on, and which are varied here: every advantage is standardised on its own, one norm of
the gradient is clipped over all networks together, lending is trained on episodes of 2048
applicants and evaluated on 10,000, and R-PPO subtracts what its formula adds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from longfair.agents.ppo.elbert_po import ElbertPO
from longfair.agents.ppo.r_ppo import RPPO
from longfair.agents.ppo.strategy import Strategy
from longfair.papers.elbert import attention, infectious, lending
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.setting import PPO, Problem, Setting
from longfair.runs.experiment import Arm, Experiment

AS_CODED = "as_coded"
ALPHA_HARDER = attention.ALPHA["elbert_harder"]

Variations = Mapping[str, tuple[Setting, str]]
"""Method to settings and description."""

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


LENDING = replace(
    lending.PROBLEM,
    evaluating={
        profile: replace(evaluating, measure="rates-and-extremes")
        for profile, evaluating in lending.PROBLEM.evaluating.items()
    },
)
"""Lending, reporting the best and the worst served group too."""

_HARDER = attention.HARDER.learning
SHORT_ATTENTION_HARDER = replace(
    attention.HARDER,
    learning={**_HARDER, "book": replace(_HARDER["book"], total_steps=2_000_000)},
)
"""The harder attention environment; under `book` two of the five million steps, for their cost."""

PROBLEMS: Mapping[str, Problem] = {
    "lending": LENDING,
    "attention": attention.ORIGINAL,
    "attention-harder": SHORT_ATTENTION_HARDER,
    "infectious": infectious.ORIGINAL,
    "infectious-harder": infectious.HARDER,
}
"""Settings of the main experiments, by name; fewer steps in harder attention."""


def over_alpha(problem: Problem, alphas: tuple[int, ...], profile: str) -> Variations:
    """Return ELBERT-PO with several weights of the squared bias."""
    return {
        f"elbert-po-alpha-{alpha}": (
            problem.learned(ElbertPO.as_coded(float(alpha)), profile),
            f"ELBERT-PO with alpha {alpha:,}",
        )
        for alpha in alphas
    }


def over_beta(problem: Problem, profile: str) -> Variations:
    """Return ELBERT-PO with several sharpnesses of the soft bias."""
    return {
        f"elbert-po-beta-{beta}": (
            problem.learned(ElbertPO.as_coded(ALPHA_HARDER, float(beta)), profile),
            f"ELBERT-PO with beta {beta}",
        )
        for beta in BETAS_OF_FIGURE_8
    }


def over_details(problem: Problem, elbert_po: ElbertPO, r_ppo: RPPO, profile: str) -> Variations:
    """Return what the code does, with one of its habits changed at a time."""
    main = problem.learned(elbert_po, profile)
    g_ppo = problem.learned(Strategy(train_unused_critics=True), profile)
    return {
        "elbert-po": (
            main,
            "ELBERT-PO as coded: every advantage standardised, one norm for all networks",
        ),
        "elbert-po-combined": (
            replace(main, method=replace(elbert_po, standardise="combined")),
            "ELBERT-PO, raw advantages combined, then standardised once",
        ),
        "elbert-po-raw": (
            replace(main, method=replace(elbert_po, standardise="none")),
            "ELBERT-PO, raw advantages combined, as in Proposition 3.2",
        ),
        "elbert-po-separate": (
            clipped_separately(main),
            "ELBERT-PO, the gradient of every network clipped on its own",
        ),
        "g-ppo": (g_ppo, "G-PPO as coded, training critics it does not use"),
        "g-ppo-separate": (
            clipped_separately(g_ppo),
            "G-PPO, the gradient of every network clipped on its own",
        ),
        "r-ppo": (problem.learned(r_ppo, profile), "R-PPO as coded: the disparity is subtracted"),
        "r-ppo-plus": (
            problem.learned(replace(r_ppo, sign=1), profile),
            "R-PPO with Equation 27 as printed: the disparity is added",
        ),
    }


def clipped_separately(setting: Setting) -> Setting:
    """Return the same with the gradient of every network clipped on its own."""
    return replace(setting, learning=replace(setting.learning, clipping="separate"))


def evaluated_on_training_length(config: Setting) -> Setting:
    """Return the same training, evaluated on episodes as long as those of the training."""
    evaluating = replace(config.evaluating, episode_length=config.episode_length)
    return replace(config, evaluating=evaluating)


def over_episode_length(profile: str) -> Variations:
    """Return lending with training episodes as short as coded, or as long as evaluated.

    As many long episodes make a rollout about five times as long, so that its updates move the
    policy about five times as far. With one long episode a rollout is about as long as coded.
    """
    found: dict[str, tuple[Setting, str]] = {}
    for name, label, strategy in (
        ("g-ppo", "G-PPO", Strategy(train_unused_critics=True)),
        ("elbert-po", "ELBERT-PO", ElbertPO.as_coded(lending.ALPHA)),
    ):
        short = LENDING.learned(strategy, profile)
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
    "book": PPO(8, 256, 4, 1e-4, (64, 64), 1_200_000, annealed=True),
    "smoke": attention.SMOKE,
}
"""Larger rollouts and steps than ELBERT-PO bears in the harder attention environment."""


def with_larger_steps(profile: str) -> Variations:
    """Return methods in the harder attention environment with steps that are too large."""
    strategy = ElbertPO.as_coded(ALPHA_HARDER, attention.BETA)
    elbert_po = replace(attention.HARDER.learned(strategy, profile), learning=LARGER_STEPS[profile])
    return {
        "elbert-po": (elbert_po, "ELBERT-PO as coded"),
        "elbert-po-separate": (
            clipped_separately(elbert_po),
            "ELBERT-PO, the gradient of every network clipped on its own",
        ),
        "g-ppo": (
            replace(elbert_po, method=Strategy(train_unused_critics=True)),
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
    elbert_po = ElbertPO.as_coded(ALPHA_HARDER, attention.BETA)
    config = replace(attention.HARDER.learned(elbert_po, profile), learning=AUTHORS_STEPS[profile])
    combined = replace(config, method=replace(elbert_po, standardise="combined"))
    return {
        "elbert-po": (config, "ELBERT-PO as coded: every advantage standardised"),
        "elbert-po-combined": (combined, "raw advantages combined, then standardised once"),
    }


def experiment(
    name: str,
    title: str,
    variations: Callable[[str], Variations],
    seeds: Mapping[str, int],
    reference: Callable[[str], tuple[Arm, ...]] = lambda profile: (),
    authors_arms: tuple[Arm, ...] = (),
) -> Experiment:
    """Make an experiment out of variations of one method, all as coded.

    Parameters
    ----------
    name, title
        Of the experiment.
    variations
        Settings of the arms under a profile.
    seeds
        Profiles, and the number of seeds of each.
    reference
        Arms of policies that need no training.
    authors_arms
        As for `longfair.runs.experiment.Experiment`.
    """
    by_profile = {profile: variations(profile) for profile in seeds}
    return Experiment(
        id=f"elbert/{name}",
        title=title,
        arms={
            profile: (
                *(
                    Arm(method, AS_CODED, config, train_and_evaluate, description)
                    for method, (config, description) in found.items()
                ),
                *reference(profile),
            )
            for profile, found in by_profile.items()
        },
        seeds=seeds,
        horizon={
            profile: next(iter(found.values()))[0].learning.total_steps
            for profile, found in by_profile.items()
        },
        authors_arms=authors_arms,
    )


SEEDS = {"smoke": 1, "book": 10}
WITH_PAPER = {**SEEDS, "paper": 3}
AS_OFTEN = {**SEEDS, "book": 20}
"""As often as the main experiment, of which these are part."""


def _over_alpha(name: str, alphas: tuple[int, ...], seeds: Mapping[str, int]) -> Experiment:
    return experiment(
        f"alpha-{name}",
        f"ELBERT-PO's weight of the bias, {name.replace('-', ' ')}",
        lambda profile: over_alpha(PROBLEMS[name], alphas, profile),
        seeds,
    )


def lender_on_short_episodes(profile: str) -> tuple[Arm, ...]:
    """Return the lender with the best real thresholds, on episodes as long as those of training."""
    learned = evaluated_on_training_length(LENDING.learned(Strategy(), profile))
    setting = LENDING.untrained(lending.STATIC_OPTIMUM, learned.evaluating)
    description = "the best real thresholds for long episodes, evaluated on short ones"
    return (Arm("static-optimum-short", "reference", setting, train_and_evaluate, description),)


def _over_details(
    name: str,
    elbert_po: ElbertPO,
    r_ppo: RPPO,
    methods: tuple[str, ...] = (),
) -> Experiment:
    """Make an experiment of all details, or of those of some methods."""

    def chosen(profile: str) -> Variations:
        found = over_details(PROBLEMS[name], elbert_po, r_ppo, profile)
        return {method: found[method] for method in methods or found}

    return experiment(
        f"details-{name}",
        f"Habits of the authors' code changed one at a time, {name.replace('-', ' ')}",
        chosen,
        SEEDS,
    )


ABLATIONS = (
    _over_alpha("attention-harder", ALPHAS_OF_FIGURE_5, WITH_PAPER),
    experiment(
        "beta-attention-harder",
        "ELBERT-PO's sharpness of the soft bias, attention harder",
        lambda profile: over_beta(PROBLEMS["attention-harder"], profile),
        WITH_PAPER,
    ),
    *(_over_alpha(name, alphas, AS_OFTEN) for name, alphas in ALPHAS.items()),
    _over_details(
        "lending",
        ElbertPO.as_coded(lending.ALPHA),
        lending.METHODS["r-ppo", AS_CODED][0],
    ),
    _over_details(
        "attention-harder",
        ElbertPO.as_coded(ALPHA_HARDER, attention.BETA),
        attention.methods("elbert_harder")["r-ppo", AS_CODED][0],
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
        ElbertPO.as_coded(infectious.ALPHA["elbert_harder"][AS_CODED]),
        infectious.methods("elbert_harder")["r-ppo", AS_CODED][0],
    ),
    experiment(
        "larger-steps-attention-harder",
        "Steps that are too large, attention harder",
        with_larger_steps,
        SEEDS,
    ),
    experiment(
        "authors-steps-attention-harder",
        "The authors' settings for a million steps, attention harder",
        with_authors_steps,
        SEEDS,
        authors_arms=attention.ATTENTION_HARDER.arms["paper"],
    ),
    experiment(
        "episodes-lending",
        "Training episodes as short as coded or as long as evaluated, lending",
        over_episode_length,
        SEEDS,
        lender_on_short_episodes,
    ),
)
"""Alpha and beta as in the paper, alpha elsewhere, habits of the code, and the size of steps."""
