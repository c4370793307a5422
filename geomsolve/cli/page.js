"use strict";
const body = document.querySelector("tbody");
const shown = document.getElementById("shown");

function value(row, column) {
  const cell = row.cells[column];
  return cell.dataset.value === undefined ? cell.textContent : cell.dataset.value === "" ? null : Number(cell.dataset.value);
}

function compare(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

document.querySelectorAll("thead button").forEach((button) => {
  button.addEventListener("click", () => {
    const head = button.parentElement;
    const down = head.getAttribute("aria-sort") === "ascending";
    const column = head.cellIndex;
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [value(a, column), value(b, column)];
      return x === null || y === null || !down ? compare(x, y) : compare(y, x);
    });
    body.append(...rows);
  });
});

document.getElementById("filter").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const row of body.rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    document.getElementById(row.dataset.article).hidden = row.hidden;
    count += row.hidden ? 0 : 1;
  }
  shown.textContent = `${count} of ${body.rows.length} shown`;
});
