"use strict";
// Live updates. Every page works without this script.

const maximumRows = 50;

// Adds the rows of new calls at the top of a table. Values are set as text, never as markup.
function followCalls(body) {
  const state = document.querySelector("[data-live-state]");
  const source = new EventSource(body.dataset.live);
  let hasOpened = false;
  source.addEventListener("open", () => {
    // Calls between two streams would be missing.
    if (hasOpened) return location.reload();
    hasOpened = true;
    if (state) state.hidden = false;
  });
  source.addEventListener("error", () => { if (state) state.hidden = true; });
  source.addEventListener("calls", (event) => {
    const rows = JSON.parse(event.data).rows;
    document.querySelectorAll("[data-empty]").forEach((element) => { element.hidden = true; });
    for (const row of rows) {
      const line = document.createElement("tr");
      line.className = "new";
      for (const cell of row) line.append(makeCell(cell));
      body.prepend(line);
    }
    while (body.rows.length > maximumRows) body.lastElementChild.remove();
  });
}

// A cell is a list of parts: text, an optional path, and an optional class.
function makeCell(cell) {
  const element = document.createElement("td");
  if (cell.class) element.className = cell.class;
  for (const part of cell.parts) {
    let node = document.createTextNode(part.text);
    if (part.href && part.href.startsWith("/") && !part.href.startsWith("//")) {
      const link = document.createElement("a");
      link.href = part.href;
      link.append(node);
      node = link;
    } else if (part.class) {
      const span = document.createElement("span");
      span.className = part.class;
      span.append(node);
      node = span;
    }
    element.append(node, " ");
  }
  return element;
}

// Replaces a part of the page by its newer version, which the server renders.
function refresh(part) {
  const period = Number(part.dataset.refresh);
  const index = Array.from(document.querySelectorAll("[data-refresh]")).indexOf(part);
  setTimeout(async () => {
    if (document.hidden) return refresh(part);
    try {
      const response = await fetch(location.href, { headers: { "X-Console-Refresh": "1" }, redirect: "error" });
      if (!response.ok) return refresh(part);
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const newer = page.querySelectorAll("[data-refresh]")[index];
      if (!newer) return location.reload();
      if (part.contains(document.activeElement)) return refresh(part);
      const adopted = document.importNode(newer, true);
      part.replaceWith(adopted);
      refresh(adopted);
    } catch {
      refresh(part);
    }
  }, period);
}

document.querySelectorAll("[data-live]").forEach(followCalls);
document.querySelectorAll("[data-refresh]").forEach(refresh);
