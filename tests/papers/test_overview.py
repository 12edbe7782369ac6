"""The landing page's picture and sentences are what the stored results say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from longfair.figures.worlds import KINDS
from longfair.papers import overview, registry
from longfair.papers.fairmdp.cross_entropy_results import frontier
from longfair.papers.fairmdp.exact_results import stored
from longfair.papers.fppo.results import HARDLY_LENDING
from longfair.papers.page import Runs
from longfair.runs.store import Store
from longfair.runs.verdicts import judge_all

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def points() -> pd.DataFrame:
    return overview.points()


def test_every_world_shows_the_papers_method_and_what_it_is_held_against(
    points: pd.DataFrame,
) -> None:
    kinds = points.groupby("world")["kind"].agg(set)
    assert len(kinds) == 7
    assert {world.split("(")[1].rstrip(")") for world in kinds.index} == {
        "ELBERT",
        "fair MDPs",
        "F-PPO",
        "FairQCM",
        "L-UCBFair",
    }
    for world, own in kinds.items():
        assert "paper" in own <= set(KINDS)
        # Of the population the paper has two methods, and no learner of another's.
        assert own & {"reward", "others"} or str(world).endswith("(L-UCBFair)")
        assert own & {"fixed", "optimum"}


def test_nobody_is_above_the_exact_optimum(points: pd.DataFrame) -> None:
    loans = points[points["world"].str.startswith("Individual loans")]
    corners = frontier(stored(Store()), "dp", "as_coded")
    searched = loans[loans["kind"] == "paper"]
    best = np.interp(searched["right"], corners["gap"], corners["profit"])
    assert len(searched) == 4
    assert (searched["height"] <= best + 1e-3).all()
    crowd = points[points["world"].str.startswith("Population")]
    (optimum,) = crowd[crowd["kind"] == "optimum"]["height"]
    assert (crowd["height"] <= optimum).all()


def test_a_point_is_the_median_of_the_stored_runs(points: pd.DataFrame) -> None:
    runs = Store().load(experiment="elbert/lending", profile="paper")
    own = runs[
        (runs["method"] == "elbert-po")
        & (runs["variant"] == "as_coded")
        & (runs["phase"] == "final")
        & (runs["group"] == -1)
    ]
    shown = points[(points["name"] == "ELBERT-PO") & points["world"].str.startswith("Bank loans")]
    for metric, column in (("bias", "right"), ("reward", "height")):
        median = own[own["metric"] == metric]["value"].median()
        assert shown[column].item() == pytest.approx(median)


def test_findings_have_a_number_and_a_page() -> None:
    found = overview.findings()
    assert {finding.claim.split("-")[0] for finding in found} == set(registry.papers())
    known = {claim.id for claim in registry.claims()}
    for finding in found:
        assert re.search(r"\d", finding.sentence)
        assert finding.sentence.endswith(".")
        assert "nan" not in finding.sentence
        assert "(not stored)" not in finding.sentence
        for notebook in (finding.notebook, finding.further_notebook or finding.notebook):
            assert (ROOT / "notebooks" / f"{notebook}.py").is_file()
        assert bool(finding.further) == bool(finding.further_notebook)
        assert finding.claim in known


def test_what_is_said_for_fairqcm_is_so() -> None:
    tables = overview._runs("fairqcm/tabular", "book")
    for variant in ("as_coded", "as_published"):
        others = [
            tables.mean("episodes_to_36", method, variant) for method in ("full", "min", "reset")
        ]
        assert tables.mean("episodes_to_36", "fairqcm", variant) < min(others) / 10


def test_rules_are_ahead_where_they_have_more_reward_and_less_unfairness() -> None:
    rows = [
        ("both", "fixed", 0.1, 2.0), ("both", "paper", 0.2, 1.0),
        ("fairer only", "fixed", 0.1, 1.0), ("fairer only", "paper", 0.2, 2.0),
        ("two methods", "fixed", 0.1, 2.0), ("two methods", "paper", 0.2, 1.0),
        ("two methods", "paper", 0.05, 0.0), ("no rule", "paper", 0.2, 1.0),
    ]  # fmt: skip
    points = pd.DataFrame(rows, columns=["world", "kind", "right", "height"])
    assert overview.rules_ahead(points) == (1, 3)


def test_what_the_caption_says_in_words_is_so(points: pd.DataFrame) -> None:
    """In infections the rule ahead is the one that wastes vaccines; F-PPO's median hardly lends."""
    own = points[points["world"] == "Infections, harder (ELBERT)"]
    learned, rules = (own[own["kind"] == kind] for kind in ("paper", "fixed"))
    fairer = rules["right"] < learned["right"].min()
    better = rules["height"] > learned["height"].max()
    assert set(rules["name"][fairer & better]) == {"protect, then waste"}
    last = overview._runs("fppo/lending", "book").last_of("f-ppo", "as_coded")
    assert last["end_cash"].median() < HARDLY_LENDING
    crowd = points[points["world"] == overview.POPULATION.title].set_index("name")
    covered, star = (
        crowd.loc[name, ["right", "height"]].to_numpy(float)
        for name in ("L-UCBFair, the theorem's numbers", "random thresholds")
    )
    span = np.ptp(crowd[["right", "height"]].to_numpy(float), axis=0)
    assert (np.abs(covered - star) < 0.02 * span).all()
    assert (crowd["kind"] == "paper").sum() == 3


