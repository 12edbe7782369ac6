"""What the live worlds of the book are given, and what their pages say of them."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from longfair.agents.finite.linear_program import solve
from longfair.envs.lending import LendingVectorEnv
from longfair.errors import UsageError
from longfair.papers.elbert import live_lending
from longfair.papers.elbert.histories import three_notions
from longfair.papers.fairmdp import live_price
from longfair.papers.fairmdp.exact import discounted_steps, finite_problem
from longfair.papers.fairqcm import live_doughnuts
from longfair.papers.live_worlds import WORLDS, LiveWorld
from longfair.runs.store import Store


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_every_world_has_data_and_a_figure_in_words(world: LiveWorld) -> None:
    opening = world.opening()
    assert opening.startswith(f'<longfair-world name="{world.name}"><script')
    text = opening.partition('json">')[2].removesuffix("</script>")
    assert "<" not in text
    assert json.loads(text)["groups"]
    assert len(world.still().alt_text) > 60


def test_data_cannot_end_their_script() -> None:
    world = LiveWorld("bad", lambda: {"name": "</script><b>"}, live_lending.still)
    assert world.opening().count("</script>") == 1
    text = world.opening().partition('json">')[2].removesuffix("</script>")
    assert json.loads(text) == {"name": "</script><b>"}


def test_thresholds_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError, match=r"thresholds\[1\].*8"):
        live_lending.follow([(0, 8)])


def test_the_page_gets_the_draws_of_everybody_who_is_served() -> None:
    coded = base64.b64decode(live_lending.data()["draws"])
    draws = np.frombuffer(coded, "<u2").reshape(-1, 3)
    assert len(draws) == live_lending.PARAMS.episode_length
    assert (draws == live_lending.draws()[:-1]).all()


def test_the_still_figure_says_what_the_bank_earns() -> None:
    earned = live_lending.follow([live_lending.START]).profit[-1, 0]
    per_applicant = earned / live_lending.PARAMS.episode_length
    figure = live_lending.still()
    told = f"Profit of the bank from each applicant: {per_applicant:.3f}"
    assert figure.alt_text.endswith(f" {told}.")
    for one in (figure, figure.for_phones()):
        (axes,) = one.figure.axes
        assert told in [text.get_text() for text in axes.texts]


def test_over_many_episodes_the_thresholds_at_the_start_have_a_smaller_bias() -> None:
    """The landing page says so of the one episode that it shows."""
    rows = Store().load(experiment="elbert/lending", profile="paper")
    own = rows[(rows["method"] == "threshold-3-3") & (rows["metric"] == "bias")]
    many = own[(own["phase"] == "final") & (own["group"] == -1)]["value"]
    assert len(many)
    assert many.max() < live_lending.follow([live_lending.START]).bias[-1, 0]


def test_stored_draws_are_as_good_as_others() -> None:
    """The profit of the stored draws lies among those of the environment's own generator."""
    env = LendingVectorEnv(64, live_lending.PARAMS)
    observation, _ = env.reset(seed=1)
    profit = np.zeros(64)
    for _ in range(live_lending.PARAMS.episode_length):
        lends = (observation[:, :7].argmax(axis=1) >= 3).astype(np.int64)
        observation, reward, *_ = env.step(lends)
        profit += reward
    stored = live_lending.follow([live_lending.START]).profit[-1, 0]
    assert abs(stored - profit.mean()) < 4 * profit.std(ddof=1)


def test_some_thresholds_earn_more_and_are_less_unfair_than_the_first() -> None:
    """The landing page asks for them."""
    course = live_lending.follow([live_lending.START, (2, 1)])
    assert course.profit[-1, 1] > course.profit[-1, 0]
    assert course.bias[-1, 1] < course.bias[-1, 0]


def test_a_history_can_be_fair_over_both_days_and_not_day_by_day() -> None:
    """The page asks for one."""
    judged = three_notions([[0, 5], [5, 0]], [[1, 5], [5, 1]])
    assert judged["ELBERT bias"] == 0.0
    assert judged["squared sum"] > 1.0


def test_memory_of_doughnuts_is_needed_where_no_coin_is_tossed() -> None:
    """The chapter asks what it costs to remember nothing."""
    everything, coin = (live_doughnuts.follow(span, coin=True) for span in (100, 0))
    order = live_doughnuts.follow(0, coin=False)
    assert everything.lead[-1] < 1.0
    assert 0.98 < coin.returns.mean() / everything.returns.mean() < 1.0
    assert order.returns.mean() < 0.6 * everything.returns.mean()


def test_all_memories_of_doughnuts_meet_the_same_people() -> None:
    first, second = live_doughnuts.follow(0, coin=False), live_doughnuts.follow(20, coin=True)
    assert (first.people == second.people).all()
    assert first.people.max() < 2 ** len(live_doughnuts.PARAMS.presence_probability)
    with pytest.raises(UsageError, match="span"):
        live_doughnuts.follow(101, coin=True)


def test_a_memory_of_two_serves_who_had_neither_of_the_last_two() -> None:
    """By hand, from who was there: no coin, so the first of those who had least is served."""
    course = live_doughnuts.follow(2, coin=False)
    for episode in range(live_doughnuts.EPISODES):
        served: list[int] = []
        for bits in course.people[:, episode]:
            there = [person for person in range(5) if bits >> person & 1]
            fewest = min((served[-2:].count(person) for person in there), default=0)
            least = [person for person in there if served[-2:].count(person) == fewest]
            served.append(least[0] if least else -1)
        assert [served.count(person) for person in range(5)] == course.counts[episode].tolist()


def test_neighbouring_corners_differ_in_one_situation() -> None:
    """The page says so, and draws the coin there."""
    found = live_price.data()
    assert len(found["changes"]) == len(found["gap"]) - 1 > 100
    assert {len(change) for change in found["changes"]} == {1}


def test_frontier_is_that_of_the_linear_program() -> None:
    found = live_price.data()
    assert found["gap"][0] <= 0.0 < found["gap"][1]
    for tolerance in (0.0, 0.07, 0.2):
        profit = np.interp(tolerance, found["gap"], found["profit"])
        best = solve(finite_problem("dp"), tolerance).value.reward * discounted_steps()
        assert profit == pytest.approx(best, abs=1e-9)
