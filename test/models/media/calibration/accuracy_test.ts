import "../../../native_library.ts";
import { assert, assertEquals } from "../../../assert.ts";
import { mediaRows } from "../../../../bench/simulator/rows.ts";
import {
  accuracyText,
  BARS,
  effectLines,
  keptApartOrder,
  openTargetLines,
  targetLines,
} from "../../../../models/validation/accuracy.ts";
import type { MediaOperation } from "../../../../ffi/media.ts";
import { ENGINE_RANGE } from "../../../../models/simulation/uncertainty.ts";
import { bandFor, type FigureConditions, loadResiduals } from "../../../../models/media/calibration/bands.ts";
import { loadCalibration } from "../../../../models/media/calibration/calibration.ts";
import { compareExchanges } from "../../../../models/validation/exchanges.ts";
import { deviationOf, type OpenTarget, openTargets, outcomeOf } from "../../../../models/validation/open_targets.ts";
import { residualsText } from "../../../../models/validation/validate_models.ts";
import { residualsOf, withApart } from "../../../../models/media/calibration/make_bands.ts";
import { validateModels } from "../../../../models/media/calibration/validate.ts";

const read = (path: string): string => Deno.readTextFileSync(new URL(`../../../../${path}`, import.meta.url));
const validation = await validateModels();
const { open, effects } = await openTargets();

/** The formatter aligns tables and breaks lines as it likes. */
const squeeze = (text: string): string => text.replaceAll(/-{3,}/g, "---").replaceAll(/\s+/g, " ");

Deno.test("docs/accuracy.md and the residuals are what tierbench validate-models --write makes now", async () => {
  const exchanges = await compareExchanges();
  assertEquals(squeeze(read("docs/accuracy.md")), squeeze(accuracyText(validation, open, effects, exchanges)));
  assertEquals(read("models/media/calibration/residuals.json"), residualsText(validation));
});

Deno.test("media models: every bar is met", () => {
  for (const { name, mean, p90 } of validation.media) {
    assert(mean <= BARS.mean, `${name}: mean ${mean}`);
    assert(p90 <= BARS.p90, `${name}: 90th percentile ${p90}`);
  }
  assert(validation.o13.points >= 15 && validation.o14.points >= 500);
  const verdicts = new Map(targetLines(validation).map(([name, , , met]) => [name, met]));
  assertEquals([...verdicts.values()], [...verdicts].map(() => "met"));
  assertEquals(verdicts.size, 9);
});

Deno.test("figures that no fit sees are in the published order, and a reversed pair is counted as wrong", () => {
  const { pairs, right } = keptApartOrder(validation.keptApart);
  assert(pairs > 20 && right / pairs >= BARS.order, `${right} of ${pairs}`);
  const band = { calibrated: false, outside: "a test" } as const;
  const figure = (value: number, model: number, medium = "m") => ({
    ids: [],
    medium,
    kind: "read" as const,
    about: "a",
    value,
    model,
    error: 0,
    band,
  });
  // Rates of 1, 2 and 2.1 GB/s, of which the last two are too near; a latency is compared with no rate.
  const rates = [figure(1e9, 3e9), figure(2e9, 2e9), figure(2.1e9, 5e9), figure(100, 5)];
  assertEquals(keptApartOrder(rates), { pairs: 2, right: 1 });
  // Of another medium it is no pair: that PMEM is slower than DRAM needs no model.
  assertEquals(keptApartOrder([...rates, figure(9e9, 1e9, "other")]), { pairs: 2, right: 1 });
});

