/** Least columns that a wrapped cell gets. */
const LEAST = 24;

/**
 * Rows of cells as text: columns as wide as their widest cell, two spaces between them.
 *
 * @param indent Before every line.
 * @param width Columns of the terminal: the last cell of a row is broken at spaces to fit. Default: no limit.
 */
export function tableText(
  rows: readonly (readonly string[])[],
  indent: string = "",
  width: number = Infinity,
): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const before = indent.length + widths.slice(0, -1).reduce((sum, own) => sum + own + 2, 0);
  const room = Math.max(LEAST, width - before);
  return rows.map((row) => {
    const cells = row.slice(0, columns - 1).map((cell, i) => `${cell.padEnd(widths[i] ?? 0)}  `).join("");
    const [first = "", ...more] = row.length === columns ? wrapped(row.at(-1) ?? "", room) : [];
    const lines = [`${indent}${cells}${first}`, ...more.map((line) => " ".repeat(before) + line)];
    return lines.map((line) => `${line.trimEnd()}\n`).join("");
  }).join("");
}

/** Breaks text at spaces into lines of `width` characters at most, longer words apart. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
