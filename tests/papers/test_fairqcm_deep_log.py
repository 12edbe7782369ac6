"""FairQCM's deep agents as the authors' scripts ran them: logs of whole runs, replayed here.

`authors_logs/README.md` says what ran and what the arrays are. A replay makes the agent of a stored
arm, gives it the draws of the log, and lets it learn. Everything else is worked out anew: what is
observed, rewards, actions, what the replay memory holds, targets, weights, the exploration rate,
and the greedy episode after every training episode.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from longfair.agents.fairqcm.ledgers import DoughnutLedger, Ledger, LoanLedger
from longfair.agents.fairqcm.replay import Step
from longfair.papers.fairqcm.deep import DOUGHNUTS, LENDING
from longfair.papers.fairqcm.deep_training import PolicyOfEveryEpisode, learner, snapshots
from longfair.papers.fairqcm.measures import measured, play
from longfair.papers.setting import Setting

Log = dict[str, Any]

LOGS = Path(__file__).parent / "authors_logs"
ARMS = {
    (problem, arm.name): arm.config
    for problem, experiment in (("doughnuts", DOUGHNUTS), ("lending", LENDING))
    for arm in experiment.arms["book"]
}
TORCH_SEED = 5
"""What torch was seeded with before their networks were made."""


class Case(NamedTuple):
    """A run of their scripts, and the stored arm that says the same."""

    file: str
    name: str
    problem: str
    arm: str
    target_every: int | None = None
    """Given on their command line, so that a short run copies the target network at all."""


CASES = {
    f"{case.problem} {case.arm}": case
    for case in (
        Case("doughnuts", "full", "doughnuts", "full.as_coded", 250),
        Case("doughnuts", "min", "doughnuts", "min.as_coded"),
        Case("doughnuts", "reset", "doughnuts", "reset.as_coded"),
        Case("doughnuts", "fairqcm", "doughnuts", "fairqcm.as_coded", 40),
        Case("lending", "full", "lending", "full.as_coded"),
        Case("lending", "min", "lending", "min.as_coded"),
        Case("lending", "fairqcm", "lending", "fairqcm.as_coded"),
        Case("lending", "fairqcm_min", "lending", "fairqcm.min_memory"),
        Case("recurrent", "doughnuts", "doughnuts", "rnn.as_coded", 40),
        Case("recurrent", "lending", "lending", "rnn.as_coded", 20),
    )
}
IMAGINING = [name for name in CASES if "fairqcm" in name]
RECURRENT = [name for name in CASES if "rnn" in name]
DETAILS: Log = dict(np.load(LOGS / "fairqcm_details.npz"))


@cache
def file_of(name: str) -> Log:
    return dict(np.load(LOGS / f"fairqcm_{name}.npz"))


def part_of(logs: Log, prefix: str) -> Log:
    """Return the arrays whose names begin with a prefix and go on with no further one."""
    found = {key.removeprefix(f"{prefix}_"): logs[key] for key in logs if key.startswith(prefix)}
    return {key: value for key, value in found.items() if not key.startswith("min_")}


@cache
def log_of(name: str) -> Log:
    case = CASES[name]
    logs = file_of(case.file)
    log = part_of(logs, case.name)
    return log if "first_weights" in log else log | {"first_weights": logs["first_weights"]}


def setting_of(name: str) -> Setting:
    case = CASES[name]
    setting = ARMS[case.problem, case.arm]
    if case.target_every is None:
        return setting
    settings = replace(setting.learning.settings, target_every=case.target_every)
    return replace(setting, learning=replace(setting.learning, settings=settings))


def number_of(byte: Any) -> Any:
    """Return the number in [0, 1) that a byte of the log stands for."""
    return (np.asarray(byte, np.float64) + 0.5) / 256.0


def bits_of(packed: Any, rows: int) -> Any:
    """Return what was seen (rows, I) from packed columns (I, bytes)."""
    return np.unpackbits(packed, axis=1, count=rows).T


class Drawn:
    """In place of an environment's generator: the numbers that the authors' environment drew.

    Theirs draws a repayment only when somebody asked, ours always: those are filled up.
    """

    def __init__(self, draws: Any, repays: Any | None) -> None:
        """Take draws (E, T + 1, N, P) and repayments (E, T, N) of E episodes one by one."""
        self._rows = self._in_order(number_of(draws), None if repays is None else number_of(repays))

    @staticmethod
    def _in_order(draws: Any, repays: Any) -> Any:
        for episode, rows in enumerate(draws):
            yield rows[0]
            for step, row in enumerate(rows[1:]):
                if repays is not None:
                    yield repays[episode, step]
                yield row
        yield np.zeros_like(draws[0, 0])  # a further episode that nobody plays

    def random(self, shape: int | tuple[int, ...]) -> Any:
        row = next(self._rows)
        assert row.shape == ((shape,) if isinstance(shape, int) else shape)
        return row


def fed(env: Any, draws: Any, repays: Any | None) -> None:
    """Let an environment draw what is in the log, whatever it is seeded with."""
    env.unwrapped._np_random = Drawn(draws, repays)
    env.unwrapped._seed = lambda seed: None


class Chosen:
    """In place of an agent's generator: exploration and minibatches of the authors' scripts."""

    def __init__(self, log: Log) -> None:
        self._explore, self._anything = iter(log["explore"]), iter(log["anything"])
        self._now, self._minibatches = 0, 0

    def random(self, size: int) -> Any:
        assert size == 1
        self._now = int(next(self._anything))
        return number_of([next(self._explore)])

    def integers(self, high: int, size: int) -> Any:
        if size == 1:
            # It is 255 where their script drew no action.
            assert self._now < high
            return np.array([self._now])
        number, place = self._minibatches, np.arange(size)
        self._minibatches += 1
        return (7919 * number + 31 * place * place + place) % high

    def used_up(self) -> bool:
        return next(self._explore, None) is None


class Replay(NamedTuple):
    """What our agent did with the draws of a log."""

    log: Log
    setting: Setting
    agent: Any
    steps: list[Step]
    rates: list[float]
    """Exploration rate at the start, and after every episode."""
    weights: list[Any]
    """Before every gradient step."""
    loss: list[float]
    targets: list[Any]
    learned_at: list[int]
    """Real steps taken before every gradient step."""
    copied_at: list[int]
    """Gradient steps made before every copy to the target network."""
    kept: PolicyOfEveryEpisode


@cache
def replayed(name: str) -> Replay:
    log, setting = log_of(name), setting_of(name)
    agent: Any = learner(setting, 1, TORCH_SEED)
    agent.online.vector[:] = agent.target.vector[:] = log["first_weights"]
    agent.exploration_rate = float(log["epsilon"][0])
    agent.rng = Chosen(log)
    repays = log["train_repay"][:, :, None] if "train_repay" in log else None
    fed(agent.env, log["train_draws"][:, :, None], repays)
    found = Replay(log, setting, agent, [], [agent.exploration_rate], [], [], [], [], [], None)  # type: ignore[arg-type]  # follows below
    kept = PolicyOfEveryEpisode(setting.method.switches.evaluated)
    found = found._replace(kept=kept)
    keep, descend, copy = agent._keep, agent.online.descend, agent.target.copy_from

    def keeping(step: Step) -> None:
        found.steps.append(step)
        keep(step)

    def descending(inputs: Any, actions: Any, targets: Any) -> None:
        values = agent.online.outputs(inputs)
        values = np.take_along_axis(values, actions[..., None], axis=-1)[..., 0]
        found.loss.append(float(np.mean((values - targets) ** 2)))
        found.targets.append(targets.ravel())
        found.weights.append(agent.online.vector.copy())
        found.learned_at.append(agent.num_timesteps)
        descend(inputs, actions, targets)

    def copying(other: Any) -> None:
        found.copied_at.append(agent.num_updates)
        copy(other)

    def ended(agent: Any) -> None:
        kept(agent)
        found.rates.append(agent.exploration_rate)

    agent._keep, agent.online.descend, agent.target.copy_from = keeping, descending, copying
    agent.learn(log["train_action"].size, callback=ended)
    return found


each_run = pytest.mark.parametrize("name", CASES)


# Settings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", range(len(DETAILS["settings_names"])))
def test_the_settings_of_every_script_are_ours(row: int) -> None:
    problem, method = str(DETAILS["settings_names"][row]).split("_")
    capacity, batch, rate, discount, copies, length, people = DETAILS["settings"][row]
    alike = {"full": ("full", "min", "reset"), "fairqcm": ("fairqcm",), "rnn": ("rnn",)}[method]
    for named in alike:
        if (setting := ARMS.get((problem, f"{named}.as_coded"))) is None:
            assert (problem, named) == ("lending", "reset")
            continue
        learning = setting.learning.settings
        assert (learning.buffer, learning.batch) == (capacity, batch)
        assert (learning.learning_rate, learning.discount) == (rate, discount)
        assert (learning.target_every, learning.train_every) == (copies, 1)
        assert setting.episode_length == length
        assert setting.world.make(1).single_action_space.n == people


def test_the_exploration_rate_goes_on_from_run_to_run_as_theirs() -> None:
    """To the last bit: `main` of all four scripts was run for three runs of 1000 episodes."""
    for setting in (setting for (_, arm), setting in ARMS.items() if arm.endswith("as_coded")):
        for run, rates in enumerate(DETAILS["epsilon"]):
            agent = learner(setting, run, 0)
            assert agent.exploration_rate == rates[0]
            rate = agent.exploration_rate
            for episode in (1, 2, 999, 1000) if run != 1 else range(1, 1001):
                before = rates[episode - 1]
                rate = agent.exploration.after_episode(before)
                assert rate == rates[episode]
        assert learner(setting, 3, 0).exploration_rate == DETAILS["epsilon"][-1, -1]


FACTORISED = 5e-7
"""Largest difference of any starting weight, of up to 1.

