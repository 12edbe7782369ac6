// Search: the page that answers a question comes first. SEARCH_DATA is written by the build
// (book/_ext/search_answers.py); Search and its methods are Sphinx's.
"use strict";

(() => {
  const { answers, titles, terms, lists, glossary, claims } = SEARCH_DATA;
  const ASKING = new Set(
    ("a an the what whats is are was how do does did i can could to in of about my which where who " +
      "why mean means meaning explain define definition").split(" "),
  );
  const ANSWER = 1000;
  const LIST = 0.1; // pages that mention everything come after those that explain it
  const REFERENCE = "book/api/"; // so does the reference, where a name may hold a word by chance

  const MOST = 60; // nobody reads further

  /** What is asked for, without the words that only ask. */
  const topic = (query) => {
    const words = query
      .toLowerCase()
      .replace(/[?!.,;:"'()]/g, " ")
      .replace(/(\w{3})iz(e[ds]?|ing|ations?)\b/g, "$1is$2") // as these pages spell it
      .split(/\s+/)
      .filter(Boolean);
    return words.filter((word) => !ASKING.has(word)).join(" ") || words.join(" ");
  };

  const known = Object.entries(answers).map(([asked, page]) => [topic(asked).split(" "), page]);

  /** The page whose question is half of what was typed or more, if there is one such page, and
      perhaps a place on it, after "#". */
  const answerTo = (asked) => {
    if (Search._index.docnames.includes(`${claims}/${asked}`)) return `${claims}/${asked}`;
    const words = asked.split(" ");
    const fitting = known.filter(
      ([own]) => 2 * own.length >= words.length && own.every((word) => words.includes(word)),
    );
    const longest = Math.max(...fitting.map(([own]) => own.length));
    const pages = new Set(fitting.filter(([own]) => own.length === longest).map(([, page]) => page));
    return pages.size === 1 ? [...pages][0] : undefined;
  };

  /** Pages with any of the words, those with most of them last. */
  const withSome = (terms, excluded) => {
    const found = new Map();
    for (const term of terms) {
      for (const result of Search.performTermsSearch(new Set([term]), excluded)) {
        const known = found.get(result[0]);
        if (known) known[4] += result[4];
        else found.set(result[0], result);
      }
    }
    return [...found.values()];
  };

  const named = (result) => {
    const [page, title, anchor] = result;
    if (page === glossary && anchor.startsWith("#term-")) {
      result[1] = `${terms[anchor]} (glossary)`;
    } else if (page.startsWith(REFERENCE) && anchor) {
      result[1] = anchor.replace(/^#(module-)?/, "");
    } else if (page in titles) {
      result[1] = title.replace(Search._index.titles[Search._index.docnames.indexOf(page)], titles[page]);
    }
    return result;
  };

  const parse = Search._parseQuery;
  const perform = Search._performSearch;
  Search._parseQuery = (query) => parse(topic(query));
  Search._performSearch = (query, terms, excluded, ...rest) => {
    const exact = perform(query, terms, excluded, ...rest);
    const results = exact.length ? exact : withSome(terms, excluded);
    const [page, place] = (answerTo(query) ?? "").split("#");
    const anchor = place ? `#${place}` : "";
    for (const result of results) {
      if (lists.includes(result[0]) || result[0].startsWith(REFERENCE)) result[4] *= LIST;
    }
    const others = results.filter((result) => result[0] !== page || (result[2] ?? "") !== anchor);
    if (page) {
      const number = Search._index.docnames.indexOf(page);
      const { titles, filenames } = Search._index;
      others.push([page, titles[number], anchor, null, ANSWER, filenames[number]]);
    }
    // Sphinx shows the last first, and looks into every page that it shows.
    return others.sort((one, other) => one[4] - other[4]).slice(-MOST).map(named);
  };
})();
