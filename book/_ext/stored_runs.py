"""Write the pages about what was run: totals, hyperparameters, and what made the book."""

from __future__ import annotations

import importlib.metadata
import itertools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from longfair.runs.experiment import Experiment
from longfair.runs.keys import canonical_json
from longfair.wording import numeral, plain
from markdown_table import table

LIBRARIES = ("longfair", "numpy", "scipy", "pandas", "torch", "stable-baselines3", "gymnasium")
LEARNERS = {
    "PPO": "PPO, a network for the policy and one for every critic",
    "LastPolicy": "PPO whose last policy alone is kept, in an environment of another paper",
    "TrunkPPO": "PPO with layers that policy and critic share, as F-PPO's code has it",
    "EvaluatedLearning": "Q-learning of a table, as FairQCM and its rivals train",
    "CheckedLearning": "Q-learning of a table that is compared with the exact values",
    "DeepLearning": "DQN, as FairQCM and its rivals train",
    "LedgerLearning": "DQN with ledgers, our successor of FairQCM",
    "fairqcm/Searching": "Search for the weights of a linear rule",
    "fairmdp/Searching": "Cross-entropy method (Algorithm 2)",
    "Exploring": "Exploring with a coin, then committing to a linear program",
    "Meeting": "Q-learning with books",
    "UCBLearning": "L-UCBFair",
    "TD3Learning": "TD3 and R-TD3",
    "Trajectories": "CPO",
}
"""Classes of learning settings, and what a reader calls them; with the paper where two have one."""
LIKE = {"LoggedPPO": "TrunkPPO", "BestTD3Learning": "TD3Learning"}
"""Classes that only log more, or keep another policy, and which class they learn like."""
ON_THEIR_OWN = frozenset({"PPO", "LastPolicy", "TrunkPPO"})
"""Learners whose method says only how the advantage is made, which the method's page explains."""

LETTERS = {
    "alpha": "\N{GREEK SMALL LETTER ALPHA}",
    "beta": "\N{GREEK SMALL LETTER BETA}",
    "tolerance": "\N{GREEK SMALL LETTER OMEGA}",
    "penalty": "\N{GREEK SMALL LETTER ZETA}",
    "demand_weight": "\N{GREEK SMALL LETTER ZETA}",
    "level_weight": "\N{GREEK SMALL LETTER BETA}\N{SUBSCRIPT ONE}",
    "change_weight": "\N{GREEK SMALL LETTER BETA}\N{SUBSCRIPT TWO}",
}
"""Parameters of methods that papers call by a letter."""
BESIDE = 3
"""As many sets of settings stand beside each other; of more, what differs is told."""
LONG = 12
"""Tables with more rows open on demand."""

Config = Mapping[str, Any]


def seeds(numbers: Iterable[int]) -> str:
    """Write seed numbers, a gapless range as its ends."""
    ordered = sorted(set(numbers))
    if len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"{ordered[0]} to {ordered[-1]}"
    return ", ".join(map(str, ordered))


def duration(seconds: Iterable[float]) -> str:
    """Write a sum of seconds in the unit that a reader would choose, without false precision."""
    total = sum(seconds)
    for length, unit in ((3600, "h"), (60, "min")):
        if total >= length:
            return f"{total / length:.{int(total < 10 * length)}f} {unit}"
    return f"{total:.{int(total < 10)}f} s"


@cache
def stored_runs() -> pd.DataFrame:
    """Every stored run with its provenance, one row each."""
    from longfair.runs.store import Store

    store = Store()
    runs = pd.concat(
        [store.provenance(experiment=name) for name in store.experiments()], ignore_index=True
    )
    # Smoke runs are never committed, so another reader's page has none.
    return runs[runs["profile"] != "smoke"].assign(paper=runs["experiment"].str.split("/").str[0])


def once(runs: pd.DataFrame) -> pd.DataFrame:
    """Leave out runs that are another experiment's, stored under a second name."""
    return runs[runs["same_as"].isna()]


