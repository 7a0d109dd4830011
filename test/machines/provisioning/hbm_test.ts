/** `provision hbm`: flat mode, memory that firmware sets aside, and the cache mode, which is refused by name. */

import { assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { checkTarget } from "../../../machines/provisioning/check/check_target.ts";
import type { Plan, Refusal } from "../../../machines/provisioning/contract.ts";
import { provisionPlan } from "../../../machines/provisioning/provision_plan.ts";
import type { Verify } from "../../../machines/provisioning/verify.ts";
import { bareInventory } from "./inventories.ts";

const GIB = 1024 ** 3;
const DRAM = { "node.0.cpus": "0-55", "node.0.total": String(256 * GIB), "node.0.read_bandwidth_mb_s": "260000" };
const FLAT = {
  ...DRAM,
  "node.2.cpus": "",
  "node.2.total": String(64 * GIB),
  "node.2.read_bandwidth_mb_s": "1000000",
};
/** As firmware sets it aside, before it is memory. */
const ASIDE = {
  ...DRAM,
  "dax.dax0.0.origin": "hmem",
  "dax.dax0.0.driver": "device_dax",
  "dax.dax0.0.size": String(64 * GIB),
  "dax.dax0.0.target_node": "2",
};

const planOf = (facts: Record<string, string>): Plan | Refusal =>
  provisionPlan(bareInventory(facts), { target: "hbm" });

function planned(facts: Record<string, string>): Plan {
  const plan = planOf(facts);
  if (plan.kind === "refusal") throw new Error(plan.reason);
  return plan;
}

function refused(facts: Record<string, string>): Refusal {
  const plan = planOf(facts);
  if (plan.kind === "plan") throw new Error(plan.summary);
  return plan;
}

const landed: Verify = {
  dax: () => Promise.reject(new Error("no file")),
  node: () => Promise.resolve({ "bind.landed": "yes" }),
};

async function failing(facts: Record<string, string>, nodes: number[], verify: Verify = landed) {
  const lines = await checkTarget("hbm", bareInventory(facts), verify, { mounts: [], nodes });
  return Object.fromEntries(lines.filter(({ ok }) => !ok).map(({ id, text }) => [id, text]));
}

Deno.test("hbm: in flat mode nothing has to be made of the node, and both bandwidths are told", () => {
  const plan = planned(FLAT);
  assertEquals([plan.steps.map(({ id }) => id), plan.results.nodes], [["packages"], [2]]);
  assertStringIncludes(plan.summary, "firmware made HBM node 2 (flat mode)");
  assertStringIncludes(plan.warnings.join("\n"), "1000000 MB/s by HMAT where DRAM has 260000 MB/s");
});

Deno.test("hbm: what firmware sets aside becomes memory of its node, at every start, and nothing is destroyed", () => {
  const plan = planned(ASIDE);
  const run = plan.steps.filter(({ done }) => done === undefined);
  assertStringIncludes(run.flatMap(({ commands }) => commands).join("\n"), "--mode=system-ram dax0.0");
  assertEquals(plan.steps.map(({ id }) => id).slice(-2), ["boot-unit", "boot-rule-dax0.0"]);
  assertEquals(plan.steps.flatMap(({ destroys }) => destroys.filter(({ found }) => found !== undefined)), []);
});

Deno.test("hbm: the cache mode is named as what it is; slow nodes, PMEM's cache and no node at all are no HBM", () => {
  const cached = refused({ ...DRAM, "node.0.side_cache_size": String(64 * GIB) });
  assertMatch(cached.reason, /^HBM is in cache mode: a cache of 64 GiB is in front of the DRAM of node 0/);
  assertStringIncludes(cached.instead ?? "", "flat mode");
  for (
    const facts of [
      DRAM,
      { ...FLAT, "node.2.read_bandwidth_mb_s": "100000" },
      { ...FLAT, "node.0.read_bandwidth_mb_s": "2000000" },
      // Memory Mode: the cache is DRAM, in front of PMEM.
      { ...DRAM, "node.0.side_cache_size": String(64 * GIB), "pmem.modules": "12" },
      // It came from a CXL device, however fast.
      { ...FLAT, "dax.dax1.0.origin": "cxl", "dax.dax1.0.driver": "kmem", "dax.dax1.0.target_node": "2" },
    ]
  ) assertMatch(refused(facts).reason, /^No NUMA node without CPUs has more bandwidth/);
  const only = provisionPlan(bareInventory(FLAT), { target: "hbm", only: ["region0"] });
  assertEquals(only.kind, "refusal");
});

Deno.test("hbm --check: bandwidths of HMAT and pages that lie there, each a line; else what is missing", async () => {
  assertEquals(await failing(FLAT, [2]), {});
  const { "node.0.read_bandwidth_mb_s": _, ...silent } = FLAT;
  assertEquals(Object.keys(await failing(silent, [2])), ["bandwidth 2"]);
  assertMatch(
    (await failing({ ...FLAT, "node.2.read_bandwidth_mb_s": "100000" }, [2]))["bandwidth 2"] ?? "",
    /no more/,
  );
  const elsewhere = { ...landed, node: () => Promise.resolve({ "bind.landed": "no", "bind.pages": "0:2048" }) };
  assertMatch((await failing(FLAT, [2], elsewhere))["pages 2"] ?? "", /lie elsewhere \(node:pages 0:2048\)/);
  assertMatch((await failing(DRAM, []))["hbm"] ?? "", /no node without CPUs has more bandwidth/);
  const cached = { ...DRAM, "node.0.side_cache_size": String(64 * GIB) };
  assertMatch((await failing(cached, []))["hbm"] ?? "", /HBM is in cache mode/);
  assertMatch((await failing(ASIDE, []))["system-ram dax0.0"] ?? "", /is a device, not system memory/);
});
