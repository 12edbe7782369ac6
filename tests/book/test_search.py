"""Questions that readers type, and the page that has to come first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from browser import Browser
from search_answers import answers, defined, full_titles

FIRST = {
    "what is ELBERT": "book/papers/elbert.html",
    "F-PPO": "book/papers/fppo.html",
    "fairqcm?": "book/papers/fairqcm.html",
    "what does R-PPO mean": "book/glossary.html#term-R-PPO",
    "gini": "book/glossary.html",
    "PPO hyperparameters": "book/hyperparameters.html",
    "learning rate of PPO": "book/hyperparameters.html",
    "nash welfare": "book/glossary.html#term-Nash-welfare",
    "demographic parity": "book/glossary.html#term-demographic-parity",
    "static optimum": "book/glossary.html#term-static-optimum",
    "lending": "book/environments/lending.html",
    "ELBERT lending": "notebooks/elbert/lending.html",
    "attention allocation": "book/environments/attention.html",
    "doughnuts": "book/environments/doughnut.html",
    "vaccines": "notebooks/elbert/infectious.html",
    "price of fairness": "notebooks/fairmdp/exact.html",
    "optimal transport": "notebooks/fppo/distance.html",
    "adult data": "notebooks/ucbfair/adult.html",
    "how do I install": "book/how_to_rerun.html",
    "how to cite": "book/bibliography.html",
    "how can I add an environment": "book/environments/adding_an_environment.html",
    "what does inconclusive mean": "book/how_to_read.html",
    "how long": "book/status.html",
    "python api": "book/reference.html",
    "where is the tutorial": "book/use/first_policy.html",
    "how can I add a method": "book/use/own_method.html",
    "audit decisions": "book/use/own_log.html",
    "equations": "book/equations.html",
    "where are the claims": "book/claims.html",
    "massaging": "book/glossary.html",
    "what does harder mean": "book/glossary.html",
    "limits": "book/index.html",
    "linear function approximation": "notebooks/ucbfair/l_ucbfair.html",
    "how long does it take": "book/status.html",
    "compare the papers": "book/side_by_side.html",
    "train my own policy": "book/use/own_policy.html",
    "reward function of lending": "book/environments/lending.html",
    "which method is best": "book/index.html",
    "counterfactual": "book/papers/fairqcm.html",
    "memory fairness": "book/papers/fairqcm.html",
    "dataset": "notebooks/ucbfair/adult.html",
    "license": "book/contributing.html",
    "trap below the threshold": "notebooks/elbert/lending.html",
    "random policy beats": "notebooks/fairqcm/doughnuts.html",
    "contact": "book/contributing.html",
    "regret": "notebooks/fairmdp/learning_fairly.html",
    "confidence intervals": "book/how_to_read.html",
    "doi": "book/bibliography.html",
    "seeds": "book/how_to_read.html",
    "fair mdp linear program": "notebooks/fairmdp/exact.html",
    "what is long-term fairness": "book/glossary.html#term-long-term-fairness",
    "how do I run one experiment again": "book/how_to_rerun.html",
    "statistical significance": "book/how_to_read.html",
    "selective labels": "book/use/own_log.html",
    "use my own dataset": "book/use/own_log.html",
    "supply and demand": "book/glossary.html",
    "contradicted claims": "book/claims.html",
    "does ELBERT reproduce": "book/papers/elbert.html",
    "proximal policy optimization": "book/glossary.html",
    "fairness over time": "book/glossary.html#term-long-term-fairness",
}
Ask = Callable[[str], list[tuple[str, str]]]
RESULTS = "[...document.querySelectorAll('#search-results li a')]"


RANKED = """question => Search._performSearch(...Search._parseQuery(question)).reverse().map(
  ([page, title, anchor]) => [`${page}.html${anchor}`, title])"""
"""What the page would list, without drawing hundreds of results and an extract of each."""


def by_address(browser: Browser, address: str, question: str) -> list[tuple[str, str]]:
    """Addresses and titles that stand on the page after a question in its own address."""
    browser.open(f"{address}/search.html?q={question.replace(' ', '+').replace('?', '%3F')}")
    browser.wait_for("/search finished|did not match/i.test(Search.status.innerText)")
    found = browser.evaluate(f"{RESULTS}.map(link => [link.href, link.textContent])")
    return [(link.removeprefix(f"{address}/"), title) for link, title in found]


@pytest.fixture(scope="module")
def ask(browser: Browser, address: str) -> Ask:
    """Addresses and titles of the results of a question, the first first."""
    by_address(browser, address, "zyzzyva")
    return lambda question: [
        (page, title) for page, title in browser.page.evaluate(RANKED, question)
    ]


@pytest.mark.parametrize("question", FIRST)
def test_the_right_page_comes_first(ask: Ask, question: str) -> None:
    found = ask(question)
    assert found
    assert found[0][0].startswith(FIRST[question])


def test_a_claim_is_found_by_its_name(ask: Ask) -> None:
    assert ask("elbert-05")[0][0].startswith("book/claims")


def test_no_two_results_look_alike(ask: Ask) -> None:
    for question in ("lending", "attention allocation"):
        titles = [title for _, title in ask(question)]
        assert len(set(titles)) == len(titles)


def test_terms_keep_their_hyphens(ask: Ask) -> None:
    titles = [title for _, title in ask("what does R-PPO mean")]
    assert "R-PPO (glossary)" in titles


def test_words_that_stand_on_no_page_together_still_find_some(ask: Ask) -> None:
    assert ask("doughnuts zyzzyva")


@pytest.mark.parametrize("question", ["fairqcm?", "what does R-PPO mean"])
def test_the_page_lists_what_is_found(chromium: Any, ask: Ask, address: str, question: str) -> None:
    other = Browser(chromium)
    assert by_address(other, address, question) == ask(question)
    other.close()


def test_a_page_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="do not exist: book/b"):
        answers({"book/a": ["one"], "book/b": ["two"]}, ["book/a"])


def test_a_question_has_one_answer() -> None:
    with pytest.raises(ValueError, match="answers twice: one"):
        answers({"book/a": ["one"], "book/b": ["one"]}, ["book/a", "book/b"])


def test_a_term_is_asked_for_by_each_of_its_names() -> None:
    place = "book/glossary#term-memory"
    assert defined({"#term-memory": "memory, Ledger"}) == {"memory": place, "ledger": place}


def test_twin_titles_say_whose_they_are() -> None:
    titles = {
        "notebooks/elbert/lending": "Lending",
        "book/environments/lending": "Lending",
        "book/index": "Home",
    }
    assert full_titles(titles) == {
        "notebooks/elbert/lending": "Lending (ELBERT)",
        "book/environments/lending": "Lending (environment)",
    }
