"use strict";
// Every page: links unfold what they lead to, and "/" focuses the search field.
(() => {
  const reveal = () => {
    const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
    if (!target) return;
    for (let node = target; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") node.open = true;
      if (node.hidden) node.hidden = false;
    }
    target.scrollIntoView();
  };
  for (const part of document.querySelectorAll(".needs-script")) part.hidden = false;
  window.addEventListener("hashchange", reveal);
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName) || document.querySelector("dialog[open]");
    const field = document.querySelector("input[type=search]");
    if (event.key === "/" && field && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      field.focus();
    }
  });
  addEventListener("DOMContentLoaded", reveal);
})();
