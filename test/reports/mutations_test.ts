import "../native_library.ts";
import { reanalyse } from "../../reports/reanalyse/reanalyse.ts";
import { seal } from "../../reports/capsule/seal.ts";
import { renderContribution } from "../../reports/contribution/page.ts";
import { renderChecklist } from "../../reports/contribution/text.ts";
import {
  compareResults,
  compareSimulations,
  parsePage,
  reanalyseSimulation,
  renderReport,
  renderSimulation,
  renderSimulationTerminal,
  renderTerminal,
  simulationCsv,
  simulationMarkdown,
  summarise,
  summariseSimulation,
  toCsv,
  toJson,
  toMarkdown,
} from "../../reports/report.ts";
import { contributionOf } from "../../scenarios/contribution/contribution.ts";
import type { Result } from "../../scenarios/record.ts";
import { RerunError, rerunOf } from "../../scenarios/rerun.ts";
import { digestOf } from "../../base/canonical.ts";
import { parseResultText, resultOf } from "../../scenarios/result.ts";
import { parseSimulationResult } from "../../models/simulation/result.ts";
import { runSimulation } from "../../models/simulation/run.ts";
import { assert, assertEquals } from "../assert.ts";
import { ablationResult } from "../fixtures/ablation_fixture.ts";
import { fixtureResult, toJsonLines } from "../fixtures/result_fixture.ts";
import { mutationsOf, RUNTIME_WORDS } from "../mutations.ts";

/** Mutations of each kind of record; the nightly run takes more. */
const MOST = Number(Deno.env.get("TIERBENCH_MUTATIONS") ?? 120);

/** What reading and showing came to: undefined if all went well. */
function refusal(read: () => void, what: string): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    assert(error instanceof Error, what);
    assert(/^Cannot (read|report|use|price|run|compare) /.test(error.message), `${what}: ${error.stack}`);
    // What was found may be quoted; the words around it are ours.
    const words = error.message.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').replace(/found .*$/s, "");
    assert(!RUNTIME_WORDS.test(words), `${what}: ${error.stack}`);
    return error.message;
  }
}

/** Everything that is made of a result; the page, which takes longest, of every fourth. */
function show(result: Result, original: Result, nth: number): void {
  const summary = summarise(result);
  for (const render of [toMarkdown, toCsv, toJson, renderTerminal]) assert(render(summary) !== "");
  if (nth % 4 === 0) {
    assert(reanalyse(renderReport(result), "page.html").same, "a page must be made again to the byte");
    compareResults(original, result, { names: ["a", "b"], unlike: true });
  }
  const digested = { ...result, run: { ...result.run, scenarioDigest: digestOf(result.run.scenario) } };
  try {
    rerunOf(digested, "page.html");
  } catch (error) {
    if (!(error instanceof RerunError)) throw error;
  }
}

const RESULTS: readonly { name: string; most: number; original: Result }[] = [{
  name: "run, sample, failed sample, quality and curve",
  most: MOST,
  original: fixtureResult({
    samples: 2,
    steps: 3,
    configurations: ["dram", "fsdax"],
    failed: true,
    work: true,
    curve: true,
    models: true,
  }),
}, { name: "run and sample of an ablation", most: MOST / 3, original: ablationResult({ samples: 1, leftOut: true }) }];

for (const { name, most, original } of RESULTS) {
  Deno.test(`a result with any field changed is refused with its line, or shown: ${name}`, () => {
    const lines = toJsonLines(original).trimEnd().split("\n");
    const kinds = new Map(lines.map((line, i) => {
      const { type, status } = JSON.parse(line);
      return [`${type} ${status}`, i] as const;
    }));
    let [refused, shown] = [0, 0];
    for (const [kind, i] of kinds) {
      for (const { name, value } of mutationsOf(JSON.parse(lines[i] as string), most, `${kind} ${i}`)) {
        const text = lines.with(i, JSON.stringify(value)).join("\n") + "\n";
        const what = `${kind}: ${name}`;
        const message = refusal(() => show(resultOf(parseResultText(text, "r.jsonl").records), original, shown), what);
        if (message === undefined) shown++;
        else refused++;
        assert(message === undefined || message.length < 500, `${what}: ${message}`);
      }
    }
    assert(refused > shown, `${refused} refused, ${shown} shown`);
  });
}