def totals(runs: pd.DataFrame, papers: Mapping[str, str]) -> str:
    """Write how much was run for every paper, and in all."""
    parts = [(title, runs[runs["paper"] == paper]) for paper, title in papers.items()]
    rows = [
        [
            title,
            own["experiment"].nunique(),
            f"{len(once(own)):,}",
            duration(once(own)["wall_seconds"]),
            duration(once(own)["core_seconds"]),
        ]
        for title, own in [*parts, ("**Together**", runs)]
    ]
    return table(["Paper", "Experiments", "Runs", "Wall", "Cores busy"], rows)


def listed(runs: pd.DataFrame) -> str:
    """Write one row per method of an experiment and profile."""
    head = ["Experiment", "Profile", "Method", "Variant", "Seeds", "Steps", "Wall", "Cores busy"]
    rows = [
        [
            *(plain(str(part)) for part in key),
            seeds(group["seed"]),
            f"{group['steps'].max():,}",
            duration(group["wall_seconds"]),
            duration(group["core_seconds"]),
        ]
        for key, group in runs.groupby(["experiment", "profile", "method", "variant"])
    ]
    return table(head, rows)


def counted(
    runs: pd.DataFrame, experiments: Mapping[str, str], arms: Iterable[tuple[str, str, str]]
) -> str:
    """Write how many runs of every method are stored, with a column per experiment and variant.

    Parameters
    ----------
    runs
        As from `stored_runs`.
    experiments
        Id of an experiment to what a reader calls it.
    arms
        Experiment, variant and method of what is to be run; nothing is written for others.
    """
    wanted = list(dict.fromkeys(arms))
    columns = list(dict.fromkeys(arm[:2] for arm in wanted))
    stored = runs.groupby(["experiment", "variant", "method"])["seed"].nunique()
    rows = [
        [
            f"`{method}`",
            *(
                stored.get((*column, method), 0) if (*column, method) in wanted else ""
                for column in columns
            ),
        ]
        for method in dict.fromkeys(arm[2] for arm in wanted)
    ]
    named = (f"{experiments[name]}, {variant.replace('_', ' ')}" for name, variant in columns)
    return table(["Method", *named], rows)


def folded(heading: str, text: str) -> str:
    """Write a part that opens on demand."""
    return f"::::{{dropdown}} {heading}\n{text}::::\n"


def status(runs: pd.DataFrame, papers: Mapping[str, str]) -> str:
    """Write the totals, and the list of every paper folded below them."""
    lists = [
        folded(_heading(title, own), listed(own))
        for paper, title in papers.items()
        if not (own := runs[runs["paper"] == paper]).empty
    ]
    return "\n".join([totals(runs, papers), *lists])


def _heading(title: str, runs: pd.DataFrame) -> str:
    """Say how many runs a list has, and how many of them the totals count elsewhere."""
    shared = len(runs) - len(once(runs))
    told = f", {shared:,} of them shared by two experiments and counted once above"
    return f"{title}: {len(runs):,} runs{told * bool(shared)}"


def made_on(runs: pd.DataFrame) -> str:
    """Write on which machines, interpreters and commits stored runs were made."""
    machines = [
        f"{processor}, {cores} cores, {system}, Python {python}"
        for processor, cores, system, python in sorted(
            runs[["processor", "cores", "system", "python"]].drop_duplicates().itertuples(False)
        )
    ]
    versions = {
        ", ".join(f"{name} {version}" for name, version in sorted(own.items()))
        for own in runs["versions"]
    }
    commits = sorted(set(runs["commit"].dropna()))
    text = f"Made on {'; '.join(machines)}.\n\nMade with {'; '.join(sorted(versions))}.\n"
    if not commits:
        return text
    names = ", ".join(f"`{commit[:10]}`" for commit in commits) + "\n"
    return f"{text}{_lost(runs['commit'])}\n{folded(f'Made at {len(commits)} commits', names)}"


def _lost(commits: pd.Series[str]) -> str:
    """Say how many runs name a commit that the history of this repository does not have."""
    if _git("rev-parse", "--is-shallow-repository") != "false":
        return ""
    known = set(_git("rev-list", "HEAD").split())
    named = commits.dropna()
    lost = named[~named.isin(known)]
    if lost.empty:
        return ""
    return (
        f"\n{len(lost):,} runs name one of {lost.nunique()} commits that are no longer in the "
        "history of this repository: their work was joined into later commits. What such a run "
        "computed is still held by the digests in its file and by the proofs of `longfair verify`, "
        "but the very tree that it was made from cannot be checked out.\n"
    )


