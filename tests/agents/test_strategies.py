"""What the methods do to rewards and advantages, on examples worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from longfair.agents.ppo import APPO, RPPO, ElbertPO, Strategy
from longfair.agents.ppo.elbert_po import advantage_weights
from longfair.agents.ppo.rollout import generalised_advantages
from longfair.agents.ppo.strategy import Rollout, running_rates, standardised
from longfair.errors import UsageError


def make_rollout(
    supply: list[list[float]], demand: list[list[float]], starts: list[bool], ends: list[bool]
) -> Rollout:
    """Make a rollout of one copy from lists over time."""
    steps = len(starts)
    return Rollout(
        rewards=np.zeros((steps, 1)),
        supply=np.array(supply, float)[:, None],
        demand=np.array(demand, float)[:, None],
        starts=np.array(starts)[:, None],
        ends=np.array(ends)[:, None],
        discount=0.5,
    )


NOTHING = torch.zeros(50, 0)


TWO_EPISODES = make_rollout(
    supply=[[1, 0], [0, 0], [0, 1], [1, 0], [0, 0]],
    demand=[[1, 0], [0, 1], [0, 1], [1, 0], [0, 1]],
    starts=[True, False, False, True, False],
    ends=[False, False, True, False, True],
)


def test_running_rates_restart_with_the_episode() -> None:
    rates = running_rates(TWO_EPISODES, offset=0.0)[:, 0]
    assert rates.tolist() == [[1, 0], [1, 0], [1, 0.5], [1, 0], [1, 0]]


def test_running_rates_need_whole_episodes() -> None:
    broken = TWO_EPISODES._replace(starts=np.zeros((5, 1), bool))
    with pytest.raises(UsageError, match="whole_episodes"):
        running_rates(broken, offset=0.0)


def test_elbert_advantage_matches_the_worked_example() -> None:
    weights = advantage_weights(np.array([5.0, 6.0]), np.array([10.0, 20.0]), alpha=3.0, beta=20.0)
    assert weights @ [1.0, 1.0, -1.0, 1.0, 1.0] == pytest.approx(0.862)


def test_elbert_weights_leave_out_a_group_without_demand() -> None:
    weights = advantage_weights(np.array([5.0, 0.0]), np.array([10.0, 0.0]), alpha=3.0, beta=20.0)
    assert weights.tolist() == [1, 0, 0, 0, 0]


def test_elbert_totals_are_means_over_episodes() -> None:
    plan = ElbertPO.as_coded(alpha=1.0).plan(TWO_EPISODES)
    expected = advantage_weights(np.array([1.0, 0.5]), np.array([1.0, 1.5]), 1.0, 20.0)
    np.testing.assert_allclose(plan.weights, expected, rtol=1e-6)


def test_parts_of_episodes_do_not_count_in_the_totals() -> None:
    cut = TWO_EPISODES._replace(
        **{
            name: np.concatenate([array, array[:2]])
            for name, array in TWO_EPISODES._asdict().items()
            if name in ("rewards", "supply", "demand", "starts")
        },
        ends=np.concatenate([TWO_EPISODES.ends, np.zeros((2, 1), bool)]),
    )
    strategy = ElbertPO.as_coded(alpha=1.0)
    np.testing.assert_array_equal(strategy.plan(cut).weights, strategy.plan(TWO_EPISODES).weights)
    with pytest.raises(UsageError, match="no episode begins and ends within a rollout of 5 steps"):
        strategy.plan(TWO_EPISODES._replace(ends=np.zeros((5, 1), bool)))


def test_elbert_totals_are_discounted_in_the_ablation_only() -> None:
    published = ElbertPO.as_published(alpha=1.0)
    coded = ElbertPO.as_coded(alpha=1.0)
    np.testing.assert_array_equal(
        published.plan(TWO_EPISODES).weights, coded.plan(TWO_EPISODES).weights
    )
    plan = published.discounted().plan(TWO_EPISODES)
    supply = np.array([1.0 + 1.0, 0.25]) / 2
    demand = np.array([1.0 + 1.0, 0.5 + 0.25 + 0.5]) / 2
    np.testing.assert_allclose(
        plan.weights, advantage_weights(supply, demand, 1.0, 20.0), rtol=1e-6
    )


def test_elbert_standardises_every_signal_or_the_sum() -> None:
    torch.manual_seed(0)
    advantages = torch.randn(50, 5) * torch.tensor([1.0, 5.0, 0.1, 3.0, 2.0]) + 7.0
    coded, published = ElbertPO.as_coded(1.0), ElbertPO.as_published(1.0)
    plan = coded.plan(TWO_EPISODES)
    separately = (advantages - advantages.mean(0)) / (advantages.std(0) + 1e-8)
    torch.testing.assert_close(
        coded.advantage(advantages, NOTHING, plan), separately @ torch.from_numpy(plan.weights)
    )
    combined = advantages @ torch.from_numpy(plan.weights)
    torch.testing.assert_close(published.advantage(advantages, NOTHING, plan), combined)
    torch.testing.assert_close(
        published.discounted().advantage(advantages, NOTHING, plan),
        (combined - combined.mean()) / (combined.std() + 1e-8),
    )


def test_greedy_ppo_ignores_signals_it_trains() -> None:
    torch.manual_seed(0)
    advantages = torch.randn(50, 5)
    strategy = Strategy(train_unused_critics=True)
    assert strategy.num_signals(2) == 4
    assert strategy.plan(TWO_EPISODES).signals.shape == (5, 1, 4)
    assert Strategy().num_signals(2) == 0
    torch.testing.assert_close(
        strategy.advantage(advantages, NOTHING, strategy.plan(TWO_EPISODES)),
        standardised(advantages[:, :1])[:, 0],
    )


def test_penalty_of_r_ppo() -> None:
    disparity = np.array([1.0, 1.0, 0.5, 1.0, 1.0])
    whole = RPPO(penalty=2.0, tolerance=0.6).plan(TWO_EPISODES).rewards[:, 0]
    np.testing.assert_allclose(whole, -2.0 * disparity * (disparity >= 0.6))
    excess = RPPO(penalty=2.0, tolerance=0.4, excess_only=True).plan(TWO_EPISODES).rewards[:, 0]
    np.testing.assert_allclose(excess, -2.0 * (disparity - 0.4))
    printed = RPPO(penalty=2.0, tolerance=0.6, sign=1).plan(TWO_EPISODES).rewards[:, 0]
    np.testing.assert_allclose(printed, -whole)


def test_terms_of_a_ppo_as_coded_vanish_at_episode_ends() -> None:
    plan = APPO(tolerance=0.2).plan(TWO_EPISODES)
    level, increase = plan.features[:, 0].T
    np.testing.assert_allclose(level, [-0.8, -0.8, 0.0, -0.8, 0.0])
    np.testing.assert_allclose(increase, [-1.0, 0.0, 0.0, -1.0, 0.0])


def test_terms_of_a_ppo_as_published_look_at_the_state_before() -> None:
    plan = APPO(tolerance=0.2, as_coded=False).plan(TWO_EPISODES)
    level, increase = plan.features[:, 0].T
    np.testing.assert_allclose(level, [0.0, -0.8, -0.8, 0.0, -0.8])
    np.testing.assert_allclose(increase, [0.0, 0.0, 0.0, 0.0, 0.0])


def test_a_ppo_scales_every_term_over_the_minibatch() -> None:
    torch.manual_seed(0)
    advantages, features = torch.randn(40, 1), torch.randn(40, 2)
    strategy = APPO(level_weight=0.5, change_weight=0.25)
    mine = strategy.advantage(advantages, features, strategy.plan(TWO_EPISODES))
    terms = torch.cat([advantages, features], dim=1)
    scaled = (terms - terms.min(0).values) / (terms.max(0).values - terms.min(0).values)
    expected = scaled @ torch.tensor([1.0, 0.5, 0.25])
    expected = (expected - expected.mean()) / expected.std()
    torch.testing.assert_close(mine, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "bad", [{"alpha": -1.0}, {"beta": 0.0}, {"standardise": "each"}, {"alpha": float("nan")}]
)
def test_bad_settings_are_named(bad: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(bad))):
        ElbertPO(**bad)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(UsageError, match="sign"):
        RPPO(sign=0)


def test_generalised_advantages_stop_at_episode_ends() -> None:
    rng = np.random.default_rng(0)
    rewards, values = rng.normal(size=(6, 2, 3)), rng.normal(size=(6, 2, 3))
    last, ends = rng.normal(size=(2, 3)), rng.random((6, 2)) < 0.3
    advantages, returns = generalised_advantages(rewards, values, last, ends, 0.9, 0.8)
    following = np.zeros((2, 3))
    for step in reversed(range(6)):
        going_on = ~ends[step][:, None]
        next_value = last if step == 5 else values[step + 1]
        delta = rewards[step] + 0.9 * going_on * next_value - values[step]
        following = delta + 0.9 * 0.8 * going_on * following
        np.testing.assert_allclose(advantages[step], following)
    np.testing.assert_allclose(returns, advantages + values)


def test_a_discount_may_be_the_whole_number_one() -> None:
    rng = np.random.default_rng(1)
    rewards, values, last = (rng.normal(size=shape) for shape in ((4, 2, 1), (4, 2, 1), (2, 1)))
    ends = rng.random((4, 2)) < 0.3
    found = [generalised_advantages(rewards, values, last, ends, one, 0.8) for one in (1, 1.0)]
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize(
    "strategy", [Strategy(True), ElbertPO.as_coded(9.0), ElbertPO.as_published(9.0), APPO()]
)
def test_minibatches_are_combined_on_their_own(strategy: Strategy) -> None:
    """All minibatches in one call give what one call per minibatch gives."""
    torch.manual_seed(0)
    advantages, features = torch.randn(6, 10, 5), torch.randn(6, 10, 2)
    plan = strategy.plan(TWO_EPISODES)
    if not isinstance(strategy, APPO):
        features = features[..., :0]
    together = strategy.advantage(advantages, features, plan)
    apart = [strategy.advantage(a, f, plan) for a, f in zip(advantages, features, strict=True)]
    torch.testing.assert_close(together, torch.stack(apart), rtol=1e-4, atol=1e-4)
