import "../../native_library.ts";
import type { PreparedCase } from "../../../scenarios/run/prepare.ts";
import { checkMapping } from "../../../scenarios/run/sample.ts";
import type { WorkerTier } from "../../../scenarios/run/worker_protocol.ts";
import { assertThrows } from "../../assert.ts";

Deno.test("a sample whose rows lie on another node than was asked for is none", () => {
  const one = {
    decision: { media: "optane-100-6x256", place: { kind: "node", nodes: [1] } },
  } as unknown as PreparedCase;
  const check = (facts: WorkerTier["facts"], type = "PMEM_MEMKIND") => checkMapping({ type, facts } as WorkerTier, one);
  check({ nodes_asked: "1", node: "1", pages: "1:512" });
  check({ nodes_asked: "0,1", node: "1", pages: "0:3,1:512" });
  check({ nodes_asked: "auto", node: "2", pages: "2:512" });
  check({ nodes_asked: "1", node: "1" }); // nothing was touched, or the kernel does not say
  assertThrows(
    () => check({ nodes_asked: "1", node: "1", pages: "0:12,1:500,3:8" }),
    Error,
    "Cannot measure rows on NUMA node 1: 20 of 520 sampled pages lie on node 0, 3; give the rows",
  );
  assertThrows(() => check({ nodes_asked: "auto", node: "2", pages: "0:512" }), Error, "rows on NUMA node 2");
});

Deno.test("a sample whose pages the kernel did not place as its figures say is none", () => {
  const check = (place: object, facts: WorkerTier["facts"]) =>
    checkMapping({ type: "DRAM", facts } as WorkerTier, { decision: { place } } as unknown as PreparedCase);
  const interleaved = { kind: "interleaved", nodes: [0, 2], slower: [2], share: 0.8 };
  check(interleaved, { pages: "0:100,2:412" });
  assertThrows(
    () => check(interleaved, { pages: "0:400,2:112" }),
    Error,
    "22 % of sampled pages lie on node 2, the weights say 80 %",
  );
  assertThrows(() => check(interleaved, {}), Error, "where pages lie is not known");
  const tiered = { kind: "tiered", slower: [2] };
  check(tiered, { pages: "0:500,2:12" });
  assertThrows(() => check(tiered, { pages: "0:512" }), Error, "so all rows are in DRAM; raise workload.data.scale");
  check({ kind: "none" }, { pages: "0:512" });
});
