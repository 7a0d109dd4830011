/**
 * What processors and memory have used since some moment, by counters that run over (RAPL). The native library reads them, since
 * the runtime may not read `/sys`.
 *
 * @module
 */

import { encodeText, readText } from "./errors.ts";
import { parseLines } from "./facts.ts";
import { native } from "./library.ts";

/** A counter of energy. */
export interface EnergyZone {
  /** The kernel's name of it: `intel-rapl:0`. */
  readonly zone: string;
  /** What it counts: a package of cores with their caches, or the memory at one. */
  readonly of: "package" | "dram";
  /** Microjoules, from 0 to `range`. */
  readonly used: number;
  /** Where it begins again at 0, microjoules. */
  readonly range: number;
}

/** The counters at one moment. */
export interface EnergyReading {
  /** Those that can be read; empty if none can. */
  readonly zones: readonly EnergyZone[];
  /** Why there are none; absent if there are. */
  readonly missing?: string;
}

/**
 * The counters now.
 *
 * @param roots A folder put before `/sys`, for tests.
 */
export function readEnergy(roots = ""): EnergyReading {
  const folder = encodeText(roots);
  const facts = parseLines(
    readText("read the energy counters", (...buffer) => native().ts_machine_energy(folder, ...buffer)),
  );
  const zones = Object.entries(facts).flatMap(([key, name]): EnergyZone[] => {
    const zone = /^(.+)\.name$/.exec(key)?.[1];
    if (zone === undefined) return [];
    const of = name === "dram" ? "dram" : "package";
    return [{ zone, of, used: Number(facts[`${zone}.used`]), range: Number(facts[`${zone}.range`]) }];
  });
  const missing = facts["missing"];
  return { zones, ...(missing === undefined ? {} : { missing }) };
}
