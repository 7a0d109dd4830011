/**
 * Reads simulations: from a file, from text, from a program's object.
 *
 * @module
 */

import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ScenarioError } from "../../base/diagnostics.ts";
import { readJsonc } from "../../base/jsonc.ts";
import {
  type DocumentOptions,
  type DocumentSource,
  kindOfFile,
  kindOfText,
  type LimitOptions,
  parseDocument,
  readDocument,
  withValues,
} from "../../base/document.ts";
import { mediaByPath, storesBeside, withMediaAt } from "../media/by_path.ts";
import { refuseOverfull } from "./capacity.ts";
import { checkSimulation } from "./check.ts";
import { withProfiles } from "./profiles.ts";
import { fillSimulation } from "./resolve.ts";
import { withSoftware } from "./software.ts";
import type { ResolvedSimulation, WrittenSimulation } from "./simulation.ts";
import { asWritten, listedSimulation } from "./written.ts";

/** Bytes of a file by its path from a folder; 0 for one that cannot be looked at, as whoever reads it says. */
function bytesIn(directory: string): (path: string) => number {
  return (path) => {
    try {
      return Deno.statSync(resolve(directory, path)).size;
    } catch {
      return 0;
    }
  };
}

/** Whether a text is that of a simulation rather than of a scenario that runs on this machine. */
export function isSimulationText(text: string): boolean {
  return kindOfText(text) === "simulation";
}

/** Whether a file holds a simulation. A file that cannot be read is none: whoever reads it says why. */
export async function isSimulation(file: string | URL): Promise<boolean> {
  return await kindOfFile(file) === "simulation";
}

/**
 * Reads a simulation from JSON with comments.
 *
 * @param text The text of its file.
 * @param options `file` names the text in messages; `directory` is where relative paths start.
 * @throws {ScenarioError} listing everything that is wrong, with line and column.
 */
export async function parseSimulation(text: string, options: DocumentSource): Promise<ResolvedSimulation> {
  const { limit, directory } = options;
  const own = await mediaByPath(withValues(readJsonc(text).value, options.set), directory);
  const media = await storesBeside(own);
  const document = parseDocument(
    text,
    options.file,
    "a simulation",
    (document) => own.problems.length > 0 ? own.problems : checkSimulation(document, media, limit, bytesIn(directory)),
    options.set,
  );
  return await filled(document as WrittenSimulation, directory);
}

/**
 * Reads the file of a simulation.
 *
 * @throws {ScenarioError} listing everything that is wrong, with line and column.
 * @throws {Deno.errors.NotFound} if there is no such file.
 *
 * @example
 * ```ts
 * import { loadSimulation } from "../../mod.ts";
 *
 * const simulation = await loadSimulation("scenarios/terabyte.jsonc");
 * console.log(Object.keys(simulation.configurations).length > 1); // true
 * ```
 */
export async function loadSimulation(file: string | URL, options: DocumentOptions = {}): Promise<ResolvedSimulation> {
  const { text, ...place } = await readDocument(
    typeof file === "string" ? file : fileURLToPath(file),
    "simulation",
  );
  return await parseSimulation(text, { ...place, ...options });
}

/**
 * Checks a simulation that a program made and fills every default in.
 *
 * @throws {ScenarioError} listing everything that is wrong.
 */
export async function resolveSimulation(
  simulation: WrittenSimulation | ResolvedSimulation,
  directory: string = Deno.cwd(),
  { limit }: LimitOptions = {},
): Promise<ResolvedSimulation> {
  const own = await mediaByPath(simulation, directory);
  if (own.problems.length > 0) throw new ScenarioError(own.problems);
  const problems = checkSimulation(simulation, await storesBeside(own), limit, bytesIn(directory));
  if (problems.length > 0) throw new ScenarioError(problems);
  return await filled(simulation, directory);
}

/** A valid simulation with what it names by path, and its defaults. */
async function filled(
  written: WrittenSimulation | ResolvedSimulation,
  directory: string,
): Promise<ResolvedSimulation> {
  const listed = listedSimulation(written as WrittenSimulation);
  const priced = await withSoftware(withMediaAt(listed, directory), directory);
  const lawful = await withProfiles(priced, directory).catch((error) => {
    if (!(error instanceof ScenarioError)) throw error;
    throw new ScenarioError(error.diagnostics.map((one) => asWritten(one, written as WrittenSimulation)));
  });
  const simulation = fillSimulation(lawful, directory);
  await refuseOverfull(simulation);
  return simulation;
}