A start is the orthogonal factor of a random matrix. Other processors round that factorisation
otherwise in its last bits. Replays therefore begin with the weights of the log.
"""


@each_run
def test_networks_start_as_theirs(name: str) -> None:
    """Without recurrence for the same seed of torch, to `FACTORISED`.

    With it, rows of length one and no biases; the recurrent unit keeps torch's own start. Our agent
    draws more random numbers before, so that the same seed gives other weights.
    """
    log, agent = log_of(name), learner(setting_of(name), 1, TORCH_SEED)
    assert np.array_equal(agent.online.vector, agent.target.vector)
    theirs = log["first_weights"]
    if name not in RECURRENT:
        np.testing.assert_allclose(agent.online.vector, theirs, 0.0, FACTORISED)
        return
    assert theirs.shape == agent.online.vector.shape
    sizes = np.cumsum([array.size for array in agent.online.arrays])[:-1]
    for ours, vector in zip(agent.online.arrays, np.split(theirs, sizes), strict=True):
        array = vector.reshape(ours.shape)
        for some in (ours, array):
            if len(array) == 3 * agent.width:
                assert 0.2 < np.abs(some).max() <= 0.25
            elif array.ndim == 2:
                np.testing.assert_allclose(np.linalg.norm(some, axis=1), 1.0, rtol=1e-6)
            else:
                assert not some.any()


# Playing ----------------------------------------------------------------------------------------


@each_run
def test_every_observation_is_theirs(name: str) -> None:
    """Presence or requests, profit and credit in bits, memory in bits; at an end as well."""
    found, log = replayed(name), log_of(name)
    episodes, length = log["train_action"].shape
    seen = bits_of(log["train_seen"], episodes * (length + 1)).reshape(episodes, length + 1, -1)
    before = np.concatenate([step.before for step in found.steps]).reshape(seen[:, :-1].shape)
    after = np.concatenate([step.after for step in found.steps]).reshape(seen[:, 1:].shape)
    assert np.array_equal(before, seen[:, :-1])
    assert np.array_equal(after, seen[:, 1:])


@each_run
def test_every_action_is_theirs_in_training(name: str) -> None:
    """Random or greedy, with networks that have learned the same."""
    found, log = replayed(name), log_of(name)
    assert np.array_equal([step.actions[0] for step in found.steps], log["train_action"].ravel())
    assert found.agent.rng.used_up()
    greedy = log["anything"] == 255
    assert 0 < greedy.sum() < len(greedy)


@each_run
def test_every_reward_is_theirs(name: str) -> None:
    found, log = replayed(name), log_of(name)
    rewards = np.concatenate([step.rewards for step in found.steps])
    np.testing.assert_allclose(rewards, log["train_reward"].ravel(), rtol=1e-6)
    ends = np.concatenate([step.ended for step in found.steps]).reshape(log["train_action"].shape)
    assert ends[:, -1].all()
    assert not ends[:, :-1].any()


def test_the_logs_have_waste_wrong_grants_and_missed_margins() -> None:
    for name, case in CASES.items():
        reward = log_of(name)["train_reward"]
        if case.problem == "doughnuts":
            assert 0 < (reward == 0).sum() < reward.size
        else:
            assert (reward == -40).any()
            missed = reward[:, -1] == -400
            assert 0 < missed.sum() < len(missed)
            assert not (reward[:, :-1] == -400).any()


@each_run
def test_the_exploration_rate_falls_as_theirs(name: str) -> None:
    """To the last bit. In the first run it is at its floor after two episodes."""
    assert replayed(name).rates == log_of(name)["epsilon"].tolist()


# Learning ---------------------------------------------------------------------------------------


@each_run
def test_the_replay_memory_is_theirs(name: str) -> None:
    """All rows with imagined memories, in their order, wherever the ring has got to."""
    found, log = replayed(name), log_of(name)
    memory = found.agent.replay
    capacity, batch = log["capacity_and_batch"]
    settings = found.setting.learning.settings
    assert (settings.buffer, settings.batch) == (capacity, batch)
    assert memory.filled == memory.size == capacity
    assert memory._next == log["stored"] % capacity
    assert np.array_equal(memory.observations, bits_of(log["buffer_before"], capacity))
    assert np.array_equal(memory.next_observations, bits_of(log["buffer_after"], capacity))
    assert np.array_equal(memory.actions, log["buffer_action"])
    np.testing.assert_allclose(memory.rewards, log["buffer_reward"], rtol=1e-6)


@each_run
def test_learning_begins_and_targets_are_copied_when_theirs_are(name: str) -> None:
    found, log = replayed(name), log_of(name)
    steps = log["train_action"].size
    assert found.learned_at == list(range(log["first_learning"], steps + 1))
    assert found.copied_at == log["copied"].tolist()
    assert found.agent.pace.learning_rate == log["learning_rate"]


@each_run
def test_the_targets_of_the_first_minibatch_are_theirs(name: str) -> None:
    found, log = replayed(name), log_of(name)
    np.testing.assert_allclose(found.targets[0], log["first_targets"], rtol=1e-5, atol=1e-5)


ROUNDING = 2e-5
"""Largest difference of any weight after a hundred gradient steps or two.