def _git(*arguments: str) -> str:
    root = Path(__file__).parents[2]
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True)
    return done.stdout.strip()


def notebooks(root: Path) -> str:
    """Write what every notebook holds."""
    rows = []
    for path in sorted((root / "notebooks").rglob("*.ipynb")):
        content = json.loads(path.read_text(encoding="utf-8"))
        code = [part for part in content["cells"] if part["cell_type"] == "code"]
        tags = [part["metadata"].get("tags", []) for part in code]
        kinds = [set(out.get("data", {})) for part in code for out in part["outputs"]]
        name = path.relative_to(root / "notebooks").with_suffix("").as_posix()
        rows.append(
            [
                f"[{name}](../notebooks/{name}.ipynb)",
                len(code),
                sum("nbval-check-output" in own for own in tags),
                sum("image/png" in kind for kind in kinds),
            ]
        )
    return table(["Notebook", "Code cells", "Checked cells", "Figures"], rows)


def this_build(root: Path) -> str:
    """Write the versions that built the book."""
    from longfair.runs.machine import commit_of

    commit = commit_of(root)
    rows = [["Python", sys.version.split()[0]]]
    rows += [[name, importlib.metadata.version(name).split("+")[0]] for name in LIBRARIES]
    if commit.name:
        changed = " with uncommitted changes" if commit.dirty else ""
        rows.append(["commit", f"`{commit.name[:10]}`{changed}"])
    return table(["What", "Version"], rows)


def flat(settings: Config) -> dict[str, Any]:
    """Take settings apart: without classes, and with those inside others."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            inside = "" if name == "settings" else f"{name} "
            found |= {f"{inside}{inner}": own for inner, own in flat(value).items()}
        elif name != "class":
            found[name] = value
    return found


def learner(config: Config, paper: str) -> tuple[str, dict[str, Any]] | None:
    """Kind and settings of what learns in a run, or None where nothing does."""
    learning = config.get("learning")
    if not isinstance(learning, Mapping):
        return None
    name = LIKE.get(str(learning["class"]), str(learning["class"]))
    kinds = (f"{paper}/{name}", name)
    kind = next((known for known in kinds if known in LEARNERS), "")
    if not kind:
        raise ValueError(f"learning settings {kinds[-1]} have no name for readers: add one here")
    own = flat(learning)
    method = config.get("method")
    if kind not in ON_THEIR_OWN and isinstance(method, Mapping):
        own = {
            f"method's {name}" if name in own else name: value
            for name, value in flat(method).items()
        } | own
    return kind, own


NOTIONS = {"dp": "demographic parity", "eo": "equal opportunity"}
"""Notions of fairness that settings name by two letters."""


def setting(value: object) -> str:
    """Write a setting's value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return numeral(value, 6)
    if isinstance(value, list):
        return ", ".join(map(setting, value))
    if isinstance(value, str) and value.isidentifier():
        return NOTIONS.get(value, plain(value) if value.islower() else value)
    return f"{value:,}" if isinstance(value, int) else str(value or "")


def hyperparameters(runs: pd.DataFrame) -> str:
    """Write every set of hyperparameters that stored runs were trained with, by learner.

    What all runs of a learner share stands above its table. Few sets are its columns. Of many, the
    most common values stand above, too, and below a fold each row says what differs from them.
    """
    used: dict[str, dict[str, tuple[dict[str, Any], set[str]]]] = {}
    columns = runs[["config", "experiment", "profile", "method"]]
    for config, experiment, profile, method in columns.itertuples(False):
        if found := learner(config, experiment.split("/")[0]):
            kind, own = found
            where = f"{experiment} ({profile})"
            where += f": {method}" * (kind not in ON_THEIR_OWN)
            sets = used.setdefault(kind, {})
            sets.setdefault(json.dumps(own, sort_keys=True), (own, set()))[1].add(where)
    return "\n".join(
        f"## {title}\n\n{_sets(list(used[kind].values()))}"
        for kind, title in LEARNERS.items()
        if kind in used
    )


