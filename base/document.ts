/**
 * Reads JSON with comments that people write: scenarios, plans. What is wrong is told with file, line and column.
 *
 * @module
 */

import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { readJsonc } from "./jsonc.ts";
import { findNodeAtLocation, type Node as TreeNode, type ParseError, printParseErrorCode } from "./jsonc_parser.ts";
import { atPoint } from "./matrix.ts";
import { own } from "./names.ts";
import { type FileKind, readUserText, withoutMark } from "./user_file.ts";
import { type Diagnostic, type DocumentPath, lineAndColumn, type Problem, ScenarioError } from "./diagnostics.ts";

const SYNTAX: Readonly<Record<string, string>> = {
  InvalidSymbol: "expected a value, found a word that is none",
  InvalidNumberFormat: "expected a number, found a broken one",
  PropertyNameExpected: "expected a field name in double quotes",
  ValueExpected: "expected a value",
  ColonExpected: 'expected ":"',
  CommaExpected: 'expected ","',
  CloseBraceExpected: 'expected "}"',
  CloseBracketExpected: 'expected "]"',
  EndOfFileExpected: "expected the end of the file",
  InvalidCommentToken: "expected a comment that ends",
  UnexpectedEndOfComment: 'expected "*/" before the end of the file',
  UnexpectedEndOfString: 'expected a closing " before the end of the line',
  UnexpectedEndOfNumber: "expected a digit",
  InvalidUnicode: "expected four hexadecimal digits after \\u",
  InvalidEscapeCharacter: "expected a known escape after \\",
  InvalidCharacter: "expected a printable character",
};

function syntaxProblem(error: ParseError, text: string): Problem {
  const code = printParseErrorCode(error.error);
  const rest = text.slice(error.offset, error.offset + Math.max(error.length, 1)).split("\n")[0] ?? "";
  const found = error.offset >= text.trimEnd().length ? "the end of the file" : JSON.stringify(rest.slice(0, 30));
  return { path: [], message: `${own(SYNTAX, code) ?? code}, found ${found}`, offset: error.offset };
}

/** Where a problem shows: the key of an unknown field, the value of any other, or the nearest parent there is. */
function offsetOf(tree: TreeNode | undefined, problem: Problem): number {
  if (problem.offset !== undefined) return problem.offset;
  for (let length = problem.path.length; tree !== undefined && length >= 0; length--) {
    const path: DocumentPath = problem.path.slice(0, length);
    const node = findNodeAtLocation(tree, [...path]);
    if (node === undefined) continue;
    const atKey = /^(unknown field|the name ")/.test(problem.message) && node.parent?.type === "property";
    return atKey ? node.parent?.offset ?? node.offset : node.offset;
  }
  return 0;
}

/** Whether bounds on the work of a run are kept. */
export interface LimitOptions {
  /** False: a run may take longer than any that was meant so far. Default true. */
  readonly limit?: boolean;
}

/** How a document is read. */
export interface DocumentOptions extends LimitOptions {
  /** Other values than those written, by dotted field, such as `{ "workload.batch": 64 }`; they are checked like those. */
  readonly set?: Readonly<Record<string, unknown>> | undefined;
}

/** How to go past a bound on work. */
export const PAST_LIMIT = "if so much is meant, say --no-limit (in the library: limit: false)";

/** What a text is called in messages, and where relative paths in it start. */
export interface DocumentSource extends DocumentOptions {
  /** Its file. */
  readonly file: string;
  /** Folder that relative paths start from. */
  readonly directory: string;
}

/** What a document says that it is in its field `kind`, as `"plan"`; undefined for one that does not say, or is broken. */
export function kindOfText(text: string): unknown {
  const { value } = readJsonc(text);
  return typeof value === "object" && value !== null ? (value as { readonly kind?: unknown }).kind : undefined;
}

/** {@linkcode kindOfText} of a file. One that cannot be read is of no kind: whoever reads it says why. */
export async function kindOfFile(file: string | URL): Promise<unknown> {
  try {
    return kindOfText(await readUserText(typeof file === "string" ? file : fileURLToPath(file), "scenario"));
  } catch {
    return undefined;
  }
}

/** What is written, with other values of some dotted fields; what is no object stays as it is. */
export function withValues(written: unknown, set: DocumentOptions["set"]): unknown {
  if (set === undefined || typeof written !== "object" || written === null || Array.isArray(written)) return written;
  return atPoint(written, set);
}

/**
 * Reads a document.
 *
 * @param given JSON with comments.
 * @param file What to call it.
 * @param noun What it should be, for messages: `a scenario`.
 * @param check Lists what is wrong with the document; nothing if it is valid.
 * @param set Other values of some dotted fields.
 * @returns The document as it is written, with those values in place.
 * @throws {ScenarioError} listing everything that is wrong, with line and column.
 */
export function parseDocument(
  given: string,
  file: string,
  noun: string,
  check: (document: unknown) => readonly Problem[],
  set?: DocumentOptions["set"],
): unknown {
  const text = withoutMark(given);
  const { value: written, tree, errors, tooDeep } = readJsonc(text);
  const document = withValues(written, set);
  const problems = text.trim() === ""
    ? [{ path: [], message: `expected ${noun}, found an empty file` }]
    : tooDeep
    ? [{ path: [], message: `expected ${noun}, found lists or objects nested too deeply to be read` }]
    : errors.length > 0
    ? errors.slice(0, 1).map((error) => syntaxProblem(error, text))
    : check(document);
  if (problems.length === 0) return document;
  const diagnostics: Diagnostic[] = problems
    .map((problem) => ({ problem, offset: offsetOf(tree, problem) }))
    .sort((a, b) => a.offset - b.offset)
    .map(({ problem, offset }) => ({ ...problem, place: { file, ...lineAndColumn(text, offset) } }));
  throw new ScenarioError(diagnostics);
}

/**
 * The text of a file, and what to call it.
 *
 * @param path A path.
 * @param kind What it should be.
 * @throws {Deno.errors.NotFound} if there is no such file.
 * @throws {TypeError} if it is a directory. @throws {RangeError} if it is too large. @throws {SyntaxError} if it is no UTF-8.
 */
export async function readDocument(path: string, kind: FileKind): Promise<DocumentSource & { readonly text: string }> {
  const text = await readUserText(path, kind);
  const shown = relative(Deno.cwd(), path);
  const absolute = await Deno.realPath(path);
  return { text, file: shown === "" || shown.startsWith("..") ? path : shown, directory: dirname(absolute) };
}
