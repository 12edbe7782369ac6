"""FairQCM's tabular doughnuts: what is run, and with which settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from longfair.agents.fairqcm.presets import QLearningSettings
from longfair.envs.doughnut import DoughnutParams
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.setting import Evaluating, References, Setting, Untrained, World
from longfair.runs.experiment import Arm, Experiment
from longfair.settings import Count, Length, validate

if TYPE_CHECKING:
    from longfair.papers.protocol import Snapshots
    from longfair.runs.checkpoints import Checkpoint

# Learning curves --------------------------------------------------------------------------------


@dataclass(frozen=True)
class EvaluatedLearning:
    """How long a table is learned, with one greedy episode after every training episode."""

    episodes: Count = 100_000

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def train(
        self, setting: Setting, seed: int, run: int, checkpoint: Checkpoint | None
    ) -> Snapshots:
        """Train; see `longfair.papers.fairqcm.tabular_training.train_evaluated`."""
        from longfair.papers.fairqcm.tabular_training import train_evaluated

        return train_evaluated(setting, seed, run)

    def shortened(self, rollouts: int, episode_length: int) -> EvaluatedLearning:
        """Return the same for a few episodes."""
        return replace(self, episodes=400)


@dataclass(frozen=True)
class GreedyEpisodes(Evaluating):
    """The greedy episodes that were played while a table was learned."""

    episode_length: Count | None = None
    measure: str = "greedy-episodes"
    bin_episodes: Count = 1000
    """Evaluation episodes that one point of the learning curve is the mean of."""

    def shortened(self) -> GreedyEpisodes:
        """Return the same for a few episodes."""
        return replace(self, bin_episodes=100)


@dataclass(frozen=True)
class ReferenceEpisodes(Evaluating):
    """Episodes of a policy that learns nothing, played all at once."""

    final_episodes: Count = 10_000
    episode_length: Count | None = None
    measure: str = "reference-episodes"

    def shortened(self) -> ReferenceEpisodes:
        """Return the same for a few episodes."""
        return replace(self, final_episodes=200)


def world(smoothing: float) -> World:
    """Return the paper's problem of 3 people and 12 doughnuts.

    Parameters
    ----------
    smoothing
        Inside the logarithm of the reward, see `DoughnutParams`.
    """
    return World("longfair/Doughnut-v0", {"preset": "tabular"}, {"smoothing": smoothing})


def learned(
    settings: QLearningSettings,
    smoothing: float,
    episodes: int = 100_000,
    bin_episodes: int = 1000,
) -> Setting:
    """Return the settings of one tabular agent on the paper's problem.

    Parameters
    ----------
    settings
        What the agent remembers, imagines, and how it learns.
    smoothing
        Inside the logarithm of the reward.
    episodes
        Training episodes.
    bin_episodes
        Evaluation episodes that one point of the learning curve is the mean of.
    """
    learning, evaluating = EvaluatedLearning(episodes), GreedyEpisodes(bin_episodes=bin_episodes)
    return Setting(world(smoothing), settings, learning, evaluating)


def reference(policy: str, episodes: int = 10_000) -> Setting:
    """Return the settings of a key of `REFERENCE_POLICIES`, on the paper's problem as coded.

    Its curve would be flat, so it has final values only.
    """
    untrained, _ = REFERENCE_POLICIES[policy]
    evaluating = ReferenceEpisodes(final_episodes=episodes)
    return Setting(world(SMOOTHING["as_coded"]), untrained, None, evaluating)


# Convergence to the exact action values ---------------------------------------------------------

SMALL = World(
    "longfair/Doughnut-v0",
    {"preset": "tabular"},
    {"presence_probability": (0.8, 0.8), "episode_length": 4, "smoothing": 0.0},
)
"""A problem of 2 people and 4 doughnuts, whose exact action values are known."""

CHECKPOINTS = {
    "book": (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    "smoke": (100, 300, 1_000),
}


@dataclass(frozen=True)
class CheckedLearning:
    """How long a table is learned, and when a copy of it is kept."""

    checkpoints: Annotated[tuple[Count, ...], Length(1)] = CHECKPOINTS["book"]
    """Training episodes after which the table is compared, in rising order."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def train(
        self, setting: Setting, seed: int, run: int, checkpoint: Checkpoint | None
    ) -> Snapshots:
        """Train; see `longfair.papers.fairqcm.tabular_training.train_checked`."""
        from longfair.papers.fairqcm.tabular_training import train_checked

        return train_checked(setting, seed)

    def shortened(self, rollouts: int, episode_length: int) -> CheckedLearning:
        """Return the same up to the second comparison."""
        return replace(self, checkpoints=self.checkpoints[:2])


