/* What a mouse or a finger can do, the keyboard can do too: whatever scrolls sideways may be reached
   with the tab key. And where the theme names or sorts something otherwise than it looks, that is
   put right for those who listen to the page. */
"use strict";

(() => {
  const WIDE = ".cell_output, .cell_output .output, .longfair-picture, .math, mjx-container, pre, .pst-scrollable-table-container, table.longfair-claims, .figure-frame";
  const KINDS = [["table", "table"], ["mjx-container, .math", "formula"], ["img", "figure"]];

  const kind = part => KINDS.find(([selector]) => part.matches(selector) || part.querySelector(selector))?.[1] ?? "code";

  function reach() {
    for (const part of document.querySelectorAll(WIDE)) {
      const scrolls = part.scrollWidth > part.clientWidth + 1
        && ["auto", "scroll"].includes(getComputedStyle(part).overflowX);
      if (scrolls === part.hasAttribute("data-reached")) continue;
      if (scrolls) {
        part.setAttribute("data-reached", "");
        part.setAttribute("tabindex", "0");
        part.setAttribute("role", "group");
        part.setAttribute("aria-label", `${kind(part)}, scrolls sideways`);
      } else {
        for (const name of ["data-reached", "tabindex", "role", "aria-label"]) part.removeAttribute(name);
      }
    }
  }

  function nameToggles() {
    for (const toggle of document.querySelectorAll(".sidebar-primary__section summary, #pst-primary-sidebar summary")) {
      const link = toggle.closest("li")?.querySelector("a");
      toggle.setAttribute("aria-label", `pages of ${link?.textContent.trim() ?? "this part"}`);
    }
  }

  /* A name that leaves out what can be read on a button cannot be spoken to a computer. */
  function readNames() {
    for (const part of document.querySelectorAll("button[aria-label], summary[aria-label]")) {
      const seen = part.innerText.trim().toLowerCase();
      if (seen && !part.getAttribute("aria-label").toLowerCase().includes(seen)) part.removeAttribute("aria-label");
    }
  }

  /* A button with a name needs none from its picture. */
  function hidePictures() {
    for (const picture of document.querySelectorAll("button[aria-label] svg")) {
      picture.setAttribute("aria-hidden", "true");
      picture.removeAttribute("aria-labelledby");
      picture.querySelector("title")?.remove();
    }
  }

  /* The bibliography is a list whose entries are none. */
  function plainList() {
    for (const part of document.querySelectorAll(".citation-list, .citation-list > .citation")) part.removeAttribute("role");
  }

  async function begin() {
    nameToggles();
    readNames();
    hidePictures();
    new MutationObserver(hidePictures).observe(document.body, { childList: true, subtree: true }); // pictures come late
    plainList();
    if (window.MathJax?.startup) await MathJax.startup.promise;
    reach();
    new ResizeObserver(reach).observe(document.body);
    document.addEventListener("toggle", reach, true); // what was folded has no width before
  }

  if (document.readyState === "complete") begin();
  else window.addEventListener("load", begin);
})();
