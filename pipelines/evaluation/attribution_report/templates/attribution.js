// A link to a folded section unfolds it.
"use strict";
(() => {
  const unfold = () => {
    const wanted = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!wanted) return;
    for (let node = wanted; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    wanted.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
