import { nearest, shippedScenarios } from "../mod.ts";
import { UsageError } from "./exit_codes.ts";

/** Explains the argument in helps. */
export const SCENARIO_HELP = "a scenario file, or the name of a shipped scenario";
/** What is run unless something else is asked for. */
export const DEFAULT_SCENARIO = "pmem-modes";

/**
 * The file that a word means: a file that is there, or a shipped scenario of this name.
 *
 * @throws {UsageError} if it is neither.
 */
export async function scenarioFile(word: string): Promise<string> {
  if (/[/\\]|\.jsonc?$/.test(word)) {
    if (await isFile(word)) return word;
    throw new UsageError(`Cannot read the scenario: "${word}" does not exist; "tierbench list" shows those there are`);
  }
  const shipped = await shippedScenarios();
  const found = shipped.find(({ name }) => name === word);
  if (found !== undefined) return found.file;
  if (await isFile(word)) return word;
  const names = shipped.map(({ name }) => name);
  const meant = nearest(word, names);
  throw new UsageError(
    `Unknown scenario "${word}": ${
      meant === undefined ? `it is no file, and those shipped are ${names.join(", ")}` : `did you mean "${meant}"?`
    }`,
  );
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
