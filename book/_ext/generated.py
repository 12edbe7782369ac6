"""Write the parts of the book that come from the library: verdicts, execution status, environments.

At the start of a build, fragments of Markdown are written to `book/_generated` (not committed) and
the pages include them. So no result on a prose page is typed by hand, and no page can say anything
else than `longfair claims` does.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import json
import pkgutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
from sphinx.application import Sphinx

import environment_pages
from longfair.figures import Figure
from longfair.figures.claim_box import VERDICT_COLOURS, claim_box
from longfair.figures.worlds import worlds
from longfair.papers import overview
from longfair.papers.live_worlds import WORLDS, LiveWorld
from longfair.runs.board import family
from markdown_table import table
from training_speed import training_speed

Row = Mapping[str, Any]

PAPERS = {
    "fppo": "F-PPO",
    "elbert": "ELBERT",
    "fairqcm": "FairQCM",
    "ucbfair": "L-UCBFair",
    "fairmdp": "Fair MDPs",
}
"""Papers with a chapter, in the order of the book, and how the book calls them."""
ROOMS = ("envs", "metrics", "agents", "papers", "runs", "figures")
LIBRARIES = ("longfair", "numpy", "scipy", "pandas", "torch", "stable-baselines3", "gymnasium")


def claims() -> list[Row]:
    """Claims with their verdicts, by the same command that a reader can use."""
    command = [sys.executable, "-m", "longfair", "claims", "--json"]
    answer = subprocess.run(command, check=False, capture_output=True, text=True)
    if answer.returncode:
        raise RuntimeError(f"longfair claims failed: {answer.stderr.strip()}")
    rows: list[Row] = json.loads(answer.stdout)
    return rows


def badge(verdict: str) -> str:
    """Draw a verdict; the colour is in custom.css."""
    return f"[{verdict}]{{.verdict .verdict-{verdict.replace(' ', '-')}}}"


def board(rows: Sequence[Row], asked: str) -> str:
    """Write the claims that a paper makes, or that are asked here, as the notebooks show them."""
    chosen = [row for row in rows if row["asked"] == asked]
    if not chosen:
        return "None is registered yet.\n"
    changed = len({row["id"] for row in chosen if row["changed"]})
    judged = len({row["id"] for row in chosen})
    marks = f", {changed} of them by a rule that was changed after its runs" * bool(changed)
    table = claim_box(chosen)._repr_html_()
    return f"{judged} are judged{marks}.\n\n```{{raw}} html\n{table}\n```\n"


def headlines(rows: Iterable[Row]) -> list[Row]:
    """Keep the first verdict of every claim, variant and measure: what stands beside it is ours."""
    first: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        first.setdefault((row["id"], row["variant"], row["measure"]), row)
    return list(first.values())


def found(rows: Sequence[Row]) -> str:
    """Write the landing page's count of verdicts: a column per paper, and one for our questions."""
    papers, ours = (
        len({row["id"] for row in rows if row["asked"] == asked}) for asked in ("paper", "here")
    )
    text = (
        f"{papers} claims of the papers stand on the [claim board](claims.md), "
        f"and {ours} questions that are asked here. One that is judged in two variants, or by two "
        "measures, counts twice below."
    )
    head = [
        "Verdict",
        *(f"[{title}](papers/{paper}.md)" for paper, title in PAPERS.items()),
        "Asked here",
    ]
    counts = Counter(
        (row["paper"] if row["asked"] == "paper" else "here", row["verdict"])
        for row in headlines(rows)
    )
    lines = [
        [badge(verdict), *(counts[column, verdict] for column in (*PAPERS, "here"))]
        for verdict in VERDICT_COLOURS
    ]
    return f"{text} {answered(rows)}\n\n{table(head, lines)}"


def findings() -> str:
    """Write the landing page's picture, and below it what was found."""
    caption = (
        "Reward against unfairness in four worlds; the best corner is the upper left. A point is "
        "the median of the runs of one method. Where an exact optimum is known, nobody can be "
        "above its line. [Data behind this figure (CSV)](/book/_generated/worlds.csv)"
    )
    drawn = overview_figure()
    picture = (
        f"```{{image}} /book/_generated/worlds.png\n:alt: {drawn.alt_text}\n"
        f":class: dark-light\n:width: {round(drawn.figure.get_figwidth() * 100)}px\n```"
    )
    sentences = [
        f"1. {found.sentence} [The evidence](../notebooks/{found.notebook}.ipynb)"
        for found in overview.findings()
    ]
    return "\n\n".join([picture, f"*{caption}*", "\n".join(sentences)]) + "\n"


