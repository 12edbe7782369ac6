"""Why a run can learn nothing at all: how many units of a network still answer.

A unit with a ReLU that is zero for everything in the replay buffer passes no gradient on, and its
own weights get none, so it stays silent. With one unit left the values of all actions rise and
fall together, and which of them is best hardly depends on what is seen.
"""

from __future__ import annotations

from longfair.agents.fairqcm.networks import relu_trace
from longfair.papers.fairqcm.deep import config_of
from longfair.papers.fairqcm.deep_training import learner
from longfair.papers.page import Runs
from longfair.papers.protocol import two_seeds
from longfair.papers.setting import Setting
from longfair.runs.evidence import REFERENCE
from longfair.runs.rules.rule import listed
from longfair.runs.tidy import of_arm
from longfair.wording import counted

EPISODES = 60
"""After these it shows which units stay silent."""


def answering_units(setting: Setting, run: int, episodes: int) -> int:
    """Train as a stored run was, for the first episodes, and count the units that still answer.

    Parameters
    ----------
    setting
        What to run, of an agent with plain layers: the settings of an arm.
    run
        Number of the run.
    episodes
        Training episodes.

    Returns
    -------
    int
        Units of the last hidden layer that are above zero for anything in the replay buffer.
    """
    training, _ = two_seeds(run)
    agent = learner(setting, run, training % 2**31)
    agent.learn(episodes * (setting.episode_length or 0))
    kept = agent.replay.observations[: agent.replay.filled]
    last = relu_trace(agent.online.layers, kept)[-2]
    return int((last > 0).any(axis=0).sum())


def worse_than_chance(runs: Runs, method: str, variant: str) -> set[int]:
    """Return the runs of an arm that end below every run of acting at random."""
    floor = of_arm(runs.results, "return", "random", REFERENCE).min()
    found = of_arm(runs.results, "return", method, variant)
    return set(found.index[found < floor])


def in_words(runs: Runs, methods: tuple[str, ...], variant: str = "as_published") -> list[str]:
    """Say which runs end below acting at random in all of some methods, and what is silent there.

    Parameters
    ----------
    runs
        Runs of an experiment.
    methods
        Methods that start from the same networks; the units of the first are counted.
    variant
        Their variant.

    Returns
    -------
    list of str
        Sentences.
    """
    first, seeds = methods[0], of_arm(runs.results, "return", methods[0], variant).index
    low = set.intersection(*(worse_than_chance(runs, method, variant) for method in methods))
    if not low:
        return ["No run ends below every run of lending to anybody at random in all of them."]
    setting = config_of("lending", first, variant, runs.profile)
    units = setting.learning.settings.hidden[-1]
    left = {run: answering_units(setting, run, EPISODES) for run in seeds}
    others = [number for run, number in left.items() if run not in low]
    names = listed([runs.look.names[method] for method in methods])
    which = listed([f"run {run}" for run in sorted(low)])
    told = listed([counted(left[run], "unit") for run in sorted(low)])
    beside = f"; in the other runs it is {min(others)} to {max(others)}" if others else ""
    return [
        f"Of {len(seeds)} runs of each method, {which} of {names} end below every run of lending "
        "to anybody at random. The methods start from the same network. Its last hidden layer has "
        f"{units} units, and a unit that is zero for all that was met learns nothing more.",
        f"After {EPISODES} episodes of {runs.look.names[first]}, {told} in {which} can still be "
        f"above zero for anything in the replay buffer{beside}. With a single unit the values of "
        "all actions rise and fall together, so who asks hardly decides who is served.",
    ]
