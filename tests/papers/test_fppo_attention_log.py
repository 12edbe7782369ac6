"""Our attention allocation gives the numbers of the authors' own, for the same incidents.

The log is `authors_logs/attention.npz`; `authors_logs/README.md` says how it was made and what is
in it. Its incidents and logits are fed to our environment, which works out everything else again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from longfair.agents.learning.actor import Actor
from longfair.agents.ppo.f_ppo import GAPS
from longfair.agents.ppo.massaging.attention import AttentionFPPO
from longfair.agents.ppo.massaging.attention_moves import handed_out
from longfair.agents.ppo.strategy import Moment, Rollout, intervened
from longfair.papers.fppo.attention import CASE
from longfair.papers.fppo.gaps import share_gaps

LOG = dict(np.load(Path(__file__).parent / "authors_logs" / "attention.npz"))
STEPS, COPIES, SITES = LOG["logits"].shape
LENGTH, WINDOW = 400, 300
MASSAGED = CASE.methods(as_coded=True)["f-ppo"][0]
SINGLE = {"rtol": 1e-6, "atol": 1e-7}
"""Rounding to single precision, which the authors' buffers have."""
LOGITS = {"rtol": 1e-5, "atol": 5e-6}
"""The authors work out new logits in single precision, with a difference of near numbers."""
LOOKED = LOG["moves_tested"] > 0
"""(T, N): where a move changed the policy little enough for its gap to be looked at."""


class LoggedIncidents:
    """The incidents of the log, whatever the rates, which are kept."""

    def __init__(self) -> None:
        self.rates: list[NDArray[np.float64]] = []

    def poisson(self, rates: NDArray[np.float64]) -> NDArray[np.int16]:
        self.rates.append(rates.copy())
        drawn: NDArray[np.int16] = LOG["incidents"][len(self.rates) - 1]
        return drawn


