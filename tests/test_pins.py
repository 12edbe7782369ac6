"""Every place that names a version says the same as the lock."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

import longfair

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))

# Distributions whose module has another name than they have themselves.
MODULES = {
    "jupyter-book": "jupyter_book",
    "pandas-stubs": None,
    "pot": "ot",
    "pytest-benchmark": "pytest_benchmark",
    "pytest-xdist": "xdist",
    "pyyaml": "yaml",
    "ruff": None,
    "scikit-learn": "sklearn",
    "types-pyyaml": None,
}


def lines(name: str) -> list[str]:
    """Lines of a requirements file without comments."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return [line for part in text.splitlines() if (line := part.partition("#")[0].strip())]


def lock() -> dict[str, str]:
    """Locked version by canonical name."""
    pins = [line.split("==") for line in lines("requirements.lock")]
    return {canonicalize_name(name): version for name, version in pins}


DIRECT = [Requirement(line) for line in lines("requirements.in")]
RANGES = [
    Requirement(text)
    for group in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for text in group
    if not text.startswith("longfair[")
]


def test_lock_holds_plain_pins_only() -> None:
    """A local label, address or marker would tie the lock to one machine or one source."""
    for line in lines("requirements.lock"):
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line), line


def hashed(file: str) -> dict[str, str]:
    """Version by canonical name of a file in which every pin has hashes."""
    pins = {}
    for line in "\n".join(lines(file)).replace("\\\n", " ").splitlines():
        words = [word for word in line.split() if word.startswith("--hash")]
        assert words, line
        assert all(re.fullmatch("--hash=sha256:[0-9a-f]{64}", word) for word in words), line
        name, _, version = line.split()[0].partition("==")
        pins[canonicalize_name(name)] = version
    return pins


def test_every_pin_has_hashes() -> None:
    files, torch = hashed("requirements.hashes"), hashed("requirements.torch.hashes")
    assert files | {"torch": torch["torch"]} == lock()
    assert not files.keys() & torch.keys()


@pytest.mark.parametrize("name", sorted(lock()))
def test_locked_versions_support_every_python_that_we_promise(name: str) -> None:
    """Some systems ship an early 3.11, where an installation must work as well."""
    supported = SpecifierSet(metadata.metadata(name).get("Requires-Python") or "")
    assert supported.contains("3.11.0")


@pytest.mark.parametrize("requirement", DIRECT, ids=str)
def test_lock_holds_what_we_use(requirement: Requirement) -> None:
    assert requirement.specifier.contains(lock()[canonicalize_name(requirement.name)])


@pytest.mark.parametrize("requirement", RANGES, ids=str)
def test_lock_is_inside_the_ranges_of_the_package(requirement: Requirement) -> None:
    assert requirement.specifier.contains(lock()[canonicalize_name(requirement.name)])


def imported(folder: str) -> set[str]:
    """Modules that the Python files of a folder import, by their first name."""
    found = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found |= {name.partition(".")[0] for name in names}
    return found


def test_the_extra_for_tests_has_what_they_import() -> None:
    asked = {canonicalize_name(requirement.name) for requirement in RANGES}
    assert {"quantecon", "hypothesis", "pytest"} <= asked
    missing = {canonicalize_name(requirement.name) for requirement in DIRECT} - asked
    modules = {MODULES.get(name, name.replace("-", "_")) for name in missing}
    assert not modules & imported("tests")


@pytest.mark.parametrize("name", sorted(lock()))
def test_installed_version_is_the_locked_one(name: str) -> None:
    assert Version(metadata.version(name)).public == lock()[name]


@pytest.mark.parametrize("requirement", DIRECT, ids=lambda requirement: requirement.name)
def test_what_we_use_can_be_imported(requirement: Requirement) -> None:
    """That a set of versions resolves does not mean that it works."""
    name = canonicalize_name(requirement.name)
    module = MODULES.get(name, name.replace("-", "_"))
    if module == "sphinx_mathjax_offline":
        module = "sphinx-mathjax-offline"  # its folder has hyphens
    if module is not None:
        importlib.import_module(module)


def pip_part() -> list[str]:
    """What environment.yml asks pip for."""
    (part,) = [entry["pip"] for entry in ENVIRONMENT["dependencies"] if isinstance(entry, dict)]
    return list(part)


def test_environment_takes_every_version_from_the_lock() -> None:
    entries = pip_part()
    assert "-r requirements.lock" in entries
    assert "-e ." in entries
    for entry in entries:
        if entry.startswith("-"):
            continue
        requirement = Requirement(entry)
        assert str(requirement.specifier) == f"=={lock()[canonicalize_name(requirement.name)]}"


def test_environment_takes_only_python_and_pip_from_conda() -> None:
    plain = [entry for entry in ENVIRONMENT["dependencies"] if isinstance(entry, str)]
    assert {re.split("[=<>]", entry)[0] for entry in plain} == {"python", "pip"}


def test_environment_has_the_python_that_the_package_and_the_lock_want() -> None:
    (entry,) = [e for e in ENVIRONMENT["dependencies"] if str(e).startswith("python=")]
    version = entry.partition("=")[2]
    assert SpecifierSet(PROJECT["requires-python"]).contains(version)
    assert f"CPython {version}." in (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_this_python_is_one_the_package_supports() -> None:
    version = ".".join(map(str, sys.version_info[:3]))
    assert SpecifierSet(PROJECT["requires-python"]).contains(version)


def test_version_of_the_package_is_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"] == metadata.version("longfair")
    assert longfair.__version__ == PROJECT["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[({re.escape(PROJECT['version'])}|Unreleased)\]", changelog, re.M)


def test_the_citation_names_the_papers_of_the_book() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    library = (ROOT / "book" / "refs.bib").read_text(encoding="utf-8")
    cited = {reference["doi"] for reference in citation["references"]}
    chapters = [path.read_text(encoding="utf-8") for path in (ROOT / "book/papers").glob("*.md")]
    keys = {re.findall(r"\{cite:t\}`(\w+)`", chapter)[0] for chapter in chapters}
    fields = {key: library.split(f"{{{key},\n")[1].split("\n}")[0] for key in keys}
    assert cited == {re.findall(r"doi += \{(.*)\}", one)[0] for one in fields.values()}
    assert len(cited) == 5


def test_address_of_the_repository_stands_in_one_place() -> None:
    book = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    address = book["repository"]["url"] or "github.com/longfair"
    named = subprocess.run(
        ["git", "grep", "-l", "--fixed-strings", address.removeprefix("https://")],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert set(named.stdout.split()) <= {"_config.yml", "tests/test_pins.py"}


def test_nothing_names_a_place_to_download_packages_from() -> None:
    """Where packages come from is the business of the machine, not of the project."""
    names = ["environment.yml", "Makefile", ".ci/run"]
    names += [path.name for path in ROOT.glob("requirements.*")]
    names += [f"scripts/{path.name}" for path in (ROOT / "scripts").glob("*.py")]
    names += [f".github/workflows/{path.name}" for path in (ROOT / ".github/workflows").iterdir()]
    for name in names:
        assert "://" not in (ROOT / name).read_text(encoding="utf-8"), name


def test_actions_of_others_are_named_by_commit() -> None:
    """A tag can be moved to other code; a commit cannot."""
    for path in (ROOT / ".github/workflows").iterdir():
        uses = re.findall(r"uses: *(.*)", path.read_text(encoding="utf-8"))
        assert uses
        for action in uses:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
