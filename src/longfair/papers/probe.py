"""Describe and probe all arms of the code that is imported: ``python -m longfair.papers.probe``.

`longfair.papers.verification` starts this in two states of the code and compares what it prints.

``describe`` prints what every arm declares. ``run NAMES WORKERS`` reads names of arms from a file,
one per line, and prints the digest of every probe's table, computed by so many processes; arms with
the same settings are probed once.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from longfair.papers import registry
from longfair.runs.experiment import Arm
from longfair.runs.verify import arms_by_name, asked, described, probe
from longfair.runs.worker import THREAD_VARIABLES, one_line

_ERROR = "error: "


def failed(answer: str | None) -> bool:
    """Say whether a probe ended in an error, and not in a digest."""
    return answer is not None and answer.startswith(_ERROR)


def _find(name: str) -> Arm:
    return arms_by_name(registry.experiments())[name]


def _answer(name: str) -> str | None:
    try:
        return probe(_find(name), name)
    except Exception as error:  # a probe that fails must fail alike in both states
        return f"{_ERROR}{one_line(error)}"


def _run(names: list[str], workers: int) -> dict[str, str | None]:
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    questions = {name: asked(_find(name), name) for name in names}
    first = {question: name for name, question in reversed(questions.items())}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        found = dict(zip(first, pool.map(_answer, first.values(), chunksize=4), strict=True))
    return {name: found[question] for name, question in questions.items()}


if __name__ == "__main__":
    if sys.argv[1] == "describe":
        print(json.dumps(described(registry.experiments())))
    else:
        wanted = Path(sys.argv[2]).read_text(encoding="utf-8").split()
        print(json.dumps(_run(wanted, int(sys.argv[3]))))
