"""Say where the repository is, on the condition that it is anywhere.

The address stands in `_config.yml`, and nowhere else. While it is empty no page has a button that
would open it somewhere, and no command clones it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx
from sphinx.config import Config

from longfair.runs.machine import commit_of


class Repository(NamedTuple):
    """Where the repository is, and from which of its commits the pages are made.

    Parameters
    ----------
    address
        Empty where none is set.
    commit
        Empty where there is none: outside a repository.
    """

    address: str = ""
    commit: str = ""

    @classmethod
    def of(cls, app: Sphinx) -> Repository:
        """Return the one that a build's configuration names."""
        address = app.config.html_theme_options.get("repository_url") or ""
        return cls(address.rstrip("/"), commit_of(Path(app.srcdir)).name or "")

    def of_commit(self, name: str) -> str:
        """Write the name of a commit, with a link if there is an address."""
        short = f"`{name[:12]}`"
        return f"[{short}]({self.address}/commit/{name})" if self.address else short

    def lines(self, file: str, first: int, last: int) -> str:
        """Return the address of lines as they are in the commit of the pages, or nothing."""
        if not self.address or not self.commit:
            return ""
        return f"{self.address}/blob/{self.commit}/{file}#L{first}-L{last}"


def shell(*lines: str) -> str:
    """Write commands as a code block."""
    return "\n".join(["```text", *lines, "```", ""])


def clone(address: str) -> str:
    """Write the two commands, after those that fetch the repository."""
    commands = ["make book", "make test"]
    if not address:
        return f"In the folder of this repository:\n\n{shell(*commands)}"
    folder = address.rstrip("/").rsplit("/", 1)[-1]
    return shell(f"git clone {address}", f"cd {folder}", *commands)


def elsewhere(address: str) -> str:
    """Write how a notebook is opened elsewhere."""
    download = "the download button gives you the `.ipynb`"
    if not address:
        return f"At the top of a notebook page {download}.\n"
    folder = address.rstrip("/").rsplit("/", 1)[-1]
    return "\n".join(
        [
            "The buttons at the top of a notebook page open it elsewhere:\n",
            f"- {download};",
            "- Binder builds the environment from `environment.yml` and opens the notebook in the "
            "browser;",
            "- Colab opens the notebook alone; run this in a first cell, so that the library and "
            "the stored results are there:\n",
            shell(f"!git clone {address}", f"%cd {folder}", "%pip install --quiet '.[agents]'"),
        ]
    )


def cite(address: str) -> str:
    """Write how to cite the book."""
    where = f" Its repository is <{address}>." if address else ""
    return (
        "Please cite the paper whose experiment you use. *Long-term fairness, rerun* itself is "
        f"described by the file `CITATION.cff` of its repository.{where}\n"
    )


def drop_buttons(_app: Sphinx, config: Config) -> None:
    """Leave out the buttons that open a page elsewhere, if there is no address."""
    if not config.html_theme_options.get("repository_url"):
        config.html_theme_options["launch_buttons"] = {}


def write(app: Sphinx) -> None:
    """Write the fragments that pages include."""
    address = Repository.of(app).address
    folder = Path(app.srcdir) / "book" / "_generated"
    folder.mkdir(exist_ok=True)
    for name, text in {"clone": clone, "elsewhere": elsewhere, "cite": cite}.items():
        (folder / f"{name}.md").write_text(text(address), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("config-inited", drop_buttons)
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
