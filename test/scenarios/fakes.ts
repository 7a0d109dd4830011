/** Stand-ins for everything a run needs that is not under test: machine, data, worker processes. */

import { fileURLToPath } from "node:url";
import type { Availability } from "../../machines/availability.ts";
import { planCases } from "../../scenarios/plan.ts";
import type { RunDependencies } from "../../scenarios/run/prepare.ts";
import type { Scenario } from "../../scenarios/scenario.ts";
import { fillDefaults } from "../../scenarios/resolve.ts";

const NOTHING_UNPROVEN: Availability["unproven"] = {
  fsdax: { possible: false, why: "there is no PMEM region" },
  kmemDax: { possible: false, why: "every node has CPUs" },
};

/** A machine without PMEM. */
export const NO_PMEM: Availability = {
  dram: { available: true },
  fsdax: { available: false, reason: "no region in ndctl" },
  kmemDax: { available: false, reason: "no node without CPUs" },
  hbm: { available: false, reason: "no node has more bandwidth than DRAM" },
  hbmDevice: () => ({
    available: false,
    reason: "no driver is installed; the package pocl-opencl-icd brings one",
    emulable: false,
  }),
  memkind: { available: true },
  dramNodes: [0],
  tiering: { available: false, reason: "numa_balancing is 0" },
  memoryMode: { available: false, reason: "no PMEM modules" },
  ssd: () => ({ available: true }),
  unproven: NOTHING_UNPROVEN,
  existingNode: 0,
};

/** A machine with PMEM set up in every way. */
export const ALL_PMEM: Availability = {
  dram: { available: true },
  fsdax: { available: true, path: "/mnt/pmem0", virtual: false },
  kmemDax: { available: true, nodes: [2], virtual: false },
  hbm: { available: true, nodes: [4], virtual: false },
  hbmDevice: () => ({
    available: true,
    device: { name: "H100", platform: "CUDA", driver: "550", version: "OpenCL_3.0", isCpu: false },
  }),
  memkind: { available: true },
  dramNodes: [0],
  weights: { 0: 1, 2: 4 },
  tiering: { available: true, dramBytes: 2 ** 30 },
  memoryMode: { available: true, cacheBytes: 2 ** 30, virtual: false },
  ssd: () => ({ available: true }),
  unproven: NOTHING_UNPROVEN,
  existingNode: 0,
};

/** The four configurations over a small workload. */
export const FOUR: Scenario = {
  name: "four",
  workload: { steps: 5, warmup: 1, batch: 64, data: { synthetic: "criteo-kaggle", rows: 1000 } },
  configurations: {
    "dram": { storage: "DRAM" },
    "memory-mode": { storage: "DRAM", memory: "memory-mode" },
    "fsdax": { storage: "DRAM_PMEM", pmem: "libpmem" },
    "kmem-dax": { storage: "DRAM_PMEM", pmem: "memkind" },
  },
  aa: false, // tests of it ask for it
  quality: { samples: 640, evaluations: 2 },
  seed: 7,
};

/** The cases of a scenario. */
export function casesOf(scenario: Scenario): ReturnType<typeof planCases> {
  return planCases(fillDefaults(scenario, "/"));
}

/** What a fake worker was started with. */
export interface Start {
  readonly environment: Readonly<Record<string, string>>;
  readonly spec: { readonly task: string; readonly steps: number; readonly store: Record<string, unknown> };
}

/** Dependencies whose workers are fakes, and what those were started with. */
export interface Fakes {
  readonly dependencies: RunDependencies;
  /** Directories of pool files that exist. */
  readonly scratch: Set<string>;
  starts(): Promise<Start[]>;
}

/**
 * Makes fakes.
 *
 * @param directory For their files.
 * @param behaviours Start number, from 1, to what goes wrong in it.
 */
export function fakes(directory: string, behaviours: Record<number, string> = {}, here: Availability = NO_PMEM): Fakes {
  const log = `${directory}/starts.jsonl`;
  const scratch = new Set<string>();
  const script = fileURLToPath(new URL("./fake_worker.ts", import.meta.url));
  const flags = ["run", "-A", "--no-config", "--no-lock", "--no-check"];
  return {
    scratch,
    dependencies: {
      inspectMachine: () => ({ cpu: "fake", cpus: 2, memoryBytes: 1e9, nodes: 1, kernel: "6.1", facts: {} }),
      readEnergy: () => ({ zones: [], missing: "a fake has none" }),
      availability: () => here,
      prepareData: () =>
        Promise.resolve({
          train: "train.tbc",
          test: "test.tbc",
          reused: true,
          record: {
            kind: "synthetic" as const,
            source: "fake",
            trainRows: 1000,
            testRows: 100,
            digest: "abc",
            cardinalities: [100_000],
          },
        }),
      mediaOptions: (media, { kind }) => Promise.resolve({ [`${kind}.medium`]: media }),
      mediaKind: (media) =>
        Promise.resolve(media.startsWith("cxl") ? "cxl" : media.startsWith("nvme") ? "ssd" : "pmem"),
      modelLimit: (media, { rowBytes, threads }) =>
        Promise.resolve({
          ...{ readBytesPerSecond: 4e9, writeBytesPerSecond: 1e9, rowBytes, threads },
          questions: [{
            ...{ media, operation: "load", bytes: rowBytes, threads, depth: 1, devices: 1, hops: 0, prefetch: true },
            ...{ ahead: true, region: 0, sequential: false, fenced: false, figures: 0, alike: 9 },
          }],
        }),
      modelBands: () =>
        Promise.resolve([
          { kind: "read", factor: 1.2, basis: "kind", points: 9, curves: 2, bytes: [64, 256], threads: [1, 8] },
        ]),
      makeScratch: () => {
        const path = `${directory}/pool-${scratch.size}`;
        scratch.add(path);
        return Promise.resolve({
          path,
          medium: "tmpfs" as const,
          [Symbol.asyncDispose]: () => Promise.resolve(void scratch.delete(path)),
        });
      },
      makeSsdScratch: (parent = directory) => {
        const path = `${parent}/ssd-${scratch.size}`;
        scratch.add(path);
        return Promise.resolve({
          path,
          medium: "disk" as const,
          [Symbol.asyncDispose]: () => Promise.resolve(void scratch.delete(path)),
        });
      },
      removeLeftScratch: () => Promise.resolve(0),
      goneAncestor: () => undefined,
      memoryLimit: () => undefined,
      availableMemory: () => 0, // one process after the other, unless a test says otherwise
      isInMemory: () => Promise.resolve(false),
      command: [Deno.execPath(), ...flags, script, log, JSON.stringify(behaviours)],
      rankStart: () => ({ launcher: "none", words: [], environment: {} }),
      versions: () => ({ tierbench: "0" }),
    },
    starts: async () => {
      const text = await Deno.readTextFile(log).catch(() => "");
      return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Start);
    },
  };
}
