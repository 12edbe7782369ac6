// The claim board: filter, search and sort its rows. The choice is kept after the # of the address,
// so it can be sent to somebody. A choice opens the papers in which something fits. Without this
// script the board is a table for every paper, which opens all the same.
"use strict";

(() => {
  const board = document.getElementById("claim-board");
  const groups = [...board.querySelectorAll(".claim-group")];
  const rows = [...board.querySelectorAll("tbody tr")].map((row, order) => ({
    row,
    order,
    body: row.parentElement,
    text: `${row.textContent} ${row.dataset.paper}`.toLowerCase(),
    has: (name) => row.dataset[name].split("|"),
  }));
  const FILTERS = {
    asked: "Said by",
    paper: "Paper",
    verdict: "Verdict or answer",
    environment: "Environment",
    settings: "Settings",
  };
  const first = (row) => row.row.querySelector("code").textContent;
  const SORTS = {
    "as in the papers": (one, other) => one.order - other.order,
    id: (one, other) => first(one).localeCompare(first(other), "en", { numeric: true }),
    verdict: (one, other) => one.row.dataset.rank - other.row.dataset.rank || one.order - other.order,
    environment: (one, other) =>
      one.row.dataset.environment.localeCompare(other.row.dataset.environment) || one.order - other.order,
  };

  const labelled = (words, control) => {
    const label = document.createElement("label");
    label.append(words, control);
    return label;
  };
  const select = (name, options, any) => {
    const control = document.createElement("select");
    control.name = name;
    if (any) control.add(new Option(any, ""));
    for (const option of options) control.add(new Option(option, option));
    return control;
  };

  const form = document.createElement("form");
  form.id = "claim-filter";
  form.setAttribute("role", "search");
  form.setAttribute("aria-label", "Claims");
  const query = document.createElement("input");
  query.type = "search";
  query.name = "q";
  form.append(labelled("Search", query));
  for (const [name, words] of Object.entries(FILTERS)) {
    const values = [...new Set(rows.flatMap((row) => row.has(name)))];
    if (name !== "paper") values.sort();
    form.append(labelled(words, select(name, values, "all")));
  }
  form.append(labelled("Sort within papers", select("sort", Object.keys(SORTS))));
  const reset = document.createElement("button");
  reset.type = "button";
  reset.textContent = "Show all";
  const status = document.createElement("p");
  status.setAttribute("role", "status");
  form.append(reset, status);
  board.before(form);

  let wasNarrowed = false;

  /** Open the papers with something that fits a choice, and leave out the others. */
  const fold = (narrowed) => {
    for (const group of groups) {
      const all = [...group.querySelectorAll("tbody tr")];
      const left = all.filter((row) => !row.hidden).length;
      group.hidden = left === 0;
      if (narrowed || wasNarrowed) group.open = narrowed;
      group.querySelector(".claim-count").textContent = narrowed ? `${left} of ${all.length}` : "";
    }
    wasNarrowed = narrowed;
  };

  /** Show what is chosen, in the chosen order, and say how much it is. */
  const show = () => {
    const chosen = Object.fromEntries(new FormData(form));
    const words = chosen.q.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of [...rows].sort(SORTS[chosen.sort])) {
      const fits =
        words.every((word) => row.text.includes(word)) &&
        Object.keys(FILTERS).every((name) => !chosen[name] || row.has(name).includes(chosen[name]));
      row.row.hidden = !fits;
      shown += fits;
      row.body.append(row.row);
    }
    fold(words.length > 0 || Object.keys(FILTERS).some((name) => chosen[name]));
    status.textContent = `${shown} of ${rows.length} claims`;
    return chosen;
  };

  /** Keep the choice in the address; what is not chosen is left out. */
  const keep = () => {
    const chosen = Object.entries(show()).filter(
      ([name, value]) => value && !(name === "sort" && value === Object.keys(SORTS)[0]),
    );
    const address = chosen.length ? `#${new URLSearchParams(chosen)}` : "#claim-filter";
    history.replaceState(null, "", address);
  };

  /** Take the choice from the address; the anchor of a claim opens its paper and itself. */
  const take = () => {
    form.reset();
    if (location.hash.includes("=")) {
      for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
        const control = form.elements.namedItem(name);
        if (control) control.value = value;
        if (control && control.selectedIndex === -1) control.selectedIndex = 0;
      }
    }
    show();
    if (location.hash && !location.hash.includes("=")) {
      const target = document.getElementById(location.hash.slice(1));
      if (target?.matches("#claim-board tr")) {
        target.closest(".claim-group").open = true;
        target.querySelector("details").open = true;
      }
      target?.scrollIntoView();
    }
  };

  form.addEventListener("input", keep);
  reset.addEventListener("click", () => {
    form.reset();
    keep();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", take);
  take();
})();
