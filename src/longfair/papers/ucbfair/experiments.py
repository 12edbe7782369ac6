"""What is run for L-UCBFair and R-TD3: worlds, methods, profiles.

Three experiments belong to the paper's figures: Gaussian features with demographic parity and with
equal qualification (Figures 2 and 3), and Adult scores with demographic parity (Figures 1 and 4).
The authors' populations and most of their settings could not be read, so no run has them, and
there is no profile ``paper``. How long they trained is known in part. Their first version says 2000
steps of L-UCBFair, which is read as episodes here. 200,000 steps of R-TD3 are those of a released
script for Adult; another has 500,000, with episodes of 100 steps. For L-UCBFair on Adult nothing is
known. In ``book`` 16 episodes share a policy, and four copies share a gradient step. What
that changes is asked in the experiment ``sweep``, with one episode for each policy and one gradient
step for each step. R-TD3 as coded stands where the released script has it: with Adult scores. TD3
without weight on fairness is the paper's with Adult scores (Figure 4), and ours with Gaussian
features, where both goals ask what the weight adds.

What stands in for the authors' numbers is changed there, in the other sweeps, and in ``worlds``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from longfair.agents.ucbfair.settings import LUCBFairSettings
from longfair.agents.ucbfair.td3_settings import RTD3Settings
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.setting import Evaluating, Setting, Untrained, World, Wrapper
from longfair.papers.ucbfair.learning import BestTD3Learning, TD3Learning, UCBLearning
from longfair.runs.experiment import Arm, Experiment
from longfair.settings import Count, OneOf, validate

HERE = "longfair.papers.ucbfair"

FULL_NAMES = {"dp": "demographic parity", "qr": "qualification"}
"""Short names of disparities, and how `longfair.envs.population.DISPARITIES` calls them."""


@dataclass(frozen=True)
class Judging(Evaluating):
    """Policies are played from the 16 states of the paper, and from a finer grid."""

    final_episodes: Count = 10
    """Episodes from every start; policies without draws give the same each time."""
    episode_length: Count | None = None
    measure: str = f"{HERE}.measures:population"
    notion: Annotated[str, OneOf(*FULL_NAMES)] = "dp"
    """The disparity that is told as such."""

    grid: ClassVar[int] = 16
    """States along a rate, of the finer grid."""

    def shortened(self) -> Judging:
        """Return the same for one step from every start, and from no finer grid."""
        return QuickJudging(
            final_episodes=1, episode_length=1, measure=self.measure, notion=self.notion
        )


@dataclass(frozen=True)
class QuickJudging(Judging):
    """Policies are played from the 16 states of the paper; its grid is no finer."""

    grid: ClassVar[int] = 4


@dataclass(frozen=True)
class Profile:
    """How much is learned and judged."""

    ucb: UCBLearning
    td3: TD3Learning
    gradient_steps: Count
    episode_length: Count | None
    """Steps of an episode; the preset's if None."""
    final_episodes: Count
    """Episodes from every start of the paper."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)


SHORT = 3
"""Steps of an episode where seconds count."""

PROFILES = {
    "book": Profile(UCBLearning(copies=16), TD3Learning(copies=4), 1, None, 10),
    "smoke": Profile(
        UCBLearning(episodes=32, copies=16, size=12, transitions=2_000),
        TD3Learning(400, copies=4),
        1,
        SHORT,
        1,
    ),
}

SEEDS = {"book": 10, "smoke": 2}

TIMED = (Wrapper("elapsed-time"),)
HISTOGRAMS = (Wrapper("longfair.envs.population.histograms:FeatureHistograms"),)


@dataclass(frozen=True)
class Problem:
    """A preset of the population and a disparity."""

    preset: str
    notion: Annotated[str, OneOf(*FULL_NAMES)]
    constant: float
    """A constant threshold, on the scale of the feature, chosen by us with the population known."""
    changes: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def world(self, profile: str, wrappers: tuple[Wrapper, ...] = TIMED) -> World:
        """Return where one acts."""
        changes = dict(self.changes or {})
        if (length := PROFILES[profile].episode_length) is not None:
            changes["episode_length"] = length
        return World("longfair/Population-v0", {"preset": self.preset}, changes, wrappers)

    def episode_length(self) -> int:
        """Return the steps of a whole episode."""
        world = self.world("book")
        length: int = world.environment_class().chosen_params(**world.parameters).episode_length
        return length

    def setting(
        self,
        method: Any,
        learning: Any,
        profile: str,
        wrappers: tuple[Wrapper, ...] = TIMED,
    ) -> Setting:
        """Return settings of a run."""
        episodes = PROFILES[profile].final_episodes
        kind = Judging if profile == "book" else QuickJudging
        judging = kind(final_episodes=episodes, notion=self.notion)
        return Setting(self.world(profile, wrappers), method, learning, judging)

    @property
    def disparity(self) -> str:
        """Name of the disparity in agents' settings."""
        return FULL_NAMES[self.notion].replace(" ", "-")


