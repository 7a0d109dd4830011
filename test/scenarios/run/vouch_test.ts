import { availability, configurations, inspectMachine } from "../../../machines/machine.ts";
import { UnavailableError } from "../../../base/unavailable.ts";
import { decideCases, environmentOf, howText } from "../../../scenarios/run/configurations.ts";
import { checkVouches, type KnownVouch, type Vouch, vouchableMedia, VouchError } from "../../../scenarios/run/vouch.ts";
import { UnresumableError } from "../../../scenarios/run/run.ts";
import type { Scenario } from "../../../scenarios/scenario.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "../../assert.ts";
import { captured, onMachine } from "../contribution/machines.ts";
import { casesOf, FOUR } from "../fakes.ts";

type Facts = Record<string, string>;

const OPTANE: readonly Vouch[] = [{ medium: "optane-200" }];
const GUEST: Facts = { "cpu.virtual": "yes", "library.libpmem.available": "yes", "library.memkind.available": "yes" };
/** A cloud VM whose PMEM was set aside, with a file system on it. */
const MEMMAP: Facts = { ...captured("memmap"), ...GUEST };
/** A cloud VM whose node 1 has memory and no CPUs. */
const NODE: Facts = { ...captured("cloud"), ...GUEST };

/** A machine with NVDIMMs, verified. */
const NFIT: Facts = { ...captured("fsdax"), ...GUEST, "cpu.virtual": "no" };

function decided(facts: Facts, vouches: readonly Vouch[], scenario: Scenario = FOUR, require?: "measured") {
  const here = availability(inspectMachine(facts));
  const known = vouches.map((one): KnownVouch => ({ ...one, kind: one.medium.startsWith("cxl") ? "cxl" : "pmem" }));
  const { runnable } = decideCases(casesOf(scenario), here, require, known);
  return Object.fromEntries(runnable.map((one) => [one.configuration, one]));
}

function refusal(facts: Facts, vouches: readonly Vouch[], scenario: Scenario = FOUR): string {
  return assertThrows(() => decided(facts, vouches, scenario), UnavailableError).message;
}

Deno.test("--vouch makes set-aside memory under a DAX file system measured, and slows it no second time", () => {
  const before = decided(MEMMAP, []);
  assertEquals([before["fsdax"]?.decision.evidence, before["fsdax"]?.decision.media], ["emulated", "optane-100-6x256"]);
  const { fsdax, dram, "kmem-dax": node, "memory-mode": mode } = decided(MEMMAP, OPTANE);
  assert(fsdax !== undefined);
  const { evidence, media, virtual, place, vouched } = fsdax.decision;
  assertEquals([evidence, media, virtual, place], [
    "measured",
    undefined,
    false,
    { kind: "directory", path: "/mnt/pmem0" },
  ]);
  assertEquals([vouched?.medium, vouched?.by], ["optane-200", "owner"]);
  assertStringIncludes(vouched?.shows ?? "", "memmap=");
  assertEquals(environmentOf(fsdax), {});
  assertStringIncludes(howText(fsdax.decision, 0), "the medium is optane-200 by the owner's word (/mnt/pmem0: region0");
  // The word for all is no word for those that it cannot be true of.
  assertEquals([dram?.decision.evidence, dram?.decision.vouched], ["measured", undefined]);
  for (const one of [node, mode]) {
    assertEquals([one?.decision.evidence, one?.decision.vouched], ["emulated", undefined]);
  }
});

Deno.test("--vouch takes a node without CPUs, whoever made it: a cloud, firmware over CXL memory", () => {
  const { "kmem-dax": node } = decided(NODE, [{ medium: "cxl", configuration: "kmem-dax" }]);
  assert(node !== undefined);
  const { evidence, media, place, vouched } = node.decision;
  assertEquals([evidence, media, place], ["measured", undefined, { kind: "nodes", nodes: [1], by: "memkind" }]);
  assertEquals(vouched, {
    medium: "cxl",
    by: "owner",
    shows: "node 1: memory without CPUs, and no device that says what it is; a hypervisor runs this machine",
  });
  assertEquals(environmentOf(node), { MEMKIND_DAX_KMEM_NODES: "1" });
  assert(howText(node.decision, 0).startsWith("memkind on node 1, wall clock; the medium is cxl"));
  // On bare metal the same: nothing says what firmware put there.
  const own = decided({ ...NODE, "cpu.virtual": "no" }, [{ medium: "cxl-type3-ddr5" }])["kmem-dax"];
  assertEquals([own?.decision.evidence, own?.decision.vouched?.medium], ["measured", "cxl-type3-ddr5"]);
});

