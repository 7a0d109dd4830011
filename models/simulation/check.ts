/**
 * The rules between the fields of a simulation.
 *
 * @module
 */

import { nearest } from "../../base/nearest.ts";
import { type DocumentPath, foundText, type Problem } from "../../base/diagnostics.ts";
import { PAST_LIMIT } from "../../base/document.ts";
import { atPoint, type MatrixPoint, matrixPoints } from "../../base/matrix.ts";
import { validate } from "../../base/validate.ts";
import { simulationSchema } from "./schema.ts";
import { asWritten, listedSimulation } from "./written.ts";
import { STORES } from "./native_options.ts";
import { resolveTier } from "./resolve.ts";
import { FORMULA_POLICIES, type ResolvedTier, type SimulatedConfiguration, type Simulation } from "./simulation.ts";
import type { KnownMedia } from "../media/media.ts";
import { estimatedSeconds } from "./work.ts";

/** Cases a run may have at most; more is a slip, not a plan. */
const MOST_CASES = 2000;
/** Estimated work at most, two minutes of one core: four times that of the largest shipped simulation, `terabyte`. */
const MOST_SECONDS = 120;
/** Tables that the native library takes at once. */
const MOST_TABLES = 64;

function unknownName(path: DocumentPath, what: string, name: string, known: readonly string[]): Problem {
  const meant = nearest(name, known);
  return {
    path,
    message: `unknown ${what} "${name}"`,
    hint: meant === undefined ? `known: ${known.join(", ")}` : `did you mean "${meant}"?`,
  };
}

/** A medium that nobody knows, or whose model does not say how long the tier's stores take. */
function checkMedium(tier: ResolvedTier, path: DocumentPath, media: KnownMedia): Problem[] {
  const stores = media.get(tier.media);
  if (stores === undefined) return [unknownName(path, "media model", tier.media, [...media.keys()])];
  if (stores.has(tier.store)) return [];
  const others = [...media].filter(([, has]) => has.has(tier.store)).map(([name]) => name);
  return [{
    path,
    message:
      `the media model "${tier.media}" has no figure of ${STORES[tier.store]}s (write_${tier.store}_bandwidth), ` +
      `which this tier is written with`,
    hint: `media with it: ${others.join(", ")}`,
  }];
}

function checkTiers(one: SimulatedConfiguration, at: DocumentPath, media: KnownMedia): Problem[] {
  return one.tiers.flatMap((tier, i) => [
    ...checkMedium(resolveTier(tier, one.mode, i, one.tiers.length), [...at, "tiers", i, "media"], media),
    ...(tier.size !== undefined || i === one.tiers.length - 1 ? [] : [{
      path: [...at, "tiers", i],
      message: 'expected a field "size" of every tier but the last, found none',
    }]),
  ]);
}

function checkConfiguration(one: SimulatedConfiguration, at: DocumentPath, media: KnownMedia): Problem[] {
  const problems = checkTiers(one, at, media);
  const lines = one.mode === "memory-mode";
  const placement = one.placement ?? (lines ? "lines" : "rows");
  const tiers = one.tiers.length;
  if (lines && tiers !== 2) {
    problems.push({
      path: [...at, "tiers"],
      message: `expected two tiers in Memory Mode, DRAM and PMEM, found ${tiers}`,
    });
  }
  if ((placement === "lines") !== lines) {
    const message = `expected "lines" in Memory Mode and nowhere else, found ${foundText(placement)}`;
    problems.push({ path: [...at, "placement"], message });
  }
  if (placement === "pages" && tiers !== 2) {
    problems.push({ path: [...at, "placement"], message: `expected two tiers with "pages", found ${tiers}` });
  }
  if (placement === "interleave" && (tiers < 2 || one.mode === "ssd")) {
    const message = `expected two tiers of memory or more with "interleave", found ${
      one.mode === "ssd" ? "a disk" : `${tiers}`
    }`;
    problems.push({ path: [...at, "placement"], message });
  }
  if (one.weights !== undefined && (placement !== "interleave" || one.weights.length !== tiers)) {
    const message = placement === "interleave"
      ? `expected a weight for each of the ${tiers} tiers, found ${one.weights.length}`
      : `expected no such field without placement "interleave", found ${foundText(one.weights)}`;
    problems.push({ path: [...at, "weights"], message });
  }
  const sets = one.policy === "set-associative";
  const formula = FORMULA_POLICIES.has(one.policy ?? "lru");
  if (one.hits === "analytic" && !formula) {
    const message =
      `expected "sampled" or "exact" with the policy "${one.policy}", for which there is no formula, found "analytic"`;
    problems.push({ path: [...at, "hits"], message });
  }
  if ((one.hits === "sampled" || one.hits === "exact" || !formula || sets) && (tiers !== 2 || placement !== "rows")) {
    const message = `expected two tiers whose rows the store places where ${
      sets ? "the first is a row cache" : "hits are replayed"
    }, found ${tiers} and "${placement}"`;
    problems.push({ path: [...at, one.hits === undefined ? "policy" : "hits"], message });
  }
  if (one.ways !== undefined && !sets) {
    const message = `expected no such field without policy "set-associative", found ${one.ways}`;
    problems.push({ path: [...at, "ways"], message });
  }
  if (one.migration !== undefined && placement !== "pages") {
    const message = `expected no such field without placement "pages", found ${foundText(one.migration)}`;
    problems.push({ path: [...at, "migration"], message });
  }
  return problems;
}

