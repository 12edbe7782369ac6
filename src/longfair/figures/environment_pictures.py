"""Two policies side by side: what becomes of every group, as lines or as stacked shares."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from longfair.errors import UsageError
from longfair.figures._frames import require
from longfair.figures.display import Figure, drawing
from longfair.figures.style import (
    BLACK,
    CARD,
    GREEN,
    SKY,
    VERMILION,
    YELLOW,
    canvas,
    from_to,
    group_style,
    head,
    legend,
    on_a_phone,
    styled,
)

_STATES = (SKY, VERMILION, GREEN, YELLOW)
_HATCHES = ("", "//", "..", "xx")
_TITLE_WIDTH, _ON_A_PHONE = 32, 30  # characters that fit above a panel
_LAST_LINE = 6  # characters that a title may leave for its last line


@drawing
def policy_lines(frame: pd.DataFrame, *, across: str, up: str) -> Figure:
    """Draw one panel per policy with one line per group.

    Parameters
    ----------
    frame
        Columns policy, group (names), step, value.
    across, up
        Axis labels in lower case, with units.

    Returns
    -------
    Figure
        Its data are the frame.

    Raises
    ------
    UsageError
        If a column is missing, the table is empty, or there are more groups than styles.
    """
    frame = _checked(frame, ["policy", "group", "step", "value"])
    policies, groups = _names(frame, "policy"), _names(frame, "group")
    figure, panels = canvas(7.2, 3.7, columns=len(policies), sharex=True, sharey=True)
    with styled():
        for axes, policy in zip(panels, policies, strict=True):
            for index, group in enumerate(groups):
                _line(axes, _rows(frame, policy=policy, group=group), index, group)
            head(axes, _title(policy))
            if axes is panels[-1] or not on_a_phone():  # there are the numbers
                axes.set_xlabel(across)
        panels[0].set_ylabel(up)
        legend(figure)
    return Figure(figure, _describe_lines(frame, across, up), frame)


@drawing
def policy_shares(frame: pd.DataFrame, *, across: str, up: str, ranked: bool = False) -> Figure:
    """Draw one column per policy and one row per group, with the shares of all parts stacked.

    Parameters
    ----------
    frame
        Columns policy, group, part (names), step, value: shares that sum to one over parts.
    across, up
        Axis labels in lower case, with units.
    ranked
        Whether the parts have an order. Then a ramp from dark to light colours them from the
        first to the last; else each has a colour and a hatching of its own.

    Returns
    -------
    Figure
        Its data are the frame.

    Raises
    ------
    UsageError
        If a column is missing, the table is empty, or there are more unranked parts than colours.
    """
    frame = _checked(frame, ["policy", "group", "part", "step", "value"])
    policies, groups, parts = (_names(frame, name) for name in ("policy", "group", "part"))
    colours = _colours(len(parts), ranked)
    figure, panels = canvas(
        7.2,
        1.5 + 2.1 * len(groups),
        columns=len(policies),
        rows=len(groups),
        sharex=True,
        sharey=True,
    )
    places = [(group, policy) for group in groups for policy in policies]
    with styled():
        for axes, (group, policy) in zip(panels, places, strict=True):
            _stack(axes, _rows(frame, policy=policy, group=group), parts, colours, ranked)
            if group == groups[0] or on_a_phone():
                head(axes, _title(policy))
            if axes is panels[-1] or (group == groups[-1] and not on_a_phone()):
                axes.set_xlabel(across)
            if policy == policies[0] or on_a_phone():
                axes.set_ylabel(f"{group}\n{up}")
        legend(figure)
    return Figure(figure, _describe_shares(frame, across, up), frame)


def _title(policy: str) -> str:
    """Break a title into lines of which the last is no single number."""
    width = _ON_A_PHONE if on_a_phone() else _TITLE_WIDTH
    tried = [textwrap.wrap(policy, narrow) for narrow in range(width, width // 2, -1)]
    good = (lines for lines in tried if len(lines) == 1 or len(lines[-1]) >= _LAST_LINE)
    return "\n".join(next(good, tried[0]))


def _checked(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return the columns of a table that is complete."""
    return require(frame, columns, "frame")[list(columns)]


def _names(frame: pd.DataFrame, column: str) -> list[str]:
    return [str(name) for name in dict.fromkeys(frame[column])]


def _rows(frame: pd.DataFrame, **names: str) -> pd.DataFrame:
    for column, name in names.items():
        frame = frame[frame[column] == name]
    return frame.sort_values("step", kind="stable")


def _line(axes: Axes, rows: pd.DataFrame, index: int, group: str) -> None:
    marks = (index, max(1, len(rows) // 5))
    curve = group_style(index, group).curve
    axes.plot(rows["step"], rows["value"], markersize=5, markevery=marks, **curve)


def _stack(
    axes: Axes, rows: pd.DataFrame, parts: Sequence[str], colours: Sequence[str], ranked: bool
) -> None:
    table = rows.pivot(index="step", columns="part", values="value")[list(parts)]
    axes.stackplot(
        table.index.to_numpy(),
        *(table[part].to_numpy() for part in parts),
        colors=colours,
        hatch=None if ranked else _HATCHES[: len(parts)],
        edgecolor=CARD,
        linewidth=0.6,
        labels=parts,
    )
    axes.set(xlim=(table.index[0], table.index[-1]), ylim=(0.0, 1.0))
    axes.grid(visible=False)
    axes.tick_params(color=BLACK)


def _colours(number_of_parts: int, ranked: bool) -> list[str]:
    if ranked:
        ramp = matplotlib.colormaps["cividis"]
        return [to_hex(ramp(part / max(1, number_of_parts - 1))) for part in range(number_of_parts)]
    if number_of_parts > len(_STATES):
        raise UsageError(
            f"{number_of_parts} parts: {len(_STATES)} have a colour; "
            "give ranked=True if they have an order"
        )
    return list(_STATES[:number_of_parts])


def _ends(rows: pd.DataFrame) -> str:
    return from_to(rows["value"].iloc[0], rows["value"].iloc[-1])


def _span(frame: pd.DataFrame) -> str:
    return from_to(frame["step"].min(), frame["step"].max())


def _describe_lines(frame: pd.DataFrame, across: str, up: str) -> str:
    parts = [f"Line charts of {up} against {across}, {_span(frame)}, one for each policy."]
    for policy in _names(frame, "policy"):
        clauses = [
            f"{group} {_ends(_rows(frame, policy=policy, group=group))}"
            for group in _names(frame, "group")
        ]
        parts.append(f"{policy[:1].upper()}{policy[1:]}: {', '.join(clauses)}.")
    return " ".join(parts)


def _describe_shares(frame: pd.DataFrame, across: str, up: str) -> str:
    parts = [
        f"Stacked areas of {up} against {across}, {_span(frame)}, "
        "one panel for each policy and group."
    ]
    for policy in _names(frame, "policy"):
        for group in _names(frame, "group"):
            clauses = [
                f"{part} {_ends(_rows(frame, policy=policy, group=group, part=part))}"
                for part in _names(frame, "part")
            ]
            parts.append(f"{policy[:1].upper()}{policy[1:]}, {group}: {', '.join(clauses)}.")
    return " ".join(parts)
