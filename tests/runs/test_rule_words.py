"""Rules say in plain words what they ask, and which numbers of runs they look at."""

from __future__ import annotations

import pytest

from longfair.runs.rules.rule import AboutMetrics, RuleFields

HIGHEST = {"kind": "highest", "method": "fair", "others": ["a", "b", "c"], "metric": "reward"}
LEVEL = {"method": "fair", "metric": "end_bias"}
VARIANTS = ("as_coded", "as_told")

WORDS = [
    (HIGHEST, "reward of fair is above that of each of a, b and c"),
    (
        HIGHEST | {"kind": "lowest", "others": ["a:as_coded"], "margin": 0.5},
        "reward of fair is below that of a as coded by at least 0.5",
    ),
    (
        HIGHEST | {"kind": "at_least", "margin": 2, "others": ["a"]},
        "reward of fair is at most 2 below that of a",
    ),
    (
        HIGHEST | {"kind": "at_least", "margin": -2, "among": "available"},
        "reward of fair is at least 2 above that of each of a, b and c "
        "(open at best until all were run)",
    ),
    (
        HIGHEST | {"kind": "at_least", "others": ["a"]},
        "reward of fair is no lower than that of a",
    ),
    (
        HIGHEST | {"kind": "about_equal", "margin": 0.1, "others": ["a"]},
        "reward of fair is within 0.1 of that of a",
    ),
    (
        HIGHEST | {"kind": "wins", "better": "lower", "margin": 1, "others": ["a"]},
        "in more than half of the runs reward of fair is below that of a by more than 1",
    ),
    (
        HIGHEST | {"kind": "ties", "margin": 0.1, "others": ["a", "b"]},
        "in more than half of the runs reward of fair is within 0.1 of that of each of a and b",
    ),
    (
        HIGHEST | {"kind": "difference", "others": ["a"], "target": -3, "tolerance": 1},
        "reward of fair less that of a is -3 within 1",
    ),
    (
        HIGHEST | {"kind": "reduction", "others": ["a"], "threshold": 0.5},
        "reward of fair is lower by at least 0.5, as a part of that of a",
    ),
    (
        LEVEL | {"kind": "value", "target": 2, "tolerance": 1, "group": 1},
        "the mean end bias of group 1 of fair is 2 within 1",
    ),
    (
        LEVEL | {"kind": "bound", "high": 2, "phase": "curve", "window": [0, 0.2]},
        "the mean end bias during training, from 0 to 0.2 of it, of fair is at most 2",
    ),
    (
        LEVEL | {"kind": "share", "above": 3, "low": 0.5, "others": ["a"]},
        "the share of runs of fair with end bias above 3, less that of a, is between 0.5 and 1",
    ),
    (
        {"kind": "earliest", "method": "fair", "others": ["a", "b"], "metric": "x", "level": 9},
        "the mean curve of x of fair reaches 9 in fewer steps than that of a or b",
    ),
    (
        HIGHEST | {"kind": "reward_at_equal_unfairness", "at": "bias"},
        "reward of fair is above what a, b and c, or tossing a coin between two of them, reach at "
        "its bias",
    ),
    (
        HIGHEST | {"kind": "hypervolume", "at": "bias", "corner": [1, 0], "beside": ["d"]},
        "fair and d dominate a larger area of reward by bias than a, b and c, inside 1 of bias and "
        "0 of reward",
    ),
    ({"kind": "exact", "check": "halves"}, "the check halves passes wherever it is computed"),
    (
        LEVEL | {"kind": "bound", "low": 0, "high": 1, "at_worst": "not reproduced"},
        "the mean end bias of fair is between 0 and 1 (if not: not reproduced at worst)",
    ),
    (
        LEVEL | {"kind": "bound", "low": 0, "at_worst": {"as_told": "not reproduced"}},
        "the mean end bias of fair is at least 0 (if not: not reproduced at worst as told)",
    ),
    (
        LEVEL
        | {"kind": "bound", "low": 0, "at_best": "inconclusive", "at_worst": "not reproduced"},
        "the mean end bias of fair is at least 0 (if so: inconclusive at best) (if not: not "
        "reproduced at worst)",
    ),
    (
        HIGHEST | {"others": ["a"], "guard": {"metric": "bias", "others": ["b"]}},
        "reward of fair is above that of a, while bias of fair is no lower than that of b",
    ),
    (
        {"kind": "all", "rules": [LEVEL | {"kind": "bound", "high": 2}, HIGHEST]},
        "(1) the mean end bias of fair is at most 2; (2) reward of fair is above that of each of "
        "a, b and c",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("content", "words"), WORDS, ids=[words[:40] for _, words in WORDS])
def test_a_rule_says_what_it_asks(content: dict[str, object], words: str) -> None:
    rule = RuleFields(dict(content), "here", ("",), None, AboutMetrics(), VARIANTS).rule()
    assert rule.words("") == words


def test_a_rule_names_the_numbers_that_it_looks_at() -> None:
    guarded = HIGHEST | {"guard": {"metric": "bias", "others": ["d"]}}
    rule = RuleFields({"kind": "all", "rules": [LEVEL | {"kind": "bound", "low": 1}, guarded]},
                      "here", ("",), None, AboutMetrics(), VARIANTS).rule()  # fmt: skip
    assert [(one.quantity.metrics[""], one.methods) for one in rule.numbers] == [
        ("end_bias", ("fair",)),
        ("reward", ("fair", "a", "b", "c")),
        ("bias", ("fair", "d")),
    ]


def test_every_measure_has_its_own_words() -> None:
    content = LEVEL | {"kind": "bound", "high": 2, "metric": {"code": "bias", "text": "other"}}
    rule = RuleFields(content, "here", ("code", "text"), None, AboutMetrics(), VARIANTS).rule()
    assert rule.words("code") == "the mean bias of fair is at most 2"
    assert rule.words("text") == "the mean other of fair is at most 2"


@pytest.mark.parametrize("metric", ["at_gap", "helped_at_gap"])
def test_a_prefix_does_not_hide_that_a_metric_is_over_an_evaluation(metric: str) -> None:
    content = LEVEL | {"kind": "bound", "high": 2, "metric": metric}
    content |= {"phase": "curve", "window": [0, 1]}
    about = AboutMetrics(optional_prefix="helped_")
    rule = RuleFields(content, "here", ("",), None, about, VARIANTS).rule()
    gap = "gap" if metric == "at_gap" else "helped gap"
    assert rule.words("") == f"the mean {gap} during an evaluation of fair is at most 2"