Deno.test("doctor() names --vouch where only the owner knows what a medium is", () => {
  const next = (facts: Facts, name: string) =>
    configurations(inspectMachine(facts)).find(({ configuration }) => configuration === name)?.next;
  assertEquals(next(MEMMAP, "fsdax"), "tierbench run --vouch <medium>");
  assertEquals(next(NODE, "kmem-dax"), "tierbench run --vouch <medium>");
  assertEquals(next({ ...NFIT, "pmem.region0.provider": "virtio-pmem" }, "fsdax"), undefined);
  assertEquals(next(captured("bare"), "kmem-dax"), undefined);
});

Deno.test("--vouch says what a guest's NVDIMMs are: measured, with speed and price", () => {
  const files = decided({ ...captured("fsdax"), ...GUEST }, OPTANE)["fsdax"];
  assertEquals([files?.decision.evidence, files?.decision.virtual], ["measured", false]);
  const nodes = decided({ ...captured("kmem"), ...GUEST }, OPTANE)["kmem-dax"];
  assertEquals([nodes?.decision.evidence, nodes?.decision.place], ["measured", {
    kind: "nodes",
    nodes: [2, 3],
    by: "memkind",
  }]);
});

Deno.test("--vouch says of nodes through mbind what they are, without memkind too, and only what was asked for", () => {
  const MBIND = (medium?: "cxl") =>
    ({
      ...FOUR,
      configurations: { one: { storage: "PMEM_MBIND", ...(medium === undefined ? {} : { medium }) } },
    }) as Scenario;
  const facts = { ...NODE, "library.memkind.available": "no" };
  const one = decided(facts, [{ medium: "cxl" }], MBIND("cxl"))["one"];
  assert(one !== undefined);
  const { evidence, medium, place } = one.decision;
  assertEquals([evidence, medium, place], ["measured", "cxl", { kind: "nodes", nodes: [1], by: "mbind" }]);
  assertEquals(environmentOf(one), {});
  assertEquals(decided(facts, OPTANE, MBIND())["one"]?.decision.medium, "pmem");
  assertStringIncludes(refusal(facts, OPTANE, MBIND("cxl")), "it is to be CXL memory");
});

Deno.test("checkVouches() says what kind of medium is named", async () => {
  const said = await checkVouches(
    [{ medium: "cxl-type3-ddr5" }, { medium: "optane-100", configuration: "fsdax" }],
    FOUR as never,
  );
  assertEquals(said.map(({ kind }) => kind), ["cxl", "pmem"]);
});

Deno.test("--require measured accepts a medium that its owner vouches for, and no other", () => {
  const { configurations: { dram, fsdax } } = FOUR as unknown as { configurations: Record<string, object> };
  const two = { ...FOUR, configurations: { dram, fsdax } } as Scenario;
  assertEquals(decided(MEMMAP, OPTANE, two, "measured")["fsdax"]?.decision.evidence, "measured");
  const error = assertThrows(() => decided(MEMMAP, OPTANE, FOUR, "measured"), UnavailableError);
  assertEquals(error.message.match(/^[\w-]+(?= cannot be measured)/gm), ["memory-mode", "kmem-dax"]);
});

const PMEM = (more: object): Scenario =>
  ({ ...FOUR, configurations: { one: { storage: "PMEM_LIBPMEM", ...more } } }) as Scenario;
const NODES = (nodes: number[]): Scenario =>
  ({ ...FOUR, configurations: { one: { storage: "PMEM_MEMKIND", nodes } } }) as Scenario;
const ONE: readonly Vouch[] = [{ medium: "optane-200", configuration: "one" }];

