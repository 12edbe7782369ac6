"""What F-PPO's training and massaging know: short-term and long-term gaps in every step's `info`.

They are how Hu et al. (2024) measure Definition 1 and Definition 2 in their three worlds.

All three wrappers add for the step just made, (N,) each:

- `short_term_gap`, `short_term_gap_before`: how unequally the groups were treated of late;
- `long_term_gap_change`: by how much the step changed the gap between the groups' states. As coded
  it is 0 for the last step of an episode, but for the epidemic.

And for the present moment what the massaging of their environment reads. A gap is 0 at the start of
an episode, where nothing has happened yet, but for the long-term gap of the epidemic.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from longfair.arrays import FloatArray
from longfair.compiling import njit
from longfair.envs.attention import AttentionVectorEnv
from longfair.envs.epidemic import EpidemicVectorEnv
from longfair.envs.lending import LendingVectorEnv
from longfair.envs.vector import Batch
from longfair.envs.wrappers import Boundaries, Window, WindowLength, halves
from longfair.errors import UsageError
from longfair.metrics.sinkhorn import sinkhorn_distances
from longfair.settings import checked

Distance = Literal["scores", "sinkhorn", "sorted-counts"]


class Gaps(VectorWrapper[Any, Any, Any, Any]):
    """Tell the gaps in `info`.

    Parameters
    ----------
    env
        A batch of the environment that the subclass is about.
    as_coded
        Take the gaps as the authors' code does; see the subclass.
    """

    revision: ClassVar[int] = 1
    only_tells: ClassVar[bool] = True
    environment: ClassVar[type[Any]]
    last_change_counts: ClassVar[bool] = False
    """Whether the authors' code knows by how much an episode's last step changed the long-term gap.

    It looks after the environment has started anew, and forgets the change then, or does not.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], as_coded: bool) -> None:
        super().__init__(checked("env", env, Batch))
        self.as_coded = checked("as_coded", as_coded, bool)
        if not isinstance(env.unwrapped, self.environment):
            raise UsageError(f"{env}: give a batch of {self.environment.__name__}")
        self._boundaries = Boundaries(env)
        self._short, self._long = np.zeros((2, env.num_envs))

    @abstractmethod
    def _forget(self, copies: Any) -> None:
        """Start an episode in some copies."""

    @abstractmethod
    def _remember(self, info: dict[str, Any]) -> None:
        """Take in the `info` of one step."""

    @abstractmethod
    def _short_term_gap(self) -> FloatArray:
        """Return the gap (N,) of what is remembered."""

    @abstractmethod
    def _long_term_gap(self, moment: dict[str, Any]) -> FloatArray:
        """Return the gap (N,) in a moment."""

    @abstractmethod
    def _known(self, observation: Any, info: dict[str, Any]) -> dict[str, Any]:
        """Return what massaging may read now."""

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start episodes; see `FairVectorEnv.reset`."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._begin(self._boundaries.reset(options), info)
        return observation, info | self._known(observation, info)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take one step; see `FairVectorEnv.step`."""
        observation, reward, terminated, truncated, info = self.env.step(actions)
        self._remember(info)
        short, long = self._short_term_gap(), self._long_term_gap(_reached(info))
        info["short_term_gap"], info["short_term_gap_before"] = short, self._short
        info["long_term_gap_change"] = long - self._long
        self._short, self._long = short.copy(), long
        ended = terminated | truncated
        if self.as_coded and not self.last_change_counts:
            info["long_term_gap_change"][ended] = 0.0
        restarted = self._boundaries.restarted()
        if restarted is not None:
            for fact in ("short_term_gap", "short_term_gap_before", "long_term_gap_change"):
                info[fact][restarted] = 0.0
        begun = self._boundaries.step(ended, info)
        if begun is not None:
            self._begin(begun, info)
        return observation, reward, terminated, truncated, info | self._known(observation, info)

    def _begin(self, copies: Any, info: dict[str, Any]) -> None:
        self._forget(copies)
        self._short[copies] = 0.0
        self._long[copies] = self._long_term_gap(info)[copies]


def _reached(info: dict[str, Any]) -> dict[str, Any]:
    """Return the moment that a step led to, also where the next episode has begun."""
    if "final_info" not in info:
        return info
    ended, final = info["_final_info"], info["final_info"]
    return {
        name: np.where(ended.reshape(-1, *(1,) * (info[name].ndim - 1)), final[name], info[name])
        for name in final
        if not name.startswith("_")
    }


class LendingGaps(Gaps):
    """True positive rates and credit scores of the last applicants.

    The long-term gap is the 1-Wasserstein distance between the groups' shares of scores in the
    window (0 while a group has none), in scores. The short-term gap is that of the true positive
    rates, 0 where nobody would have repaid. As coded they are over one applicant more.

    The authors' code takes the counts of the scores for samples, so that its distance does not see
    which score a count belongs to: `"sinkhorn"` is that distance as their library answers it,
    `"sorted-counts"` is the same without the library's smoothing.

    For massaging: `window_supply` and `window_demand` (N, G), true positives and positives of the
    window without the present applicant, and `applicant_demand` (N, G), what the applicant adds. As
    coded that is the hidden outcome; otherwise all three are expectations given the scores, and no
    label is read.

    Parameters
    ----------
    env
        A batch of `longfair/Lending-v0`, whose observation begins with score and group.
    window
        Applicants remembered, of all groups together.
    as_coded
        As said above.
    distance
        Which distance of the groups' counts the long-term gap is: `"scores"`, `"sinkhorn"` or
        `"sorted-counts"`.
    """

    environment = LendingVectorEnv

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        window: int = 300,
        as_coded: bool = False,
        distance: Distance = "scores",
    ) -> None:
        super().__init__(env, as_coded)
        checked("window", window, WindowLength)
        self._distance = DISTANCES[checked("distance", distance, Distance)]
        params = env.unwrapped.params  # type: ignore[attr-defined]  # checked above
        self._repay = np.array(params.repay_probability)
        self._groups, copies = len(params.group_probability), env.num_envs
        self._scores = len(self._repay)
        self._rates = Window(window + as_coded, (copies, 2 * self._groups), np.float64)
        # In a row: which score of which group, and then what massaging is told.
        self._num_counts = self._groups * self._scores
        self._seen = Window(window, (copies, self._num_counts + 2 * self._groups), np.float64)

    def _forget(self, copies: Any) -> None:
        self._rates.forget(copies)
        self._seen.forget(copies)

    def _remember(self, info: dict[str, Any]) -> None:
        supply, demand = info["supply"], info["demand"]
        self._rates.add(supply, demand)
        if not self.as_coded:
            demand = self._demand
            supply = demand * self._accepted
        self._seen.add(self._applicant.reshape(len(self._applicant), -1), supply, demand)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take one step; see `FairVectorEnv.step`."""
        self._accepted = np.asarray(actions)[:, None]
        return super().step(actions)

    def _short_term_gap(self) -> FloatArray:
        gaps: FloatArray = spread_of_rates(self._rates.total)
        return gaps

    def _long_term_gap(self, moment: dict[str, Any]) -> FloatArray:
        counts = self._seen.total[:, : self._num_counts].reshape(-1, self._groups, self._scores)
        gaps: FloatArray = self._distance(counts)
        return gaps

    def _known(self, observation: Any, info: dict[str, Any]) -> dict[str, Any]:
        if self.as_coded:
            repays = self.env.unwrapped.repays  # type: ignore[attr-defined]  # checked above
        else:
            repays = observation[:, : self._scores] @ self._repay
        facts = applicant_of(observation, self._groups, self._scores, repays)
        self._applicant, self._demand = facts
        supply, demand = halves(self._seen.total[:, self._num_counts :].copy())
        return {"window_supply": supply, "window_demand": demand, "applicant_demand": self._demand}


