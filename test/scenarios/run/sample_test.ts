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
