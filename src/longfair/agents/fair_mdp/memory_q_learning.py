r"""Q-learning with books: FairQCM on a problem that meets people one after the other.

FairQCM lets an agent remember what people received so far, rewards it for the change of a score of
that memory, and learns from every step also what an agent with another memory would have learned.
Here the applicants of the loan problem come one by one, and fairness is about the rates of groups,
which no single applicant has. So the memory is a **balance** :math:`m` that goes from applicant to
applicant. A loan at step :math:`t` to a member of group :math:`z` books

.. math::

    x = \pm\, w_t / p_z,

with plus for the second group, minus for the first, :math:`p_z` the share of the group and
:math:`w_t` what a loan counts in the lending rate. What an applicant adds to the balance is the
difference between the groups' lending rates on average. When the applicant leaves, the tolerance
:math:`\epsilon` is written off towards zero:

.. math::

    m \leftarrow \operatorname{sign}(m + \textstyle\sum x)\,
                 \max(|m + \textstyle\sum x| - \epsilon,\, 0).

What is left is the violation so far. Since the balance after n applicants is at least
:math:`|\sum x| - n \epsilon`, a balance that stays within bounds keeps the average difference
within the tolerance in the long run, *whatever the policy does*.

The score of a balance is :math:`-\tfrac12 c\, m^2`. The change that a loan makes to it is
:math:`-c\,(m x + \tfrac12 x^2)`: a loan has a **price** :math:`c\, m` that rises with the balance,
and the balance settles where the price makes the groups' difference equal to the tolerance. With
the violation itself as score the price would jump between two values.

The balance is read when an applicant arrives, rounded to one of several levels, and closed when
the applicant has left. Applicants behave in the same way whatever the books say, so every real step
can be learned for all levels at once (Equation 2 of the FairQCM paper), with an exact premise.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from longfair.agents.fair_mdp.applicants import LoanProblem
from longfair.agents.learning import saving
from longfair.agents.register import register
from longfair.arrays import FloatArray, IntArray
from longfair.errors import UsageError
from longfair.settings import (
    Axes,
    Count,
    Give,
    Natural,
    NonNegative,
    Positive,
    Probability,
    Range,
    Seed,
    validate,
    validated,
)

Memory = Literal["imagined", "real", "none"]
"""What an agent learns of the balance: every level from every step; the level that is; nothing."""

DENY, LEND = 0, 1


@dataclass(frozen=True)
class Books:
    """How the balance is kept, and what it is worth."""

    tolerance: NonNegative
    """Epsilon: written off with every applicant."""
    steepest: Positive
    """Price of a loan when the balance is at its largest."""
    largest: Positive = 500.0
    """Largest balance, in episodes of loans to everybody; what exceeds it is forgotten."""
    levels: Annotated[int, Range(3)] = 21
    """Balances that are told apart, from minus the largest to the largest; an odd number."""

    def __post_init__(self) -> None:
        """Raise `UsageError` for books that cannot be kept."""
        validate(self)
        if self.levels % 2 == 0:
            raise UsageError(f"levels={self.levels}: give an odd number from 3 on")

    @property
    def balances(self) -> FloatArray:
        """(K,): the balance that every level stands for."""
        return np.linspace(-self.largest, self.largest, self.levels)

    @property
    def weight(self) -> float:
        """Weight c of the score."""
        return self.steepest / self.largest

    @property
    def prices(self) -> FloatArray:
        """(K,): price of a loan at every level."""
        return self.weight * self.balances


@dataclass(frozen=True)
class QLearning:
    """Settings of Q-learning."""

    revision: ClassVar[int] = 1

    memory: Memory = "imagined"
    """`"imagined"`: FairQCM. `"real"`: the same memory, learned from what really was in it.
    `"none"`: the reward depends on the balance, but the agent does not see it."""
    exploration: Probability = 0.1
    """Chance of a random action."""
    step_size_power: Annotated[float, Range(0.5, 1.0, above=True)] = 0.7
    """The n-th update of a value moves it by the share :math:`n^{-power}` of its error.
    With a power of one half or less the values would not converge."""

    def __post_init__(self) -> None:
        """Raise `UsageError` for settings out of range."""
        validate(self)


class Applications(NamedTuple):
    """A loan problem with two groups as compiled code takes it; situations of both in one row."""

    following: IntArray
    """(S, 3): next situation after a denial, a default and a repayment; -1 after the last step."""
    repaid: FloatArray
    """(S,): chance that a loan is repaid."""
    profit: FloatArray
    """(S,): expected profit of a loan, discounted to the beginning of the episode."""
    booked: FloatArray
    """(S,): what a loan adds to the balance."""
    first: IntArray
    """(2,): first situation of each group."""
    starts: FloatArray
    """(2, F): cumulative probability of each group's first situations, 1 where there is none."""
    share: float
    """Probability of the second group."""


