"""Thin additions to the PPO family: separate clipping, several notions, regularised demand."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from longfair.agents.ppo import ElbertPO, FairPPO
from longfair.agents.ppo.demand_regularised import DemandRegularisedPO
from longfair.agents.ppo.elbert_po import advantage_weights
from longfair.agents.ppo.equalised_odds import SeveralNotionsPO
from longfair.agents.ppo.separate_clipping import SeparatelyClippedPolicy
from longfair.agents.ppo.strategy import Rollout
from longfair.envs.sb3 import BatchVecEnv
from longfair.errors import UsageError


def rollout(pairs: int, seed: int = 0) -> Rollout:
    rng = np.random.default_rng(seed)
    starts, ends = np.zeros((6, 2), np.bool_), np.zeros((6, 2), np.bool_)
    starts[0], ends[-1] = True, True
    demand = rng.integers(1, 9, size=(6, 2, pairs)).astype(float)
    return Rollout(
        rng.random((6, 2)), rng.random((6, 2, pairs)) * demand, demand, starts, ends, 0.9
    )


def totals(part: Any) -> Any:
    return part.sum(axis=(0, 1)) / 2


def test_one_notion_is_plain_elbert_po() -> None:
    data = rollout(3)
    plain = ElbertPO(alpha=3.0).plan(data)
    single = SeveralNotionsPO(alpha=3.0, notions=1).plan(data)
    torch.testing.assert_close(single.weights, plain.weights)


def test_every_notion_weighs_its_own_pairs() -> None:
    data = rollout(4)
    strategy = SeveralNotionsPO(alpha=3.0, notions=2)
    assert 1 + strategy.num_signals(4) == 4 * 2 + 1  # 4M + 1 critics for M = 2 groups
    supply, demand = totals(data.supply), totals(data.demand)
    first = advantage_weights(supply[:2], demand[:2], 3.0, 20.0)
    second = advantage_weights(supply[2:], demand[2:], 3.0, 20.0)
    expected = [1.0, *first[1:3], *second[1:3], *first[3:], *second[3:]]
    np.testing.assert_allclose(strategy.plan(data).weights, expected, rtol=1e-6)
    # Not the bias over all four pairs, which would compare true with false positive rates.
    assert not np.allclose(strategy.plan(data).weights, ElbertPO(alpha=3.0).plan(data).weights)


def test_pairs_must_divide_among_the_notions() -> None:
    with pytest.raises(UsageError, match="multiple of 2"):
        SeveralNotionsPO(notions=2).plan(rollout(3))


def test_demand_of_one_group_gains_weight() -> None:
    data = rollout(2)
    plain = ElbertPO(alpha=3.0).plan(data).weights
    added = DemandRegularisedPO(alpha=3.0, demand_weight=0.5).plan(data).weights - plain
    np.testing.assert_allclose(added, [0.0, 0.0, 0.0, 0.0, 0.5], atol=1e-7)
    nothing = DemandRegularisedPO(alpha=3.0, demand_weight=0.0).plan(data).weights
    torch.testing.assert_close(nothing, plain)
    with pytest.raises(UsageError, match="a group in"):
        DemandRegularisedPO(regularised_group=2).plan(data)


def model(policy: Any, name: str = "Attention") -> FairPPO:
    env = gymnasium.make_vec(f"longfair/{name}-v0", num_envs=2, episode_length=10)
    return FairPPO(
        policy, BatchVecEnv(env), ElbertPO(alpha=1.0), (8, 6), n_steps=10, batch_size=10, seed=0
    )


@pytest.mark.parametrize("name", ["Attention", "Epidemic"])
def test_each_network_is_clipped_on_its_own(name: str) -> None:
    learner = model(SeparatelyClippedPolicy, name)
    policy: Any = learner.policy
    gradient = policy.flat.values.grad
    gradient.copy_(torch.randn(len(gradient), generator=torch.Generator().manual_seed(0)))
    policy.networks.weights[0].grad[3] *= 1e-4
    policy.networks.weights[1].grad[3] *= 1e-4
    for head in (policy.networks.biases[0], policy.networks.biases[1]):
        head.grad[3] *= 1e-4
    policy.networks.value_weight.grad[2] *= 1e-4
    policy.networks.value_bias.grad[2] *= 1e-4
    before = gradient.clone()
    policy.flat.clip_gradient(0.5)
    norms = []
    for number in range(policy.networks.num_networks):
        parts = [p.grad[number] for p in (*policy.networks.weights, *policy.networks.biases)]
        if number == 0:
            parts += [policy.networks.policy_weight.grad, policy.networks.policy_bias.grad]
            parts += [policy.log_std.grad] if name == "Attention" else []
        else:
            heads = (policy.networks.value_weight, policy.networks.value_bias)
            parts += [p.grad[number - 1] for p in heads]
        norms.append(float(torch.cat([part.flatten() for part in parts]).norm()))
    assert norms[:3] == pytest.approx([0.5] * 3, rel=1e-4)
    assert norms[3] < 0.1  # a small gradient is left alone
    # Every entry was scaled down, or left as it was; none was missed.
    ratio = gradient / before
    assert (ratio <= 1.0 + 1e-6).all()
    assert (ratio > 0).all()
    assert sum(norm**2 for norm in norms) == pytest.approx(float(gradient.norm()) ** 2, rel=1e-4)


def test_clipping_changes_what_is_learned_and_nothing_else() -> None:
    joint, separate = model("FairMlpPolicy"), model(SeparatelyClippedPolicy)
    for first, second in zip(joint.policy.parameters(), separate.policy.parameters(), strict=True):
        torch.testing.assert_close(first, second)
    for learner in (joint, separate):
        learner.learn(40)
    moved = [learner.policy.networks.policy_weight.detach() for learner in (joint, separate)]
    assert not torch.equal(*moved)
