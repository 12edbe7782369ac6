"""Epidemic control: one vaccine per step on a network of people who infect each other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar

import networkx  # type: ignore[import-untyped]  # it ships no types
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from longfair.arrays import BoolArray, Float32Array, FloatArray, IntArray
from longfair.compiling import njit
from longfair.envs.vector import FairVectorEnv, Restart, Transition, checked_discrete
from longfair.errors import UsageError
from longfair.settings import (
    Count,
    EpisodeLength,
    Length,
    Natural,
    Probability,
    Range,
    checked,
    validate,
    validated,
)

SUSCEPTIBLE, INFECTED, RECOVERED = 0, 1, 2
"""Health states. A change always leads to the next one, and from the last to the first."""

_STATES = 3

Edges = tuple[tuple[int, int], ...]
States = NDArray[np.int8]
Places = NDArray[np.uintp]


@cache
def _karate_club() -> tuple[Edges, tuple[int, ...]]:
    """Return edges and groups of Zachary's karate club, split once by Girvan and Newman."""
    graph = networkx.karate_club_graph()
    return _edges(graph), _groups(graph, _first_split(graph))


@dataclass(frozen=True)
class EpidemicParams:
    """Everything that defines an epidemic control problem.

    The defaults are ELBERT's original environment, which is also F-PPO's. `from_graph` takes any
    other network. Nodes are numbered from 0, and a node is one person.
    """

    PRESETS: ClassVar[tuple[str, ...]] = ("elbert", "elbert_harder", "fppo")

    edges: tuple[tuple[Natural, Natural], ...] = field(default_factory=lambda: _karate_club()[0])
    """Pairs of nodes that can infect each other, each pair once; default Zachary's karate club."""
    group: Annotated[tuple[Natural, ...], Length(1)] = field(
        default_factory=lambda: _karate_club()[1]
    )
    """Group of every node; default the two communities that Girvan and Newman's method finds."""
    infection_probability: Probability = 0.5
    """Chance that one infected neighbour infects a susceptible node within a step."""
    recovery_probability: Probability = 0.005
    """Chance that an infected node recovers within a step."""
    relapse_probability: Probability = 0.0
    """Chance that a recovered node becomes susceptible again within a step."""
    initially_infected: tuple[Natural, ...] | None = (0,)
    """Nodes infected at the start; None draws one node anew in every episode."""
    burn_in: Natural = 1
    """Steps without vaccine between the first infection and the start of the episode."""
    episode_length: EpisodeLength = 20
    """Steps per episode."""

    def __post_init__(self) -> None:
        """Raise `UsageError` naming the first field that is out of range."""
        validate(self)
        if set(self.group) != set(range(max(self.group) + 1)):
            raise UsageError(
                f"group uses the numbers {sorted(set(self.group))}: use 0, 1, ... without gaps"
            )
        node = Annotated[int, Range(0, len(self.group) - 1)]
        checked("initially_infected", self.initially_infected, tuple[node, ...] | None)
        checked("edges", self.edges, tuple[tuple[node, node], ...])
        _require_simple(self.edges)

    @classmethod
    def elbert(cls) -> EpidemicParams:
        """ELBERT's original environment: whoever recovered or was vaccinated stays immune."""
        return cls()

    @classmethod
    def elbert_harder(cls) -> EpidemicParams:
        """ELBERT's harder environment: immunity is lost with probability 0.2 per step."""
        return cls(relapse_probability=0.2)

    @classmethod
    def fppo(cls) -> EpidemicParams:
        """F-PPO's environment, the same as ELBERT's original one."""
        return cls()

    @classmethod
    def from_graph(
        cls,
        graph: networkx.Graph,
        communities: Sequence[Collection[Any]] | None = None,
        **fields: Any,
    ) -> EpidemicParams:
        """Take the network, and the groups, from a graph.

        Parameters
        ----------
        graph
            An undirected graph without self-loops. Its nodes are numbered in the graph's order.
            Weights are ignored.
        communities
            The groups: collections of nodes of the graph that contain each node once, as the
            community functions of networkx return them. None splits the graph once by Girvan and
            Newman's method, which needs at least one edge.
        **fields
            Any other fields of the record.
        """
        if not isinstance(graph, networkx.Graph):
            raise UsageError(f"graph={graph!r}: give a graph of networkx")
        if graph.is_directed():
            raise UsageError("the graph is directed: give an undirected one")
        chosen = _first_split(graph) if communities is None else communities
        return cls(edges=_edges(graph), group=_groups(graph, chosen), **fields)

    def adjacency(self) -> NDArray[np.float32]:
        """Return the adjacency matrix (V, V), of zeros and ones."""
        matrix = np.zeros((len(self.group), len(self.group)), np.float32)
        if self.edges:
            left, right = np.array(self.edges).T
            matrix[left, right] = matrix[right, left] = 1.0
        return matrix


