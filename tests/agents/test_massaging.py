"""F-PPO's interventions and terms, by hand-computed examples."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv

from longfair.agents.learning.actor import Actor
from longfair.agents.ppo import FairPPO
from longfair.agents.ppo.f_ppo import FPPOL, WindowedAPPO
from longfair.agents.ppo.massaging.acting import intervening
from longfair.agents.ppo.massaging.attention import AttentionFPPO
from longfair.agents.ppo.massaging.attention_moves import handed_out
from longfair.agents.ppo.massaging.epidemic import EpidemicFPPO
from longfair.agents.ppo.massaging.lending import LendingFPPO
from longfair.agents.ppo.strategy import Moment, Rollout, Strategy
from longfair.envs.attention import AttentionParams
from longfair.errors import UsageError
from longfair.papers.fppo.gaps import AttentionGaps

RNG = np.random.default_rng(0)


def moment(outputs: Any, actions: Any, info: dict[str, Any], rollout: int, sd: Any = None) -> Any:
    """A moment of a policy whose output at copy i is row i, whatever it sees."""
    rows = np.asarray(outputs, np.float32)
    layers = [(rows, np.zeros(rows.shape[1], np.float32))]
    actor = Actor(layers, None if sd is None else np.full(rows.shape[1], sd, np.float32))
    arrays = {name: np.asarray(array) for name, array in info.items()}
    seen = np.eye(len(rows), dtype=np.float32)
    return Moment(seen, np.asarray(actions), arrays, actor, actor.output(seen), rollout, RNG)


# Lending ----------------------------------------------------------------------------------------


def test_the_lending_schedule_has_the_values_of_the_sheet() -> None:
    found = [LendingFPPO().band(i) for i in (18, 50, 100, 200, 349)]
    assert found == pytest.approx([0.4925, 0.304, 0.143, 0.0315, 0.0033], abs=5e-4)


LENDING = {
    # Rates 8/10 and 5/10 before the applicant.
    "window_supply": [[8.0, 5.0]] * 4,
    "window_demand": [[10.0, 10.0]] * 4,
    # Would-be payers of group 1, group 0, group 1, and somebody who defaults.
    "applicant_demand": [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]],
}


@pytest.mark.parametrize(("as_coded", "last"), [(True, 0), (False, 1)])
def test_lending_flips_what_is_unsure_and_unfair(as_coded: bool, last: int) -> None:
    # The third decision is sure; the last changes no rate, which is a tie.
    logits = [[0.1, 0.0], [0.0, 0.1], [4.0, 0.0], [0.0, 0.1]]
    strategy = LendingFPPO(as_coded=as_coded)
    actions = strategy.intervene(moment(logits, [0, 1, 0, 1], LENDING, rollout=60))
    assert actions.tolist() == [1, 0, 0, last]


def test_a_fair_decision_stays() -> None:
    actions = LendingFPPO(as_coded=True).intervene(
        moment([[0.0, 0.0]] * 4, [1, 0, 1, 1], LENDING, rollout=60)
    )
    assert actions.tolist() == [1, 0, 1, 0]


def test_lending_changes_nothing_before_its_first_rollout() -> None:
    for strategy in (LendingFPPO(as_coded=True), LendingFPPO()):
        before = moment([[0.0, 0.0]] * 4, [0, 1, 0, 1], LENDING, rollout=17)
        assert strategy.intervene(before).tolist() == [0, 1, 0, 1]


# Attention --------------------------------------------------------------------------------------


def test_units_are_handed_out_one_by_one() -> None:
    assert handed_out(np.array([0.5, 0.3, 0.1, 0.06, 0.04]), 6).tolist() == [3, 2, 1, 0, 0]
    assert handed_out(np.full(5, 0.2), 6).tolist() == [2, 1, 1, 1, 1]


def test_units_are_handed_out_as_the_environment_does() -> None:
    env = gymnasium.make_vec("longfair/Attention-v0", num_envs=500, preset="fppo")
    env.reset(seed=1)
    logits = np.random.default_rng(2).uniform(-3.0, 3.0, (500, 5)).astype(np.float32)
    *_, info = env.step(logits)
    weights = np.exp(logits.astype(np.float64))
    units = int(info["allocation"][0].sum())
    handed = [handed_out(row / row.sum(), units) for row in weights]
    np.testing.assert_array_equal(handed, info["allocation"])


SHARES = np.array([[0.5, 0.2, 0.1, 0.1, 0.1]])
"""Units 3, 1, 1, 1, 0: the last site is served least."""

WINDOW = np.array([[10.0, 10.0, 10.0, 10.0, 8.0]])


def attention(
    threshold: float, as_coded: bool, rollout: int = 20, steps: int = 5, window: Any = WINDOW
) -> Any:
    logits = np.log(SHARES) + 1.0
    info = {"window_units": window, "steps_before": [steps]}
    strategy = AttentionFPPO(threshold=threshold, as_coded=as_coded)
    after = strategy.intervene(moment(logits, logits, info, rollout, sd=1.0))
    return np.exp(after - 1.0)[0]


def test_attention_moves_one_unit_and_keeps_the_denominator() -> None:
    shares = attention(threshold=1.0, as_coded=False)
    assert shares == pytest.approx([0.5 - 1 / 6, 0.2, 0.1, 0.1, 0.1 + 1 / 6], abs=1e-6)


def test_a_site_that_gives_keeps_a_little_probability() -> None:
    # Site 2 has had most by far, so that every taker is as good, and the first is taken.
    window = np.array([[10.0, 10.0, 90.0, 10.0, 8.0]])
    shares = attention(threshold=1.0, as_coded=False, window=window)
    assert shares == pytest.approx([0.595, 0.2, 0.005, 0.1, 0.1], abs=1e-6)


def test_attention_as_published_asks_for_close_probabilities() -> None:
    # Site 0 is 0.4 ahead of the last one; the others are level with it, but one helps less.
    assert attention(0.41, as_coded=False)[0] == pytest.approx(1 / 3, abs=1e-6)
    assert attention(0.09, as_coded=False)[0] == pytest.approx(0.5, abs=1e-6)


def test_attention_as_coded_asks_for_close_densities() -> None:
    densities = [np.exp(-0.5 * np.log(ratio) ** 2) for ratio in (2 / 3, (0.1 + 1 / 6) / 0.1)]
    change = (1.0 - min(densities)) / np.sqrt(2.0 * np.pi)
    assert attention(change + 1e-4, as_coded=True)[0] == pytest.approx(1 / 3, abs=1e-6)
    assert attention(change - 1e-4, as_coded=True)[0] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize(("rollout", "steps"), [(15, 5), (20, 0)])
def test_attention_as_coded_waits(rollout: int, steps: int) -> None:
    assert attention(1.0, True, rollout, steps) == pytest.approx(SHARES[0], abs=1e-6)


def world(units: int, copies: int | None = 2) -> Any:
    params = AttentionParams(units=units, episode_length=20)
    made = gymnasium.make_vec("longfair/Attention-v0", num_envs=copies or 1, params=params)
    if copies:
        return AttentionGaps(made)
    make = partial(gymnasium.make, "longfair/Attention-v0", params=params)
    return DummyVecEnv([make] * 2)


@pytest.mark.parametrize("copies", [2, None])
def test_attention_shares_out_as_many_units_as_the_environment(copies: int | None) -> None:
    told = "^f-ppo-attention cannot act here: units=6: give 30, as shared out$"
    with pytest.raises(UsageError, match=told):
        FairPPO(env=world(30, copies), strategy=AttentionFPPO())
    FairPPO(env=world(30, copies), strategy=AttentionFPPO(units=30), batch_size=20)


# Epidemic ---------------------------------------------------------------------------------------


def test_the_epidemic_schedule_has_the_values_of_the_sheet() -> None:
    found = [EpidemicFPPO().closeness(i) for i in (51, 56, 60, 65, 70, 10_000)]
    assert found == pytest.approx([0.012, 0.030, 0.062, 0.154, 0.35, 0.35], abs=5e-4)


EPIDEMIC = {
    # Rates 2/4 and 0/4; three people in community 0, two in community 1; person 3 is not
    # susceptible.
    "vaccines_so_far": [[2.0, 0.0]],
    "infections_so_far": [[3.0, 3.0]],
    "susceptible": [[True, True, True, False, True]],
    "community": [[0, 0, 0, 1, 1]],
}
LOGITS = [[0.0, 0.0, 0.0, 1.0, 0.5, 0.0]]


def epidemic(action: int, as_coded: bool, rollout: int = 80, **changed: Any) -> int:
    given = moment(LOGITS, [action], EPIDEMIC | changed, rollout)
    return int(EpidemicFPPO(as_coded=as_coded).intervene(given)[0])


@pytest.mark.parametrize("as_coded", [True, False])
def test_the_vaccine_goes_to_the_community_that_had_none(as_coded: bool) -> None:
    assert epidemic(1, as_coded) == 4
    assert epidemic(4, as_coded) == 4
    assert epidemic(1, as_coded, rollout=49) == 1


def test_what_only_the_code_does() -> None:
    # Nobody is an option, and where nobody is susceptible anybody is taken.
    assert (epidemic(5, True), epidemic(5, False)) == (4, 5)
    none = {"susceptible": [[True, True, True, False, False]]}
    assert (epidemic(1, True, **none), epidemic(1, False, **none)) == (3, 1)
    level = {"vaccines_so_far": [[1.0, 1.0]]}
    assert (epidemic(1, True, **level), epidemic(1, False, **level)) == (5, 1)


def test_a_likely_action_stays() -> None:
    likely = moment([[4.0, 0.0, 0.0, 0.0, 0.0, 0.0]], [0], EPIDEMIC, 80)
    for as_coded in (True, False):
        assert EpidemicFPPO(as_coded=as_coded).intervene(likely).tolist() == [0]


# Schedules --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "setting", "allowed"),
    [
        (LendingFPPO, {"decay": 1.01}, r"decay=1.01: give a finite number in \(0, 1\]"),
        (LendingFPPO, {"decay": 0.0}, r"decay=0.0: give a finite number in \(0, 1\]"),
        (EpidemicFPPO, {"growth": 2.01}, r"growth=2.01: give a finite number in \[1, 2\]"),
        (EpidemicFPPO, {"growth": 0.99}, r"growth=0.99: give a finite number in \[1, 2\]"),
    ],
)
def test_a_schedule_goes_one_way(strategy: Any, setting: dict[str, float], allowed: str) -> None:
    with pytest.raises(UsageError, match=allowed):
        strategy(**setting)


@pytest.mark.parametrize("rollout", [0, 17, 700, 10**6])
def test_any_rollout_has_a_threshold(rollout: int) -> None:
    bands = [LendingFPPO(decay=decay).band(rollout) for decay in (1.0, 1e-300)]
    assert bands == [0.5, 0.5 if rollout <= 17 else 0.0]
    highest = [EpidemicFPPO(growth=growth).closeness(rollout) for growth in (1.0, 2.0)]
    assert highest == [0.01, pytest.approx(0.01 * 2.0 ** (rollout - 50) if rollout < 50 else 0.35)]


# In use -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rollout", [17, 60])
def test_a_policy_in_use_is_massaged_as_in_a_rollout_of_its_training(rollout: int) -> None:
    strategy = LendingFPPO()
    unsure = moment([[0.0, 0.0]] * 4, [0, 0, 0, 0], LENDING, rollout)
    chosen = unsure.policy.drawn(unsure.output, np.random.default_rng(3))
    wanted = strategy.intervene(moment([[0.0, 0.0]] * 4, chosen, LENDING, rollout))
    assert np.array_equal(wanted, chosen) == (rollout == 17)
    act = intervening(
        strategy, unsure.policy, rollout, gymnasium.spaces.Discrete(2), np.random.default_rng(3)
    )
    beside = {"cash": np.zeros(4)}
    assert np.array_equal(act(unsure.observation, unsure.info | beside), wanted)


def test_what_massaging_in_use_reads_must_be_told() -> None:
    unsure = moment([[0.0, 0.0]] * 4, [0, 0, 0, 0], LENDING, 60)
    rng = np.random.default_rng(3)
    act = intervening(LendingFPPO(), unsure.policy, 60, gymnasium.spaces.Discrete(2), rng)
    told = {name: array for name, array in unsure.info.items() if name != "applicant_demand"}
    with pytest.raises(UsageError, match="strategy needs info 'applicant_demand'"):
        act(unsure.observation, told)


def test_what_massaging_in_use_gives_must_be_actions() -> None:
    unsure = moment([[0.0, 0.0]] * 4, [0, 0, 0, 0], LENDING, 60)
    rng, space = np.random.default_rng(3), gymnasium.spaces.Discrete(2)
    act = intervening(LendingFPPO(), unsure.policy, 60, space, rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LendingFPPO, "intervene", lambda *_: np.full(4, np.inf))
        with pytest.raises(UsageError, match=r"LendingFPPO.intervene gave actions .*inf"):
            act(unsure.observation, unsure.info)


# Terms ------------------------------------------------------------------------------------------


def rollout(gap: Any, before: Any, change: Any, ends: Any) -> Rollout:
    shape, zeros = (len(gap), 1), np.zeros((len(gap), 1, 2))
    info = {
        "short_term_gap": np.reshape(gap, shape),
        "short_term_gap_before": np.reshape(before, shape),
        "long_term_gap_change": np.reshape(change, shape),
    }
    starts, ends = np.zeros(shape, bool), np.reshape(ends, shape)
    return Rollout(np.zeros(shape), zeros, zeros, starts, ends, 0.99, info)


ROLLOUT = rollout(
    gap=[0.2, 0.2, 0.01, 0.01, 0.2],
    before=[0.1, 0.3, 0.0, 0.0, 0.1],
    change=[0.5, -0.5, 0.5, -0.4, 0.5],
    ends=[False, False, False, False, True],
)


@pytest.mark.parametrize(("as_coded", "last"), [(True, 0.0), (False, -0.5)])
def test_the_terms_of_f_ppo(as_coded: bool, last: float) -> None:
    features = FPPOL(tolerance=0.05, as_coded=as_coded).plan(ROLLOUT).features[:, 0]
    assert features[:, 0].tolist() == [-0.5, 0.0, 0.0, 0.0, last]
    assert features[:, 1].tolist() == [0.0, 0.0, 0.0, 0.4, 0.0]


def test_the_terms_of_a_ppo_on_the_windowed_gap() -> None:
    coded = WindowedAPPO(tolerance=0.05).plan(ROLLOUT).features[:, 0]
    assert coded[:, 0] == pytest.approx([-0.15, -0.15, 0.0, 0.0, 0.0])
    assert coded[:, 1] == pytest.approx([-0.1, 0.0, 0.0, 0.0, 0.0])
    published = WindowedAPPO(tolerance=0.05, as_coded=False).plan(ROLLOUT).features[:, 0]
    assert published[:, 0] == pytest.approx([-0.05, -0.25, 0.0, 0.0, -0.05])
    assert published[:, 1] == pytest.approx([-0.1, 0.0, 0.0, 0.0, -0.1])


def test_the_advantage_on_a_minibatch_of_three() -> None:
    advantages = torch.tensor([[1.0], [2.0], [5.0]])
    features = torch.tensor([[-0.2, 0.0], [0.0, 0.0], [0.0, 0.4]])
    raw = torch.tensor([0.8, 2.0, 5.4])
    scaled = torch.tensor([0.0, 0.25 + 2.0, 1.0 + 2.0 + 3.0])
    for as_coded, weights, total in ((False, (1.0, 1.0), raw), (True, (2.0, 3.0), scaled)):
        strategy = FPPOL(penalty_weight=weights[0], bonus_weight=weights[1], as_coded=as_coded)
        found = strategy.advantage(advantages, features, strategy.plan(ROLLOUT))
        assert torch.allclose(found, (total - total.mean()) / total.std(), atol=1e-5)


def test_without_weights_it_is_ppo() -> None:
    strategy = LendingFPPO(penalty_weight=0.0, bonus_weight=0.0, as_coded=True)
    advantages, features = torch.randn(64, 1), -torch.rand(64, 2)
    plan = strategy.plan(ROLLOUT)
    assert torch.allclose(
        strategy.advantage(advantages, features, plan),
        Strategy().advantage(advantages, features, plan),
        atol=1e-5,
    )
