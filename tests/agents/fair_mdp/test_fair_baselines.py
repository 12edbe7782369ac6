"""What the baselines look at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from longfair.agents.fair_mdp.baselines import ConstantPolicy, Constraint
from longfair.envs.loan_mdp import LoanMDPParams, LoanModel
from longfair.envs.loan_mdp.exact import LoanProblem, evaluate
from longfair.errors import UsageError

SHORT = LoanProblem.of(LoanModel(replace(LoanMDPParams.fico(), episode_length=6)))
PARAMS = LoanMDPParams.fico()


def lend_above(mean: float):  # type: ignore[no-untyped-def]  # a closure
    chances = []
    for group in SHORT.applicants:
        alpha, beta = group.beliefs.T
        chances.append((alpha / (alpha + beta) >= mean).astype(float)[None])
    return evaluate(SHORT, chances)


def test_optimistic_looks_at_the_first_step_only() -> None:
    outcome = lend_above(0.82)
    # Who is qualified gets a loan: masses of the qualified, and no difference among them.
    assert Constraint("first step", "dp").violation(outcome) == pytest.approx(
        0.7664 - 0.5605, abs=1e-4
    )
    assert Constraint("first step", "eo").violation(outcome) == pytest.approx(0.0, abs=1e-12)
    assert Constraint("episode", "eo").violation(outcome)[0] > 0.01


def test_constrained_looks_at_the_episode_and_race_blind_at_nothing() -> None:
    outcome = lend_above(0.9)
    plain, discounted = Constraint("episode"), Constraint("episode", discounted=True)
    assert plain.violation(outcome) == pytest.approx(outcome.gap())
    assert discounted.violation(outcome) == pytest.approx(outcome.gap(discounted=True))
    assert abs(plain.violation(outcome) - discounted.violation(outcome)) > 1e-3
    assert Constraint("nothing").violation(outcome).tolist() == [0.0]


def test_constant_policies_treat_everybody_alike() -> None:
    family = ConstantPolicy()
    assert family.size == 1
    start = family.start()
    assert start.mean == pytest.approx([0.5])
    assert start.deviation == pytest.approx([0.2])
    outcome = evaluate(SHORT, family.chances(SHORT, np.array([[0.3], [0.9]])))
    assert outcome.rates()[:, 0] == pytest.approx([0.3 * 6 / 5, 0.9 * 6 / 5])
    assert outcome.gap() == pytest.approx([0.0, 0.0], abs=1e-12)


def test_refuses_unknown_names() -> None:
    with pytest.raises(UsageError, match=r"looks_at='first': .*first step"):
        Constraint("first")
    with pytest.raises(UsageError, match=r"notion='ep': .*eo"):
        Constraint("episode", "ep")
