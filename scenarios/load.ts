/**
 * Reads scenarios: from a file, from text, from a program's object.
 *
 * @module
 */

import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";
import {
  findNodeAtLocation,
  getNodeValue,
  type Node as TreeNode,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "./jsonc_parser.ts";
import { checkScenario } from "./check.ts";
import { type Diagnostic, type DocumentPath, lineAndColumn, type Problem, ScenarioError } from "./diagnostics.ts";
import { listMedia } from "./media.ts";
import { fillDefaults } from "./resolve.ts";
import type { ResolvedScenario, Scenario } from "./scenario.ts";
import { isSimulationText, loadSimulation } from "./simulation/load.ts";

/** Folder of the shipped scenarios. */
const SHIPPED = new URL("./", import.meta.url);

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
  return { path: [], message: `${SYNTAX[code] ?? code}, found ${found}`, offset: error.offset };
}

/** Where a problem shows: the key of an unknown field, the value of any other, or the nearest parent there is. */
function offsetOf(tree: TreeNode | undefined, problem: Problem): number {
  if (problem.offset !== undefined) return problem.offset;
  for (let length = problem.path.length; tree !== undefined && length >= 0; length--) {
    const path: DocumentPath = problem.path.slice(0, length);
    const node = findNodeAtLocation(tree, [...path]);
    if (node === undefined) continue;
    const atKey = problem.message.startsWith("unknown field") && node.parent?.type === "property";
    return atKey ? node.parent?.offset ?? node.offset : node.offset;
  }
  return 0;
}

/**
 * Reads a scenario from JSON with comments.
 *
 * @param text The text of a scenario file.
 * @param options `file` names the text in messages; `directory` is where relative paths start.
 * @returns The scenario with every default filled in.
 * @throws {ScenarioError} listing everything that is wrong, with line and column.
 *
 * @example
 * ```ts
 * import { parseScenario, ScenarioError } from "../mod.ts";
 *
 * try {
 *   await parseScenario('{ "name": "mine" }', { file: "mine.jsonc", directory: Deno.cwd() });
 * } catch (error) {
 *   if (error instanceof ScenarioError) console.log(error.diagnostics.length > 0); // true
 * }
 * ```
 */
export async function parseScenario(
  text: string,
  options: { readonly file: string; readonly directory: string },
): Promise<ResolvedScenario> {
  const media = await listMedia();
  const document = parseDocument(text, options.file, (document) => checkScenario(document, media));
  return fillDefaults(document as Scenario, options.directory);
}

/**
 * Reads a document from JSON with comments and checks it.
 *
 * @param file Names the text in messages.
 * @param check Everything that is wrong with a document.
 * @throws {ScenarioError} listing everything that is wrong, with line and column.
 */
export function parseDocument(
  text: string,
  file: string,
  check: (document: unknown) => readonly Problem[],
): unknown {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const document: unknown = tree === undefined ? undefined : getNodeValue(tree);
  const problems = text.trim() === ""
    ? [{ path: [], message: "expected a scenario, found an empty file" }]
    : errors.length > 0
    ? errors.slice(0, 1).map((error) => syntaxProblem(error, text))
    : check(document);
  if (problems.length > 0) {
    const diagnostics: Diagnostic[] = problems
      .map((problem) => ({ problem, offset: offsetOf(tree, problem) }))
      .sort((a, b) => a.offset - b.offset)
      .map(({ problem, offset }) => ({ ...problem, place: { file, ...lineAndColumn(text, offset) } }));
    throw new ScenarioError(diagnostics);
  }
  return document;
}

/**
 * Reads a scenario file.
 *
 * @param file Path or URL of a `.jsonc` file.
 * @returns The scenario with every default filled in; relative paths in it start from the file's folder.
 * @throws {ScenarioError} listing everything that is wrong, with line and column.
 * @throws {Deno.errors.NotFound} if there is no such file.
 *
 * @example
 * ```ts
 * import { loadScenario } from "../mod.ts";
 *
 * const scenario = await loadScenario("scenarios/pmem-modes.jsonc");
 * console.log(Object.keys(scenario.configurations));
 * ```
 */
export async function loadScenario(file: string | URL): Promise<ResolvedScenario> {
  const { text, ...place } = await readDocument(file);
  return parseScenario(text, place);
}

/** The text of a scenario file, what messages call it, and where relative paths in it start. */
export async function readDocument(
  file: string | URL,
): Promise<{ readonly text: string; readonly file: string; readonly directory: string }> {
  const path = typeof file === "string" ? file : fileURLToPath(file);
  const text = await readText(path);
  const shown = relative(Deno.cwd(), path);
  const absolute = await Deno.realPath(path);
  return { text, file: shown === "" || shown.startsWith("..") ? path : shown, directory: dirname(absolute) };
}

async function readText(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      throw new Deno.errors.NotFound(`Cannot read the scenario: "${path}" does not exist`, { cause: error });
    }
    if (error instanceof Error && "code" in error && error.code === "EISDIR") {
      throw new TypeError(`Cannot read the scenario: "${path}" is a directory, expected a file`, { cause: error });
    }
    throw error;
  }
}

/**
 * Checks a scenario that a program made and fills every default in.
 *
 * @param scenario As it would be written in a file; a resolved scenario comes back unchanged.
 * @param directory What relative paths in it start from. Default: the working directory.
 * @throws {ScenarioError} listing everything that is wrong.
 *
 * @example
 * ```ts
 * import { resolveScenario } from "../mod.ts";
 *
 * const scenario = await resolveScenario({ name: "tiny", configurations: { dram: { storage: "DRAM" } } });
 * console.log(scenario.workload.batch); // 2048
 * ```
 */
export async function resolveScenario(
  scenario: Scenario | ResolvedScenario,
  directory: string = Deno.cwd(),
): Promise<ResolvedScenario> {
  const problems = checkScenario(scenario, await listMedia());
  if (problems.length > 0) throw new ScenarioError(problems);
  return fillDefaults(scenario, directory);
}

/** The shipped scenarios and simulations: name, sentence, file. */
export async function shippedScenarios(): Promise<{ name: string; about: string; file: string }[]> {
  const files: string[] = [];
  for await (const entry of Deno.readDir(SHIPPED)) {
    if (entry.isFile && entry.name.endsWith(".jsonc")) files.push(fileURLToPath(new URL(entry.name, SHIPPED)));
  }
  return await Promise.all(
    files.sort().map(async (file) => {
      const { text } = await readDocument(file);
      const { name, about } = isSimulationText(text) ? await loadSimulation(file) : await loadScenario(file);
      return { name, about, file };
    }),
  );
}
