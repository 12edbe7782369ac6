"""The chapter on environments follows from the registry and says what the library says."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import pytest

import environment_pages
from check_book import read_toc
from longfair.envs import NAMES, elapsed, environment_id, history, memory, wrappers
from longfair.envs.lending import LendingParams
from longfair.envs.population import PopulationParams, histograms
from markdown_table import NOTHING
from training_speed import training_speed

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = ROOT / "book" / "environments"
SECTIONS = [
    "Action space",
    "Observation space",
    "Rewards",
    "Starting state",
    "Episode end",
    "Information",
    "Arguments",
    "Vectorised use",
    "Version history",
]
OBSERVATION = re.compile(r"^\| [^|]+ \| (\w+) \| [^|]+ \| `([^`]+)` \| (\d+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Inner:
    """A record within a record."""

    first: float = 0.5


@dataclass(frozen=True)
class Outer:
    """A record with one of everything that a parameter can be."""

    PRESETS: ClassVar[tuple[str, ...]] = ()

    inner: Inner = Inner()
    """What is inside, :math:`x`."""
    rows: tuple[tuple[float, ...], ...] = ((0.0, 1.0), (2.0, 3.0))
    """Two rows."""
    many: tuple[int, ...] = tuple(range(30))
    kind: str = "soft"
    limit: float | None = None


@pytest.mark.parametrize("name", NAMES)
def test_every_environment_has_its_page_in_the_table_of_contents(name: str) -> None:
    page = environment_pages.page_name(name)
    assert f"book/environments/{page}" in read_toc(ROOT / "_toc.yml")
    text = (CHAPTER / f"{page}.md").read_text(encoding="utf-8")
    assert f"../_generated/environment_{page}.md" in text
    assert f"`{environment_id(name)}`" in text
    env = type(environment_pages.sample(name))
    assert f"`{env.__name__}` in `{env.__module__.rpartition('.')[0]}`" in text
    keys = environment_pages.CITATION.findall(text)
    library = (ROOT / "book" / "refs.bib").read_text(encoding="utf-8")
    assert keys
    assert all(f"{{{key}," in library for key in keys)


@pytest.mark.parametrize("name", NAMES)
def test_page_has_the_sections_of_gymnasium_in_order(name: str) -> None:
    text = environment_pages.page(name, ROOT)
    found = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert [section for section in found if section in SECTIONS] == SECTIONS
    assert ":math:" not in text


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_tables_are_whole(name: str) -> None:
    """A row that goes on in the next line of a docstring would break its table."""
    rows = [row for row in environment_pages.page(name, ROOT).splitlines() if row[:1] == "|"]
    assert all(row.endswith("|") for row in rows)


@pytest.mark.parametrize("name", NAMES)
def test_presets_show_every_parameter_once(name: str) -> None:
    text = environment_pages.presets(name)
    record = environment_pages.sample(name).params
    for preset in record.PRESETS:
        assert f"- `{preset}`: " in text
    for parameter in environment_pages.parameters(record):
        assert text.count(f"| `{parameter}`: ") == 1


def test_values_and_meanings_of_parameters() -> None:
    assert environment_pages.parameters(Outer()) == {
        "inner.first": "0.5",
        "rows": "0, 1; 2, 3",
        "many": "30 entries",
        "kind": '`"soft"`',
        "limit": "none",
    }
    notes = environment_pages.parameter_notes(Outer)
    assert notes["inner.first"] == "What is inside, $x$."
    assert notes["rows"] == "Two rows."
    assert notes["many"] == ""


def test_presets_of_lending_differ_in_the_length_only() -> None:
    differing, _, same = environment_pages.presets("Lending").partition("The same in all presets")
    long = "10,000 in `elbert_evaluation`, `fppo_evaluation`;"
    assert f"| 2,048 in `elbert`;<br>{long}<br>2,000 in `fppo` |" in differing
    assert differing.count("\n| `") == 1
    assert same.count("\n| `") == len(environment_pages.parameters(LendingParams())) - 1
    assert environment_pages.purpose(LendingParams.elbert).startswith("The training episodes")


def test_nested_parameters_of_the_population_are_shown() -> None:
    assert "fitness.unqualified_accepted" in environment_pages.parameters(PopulationParams())


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """Drawings and numbers of all pictures."""
    return environment_pages.pictures()


@pytest.mark.parametrize("name", NAMES)
def test_picture_comes_with_words_and_data(name: str, files: dict[str, bytes]) -> None:
    figure, shown = environment_pages.drawing(name) or (None, None)
    text = environment_pages.picture(name)
    if figure is None:
        assert text == ""
        return
    assert f":alt: {shown.caption} {figure.alt_text}\n" in text
    assert text.count(shown.caption) > 1, "below the picture as well"
    page = environment_pages.page_name(name)
    assert files[f"environment_{page}.png"].startswith(b"\x89PNG")
    assert files[f"environment_{page}.csv"].count(b"\n") == len(figure.data) + 1


def test_exact_values_are_those_of_the_file(tmp_path: Path) -> None:
    assert environment_pages.exact("Doughnut", tmp_path) == ""
    file = tmp_path / environment_pages.EXACT
    file.parent.mkdir(parents=True)
    rows = [("Doughnut", "deep", "best", 1103.3439), ("Doughnut", "tabular", "worst", 1.0)]
    keys = ("environment", "preset", "policy", "value")
    file.write_text(json.dumps([dict(zip(keys, row, strict=True)) for row in rows]))
    text = environment_pages.exact("Doughnut", tmp_path)
    assert "| Policy | `deep` | `tabular` |" in text
    assert f"| best | 1,103.344 | {NOTHING} |" in text
    assert environment_pages.exact("Lending", tmp_path) == ""


def test_gallery_has_a_card_for_every_environment() -> None:
    text = environment_pages.cards(ROOT)
    assert text.count("grid-item-card") == len(NAMES)
    assert "[Lending](lending.md)" in text
    sentence = "A bank decides on one loan applicant after another, and its decisions move credit"
    assert sentence in text
    assert "from {cite:t}`xu2024elbert` and {cite:t}`hu2024fppo`" in text


def test_citations_are_joined_into_a_clause() -> None:
    one, two, three = (f"{{cite:t}}`{key}`" for key in "abc")
    assert environment_pages.cited(one) == one
    assert environment_pages.cited(f"{one}{two}{three}") == f"{one}, {two} and {three}"


def test_observations_of_the_papers_have_the_stated_sizes() -> None:
    """The gallery names a composition of wrappers for each paper; it is made here."""
    rows = OBSERVATION.findall((CHAPTER / "index.md").read_text(encoding="utf-8"))
    assert len(rows) >= 15
    known = {
        name: getattr(module, name)
        for module in (wrappers, history, memory, elapsed, histograms)
        for name in vars(module)
        if name[0].isupper()
    }
    for name, composition, numbers in rows:
        if name not in NAMES:
            continue
        env = gymnasium.make_vec(environment_id(name), num_envs=2)
        wrapped = eval(composition, known, {"env": env})
        observation, _ = wrapped.reset(seed=0)
        assert observation.shape == (2, int(numbers)), composition


def test_speed_says_when_it_was_not_measured(tmp_path: Path) -> None:
    assert environment_pages.speed(tmp_path).startswith("Not measured yet")


def measured(**changes: Any) -> dict[str, Any]:
    row = {"environment": "Lending", "preset": "elbert", "face": "batch"}
    rates = {1: 10_123.0, 64: 612_345.0, 256: 1.0, 1024: 2_090_123.0}
    rows = [row | {"copies": copies, "steps_per_second": rate} for copies, rate in rates.items()]
    rows.append(row | {"face": "scalar", "copies": 1, "steps_per_second": 77.0})
    machine = {"processor": "P", "cores": 2, "system": "Linux", "python": "3.11.7"}
    return {"date": "2026-11-21", "machine": machine, "rows": [r | changes for r in rows]}


def test_speeds_stand_beside_the_published_ones(tmp_path: Path) -> None:
    file = tmp_path / environment_pages.BENCHMARKS
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(measured()))
    text = environment_pages.speed(tmp_path)
    assert "on 2026-11-21 on P, Linux, Python 3.11.7" in text
    row = "| Lending `elbert` | 10.1 | 612 | 2,090 | 1.04 | 2,000 |"
    assert row in text


def test_speed_without_a_published_one_has_no_ratio() -> None:
    text = environment_pages.speed_table(measured(preset="mine"))
    assert f"| 2,090 | {NOTHING} | {NOTHING} |" in text


def test_stored_speeds_can_be_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the command of `make bench` writes is what the pages read."""
    import write_benchmarks

    training = {
        "experiment": "elbert/lending",
        "method": "elbert-po as_coded",
        "settings": "paper",
        "steps_per_second": 4321,
        "roofline_fraction": 0.612,
        "share_of_update": 0.871,
        "times_published": 13.2,
        "hours": 0.321,
        "times_less_hours": 1234.5,
    }
    rows = [training]
    measures = {
        "environments": lambda quick: measured()["rows"],
        "training": lambda quick: rows,
    }
    monkeypatch.setattr(write_benchmarks, "MEASURE", measures)
    folder = tmp_path / environment_pages.BENCHMARKS.parent
    assert training_speed(tmp_path).startswith("Not measured yet")
    write_benchmarks.main(["--quick", "--folder", str(folder)])
    assert "| Lending `elbert` |" in environment_pages.speed(tmp_path)
    assert "| lending | `paper` | 4,321 | 13.2 | 19.3 | 1,230 | 61% | 87% |" in training_speed(
        tmp_path
    )
    assert training_speed(tmp_path, "fppo").startswith("Not measured yet")
    training |= {"experiment": "fppo/epidemic", "method": "f-ppo as_coded"}
    write_benchmarks.main(["--quick", "--folder", str(folder)])
    assert "| epidemic | `paper` | 4,321 |" in training_speed(tmp_path, "fppo")
    rows.append(training | {"method": "ppo as_coded", "times_published": 15.84})
    write_benchmarks.main(["--quick", "--folder", str(folder)])
    assert "| 87% | 1.20 |" in training_speed(tmp_path, "fppo")


def test_what_f_ppo_adds_costs_less_than_a_fifth_of_a_training_step() -> None:
    """The chapter says so of the last column."""
    lines = training_speed(ROOT, "fppo").splitlines()[4:]
    assert len(lines) == 3
    assert all(1.0 < float(line.split("|")[-2]) < 1.2 for line in lines)
