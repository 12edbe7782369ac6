"""What F-PPO's training knows of the groups, recounted from what the environments tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from longfair.agents.cpo import CPO
from longfair.agents.ppo import FairPPO
from longfair.agents.ppo.f_ppo import FPPOL
from longfair.agents.ppo.massaging.attention import AttentionFPPO
from longfair.agents.ppo.massaging.epidemic import EpidemicFPPO
from longfair.agents.ppo.massaging.lending import LendingFPPO
from longfair.agents.ppo.massaging.lending_flips import gaps_of_decisions
from longfair.errors import UsageError
from longfair.metrics.distances import score_distance, sorted_count_distance
from longfair.metrics.sinkhorn import sinkhorn_distance
from longfair.metrics.windows import windowed_gap, windowed_share_deviation
from longfair.papers.fppo import attention, epidemic, lending
from longfair.papers.fppo.gaps import AttentionGaps, EpidemicGaps, Gaps, LendingGaps
from longfair.papers.fppo.methods import CaseStudy

STEPS, COPIES = 60, 3


def made(name: str, wrapper: type[Gaps], **arguments: Any) -> Any:
    env = gymnasium.make_vec(
        f"longfair/{name}-v0", num_envs=COPIES, preset="fppo", episode_length=STEPS
    )
    return wrapper(env, **arguments)


def played(env: Any, choose: Any, steps: int = STEPS) -> tuple[list[Any], list[Any], list[Any]]:
    """Return observations before, actions, and infos after every step."""
    observation, info = env.reset(seed=4)
    seen, taken, infos = [], [], [info]
    for _ in range(steps):
        actions = choose(observation)
        seen.append(observation)
        taken.append(actions)
        observation, *_, info = env.step(actions)
        infos.append(info)
    return seen, taken, infos


def of_all(infos: list[Any], key: str) -> Any:
    return np.stack([info[key] for info in infos[1:]])


def distance_of_shares(counts: Any) -> Any:
    people = counts.sum(axis=3, keepdims=True)
    shares = np.where(people > 0, counts / np.maximum(people, 1), 1 / 7)
    distances = score_distance(shares[:, :, 0], shares[:, :, 1])
    return distances * (people > 0).all(axis=(2, 3))


@pytest.mark.parametrize("as_coded", [True, False])
@pytest.mark.parametrize(
    ("distance", "recount"),
    [
        ("scores", distance_of_shares),
        ("sorted-counts", lambda counts: sorted_count_distance(counts[:, :, 0], counts[:, :, 1])),
        ("sinkhorn", lambda counts: sinkhorn_distance(counts[:, :, 0], counts[:, :, 1])),
    ],
)
def test_lending_counts_the_last_applicants(
    as_coded: bool, distance: str, recount: Callable[[Any], Any]
) -> None:
    rng, window = np.random.default_rng(0), 20
    env = made("Lending", LendingGaps, window=window, as_coded=as_coded, distance=distance)
    seen, _, infos = played(env, lambda _: rng.integers(0, 2, COPIES))
    supply, demand = of_all(infos, "supply"), of_all(infos, "demand")
    short = windowed_gap(supply, demand, window + as_coded)
    assert of_all(infos, "short_term_gap") == pytest.approx(short)
    before = of_all(infos, "short_term_gap_before")
    assert before[1:] == pytest.approx(short[:-1])
    assert not before[0].any()

    rows = np.stack(seen).astype(float)
    pairs = rows[..., 7:9, None] * rows[..., None, :7]
    counts = np.stack([pairs[max(0, t + 1 - window) : t + 1].sum(axis=0) for t in range(STEPS)])
    long = recount(counts)
    changes = np.diff(long, axis=0, prepend=0.0)
    if as_coded:
        # The last step ended the episode, and the authors' code has forgotten its change.
        changes[-1] = 0.0
    assert of_all(infos, "long_term_gap_change") == pytest.approx(changes)


def test_lending_tells_the_label_as_coded_only() -> None:
    rng, window = np.random.default_rng(1), 20
    coded = made("Lending", LendingGaps, window=window, as_coded=True)
    _, _, infos = played(coded, lambda _: rng.integers(0, 2, COPIES))
    told = np.stack([info["applicant_demand"] for info in infos])
    assert np.array_equal(told[:-1], of_all(infos, "demand"))
    held = np.stack([info["window_demand"] for info in infos])
    recounted = of_all(infos, "demand")[-window:].sum(axis=0)
    assert held[-2] == pytest.approx(of_all(infos, "demand")[-window - 1 : -1].sum(axis=0))
    # The last step ended the episode.
    assert recounted.any()
    assert not held[-1].any()

    seen, taken, infos = played(
        made("Lending", LendingGaps, window=window), lambda o: 1 - o[:, 7].astype(int)
    )
    repay = np.array([0.1, 0.2, 0.45, 0.6, 0.65, 0.7, 0.7])
    rows = np.stack(seen)
    chance = (rows[..., :7] @ repay)[..., None] * rows[..., 7:9]
    told = np.stack([info["applicant_demand"] for info in infos])
    assert told[:-1] == pytest.approx(chance)
    accepted = chance * np.stack(taken)[..., None]
    supply = np.stack([info["window_supply"] for info in infos])
    assert supply[40] == pytest.approx(accepted[20:40].sum(axis=0))


def test_lending_massaging_foresees_the_gap_that_training_is_told() -> None:
    rng = np.random.default_rng(4)
    coded = made("Lending", LendingGaps, window=20, as_coded=True)
    _, taken, infos = played(coded, lambda _: rng.integers(0, 2, COPIES))
    facts = ("window_supply", "window_demand", "applicant_demand")
    foreseen = [gaps_of_decisions(*(info[name] for name in facts)) for info in infos[:-1]]
    chosen = np.take_along_axis(np.stack(foreseen), np.stack(taken)[..., None], axis=2)[..., 0]
    assert of_all(infos, "short_term_gap") == pytest.approx(chosen)


@pytest.mark.parametrize("as_coded", [True, False])
def test_attention_counts_units_and_incidents(as_coded: bool) -> None:
    rng, window = np.random.default_rng(2), 10
    env = made("Attention", AttentionGaps, window=window, as_coded=as_coded)
    _, _, infos = played(env, lambda _: rng.standard_normal((COPIES, 5)))
    units, incidents = of_all(infos, "allocation"), of_all(infos, "demand")
    short = windowed_share_deviation(units, window)
    assert of_all(infos, "short_term_gap") == pytest.approx(short)
    held = incidents[20:30].sum(axis=0)
    gap = np.abs(held - held.mean(axis=1, keepdims=True)).max(axis=1) / held.max(axis=1)
    assert of_all(infos, "long_term_gap_change")[:30].sum(axis=0) == pytest.approx(gap)
    assert infos[30]["window_units"] == pytest.approx(units[21:30].sum(axis=0))
    assert infos[30]["steps_before"].tolist() == [30] * COPIES
    # The next episode has begun.
    assert not infos[-1]["window_units"].any()
    assert not infos[-1]["steps_before"].any()


@pytest.mark.parametrize("as_coded", [True, False])
def test_the_epidemic_counts_vaccines_and_infections(as_coded: bool) -> None:
    rng = np.random.default_rng(3)
    env = made("Epidemic", EpidemicGaps, as_coded=as_coded)
    seen, _, infos = played(env, lambda _: rng.integers(0, 35, COPIES), STEPS + 5)
    vaccines, infections = of_all(infos, "supply"), of_all(infos, "demand")
    rates = vaccines[:STEPS].cumsum(axis=0) / (infections[:STEPS].cumsum(axis=0) + 1)
    assert of_all(infos, "short_term_gap")[:STEPS] == pytest.approx(np.ptp(rates, axis=2))
    again = vaccines[STEPS:].cumsum(axis=0) / (infections[STEPS:].cumsum(axis=0) + 1)
    assert of_all(infos, "short_term_gap")[STEPS:] == pytest.approx(np.ptp(again, axis=2))
    states = seen[10].reshape(COPIES, 34, 3)
    assert np.array_equal(infos[10]["susceptible"], states[:, :, 0] == 1)

    # Changes add up to the way from the start of the episode to its end, and begin anew.
    key = "health_counts" if as_coded else "group_state"
    ends = [infos[0], infos[STEPS]["final_info"], infos[STEPS], infos[STEPS + 5]]
    gaps = [
        np.linalg.norm(end[key][:, 0] - end[key][:, 1], axis=1)
        if as_coded
        else 0.5 * np.abs(end[key][:, 0] - end[key][:, 1]).sum(axis=1)
        for end in ends
    ]
    changes = of_all(infos, "long_term_gap_change")
    assert changes[:STEPS].sum(axis=0) == pytest.approx(gaps[1] - gaps[0])
    assert changes[STEPS:].sum(axis=0) == pytest.approx(gaps[3] - gaps[2])


@pytest.mark.parametrize(
    ("name", "wrapper"),
    [("Lending", LendingGaps), ("Attention", AttentionGaps), ("Epidemic", EpidemicGaps)],
)
def test_a_step_that_only_restarts_has_no_gaps(name: str, wrapper: type[Gaps]) -> None:
    """With NEXT_STEP it is the one after an episode."""
    env = wrapper(
        gymnasium.make_vec(
            f"longfair/{name}-v0",
            num_envs=COPIES,
            preset="fppo",
            episode_length=20,
            autoreset_mode=AutoresetMode.NEXT_STEP,
        )
    )
    env.action_space.seed(0)
    env.reset(seed=2)
    for _ in range(20):
        _, _, _, ended, info = env.step(env.action_space.sample())
    assert ended.all()
    assert info["short_term_gap"].any()
    info = env.step(env.action_space.sample())[-1]
    for fact in ("short_term_gap", "short_term_gap_before", "long_term_gap_change"):
        np.testing.assert_array_equal(info[fact], 0.0)
    info = env.step(env.action_space.sample())[-1]
    np.testing.assert_array_equal(info["short_term_gap_before"], 0.0)


def test_bad_windows_and_environments_end_in_one_line() -> None:
    with pytest.raises(UsageError, match="window"):
        made("Lending", LendingGaps, window=0)
    with pytest.raises(UsageError, match="window"):
        made("Attention", AttentionGaps, window=0)
    with pytest.raises(UsageError, match="give a batch of EpidemicVectorEnv"):
        made("Lending", EpidemicGaps)


@pytest.mark.parametrize("case", [lending.CASE, attention.CASE, epidemic.CASE])
@pytest.mark.parametrize("variant", ["as_coded", "as_published"])
def test_a_world_without_gaps_is_the_same_world(case: CaseStudy, variant: str) -> None:
    """An evaluation that nobody's massaging reads leaves them out."""
    world = case.worlds[variant]
    told, untold = world.make(3, 40), world.make(3, 40, told=False)
    assert isinstance(told, Gaps)
    assert not isinstance(untold, Gaps)
    told.action_space.seed(0)
    seen = [env.reset(seed=0) for env in (told, untold)]
    for _ in range(50):
        np.testing.assert_array_equal(seen[0][0], seen[1][0])
        for name, value in seen[1][1].items():
            if isinstance(value, np.ndarray):
                np.testing.assert_array_equal(seen[0][1][name], value)
        actions = told.action_space.sample()
        steps = [env.step(actions) for env in (told, untold)]
        np.testing.assert_array_equal(steps[0][1], steps[1][1])
        seen = [(step[0], step[4]) for step in steps]


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: LendingGaps("longfair/Lending-v0"), "^env='longfair/Lending-v0': give a batch"),  # type: ignore[arg-type]  # what is refused
        (lambda: made("Lending", LendingGaps, window=10**9), r"window=10+: .* in 1\.\.100000$"),
        (lambda: made("Attention", AttentionGaps, window=10**9), r"window=10+: .* in 1\.\.100000$"),
    ],
)
def test_what_cannot_be_wrapped_or_remembered_is_refused(make: Any, line: str) -> None:
    with pytest.raises(UsageError, match=line):
        make()


@pytest.mark.parametrize(
    ("name", "strategy", "wrapper"),
    [
        ("Lending", LendingFPPO, "LendingGaps"),
        ("Attention", AttentionFPPO, "AttentionGaps"),
        ("Epidemic", EpidemicFPPO, "EpidemicGaps"),
        ("Lending", FPPOL, "LendingGaps, AttentionGaps or EpidemicGaps"),
    ],
)
def test_a_learner_that_is_not_told_the_gaps_names_their_wrapper(
    name: str, strategy: Any, wrapper: str
) -> None:
    bare = gymnasium.make_vec(f"longfair/{name}-v0", num_envs=2, episode_length=5)
    told = rf"^the strategy needs info '\w+': wrap the batch in {wrapper} of longfair"
    with pytest.raises(UsageError, match=told):
        FairPPO(env=bare, strategy=strategy(), batch_size=10).learn(10)


def test_cpo_that_is_not_told_the_gaps_names_their_wrappers() -> None:
    bare = gymnasium.make_vec("longfair/Attention-v0", num_envs=2, episode_length=5)
    with pytest.raises(UsageError, match=r"^the cost is info 'short_term_gap': wrap the batch in"):
        CPO(bare).learn(10)
