"""Look up a Python name among the objects of the library only where one ends with it.

Most types in a signature, such as ``int``, have no page of their own. Sphinx compares each of them
with every object of the library, each time that it is met. What it finds ends with the same part as
the name, so one look at the last parts of all objects says of most names that nothing will be
found. The objects stay the same from the first page that is written to the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sphinx.domains.python import ObjectEntry, PythonDomain

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


class QuickPythonDomain(PythonDomain):
    """Sphinx's own domain, which knows how the names of its objects end."""

    def __init__(self, env: BuildEnvironment) -> None:
        super().__init__(env)
        self._last: tuple[int, frozenset[str]] = (0, frozenset())

    def find_obj(
        self, env: BuildEnvironment, modname: Any, classname: Any, name: str, *asked: Any
    ) -> list[tuple[str, ObjectEntry]]:
        """Find the objects that a name can mean; see `PythonDomain.find_obj`."""
        if last_part(name.removesuffix("()")) not in self.last_parts():
            return []
        return super().find_obj(env, modname, classname, name, *asked)

    def last_parts(self) -> frozenset[str]:
        """Last parts of the names of all objects."""
        known, parts = self._last
        if known != len(self.objects):
            parts = frozenset(map(last_part, self.objects))
            self._last = (len(self.objects), parts)
        return parts


def last_part(name: str) -> str:
    """Return what stands behind the last dot of a name."""
    return name.rpartition(".")[2]


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.add_domain(QuickPythonDomain, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