SYNTHETIC = Problem("synthetic", "dp", 0.3)
SYNTHETIC_QR = Problem("synthetic", "qr", 0.3)
ADULT = Problem("adult", "dp", 0.7)
ADULT_EASIER = Problem("adult_easier", "dp", 0.7)


def references(problem: Problem, profile: str) -> list[Arm]:
    """Return the paper's baselines, random thresholds, a constant, and the optimum."""
    policies: dict[str, tuple[str, dict[str, Any], str]] = {}
    for name in ("myopic", "myopic-fair", "maxmin", "maxmin-fair"):
        told = {"baseline": name, "notion": problem.disparity}
        policies[name] = ("short_sighted", told, "best of 31 x 31 pairs of thresholds now")
        policies[f"{name}-gd"] = (
            "short_sighted",
            {**told, "search": "gd"},
            "gradient descent on the thresholds now",
        )
    if problem.preset.startswith("adult"):
        policies["myopic-fair-61"] = (
            "short_sighted",
            {"baseline": "myopic-fair", "notion": problem.disparity, "knots": 61},
            "best of 61 x 61 pairs of thresholds now",
        )
    policies["random"] = ("random_thresholds", {}, "thresholds drawn anew at every step")
    policies["constant"] = (
        "constant_threshold",
        {"threshold": problem.constant},
        "one threshold for all, always",
    )
    knots = {"rates": 13, "thresholds": 7} if profile == "smoke" else {}
    policies["optimum"] = (
        "planned",
        {"price": 0.0, "disparity": FULL_NAMES[problem.notion], **knots},
        "least loss of all policies, by dynamic programming",
    )
    return [
        Arm(
            name,
            "reference",
            problem.setting(Untrained(f"{HERE}.policies:{function}", told), None, profile),
            train_and_evaluate,
            description,
        )
        for name, (function, told, description) in policies.items()
    ]


UCB_VARIANTS = {
    "calibrated": (LUCBFairSettings.calibrated, "Algorithm 1 with numbers under which it learns"),
    "as_published": (LUCBFairSettings.as_published, "Algorithm 1 with the theorem's numbers"),
}


def ucb_arms(problem: Problem, profile: str) -> list[Arm]:
    """Return L-UCBFair in its variants."""
    learning = PROFILES[profile].ucb
    arms = [
        Arm(
            "l-ucbfair",
            variant,
            problem.setting(preset(notion=problem.disparity), learning, profile),
            train_and_evaluate,
            description,
        )
        for variant, (preset, description) in UCB_VARIANTS.items()
    ]
    learned = arms[0].config
    return [
        *arms,
        Arm(
            "l-ucbfair-learned",
            "calibrated",
            replace(learned, learning=replace(learning, features="learned")),
            train_and_evaluate,
            "Algorithm 1, features learned beforehand from random play",
        ),
    ]


