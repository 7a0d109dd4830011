/** What a case's memory is, and that nothing is priced as something else. */

import type { Result, SampleRecord } from "../../scenarios/record.ts";
import { summarise } from "../../reports/summary/summary.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";

/** The fixture with kmem-dax on other memory: by the model's name, the owner's word, or the machine's facts. */
function kmemOn(
  { emulates, vouched, facts = {} }: {
    readonly emulates?: string;
    readonly vouched?: string;
    readonly facts?: Readonly<Record<string, string>>;
  },
): Result {
  const plain = fixtureResult({ configurations: ["dram", "kmem-dax"] });
  const samples = plain.samples.map((one): SampleRecord => {
    if (one.configuration === "dram") return one;
    const tiers = one.tiers.map(({ emulates: _, ...tier }) =>
      tier.type === "DRAM" || emulates === undefined ? tier : { ...tier, emulates }
    );
    const word = vouched === undefined ? {} : { vouched: { medium: vouched, by: "owner" as const, shows: "node 1" } };
    return { ...one, tiers, evidence: emulates === undefined ? "measured" : "emulated", ...word };
  });
  return { ...plain, samples, run: { ...plain.run, machine: { ...plain.run.machine, facts } } };
}

const kmem = (result: Result, options = {}) =>
  summarise(result, options).cases.find(({ name }) => name.startsWith("kmem-dax"));

Deno.test("a measured, vouched or emulated CXL run is never priced by a PMEM machine, and says at most what to pay", () => {
  for (
    const result of [
      kmemOn({ emulates: "cxl-type3-ddr4" }),
      kmemOn({ emulates: "cxl-type3-micron" }),
      kmemOn({ vouched: "cxl" }),
      kmemOn({ facts: { "cxl.mem0.ram_size": "274877906944" } }),
    ]
  ) {
    const one = kmem(result);
    assertEquals([one?.holding, one?.cost], ["cxl", undefined]);
    assertMatch(
      one?.costMissing ?? "",
      /^No public price of CXL memory; at most [\d.]+ \$\/GB-month \(95 %: [\d.]+ to [\d.]+\) for it to win against dram .*, beside 1 × ecs\.r6e/,
    );
    const text = summarise(result).verdict.headline;
    assertStringIncludes(text, "no public price of CXL memory");
  }
});

Deno.test("PMEM is priced where it is proven, and nothing where the record does not say what a node is", () => {
  assertEquals(kmem(kmemOn({ emulates: "optane-200-8x256" }))?.holding, "pmem");
  assertEquals(kmem(kmemOn({ vouched: "optane-200" }))?.holding, "pmem");
  assertEquals(kmem(kmemOn({ facts: { "pmem.region0.size": "1" } }))?.holding, "pmem");
  const both = { "pmem.region0.size": "1", "cxl.mem0.ram_size": "1" };
  for (const result of [kmemOn({}), kmemOn({ facts: both }), kmemOn({ emulates: "my-node" })]) {
    const one = kmem(result);
    assertEquals([one?.holding, one?.cost], ["other", undefined]);
    assertStringIncludes(one?.costMissing ?? "", "does not say what its memory is");
  }
});

Deno.test("a quote for a machine with CXL memory prices the run; at the price that wins, both cost the same", () => {
  const result = kmemOn({ emulates: "cxl-type3-ddr4" });
  const most = Number(/at most ([\d.]+) /.exec(kmem(result)?.costMissing ?? "")?.[1]);
  const gib = 1024;
  const hour = 3.035 + most * (gib * 2 ** 30 / 1e9) / 730;
  const text =
    "provider,name,role,vcpus,dram_gib,pmem_gib,network_gb_s,price,unit,currency,from,to,region,source,mark,note,cxl_gib\n" +
    `Alibaba Cloud,quote,memory,52,384,0,,${hour},hour,USD,2026-10,2026-10,here,an offer,V,,${gib}\n`;
  const one = kmem(result, { priceFiles: [{ name: "quote.csv", text }] });
  assertEquals([one?.cost?.offer.instance.name, one?.cost?.offer.machines], ["quote", 1]);
  // The quote holds 1,024 GiB where 500 GB at 90 % were asked for, so it costs more than the memory that would win.
  const bought = gib * 2 ** 30 / (5e11 / 0.9);
  const even = (one?.cost?.offer.pricePerHour ?? 0) - most * (gib * 2 ** 30 / 1e9) / 730 * (1 - 1 / bought);
  assert(Math.abs(even / (6.07 * (one?.relative?.value ?? 0)) - 1) < 0.01, `${even}`);
});

Deno.test("rows that the kernel places in DRAM and slower memory are not priced as DRAM", () => {
  for (const memory of ["weighted-interleave", "kernel-tiering"]) {
    const plain = fixtureResult({ configurations: ["dram", "fsdax"] });
    const scenario = structuredClone(plain.run.scenario) as unknown as { configurations: Record<string, unknown> };
    scenario.configurations["fsdax"] = { storage: "DRAM", memory };
    const samples = plain.samples.map((one) => ({ ...one, tiers: one.tiers.slice(0, 1) }));
    const run = { ...plain.run, scenario: scenario as never };
    const one = summarise({ ...plain, samples, run }).cases.find(({ name }) => name === "fsdax");
    assertEquals([one?.holding, one?.cost], ["paged", undefined]);
    assertStringIncludes(one?.costMissing ?? "", "how much of each to buy");
  }
});
