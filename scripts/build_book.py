"""Build the book from the executed notebooks and check what came out.

Warnings are errors. The pages are always built from nothing, and read anew: what was read
before would hide a change of an extension.

Usage: python scripts/build_book.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from check_book import check

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "_build"
PAGES = BUILD / "html"


def build() -> int:
    """Run Jupyter Book; its exit status."""
    for folder in (PAGES, BUILD / ".doctrees"):
        shutil.rmtree(folder, ignore_errors=True)
    program = Path(sys.executable).with_name("jupyter-book")
    command = [str(program), "build", "-W", "-n", "--keep-going", "-q", "."]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def main() -> int:
    """Build, then check; 1 if either finds something wrong."""
    if build():
        print("the book has warnings or errors: see above", file=sys.stderr)
        return 1
    pages, problems = check(ROOT / "_toc.yml", PAGES)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        return 1
    print(f"all {pages} pages of _toc.yml built; no outside asset, broken link or wordless image")
    return 0


if __name__ == "__main__":
    sys.exit(main())
