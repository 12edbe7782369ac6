"""Resolve `requirements.in` into `requirements.lock`.

pip's own resolver does the work in a dry run; this script only writes down what it chose. The
local label of a version (the `+cpu` of a torch build) is dropped: a pin without it matches every
build of that version, a pin with it matches only machines that can get that very build.

Usage: python scripts/lock.py [--check]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "requirements.in"
LOCK = ROOT / "requirements.lock"
OLDEST = "3.11.0"
"""The oldest Python that every locked version must support."""
HEADER = (
    "# Written by scripts/lock.py from requirements.in; do not edit by hand.\n"
    "# Resolved for CPython {python}. torch carries no local label, so that every build matches.\n"
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


def main() -> int:
    """Write the lock, or with ``--check`` say whether it is what pip would choose today."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    arguments = parser.parse_args()
    text = render(resolve(SOURCE))
    if not arguments.check:
        LOCK.write_text(text, encoding="utf-8")
        print(f"wrote {LOCK.name}: {text.count('==')} pins")
        return 0
    same = LOCK.exists() and LOCK.read_text(encoding="utf-8") == text
    print(f"{LOCK.name} is {'up to date' if same else 'not what pip would choose today'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