Deno.test("half of the published relative figures set no parameter, and their bands and those of figures kept apart hold", () => {
  const { relative: { figures, free }, banded } = effects;
  assertEquals([figures, free, banded.length], [19, 13, 13]);
  assertEquals(effectLines(effects).map(([, , , met]) => met), ["met", "met"]);
  assertEquals(effectLines({ relative: { figures: 3, free: 1 }, banded: [], engine: 1 }).map(([, , , met]) => met), [
    "missed",
    "missed",
  ]);
  assert(free * 2 >= figures);
  const inside = banded.filter(({ band: [low, high], published }) => low <= published && published <= high).length;
  assert(inside / banded.length >= 0.85 && inside / banded.length <= 0.95, `${inside} of ${banded.length}`);
  for (const { band: [low, high], figure } of banded) assert(low < high, figure);
  // The range of simulations is what all effects give; of one that is judged it is made without its figure of the paper.
  assert(Math.abs(effects.engine / ENGINE_RANGE - 1) < 0.002, `${effects.engine}`);
  // Of figures that no fit sees enough have a band, and as many are in it as should be.
  const bands = validation.keptApart.flatMap(({ band, value }) =>
    band.calibrated ? [band.low <= value && value <= band.high] : []
  );
  const held = bands.filter((inside) => inside).length;
  assert(
    bands.length >= 80 && held / bands.length >= 0.85 && held / bands.length <= 0.95,
    `${held} of ${bands.length}`,
  );
  const { coverage } = validation, kinds = Object.values(coverage.kinds);
  assertEquals(kinds.reduce((sum, { points }) => sum + points, 0), coverage.points);
  assertEquals(kinds.reduce((sum, { covered }) => sum + covered, 0), coverage.covered);
});

Deno.test("profiles and simulations: targets O1, O2, O4, O5, O10, O11, O15 and O16 are met", () => {
  assertEquals(open.map(({ name }) => name), ["O1", "O2", "O4", "O5", "O10", "O11", "O15", "O16"]);
  assertEquals(open.map((target) => outcomeOf(target).tested), [3, 2, 7, 6, 30, 4, 3, 3]);
  assertEquals(openTargetLines(open).map(([, , , met]) => met), open.map(() => "met"));
});

Deno.test("outcomeOf() leaves out figures that set a parameter, and wants the order kept", () => {
  const target = (unit: "points" | "share", order?: OpenTarget["order"]): OpenTarget => ({
    name: "O",
    about: "",
    tolerance: 0.1,
    unit,
    figures: [{ figure: "a", published: 0.5, found: 0.44 }, { figure: "b", published: 1, found: 2, calibrates: "x" }],
    ...(order === undefined ? {} : { order }),
  });
  assertEquals(outcomeOf(target("share")), { tested: 1, worst: 1 - 0.44 / 0.5, met: false });
  assertEquals(outcomeOf(target("points")).met, true);
  assertEquals(outcomeOf(target("points", { pairs: 3, same: 2 })).met, false);
  assertEquals(deviationOf(target("points"), { figure: "c", published: 0.5, found: 0.75 }), 0.25);
});

Deno.test("media models: every verified row is compared or says why not", () => {
  assertEquals(validation.notCompared.get(undefined), undefined);
  assert(validation.comparisons.every(({ model }) => model > 0 && Number.isFinite(model)));
});

Deno.test("figures kept apart are predictions: no fit sees their rows, and they meet 15 % on average and 30 % in nine of ten", () => {
  const { keptApart, comparisons } = validation;
  const fitted = new Set(comparisons.map(({ id }) => id));
  assert(keptApart.length >= 90 && keptApart.every(({ ids }) => ids.every((id) => !fitted.has(id))));
  const mixed = (of: RegExp) => keptApart.filter(({ medium, about }) => of.test(medium) && about.includes("writers"));
  assertEquals([mixed(/^ddr4/).length, mixed(/^optane/).length], [3, 5]);
  const errors = keptApart.map(({ error }) => Math.abs(error)).sort((a, b) => a - b);
  assert(errors.reduce((sum, error) => sum + error, 0) / errors.length <= 0.15);
  assert((errors[Math.ceil(0.9 * errors.length) - 1] ?? Infinity) <= 0.3);
  for (const { about, error } of mixed(/^(ddr4|optane)/)) assert(Math.abs(error) < 0.15, `${about}: ${error}`);
});