/** Every table says once how popular its rows are; at a study's points a profile wins over a law. */
function checkTables({ workload, configurations }: Simulation): Problem[] {
  const exact = Object.entries(configurations).find(([, { hits }]) => hits === "exact");
  return [
    ...workload.tables.flatMap(({ law, profile }, i) => {
      if ((law === undefined) !== (profile === undefined)) return [];
      const message = `expected a field "law" or a field "profile", found ${law === undefined ? "neither" : "both"}`;
      return [{ path: ["workload", "tables", i], message }];
    }),
    ...(exact === undefined || workload.trace !== undefined ? [] : [{
      path: ["workload"],
      message: `expected a field "trace", which the configuration "${exact[0]}" with exact hits replays, found none`,
    }]),
  ];
}

function checkCases(simulation: Simulation, limit: boolean): Problem[] {
  const names = Object.keys(simulation.configurations);
  const known = (name: string, path: DocumentPath): Problem[] =>
    names.includes(name) ? [] : [unknownName(path, "configuration", name, names)];
  let cases = 0;
  const studies = (simulation.studies ?? []).flatMap((study, i) => {
    const at = ["studies", i];
    cases += (study.configurations ?? names).length *
      Object.values(study.vary ?? {}).reduce((product, values) => product * values.length, 1);
    return [
      ...(study.configurations ?? []).flatMap((name, n) => known(name, [...at, "configurations", n])),
      ...(study.baseline === undefined ? [] : known(study.baseline, [...at, "baseline"])),
      ...(study.vary?.["software"] === undefined ? [] : [{
        path: [...at, "vary", "software"],
        message: "expected a field of the simulation, found one whose file is read before any study",
        hint: 'vary what the file states, such as "compute.perRow"',
      }]),
    ];
  });
  if (limit && cases > MOST_CASES) {
    const message = `expected at most ${MOST_CASES} cases, found ${cases}`;
    studies.push({ path: ["studies"], message, hint: PAST_LIMIT });
  }
  const explain = (simulation.explain ?? []).flatMap(({ from, to }, i) => [
    ...known(from, ["explain", i, "from"]),
    ...known(to, ["explain", i, "to"]),
  ]);
  const published = (simulation.published ?? []).flatMap(({ configuration, relativeTo, of }, i) => [
    ...(of !== "extra-time" || relativeTo !== undefined ? [] : [{
      path: ["published", i],
      message: 'expected a field "relativeTo" of an extra time, found none',
    }]),
    ...known(configuration, ["published", i, "configuration"]),
    ...(relativeTo === undefined
      ? []
      : known(relativeTo.configuration, ["published", i, "relativeTo", "configuration"])),
  ]);
  return [...studies, ...explain, ...published];
}

/** Fields that a simulation gives other values, and where it says so. */
function pointsOf(
  { studies = [], explain = [], published = [] }: Simulation,
): { path: DocumentPath; point: MatrixPoint }[] {
  return [
    ...studies.flatMap(({ vary = {} }, i) =>
      matrixPoints(vary).map((point) => ({ path: ["studies", i, "vary"], point }))
    ),
    ...explain.map(({ at = {} }, i) => ({ path: ["explain", i, "at"], point: at })),
    ...published.flatMap(({ at = {}, relativeTo }, i) => [
      { path: ["published", i, "at"], point: at },
      { path: ["published", i, "relativeTo", "at"], point: relativeTo?.at ?? {} },
    ]),
  ];
}

