"""Write a page for every claim: what is said, how it is judged, by which runs, how to repeat it.

The pages are `book/claims/ID.md`, with the numbers of single runs beside them, and
`book/claims/code/MODULE.md` with the code that judges. They are not committed. What they say is
what `longfair show ID` tells, so nobody has to keep the two in step.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from sphinx.application import Sphinx
from sphinx.config import Config

from claim_board import headlines
from claim_figures import MOST_PANELS, drawings
from longfair.figures.claim_box import badge
from longfair.papers import registry
from longfair.papers.claim_sheet import EXACT, sheets
from longfair.runs.evidence import SETTINGS_IN_WORDS
from longfair.runs.rules.conjunction import numbered
from longfair.runs.store import Store
from longfair.wording import (
    begun,
    by_measure,
    by_middle,
    certainty,
    numeral,
    plain,
    steps_of,
    with_interval,
)
from markdown_table import table
from repository import Repository

Sheet = Mapping[str, Any]

FOLDER = "book/claims"
LINE = 76
"""Characters of a command that a page shows in one line."""
MEASURES = {
    "code": "as the authors' code computes it",
    "text": "as the text of the paper defines it",
    "figure": "as the figures of the paper plot it",
    "in_use": "while the method massages, as the text has it in use",
    "as_reported": "at the end of curves that are smoothed as the authors' are",
    "last_policy": "of the policy at the end of training",
    "late": "over the last fifth of an episode",
    "end": "at the end of an episode",
}
"""What the measures mean by which one claim is judged more than once."""
THE_REST = "The rest of the figure"
_COLUMNS = ("variant", "measure", "settings", "number", "runs", "steps", "core hours")


@cache
def all_sheets() -> list[Sheet]:
    """Everything about every claim."""
    return list(sheets(registry.claims(), Store()))


# Page -------------------------------------------------------------------------------------------


def page(
    sheet: Sheet, shown_on: Sequence[str], words: Sequence[str], repository: Repository
) -> str:
    """Write a claim's page.

    Parameters
    ----------
    sheet
        Everything about it.
    shown_on
        Notebooks, below the root, that show the claim.
    words
        What its figures say, the first of which is in sight.
    repository
        Where the repository is, if it is anywhere.
    """
    parts = [
        "---\norphan: true\nhtml_theme.sidebar_secondary.remove: true\n---",
        f"# {sheet['id']}",
        f"*{_whose(sheet)}*",
        f"> {escaped(sheet['statement'])}",
        _reported(sheet),
        "## Verdicts" if sheet["asked"] == "paper" else "## Answers",
        raw(verdict_table(sheet)),
        _measures(sheet),
        *_figure(sheet, words),
        "## What decides",
        "\n".join(_detail(row, sheet["methods"]) for row in sheet["verdicts"]),
        f"**Note.** {naming(sheet['note'])}" if sheet["note"] else "",
        *_evidence(sheet, shown_on),
        "## The rule",
        *_rule(sheet, repository),
        "## Repeat it",
        "```bash\n" + "\n".join(map(_command, sheet["commands"])) + "\n```",
        f"The first line executes one stored run again and compares; `--all` takes all. Everything "
        f"on this page, in a terminal: `longfair show {sheet['id']}`."
        if sheet["runs"]
        else f"It computes the check again. Everything on this page, in a terminal: `longfair show "
        f"{sheet['id']}`.",
        "## The code",
        "\n".join(_code(part, repository) for part in sheet["code"]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def raw(text: str) -> str:
    """Put HTML into a page."""
    return f"```{{raw}} html\n{text}\n```"


def _whose(sheet: Sheet) -> str:
    paper = sheet["paper"]
    address = f"https://doi.org/{paper['doi']}" if "doi" in paper else ""
    cited = f"{paper['authors']}, [{paper['title']}]({address})" if address else paper["id"]
    back = f'<a href="../claims.html#{sheet["id"]}">All claims</a>'
    if sheet["asked"] == "paper":
        return f"A claim of {cited}: {sheet['place']}. {back}"
    return f"A question of ours about {cited}. What it is about: {sheet['place']}. {back}"


def _reported(sheet: Sheet) -> str:
    reported = sheet["reported"]
    if reported is None:
        return ""
    error = f", give or take {reported['error']:g}" if reported["error"] else ""
    how = "in its text" if reported["how"] == "text" else f"{reported['how']}{error}"
    by = f" {by_measure(reported['measure'])}" if reported["measure"] else ""
    return f"The paper reports {reported['value']:g}{by} ({how})."


def verdict_table(sheet: Sheet) -> str:
    """Write verdicts or answers as HTML, a row each; on a phone the cells are below each other."""
    columns = ("verdict" if sheet["asked"] == "paper" else "answer", *_COLUMNS)
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    lines = []
    for row in sheet["verdicts"]:
        cells = zip(columns, _cells(row), strict=True)
        line = "".join(f'<td data-column="{name}">{cell}</td>' for name, cell in cells if cell)
        lines.append(f"<tr>{line}</tr>")
    return (
        f'<table class="dataframe longfair-claims longfair-verdicts"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _cells(row: Mapping[str, Any]) -> Iterator[str]:
    yield badge(row["answer"], row["answer"] + " (fragile)" * row["fragile"])
    nothing = "\N{EN DASH}"
    yield plain(row["variant"])
    yield html.escape(by_measure(row["measure"])) or nothing
    yield row["whose"] or nothing
    found = row["estimate"]
    number = nothing if found is None else with_interval(found, row["interval"])
    value = "nothing is random: one value" if row.get("one_value") else by_middle(row)
    asides = [row["measured"], value]
    told = "".join(
        f'<br><small class="aside">{html.escape(text)}</small>' for text in asides if text
    )
    yield f'<span class="number">{number}</span>{told}'
    instances = f"{row['instances']} instance{'s' * (row['instances'] > 1)}"
    yield instances if row["instances"] else str(row["seeds"])
    yield steps_of(row) or nothing
    yield nothing if row["core_hours"] is None else numeral(row["core_hours"], 2)


def _detail(row: Mapping[str, Any], methods: Mapping[str, str]) -> str:
    """Say what decides a verdict; what a rule of several conditions found is a list."""
    which = ", ".join(filter(None, (plain(row["variant"]), by_measure(row["measure"]))))
    sure = "; ".join(certainty(row))
    how_sure = f"How sure: {escaped(sure)}." if sure else ""
    before, conditions, after = parted(row)
    if not conditions:
        said = _explained(begun(before.rstrip("."), methods), methods)
        return f"- *{which}.* {said}. {how_sure}".rstrip()
    lines = [f"- *{which}.* {escaped(begun(before, methods))}".rstrip()]
    lines += [f"  1. {_explained(begun(one, methods), methods)}." for one in conditions]
    last = " ".join(filter(None, (after and f"{escaped(begun(after, methods))}.", how_sure)))
    return "\n".join([*lines, *([f"\n  {last}\n"] if last else [])])


def parted(row: Mapping[str, Any]) -> tuple[str, list[str], str]:
    """Part what decides a verdict: what stands before its conditions, they, and what follows.

    There are none where the rule has one condition, or where one sentence is said for all.
    """
    conditions: list[str] = row["conditions"]
    if not conditions:
        return row["detail"], [], ""
    before, _, after = row["detail"].partition(numbered(conditions))
    return before.strip(), conditions, after.strip(" ;.")


def _explained(text: str, methods: Mapping[str, str]) -> str:
    """Give the names of methods in a text what they are, for whoever points at them."""
    known = sorted(methods, key=len, reverse=True)
    if not known:
        return escaped(text)
    names = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, known))})(?![\w-])")
    *pieces, last = names.split(text)
    marked = (
        f'{escaped(between)}<abbr title="{html.escape(methods[name])}">{escaped(name)}</abbr>'
        for between, name in zip(pieces[::2], pieces[1::2], strict=True)
    )
    return "".join([*marked, escaped(last)])


def escaped(text: str) -> str:
    """Keep the characters of a text from being read as markup."""
    for character in "\\*_[]<>$`":
        text = text.replace(character, f"\\{character}")
    return text


def naming(text: str) -> str:
    """Write the ids of claims in a text as code, which makes them links; keep all else as it is."""
    names = {claim.id for claim in registry.claims()}
    return re.sub(
        r"(?<![\w`-])[a-z]+(?:-[a-z0-9]+)+",
        lambda found: f"`{found[0]}`" if found[0] in names else found[0],
        text,
    )


def _command(line: str) -> str:
    """Write a command as it is typed in a clone; a long one goes on in a second line."""
    typed = f".venv/bin/{line}"
    return typed if len(typed) < LINE else typed.replace(" --methods", " \\\n    --methods")


def _measures(sheet: Sheet) -> str:
    """Say what the measures of the verdicts mean."""
    used = dict.fromkeys(row["measure"] for row in sheet["verdicts"] if row["measure"])
    return "; ".join(f"*{by_measure(name)}*: {MEASURES[name]}" for name in used) + "." * bool(used)


def _figure(sheet: Sheet, words: Sequence[str]) -> Iterator[str]:
    name, rows = sheet["id"], len(sheet["numbers"])
    images = [
        f"```{{image}} /{FOLDER}/{file}\n:alt: {said}\n:class: dark-light\n:width: 440px\n```"
        for file, said in zip(_drawn(name), words, strict=False)
    ]
    if images:
        yield images[0]
        yield (
            "*A dot is a run, the bar the mean of a method, the line its 95 % interval. Where runs "
            "are of two kinds the bar is their median, without a line, because no run is where "
            "their mean is. The judged "
            "method is blue, and what the rule asks for is shaded. Where it compares methods, a "
            "row of its own has their differences, seed by seed, with number and interval of the "
            f"verdict. At most {MOST_PANELS} panels are drawn, those of the first verdict in "
            f"sight; all is in the file.* [Every run (CSV, {rows} rows)](/{FOLDER}/{name}.csv)"
        )
        yield from (f"::::{{dropdown}} {THE_REST}\n{image}\n::::" for image in images[1:])
    elif rows:
        yield f"[Every run (CSV, {rows} rows)](/{FOLDER}/{name}.csv)"
    elif sheet["environment"] == EXACT:
        yield (
            "*Nothing to draw: computed exactly.* A computation decides, not runs. It is done "
            "again when its code changes."
        )
    else:
        yield "*Nothing to draw: no runs yet* that it could be judged on."


def _drawn(name: str) -> tuple[str, str]:
    """Files of a claim's figures."""
    return f"{name}.svg", f"{name}.rest.svg"


