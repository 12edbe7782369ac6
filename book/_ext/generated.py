"""Write the parts of the book that come from the library: verdicts, execution status, environments.

At the start of a build, fragments of Markdown are written to `book/_generated` (not committed) and
the pages include them. So no result on a prose page is typed by hand, and no page can say anything
else than `longfair claims` does.
"""

from __future__ import annotations

import html
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from sphinx.application import Sphinx

import api_pages
import chapter_figures
import earlier_board
import environment_pages
import side_by_side
import stored_runs
from claim_board import ASKED, board, chosen, headlines, summary
from longfair.figures import Figure
from longfair.figures.claim_box import ANSWER_COLOURS, VERDICT_COLOURS, badge, claim_box
from longfair.figures.worlds import worlds
from longfair.papers import overview, registry
from longfair.papers.claim_sheet import environment_of
from longfair.papers.live_worlds import WORLDS, LiveWorld
from longfair.papers.who_acts_where import who_acts_where
from longfair.runs.board import Family, family
from longfair.runs.evidence import REFERENCE
from markdown_table import table
from phone_figures import both, picture
from training_speed import training_speed

Row = Mapping[str, Any]

CASE_STUDIES = {
    "fppo/lending": "Bank loans",
    "fppo/attention": "Attention",
    "fppo/epidemic": "Epidemic",
}
"""F-PPO's experiments, and how its chapter calls them."""

PAPERS = {
    "fppo": "F-PPO",
    "elbert": "ELBERT",
    "fairqcm": "FairQCM",
    "ucbfair": "L-UCBFair",
    "fairmdp": "Fair MDPs",
}
"""Papers with a chapter, in the order of the book, and how the book calls them."""


@cache
def claims() -> list[Row]:
    """Claims with their verdicts, by the same command that a reader can use."""
    command = [sys.executable, "-m", "longfair", "claims", "--json"]
    answer = subprocess.run(command, check=False, capture_output=True, text=True)
    if answer.returncode:
        raise RuntimeError(f"longfair claims failed: {answer.stderr.strip()}")
    rows: list[Row] = json.loads(answer.stdout)
    return rows


def claims_of(rows: Sequence[Row], asked: str) -> str:
    """Write the claims that a paper makes, or that are asked here, as the notebooks show them."""
    chosen = [row for row in rows if row["asked"] == asked]
    if not chosen:
        return "None is registered yet.\n"
    changed = len({row["id"] for row in chosen if row["changed"]})
    judged = len({row["id"] for row in chosen})
    marks = f", {changed} of them by a rule that was written or changed after its runs"
    table = claim_box(chosen)._repr_html_()
    said = f"{judged} are judged{marks * bool(changed)}."
    return f"{said}\n\n```{{raw}} html\n{table}\n```\n"


def found(rows: Sequence[Row]) -> str:
    """Write the landing page's count: the verdicts on every paper, the answers to our questions."""
    papers, ours = (
        len({row["id"] for row in rows if row["asked"] == asked}) for asked in ("paper", "here")
    )
    text = (
        f"{papers} claims of the papers stand on the [claim board](claims.md), "
        f"and {ours} questions that are asked here. Below, one counts once for each variant in "
        "which it is judged, and for each measure."
    )
    judged = [row for row in headlines(rows) if row["asked"] == "paper"]
    words = [row["answer"] for row in judged]
    open_ones, held = words.count("inconclusive"), words.count("reproduced")
    theirs = sum(row["answer"] == "reproduced" and row["settings"] == "authors" for row in judged)
    later = len({row["id"] for row in judged if row["changed"]})
    text += (
        f" Of {len(words)} verdicts on the papers' claims {open_ones} are *inconclusive*, and "
        f"{theirs} of {held} *reproduced* rest on runs with the authors' settings. The rules of "
        f"{later} claims of the papers were written or changed after their runs."
    )
    return f"{text} {answered(rows)}\n\n```{{raw}} html\n{counts(rows)}\n```\n"


