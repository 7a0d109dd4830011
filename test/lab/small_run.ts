/**
 * What guests train: the smallest run that goes through every part of a step, beside DRAM, so that rows can be compared
 * to the bit. Prices are asked for: a report has to withhold those of virtual media.
 *
 * @module
 */

import type { Result } from "../../scenarios/record.ts";
import type { Summary } from "../../reports/summary/summary_types.ts";
import { parseCsv } from "../../models/costs/csv.ts";
import { parseResultText, resultOf } from "../../scenarios/result.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import type { Guest } from "./guest.ts";

/** The configurations that guests have. */
export const CONFIGURATIONS = {
  "dram": { storage: "DRAM" },
  "fsdax": { storage: "DRAM_PMEM", pmem: "libpmem", path: "auto" },
  "kmem-dax": { storage: "DRAM_PMEM", pmem: "memkind", nodes: "auto" },
} as const;

/** Fields of the workload, for scenarios and for `--set`. */
export const SMALL = {
  "workload.data.scale": 0.0005,
  "workload.data.rows": 4096,
  "workload.data.testRows": 256,
  "workload.batch": 64,
  "workload.hidden": [32, 16],
  "workload.steps": 20,
  "workload.warmup": 2,
  "repetitions": 3,
} as const;

/** A scenario for these configurations. */
export function smallScenario(names: readonly (keyof typeof CONFIGURATIONS)[], steps: number): string {
  return JSON.stringify({
    version: 1,
    name: "small-run",
    workload: {
      model: "wdl",
      data: { synthetic: "criteo-kaggle", scale: 0.0005, rows: 4096, testRows: 256, skew: "criteo" },
      batch: 64,
      hidden: [32, 16],
      steps,
      warmup: 2,
    },
    configurations: Object.fromEntries(names.map((name) => [name, CONFIGURATIONS[name]])),
    dram: "auto",
    whenUnavailable: "error",
    repetitions: 3,
    quality: { samples: 0 },
    cost: { model: "cloud", prices: "2026-11", boundary: "parameter-servers", priceFor: "500 GB" },
    seed: 5,
  });
}

/** A run's report and records. */
export interface SmallRun {
  readonly summary: Summary;
  readonly result: Result;
  /** `summary.csv`, a row a case: column → text. */
  readonly rows: readonly Readonly<Record<string, string>>[];
}

const LONG = { timeoutMs: 600_000 };

/** Trains 20 steps on DRAM and one configuration, three times each. */
export async function smallRun(guest: Guest, name: "fsdax" | "kmem-dax", out: string): Promise<SmallRun> {
  await guest.writeFile("/root/small.json", smallScenario(["dram", name], 20));
  await guest.output(`tierbench run small.json --out ${out}`, LONG);
  return {
    summary: JSON.parse(await guest.readFile(`/root/${out}/summary.json`)) as Summary,
    result: resultOf(parseResultText(await guest.readFile(`/root/${out}/result.jsonl`), "result.jsonl").records),
    rows: parseCsv(await guest.readFile(`/root/${out}/summary.csv`), "summary.csv").map(({ fields }) => fields),
  };
}

/**
 * The samples took the way of a measurement, are recorded as emulated on a virtual medium, and the report shows neither
 * speed nor price of them, though it does of DRAM; all rows are equal to the bit.
 */
export function assertWithheld({ summary, result, rows }: SmallRun, name: string): void {
  assertEquals(result.failed, []);
  const samples = result.samples.filter(({ configuration }) => configuration === name);
  assertEquals(samples.map(({ evidence, virtual }) => [evidence, virtual]), Array(3).fill(["emulated", true]));
  for (const { tiers, environment, how } of samples) {
    const pmem = tiers.find(({ type }) => type.startsWith("PMEM_"));
    assert(pmem !== undefined && pmem.emulates === undefined, how);
    assertEquals(environment["PMEM_IS_PMEM_FORCE"], undefined);
    assert(!how.includes("slowed"), how);
  }
  const [shown, dram] = [name, "dram"].map((one) => summary.cases.find(({ configuration }) => configuration === one));
  assert(shown !== undefined && dram !== undefined);
  assert(dram.throughput !== undefined && dram.cost !== undefined, "DRAM's speed and price are the proof of the test");
  assertEquals([shown.throughput, shown.step, shown.relative, shown.cost, shown.perProcess, shown.phases], [
    ...Array(4).fill(undefined),
    [],
    [],
  ]);
  assertStringIncludes(shown.costMissing ?? "", "virtual");
  const [row = {}, other = {}] = [shown, dram].map((one) => rows.find((cells) => cells["case"] === one.name));
  const figures = Object.keys(other).filter((column) => /_seconds$|_per_|^speed|^price_|^share_saved/.test(column));
  assert(figures.filter((column) => other[column] !== "").length > 10, `columns of speed and price: ${figures}`);
  assertEquals(figures.filter((column) => row[column] !== ""), []);
  assertEquals(summary.identical?.same, true);
}
