/**
 * Results that are kept under a name, to compare later runs with: `tierbench run --save-baseline main`, `--baseline main`.
 * Each is a folder of results, `reports/out/baselines/<scenario>/<name>/result.jsonl`, so that whatever reads results reads it.
 *
 * @module
 */

import { dirname, join, resolve } from "node:path";
import { nearest } from "../base/nearest.ts";
import { writeWhole } from "../base/write_whole.ts";
import { writing } from "../base/writing.ts";

/** Where baselines are kept unless another folder is named. */
export const BASELINES = "reports/out/baselines";

/** A name that is a folder of its own: no path, and nothing that hides. */
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}._-]{0,99}$/u;

/** A baseline that is there. */
export interface Baseline {
  /** Name of its scenario. */
  readonly scenario: string;
  /** Its name, unique among those of its scenario. */
  readonly name: string;
  /** Its `result.jsonl`. */
  readonly file: string;
  /** When it was saved, ISO 8601 in UTC. */
  readonly saved: string;
  /** Its bytes. */
  readonly bytes: number;
}

/** A baseline cannot be used as it is named. */
export class BaselineError extends Error {
  /** Name of the class. */
  override readonly name = "BaselineError";
}

/** Whether a word can be the name of a baseline. */
export function isBaselineName(word: string): boolean {
  return NAME.test(word);
}

/**
 * Refuses words that are no name of a baseline.
 *
 * @throws {BaselineError}
 */
export function checkBaselineName(name: string): void {
  if (isBaselineName(name)) return;
  throw new BaselineError(
    `Cannot name a baseline "${name}": expected 1 to 100 letters, digits, ".", "_" and "-", the first a letter or digit`,
  );
}

async function names(folder: string): Promise<string[]> {
  const found: string[] = [];
  try {
    for await (const { name, isDirectory } of Deno.readDir(folder)) if (isDirectory) found.push(name);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return found.sort();
}

/**
 * The baselines that are kept, by scenario and name.
 *
 * @param root Where they are kept.
 */
export async function listBaselines(root: string = BASELINES): Promise<Baseline[]> {
  const found: Baseline[] = [];
  for (const scenario of await names(root)) {
    for (const name of await names(join(root, scenario))) {
      const file = join(root, scenario, name, "result.jsonl");
      const there = await Deno.stat(file).catch(() => undefined);
      if (there === undefined) continue;
      found.push({ scenario, name, file, saved: (there.mtime ?? new Date(0)).toISOString(), bytes: there.size });
    }
  }
  return found;
}

/**
 * Keeps results under a name; an earlier baseline of that name is replaced.
 *
 * @param results The `result.jsonl` of a run that is complete.
 * @param of The name of its scenario, and the baseline's.
 * @param root Where baselines are kept.
 * @returns The file that it is kept in.
 * @throws {BaselineError} if the name is none.
 */
export async function saveBaseline(
  results: string,
  { scenario, name }: Pick<Baseline, "scenario" | "name">,
  root: string = BASELINES,
): Promise<string> {
  checkBaselineName(name);
  const file = resolve(root, scenario, name, "result.jsonl");
  await writeWhole(file, await Deno.readFile(results), dirname(file));
  return file;
}

/**
 * The baseline of a scenario that has this name.
 *
 * @param root Where baselines are kept.
 * @throws {BaselineError} if there is none, with those there are.
 */
export async function findBaseline(
  { scenario, name }: Pick<Baseline, "scenario" | "name">,
  root: string = BASELINES,
): Promise<Baseline> {
  const all = await listBaselines(root), of = all.filter((one) => one.scenario === scenario);
  const found = of.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new BaselineError(`Cannot find the baseline "${name}" of ${scenario}: ${thereAre(name, scenario, of, all)}`);
}

function thereAre(name: string, scenario: string, of: readonly Baseline[], all: readonly Baseline[]): string {
  const those = of.map((one) => one.name), meant = nearest(name, those);
  if (meant !== undefined) return `did you mean "${meant}"?`;
  if (those.length > 0) return `there are ${those.map((one) => `"${one}"`).join(", ")}`;
  const others = all.filter((one) => one.name === name).map((one) => one.scenario);
  const elsewhere = others.length === 0 ? "" : ` (one of that name is of ${others.join(", ")})`;
  return `${scenario} has none yet${elsewhere}; "tierbench run --save-baseline ${name}" keeps one, and a file is named by its path`;
}

/**
 * Removes baselines: `main` where one scenario has one of that name, `pmem-modes/main` always.
 *
 * @param root Where baselines are kept.
 * @returns What was removed.
 * @throws {BaselineError} if there is none of that name, or several.
 */
export async function removeBaseline(word: string, root: string = BASELINES): Promise<Baseline> {
  const all = await listBaselines(root);
  const found = all.filter(({ scenario, name }) => word === name || word === `${scenario}/${name}`);
  const [first] = found, full = all.map(({ scenario, name }) => `${scenario}/${name}`);
  if (first === undefined) {
    const meant = nearest(word, [...full, ...all.map(({ name }) => name)]);
    throw new BaselineError(
      `Cannot remove the baseline "${word}": ${
        meant !== undefined
          ? `did you mean "${meant}"?`
          : all.length === 0
          ? "none is kept"
          : `there are ${full.map((one) => `"${one}"`).join(", ")}`
      }`,
    );
  }
  if (found.length > 1) {
    throw new BaselineError(
      `Cannot remove the baseline "${word}": ${found.length} scenarios have one; say ${
        found.map(({ scenario, name }) => `"${scenario}/${name}"`).join(" or ")
      }`,
    );
  }
  await writing(first.file, () => Deno.remove(dirname(first.file), { recursive: true }));
  // The folder of a scenario goes with its last baseline.
  await Deno.remove(join(root, first.scenario)).catch(() => {});
  return first;
}
