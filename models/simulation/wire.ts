/**
 * What a training step sends over a network between workers and the servers that hold the rows, by the function that knows
 * what a step costs (`ts_step_cost`).
 *
 * @module
 */

import { stepCost } from "../../ffi/step_cost.ts";
import { engineOptions } from "./native_options.ts";
import { fillSimulation } from "./resolve.ts";
import type { ResolvedSimulatedConfiguration } from "./simulation.ts";

/** Rows of a table that a step touches. */
export interface StepRows {
  /** Weights a row, fp32. */
  readonly dim: number;
  /** Different rows, of all samples of the step; a mean need not be a whole number. */
  readonly distinct: number;
}

/** Bytes of a step over the network. */
export interface WireBytes {
  /** Keys of the pull, keys and gradients of the push. */
  readonly toServers: number;
  /** Rows of the pull. */
  readonly fromServers: number;
}

/** Bytes a second of the link that is asked: one a nanosecond, so that times say bytes. */
const BANDWIDTH = 1e9;

/**
 * Bytes of a step over the network, all servers together. A row that several samples of the step need travels once.
 *
 * @param tables Every table of the model.
 * @throws {RangeError} for a number of rows or weights that is not above 0.
 */
export async function wireBytes(tables: readonly StepRows[]): Promise<WireBytes> {
  const wrong = tables.find(({ dim, distinct }) => !(dim > 0 && distinct > 0 && Number.isFinite(dim * distinct)));
  if (wrong !== undefined || tables.length === 0) {
    const found = wrong === undefined ? "no table" : `${wrong.distinct} rows of ${wrong.dim} weights`;
    throw new RangeError(
      `Cannot say what a step sends: found ${found}; give the rows and weights above 0 of each table`,
    );
  }
  // How many rows there are and in which memory changes no byte of the network.
  const simulation = fillSimulation({
    kind: "simulation",
    name: "wire",
    workload: {
      batch: 1,
      tables: tables.map(({ dim, distinct }, i) => ({
        name: `t${i}`,
        rows: Math.ceil(distinct),
        dim,
        lookups: Math.ceil(distinct),
        law: { s: 0 },
      })),
    },
    compute: { dense: 0, on: "accelerator", source: "none" },
    cluster: { servers: 1, workers: 1, network: { bandwidth: BANDWIDTH, latency: 0 } },
    configurations: { rows: { mode: "dram", tiers: [{ media: "ddr5-4800-8ch" }] } },
  }, ".");
  const demand = {
    tables: tables.map(({ distinct }) => ({ distinct, variance: 0, all: distinct, inTier: [distinct], seen: [] })),
  };
  const set = simulation.configurations["rows"] as ResolvedSimulatedConfiguration;
  const none = { faults: 0, migrations: 0, flushedRows: 0 };
  const { busy } = stepCost(await engineOptions(simulation, set, demand, 0, none));
  const bytes = (link: string): number =>
    busy.filter(({ on }) => on === link).reduce((sum, { ps }) => sum + ps, 0) * 1e-12 * BANDWIDTH;
  return { toServers: bytes("server link in"), fromServers: bytes("server link out") };
}
