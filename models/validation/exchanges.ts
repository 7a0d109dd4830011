/**
 * Exchanges of rows between machines: what was measured over links of known speed, and what the simulator takes them for.
 *
 * @module
 */

import * as v from "../../base/valibot.ts";
import { simulate } from "../../ffi/simulate.ts";
import { loadMedia, mediaOptions } from "../media/media.ts";

/** One step's exchange between a worker and a server over a link that was limited (`deno task bench:ranks`). */
export interface MeasuredExchange {
  /** The link's rate, bit/s. */
  readonly rate: number;
  /** Of it, the share that is left of MPI's bytes after the headers of Ethernet, IP and TCP. */
  readonly payload: number;
  /** Seconds that a message of a few bytes is under way: median. */
  readonly latency: number;
  /** Tables of the step. */
  readonly tables: number;
  /** Floats of a row. */
  readonly dim: number;
  /** Distinct keys of the step, all tables together. */
  readonly keys: number;
  /** Seconds of keys, rows and gradients: median of the rounds. */
  readonly seconds: number;
  /** Ends of its 95 % interval. */
  readonly low: number;
  /** As `low`. */
  readonly high: number;
}

/** Exchanges that were measured on one day on one machine. */
export interface MeasuredExchanges {
  /** The day. */
  readonly made: string;
  /** Its CPUs, in words. */
  readonly machine: string;
  /** The MPI. */
  readonly mpi: string;
  /** One a rate. */
  readonly exchanges: readonly MeasuredExchange[];
}

const exchangeSchema = v.strictObject({
  rate: v.number(),
  payload: v.number(),
  latency: v.number(),
  tables: v.number(),
  dim: v.number(),
  keys: v.number(),
  seconds: v.number(),
  low: v.number(),
  high: v.number(),
});

const exchangesSchema: v.GenericSchema<MeasuredExchanges> = v.strictObject({
  made: v.string(),
  machine: v.string(),
  mpi: v.string(),
  exchanges: v.array(exchangeSchema),
});

/** Where they are kept, from the root of the project. */
export const EXCHANGES_FILE = "models/validation/exchanges.json";

/** How far the simulator may be from what was measured. */
export const EXCHANGE_TOLERANCE = 0.15;

/** Those of the last `deno task bench:ranks -- --network`. */
export async function loadExchanges(): Promise<MeasuredExchanges> {
  return v.parse(exchangesSchema, JSON.parse(await Deno.readTextFile(new URL("./exchanges.json", import.meta.url))));
}

/**
 * Seconds of the step's messages as the simulator has them: what a step of one worker and one server has on its longest path
 * in links and in latency. The step is that of any simulation with parameter servers, which asks for keys, is answered with rows
 * and pushes gradients (with their keys, as DeepRec's does); the rows lie in DRAM.
 *
 * @param exchange What is exchanged, over what.
 */
export async function simulatedExchange(exchange: MeasuredExchange): Promise<number> {
  const { tables, dim, keys, rate, payload, latency } = exchange;
  const each = (value: number): string => Array.from({ length: tables }, () => String(value)).join(",");
  const distinct = keys / tables;
  const media = mediaOptions(await loadMedia("ddr4-2666-6ch"));
  const { parts, stepPs } = simulate({
    ...Object.fromEntries(Object.entries(media).map(([key, value]) => [`tier0.${key}`, value])),
    ...{ steps: "8", warmup: "2", workers: "1", servers: "1", cores: "16", tiers: "1" },
    ...{ net_bandwidth: String(rate / 8 * payload), net_latency_ps: String(Math.round(latency * 1e12)) },
    tables: String(tables),
    "tables.distinct": each(distinct),
    "tables.variance": each(0),
    "tables.all": each(distinct),
    "tables.in0": each(distinct),
    "tables.lookups": each(distinct),
    "tables.value_bytes": each(4 * dim),
    "tables.row_bytes": each(8 * dim),
  });
  const network = parts.filter(({ on }) => on === "latency" || /\blink\b/.test(on));
  return network.reduce((sum, { ps }) => sum + ps, 0) / stepPs.length / 1e12;
}

/** What was measured, and beside each exchange the seconds that the simulator has. */
export interface ComparedExchanges extends MeasuredExchanges {
  /** In the order of `exchanges`. */
  readonly simulated: readonly number[];
}

/** The kept exchanges beside what the simulator has for them. */
export async function compareExchanges(): Promise<ComparedExchanges> {
  const measured = await loadExchanges();
  return { ...measured, simulated: await Promise.all(measured.exchanges.map(simulatedExchange)) };
}
