"""What stands for results in a simulated store is taken for fresh results, and nothing more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from longfair.papers import store_benchmarks
from longfair.runs import manifest


def python(folder: Path, *arguments: str) -> str:
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_every_simulated_run_is_fresh_and_one_more_is_executed(tmp_path: Path) -> None:
    store_benchmarks._write_package(tmp_path, 2)
    (tmp_path / "present").mkdir()
    root = tmp_path / "results"
    store_benchmarks._link(tmp_path / "present", root)
    filling = "import pathlib, sys; from longfair.papers.store_benchmarks import simulate; "
    python(tmp_path, "-c", f"{filling} simulate(pathlib.Path(sys.argv[1]))", str(root))
    listed = ("-m", "longfair", "list", "simulated", "--json", "--store", str(root))
    rows = json.loads(python(tmp_path, *listed))
    assert [(row["runs"], row["fresh"]) for row in rows] == [(20, 20)] * 10
    before = len(manifest.read(root))
    chosen = ("simulated/experiment-0", "--profile", "book", "--methods", "method-0")
    call = ("-m", "longfair", "run", *chosen, "--first-seed", "2", "--seeds", "1")
    assert "1 executed, 0 kept" in python(tmp_path, *call, "--store", str(root))
    assert len(manifest.read(root)) == before + 1 == 201
