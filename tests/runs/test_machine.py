"""A result says on which class of processor it was made, and what the libraries chose there."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from longfair.runs import machine
from longfair.runs.machine import class_of, commit_of, features_of, this_machine

AVX512 = ["avx2", "fma", "avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"]


@pytest.fixture(autouse=True)
def no_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in machine.SWITCHES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("vendor", "flags", "features"),
    [
        ("GenuineIntel", AVX512, "Intel avx512"),
        ("AuthenticAMD", [*AVX512, "sse4a"], "AMD avx512"),
        ("AuthenticAMD", ["avx2", "fma"], "AMD avx2"),
        ("GenuineIntel", ["avx2", "fma", "avx512f", "avx512cd"], "Intel avx2"),
        ("GenuineIntel", ["avx2"], "Intel baseline"),
        ("HygonGenuine", ["avx2", "fma"], "HygonGenuine avx2"),
    ],
)
def test_features_are_the_maker_and_the_widest_vectors(
    vendor: str, flags: list[str], features: str
) -> None:
    assert features_of(vendor, flags) == features


def test_without_a_vendor_the_architecture_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.platform, "machine", lambda: "arm64")
    assert features_of(None, []) == "arm64"


def test_machine_is_plain_data_with_the_versions_that_compile() -> None:
    here = this_machine()
    assert json.loads(json.dumps(asdict(here))) == asdict(here)
    assert here.kernels["numba"] == pytest.importorskip("numba").__version__
    assert here.kernels["llvmlite"]
    assert here.kernels["numpy"] in str(np.show_config(mode="dicts")["SIMD Extensions"])
    assert here.processor
    assert here.processor_class == here.features


def test_without_a_compiler_its_versions_are_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain install of the core has neither numba nor llvmlite."""

    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    found = machine._versions_of_the_compiler.__wrapped__()
    assert found == {"llvmlite": "absent", "numba": "absent"}


def test_a_switch_makes_another_class(monkeypatch: pytest.MonkeyPatch) -> None:
    before = this_machine()
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    after = this_machine()
    assert after.features == before.features
    assert after.processor_class == f"{before.features} MKL_CBWR=COMPATIBLE"


def test_class_of_a_stored_result_is_that_of_its_machine() -> None:
    intel = replace(this_machine(), features="Intel avx512", kernels={"OPENBLAS_CORETYPE": "Zen"})
    stored = json.loads(json.dumps(asdict(intel)))
    assert class_of(stored) == intel.processor_class == "Intel avx512 OPENBLAS_CORETYPE=Zen"


def test_an_old_result_is_of_the_class_of_its_model() -> None:
    assert class_of({"processor": "AMD EPYC", "cores": 2}) == "AMD avx512"
    assert class_of({"processor": "Intel(R) Xeon(R) Processor"}) == "Intel avx512"
    assert class_of({"processor": "Another", "cores": 2}) == "Another"


def test_switched_kernels_are_seen_and_nothing_heavy_is_loaded() -> None:
    """OpenBLAS reads its switch when it is loaded, so a process of its own."""
    code = (
        "import json, sys; from longfair.runs.machine import this_machine;"
        "kernels = this_machine().kernels;"
        "print(json.dumps([kernels, [n for n in ('torch', 'numba') if n in sys.modules]]))"
    )
    environment = {"OPENBLAS_CORETYPE": "Prescott", "PATH": "", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    kernels, heavy = json.loads(done.stdout)
    assert heavy == []
    assert kernels["OPENBLAS_CORETYPE"] == "Prescott"
    assert "torch" not in kernels
    if this_machine().system == "Linux x86_64":
        assert kernels["openblas"] != this_machine().kernels["openblas"]


def test_loaded_libraries_are_asked() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("llvmlite.binding")
    kernels = this_machine().kernels
    assert kernels["torch"]
    assert kernels["llvm"]


def test_what_runs_and_pages_write_makes_no_tree_dirty(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        own = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", "-C", tmp_path, *own, *arguments], check=True, capture_output=True)

    inside = tmp_path / "src"
    written = [tmp_path / "results" / "MANIFEST", tmp_path / "notebooks" / "paper" / "page.ipynb"]
    for file in (*written, inside / "code.py", tmp_path / "results" / "run.parquet"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("first\n")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    assert commit_of(inside).dirty is False
    for file in written:
        file.write_text("second\n")
    assert commit_of(inside).dirty is False
    (tmp_path / "results" / "run.parquet").write_text("second\n")
    assert commit_of(inside).dirty is True
    assert commit_of(inside, apart_from=["results"]).dirty is False
    (inside / "code.py").write_text("second\n")
    assert commit_of(inside, apart_from=["results"]).dirty is True
    assert commit_of(inside).dirty is True
