import "../../native_library.ts";
import { assert, assertAlmostEquals, assertEquals, assertRejects } from "../../assert.ts";
import { defaultPriceBook } from "../../../models/costs/default_prices.ts";
import { plan } from "../../../models/planning/planner.ts";
import { planRequest } from "../../../models/planning/request.ts";
import { planQuestionsText, planText } from "../../../models/planning/text.ts";
import { missRatioCurve } from "../../../ffi/curve.ts";
import { planInputs } from "../../../models/planning/inputs.ts";
import { loadPlan, parsePlan } from "../../../models/planning/load.ts";

const SHIPPED = new URL("../../../scenarios/plans/retail.jsonc", import.meta.url);

function planOf(table: string, rest = ""): ReturnType<typeof parsePlan> {
  const text = `{ "kind": "plan", "name": "t", "target": { "samplesPerSecond": 1000 }, "batch": 1000, ${rest}
    "tables": { "t": ${table} } }`;
  return parsePlan(text, { file: "t.jsonc", directory: Deno.cwd() });
}

Deno.test("planInputs() gives the curve and the different rows of a law as missRatioCurve() has them", async () => {
  const { tables: [table] } = await planInputs(
    planOf('{ "rows": 1000000, "dim": 16, "lookups": 4, "profile": { "s": 1.1 } }'),
  );
  assert(table !== undefined);
  const size = table.curve.rows.find((rows) => rows > 10_000) ?? 0;
  const same = missRatioCurve({ law: { rows: 1e6, s: 1.1, q: 0 }, sizes: [size], batch: 4000 });
  assertAlmostEquals(table.distinctPerStep, same.lookups, 1e-6 * same.lookups);
  assertAlmostEquals(table.curve.misses[table.curve.rows.indexOf(size)] ?? NaN, same.missRatios[0] ?? NaN, 1e-12);
  assertEquals([table.curve.rows[0], table.curve.misses[0], table.curve.misses.at(-1)], [0, 1, 0]);
});

Deno.test("planInputs() scales a named profile to the rows of the table and keeps its shape", async () => {
  const at = async (rows: number, batch: number) => {
    const { tables: [table] } = await planInputs(
      planOf(`{ "rows": ${rows}, "dim": 16, "profile": "oe-retail" }`, `"workers": ${batch},`),
    );
    const share = table?.curve.rows.findIndex((kept) => kept >= 0.004 * rows) ?? 0;
    return table?.curve.misses[share] ?? NaN;
  };
  assertAlmostEquals(await at(2.1e9, 100), await at(2.1e8, 10), 1e-6);
});

Deno.test("planInputs() times rows by the media models: PMEM is slower than DRAM, wider rows take longer", async () => {
  const { rowTimes } = await planInputs(planOf('{ "rows": 1000, "dim": 16, "profile": "uniform" }'));
  const [dram, pmem] = ["ddr4-2666-6ch", "optane-100-6x256"] as const;
  assert(rowTimes(pmem, 16, 256).readSeconds > rowTimes(dram, 16, 256).readSeconds);
  assert(rowTimes(pmem, 16, 256).writeSeconds > 2 * rowTimes(pmem, 16, 256).readSeconds);
  assert(rowTimes(pmem, 16, 512).readSeconds > rowTimes(pmem, 16, 256).readSeconds);
  assert(rowTimes(pmem, 16, 256).band !== undefined);
  assertEquals(rowTimes(pmem, 500, 256).band, undefined); // nobody has measured 500 threads
});

Deno.test("planInputs() refuses media and profiles that are not there", async () => {
  const table = '{ "rows": 1000, "dim": 16, "profile": "uniform" }';
  await assertRejects(
    () => planInputs(planOf(table, '"media": { "pmem": "optane" },')),
    Error,
    'unknown media model "optane"',
  );
  await assertRejects(() => planInputs(planOf(table.replace("uniform", "uniforn"))), Error, "uniform");
});

Deno.test("the shipped plan has an answer that says where its table is and why others lost", async () => {
  const answer = plan(planRequest(await planInputs(await loadPlan(SHIPPED)), defaultPriceBook()));
  assert(answer.best !== undefined && answer.losers.length === 1);
  const text = planText(answer);
  assert(text.includes("simulated") && text.includes("why not") && text.includes("ecs.re6p.13xlarge"), text);
});

