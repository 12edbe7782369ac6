"""The pages about what was run are short, readable and complete."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pandas as pd
import pytest

import stored_runs
from longfair.papers import registry
from longfair.runs.keys import canonical_json

PAPERS = {"toy": "Toys", "none": "Nothing yet"}
RUN = {
    "experiment": "toy/a",
    "paper": "toy",
    "profile": "book",
    "method": "g-ppo",
    "variant": "as_coded",
    "seed": 0,
    "steps": 1000,
    "processor": "P",
    "cores": 2,
    "system": "Linux",
    "python": "3.11",
    "commit": "a" * 40,
    "wall_seconds": 3600.0,
    "core_seconds": 1800.0,
    "versions": {"torch": "2.13.0", "numpy": "2.4.6"},
    "same_as": None,
}


def config(**learning: Any) -> dict[str, Any]:
    """Configuration of a run that trains with PPO."""
    return {"learning": {"class": "PPO", "epochs": 4, **learning}, "method": {"alpha": 1}}


def test_seeds_are_written_short() -> None:
    assert stored_runs.seeds([3, 1, 2, 0, 1]) == "0 to 3"
    assert stored_runs.seeds([1, 5, 9]) == "1, 5, 9"
    assert stored_runs.seeds([0, 1]) == "0, 1"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        ([0.25, 0.05], "0.3 s"),
        ([42.4], "42 s"),
        ([260.0], "4.3 min"),
        ([1800.0], "30 min"),
        ([1800.0, 5400.0], "2.0 h"),
        ([176400.0], "49 h"),
    ],
)
def test_time_is_written_in_the_unit_a_reader_would_choose(
    seconds: list[float], words: str
) -> None:
    assert stored_runs.duration(seconds) == words


def test_totals_count_shared_runs_once_and_lists_are_folded() -> None:
    runs = pd.DataFrame([RUN, RUN | {"seed": 1, "same_as": "toy/b/book/b.c.001"}])
    text = stored_runs.status(runs, PAPERS)
    assert "| Toys | 1 | 1 | 1.0 h | 30 min |" in text
    assert "| **Together** | 1 | 1 | 1.0 h | 30 min |" in text
    assert "{dropdown} Toys: 2 runs, 1 of them shared by two experiments and counted once" in text
    assert "{dropdown} Toys: 1 runs\n" in stored_runs.status(runs[:1], PAPERS)
    assert "| toy/a | book | g-ppo | as coded | 0, 1 | 1,000 | 2.0 h | 1.0 h |" in text
    assert "{dropdown} Nothing yet" not in text


def test_stored_runs_are_counted_by_method_and_variant() -> None:
    others = [
        {"seed": 1},
        {"seed": 1, "profile": "paper"},
        {"method": "a-ppo", "variant": "as_published"},
        {"method": "equal", "variant": "reference"},
        {"experiment": "toy/b", "method": "dqn"},
    ]
    runs = pd.DataFrame([RUN, *(RUN | other for other in others)])
    arms = [
        ("toy/a", "as_coded", "g-ppo"),
        ("toy/a", "as_published", "g-ppo"),
        ("toy/a", "as_published", "a-ppo"),
        ("toy/a", "as_published", "cpo"),
    ]
    text = stored_runs.counted(runs, {"toy/a": "Toys"}, arms)
    assert "| Method | Toys, as coded | Toys, as published |" in text
    assert "| `g-ppo` | 2 | 0 |" in text
    assert "| `a-ppo` | \N{EN DASH} | 1 |" in text
    assert "| `cpo` | \N{EN DASH} | 0 |" in text
    assert "equal" not in text
    assert "dqn" not in text


def test_machines_and_commits_are_named_once() -> None:
    text = stored_runs.made_on(pd.DataFrame([RUN, RUN]))
    assert text.count("numpy 2.4.6, torch 2.13.0") == 1
    assert text.count("P, 2 cores, Linux, Python 3.11") == 1
    assert text.count("`aaaaaaaaaa`") == 1


def test_commits_that_history_has_lost_are_counted() -> None:
    head = stored_runs._git("rev-parse", "HEAD")
    if stored_runs._git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("a shallow clone knows few commits")
    runs = pd.DataFrame([RUN, RUN, RUN | {"commit": head}])
    assert "2 runs name one of 1 commits that are no longer" in stored_runs.made_on(runs)
    assert "no longer" not in stored_runs.made_on(runs[2:])


def test_hyperparameters_part_what_is_shared_from_what_differs() -> None:
    runs = pd.DataFrame(
        [
            RUN | {"config": config(learning_rate=0.0003, hidden=[64, 64])},
            RUN | {"config": config(learning_rate=0.01, hidden=[64, 64]), "experiment": "toy/b"},
            RUN | {"config": config(learning_rate=0.01, hidden=[64, 64]), "experiment": "toy/c"},
            RUN | {"config": {"learning": None}},
        ]
    )
    text = stored_runs.hyperparameters(runs)
    shared = "| Setting | Value in all |\n| --- | --- |\n| epochs | 4 |\n| hidden | 64, 64 |\n\n"
    assert shared in text
    assert "| Setting | toy/a (book) | <details>" in text
    assert "toy/b (book), toy/c (book)</details> |\n" in text
    assert "| learning rate | 0.0003 | 0.01 |" in text
    assert "alpha" not in text


def test_many_sets_of_hyperparameters_say_what_is_not_the_most_common() -> None:
    rates = [0.1, 0.2, 0.3, 0.1, 0.4]
    configs = [config(learning_rate=rate, epochs=4 + (n == 3)) for n, rate in enumerate(rates)]
    runs = pd.DataFrame(
        [RUN | {"config": c, "experiment": f"toy/{n}"} for n, c in enumerate(configs)]
    )
    text = stored_runs.hyperparameters(runs)
    assert "Most common value |\n| --- | --- |\n| epochs | 4 |\n| learning rate | 0.1 |\n" in text
    assert "::::{dropdown} What differs in 5 sets of settings\n" in text
    assert "| toy/2 (book) | learning rate 0.3 |" in text
    assert "| toy/3 (book) | epochs 5 |" in text
    assert "| toy/0 (book) | \N{EN DASH} |" in text


def test_many_experiments_open_on_demand() -> None:
    runs = pd.DataFrame([RUN | {"config": config(), "experiment": f"toy/{n}"} for n in "abcd"])
    folded = "<details><summary>toy/a (book) and 3 more</summary>toy/a (book), toy/b (book), "
    assert f"| Experiments |\n| --- |\n| {folded}" in stored_runs.hyperparameters(runs)


@pytest.mark.parametrize(
    ("paper", "row"),
    [
        (
            "elbert",
            r"`elbert-po` \| as coded \| alpha \(.\) 200,000; beta \(.\) 20; .*elbert/lending",
        ),
        ("elbert", r"`r-ppo` \| as coded \| .*penalty \(ζ\) 2; .*tolerance \(ω\) "),
        ("elbert", r"`a-ppo` \| as coded \| .*change weight \(β₂\) "),
        ("fppo", r"`f-ppo` \| as coded \| .*penalty weight 1.12; .*fppo/lending"),
    ],
)
def test_every_paper_has_the_parameters_of_its_methods(paper: str, row: str) -> None:
    declared = [one for one in registry.experiments().values() if one.paper == paper]
    text = stored_runs.methods(declared, {paper: "Name"})
    assert text.startswith("::::{dropdown} Name: ")
    assert re.search(row, text)
    assert "smoke" not in text


def test_equal_names_of_settings_stay_apart() -> None:
    learning = {"class": "Searching", "episodes": 9, "sampling": {"risk": 0.1, "class": "S"}}
    found = stored_runs.learner(
        {"learning": learning, "method": {"class": "M", "episodes": 5, "settings": {"size": 2}}},
        "fairqcm",
    )
    settings = {"method's episodes": 5, "size": 2, "episodes": 9, "sampling risk": 0.1}
    assert found == ("fairqcm/Searching", settings)


def test_every_learner_of_the_stored_runs_has_its_hyperparameters() -> None:
    runs = stored_runs.stored_runs()
    text = stored_runs.hyperparameters(runs)
    assert {title for title in stored_runs.LEARNERS.values() if f"## {title}\n" in text} == set(
        stored_runs.LEARNERS.values()
    )


def test_every_learner_that_could_be_stored_has_a_name_for_readers() -> None:
    """Else the first run that is stored of one would stop the build of the book."""
    learning = 0
    for name, experiment in registry.experiments().items():
        for arm in (*itertools.chain(*experiment.arms.values()), *experiment.authors_arms):
            config = json.loads(canonical_json(arm.config))
            learning += stored_runs.learner(config, name.split("/")[0]) is not None
    assert learning > 500
    with pytest.raises(ValueError, match="Unheard have no name for readers"):
        stored_runs.learner({"learning": {"class": "Unheard"}}, "toy")
