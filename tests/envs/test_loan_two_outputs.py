"""Values of policies whose two outputs need not sum to one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from longfair.envs.loan_mdp import LoanMDPParams, LoanModel
from longfair.envs.loan_mdp.exact import LoanProblem, evaluate
from longfair.envs.loan_mdp.two_outputs import evaluate_outputs
from longfair.errors import UsageError

MODEL = LoanModel(replace(LoanMDPParams.fico(), episode_length=6))
SHORT = LoanProblem.of(MODEL)


def drawn() -> list[np.ndarray]:
    generator = np.random.default_rng(1)
    return [generator.random((3, len(group.beliefs))) for group in SHORT.applicants]


def test_outputs_that_sum_to_one_are_worth_what_a_chance_is() -> None:
    chances = drawn()
    pairs = [np.stack([1.0 - chance, chance], axis=2) for chance in chances]
    for problem in (SHORT, LoanProblem.of(MODEL, 4)):
        few = [pair[:, : len(g.beliefs)] for pair, g in zip(pairs, problem.applicants, strict=True)]
        wanted = evaluate(problem, [pair[:, :, 1] for pair in few])
        np.testing.assert_allclose(
            evaluate_outputs(problem, few).sums, wanted.sums, rtol=1e-12, atol=1e-13
        )


def test_more_than_one_multiplies_what_comes_after_and_the_offset() -> None:
    """Who never lends earns the offset of every step; each step multiplies by the excess."""
    excess = 1e-3
    outputs = [np.zeros((1, len(group.beliefs), 2)) for group in SHORT.applicants]
    for pair in outputs:
        pair[:, :, 0] = 1.0 - excess
    found = evaluate_outputs(SHORT, outputs)
    factors = (1.0 - excess) ** np.arange(1, 7) * SHORT.discount ** np.arange(6)
    assert found.reward[0] == pytest.approx(SHORT.reward_offset * factors.sum(), rel=1e-12)
    assert found.gap()[0] == found.first_gap()[0] == 0.0


def test_says_what_is_wrong() -> None:
    chances = drawn()
    with pytest.raises(UsageError, match=r"give \(policies, \d+, 2\)"):
        evaluate_outputs(SHORT, chances)
    with pytest.raises(UsageError, match="give probabilities"):
        evaluate_outputs(SHORT, [np.stack([c, c + 1.0], axis=2) for c in chances])
    with pytest.raises(UsageError, match="outputs"):
        evaluate_outputs(SHORT, [])
