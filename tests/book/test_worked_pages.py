"""Pages on using the library do as printed: their code runs, and gives the output beside it."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from longfair.cli import main

USE = Path(__file__).parents[2] / "book" / "use"
BLOCK = re.compile(r"```\{code-block\} \w+\n:class: (worked-\w+)\n(.*?)```", re.DOTALL)


def blocks(page: str) -> list[tuple[str, str]]:
    """Kind and text of the worked blocks of a page."""
    return BLOCK.findall((USE / page).read_text(encoding="utf-8"))


def outputs(page: str) -> list[tuple[str, str, str]]:
    """Kind of every printed output, what the code before it gives, and what is printed."""
    names: dict[str, object] = {}
    found, said = [], ""
    for kind, text in blocks(page):
        if kind in ("worked-output", "worked-like"):
            found.append((kind, said, text))
            continue
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(text, page, "exec"), names)
        said = out.getvalue()
    return found


def test_the_log_gives_what_is_printed() -> None:
    found = outputs("own_log.md")
    assert len(found) == 4
    for _, said, printed in found:
        assert said.split() == printed.split()


def test_the_papers_methods_are_trained_as_printed() -> None:
    found = outputs("papers_methods.md")
    assert len(found) == 4
    for _, said, printed in found:
        assert said.split() == printed.split()


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text)]


def test_a_first_policy_is_as_fair_as_is_printed() -> None:
    """Learners may end a little elsewhere on other machines; the rest is the same everywhere."""
    found = outputs("first_policy.md")
    assert [kind for kind, *_ in found] == ["worked-output"] * 2 + ["worked-like"] * 2
    for kind, said, printed in found:
        if kind == "worked-output":
            assert said.split() == printed.split()
        np.testing.assert_allclose(numbers(said), numbers(printed), rtol=0.0, atol=0.06)
    greedy, fair = (numbers(said)[-1] for kind, said, _ in found if kind == "worked-like")
    assert fair < 0.5 * greedy


def evaluated(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a page's command prints about the code of the page, which lies in this folder."""
    with pytest.raises(SystemExit) as left:
        main([*command.split()[1:], "--seeds", "1"])
    assert left.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("page", ["own_policy.md", "own_method.md"])
def test_what_is_brought_is_evaluated_by_the_command(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = {kind: "" for kind, _ in blocks(page)}
    for kind, text in blocks(page):
        code[kind] += text
    command = code["worked-command"]
    module, _, _ = command.split()[2].partition(":")
    monkeypatch.chdir(tmp_path)
    Path(f"{module}.py").write_text(code["worked-example"])
    said = ""
    if "worked-script" in code:
        Path("script.py").write_text(code["worked-script"])
        said = subprocess.check_output([sys.executable, "script.py"], text=True)
    out = evaluated(command, capsys)
    for kind, text in blocks(page):
        if kind == "worked-output":
            # A table is padded with spaces to the width of the screen.
            assert " ".join(text.split()) in " ".join((said + out).split())
    assert "elbert/lending, evaluations: 1" in out
    assert "reward per step" in out
