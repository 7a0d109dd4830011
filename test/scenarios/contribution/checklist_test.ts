import { checklistOf } from "../../../scenarios/contribution/checklist.ts";
import type { ChecklistItem } from "../../../scenarios/contribution/record.ts";
import { CONTRIBUTE_FILE } from "../../../scenarios/contribution/preset.ts";
import { loadScenario } from "../../../scenarios/load.ts";
import type { Result } from "../../../scenarios/record.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { fixtureResult } from "../../fixtures/result_fixture.ts";
import { both, captured } from "./machines.ts";

async function checked(
  facts: Record<string, string>,
  change: Partial<Result> = {},
): Promise<Map<string, ChecklistItem>> {
  const made = fixtureResult({ ...("failed" in change ? { failed: true } : {}) });
  const scenario = await loadScenario(CONTRIBUTE_FILE);
  const run = { ...made.run, scenario, machine: { ...made.run.machine, facts } };
  return new Map((await checklistOf({ ...made, run })).map((item) => [item.id, item]));
}

/** A machine as a measurement wishes it. */
const GOOD: Record<string, string> = {
  "cpu.virtual": "no",
  "cpu.packages": "1",
  "noise.governor": "performance",
  "noise.turbo": "off",
  "noise.smt": "off",
  "noise.numa_balancing": "0",
  "noise.loadavg": "0.10 0.20 0.30",
  "hugepages.transparent": "madvise",
  "firmware.vendor": "Intel",
  "firmware.version": "SE5C620.86B",
  "firmware.date": "08/05/2022",
  "pmem.region0.provider": "ACPI.NFIT",
  "pmem.region0.persistence_domain": "memory_controller",
  "pmem.modules": "12",
};

Deno.test("checklistOf() finds everything in order on a machine as wished, but for what no program can read", async () => {
  const items = await checked(GOOD);
  for (const [id, { status }] of items) assertEquals(status, id === "modules" ? "unknown" : "ok", id);
  assertStringIncludes(items.get("modules")?.found ?? "", "12 PMEM modules");
  assertEquals(items.get("firmware")?.found, "Intel SE5C620.86B 08/05/2022");
});

for (
  const [id, key, value] of [
    ["bare-metal", "cpu.virtual", "yes"],
    ["governor", "noise.governor", "powersave"],
    ["turbo", "noise.turbo", "on"],
    ["smt", "noise.smt", "on"],
    ["numa-balancing", "noise.numa_balancing", "1"],
    ["load", "noise.loadavg", "1.50 0.2 0.1"],
    ["huge-pages", "hugepages.transparent", "never"],
  ] as const
) {
  Deno.test(`checklistOf(): ${key}=${value} is not ok and says what to do, absent it is unknown`, async () => {
    const bad = (await checked({ ...GOOD, [key]: value })).get(id);
    assertEquals(bad?.status, "not ok");
    assert((bad?.next ?? "") !== "");
    const { [key]: _, ...rest } = GOOD as Record<string, string>;
    assertEquals((await checked(rest)).get(id)?.status, "unknown");
  });
}

Deno.test("checklistOf() tells threads on one socket from threads on two, whatever the NUMA nodes are", async () => {
  const two = { "cpu.packages": "2", "cpu.package.0.cpus": "0-3,8", "cpu.package.1.cpus": "4-7" };
  const nodes = {
    "one a socket": { "node.0.cpus": "0-3,8", "node.1.cpus": "4-7", "node.2.cpus": "" },
    "two a socket (SNC, NPS2)": {
      "node.0.cpus": "0-1",
      "node.1.cpus": "2-3,8",
      "node.2.cpus": "4-5",
      "node.3.cpus": "6-7",
    },
    "one for both sockets (NPS0)": { "node.0.cpus": "0-8" },
    "none": {},
  };
  for (const [how, some] of Object.entries(nodes)) {
    const facts = { ...GOOD, ...two, ...some };
    const found = async (allowed: string) => (await checked({ ...facts, "cpu.allowed": allowed })).get("sockets");
    const spread = await found("3-4");
    assertEquals(
      [spread?.status, spread?.found],
      ["not ok", "2 sockets; the threads ran on the CPUs of sockets 0, 1"],
      how,
    );
    assertStringIncludes(spread?.next ?? "", "with 0-3,8 for socket 0 or 4-7 for socket 1");
    const one = await found("0-3,8");
    assertEquals([one?.status, one?.found], ["ok", "2 sockets; all threads on the CPUs of socket 0"], how);
    assertEquals((await checked(facts)).get("sockets")?.status, "unknown", how);
  }
});

Deno.test("checklistOf(): nodes say nothing of sockets where the kernel does not tell these", async () => {
  const facts = { ...GOOD, "cpu.allowed": "4-5", "node.0.cpus": "0-3", "node.1.cpus": "4-7" };
  for (const packages of ["2", undefined]) {
    const { "cpu.packages": _, ...rest } = facts as Record<string, string>;
    const item = (await checked(packages === undefined ? rest : { ...rest, "cpu.packages": packages })).get("sockets");
    assertEquals([item?.status, item?.found], ["unknown", "which CPUs belong together cannot be read"]);
  }
});

Deno.test("checklistOf(): persistence domains that are not told are unknown, without PMEM there is no such item", async () => {
  const none = await checked({ ...GOOD, "pmem.region0.persistence_domain": "unknown" });
  assertEquals(none.get("persistence")?.status, "unknown");
  assertEquals(
    (await checked(both())).get("persistence")?.found,
    "region0: memory_controller, region1: memory_controller",
  );
  assert(!(await checked(captured("bare"))).has("persistence"));
});

Deno.test("checklistOf(): other scenarios and failed samples are not ok", async () => {
  assertEquals((await checked(GOOD, { failed: [] })).get("samples")?.status, "not ok");
  assertEquals((await checklistOf(fixtureResult())).find(({ id }) => id === "scenario")?.status, "not ok");
});