Deno.test("a plan lists what a step asks the media and how many figures back each question, as its simulation does", async () => {
  const inputs = await planInputs(await loadPlan(SHIPPED));
  const { best } = plan(planRequest(inputs, defaultPriceBook()));
  assert(best !== undefined);
  const questions = await inputs.questions(best);
  const media = new Set(best.machine.tiers.filter((_, k) => (best.usedBytes[k] ?? 0) > 0).map(({ medium }) => medium));
  assertEquals(new Set(questions.map((one) => one.media)), media);
  assert(questions.some(({ operation }) => operation === "load"));
  assert(questions.some(({ operation }) => operation !== "load"), "a plan that trains writes");
  assert(questions.every(({ figures, alike }) => figures <= alike));
  assertEquals(questions.map(({ figures }) => figures), questions.map(({ figures }) => figures).sort((a, b) => a - b));
  const lines = planQuestionsText(questions).split("\n").filter((line) => line.trim() !== "");
  assertEquals(lines.length, questions.length + 2);
});

Deno.test("every band of a plan has a width, also where dense layers hide all memory, and says what it is made of", async () => {
  const shipped = await loadPlan(SHIPPED);
  for (const computeMs of [shipped.computeMs, 100 * shipped.computeMs]) {
    const inputs = await planInputs({ ...shipped, computeMs, overlapped: true });
    const { best, losers } = plan(planRequest({ ...inputs, target: { samplesPerSecond: 1 } }, defaultPriceBook()));
    assert(best !== undefined);
    const plans = [best, ...losers.flatMap((loser) => loser.plan ?? [])];
    for (const { stepSeconds, p99StepSeconds, samplesPerSecond, dollarsPerMillionSamples } of plans) {
      for (const { value, low, high } of [stepSeconds, p99StepSeconds, samplesPerSecond, dollarsPerMillionSamples]) {
        assert(low !== undefined && high !== undefined);
        assert(low < 0.98 * value && high > 1.02 * value, `${low} ${value} ${high}`);
      }
    }
  }
});

Deno.test("a plan's band is that of its media where they are all that is not known, and wider with what was stated", async () => {
  const { computeMs: _, ...file } = await loadPlan(SHIPPED);
  const bandOf = async (computeMs: number) => {
    const inputs = await planInputs({ ...file, computeMs });
    return plan(planRequest({ ...inputs, target: { samplesPerSecond: 1 } }, defaultPriceBook())).best?.band;
  };
  const [idle, busy] = [await bandOf(1e-6), await bandOf(1e4)];
  assert(idle !== undefined && busy !== undefined);
  const of = (band: typeof idle, name: string) => band.doubts.find((doubt) => doubt.of.startsWith(name));
  assertAlmostEquals(of(busy, "compute.dense")?.high ?? 0, 1.1, 1e-3);
  assertAlmostEquals(of(idle, "compute.dense")?.high ?? 0, 1, 1e-3);
  // A tier without a band has none to give to the step.
  const shipped = await planInputs(await loadPlan(SHIPPED));
  const { best } = plan(planRequest(shipped, defaultPriceBook()));
  assert(best !== undefined);
  const open = { ...best.machine, tiers: best.machine.tiers.map((tier) => ({ ...tier, band: undefined })) };
  assertEquals(shipped.band(open, best.hosts, best.placed, 0), undefined);
  const media = (band: typeof idle) => band.doubts.filter(({ of }) => of.endsWith(", reads"));
  assert(media(idle).some(({ high }) => high > 1.01) && media(busy).every(({ high }) => high < 1.01));
});

