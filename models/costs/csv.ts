/**
 * Comma-separated values (RFC 4180): quoted fields, doubled quotes, a header line. Where a header has semicolons and no comma,
 * as spreadsheets of many countries write it, fields end with semicolons and a number may have a decimal comma.
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

/** What ends a field in the file, by its first line. */
function separatorOf(header: string): "," | ";" {
  return header.includes(";") && !header.includes(",") ? ";" : ",";
}

/** Columns of a file, by its first line. */
export function csvColumns(text: string, file: string): string[] {
  const header = text.replace(/^\ufeff/, "").split(/\r?\n/, 1)[0] ?? "";
  return splitLine(header, file, 1, separatorOf(header));
}

/**
 * Parses CSV with a header line. Quoted fields may hold separators and quotes, not line breaks.
 *
 * @param text The file.
 * @param file Its name, for errors.
 */
export function parseCsv(text: string, file: string): CsvRow[] {
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/);
  const first = lines[0] ?? "";
  const separator = separatorOf(first);
  const header = splitLine(first, file, 1, separator);
  const rows: CsvRow[] = [];
  lines.forEach((line, i) => {
    if (i === 0 || line === "") return;
    const split = splitLine(line, file, i + 1, separator);
    const values = separator === "," ? split : split.map(withPoint);
    if (values.length !== header.length) {
      throw new SyntaxError(
        `Cannot read "${file}" line ${i + 1}: found ${values.length} fields, the header has ${header.length}` +
          (values.length > header.length ? `; a field with "${separator}" in it stands in quotes` : ""),
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

/** A number with a decimal comma has a point; anything else stays. */
function withPoint(field: string): string {
  return /^-?\d+,\d+$/.test(field) ? field.replace(",", ".") : field;
}

function splitLine(line: string, file: string, number: number, separator: "," | ";"): string[] {
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
      const next = line.indexOf(separator, at);
      const end = next < 0 ? line.length : next;
      fields.push(line.slice(at, end));
      at = end;
    }
    if (at >= line.length) return fields;
    if (line[at] !== separator) {
      throw new SyntaxError(`Cannot read "${file}" line ${number}: text after a closing quote`);
    }
    at++;
    if (at === line.length) return [...fields, ""];
  }
}