Deno.test("what figures that no fit sees refute is neither promised by a band nor called validated", () => {
  const before = residualsOf(validation.comparisons, validation.leftOut, new Map());
  const one = (access: string | undefined, error: number) => ({
    ids: [],
    medium: "optane-100-6x256",
    kind: "write" as const,
    ...(access === undefined ? {} : { access }),
    about: "",
    value: 1,
    model: 1 + error,
    error,
    band: { calibrated: false, outside: "" } as const,
  });
  const writes = (apart: ReturnType<typeof one>[]) => withApart(before, apart)["optane-100-6x256"]?.write;
  const known = before["optane-100-6x256"]?.write;
  // Nearer than the band was: nothing changes. Further off: as wide as that, the access's own band, too, no other's.
  assertEquals(writes([one("nt-store", 0.1)]), known);
  const wider = writes([one("nt-store", 1)]);
  assertEquals([wider?.factor, wider?.basis], [2, "apart"]);
  assertEquals(wider?.byAccess?.["nt-store"]?.factor, 2);
  assertEquals(wider?.byAccess?.["cached-store"], known?.byAccess?.["cached-store"]);
  // What is made of several accesses tells of none, and an access that was not compared has no band to widen.
  assertEquals(writes([one(undefined, 1), one("load", 1)]), known);
  // The 200 series' random reads, fitted to 64 B alone, are such a case; its writes are not.
  const { read, write } = validation.residuals["optane-200-8x256"] ?? {};
  assertEquals([read?.basis, read?.validated, write?.validated], ["apart", undefined, ["nt-store, fenced"]]);
  const own = validation.keptApart.filter(({ medium }) => medium === "optane-200-8x256");
  assert(
    own.length >= 10 && own.every(({ error }) => Math.abs(Math.log1p(error)) <= Math.log(read?.factor ?? 1) + 1e-3),
  );
});

Deno.test("a line that a thread loads and stores to is one line of cached stores, which the source counts twice", () => {
  const one = validation.comparisons.find(({ id }) => id === "OS-NUMA-Optane-4-RW_11");
  const four = validation.comparisons.find(({ id }) => id === "OS-NUMA-Optane-4-RW_41");
  assertEquals([one?.query.operation, one?.query.readShare, one?.value], ["cached-store", 0, 6.8987 * 2 ** 29]);
  assertEquals([four?.query.operation, four?.query.readShare, four?.value], [
    "cached-store",
    0.75,
    13.841 * 2 ** 30 / 1.25,
  ]);
});

Deno.test("a family is called validated only if its curves can be foretold, and every other says why not", () => {
  for (const { name, mean, p90, predicted, free, why } of validation.families) {
    const good = predicted >= Math.max(10, 2 * free) && mean <= 0.1 && p90 <= 0.25;
    const kinds = validation.families.find((one) => one.name === name)?.kinds ?? [];
    const all = kinds.reduce((sum, one) => sum + one.predicted * one.mean, 0);
    assert(predicted === 0 ? kinds.length === 0 : Math.abs(all / predicted - mean) < 1e-12, name);
    assertEquals(why === undefined, good, name);
  }
  const validated = validation.families.filter(({ why }) => why === undefined).map(({ name }) => name);
  for (const name of ["optane-100-1x256", "ddr4-2666-6ch", "cxl-type3-ddr4"]) assert(validated.includes(name), name);
  assert(!validated.includes("hbm2e-xeon-max") && !validated.includes("nvme-tlc"));
  const [families, coverage] = mediaRows(validation);
  assertEquals([families?.value, coverage?.name], [
    validation.families.length - validated.length,
    "bands/coverage of media",
  ]);
});

