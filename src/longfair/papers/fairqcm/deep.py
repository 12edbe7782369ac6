"""The deep experiments of FairQCM: what is run, and with which settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from longfair.agents.fairqcm.presets import LEARNING, Learning, Switches
from longfair.papers.protocol import train_and_evaluate
from longfair.papers.setting import Evaluating, References, Setting, Untrained, World, Wrapper
from longfair.runs.experiment import Arm, Experiment
from longfair.settings import Count, validate

if TYPE_CHECKING:
    from longfair.papers.protocol import Snapshots
    from longfair.runs.checkpoints import Checkpoint


@dataclass(frozen=True)
class DeepQ:
    """One of the paper's deep agents; what it remembers stands among the world's wrappers."""

    counterfactual: bool = False
    """Whether memories that did not occur are learned from: FairQCM."""
    switches: Switches = field(default_factory=Switches)

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)


@dataclass(frozen=True)
class DeepLearning:
    """How long and with which settings a deep agent learns."""

    settings: Learning
    episodes: Count = 1000
    """Training episodes, each followed by one greedy evaluation episode."""

    def __post_init__(self) -> None:
        """Check the settings."""
        validate(self)

    def train(
        self, setting: Setting, seed: int, run: int, checkpoint: Checkpoint | None
    ) -> Snapshots:
        """Train; see `longfair.papers.fairqcm.deep_training.train`."""
        from longfair.papers.fairqcm.deep_training import train

        return train(setting, seed, run)

    def shortened(self, rollouts: int, episode_length: int) -> DeepLearning:
        """Return the same for one bin of the curve."""
        return replace(self, episodes=10)


@dataclass(frozen=True)
class Sharing(Evaluating):
    """One greedy episode for every training episode, and further ones of the last policy."""

    every: Count = 1
    episodes: Count = 1
    final_episodes: Count = 200
    """Episodes on which the last policy is evaluated once more, beyond what the authors do."""
    episode_length: Count | None = None
    measure: str = "shares"
    counted: tuple[str, ...] = ("welfare",)
    draws: str = "curve first"

    rollouts: ClassVar[int] = 2

    def shortened(self) -> Sharing:
        """Return the same with fewer episodes of the last policy."""
        return replace(self, final_episodes=20)


# Problems ---------------------------------------------------------------------------------------


def episode_length(problem: str) -> int:
    """Return the steps of an episode."""
    return 100 if problem == "doughnuts" else 40


def counted(problem: str) -> tuple[str, ...]:
    """Return what is added up in a problem beside reward, supply and demand."""
    return ("welfare",) if problem == "doughnuts" else ("welfare", "missed_margin")


def world(problem: str, wrappers: tuple[Wrapper, ...] = (), smoothing: float = 1e-4) -> World:
    """Say where one acts and what is seen of it.

    Parameters
    ----------
    problem
        `"doughnuts"`, `"lending"` or `"lending-continuous"`.
    wrappers
        Memory and clock.
    smoothing
        Inside the logarithm of the doughnuts' reward.
    """
    if problem == "doughnuts":
        changes = {"smoothing": smoothing}
        return World("longfair/Doughnut-v0", {"preset": "deep"}, changes, wrappers)
    preset = "continuous" if problem == "lending-continuous" else "discrete"
    return World("longfair/LoanPool-v0", {"preset": preset}, wrappers=wrappers)


_OF_LENDING: References = {
    "random": (Untrained("anybody", {"people": 4}), "lends to anybody at random"),
    "random-present": (
        Untrained("somebody-there", {"people": 4}),
        "lends to one of those who ask, at random",
    ),
    "alternating": (
        Untrained("lagging-group", {"groups": (0, 0, 1, 1)}),
        "lends to the group with fewer loans, there to the best credit",
    ),
}

REFERENCE_POLICIES: Mapping[str, References] = {
    "doughnuts": {
        "oracle": (
            Untrained("least-served-there", {"people": 5}),
            "serves whoever is there and has had least",
        ),
        "rotation": (
            Untrained("rotation", {"people": 5}),
            "lets people take turns, skipping who is not there",
        ),
        "random-present": (
            Untrained("somebody-there", {"people": 5}),
            "serves somebody who is there, at random",
        ),
        "random": (Untrained("anybody", {"people": 5}), "serves anybody at random"),
    },
    "lending": {"oracle": (Untrained("optimal-lender"), "the exact optimum"), **_OF_LENDING},
    "lending-continuous": _OF_LENDING,
}
"""Policies that need no training, by problem and id."""


def reference(problem: str, policy: str, episodes: int = 1000) -> Setting:
    """Return the settings of a policy that needs no training.

    Parameters
    ----------
    problem, policy
        Keys of `REFERENCE_POLICIES`.
    episodes
        Episodes of its curve.
    """
    untrained, _ = REFERENCE_POLICIES[problem][policy]
    evaluating = Sharing(counted=counted(problem))
    return Setting(world(problem), replace(untrained, curve=episodes), None, evaluating)


# Experiments ------------------------------------------------------------------------------------

DESCRIPTIONS = {
    "full": "deep Q-learning that remembers what everybody received",
    "min": "deep Q-learning that remembers by how much everybody is ahead",
    "reset": "deep Q-learning that remembers what everybody received since all were equal",
    "rnn": "recurrent deep Q-learning that sees no memory",
    "fairqcm": "deep Q-learning from real and counterfactual memories",
}

SWITCHES = {"as_coded": Switches.as_coded(), "as_published": Switches.as_published()}

UPDATES_PER_EPISODE = 5
"""Gradient steps per episode of the published recurrent network, which is 256 wide.