def _evidence(sheet: Sheet, shown_on: Sequence[str]) -> Iterator[str]:
    if sheet["beside"]:
        yield f"Told beside it, and not judged:\n\n{_beside(sheet)}"
    if shown_on:
        pages = ", ".join(f"{{doc}}`/{notebook}`" for notebook in shown_on)
        yield f"With the figures of the book: {pages}."
    if sheet["runs"]:
        yield _runs(sheet)


def _beside(sheet: Sheet) -> str:
    head = ["Number", "Method", "Variant", "Settings", "Median", "Lowest to highest", "Runs"]
    lines = [
        [
            row["number"],
            f"`{row['method']}`",
            plain(row["variant"]),
            SETTINGS_IN_WORDS[row["settings"]],
            numeral(row["median"], 3),
            f"{numeral(row['lowest'], 3)} to {numeral(row['highest'], 3)}",
            row["runs"],
        ]
        for row in sheet["beside"]
    ]
    return table(head, lines)


def _found(sheet: Sheet) -> str:
    """Say which words or answers the claim got, for those who cannot see its figure."""
    words = {
        " ".join((row["answer"], plain(row["variant"]), by_measure(row["measure"]))).strip(): None
        for row in headlines(sheet["verdicts"])
    }
    return f"{sheet['id']}: {', '.join(words)}"


