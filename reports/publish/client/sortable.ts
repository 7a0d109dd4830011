/// <reference no-default-lib="true" />
/// <reference lib="esnext" />
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/**
 * Tables that sort by a column: heads become buttons. Without a script the rows stay as they are.
 *
 * @module
 */

/** Makes the heads of a table buttons. */
export function makeSortable(table: HTMLTableElement): void {
  const heads = [...table.querySelectorAll<HTMLTableCellElement>("thead th")];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sortBy(table, column, down ? -1 : 1);
    });
  });
}

function sortBy(table: HTMLTableElement, column: number, sign: number): void {
  const [body] = table.tBodies;
  if (body === undefined) return;
  const text = (row: HTMLTableRowElement): string => row.cells[column]?.textContent?.trim() ?? "";
  const order = new Intl.Collator("en", { numeric: true });
  body.append(...[...body.rows].sort((a, b) => sign * order.compare(text(a), text(b))));
}
