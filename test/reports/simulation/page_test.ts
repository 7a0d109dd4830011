/** The report of a simulation: what it prints, and the page in Chromium, in both themes and on a phone. */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  renderSimulation,
  renderSimulationTerminal,
  simulationCsv,
  simulationJson,
  simulationMarkdown,
  summariseSimulation,
  writeSimulationReport,
} from "../../../reports/report.ts";
import type { SimulatedRecord, SimulationResult } from "../../../models/simulation/record.ts";
import { fillSimulation } from "../../../models/simulation/resolve.ts";
import { assert, assertEquals } from "../../assert.ts";
import { accessibility, browser, cutWords, tooWide } from "../chromium.ts";

function record(configuration: string, samplesPerSecond: number, band: SimulatedRecord["band"]): SimulatedRecord {
  return {
    type: "simulated",
    evidence: "simulated",
    case: `${configuration} cluster.workers=4`,
    study: "a <study>",
    configuration,
    point: { "cluster.workers": 4 },
    mode: "fsdax",
    samplesPerSecond,
    band,
    step: { mean: 0.004, p50: 0.004, p90: 0.0041, p99: 0.0042 },
    parts: [{ kind: "dense", on: "work", seconds: 0.003 }, { kind: "lookup", on: "optane", seconds: 0.001 }],
    resources: [{ name: "cores", places: 4, busy: 0.5 }],
    tiers: [
      {
        media: "ddr",
        sizeBytes: 1e9,
        rowsShare: 0.9,
        readBytes: 1e6,
        writeBytes: 1e6,
        readLimit: 1e11,
        writeLimit: 8e10,
        busy: 0.1,
      },
      {
        media: "optane",
        sizeBytes: 0,
        rowsShare: 0.1,
        readBytes: 1e5,
        writeBytes: 1e5,
        readLimit: 3e10,
        writeLimit: 1e10,
        busy: 0.3,
      },
    ],
    rows: { worker: 1000, all: 3500, keys: 8192 },
    misses: { ofKeys: 0.04, ofRows: 0.1 },
    netBytes: 0,
    tasks: [["dense", 0, 0, 0.003], ["lookup", 0, 0.003, 0.004], ["lookup", 1, 0.003, 0.0035]],
  };
}

function fixture(): SimulationResult {
  const scenario = fillSimulation({
    kind: "simulation",
    name: "fixture",
    about: 'Says "<b>" & more',
    workload: { batch: 8, tables: [{ name: "a", rows: 10, dim: 4, lookups: 1, law: { s: 1 } }] },
    compute: { dense: "1 ms", source: "a fixture" },
    configurations: {
      a: { mode: "fsdax", tiers: [{ media: "optane" }] },
      b: { mode: "dram", tiers: [{ media: "ddr" }] },
    },
    published: [
      {
        figure: "Fig. 1",
        of: "time",
        configuration: "b",
        at: { "cluster.workers": 4 },
        value: 2.5,
        relativeTo: { configuration: "a", at: { "cluster.workers": 4 } },
        source: "a paper",
        tolerance: 0.1,
      },
      {
        figure: "Fig. 2",
        of: "miss-rate",
        configuration: "a",
        at: { "cluster.workers": 4 },
        value: 0.04,
        source: "a paper",
        tolerance: 0.1,
        calibrates: "size",
      },
    ],
  }, ".");
  return {
    run: {
      type: "run",
      kind: "simulation",
      format: 1,
      started: "2026-11-22T00:00:00.000Z",
      scenario,
      scenarioDigest: "ab".repeat(32),
      versions: { tierbench: "0" },
    },
    cases: [
      record("a", 2e6, { low: 0.9, high: 1.1 }),
      record("b", 1e6, { why: "not calibrated: threads: 64, calibrated from 1 to 24" }),
    ],
    explanations: [{
      type: "explanation",
      from: "a",
      to: "b",
      fromTime: 5e-7,
      toTime: 1e-6,
      parts: [{ part: "stores", seconds: 5e-7, says: "nt → cached" }],
    }],
  };
}

Deno.test("summariseSimulation() compares with what is published and keeps calibrated figures apart", () => {
  const { deviations, accuracy } = summariseSimulation(fixture());
  assertEquals(deviations.map(({ simulated, within }) => [simulated, within]), [[2, false], [0.04, true]]);
  assertEquals([accuracy?.figures, accuracy?.within, accuracy?.meanAbsolute], [1, 0, 0.19999999999999996]);
});

