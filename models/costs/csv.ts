/**
 * Comma-separated values (RFC 4180): quoted fields, doubled quotes, a header line.
 *
 * @module
 */

/** A row by column name, and where it stands. */
export interface CsvRow {
  /** Line number in the file, from 1. */
  readonly line: number;
  /** Column name to text. */
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * Parses CSV with a header line. Quoted fields may hold commas and quotes, not line breaks.
 *
 * @param text The file.
 * @param file Its name, for errors.
 */
export function parseCsv(text: string, file: string): CsvRow[] {
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/);
  const header = splitLine(lines[0] ?? "", file, 1);
  const rows: CsvRow[] = [];
  lines.forEach((line, i) => {
    if (i === 0 || line === "") return;
    const values = splitLine(line, file, i + 1);
    if (values.length !== header.length) {
      throw new SyntaxError(
        `Cannot read "${file}" line ${i + 1}: found ${values.length} fields, the header has ${header.length}`,
      );
    }
    rows.push({ line: i + 1, fields: Object.fromEntries(header.map((name, c) => [name, values[c] as string])) });
  });
  return rows;
}

/**
 * One CSV line of the values, quoted where needed. A text that a spreadsheet would take for a formula (`=`, `+`, `-`, `@` or a
 * control character first) has an apostrophe before it; numbers stay as they are.
 */
export function csvLine(values: readonly (string | number | undefined)[]): string {
  return values.map((value) => {
    const plain = value === undefined ? "" : `${value}`;
    const text = typeof value === "string" && /^[=+\-@\t\r\n]/.test(value) ? `'${plain}` : plain;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }).join(",");
}

function splitLine(line: string, file: string, number: number): string[] {
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    if (line[at] === '"') {
      let field = "";
      at++;
      for (;;) {
        const quote = line.indexOf('"', at);
        if (quote < 0) throw new SyntaxError(`Cannot read "${file}" line ${number}: a quoted field is not closed`);
        field += line.slice(at, quote);
        at = quote + 1;
        if (line[at] !== '"') break;
        field += '"';
        at++;
      }
      fields.push(field);
    } else {
      const comma = line.indexOf(",", at);
      const end = comma < 0 ? line.length : comma;
      fields.push(line.slice(at, end));
      at = end;
    }
    if (at >= line.length) return fields;
    if (line[at] !== ",") throw new SyntaxError(`Cannot read "${file}" line ${number}: text after a closing quote`);
    at++;
    if (at === line.length) return [...fields, ""];
  }
}
