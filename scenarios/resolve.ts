/**
 * Fills every default of a scenario in. Resolving a resolved scenario changes nothing.
 *
 * @module
 */

import { resolve as resolvePath } from "node:path";
import { ABLATION_CASES } from "./ablation.ts";
import { resolveCluster } from "./cluster.ts";
import type {
  CheckpointSchedule,
  Configuration,
  DistributionParameters,
  ResolvedConfiguration,
  ResolvedDistribution,
  ResolvedInitializer,
  ResolvedScenario,
  ResolvedWorkload,
  Scenario,
  Workload,
} from "./scenario.ts";
import { parseBytes } from "../base/bytes.ts";
import { resolveDims, resolveOptimisations, resolveOptimizers, resolveTables } from "./resolve_training.ts";
import { ssdTierOf, tiersOf, usesLibpmem, usesNodes } from "../ffi/storage.ts";
import { resolveRowFilter } from "../models/workloads/row_filter.ts";
import { trialSteps } from "./trial_steps.ts";
import { durationInSeconds } from "../base/units.ts";
import { SKEWS } from "../models/workloads/skews.ts";

/** Media model that a missing medium is emulated as, unless the configuration names another. */
const DEFAULT_MEDIA = { pmem: "optane-100-6x256", cxl: "cxl-type3-ddr4" } as const;

function resolveData(data: NonNullable<Workload["data"]>, directory: string): ResolvedWorkload["data"] {
  if ("criteo" in data) {
    return {
      criteo: typeof data.criteo === "string"
        ? resolvePath(directory, data.criteo)
        : data.criteo.map((path) => resolvePath(directory, path)),
      format: data.format ?? "auto",
      testEvery: data.testEvery ?? 10,
      maxRows: data.maxRows ?? 0,
      onError: data.onError ?? "error",
      numerics: data.numerics ?? "log",
    };
  }
  const skew = data.skew ?? "criteo";
  const parameters = typeof skew === "string" ? SKEWS[skew] : skew;
  if (parameters === undefined) throw new RangeError(`Cannot resolve the skew: "${skew}" is not a named skew`);
  return {
    synthetic: data.synthetic,
    scale: data.scale ?? 0.02,
    rows: data.rows ?? 1_000_000,
    testRows: data.testRows ?? 100_000,
    skew: { s: parameters.s, q: parameters.q, rows: parameters.rows ?? 0 },
    numerics: data.numerics ?? "log",
  };
}

function resolveInitializer(written: Workload["initializer"] = "truncatedNormal"): ResolvedInitializer {
  if (typeof written === "string" || !("defaultValueMatrix" in written)) return resolveDistribution(written);
  const { rows = 4096, base = "truncatedNormal" } = written.defaultValueMatrix;
  return { defaultValueMatrix: { rows, base: resolveDistribution(base) } };
}

function resolveDistribution(written: "truncatedNormal" | "glorot" | DistributionParameters): ResolvedDistribution {
  if (written === "glorot") return { glorot: {} };
  if (written === "truncatedNormal") return { truncatedNormal: { mean: 0, stddev: 0.05 } };
  if (!("truncatedNormal" in written)) return written;
  const { mean = 0, stddev = 0.05 } = written.truncatedNormal;
  return { truncatedNormal: { mean, stddev } };
}

/** Steps before the counted ones. */
const WARMUP = 10;

function resolveWorkload(workload: Workload, warmup: number, directory: string): ResolvedWorkload {
  const { model = "wdl" } = workload;
  return {
    model,
    data: resolveData(workload.data ?? { synthetic: "criteo-kaggle" }, directory),
    batch: workload.batch ?? 2048,
    steps: workload.steps ?? "auto",
    warmup: workload.warmup ?? warmup,
    dim: workload.dim ?? 16,
    dims: resolveDims(workload.dims),
    ...(workload.tables === undefined ? {} : { tables: resolveTables(workload.tables) }),
    hidden: [...workload.hidden ?? [1024, 512, 256]],
    ...(model === "dlrm" ? { bottom: [...workload.bottom ?? [512, 256]] } : {}),
    dropout: workload.dropout ?? 0,
    threads: workload.threads ?? "auto",
    deterministic: workload.deterministic ?? true,
    optimizer: resolveOptimizers(model, workload.optimizer),
    optimisations: resolveOptimisations(workload.optimisations),
    initializer: resolveInitializer(workload.initializer),
    ...resolveRowFilter(workload),
  };
}

/** Policy of tiers that a scenario does not give one, and background threads: the library's defaults. */
const EVICTION = { policy: "clock", evictionThreads: 1 } as const;

