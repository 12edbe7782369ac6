"""What happens in each environment under two contrasting policies, as tidy tables.

An environment's picture is a function of this module that takes no arguments and returns a
`Picture`, listed in `PICTURES`. Everything is averaged over copies, so that the pictures show what
a policy does and not what one throw of the dice did. What is followed is `group_state`, the part
of an environment's `info` that describes each group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
from gymnasium.vector import VectorEnv

from longfair.agents.evaluation import Act, acting
from longfair.agents.policies import (
    EqualLogits,
    FixedPriority,
    LaggingGroupBestCredit,
    ProportionalToRates,
    Rotation,
    VaccinateHighestDegree,
    VaccinateNobody,
    threshold_policy,
)
from longfair.arrays import FloatArray
from longfair.envs import environment_id
from longfair.envs.epidemic import EpidemicParams
from longfair.envs.loan_mdp import LoanMDPParams, LoanModel
from longfair.envs.loan_pool import LoanPoolParams
from longfair.envs.population import PopulationParams

SEED = 0
MOMENTS = 100
"""A picture shows at most about this many moments of an episode."""


@dataclass(frozen=True)
class Picture:
    """One environment under two policies.

    Attributes
    ----------
    frame
        Columns policy, group, step, value, and part where every group has a distribution over
        parts. `policy`, `group` and `part` are names in the order in which they are to be shown.
    across, up
        What `step` and `value` are, with units.
    caption
        What to look at, in one or two sentences.
    setting
        What was simulated, in one sentence.
    ranked
        Whether the parts have an order, as scores have and states of health have not.
    """

    frame: pd.DataFrame
    across: str
    up: str
    caption: str
    setting: str
    ranked: bool = False


def follow(env: VectorEnv[Any, Any, Any], act: Act, steps: int) -> tuple[list[int], FloatArray]:
    """Follow a policy in all copies and average the groups' states over copies.

    Parameters
    ----------
    env
        A batch environment whose episodes are longer than `steps`.
    act
        The policy.
    steps
        Steps taken.

    Returns
    -------
    list of int
        The M moments kept, in steps taken: evenly spaced, the first and the last among them.
    numpy.ndarray
        (M, G, K): mean group states at these moments.
    """
    kept = np.unique(np.linspace(0, steps, min(steps, MOMENTS) + 1).round().astype(int)).tolist()
    moments = set(kept)
    observation, info = env.reset(seed=SEED)
    means = [info["group_state"].mean(axis=0)]
    for step in range(1, steps + 1):
        observation, _, _, _, info = env.step(act(observation, info))
        if step in moments:
            means.append(info["group_state"].mean(axis=0))
    return kept, np.stack(means)


def lending() -> Picture:
    """Return the score distributions under the myopic thresholds and under lower ones."""
    policies = {
        "lend to both groups from score 3": acting(threshold_policy((3, 3))),
        "lend from score 2 in group 0, from 1 in group 1": acting(threshold_policy((2, 1))),
    }
    runs = _runs("Lending", "elbert", policies, copies=32, steps=2048)
    return Picture(
        _shares(runs, ["group 0", "group 1"], [f"score {score}" for score in range(7)]),
        across="applicants",
        up="share of people",
        caption=(
            "Whoever falls below the threshold is refused from then on and stays there: people "
            "pile up just under it, in group 1 above all. Lower thresholds lift more people to "
            "the top, and those who default fall further."
        ),
        setting="Preset `elbert`, mean of 32 copies.",
        ranked=True,
    )


def attention() -> Picture:
    """Return the rates of incidents under equal and under proportional attention."""
    policies = {
        "equal units": acting(EqualLogits(5)),
        "units in proportion to the rates": acting(ProportionalToRates()),
    }
    runs = _runs("Attention", "elbert_harder", policies, copies=4, steps=500)
    return Picture(
        _lines(runs, [f"site {site}" for site in range(5)]),
        across="steps",
        up="expected incidents per step",
        caption=(
            "Every site gets more units than it takes to lower its rate, so equal attention lowers "
            "them all, slowest at the busiest site. Proportional attention "
            "brings all sites down together."
        ),
        setting="Preset `elbert_harder`, mean of 4 copies.",
    )


def epidemic() -> Picture:
    """Return the health of both groups with and without vaccines for the best connected."""
    params = EpidemicParams.elbert()
    policies = {
        "no vaccine": acting(VaccinateNobody(len(params.group))),
        "vaccinate whoever has most ties": acting(VaccinateHighestDegree(params.adjacency())),
    }
    runs = _runs("Epidemic", "elbert", policies, copies=256, steps=20)
    sizes = np.bincount(params.group)
    return Picture(
        _shares(
            runs,
            [f"group {group} ({size} people)" for group, size in enumerate(sizes)],
            ["susceptible", "infected", "recovered or vaccinated"],
        ),
        across="steps",
        up="share of people",
        caption=(
            "Without a vaccine nearly everybody is infected within five steps, and recovery is "
            "slow. Vaccinating whoever has most ties comes too late for group 0, where the "
            "infection starts, and saves a good part of group 1."
        ),
        setting="Preset `elbert`, mean of 256 copies.",
    )


def doughnut() -> Picture:
    """Return who had how many doughnuts when the first comes first and when turns are taken."""
    people = 5
    policies = {
        "always the first who is there": acting(FixedPriority(range(people))),
        "in turns, skipping the absent": acting(Rotation(people)),
    }
    runs = _runs("Doughnut", "deep", policies, copies=256, steps=100)
    return Picture(
        _lines(runs, [f"person {person}" for person in range(people)]),
        across="doughnuts handed out",
        up="doughnuts received",
        caption=(
            "Both policies waste as few doughnuts as can be. A fixed order gives most of them to "
            "one person; turns share them out."
        ),
        setting="Preset `deep`, mean of 256 copies.",
    )


def loan_pool() -> Picture:
    """Return the loans of both groups when one comes first and when they take turns."""
    params = LoanPoolParams.discrete()
    of_group = np.eye(2)[list(params.groups)]
    best_first = np.argsort(-np.array(params.initial_repayment), kind="stable")
    policies = {
        "group B first": acting(FixedPriority(best_first.tolist())),
        "the group with fewer loans first": acting(LaggingGroupBestCredit(params.groups)),
    }
    runs = _runs("LoanPool", "discrete", policies, copies=512, steps=params.episode_length)
    loans = {
        policy: (moments, np.einsum("mpk,pg->mgk", states[..., :1], of_group))
        for policy, (moments, states) in runs.items()
    }
    return Picture(
        _lines(loans, ["group A", "group B"]),
        across="steps",
        up="loans received",
        caption=(
            "Group B starts with the better credit. Serving it first leaves next to nothing for "
            "group A; lending to whichever group has had fewer loans keeps the two level."
        ),
        setting="Preset `discrete`, mean of 512 copies.",
    )


def population() -> Picture:
    """Return the qualification rates under a lenient and under a strict threshold."""
    params = PopulationParams.synthetic().starting_at([[0.3, 0.7]])
    policies = {
        "lenient: threshold \N{MINUS SIGN}1": _constant_threshold(params, -1.0),
        "strict: threshold 1": _constant_threshold(params, 1.0),
    }
    runs = _runs("Population", params, policies, copies=1, steps=12)
    return Picture(
        _lines(runs, ["group 0", "group 1"]),
        across="steps",
        up="share qualified",
        caption=(
            "Under this preset's fitness table the unqualified gain most from being accepted. So "
            "qualification dies out under the lenient threshold and takes over under the strict "
            "one."
        ),
        setting="Preset `synthetic`, started with 30 and 70 per cent qualified; nothing is random.",
    )


def loan_mdp() -> Picture:
    """Return the mean belief about both groups when all loans are granted and when few are."""
    model = LoanModel(LoanMDPParams.fico())

    def profitable(observation: Any, info: dict[str, Any]) -> Any:
        return (model.profit(observation[:, 0], observation[:, 1]) > 0).astype(np.int64)

    policies = {
        "lend to everybody": lambda observation, info: np.ones(len(observation), np.int64),
        "lend while a profit is expected": profitable,
    }
    runs = _runs("LoanMDP", "fico", policies, copies=2048, steps=model.params.episode_length)
    beliefs = {
        policy: (moments, states[..., 1:] / states[..., :1])
        for policy, (moments, states) in runs.items()
    }
    return Picture(
        _lines(beliefs, ["minority", "majority"]),
        across="decisions",
        up="mean belief that a loan is repaid",
        caption=(
            "A belief that is tested by loans does not drift on average. A bank that lends only "
            "while it expects a profit denies more of the minority, and every denial lowers the "
            "belief further, so the gap between the groups grows."
        ),
        setting="Preset `fico`, mean of 2048 applicants.",
    )


PICTURES: Mapping[str, Callable[[], Picture]] = {
    "Lending": lending,
    "Attention": attention,
    "Epidemic": epidemic,
    "Doughnut": doughnut,
    "LoanPool": loan_pool,
    "Population": population,
    "LoanMDP": loan_mdp,
}
"""By the name of the environment."""

Runs = Mapping[str, tuple[list[int], FloatArray]]
"""By policy: moments, and mean group states (M, G, K) at them."""


def _runs(name: str, setting: Any, policies: Mapping[str, Act], copies: int, steps: int) -> Runs:
    """Follow every policy in an environment of a preset, or of parameters."""
    # One step more than is taken, so that the last state is seen before a new episode begins.
    chosen = {"preset" if isinstance(setting, str) else "params": setting}
    env: Any = gymnasium.make_vec(
        environment_id(name), num_envs=copies, episode_length=steps + 1, **chosen
    )
    return {policy: follow(env, act, steps) for policy, act in policies.items()}


def _constant_threshold(params: PopulationParams, threshold: float) -> Act:
    low, high = params.threshold_range
    action = (threshold - low) / (high - low)
    return lambda observation, info: np.full(observation.shape, action)


def _lines(runs: Runs, groups: Sequence[str]) -> pd.DataFrame:
    """Return one row per policy, group and moment, from states with a single number."""
    return _shares(runs, groups, [""]).drop(columns="part")


def _shares(runs: Runs, groups: Sequence[str], parts: Sequence[str]) -> pd.DataFrame:
    """Return one row per policy, group, part and moment."""
    frames = []
    for policy, (moments, states) in runs.items():
        index = pd.MultiIndex.from_product(
            [moments, groups, parts], names=["step", "group", "part"]
        )
        frames.append(pd.DataFrame({"policy": policy, "value": states.reshape(-1)}, index=index))
    whole = pd.concat(frames).reset_index()
    return whole[["policy", "group", "part", "step", "value"]]