class EpidemicVectorEnv(FairVectorEnv):
    r"""Each step one person in a network can be vaccinated while an infection spreads.

    Each of V people is susceptible, infected or recovered. A step treats, then progresses.
    A vaccine makes a susceptible person recovered, which also means immune, and does nothing for
    anybody else. Then all people change together, judged by their states after the treatment: a
    susceptible person with :math:`k` infected neighbours is infected with probability
    :math:`1 - (1 - \tau)^k`, where :math:`\tau` is `infection_probability`; an infected one
    recovers with `recovery_probability`; a recovered one is susceptible again with
    `relapse_probability`, even if vaccinated in this very step.

    The default network is Zachary's karate club: 34 people and 78 ties. Its groups are the two
    communities of the first split of Girvan and Newman's method, with 15 and 19 people. They are
    not the two clubs that the data set records.

    ## Action space

    `Discrete(V + 1)`: the number of the person who gets the vaccine, or V for nobody.

    ## Observation space

    `Box(0, 1, (3 * V,))`: the one-hot state of every person (susceptible, infected, recovered),
    person by person. ELBERT's agents see this; the wrapper `VaccinationCounts` adds what
    F-PPO's agents see.

    ## Rewards

    The fraction of people who are not infected after the step.

    ## Starting state

    Everybody is susceptible but the people in `initially_infected`. Then `burn_in` steps without
    a vaccine. With the defaults person 0, who has 16 ties, is infected, and one burn-in step
    leaves 8.995 people infected on average.

    ## Episode end

    Truncated after `episode_length` steps. Never terminated.

    ## Information

    | Key | Shape | Meaning |
    | --- | --- | --- |
    | `supply` | (N, G) | 1 for the group of the person vaccinated, needed or not |
    | `demand` | (N, G) | people infected in this step |
    | `group_state` | (N, G, 3) | fractions of each group: susceptible, infected, recovered |
    | `health_counts` | (N, G, 3) | people of each group: susceptible, infected, recovered |
    | `vaccinated` | (N,) | the person who got the vaccine, V for nobody |
    | `wasted` | (N,) | true where a vaccine was spent on somebody not susceptible |

    Infections before the episode starts are not in the demand; renewed infections are.
    `health_counts`, like `group_state`, belongs to the moment of the returned observation: both are
    in the `info` of `reset` and in `final_info` as well.

    ## Arguments

    `preset`: `"elbert"` (default), `"elbert_harder"`, `"fppo"`. `params`: an `EpidemicParams`
    instead of a preset, for example `EpidemicParams.from_graph(graph, communities)`.
    `episode_length`: replaces that of the preset.

    ## Vectorised use

    `gymnasium.make_vec("longfair/Epidemic-v0", num_envs=256, preset="elbert_harder")` steps 256
    copies together; `gymnasium.make("longfair/Epidemic-v0")` is a batch of one.

    ## Version history

    v0: first version. Both papers' text starts from random infections, their code always from
    person 0; `initially_infected=None` draws the person. In ELBERT's text a treated person who
    is infected stays so; as in its code, such a person may still recover.
    """

    params_class = EpidemicParams

    @validated
    def __init__(
        self,
        num_envs: Count = 1,
        params: EpidemicParams | None = None,
        autoreset_mode: Restart = AutoresetMode.SAME_STEP,
    ) -> None:
        self.params = params = EpidemicParams.elbert() if params is None else params
        nodes, groups = len(params.group), max(params.group) + 1
        super().__init__(
            num_envs=num_envs,
            num_groups=groups,
            episode_length=params.episode_length,
            observation_space=Box(0.0, 1.0, (_STATES * nodes,), np.float32),
            action_space=Discrete(nodes + 1),
            autoreset_mode=autoreset_mode,
        )
        self._nodes = nodes
        adjacency = params.adjacency()
        degrees = adjacency.sum(axis=0, dtype=np.int64)
        # The neighbours of a person are those from `first[person]` up to `first[person + 1]`.
        # Compiled code need not ask whether an unsigned place counts from the end.
        self._neighbours = np.nonzero(adjacency)[1].astype(np.uintp)
        self._first = np.concatenate([[0], degrees.cumsum()]).astype(np.uintp)
        self._chance = _change_probabilities(params, int(degrees.max()))
        self._group = np.array(params.group)
        membership = np.eye(groups)[self._group]
        self._size = membership.sum(axis=0)
        self._vaccine = np.concatenate([membership, np.zeros((1, groups))])
        self._state = np.zeros((num_envs, nodes), np.int8)
        self._seen = np.zeros((num_envs, _STATES * nodes), np.float32)
        self._counts = np.zeros((num_envs, groups, _STATES))

    def _restart(self, copies: BoolArray) -> None:
        state = np.zeros((np.count_nonzero(copies), self._nodes), np.int8)
        if self.params.initially_infected is None:
            first = self.np_random.integers(self._nodes, size=len(state))
            state[np.arange(len(state)), first] = INFECTED
        else:
            state[:, list(self.params.initially_infected)] = INFECTED
        for _ in range(self.params.burn_in):
            state = self._progress(state)
        self._state[copies] = state
        self._describe()

    def _transition(self, actions: IntArray) -> Transition:
        treated, wasted = _treated(self._state, actions)
        self._state = self._progress(treated)
        self._describe()
        demand = _newly_infected(treated, self._state, self._group, self.num_groups)
        healthy = 1.0 - np.einsum("ng->n", self._counts[:, :, INFECTED]) / self._nodes
        supply = self._vaccine.take(actions, axis=0)
        facts = {"vaccinated": np.array(actions, dtype=np.int64), "wasted": wasted}
        return Transition(healthy, supply, demand, np.zeros(self.num_envs, np.bool_), facts)

    def _progress(self, state: States) -> States:
        """Return the states (M, V) one step after the states (M, V), without treatment."""
        draws = self.np_random.random(state.shape)
        later: States = _progressed(state, draws, self._first, self._neighbours, self._chance)
        return later

    def _describe(self) -> None:
        """Work out the observation and the counts, which describe the same moment."""
        self._seen, self._counts = _described(self._state, self._group, self.num_groups)

    def _observation(self) -> Any:
        # A new array after every change of state, so it can be given away.
        return self._seen

    def _group_state(self) -> FloatArray:
        shares: FloatArray = self._counts / self._size[:, None]
        return shares

    def _moment(self) -> dict[str, Any]:
        return super()._moment() | {"health_counts": self._counts.copy()}

    def _checked_actions(self, actions: Any) -> IntArray:
        return checked_discrete(actions, self.num_envs, self._nodes + 1)


