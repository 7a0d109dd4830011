/**
 * The rules between the fields of a scenario, which the schema of single fields cannot say.
 *
 * @module
 */

import { formatBytes, parseBytes } from "../base/bytes.ts";
import { type DocumentPath, foundText, type Problem } from "../base/diagnostics.ts";
import { checkCluster } from "./check_cluster.ts";
import { checkAblation, checkWorkload } from "./check_training.ts";
import { atPoint, matrixPoints } from "../base/matrix.ts";
import { nearest } from "../base/nearest.ts";
import type { KnownMedia, MediaStore } from "../models/media/media.ts";
import type { Configuration, MatrixPoint, Scenario, Size } from "./scenario.ts";
import { FIXED_FIELDS, scenarioSchema } from "./schema.ts";
import {
  canLast,
  dramTierOf,
  hasDramTier,
  hasHbm,
  needsPmemLibrary,
  type ScenarioStorage,
  ssdTierOf,
  STORAGE_TYPES,
  tiersOf,
  usesLibpmem,
  usesNodes,
} from "../ffi/storage.ts";
import { PAST_LIMIT } from "../base/document.ts";
import { validate } from "../base/validate.ts";

/** Cases a run may have at most; more is a slip, not a plan. */
const MAX_POINTS = 1000;
/** Samples a run may have at most: each is a process of a third of a second at least, so these take an hour. */
const MOST_SAMPLES = 10_000;

/** Whether the kernel places pages over DRAM and slower nodes. */
const placesPages = (memory: Configuration["memory"]): boolean => memory !== undefined && memory !== "memory-mode";

function checkStorage(configuration: Configuration, at: DocumentPath): Problem[] {
  const { storage, hbm, path, ssdPath, nodes, size, memory } = configuration;
  const problems: Problem[] = [];
  const report = (field: string, message: string, hint?: string) =>
    problems.push({ path: [...at, field], message, ...(hint === undefined ? {} : { hint }) });
  const tiers = tiersOf(storage);
  const ssd = ssdTierOf(storage) !== undefined;
  const checkHolder = (field: "pmem" | "hbm", needs: (type: ScenarioStorage) => boolean, hint: string) => {
    const found = configuration[field];
    if (needs(storage) && found === undefined) {
      problems.push({ path: at, message: `expected a field "${field}" with storage "${storage}", found none`, hint });
    }
    if (needs(storage) || found === undefined) return;
    const types = STORAGE_TYPES.filter(needs).map((type) => `"${type}"`).join(", ");
    report(field, `expected no such field with storage "${storage}", found "${found}"`, `it belongs to ${types}`);
  };
  checkHolder(
    "pmem",
    needsPmemLibrary,
    '"pmem": "libpmem" for a DAX file system, "mbind" or "memkind" for a NUMA node',
  );
  checkHolder(
    "hbm",
    hasHbm,
    '"hbm": "opencl" for the memory of a GPU, "memkind" or "mbind" for NUMA nodes of HBM',
  );
  if (configuration.hbmNodes !== undefined && hbm !== "memkind" && hbm !== "mbind") {
    report("hbmNodes", `expected no such field without hbm "memkind" or "mbind"`);
  }
  for (const field of ["hbmDevice", "hbmPoolSteps", "hbmHostBytes"] as const) {
    if (configuration[field] !== undefined && hbm !== "opencl") {
      report(field, `expected no such field without hbm "opencl"`);
    }
  }
  if (path !== undefined && !usesLibpmem(configuration)) {
    if (!ssd) report("path", `expected no such field without libpmem or an SSD tier, found ${foundText(path)}`);
    else if (ssdPath !== undefined) {
      report("path", `expected no such field beside "ssdPath" without libpmem, found ${foundText(path)}`);
    }
  }
  if (ssdPath !== undefined && !ssd) {
    report("ssdPath", `expected no such field without an SSD tier, found ${foundText(ssdPath)}`);
  }
  if (configuration.ssd !== undefined && !ssd) {
    report("ssd", `expected no such field without an SSD tier, found ${foundText(configuration.ssd)}`);
  }
  for (const field of ["policy", "evictionThreads"] as const) {
    if (configuration[field] === undefined || tiers.length > 1) continue;
    report(field, `expected no such field with one tier, found ${foundText(configuration[field])}`);
  }
  if (nodes !== undefined && !usesNodes(configuration) && !placesPages(memory)) {
    report("nodes", `expected no such field without memkind or mbind, found ${foundText(nodes)}`);
  }
  if (memory !== undefined && storage !== "DRAM") {
    const what = memory === "memory-mode" ? "in Memory Mode" : `with memory "${memory}"`;
    report("memory", `expected storage "DRAM" ${what}, found "${storage}"`);
  }
  if (configuration.weights !== undefined && memory !== "weighted-interleave") {
    report("weights", `expected no such field without memory "weighted-interleave"`);
  }
  if (memory === "memory-mode" && configuration.medium === "cxl") {
    report("medium", `expected "pmem" in Memory Mode, found "cxl"`);
  }
  for (const field of ["medium", "media"] as const) {
    const found = configuration[field];
    if (found === undefined || tiers.includes("PMEM") || memory !== undefined) continue;
    const what = ssd ? "without PMEM" : "for plain DRAM";
    const hint = `${ssd ? "a disk" : "plain DRAM"} is never emulated`;
    report(field, `expected no such field ${what}, found "${found}"`, hint);
  }
  if (size !== undefined && size.length > tiers.length) {
    const most = `${tiers.length} size${tiers.length === 1 ? "" : "s"}`;
    report("size", `expected at most ${most} for "${storage}", found ${size.length}`);
  }
  return problems;
}

