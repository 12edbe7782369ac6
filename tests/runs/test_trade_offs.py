"""Reward at equal unfairness, and the area below a frontier."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from longfair.errors import UsageError
from longfair.runs.claims import Claim, load_claims
from longfair.runs.rules.trade_offs import frontier, hypervolume
from longfair.runs.verdicts import judge

# Three policies: fair and poor, unfair and rich, and one that is dominated.
UNFAIRNESS, REWARD = np.array([0.1, 0.5, 0.6]), np.array([1.0, 3.0, 2.0])


def claim_of(folder: Path, **rule: object) -> Claim:
    claim = {
        "id": "toy-1", "asked": "here", "source": "Figure 1", "statement": "So.",
        "experiment": "toy/lending", "seeds": 10, "variants": ["as_coded"],
        "rule": {"method": "fair", "metric": "reward", "at": "bias", **rule},
    }  # fmt: skip
    path = folder / "claims.yaml"
    path.write_text(yaml.dump({"paper": "toy", "claims": [claim]}))
    return load_claims(path)[0]


def runs_of(method: str, bias: float, reward: float, spread: float = 0.0) -> pd.DataFrame:
    seeds = np.arange(10)
    values = {"bias": bias + 0.0 * seeds, "reward": reward + spread * (seeds - 4.5)}
    return pd.concat(
        pd.DataFrame(
            {
                "method": method, "variant": "as_coded", "seed": seeds, "phase": "final",
                "step": 7, "metric": metric, "group": -1, "value": column,
            }
        )
        for metric, column in values.items()
    )  # fmt: skip


@pytest.mark.parametrize(
    ("at", "best"),
    [(0.1, 1.0), (0.3, 2.0), (0.5, 3.0), (0.55, 3.0), (0.9, 3.0), (0.0, 1.0)],
)
def test_a_frontier_is_the_upper_hull_and_never_falls(at: float, best: float) -> None:
    assert frontier(np.array(at), UNFAIRNESS, REWARD) == pytest.approx(best)


def test_a_mixture_skips_a_policy_below_the_line() -> None:
    unfairness, reward = np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.1, 1.0])
    assert frontier(np.array(0.5), unfairness, reward) == pytest.approx(0.5)


def test_frontiers_of_many_resamples_at_once() -> None:
    at = np.array([0.3, 0.55])
    points = (np.stack([column, column], axis=1) for column in (UNFAIRNESS, REWARD))
    assert frontier(at, *points) == pytest.approx([2.0, 3.0])


def test_the_area_counts_what_is_dominated_inside_the_corner_once() -> None:
    area = hypervolume(UNFAIRNESS, REWARD, 1.0, 0.0)
    assert area == pytest.approx(0.4 * 1.0 + 0.5 * 3.0)
    assert hypervolume(UNFAIRNESS, REWARD, 0.3, 0.5) == pytest.approx(0.2 * 0.5)
    assert hypervolume(UNFAIRNESS, REWARD, 0.05, 0.0) == pytest.approx(0.0)
    assert hypervolume(UNFAIRNESS, REWARD, 1.0, 9.0) == pytest.approx(0.0)


def test_reward_is_compared_where_the_method_stands(tmp_path: Path) -> None:
    claim = claim_of(tmp_path, kind="reward_at_equal_unfairness", others=["poor", "rich"])
    others = [runs_of("poor", 0.1, 1.0, 0.01), runs_of("rich", 0.5, 3.0, 0.01)]
    results = pd.concat([runs_of("fair", 0.3, 2.5, 0.02), *others])
    (verdict,) = judge(claim, results, profile="book")
    assert verdict.word == "reproduced"
    assert verdict.estimate == pytest.approx(0.5)
    # More reward than at its unfairness can be had, though less than the rich one has.
    results = pd.concat([runs_of("fair", 0.3, 1.9, 0.02), *others])
    (verdict,) = judge(claim, results, profile="book")
    assert verdict.word == "contradicted"
    assert verdict.estimate == pytest.approx(-0.1)
    assert "rich 3 at 0.5" in verdict.detail
    (verdict,) = judge(claim, runs_of("fair", 0.3, 1.9), profile="book")
    assert (verdict.word, verdict.missing) == ("not attempted", ("poor", "rich"))


def test_families_are_compared_by_their_areas(tmp_path: Path) -> None:
    claim = claim_of(
        tmp_path, kind="hypervolume", beside=["fair-2"], others=["rich"], corner=[1.0, 0.0]
    )
    results = pd.concat(
        [
            runs_of("fair", 0.1, 1.0, 0.01),
            runs_of("fair-2", 0.4, 2.0, 0.01),
            runs_of("rich", 0.5, 3.0, 0.01),
        ]
    )
    (verdict,) = judge(claim, results, profile="book")
    # 0.3 * 1 + 0.6 * 2 is equal to 0.5 * 3.
    assert verdict.estimate == pytest.approx(0.0, abs=1e-12)
    assert verdict.word == "inconclusive"
    results = pd.concat([results[results["method"] != "fair-2"], runs_of("fair-2", 0.2, 2.5, 0.01)])
    (verdict,) = judge(claim, results, profile="book")
    assert verdict.word == "reproduced"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"kind": "hypervolume", "others": ["rich"], "corner": [1.0]}, "corner.*two numbers"),
        ({"kind": "hypervolume", "others": ["rich"], "corner": [1.0, True]}, "corner.*two numbers"),
        (
            {"kind": "hypervolume", "others": ["a"], "beside": ["a"], "corner": [1, 0]},
            "beside.*without 'a'",
        ),
        ({"kind": "reward_at_equal_unfairness", "others": ["fair"]}, "others.*without 'fair'"),
        ({"kind": "reward_at_equal_unfairness", "others": ["a"], "at": 3}, "at.*a name"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, rule: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        claim_of(tmp_path, **rule)