@cache
def overview_figure() -> Figure:
    """Draw the landing page's picture."""
    return worlds(overview.points())


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
    """Say how many of our own questions were answered yes and no, and how many were not."""
    words = {"reproduced": "yes", "checked": "yes", "direction only": "in part"}
    words |= {"contradicted": "no", "not reproduced": "no"}
    ours = [row for row in headlines(rows) if row["asked"] == "here"]
    counts = Counter(words.get(row["verdict"], "cannot be told yet") for row in ours)
    parts = [f"{counts[word]} {word}" for word in ("yes", "in part", "no", "cannot be told yet")]
    return f"Of {len(ours)} answers to our own questions: {', '.join(parts)}."


def together(rows: Sequence[Row]) -> str:
    """Write what all verdicts together can get wrong."""
    found = family(headlines(rows))
    return (
        f"{found.words} words rest on an interval that decides. At a level of 95 % one interval "
        f"in twenty misses the truth, here about {found.wrong:.0f}, and a word can be wrong only "
        f"where its interval misses; if the runs behind them were independent, the probability "
        f"that none misses would be {found.all_right:.2g}. So no single word of this list is "
        f"proof. {found.at_99} of them stay by intervals at 99 %, {found.at_999} at 99.9 %, and "
        f"{found.together} if all together may be wrong with a probability of 5 % (Holm). "
        f"{found.fragile} are fragile.\n"
    )


def coverage(root: Path) -> dict[str, str]:
    """Write the simulated coverage of intervals, a table for every statistic."""
    measured = pd.read_csv(root / "book" / "coverage.csv")
    star = measured["undefined"].ge(0.01).map({True: "\\*", False: ""})
    measured["text"] = measured["coverage"].map(lambda hit: f"{hit:.3f}") + star
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
    return {"coverage": "\n".join(parts), "coverage_two_kinds": kinds_told}


def seeds(numbers: Iterable[int]) -> str:
    """Write seed numbers, a gapless range as its ends."""
    ordered = sorted(set(numbers))
    if len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"{ordered[0]} to {ordered[-1]}"
    return ", ".join(map(str, ordered))


def hours(seconds: Iterable[float]) -> str:
    """Write a sum of seconds in hours, or in seconds where an hour is too coarse."""
    total = sum(seconds)
    return f"{total / 3600:.2g} h" if total >= 360 else f"{total:.2g} s"


def stored_results() -> str:
    """Write what is stored, one row per method of an experiment and profile."""
    from longfair.runs.store import Store

    store = Store()
    tables = [store.provenance(experiment=name) for name in store.experiments()]
    runs = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame({"profile": []})
    runs = runs[runs["profile"] != "smoke"]  # never committed, so another reader's page has none
    if runs.empty:
        return "Nothing is stored yet.\n"
    head = ["Experiment", "Profile", "Method", "Variant", "Seeds", "Steps", "Wall", "Cores busy"]
    rows = [
        [
            *(str(part).replace("_", " ") for part in key),
            seeds(group["seed"]),
            f"{group['steps'].max():,}",
            hours(group["wall_seconds"]),
            hours(group["core_seconds"]),
        ]
        for key, group in runs.groupby(["experiment", "profile", "method", "variant"])
    ]
    return table(head, rows) + "\n" + made_on(runs)


def made_on(runs: pd.DataFrame) -> str:
    """Write on which machines, interpreters and commits stored runs were made."""
    machines = [
        f"{processor}, {cores} cores, {system}, Python {python}"
        for processor, cores, system, python in sorted(
            runs[["processor", "cores", "system", "python"]].drop_duplicates().itertuples(False)
        )
    ]
    commits = sorted({f"`{commit[:10]}`" for commit in runs["commit"].dropna()})
    lines = [
        f"Together {hours(runs['core_seconds'][runs['same_as'].isna()])} of one core"
        f"{', runs that experiments share counted once' * bool(runs['same_as'].notna().any())}.",
        f"Made on {'; '.join(machines)}.",
    ]
    versions = {
        ", ".join(f"{name} {version}" for name, version in sorted(own.items()))
        for own in runs["versions"]
    }
    lines.append(f"Made with {'; '.join(sorted(versions))}.")
    if commits:
        lines.append(f"Made at commit {', '.join(commits)}.")
    return "\n\n".join(lines) + "\n"


