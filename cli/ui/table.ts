/** Rows of cells as text: columns as wide as their widest cell, two spaces between them. */
export function tableText(rows: readonly (readonly string[])[], indent: string = ""): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows.map((row) => `${indent}${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ").trimEnd()}\n`)
    .join("");
}
