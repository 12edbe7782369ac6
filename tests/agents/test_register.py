"""The register of agents: who is in it, where each can act, and what is refused."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import pytest

from longfair.agents import register
from longfair.agents.learning.schedules import Annealed
from longfair.agents.ppo import FairPPO, Strategy
from longfair.agents.ppo.a_ppo import APPO
from longfair.agents.ppo.r_ppo import RPPO
from longfair.agents.register import agents, find
from longfair.envs import NAMES, environment_id
from longfair.errors import UsageError


def batch(name: str) -> Any:
    return gymnasium.make_vec(environment_id(name), num_envs=2)


def test_every_agent_of_the_library_is_registered_with_a_revision() -> None:
    known = agents()
    assert set(known) >= {"g-ppo", "r-ppo", "a-ppo", "elbert-po", "fairqcm-dqn", "ledger-dqn"}
    for name, entry in known.items():
        assert (entry.name, entry.revision >= 1) == (name, True)
        module, _, loader = entry.loaded_by.partition(":")
        assert callable(getattr(importlib.import_module(module), loader).load)


def test_agents_stand_in_an_order_of_their_own() -> None:
    """Whatever was imported first: lists and figures do not change with it."""
    own = [entry for entry in agents().values() if entry.agent.__module__.startswith("longfair.")]
    known = [
        *("g-ppo", "a-ppo", "elbert-po", "r-ppo", "several-notions-po", "demand-regularised-po"),
        *("f-ppo-l", "windowed-a-ppo", "f-ppo-lending", "f-ppo-attention", "f-ppo-epidemic"),
        *("cpo", "fairqcm-tabular", "fairqcm-dqn", "recurrent-dqn", "ledger-dqn"),
        *("memory-q-learning", "l-ucbfair", "r-td3"),
    ]
    assert [entry.name for entry in own if entry.name in known] == known  # more may stand between
    places = [entry.place for entry in own]
    assert places == sorted(set(places))
    assert places[-1] < register.LAST


def test_styles_tell_agents_apart() -> None:
    styles = [entry.style for entry in agents().values() if entry.style is not None]
    assert len({style.colour for style in styles}) == len(styles)
    assert len({style.marker for style in styles}) == len(styles)


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_says_where_it_can_act(name: str) -> None:
    for env in (batch(name), gymnasium.make(environment_id(name))):
        assert find("elbert-po").why_not(env) == ""
        assert (find("r-ppo").why_not(env) == "") == (name != "LoanMDP")
        assert (find("fairqcm-dqn").why_not(env) == "") == (name in ("Doughnut", "LoanPool"))


@pytest.mark.parametrize("strategy", [RPPO(), APPO()])
def test_methods_that_compare_rates_refuse_episodes_of_one_group(strategy: Strategy) -> None:
    with pytest.raises(UsageError, match="cannot act here: it compares the groups' rates within"):
        FairPPO(env=batch("LoanMDP"), strategy=strategy)


def test_a_discrete_agent_refuses_continuous_actions() -> None:
    entry = register.Entry(Strategy, "toy", "toy", actions=("discrete",))
    assert entry.why_not(batch("Attention")).startswith("its actions are discrete")
    assert entry.why_not(batch("Lending")) == ""


def test_a_wrong_name_is_answered_with_near_ones() -> None:
    with pytest.raises(UsageError, match="unknown agent 'elbert-p': did you mean 'elbert-po'"):
        find("elbert-p")


def test_a_name_belongs_to_one_class_and_a_revision_is_declared_anew() -> None:
    @dataclass(frozen=True)
    class Impostor(Strategy):
        name: ClassVar[str] = "elbert-po"
        revision: ClassVar[int] = 1

    @dataclass(frozen=True)
    class Undeclared(Strategy):
        name: ClassVar[str] = "undeclared"

    with pytest.raises(UsageError, match=r"'elbert-po' of .*Impostor exists already"):
        register.register("impostor")(Impostor)
    with pytest.raises(UsageError, match="'undeclared' declares no revision"):
        register.register("undeclared")(Undeclared)


@pytest.mark.parametrize(
    ("details", "message"),
    [
        ({"colour": "red"}, "an agent has no 'colour' in the register"),
        ({"stlye": None}, "no 'stlye' in the register: did you mean 'style'"),
        ({"style": ("red", "o")}, "style=.*: give a Style"),
        ({"actions": ("contiguous",)}, r"actions\[0\]='contiguous': did you mean 'continuous'"),
        ({"needs": "supply"}, "needs='supply': give a sequence"),
        ({"place": 1.5}, "place=1.5: give an integer"),
        ({"label": 3}, "label=3: give text"),
    ],
)
def test_what_is_told_of_an_agent_is_of_its_kind(details: dict[str, Any], message: str) -> None:
    @dataclass(frozen=True)
    class Told(Strategy):
        name: ClassVar[str] = "told"
        revision: ClassVar[int] = 1

    with pytest.raises(UsageError, match=message):
        register.register(**{"label": "Told", **details})(Told)
    assert register.known("told") is None


def test_an_agent_has_a_name_and_a_style_words() -> None:
    with pytest.raises(UsageError, match="name=None: give text"):
        register.register("nameless")(type("Nameless", (), {"revision": 1}))
    marker: Any = 4
    with pytest.raises(UsageError, match="marker=4: give text"):
        register.Style("red", marker)


@pytest.mark.parametrize("argument", ["learning_rate", "clip_range"])
@pytest.mark.parametrize("value", [float("nan"), -1.0, "much", None])
@pytest.mark.parametrize("early", [True, False])
def test_schedules_give_numbers_to_learn_with(argument: str, value: Any, early: bool) -> None:
    """At the start when the model is made, later before anything is learned with it."""

    def schedule(remaining: float) -> Any:
        return value if early == (remaining == 1.0) else 0.01

    def learn() -> None:
        env = gymnasium.make(environment_id("Lending"), episode_length=8)
        model = FairPPO(env=env, batch_size=8, n_epochs=1, **{argument: schedule})
        assert not early
        model.learn(8)

    moment = 1 if early else 0
    with pytest.raises(UsageError, match=rf"{argument}\({moment}\)={value!r}: give a finite numb"):
        learn()


@pytest.mark.parametrize(("steps", "last"), [(8, 0.0), (6, 0.01 * (1.0 - 8 / 6))])
def test_a_line_may_end_at_zero_or_past_it(steps: int, last: float) -> None:
    """A last rollout that goes past the steps asked for takes the line below zero."""
    env = gymnasium.make(environment_id("Lending"), episode_length=8)
    model = FairPPO(env=env, batch_size=8, n_epochs=1, learning_rate=Annealed(0.01))
    model.learn(steps)
    assert model.logger.name_to_value["train/learning_rate"] == pytest.approx(last)


def test_a_line_below_zero_is_refused_before_the_end() -> None:
    env = gymnasium.make(environment_id("Lending"), episode_length=8)
    model = FairPPO(env=env, batch_size=8, learning_rate=lambda left: 0.01 * (left - 0.5))
    with pytest.raises(UsageError, match=r"learning_rate\(0\.333\)=.*at least 0"):
        model.learn(24)


def test_a_limit_of_gymnasium_is_the_length_of_an_episode() -> None:
    identity = environment_id("Lending")
    limited = gymnasium.make(identity, max_episode_steps=20)
    assert FairPPO(env=limited, batch_size=20).n_steps == 20
    wrapped = gymnasium.wrappers.TimeLimit(gymnasium.make(identity), 25)
    assert FairPPO(env=wrapped, batch_size=25).n_steps == 25
    with pytest.raises(UsageError, match="n_steps=30 cuts episodes of 20 steps"):
        FairPPO(env=limited, n_steps=30)


@pytest.mark.parametrize(
    "bad",
    [
        {"learning_rate": float("nan")},
        {"learning_rate": -1.0},
        {"net_arch": ()},
        {"net_arch": (0,)},
        {"seed": -1},
        {"whole_episodes": "yes"},
        {"bootstrap_truncated": 2},
    ],
)
def test_arguments_without_meaning_are_refused_by_name(bad: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(bad))):
        FairPPO(env=batch("Lending"), **bad)