@dataclass(frozen=True)
class Distances(Evaluating):
    """Every table that was kept is compared with the exact action values."""

    episode_length: Count | None = None
    measure: str = "distances-to-exact"

    def shortened(self) -> Distances:
        """Return the same: nothing is played."""
        return self


def converging(
    settings: QLearningSettings, checkpoints: tuple[int, ...] = CHECKPOINTS["book"]
) -> Setting:
    """Return the settings of one agent on the small problem.

    Parameters
    ----------
    settings
        What the agent remembers, imagines, and how it learns.
    checkpoints
        Training episodes after which its table is compared, in rising order.
    """
    return Setting(SMALL, settings, CheckedLearning(checkpoints), Distances())


# What is run ------------------------------------------------------------------------------------

SMOOTHING = {"as_coded": 1e-4, "as_published": 0.0}
"""Inside the logarithm of the reward, in the authors' code and in the paper."""

FULL = QLearningSettings()
FAIRQCM = QLearningSettings(imagine=True)
PUBLISHED: dict[str, tuple[QLearningSettings, str]] = {
    "full": (FULL, "remembers what everybody has had"),
    "min": (QLearningSettings(memory="min"), "remembers by how much everybody is ahead"),
    "reset": (QLearningSettings(memory="reset"), "remembers since all had last had the same"),
    "fairqcm": (FAIRQCM, "as Full, and learns from imagined memories too"),
}
"""The paper's tabular agents."""

CODED = FAIRQCM.as_coded()
CHANGES: dict[tuple[str, str], tuple[QLearningSettings, float, str]] = {
    ("fairqcm", "true_update"): (
        replace(CODED, waste_counts=False),
        SMOOTHING["as_coded"],
        "as coded, but a wasted doughnut is counted by nobody",
    ),
    ("fairqcm", "without_real"): (
        replace(CODED, imagine_real=False),
        SMOOTHING["as_coded"],
        "as coded, but the real memory is not imagined once more",
    ),
    ("fairqcm", "decay_every_visit"): (
        replace(CODED, decay_at_every_visit=True),
        SMOOTHING["as_coded"],
        "as coded, but exploration decays at every visit",
    ),
    ("fairqcm", "without_smoothing"): (
        CODED,
        SMOOTHING["as_published"],
        "as coded, but without smoothing in the reward",
    ),
    ("fairqcm", "end_masked"): (
        replace(FAIRQCM, stop_at_end=True),
        SMOOTHING["as_published"],
        "as published, and the last step of an episode learns its reward alone",
    ),
    ("fairqcm", "with_time"): (
        replace(FAIRQCM, time=True),
        SMOOTHING["as_published"],
        "as published, and the memory holds how many doughnuts were handed out",
    ),
    ("fairqcm", "coded_with_time"): (
        replace(CODED, time=True),
        SMOOTHING["as_coded"],
        "as coded, and the memory holds how many doughnuts were handed out",
    ),
    ("full", "with_time"): (
        replace(FULL, time=True),
        SMOOTHING["as_published"],
        "as published, and the memory holds how many doughnuts were handed out",
    ),
    ("full", "repeated"): (
        replace(FULL.as_coded(), repeats=9),
        SMOOTHING["as_coded"],
        "as coded, but learns every step nine times, so as often as FairQCM",
    ),
}
"""One thing changed at a time, to see what it does; neither the paper's nor the code's."""