Without recurrence a weight moves by about 1e-4 in a step, with it by more.
"""
FIRST_STEP = 1e-6
"""Largest difference of any weight after one step, a hundredth of what that step moves or less.

Adam's first step divides a gradient by its own size. Where it is as small as Adam's 1e-8, its last
bits count, and processors round them otherwise.
"""
LONG = "doughnuts full.as_coded"
"""This log has six hundred gradient steps.

In its 97th a hidden value within 1e-6 of zero counts as active in one code and not in the other.
That changes one sample's part of one gradient, and from then on the weights drift apart slowly.
"""


@each_run
def test_every_loss_is_theirs(name: str) -> None:
    found, log = replayed(name), log_of(name)
    mean = [targets.mean() for targets in found.targets]
    exact = 90 if name == LONG else None
    for ours, theirs in ((found.loss, log["loss"]), (mean, log["target_mean"])):
        np.testing.assert_allclose(ours[:exact], theirs[:exact], rtol=1e-5)
        np.testing.assert_allclose(ours, theirs, rtol=2e-3)


@each_run
def test_weights_move_as_theirs(name: str) -> None:
    """After the first step to `FIRST_STEP`; later to `ROUNDING`."""
    found, log = replayed(name), log_of(name)
    after = [*found.weights, found.agent.online.vector]
    assert np.array_equal(after[0], log["first_weights"])
    made, weights = (
        [*log["weights_after"], len(found.loss)],
        [*log["weights"], log["final_weights"]],
    )
    for steps, theirs in zip(made, weights, strict=True):
        drifted = 5e-3 if name == LONG and steps > 90 else ROUNDING
        np.testing.assert_allclose(after[steps], theirs, 0.0, FIRST_STEP if steps == 1 else drifted)
    assert np.array_equal(found.agent.target.vector, after[log["copied"][-1]])


# Evaluation -------------------------------------------------------------------------------------


@cache
def evaluated(name: str) -> tuple[Any, Any]:
    """Play the greedy episodes side by side; actions (E, T) and the series."""
    found, log = replayed(name), log_of(name)
    episodes, length = log["eval_action"].shape
    policies = [found.kept.policies[number] for number in found.kept.of_episode]
    act: Callable[..., Any] = snapshots(policies, length, ()).acting(range(episodes), 1, None)
    env = found.setting.world.make(episodes)
    repays = log["eval_repay"].T[None] if "eval_repay" in log else None
    fed(env, log["eval_draws"].swapaxes(0, 1)[None], repays)
    actions = []

    def acting(observation: Any, info: dict[str, Any]) -> Any:
        actions.append(act(observation, info))
        return actions[-1]

    scores = play(acting, env, 0)
    return np.stack(actions, axis=1), scores


@each_run
def test_the_greedy_episodes_are_theirs(name: str) -> None:
    """Played by the target network, in the episode of training after which they were."""
    log, (actions, scores) = log_of(name), evaluated(name)
    assert np.array_equal(actions, log["eval_action"])
    np.testing.assert_allclose(scores["return"], log["eval_return"], rtol=1e-12)
    if "eval_allocated" in log:
        assert np.array_equal(scores["allocated"], log["eval_allocated"])


@pytest.mark.parametrize("name", ["doughnuts full.as_coded", "lending full.as_coded"])
def test_the_points_of_the_figures_are_theirs(name: str) -> None:
    log, (_, scores) = log_of(name), evaluated(name)
    table = measured(scores, scores)
    curve = table[table["phase"] == "curve"].set_index("metric")["value"]
    names = {"figure_return": "return", "figure_allocated": "allocated"}
    for theirs, ours in names.items():
        if theirs in log:
            points = np.atleast_1d(curve[ours])
            np.testing.assert_allclose(points, log[theirs], rtol=1e-12)


# Imagined memories ------------------------------------------------------------------------------


def corners(problem: str) -> list[tuple[Any, ...]]:
    """Counts, action, real reward, and their imagined counts before and after, and rewards."""
    log = part_of(DETAILS, problem)
    rows = [slice(first, last) for first, last in pairwise(log["start"])]
    imagined = [(log["before"][row], log["after"][row], log["reward"][row]) for row in rows]
    cases = zip(log["counts"].astype(np.int64), log["action"], log["real"], strict=True)
    return [(*case, *found) for case, found in zip(cases, imagined, strict=True)]


@pytest.mark.parametrize(
    ("name", "logged"),
    list(zip(IMAGINING, ["doughnuts", "lending", "lending_min"], strict=True)),
)
def test_imagined_memories_near_the_limits_are_theirs(name: str, logged: str) -> None:
    """Counts near the episode's length leave fewer memories to imagine, or none.

    None is left only where somebody had all doughnuts but one, or a group all loans, before a step.
    There our memory cannot write no rows in bits and stops, so only the rule is compared. No run
    gets there: who has 99 doughnuts before the last step was present every time.
    """
    numbers = set()
    for counts, action, reward, before, after, rewards in corners(logged):
        memory = learner(setting_of(name), 1, 0).replay
        imagination = memory.imagination
        assert imagination is not None
        supply = np.zeros((1, len(imagination.memory.unit_of_person)))
        supply[0, action] = reward not in {0.0, -40.0}
        info = {"supply": supply}
        if logged != "doughnuts":
            info["missed_margin"] = np.array([reward == -400.0])
        memory._counts = counts
        numbers.add(len(before))
        blank = np.zeros((1, memory.observations.shape[1]), np.float32)
        step = Step(
            blank,
            np.array([action]),
            np.array([reward], np.float32),
            blank + 1,
            np.zeros(1, np.bool_),
            info,
        )
        memory.add(step)
        assert memory.filled == 1 + len(before)
        rows, columns = slice(1, memory.filled), slice(*imagination.columns)
        seen = memory.observations[rows, columns], memory.next_observations[rows, columns]
        for ours, theirs in zip(seen, (before, after), strict=True):
            assert np.array_equal(ours, imagination.memory.encode(theirs))
        np.testing.assert_allclose(memory.rewards[rows], rewards, rtol=1e-6)
        assert (memory.actions[: memory.filled] == action).all()
    assert {0, 32 if logged == "doughnuts" else 10} < numbers


@pytest.mark.parametrize(
    ("ledger", "problem"), [(DoughnutLedger(), "doughnuts"), (LoanLedger(), "lending")]
)
def test_ledgers_imagine_what_the_code_imagines(ledger: Ledger, problem: str) -> None:
    """The agents of "Beyond the paper" with the code's counterfactuals have its rewards."""
    generator = np.random.default_rng(0)
    for counts, action, reward, before, after, rewards in corners(problem):
        if not len(before):
            continue
        # An episode ends below the margin where the real reward says so.
        booked = [[0, ledger.length - 1 if reward == -400.0 else 9]]
        booked = booked if problem == "lending" else [[9]]
        start = np.concatenate([before, np.repeat(booked, len(before), axis=0)], axis=1)
        entries, actions = np.zeros_like(start), np.full(len(start), action)
        entries[:, -1] = 1
        granted = np.full(len(start), reward not in {0.0, -40.0})
        entries[np.arange(len(start)), ledger.unit_of_person[actions]] = granted
        end = start + ledger.granted_anyway(entries, actions) + [*[0] * (start.shape[1] - 1), 1]
        assert np.array_equal(end[:, : ledger.units], after)
        found = ledger.coded_rewards(start, end, granted)
        np.testing.assert_allclose(found, rewards, rtol=1e-12)
        if counts.max() >= ledger.length - 5 and problem == "lending":
            continue  # here loans are imagined beyond the limit, where the code imagines none
        real = np.concatenate([counts, booked[0]])[None].repeat(400, axis=0)
        nearby = ledger.nearby(real, generator)[:, : ledger.units]
        imagined, drawn = ({tuple(row) for row in rows.tolist()} for rows in (before, nearby))
        assert drawn in (imagined, imagined | {tuple(counts.tolist())})
