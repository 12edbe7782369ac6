"""The pictures of the environments show what their captions say."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from longfair.agents.evaluation import acting
from longfair.agents.policies import threshold_policy
from longfair.envs import NAMES
from longfair.envs.lending import LendingVectorEnv
from longfair.papers import environment_pictures
from longfair.papers.environment_pictures import PICTURES, Picture, follow

DRAWN = [name for name in NAMES if name in PICTURES]


@cache
def picture(name: str) -> Picture:
    return PICTURES[name]()


def last(name: str) -> pd.Series:
    """Values at the last moment, by policy, group and part if there are parts."""
    frame = picture(name).frame
    keys = [column for column in frame if column not in {"step", "value"}]
    return frame[frame["step"] == frame["step"].max()].set_index(keys)["value"]


def policies(name: str) -> list[str]:
    """Names of the two policies, in the order of the picture."""
    return list(picture(name).frame["policy"].unique())


def by_policy(name: str, group: str) -> list[float]:
    return [float(last(name).loc[policy, group]) for policy in policies(name)]


def test_every_registered_environment_has_a_picture() -> None:
    assert set(NAMES) <= set(PICTURES)


@pytest.mark.parametrize("name", DRAWN)
def test_picture_is_tidy_and_contrasts_two_policies(name: str) -> None:
    shown = picture(name)
    frame = shown.frame
    keys = [column for column in frame if column != "value"]
    assert frame["policy"].nunique() == 2
    assert not frame.duplicated(keys).any()
    assert np.isfinite(frame["value"]).all()
    assert frame["step"].nunique() <= environment_pictures.MOMENTS + 1
    assert all([shown.caption, shown.setting, shown.across, shown.up])
    start = frame[frame["step"] == 0].drop(columns=["policy", "step"])
    begun = [part["value"].to_numpy() for _, part in start.groupby(frame["policy"], sort=False)]
    np.testing.assert_array_equal(begun[0], begun[1])  # both start the same
    ended = [part.to_numpy() for _, part in last(name).groupby("policy", sort=False)]
    assert np.abs(ended[0] - ended[1]).max() > 0.05


@pytest.mark.parametrize("name", ["Epidemic", "Lending"])
def test_shares_sum_to_one(name: str) -> None:
    totals = picture(name).frame.groupby(["policy", "group", "step"])["value"].sum()
    np.testing.assert_allclose(totals, 1.0)


def test_pictures_are_the_same_every_time() -> None:
    pd.testing.assert_frame_equal(PICTURES["LoanPool"]().frame, picture("LoanPool").frame)


def test_following_keeps_the_first_and_the_last_moment() -> None:
    env = LendingVectorEnv.make(num_envs=3, episode_length=251)
    moments, states = follow(env, acting(threshold_policy((3, 3))), 250)
    assert moments[:: len(moments) - 1] == [0, 250]
    assert len(moments) == len(states)
    np.testing.assert_allclose(states[0], env.params.initial_distribution)


# What the captions say ------------------------------------------------------------------------


def test_lending_lifts_more_people_and_lets_others_fall_further() -> None:
    ends = last("Lending").unstack("part")
    myopic, lenient = (ends.loc[policy] for policy in policies("Lending"))
    assert (lenient["score 6"] > myopic["score 6"]).all()
    assert lenient.loc["group 1", "score 0"] > 0.4
    trapped = myopic["score 2"]
    assert trapped["group 1"] > trapped["group 0"] > 0.3


def test_attention_is_last_to_reach_the_busiest_site_when_equal() -> None:
    ends = last("Attention").unstack("group")
    equal, proportional = (ends.loc[policy] for policy in policies("Attention"))
    assert equal.idxmax() == "site 0"
    assert equal.max() > 10.0
    assert proportional.max() < 3.0


def test_vaccines_come_too_late_for_one_group_only() -> None:
    infected = last("Epidemic").xs("infected", level="part").unstack("group")
    without, ranked = (infected.loc[policy] for policy in policies("Epidemic"))
    first, second = infected.columns
    assert without.min() > 0.85
    assert ranked[first] > 0.85
    assert ranked[second] < 0.7


def test_doughnuts_are_shared_by_turns_only() -> None:
    assert by_policy("Doughnut", "person 0") == pytest.approx([80, 20], abs=0.6)
    assert by_policy("Doughnut", "person 4") == pytest.approx([0, 20], abs=0.6)
    handed_out = last("Doughnut").groupby("policy").sum()
    np.testing.assert_allclose(handed_out, 99.968, atol=0.1)


def test_loans_reach_group_a_only_when_groups_are_compared() -> None:
    assert by_policy("LoanPool", "group A")[0] < 1
    level = [by_policy("LoanPool", group)[1] for group in ("group A", "group B")]
    assert level[0] == pytest.approx(level[1], abs=0.5)


def test_qualification_dies_out_or_takes_over() -> None:
    lenient, strict = by_policy("Population", "group 0")
    assert lenient < 0.01
    assert strict > 0.99


def test_denials_widen_the_gap_of_beliefs() -> None:
    minority, majority = by_policy("LoanMDP", "minority"), by_policy("LoanMDP", "majority")
    gaps = np.array(majority) - minority
    assert gaps[1] > gaps[0] + 0.05
    start = picture("LoanMDP").frame.query("step == 0 and group == 'minority'")["value"].iloc[0]
    assert minority[0] == pytest.approx(start, abs=0.02)
