"""What a notebook receives: picture, alternative text, caption, data and claims."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from IPython.utils.capture import capture_output
from matplotlib import pyplot
from PIL import Image

from longfair.errors import UsageError
from longfair.figures import (
    Figure,
    claim_box,
    line_chart,
    offer,
    show,
    show_missing,
    source_of,
)
from longfair.figures.display import DRAFT, ON_A_PHONE
from longfair.figures.style import canvas, phone

FRAME = pd.DataFrame({"a": [1 / 3, 0.5]}, index=[1, 2])


@pytest.fixture
def figure() -> Figure:
    return line_chart(FRAME, across="crowd", up="bias")


def test_the_alternative_text_travels_with_the_picture(figure: Figure) -> None:
    data, metadata = figure._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]) == figure.png()
    assert metadata["image/png"] == {"alt": figure.alt_text, "width": 720}
    assert data["text/plain"] == figure.alt_text
    assert [axis["label"] for axis in metadata["axes"]] == ["crowd", "bias"]


def test_a_phone_gets_a_drawing_of_its_own(figure: Figure) -> None:
    data, _ = figure._repr_mimebundle_()
    narrow = figure.for_phones()
    assert base64.b64decode(data[ON_A_PHONE]) == narrow.png()
    with Image.open(io.BytesIO(narrow.png())) as picture:
        assert picture.width == 2 * 358
    assert narrow.data.equals(figure.data)
    assert figure.png() == line_chart(FRAME, across="crowd", up="bias").png()


def test_a_draft_is_one_coarse_drawing_with_the_same_words(
    figure: Figure, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, told = figure._repr_mimebundle_()
    monkeypatch.setenv(DRAFT, "1")
    draft, told_of_draft = figure._repr_mimebundle_()
    assert told_of_draft == told
    assert set(draft) == set(whole) - {ON_A_PHONE}
    with Image.open(io.BytesIO(base64.b64decode(draft["image/png"]))) as picture:
        assert picture.width == 360


def test_on_a_phone_panels_stand_below_each_other() -> None:
    wide, _ = canvas(7.2, 6.0, columns=2, rows=2, count=3)
    with phone():
        narrow, panels = canvas(7.2, 6.0, columns=2, rows=2, count=3)
    assert tuple(wide.get_size_inches()) == (7.2, 6.0)
    assert tuple(narrow.get_size_inches()) == (3.58, 9.0)
    assert len(panels) == len(narrow.axes) == 3
    narrow.draw_without_rendering()
    tops = [panel.get_position().y0 for panel in panels]
    assert tops == sorted(tops, reverse=True)


def test_on_a_phone_long_words_take_more_lines() -> None:
    chart = line_chart(
        FRAME, across="how many people there are in the crowd on a day in spring", up="bias " * 20
    )
    axes = chart.for_phones().figure.axes[0]
    for text in (axes.xaxis.label, axes.yaxis.label):
        assert "\n" in text.get_text()
    assert "\n" not in chart.figure.axes[0].xaxis.label.get_text()


def test_what_cannot_be_drawn_again_stays_as_it_is() -> None:
    drawing = pyplot.figure(figsize=(3.0, 2.0))
    pyplot.close(drawing)
    figure = Figure(drawing, "Nothing.", FRAME)
    assert figure.for_phones() is figure
    assert ON_A_PHONE not in figure._repr_mimebundle_()[0]


@pytest.mark.parametrize("width", [2.01, 4.02, 7.2, 8.2])
def test_a_picture_is_what_was_drawn(width: float) -> None:
    """Rows of another length than the drawing's would slant it."""
    drawing = pyplot.figure(figsize=(width, 2.0), layout="constrained")
    drawing.add_subplot().plot([0, 1], [0, 1])
    pyplot.close(drawing)
    with Image.open(io.BytesIO(Figure(drawing, "A line.", FRAME).png())) as picture:
        seen = np.asarray(picture.convert("L"), dtype=np.float64)
    expected = io.BytesIO()
    drawing.savefig(expected, format="png", dpi=200, facecolor="white")
    with Image.open(expected) as picture:
        drawn = np.asarray(picture.convert("L"), dtype=np.float64)
    assert seen.shape == drawn.shape
    assert np.abs(seen - drawn).mean() < 3.0