Deno.test("every form of a simulation's report says simulated, band or why there is none, and deviations", () => {
  const summary = summariseSimulation(fixture());
  const forms = [renderSimulationTerminal(summary, 160), simulationMarkdown(summary), renderSimulation(fixture())];
  for (const text of forms) {
    for (const needed of ["simulated", "1.80 M to 2.20 M", "not calibrated", "−20.0 %", "missed", "calibrated: size"]) {
      assert(text.includes(needed), `"${needed}" is missing`);
    }
  }
  const lines = simulationCsv(summary).trimEnd().split("\r\n");
  assertEquals(lines.length, 3);
  assert(lines[1]?.includes(",1800000,2200000,"), lines[1]);
  assertEquals(JSON.parse(simulationJson(summary)).studies[0].cases[0].samplesPerSecond, 2e6);
  const page = renderSimulation(fixture());
  assert(!page.includes("<b>") && !page.includes("a <study>"), "text is escaped");
});

Deno.test("every form of a simulation's report says what a crash leaves, and how long going on takes", () => {
  const { cases: [a, b], ...plain } = fixture();
  assert(a !== undefined && b !== undefined);
  const checkpoint = { kind: "version", pause: 0.02, every: 1200, bytes: 8e6, recovery: { bytes: 3e11, seconds: 456 } };
  const old = { kind: "incremental", pause: 2, every: 600, bytes: 8e8 };
  const result = { ...plain, cases: [{ ...a, checkpoint }, { ...b, checkpoint: old }] };
  const summary = summariseSimulation(result);
  for (const text of [renderSimulationTerminal(summary, 300), simulationMarkdown(summary), renderSimulation(result)]) {
    for (
      const needed of [
        "left after a crash",
        "recovery, s",
        "versions, 1,200 s",
        "files, 600 s",
        "versions of rows in the last tier",
        "456",
      ]
    ) {
      assert(text.includes(needed), `"${needed}" is missing`);
    }
  }
  const [head = "", first = "", second = ""] = simulationCsv(summary).split("\r\n");
  const place = head.split(",").indexOf("recovery_seconds");
  const ends = (line: string): string[] => line.replaceAll(/"[^"]*"/g, "").split(",");
  assertEquals([ends(first)[place], ends(second)[place]], ["456", ""]);
  assert(!simulationMarkdown(summariseSimulation(fixture())).includes("recovery"));
});

Deno.test("writeSimulationReport() writes the four files", async () => {
  const directory = await Deno.makeTempDir();
  const files = await writeSimulationReport(fixture(), join(directory, "deep"));
  for (const file of Object.values(files)) assert((await Deno.stat(file)).size > 100);
  await Deno.remove(directory, { recursive: true });
});

Deno.test({
  name: "the page of a simulation in Chromium",
  // The driver keeps a pipe to the browser that closes only after the browser has gone.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const running = await browser();
    const directory = await Deno.makeTempDir();
    const { html } = await writeSimulationReport(fixture(), directory);
    try {
      for (const [theme, width] of [["light", 1280], ["dark", 1280], ["light", 375]] as const) {
        const context = await running.newContext({ colorScheme: theme, viewport: { width, height: 900 } });
        const page = await context.newPage();
        const said: string[] = [];
        const requests: string[] = [];
        page.on("console", (message) => said.push(message.text()));
        page.on("pageerror", (error) => said.push(`${error}`));
        page.on("request", (request) => requests.push(request.url()));
        await page.goto(pathToFileURL(html).href);
        assertEquals(said, []);
        assertEquals(requests.filter((one) => !one.startsWith("data:")), [pathToFileURL(html).href]);
        const overflow = await tooWide(page);
        assert(overflow <= 0, `the page is ${overflow} pixels wider than the screen`);
        await page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)");
        const bars = await page.evaluate(
          "[...document.querySelectorAll('svg.sim rect')].filter((one) => getComputedStyle(one).fill !== 'rgb(0, 0, 0)').length",
        ) as number;
        assert(bars >= 7, `${bars} bars have a colour`);
        const { passes, violations } = await accessibility(page);
        assertEquals(violations, []);
        assert(passes > 15, `axe looked at ${passes} rules only`);
        await context.close();
      }
      // A4 with margins of a centimetre, 718 CSS pixels: a number cut in two lines reads as another number.
      const paper = await running.newPage({ viewport: { width: 718, height: 1047 } });
      await paper.emulateMedia({ media: "print" });
      await paper.goto(pathToFileURL(html).href);
      assertEquals(await cutWords(paper), []);
      const right = await paper.evaluate(
        "Math.max(...[...document.querySelectorAll('table')].map((one) => one.getBoundingClientRect().right))",
      ) as number;
      assert(right <= 718, `a table ends at ${right} pixels, past the sheet's edge`);
    } finally {
      await running.close();
      await Deno.remove(directory, { recursive: true });
    }
  },
});
