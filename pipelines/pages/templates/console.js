"use strict";
// Shortcuts, as the dialog that "?" opens lists them ("/" is of every page).
(() => {
  const list = document.getElementById("shortcuts");
  if (!list) return;
  document.getElementById("show-shortcuts").addEventListener("click", () => list.showModal());
  const step = (by) => {
    const links = [...document.querySelectorAll("main tbody tr")]
      .map((row) => row.querySelector("a[href]")).filter(Boolean);
    const here = links.findIndex((a) => a.closest("tr").contains(document.activeElement));
    const next = here < 0 ? (by > 0 ? 0 : links.length - 1) : here + by;
    links[next]?.focus();
  };
  const turn = (rel) => document.querySelector(`.pages a[rel=${rel}]`)?.click();
  const keys = { "?": () => list.showModal(), j: () => step(1), k: () => step(-1),
    n: () => turn("next"), p: () => turn("prev") };
  document.querySelectorAll(".menu a").forEach((a, at) => { keys[at + 1] = () => a.click(); });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input:not([type=checkbox]), select, textarea");
    if (typing || list.open || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
})();

// Files that are too large together are refused before they are sent: nothing typed is lost.
for (const input of document.querySelectorAll("input[data-most]")) {
  input.addEventListener("change", () => {
    const bytes = [...input.files].reduce((sum, file) => sum + file.size, 0);
    input.setCustomValidity(bytes > input.dataset.most ? "Together these files are too large." : "");
    input.reportValidity();
  });
  input.addEventListener("invalid", () => { input.closest("details").open = true; });
}

// Live pages: what changes is fetched again and patched in place, so that focus, folds and scroll
// stay. Without this script every page works by links and forms alone.
(() => {
  const main = document.querySelector("main[data-live]");
  const state = document.getElementById("live-state");
  if (!main) return;
  const EVERY = 5000; // ms between two fetches
  let busy = false;

  const say = (words) => {
    if (!state || state.textContent === words) return;
    state.textContent = words;
    state.hidden = false;
  };

  const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName
    && (a.nodeType !== 1 || (a.id || "") === (b.id || ""));

  const attributes = (now, next) => {
    for (const { name } of [...now.attributes])
      if (!next.hasAttribute(name) && !(name === "open" && now.tagName === "DETAILS")) now.removeAttribute(name);
    for (const { name, value } of next.attributes)
      if (now.getAttribute(name) !== value && name !== "open") now.setAttribute(name, value);
  };

  const patch = (now, next) => {
    if (now.isEqualNode(next)) return;
    if (now.nodeType !== 1) {
      if (now.nodeValue !== next.nodeValue) now.nodeValue = next.nodeValue;
      return;
    }
    attributes(now, next);
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(now.tagName)) return; // what somebody types stays
    let here = now.firstChild;
    for (const wanted of [...next.childNodes]) {
      let found = here;
      if (wanted.nodeType === 1 && wanted.id)
        while (found && !alike(found, wanted)) found = found.nextSibling;
      if (found && alike(found, wanted)) {
        while (here !== found) { const gone = here; here = here.nextSibling; gone.remove(); }
        here = found.nextSibling;
        patch(found, wanted);
      } else now.insertBefore(document.importNode(wanted, true), here);
    }
    while (here) { const gone = here; here = here.nextSibling; gone.remove(); }
  };

  const refresh = async () => {
    if (busy || document.hidden) return;
    busy = true;
    try {
      const response = await fetch(location.href, { credentials: "same-origin", redirect: "manual" });
      if (response.type === "opaqueredirect" || response.status === 401) { location.reload(); return; }
      if (!response.ok) throw new Error(response.status);
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const next = page.querySelector("main[data-live]");
      if (next) patch(main, next);
      say("live");
    } catch { say("not live: the service does not answer"); }
    busy = false;
  };

  say("live");
  setInterval(refresh, EVERY);
  document.addEventListener("visibilitychange", refresh);
})();