def test_in_a_page_the_message_comes_first(figure: Figure, ipython: None) -> None:
    with capture_output() as captured:
        show(figure, "Bias grows with the crowd.", name="crowds")
    picture = captured.outputs[0]
    assert picture.metadata["image/png"]["alt"] == f"Bias grows with the crowd. {figure.alt_text}"
    assert picture.metadata["axes"]


def shown(figure: Figure, caption: str) -> list[dict[str, Any]]:
    with capture_output() as captured:
        show(figure, caption, name="crowds")
    return [output.data for output in captured.outputs]


def test_the_caption_says_what_bands_are(figure: Figure, ipython: None) -> None:
    for marks, said in (("mean & band", "</em> Drawn: mean &amp; band. <a"), ("", "</em> <a")):
        _, text = shown(replace(figure, marks=marks), "Bias grows with the crowd.")
        assert said in text["text/html"]


def test_the_caption_offers_the_data_without_a_network(figure: Figure, ipython: None) -> None:
    picture, text = shown(figure, "Bias grows with the crowd & more.")
    assert "image/png" in picture
    assert "Bias grows with the crowd &amp; more." in text["text/html"]
    assert "http" not in text["text/html"]
    assert 'download="crowds.csv"' in text["text/html"]
    payload = re.search(r"base64,([^\"]+)", text["text/html"])
    assert payload is not None
    table = pd.read_csv(io.BytesIO(base64.b64decode(payload.group(1))))
    pd.testing.assert_frame_equal(table, figure.data, rtol=1e-5)
    assert text["text/plain"].endswith("[2 rows of data behind this figure]")


@pytest.fixture
def ipython() -> None:
    """Give `display` the shell it publishes to."""
    from IPython.core.interactiveshell import InteractiveShell

    InteractiveShell.instance()


def test_a_caption_is_required(figure: Figure) -> None:
    with pytest.raises(UsageError, match="caption"):
        show(figure, " ")


def test_without_a_figure_a_line_is_printed_instead(capsys: pytest.CaptureFixture[str]) -> None:
    show(None, "Bias.", name="bias", otherwise="Nothing to show.")
    assert capsys.readouterr().out == "Nothing to show.\n"
    with pytest.raises(UsageError, match="otherwise="):
        show(None, "Bias.")


def test_with_a_figure_the_line_is_not_printed(figure: Figure, ipython: None) -> None:
    with capture_output() as captured:
        show(figure, "Bias.", otherwise="Nothing to show.")
    assert len(captured.outputs) == 2
    assert "Nothing" not in captured.stdout


EXACT = {
    "id": "elbert-23", "paper": "elbert", "asked": "paper", "statement": "signed < squared",
    "source": "Section 2.3", "reported": None, "estimate": 0.99, "measured": "", "interval": None,
    "seeds": 0, "instances": 26, "steps": None, "horizon": None, "profile": "book",
    "settings": "", "whose": "", "measure": "", "variant": "as_published", "verdict": "checked",
    "answer": "checked", "changed": [], "stale": 0,
}  # fmt: skip
TRAINED = EXACT | {
    "id": "elbert-01", "reported": 0.023, "estimate": 0.0311234, "interval": [0.02, 0.041],
    "measured": "bias, 1 < 2", "seeds": 10, "instances": 0, "steps": 2000, "horizon": 5000,
    "settings": "authors", "whose": "the authors' settings", "measure": "code",
    "variant": "as_coded", "verdict": "direction only", "answer": "direction only",
}  # fmt: skip
OURS = TRAINED | {
    "settings": "ours", "whose": "our settings", "verdict": "inconclusive",
    "answer": "inconclusive", "estimate": 0.5, "stale": 4,
}  # fmt: skip


def worded(word: str) -> dict[str, str]:
    """What a row has for a word about a paper's claim."""
    return {"verdict": word, "answer": word}


def test_claims_are_text_in_a_terminal() -> None:
    lines = repr(claim_box([EXACT, TRAINED, OURS])).splitlines()
    assert lines[0].split() == ["claim", "verdict", "ours", "reported", "rests", "on", "statement"]
    assert "as published, on 26 instances" in lines[1]
    assert "direction only 0.03112 [0.02, 0.041] (bias, 1 < 2) 0.023" in " ".join(lines[2].split())
    assert "as coded, by the code's formula, the authors' settings, 10 runs, 2,000" in lines[2]
    assert "our settings: inconclusive  0.5 [0.02, 0.041]" in lines[3]
    assert "by the code's formula, 10 runs, 2,000 of 5,000 steps, 4 stale runs" in lines[3]
    assert "signed < squared (Section 2.3)" in lines[2]
    assert "signed" not in lines[3]