def counts(rows: Sequence[Row]) -> str:
    """Write how often each paper got each verdict as HTML; on a phone a paper is a block.

    A number leads to the board, which shows what it counts.
    """
    number = Counter(
        (row["paper"], row["answer"]) for row in headlines(rows) if row["asked"] == "paper"
    )
    head = "".join(f'<th scope="col">{badge(verdict, verdict)}</th>' for verdict in VERDICT_COLOURS)
    lines = []
    for paper, title in PAPERS.items():
        cells = "".join(
            f'<td data-column="{verdict}" data-count="{number[paper, verdict]}">'
            f"{_counted(number[paper, verdict], title, verdict)}</td>"
            for verdict in VERDICT_COLOURS
        )
        link = f'<a href="papers/{paper}.html">{title}</a>'
        lines.append(f'<tr><th scope="row">{link}</th>{cells}</tr>')
    return (
        f'<table class="dataframe longfair-counts"><thead><tr><th scope="col">paper</th>{head}</tr>'
        f"</thead><tbody>{''.join(lines)}</tbody></table>"
    )


def _counted(number: int, paper: str, verdict: str) -> str:
    """Write a number of verdicts, with the way to them if there are any."""
    choice = chosen({"asked": ASKED["paper"], "paper": paper, "verdict": verdict})
    return f'<a href="claims.html{html.escape(choice)}">{number}</a>' if number else "0"


def findings() -> str:
    """Write the landing page's picture, and below it what was found."""
    points = overview.points()
    ahead, with_rules = overview.rules_ahead(points)
    by_figure, _ = overview.rules_ahead(overview.by_its_figure(points))
    message = (
        f"In {ahead} of the {with_rules} worlds of this picture that show fixed rules, one of "
        "them, chosen by hand or by a search, is above and to the left of everything the paper "
        "trains by its own methods, by the medians of the runs."
    )
    caption = (
        f"{message} Up is more reward and left is less unfairness, but for doughnuts up is "
        "fairness, the welfare of the counts, and left is less waste. In bank loans of F-PPO the "
        "distance is the one that the paper's text defines; by the one that its figure plots the "
        f"count is {by_figure} of {with_rules}. A point is the median of the runs of one method: "
        "individual loans have one for each tolerance that was tried, the population one for "
        "R-TD3 and two for L-UCBFair, whose point with the theorem's numbers lies under the "
        "random thresholds. For doughnuts yellow is the paper's learner with other memories. A "
        "star is a fixed rule with its name in the figures of the chapters. Runs in infections "
        "and attention have our settings, those in infections fewer steps than the authors', too; "
        "the rule that is ahead there wastes vaccines on purpose. In infections the rate is doses "
        "per new infection, so it can be above one, and so can the bias. In the bank loans of "
        "F-PPO its median run hardly lends. Where an exact optimum is stored, nobody can be above "
        "it. [Data behind this figure (CSV)](/book/_generated/worlds.csv)"
    )
    drawn = overview_figure()
    width = round(drawn.figure.get_figwidth() * 100)
    shown = picture("worlds", f"{message} {drawn.alt_text}", width)
    sentences = [
        f"1. {found.sentence} [The evidence](../notebooks/{found.notebook}.ipynb), "
        f"[the verdict](claims/{found.claim}.md)"
        + f" {found.further} [The evidence](../notebooks/{found.further_notebook}.ipynb)"
        * bool(found.further)
        for found in overview.findings()
    ]
    brackets = "Brackets hold intervals at 95 %, from training run to training run."
    return "\n\n".join([shown, f"*{caption}*", "\n".join(sentences), brackets]) + "\n"


@cache
def overview_figure() -> Figure:
    """Draw the landing page's picture."""
    return worlds(overview.points())


def card_figure() -> Figure:
    """Draw two worlds of the landing page's picture, beside each other as a card has room."""
    points = overview.points()
    shown = overview.ELBERT_WORLDS[0].title, overview.DOUGHNUTS.title
    return worlds(points[points["world"].isin(shown)])


