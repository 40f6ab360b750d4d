"use strict";
// Live pages: what changes is fetched again and patched in place, so that focus, folds and scroll
// stay. Without this script every page works by links and forms alone.
(() => {
  const main = document.querySelector("main[data-live]");
  const state = document.getElementById("live-state");
  if (!main || !window.EventSource) return;
  const SOONEST = 1000, SLOWEST = 20000; // ms: between two fetches; without any event
  const KINDS = ["answer", "incidents"];
  let last = Date.now(), opened = false, timer = 0, busy = false, again = false;

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
    if (busy) { again = true; return; }
    busy = true;
    last = Date.now();
    try {
      const response = await fetch(location.href, { credentials: "same-origin", redirect: "manual" });
      if (response.type === "opaqueredirect" || response.status === 401) { location.reload(); return; }
      if (!response.ok) throw new Error(response.status);
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const next = page.querySelector("main[data-live]");
      if (next) patch(main, next);
    } catch { say("not live: the service does not answer"); }
    busy = false;
    if (again) { again = false; soon(); }
  };

  const soon = () => {
    clearTimeout(timer);
    if (document.hidden) { again = true; return; }
    timer = setTimeout(refresh, Math.max(0, last + SOONEST - Date.now()));
  };

  const events = new EventSource("/events");
  events.onopen = () => {
    say("live");
    if (opened) soon(); // something may have been missed in between
    opened = true;
  };
  events.onerror = () => say(events.readyState === EventSource.CLOSED ? "not live" : "reconnecting");
  events.onmessage = soon;
  for (const kind of KINDS) events.addEventListener(kind, soon);
  setInterval(() => { if (!document.hidden && Date.now() - last >= SLOWEST) refresh(); }, SLOWEST / 4);
  document.addEventListener("visibilitychange", () => { if (!document.hidden && again) { again = false; soon(); } });
})();