def test_a_claim_is_one_row_of_a_page_with_its_verdicts_behind_it() -> None:
    html = claim_box([EXACT, TRAINED, OURS])._repr_html_()
    assert html.count("<tr>") == 3
    assert re.findall("<th [^>]*>([^<]*)", html) == [
        "claim", "as published", "as coded", "reported",
    ]  # fmt: skip
    row = html.split("<tr>")[3]
    assert row.index("signed &lt; squared") < row.index('class="verdict verdict-direction-only"')
    theirs, ours = row.split('<small style="display: block">')
    assert ">direction only</strong><br>0.03112 [0.02, 0.041]<br>" in theirs
    assert '<small class="aside">bias, 1 &lt; 2</small>' in theirs
    assert "the authors&#x27; settings, 10 runs, 2,000 steps" in theirs
    assert ">our settings: inconclusive</strong><br>0.5" in ours
    assert "by the code&#x27;s formula, 10 runs, 2,000 of 5,000 steps, 4 stale runs" in ours
    assert "<code>elbert-01</code> signed &lt; squared (Section 2.3)</td>" in html
    assert html == claim_box([EXACT, TRAINED, OURS])._repr_html_()


def test_who_asks_and_what_was_changed_stands_beside_the_claim() -> None:
    here = EXACT | {"asked": "here", "answer": "yes"}
    assert "(Section 2.3, asked here)" in repr(claim_box([here]))
    nowhere = here | {"source": "not in the paper"}
    assert "signed < squared (asked here)" in repr(claim_box([nowhere]))
    change = {"date": "2025-01-31", "was": "a < b", "now": "a share", "why": "It is fairer."}
    html = claim_box([EXACT | {"changed": [change]}])._repr_html_()
    assert "<summary>rule written or changed after its runs</summary>" in html
    assert "2025-01-31: was a &lt; b, now a share. It is fairer." in html
    assert "changed after its runs" in repr(claim_box([EXACT | {"changed": [change]}]))


def test_a_question_of_ours_is_answered() -> None:
    no = OURS | {"asked": "here", "verdict": "contradicted", "answer": "no", "answer_99": "no"}
    box = claim_box([no | {"answer_999": "cannot be told"}])
    for text in (repr(box), box._repr_html_()):
        assert "our settings: no" in text
        assert "at 99.9 % cannot be told" in text
        assert "contradicted" not in text
    assert 'class="verdict verdict-no"' in box._repr_html_()


def test_runs_that_stop_early_say_so_first() -> None:
    short = "the authors' settings, short of their steps"
    text = repr(claim_box([OURS | {"settings": "short", "whose": short}]))
    assert f"{short}: inconclusive" in text
    assert text.count("settings") == 1


def test_a_number_of_one_measure_says_so() -> None:
    figure, text = (TRAINED | {"measure": name} for name in ("figure", "text"))
    assert '<td data-column="reported">0.023</td>' in claim_box([figure, text])._repr_html_()
    html = claim_box([text | {"reported": None}, figure])._repr_html_()
    assert '<td data-column="reported">0.023 (as the figures plot it)</td>' in html


def test_an_inconclusive_says_what_would_decide_it() -> None:
    row = TRAINED | worded("inconclusive") | {"steps": 5000}
    for lacks, enough, said in (
        ("runs", 10, "the rule asks for 10 runs"),
        ("width", 1200, "about 1,200 runs would decide"),
        (
            "effect",
            None,
            "at the edge of what is asked: how many runs would decide cannot be guessed",
        ),
        ("steps", None, "longer runs would decide"),
        ("paper", None, "what we could not read, or the text leaves open, decides"),
    ):
        assert said in repr(claim_box([row | {"lacks": lacks, "enough_seeds": enough}]))
    assert "decide" not in repr(claim_box([TRAINED, row | {"lacks": ""}]))


@pytest.mark.parametrize(
    ("at_99", "at_999", "words"),
    [
        ("direction only", "direction only", "the same at 99.9 %"),
        ("direction only", "inconclusive", "at 99.9 % inconclusive"),
        ("inconclusive", "inconclusive", "at 99 % inconclusive"),
    ],
)
def test_a_word_says_how_far_it_stays(at_99: str, at_999: str, words: str) -> None:
    row = TRAINED | {"answer_99": at_99, "answer_999": at_999, "better": [0.9, 0.55, 1.0]}
    assert f"10 runs, 2,000 steps, better in 9 of 10, {words}" in repr(claim_box([row]))
    unsure = row | worded("inconclusive") | {"lacks": "width", "enough_seeds": 20}
    assert "99" not in repr(claim_box([unsure]))


