/**
 * How long the dense part of a worker's step takes: as stated, by its operations, or as a run measured it.
 *
 * @module
 */

import { checked, figure, object, positive, positives, text } from "../../base/record_parts.ts";
import { parseLines } from "../../base/result_lines.ts";
import { readUserText } from "../../base/user_file.ts";
import type * as v from "../../base/valibot.ts";
import type { ResolvedSimulation } from "./simulation.ts";

/** What of a completed sample's record tells the dense time of its steps. */
const SAMPLE = object({
  configuration: text,
  batch: positive,
  stepNs: positives,
  phaseNs: object({ dense: figure }),
});

/** Seconds of the dense part of a worker's step. */
export async function denseSeconds({ compute: { dense }, workload }: ResolvedSimulation): Promise<number> {
  if (typeof dense === "number") return dense;
  if ("gflops" in dense) return dense.flopsPerSample * workload.batch / (dense.gflops * 1e9);
  const samples = await samplesOf(dense.result);
  const name = dense.configuration ?? samples[0]?.configuration;
  const times = samples.filter(({ configuration }) => configuration === name)
    .map(({ phaseNs, stepNs, batch }) => phaseNs.dense / stepNs.length / batch);
  if (times.length === 0) {
    throw new RangeError(`Cannot take the dense time from "${dense.result}": it has no samples of "${name}"`);
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] as number * workload.batch * 1e-9;
}

/** The completed samples of a run. @throws {SyntaxError} naming a line that is broken. */
async function samplesOf(path: string): Promise<v.InferOutput<typeof SAMPLE>[]> {
  return parseLines(await readUserText(path, "result"), path, (value) => {
    const { type, status } = checked(object({ type: text }), value) as { type: string; status?: unknown };
    return type === "sample" && status === "completed" ? [checked(SAMPLE, value)] : [];
  }).records.flat();
}
