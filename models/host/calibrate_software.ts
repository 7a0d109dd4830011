/**
 * Measures what our store costs on this machine and writes a dated file of it: a part of `tierbench calibrate`.
 *
 * @module
 */

import { join } from "node:path";
import { writeWhole } from "../../base/write_whole.ts";
import { TierstoreError } from "../../ffi/errors.ts";
import { inspectMachine } from "../../machines/machine.ts";
import { loadMedia, mediaOptions } from "../media/media.ts";
import { CalibrationError } from "./calibrate.ts";
import { provenance } from "./medium_file.ts";
import type { SoftwarePrices, SoftwareRuns } from "../simulation/software_file.ts";
import { pricesOf, SOFTWARE_RUNS, softwareRound } from "./software.ts";
import { softwareText } from "./software_text.ts";

/** What is measured, and where it is written. */
export interface CalibrateSoftwareOptions {
  /** Folder of the file; it must exist. */
  readonly out: string;
  /** Path of this machine's memory, as `calibrate()` has written it: its time is not in the prices. */
  readonly memory: string;
  /** A memory file system, for the second tier. Default `/dev/shm`. */
  readonly folder?: string;
  /** Seconds instead of half a minute: shows that it works. Default false. */
  readonly quick?: boolean;
  /** Whether a file that is there is written over. Default false. */
  readonly force?: boolean;
  /** The words that asked for it, for the file. */
  readonly command?: string;
  /** Told of each round. */
  readonly onRound?: (done: number, total: number) => void;
}

/** Prices that were measured. */
export interface CalibratedSoftware {
  /** The file. */
  readonly path: string;
  /** What is in it. */
  readonly prices: SoftwarePrices;
}

const QUICK_RUNS: SoftwareRuns = { rows: 2 ** 13, dim: 64, keys: 512, steps: 24, rounds: 3 };

/**
 * Measures what our store costs on this machine beside its accesses to memory and writes `software.jsonc`.
 *
 * @throws {CalibrationError} if a file is there already, or this machine has no memory file system or cannot map one.
 */
export async function calibrateSoftware(options: CalibrateSoftwareOptions): Promise<CalibratedSoftware> {
  const { out, memory, folder = "/dev/shm", quick = false, command = "tierbench calibrate" } = options;
  const path = join(out, "software.jsonc");
  if (options.force !== true && await Deno.stat(path).then(() => true, () => false)) {
    throw new CalibrationError(
      `Cannot write "${path}": it is there, with an earlier calibration; name another folder with --out, or write over it ` +
        "with --force",
    );
  }
  const pool = await Deno.makeTempDir({ dir: folder }).catch((error) => {
    throw new CalibrationError(
      `Cannot measure the store's prices: no folder can be made in "${folder}": ${error.message}`,
    );
  });
  try {
    const medium = await loadMedia(memory), dram = mediaOptions(medium), runs = quick ? QUICK_RUNS : SOFTWARE_RUNS;
    const rounds = [];
    for (let round = 0; round < runs.rounds; round++) {
      options.onRound?.(round, runs.rounds);
      rounds.push(softwareRound(runs, dram, pool, round + 1));
    }
    const measured = provenance(inspectMachine(), [command], new Date());
    const prices = pricesOf(rounds, runs.keys), about = `What tierbench's store costs on ${measured.host}`;
    await writeWhole(path, softwareText({ kind: "software", about, memory: medium.name, prices, runs, measured }));
    return { path, prices };
  } catch (error) {
    if (!(error instanceof TierstoreError && error.status === "TS_EUNAVAILABLE")) throw error;
    throw new CalibrationError(`Cannot measure the store's prices: ${error.message}`);
  } finally {
    await Deno.remove(pool, { recursive: true });
  }
}
