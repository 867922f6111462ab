"use strict";
// Sorting, search, filters, zoom and keys. The page says everything without this script.
const $ = (what, where = document) => where.querySelector(what);
const $$ = (what, where = document) => [...where.querySelectorAll(what)];

const make = (name, text, properties = {}) =>
  Object.assign(document.createElement(name), { textContent: text, ...properties });
const button = (text, press) => {
  const made = make("button", text, { type: "button" });
  made.addEventListener("click", press);
  return made;
};

// ---- the page: light or dark, copying commands, printing ---------------------------------------

const header = $("header");
const bar = $("nav", header) || header.appendChild(make("nav", ""));
bar.append(button("light / dark", () => {
  const body = document.body.style, html = document.documentElement.style;
  const now = body.colorScheme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  html.colorScheme = body.colorScheme = now === "dark" ? "light" : "dark";
}));

for (const line of $$(".cmdline")) {
  const code = $("code", line);
  const press = async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      copy.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(code);
      copy.textContent = "Ctrl-C";
    }
    setTimeout(() => { copy.textContent = "copy"; }, 1600);
  };
  const copy = line.appendChild(button("copy", press));
  copy.setAttribute("aria-label", "copy the command " + code.textContent);
}

const closed = [];
addEventListener("beforeprint", () => {
  closed.push(...$$("details:not([open])"));
  for (const each of closed) each.open = true;
});
addEventListener("afterprint", () => closed.splice(0).forEach((each) => { each.open = false; }));

// A jump into what is folded away opens it.
function reveal() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
}
addEventListener("hashchange", reveal);
reveal();

// ---- tables: sorting by a heading, search ------------------------------------------------------

function sortable(table) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    if (!heading.textContent.trim() || heading.tagName !== "TH") return;
    const key = (row) => {
      const cell = row.cells[column];
      return "v" in cell.dataset ? Number(cell.dataset.v) : cell.textContent.trim().toLowerCase();
    };
    const inner = button("", () => {
      const before = heading.getAttribute("aria-sort");
      const numeric = original.some((row) => "v" in row.cells[column].dataset);
      const order = numeric ? ["descending", "ascending"] : ["ascending", "descending"];
      const next = order[before ? order.indexOf(before) + 1 : 0];
      for (const other of headings) other.removeAttribute("aria-sort");
      if (!next) return body.append(...original); // the third time: as it was
      heading.setAttribute("aria-sort", next);
      const sign = next === "descending" ? -1 : 1;
      body.append(...original.map((row) => [key(row), row]).sort(([a], [b]) => {
        // What has no number comes last, whichever way the rest is sorted.
        if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
        return sign * (typeof a === "number" ? a - b : a.localeCompare(b));
      }).map(([, row]) => row));
    });
    inner.append(...heading.childNodes);
    heading.append(inner);
  });
}

function searchable(table) {
  const rows = [...table.tBodies[0].rows];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const tools = make("div", "", { className: "tools" });
  const name = ": " + table.closest(".scroll").getAttribute("aria-label");
  const search = make("input", "", { type: "search", placeholder: "search rows ( / )" });
  search.setAttribute("aria-label", "search rows" + name);
  const out = make("span", "", { className: "out" });
  out.setAttribute("role", "status");
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden = !words.every((word) => texts[i].includes(word));
      shown += !row.hidden;
    });
    const all = rows.length.toLocaleString("en");
    out.textContent = shown === rows.length ? `${all} rows` : `${shown.toLocaleString("en")} of ${all} rows`;
  };
  search.addEventListener("input", filter);
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    search.value = "";
    filter();
    search.blur();
  });
  tools.append(search, out);
  table.closest(".scroll").before(tools);
  filter();
}

for (const table of $$("table")) if (table.tBodies[0].rows.length > 1) sortable(table);
for (const table of $$("table.searched")) searchable(table);

// ---- charts: a legend that filters, a part of x that fills the width ---------------------------

for (const figure of $$("figure.chart")) {
  const entries = $$(".legend li[data-series]", figure);
  const shown = new Set(entries.map((each) => each.dataset.series));
  const renew = () => {
    for (const group of $$("g[data-series]", figure)) {
      group.toggleAttribute("hidden", shown.size > 0 && !shown.has(group.dataset.series));
    }
    for (const each of entries) $("button", each).setAttribute("aria-pressed", shown.has(each.dataset.series));
  };
  for (const entry of entries) {
    const name = entry.dataset.series;
    const press = (event) => {
      if (event.shiftKey || event.altKey) { // only this one, and all again
        const only = shown.size === 1 && shown.has(name);
        shown.clear();
        for (const each of entries) if (only || each === entry) shown.add(each.dataset.series);
      } else if (!shown.delete(name)) {
        shown.add(name);
      }
      renew();
    };
    const inner = button("", press);
    inner.title = "on or off; with Shift: only this one";
    inner.append(...$(".k", entry).childNodes);
    entry.replaceChildren(inner);
  }
  renew();
}