Deno.test("a plan's text says its bands and what they are made of", async () => {
  const { best, losers } = plan(planRequest(await planInputs(await loadPlan(SHIPPED)), defaultPriceBook()));
  assert(best !== undefined);
  const said = (low: number, high: number) =>
    planText({ best: { ...best, samplesPerSecond: { value: 100, low, high } }, doubts: [], otherwise: [], losers })
      .split("\n")[1] ??
      "";
  assert(said(98.8, 125).endsWith("(90 %: −1.2 to +25 %)"), said(98.8, 125));
  const text = planText({ best, doubts: [], otherwise: [], losers });
  assert(/of a step's band, each alone: compute\.dense \(x 1\.10\) −[\d.]+ to \+[\d.]+ %;/.test(text), text);
  const open = planText({
    best,
    doubts: [{ machine: "m", hosts: 1, turns: "misses", media: [], text: "within its band" }],
    otherwise: [],
    losers,
  });
  assert(open.startsWith("cannot be told: within its band\nleads    4"), open);
});

Deno.test("planRequest() says which providers there are when it has no machine", async () => {
  const inputs = await planInputs(
    planOf('{ "rows": 1000, "dim": 16, "profile": "uniform" }', '"providers": ["Nobody"],'),
  );
  let message = "";
  try {
    planRequest(inputs, defaultPriceBook());
  } catch (error) {
    message = String(error);
  }
  assert(message.includes("Nobody") && message.includes("Alibaba Cloud"), message);
});

Deno.test("a plan's network carries every worker's own rows, there and back, and their keys", async () => {
  const inputs = await planInputs(await loadPlan(SHIPPED));
  const { best } = plan(planRequest(inputs, defaultPriceBook()));
  const [table] = inputs.tables;
  assert(best !== undefined && table !== undefined);
  // Keys up; weights down; keys and gradients up.
  const bytes = 16 * table.distinctPerWorker * (8 + table.weightBytes + 8 + table.weightBytes);
  assertAlmostEquals(best.step.networkBytes, bytes, 1e-6 * bytes);
  assert(16 * table.distinctPerWorker > 1.5 * table.distinctPerStep);
});

Deno.test("an SSD's rows are read at the store's depth and written in its buffers", async () => {
  const machines = `"machines": { "m": { "pricePerHour": 1, "date": "2026", "threads": 4, "tiers": [
    { "name": "DRAM", "medium": "ddr5-4800-8ch", "size": "1 GiB" },
    { "name": "SSD", "medium": "nvme-tlc", "size": "1 TB", "devices": 2, "records": true } ] } },`;
  const { rowTimes } = await planInputs(planOf('{ "rows": 1000, "dim": 16, "profile": "uniform" }', machines));
  const [one, two] = [rowTimes("nvme-tlc", 4, 512), rowTimes("nvme-tlc", 4, 512, 2)];
  assert(one.writeSeconds < one.readSeconds / 5, `${one.writeSeconds} ${one.readSeconds}`);
  assertAlmostEquals(two.readSeconds, one.readSeconds / 2, one.readSeconds / 4);
  assert(rowTimes("nvme-tlc", 8, 512).readSeconds > one.readSeconds / 2); // the drive is the limit, not threads
});

Deno.test("planned and simulated steps of the same machines are within 10 %, also over SSD, CXL and PMEM", async () => {
  const tiers = (medium: string, name: string, more = "") =>
    `{ "pricePerHour": 1, "date": "2026", "threads": 32, "network": "12.5 GB", "tiers": [
      { "name": "DRAM", "medium": "ddr5-4800-8ch", "size": "16 GiB" },
      { "name": "${name}", "medium": "${medium}", "size": "600 GB"${more} } ] }`;
  const machines = `"machines": { "ssd": ${tiers("nvme-tlc", "SSD", ', "records": true')},
    "cxl": ${tiers("cxl-type3-ddr4", "CXL")}, "pmem": ${tiers("optane-100-6x256", "PMEM")} },
    "providers": [], "workers": 4, "computeMs": 2,`;
  const table = '{ "rows": 300000000, "dim": 64, "profile": { "s": 1.05 }, "lookups": 8 }';
  const inputs = await planInputs(planOf(table, machines));
  const { best, losers } = plan(planRequest(inputs, defaultPriceBook()));
  const plans = [best, ...losers.map((loser) => loser.plan)].filter((one) => one !== undefined);
  assertEquals(plans.length, 3);
  for (const one of plans) {
    const simulated = inputs.simulate(one);
    assert(simulated !== undefined && Math.abs(simulated.apart) < 0.1, `${one.machine.name} ${simulated?.apart}`);
  }
});

Deno.test("a medium without a band can be thought a thousand times as fast, also where a parameter is near its least", async () => {
  const file = planOf(
    '{ "rows": 100000000, "dim": 64, "lookups": 26, "profile": { "s": 0.9 } }',
    `"workers": 64, "providers": [], "machines": { "x": { "pricePerHour": 1, "date": "2026", "threads": 64, "tiers":
      [{ "name": "DRAM", "medium": "ddr5-4800-8ch", "size": "256 GiB" }] } },`,
  );
  const request = planRequest(await planInputs(file), defaultPriceBook());
  const { best } = plan(request);
  assert(best !== undefined && best.machine.tiers[0]?.band === undefined);
  const [fast, slow] = [1e-3, 1e3].map((factor) =>
    request.step(best.machine, best.hosts, best.placed, { factors: [factor] }).seconds
  );
  assert((fast ?? NaN) < best.step.seconds && (slow ?? NaN) > best.step.seconds, `${fast}, ${slow}`);
});
