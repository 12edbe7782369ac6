"""Write the chapter on environments from the library: a page each, a gallery, a table of speeds.

Everything follows from the registry `longfair.envs.NAMES`. An environment's page is its docstring,
with a picture where `longfair.papers.environment_pictures` has one, its presets, and exact values
where a solver has found some. Only the heading of the page and the papers it cites are written by
hand, in `book/environments/<name>.md`; the gallery reads the papers from there.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium
import pandas as pd

import phone_figures
from markdown_table import NOTHING, table
from speeds import NOT_MEASURED, measured_on, three_digits

MATH_ROLE = re.compile(r":math:`([^`]*)`")
"""Mathematics as numpydoc writes it; Markdown wants dollar signs."""
CITATION = re.compile(r"\{cite:t\}`([^`]+)`")
COPIES = (1, 64, 1024)
"""Batch sizes that the table of speeds shows."""
LONGEST = 12
"""A parameter with more entries than this is described by their number."""
BENCHMARKS = Path("results/benchmarks/environments.json")
EXACT = Path("results/exact/environments.json")


def names() -> tuple[str, ...]:
    """Names of the registered environments."""
    from longfair.envs import NAMES

    return NAMES


def page_name(name: str) -> str:
    """Name of an environment's page and module, such as `loan_pool` for `LoanPool`."""
    return type(sample(name)).__module__.split(".")[2]


@cache
def sample(name: str) -> Any:
    """Return one copy of an environment, to read from."""
    from longfair.envs import environment_id

    return gymnasium.make_vec(environment_id(name), num_envs=1).unwrapped


def documentation(name: str) -> tuple[str, str]:
    """Return the docstring of an environment as Markdown: what it is, and the sections."""
    text = inspect.cleandoc(type(sample(name)).__doc__ or "")
    text = MATH_ROLE.sub(r"$\1$", text)
    description, mark, sections = text.partition("\n## ")
    return description.strip() + "\n", f"{mark.strip()} {sections}\n" if mark else ""


def page(name: str, root: Path) -> str:
    """Write the generated part of an environment's page."""
    description, sections = documentation(name)
    parts = [description, picture(name), sections, presets(name), exact(name, root)]
    return "\n".join(part for part in parts if part)


# Pictures -------------------------------------------------------------------------------------


@cache
def drawing(name: str) -> tuple[Any, Any] | None:
    """Return the figure of an environment and the picture it shows, if there is one."""
    from longfair.figures.environment_pictures import policy_lines, policy_shares
    from longfair.papers.environment_pictures import PICTURES

    if name not in PICTURES:
        return None
    shown = PICTURES[name]()
    labels = {"across": shown.across, "up": shown.up}
    if "part" in shown.frame:
        return policy_shares(shown.frame, ranked=shown.ranked, **labels), shown
    return policy_lines(shown.frame, **labels), shown


def picture(name: str) -> str:
    """Write the section with an environment's picture, its words and its data."""
    drawn = drawing(name)
    if drawn is None:
        return ""
    figure, shown = drawn
    file = f"environment_{page_name(name)}"
    width = round(figure.figure.get_figwidth() * 100)
    words = f"{shown.caption} {figure.alt_text}"
    return (
        f"## Two policies\n\n{phone_figures.picture(file, words, width)}\n\n"
        f"*{shown.caption}*\n\n{shown.setting} "
        f"[Data behind this figure (CSV)](/book/_generated/{file}.csv)\n"
    )


def pictures() -> dict[str, bytes]:
    """Return the files of all pictures: drawings, and the numbers behind them."""
    files: dict[str, bytes] = {}
    for name in names():
        if drawn := drawing(name):
            figure, _ = drawn
            numbers = figure.data.to_csv(index=False, float_format="%.6g", lineterminator="\n")
            files |= phone_figures.both(f"environment_{page_name(name)}", figure)
            files[f"environment_{page_name(name)}.csv"] = numbers.encode()
    return files


# Presets --------------------------------------------------------------------------------------


def presets(name: str) -> str:
    """Write the presets of an environment: what each is for, and all parameters."""
    record = type(sample(name).params)
    columns = {preset: parameters(getattr(record, preset)()) for preset in record.PRESETS}
    values = pd.DataFrame({preset: pd.Series(column) for preset, column in columns.items()})
    notes = parameter_notes(record)
    alike = values.nunique(axis=1) == 1
    lines = ["## Presets", ""]
    lines += [f"- `{preset}`: {purpose(getattr(record, preset))}" for preset in record.PRESETS]
    for some, title in ((~alike, "Differs between presets"), (alike, "The same in all presets")):
        if some.any():
            rows = [
                [f"`{parameter}`: {notes.get(str(parameter), '')}", by_preset(row)]
                for parameter, row in values[some].iterrows()
            ]
            lines += ["", table([title, "Value"], rows)]
    return "\n".join(lines)


def by_preset(values: pd.Series[Any]) -> str:
    """Write the values of a parameter, each once, with the presets that have it.

    One column for all presets fits on a phone, and shows which of them agree.
    """
    if values.nunique() == 1:
        return str(values.iloc[0])
    return ";<br>".join(
        f"{value} in {', '.join(f'`{preset}`' for preset in values.index[values == value])}"
        for value in values.unique()
    )


def purpose(preset: Any) -> str:
    """Return the first sentence of a preset's docstring, as a noun."""
    text = (inspect.getdoc(preset) or "").partition("\n")[0].removeprefix("Return ")
    return text[:1].upper() + text[1:]


