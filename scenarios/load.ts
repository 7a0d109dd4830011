/**
 * Reads scenarios: from a file, from text, from a program's object.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { checkScenario } from "./check.ts";
import { ScenarioError } from "../base/diagnostics.ts";
import {
  type DocumentOptions,
  type DocumentSource,
  type LimitOptions,
  parseDocument,
  readDocument,
  withValues,
} from "../base/document.ts";
import { readJsonc } from "../base/jsonc.ts";
import { mediaByPath, storesBeside, withMediaAt } from "../models/media/by_path.ts";
import { fillDefaults } from "./resolve.ts";
import type { ResolvedScenario, Scenario } from "./scenario.ts";
import { isSimulationText, loadSimulation } from "../models/simulation/load.ts";

/** Folder of the shipped scenarios. */
const SHIPPED = new URL("./", import.meta.url);

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
export async function parseScenario(text: string, options: DocumentSource): Promise<ResolvedScenario> {
  const { directory, limit } = options;
  const own = await mediaByPath(withValues(readJsonc(text).value, options.set), directory);
  const media = await storesBeside(own);
  const document = parseDocument(
    text,
    options.file,
    "a scenario",
    (written) => own.problems.length > 0 ? own.problems : checkScenario(written, media, limit),
    options.set,
  );
  return fillDefaults(withMediaAt(document as Scenario, directory), directory);
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
export async function loadScenario(file: string | URL, options: DocumentOptions = {}): Promise<ResolvedScenario> {
  const { text, ...source } = await readDocument(typeof file === "string" ? file : fileURLToPath(file), "scenario");
  return await parseScenario(text, { ...source, ...options });
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
  { limit }: LimitOptions = {},
): Promise<ResolvedScenario> {
  const own = await mediaByPath(scenario, directory);
  const media = await storesBeside(own);
  const problems = own.problems.length > 0 ? own.problems : checkScenario(scenario, media, limit);
  if (problems.length > 0) throw new ScenarioError(problems);
  return fillDefaults(withMediaAt(scenario, directory), directory);
}

/** The shipped scenarios and simulations: name, sentence, file. */
export async function shippedScenarios(): Promise<{ name: string; about: string; file: string }[]> {
  const files: string[] = [];
  for await (const entry of Deno.readDir(SHIPPED)) {
    if (entry.isFile && entry.name.endsWith(".jsonc")) files.push(fileURLToPath(new URL(entry.name, SHIPPED)));
  }
  return await Promise.all(
    files.sort().map(async (file) => {
      const { text } = await readDocument(file, "scenario");
      const { name, about } = isSimulationText(text) ? await loadSimulation(file) : await loadScenario(file);
      return { name, about, file };
    }),
  );
}