class AttentionGaps(Gaps):
    """Shares of units, and incidents, of the last steps.

    The short-term gap is the largest deviation of a site's share of units from an equal share, the
    long-term gap that of a site's incidents from their mean, relative to the most incidents.

    For massaging: `steps_before` (N,), and `window_units` (N, G), the units of the window beside
    those of the step to come, which replaces the oldest row.

    Parameters
    ----------
    env
        A batch of `longfair/Attention-v0`.
    window
        Steps remembered.
    as_coded
        As for `Gaps`.
    """

    environment = AttentionVectorEnv

    def __init__(
        self, env: VectorEnv[Any, Any, Any], window: int = 300, as_coded: bool = False
    ) -> None:
        super().__init__(env, as_coded)
        checked("window", window, WindowLength)
        params = env.unwrapped.params  # type: ignore[attr-defined]  # checked above
        shape = env.num_envs, len(params.initial_rate)
        self._units, self._incidents = (Window(window, shape, np.float64) for _ in range(2))
        self._rest = Window(max(window - 1, 1), shape, np.float64)
        self._keep_rest = window > 1
        self._steps = np.zeros(env.num_envs, np.int64)

    def _forget(self, copies: Any) -> None:
        for window in (self._units, self._incidents, self._rest):
            window.forget(copies)
        self._steps[copies] = 0

    def _remember(self, info: dict[str, Any]) -> None:
        self._units.add(info["allocation"])
        self._incidents.add(info["demand"])
        if self._keep_rest:
            self._rest.add(info["allocation"])
        self._steps += 1

    def _short_term_gap(self) -> FloatArray:
        gaps: FloatArray = share_gaps(self._units.total)
        return gaps

    def _long_term_gap(self, moment: dict[str, Any]) -> FloatArray:
        gaps: FloatArray = incident_gaps(self._incidents.total)
        return gaps

    def _known(self, observation: Any, info: dict[str, Any]) -> dict[str, Any]:
        return {"window_units": self._rest.total.copy(), "steps_before": self._steps.copy()}


