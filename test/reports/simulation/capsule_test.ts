/** A simulation's page as a capsule: whole, made again, run again, compared. */

import "../../native_library.ts";
import {
  checkPage,
  compareSimulations,
  DamagedPageError,
  parsePage,
  parseSimulationPage,
  reanalyseSimulation,
  renderSimulation,
  renderSimulationComparison,
  RerunError,
  runSimulation,
  type Simulation,
  simulationToRerun,
} from "../../../mod.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../assert.ts";

const SIMULATION: Simulation = {
  kind: "simulation",
  name: "capsule",
  about: 'Says "<b>" & more',
  steps: 4,
  warmup: 1,
  workload: { batch: 1000, tables: [{ name: "ids", rows: 1e8, dim: 16, lookups: 4, profile: "oe-retail" }] },
  compute: { dense: "1 ms", source: "a test", perRow: "50 ns" },
  cluster: { cores: 4 },
  configurations: {
    dram: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch" }] },
    fsdax: {
      mode: "fsdax",
      tiers: [{ media: "ddr4-2666-6ch", size: "50 MB" }, { media: "optane-100-6x256" }],
      checkpoint: { kind: "incremental" },
    },
  },
  explain: [{ from: "dram", to: "fsdax" }],
};

const FIRST = await runSimulation(SIMULATION);
const PAGE = renderSimulation(FIRST);

Deno.test("a simulation's page is sealed, and a changed byte has a name", () => {
  const { sealed, damage, parts, root } = checkPage(PAGE);
  assertEquals([sealed, damage], [true, []]);
  assertStringIncludes(PAGE, `<code id="capsule-root">${root}</code>`);
  const names = parts.map(({ name }) => name);
  for (const name of ['the case "fsdax"', 'the difference from "dram" to "fsdax"', "the scenario"]) {
    assert(names.includes(name), name);
  }
  const speed = `"samplesPerSecond":${FIRST.cases[1]?.samplesPerSecond}`;
  assertStringIncludes(PAGE, speed);
  const forged = PAGE.replace(speed, speed.replace(/\d$/, (digit) => digit === "1" ? "2" : "1"));
  assertEquals(checkPage(forged).damage.map(({ part }) => part), ['the case "fsdax"']);
  assertThrows(() => parseSimulationPage(forged, "x.html"), DamagedPageError, 'the case "fsdax"');
});

Deno.test("reanalyseSimulation() makes the same bytes from the page alone", () => {
  const made = reanalyseSimulation(new TextEncoder().encode(PAGE), "x.html");
  assertEquals([made?.same, made?.differing], [true, []]);
  assertEquals(JSON.stringify(made?.result), JSON.stringify(FIRST));
  assertThrows(() => parsePage(PAGE, "x.html"), TypeError, "it is a simulation's");
});

Deno.test("what is in the page runs again to the same records; an edited scenario does not", async () => {
  const read = parseSimulationPage(PAGE, "x.html");
  assert(read !== undefined);
  const again = await runSimulation(simulationToRerun(read, "x.html"), { threads: 2 });
  assertEquals(again.run.scenarioDigest, FIRST.run.scenarioDigest);
  assertEquals(JSON.stringify([again.cases, again.explanations]), JSON.stringify([FIRST.cases, FIRST.explanations]));
  const comparison = compareSimulations(read, again, ["before", "after"]);
  assertEquals([comparison.same, comparison.sameScenario], [true, true]);
  assertStringIncludes(renderSimulationComparison(comparison), "same      every byte of 2 cases");
  const edited = { ...read, run: { ...read.run, scenario: { ...read.run.scenario, seed: 9 } } };
  assertThrows(() => simulationToRerun(edited, "x.html"), RerunError, "it was edited");
});

Deno.test("compareSimulations() tells each case that differs by its fields, and those that only one has", async () => {
  const { dram, fsdax } = SIMULATION.configurations;
  assert(dram !== undefined && fsdax !== undefined);
  const [first, second] = fsdax.tiers;
  assert(first !== undefined && second !== undefined);
  const other = await runSimulation({
    ...SIMULATION,
    configurations: { fsdax: { ...fsdax, tiers: [{ ...first, size: "40 MB" }, second] }, more: dram },
    explain: [],
  });
  const comparison = compareSimulations(FIRST, other, ["before", "after"]);
  assertEquals([comparison.missing, comparison.added, comparison.sameScenario], [["dram"], ["more"], false]);
  assertEquals(comparison.cases.map(({ case: name }) => name), ["fsdax"]);
  assert(comparison.cases[0]?.fields.includes("misses.ofKeys"));
  assert(!comparison.cases[0]?.fields.includes("rows.worker"));
  const text = renderSimulationComparison(comparison);
  for (const needed of ["differs   fsdax", "missing   dram", "added     more", "scenario  is another"]) {
    assertStringIncludes(text, needed);
  }
});
