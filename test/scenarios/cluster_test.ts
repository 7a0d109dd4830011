import "../native_library.ts";
import { checkScenario } from "../../scenarios/check.ts";
import { holdersOf, layoutOf, trainersOf } from "../../scenarios/cluster.ts";
import { resolveScenario } from "../../scenarios/load.ts";
import { rankTierSizes, tierSizes } from "../../scenarios/run/tier_sizes.ts";
import type { Scenario } from "../../scenarios/scenario.ts";
import { assert, assertEquals } from "../assert.ts";
import { FOUR } from "./fakes.ts";

const { cluster: _, ...PLAIN } = { ...FOUR, cluster: undefined };
const OVER: Scenario = { ...PLAIN, cluster: { ranks: 4, servers: 2 } };

/** Path and message of everything that is wrong. */
function wrong(scenario: unknown): string[] {
  return checkScenario(scenario, new Map()).map(({ path, message }) => `${path.join(".")}: ${message}`);
}

Deno.test("a scenario over ranks resolves, and its resolution is itself valid and stays as it is", async () => {
  const resolved = await resolveScenario(OVER, "/");
  assertEquals(resolved.cluster, { ranks: 4, servers: 2, mode: "sync", launcher: "mpirun", mpi: "auto" });
  const asynchronous: Scenario = { ...PLAIN, cluster: { ranks: 3, servers: 1, mode: "async" } };
  const own = await resolveScenario(asynchronous, "/");
  assertEquals([own.cluster?.mode, own.cluster?.staleness], ["async", 2]);
  assertEquals(await resolveScenario(own, "/"), own);
  assertEquals(await resolveScenario(resolved, "/"), resolved);
  assertEquals([trainersOf(OVER.cluster!), holdersOf(OVER.cluster!), layoutOf(OVER.cluster!)], [2, 2, "servers"]);
  assertEquals((await resolveScenario(PLAIN, "/")).cluster, undefined);
});

Deno.test.each([
  [{ ranks: 3 }, "cluster.ranks: expected 1, 2, 4 or 8 ranks that train, found 3"],
  [
    { ranks: 4, servers: 1 },
    "cluster.ranks: expected 1, 2, 4 or 8 ranks that train, found 3 (4 ranks, 1 of them servers)",
  ],
  [{ ranks: 2, servers: 2 }, "cluster.servers: expected fewer servers than the 2 ranks, found 2"],
  [{ ranks: 2, layout: "servers" }, 'cluster.layout: expected "collocated" with 0 servers, found "servers"'],
  [
    { ranks: 3, servers: 1, layout: "collocated" },
    'cluster.layout: expected "servers" with 1 servers, found "collocated"',
  ],
  [{ ranks: 2, mode: "async" }, 'cluster.mode: expected "sync" without servers, found "async"'],
  [{ ranks: 2, staleness: 1 }, 'cluster.staleness: expected no such field with mode "sync", found 1'],
  [{ ranks: 2, launcher: "none" }, 'cluster.launcher: expected "mpirun" or "srun" to start 2 ranks, found "none"'],
])("the ranks %j are refused", (cluster, message) => {
  assertEquals(wrong({ ...PLAIN, cluster }), [message]);
});

Deno.test("what does not run over ranks is refused by its field, and runs without them", () => {
  const fields: [Partial<Scenario>, string][] = [
    [{ workload: { deterministic: false } }, "workload.deterministic"],
    [{ workload: { optimisations: { microBatch: 3 } } }, "workload.optimisations.microBatch"],
    [{ workload: { admission: { bloom: { keys: 9 } } } }, "workload.admission"],
    [{ workload: { tables: { C1: { admission: { bloom: { keys: 9 } } } } } }, "workload.tables.C1.admission"],
    [{ checkpoint: { interval: 4, kind: "delta" } }, "checkpoint.kind"],
    [
      { workload: { steps: 4 }, ablation: { switches: { microBatch: 6 } } },
      "ablation.switches.microBatch",
    ],
  ];
  for (const [part, field] of fields) {
    assertEquals(wrong({ ...PLAIN, ...part }), []);
    const found = wrong({ ...PLAIN, ...part, cluster: { ranks: 2 } });
    assert(found.length === 1 && found[0]?.startsWith(`${field}: `), `${field}: ${found.join("; ")}`);
  }
  const workload = {
    optimisations: { asyncEmbedding: true, microBatch: 4 },
    tables: { bag: { columns: ["C1", "C2"], combiner: "mean" }, C3: { expiry: { steps: 9 } } },
    admission: { counter: { frequency: 2 } },
    record: ["version"],
  } as const;
  assertEquals(wrong({ ...PLAIN, workload, cluster: { ranks: 2 } } as unknown as Scenario), []);
});

Deno.test("a matrix varies ranks and servers, and what is wrong in it is found where it is", () => {
  const cluster = { ranks: 1 };
  assertEquals(wrong({ ...PLAIN, cluster, matrix: { "cluster.ranks": [1, 2, 4, 8] } }), []);
  const [found] = checkScenario({ ...PLAIN, cluster, matrix: { "cluster.ranks": [1, 5] } }, new Map());
  assertEquals(found?.path, ["matrix", "cluster.ranks", 1]);
});

Deno.test("ranks that hold rows have an equal part of the sizes, and room for theirs in the last tier", async () => {
  const { configurations } = await resolveScenario(PLAIN, "/");
  const { fsdax } = configurations;
  assert(fsdax !== undefined);
  const [dram, tables] = [2 ** 26, 2 ** 30];
  assertEquals(rankTierSizes(fsdax, { dram, tables, holders: 1 }), tierSizes(fsdax, dram, tables));
  const [first, last = 0] = rankTierSizes(fsdax, { dram, tables, holders: 4 });
  assertEquals(first, dram / 4);
  assert(last > tables / 4 && last < tables, `${last} bytes`);
  const sized = { ...fsdax, size: [2 ** 20, 2 ** 24] };
  assertEquals(rankTierSizes(sized, { dram, tables, holders: 2 }), [2 ** 19, 2 ** 23]);
});
