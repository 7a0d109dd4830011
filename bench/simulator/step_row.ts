/**
 * Emulated against simulated training steps: is the simulator true for our own store? Each step looks a batch up and updates
 * it, in two tiers, the second emulated; the simulator has the memory of this machine and the prices of our store as
 * `tierbench calibrate` measures them, and none of these steps. Eight settings of medium, cache and skew, in turns with rounds
 * of the prices, so that what slowly changes on the machine meets both alike.
 *
 * @module
 */

import { median } from "../../base/statistics.ts";
import { calibrate } from "../../models/host/calibrate.ts";
import { pricesOf, SOFTWARE_RUNS, softwareRound } from "../../models/host/software.ts";
import { lastUsed, runSteps, zipfBatches } from "../../models/host/store_runs.ts";
import { loadMedia, mediaNativeOptions, mediaOptions } from "../../models/media/media.ts";
import { runSimulation } from "../../models/simulation/run.ts";
import { storeSoftware } from "../../models/simulation/software.ts";
import type { SoftwarePrices } from "../../models/simulation/software_file.ts";
import type { BenchRow } from "../rows.ts";

/** Emulated / simulated seconds of a step, of every turn. */
export interface StepRatio {
  /** `optane-100-6x256, cache 50 %, s 1.05`. */
  readonly setting: string;
  /** One a turn. */
  readonly ratios: readonly number[];
}

const { dim: DIM, keys: KEYS } = SOFTWARE_RUNS;
/** A table of 1 GiB: a tier of a tenth is several times the caches of most CPUs, which the simulator does not know of. */
const ROWS = 2 ** 21;
const ROW = DIM * 8, WARMUP = 120, STEPS = 480, TURNS = 5;

const SETTINGS = ["optane-100-6x256", "optane-100-1x256"].flatMap((medium) =>
  [0.5, 0.1].flatMap((cache) => [1.05, 0.6].map((s) => ({ medium, cache, s })))
);
type Setting = (typeof SETTINGS)[number];

/** Simulated seconds of a step. */
async function simulated({ medium, cache, s }: Setting, dram: string, prices: SoftwarePrices): Promise<number> {
  const { perKey, perRow, perUpdate } = prices;
  const { cases: [one] } = await runSimulation({
    kind: "simulation",
    name: "steps",
    workload: {
      batch: KEYS,
      tables: [{ name: "rows", rows: ROWS, dim: DIM, slots: 1, overhead: 0, lookups: 1, law: { s } }],
    },
    compute: {
      dense: 0,
      perKey: perKey.value,
      perRow: perRow.value,
      perUpdate: perUpdate.value,
      source: "measured on this machine",
    },
    overlap: { ahead: 0 },
    cluster: { cores: 1, backgroundThreads: 0 },
    configurations: {
      tiers: {
        mode: "fsdax",
        software: storeSoftware(prices, true),
        tiers: [{ media: dram, size: Math.round(ROWS * cache) * ROW }, { media: medium, size: 2 * ROWS * ROW }],
      },
    },
  });
  return one?.step.mean ?? NaN;
}

/** Emulated seconds of a step. */
async function emulated({ medium, cache, s }: Setting, turn: number, folder: string): Promise<number> {
  const { lookup, update } = await runSteps({
    rows: ROWS,
    dim: DIM,
    batches: zipfBatches({ rows: ROWS, keys: KEYS, steps: WARMUP + STEPS, s, seed: 100 + turn }),
    order: lastUsed({ rows: ROWS, s, seed: 200 + turn }),
    warmup: WARMUP,
    cacheBytes: Math.round(ROWS * cache) * ROW,
    folder,
    native: mediaNativeOptions(await loadMedia(medium), { prefix: "emulate", threads: 1 }),
  });
  return lookup + update;
}

/**
 * Calibrates this machine, then runs and simulates every setting.
 *
 * @param folder A folder in memory that is made and removed.
 */
export async function stepRatios(folder: string = "/dev/shm/tierbench-steps"): Promise<StepRatio[]> {
  try {
    const [memory] = await calibrate({ out: folder, nodes: [0], force: true });
    if (memory === undefined) throw new RangeError("Cannot compare steps: no memory was calibrated");
    const dram = mediaOptions(await loadMedia(memory.path));
    const rounds = [], seconds: number[][] = SETTINGS.map(() => []);
    for (let turn = 0; turn < TURNS; turn++) {
      rounds.push(await softwareRound(SOFTWARE_RUNS, dram, folder, turn + 1));
      for (const [i, setting] of SETTINGS.entries()) seconds[i]?.push(await emulated(setting, turn, folder));
    }
    const prices = pricesOf(rounds, KEYS);
    return await Promise.all(SETTINGS.map(async (setting, i) => {
      const { medium, cache, s } = setting, step = await simulated(setting, memory.path, prices);
      return {
        setting: `${medium}, cache ${cache * 100} %, s ${s}`,
        ratios: (seconds[i] ?? []).map((turn) => turn / step),
      };
    }));
  } finally {
    await Deno.remove(folder, { recursive: true }).catch(() => {});
  }
}

/**
 * The row: how far the worst setting is from the simulation, as a ratio of 1 or more, median of its turns. Every setting
 * with its spread is in the note.
 *
 * @throws {RangeError} If a ratio is no positive number.
 */
export function stepRow(settings: readonly StepRatio[]): BenchRow {
  const bad = settings.find(({ ratios }) => ratios.length === 0 || ratios.some((r) => !(r > 0 && Number.isFinite(r))));
  if (bad !== undefined || settings.length === 0) {
    throw new RangeError(`Cannot make the row "step/emulated": ${bad?.setting ?? "it has no settings"}`);
  }
  const far = (ratio: number): number => Math.max(ratio, 1 / ratio);
  const [worst] = [...settings].sort((a, b) => far(median(b.ratios)) - far(median(a.ratios)));
  const ends = (worst?.ratios ?? []).map(far);
  const text = ({ setting, ratios }: StepRatio): string =>
    `${setting}: ${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`;
  return {
    name: "step/emulated",
    value: far(median(worst?.ratios ?? [NaN])),
    low: Math.min(...ends),
    high: Math.max(...ends),
    unit: "ratio",
    atMost: 1.1,
    note: `worst of ${settings.length}, emulated / simulated steps: ${settings.map(text).join("; ")}`,
  };
}
