import "../native_library.ts";
import { compareResults } from "../../reports/compare/compare.ts";
import { parsePage } from "../../reports/capsule/read.ts";
import { renderReport } from "../../reports/html/render.ts";
import type { Result } from "../../scenarios/record.ts";
import { RerunError, rerunOf } from "../../scenarios/rerun.ts";
import { runWith } from "../../scenarios/run/run.ts";
import { assertEquals, assertThrows } from "../assert.ts";
import { fakes, FOUR } from "./fakes.ts";

Deno.test("rerunOf() gives the scenario in a report, which runs with the same seeds and compares equal", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const { dependencies } = fakes(folder);
    const first = await runWith(dependencies, FOUR, { out: `${folder}/a` });
    const { result } = parsePage(renderReport(first), "a.html");
    const { scenario, set } = rerunOf(result, "a.html");
    const again = await runWith(dependencies, scenario, { out: `${folder}/b`, set });
    assertEquals(again.run.scenarioDigest, first.run.scenarioDigest);
    assertEquals(again.samples.map(({ seed }) => seed), first.samples.map(({ seed }) => seed));
    const { checks, unlike } = compareResults(result, again);
    assertEquals(unlike, []);
    assertEquals(checks.map(({ status }) => status), ["same", "same", "same"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("rerunOf() asks for the steps that were counted where the budget chose them", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const { dependencies } = fakes(folder);
    const result = await runWith(dependencies, FOUR, { out: folder });
    const { scenario } = result.run;
    const auto = {
      ...scenario,
      workload: { ...scenario.workload, steps: "auto" as const },
      quality: { ...scenario.quality, samples: "auto" as const },
    };
    const { digestOf } = await import("../../base/canonical.ts");
    const chosen: Result = { ...result, run: { ...result.run, scenario: auto, scenarioDigest: digestOf(auto) } };
    assertEquals(rerunOf(chosen, "a").set, { "workload.steps": 5, "quality.samples": 640 });
    assertEquals(rerunOf(result, "a").set, {});
    const mixed = { ...chosen, samples: chosen.samples.map((one, i) => i > 0 ? one : { ...one, stepNs: [1] }) };
    assertEquals(rerunOf(mixed, "a").set, { "quality.samples": 640 });
    const edited = { ...result, run: { ...result.run, scenario: { ...result.run.scenario, seed: 8 } } };
    assertThrows(
      () => rerunOf(edited, "a.html"),
      RerunError,
      'Cannot run "a.html" again: its scenario has the SHA-256',
    );
    const other = { ...result.run.scenario, kind: "simulation" } as unknown as typeof result.run.scenario;
    assertThrows(
      () => rerunOf({ ...result, run: { ...result.run, scenario: other } }, "a.html"),
      RerunError,
      'its scenario is of the kind "simulation", this version runs "training"',
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