def case_study_arms() -> list[tuple[str, str, str]]:
    """Name experiment, variant and method of what learns in F-PPO's case studies."""
    return [
        (name, arm.variant, arm.method)
        for name in CASE_STUDIES
        for arm in registry.experiment(name).arms["paper"]
        if arm.variant != REFERENCE
    ]


def live_world(world: LiveWorld) -> str:
    """Write a world's element with its data, around the figure that shows where scripts are off."""
    drawn = still(world)
    return (
        f"```{{raw}} html\n{world.opening()}\n```\n\n"
        f"```{{image}} /book/_generated/world_{world.name}.png\n:alt: {drawn.alt_text}\n"
        f":class: dark-light\n:width: {round(drawn.figure.get_figwidth() * 100)}px\n```\n\n"
        "```{raw} html\n</longfair-world>\n```\n"
    )


@cache
def still(world: LiveWorld) -> Figure:
    """Draw a world's figure."""
    return world.still()


def answered(rows: Sequence[Row]) -> str:
    """Say how often each answer is the one to a question of ours."""
    ours = [row["answer"] for row in headlines(rows) if row["asked"] == "here"]
    parts = [f"{ours.count(answer)} {answer}" for answer in ANSWER_COLOURS]
    return f"Our own questions have {len(ours)} answers: {', '.join(parts)}."


def together(rows: Sequence[Row]) -> str:
    """Write what verdicts can get wrong together: the papers' claims, our questions, and both."""
    chosen = headlines(rows)
    both = family(chosen)
    kinds = {
        "claims of the papers": [row for row in chosen if row["asked"] == "paper"],
        "questions of ours": [row for row in chosen if row["asked"] == "here"],
        "both": chosen,
    }
    head = [
        "words of",
        "decided",
        "of",
        "expected misses",
        "chance of no miss",
        "stay at 99 %",
        "stay at 99.9 %",
        "stay together",
        "fragile",
    ]
    lines = [_together(name, family(some)) for name, some in kinds.items()]
    return (
        f"{both.asked} words rest on intervals, and {both.words} of these are decided. At a "
        "level of 95 % one interval in twenty misses the truth, and a decided word can be wrong "
        "only where its interval misses. So no single word of this list is proof. The table counts "
        "the verdicts that are decided and all that could have been. It says how many intervals of "
        "all miss if each holds as often as it says, how probable it is that none does if their "
        "runs were independent, how many words stay by intervals at 99 and 99.9 %, how many stay "
        "if all of a row may be wrong together with a probability of 5 % (Holm), and how many are "
        "fragile. A word with several conditions rests on several intervals and counts once; any "
        "of them can refute it, each with its share of the error. "
        "[Coverage](/book/coverage.md) shows where intervals miss more often: of a few skewed runs "
        "those at 99.9 % miss ten times as often as they say, so the last columns hold for runs "
        "that are nearly normal.\n\n"
        f"{table(head, lines)}"
    )


def _together(name: str, found: Family) -> list[object]:
    """Return a row of the table of `together`."""
    hardly = found.all_right < 1e-4
    none_misses = "less than one in ten thousand" if hardly else f"{found.all_right:.2g}"
    chances = (f"{found.wrong:.0f}", none_misses)
    return [
        name,
        found.words,
        found.asked,
        *chances,
        found.at_99,
        found.at_999,
        found.together,
        found.fragile,
    ]


