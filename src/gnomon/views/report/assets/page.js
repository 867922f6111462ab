"use strict";
// Tables that can be searched and sorted, and a page that follows a survey while it runs.
for (const block of document.querySelectorAll(".table-block")) {
  const table = block.querySelector("table.data");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const search = block.querySelector("input");
  const shown = block.querySelector(".shown");
  // A handful of rows is searched faster by eye.
  if (rows.length < 8) block.querySelector(".tools").hidden = true;

  const count = () => {
    const visible = rows.filter((row) => !row.hidden).length;
    shown.textContent = visible === rows.length ? `${rows.length} rows`
      : `${visible} of ${rows.length} rows`;
  };
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    count();
  });

  const headings = Array.from(table.tHead.rows[0].cells);
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const descending = heading.getAttribute("aria-sort") === "ascending"
        || (!heading.hasAttribute("aria-sort") && heading.classList.contains("right"));
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const key = (row) => {
        const cell = row.cells[column];
        if ("number" in cell.dataset) return Number(cell.dataset.number);
        return cell.textContent.trim().toLowerCase();
      };
      const sorted = rows.slice().sort((a, b) => {
        const x = key(a), y = key(b);
        // What has no number comes last, whichever way the rest is sorted.
        if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
        const order = typeof x === "number" ? x - y : x.localeCompare(y);
        return descending ? -order : order;
      });
      body.append(...sorted);
    });
  });
  count();
}

if (document.body.dataset.live) {
  let version = null;
  setInterval(async () => {
    try {
      const answer = await fetch("version", { cache: "no-store" });
      const text = await answer.text();
      if (version !== null && text !== version) location.reload();
      version = text;
    } catch {
      // The server has ended: the page stays as it is.
    }
  }, 2000);
}