function zoomable(figure) {
  const plot = $(".area > svg", figure), inner = $("svg.x", plot);
  let from = 0, to = 1, start = null, brush = null;
  const show = (a, b) => {
    const wide = Math.min(Math.max(b - a, 0.002), 1);
    from = Math.min(Math.max(a, 0), 1 - wide);
    to = from + wide;
    inner.setAttribute("x", `${-100 * from / wide}%`);
    inner.setAttribute("width", `${100 / wide}%`);
    figure.classList.toggle("zoomed", wide < 1);
    for (const each of moves) each.disabled = wide === 1;
  };
  // A share of the width by which each end moves: the same as dragging, without a pointer.
  const move = (a, b) => () => show(from + a * (to - from), to + b * (to - from));
  const moves = [
    button("out", move(-0.5, 0.5)), button("◂", move(-0.5, -0.5)), button("▸", move(0.5, 0.5)),
    button("all ( Esc )", () => show(0, 1)),
  ];
  moves[1].ariaLabel = "to the left";
  moves[2].ariaLabel = "to the right";
  const tools = make("div", "", { className: "tools small" });
  tools.append("zoom", button("in", move(0.25, -0.25)), ...moves);
  plot.parentNode.before(tools);
  show(0, 1);
  const place = (event) => {
    const box = plot.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
  };
  plot.style.touchAction = "pan-y";
  plot.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    start = place(event);
    plot.setPointerCapture(event.pointerId);
    brush = document.createElementNS(plot.namespaceURI, "rect");
    brush.setAttribute("class", "brush");
    brush.setAttribute("height", "100%");
    plot.append(brush);
  });
  plot.addEventListener("pointermove", (event) => {
    if (start === null) return;
    brush.setAttribute("x", `${100 * Math.min(start, place(event))}%`);
    brush.setAttribute("width", `${100 * Math.abs(place(event) - start)}%`);
  });
  const end = (event) => {
    if (start === null) return;
    const ends = [start, place(event)].sort((a, b) => a - b).map((each) => from + each * (to - from));
    start = null;
    brush.remove();
    if (ends[1] - ends[0] > 0.01 * (to - from)) show(...ends);
  };
  plot.addEventListener("pointerup", end);
  plot.addEventListener("pointercancel", end);
  plot.addEventListener("dblclick", () => show(0, 1));
  figure.reset = () => show(0, 1);
}

for (const figure of $$("figure.zoomable")) zoomable(figure);

// ---- keys: / searches, Esc goes back, [ and ] go from heading to heading -----------------------

let keys = true;
const hint = $("footer").appendChild(make("span", " · keys: / search, Esc back, [ and ] headings "));
hint.append(button("turn off", ({ target }) => {
  keys = !keys;
  target.textContent = keys ? "turn off" : "turn on";
}));
addEventListener("keydown", (event) => {
  if (!keys || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") for (const figure of $$("figure.zoomed")) figure.reset();
  if (event.target.closest("input, textarea, select")) return;
  if (event.key === "/") {
    const fields = $$(".tools input").filter((each) => each.offsetParent);
    const below = fields.find((each) => each.getBoundingClientRect().top > 0) || fields[0];
    if (!below) return;
    event.preventDefault();
    below.focus();
  } else if (event.key === "[" || event.key === "]") {
    const tops = $$("h1, h2").map((each) => [each.getBoundingClientRect().top, each]);
    const next = event.key === "]" ? tops.find(([top]) => top > 24) : tops.reverse().find(([top]) => top < 8);
    if (next) next[1].scrollIntoView();
  }
});

// ---- a page that follows what it shows ---------------------------------------------------------

if (document.body.dataset.follow) {
  let version = null;
  setInterval(async () => {
    try {
      const text = await (await fetch(document.body.dataset.follow, { cache: "no-store" })).text();
      if (version !== null && text !== version) location.reload();
      version = text;
    } catch {
      // The server has ended: the page stays as it is.
    }
  }, 2000);
}
