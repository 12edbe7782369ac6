from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from toy_experiment import toy_experiment, toy_work

import longfair
from longfair.errors import UsageError
from longfair.runs import sources

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


class Settings:
    def shortened(self) -> int:
        return 1

    def others(self) -> int:
        return 2
'''

PACKAGE = {
    "__init__.py": "from .tripling import tripled\nfrom .unrelated import zero\n",
    "work.py": WORK,
    "helpers.py": "from numbers_of_mine import deeper\ndef doubled(x): return deeper.twice(x)\n",
    "deeper.py": "def twice(x): return 2 * x\n",
    "tripling.py": "def tripled(x): return 3 * x\n",
    "unrelated.py": "def zero(): return 0\n",
    "later.py": "LATER = 1\n",
}


def forget() -> None:
    for function in (
        sources._file,
        sources._search_path,
        sources._read,
        sources._imports,
        sources._digest_of,
    ):
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
        return sources.source_digest(root)

    yield compute
    forget()


@pytest.mark.parametrize(
    "work",
    [
        WORK.replace("What the module is about", "Something else"),
        WORK.replace("Say what it does", "Say it again"),
        WORK.replace("# and why", "# because"),
        WORK.replace("config: object, seed: int) -> int", "config,\n    seed)"),
        WORK.replace("return 1", "return 3"),
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
        {"work": WORK.replace("return 2", "return 3")},
        {"work": WORK + "\ndef shortened(text): return text\n"},
        {
            "work": WORK.replace(
                "    return FACTOR", "    from numbers_of_mine import later\n    return FACTOR"
            )
        },
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
    assert package_digest(stranger="def zero(): return -0.0\n") == package_digest()
    init = PACKAGE["__init__.py"] + "VERSION = 2\n"
    assert package_digest(__init__=init) == package_digest()


def test_what_only_a_type_checker_imports_does_not_count(package_digest: Digest) -> None:
    block = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from numbers_of_mine import {}\n"
    )
    one, other = (
        package_digest(work=WORK + block.format(name)) for name in ("helpers", "tripling")
    )
    assert one == other


def test_what_runs_unless_a_type_checker_does_counts(package_digest: Digest) -> None:
    block = (
        "from typing import TYPE_CHECKING\n"
        "if not TYPE_CHECKING:\n    from numbers_of_mine import {}\n"
    )
    one, other = (
        package_digest(work=WORK + block.format(name)) for name in ("helpers", "tripling")
    )
    assert one != other


def test_the_judging_rooms_do_not_count() -> None:
    assert sources._reached({toy_work.__module__}) == {"toy_experiment"}


def test_text_is_followed_like_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "names_a_module.py"
    module.write_text('def work(): return "longfair.metrics.benefit:anything"\n')
    __import__("names_a_module")
    forget()
    assert "longfair.metrics.benefit" in sources._reached({"names_a_module"})


def test_the_parts_of_the_settings_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arm = toy_experiment().arms["smoke"][0]
    before = sources.arm_digest(arm)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "a_part.py").write_text("class Part:\n    revision = 1\n")
    part = __import__("a_part").Part
    monkeypatch.setattr(type(arm.config), "parts", lambda self: (part,), raising=False)
    assert sources.arm_digest(arm) != before


def test_work_from_a_notebook_cell_is_refused() -> None:
    root = SimpleNamespace(__module__="a_notebook_cell", __qualname__="work")
    with pytest.raises(UsageError, match="not a file"):
        sources.source_digest(root)


def test_the_stamp_is_that_of_the_library_wherever_it_stands_until_a_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stamp(library: Path) -> str:
        monkeypatch.setattr(longfair, "__file__", str(library / "__init__.py"))
        return sources.library_stamp.__wrapped__()

    first, copy = tmp_path / "first" / "longfair", tmp_path / "second" / "longfair"
    (first / "runs").mkdir(parents=True)
    (first / "__init__.py").write_text("ONE = 1\n")
    (first / "runs" / "keys.py").write_text("TWO = 2\n")
    shutil.copytree(first, copy)
    assert stamp(copy) == stamp(first)
    (copy / "runs" / "keys.py").write_text("TWO = 3\n")
    changed = stamp(copy)
    assert changed != stamp(first)
    (copy / "runs" / "keys.py").rename(copy / "keys.py")
    assert stamp(copy) not in (changed, stamp(first))
