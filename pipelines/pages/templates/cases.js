"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("case-index").textContent);
  const PAGE = 40;
  // By the letter of an outcome: its name, mark and words.
  const OUTCOMES = JSON.parse(byId("outcomes").textContent);
  const NOT_RUN = ["none", "", "not run"];
  const look = (letter) => OUTCOMES[letter] || NOT_RUN;
  const list = byId("case-list");
  const count = byId("case-count");
  const more = byId("case-more");
  const fields = {
    text: byId("filter-text"), contender: byId("filter-contender"), condition: byId("filter-condition"),
    outcome: byId("filter-outcome"), attacked: byId("filter-attacked"), disagree: byId("filter-disagree"),
  };

  // Everything of the run is set as text or as one of the attributes named here, never as markup.
  const el = (name, options, ...children) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(options || {})) {
      if (key === "class") node.className = value;
      else if (key === "title") node.title = value;
      else if (key === "span") node.colSpan = value;
      else if (key === "scope") node.scope = value;
      else if (key === "value") node.style.setProperty("--v", value);
    }
    for (const child of children.flat()) {
      if (child !== null && child !== undefined && child !== "") node.append(child);
    }
    return node;
  };
  const SVG = new Set(["svg", "g", "path", "rect", "circle", "line", "polygon", "polyline", "text", "title", "desc"]);
  const ATTRIBUTES = new Set(["class", "viewBox", "width", "height", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "d", "points", "role", "aria-label"]);
  const drawing = ([shape, values, ...children]) => {
    const [name, ...keys] = data.shapes[shape];
    if (!SVG.has(name)) return "";
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    keys.forEach((key, n) => { if (ATTRIBUTES.has(key)) node.setAttribute(key, values[n]); });
    for (const child of children) node.append(Array.isArray(child) ? drawing(child) : child);
    return node;
  };
  const link = (href, words) => {
    const node = el("a", {}, el("bdi", {}, words));
    if (/^https?:\/\//.test(href || "")) {
      node.href = href;
      node.rel = "noopener noreferrer nofollow";
      node.target = "_blank";
    }
    return node;
  };
  const number = (value, places = 2) => (value === null || value === undefined ? "–" : value.toFixed(places).replace("-", "−"));
  const fact = (term, ...inner) => el("div", {}, el("dt", {}, term), el("dd", {}, ...inner));
  const mark = (letter, who) => {
    const [name, sign, words] = look(letter);
    return el("span", { class: `mark outcome-${name}`, title: who ? `${who}: ${words}` : words }, sign);
  };

  const parsed = new Map();
  const question = (number) => {
    if (!parsed.has(number)) parsed.set(number, JSON.parse(byId(`question-${number}`).textContent));
    return parsed.get(number);
  };

  // The index of a case: question, place, condition, step, date, attacked, outcomes, truth.
  const fits = ([q, , c, , , attacked, letters, truth], wanted) => {
    if (wanted.condition >= 0 && c !== wanted.condition) return false;
    if (wanted.attacked && !attacked) return false;
    const seen = wanted.contender >= 0 ? letters[wanted.contender] : letters;
    if (wanted.outcome && !seen.includes(wanted.outcome)) return false;
    if (wanted.contender >= 0 && seen === ".") return false;
    if (wanted.disagree) {
      const right = [...letters].filter((f) => f === "c" || f === "b").length;
      if (right === 0 || right === [...letters].filter((f) => f !== ".").length) return false;
    }
    if (wanted.words.length) {
      const hay = `${data.questions[q][0]} ${data.questions[q][1]} ${truth}`.toLowerCase();
      if (!wanted.words.every((word) => hay.includes(word))) return false;
    }
    return true;
  };
  const anchor = ([q, , c, s]) => `case-${q + 1}-${c + 1}-${s}`;

  let matching = [];
  let shown = 0;
  const showMore = () => {
    const next = matching.slice(shown, shown + PAGE);
    list.append(...next.map(row));
    shown += next.length;
    more.hidden = shown >= matching.length;
    more.textContent = `Show ${Math.min(PAGE, matching.length - shown)} more of ${matching.length - shown}`;
  };
  const apply = () => {
    const wanted = {
      words: fields.text.value.toLowerCase().split(/\s+/).filter(Boolean),
      contender: Number(fields.contender.value), condition: Number(fields.condition.value),
      outcome: fields.outcome.value, attacked: fields.attacked.checked, disagree: fields.disagree.checked,
    };
    matching = data.cases.filter((found) => fits(found, wanted));
    list.replaceChildren();
    shown = 0;
    showMore();
    count.textContent = `${matching.length} of ${data.cases.length}`;
    byId("no-case").hidden = matching.length > 0;
    const chosen = wanted.contender >= 0 && wanted.condition >= 0;
    byId("cell-command").hidden = !chosen;
    byId("cell-command-text").textContent = chosen ? data.commands[wanted.contender][wanted.condition] : "";
  };

  const row = (found) => {
    const [q, place, c, , date, attacked, letters] = found;
    const box = el("details", { class: "case" });
    box.id = anchor(found);
    const marks = el("span", { class: "marks" }, [...letters].map((letter, n) => mark(letter, data.contenders[n])));
    box.append(el("summary", {},
      el("span", { class: "where" }, `Q${q + 1}`),
      el("bdi", { class: "question" }, data.questions[q][0]),
      el("span", { class: "tags" },
        el("span", { class: attacked ? "tag attack" : "tag" }, data.conditions[c]),
        data.steps > 1 ? el("span", { class: "tag plain" }, date) : ""),
      marks));
    box.addEventListener("toggle", () => {
      if (box.open && box.childElementCount === 1) box.append(details(q, place, c));
    });
    return box;
  };

  const details = (q, place, c) => {
    const held = question(q);
    const found = held.cases[place];
    const body = el("div", { class: "case-body" });
    body.append(el("dl", { class: "facts" },
      fact("question", el("bdi", {}, data.questions[q][0]), el("span", { class: "muted mono id" }, ` ${data.questions[q][1]}`)),
      found.t ? fact("truth", el("bdi", { class: "ink-correct" }, found.t)) : "",
      found.x ? fact("target", el("bdi", { class: "ink-fooled" }, found.x),
        found.p.length ? el("span", { class: "muted" }, ` planted by ${found.a} at rank ${found.p.join(", ")}`) : el("span", { class: "muted" }, " not planted here")) : ""));
    body.append(el("h4", {}, "Answers"), answers(found), el("h4", {}, "Documents"), documents(held, found));
    const both = relations(found);
    if (both) body.append(both);
    const drawn = found.v.map((v, n) => (v && v.g ? [data.contenders[n], v] : null)).filter(Boolean);
    for (const [name, v] of drawn) body.append(cut(name, v));
    return body;
  };

  const COSTS = [["calls", (c) => String(c)], ["tokens", (c) => (c === null ? "not counted" : String(c))], ["pairs", (c) => String(c)], ["seconds", (c) => number(c)]];
  const answers = (found) => {
    const remembers = found.v.some((v) => v && v.m);
    const costs = COSTS.map(([name, written], n) => ({ name, written, n })).filter(({ n }) => found.v.some((v) => v && v.c[n]));
    const rows = found.v.map((v, n) => {
      if (!v) return null;
      const [name, , words] = look(found.f[n]);
      const said = v.x ? v.x : v.i ? `no answer: ${v.i}` : v.a || "(empty)";
      return el("tr", {},
        el("th", { scope: "row" }, el("bdi", {}, data.contenders[n])),
        el("td", { class: "said" }, mark(found.f[n]), " ", el("bdi", { class: `ink-${name}` }, said)),
        el("td", { class: "muted outcome" }, words),
        remembers ? el("td", { class: "muted memory" }, memory(v)) : "",
        costs.map(({ written, n: k }) => el("td", { class: "n" }, written(v.c[k]))));
    });
    return el("div", { class: "scroll" }, el("table", { class: "plain answers" },
      el("thead", {}, el("tr", {}, ["contender", "answer", "", ...(remembers ? ["memory"] : [])].map((t) => el("th", { scope: "col" }, t)),
        costs.map(({ name }) => el("th", { scope: "col", class: "n" }, name)))),
      el("tbody", {}, rows)));
  };
  const memory = (v) => {
    if (!v.m) return "";
    const [decision, previous, s0, s1, f0, f1] = v.m;
    if (s1 === null) return [el("bdi", {}, previous), ` ${decision}; not in the graph`];
    return [el("bdi", {}, previous), ` ${decision}; staying ${number(s0)} → ${number(s1)}, being wrong ${number(f0)} → ${number(f1)}`];
  };

  const documents = (held, found) => {
    const columns = found.v.map((v, n) => ({ v, n })).filter(({ v }) => v && v.d);
    const verdicts = columns.map(({ v }) => {
      const figures = new Map(v.s.map(([rank, ...held]) => [rank, held]));
      return new Map(v.d.flatMap(([state, why, ranks]) => ranks.map((rank) => [rank, [state, why, figures.get(rank)]])));
    });
    const rows = found.docs.map(([at, rank, said, tone]) => {
      const [title, site, href, published, text] = held.docs[at];
      const planted = found.p.includes(rank);
      return el("tr", { class: planted ? "planted-row" : "" },
        el("td", { class: "n rank" }, String(rank)),
        el("td", { class: "doc" }, el("bdi", { class: "doc-title" }, title || "(no title)"),
          el("span", { class: "site" }, href ? link(href, site) : el("bdi", { class: "mono" }, site),
            published ? ` ${published}` : "", planted ? el("span", { class: "tag attack" }, found.a || "planted") : ""),
          el("details", { class: "text" }, el("summary", {}, "show text"), el("p", {}, quoted(text, said)))),
        el("td", { class: "atomic" }, said === null ? el("span", { class: "muted" }, "–") : el("bdi", { class: tone ? `ink-${tone}` : "" }, said || "(empty)")),
        verdicts.map((by, index) => judged(by.get(rank), data.contenders[columns[index].n])));
    });
    const table = el("table", { class: "plain case-documents" },
      el("thead", {}, el("tr", {}, ["rank", "document", "atomic answer"].map((t) => el("th", { scope: "col" }, t)),
        columns.map(({ n }) => el("th", { scope: "col", class: "upright" }, el("bdi", {}, data.contenders[n]))))),
      el("tbody", {}, rows));
    const pools = found.v.map((v, n) => (v && v.pool ? el("p", { class: "footnote" }, el("b", {}, data.contenders[n]),
      ` reads a pool of ${v.pool[0]} documents of this and earlier steps${v.pool[1] === null ? "" : ` and keeps ${v.pool[1]} of them`}.`) : ""));
    return el("div", {}, el("div", { class: "scroll" }, table),
      el("p", { class: "footnote" }, "✓ kept, ✕ rejected, – left out as it says nothing, · read without selecting. Point at a mark for the reason."), pools);
  };
  const judged = (held, name) => {
    if (!held) return el("td", { class: "judged" });
    const [kept, why, evidence] = held;
    const reason = data.words[why];
    const [state, sign] = [["cut", "✕"], ["kept", "✓"], ["read", "·"], ["silent", "–"]][kept];
    const figures = evidence ? `; S ${number(evidence[0])}, F ${number(evidence[1])}, margin ${number(evidence[2], 3)}` : "";
    const word = { cut: "rejected", silent: "left out" }[state] || state;
    return el("td", { class: `judged ${state}`, title: `${name}: ${word}, ${reason}${figures}` },
      sign, el("span", { class: "visually-hidden" }, ` ${word}: ${reason}`));
  };
  const quoted = (text, said) => {
    const at = said && said.length > 1 ? text.toLowerCase().indexOf(said.toLowerCase()) : -1;
    if (at < 0) return el("bdi", {}, text);
    return el("bdi", {}, text.slice(0, at), el("mark", {}, text.slice(at, at + said.length)), text.slice(at + said.length));
  };

  const relations = (found) => {
    const ranks = found.docs.filter(([, , said]) => said !== null).map(([, rank]) => rank);
    const n = ranks.length;
    if (!n || found.e.length !== 2 * n * n) return null;
    const matrix = (digits, title, kind) => {
      const cells = (i) => ranks.map((other, j) => {
        const code = digits.substr(2 * (i * n + j), 2);
        const value = code === "1." ? 1 : Number(`0.${code}`);
        if (i === j) return el("td", {});
        return el("td", { class: kind, value, title: `${ranks[i]} ${title} ${other}: ${value.toFixed(2)}` }, n <= 20 ? code.replace("1.", "1") : "");
      });
      return el("table", { class: n <= 20 ? "relation" : "relation dense" },
        el("caption", {}, title),
        el("thead", {}, el("tr", {}, el("td", {}), ranks.map((rank) => el("th", { scope: "col" }, String(rank))))),
        el("tbody", {}, ranks.map((rank, i) => el("tr", {}, el("th", { scope: "row" }, String(rank)), cells(i)))));
    };
    return el("details", { class: "fold" }, el("summary", {}, "Relations of the atomic answers"),
      el("div", { class: "relations scroll" }, matrix(found.e, "entails", "entails"), matrix(found.n, "contradicts", "contradicts")),
      el("p", { class: "footnote" }, "Hundredths; the row's answer is the premise, the column's the hypothesis."));
  };
  const cut = (name, v) => el("details", { class: "fold" }, el("summary", {}, "Cut graph of ", el("bdi", {}, name), v.n === undefined ? "" : `, energy ${number(v.n, 4)}`),
    el("div", { class: "scroll" }, drawing(v.g)),
    el("p", { class: "footnote" }, "Lines join answers that entail each other; dashed lines are cut. Bars: S, evidence to keep, and F, evidence to reject. A dotted ring marks a planted document."));

  const options = (select, words) => words.forEach((word, n) => {
    const option = el("option", {}, word);
    option.value = String(n);
    select.append(option);
  });
  options(fields.contender, data.contenders);
  options(fields.condition, data.conditions);
  for (const [letter, [, sign, words]] of Object.entries(OUTCOMES)) {
    if (!data.cases.some((found) => found[6].includes(letter))) continue;
    const option = el("option", {}, `${sign} ${words}`);
    option.value = letter;
    fields.outcome.append(option);
  }

  const unfold = (found) => {
    let at = matching.indexOf(found);
    if (at < 0) {
      byId("case-filter").reset();
      apply();
      at = matching.indexOf(found);
    }
    while (shown <= at) showMore();
    const box = byId(anchor(found));
    box.open = true;
    box.scrollIntoView();
  };
  const reveal = () => {
    const name = location.hash.slice(1);
    const cell = /^cell-(\d+)-(\d+)$/.exec(name);
    if (cell) {
      byId("case-filter").reset();
      fields.contender.value = String(Number(cell[1]) - 1);
      fields.condition.value = String(Number(cell[2]) - 1);
      apply();
      byId("cases").scrollIntoView();
      return;
    }
    const found = name.startsWith("case-") ? data.cases.find((one) => anchor(one) === name) : null;
    if (found) unfold(found);
  };

  byId("case-filter").addEventListener("submit", (event) => event.preventDefault());
  for (const kind of ["input", "change"]) byId("case-filter").addEventListener(kind, apply);
  more.addEventListener("click", showMore);
  window.addEventListener("hashchange", reveal);
  apply();
  reveal();
})();
