"""Resolve `requirements.in` into `requirements.lock` and `requirements.hashes`.

pip's own resolver does the work in a dry run; this script only writes down what it chose. The
local label of a version (the `+cpu` of a torch build) is dropped: a pin without it matches every
build of that version, a pin with it matches only machines that can get that very build.

The hashes stand in a file of their own, since pip takes nothing without a hash beside them, not
even this package itself (environment.yml). uv collects those of every file of a version, for all
systems and Pythons. It is installed for the moment and no part of the lock. torch has no hashes:
every one of its builds is another file, and those for one kind of machine bring more packages.

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

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "requirements.in"
LOCK = ROOT / "requirements.lock"
HASHES = ROOT / "requirements.hashes"
WITHOUT_HASHES = frozenset({"torch"})
OLDEST = "3.11.0"
"""The oldest Python that every locked version must support."""
HEADER = (
    "# Written by scripts/lock.py from requirements.in; do not edit by hand.\n"
    "# Resolved for CPython {python}. torch carries no local label, so that every build matches.\n"
)
HEADER_OF_HASHES = (
    "# Written by scripts/lock.py: the hashes of every file of requirements.lock but torch's.\n"
)


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
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
    # Some systems ship an early 3.11, which the newest versions of a few packages refuse. pip
    # resolves for another Python only when it neither builds nor installs anything here.
    command += ["--python-version", OLDEST, "--only-binary", ":all:", "--target", "unused"]
    command += ["--quiet", "--report", "-", "-r", str(source)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    chosen = [item["metadata"] for item in json.loads(answer.stdout)["install"]]
    return {item["name"]: item["version"].split("+")[0] for item in chosen}


def render(pins: dict[str, str]) -> str:
    """Write pins in the order of their normalised names."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    ordered = sorted(pins.items(), key=lambda pin: pin[0].lower().replace("_", "-"))
    return HEADER.format(python=python) + "".join(f"{name}=={pin}\n" for name, pin in ordered)


def with_hashes(pins: dict[str, str]) -> str:
    """Write pins with the hashes of all their files.

    Parameters
    ----------
    pins
        Distribution name to version.

    Returns
    -------
    str
        A requirements file that pip takes with ``--require-hashes``.
    """
    lines = [f"{name}=={pin}\n" for name, pin in pins.items() if name not in WITHOUT_HASHES]
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python, plain = f"{folder}/bin/python", Path(folder, "plain.txt")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
        plain.write_text("".join(lines), encoding="utf-8")
        command = [python, "-m", "uv", "pip", "compile", "--generate-hashes", "--no-deps"]
        command += ["--no-header", "--no-annotate", "--quiet", str(plain)]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return HEADER_OF_HASHES + str(answer.stdout)


def main() -> int:
    """Write lock and hashes, or with ``--check`` say whether they are what is chosen today."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    arguments = parser.parse_args()
    pins = resolve(SOURCE)
    texts = {LOCK: render(pins), HASHES: with_hashes(pins)}
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
