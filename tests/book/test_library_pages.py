"""The reference of the library: every public object has its place, and code leads there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.application import Sphinx

import api_pages
import claim_links
import equation_index
import page_head
import repository
import side_navigation
from code_links import imports, link_code, target
from longfair.metrics import benefit_rate

ROOT = Path(__file__).resolve().parents[2]


def test_an_object_is_known_under_its_shortest_address() -> None:
    entry = api_pages.entries()["longfair.metrics.benefit.benefit_rate"]
    assert entry.address == entry.page == "longfair.metrics.benefit_rate"
    assert entry.thing is benefit_rate
    inner = api_pages.entries()["longfair.agents.evaluation.play_episodes"]
    assert inner.page == "longfair.agents.evaluation"


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("Plan", "longfair.agents.ppo.strategy.Plan"),
        ("longfair.agents.ppo.strategy.Strategy.plan", "longfair.agents.ppo.Strategy.plan"),
        ("longfair.agents.ppo.strategy.NOTHING", ""),
        ("longfair.nowhere.nobody", None),
        ("Strategy(plan)", ""),
        ("numpy.ndarray", None),
    ],
)
def test_a_docstring_means_the_names_of_its_module(name: str, address: str | None) -> None:
    """Three modules have a Plan."""
    assert api_pages.known_as(name, "longfair.agents.ppo.strategy") == address


def test_functions_that_keep_their_results_are_documented() -> None:
    assert "longfair.papers.registry.experiments" in api_pages.entries()


def test_every_public_object_is_documented_once() -> None:
    text = "\n".join(api_pages.pages().values())
    written = re.findall(r"^\.\. auto(?:function|class):: (\S+)$", text, re.MULTILINE)
    assert sorted(written) == sorted(entry.address for entry in api_pages.entries().values())


def test_the_page_of_a_package_leads_to_its_modules_and_says_what_they_are_for() -> None:
    pages = api_pages.pages()
    line = "- :doc:`longfair.envs.lending <longfair.envs.lending>`: "
    (told,) = (one for one in pages["longfair.envs"].splitlines() if one.startswith(line))
    assert "Lending" in told
    for name in api_pages.modules():
        package = name.rpartition(".")[0]
        assert package not in api_pages.modules() or f":doc:`{name} <" in pages[package], name


def test_what_packages_export_comes_before_the_fold() -> None:
    exported, _, folded = api_pages.room("metrics").partition(":::::{dropdown} ")
    assert "[`benefit_rate`](api/longfair.metrics.benefit_rate.rst)" in exported
    assert "(api/longfair.metrics.decision_log.rst)" not in exported
    assert "[`benefit_gap`](api/longfair.metrics.decision_log.rst)" in folded
    count = int(folded.split()[0])
    names = [one for one in api_pages.entries().values() if not one.own_page]
    assert count == sum(one.module.startswith("longfair.metrics.") for one in names)
    assert "export nothing" in api_pages.room("runs").partition(":::::{dropdown} ")[0]


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("~typing.Annotated[int, Range(low=0, high=9)] | None", "int | None"),
        ("Annotated[~a.Features, Give('a map, or [two]')]", "~a.Features"),
        ("dict[str, ~typing.Annotated[float, Positive()]]", "dict[str, float]"),
        ("~collections.abc.Callable[[~a.Env], None]", "~collections.abc.Callable[[~a.Env], None]"),
        ("<unknown>", "<unknown>"),
    ],
)
def test_types_are_shown_without_what_settings_allow_beyond_them(text: str, bare: str) -> None:
    assert api_pages.without_extras(text) == bare


def test_types_of_attributes_are_shown_like_those_of_parameters(tmp_path: Path) -> None:
    (tmp_path / "conf.py").touch()
    (tmp_path / "index.rst").write_text(
        ".. autoclass:: longfair.agents.ucbfair.LUCBFairSettings\n   :members:\n"
    )
    extensions = {"extensions": ["sphinx.ext.autodoc"]}
    folders = [tmp_path, tmp_path, tmp_path / "built", tmp_path / "read"]
    app = Sphinx(*folders, "text", extensions, status=None, warning=None)
    app.add_autodocumenter(api_pages.PlainAttribute, override=True)
    app.build()
    text = (tmp_path / "built/index.txt").read_text()
    assert re.search(r"^ +episodes: int = \d+$", text, re.MULTILINE)


def test_no_page_of_the_library_shows_an_annotation(book: Path) -> None:
    """But where an example has one."""
    for path in (book / "book/api").glob("*.html"):
        shown = re.sub(r"<pre>.*?</pre>|<[^>]+>", "", path.read_text(), flags=re.DOTALL)
        assert "Annotated[" not in shown, path.name


def test_private_names_stay_private() -> None:
    assert not [name for name in api_pages.pages() if any(p[0] == "_" for p in name.split("."))]
    assert not [key for key in api_pages.entries() if key.rpartition(".")[2].startswith("_")]


def test_imports_say_what_names_mean() -> None:
    code = "%time 1\nfrom longfair.metrics import bias as b, soft_bias\nimport numpy as np\nb([1])"
    assert dict(imports(code)) == {
        "b": "longfair.metrics.bias",
        "soft_bias": "longfair.metrics.soft_bias",
    }
    assert list(imports("not python")) == []


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("longfair.metrics.bias", "longfair.metrics.bias.html#longfair.metrics.bias"),
        ("longfair.metrics.benefit.bias", "longfair.metrics.bias.html#longfair.metrics.bias"),
        ("longfair.papers.page.Page.of", "longfair.papers.page.html#longfair.papers.page.Page"),
        ("longfair.papers.elbert.lending", "longfair.papers.elbert.lending.html"),
        ("longfair.papers.elbert.lending.ALPHA", "longfair.papers.elbert.lending.html"),
        ("longfair.metrics.nothing", ""),
        ("longfair.nowhere.at_all", ""),
    ],
)
def test_a_name_leads_to_its_page(path: str, place: str) -> None:
    assert target(path) == place


def span(kind: str, text: str) -> str:
    return f'<span class="{kind}">{text}</span>'


def block(*parts: str) -> str:
    inside = "".join(parts)
    start = '<div class="highlight-ipython3 notranslate"><div class="highlight"><pre>'
    return f"{start}<span></span>{inside}</pre></div></div>"


def test_code_links_what_it_imports_also_in_later_blocks() -> None:
    first = block(
        span("kn", "from"), " ", span("nn", "longfair.metrics"), " ", span("kn", "import"), " ",
        span("n", "bias"),
    )  # fmt: skip
    later = block(span("n", "bias"), span("p", "("), span("n", "rates"), span("p", ")"))
    found = link_code(f"<p>bias</p>{first}{later}", "../../book/api/")
    assert (
        found.count('href="../../book/api/longfair.metrics.bias.html#longfair.metrics.bias"') == 2
    )
    assert found.count('href="../../book/api/longfair.metrics.html"') == 1
    assert "<p>bias</p>" in found
    assert f"{span('n', 'rates')}" in found
    assert link_code(later, "") == later
    printed = first.replace("highlight-ipython3", "worked-example highlight-python")
    assert 'longfair.metrics.bias"' in link_code(printed, "")


def test_pages_of_the_book_link_their_code(book: Path) -> None:
    page = (book / "notebooks/elbert/lending.html").read_text(encoding="utf-8")
    links = re.findall(r'class="code-link" href="([^"#]+)', page)
    assert len(set(links)) > 5
    assert all((book / "notebooks/elbert" / link).resolve().exists() for link in links)


def test_places_are_read_off_docstrings() -> None:
    text = "By Definitions 2.2 and\n2.3 and Proposition 3.1, see Section 4 and Appendix A."
    assert equation_index.places(text) == [
        "Definition 2.2", "Definition 2.3", "Proposition 3.1", "Appendix A",
    ]  # fmt: skip


def test_the_index_leads_from_an_equation_to_its_function() -> None:
    index = equation_index.index()
    assert any(
        "metrics.long_term_benefit_rate" in link for link in index["elbert"]["Definition 2.2"]
    )
    assert any("linear_program" in link for link in index["fairmdp"]["Theorem 3.1"])
    assert any("memory_q_learning" in link for link in index["fairqcm"]["Equation 2"])
    assert all(index.values())


def test_numbers_of_places_are_ordered_as_numbers() -> None:
    places = ["Equation 27", "Equation 8", "Definition 4.10", "Definition 4.9", "Appendix A"]
    ordered = ["Equation 8", "Equation 27", "Definition 4.9", "Definition 4.10", "Appendix A"]
    assert sorted(places, key=equation_index.order) == ordered


def test_without_an_address_nothing_is_cloned_or_opened() -> None:
    address = "https://example.org/owner/name"
    assert "git clone https://example.org/owner/name\ncd name" in repository.clone(address)
    assert "git clone" not in repository.clone("")
    assert "make book" in repository.clone("")
    assert "Binder" in repository.elsewhere(address)
    assert "Binder" not in repository.elsewhere("")
    assert address in repository.cite(address)
    assert "http" not in repository.cite("")
    config = SimpleNamespace(html_theme_options={"repository_url": "", "launch_buttons": {"a": 1}})
    repository.drop_buttons(None, config)  # type: ignore[arg-type]  # stand-ins
    assert config.html_theme_options["launch_buttons"] == {}


@pytest.mark.parametrize("address", ["", "https://example.org/owner/name/"])
def test_fragments_follow_the_address_of_the_configuration(tmp_path: Path, address: str) -> None:
    (tmp_path / "book").mkdir()
    config = SimpleNamespace(html_theme_options={"repository_url": address})
    repository.write(SimpleNamespace(config=config, srcdir=tmp_path))  # type: ignore[arg-type]  # a stand-in
    texts = {path.stem: path.read_text("utf-8") for path in tmp_path.rglob("*.md")}
    assert ("git clone https://example.org/owner/name\n" in texts["clone"]) == bool(address)
    assert ("git clone" in texts["elsewhere"]) == ("Binder" in texts["elsewhere"]) == bool(address)
    assert ("https://" in texts["cite"]) == bool(address)


def test_lines_of_code_are_those_of_the_commit_of_the_pages() -> None:
    there = repository.Repository("https://example.org/name", "abc")
    assert there.lines("src/a.py", 1, 9) == "https://example.org/name/blob/abc/src/a.py#L1-L9"
    assert repository.Repository("https://example.org/name", "").lines("a.py", 1, 9) == ""
    assert repository.Repository("", "abc").lines("a.py", 1, 9) == ""


@pytest.mark.parametrize("page", ["book/claims/b-1", "book/claims/code/m", "book/api/x"])
def test_pages_beside_the_contents_share_the_navigation_of_their_folder(page: str) -> None:
    side_navigation.forget(None)  # type: ignore[arg-type]  # stand-ins
    made: list[str] = []

    def render(template: str, _context: Any) -> str:
        made.append(template)
        above = "<li><a href='up/book/claims'>C</a></li><li><a href='up/book/reference'>R</a></li>"
        return f"<ul>{above}<li><a href='other'>O</a></li></ul>"

    app = SimpleNamespace(builder=SimpleNamespace(templates=SimpleNamespace(render=render)))
    shown = []
    for name in (page, page.rpartition("/")[0] + "/other"):
        context = {"pathto": lambda name: f"up/{name}"}
        side_navigation.reuse(app, name, "", context, None)  # type: ignore[arg-type]  # a stand-in
        told = SimpleNamespace(get_all=dict)
        shown.append(str(context["navigation_of_folder"](told)))  # type: ignore[arg-type]  # a stand-in
    assert made == ["sbt-sidebar-nav.html"]
    assert shown[0] == shown[1]
    (current,) = BeautifulSoup(shown[0], "html.parser").select("li.current.active > a")
    assert str(current["href"]).endswith(side_navigation.ABOVE[page.rpartition("/")[0]])


def test_every_page_of_claims_and_library_has_the_navigation_of_the_book(book: Path) -> None:
    leads = {"claims/elbert-01": "../claims", "api/longfair.metrics.bias": "../reference"}
    for name, above in leads.items():
        text = (book / f"book/{name}.html").read_text(encoding="utf-8")
        (side,) = BeautifulSoup(text, "html.parser").select("nav.bd-docs-nav")
        assert len(side.select("li.toctree-l1")) > 20
        assert [str(link["href"]) for link in side.select("li.current > a")] == [f"{above}.html"]


def test_a_page_is_described_by_its_first_paragraph() -> None:
    document = nodes.section("", nodes.paragraph("", "Short."), nodes.paragraph("", "word " * 60))
    about = page_head.description(document)
    assert about.startswith("word word")
    assert about.endswith(" …")
    assert len(about) <= page_head.LONGEST + 2


def test_a_claim_is_described_by_what_is_quoted_and_without_html() -> None:
    markup = nodes.raw("", f'<a href="{"x" * page_head.SHORTEST}">', format="html")
    above = nodes.paragraph("", "Whose it is.", markup)
    document = nodes.section("", above, nodes.block_quote("", nodes.paragraph("", "claim " * 9)))
    app = SimpleNamespace(builder=SimpleNamespace(format="html", get_relative_uri="{1}".format))
    claim_links.link_claims(app, document, "book/claims/elbert-01")  # type: ignore[arg-type]  # a stand-in
    assert page_head.description(document).startswith("claim")
    above += nodes.Text("word " * 9)
    assert page_head.description(document).startswith("Whose it is.word")
    assert page_head.description(document, quoted=True).startswith("claim")


def test_every_page_has_a_description_and_a_card(book: Path) -> None:
    claim = "book/claims/elbert-01"
    for name in ("book/index", "notebooks/elbert/lending", "book/api/longfair.metrics.bias", claim):
        page = (book / f"{name}.html").read_text(encoding="utf-8")
        (about,) = re.findall(r'<meta name="description" content="([^"]+)"', page)
        assert "href" not in about
        (picture,) = re.findall(r'<meta property="og:image" content="([^"]+)"', page)
        assert len(about) >= page_head.SHORTEST
        assert ((book / name).parent / picture).resolve().exists()


def test_the_container_sets_up_what_the_makefile_does() -> None:
    settings = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert settings["onCreateCommand"].endswith("make setup")
    for name, value in settings["containerEnv"].items():
        assert f"export {name} := {value}" in makefile