def _runs(sheet: Sheet) -> str:
    head = ["Profile", "Method", "Variant", "Fresh", "Stale", "Missing", "Damaged", "Core hours"]
    lines = [" | ".join(head), " | ".join(["---"] * len(head))]
    for row in sheet["runs"]:
        *cells, hours = row.values()
        lines.append(" | ".join([*(plain(str(cell)) for cell in cells), numeral(hours, 2)]))
    table = "\n".join(f"| {line} |" for line in lines)
    days = " to ".join(dict.fromkeys(sheet["made"]))
    what = "\n".join(f"- `{name}`: {escaped(told)}" for name, told in sheet["methods"].items())
    title = f"All runs that it may be judged on, made {days}, and what the methods are"
    return f"::::{{dropdown}} {title}\n{table}\n\n{what}\n::::"


def _rule(sheet: Sheet, repository: Repository) -> Iterator[str]:
    rule = sheet["rule"]
    by_words: dict[str, list[str]] = defaultdict(list)
    for measure, words in rule["words"].items():
        by_words[words].append(measure)
    for words, measures in by_words.items():
        which = f" {' and '.join(map(by_measure, measures))}" if len(by_words) > 1 else ""
        said = "It is reproduced" if sheet["asked"] == "paper" else "The answer is yes"
        conditions = rule["conditions"][measures[0]]
        if not conditions:
            yield f"{said}{which} if {escaped(words)}."
            continue
        lines = [f"1. {_explained(condition, sheet['methods'])}." for condition in conditions]
        yield "\n".join([f"{said}{which} if all of these hold:\n", *lines])
        beyond = rule["beyond"][measures[0]]
        yield f"{escaped(beyond[:1].upper() + beyond[1:])}." if beyond else ""
    yield (
        "A number stands for the whole of its 95 % interval. [How to read](../how_to_read.md) says "
        "what the other words and answers mean."
    )
    events = [
        f"- {'changed' if number else 'written'} {event['date']} by commit "
        f"{repository.of_commit(event['commit'])}"
        for number, event in enumerate(rule["commits"])
    ]
    if sheet["made"]:
        events.append(f"- runs made {' to '.join(dict.fromkeys(sheet['made']))}")
    yield "\n".join(events)
    for change in sheet["changed"]:
        yield (
            f"**Changed after its runs,** {change['date']}: was {escaped(change['was'])}, now "
            f"{escaped(change['now'])}. {escaped(change['why'])}"
        )
    file = f"src/longfair/papers/{sheet['paper']['id']}/claims.yaml"
    yield (
        f"::::{{dropdown}} As it stands in the file\n`{file}`\n\n```text\n{rule['text']}\n```\n::::"
    )


