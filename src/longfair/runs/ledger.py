"""The ledger: which changes of the code were proven to change no number.

Every line of the file is one call of ``longfair verify --against``. It says which commit the code
was held against, how many probes gave the same bits, and from which digests of the source to which
others the arms went. A result whose recorded digest leads to the present one needs no more.

A line without probes proves nothing by itself: it is a *bridge*. Where the digest itself is defined
anew, the same code has another digest, so every arm's old digest is paired with its new one. There
is one, against commit 20ea1069: after it the methods ``shortened``, which say how an arm is probed,
no longer count in the digest (see `longfair.runs.sources`). Between the two states only these
methods and the machinery of probes changed. As the two probe with other settings, their probes
could not be compared. `longfair verify` names it, and refuses any other line without probes, which
proves nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from longfair.errors import UsageError
from longfair.runs.files import text_of

FILE = "ledger.jsonl"

BRIDGE = "4d0e1db240634590f4acd2265551f2d906fa0d9ed728ec8866476271382b1f62"
"""SHA-256 of the line of the one bridge."""


@dataclass(frozen=True)
class Proof:
    """One comparison of two states of the code that gave the same bits everywhere.

    Parameters
    ----------
    against
        Commit of the older state.
    date
        Day of the proof.
    processor_class
        Where both were run.
    probes
        Number of probes that were run in both; none in the bridge.
    bits
        Digest over the digests of all their tables.
    same
        Pairs of source digests, older and newer, that were proven to give the same numbers.
    """

    against: str
    date: str
    processor_class: str
    probes: int
    bits: str
    same: list[list[str]]

    @property
    def is_bridge(self) -> bool:
        """Whether it is the one line that pairs digests of the same code, and nothing was run."""
        return hashlib.sha256(self.line().encode()).hexdigest() == BRIDGE

    @property
    def is_baseless(self) -> bool:
        """Whether nothing was run, and it is not the bridge: then it proves nothing."""
        return not (type(self.probes) is int and self.probes > 0) and not self.is_bridge

    def line(self) -> str:
        """Return it as the ledger writes it, without the end of the line."""
        return json.dumps(asdict(self), sort_keys=True)


def read(root: Path) -> list[Proof]:
    """Read the ledger of a store; empty if there is none.

    Raises
    ------
    UsageError
        If a line is malformed, or the file is no text.
    """
    path = root / FILE
    try:
        lines = text_of(path).splitlines()
    except FileNotFoundError:
        return []
    proofs = []
    for number, line in enumerate(lines, 1):
        try:
            proofs.append(Proof(**json.loads(line)))
        except (ValueError, TypeError) as error:
            raise UsageError(f"{path}, line {number} is no proof: restore it from git") from error
    return proofs


def add(root: Path, proof: Proof) -> None:
    """Append a proof, if it is not there already."""
    if proof in read(root):
        return
    with (root / FILE).open("a", encoding="utf-8") as file:
        file.write(f"{proof.line()}\n")


def proven(proofs: Iterable[Proof], older: str) -> set[str]:
    """Return the digests of the same numbers as a digest's, itself included.

    That two codes give the same numbers holds in both directions, so two that were each proven
    against a third are the same, too. Baseless lines do not count.
    """
    steps: dict[str, set[str]] = defaultdict(set)
    for proof in proofs:
        if proof.is_baseless:
            continue
        for before, after in proof.same:
            steps[before].add(after)
            steps[after].add(before)
    found: set[str] = set()
    waiting = [older]
    while waiting:
        digest = waiting.pop()
        if digest not in found:
            found.add(digest)
            waiting += steps[digest]
    return found