/** Every configuration with a tier below DRAM has the same DRAM: a size that contradicts `dram` would break that. */
function checkDram(configuration: Configuration, dram: Size, at: DocumentPath): Problem[] {
  const tier = dramTierOf(configuration.storage) ?? 0;
  const first = configuration.size?.[tier];
  if (!hasDramTier(configuration.storage) || first === undefined) return [];
  if (dram !== "auto" && parseBytes(first) === parseBytes(dram)) return [];
  return [{
    path: [...at, "size", tier],
    message: `expected the DRAM that every configuration with a tier below it gets (dram: ${
      dram === "auto" ? '"auto"' : formatBytes(parseBytes(dram))
    }), found ${foundText(first)}`,
    hint: dram === "auto" ? 'write it in "dram" too' : 'leave "size" out, or write the same in "dram"',
  }];
}

/** Checkpoints of single configurations: in place where the last tier can keep them. */
function checkCheckpoints({ configurations, checkpoint, cluster }: Scenario): Problem[] {
  return Object.entries(configurations).flatMap(([name, configuration]) => {
    const { checkpoint: kind, storage } = configuration;
    if (kind === undefined) return [];
    const path = ["configurations", name, "checkpoint"];
    if (checkpoint === undefined) {
      const hint = '"checkpoint": { "interval": 0.25 } at the top says when they are made';
      return [{ path, message: `expected no such field without "checkpoint" of the scenario, found "${kind}"`, hint }];
    }
    if (kind !== "in-place") return [];
    if (cluster !== undefined) {
      return [{
        path,
        message: `expected "full" or "delta" with "cluster", found "in-place"`,
        hint: "ranks write files",
      }];
    }
    if (canLast(configuration)) return [];
    const hint = "a last tier of SSDHASH, or of PMEM over libpmem, keeps them; memory is volatile, LEVELDB keeps none";
    return [{ path, message: `expected "full" or "delta" with storage "${storage}", found "in-place"`, hint }];
  });
}

function checkPoint(scenario: Scenario, varied?: ReadonlySet<string>): Problem[] {
  const configurations = Object.entries(scenario.configurations).flatMap(([name, configuration]) => {
    const at = ["configurations", name];
    return [...checkStorage(configuration, at), ...checkDram(configuration, scenario.dram ?? "auto", at)];
  });
  return [
    ...checkWorkload(scenario, varied),
    ...configurations,
    ...checkAblation(scenario),
    ...checkCluster(scenario),
    ...checkCheckpoints(scenario),
  ];
}

function checkField(field: string, configurations: readonly string[]): Problem[] {
  const [first = field, second = ""] = field.split(".");
  if (first === "configurations" && !configurations.includes(second)) {
    const meant = nearest(second, configurations);
    return [{
      path: ["matrix", field],
      message: `unknown configuration "${second}"`,
      hint: meant === undefined ? `configurations: ${configurations.join(", ")}` : `did you mean "${meant}"?`,
    }];
  }
  if (!FIXED_FIELDS.includes(first)) return [];
  return [{
    path: ["matrix", field],
    message: `expected a field that may differ between cases, found "${field}", which belongs to the whole run`,
    hint: "fields of workload, configurations, cluster, dram and seed may vary",
  }];
}

/** The matrix entry that a problem of an expanded scenario comes from, if it comes from one. */
function relocate(problem: Problem, point: MatrixPoint, matrix: NonNullable<Scenario["matrix"]>): Problem {
  for (const [field, value] of Object.entries(point)) {
    const keys = field.split(".");
    const shared = problem.path.filter((key, i) => key === keys[i]).length;
    if (shared < Math.min(keys.length, problem.path.length) || problem.path.length === 0) continue;
    const position = matrix[field]?.indexOf(value) ?? -1;
    const unknown = problem.message.startsWith("unknown field");
    return { ...problem, path: unknown || position < 0 ? ["matrix", field] : ["matrix", field, position] };
  }
  return problem;
}