def _change_probabilities(params: EpidemicParams, degree: int) -> FloatArray:
    """Return (3, degree + 1): chance to change, by state and infected neighbours."""
    chance = np.empty((_STATES, degree + 1))
    chance[SUSCEPTIBLE] = 1.0 - (1.0 - params.infection_probability) ** np.arange(degree + 1)
    chance[INFECTED] = params.recovery_probability
    chance[RECOVERED] = params.relapse_probability
    return chance


def _first_split(graph: networkx.Graph) -> Sequence[Collection[Any]]:
    """Return the communities after the first split of Girvan and Newman's method."""
    if graph.number_of_edges() == 0:
        raise UsageError("the graph has no edge to split it by: give communities")
    split: Sequence[Collection[Any]] = next(networkx.community.girvan_newman(graph))
    return split


def _edges(graph: networkx.Graph) -> Edges:
    """Return the edges as pairs of node numbers; parallel edges count once."""
    number = {node: position for position, node in enumerate(graph.nodes)}
    pairs = {tuple(sorted((number[left], number[right]))) for left, right in graph.edges()}
    return tuple((left, right) for left, right in sorted(pairs))


def _groups(graph: networkx.Graph, communities: Sequence[Collection[Any]]) -> tuple[int, ...]:
    """Return the group of every node in the graph's order."""
    group = {node: number for number, members in enumerate(communities) for node in members}
    total = sum(len(members) for members in communities)
    if set(group) != set(graph.nodes) or total != len(group):
        raise UsageError(
            f"communities with {total} members for {graph.number_of_nodes()} nodes: "
            "name every node of the graph exactly once"
        )
    return tuple(group[node] for node in graph.nodes)


