"""A card of any policy: it is played as the stored runs were, and refused with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longfair.cli import main
from longfair.errors import UsageError
from longfair.papers import card as cards
from longfair.papers import registry
from longfair.papers.card import COURSES, Course, Line, card, plain, policy_at, try_out
from longfair.papers.page import Page
from longfair.papers.setting import Setting
from longfair.runs.evidence import REFERENCE
from longfair.runs.keys import canonical_json
from longfair.runs.statistics import Estimate

FALLING = ("bias", "gap", "distance", "loss", "disparity", "invalid")
"""Words in the names of measures of which less is better."""
POLICIES = """
import numpy as np

class Same:
    def __init__(self, action=1):
        self.action = action
    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return np.full(len(observation), self.action), None

generous = Same()
number = 3.0

def maker():
    return Same()

def with_argument(observation):
    return observation

def raising():
    raise OSError("no weights")

class Broken:
    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        raise ValueError("no idea\\nat all")

class Tiring(Same):
    calls = 0
    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.calls += 1
        if self.calls > 3:
            raise ValueError("tired")
        return super().predict(observation)

class Three(Same):
    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return 3

class Nothing(Same):
    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return np.full(len(observation), np.nan), None

class Leaving(Same):
    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        raise SystemExit(0)

class Turns(Same):
    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        turn = 0 if state is None else state
        return np.full(len(observation), turn % 5), turn + 1

class Counting(Same):
    def __init__(self):
        super().__init__()
        self.steps = 0
    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.steps += 1
        return np.full(len(observation), self.steps % 5), None

counting = Counting()

class Deaf(Same):
    def observe(self, info):
        return info["no such thing"]
"""


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Name of a module with policies."""
    name = f"own_policies_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(POLICIES)
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    policy_at.cache_clear()


@pytest.fixture(scope="module", autouse=True)
def references_play_once() -> Iterator[None]:
    """Play an evaluation of a reference once for all tests; what is tried is played every time."""
    known: dict[tuple[str, int], dict[str, float]] = {}
    play = cards._final

    def final(setting: Setting, seed: int) -> dict[str, float]:
        if setting.method.policy == "longfair.papers.card:given":
            return play(setting, seed)
        key = canonical_json(setting), seed
        if key not in known:
            known[key] = play(setting, seed)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cards, "_final", final)
        yield


def test_a_policy_that_is_the_trivial_one_gets_its_stored_numbers(given: str) -> None:
    found = card(f"{given}:generous", 2, ["elbert/lending"])
    (played,) = found.played
    stored = Page("book", "elbert/lending").of("elbert/lending").last_of("accept-all", "reference")
    first = stored.set_index("seed").loc[[0, 1]]
    for line, metric in zip(played.lines, ("reward", "bias"), strict=True):
        assert line.policy.value == pytest.approx(first[metric].mean(), rel=1e-12)
        assert line.trivial == pytest.approx(first[metric].mean(), rel=1e-12)
    assert played.lines[0].way == pytest.approx(0.0, abs=1e-12)
    assert played.rows()[0]["of the way"] == "0 %"
    # Whoever accepts everybody has less bias than the best policy: there is no way to it.
    assert played.rows()[1]["of the way"] == "trivial wins"
    assert not played.plain


def test_every_world_is_judged_by_the_bias_in_benefit_rates_once(given: str) -> None:
    (played,) = card(f"{given}:Turns", 2, ["fairqcm/doughnuts"]).played
    assert [line.measure for line in played.lines] == [
        "score", "Nash welfare", "handed to nobody", "bias in benefit rates",
    ]  # fmt: skip
    line = played.lines[-1]
    assert not line.rising
    course = next(one for one in COURSES if one.experiment == "fairqcm/doughnuts")
    best = replace(cards._setting(course), method=cards._reference(course, course.best))
    assert line.best == pytest.approx(np.mean([cards.benefit_bias(best, seed) for seed in (0, 1)]))
    assert 0 < line.best < line.trivial
    (own,) = card(f"{given}:generous", 1, ["elbert/lending"]).played
    assert [line.measure for line in own.lines] == ["reward per step", "bias in benefit rates"]


def test_the_bias_is_of_the_totals_of_all_episodes() -> None:
    course = next(one for one in COURSES if one.experiment == "elbert/lending")
    setting = replace(cards._setting(course), method=cards._reference(course, course.best))
    told = cards._final(setting, 0)
    assert "benefit_bias" not in told
    assert cards.benefit_bias(setting, 0) == pytest.approx(told["bias_exact"])