Deno.test("bandFor() gives no band for a part of the question that was not compared", async () => {
  const residuals = await loadResiduals();
  const asked = { operation: "load", bytes: 256, threads: 8, readShare: 1, hops: 0 } as const;
  const of = (more: Partial<FigureConditions>) =>
    bandFor(residuals, "optane-100-6x256", "read", 1, { ...asked, ...more });
  assert(of({ prefetch: true }).calibrated && of({ prefetch: false }).calibrated && of({ devices: 1 }).calibrated);
  for (const more of [{ load: 0.5 }, { region: 4096 }, { depth: 4 }, { devices: 2 }, { percentile: 99 }]) {
    const band = of(more);
    assert(!band.calibrated && band.outside.startsWith("no published read figure with "), JSON.stringify(more));
  }
  // Prefetchers were on wherever the DRAM of Ice Lake was measured.
  const dram = bandFor(residuals, "ddr4-3200-8ch", "read", 1, { ...asked, prefetch: false });
  assert(!dram.calibrated && dram.outside.includes("no prefetch"));
});

Deno.test("validateModels() sees a model that is wrong", async () => {
  const rows = await loadCalibration();
  const doubled = rows.map((row) =>
    row.id.startsWith("OS-RAND-pmem6-Load") ? { ...row, value: String(2 * Number(row.value)) } : row
  );
  const { media } = await validateModels(doubled);
  const before = validation.media.find(({ name }) => name === "optane-100-6x256");
  const after = media.find(({ name }) => name === "optane-100-6x256");
  assert(after !== undefined && before !== undefined && after.mean > before.mean + 0.03);
});

Deno.test("bandFor() gives a band inside the calibrated range and says how far outside", async () => {
  const residuals = await loadResiduals();
  const band = bandFor(residuals, "optane-100-6x256", "read", 100, { bytes: 256, threads: 8, readShare: 1, hops: 0 });
  assert(band.calibrated && band.low < 100 && band.high > 100);
  const outside = bandFor(residuals, "optane-100-6x256", "read", 100, { threads: 64 });
  assertEquals(outside, { calibrated: false, outside: "threads: 64, calibrated from 1 to 32 (2 times above)" });
  // An operation that was never compared has no band, whatever others of its kind have.
  const stored = (operation: MediaOperation, fenced = false) =>
    bandFor(residuals, "optane-200-8x256", "write", 10, { operation, fenced, bytes: 256, threads: 4 });
  assert(stored("nt-store", true).calibrated);
  for (const operation of ["flushed-store", "cached-store", "nt-store"] as const) {
    const outside = `no published write figure of "${operation}" on optane-200-8x256, only of "nt-store, fenced"`;
    assertEquals(stored(operation), { calibrated: false, outside });
  }
  const unknown = bandFor(residuals, "cxl-type3-ddr5-4x", "read", 100);
  assertEquals(unknown, { calibrated: false, outside: "no published read figure of cxl-type3-ddr5-4x" });
});

Deno.test("bands are those of the access where enough was compared: errors of flushed stores widen no others", () => {
  const { comparisons, leftOut, residuals } = validation;
  const medium = "ddr4-2666-6ch", known = residuals[medium]?.write;
  const factorOf = (of: typeof known, access: string) => of?.byAccess?.[access]?.factor ?? NaN;
  assert(factorOf(known, "nt-store") < 1.1 && factorOf(known, "flushed-store") > 1.3, JSON.stringify(known?.byAccess));
  const band = (operation: MediaOperation) => bandFor(residuals, medium, "write", 1, { operation });
  const [stored, whole] = [band("nt-store"), bandFor(residuals, medium, "write", 1)];
  assert(stored.calibrated && whole.calibrated);
  assertEquals(stored.high, factorOf(known, "nt-store"));
  assertEquals(whole.high, known?.factor);
  // The same access with too few figures left out has the band of the kind.
  const classes = new Map(comparisons.map((c) => [c.medium, "dram"]));
  const flushed = comparisons.filter((c) =>
    c.medium === medium && c.kind === "write" && c.query.operation === "flushed-store" && leftOut.errors[c.id]
  );
  const errors = { ...leftOut.errors };
  for (const { id } of flushed.slice(18)) delete errors[id];
  const fewer = residualsOf(comparisons, { ...leftOut, errors }, classes)[medium]?.write;
  assertEquals(fewer?.byAccess?.["flushed-store"], undefined);
  assert(factorOf(fewer, "nt-store") < 1.1);
});
