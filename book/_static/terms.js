/* What the glossary says of a term stands in its link's title, which only a pointer shows. Here the
   keyboard and a finger get it, too: a focused term shows it below itself, Escape closes it, and the
   first tap on a term shows it, the second follows the link. Without scripts the title stays. */
"use strict";

(() => {
  const TERM = "a.glossary-term[title], a.glossary-term[data-meaning]";
  const tip = document.createElement("div");
  tip.id = "glossary-tip";
  tip.className = "glossary-tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  let shown = null;

  function place(term) {
    const edge = 8;
    const line = [...term.getClientRects()].at(-1);
    const room = document.documentElement.clientWidth - tip.offsetWidth - edge;
    tip.style.left = `${Math.max(edge, Math.min(line.left, room)) + scrollX}px`;
    tip.style.top = `${line.bottom + 4 + scrollY}px`;
  }

  function show(term) {
    if (shown === term) return;
    hide();
    shown = term;
    term.dataset.meaning = term.title; // else the browser shows its own beside this one
    term.removeAttribute("title");
    tip.textContent = term.dataset.meaning;
    tip.hidden = false;
    term.setAttribute("aria-describedby", tip.id);
    place(term);
  }

  function hide() {
    if (!shown) return;
    shown.title = shown.dataset.meaning;
    shown.removeAttribute("aria-describedby");
    delete shown.dataset.meaning;
    shown = null;
    tip.hidden = true;
  }

  const termOf = event => event.target.closest?.(TERM);
  let finger = null; // the term that a finger has just come to

  document.addEventListener("focusin", event => {
    const term = termOf(event);
    if (term) show(term);
  });
  document.addEventListener("focusout", event => {
    if (event.target === shown) hide();
  });
  document.addEventListener("pointerover", event => {
    const term = termOf(event);
    if (term && event.pointerType === "mouse") show(term);
  });
  document.addEventListener("pointerout", event => {
    const away = event.pointerType === "mouse" && shown && !tip.contains(event.relatedTarget);
    if (away && !shown.contains(event.relatedTarget) && shown !== document.activeElement) hide();
  });
  document.addEventListener("pointerdown", event => {
    const term = termOf(event);
    finger = term && event.pointerType === "touch" && term !== shown ? term : null;
    if (shown && !term && !tip.contains(event.target)) hide();
  });
  document.addEventListener("click", event => {
    const term = termOf(event);
    if (!term || term !== finger) return;
    event.preventDefault();
    finger = null;
    show(term);
  });
  document.addEventListener("keydown", event => {
    if (event.key === "Escape") hide();
  });
  addEventListener("resize", () => shown && place(shown));
  document.body.append(tip);
})();