def test_by_the_distance_of_its_figure_one_threshold_is_ahead_in_bank_loans_of_f_ppo(
    points: pd.DataFrame,
) -> None:
    title = overview.F_PPO_LENDING.title
    other = overview.by_its_figure(points)
    assert overview.rules_ahead(points[points["world"] == title]) == (0, 1)
    assert overview.rules_ahead(other[other["world"] == title]) == (1, 1)
    assert len(other) == len(points)


def test_names_are_those_of_the_chapters_figures(points: pd.DataFrame) -> None:
    fixed = points[points["kind"] == "fixed"].groupby("world")["name"].agg(set)
    assert fixed["Bank loans (ELBERT)"] == {"threshold 2 / 1", "best thresholds"}
    assert fixed["Attention, harder (ELBERT)"] == {"weights for both"}
    assert fixed["Bank loans (F-PPO)"] == {"threshold 2 / 2"}


def test_gaussian_features_are_the_ones_with_which_random_thresholds_are_beaten() -> None:
    (claim,) = (claim for claim in registry.claims() if claim.id == "ucbfair-beats-random")
    verdicts = judge_all([claim], Store(), "book", {})
    assert {v.answer for v in verdicts if v.variant == "calibrated"} == {"yes"}


def test_a_finding_is_one_sentence_with_one_number() -> None:
    for finding in overview.findings():
        assert len(f"{finding.sentence} {finding.further}".split()) <= 40, finding.sentence
        assert not re.search(r"\d", finding.further)
        for sentence in (finding.sentence, finding.further):
            assert not re.search(r"[.;] ", sentence.replace("vs. ", ""))
        without_interval = re.sub(r" \[[^]]*\]", "", finding.sentence)
        assert len(re.findall(r"\d[\d.,]*", without_interval)) == 1, finding.sentence


def test_two_thresholds_that_a_search_found_are_fairer_and_earn_more() -> None:
    """The number is the one that the linked claim was judged by."""
    (finding,) = (f for f in overview.findings() if f.claim.startswith("elbert"))
    (claim,) = (claim for claim in registry.claims() if claim.id == finding.claim)
    (verdict,) = judge_all([claim], Store(), "paper", {})
    less_reward, more_bias = verdict.parts
    assert verdict.word == less_reward.word == more_bias.word == "contradicted"
    assert less_reward.estimate is not None
    assert f"earn {-less_reward.estimate:.4f} [" in finding.sentence


def test_the_search_keeps_its_tolerance_and_leaves_profit() -> None:
    searched = overview._runs("fairmdp/figure1", "book")
    left = overview._profit_left(searched)
    assert 0 < float(left.split()[0]) < 0.1
    assert (searched.last_of("cce-dp", "as_coded")["gap_dp"] <= 0.1).all()
    sentence = next(f.sentence for f in overview.findings() if f.claim.startswith("fairmdp"))
    assert left in sentence


def test_without_results_there_is_no_sentence_about_them(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = overview._runs("elbert/lending", "paper").results.iloc[:0]

    def nothing(experiment: str, profile: str) -> Runs:
        return overview.Page(profile, experiment).of(experiment).showing(empty)

    monkeypatch.setattr(overview, "_runs", nothing)
    assert not overview.findings()
