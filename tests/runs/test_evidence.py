"""Which runs a verdict rests on follows from their settings, not from the name of a profile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import pytest
from toy_experiment import toy_table

from longfair.errors import UsageError
from longfair.runs.claims import Claim
from longfair.runs.evidence import Evidence
from longfair.runs.experiment import Arm, Experiment, plan, protocol
from longfair.runs.rules.gain import LowestRule
from longfair.runs.rules.rule import Quantity
from longfair.runs.runner import run_all
from longfair.runs.store import Store
from longfair.runs.verdicts import Verdict, judge_by_settings


@dataclass(frozen=True)
class Evaluating:
    every: int = 5
    episodes: int = 3
    final_episodes: int = 100


@dataclass(frozen=True)
class Learning:
    total_steps: int = 100
    rate: float = 0.1


@dataclass(frozen=True)
class Settings:
    bias: float
    evaluating: Evaluating = Evaluating()
    learning: Learning = Learning()


@protocol("toy-evidence")
def work(settings: Settings, seed: int) -> pd.DataFrame:
    return toy_table(settings.bias + 0.001 * seed)


OFTEN, LONG = Evaluating(every=1, episodes=9), Evaluating(final_episodes=9)


def experiment(book: float, evaluating: Evaluating = OFTEN, authors: str = "paper") -> Experiment:
    def arms(bias: float, evaluating: Evaluating, variant: str = "as_coded") -> tuple[Arm, ...]:
        return (
            Arm("fair", variant, Settings(bias), work),
            Arm("idle", "reference", Settings(0.2, evaluating), work),
        )

    return Experiment(
        id="toy/evidence",
        title="Evidence",
        arms={"book": arms(book, evaluating), "paper": arms(0.1, Evaluating())},
        seeds={"book": 6, "paper": 5},
        horizon={"book": 100, "paper": 100},
        authors=authors,
    )


CLAIM = Claim(
    id="toy-1",
    paper="toy",
    asked="paper",
    source="Figure 1",
    statement="It is so.",
    rule=LowestRule(Quantity({"": "bias"}), "fair", ("idle",), "all"),
    variants=("as_coded",),
    measures={"as_coded": ("",)},
    experiment="toy/evidence",
    seeds=5,
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def fill(store: Store, of: Experiment, profile: str, **options: int) -> None:
    with ThreadPoolExecutor(1) as executor:
        run_all(plan(of, profile, **options), store, executor=executor, workers=1)


def judged(store: Store, of: Experiment, profile: str | None = None) -> list[Verdict]:
    evidence = {of.id: Evidence.of(store, of)}
    return judge_by_settings([CLAIM], store, evidence, {}, profile=profile)[CLAIM.id]


def told(verdicts: list[Verdict]) -> list[tuple[str, str, int, str]]:
    return [(v.settings, v.profile, len(v.seeds), v.word) for v in verdicts]


def test_the_authors_settings_come_first_and_ours_beside_them(store: Store) -> None:
    of = experiment(book=0.4)
    fill(store, of, "book")
    assert told(judged(store, of)) == [("ours", "book", 6, "contradicted")]
    fill(store, of, "paper", seeds=3)
    assert told(judged(store, of)) == [
        ("authors", "paper", 3, "inconclusive"),
        ("ours", "book", 6, "contradicted"),
    ]
    fill(store, of, "paper")
    assert told(judged(store, of))[0] == ("authors", "paper", 5, "reproduced")
    assert told(judged(store, of, "paper")) == [("authors", "paper", 5, "reproduced")]
    assert told(judged(store, of, "book")) == [("ours", "book", 6, "contradicted")]


def test_where_a_method_was_not_run_the_runs_that_lack_least_tell_which(store: Store) -> None:
    of = experiment(book=0.4)
    with ThreadPoolExecutor(1) as executor:
        run_all(plan(of, "book", methods=["idle"]), store, executor=executor, workers=1)
    (verdict,) = judged(store, of)
    assert (verdict.word, verdict.missing, verdict.profile) == ("not attempted", ("fair",), "book")


def test_runs_of_another_profile_with_the_authors_settings_are_theirs(store: Store) -> None:
    of = experiment(book=0.1)
    fill(store, of, "book")
    assert told(judged(store, of)) == [("authors", "book", 6, "reproduced")]
    assert told(judged(store, experiment(book=0.1, authors=""))) == [
        ("ours", "book", 6, "reproduced")
    ]


def test_settings_are_those_of_the_stored_run(store: Store) -> None:
    fill(store, experiment(book=0.4), "book")
    (verdict,) = judged(store, experiment(book=0.1))
    assert told([verdict]) == [("ours", "book", 6, "contradicted")]
    assert verdict.detail.endswith("6 of the runs are stale")


def test_an_untrained_policy_may_be_looked_at_more_often_but_not_longer(store: Store) -> None:
    of = experiment(book=0.1, evaluating=OFTEN)
    fill(store, of, "book")
    assert Evidence.of(store, of).runs["settings"].eq("authors").all()
    of = experiment(book=0.1, evaluating=LONG)
    fill(store, of, "book")
    runs = Evidence.of(store, of).runs
    assert set(runs["method"][runs["settings"] == "authors"]) == {"fair"}
    assert told(judged(store, of)) == [("ours", "book", 6, "reproduced")]


def test_a_change_of_ours_is_never_the_authors(store: Store) -> None:
    of = experiment(book=0.1, authors="book")
    ours = replace(of.arms["book"][0], variant="large_batch")
    of = replace(of, arms={**of.arms, "book": (ours, of.arms["book"][1])})
    fill(store, of, "book")
    runs = Evidence.of(store, of).runs
    assert set(runs["method"][runs["settings"] == "authors"]) == {"idle"}


def test_a_setting_that_the_authors_leave_open_is_ours(store: Store) -> None:
    of = replace(experiment(book=0.1, authors="book"), chosen_here=("fair.as_coded",))
    fill(store, of, "book")
    runs = Evidence.of(store, of).runs
    assert set(runs["method"][runs["settings"] == "authors"]) == {"idle"}
    assert told(judged(store, of)) == [("ours", "book", 6, "reproduced")]
    with pytest.raises(UsageError, match=r"chosen_here: 'fare\.as_coded' is no arm"):
        replace(of, chosen_here=("fare.as_coded",))


@pytest.mark.parametrize(
    ("learning", "evaluating", "settings"),
    [
        (Learning(), Evaluating(), "authors"),
        (Learning(50), OFTEN, "short"),
        (Learning(), OFTEN, "ours"),
        (Learning(200), Evaluating(), "ours"),
        (Learning(50, rate=0.2), Evaluating(), "ours"),
        (Learning(50), LONG, "ours"),
    ],
)
def test_runs_that_only_stop_early_are_told_from_ours(
    store: Store, learning: Learning, evaluating: Evaluating, settings: str
) -> None:
    of = experiment(book=0.1)
    whole = of.arms["paper"][0]
    run = replace(whole, config=Settings(0.1, evaluating, learning))
    of = replace(
        of,
        arms={"book": (run, of.arms["book"][1])},
        seeds={"book": 6},
        horizon={"book": 100},
        authors_arms=of.arms["paper"],
    )
    fill(store, of, "book")
    assert [verdict.settings for verdict in judged(store, of)] == [settings]
    assert judged(store, replace(of, authors_arms=()))[0].settings == "ours"


def test_nothing_stored_is_not_attempted(store: Store) -> None:
    (verdict,) = judged(store, experiment(book=0.1))
    assert (verdict.word, verdict.settings) == ("not attempted", "")
