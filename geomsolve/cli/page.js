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

const words = document.getElementById("filter");
const choices = ["status", "question"].map((name) => document.getElementById(name));

function filter() {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const row of body.rows) {
    const text = row.textContent.toLowerCase();
    const chosen = choices.every((choice) => choice.value === "" || row.dataset[choice.id] === choice.value);
    row.hidden = !chosen || !wanted.every((word) => text.includes(word));
    document.getElementById(row.dataset.article).hidden = row.hidden;
    count += row.hidden ? 0 : 1;
  }
  shown.textContent = `${count} of ${body.rows.length} shown`;
}

words.addEventListener("input", filter);
for (const choice of choices) choice.addEventListener("change", filter);

function save(name, kind, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function csv() {
  const cell = (text) => {
    const plain = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
    return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };
  const line = (cells) => [...cells].map((each) => cell(each.dataset.value ?? each.textContent.trim())).join(",");
  const heads = document.querySelector("thead tr").cells;
  return [line(heads), ...[...body.rows].filter((row) => !row.hidden).map((row) => line(row.cells))].join("\n") + "\n";
}

document.getElementById("csv").addEventListener("click", () => save("answers.csv", "text/csv", csv()));

document.querySelectorAll("button.save").forEach((button) => {
  button.addEventListener("click", () => {
    const picture = button.parentElement.querySelector("svg");
    save(`${button.dataset.name}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(picture));
  });
});