/** The page with its sums made anew, as a forger does. */
function sealed(page: string): string {
  const bare = page.replace(/<script type="application\/json" id="capsule"[^>]*>[^<]*<\/script>/, "")
    .replace(/id="capsule-root">[0-9a-f]{64}/, `id="capsule-root">${"0".repeat(64)}`);
  return seal(bare);
}

Deno.test("a sealed page whose options, prices or checklist are changed is refused with the part, or made again", async () => {
  const measured = fixtureResult({ samples: 2, steps: 3, configurations: ["dram", "fsdax"] });
  const contribution = await contributionOf({
    ...measured,
    samples: measured.samples.map((one) => ({ ...one, evidence: "measured" as const })),
  }, { answers: { modules: "6" }, notes: ["a note"] });
  const head = "item,medium,capacity_gb,value,low,high,unit,currency,from,to,region,source,mark,note\n";
  const text = `${head}Electricity,,,0.21,,,kWh,USD,2026-01,2026-12,our site,contract of 2026,V,\n`;
  const page = renderContribution(contribution, { asOf: "2026-05", priceFiles: [{ name: "mine.csv", text }] });
  assertEquals(sealed(page), page);
  const pieces = [
    /(<script type="application\/json" id="options">)([^<]*)(?=<)/,
    /(<script type="application\/json" id="contribution"[^>]*>)([^<]*)(?=<)/,
    /(id="prices">\n)(\{"list":"instances"[^\n]*)(?=\n)/,
    /(id="prices">\n[^<]*?\n)(\{"list":"items"[^\n]*)(?=\n)/,
    /(id="own-prices">\n)([^\n]*)(?=\n)/,
  ];
  for (const piece of pieces) {
    const [, before = "", written = ""] = piece.exec(page) ?? [];
    assert(written !== "", piece.source);
    for (const { name, value } of mutationsOf(JSON.parse(written), MOST / 4, piece.source)) {
      const escaped = JSON.stringify(value).replaceAll("<", "\\u003c");
      const forged = sealed(page.replace(`${before}${written}`, () => `${before}${escaped}`));
      refusal(() => {
        const read = parsePage(forged, "page.html");
        assert(read.contribution !== undefined);
        renderChecklist(read.contribution);
        reanalyse(forged, "page.html");
      }, name);
    }
    if (piece.source.includes("prices")) continue; // a line that is no JSON cannot be sealed
    const broken = sealed(page.replace(`${before}${written}`, () => `${before}${written.slice(0, -1)}`));
    const message = refusal(() => parsePage(broken, "page.html"), "cut off");
    assert(message?.includes("page.html") === true, message);
  }
});

Deno.test("a simulation's record with any field changed is refused with its line, or shown", async () => {
  const original = await runSimulation({
    kind: "simulation",
    name: "mutated",
    steps: 2,
    warmup: 0,
    workload: { batch: 100, tables: [{ name: "ids", rows: 1e6, dim: 16, lookups: 4, profile: "oe-retail" }] },
    compute: { dense: "1 ms", source: "a test" },
    configurations: {
      dram: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch" }] },
      fsdax: {
        mode: "fsdax",
        tiers: [{ media: "ddr4-2666-6ch", size: "5 MB" }, { media: "optane-100-6x256" }],
        checkpoint: { kind: "incremental" },
      },
    },
    studies: [{ name: "all", baseline: "dram" }],
    explain: [{ from: "dram", to: "fsdax" }],
    published: [
      {
        figure: "1",
        of: "time",
        configuration: "fsdax",
        value: 1,
        relativeTo: { configuration: "dram" },
        source: "s",
        tolerance: 1,
      },
    ],
  });
  const lines = [original.run, ...original.cases, ...original.explanations].map((one) => JSON.stringify(one));
  for (const i of [0, 2, 3]) {
    for (const { name, value } of mutationsOf(JSON.parse(lines[i] as string), MOST, `simulation ${i}`)) {
      refusal(() => {
        const result = parseSimulationResult(lines.with(i, JSON.stringify(value)).join("\n"), "r.jsonl");
        const summary = summariseSimulation(result);
        for (const text of [renderSimulationTerminal(summary), simulationMarkdown(summary), simulationCsv(summary)]) {
          assert(text !== "");
        }
        compareSimulations(original, result, ["a", "b"]);
        assert(reanalyseSimulation(renderSimulation(result), "page.html")?.same === true, "not made again");
      }, `line ${i + 1}: ${name}`);
    }
  }
});
