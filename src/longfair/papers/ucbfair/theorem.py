r"""Theorem 3.3 (Yin et al. 2023) where its assumptions hold, and why not in the population.

The problem has two states and one action :math:`a \in [0, 1]`, which mixes two ways to act:

.. math::

    \phi(s, a) = e_s \otimes (1 - a, a), \qquad
    P(s' | s, a) = (1 - a) \, P_0(s' | s) + a \, P_1(s' | s),

and rewards and fairness alike. So everything is linear in :math:`\phi`, whose length is at most 1
and which is Lipschitz with :math:`\rho = \sqrt{2}`. Playing :math:`a` is as good as tossing a coin
between 0 and 1, so the constrained optimum is a linear program, and what a policy is worth is
worked out exactly: regret and distortion have no noise of evaluation in them. The theorem wants
far more cells than these problems have. An action drawn across a cell is worth its centre here, so
more of them would change little.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from longfair.agents.ucbfair.cells import Cells
from longfair.agents.ucbfair.memory import Episodes, PerStepMemory
from longfair.agents.ucbfair.settings import FAILURE, LUCBFairSettings
from longfair.arrays import FloatArray
from longfair.envs.population import PopulationModel, PopulationParams
from longfair.errors import UsageError
from longfair.papers.ucbfair.measures import growth
from longfair.runs.claims import CheckResult


@dataclass(frozen=True)
class MixtureProblem:
    """A decision problem whose action mixes two ways to act."""

    transition: FloatArray
    """(S, 2, S): chances of the next state, for the actions 0 and 1."""
    signals: FloatArray
    """(2, S, 2): reward and fairness."""
    start: FloatArray
    """(S,)."""
    horizon: int
    wanted: float
    """What the fairness of an episode has to add up to."""

    def best(self) -> tuple[float, float]:
        """Return the reward of the best policy that is fair enough, and the constraint's price."""
        return self._program(self.signals[0], self.wanted)

    def most_fair(self) -> float:
        """Return the largest fairness of any policy."""
        return self._program(self.signals[1], 0.0)[0]

    def worth(self, actions: FloatArray) -> FloatArray:
        """Return reward and fairness (2, S) of an episode, by the state in which it starts.

        Parameters
        ----------
        actions
            (H, S): mean action at every step in every state.
        """
        later = np.zeros((2, len(self.start)))
        for mixed in actions[::-1]:
            mix = np.stack([1.0 - mixed, mixed], axis=-1)
            following = np.einsum("sa,sat->st", mix, self.transition)
            later = (self.signals * mix).sum(axis=-1) + later @ following.T
        return later

    def _program(self, objective: FloatArray, wanted: float) -> tuple[float, float]:
        """Maximise a sum over an episode such that the fairness is as wanted."""
        states, steps = len(self.start), self.horizon
        shape = (steps, states, 2)
        flow = np.zeros((steps, states, *shape))
        for step in range(steps):
            for state in range(states):
                flow[step, state, step, state] = 1.0
                if step:
                    flow[step, state, step - 1] = -self.transition[:, :, state]
        inflow = np.zeros((steps, states))
        inflow[0] = self.start
        found = linprog(
            -np.tile(objective, (steps, 1, 1)).ravel(),
            A_ub=-np.tile(self.signals[1], (steps, 1, 1)).reshape(1, -1),
            b_ub=[-wanted],
            A_eq=flow.reshape(steps * states, -1),
            b_eq=inflow.ravel(),
        )
        if found.status != 0:
            raise UsageError(f"wanted={wanted:g}: no policy is that fair; want less")
        return -float(found.fun), -float(found.ineqlin.marginals[0])


