import fc from "fast-check";
import { ABLATION_CASES, ablationVariants, neededBy, offValue, variantFields } from "../../scenarios/ablation.ts";
import type { SwitchName } from "../../scenarios/ablation.ts";
import { checkScenario } from "../../scenarios/check.ts";
import { planCases } from "../../scenarios/plan.ts";
import { fillDefaults } from "../../scenarios/resolve.ts";
import type { Ablation, Scenario, Switches } from "../../scenarios/scenario.ts";
import { NO_OPTIMISATIONS } from "../../models/workloads/training.ts";
import { quickScenario } from "../../scenarios/variations.ts";
import { assert, assertEquals } from "../assert.ts";
import { mediaStores } from "../../models/media/media.ts";
import { FOUR } from "./fakes.ts";

const MEDIA = await mediaStores();

const ALL: Switches = {
  stage: 2,
  smartStage: true,
  asyncEmbedding: true,
  microBatch: 4,
  embeddingFusion: true,
  graphFusion: true,
  memoryReuse: true,
  executor: "cost-model",
  bf16: "dense",
  workQueue: 2,
  deterministic: false,
};

const ablated = (ablation: Ablation): Scenario => ({ ...FOUR, ablation });
const casesOf = (ablation: Ablation) => planCases(fillDefaults(ablated(ablation), "/"));

Deno.test("ablationVariants() are none, each alone, all, all but each; a switch takes along what it needs", () => {
  const names = Object.keys(ALL) as SwitchName[];
  const subsets = fc.subarray(names, { minLength: 1 })
    .filter((some) =>
      some.every((name) => neededBy(name) === undefined || some.includes(neededBy(name) as SwitchName))
    );
  fc.assert(fc.property(subsets, (some) => {
    const switches = Object.fromEntries(some.map((name) => [name, ALL[name]])) as Switches;
    const variants = ablationVariants({ switches, cases: ABLATION_CASES });
    assertEquals(variants.length, 2 + 2 * some.length);
    assertEquals(new Set(variants.map(({ name }) => name)).size, variants.length);
    for (const { kind, on, switch: one } of variants) {
      if (kind === "none") assertEquals(on, []);
      if (kind === "alone") {
        assertEquals(
          on,
          some.filter((name) => name === one || name === neededBy(one as SwitchName)),
        );
      }
      if (kind === "all") assertEquals(on, some);
      if (kind === "all-but-one") assert(!on.includes(one as SwitchName));
      for (const name of on) {
        const needed = neededBy(name);
        assert(needed === undefined || on.includes(needed), `${name} without ${needed}`);
      }
    }
  }));
});

Deno.test("variantFields() sets every switch, on or off, and nothing else", () => {
  const variants = ablationVariants({ switches: { stage: 2, deterministic: false }, cases: ["alone"] });
  assertEquals(variants.map((variant) => variantFields(variant, { stage: 2, deterministic: false })), [
    { "workload.optimisations.stage": 0, "workload.deterministic": true },
    { "workload.optimisations.stage": 2, "workload.deterministic": true },
    { "workload.optimisations.stage": 0, "workload.deterministic": false },
  ]);
  for (const name of Object.keys(ALL) as SwitchName[]) assert(offValue(name) !== ALL[name]);
});

Deno.test("planCases() has every variant on every configuration, without anything on in none", () => {
  const cases = casesOf({ switches: ALL });
  assertEquals(cases.length, 4 * (2 + 2 * 11));
  const of = (name: string) => cases.find((one) => one.name === name)?.scenario.workload;
  assertEquals(of("dram ablation=none")?.optimisations, NO_OPTIMISATIONS);
  const { deterministic: _, ...on } = ALL;
  assertEquals(of("fsdax ablation=all")?.optimisations, { ...NO_OPTIMISATIONS, ...on });
  assertEquals(of("fsdax ablation=all")?.deterministic, false);
  assertEquals(of("dram ablation=all-but-stage")?.optimisations.smartStage, false);
  assertEquals(cases[0]?.scenario.ablation, undefined);
  const plain = casesOf({ switches: { bf16: "dense" } })[0]?.scenario.workload.optimisations;
  assertEquals(plain?.graphFusion, "auto", "what is no switch is as the scenario has it");
});

Deno.test("an ablation goes through quick runs, a matrix and resolving twice", () => {
  const written = ablated({ switches: ALL });
  const workload = { ...written.workload, warmup: 48 }; // the steps in which smartStage tries are not counted
  const scenario = fillDefaults({ ...written, workload, matrix: { "workload.batch": [32, 64] } }, "/");
  assertEquals(fillDefaults(scenario, "/"), scenario);
  assertEquals(checkScenario(scenario, MEDIA), []);
  assertEquals(planCases(scenario).length, 2 * 4 * 24);
  assertEquals(planCases(scenario)[0]?.name, "dram workload.batch=32 ablation=none");
  const quick = quickScenario(scenario);
  assertEquals(quick.ablation?.cases, ["alone", "all"]);
  assertEquals(checkScenario(quick, MEDIA), []);
});

for (
  const [change, expected] of [
    [{ ablation: { switches: {} } }, "expected at least one switch"],
    [{ ablation: { switches: { stage: 0 } } }, "expected a value other than 0, which is what off is"],
    [{ ablation: { switches: { deterministic: true } } }, "expected a value other than true"],
    [{ ablation: { switches: { smartStage: true } } }, 'expected the switch "stage" beside it'],
    [{ ablation: { switches: { microBatch: 64 } }, workload: { steps: 5, batch: 32 } }, "at most the 32 samples"],
    [{ ablation: { switches: { bf17: "dense" } } }, 'unknown field "bf17"'],
    [{ ablation: { switches: { stage: 1 } }, workload: {} }, 'expected a number of "steps" with an ablation'],
    [{ ablation: { switches: { stage: 1 } }, quality: {} }, 'expected a number of "quality.samples" with an ablation'],
    [{ matrix: { ablation: ["none"] } }, "expected a field that may differ between cases"],
  ] as const
) {
  Deno.test(`an ablation is refused: ${expected}`, () => {
    const found = checkScenario({ ...FOUR, ...change }, MEDIA);
    assert(found.some(({ message }) => message.includes(expected)), JSON.stringify(found));
  });
}