def td3_arms(problem: Problem, profile: str) -> list[Arm]:
    """Return R-TD3, also as coded with Adult scores, and TD3 without weight on fairness."""
    learning, steps = PROFILES[profile].td3, PROFILES[profile].gradient_steps
    shared = {"notion": problem.disparity, "gradient_steps": steps}
    seen = "sees the rates and the time"
    variants = {"as_published": (RTD3Settings.as_published, learning, TIMED, seen)}
    weights = {"r-td3": ("rising", "Equation 6"), "td3": ("none", "no weight on fairness")}
    if problem.preset == "adult":
        best = BestTD3Learning(learning.total_steps, learning.copies)
        seen = "130 numbers without the time, the best policy of training kept"
        variants["as_coded"] = (RTD3Settings.as_coded, best, HISTOGRAMS, seen)
    return [
        Arm(
            name,
            variant,
            problem.setting(preset(weight=weight, **shared), kept, profile, wrappers),
            train_and_evaluate,
            f"{reward}; {seen}",
        )
        for name, (weight, reward) in weights.items()
        for variant, (preset, kept, wrappers, seen) in variants.items()
    ]


def _experiment(identity: str, title: str, problem: Problem) -> Experiment:
    return Experiment(
        id=f"ucbfair/{identity}",
        title=title,
        arms={
            profile: (
                *ucb_arms(problem, profile),
                *td3_arms(problem, profile),
                *references(problem, profile),
            )
            for profile in PROFILES
        },
        seeds=SEEDS,
        horizon=_horizons(200_000),
        authors="",  # neither the populations nor most settings could be read
    )


def _horizons(book: int) -> dict[str, int]:
    """Return the steps that every learner of a profile makes at least."""
    smoke = PROFILES["smoke"]
    return {
        "book": book,
        "smoke": min(smoke.td3.total_steps, smoke.ucb.episodes * SHORT),
    }


# What stands in for the authors' numbers ---------------------------------------------------------


def _worlds(profile: str) -> tuple[Arm, ...]:
    """Change the population: other fitness tables, and the clipping of rates."""
    worlds = {
        "mild": Problem("synthetic_mild", "dp", -0.4),
        "adult-easier": ADULT_EASIER,
        "margin-00001": replace(SYNTHETIC, changes={"rate_margin": 0.00001}),
    }
    arms = []
    for name, problem in worlds.items():
        method = LUCBFairSettings.calibrated(notion=problem.disparity)
        learned = problem.setting(method, PROFILES[profile].ucb, profile)
        arms.append(Arm(f"l-ucbfair-{name}", "one_change", learned, train_and_evaluate, name))
        arms += [
            replace(arm, method=f"{arm.method}-{name}") for arm in references(problem, profile)
        ]
    return tuple(arms)


def _released(profile: str) -> tuple[Arm, ...]:
    """Return the released script: 15 steps, 500 episodes, zero-one loss, no constraint."""
    problem = replace(SYNTHETIC, changes={"episode_length": 15, "true_negative_weight": 1.0})
    small = profile == "smoke"
    learning = UCBLearning(500, features="learned", size=10)
    if small:
        learning = learning.shortened(32, 15)
    arms = [
        Arm(
            "l-ucbfair",
            variant,
            problem.setting(preset(), learning, profile),
            train_and_evaluate,
            description,
        )
        for variant, preset, description in (
            ("as_coded", LUCBFairSettings.as_coded, "the released script's numbers"),
            ("calibrated", LUCBFairSettings.calibrated, "the numbers of the other experiments"),
        )
    ]
    return (*arms, *references(problem, profile))


def change_experiment(
    identity: str, title: str, arms: Callable[[str], tuple[Arm, ...]], steps: int = 200_000
) -> Experiment:
    """Return an experiment that changes something, and its training steps."""
    return Experiment(
        id=f"ucbfair/{identity}",
        title=title,
        arms={profile: arms(profile) for profile in PROFILES},
        seeds=SEEDS,
        horizon=_horizons(steps),
        authors="",
    )


EXPERIMENTS = (
    _experiment(
        "synthetic", "Gaussian features, demographic parity: agents beside the optimum", SYNTHETIC
    ),
    _experiment("synthetic-qr", "Gaussian features, equal qualification rates", SYNTHETIC_QR),
    _experiment("adult", "Adult scores, demographic parity: agents beside the optimum", ADULT),
    change_experiment("worlds", "L-UCBFair in other populations", _worlds),
    change_experiment("released", "L-UCBFair as in the released script", _released, 7_500),
)
