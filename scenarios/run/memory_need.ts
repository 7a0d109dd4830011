/**
 * What the process of a sample takes of memory at the most, compared with what a container's limit leaves: who goes over it
 * is killed without a word.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
import { tiersOf } from "../../ffi/storage.ts";
import { tableBytes, tablesOf } from "../../models/workloads/sizes.ts";
import { dramBudget, tierSizes } from "./tier_sizes.ts";
import { vocabularyOf } from "../../models/workloads/vocabulary.ts";
import { UnavailableError } from "../../base/unavailable.ts";
import { configurationOf, type RunnableCase } from "./configurations.ts";
import type { MemoryLimit } from "./memory_limit.ts";

const MIB = 2 ** 20;
/** The runtime, the libraries and their code, buffers of data and of the stage, bytes. */
const PROCESS = 64 * MIB;
/** Of rows: the index, half-empty chunks, what policies keep of each row. `deno task bench:store` prints the overhead. */
const ROWS_FACTOR = 1.25;
/** The index of rows in files is in memory: 16 bytes a row, of 128 or more. */
const INDEX_SHARE = 8;
/** Copies of each weight of the dense layers: itself, gradient, two slots of its optimizer, two forms for oneDNN. */
const WEIGHT_COPIES = 6;
/** Of each value between the layers: forward, backward, and rows before they are put side by side. */
const VALUE_COPIES = 4;
/** Numeric columns. */
const NUMERICS = 13;

/** A case with the bytes of its tables, whether its data are made or not. */
export interface SizedCase extends RunnableCase {
  /** Bytes of DRAM in front of slower tiers. */
  readonly dram: number;
  /** Bytes of the rows when every key has one. */
  readonly tableBytes: number;
}

/** What a sample takes in memory at the most, bytes. */
export interface MemoryNeed {
  /** Rows, their index and what describes them. */
  readonly rows: number;
  /** Dense layers and what flows between them. */
  readonly network: number;
  /** Everything else of the process. */
  readonly process: number;
}

/**
 * What a sample of a case takes at the most.
 *
 * @param one The case.
 * @param filesInMemory Whether the directory that stands for PMEM keeps its files in memory.
 */
export function memoryNeed(one: SizedCase, filesInMemory: boolean = false): MemoryNeed {
  const { decision: { place, hbm }, dram, tableBytes } = one;
  const { workload } = one.scenario;
  const configuration = configurationOf(one);
  const tiers = tiersOf(configuration.storage);
  const sizes = tierSizes(configuration, dram, tableBytes);
  // Files on a disk can be written back, and a file that we make goes to the disk where memory has no room for it.
  const inFiles = place.kind === "scratch" || (place.kind === "directory" && !filesInMemory);
  const onDevice = hbm?.by === "opencl" && !hbm.device.isCpu;
  const isHeld = (tier: (typeof tiers)[number]) =>
    tier === "PMEM" ? !inFiles : tier === "HBM" ? !onDevice : tier === "DRAM";
  const all = tableBytes * ROWS_FACTOR;
  const held = tiers.map((tier, i) => isHeld(tier) ? Math.min(sizes[i] ?? 0, all) : 0);
  const index = tiers.every(isHeld) ? 0 : tableBytes / INDEX_SHARE; // of rows in files; some sizes do not count it
  const rows = held.reduce((sum, bytes) => sum + bytes, index + Math.min(configuration.hbmHostBytes ?? 0, all));
  const { ranks } = one.scenario.cluster ?? { ranks: 1 };
  return { rows, network: ranks * networkBytes(workload), process: ranks * PROCESS };
}

function networkBytes({ batch, hidden, bottom, ...workload }: RunnableCase["scenario"]["workload"]): number {
  const rows = tablesOf(workload).reduce((sum, { columns, dim }) => sum + columns.length * dim, 0);
  let weights = 0, values = 0;
  for (const layers of [[NUMERICS + rows, ...hidden, 1], [NUMERICS, ...bottom ?? []]]) {
    layers.forEach((width, i) => {
      weights += width * (layers[i + 1] ?? 1);
      values += width;
    });
  }
  return 4 * (WEIGHT_COPIES * weights + VALUE_COPIES * values * batch);
}

/** The bytes of a case whose data are synthetic, before they are made; none of another. */
export function sizedBefore(one: RunnableCase): SizedCase[] {
  const { data } = one.scenario.workload;
  if (!("synthetic" in data)) return [];
  const bytes = tableBytes(vocabularyOf(data.scale), one.scenario.workload);
  return [{ ...one, tableBytes: bytes, dram: dramBudget(one.scenario, bytes) }];
}

/**
 * Refuses cases that a container's limit may not hold.
 *
 * @param cases The cases with their bytes.
 * @param limit The limit, if there is one.
 * @param isInMemory Whether files in a directory are in memory.
 * @throws {UnavailableError} naming them with what they need, and what is left.
 */
export async function checkMemory(
  cases: readonly SizedCase[],
  limit: MemoryLimit | undefined,
  isInMemory: (directory: string) => Promise<boolean>,
): Promise<void> {
  if (limit === undefined) return;
  const lines: string[] = [];
  for (const one of cases) {
    const { place } = one.decision;
    const need = memoryNeed(one, place.kind === "directory" && await isInMemory(place.path));
    const bytes = need.rows + need.network + need.process;
    if (bytes <= limit.left) continue;
    lines.push(
      `${one.name} cannot run here: it needs up to ${formatBytes(bytes)} (rows and index ${formatBytes(need.rows)}, ` +
        `network ${formatBytes(need.network)}, process ${formatBytes(need.process)})`,
    );
  }
  if (lines.length === 0) return;
  throw new UnavailableError(
    `${lines.join("\n")}\nThe memory limit of ${
      formatBytes(limit.limit)
    } of the control group "${limit.group}" leaves ` +
      `${formatBytes(limit.left)}, files in /dev/shm included: raise it (docker run --memory), or write a smaller ` +
      `"scale" or "batch"`,
  );
}
