from __future__ import annotations

import enum
import importlib.metadata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from toy_experiment import ToySettings, toy_experiment, toy_work

from longfair.errors import UsageError
from longfair.runs import digest
from longfair.runs.experiment import Run, plan

Digest = Callable[..., str]

WORK = '''
"""What the module is about."""

from numbers_of_mine.helpers import doubled
from numbers_of_mine import tripled
from numbers_of_mine.unrelated import zero

FACTOR = 3
UNUSED = 4


def work(config: object, seed: int) -> int:
    """Say what it does."""
    # and why
    return FACTOR * doubled(seed) + tripled(seed)


def other() -> int:
    return zero()
'''

PACKAGE = {
    "__init__.py": "from .tripling import tripled\nfrom .unrelated import zero\n",
    "work.py": WORK,
    "helpers.py": "from numbers_of_mine import deeper\ndef doubled(x): return deeper.twice(x)\n",
    "deeper.py": "def twice(x): return 2 * x\n",
    "tripling.py": "def tripled(x): return 3 * x\n",
    "unrelated.py": "def zero(): return 0\n",
}


def forget() -> None:
    for function in (digest._file, digest._search_path, digest._tree, digest._source_digest):
        function.cache_clear()


@pytest.fixture
def package_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Digest]:
    """Digest of ``work`` in a package whose files may be given other contents."""
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "numbers_of_mine"
    folder.mkdir()
    root = SimpleNamespace(__module__="numbers_of_mine.work", __qualname__="work")

    def compute(**changes: str) -> str:
        for name, content in {**PACKAGE, **{f"{k}.py": v for k, v in changes.items()}}.items():
            (folder / name).write_text(content)
        forget()
        return digest.source_digest(root)

    yield compute
    forget()


@pytest.mark.parametrize(
    "work",
    [
        WORK.replace("What the module is about", "Something else"),
        WORK.replace("Say what it does", "Say it again"),
        WORK.replace("# and why", "# because"),
        WORK.replace("config: object, seed: int) -> int", "config,\n    seed)"),
        WORK.replace("UNUSED = 4", "UNUSED = 5"),
        WORK.replace("return zero()", "return zero() + 1"),
        WORK + "\n\ndef third():\n    return 7\n",
        "from numbers_of_mine import tripled"
        + WORK.replace("from numbers_of_mine import tripled\n", ""),
    ],
)
def test_edits_that_cannot_change_a_number_keep_the_digest(
    package_digest: Digest, work: str
) -> None:
    assert work != WORK
    assert package_digest(work=work) == package_digest()


@pytest.mark.parametrize(
    "changes",
    [
        {"work": WORK.replace("FACTOR = 3", "FACTOR = 5")},
        {"work": WORK.replace("tripled(seed)", "tripled(seed + 1)")},
        {"work": WORK.replace("import tripled", "import zero as tripled")},
        {"work": WORK + "\nFACTOR += 1\n"},
        {"deeper": "def twice(x): return 2.0 * x\n"},
        {"tripling": "def tripled(x): return x + x + x\n"},
        {"helpers": PACKAGE["helpers.py"] + "doubled = None\n"},
    ],
)
def test_edits_of_code_that_is_reached_change_the_digest(
    package_digest: Digest, changes: dict[str, str]
) -> None:
    assert package_digest(**changes) != package_digest()


def test_code_that_is_not_reached_does_not_count(package_digest: Digest) -> None:
    assert package_digest(unrelated="def zero(): return -0.0\n") == package_digest()
    init = PACKAGE["__init__.py"] + "VERSION = 2\n"
    assert package_digest(__init__=init) == package_digest()


def test_the_judging_rooms_do_not_count() -> None:
    modules = digest.source_modules(toy_work)
    assert modules == ["toy_experiment"]


def test_text_is_followed_like_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "makes_environments.py"
    module.write_text('def work(): return "longfair/Lending-v0"\n')
    __import__("makes_environments")
    root = SimpleNamespace(__module__="makes_environments", __qualname__="work")
    forget()
    assert "longfair.envs.lending" in digest.source_modules(root)
    module.write_text('def work(): return "longfair.metrics.benefit:anything"\n')
    forget()
    assert "longfair.metrics.benefit" in digest.source_modules(root)


def test_using_the_register_of_environments_depends_on_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "asks_the_register.py"
    module.write_text("from longfair.envs import environment_id\ndef work(): environment_id('X')\n")
    __import__("asks_the_register")
    root = SimpleNamespace(__module__="asks_the_register", __qualname__="work")
    forget()
    assert "longfair.envs.lending" in digest.source_modules(root)


def test_work_from_a_notebook_cell_is_refused() -> None:
    root = SimpleNamespace(__module__="a_notebook_cell", __qualname__="work")
    with pytest.raises(UsageError, match="not a file"):
        digest.source_digest(root)


def first_run(**settings: object) -> Run:
    return plan(toy_experiment(**settings), "smoke", seeds=1)[0]


def test_the_key_depends_on_settings_seed_and_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    run = first_run()
    key = digest.run_key(run)
    assert digest.run_key(first_run()).digest == key.digest
    assert digest.run_key(first_run(seconds=1.0)).digest != key.digest
    assert digest.run_key(replace(run, seed=1)).digest != key.digest
    assert replace(key, versions={**key.versions, "numpy": "0.1"}).digest != key.digest
    assert set(key.versions) == set(digest.PACKAGES_THAT_DECIDE)
    assert key.versions["numpy"] == importlib.metadata.version("numpy")


def test_versions_carry_no_local_label() -> None:
    assert all("+" not in version for version in digest.package_versions().values())


class Colour(enum.Enum):
    RED = "red"


@dataclass(frozen=True)
class Nested:
    settings: ToySettings
    layers: tuple[int, ...] = (256, 128)
    rates: object = None
    colour: Colour = Colour.RED


def test_settings_become_canonical_json() -> None:
    nested = Nested(ToySettings(bias=float("inf")), rates={"b": 1.5, "a": None})
    assert digest.canonical_json(nested) == (
        '{"class":"Nested","colour":"red","layers":[256,128],"rates":{"a":null,"b":1.5},'
        '"settings":{"bias":"inf","class":"ToySettings","diary":"","seconds":0.0,"trouble":""}}'
    )
    assert digest.classes_of(nested) == [Nested, ToySettings, Colour]


def test_settings_that_json_cannot_hold_are_named() -> None:
    with pytest.raises(UsageError, match=r"config\.rates\[1\] is a set"):
        digest.canonical_json(Nested(ToySettings(), rates=(1, {2})))


def test_differences_name_what_changed() -> None:
    key = digest.run_key(first_run())
    stored = {
        "config": {"class": "ToySettings"},
        "seed": 0,
        "source": "old",
        "versions": {**key.versions, "numpy": "1.0"},
    }
    assert key.differences(stored) == [
        "other settings",
        "other code",
        f"numpy 1.0 then, {key.versions['numpy']} now",
    ]