class Ledger(NamedTuple):
    """`Books` and `QLearning` as compiled code takes them."""

    balances: FloatArray
    weight: float
    tolerance: float
    imagine: bool
    exploration: float
    power: float


class Values(NamedTuple):
    """What is learned. K is 1 for an agent without memory."""

    actions: FloatArray
    """(S, K, 2): value of denying and of lending."""
    updates: IntArray
    """(S, K, 2): how often each was learned; all levels in column 0 if they are imagined."""


@register(
    label="Q-learning with a balance",
    place=170,
    loaded_by="longfair.agents.fair_mdp.memory_q_learning:MemoryQLearning",
    needs=(),
    actions=("discrete",),
    environments=("longfair/LoanMDP-v0",),
)
class MemoryQLearning(saving.Saved):
    """Q-learning on the loan problem with a balance as memory.

    Parameters
    ----------
    problem
        A loan problem with two groups. Only sampled applicants are used to learn.
    step_weights
        (H,): what a loan at every step counts in the lending rate.
    books
        How the balance is kept.
    settings
        How the agent learns.
    seed
        Seed of the applicants and of exploration.

    Attributes
    ----------
    balance
        The memory after the last applicant.

    Raises
    ------
    UsageError
        If the problem has not two groups or the weights do not fit it.
    """

    name: ClassVar[str] = "memory-q-learning"
    revision: ClassVar[int] = QLearning.revision

    @validated
    def __init__(
        self,
        problem: Annotated[LoanProblem, Give("a problem, as LoanMDP-v0 returns from exact()")],
        step_weights: Annotated[FloatArray, Axes(1)],
        books: Books,
        settings: QLearning | None = None,
        seed: Seed | None = None,
    ) -> None:
        self.problem = problem
        self.books = books
        self.settings = QLearning() if settings is None else settings
        self.balance = 0.0
        self._applications = applications(problem, step_weights)
        self._random = np.random.default_rng(seed)
        situations = len(self._applications.repaid)
        rows = 1 if self.settings.memory == "none" else books.levels
        shape = (situations, rows, 2)
        self._values = Values(np.zeros(shape), np.zeros(shape, np.int64))

    @property
    def values(self) -> FloatArray:
        """Values (S, K, 2) of denying and lending, the first group's situations first."""
        return self._values.actions

    @validated
    def learn(self, applicants: Natural) -> None:
        """Meet applicants one after the other, and learn from every step."""
        from longfair.agents.fair_mdp.compiled_books import meet

        self.balance = meet(
            self._applications,
            self._ledger(),
            self._values,
            np.zeros(self.books.levels, np.int64),
            self.balance,
            applicants,
            True,
            self._random,
        )

    @validated
    def readings(self, applicants: Count, generator: np.random.Generator) -> FloatArray:
        """Return how often each level (K,) is read by a bank that has stopped learning.

        Parameters
        ----------
        applicants
            How many are counted. As many as a quarter of them come before: the balance starts at
            zero and needs time to settle.
        generator
            Source of chance.
        """
        from longfair.agents.fair_mdp.compiled_books import meet

        counts = np.zeros(self.books.levels, np.int64)
        frozen = self._ledger()._replace(exploration=0.0)
        balance = 0.0
        for number in (applicants // 4, applicants):
            counts[:] = 0
            balance = meet(
                self._applications, frozen, self._values, counts, balance, number, False, generator
            )
        return np.asarray(counts / counts.sum())

    def outcomes(self) -> Any:
        """Evaluate what the agent does at each level (K,) exactly. It lends where that is better.

        A policy of one level does not depend on what happens: its balance stays as it is.
        """
        lends = (self.values[:, :, LEND] > self.values[:, :, DENY]).astype(np.float64).T
        cut = int(self._applications.first[1])
        return self.problem.evaluate([lends[:, :cut], lends[:, cut:]])

    def outcome(self, readings: FloatArray) -> Any:
        """Evaluate the agent in the long run.

        Parameters
        ----------
        readings
            (K,): how often each level is read; see `readings`. The group and the fate of an
            applicant do not depend on the level, so the values of the levels are averaged. An agent
            without memory has the same values at every level.
        """
        levels = self.outcomes()
        share = readings if len(levels.sums) > 1 else np.ones(1)
        return levels.mixed(share)

    def _to_saved(self) -> tuple[saving.Arrays, saving.Settings]:
        settings = {
            "books": asdict(self.books),
            "settings": asdict(self.settings),
            "balance": float(self.balance),
        }
        return self._values._asdict(), settings

    @classmethod
    def _from_saved(
        cls, arrays: saving.Arrays, settings: saving.Settings, env: Any, /, **kwargs: Any
    ) -> Self:
        """Return the agent, given the same `problem` and `step_weights` again."""
        if env is not None or not {"problem", "step_weights"} <= kwargs.keys():
            raise UsageError("it plays a loan problem: give problem= and step_weights=, and no env")
        records = {
            "books": Books(**settings["books"]),
            "settings": QLearning(**settings["settings"]),
        }
        agent = cls(**{**records, **kwargs})
        saving.fill(agent._values._asdict(), arrays)
        agent.balance = settings["balance"]
        return agent

    def _ledger(self) -> Ledger:
        return Ledger(
            self.books.balances,
            self.books.weight,
            self.books.tolerance,
            self.settings.memory == "imagined",
            self.settings.exploration,
            self.settings.step_size_power,
        )


def applications(problem: LoanProblem, step_weights: FloatArray) -> Applications:
    """Write a loan problem of two groups down for compiled code.

    Parameters
    ----------
    problem
        The problem.
    step_weights
        (H,): what a loan at every step counts in the lending rate.

    Raises
    ------
    UsageError
        If there are not two groups or the weights do not fit.
    """
    if len(problem.applicants) != 2:
        raise UsageError(f"{len(problem.applicants)} groups: the balance compares two")
    if np.shape(step_weights) != (problem.decisions,):
        raise UsageError(
            f"step_weights have shape {np.shape(step_weights)}: give ({problem.decisions},), "
            "one per decision"
        )
    sizes = [len(group.step) for group in problem.applicants]
    first = np.array([0, sizes[0]])
    following = [
        np.where(group.following == size, -1, group.following + offset)
        for group, size, offset in zip(problem.applicants, sizes, first, strict=True)
    ]
    signs = np.array([-1.0, 1.0]) / problem.group_probability
    starts = np.ones((2, max(len(group.initial) for group in problem.applicants)))
    for row, group in zip(starts, problem.applicants, strict=True):
        # The last entry stays 1, so that rounding leaves nobody without a beginning.
        row[: len(group.initial) - 1] = np.cumsum(group.initial)[:-1]
    return Applications(
        following=np.concatenate(following),
        repaid=np.concatenate([group.repaid for group in problem.applicants]),
        profit=np.concatenate(
            [problem.discount**group.step * group.profit for group in problem.applicants]
        ),
        booked=np.concatenate(
            [
                sign * step_weights[group.step]
                for sign, group in zip(signs, problem.applicants, strict=True)
            ]
        ),
        first=first,
        starts=starts,
        share=float(problem.group_probability[1]),
    )