/** Every field that is given another value, at every one of its values, must make a valid simulation. */
function checkPoints(simulation: Simulation, media: KnownMedia): Problem[] {
  const problems = pointsOf(simulation).flatMap(({ path, point }) => {
    if (Object.keys(point).length === 0) return [];
    const found = validate(simulationSchema, atPoint(simulation, point));
    const wrong = "problems" in found ? found.problems : checkOne(listedSimulation(found.value), media);
    return wrong.map((problem) => ({
      ...problem,
      path,
      message: `at ${Object.entries(point).map(([field, value]) => `${field}=${value}`).join(" ")}: ` +
        `${problem.path.join(".")}: ${problem.message}`,
    }));
  });
  return [...new Map(problems.map((problem) => [problem.message, problem])).values()];
}

/** The work of all cases, estimated before any of them starts. */
function checkWork(simulation: Simulation, fileBytes: (path: string) => number): Problem[] {
  const varied = (simulation.studies ?? []).flatMap(({ vary }) => vary?.["workload.trace"] ?? []);
  const traces = [simulation.workload.trace, ...varied].filter((path) => typeof path === "string");
  const seconds = estimatedSeconds(simulation, Math.max(0, ...traces.map(fileBytes)));
  if (seconds <= MOST_SECONDS) return [];
  return [{
    path: [],
    message: `expected work of at most ${MOST_SECONDS} s of one core, found about ${Math.ceil(seconds)} s ` +
      "(steps × workers × (servers + micro-batches) of every case, Memory Mode's samples, replays of laws and traces, explanations)",
    hint: `steps repeat one another: 64 of them suffice; several simulations can be compared; ${PAST_LIMIT}`,
  }];
}

function checkOne(simulation: Simulation, media: KnownMedia): Problem[] {
  const { workload, cluster = {}, configurations } = simulation;
  const problems = Object.entries(configurations).flatMap(([name, one]) =>
    checkConfiguration(one, ["configurations", name], media)
  );
  const tables = workload.tables.reduce((sum, { count = 1 }) => sum + count, 0);
  if (tables > MOST_TABLES) {
    const hint = "tables that are alike may be one with their rows and lookups added up";
    const message = `expected at most ${MOST_TABLES} tables, found ${tables}`;
    problems.push({ path: ["workload", "tables"], message, hint });
  }
  if ((cluster.servers ?? 0) > 0 && simulation.compute.activations === "first-tier") {
    const message = 'expected "caches" with servers, whose rows go over the network, found "first-tier"';
    problems.push({ path: ["compute", "activations"], message });
  }
  const repeats = (workload.cycle ?? 0) > 0;
  const deep = Object.entries(configurations).find(([, { tiers, placement = "rows", hits }]) =>
    hits === "exact" || placement === "rows" && tiers.length > 2 || placement === "pages" || placement === "lines"
  );
  if (repeats && deep !== undefined) {
    const message =
      `expected no such field with the configuration "${deep[0]}": batches repeat in front of one tier, or of two ` +
      "whose rows the store places by a law";
    problems.push({ path: ["workload", "cycle"], message });
  }
  if ((cluster.servers ?? 0) > 0 && cluster.network === undefined) {
    problems.push({ path: ["cluster"], message: 'expected a field "network" with "servers", found none' });
  }
  if ((cluster.servers ?? 0) === 0 && (cluster.workers ?? 1) > 1) {
    const hint = "without servers each machine trains alone; give it servers";
    const message = `expected "servers" with more than one worker, found ${cluster.workers} workers`;
    problems.push({ path: ["cluster", "workers"], message, hint });
  }
  return problems;
}

/**
 * Everything that is wrong with a document as a simulation; empty if nothing is.
 *
 * @param media The media models there are: {@linkcode mediaStores}.
 * @param limit Whether more work than a slip would ask for is a problem.
 * @param fileBytes Bytes of a trace by its path as written; 0 if that is not known.
 */
export function checkSimulation(
  document: unknown,
  media: KnownMedia,
  limit = true,
  fileBytes: (path: string) => number = () => 0,
): readonly Problem[] {
  const found = validate(simulationSchema, document);
  if ("problems" in found) return found.problems;
  const simulation = listedSimulation(found.value);
  const problems = [...checkTables(simulation), ...checkOne(simulation, media), ...checkCases(simulation, limit)];
  if (problems.length > 0) return problems.map((problem) => asWritten(problem, found.value));
  const wrong = checkPoints(simulation, media);
  return wrong.length > 0 || !limit ? wrong : checkWork(simulation, fileBytes);
}
