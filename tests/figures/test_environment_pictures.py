"""Pictures of two policies: what they draw and what they say."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.collections import PolyCollection

from longfair.errors import UsageError
from longfair.figures import GROUPS, policy_lines, policy_shares
from longfair.figures.style import phone

LABELS = {"across": "steps", "up": "things received"}


def lines(groups: int = 2) -> pd.DataFrame:
    rows = [
        (policy, f"person {group}", step, step * (group if policy == "greedy" else 0.5))
        for policy in ("greedy", "in turns")
        for group in range(groups)
        for step in range(11)
    ]
    return pd.DataFrame(rows, columns=["policy", "group", "step", "value"])


def shares(parts: tuple[str, ...] = ("ill", "well")) -> pd.DataFrame:
    rows = [
        (policy, group, part, step, (step if place == 0 else 10 - step) / 10 if place < 2 else 0.0)
        for policy in ("wait", "treat")
        for group in ("young", "old")
        for place, part in enumerate(parts)
        for step in (0, 5, 10)
    ]
    return pd.DataFrame(rows, columns=["policy", "group", "part", "step", "value"])


def test_every_policy_has_a_panel_with_a_line_for_every_group() -> None:
    figure = policy_lines(lines(), **LABELS)
    panels = figure.figure.axes
    assert [panel.get_title(loc="left") for panel in panels] == ["greedy", "in turns"]
    for panel in panels:
        assert [line.get_label() for line in panel.lines] == ["person 0", "person 1"]
        assert len({line.get_linestyle() for line in panel.lines}) == 2
    assert list(panels[0].lines[1].get_ydata()) == list(range(11))
    assert list(panels[1].lines[1].get_ydata()) == [step / 2 for step in range(11)]


def test_panels_share_their_scales() -> None:
    left, right = policy_lines(lines(), **LABELS).figure.axes
    assert left.get_ylim() == right.get_ylim()
    assert left.get_xlim() == right.get_xlim()


def test_a_phone_has_the_label_only_where_the_numbers_are() -> None:
    with phone():
        for figure in (policy_lines(lines(), **LABELS), policy_shares(shares(), **LABELS)):
            *above, last = figure.figure.axes
            assert [panel.get_xlabel() for panel in above] == [""] * len(above)
            assert last.get_xlabel() == "steps"


def test_no_number_stands_alone_below_a_title() -> None:
    called = {"greedy": "lend to both groups from score 3"}
    with phone():
        first, _ = policy_lines(lines().replace({"policy": called}), **LABELS).figure.axes
    assert first.get_title(loc="left") == "lend to both groups from\nscore 3"


def test_words_say_where_every_line_begins_and_ends() -> None:
    text = policy_lines(lines(), **LABELS).alt_text
    assert "things received against steps, from 0 to 10" in text
    assert "Greedy: person 0 from 0 to 0, person 1 from 0 to 10." in text
    assert "In turns: person 0 from 0 to 5, person 1 from 0 to 5." in text


def test_order_of_rows_does_not_matter_within_a_line() -> None:
    shuffled = lines().sort_values("step", ascending=False, kind="stable")
    assert policy_lines(shuffled, **LABELS).alt_text == policy_lines(lines(), **LABELS).alt_text


def test_more_groups_than_styles_are_refused() -> None:
    with pytest.raises(UsageError, match="no figure style"):
        policy_lines(lines(len(GROUPS) + 1), **LABELS)


def test_shares_fill_one_panel_for_every_group_and_policy() -> None:
    panels = policy_shares(shares(), **LABELS).figure.axes
    assert len(panels) == 4
    assert [panel.get_title(loc="left") for panel in panels] == ["wait", "treat", "", ""]
    assert [panel.get_ylabel().partition("\n")[0] for panel in panels] == ["young", "", "old", ""]
    for panel in panels:
        areas = [part for part in panel.collections if isinstance(part, PolyCollection)]
        assert [area.get_label() for area in areas] == ["ill", "well"]
        assert panel.get_ylim() == (0.0, 1.0)
        # The upper area starts where the lower one ends and reaches the top.
        top = areas[1].get_paths()[0].vertices[:, 1]
        assert top.max() == pytest.approx(1.0)


def test_unranked_parts_differ_in_more_than_colour_and_ranked_ones_grow_lighter() -> None:
    unranked = policy_shares(shares(), **LABELS).figure.axes[0].collections
    assert len({area.get_hatch() for area in unranked}) == 2
    ranked = policy_shares(shares(("low", "middle", "high")), ranked=True, **LABELS)
    lightness = [area.get_facecolor()[0][:3].sum() for area in ranked.figure.axes[0].collections]
    assert lightness == sorted(lightness)


def test_words_say_how_every_share_changes() -> None:
    text = policy_shares(shares(), **LABELS).alt_text
    assert "Treat, old: ill from 0 to 1, well from 1 to 0." in text


def test_too_many_unranked_parts_are_refused() -> None:
    frame = shares(("a", "b", "c", "d", "e"))
    with pytest.raises(UsageError, match="ranked=True"):
        policy_shares(frame, **LABELS)


@pytest.mark.parametrize("column", ["policy", "group", "part", "step", "value"])
def test_missing_columns_are_named(column: str) -> None:
    with pytest.raises(UsageError, match=column):
        policy_shares(shares().drop(columns=column), **LABELS)


def test_same_table_gives_the_same_bytes() -> None:
    first, second = (policy_shares(shares(), **LABELS) for _ in range(2))
    assert first.png() == second.png()
    pd.testing.assert_frame_equal(first.data, shares())