def parameters(record: Any) -> dict[str, str]:
    """Return name and value of all parameters, those of nested records with a dotted name."""
    found: dict[str, str] = {}
    for entry in fields(record):
        value = getattr(record, entry.name)
        if is_dataclass(value):
            found |= {f"{entry.name}.{key}": text for key, text in parameters(value).items()}
        else:
            found[entry.name] = written(value)
    return found


def written(value: Any) -> str:
    """Write the value of a parameter."""
    if value is None or value == ():
        return "none"
    if isinstance(value, str):
        return f'`"{value}"`'
    if isinstance(value, tuple):
        if len(value) > LONGEST:
            return f"{len(value)} entries"
        mark = "; " if isinstance(value[0], tuple) else ", "
        return mark.join(written(part) for part in value)
    return f"{value:,g}" if abs(value) < 1e6 else f"{value:g}"


def parameter_notes(record: type) -> dict[str, str]:
    """Return what each parameter means: the string below it in the source of its record."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(record))).body
    assert isinstance(definition, ast.ClassDef)
    notes = {}
    for entry, below in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name):
            note = _string(below)
            kind = getattr(sys.modules[record.__module__], ast.unparse(entry.annotation), None)
            if is_dataclass(kind):
                own = parameter_notes(kind) if isinstance(kind, type) else {}
                for part in fields(kind):
                    notes[f"{entry.target.id}.{part.name}"] = own.get(part.name) or note
            notes[entry.target.id] = note
    return {name: MATH_ROLE.sub(r"$\1$", note) for name, note in notes.items()}


def _string(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return str(statement.value.value)
    return ""


# Exact values ---------------------------------------------------------------------------------


def exact(name: str, root: Path) -> str:
    """Write the exact values of an environment, if a solver has found any."""
    if not (root / EXACT).exists():
        return ""
    rows = pd.DataFrame(json.loads((root / EXACT).read_text(encoding="utf-8")))
    rows = rows[rows["environment"] == name]
    if rows.empty:
        return ""
    values = rows.pivot(index="policy", columns="preset", values="value")
    values = values.loc[rows["policy"].unique(), rows["preset"].unique()]
    head = ["Policy", *(f"`{preset}`" for preset in values.columns)]
    body = [
        [policy, *(NOTHING if pd.isna(value) else f"{value:,.3f}" for value in row)]
        for policy, *row in values.itertuples()
    ]
    words = (
        "Expected return of an episode, computed and not simulated; without a discount unless one "
        "is named. No policy does better than the one called best; where only some policies are "
        "compared, its name says which.\n"
    )
    return "\n".join(["## Exact values", "", words, table(head, body)])


# The gallery ----------------------------------------------------------------------------------


def cards(root: Path) -> str:
    """Write one card for each environment."""
    lines = ["::::{grid} 1 1 2 2", ":gutter: 3", ""]
    for name in names():
        file = page_name(name)
        papers = cited((root / "book" / "environments" / f"{file}.md").read_text(encoding="utf-8"))
        sentence = documentation(name)[0].partition("\n\n")[0].strip()
        lines += [
            f":::{{grid-item-card}} [{title(root, file)}]({file}.md)",
            "",
            sentence,
            "",
            f"`longfair/{name}-v0`{f', from {papers}' if papers else ''}",
            ":::",
            "",
        ]
    return "\n".join([*lines, "::::", ""])


def title(root: Path, file: str) -> str:
    """Return the heading of an environment's page."""
    text = (root / "book" / "environments" / f"{file}.md").read_text(encoding="utf-8")
    return text.partition("\n")[0].removeprefix("# ")


def cited(text: str) -> str:
    """Return the citations of a page, joined into a clause."""
    keys = [f"{{cite:t}}`{key}`" for key in CITATION.findall(text)]
    return " and ".join(filter(None, [", ".join(keys[:-1]), *keys[-1:]]))


# Speed ----------------------------------------------------------------------------------------


def speed(root: Path) -> str:
    """Write the table of speeds, or that it has not been measured."""
    file = root / BENCHMARKS
    if not file.exists():
        return NOT_MEASURED
    return speed_table(json.loads(file.read_text(encoding="utf-8")))


def speed_table(measured: Mapping[str, Any]) -> str:
    """Write measured speeds beside those of the published implementations."""
    from longfair.papers.benchmarks import PUBLISHED_ENVIRONMENT_STEPS

    rows = pd.DataFrame(measured["rows"])
    batches = rows[(rows["face"] == "batch") & rows["copies"].isin(COPIES)]
    head = ["Environment", "1 copy", *(f"{n:,} copies" for n in COPIES[1:])]
    head += ["Published", f"Ratio at {COPIES[-1]:,}"]
    body = []
    for (name, preset), part in batches.groupby(["environment", "preset"], sort=False):
        rates = part.set_index("copies")["steps_per_second"]
        published = PUBLISHED_ENVIRONMENT_STEPS.get((str(name), str(preset)))
        ratio = None if published is None else rates.get(COPIES[-1], 0) / published
        body.append(
            [
                f"{name} `{preset}`",
                *(_thousands(rates.get(copies)) for copies in COPIES),
                _thousands(published),
                None if ratio is None else three_digits(ratio),
            ]
        )
    words = (
        "Thousands of steps per second of one core's time, random actions drawn beforehand, "
        f"{measured_on(measured)}"
    )
    return "\n".join([words, table(head, body)])


def _thousands(rate: float | None) -> str | None:
    return None if rate is None else three_digits(rate / 1000)


def fragments(root: Path) -> dict[str, str]:
    """Everything that is generated for the chapter: name of the fragment to its Markdown."""
    parts = {f"environment_{page_name(name)}": page(name, root) for name in names()}
    return parts | {"environment_cards": cards(root), "environment_speed": speed(root)}