The paper does not say how often it learns. One step of gradient descent on whole episodes costs as
much as a hundred of the narrow network's steps in the environment, so it cannot learn at each.
"""

CHOSEN_HERE = ("rnn.as_published",)
"""Arms whose runs have our settings, because of `UPDATES_PER_EPISODE`."""

EPISODES = {"smoke": 20, "book": 1000}
SEEDS = {"smoke": 2, "book": 10}
"""The profile `book` has the paper's full length, so there is no further one."""

MORE_SEEDS = {"smoke": 2, "book": 20}
"""Of the paper's methods and the references; `DEAR` and single changes have `SEEDS`."""

DEAR = ("rnn.as_published",)
"""Arms of which a run takes more than 100 core seconds."""


def config_of(problem: str, method: str, variant: str, profile: str = "book") -> Setting:
    """Return the settings of one of the paper's methods in one variant.

    Parameters
    ----------
    problem
        `"doughnuts"`, `"lending"` or `"lending-continuous"`.
    method
        `"full"`, `"min"`, `"reset"`, `"rnn"` or `"fairqcm"`.
    variant
        `"as_coded"` or `"as_published"`.
    profile
        `"smoke"` plays few episodes and learns from the third of them on; the others are alike.
    """
    switches = SWITCHES[variant]
    learning = LEARNING["doughnuts" if problem == "doughnuts" else "lending"][method]
    if method == "rnn" and switches.recurrent_training == "episodes":
        every = episode_length(problem) // UPDATES_PER_EPISODE
        learning = replace(
            learning, train_every=every, target_every=max(learning.target_every // every, 1)
        )
    if profile == "smoke":
        # Two episodes of real steps, and as many transitions as they bring with imagined ones.
        kept = 2 * episode_length(problem) * (8 if method == "fairqcm" else 1)
        learning = replace(learning, buffer=kept, batch=min(learning.batch, 128))
    memory = {"rnn": "none", "fairqcm": "full"}.get(method, method)
    if method == "fairqcm" and problem != "doughnuts":
        memory = switches.lending_memory
    return Setting(
        world(problem, observed(memory, switches), switches.smoothing),
        DeepQ(method == "fairqcm", switches),
        DeepLearning(learning, EPISODES[profile]),
        Sharing(counted=counted(problem)),
        episode_length(problem),
    )


def observed(memory: str, switches: Switches) -> tuple[Wrapper, ...]:
    """Return what stands between problem and agent.

    Parameters
    ----------
    memory
        `"full"`, `"min"`, `"reset"`, `"no"` for zeros in its place, or `"none"` for the recurrent
        agent.
    switches
        They say whether the time is seen.
    """
    remembered = () if memory == "none" else (Wrapper(f"{memory}-memory"),)
    return (*remembered, Wrapper("elapsed-time")) if switches.time_observed else remembered


def learned_arms(
    problem: str, methods: tuple[str, ...], variants: tuple[str, ...], profile: str
) -> list[Arm]:
    """Return one arm per method and variant of the paper."""
    return [
        Arm(
            method,
            variant,
            config_of(problem, method, variant, profile),
            train_and_evaluate,
            DESCRIPTIONS[method],
        )
        for method in methods
        for variant in variants
    ]


def reference_arms(problem: str, profile: str) -> list[Arm]:
    """Return one arm per policy that needs no training."""
    return [
        Arm(
            name,
            "reference",
            reference(problem, name, EPISODES[profile]),
            train_and_evaluate,
            description,
        )
        for name, (_, description) in REFERENCE_POLICIES[problem].items()
    ]


def changed_arms(problem: str, profile: str) -> list[Arm]:
    """Return methods with one thing changed; the variant names the change.

    They are methods as published, and as coded for the changes in `CHANGES_OF_CODED`.
    """

    def published(method: str) -> Setting:
        return config_of(problem, method, "as_published", profile)

    def learning(config: Setting, **changes: Any) -> Setting:
        settings = replace(config.learning.settings, **changes)
        return replace(config, learning=replace(config.learning, settings=settings))

    def switched(config: Setting, **changes: Any) -> Setting:
        switches = replace(config.method.switches, **changes)
        seen = tuple(w for w in config.world.wrappers if w.name != "elapsed-time")
        if switches.time_observed:
            seen = (*seen, Wrapper("elapsed-time"))
        return replace(
            config,
            world=replace(config.world, wrappers=seen),
            method=replace(config.method, switches=switches),
        )

    def remembering(config: Setting, memory: str) -> Setting:
        wrappers = observed(memory, config.method.switches)
        return replace(config, world=replace(config.world, wrappers=wrappers))

    full, fair = published("full"), published("fairqcm")
    timed = {"terminal_mask": True, "time_observed": True}
    changed = {
        ("full", "large_batch"): learning(
            full, batch=fair.learning.settings.batch, buffer=fair.learning.settings.buffer
        ),
        ("full", "batch_only"): learning(full, batch=fair.learning.settings.batch),
        ("full", "buffer_only"): learning(full, buffer=fair.learning.settings.buffer),
        ("full", "timed"): switched(full, **timed),
        ("full", "memoryless"): remembering(full, "no"),
        ("fairqcm", "small_batch"): learning(fair, batch=full.learning.settings.batch),
        ("fairqcm", "false_update"): switched(fair, always_received=True, gap_before=True),
        ("fairqcm", "timed"): switched(fair, **timed),
    }
    if problem == "doughnuts":
        narrow = switched(published("rnn"), recurrent_width=16)
        every_step = LEARNING[problem]["rnn"].target_every
        changed["rnn", "narrow"] = learning(narrow, train_every=1, target_every=every_step)
        kept = fair.learning.settings.buffer
        rows = kept // full.learning.settings.buffer  # of every real step, most of them imagined
        changed["fairqcm", "long_buffer"] = learning(fair, buffer=rows * kept)
        for method, config in (("full", full), ("fairqcm", fair)):
            changed[method, "clocked"] = switched(config, time_observed=True)
            changed[method, "masked"] = switched(config, terminal_mask=True)
    else:
        coded = {
            method: config_of(problem, method, "as_coded", profile)
            for method in ("full", "min", "fairqcm")
        }
        target_every = 10 * coded["full"].learning.settings.target_every
        batch = fair.learning.settings.batch
        short = switched(coded["fairqcm"], lending_memory="min")
        changed |= {
            ("fairqcm", "full_memory"): remembering(fair, "full"),
            ("min", "batch_only"): learning(published("min"), batch=batch),
            ("min", "coded_batch"): learning(coded["min"], batch=batch),
            ("fairqcm", "min_memory"): remembering(short, "min"),
            ("full", "seldom_copied"): learning(coded["full"], target_every=target_every),
        }
    return [
        Arm(method, variant, config, train_and_evaluate, CHANGES[variant])
        for (method, variant), config in changed.items()
    ]


CHANGES = {
    "large_batch": "with the minibatches and the buffer of FairQCM",
    "batch_only": "with the minibatches of FairQCM",
    "buffer_only": "with the buffer of FairQCM",
    "small_batch": "with the minibatches of Full",
    "long_buffer": "with a buffer that goes as far back as one of its size does for Full",
    "false_update": "with the counterfactuals of the code",
    "timed": "sees the time and expects nothing after the end",
    "clocked": "sees the time, and expects as much after the end as before",
    "masked": "expects nothing after the end, and does not see the time",
    "narrow": "as narrow as in the code, learning at every step",
    "memoryless": "remembers nothing",
    "full_memory": "remembers the loans of both groups",
    "coded_batch": "as coded, with the minibatches of FairQCM",
    "min_memory": "as coded, with the memory of Min",
    "seldom_copied": "as coded, its target network copied a tenth as often",
}
"""Single changes to methods, by variant."""

CHANGES_OF_CODED = ("coded_batch", "min_memory", "seldom_copied")
"""Those of them that are changes to methods as coded; the others are to methods as published."""


def changed_from(variant: str) -> str:
    """Return the variant in which the methods of a key of `CHANGES` are changed."""
    return "as_coded" if variant in CHANGES_OF_CODED else "as_published"


def _run_often(arms: list[Arm], profile: str) -> list[Arm]:
    """Return the same arms, the cheap ones with more seeds."""
    return [arm if arm.name in DEAR else replace(arm, seeds=MORE_SEEDS[profile]) for arm in arms]


def _experiment(
    name: str,
    title: str,
    methods: tuple[str, ...],
    variants: tuple[str, ...],
    *,
    changed: bool,
    authors: str,
) -> Experiment:
    """Return the experiment of a problem: the paper's methods, changes to them, references."""
    return Experiment(
        id=f"fairqcm/{name}",
        title=title,
        arms={
            profile: (
                *_run_often(learned_arms(name, methods, variants, profile), profile),
                *(changed_arms(name, profile) if changed else ()),
                *_run_often(reference_arms(name, profile), profile),
            )
            for profile in EPISODES
        },
        seeds=SEEDS,
        horizon={
            profile: episodes * episode_length(name) for profile, episodes in EPISODES.items()
        },
        authors=authors,
        chosen_here=CHOSEN_HERE if authors and "rnn" in methods else (),
    )


BOTH = ("as_coded", "as_published")

DOUGHNUTS = _experiment(
    "doughnuts",
    "Doughnuts with deep agents: five memories beside policies that need no training",
    ("full", "min", "reset", "rnn", "fairqcm"),
    BOTH,
    changed=True,
    authors="book",
)
LENDING = _experiment(
    "lending",
    "Simulated lending with deep agents: four memories beside policies that need no training",
    ("full", "min", "rnn", "fairqcm"),
    BOTH,
    changed=True,
    authors="book",
)
LENDING_CONTINUOUS = _experiment(
    "lending-continuous",
    "Simulated lending with real-valued credit: three memories",
    ("full", "min", "fairqcm"),
    ("as_published",),
    changed=False,
    authors="",  # there is no code, and the paper does not tell the noise of the scores
)


def _with_profit(arm: Arm) -> Arm:
    """Return the same arm, whose episodes also say what the bank earned."""
    evaluating = replace(arm.config.evaluating, counted=(*counted("lending"), "earned"))
    return replace(arm, config=replace(arm.config, evaluating=evaluating))


LENDING_PROFIT = Experiment(
    id="fairqcm/lending-profit",
    title="Simulated lending once more, with the bank's profit",
    arms={
        profile: tuple(
            _with_profit(arm)
            for arm in (
                *learned_arms("lending", ("full", "min", "rnn", "fairqcm"), BOTH, profile),
                *reference_arms("lending", profile),
            )
        )
        for profile in EPISODES
    },
    seeds={"smoke": 2, "book": 10},
    horizon=LENDING.horizon,
    authors="book",
    chosen_here=CHOSEN_HERE,
)

EXPERIMENTS = (DOUGHNUTS, LENDING, LENDING_CONTINUOUS, LENDING_PROFIT)