def coverage(root: Path) -> dict[str, str]:
    """Write the simulated coverage of intervals, a table for every statistic."""
    measured = pd.read_csv(root / "book" / "coverage.csv")
    star = measured["undefined"].ge(0.01).map({True: "\\*", False: ""})
    measured["text"] = (
        measured["coverage"].map("{:.3f}".format, na_action="ignore").fillna("none") + star
    )
    runs = ["distribution", "seeds"]
    parts = []
    for statistic, rows in measured.groupby("statistic", sort=False):
        kinds = list(rows["interval"].unique())
        lines = [
            [*key, *group.set_index("interval").loc[kinds, "text"]]
            for key, group in rows.groupby(runs, sort=False)
        ]
        title = str(statistic).capitalize()
        parts.append(f"## {title}\n\n{table(['Runs', 'Seeds', *kinds], lines)}")
    odd = [
        [*key, f"{group['two_kinds'].iloc[0]:.3f}"]
        for key, group in measured.dropna(subset="two_kinds").groupby(runs, sort=False)
    ]
    kinds_told = table(["Runs", "Seeds", "Taken for two kinds"], odd)
    return {
        "coverage_answer": _coverage_of_ten(measured),
        "coverage": "\n".join(parts),
        "coverage_two_kinds": kinds_told,
    }


def _coverage_of_ten(measured: pd.DataFrame) -> str:
    """Say how often the interval of the verdicts holds the mean of ten runs of each kind."""
    own = measured.query("statistic == 'mean' and seeds == 10 and interval == 'both'")
    kinds = own.set_index("distribution")["coverage"]
    said = ", ".join(f"{hit:.3f} ({kind})" for kind, hit in kinds.items())
    return f"The interval of a mean of ten runs holds the truth with a frequency of {said}.\n"


def fragments(root: Path) -> dict[str, str]:
    """Everything that is generated: name of the fragment to its Markdown."""
    rows = claims()
    runs = stored_runs.stored_runs()
    parts = {
        "found": found(rows),
        "findings": findings(),
        "together": together(rows),
        "earlier_board": earlier_board.fragment(root, headlines(rows), runs),
        "status_results": stored_runs.status(runs, PAPERS),
        "status_machines": stored_runs.made_on(runs),
        "status_notebooks": stored_runs.notebooks(root),
        "status_build": stored_runs.this_build(root),
        "hyperparameters": stored_runs.hyperparameters(runs),
        "method_parameters": stored_runs.methods(registry.experiments().values(), PAPERS),
        "training_speed": training_speed(root),
        "training_speed_fppo": training_speed(root, "fppo"),
        "runs_fppo": stored_runs.counted(runs, CASE_STUDIES, case_study_arms()),
        "who_learned_where": side_by_side.who_learned_where(runs, who_acts_where()),
        "proven": side_by_side.proven(headlines(rows), PAPERS),
    }
    environments = {claim.id: environment_of(claim) for claim in registry.claims()}
    parts["claims"] = (
        f"{summary(rows)}\n\n```{{raw}} html\n{board(rows, PAPERS, environments)}\n```\n"
    )
    for paper in PAPERS:
        own = [row for row in rows if row["paper"] == paper]
        parts[f"claims_{paper}"] = claims_of(own, "paper")
        parts[f"asked_{paper}"] = claims_of(own, "here")
        parts[f"chapter_{paper}"] = chapter_figures.fragment(root, paper)
    parts |= {f"room_{name}": api_pages.room(name) for name in api_pages.ROOMS}
    parts |= {f"world_{world.name}": live_world(world) for world in WORLDS}
    return parts | coverage(root) | environment_pages.fragments(root)


def write(app: Sphinx) -> None:
    """Write the files that changed, so that an unchanged page is not built again."""
    root = Path(app.srcdir)
    folder = root / "book" / "_generated"
    folder.mkdir(exist_ok=True)
    files = {f"{name}.md": text.encode() for name, text in fragments(root).items()}
    drawn = overview_figure()
    numbers = drawn.data.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    pictures = environment_pages.pictures() | chapter_figures.pictures(root)
    pictures |= {"worlds.csv": numbers.encode(), **both("worlds", drawn)}
    for world in WORLDS:
        pictures |= both(f"world_{world.name}", still(world))
    for name, content in (files | pictures).items():
        path = folder / name
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