def notebooks(root: Path) -> str:
    """Write what every notebook holds."""
    rows = []
    for path in sorted((root / "notebooks").rglob("*.ipynb")):
        content = json.loads(path.read_text(encoding="utf-8"))
        code = [part for part in content["cells"] if part["cell_type"] == "code"]
        tags = [part["metadata"].get("tags", []) for part in code]
        kinds = [set(out.get("data", {})) for part in code for out in part["outputs"]]
        name = path.relative_to(root / "notebooks").with_suffix("").as_posix()
        rows.append(
            [
                f"[{name}](../notebooks/{name}.ipynb)",
                len(code),
                sum("nbval-check-output" in own for own in tags),
                sum("image/png" in kind for kind in kinds),
            ]
        )
    return table(["Notebook", "Code cells", "Checked cells", "Figures"], rows)


def this_build(root: Path) -> str:
    """Write the versions that built the book."""
    from longfair.runs.machine import commit_of

    commit = commit_of(root)
    rows = [["Python", sys.version.split()[0]]]
    rows += [[name, importlib.metadata.version(name).split("+")[0]] for name in LIBRARIES]
    if commit.name:
        changed = " with uncommitted changes" if commit.dirty else ""
        rows.append(["commit", f"`{commit.name[:10]}`{changed}"])
    return table(["What", "Version"], rows)


def first_sentence(thing: object) -> str:
    """Take the first line of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0].rstrip(".")


def public_names(module: ModuleType) -> list[str]:
    """List the public functions and classes that a module defines itself."""
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(thing) or inspect.isfunction(thing))
        and thing.__module__ == module.__name__
    ]


def room(name: str) -> str:
    """Write the modules of a room, what each is for and what it offers."""
    package = importlib.import_module(f"longfair.{name}")
    rows = []
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if any(part.startswith("_") for part in found.name.split(".")):
            continue
        module = importlib.import_module(found.name)
        names = ", ".join(f"`{public}`" for public in public_names(module))
        if names:
            short = found.name.removeprefix(f"{package.__name__}.")
            rows.append([f"`{short}`", first_sentence(module), names])
    return table(["Module", "What it is for", "Names"], rows)


def shell(*lines: str) -> str:
    """Write commands as a code block."""
    return "\n".join(["```text", *lines, "```", ""])


def fragments(root: Path, repository: str) -> dict[str, str]:
    """Everything that is generated: name of the fragment to its Markdown."""
    rows = claims()
    folder = repository.rstrip("/").rsplit("/", 1)[-1]
    parts = {
        "found": found(rows),
        "findings": findings(),
        "together": together(rows),
        "status_results": stored_results(),
        "status_notebooks": notebooks(root),
        "status_build": this_build(root),
        "clone": shell(f"git clone {repository}", f"cd {folder}", "make book", "make test"),
        "training_speed": training_speed(root),
        "training_speed_fppo": training_speed(root, "fppo"),
        "colab": shell(f"!git clone {repository}", f"%cd {folder}", "%pip install --quiet ."),
    }
    for paper in PAPERS:
        own = [row for row in rows if row["paper"] == paper]
        parts |= {f"claims_{paper}": board(own, "paper"), f"asked_{paper}": board(own, "here")}
    parts |= {f"room_{name}": room(name) for name in ROOMS}
    parts |= {f"world_{world.name}": live_world(world) for world in WORLDS}
    return parts | coverage(root) | environment_pages.fragments(root)


def write(app: Sphinx) -> None:
    """Write the files that changed, so that an unchanged page is not built again."""
    root = Path(app.srcdir)
    folder = root / "book" / "_generated"
    folder.mkdir(exist_ok=True)
    repository = app.config.html_theme_options["repository_url"]
    files = {f"{name}.md": text.encode() for name, text in fragments(root, repository).items()}
    drawn = overview_figure()
    numbers = drawn.data.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    pictures = environment_pages.pictures()
    pictures |= {"worlds.png": drawn.png(), "worlds.csv": numbers.encode()}
    pictures |= {f"world_{world.name}.png": still(world).png() for world in WORLDS}
    for name, content in (files | pictures).items():
        path = folder / name
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
