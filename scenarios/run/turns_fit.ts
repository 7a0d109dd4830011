/**
 * Which samples can train in turns, and how many steps a turn has.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
import { checkpointTask, sampleBytes } from "./sample.ts";
import { configurationOf } from "./configurations.ts";
import type { PreparedCase } from "./prepare.ts";
import { tiersOf } from "../../ffi/storage.ts";

/** Share of the memory that is available which samples may take together. */
const USABLE = 0.7;
/**
 * Seconds of a turn. Short, since a neighbour comes and goes, and is to meet all samples of a cycle; not shorter, since the
 * first step of a turn finds the caches of the processor with what others left there, which takes it 0.3 to 0.9 ms longer.
 */
const TURN_SECONDS = 0.02;
/**
 * Steps of a turn, at least, where they take no more than so many seconds: what a step leaves to threads beside it is done in
 * its turn then, and its first step is not most of it.
 */
const FEW_STEPS = 4, FEW_STEPS_SECONDS = 0.1;
/** Turns of a sample, at least, and where nothing tells how long a step takes. */
const LEAST_TURNS = 8;
const USUAL_TURNS = 24;

/**
 * Why the samples of these cases cannot train in turns; undefined: they can.
 *
 * @param cases Those that would have a round in common.
 * @param available Bytes of memory that are available.
 */
export function whyNotInTurns(cases: readonly PreparedCase[], available: number): string | undefined {
  if (cases.length < 2) return "there is nothing to take turns with";
  for (const one of cases) {
    const why = whyNot(one);
    if (why !== undefined) return `${one.name} ${why}`;
  }
  const bytes = cases.reduce((sum, one) => sum + sampleBytes(one), 0);
  const room = USABLE * available;
  return bytes <= room
    ? undefined
    : `together they need ${formatBytes(bytes)} of memory, and ${formatBytes(room)} can be had`;
}

/** What is counted for the whole machine, shared by processes, or bounded by a device cannot be told apart in turns. */
function whyNot(one: PreparedCase): string | undefined {
  const { decision: { evidence, hbm, virtual }, ranks, scenario } = one;
  const tiers = tiersOf(configurationOf(one).storage);
  if (ranks !== undefined) return "runs over ranks";
  if (checkpointTask(one, LEAST_TURNS).checkpoint !== undefined || scenario.checkpoint !== undefined) {
    return "is of a scenario with checkpoints, which are written beside the steps";
  }
  if (tiers.includes("SSDHASH") || tiers.includes("LEVELDB")) {
    return "has rows on a disk, whose bytes are counted by sample";
  }
  if (hbm !== undefined) return "has rows in HBM";
  const slower = tiers.includes("PMEM") || configurationOf(one).memory !== undefined;
  if (slower && (evidence === "measured" || virtual)) {
    return "has a medium of its own, which one process is to have alone";
  }
  return undefined;
}

/**
 * Counted steps of a turn.
 *
 * @param steps Counted steps of a sample.
 * @param stepSeconds Seconds of a step, the longest of all cases; undefined where none is known.
 */
export function turnSteps(steps: number, stepSeconds: number | undefined): number {
  const wanted = stepSeconds === undefined ? Math.ceil(steps / USUAL_TURNS) : Math.max(
    Math.round(TURN_SECONDS / stepSeconds),
    Math.min(FEW_STEPS, Math.round(FEW_STEPS_SECONDS / stepSeconds)),
  );
  return Math.max(1, Math.min(wanted, Math.floor(steps / LEAST_TURNS)));
}
