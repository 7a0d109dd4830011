/**
 * Reads plan files.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { type DocumentSource, parseDocument, readDocument } from "../document.ts";
import { validate } from "../validate.ts";
import { type PlanFile, planSchema, type ResolvedPlanFile, resolvePlan } from "./plan_file.ts";

/**
 * Reads a plan from JSON with comments.
 *
 * @throws {ScenarioError} listing everything that is wrong, with line and column.
 */
export function parsePlan(text: string, { file, directory }: DocumentSource): ResolvedPlanFile {
  const document = parseDocument(text, file, "a plan", (written) => {
    const validation = validate(planSchema, written);
    return "problems" in validation ? validation.problems : [];
  });
  return { ...resolvePlan(document as PlanFile), directory };
}

/**
 * Reads a plan file.
 *
 * @param file Path or URL of a `.jsonc` file.
 * @returns The plan with every default filled in.
 * @throws {ScenarioError} listing everything that is wrong, with line and column.
 * @throws {Deno.errors.NotFound} if there is no such file.
 */
export async function loadPlan(file: string | URL): Promise<ResolvedPlanFile> {
  const { text, ...source } = await readDocument(typeof file === "string" ? file : fileURLToPath(file), "plan");
  return parsePlan(text, source);
}
