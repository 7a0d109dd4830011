/**
 * Reads plan files.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import type { Problem } from "../../base/diagnostics.ts";
import {
  type DocumentOptions,
  type DocumentSource,
  kindOfFile,
  parseDocument,
  PAST_LIMIT,
  readDocument,
  withValues,
} from "../../base/document.ts";
import { readJsonc } from "../../base/jsonc.ts";
import { validate } from "../../base/validate.ts";
import { mediaByPath, withMediaAt } from "../media/by_path.ts";
import { planSchema, type ResolvedPlanFile, resolvePlan, type WrittenPlan } from "./plan_file.ts";

/** Kinds of tables and machines at most: the curve of each table is computed, and each machine is tried with all. */
const MOST_NAMED = 500;

/** The work of a plan, before anything of it starts. */
function checkWork({ tables, machines = {} }: WrittenPlan): Problem[] {
  const counts = [
    ["tables", "kinds of tables", tables, '"count" says how many are alike; '],
    ["machines", "machines", machines, ""],
  ] as const;
  return counts.flatMap(([field, what, record, hint]) => {
    const found = Object.keys(record).length;
    if (found <= MOST_NAMED) return [];
    const message = `expected at most ${MOST_NAMED} ${what}, found ${found}`;
    return [{ path: [field], message, hint: `${hint}${PAST_LIMIT}` }];
  });
}

/**
 * Reads a plan from JSON with comments.
 *
 * @param broken What is wrong with files that the plan names.
 * @throws {ScenarioError} listing everything that is wrong, with line and column.
 */
export function parsePlan(
  text: string,
  { file, directory, limit = true, set }: DocumentSource,
  broken: readonly Problem[] = [],
): ResolvedPlanFile {
  const document = parseDocument(text, file, "a plan", (written) => {
    if (broken.length > 0) return broken;
    const validation = validate(planSchema, written);
    if ("problems" in validation) return validation.problems;
    return limit ? checkWork(validation.value) : [];
  }, set);
  return { ...resolvePlan(withMediaAt(document as WrittenPlan, directory)), directory };
}

/** Whether a file holds a plan. A file that cannot be read is none: whoever reads it says why. */
export async function isPlan(file: string | URL): Promise<boolean> {
  return await kindOfFile(file) === "plan";
}

/**
 * Reads a plan file.
 *
 * @param file Path or URL of a `.jsonc` file.
 * @returns The plan with every default filled in.
 * @throws {ScenarioError} listing everything that is wrong, with line and column.
 * @throws {Deno.errors.NotFound} if there is no such file.
 */
export async function loadPlan(file: string | URL, options: DocumentOptions = {}): Promise<ResolvedPlanFile> {
  const { text, ...source } = await readDocument(typeof file === "string" ? file : fileURLToPath(file), "plan");
  const { problems } = await mediaByPath(withValues(readJsonc(text).value, options.set), source.directory);
  return parsePlan(text, { ...source, ...options }, problems);
}