REFERENCE_POLICIES: References = {
    "oracle": (
        Untrained("least-served-there", {"people": 3}),
        "serves whoever is there and has had least",
    ),
    "rotation": (
        Untrained("rotation", {"people": 3}),
        "takes turns and skips whoever is not there",
    ),
    "random-present": (
        Untrained("somebody-there", {"people": 3}),
        "serves anybody who is there",
    ),
    "random": (Untrained("anybody", {"people": 3}), "chooses anybody, there or not"),
}
"""Policies that learn nothing; the paper draws the first and the last."""

SIZES = {"book": (100_000, 1000, 10_000), "smoke": (2_000, 50, 500)}
"""Training episodes, episodes per point of the curve, and episodes of reference policies.

There is no profile `paper`: the code trains for 50,000 episodes and the paper for 100,000 steps,
and both are the beginning of a run of the profile `book`, which is why it counts as theirs.
"""


def _arms(profile: str) -> tuple[Arm, ...]:
    episodes, bin_episodes, reference_episodes = SIZES[profile]
    learners = {
        (method, variant): (
            settings.as_coded() if variant == "as_coded" else settings,
            SMOOTHING[variant],
            description,
        )
        for variant in SMOOTHING
        for method, (settings, description) in PUBLISHED.items()
    } | CHANGES
    return (
        *(
            Arm(
                method,
                variant,
                learned(settings, smoothing, episodes, bin_episodes),
                train_and_evaluate,
                description,
            )
            for (method, variant), (settings, smoothing, description) in learners.items()
        ),
        *(
            Arm(
                policy,
                "reference",
                reference(policy, reference_episodes),
                train_and_evaluate,
                description,
            )
            for policy, (_, description) in REFERENCE_POLICIES.items()
        ),
    )


TABULAR = Experiment(
    id="fairqcm/tabular",
    title="Doughnuts for three people, with tables of action values",
    arms={profile: _arms(profile) for profile in SIZES},
    seeds={"smoke": 2, "book": 30},
    horizon={
        profile: episodes * DoughnutParams.tabular().episode_length
        for profile, (episodes, _, _) in SIZES.items()
    },
    authors="book",
)

PREMISES = replace(FAIRQCM, time=True, step_size=0.9, step_size_decay=0.75)
"""What Theorem 5.7 asks for: true updates of the memory, steps c / n^0.75 below 1, and a reward
and an end of the episode that state and memory tell."""

CONVERGENCE_ARMS: dict[tuple[str, str], tuple[QLearningSettings, str]] = {
    ("fairqcm", "as_published"): (PREMISES, "all premises of the theorem"),
    ("full", "as_published"): (
        replace(PREMISES, imagine=False),
        "the same without imagined memories",
    ),
    ("fairqcm", "constant_step"): (
        replace(PREMISES, step_size=0.1, step_size_decay=0.0),
        "the authors' constant step size",
    ),
    ("fairqcm", "coded_update"): (
        replace(PREMISES, waste_counts=True),
        "imagined memories count wasted doughnuts, as coded",
    ),
    ("fairqcm", "without_time"): (
        replace(PREMISES, time=False, stop_at_end=True),
        "the end of the episode is not to be seen",
    ),
}
"""The premises of the theorem, and one premise broken at a time."""

CONVERGENCE = Experiment(
    id="fairqcm/convergence",
    title="Tables of action values against the exact ones: 2 people, 4 doughnuts",
    arms={
        profile: tuple(
            Arm(
                method,
                variant,
                converging(settings, checkpoints),
                train_and_evaluate,
                description,
            )
            for (method, variant), (settings, description) in CONVERGENCE_ARMS.items()
        )
        for profile, checkpoints in CHECKPOINTS.items()
    },
    seeds={"smoke": 2, "book": 10},
    horizon={
        profile: checkpoints[-1] * SMALL.changes["episode_length"]
        for profile, checkpoints in CHECKPOINTS.items()
    },
)

EXPERIMENTS = (TABULAR, CONVERGENCE)
