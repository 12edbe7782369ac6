"""Our epidemic control gives the numbers of the authors' own, for the same draws and actions.

The log is `authors_logs/epidemic.npz`; `authors_logs/README.md` says how it was made and what is in
it. Its uniform draws are fed to our environment, which works out everything else again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from longfair.agents.learning.actor import Actor
from longfair.agents.ppo.f_ppo import GAPS
from longfair.agents.ppo.massaging.epidemic import EpidemicFPPO
from longfair.agents.ppo.massaging.epidemic_vaccines import gaps_of_options
from longfair.agents.ppo.strategy import Moment, Rollout, intervened
from longfair.papers.fppo.epidemic import CASE

LOG = dict(np.load(Path(__file__).parent / "authors_logs" / "epidemic.npz"))
STEPS, COPIES, PEOPLE = LOG["draws"].shape
LENGTH = 20
MASSAGED = CASE.methods(as_coded=True)["f-ppo"][0]
SINGLE = {"rtol": 1e-6, "atol": 1e-7}
"""Rounding to single precision, which the authors' buffers have."""


class LoggedDraws:
    """Uniform numbers in the order in which the authors' environment drew them.

    A person there keeps its state where the number is low, and changes in ours where it is low.
    """

    def __init__(self) -> None:
        self._draws = self._in_order()

    def _in_order(self) -> Iterator[NDArray[np.float64]]:
        for step, drawn in enumerate(LOG["draws"].astype(np.float64)):
            if step % LENGTH == 0:
                yield 1.0 - LOG["burn_in"][step // LENGTH].astype(np.float64)
            yield 1.0 - drawn
        yield 1.0 - LOG["burn_in"][-1].astype(np.float64)

    def random(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        drawn = next(self._draws)
        assert drawn.shape == shape
        return drawn


def as_the_authors_lay_it_out(observation: NDArray[Any]) -> NDArray[Any]:
    """Bring observations (N, 136), states before counts, into the order (N, 34, 4) of the log."""
    states = observation[:, : 3 * PEOPLE].reshape(-1, PEOPLE, 3)
    return np.concatenate([states, observation[:, 3 * PEOPLE :, None]], axis=2)


@pytest.fixture(scope="module")
def replayed() -> dict[str, Any]:
    """Play the logged actions; arrays (T, N, ...) of what ours tells, `observation` one longer."""
    env = CASE.worlds["as_coded"].make(COPIES, LENGTH)
    env.unwrapped._np_random = LoggedDraws()  # type: ignore[assignment]  # stands in for one
    observation, info = env.reset()
    seen, known, told, last = [observation], [], [], []
    for actions in LOG["executed"]:
        known.append(info)
        observation, reward, terminated, truncated, info = env.step(actions.astype(np.int64))
        seen.append(observation)
        told.append({name: info[name] for name in GAPS} | {"reward": reward, "ends": truncated})
        assert not terminated.any()
        if truncated.any():
            last.append(info["final_obs"])
    return {
        "known": known,
        "observation": np.array([as_the_authors_lay_it_out(seen) for seen in seen]),
        "last_observation": np.array([as_the_authors_lay_it_out(seen) for seen in last]),
        **{name: np.array([facts[name] for facts in told]) for name in told[0]},
    }


def test_observations_are_the_authors(replayed: dict[str, Any]) -> None:
    """All 136 numbers, but for their order; also before the next episode begins."""
    assert replayed["observation"].shape == (STEPS + 1, COPIES, PEOPLE, 4)
    np.testing.assert_array_equal(replayed["observation"], LOG["observation"])
    np.testing.assert_array_equal(replayed["last_observation"], LOG["last_observation"])
    np.testing.assert_array_equal(replayed["ends"], LOG["ends"])


def test_rewards_are_the_authors(replayed: dict[str, Any]) -> None:
    np.testing.assert_allclose(replayed["reward"], LOG["reward"], **SINGLE)


def test_gaps_are_the_authors(replayed: dict[str, Any]) -> None:
    """The distance is geomloss's there, of one point each, and a Euclidean norm here."""
    gap, before = replayed["short_term_gap"], replayed["short_term_gap_before"]
    np.testing.assert_allclose(gap, LOG["gap"], rtol=1e-12)
    np.testing.assert_allclose(gap - before, LOG["gap_change"], rtol=1e-12)
    np.testing.assert_allclose(replayed["long_term_gap_change"], LOG["long_change"], atol=1e-6)


def test_massaging_reads_what_the_authors_reads(replayed: dict[str, Any]) -> None:
    for name, logged in (("vaccines_so_far", "vaccines"), ("infections_so_far", "infections")):
        read = np.array([known[name] for known in replayed["known"]])
        np.testing.assert_array_equal(read, LOG[logged])
    looked = ~np.isnan(LOG["option_gaps"]).any(axis=2)
    read = zip(LOG["vaccines"], LOG["infections"], strict=True)
    ours = np.array([gaps_of_options(*counts) for counts in read])
    np.testing.assert_allclose(ours[looked], LOG["option_gaps"][looked], rtol=1e-12)


def test_thresholds_are_the_authors() -> None:
    assert isinstance(MASSAGED, EpidemicFPPO)
    ours = [MASSAGED.closeness(rollout) for rollout in LOG["rollout"] if rollout >= MASSAGED.first]
    np.testing.assert_allclose(ours, LOG["threshold"][LOG["rollout"] >= MASSAGED.first], rtol=1e-12)


def test_massaged_actions_are_the_authors(replayed: dict[str, Any]) -> None:
    given = []
    for known, logits, chosen, rollout in zip(
        replayed["known"], LOG["logits"], LOG["chosen"], LOG["rollout"], strict=True
    ):
        actor = Actor([(logits, np.zeros(PEOPLE + 1, np.float32))], None)
        sees = np.eye(COPIES, dtype=np.float32)
        output = actor.output(sees)
        np.testing.assert_array_equal(output, logits)
        read = {name: known[name] for name in MASSAGED.needs if name in known}
        chosen = chosen.astype(np.int64)
        rng = np.random.default_rng(0)
        moment = Moment(sees, chosen, read, actor, output, int(rollout), rng)
        given.append(intervened(MASSAGED, moment))
    np.testing.assert_array_equal(given, LOG["executed"])


def test_the_log_has_every_kind_of_massaging() -> None:
    """Nobody in place of somebody, a susceptible person, anybody where nobody is, and ties."""
    changed = LOG["chosen"] != LOG["executed"]
    looked = ~np.isnan(LOG["option_gaps"]).any(axis=2)
    assert not changed[LOG["rollout"] == 50].any()
    assert (looked & ~changed).any()
    nobody = LOG["executed"] == PEOPLE
    assert (changed & nobody).any()
    person = np.minimum(LOG["executed"], PEOPLE - 1)[..., None]
    susceptible = np.take_along_axis(LOG["observation"][:-1, ..., 0], person, axis=2)[..., 0] == 1
    assert (changed & ~nobody & susceptible).any()
    assert (changed & ~nobody & ~susceptible).any()
    gaps = LOG["option_gaps"]
    assert ((gaps == gaps.min(axis=2, keepdims=True)).sum(axis=2) > 1)[changed].any()


def test_terms_of_the_advantage_are_the_authors(replayed: dict[str, Any]) -> None:
    """An episode's last step has the next one's short-term gap, and its own change."""
    groups, ends = np.zeros((STEPS, COPIES, 2)), replayed["ends"]
    told = {name: replayed[name] for name in GAPS}
    rollout = Rollout(replayed["reward"], groups, groups, np.roll(ends, 1, 0), ends, 0.99, told)
    methods = CASE.methods(as_coded=True)
    level = methods["a-ppo"][0].plan(rollout).features
    np.testing.assert_allclose(level, LOG["terms"][..., :2], atol=1e-6)
    terms = methods["f-ppo"][0].plan(rollout).features
    np.testing.assert_allclose(terms, LOG["terms"][..., 2:], atol=1e-6)
    assert terms[ends].any()


def test_the_authors_buffer_has_the_next_episode_in_the_last_step() -> None:
    """The short-term gap and its change are 0 by then; the long-term one still is the step's."""
    ends = LOG["ends"]
    for stored, made in (("stored_gap", "gap"), ("stored_gap_change", "gap_change")):
        np.testing.assert_allclose(LOG[stored][~ends], LOG[made][~ends], **SINGLE)
        assert not LOG[stored][ends].any()
        assert LOG[made][ends].any()
    np.testing.assert_allclose(LOG["stored_long_change"], LOG["long_change"], **SINGLE)