class EpidemicGaps(Gaps):
    """Vaccines per new infection since the episode began, and the health of the communities.

    The short-term gap is that of vaccines over new infections plus one. The long-term gap is the
    1-Wasserstein distance between the communities' shares of susceptible, infected and recovered
    people, where any two states are 1 apart. As coded it is the Euclidean distance between their
    counts, which differ even where the shares are the same.

    For massaging: `vaccines_so_far` and `infections_so_far` (N, G); `susceptible` and `community`
    (N, V), who is, and where everybody belongs.

    Parameters
    ----------
    env
        A batch of `longfair/Epidemic-v0`, whose observation begins with the people's states.
    as_coded
        As said above.
    """

    environment = EpidemicVectorEnv
    last_change_counts = True

    def __init__(self, env: VectorEnv[Any, Any, Any], as_coded: bool = False) -> None:
        super().__init__(env, as_coded)
        group = np.array(env.unwrapped.params.group)  # type: ignore[attr-defined]  # checked above
        self._community = np.tile(group, (env.num_envs, 1))
        self._vaccines, self._infections = np.zeros((2, env.num_envs, 1 + group.max()))

    def _forget(self, copies: Any) -> None:
        self._vaccines[copies] = self._infections[copies] = 0.0

    def _remember(self, info: dict[str, Any]) -> None:
        self._vaccines += info["supply"]
        self._infections += info["demand"]

    def _short_term_gap(self) -> FloatArray:
        gaps: FloatArray = vaccine_gaps(self._vaccines, self._infections)
        return gaps

    def _long_term_gap(self, moment: dict[str, Any]) -> FloatArray:
        if self.as_coded:
            distance: FloatArray = distances_of_counts(moment["health_counts"])
            return distance
        first, second = moment["group_state"].swapaxes(0, 1)
        share: FloatArray = 0.5 * np.abs(first - second).sum(axis=1)
        return share

    def _known(self, observation: Any, info: dict[str, Any]) -> dict[str, Any]:
        people = self._community.shape[1]
        states = observation[:, : 3 * people].reshape(len(observation), people, 3)
        return {
            "vaccines_so_far": self._vaccines.copy(),
            "infections_so_far": self._infections.copy(),
            "susceptible": states[:, :, 0] > 0,
            "community": self._community,
        }


# Gaps of counts, compiled: they are taken after every step of training. -------------------------


@njit(cache=True)
def applicant_of(
    observation: NDArray[np.float32], groups: int, scores: int, repays: NDArray[Any]
) -> tuple[FloatArray, FloatArray]:
    """Return which score of which group applies (N, G, K), and what that adds to demand (N, G).

    Parameters
    ----------
    observation
        Shape (N, K + G + ...): score and then group of the applicant, each one in ones and zeros.
    groups, scores
        Numbers G and K.
    repays
        Shape (N,): whether the applicant repays, or with which chance.
    """
    copies = len(repays)
    applicant, demand = np.empty((copies, groups, scores)), np.empty((copies, groups))
    for copy in range(copies):
        for group in range(groups):
            member = np.float64(observation[copy, scores + group])
            demand[copy, group] = member * repays[copy]
            for score in range(scores):
                applicant[copy, group, score] = member * observation[copy, score]
    return applicant, demand


