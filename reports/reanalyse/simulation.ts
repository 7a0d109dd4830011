/**
 * Makes a simulation's page again from itself alone.
 *
 * @module
 */

import type { SimulationResult } from "../../models/simulation/record.ts";
import { parseSimulationPage } from "../capsule/read.ts";
import { differing } from "./reanalyse.ts";
import { readOptions } from "../capsule/carried.ts";
import type { SummaryOptions } from "../summary/prices.ts";
import { checkPage } from "../capsule/seal.ts";
import { renderSimulation } from "../simulation/page.ts";

/** A simulation's page that was made again. */
export interface SimulationReanalysis {
  /** The page as this version of tierbench makes it. */
  readonly page: string;
  /** What was in the file. */
  readonly result: SimulationResult;
  /** What the page was made with: the file's options, and over them those that were asked for. */
  readonly options: SummaryOptions;
  /** Whether it is the file, byte for byte. */
  readonly same: boolean;
  /** Names of the parts that differ from the file's, each once. */
  readonly differing: readonly string[];
}

/**
 * Makes a simulation's page again.
 *
 * @param page Bytes or text of the page.
 * @param name What messages call it.
 * @returns Undefined for the page of a run on a machine.
 * @throws {DamagedPageError} naming the part that is damaged or missing.
 */
export function reanalyseSimulation(
  page: Uint8Array | string,
  name: string,
  asked: SummaryOptions = {},
): SimulationReanalysis | undefined {
  const result = parseSimulationPage(page, name);
  if (result === undefined) return undefined;
  const text = typeof page === "string" ? page : new TextDecoder("utf-8", { ignoreBOM: true }).decode(page);
  const options = { ...readOptions(text, name), ...asked };
  const made = renderSimulation(result, options);
  const same = made === text;
  return { page: made, result, options, same, differing: same ? [] : differing(checkPage(page), checkPage(made)) };
}
