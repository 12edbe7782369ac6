"""What the deep experiments run and measure: settings, references, and episodes played greedily."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

from longfair.agents.fairqcm.recurrent import RecurrentDQN
from longfair.papers import protocol
from longfair.papers.fairqcm.deep import (
    DOUGHNUTS,
    LENDING,
    LENDING_CONTINUOUS,
    LENDING_PROFIT,
    changed_from,
    config_of,
    reference,
    world,
)
from longfair.papers.fairqcm.deep_training import (
    PolicyOfEveryEpisode,
    learner,
    memory_of,
    snapshots,
)
from longfair.papers.fairqcm.measures import measured, play, series
from longfair.papers.protocol import train_and_evaluate


def final(table: Any) -> Any:
    return table[table["phase"] == "final"].set_index("metric")["value"]


# What is run ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "method", "width"),
    [
        ("doughnuts", "full", 40),
        ("doughnuts", "min", 40),
        ("doughnuts", "reset", 40),
        ("doughnuts", "rnn", 5),
        ("doughnuts", "fairqcm", 40),
        ("lending", "full", 35),
        ("lending", "rnn", 23),
        ("lending", "fairqcm", 35),
        ("lending-continuous", "fairqcm", 27),
    ],
)
def test_agents_see_as_many_numbers_as_published(problem, method, width):
    env = config_of(problem, method, "as_published").world.make(1)
    assert env.single_observation_space.shape == (width,)
    assert (memory_of(env) is None) == (method == "rnn")


@pytest.mark.parametrize(
    ("problem", "method", "parameters"),
    [
        ("doughnuts", "full", 2021),
        ("doughnuts", "rnn", 2437),
        ("lending", "min", 1452),
        ("lending", "rnn", 2996),
    ],
)
def test_networks_have_as_many_parameters_as_the_authors(problem, method, parameters):
    model = learner(config_of(problem, method, "as_coded"), 0, 0)
    assert len(model.online.vector) == parameters


def test_variants_differ_in_what_the_paper_and_the_code_differ_in():
    coded, published = (
        config_of("lending", "fairqcm", variant) for variant in ("as_coded", "as_published")
    )
    memories = [config.world.wrappers[0].name for config in (coded, published)]
    assert memories == ["full-memory", "min-memory"]
    assert coded.method.counterfactual
    assert coded.learning == published.learning
    models = [learner(coded, run, 0) for run in (0, 1, 5, 9, 10, 11, 15)]
    rates = [round(model.exploration_rate, 3) for model in models]
    assert rates == [1.0, 0.368, 0.2, 0.2, 1.0, 0.368, 0.2], "a script's eleventh run begins again"
    assert learner(published, 5, 0).exploration_rate == 1.0
    narrow = learner(config_of("lending", "rnn", "as_coded"), 0, 0)
    wide = learner(config_of("lending", "rnn", "as_published"), 0, 0)
    assert isinstance(narrow, RecurrentDQN)
    assert isinstance(wide, RecurrentDQN)
    assert (narrow.training, narrow.width) == ("shuffled", 16)
    assert (wide.training, wide.width) == ("episodes", 256)
    # The published network learns less often, but its target is as old in steps played.
    assert wide.pace.target_every * wide.pace.train_every == 1000


def test_experiments_have_the_arms_that_the_claims_read():
    names = {arm.name for arm in DOUGHNUTS.arms["book"]}
    assert {f"{m}.as_coded" for m in ("full", "min", "reset", "rnn", "fairqcm")} < names
    assert {"oracle.reference", "random.reference", "random-present.reference"} < names
    assert LENDING.horizon["book"] == 40_000
    assert {arm.variant for arm in LENDING_CONTINUOUS.arms["book"]} == {
        "as_published",
        "reference",
    }
    changed = {arm.name: arm.config for arm in DOUGHNUTS.arms["book"]}
    learned = {name: arm.learning.settings for name, arm in changed.items() if arm.learning}
    assert learned["full.large_batch"].batch == learned["full.batch_only"].batch == 2048
    assert learned["full.large_batch"].buffer == learned["full.buffer_only"].buffer == 6400
    assert (learned["full.batch_only"].buffer, learned["full.buffer_only"].batch) == (400, 64)
    assert changed["fairqcm.small_batch"].learning.settings.batch == 64
    assert changed["fairqcm.false_update"].method.switches.always_received
    assert changed["fairqcm.timed"].method.switches.terminal_mask
    assert changed["rnn.narrow"].learning.settings.train_every == 1
    assert "fairqcm.full_memory" in {arm.name for arm in LENDING.arms["book"]}
    for experiment in (DOUGHNUTS, LENDING, LENDING_CONTINUOUS):
        assert experiment.seeds["book"] >= 10


def arm(experiment: Any, name: str, profile: str = "book") -> Any:
    (config,) = [arm.config for arm in experiment.arms[profile] if arm.name == name]
    return config


def fields_that_differ(one: Any, other: Any, where: str = "") -> set[str]:
    """Return the paths of all settings in which two records differ."""
    if type(one) is type(other) and is_dataclass(one):
        return {
            path
            for field in fields(one)
            for path in fields_that_differ(
                getattr(one, field.name), getattr(other, field.name), f"{where}.{field.name}"
            )
        }
    return set() if one == other else {where}


BATCH, MEMORY = ".learning.settings.batch", ".world.wrappers"


@pytest.mark.parametrize(
    ("experiment", "changed", "origin", "differing"),
    [
        (LENDING, "min.batch_only", "min.as_published", {BATCH}),
        (LENDING, "min.coded_batch", "min.as_coded", {BATCH}),
        (
            LENDING,
            "fairqcm.min_memory",
            "fairqcm.as_coded",
            {MEMORY, ".method.switches.lending_memory"},
        ),
        (LENDING, "full.memoryless", "full.as_published", {MEMORY}),
        (LENDING, "full.memoryless", "min.as_published", {MEMORY}),
        (DOUGHNUTS, "full.memoryless", "full.as_published", {MEMORY}),
    ],
)
def test_a_change_changes_one_thing(experiment, changed, origin, differing):
    for profile in ("smoke", "book"):
        one, other = (arm(experiment, name, profile) for name in (changed, origin))
        assert fields_that_differ(one, other) == differing
    assert changed_from(changed.partition(".")[2]) == origin.partition(".")[2]


def test_imagining_and_memory_are_apart_in_lending():
    """What is left between the arms that the claims compare, beside imagining and its buffer."""
    imagining = {".method.counterfactual", ".learning.settings.buffer"}
    pairs = [
        ("fairqcm.as_published", "min.batch_only", imagining),
        (
            "fairqcm.min_memory",
            "min.coded_batch",
            imagining | {".method.switches.lending_memory"},
        ),
    ]
    for one, other, differing in pairs:
        assert fields_that_differ(arm(LENDING, one), arm(LENDING, other)) == differing
    # Beside the code's imagined rewards the exploration alone; the others are not read here.
    unread = {".method.switches.smoothing"} | {
        f".method.switches.recurrent_{what}" for what in ("width", "training")
    }
    habits = fields_that_differ(
        arm(LENDING, "fairqcm.min_memory"), arm(LENDING, "fairqcm.false_update")
    )
    assert habits == {".method.switches.exploration_carries_over"} | unread
    memories = [wrapper.name for wrapper in arm(LENDING, "fairqcm.min_memory").world.wrappers]
    assert memories == ["min-memory"]


# What is learned --------------------------------------------------------------------------------


def trained(experiment: Any, name: str, steps: int) -> Any:
    """Train a book arm for some steps; run 0 explores from 1 on, and all have one seed."""
    model = learner(arm(experiment, name), 0, 3)
    model.learn(steps)
    return model


@pytest.mark.parametrize("variant", ["batch_only", "coded_batch"])
def test_larger_minibatches_change_nothing_before_the_first_of_them(variant):
    origin = f"min.{changed_from(variant)}"
    for steps, same in ((999, True), (1001, False)):  # the buffer is full after 1000
        small, large = (trained(LENDING, name, steps) for name in (origin, f"min.{variant}"))
        np.testing.assert_array_equal(small.replay.observations, large.replay.observations)
        np.testing.assert_array_equal(small.replay.rewards, large.replay.rewards)
        assert np.array_equal(small.online.vector, large.online.vector) == same
        assert (small.learning.batch, large.learning.batch) == (64, 512)


@pytest.mark.parametrize(("experiment", "seen"), [(DOUGHNUTS, 5), (LENDING, 23)])
def test_without_memory_the_same_is_seen_but_for_zeros(experiment, seen):
    full, without = (
        trained(experiment, name, 40) for name in ("full.as_published", "full.memoryless")
    )
    assert not isinstance(without, RecurrentDQN)
    np.testing.assert_array_equal(full.online.vector, without.online.vector)
    np.testing.assert_array_equal(full.replay.rewards, without.replay.rewards)
    one, other = full.replay.next_observations, without.replay.next_observations
    np.testing.assert_array_equal(one[:, :seen], other[:, :seen])
    assert one[:40, seen:].any()
    assert not other[:, seen:].any()


def test_the_code_with_the_memory_of_min_differs_in_the_memory_alone():
    full, short = (
        trained(LENDING, name, 40) for name in ("fairqcm.as_coded", "fairqcm.min_memory")
    )
    np.testing.assert_array_equal(full.replay.rewards, short.replay.rewards)
    np.testing.assert_array_equal(full.replay.actions, short.replay.actions)
    one, other = full.replay.next_observations, short.replay.next_observations
    np.testing.assert_array_equal(one[:, :23], other[:, :23])
    loans, leads = (
        seen[:, 23:].reshape(-1, 2, 6) @ 2 ** np.arange(6)[::-1] for seen in (one, other)
    )
    np.testing.assert_array_equal(leads, loans - loans.min(axis=1, keepdims=True))
    assert (leads != loans).any()
    start = learner(arm(LENDING, "fairqcm.min_memory"), 5, 0).exploration_rate
    assert start == learner(arm(LENDING, "fairqcm.as_coded"), 5, 0).exploration_rate < 0.2


# What is measured -------------------------------------------------------------------------------

REFERENCES = [
    ("doughnuts", "oracle", 1103.345, 0.7),
    ("doughnuts", "rotation", 1099.41, 0.9),
    ("doughnuts", "random-present", 1082.9, 2.5),
    ("doughnuts", "random", 791.144, 12.0),
    ("lending", "random-present", -151.7, 24.0),
    ("lending", "random", -295.3, 28.0),
    ("lending", "alternating", -29.65, 12.0),
    ("lending-continuous", "alternating", -29.9, 12.0),
]


@pytest.mark.parametrize(("problem", "policy", "value", "tolerance"), REFERENCES)
def test_policies_without_training_score_what_is_known(problem, policy, value, tolerance):
    """Tolerances are about seven standard errors of the mean over 1000 episodes."""
    table = train_and_evaluate(reference(problem, policy), 7)
    assert final(table)["return_all"] == pytest.approx(value, abs=tolerance)
    assert len(table[(table["phase"] == "curve") & (table["metric"] == "return")]) == 100


def test_the_four_series_keep_fines_and_fairness_apart():
    def nobody_there(observation: Any, info: Any) -> Any:
        return observation[:, :4].argmin(axis=1)

    totals = play(nobody_there, world("lending").make(300), 0)
    # Somebody receives a loan only when all four ask, so most steps are fined.
    assert (totals["invalid"] > 5).all()
    assert (totals["return"] <= -40 * totals["invalid"]).all()
    assert totals["return"].mean() < totals["welfare"].mean() - 200
    np.testing.assert_array_equal(totals["allocated"] + totals["invalid"], 40.0)
    assert totals["margin_met"].mean() < 0.9
    doughnuts = play(
        lambda observation, info: np.zeros(len(observation), np.int64),
        world("doughnuts", smoothing=0.0).make(50),
        0,
    )
    # One person gets them all: the welfare goes on while nothing is handed out.
    counts = doughnuts["allocated"]
    assert (doughnuts["welfare"] > doughnuts["return"]).all()
    upper = np.log(np.arange(1, 101) + 1.0).sum()
    assert (doughnuts["welfare"] < upper).all()
    assert 70 < counts.mean() < 90


def test_the_profit_is_what_all_loans_earned():
    def whoever_asks(observation: Any, info: Any) -> Any:
        return observation[:, :4].argmax(axis=1)

    env = world("lending").make(200)
    kept: list[Any] = []

    def watched(observation: Any, info: Any) -> Any:
        # Seven bits, plus the episode's length: the profit before this step.
        kept.append(observation[:, 4:11] @ [64, 32, 16, 8, 4, 2, 1] - 40)
        return whoever_asks(observation, info)

    totals = series(protocol.play(watched, env, ("welfare", "missed_margin", "earned"), 3))
    assert (np.abs(totals["profit"] - kept[-1]) <= 1).all()
    np.testing.assert_array_equal(totals["profit"] >= 4, totals["margin_met"] == 1)
    arms = {arm.name: arm.config for arm in LENDING_PROFIT.arms["book"]}
    originals = {arm.name: arm.config for arm in LENDING.arms["book"]}
    for name, config in arms.items():
        assert config.evaluating.counted[-1] == "earned"
        assert replace(config, evaluating=originals[name].evaluating) == originals[name]


def scores(returns: list[float], length: int = 100) -> dict[str, Any]:
    values = np.repeat(np.array(returns, float), 10)
    return {
        "return": values,
        "welfare": values + 1,
        "allocated": np.arange(len(values), dtype=float),
        "invalid": np.zeros(len(values)),
        "steps": np.full(len(values), float(length)),
    }


def test_a_run_is_summed_up_in_bins_ends_and_first_episodes():
    returns = [500.0, 950.0, 880.0, 940.0] + [990.0] * 10
    table = measured(scores(returns), scores([7.0]))
    curve = table[(table["phase"] == "curve") & (table["metric"] == "return")]
    assert curve["step"].tolist() == [1000 * (i + 1) for i in range(14)]
    assert curve["value"].tolist() == returns
    values = final(table)
    assert values["return"] == 990.0
    assert values["return_all"] == pytest.approx(np.mean(returns))
    assert values["allocated_first_100"] == np.arange(100).mean()
    assert values["episodes_to_900"] == 20.0
    assert values["episodes_to_1000"] == 141.0
    assert values["last_policy_return"] == 7.0
    assert table.dtypes[["step", "group", "value"]].astype(str).tolist() == [
        "int64",
        "int32",
        "float64",
    ]


@pytest.mark.parametrize("method", ["full", "rnn"])
def test_every_episode_is_played_with_the_network_of_its_time(method):
    config = config_of("lending", method, "as_coded", "smoke")
    settings = replace(config.learning.settings, target_every=50)
    config = replace(config, learning=replace(config.learning, settings=settings))
    model, record = learner(config, 0, 1), PolicyOfEveryEpisode()
    model.learn(400, callback=record)
    # The buffer is full after two episodes, then the target is copied every fifty steps.
    assert record.of_episode == sorted(record.of_episode)
    assert len(record.of_episode) == 10
    assert len(record.policies) == len(set(record.of_episode)) > 3
    kept = snapshots([record.policies[number] for number in record.of_episode], 40, ())
    together = play(kept.acting(range(10), 1, None), config.world.make(10), 5)
    env = config.world.make(10)
    observation, _ = env.reset(seed=5)
    alone, states = np.zeros(10), [None] * 10
    for _ in range(40):
        actions = np.empty(10, np.int64)
        for row, number in enumerate(record.of_episode):
            chosen, states[row] = record.policies[number].act(
                observation[row : row + 1], states[row]
            )
            actions[row] = chosen[0]
        observation, reward, _, _, _ = env.step(actions)
        alone += reward
    np.testing.assert_allclose(together["return"], alone)


def test_a_run_is_the_same_twice_and_differs_between_seeds():
    config = config_of("doughnuts", "fairqcm", "as_published", "smoke")
    config = replace(config, learning=replace(config.learning, episodes=10))
    tables = [train_and_evaluate(config, seed) for seed in (5, 5, 6)]
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])
