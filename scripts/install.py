"""Create `.venv` and install the locked versions and the package into it.

Nothing happens when `.venv` already holds what the lock and `pyproject.toml` ask for: a stamp in it
keeps their digest. A digest, and not a file time, because times mean nothing after a
clone, a change of branch or a restored cache.

Files whose content is not what `requirements.hashes` says are refused. Only torch has no hashes
there, see scripts/lock.py: it comes in a second step, which also fetches what a system needs
besides the lock, such as the libraries of a torch for graphics cards.

Usage: python3 scripts/install.py
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".venv"
PYTHON = HOME / "bin" / "python"
STAMP = HOME / "longfair-installed"
LOCK = ROOT / "requirements.lock"
HASHES = ROOT / "requirements.hashes"
LOG = HOME / "longfair-install.log"
OLDEST = (3, 11)
HEARTBEAT = 30.0
"""Seconds between two signs of life while pip is at work."""


def wanted() -> str:
    """Digest of everything that decides what the environment should hold."""
    digest = hashlib.sha256(f"{ROOT} {sys.version}".encode())
    for path in (LOCK, HASHES, ROOT / "pyproject.toml"):
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
    command = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", *arguments]
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


def install() -> None:
    """Create the environment if there is none that works, then install into it."""
    if not works():
        print(f"creating {HOME.name} with Python {sys.version.split()[0]}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", HOME], check=True)
    pins = LOCK.read_text(encoding="utf-8").count("==")
    print(f"installing the {pins} versions of {LOCK.name} (about 2 GB, some minutes)", flush=True)
    pip("--require-hashes", "--no-deps", "-r", str(HASHES))
    pip("-r", str(LOCK))
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
    STAMP.write_text(digest, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