@njit(cache=True)
def spread_of_rates(totals: FloatArray) -> FloatArray:
    """Return the highest less the lowest rate (N,), for supply and then demand (N, 2G).

    A rate without demand is 0.
    """
    copies, groups = totals.shape[0], totals.shape[1] // 2
    spread = np.empty(copies)
    for copy in range(copies):
        low, high = np.inf, -np.inf
        for group in range(groups):
            demand = totals[copy, groups + group]
            rate = totals[copy, group] / (demand if demand > 0 else 1.0)
            low, high = min(low, rate), max(high, rate)
        spread[copy] = high - low
    return spread


@njit(cache=True)
def sorted_gaps(counts: FloatArray) -> FloatArray:
    """Return the mean difference (N,) of two groups' sorted counts (N, 2, K)."""
    copies, _, scores = counts.shape
    gaps = np.empty(copies)
    for copy in range(copies):
        first, second = np.sort(counts[copy, 0]), np.sort(counts[copy, 1])
        total = 0.0
        for score in range(scores):
            total += abs(first[score] - second[score])
        gaps[copy] = total / scores
    return gaps


@njit(cache=True)
def score_gaps(counts: FloatArray) -> FloatArray:
    """Return the distance (N,), in scores, of two groups' shares of counts (N, 2, K).

    It is 0 while a group has no count.
    """
    copies, _, scores = counts.shape
    gaps = np.zeros(copies)
    for copy in range(copies):
        people, others = counts[copy, 0].sum(), counts[copy, 1].sum()
        if people <= 0 or others <= 0:
            continue
        below = below_other = 0.0
        for score in range(scores):
            below += counts[copy, 0, score] / people
            below_other += counts[copy, 1, score] / others
            gaps[copy] += abs(below - below_other)
    return gaps


def sinkhorn_gaps(counts: FloatArray) -> FloatArray:
    """Return the library's distance (N,) of two groups' counts (N, 2, K) taken for samples."""
    gaps: FloatArray = sinkhorn_distances(counts[:, 0], counts[:, 1])
    return gaps


DISTANCES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "scores": score_gaps,
    "sinkhorn": sinkhorn_gaps,
    "sorted-counts": sorted_gaps,
}
"""Distances (N,) of two groups' counts of scores (N, 2, K)."""


@njit(cache=True)
def vaccine_gaps(vaccines: FloatArray, infections: FloatArray) -> FloatArray:
    """Return the highest less the lowest of vaccines over infections plus one (N, G): (N,)."""
    copies, groups = vaccines.shape
    gaps = np.empty(copies)
    for copy in range(copies):
        low, high = np.inf, -np.inf
        for group in range(groups):
            rate = vaccines[copy, group] / (infections[copy, group] + 1.0)
            low, high = min(low, rate), max(high, rate)
        gaps[copy] = high - low
    return gaps


@njit(cache=True)
def distances_of_counts(counts: FloatArray) -> FloatArray:
    """Return the Euclidean distance (N,) of two groups' counts (N, 2, K)."""
    copies, _, numbers = counts.shape
    distances = np.empty(copies)
    for copy in range(copies):
        total = 0.0
        for number in range(numbers):
            total += (counts[copy, 0, number] - counts[copy, 1, number]) ** 2
        distances[copy] = np.sqrt(total)
    return distances


@njit(cache=True)
def share_gaps(units: FloatArray) -> FloatArray:
    """Return the largest deviation (N,) of a share of units (N, G) from an equal share.

    It is 0 where there are no units.
    """
    copies, sites = units.shape
    gaps = np.zeros(copies)
    for copy in range(copies):
        total = units[copy].sum()
        if total > 0:
            for site in range(sites):
                gaps[copy] = max(gaps[copy], abs(units[copy, site] / total - 1.0 / sites))
    return gaps


@njit(cache=True)
def incident_gaps(incidents: FloatArray) -> FloatArray:
    """Return the largest deviation (N,) of incidents (N, G) from their mean, over the most."""
    copies, sites = incidents.shape
    gaps = np.empty(copies)
    for copy in range(copies):
        mean, most = incidents[copy].sum() / sites, incidents[copy].max()
        farthest = 0.0
        for site in range(sites):
            farthest = max(farthest, abs(incidents[copy, site] - mean))
        gaps[copy] = farthest / (most if most > 0 else 1.0)
    return gaps
