/**
 * Reads what a simulation wrote.
 *
 * @module
 */

import { haveSums, unsummedLine } from "../../base/line_sum.ts";
import type {
  ExplanationRecord,
  NullRecord,
  SimulatedRecord,
  SimulationRecord,
  SimulationResult,
  SimulationRunRecord,
} from "./record.ts";
import { readUserText } from "../../base/user_file.ts";
import { checkSimulationRecord } from "./record_schema.ts";

/** Sorts records by type. */
export function simulationResultOf(records: readonly SimulationRecord[]): SimulationResult {
  const run = records.find((record): record is SimulationRunRecord => record.type === "run");
  if (run === undefined) throw new SyntaxError("Cannot read the simulation: expected a run record, found none");
  return {
    run,
    cases: records.filter((record): record is SimulatedRecord => record.type === "simulated"),
    explanations: records.filter((record): record is ExplanationRecord => record.type === "explanation"),
    nulls: records.filter((record): record is NullRecord => record.type === "null"),
  };
}

/** Whether the text of a `result.jsonl` is that of a simulation. */
export function isSimulationResult(text: string): boolean {
  return /^\{"type":"run","kind":"simulation"/.test(text);
}

/**
 * Parses the text of a simulation's `result.jsonl`.
 *
 * @param name What messages call it.
 * @throws {SyntaxError} naming the line that is broken.
 */
export function parseSimulationResult(text: string, name: string): SimulationResult {
  const lines = text.split("\n");
  const sums = haveSums(lines);
  const records = lines.flatMap((line, i) => {
    if (line === "") return [];
    try {
      const record = checkSimulationRecord(JSON.parse(unsummedLine(line, sums)));
      if ((record.type === "run") !== (i === 0)) {
        throw new TypeError(
          i === 0 ? `expected a run record, found one of type "${record.type}"` : "a second run record",
        );
      }
      return [record];
    } catch (error) {
      const message = `Cannot read the simulation: ${name}:${i + 1}: ${(error as Error).message}`;
      throw new SyntaxError(message, { cause: error });
    }
  });
  return simulationResultOf(records);
}

/** Reads a simulation's `result.jsonl`. */
export async function readSimulation(path: string): Promise<SimulationResult> {
  return parseSimulationResult(await readUserText(path, "result"), path);
}