def _sets(sets: list[tuple[dict[str, Any], set[str]]]) -> str:
    names = list(dict.fromkeys(name for own, _ in sets for name in own))
    values = {name: [setting(own.get(name)) for own, _ in sets] for name in names}
    shared = [name for name in names if len(set(values[name])) == 1]
    apart = [name for name in names if name not in shared]
    common = {name: values[name][0] for name in shared}
    order = sorted(range(len(sets)), key=lambda index: sorted(sets[index][1]))
    places = [_where(sets[index][1]) for index in order]
    if not apart:
        lines = table(["Experiments"], [[place] for place in places])
    elif len(sets) <= BESIDE:
        rows = [[plain(name), *(values[name][index] for index in order)] for name in apart]
        lines = table(["Setting", *places], rows)
    else:
        usual = {name: Counter(values[name]).most_common(1)[0][0] for name in apart}
        rows = [
            [place, _apart({name: values[name][index] for name in apart}, usual)]
            for place, index in zip(places, order, strict=True)
        ]
        differing = table(["Experiments", "What differs"], rows)
        lines = (
            f"{_values('Most common value', usual)}\n\n"
            f"{folded(f'What differs in {len(sets)} sets of settings', differing)}"
        )
    return f"{_values('Value in all', common)}\n\n{lines}" if common else lines


def _values(title: str, values: Mapping[str, str]) -> str:
    """Write a table of settings and their values."""
    return table(
        ["Setting", title], [[plain(name), found or "none"] for name, found in values.items()]
    )


def _apart(own: Mapping[str, str], usual: Mapping[str, str]) -> str:
    """Write what of some settings is not the most common."""
    other = {name: value for name, value in own.items() if value != usual[name]}
    return "; ".join(f"{plain(name)} {value or 'none'}" for name, value in other.items())


def _where(names: Iterable[str]) -> str:
    """List experiments in a cell, long lists behind the first of them."""
    ordered = sorted(names)
    listed = ", ".join(ordered)
    if len(ordered) == 1:
        return listed
    more = f"{ordered[0]} and {len(ordered) - 1} more"
    return f"<details><summary>{more}</summary>{listed}</details>"


def methods(declared: Iterable[Experiment], papers: Mapping[str, str]) -> str:
    """Write the parameters of the methods of the PPO family, with a table for every paper.

    Those of the methods of other learners stand with their learners' settings.

    Parameters
    ----------
    declared
        Experiments, whose arms are told whether they were run or not, but for smoke runs.
    papers
        Id of a paper to what a reader calls it.
    """
    used: dict[str, dict[tuple[str, str, str], set[str]]] = {paper: {} for paper in papers}
    for experiment in declared:
        for method, variant, told in _of_arms(experiment):
            own = used.setdefault(experiment.paper, {})
            own.setdefault((method, variant, told), set()).add(experiment.id)
    parts = []
    for paper, title in papers.items():
        rows = [
            [f"`{method}`", plain(variant), told, _where(places)]
            for (method, variant, told), places in sorted(used[paper].items())
        ]
        lines = table(["Method", "Variant", "Parameters", "Experiments"], rows)
        few = f"{title}:\n\n{lines}"
        long = folded(f"{title}: {len(rows)} sets of parameters", lines)
        parts += [long if len(rows) > LONG else few] if rows else []
    return "\n".join(parts)


def _of_arms(experiment: Experiment) -> Iterable[tuple[str, str, str]]:
    """Yield method, variant and parameters of every arm that is trained with a kind of PPO."""
    profiles = [arms for profile, arms in experiment.arms.items() if profile != "smoke"]
    for arm in itertools.chain(*profiles, experiment.authors_arms):
        config = json.loads(canonical_json(arm.config))
        found = learner(config, experiment.paper)
        if found and found[0] in ON_THEIR_OWN:
            told = (_parameter(name, value) for name, value in flat(config["method"]).items())
            yield arm.method, arm.variant, "; ".join(told)


def _parameter(name: str, value: object) -> str:
    """Write a parameter with its letter, if it has one."""
    letter = f" ({LETTERS[name]})" if name in LETTERS else ""
    return f"{plain(name)}{letter} {setting(value) or 'none'}"
