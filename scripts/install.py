"""Create `.venv` and install the locked versions and the package into it.

Nothing happens when `.venv` already holds what the lock and `pyproject.toml` ask for: a stamp in it
keeps their digest. A digest, and not a file time, because times mean nothing after a
clone, a change of branch or a restored cache.

Files whose content is not what `requirements.hashes` says are refused. torch comes in a second
step: its builds differ in what they bring besides, such as libraries for graphics cards. pip says
which build it would take here and what that one lacks, and `requirements.torch.hashes` must know
each of these files.

Nothing is compiled to bytecode here: half of the time would go into modules that nobody imports.
Python compiles what it imports, once.

Usage: python3 scripts/install.py
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".venv"
PYTHON = HOME / "bin" / "python"
STAMP = HOME / "longfair-installed"
LOCK = ROOT / "requirements.lock"
HASHES = ROOT / "requirements.hashes"
TORCH = ROOT / "requirements.torch.hashes"
LOG = HOME / "longfair-install.log"
CHOSEN = HOME / "longfair-torch.txt"
OLDEST = (3, 11)
HEARTBEAT = 30.0
"""Seconds between two signs of life while pip is at work."""


def wanted() -> str:
    """Digest of everything that decides what the environment should hold."""
    digest = hashlib.sha256(f"{ROOT} {sys.version}".encode())
    for path in (LOCK, HASHES, TORCH, ROOT / "pyproject.toml"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def works() -> bool:
    """Say whether the interpreter of the environment starts."""
    if not PYTHON.exists():
        return False
    return subprocess.run([PYTHON, "-c", ""], check=False, capture_output=True).returncode == 0


def pip(*arguments: str) -> None:
    """Call pip, say now and then that it is still at work, show what it said if it fails.

    Raises
    ------
    CalledProcessError
        If pip fails.
    """
    always = ("--disable-pip-version-check", "--no-compile")
    command = [str(PYTHON), "-m", "pip", "install", *always, *arguments]
    begun = time.monotonic()
    with LOG.open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        while True:
            try:
                status = process.wait(timeout=HEARTBEAT)
                break
            except subprocess.TimeoutExpired:
                print(f"... {time.monotonic() - begun:.0f} s", flush=True)
    if status:
        print("".join(LOG.read_text(encoding="utf-8").splitlines(keepends=True)[-20:]))
        raise subprocess.CalledProcessError(status, command)


def missing() -> list[dict[str, Any]]:
    """Ask pip what of the lock is not there yet, in versions that the hashes of torch know.

    Returns
    -------
    list of dict
        One entry of pip's report per distribution; nothing is installed.
    """
    known = [line.rstrip(" \\") for line in TORCH.read_text("utf-8").splitlines() if "==" in line]
    with tempfile.TemporaryDirectory() as folder:
        versions, report = Path(folder, "versions.txt"), Path(folder, "report.json")
        versions.write_text("\n".join(known), encoding="utf-8")
        pip("--dry-run", "--report", str(report), "-r", str(LOCK), "-c", str(versions))
        return list(json.loads(report.read_text(encoding="utf-8"))["install"])


def install_torch() -> None:
    """Install what is left of the lock, torch and what its build brings, from known files only.

    Raises
    ------
    ValueError
        If a file that pip would take is not known.
    """
    hashes = TORCH.read_text(encoding="utf-8")
    wanted = []
    for item in missing():
        pin = f"{item['metadata']['name']}=={item['metadata']['version']}"
        file = item["download_info"]
        digest = file["archive_info"]["hashes"]["sha256"]
        if digest not in hashes:
            raise ValueError(
                f"{file['url']} is a build of {pin} that {TORCH.name} does not know; if you trust "
                f"it, add --hash=sha256:{digest} there"
            )
        wanted.append(f"{pin} --hash=sha256:{digest}\n")
    if wanted:
        CHOSEN.write_text("".join(wanted), encoding="utf-8")
        pip("--require-hashes", "--no-deps", "-r", str(CHOSEN))


def install() -> None:
    """Create the environment if there is none that works, then install into it."""
    if not works():
        print(f"creating {HOME.name} with Python {sys.version.split()[0]}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", HOME], check=True)
    pins = LOCK.read_text(encoding="utf-8").count("==")
    print(f"installing the {pins} versions of {LOCK.name} (about 2 GB, some minutes)", flush=True)
    pip("--require-hashes", "--no-deps", "-r", str(HASHES))
    install_torch()
    print("installing longfair itself, editable", flush=True)
    pip("--no-deps", "--no-build-isolation", "--editable", str(ROOT))


def main() -> int:
    """Bring the environment up to date."""
    if sys.version_info < OLDEST:
        version = ".".join(map(str, sys.version_info[:2]))
        print(f"longfair needs Python 3.11 or newer, this is {version}: make PYTHON=python3.11 ...")
        return 2
    digest = wanted()
    if works() and STAMP.exists() and STAMP.read_text(encoding="utf-8") == digest:
        print(f"{HOME.name} is up to date with {LOCK.name}")
        return 0
    try:
        install()
    except subprocess.CalledProcessError as error:
        print(f"installation failed (exit {error.returncode}); all of it: {LOG}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"installation stopped: {error}", file=sys.stderr)
        return 1
    STAMP.write_text(digest, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
