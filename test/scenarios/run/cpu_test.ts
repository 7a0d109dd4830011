import { fillDefaults } from "../../../scenarios/resolve.ts";
import type { MachineRecord } from "../../../scenarios/record.ts";
import { UnavailableError } from "../../../base/unavailable.ts";
import { possibleSwitches, requireCpu } from "../../../scenarios/run/cpu.ts";
import type { Scenario } from "../../../scenarios/scenario.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { FOUR } from "../fakes.ts";

const machine = (flags?: string): MachineRecord => ({
  cpu: "Test CPU",
  cpus: 2,
  memoryBytes: 1e9,
  nodes: 1,
  kernel: "6.1",
  facts: flags === undefined ? {} : { "cpu.flags": flags },
});
const workload = (bf16: "off" | "dense" | "rows" | "all") =>
  fillDefaults({ ...FOUR, workload: { optimisations: { bf16 } } }, "/").workload;
const ablated = (more: Partial<Scenario> = {}) =>
  fillDefaults({ ...FOUR, ablation: { switches: { stage: 1, bf16: "all" } }, ...more }, "/");

Deno.test("requireCpu() refuses BF16 products on a CPU without them, by name, and nothing else", () => {
  for (const bf16 of ["dense", "all"] as const) {
    const error = assertThrows(() => requireCpu(workload(bf16), machine("avx2 avx512f")), UnavailableError);
    assertEquals(
      error.message,
      `Cannot train with workload.optimisations.bf16 = "${bf16}": Test CPU lacks avx512_bf16 (it has avx2 avx512f); ` +
        'write "off", or "rows", which every CPU has',
    );
    requireCpu(workload(bf16), machine("avx2 avx512_bf16"));
    requireCpu(workload(bf16), machine()); // unknown: the library says
  }
  for (const bf16 of ["off", "rows"] as const) requireCpu(workload(bf16), machine(""));
});

Deno.test("possibleSwitches() leaves BF16 out of an ablation with the reason, unless absence is an error", () => {
  const { scenario, leftOut } = possibleSwitches(ablated(), machine("avx2"));
  assertEquals(scenario.ablation?.switches, { stage: 1 });
  assertEquals(leftOut, [{ switch: "bf16", why: "Test CPU lacks avx512_bf16 (it has avx2)" }]);
  assertEquals(possibleSwitches(ablated(), machine("avx512_bf16")).leftOut, []);
  const strict = ablated({ whenUnavailable: "error" });
  assertEquals(possibleSwitches(strict, machine("avx2")), { scenario: strict, leftOut: [] });
  const alone = ablated({ ablation: { switches: { bf16: "dense" } } });
  assertThrows(() => possibleSwitches(alone, machine("avx2")), UnavailableError);
  assert(possibleSwitches(fillDefaults(FOUR, "/"), machine("")).leftOut.length === 0);
});