function checkMatrix(scenario: Scenario, limit: boolean): Problem[] {
  const matrix = scenario.matrix ?? {};
  const fields = Object.keys(matrix).flatMap((field) => checkField(field, Object.keys(scenario.configurations)));
  if (fields.length > 0) return fields;
  const varied = new Set(Object.keys(matrix));
  const points = Object.values(matrix).reduce((product, values) => product * values.length, 1);
  if (limit && points > MAX_POINTS) {
    const message = `expected at most ${MAX_POINTS} combinations, found ${points}`;
    return [{ path: ["matrix"], message, hint: PAST_LIMIT }];
  }
  const problems = matrixPoints(matrix).flatMap((point) => {
    const validation = validate(scenarioSchema, atPoint(scenario, point));
    const found = "problems" in validation ? validation.problems : checkPoint(validation.value, varied);
    return found.map((problem) => relocate(problem, point, matrix));
  });
  return [...new Map(problems.map((problem) => [JSON.stringify([problem.path, problem.message]), problem])).values()];
}

/** The work of a run, estimated before anything of it starts. */
function checkWork({ configurations, matrix = {}, ablation, repetitions = 3 }: Scenario): Problem[] {
  const points = Object.values(matrix).reduce((product, values) => product * values.length, 1);
  const variants = ablation === undefined ? 1 : 2 + 2 * Object.keys(ablation.switches).length;
  const cases = Object.keys(configurations).length * points * variants;
  if (cases * repetitions <= MOST_SAMPLES) return [];
  return [{
    path: ["configurations"],
    message: `expected at most ${MOST_SAMPLES} samples, found about ${cases * repetitions}: ${
      Object.keys(configurations).length
    } configurations × ${points} points × ${variants} variants × ${repetitions} repetitions`,
    hint: `each sample is a process of its own: several scenarios can be compared; ${PAST_LIMIT}`,
  }];
}

/** Stores that emulation asks a medium for: of Memory Mode's lines that are written back, of rows in place, of a drive's blocks. */
function storesAsked({ memory }: Configuration, field: string): readonly MediaStore[] {
  return field === "ssd" || memory === "memory-mode" ? ["cached"] : ["nt", "cached"];
}

function checkMedia(scenario: Scenario, media: KnownMedia): Problem[] {
  const known = [...media.keys()];
  return Object.entries(scenario.configurations).flatMap(([name, configuration]) =>
    ([[["media"], configuration.media], [["ssd", "media"], configuration.ssd?.media]] as const).flatMap(
      ([field, word]) => {
        if (word === undefined) return [];
        const asked = storesAsked(configuration, field[0]), has = media.get(word);
        const lacks = asked.find((store) => has?.has(store) === false);
        if (lacks !== undefined) {
          const others = [...media].filter(([, stores]) => asked.every((store) => stores.has(store))).map(([one]) =>
            one
          );
          return [{
            path: ["configurations", name, ...field],
            message: `the media model "${word}" has no figure write_${lacks}_bandwidth, which emulation asks for`,
            hint: `media with it: ${others.join(", ")}`,
          }];
        }
        if (has !== undefined) return [];
        const meant = nearest(word, known);
        return [{
          path: ["configurations", name, ...field],
          message: `unknown media model "${word}"`,
          hint: meant === undefined ? `all media models: ${known.join(", ")}` : `did you mean "${meant}"?`,
        }];
      },
    )
  );
}

/**
 * Everything that is wrong with a document as a scenario; empty if nothing is.
 *
 * @param document The parsed file.
 * @param media The media models there are, and the stores that each has figures for.
 * @param limit Whether more samples than a slip would ask for are a problem.
 */
export function checkScenario(document: unknown, media: KnownMedia, limit = true): readonly Problem[] {
  const validation = validate(scenarioSchema, document);
  if ("problems" in validation) return validation.problems;
  const { value: scenario } = validation;
  const work = limit ? checkWork(scenario) : [];
  if (work.length > 0) return work;
  if (scenario.matrix !== undefined) {
    const plain = Object.keys(scenario.matrix).every((field) => !field.endsWith(".media"));
    return [...checkMatrix(scenario, limit), ...(plain ? checkMedia(scenario, media) : [])];
  }
  return [...checkPoint(scenario), ...checkMedia(scenario, media)];
}
