"""Networks that act without torch: their outputs, and the choices drawn from them."""

from __future__ import annotations

import numpy as np
import pytest

from longfair.agents.learning.compiled_actor import choices, policy_outputs


def test_policies_of_a_stack_see_their_own_observations() -> None:
    rng = np.random.default_rng(0)
    weights = tuple(rng.normal(size=s).astype(np.float32) for s in ((3, 4, 8), (3, 8, 2)))
    biases = tuple(rng.normal(size=s).astype(np.float32) for s in ((3, 1, 8), (3, 1, 2)))
    observations = rng.normal(size=(3, 6, 4)).astype(np.float32)
    hidden = np.maximum(observations @ weights[0] + biases[0], 0.0)
    np.testing.assert_allclose(
        policy_outputs(weights, biases, observations), hidden @ weights[1] + biases[1], rtol=1e-4
    )


@pytest.mark.parametrize("actions", [2, 5])
def test_choices_follow_the_probabilities(actions: int) -> None:
    logits = np.random.default_rng(0).normal(size=actions).astype(np.float32) + 300.0
    probability = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    # Draws on a grid: the share of every choice is its probability, up to the grid's width.
    grid = (np.arange(100_000) + 0.5) / 100_000
    chosen = choices(np.tile(logits, (len(grid), 1)), grid)
    np.testing.assert_allclose(np.bincount(chosen) / len(grid), probability, atol=2e-5)


def test_an_action_without_probability_is_never_chosen() -> None:
    logits = np.array([[-1e9, 0.0, -1e9]], np.float32).repeat(3, axis=0)
    assert choices(logits, np.array([0.0, 0.5, np.nextafter(1.0, 0.0)])).tolist() == [1, 1, 1]
