/**
 * What is wrong with a scenario, in the form `file:line:column  path: expected …, found …`, with a hint below.
 *
 * @module
 */

import { shownLine } from "./shown.ts";

/** A path into a document: keys and positions. */
export type DocumentPath = readonly (string | number)[];

/** One thing that is wrong, before its place in the file is known. */
export interface Problem {
  /** Where in the document; the place of a key that should not be there, or of the nearest parent that is there. */
  readonly path: DocumentPath;
  /** What was expected and what was found. */
  readonly message: string;
  /** What to do. */
  readonly hint?: string;
  /** Offset in the text, for errors of syntax. */
  readonly offset?: number;
}

/** One thing that is wrong and where. */
export interface Diagnostic extends Problem {
  /** The file, and line and column from 1; absent for a scenario that a program made. */
  readonly place?: { readonly file: string; readonly line: number; readonly column: number };
}

/** Problems that a message tells one by one. */
const LISTED = 20;

/** A scenario that cannot be used. The message lists everything that is wrong. */
export class ScenarioError extends Error {
  /** Everything that is wrong, in the order of the file. */
  readonly diagnostics: readonly Diagnostic[];

  /** One error of everything that is wrong. @param diagnostics At least one. */
  constructor(diagnostics: readonly Diagnostic[]) {
    const more = diagnostics.length - LISTED;
    const last = more > 0 ? [`and ${more} more`] : [];
    super([...diagnostics.slice(0, LISTED).map(diagnosticText), ...last].join("\n"));
    this.name = "ScenarioError";
    this.diagnostics = diagnostics;
  }
}

/** `configurations.fsdax.size[0]`. */
export function pathText(path: DocumentPath): string {
  return path.map((key, i) => typeof key === "number" ? `[${key}]` : `${i === 0 ? "" : "."}${shownLine(key)}`).join("");
}

/** A value as messages show it: quoted text, short JSON. */
export function foundText(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = typeof value === "number" || typeof value === "bigint"
    ? String(value)
    : JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function diagnosticText(diagnostic: Diagnostic): string {
  const { place, path, message, hint } = diagnostic;
  const file = place === undefined ? "" : `${place.file}:${place.line}:${place.column}  `;
  const where = path.length === 0 ? "" : `${pathText(path)}: `;
  return `${file}${where}${shownLine(message)}${hint === undefined ? "" : `\n    ${hint}`}`;
}

/** Line and column, both from 1, of an offset in a text. */
export function lineAndColumn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
