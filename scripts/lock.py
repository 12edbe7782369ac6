"""Resolve `requirements.in` into `requirements.lock` and its hashes.

pip's own resolver does the work in a dry run; this script only writes down what it chose. The
local label of a version (the `+cpu` of a torch build) is dropped: a pin without it matches every
build of that version, a pin with it matches only machines that can get that very build.

The hashes stand in files of their own, since pip takes nothing without a hash beside them, not
even this package itself (environment.yml). uv collects those of every file of a version, for all
systems and Pythons. It is installed for the moment and no part of the lock. torch has a file to
itself: builds for one kind of machine bring packages that others do not have. uv knows the builds
of the package index; the build that this machine chooses is added, which may come from elsewhere.

Usage: python scripts/lock.py [--check]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "requirements.in"
LOCK = ROOT / "requirements.lock"
HASHES = ROOT / "requirements.hashes"
TORCH = ROOT / "requirements.torch.hashes"
OLDEST = "3.11.0"
"""The oldest Python that every locked version must support."""
HEADER = (
    "# Written by scripts/lock.py from requirements.in; do not edit by hand.\n"
    "# Resolved for CPython {python}. torch carries no local label, so that every build matches.\n"
)
HEADER_OF_HASHES = (
    "# Written by scripts/lock.py: the hashes of every file of requirements.lock but torch's.\n"
)
HEADER_OF_TORCH = (
    "# Written by scripts/lock.py: the hashes of torch and of all that any of its builds brings.\n"
)


def report(*wanted: str) -> list[dict[str, Any]]:
    """Ask pip what it would install.

    Parameters
    ----------
    wanted
        Arguments of ``pip install`` that say what is wanted.

    Returns
    -------
    list of dict
        One entry of pip's report per distribution.
    """
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
    # Some systems ship an early 3.11, which the newest versions of a few packages refuse. pip
    # resolves for another Python only when it neither builds nor installs anything here.
    command += ["--python-version", OLDEST, "--only-binary", ":all:", "--target", "unused"]
    command += ["--quiet", "--report", "-", *wanted]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return list(json.loads(answer.stdout)["install"])


def resolve(source: Path) -> dict[str, str]:
    """Ask pip which version of which distribution it would install.

    Parameters
    ----------
    source
        A requirements file.

    Returns
    -------
    dict of str to str
        Distribution name to public version (no local label).
    """
    chosen = [item["metadata"] for item in report("-r", str(source))]
    return {item["name"]: item["version"].split("+")[0] for item in chosen}


def render(pins: dict[str, str]) -> str:
    """Write pins in the order of their normalised names."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    ordered = sorted(pins.items(), key=lambda pin: pin[0].lower().replace("_", "-"))
    return HEADER.format(python=python) + "".join(f"{name}=={pin}\n" for name, pin in ordered)


def compiled(pins: dict[str, str], *options: str) -> str:
    """Have uv write pins with the hashes of all their files.

    Parameters
    ----------
    pins
        Distribution name to version.
    options
        Further options of ``uv pip compile``.

    Returns
    -------
    str
        A requirements file that pip takes with ``--require-hashes``.
    """
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python, plain = f"{folder}/bin/python", Path(folder, "plain.txt")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
        plain.write_text("".join(f"{name}=={pin}\n" for name, pin in pins.items()))
        command = [python, "-m", "uv", "pip", "compile", "--generate-hashes", *options]
        command += ["--no-header", "--no-annotate", "--quiet", str(plain)]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return str(answer.stdout)


def with_hashes(pins: dict[str, str]) -> str:
    """Write all pins but torch's with the hashes of all their files."""
    rest = {name: pin for name, pin in pins.items() if name != "torch"}
    return HEADER_OF_HASHES + compiled(rest, "--no-deps")


def torch_with_hashes(pins: dict[str, str]) -> str:
    """Write torch, and what its builds bring besides the pins, with the hashes of all files."""
    pin = f"torch=={pins['torch']}"
    omitted = [f"--no-emit-package={name}" for name in pins if name != "torch"]
    text = compiled({"torch": pins["torch"]}, "--universal", "--python-version", OLDEST, *omitted)
    (chosen,) = report("--no-deps", pin)
    digest = chosen["download_info"]["archive_info"]["hashes"]["sha256"]
    if digest not in text:
        text = text.replace(f"{pin} \\\n", f"{pin} \\\n    --hash=sha256:{digest} \\\n")
    return HEADER_OF_TORCH + text


def main() -> int:
    """Write lock and hashes, or with ``--check`` say whether they are what is chosen today."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    arguments = parser.parse_args()
    pins = resolve(SOURCE)
    texts = {LOCK: render(pins), HASHES: with_hashes(pins), TORCH: torch_with_hashes(pins)}
    same = True
    for path, text in texts.items():
        if not arguments.check:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.name}: {text.count('==')} pins")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            same = False
            print(f"{path.name} is not what would be chosen today")
        else:
            print(f"{path.name} is up to date")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
