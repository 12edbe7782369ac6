"""Build the book from the executed notebooks and check what came out.

Warnings are errors, as with `jupyter-book build -W --keep-going .`. The pages are always built from
nothing, and read anew: what was read before would hide a change of an extension.

Usage: python scripts/build_book.py
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from jupyter_book.sphinx import build_sphinx

from check_book import check

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "_build"
PAGES = BUILD / "html"


def build() -> bool:
    """Run Jupyter Book on all cores, which its own command cannot; whether it succeeded."""
    for folder in (PAGES, BUILD / ".doctrees"):
        shutil.rmtree(folder, ignore_errors=True)
    failed = build_sphinx(
        ROOT,
        PAGES,
        noconfig=True,
        path_config=ROOT / "_config.yml",
        confoverrides={"latex_individualpages": False},
        freshenv=True,
        warningiserror=True,
        keep_going=True,
        quiet=True,
        jobs=min(os.cpu_count() or 1, 8),
    )
    return not failed


def main() -> int:
    """Build, then check; 1 if either finds something wrong."""
    if not build():
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