class MixtureFeatures:
    """The features in which a mixture problem is linear. States are numbers.

    Parameters
    ----------
    states
        Number of states.
    """

    def __init__(self, states: int) -> None:
        self.size = 2 * states

    def __call__(self, states: FloatArray, actions: FloatArray) -> FloatArray:
        """Return features (..., 2 S) of states (..., 1) and actions (..., 1)."""
        chosen = np.arange(self.size // 2) == states
        mix = np.concatenate([1.0 - actions, actions], axis=-1)
        features: FloatArray = (chosen[..., :, None] * mix[..., None, :]).reshape(
            *np.broadcast_shapes(states.shape[:-1], actions.shape[:-1]), self.size
        )
        return features

    def to_saved(self) -> dict[str, NDArray[np.float64]]:
        """Return nothing: the number of states says all."""
        return {}


def example(horizon: int = 4) -> MixtureProblem:
    """Return a problem in which acting pays now, is unfair, and leads to the worse state."""
    return MixtureProblem(
        transition=np.array([[[0.2, 0.8], [0.7, 0.3]], [[0.1, 0.9], [0.6, 0.4]]]),
        signals=np.array([[[0.1, 0.5], [0.3, 1.0]], [[1.0, 0.3], [1.0, 0.1]]]),
        start=np.array([0.5, 0.5]),
        horizon=horizon,
        wanted=0.6 * horizon,
    )


def one_step(wanted: float) -> MixtureProblem:
    """Return a problem of one step in one state: acting brings 1, and not acting is fair.

    It has so little to learn that the bounds say something after a few thousand episodes.
    """
    return MixtureProblem(
        transition=np.ones((1, 2, 1)),
        signals=np.array([[[0.0, 1.0]], [[1.0, 0.0]]]),
        start=np.ones(1),
        horizon=1,
        wanted=wanted,
    )


class Learned(NamedTuple):
    """What every episode of a run lost, exactly (Equation 2); Equation 3 adds the episodes up."""

    regret: FloatArray
    """(K,): reward of the best policy less that of the episode's policy."""
    distortion: FloatArray
    """(K,): fairness that is wanted less that of the episode's policy."""
    price: FloatArray
    """(K,)."""


def run(problem: MixtureProblem, settings: LUCBFairSettings, seed: int) -> Learned:
    """Let L-UCBFair play a mixture problem, one episode after the other.

    Parameters
    ----------
    problem
        The problem.
    settings
        Settings; `cells` is the number of cells of the one action.
    seed
        Seed of the problem's chance and of the agent's.
    """
    states, horizon = len(problem.start), problem.horizon
    features, cells = MixtureFeatures(states), Cells(settings.cells, actions=1)
    # The theorem's numbers count the cells, which are the square of `cells` for two actions.
    chosen = replace(settings, cells=max(1, round(np.sqrt(len(cells)))))
    chosen = replace(chosen.resolved(horizon, features.size), cells=settings.cells)
    memory = PerStepMemory(chosen, features, cells, horizon)
    rng = np.random.default_rng(seed)
    best, price = problem.best()[0], 0.0
    lost = np.empty((3, settings.episodes))
    everywhere = np.arange(states, dtype=np.float64)[:, None]
    centres = memory.at_centres(everywhere)
    for episode in range(settings.episodes):
        policies = [memory.policy(step, centres, price) for step in range(horizon)]
        chances, promised = (list(part) for part in zip(*policies, strict=True))
        means = np.array([chance @ cells.centres[:, 0] for chance in chances])
        reward, fairness = problem.worth(means) @ problem.start
        lost[:, episode] = best - reward, problem.wanted - fairness, price
        played = _episode(problem, cells, chances, promised, rng)
        memory.add(played)
        price = chosen.raised(price, problem.wanted - played.promised[0, 1, 0])
        memory.fit(price)
    return Learned(*lost)


def _episode(
    problem: MixtureProblem,
    cells: Cells,
    chances: list[FloatArray],
    promised: list[FloatArray],
    rng: np.random.Generator,
) -> Episodes:
    """Play one episode with chances (S, M) and values (2, S) of every step."""
    count, horizon = len(problem.start), problem.horizon
    state = int(rng.choice(count, p=problem.start))
    states, actions = np.empty((2, horizon, 1, 1))
    signals, values = np.empty((2, horizon, 2, 1))
    for step in range(horizon):
        cell = rng.choice(len(cells), p=chances[step][state], size=1)
        action = cells.within(cell, rng.random((1, 1)))
        mix = np.array([1.0 - action[0, 0], action[0, 0]])
        states[step], actions[step] = state, action
        signals[step, :, 0] = problem.signals[:, state] @ mix
        values[step, :, 0] = promised[step][:, state]
        state = int(rng.choice(count, p=mix @ problem.transition[state]))
    return Episodes(states, actions, signals, values, np.full((1, 1), float(state)))


class Bounds(NamedTuple):
    """Regret and distortion at most (Equation 5, of Theorem 3.3), with 1 for its constant."""

    regret: float
    distortion: float


def bounds(episodes: int, horizon: int, size: int, cells: int, largest_price: float) -> Bounds:
    """Return the theorem's bounds after so many episodes."""
    confidence = np.log(np.log(cells) * 4 * size * horizon * episodes / FAILURE)
    learning = confidence * horizon**2 * size**1.5
    root = np.sqrt(episodes)
    return Bounds(
        float((learning + (largest_price + 1.0) * horizon) * root),
        float((1.0 + largest_price) * learning / largest_price * root),
    )


# Checks ------------------------------------------------------------------------------------------

EPISODES, CELLS, SEEDS = 2000, 9, 2

ONE_STEP_EPISODES = 12_500
ONE_STEP = {"regret": 0.05, "distortion": 0.95}
"""What a bound is about, and the fairness wanted with which actions at random break it."""

AT_RANDOM = 0.5
"""Mean action of whoever learns nothing and draws it evenly."""

BONUSES = (0.05, 0.5)
"""Bonuses with which growth is told beside the theorem's own."""


def bounds_hold() -> CheckResult:
    """Theorem 3.3: regret and distortion stay below its bounds.

    The bounds are held against the theorem's own numbers, with 1 for the constant that it leaves
    open, at every episode. In the problem of four steps no run of this length could break them. So
    they are held against two problems of one step, too: whoever learns nothing and acts at random
    breaks the bound of the regret in one of them, and that of the distortion in the other.
    It is also told, and not judged, how fast regret grows with smaller bonuses.

    Returns
    -------
    CheckResult
        Computed: price (of the constraint), largest_price, regret_share and distortion_share (of
        their bounds, the largest), informative_from (episodes from which the bound of the regret
        says more than that an episode loses at most all it has), by bonus the exponents
        regret_growth and distortion_growth, one_step_regret and one_step_distortion (shares of the
        bounds in the problems of one step, the largest), and random_regret and random_distortion
        (shares that acting at random reaches).
    """
    return held_against_bounds(EPISODES, ONE_STEP_EPISODES, SEEDS)


def held_against_bounds(episodes: int, one_step_episodes: int, seeds: int) -> CheckResult:
    """Run the learner for so many episodes; see `bounds_hold`."""
    problem = example()
    price = problem.best()[1]
    literal, limits = literally(problem, episodes)
    size, largest = MixtureFeatures(len(problem.start)).size, literal.largest_price
    share = _shares(problem, literal, limits, seeds)
    telling = one_step_shares(one_step_episodes, seeds)
    computed = {
        "price": price,
        "largest_price": largest,
        "regret_share": float(share[0]),
        "distortion_share": float(share[1]),
        "informative_from": float(informative_from(problem.horizon, size, CELLS, largest)),
    }
    for bonus in BONUSES:
        eager = [run(problem, replace(literal, bonus=bonus), seed) for seed in range(seeds)]
        for name in ("regret", "distortion"):
            rates = [growth(getattr(lost, name)) for lost in eager]
            computed[f"{name}_growth_{bonus:g}"] = float(np.mean(rates))
    computed |= telling
    detail = (
        f"With the theorem's numbers the regret reaches {share[0]:.2g} and the distortion "
        f"{share[1]:.2g} of their bounds, which say nothing before episode "
        f"{computed['informative_from']:.3g}; in problems of one step they reach "
        f"{telling['one_step_regret']:.2g} and {telling['one_step_distortion']:.2g}, where acting "
        f"at random would reach {telling['random_regret']:.3g} and "
        f"{telling['random_distortion']:.3g}; with bonuses of 0.05 and 0.5 "
        f"the regret grows with exponents {computed['regret_growth_0.05']:.2f} and "
        f"{computed['regret_growth_0.5']:.2f}."
    )
    held = max(*share, telling["one_step_regret"], telling["one_step_distortion"]) <= 1.0
    can_fail = min(telling["random_regret"], telling["random_distortion"]) > 1.0
    passed = bool(price <= largest and held and can_fail)
    return CheckResult(passed, computed, detail, instances=seeds * (1 + len(ONE_STEP)))


def one_step_shares(episodes: int, seeds: int) -> dict[str, float]:
    """Return the parts of `bounds_hold` that are about the problems of one step."""
    found, shares = {}, []
    for number, (signal, wanted) in enumerate(ONE_STEP.items()):
        problem = one_step(wanted)
        literal, limits = literally(problem, episodes)
        shares.append(_shares(problem, literal, limits, seeds))
        reward, fairness = problem.worth(np.full((1, 1), AT_RANDOM))[:, 0]
        lost = (problem.best()[0] - reward, wanted - fairness)[number]
        found[f"random_{signal}"] = float(episodes * lost / limits[-1, number])
    largest = np.max(shares, axis=0)
    return found | {
        f"one_step_{signal}": float(largest[number]) for number, signal in enumerate(ONE_STEP)
    }


def _shares(
    problem: MixtureProblem, literal: LUCBFairSettings, limits: FloatArray, seeds: int
) -> FloatArray:
    """Return the largest shares (2,) of their bounds (K, 2) that regret and distortion reach."""
    shares = []
    for seed in range(seeds):
        lost = run(problem, literal, seed)
        sums = np.cumsum([lost.regret, lost.distortion], axis=1).T
        shares.append((sums / limits).max(axis=0))
    largest: FloatArray = np.max(shares, axis=0)
    return largest


def literally(problem: MixtureProblem, episodes: int) -> tuple[LUCBFairSettings, FloatArray]:
    """Return the theorem's own numbers, and its bounds (K, 2) after every episode."""
    largest = 2.0 * problem.horizon / (problem.most_fair() - problem.wanted)
    literal = replace(
        LUCBFairSettings.as_published(episodes=episodes, cells=CELLS), largest_price=largest
    )
    size = MixtureFeatures(len(problem.start)).size
    limits = [bounds(k + 1, problem.horizon, size, CELLS, largest) for k in range(episodes)]
    return literal, np.array(limits)


def informative_from(horizon: int, size: int, cells: int, largest_price: float) -> int:
    """Return the number of episodes, to a tenth, from which the regret's bound is below K H."""
    episodes = 1.0
    while bounds(int(episodes), horizon, size, cells, largest_price).regret >= episodes * horizon:
        episodes *= 1.1
    return int(episodes)


def population_is_not_linear() -> CheckResult:
    """Assumption 3.1 fails on the population, whatever the features.

    In a linear problem all distributions of the next state lie in a space of d dimensions. The
    population is deterministic: its next states are points, and distributions at different points
    are linearly independent. So d would have to be at least the number of different next states,
    of which there are as many as one tries actions.

    Returns
    -------
    CheckResult
        Computed: actions (tried in one state), next_states (the different ones).
    """
    model = PopulationModel(PopulationParams.synthetic())
    first, second = np.meshgrid(np.linspace(0, 1, 200), np.linspace(0, 1, 200))
    actions = np.stack([first, second], axis=-1).reshape(-1, 2)
    following = np.unique(model.outcome([0.4, 0.6], actions).next_rates, axis=0)
    computed = {"actions": float(len(actions)), "next_states": float(len(following))}
    detail = (
        "{actions:.0f} actions in one state lead to {next_states:.0f} different states, so no "
        "feature map with fewer dimensions makes the population linear."
    )
    return CheckResult(len(following) == len(actions), computed, detail.format(**computed))