def test_one_value_has_no_level() -> None:
    row = TRAINED | {"one_value": True, "interval": None, "better": [0.9, 0.55, 1.0]}
    assert "2,000 steps, nothing is random: one value" in repr(claim_box([row]))
    assert "better in" not in repr(claim_box([row]))


def test_what_was_not_attempted_rests_on_nothing() -> None:
    nothing = {"estimate": None, "measured": "", "interval": None, "seeds": 0, "instances": 0}
    row = TRAINED | nothing | worded("not attempted")
    assert "runs" not in repr(claim_box([EXACT, row]))
    assert "runs" not in claim_box([EXACT, row])._repr_html_()
    few = TRAINED | worded("inconclusive") | {"seeds": 0, "settings": "", "whose": ""}
    assert "book, 0 runs" in repr(claim_box([few]))


def test_columns_without_any_content_are_left_out() -> None:
    bare = EXACT | {"estimate": None}
    assert repr(claim_box([bare])).splitlines()[0].split() == [
        "claim", "verdict", "rests", "on", "statement",
    ]  # fmt: skip
    html = claim_box([bare])._repr_html_()
    assert html.count("<th ") == html.count("<td ") == 2


def test_bad_claims_are_named() -> None:
    with pytest.raises(UsageError, match="no claim to show"):
        claim_box([])
    with pytest.raises(UsageError, match="claim elbert-23 lacks seeds"):
        claim_box([{key: value for key, value in EXACT.items() if key != "seeds"}])
    with pytest.raises(UsageError, match="unknown answer 'reproducd': did you mean 'reproduced'"):
        claim_box([EXACT | worded("reproducd")])
    with pytest.raises(UsageError, match="unknown answer 'contradicted'"):
        claim_box([EXACT | worded("contradicted") | {"asked": "here"}])


def documented(value: int) -> int:
    """Say something that the page says already."""
    return value + 1


def bare(value: int) -> int:
    return value - 1


def test_source_is_shown_without_docstrings() -> None:
    source = source_of(documented, bare)
    assert repr(source) == (
        "def documented(value: int) -> int:\n    return value + 1\n\n\n"
        "def bare(value: int) -> int:\n    return value - 1"
    )
    assert source._repr_markdown_() == f"```python\n{source!r}\n```"


def test_source_folds_under_a_heading() -> None:
    source = source_of(bare, heading="a < b", note="*Compiled.*")
    assert repr(source) == f"a < b\n*Compiled.*\n{source.text}"
    assert source._repr_markdown_() == (
        '<details class="longfair-folded"><summary>a &lt; b</summary>\n\n*Compiled.*\n\n'
        f"```python\n{source.text}\n```\n\n</details>"
    )


def test_tables_are_offered_with_the_page(ipython: None) -> None:
    tables = {"a/one": FRAME, "none": FRAME.iloc[:0], "a/<two>": FRAME.iloc[:1]}
    with capture_output() as captured:
        offer(tables, "All <rows>", "results/<id>")
        offer({"none": FRAME.iloc[:0]}, "Nothing", "results")
    (output,) = captured.outputs
    page = output.data["text/html"]
    assert 'download="a_one.csv"' in page
    assert "All &lt;rows&gt; (CSV): <a " in page
    assert ">a/one</a> (2 rows), <a " in page
    assert ">a/&lt;two&gt;</a> (1 row). The whole is in" in page
    assert "<code>results/&lt;id&gt;</code>" in page
    assert output.data["text/plain"] == "All <rows>: a/one, a/<two>"


def test_missing_runs_are_listed(ipython: None) -> None:
    with capture_output() as captured:
        show_missing(FRAME, "the profile `book`")
        show_missing(FRAME.iloc[:0], "the profile `paper`")
    said, table, all_there = (output.data for output in captured.outputs)
    assert said["text/markdown"].startswith("These runs of the profile `book` are missing")
    assert "0.333333" in table["text/plain"]
    assert all_there["text/markdown"].startswith("Every run of the profile `paper` is stored")