function resolveConfiguration(configuration: Configuration, directory: string): ResolvedConfiguration {
  const { storage, pmem, hbm, path = "auto", nodes = "auto", size, memory } = configuration;
  const paged = memory === "weighted-interleave" || memory === "kernel-tiering";
  const medium = configuration.medium ?? (paged ? "cxl" : undefined);
  const { policy = EVICTION.policy, evictionThreads = EVICTION.evictionThreads } = configuration;
  const place = (path: string) => path === "auto" ? "auto" : resolvePath(directory, path);
  const libpmem = usesLibpmem(configuration);
  const tiers = tiersOf(storage);
  const emulable = tiers.includes("PMEM") || memory !== undefined;
  return {
    about: configuration.about ?? "",
    storage,
    ...(pmem === undefined ? {} : { pmem }),
    ...(hbm === undefined ? {} : { hbm }),
    ...(hbm === "memkind" || hbm === "mbind" ? { hbmNodes: configuration.hbmNodes ?? "auto" } : {}),
    ...(configuration.hbmDevice === undefined ? {} : { hbmDevice: configuration.hbmDevice }),
    ...(configuration.hbmPoolSteps === undefined ? {} : { hbmPoolSteps: configuration.hbmPoolSteps }),
    ...(configuration.hbmHostBytes === undefined ? {} : { hbmHostBytes: parseBytes(configuration.hbmHostBytes) }),
    ...(libpmem ? { path: place(path) } : {}),
    // A pool's directory is on PMEM, so it is none for an SSD tier.
    ...(ssdTierOf(storage) === undefined ? {} : { ssdPath: place(configuration.ssdPath ?? (libpmem ? "auto" : path)) }),
    ...(configuration.ssd === undefined
      ? {}
      : { ssd: { media: configuration.ssd.media, devices: configuration.ssd.devices ?? 1 } }),
    ...(usesNodes(configuration) || paged ? { nodes } : {}),
    ...(size === undefined ? {} : { size: size.map(parseBytes) }),
    sizeCounts: configuration.sizeCounts ?? "all",
    ...(tiers.length > 1 ? { policy, evictionThreads } : {}),
    ...(memory === undefined ? {} : { memory }),
    ...(memory === "weighted-interleave" ? { weights: configuration.weights ?? [1, 4] } : {}),
    ...(medium === undefined ? {} : { medium }),
    ...(emulable ? { media: configuration.media ?? DEFAULT_MEDIA[medium ?? "pmem"] } : {}),
    ...(configuration.checkpoint === undefined ? {} : { checkpoint: configuration.checkpoint }),
    ...(configuration.machine === undefined ? {} : { machine: configuration.machine }),
  };
}

function resolveCheckpoint(
  { interval = "none", kind = "full", path = "auto" }: CheckpointSchedule,
  directory: string,
): NonNullable<ResolvedScenario["checkpoint"]> {
  return { interval, kind, path: path === "auto" ? "auto" : resolvePath(directory, path) };
}

/**
 * The scenario with every default filled in.
 *
 * @param scenario A valid scenario.
 * @param directory What relative paths in it start from: the folder of its file.
 */
export function fillDefaults(scenario: Scenario | ResolvedScenario, directory: string): ResolvedScenario {
  const { dram = "auto", quality = {}, checkpoint, cluster, cost = {}, configurations, matrix = {}, ablation } =
    scenario as Scenario;
  return {
    version: 1,
    name: scenario.name,
    about: scenario.about ?? "",
    workload: resolveWorkload(
      (scenario as Scenario).workload ?? {},
      trialSteps(scenario as Scenario) || WARMUP,
      directory,
    ),
    configurations: Object.fromEntries(
      Object.entries(configurations).map(([name, value]) => [name, resolveConfiguration(value, directory)]),
    ),
    dram: dram === "auto" ? "auto" : parseBytes(dram),
    repetitions: scenario.repetitions ?? 3,
    ...(scenario.sampling === undefined || scenario.sampling === "auto" ? {} : { sampling: scenario.sampling }),
    ...(scenario.aa === false ? { aa: false } as const : {}),
    budget: durationInSeconds(scenario.budget ?? "150 s"),
    quality: {
      samples: quality.samples ?? "auto",
      evaluations: quality.evaluations ?? 4,
      testRows: quality.testRows ?? 0,
      ...(quality.targetAuc === undefined ? {} : { targetAuc: quality.targetAuc }),
    },
    ...(checkpoint === undefined ? {} : { checkpoint: resolveCheckpoint(checkpoint, directory) }),
    ...(cluster === undefined ? {} : { cluster: resolveCluster(cluster) }),
    ...(scenario.target === undefined ? {} : { target: scenario.target }),
    cost: {
      model: cost.model ?? "cloud",
      prices: cost.prices ?? "2026-11",
      ...(cost.priceFiles === undefined || cost.priceFiles.length === 0
        ? {}
        : { priceFiles: cost.priceFiles.map((path) => resolvePath(directory, path)) }),
      boundary: cost.boundary ?? "checkpoints",
      bill: {
        workers: cost.bill?.workers ?? 1,
        worker: cost.bill?.worker ?? "p4d.24xlarge",
        data: parseBytes(cost.bill?.data ?? "1 TB"),
        checkpoints: cost.bill?.checkpoints ?? 2,
      },
      priceFor: parseBytes(cost.priceFor ?? "500 GB"),
    },
    matrix: Object.fromEntries(Object.entries(matrix).map(([field, values]) => [field, [...values]])),
    ...(ablation === undefined ? {} : {
      ablation: { switches: { ...ablation.switches }, cases: [...ablation.cases ?? ABLATION_CASES] },
    }),
    seed: scenario.seed ?? 0,
    whenUnavailable: scenario.whenUnavailable ?? "emulate",
  };
}
