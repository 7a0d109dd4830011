/**
 * The rules between ranks and the rest of a scenario: how many may train, and what does not run over ranks.
 *
 * @module
 */

import { type DocumentPath, foundText, type Problem } from "../base/diagnostics.ts";
import { layoutOf, type RankCluster, trainersOf } from "./cluster.ts";
import type { Scenario, Workload } from "./scenario.ts";

/** Numbers of ranks that may train: a batch has eight micro-shards, and each rank a whole subtree of their sum. */
const TRAINERS: readonly number[] = [1, 2, 4, 8];

/** What is wrong with the ranks of a scenario; empty without ranks. */
export function checkCluster({ cluster, workload = {}, checkpoint, ablation }: Scenario): Problem[] {
  if (cluster === undefined) return [];
  const asynchronous = cluster.mode === "async";
  const problems = [...checkRanks(cluster), ...checkMode(cluster), ...checkWorkload(workload)];
  if (asynchronous && workload.optimisations?.asyncEmbedding === true) {
    problems.push({
      path: ["workload", "optimisations", "asyncEmbedding"],
      message: `expected no such field with mode "async", found true`,
      hint: "nobody knows which batch a rank gets next; staleness is what rows may miss",
    });
  }
  if (checkpoint?.kind === "delta") {
    problems.push({
      path: ["checkpoint", "kind"],
      message: `expected "full" with "cluster", found "delta"`,
      hint: "checkpoints of ranks are full ones",
    });
  }
  const { deterministic, microBatch } = ablation?.switches ?? {};
  if (deterministic !== undefined) {
    problems.push(refused(["ablation", "switches", "deterministic"], deterministic, WHY.deterministic));
  }
  return [...problems, ...checkMicroBatch(["ablation", "switches", "microBatch"], microBatch)];
}

/** Why a field is refused over ranks, and what to do. */
const WHY = {
  deterministic: "over ranks results are the same bits on any number of them",
  bloom: 'its counters are shared by keys, so that other keys would get rows on another number of ranks; use "counter"',
} as const;

function refused(path: DocumentPath, found: unknown, hint: string): Problem {
  return { path, message: `expected no such field with "cluster", found ${foundText(found)}`, hint };
}

/** A batch has eight micro-shards, of which each micro-batch has as many. */
function checkMicroBatch(path: DocumentPath, found: unknown): Problem[] {
  if (found === undefined || TRAINERS.includes(found as number)) return [];
  return [{ path, message: `expected 1, 2, 4 or 8 with "cluster", found ${foundText(found)}` }];
}

function checkRanks(cluster: RankCluster): Problem[] {
  const { ranks, servers = 0, layout, launcher } = cluster;
  const problems: Problem[] = [];
  const at = (field: keyof RankCluster) => ["cluster", field];
  const trainers = trainersOf(cluster);
  if (servers >= ranks) {
    problems.push({
      path: at("servers"),
      message: `expected fewer servers than the ${ranks} ranks, found ${servers}`,
      hint: `"ranks" counts servers, too: ${servers + 1} of them leave one that trains`,
    });
  } else if (!TRAINERS.includes(trainers)) {
    problems.push({
      path: at("ranks"),
      message: `expected 1, 2, 4 or 8 ranks that train, found ${trainers}` +
        (servers === 0 ? "" : ` (${ranks} ranks, ${servers} of them servers)`),
    });
  }
  if (layout !== undefined && layout !== layoutOf(cluster)) {
    problems.push({
      path: at("layout"),
      message: `expected "${layoutOf(cluster)}" with ${servers} servers, found "${layout}"`,
      hint: layout === "servers" ? 'say how many: "servers": 1' : 'leave "servers" out: every rank holds rows',
    });
  }
  if (launcher === "none" && ranks > 1) {
    problems.push({
      path: at("launcher"),
      message: `expected "mpirun" or "srun" to start ${ranks} ranks, found "none"`,
      hint: '"none" is for one rank alone',
    });
  }
  return problems;
}

function checkMode(cluster: RankCluster): Problem[] {
  const { mode = "sync", staleness } = cluster;
  if (mode === "async" && layoutOf(cluster) === "collocated") {
    return [{
      path: ["cluster", "mode"],
      message: `expected "sync" without servers, found "async"`,
      hint:
        'a rank that trains and holds rows answers nobody while it computes; give some ranks the rows: "servers": 1',
    }];
  }
  if (mode === "async" || staleness === undefined) return [];
  return [{
    path: ["cluster", "staleness"],
    message: `expected no such field with mode "sync", found ${staleness}`,
    hint: 'ranks in step miss no updates; write "mode": "async"',
  }];
}

function checkWorkload({ deterministic, optimisations = {}, tables = {}, ...all }: Workload): Problem[] {
  const problems: Problem[] = [];
  const report = (path: DocumentPath, found: unknown, hint: string) => problems.push(refused(path, found, hint));
  problems.push(...checkMicroBatch(["workload", "optimisations", "microBatch"], optimisations.microBatch));
  if (deterministic === false) report(["workload", "deterministic"], false, WHY.deterministic);
  for (const [path, one] of [[["workload"], all], ...Object.entries(tables).map(tableAt)] as const) {
    const { admission = "none" } = one;
    if (admission !== "none" && "bloom" in admission) report([...path, "admission"], admission, WHY.bloom);
  }
  return problems;
}

type Table = NonNullable<Workload["tables"]>[string];

function tableAt([name, table]: readonly [string, Table]): readonly [readonly string[], Table] {
  return [["workload", "tables", name], table];
}
