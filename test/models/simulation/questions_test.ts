// What a case asks the media, and the figures that back it.

import "../../native_library.ts";
import { assert, assertEquals } from "../../assert.ts";
import type { SimulatedQuestion } from "../../../ffi/simulate.ts";
import { askedQuestions, questionBandText, validatedText } from "../../../models/simulation/questions.ts";
import type { AskedQuestion } from "../../../models/simulation/record.ts";
import { bandFor, loadResiduals } from "../../../models/media/calibration/bands.ts";
import { resolveTier } from "../../../models/simulation/resolve.ts";
import { runSimulation } from "../../../models/simulation/run.ts";
import { summariseSimulation } from "../../../reports/simulation/summary.ts";
import { questionTable } from "../../../reports/simulation/cells.ts";

const QUESTION: SimulatedQuestion = {
  tier: 0,
  operation: "load",
  bytes: 256,
  threads: 16,
  depth: 1,
  hops: 0,
  prefetch: true,
  ahead: false,
  region: 2 ** 40,
  sequential: false,
  fenced: false,
};

async function ask(question: Partial<SimulatedQuestion>, media = "optane-100-6x256"): Promise<AskedQuestion> {
  const tier = resolveTier({ media }, "fsdax", 0, 1);
  const [asked] = await askedQuestions([{ ...QUESTION, ...question }], [tier]);
  assert(asked !== undefined);
  return asked;
}

Deno.test("a question is backed by figures of its operation, size, threads and prefetchers, not by any others", async () => {
  const plain = await ask({});
  assert(plain.figures > 0 && plain.alike > plain.figures, JSON.stringify(plain));
  assertEquals((await ask({ bytes: 65_536 })).figures, 0);
  const ahead = await ask({ ahead: true });
  assertEquals([ahead.figures, ahead.alike], [0, plain.alike]);
  assertEquals((await ask({ threads: 1000 })).figures, 0);
  assert((await ask({ prefetch: false })).figures !== plain.figures);
  assertEquals((await ask({ threads: 1000 })).alike, plain.alike);
  assertEquals(await ask({ fenced: true }).then(({ alike }) => alike), 0);
  assert((await ask({ operation: "nt-store" })).alike !== plain.alike);
});

Deno.test("a question says whether its medium is validated for its operation, as docs/accuracy.md does", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/accuracy.md", import.meta.url));
  const onPage = (family: string, kind: string, access: string): string | undefined =>
    page.split("\n").map((line) => line.split("|").map((cell) => cell.trim()))
      .find(([, f, k, a]) => f === family && k === kind && a === access)?.at(7);
  const words: string[] = [];
  for (
    const [media, family] of [["optane-100-6x256", "optane-100-1x256"], ["ddr4-2666-6ch", "ddr4-2666-6ch"]] as const
  ) {
    for (const operation of ["load", "nt-store", "cached-store", "flushed-store"] as const) {
      for (const fenced of [false, true]) {
        const kind = operation === "load" ? "read" : "write", access = fenced ? `${operation}, fenced` : operation;
        const said = validatedText(await ask({ operation, fenced }, media));
        const expected = onPage(family, kind, access) ?? "not validated";
        assertEquals(
          said,
          expected === "yes" ? "yes" : "not validated",
          `${media}, ${access}: the page has ${expected}`,
        );
        words.push(said);
      }
    }
  }
  assert(words.includes("yes") && words.includes("not validated"));
  const flushed = await ask({ operation: "flushed-store" }, "ddr4-2666-6ch");
  assertEquals([flushed.validated, flushed.alike > 0], [false, true]);
  // A family with too few figures to be judged is validated for nothing.
  assertEquals(validatedText(await ask({}, "hbm2e-xeon-max")), "not validated");
  assertEquals(validatedText({ ...flushed, media: "./mine.jsonc" }), "measured");
  const { validated: _, ...older } = flushed;
  assertEquals(validatedText(older), "not told");
});

Deno.test("a question says how wide its band is and whose figures it is made of, as bandFor() does", async () => {
  const residuals = await loadResiduals();
  const bases = new Set<string>();
  for (const media of ["optane-100-6x256", "optane-200-8x256", "ddr4-3200-8ch"]) {
    for (const operation of ["load", "nt-store", "cached-store"] as const) {
      const asked = await ask({ operation }, media), kind = operation === "load" ? "read" : "write";
      const band = bandFor(residuals, media, kind, 1, { operation });
      assertEquals(asked.band, band.calibrated ? { factor: band.high, basis: band.basis } : undefined, media);
      if (band.calibrated) bases.add(band.basis);
    }
  }
  assertEquals([...bases].sort(), ["access", "apart", "class"]);
  const own = await ask({});
  assertEquals(questionBandText(own), "x 1.20, its own figures of this access");
  // What was never compared has none; a record that was written before bands were told does not say.
  assertEquals(questionBandText(await ask({ operation: "nt-store" }, "optane-200-8x256")), "none");
  const { band: _, validated: __, ...older } = own;
  assertEquals(questionBandText(older), "not told");
});

Deno.test("a run lists what its engine asked: every tier and direction, with the sizes and threads of the workload", async () => {
  const result = await runSimulation({
    kind: "simulation",
    name: "asked",
    workload: { batch: 512, tables: [{ name: "ids", rows: 1e6, dim: 32, slots: 1, lookups: 1, law: { s: 0.8 } }] },
    compute: { dense: 0, source: "an example" },
    cluster: { cores: 4 },
    configurations: {
      tiers: {
        mode: "fsdax",
        tiers: [{ media: "ddr4-2666-6ch", size: "64 MiB" }, { media: "optane-100-6x256", size: "64 GiB" }],
      },
    },
  });
  const questions = result.cases[0]?.questions ?? [];
  const of = (media: string, operation: string) =>
    questions.filter((one) => one.media === media && one.operation === operation);
  assertEquals(of("ddr4-2666-6ch", "load").map(({ bytes }) => bytes).sort((a, b) => a - b), [128, 256]);
  assert(of("ddr4-2666-6ch", "cached-store").length > 0 && of("optane-100-6x256", "load").length > 0);
  assert(questions.every(({ operation, ahead }) => ahead === (operation !== "nt-store")));
  assert(of("optane-100-6x256", "nt-store").every(({ bytes, prefetch }) => bytes === 256 && prefetch));
  assert(questions.every(({ threads, region }) => threads >= 1 && threads <= 4 && region > 0));
  const summary = summariseSimulation(result);
  assert(summary.studies[0] !== undefined && questionTable(summary.studies[0]).rows.length === questions.length);
  assert(
    summary.assumptions.some(([what, value]) =>
      what === "questions to media" && value.startsWith(`${questions.length} `)
    ),
  );
});
