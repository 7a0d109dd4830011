/**
 * The part of a step that depends on where the rows are: lookup, update and eviction. Dense layers often hide it in the
 * whole step, so it has figures of its own.
 *
 * @module
 */

import type { Phase, SampleRecord } from "../../scenarios/record.ts";
import type { EmbeddingTime } from "./summary_types.ts";
import { type Estimate, estimate, mapEstimate } from "../statistics/bootstrap.ts";
import { compared } from "../statistics/pairing.ts";

/** The phases that touch embedding rows. */
const EMBEDDING_PHASES: readonly Phase[] = ["lookup", "update", "eviction"];

/** Parts of the dense layers' time for which speed is computed. */
const DENSE_PARTS: readonly number[] = [0.5, 0.1, 0];

/**
 * Time for embeddings of a case.
 *
 * @param samples Its samples, at least one.
 * @param baseline Those of the case that it is compared with.
 * @param seed Makes the seed of a named figure's interval.
 */
export function embeddingTime(
  samples: readonly SampleRecord[],
  baseline: readonly SampleRecord[] | undefined,
  seed: (figure: string) => string,
): EmbeddingTime {
  const times = samples.map(embeddingSeconds);
  const shares = samples.map((sample) => embeddingSeconds(sample) / stepSeconds(sample));
  const comparable = baseline !== undefined && [...samples, ...baseline].every((one) => embeddingSeconds(one) > 0);
  return {
    seconds: atLeastZero(estimate(times, times.every((v) => v > 0) ? "positive" : "linear", seed("embedding seconds"))),
    share: atMostOne(estimate(shares, "linear", seed("embedding share"))),
    relative: comparable
      ? compared(samples, baseline, embeddingSeconds, "positive", seed("embedding relative"))
      : undefined,
    lessDense: comparable
      ? DENSE_PARTS.map((part) => ({
        part,
        relative: compared(
          samples,
          baseline,
          (one) => 1 / secondsWithDense(one, part),
          "rate",
          seed(`dense × ${part}`),
        ),
      }))
      : [],
  };
}

/** Mean seconds of a counted step of one process. */
function stepSeconds(sample: SampleRecord): number {
  return sample.stepNs.reduce((total, ns) => total + ns, 0) / sample.stepNs.length / 1e9;
}

/** Mean seconds a counted step of one process spends on embeddings. */
export function embeddingSeconds(sample: SampleRecord): number {
  return EMBEDDING_PHASES.reduce((total, phase) => total + sample.phaseNs[phase], 0) / sample.stepNs.length / 1e9;
}

/** Mean seconds of a step if its dense phase took a part of its time; never below the time for embeddings. */
function secondsWithDense(sample: SampleRecord, part: number): number {
  const dense = sample.phaseNs.dense / sample.stepNs.length / 1e9;
  return Math.max(embeddingSeconds(sample), stepSeconds(sample) - (1 - part) * dense);
}

function atLeastZero(of: Estimate): Estimate {
  return mapEstimate(of, (v) => Math.max(0, v));
}

function atMostOne(of: Estimate): Estimate {
  return mapEstimate(of, (v) => Math.min(1, Math.max(0, v)));
}