def _code(part: Mapping[str, Any], repository: Repository) -> str:
    own, file = part["name"].rpartition(".")[2], f"src/{part['file']}"
    address = repository.lines(file, part["first"], part["last"])
    there = f" ([in the repository]({address}))" if address else ""
    lines = f"lines {part['first']} to {part['last']}"
    return f"- {{ref}}`{own} <{target(part['name'])}>`, `{file}`, {lines}{there}"


def target(name: str) -> str:
    """Name the place of an object in the code pages."""
    return f"code-{name.replace('_', '-')}"


def code_page(module: str, parts: Sequence[Mapping[str, Any]]) -> str:
    """Write the page of a module: the objects that claims rest on."""
    sections = [
        f"({target(part['name'])})=\n## {part['name'].rpartition('.')[2]}\n\n"
        f"```{{literalinclude}} /src/{part['file']}\n:language: python\n"
        f":lines: {part['first']}-{part['last']}\n:lineno-match:\n```"
        for part in sorted(parts, key=lambda part: int(part["first"]))
    ]
    file = parts[0]["file"]
    opening = f"---\norphan: true\n---\n\n# {module}\n\n*What claims rest on in `src/{file}`.*"
    return "\n\n".join([opening, *sections]) + "\n"


# Files ------------------------------------------------------------------------------------------


def notebooks_with(root: Path, names: Iterable[str]) -> dict[str, list[str]]:
    """Find the notebooks that show claims; by claim, without their ending."""
    found: dict[str, list[str]] = {name: [] for name in names}
    for path in sorted((root / "notebooks").rglob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        for name, own in found.items():
            if f"<code>{name}</code>" in text:
                own.append(path.relative_to(root).with_suffix("").as_posix())
    return found


def files(root: Path, repository: Repository, processes: int = 1) -> dict[str, str]:
    """Everything that is written below the folder: name to content."""
    own = all_sheets()
    claims = {claim.id: claim for claim in registry.claims()}
    shown = notebooks_with(root, [sheet["id"] for sheet in own])
    drawn = drawings(own, claims, Store(), processes)
    written = {}
    modules: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for sheet in own:
        name = sheet["id"]
        words: list[str] = []
        if sheet["numbers"]:
            numbers = pd.DataFrame(sheet["numbers"])
            written[f"{name}.csv"] = numbers.to_csv(
                index=False, float_format="%.6g", lineterminator="\n"
            )
            for file, (svg, said) in zip(_drawn(name), drawn[name], strict=False):
                written[file] = svg
                words.append(f"{f'{name}, the rest' if words else _found(sheet)}. {said}")
        written[f"{name}.md"] = page(sheet, shown[name], words, repository)
        for part in sheet["code"]:
            modules[part["name"].rpartition(".")[0]][part["name"]] = part
    for module, parts in modules.items():
        written[f"code/{module}.md"] = code_page(module, list(parts.values()))
    return written


def write(app: Sphinx) -> None:
    """Write what changed, and take away what no claim has any more."""
    root = Path(app.srcdir)
    folder = root / FOLDER
    wanted = files(root, Repository.of(app), app.parallel)
    for old in folder.rglob("*.*"):
        if old.relative_to(folder).as_posix() not in wanted:
            old.unlink()
    for name, text in wanted.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def include(_app: Sphinx, config: Config) -> None:
    """Let the pages be read although the table of contents does not name them."""
    config.exclude_patterns = [
        pattern for pattern in config.exclude_patterns if not pattern.startswith(f"{FOLDER}/")
    ]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("config-inited", include, priority=900)
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
