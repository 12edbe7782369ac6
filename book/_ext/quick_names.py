"""Look up every Python name once while pages are written.

A type in a signature that has no page of its own is sought among all objects of the library, each
time that it is met. The objects stay the same from the first page that is written to the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sphinx.domains.python import ObjectEntry, PythonDomain

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


class QuickPythonDomain(PythonDomain):
    """Sphinx's own domain, with a memory for what a name was found to mean."""

    def __init__(self, env: BuildEnvironment) -> None:
        super().__init__(env)
        self._found: dict[tuple[Any, ...], list[tuple[str, ObjectEntry]]] = {}

    def find_obj(self, env: BuildEnvironment, *asked: Any) -> list[tuple[str, ObjectEntry]]:
        """Find the objects that a name can mean; see `PythonDomain.find_obj`."""
        question = (len(self.objects), *asked)
        if question not in self._found:
            self._found[question] = super().find_obj(env, *asked)
        return list(self._found[question])


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.add_domain(QuickPythonDomain, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