for (
  const [name, facts, scenario, vouches, why] of [
    ["a tmpfs", MEMMAP, PMEM({ path: "/dev/shm" }), ONE, /"\/dev\/shm" is on no DAX file system/],
    ["a way out of the file system", MEMMAP, PMEM({ path: "/mnt/pmem0/../../tmp" }), ONE, /is on no DAX file system/],
    ["a folder that only begins like it", MEMMAP, PMEM({ path: "/mnt/pmem01" }), ONE, /is on no DAX file system/],
    ["no DAX option", { ...MEMMAP, "mount.1.dax": "never" }, PMEM({}), ONE, /mounted without DAX/],
    ["DAX by file", { ...MEMMAP, "mount.1.dax": "inode" }, PMEM({}), ONE, /dax=inode/],
    ["no libpmem", { ...MEMMAP, "library.libpmem.available": "no" }, PMEM({}), ONE, /libpmem cannot be opened/],
    ["no PMEM at all", captured("bare"), PMEM({}), ONE, /no PMEM region/],
    [
      "DRAM set aside from a node with CPUs",
      { ...MEMMAP, "pmem.region0.target_node": "0" },
      PMEM({}),
      ONE,
      /set aside from node 0, which has CPUs/,
    ],
    ["a file of the host", { ...NFIT, "pmem.region0.provider": "virtio-pmem" }, PMEM({}), ONE, /virtio-pmem/],
    ["what was verified", NFIT, PMEM({}), ONE, /was verified, which needs nobody's word/],
    ["a node with CPUs", NODE, NODES([0]), ONE, /node 0 has CPUs or no memory.*to be vouched for: node 1/],
    ["a node with CPUs beside one without", NODE, NODES([0, 1]), ONE, /node 0 has CPUs/],
    ["nodes that all have CPUs", captured("bare"), NODES([0]), ONE, /node 0 is no node without CPUs/],
    ["a node that is not there", NODE, NODES([7]), ONE, /node 7 has CPUs or no memory/],
    ["plain DRAM", MEMMAP, FOUR, [{ medium: "optane-200", configuration: "dram" }], /no PMEM or CXL memory/],
    ["Memory Mode", MEMMAP, FOUR, [{ medium: "optane-200", configuration: "memory-mode" }], /Memory Mode a guest sees/],
  ] as const
) {
  Deno.test(`--vouch is refused: ${name}`, () => {
    const message = refusal(facts, vouches, scenario);
    assertStringIncludes(message, `optane-200 cannot be vouched for as the medium of ${vouches[0]?.configuration}: `);
    assert(why.test(message), message);
  });
}

Deno.test("--vouch without a configuration is refused where it can be true of none, with a reason for each", () => {
  const message = refusal(captured("bare"), OPTANE);
  assertEquals(message.match(/(?<=as the medium of )[\w-]+/g), ["dram", "memory-mode", "fsdax", "kmem-dax"]);
});

Deno.test("checkVouches() wants media and configurations that exist, once, and says which were meant", async () => {
  const scenario = { configurations: casesOf(FOUR)[0]?.scenario.configurations ?? {} };
  const message = async (...vouches: Vouch[]) =>
    (await assertRejects(() => checkVouches(vouches, scenario), VouchError)).message;
  assertStringIncludes(await message({ medium: "optan-200" }), 'no such medium, did you mean "optane-200"?');
  assertStringIncludes(await message({ medium: "ddr4-2666-6ch" }), "it is no PMEM or CXL memory");
  assertStringIncludes(await message({ medium: "optane" }), "no such medium"); // also begins an SSD's name
  assertStringIncludes(
    await message({ medium: "cxl", configuration: "kmemdax" }),
    'no such configuration, did you mean "kmem-dax"?',
  );
  assertStringIncludes(await message({ medium: "cxl", configuration: "constructor" }), "no such configuration");
  assertStringIncludes(await message(...OPTANE, { medium: "cxl" }), "Cannot vouch twice");
  await checkVouches([{ medium: "cxl", configuration: "kmem-dax" }, ...OPTANE], scenario);
  const media = await vouchableMedia();
  for (const name of ["optane-100", "optane-200", "optane-200-8x256", "cxl", "cxl-type3"]) {
    assert(media.includes(name), name);
  }
});

Deno.test("a run records whose word it took, in every sample, and goes on with the same word only", async () => {
  const facts = { ...MEMMAP, "pmem.modules": "0" };
  await onMachine(facts, async ({ run }) => {
    const { run: first, samples } = await run({ vouch: OPTANE });
    assertEquals(first.vouched?.map(({ configuration, medium, by }) => [configuration, medium, by]), [
      ["fsdax", "optane-200", "owner"],
    ]);
    for (const { configuration, evidence, virtual, vouched } of samples) {
      assertEquals([evidence, virtual, vouched?.medium], [
        "measured",
        false,
        configuration === "fsdax" ? "optane-200" : undefined,
      ]);
    }
    const error = await assertRejects(() => run({ vouch: [{ medium: "optane-100" }], resume: true }), UnresumableError);
    assertStringIncludes(error.message, "--vouch for fsdax=optane-200, now it is fsdax=optane-100");
    assertEquals((await run({ vouch: OPTANE, resume: true })).samples.length, samples.length);
  });
});

Deno.test("what libpmem does not map directly is no sample, whatever was vouched for", async () => {
  await onMachine(MEMMAP, async ({ run }) => {
    const { samples, failed } = await run({ vouch: OPTANE });
    assert(samples.length > 0 && samples.every(({ configuration }) => configuration === "dram"));
    assert(failed.length > 0);
    for (const { configuration, error } of failed) {
      assertEquals(configuration, "fsdax");
      assertStringIncludes(error, "libpmem does not take its file for PMEM (file system tmpfs)");
    }
  }, Object.fromEntries(Array.from({ length: 200 }, (_, i) => [i + 1, "page-cache"])));
});
