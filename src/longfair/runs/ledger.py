"""The ledger: which changes of the code were proven to change no number.

Every line of the file is one call of ``longfair verify --against``. It says which commit the code
was held against, how many probes gave the same bits, and from which digests of the source to which
others the arms went. A result whose recorded digest leads to the present one needs no more.

A line without probes proves nothing by itself: it is a *bridge*. Where the digest itself is defined
anew, the same code has another digest, so every arm's old digest is paired with its new one. There
is one, against commit 20ea1069: after it the methods ``shortened``, which say how an arm is probed,
no longer count in the digest (see `longfair.runs.sources`). Between the two states only these
methods and the machinery of probes changed. As the two probe with other settings, their probes
could not be compared. `longfair verify` names bridges.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from longfair.errors import UsageError

FILE = "ledger.jsonl"


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
        Number of probes that were run in both; none in a bridge.
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
        """Whether it pairs two digests of the same code, and nothing was run."""
        return self.probes == 0


def read(root: Path) -> list[Proof]:
    """Read the ledger of a store; empty if there is none.

    Raises
    ------
    UsageError
        If a line is malformed.
    """
    path = root / FILE
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
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
        file.write(json.dumps(asdict(proof), sort_keys=True) + "\n")


def proven(proofs: Iterable[Proof], older: str) -> set[str]:
    """Return the digests that a digest leads to, itself included."""
    steps: dict[str, set[str]] = defaultdict(set)
    for proof in proofs:
        for before, after in proof.same:
            steps[before].add(after)
    found: set[str] = set()
    waiting = [older]
    while waiting:
        digest = waiting.pop()
        if digest not in found:
            found.add(digest)
            waiting += steps[digest]
    return found