@pytest.fixture(scope="module", params=["as_coded", "as_published"])
def replayed(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Play the logged logits; arrays (T, N, ...) of what ours tells, `observation` one longer.

    Both variants have the same observations and gaps, and massaging is told the same window.
    """
    env = CASE.worlds[request.param].make(COPIES, LENGTH)
    incidents = LoggedIncidents()
    env.unwrapped._np_random = incidents  # type: ignore[assignment]  # stands in for one
    observation, info = env.reset()
    seen, known, told, last = [observation], [], [], []
    for logits in LOG["executed"]:
        known.append({name: info[name] for name in ("window_units", "steps_before")})
        observation, reward, terminated, truncated, info = env.step(logits)
        seen.append(observation)
        facts = {name: info[name] for name in (*GAPS, "allocation", "supply")}
        told.append(facts | {"reward": reward, "ends": truncated})
        assert not terminated.any()
        if truncated.any():
            last.append(info["final_obs"])
    return {
        "variant": request.param,
        "rates": np.array(incidents.rates),
        "observation": np.array(seen),
        "last_observation": np.array(last),
        **{name: np.array([facts[name] for facts in known]) for name in known[0]},
        **{name: np.array([facts[name] for facts in told]) for name in told[0]},
    }


def test_units_incidents_and_rates_are_the_authors(replayed: dict[str, Any]) -> None:
    """Largest remainders give the units that the authors' code hands out one by one."""
    np.testing.assert_array_equal(replayed["allocation"], LOG["units"])
    np.testing.assert_array_equal(replayed["supply"], LOG["discovered"])
    np.testing.assert_array_equal(replayed["rates"], LOG["rates"])
    np.testing.assert_array_equal(replayed["ends"], LOG["ends"])


def test_observations_are_the_authors(replayed: dict[str, Any]) -> None:
    """All 160 numbers; also before the next episode begins."""
    assert replayed["observation"].shape == (STEPS + 1, COPIES, 160)
    np.testing.assert_allclose(replayed["observation"].swapaxes(0, 1), LOG["observation"], **SINGLE)
    np.testing.assert_allclose(replayed["last_observation"], LOG["last_observation"], **SINGLE)


def test_rewards_and_gaps_are_the_authors(replayed: dict[str, Any]) -> None:
    np.testing.assert_allclose(replayed["reward"], LOG["reward"], **SINGLE)
    gap, before = replayed["short_term_gap"], replayed["short_term_gap_before"]
    np.testing.assert_allclose(gap, LOG["gap"], atol=1e-14)
    np.testing.assert_allclose(gap - before, LOG["gap_change"], atol=1e-14)
    forgotten = replayed["ends"] & (replayed["variant"] == "as_coded")
    changes = np.where(forgotten, 0.0, LOG["long_change"])
    np.testing.assert_allclose(replayed["long_term_gap_change"], changes, atol=1e-14)


def test_massaging_reads_the_window_of_the_authors(replayed: dict[str, Any]) -> None:
    """The step to come replaces the oldest row."""
    ours, theirs = replayed["window_units"][LOOKED], LOG["massaging_window"][LOOKED]
    np.testing.assert_array_equal(ours, theirs)
    assert (replayed["steps_before"][LOOKED] >= WINDOW).any()


def test_massaging_looks_at_the_gap_of_the_authors() -> None:
    """That of the window with the units that the drawn logits give."""
    held = LOG["massaging_window"] + given_units()
    gaps = share_gaps(held[LOOKED].astype(np.float64))
    np.testing.assert_allclose(gaps, LOG["massaging_gap"][LOOKED], atol=1e-14)


def test_massaged_logits_are_the_authors(replayed: dict[str, Any]) -> None:
    """Also among moves whose gaps differ in the last digit only."""
    told = replayed["window_units"], replayed["steps_before"]
    ours = np.stack([massaged(copy, *told) for copy in range(COPIES)], axis=1)
    np.testing.assert_allclose(ours, LOG["executed"], **LOGITS)
    moved = (ours != LOG["logits"]).any(axis=2)
    assert np.array_equal(moved, (LOG["executed"] != LOG["logits"]).any(axis=2))
    assert moved.sum() > 100


def test_the_log_has_moves_that_only_rounding_makes_fairer() -> None:
    """In the authors' code, and by less than a share of units can differ."""
    changed = (LOG["executed"] != LOG["logits"]).any(axis=2)
    better = LOG["massaging_gap"] - LOG["massaged_gap"]
    assert np.array_equal(changed, better > 0)
    assert (better[changed] < 1e-15).any()
    shares = WINDOW * 6 * SITES
    assert ((better[changed] < 1e-15) | (better[changed] > 0.99 / shares)).all()


def test_massaging_waits_as_the_authors_does() -> None:
    """For the rollout after its first, and for the second step of an episode."""
    assert isinstance(MASSAGED, AttentionFPPO)
    early = LOG["rollout"] <= MASSAGED.first
    assert early.any()
    assert not LOOKED[early].any()
    assert not LOOKED[[0, LENGTH]].any()
    assert LOOKED[LENGTH + 1 :].any()


def test_terms_of_the_advantage_are_the_authors(replayed: dict[str, Any]) -> None:
    """In the last step of an episode all are 0, because the next one has begun in the code."""
    groups, ends = np.zeros((STEPS, COPIES, SITES)), replayed["ends"]
    told = {name: replayed[name] for name in GAPS}
    rollout = Rollout(replayed["reward"], groups, groups, np.roll(ends, 1, 0), ends, 0.99, told)
    methods = CASE.methods(as_coded=True)
    ours = [methods[name][0].plan(rollout).features for name in ("a-ppo", "f-ppo")]
    np.testing.assert_allclose(np.concatenate(ours, axis=2), LOG["terms"], atol=1e-6)
    for stored in ("stored_gap", "stored_gap_change", "stored_long_change"):
        assert not LOG[stored][ends].any()
        np.testing.assert_allclose(
            LOG[stored][~ends], LOG[stored.removeprefix("stored_")][~ends], **SINGLE
        )
    assert LOG["gap"][ends].any()


def given_units() -> NDArray[np.float64]:
    """Return the units (T, N, K) that the logits give as they were drawn."""
    logits = LOG["logits"].astype(np.float64)
    weights = np.exp(logits - logits.max(axis=2, keepdims=True))
    shares = (weights / weights.sum(axis=2, keepdims=True)).reshape(-1, SITES)
    return np.array([handed_out(row, 6) for row in shares]).reshape(LOG["logits"].shape)


def massaged(
    copy: int, window: NDArray[np.float64], steps_before: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the logits (T, K) that our massaging makes of one copy's."""
    given, sees = [], np.ones((1, 1), np.float32)
    for step in range(STEPS):
        mean, drawn = LOG["mean"][step, [copy]], LOG["logits"][step, [copy]]
        actor = Actor([(mean, np.zeros(SITES, np.float32))], LOG["deviation"][copy])
        read = {
            "window_units": window[step, [copy]],
            "steps_before": steps_before[step, [copy]],
        }
        moment = Moment(
            sees,
            drawn.copy(),
            read,
            actor,
            actor.output(sees),
            int(LOG["rollout"][step]),
            np.random.default_rng(0),
        )
        given.append(intervened(MASSAGED, moment)[0])
    return np.array(given)