def _require_simple(edges: Edges) -> None:
    """Raise `UsageError` when an edge joins a node to itself, or is there twice."""
    pairs = set()
    for position, edge in enumerate(edges):
        pair = frozenset(edge)
        if len(pair) == 1 or pair in pairs:
            raise UsageError(f"edges[{position}]={edge!r}: give each pair of different nodes once")
        pairs.add(pair)


# What happens to everybody, compiled: there are a few dozen people. -----------------------------


@njit(cache=True)
def _treated(states: States, actions: IntArray) -> tuple[States, BoolArray]:
    """Return the states (N, V) after the vaccine, and whether it was wasted (N,).

    The action V vaccinates nobody.
    """
    after, wasted = states.copy(), np.zeros(len(states), np.bool_)
    for copy, person in enumerate(actions):
        if person == states.shape[1]:
            continue
        if states[copy, person] == SUSCEPTIBLE:
            after[copy, person] = RECOVERED
        else:
            wasted[copy] = True
    return after, wasted


@njit(cache=True)
def _progressed(
    states: States, draws: FloatArray, first: Places, neighbours: Places, chance: FloatArray
) -> States:
    """Return the states (M, V) that follow.

    Parameters
    ----------
    states
        (M, V).
    draws
        (M, V), from the unit interval: a person changes whose draw is below the chance.
    first, neighbours
        (V + 1,) and (E,): the neighbours of everybody, and where each person's begin.
    chance
        (3, degree + 1): chance to change, by state and infected neighbours.
    """
    copies, people = states.shape
    later = states.copy()
    for copy in range(copies):
        for person in range(people):
            infected = 0
            for place in range(first[person], first[person + 1]):
                infected += states[copy, neighbours[place]] == INFECTED
            state = states[copy, person]
            if draws[copy, person] < chance[state, infected]:
                later[copy, person] = (state + 1) % _STATES
    return later


@njit(cache=True)
def _newly_infected(before: States, after: States, group: IntArray, groups: int) -> FloatArray:
    """Return how many of every group (N, G) are infected who were not."""
    copies, people = before.shape
    infections = np.zeros((copies, groups))
    for copy in range(copies):
        for person in range(people):
            if after[copy, person] == INFECTED and before[copy, person] != INFECTED:
                infections[copy, group[person]] += 1.0
    return infections


@njit(cache=True)
def _described(states: States, group: IntArray, groups: int) -> tuple[Float32Array, FloatArray]:
    """Return the states as ones and zeros (N, 3 * V), and the people of every group (N, G, 3)."""
    copies, people = states.shape
    seen = np.zeros((copies, _STATES * people), np.float32)
    counts = np.zeros((copies, groups, _STATES))
    for copy in range(copies):
        for person in range(people):
            state = states[copy, person]
            seen[copy, _STATES * person + state] = 1.0
            counts[copy, group[person], state] += 1.0
    return seen, counts