@pytest.mark.parametrize(
    ("rising", "mine", "way", "said"),
    [
        (True, 0.75, 0.5, "50 %"),
        (True, 0.25, -0.5, "-50 %"),
        (False, 0.25, None, "trivial wins"),
    ],
)
def test_the_way_goes_where_a_measure_is_better(
    rising: bool, mine: float, way: float | None, said: str
) -> None:
    line = Line("m", Estimate(mine, None, None, 1, "mean"), trivial=0.5, best=1.0, rising=rising)
    assert line.way == way
    assert line.position == said
    falling = Line("m", Estimate(0.25, None, None, 1, "mean"), trivial=0.5, best=0.0, rising=False)
    assert falling.position == "50 %"
    assert falling._replace(best=0.5).position == "equal"


def test_more_or_less_is_known_of_every_measure() -> None:
    measures = {key for course in COURSES for key in course.measures}
    falling = {key for key in measures if any(word in key for word in FALLING)}
    assert measures - falling == cards.RISING & measures


def test_a_wrong_world_is_answered_with_near_ones(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", f"{given}:generous", "--only", "elbert/lendng"])
    assert "did you mean 'elbert/lending'" in capsys.readouterr().err


def test_every_course_can_be_played_by_its_own_references() -> None:
    for course in COURSES:
        setting = cards._setting(course)
        for name in (course.trivial, course.best):
            policy = cards._reference(course, name).make(setting.world, 0)
            try_out(policy, setting.world)


def test_courses_are_experiments_with_their_measures() -> None:
    for course in COURSES:
        runs = Page("book", course.experiment).of(course.experiment)
        assert course.experiment in registry.experiments()
        if len(runs.results):
            assert set(course.measures) <= set(runs.last.columns), course


@pytest.mark.parametrize("course", COURSES, ids=lambda course: course.experiment)
def test_no_other_stored_reference_is_better_than_the_best_one(course: Course) -> None:
    last = Page("book", course.experiment).of(course.experiment).last
    last = last[last["variant"] == REFERENCE].set_index(["method", "seed"])
    if course.best not in last.index:
        pytest.skip("no references are stored here: those of another experiment are played")
    signs = [1 if key in cards.RISING else -1 for key in course.measures]
    values = last[list(course.measures)] * signs
    best, trivial = values.loc[course.best], values.loc[course.trivial].mean()
    for name, other in values.groupby("method"):
        more = other.droplevel("method") - best
        noise = 2 * more.sem() + 0.01 * (best.mean() - trivial).abs()
        dominates = (more.mean() >= -noise).all() and (more.mean() > noise).any()
        assert not dominates, name


def test_one_policy_is_the_best_in_a_world_whatever_is_measured_there() -> None:
    best = {course.experiment: course.best for course in COURSES}
    borrowing = [course for course in COURSES if course.policies]
    assert borrowing
    assert all(course.best == best[course.policies] for course in borrowing)


@pytest.mark.parametrize("name", ["generous", "Same", "maker"])
def test_objects_classes_and_makers_are_policies(given: str, name: str) -> None:
    policy = policy_at(f"{given}:{name}")
    assert policy.predict(np.zeros((3, 2)))[0].shape == (3,)
    assert policy_at(f"{given}:{name}") is policy


@pytest.mark.parametrize(
    ("place", "word"),
    [
        ("", "module:name"),
        (":x", "module:name"),
        ("no_such_module_at_all:x", "cannot be imported"),
        ("{}:nothing", "cannot be imported"),
        ("{}:number", "'predict'"),
        (
            "{}:with_argument",
            r"calling with_argument\(\) failed: TypeError: .* missing 1 required .* 'observation'",
        ),
        ("{}:raising", r"calling raising\(\) failed: OSError: no weights"),
    ],
)
def test_what_is_no_policy_is_refused(given: str, place: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        policy_at(place.format(given))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def (", r"SyntaxError: .* line 1"),
        ("raise SystemExit('gone')", "SystemExit: gone"),
    ],
)
def test_a_module_that_cannot_be_imported_is_told_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    word: str,
) -> None:
    name = f"broken_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["evaluate", f"{name}:policy"])
    assert left.value.code == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert re.search(f"importing {name} failed: {word}", shown), shown


def test_policies_are_refused_where_they_cannot_act(given: str) -> None:
    found = card(f"{given}:Broken", 1)
    assert not found.played
    assert set(found.failed) == {course.experiment for course in COURSES}
    line = 1 + POLICIES[: POLICIES.index("no idea")].count("\n")
    told = f"its predict failed: ValueError: no idea at all ({given}.py, line {line})"
    assert set(found.failed.values()) == {told}
    shapes = card(f"{given}:generous", 1, ["elbert/attention"]).refused
    assert shapes == {"elbert/attention": "its actions have shape (2,), not (2, 5)"}


