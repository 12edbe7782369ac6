"""What `longfair.testing` finds in environments that break a promise, one each."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from longfair.envs.loan_pool import LoanPoolVectorEnv
from longfair.envs.vector import Transition
from longfair.errors import UsageError
from longfair.testing import BrokenPromiseError, check_environment

PRESET = LoanPoolVectorEnv.params_class.PRESETS[0]


class Remembers(LoanPoolVectorEnv):
    """Its first seed counts for ever."""

    _first: Any = None

    def _seed(self, seed: Any) -> None:
        self._first = seed if self._first is None else self._first
        super()._seed(self._first)


class DrawsElsewhere(LoanPoolVectorEnv):
    """Somebody may get less, by the die of Python."""

    def _transition(self, actions: Any) -> Transition:
        made = super()._transition(actions)
        return made._replace(supply=made.supply * random.random())


class LosesItsForm(LoanPoolVectorEnv):
    """Its rewards have half the precision."""

    def _transition(self, actions: Any) -> Any:
        made = super()._transition(actions)
        return made._replace(reward=made.reward.astype(np.float32))


class ReturnsItsState(LoanPoolVectorEnv):
    """The array that it returns is its own, and goes on changing."""

    _shown: Any = None

    def _observation(self) -> Any:
        if self._shown is None:
            self._shown = super()._observation()
        self._shown[:] = super()._observation()
        return self._shown


class EndsEarly(LoanPoolVectorEnv):
    """An episode has one step less than it should."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.episode_length -= 1


class RestartsAll(LoanPoolVectorEnv):
    """When one copy begins, all do."""

    def _restart(self, copies: Any) -> None:
        super()._restart(np.ones_like(copies))


class TakesAnything(LoanPoolVectorEnv):
    """An action that does not exist is taken for the last one that does."""

    def _checked_actions(self, actions: Any) -> Any:
        return np.clip(np.asarray(actions), 0, self.single_action_space.n - 1)  # type: ignore[attr-defined]  # it is discrete


class ShowsTooMuch(LoanPoolVectorEnv):
    """What it shows is outside its space."""

    def _observation(self) -> Any:
        return super()._observation() + 1e9


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (Remembers, "another seed changes nothing"),
        (DrawsElsewhere, "one generator: draws from another"),
        (LosesItsForm, "the reward is float32, it should be float64"),
        (ReturnsItsState, "fresh arrays: an array is changed"),
        (EndsEarly, "ends of episodes: an episode is not truncated at its length"),
        (RestartsAll, "resets of some copies: others are seen differently"),
        (TakesAnything, "bad actions: actions="),
        (ShowsTooMuch, "the first observation is not in its space"),
    ],
)
def test_a_broken_promise_is_named_in_one_line(broken: Any, promise: str) -> None:
    with pytest.raises(BrokenPromiseError) as error:
        check_environment(broken, PRESET)
    message = str(error.value)
    assert message.startswith(f"{broken.__name__}: {PRESET}, ")
    assert promise in message
    assert "\n" not in message


def test_a_class_that_keeps_its_promises_passes_in_all_presets() -> None:
    check_environment(LoanPoolVectorEnv)


@pytest.mark.parametrize("given", ["Lending", LoanPoolVectorEnv.make(2), int, None])
def test_only_a_class_can_be_checked(given: Any) -> None:
    with pytest.raises(UsageError, match="give a class made from FairVectorEnv"):
        check_environment(given)


def test_an_error_inside_is_a_broken_promise_and_its_cause() -> None:
    class Breaks(LoanPoolVectorEnv):
        def _transition(self, actions: Any) -> Any:
            raise ZeroDivisionError("a group without people")

    with pytest.raises(BrokenPromiseError) as error:
        check_environment(Breaks, PRESET)
    told = f"Breaks: {PRESET}, the seed decides: ends in ZeroDivisionError: a group without people"
    assert str(error.value).startswith(told)
    assert isinstance(error.value.__cause__, ZeroDivisionError)
