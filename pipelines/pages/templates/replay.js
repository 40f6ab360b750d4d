"use strict";
// The replay: which questions a filter leaves.
(() => {
  const byId = (id) => document.getElementById(id);
  const queries = [...document.querySelectorAll("details.query")];
  const rows = [...document.querySelectorAll("tr.filtered")];
  const text = byId("filter-text");
  const attacked = byId("filter-attacked");
  const changed = byId("filter-changed");
  const count = byId("filter-count");
  const toggle = byId("toggle-all");
  const haystacks = new Map();

  // A question is searched by everything its overview row and its section say.
  const haystack = (row, section) => {
    if (!haystacks.has(row)) {
      haystacks.set(row, (row.textContent + (section ? section.textContent : "")).toLowerCase());
    }
    return haystacks.get(row);
  };

  const apply = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const section = byId(row.dataset.q);
      const fits =
        (!attacked.checked || row.dataset.attacked !== "0") &&
        (!changed.checked || row.dataset.changed !== "0") &&
        words.every((word) => haystack(row, section).includes(word));
      row.hidden = !fits;
      if (section) section.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    byId("nothing-left").hidden = shown > 0;
    const filtering = words.length > 0 || attacked.checked || changed.checked;
    count.textContent = filtering ? `${shown} of ${rows.length}` : "";
  };

  text.form.addEventListener("submit", (event) => event.preventDefault());
  text.addEventListener("input", apply);
  attacked.addEventListener("change", apply);
  changed.addEventListener("change", apply);
  toggle.addEventListener("click", () => {
    const unfold = toggle.getAttribute("aria-pressed") !== "true";
    for (const query of queries) if (unfold) query.open = true;
    for (const step of document.querySelectorAll("details.step")) step.open = unfold;
    toggle.setAttribute("aria-pressed", String(unfold));
    toggle.textContent = unfold ? "Fold all answers" : "Unfold all answers";
  });
  // The browser may restore what was typed before a reload.
  apply();
})();