def test_a_policy_gets_its_state_back_and_begins_anew_in_every_evaluation(given: str) -> None:
    turns, first = (
        card(f"{given}:{name}", 2, ["fairqcm/doughnuts"]).played[0] for name in ("Turns", "Same")
    )
    score, of_one = (played.lines[0].policy.value for played in (turns, first))
    # Who takes turns hands doughnuts to all alike; who forgets would serve one person only.
    assert score > 2.5 * of_one
    again = card(f"{given}:Turns", 2, ["fairqcm/doughnuts"]).played[0]
    assert [line.policy for line in again.lines] == [line.policy for line in turns.lines]


def test_every_run_plays_a_policy_as_it_was_made(given: str) -> None:
    """What a policy counts in one world does not change what it does in the next."""
    alone = card(f"{given}:counting", 1, ["fairqcm/doughnuts"]).played
    others = card(f"{given}:counting", 1, ["fairqcm/lending", "fairqcm/doughnuts"]).played
    lines = [[line.policy for line in played.lines] for played in (*alone, *others)]
    assert lines[0] in lines[1:]


def test_a_policy_that_fails_while_it_plays_is_told_in_one_line(given: str) -> None:
    found = card(f"{given}:Tiring", seeds=1, experiments=["elbert/lending"])
    assert found.played == []
    assert found.failed["elbert/lending"].startswith("its predict failed: ValueError: tired (")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Three", "its predict gave 3: give a pair, the actions and a state or None"),
        ("Nothing", "its predict gave actions array([nan, nan]): give finite numbers"),
        ("Leaving", r"its predict failed: SystemExit: 0 ({}.py, line "),
        ("Deaf", r"its observe failed: KeyError: 'no such thing' ({}.py, line "),
    ],
)
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_policy_that_fails_is_no_success(
    given: str, name: str, told: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", f"{given}:{name}", "--only", "elbert/lending"]
    with pytest.raises(SystemExit) as left:
        main([*command, *more])
    assert left.value.code == 1
    shown = capsys.readouterr().out
    assert told.format(given) in shown
    assert "cannot act" not in shown


def test_a_named_world_that_is_not_played_is_no_success(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", f"{given}:generous", "--seeds", "1"]
    with pytest.raises(SystemExit) as left:
        main([*command, "--only", "elbert/infectious", "--only", "elbert/attention"])
    assert left.value.code == 1
    shown = capsys.readouterr().out
    assert "elbert/attention: cannot act there: its actions have shape" in shown
    assert "of the way" in shown


def test_a_table_is_shown_before_the_next_world_is_played(given: str) -> None:
    told: list[str] = []
    card(
        f"{given}:generous",
        1,
        ["elbert/infectious", "elbert/infectious-harder", "elbert/attention"],
        told.append,
        lambda played: told.append(f"table of {played.course.experiment}"),
    )
    assert told[:2] == [
        "playing elbert/infectious, 1 of 2 worlds",
        "table of elbert/infectious",
    ]
    assert re.fullmatch(
        r"playing elbert/infectious-harder, 2 of 2 worlds, about \d+ s left", told[2]
    )
    assert told[3:] == ["table of elbert/infectious-harder"]


def test_agents_are_asked_what_they_see(given: str) -> None:
    policy: Any = policy_at(f"{given}:Same")
    world = cards._setting(COURSES[0]).world
    bare = plain(world)
    assert [w.name for w in world.wrappers] == ["running-rates"]
    assert not bare.wrappers
    policy.observation_space = bare.make(1).single_observation_space
    with pytest.raises(UsageError, match="made for observations of shape"):
        try_out(policy, world)
    try_out(policy, bare)
    (played,) = card(f"{given}:Same", 1, ["elbert/lending"]).played
    assert played.plain
    for no_space in ((9,), "nine", 9):
        policy.observation_space = no_space
        with pytest.raises(UsageError, match=r"observations of shape .*9|nine"):
            try_out(policy, world)


@pytest.mark.parametrize(
    "arguments", [["--seeds", "0"], ["--only", "elbert/lendin"], ["--only", "fairmdp/figure1"]]
)
def test_bad_input_is_one_line(
    given: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["evaluate", f"{given}:generous", *arguments])
    assert left.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_command_prints_a_table_and_json(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["evaluate", f"{given}:generous", "--seeds", "1", "--only", "elbert/infectious"]
    for arguments, word in ((command, "of the way"), ([*command, "--json"], '"trivial"')):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 0
        assert word in capsys.readouterr().out
