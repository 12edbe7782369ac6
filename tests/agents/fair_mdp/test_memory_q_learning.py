"""Q-learning with books: exact values, imagined balances, and a bank played step by step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from longfair.agents.fair_mdp.memory_q_learning import (
    DENY,
    LEND,
    Books,
    MemoryQLearning,
    QLearning,
    applications,
)
from longfair.envs.loan_mdp import LoanMDPParams, LoanModel
from longfair.envs.loan_mdp.exact import LoanProblem
from longfair.errors import UsageError

STEPS = 3
SHORT = LoanProblem.of(LoanModel(replace(LoanMDPParams.fico(), episode_length=STEPS)))
WEIGHTS = 0.8 ** np.arange(STEPS) / SHORT.discounted_steps
BOOKS = Books(0.1, steepest=1.0, largest=50.0, levels=5)


def agent(memory: str, books: Books = BOOKS, seed: int = 0, **settings: float) -> MemoryQLearning:
    learning = QLearning(memory, **settings)  # type: ignore[arg-type]  # text of a parametrisation
    return MemoryQLearning(SHORT, WEIGHTS, books, learning, seed)


def always(learner: MemoryQLearning, action: int) -> MemoryQLearning:
    learner.values[:, :, action] = 1.0
    return learner


def exact_values(books: Books) -> np.ndarray:
    """Solve every level backwards, situation by situation."""
    world = applications(SHORT, WEIGHTS)
    values = np.zeros((len(world.repaid), books.levels, 2))
    for here in range(len(world.repaid) - 1, -1, -1):
        denied, defaulted, repaid = (
            values[row].max(axis=1) if row >= 0 else 0.0 for row in world.following[here]
        )
        booked, chance = world.booked[here], world.repaid[here]
        before = 0.5 * books.weight * books.balances**2
        after = 0.5 * books.weight * (books.balances + booked) ** 2
        values[here, :, DENY] = denied
        values[here, :, LEND] = (
            world.profit[here] - (after - before) + (1 - chance) * defaulted + chance * repaid
        )
    return values


def applications_end() -> np.ndarray:
    return applications(SHORT, WEIGHTS).following[:, 0]


def test_a_loan_books_its_weight_per_member_of_the_group() -> None:
    world = applications(SHORT, WEIGHTS)
    minority, majority = SHORT.applicants
    share = SHORT.group_probability
    cut = world.first[1]
    assert cut == len(minority.step)
    assert world.booked[:cut] == pytest.approx(-WEIGHTS[minority.step] / share[0])
    assert world.booked[cut:] == pytest.approx(WEIGHTS[majority.step] / share[1])
    assert world.profit[cut:] == pytest.approx(0.8**majority.step * majority.profit)
    # Nobody leaves the situations of their group.
    assert world.following[:cut].max() < cut
    assert world.following[cut:][world.following[cut:] >= 0].min() >= cut
    assert (world.following < 0).sum() == 3 * sum(
        int((group.step == STEPS - 1).sum()) for group in SHORT.applicants
    )


def test_fairqcm_finds_the_exact_values_of_every_balance() -> None:
    learner = agent("imagined", exploration=1.0)
    learner.learn(400_000)
    exact = exact_values(BOOKS)
    seen = (learner._values.updates[:, 0] > 500).all(axis=1)
    assert seen.sum() > 80
    assert learner.values[seen] == pytest.approx(exact[seen], abs=0.05)
    # What the last loan brings is not subject to chance.
    last = (learner._values.updates[:, 0, LEND] > 0) & (applications_end() < 0)
    assert last.sum() > 50
    assert learner.values[last] == pytest.approx(exact[last], abs=1e-12)
    # The price of a loan to the group that is ahead is the highest level's.
    assert np.ptp(exact[seen][:, :, LEND], axis=1).min() > 0.1


def test_without_imagination_only_the_balance_that_is_gets_learned() -> None:
    # With a tolerance of 1000 everything is written off: the balance is always 0.
    books = replace(BOOKS, tolerance=1000.0)
    real, imagined, blind = (agent(memory, books) for memory in ("real", "imagined", "none"))
    for learner in (real, imagined, blind):
        learner.learn(3000)
    assert not real.values[:, [0, 1, 3, 4]].any()
    assert real.values[:, 2].any()
    # From the same applicants all three learn the same about that balance, FairQCM more.
    assert np.array_equal(real.values[:, 2], imagined.values[:, 2])
    assert np.array_equal(real.values[:, 2], blind.values[:, 0])
    assert imagined.values[:, 0].any()


def test_balance_is_what_was_lent_less_what_is_written_off() -> None:
    learner = always(agent("imagined", replace(BOOKS, tolerance=0.0, largest=1e6)), LEND)
    learner.settings = QLearning(exploration=0.0)
    learner.learn(1)
    # One applicant gets three loans, whose weights add up to 1.
    assert np.isclose(abs(learner.balance), 1 / SHORT.group_probability).any()
    for tolerance, left in ((0.25, abs(learner.balance) - 0.25), (9.0, 0.0)):
        other = always(agent("imagined", replace(BOOKS, tolerance=tolerance, largest=1e6)), LEND)
        other.settings = QLearning(exploration=0.0)
        other.learn(1)
        assert abs(other.balance) == pytest.approx(left)


def test_balance_stays_within_its_limits() -> None:
    learner = agent("imagined", Books(0.0, steepest=1.0, largest=2.0, levels=3))
    world = applications(SHORT, WEIGHTS)
    learner.values[world.first[1] :, :, LEND] = 1.0
    readings = learner.readings(1000, np.random.default_rng(0))
    # Only the majority gets loans, so the balance goes to its upper end.
    assert readings[2] > 0.95
    assert readings.sum() == pytest.approx(1.0)


def play(learner: MemoryQLearning, applicants: int, seed: int) -> tuple[float, np.ndarray]:
    """Play a bank in plain Python: mean profit, and discounted lending rate of each group."""
    random = np.random.default_rng(seed)
    books, share = learner.books, SHORT.group_probability
    cut = len(SHORT.applicants[0].step)
    balance, profit, loans = 0.0, 0.0, np.zeros(2)
    for _ in range(applicants):
        number = int(random.random() < share[1])
        group = SHORT.applicants[number]
        here = random.choice(len(group.initial), p=group.initial)
        level = np.abs(books.balances - balance).argmin()
        for step in range(STEPS):
            deny, lend = learner.values[here + cut * number, level]
            if lend > deny:
                profit += 0.8**step * group.profit[here]
                loans[number] += WEIGHTS[step]
                balance += (2 * number - 1) * WEIGHTS[step] / share[number]
                repaid = random.random() < group.repaid[here]
                here = group.following[here, 2 if repaid else 1]
            else:
                here = group.following[here, 0]
        balance = np.sign(balance) * max(abs(balance) - books.tolerance, 0.0)
        balance = float(np.clip(balance, -books.largest, books.largest))
    return profit / applicants, loans / (applicants * share)


def test_outcome_is_that_of_a_bank_played_step_by_step() -> None:
    learner = agent("imagined")
    learner.learn(20_000)
    outcome = learner.outcome(learner.readings(200_000, np.random.default_rng(1)))
    profit, rates = play(learner, 20_000, 2)
    assert outcome.profit[0] == pytest.approx(profit, abs=0.005)
    assert outcome.rates(discounted=True)[0] == pytest.approx(rates, abs=0.01)


def test_trained_bank_keeps_the_tolerance_that_it_is_given() -> None:
    gaps, profits = [], []
    for tolerance in (0.15, 0.1, 0.05):
        books = Books(tolerance, steepest=1.0, largest=200.0)
        learner = agent("imagined", books, seed=3)
        learner.learn(50_000)
        outcome = learner.outcome(learner.readings(400_000, np.random.default_rng(4)))
        gaps.append(float(outcome.gap(discounted=True)[0]))
        profits.append(float(outcome.profit[0]))
    assert gaps == pytest.approx([0.15, 0.1, 0.05], abs=0.008)
    assert profits[0] > profits[1] > profits[2]


def test_agent_without_memory_has_one_policy() -> None:
    learner = agent("none")
    learner.learn(2000)
    assert learner.values.shape[1] == 1
    readings = learner.readings(1000, np.random.default_rng(0))
    assert len(readings) == BOOKS.levels
    assert learner.outcome(readings).profit == pytest.approx(learner.outcomes().profit)


def test_runs_depend_on_their_seed_only() -> None:
    first, second, other = (agent("imagined", seed=seed) for seed in (5, 5, 6))
    for learner in (first, second, other):
        learner.learn(500)
    assert np.array_equal(first.values, second.values)
    assert first.balance == second.balance
    assert not np.array_equal(first.values, other.values)


def test_what_is_saved_decides_alike_and_goes_on(tmp_path) -> None:
    learner = agent("real")
    learner.learn(500)
    learner.save(tmp_path / "bank.npz")
    fixed = {"problem": SHORT, "step_weights": WEIGHTS}
    again = MemoryQLearning.load(tmp_path / "bank.npz", **fixed, seed=1)
    assert np.array_equal(again.values, learner.values)
    assert (again.books, again.settings, again.balance) == (
        learner.books,
        learner.settings,
        learner.balance,
    )
    again.learn(10)
    assert not np.array_equal(again.values, learner.values)
    with pytest.raises(UsageError, match="give problem="):
        MemoryQLearning.load(tmp_path / "bank.npz")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tolerance": -0.1}, "tolerance=-0.1: give a finite number of at least 0"),
        ({"steepest": 0.0}, "steepest=0.0: give a finite number above 0"),
        ({"largest": -1.0}, "largest=-1.0: give a finite number above 0"),
        ({"levels": 4}, "levels=4: give an odd number from 3 on"),
    ],
)
def test_books_that_cannot_be_kept_are_refused(change: dict[str, float], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        replace(BOOKS, **change)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"memory": "imagine"}, "did you mean 'imagined'"),
        ({"exploration": 1.5}, "exploration=1.5"),
        ({"step_size_power": 0.5}, r"in \(0.5, 1\]"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        QLearning(**settings)  # type: ignore[arg-type]  # text of a parametrisation


def test_problems_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match=r"give \(3,\), one per decision"):
        applications(SHORT, np.ones(51))
    one = replace(SHORT, applicants=SHORT.applicants[:1])
    with pytest.raises(UsageError, match="1 groups: the balance compares two"):
        applications(one, WEIGHTS)
