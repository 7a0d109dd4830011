import "../native_library.ts";
import { emulationRow } from "../../bench/simulator/emulation_row.ts";
import { parsePlan, partOf, PARTS } from "../../bench/simulator/plan.ts";
import { coverageRow, freeRow, mediaRows, nullRow, parseValues, replayRows } from "../../bench/simulator/rows.ts";
import { stepRow } from "../../bench/simulator/step_row.ts";
import { keptRows, ratioRow, reached } from "../../bench/rows.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../assert.ts";

Deno.test("emulationRow() is as far from the model as the worst setting, to either side", () => {
  const row = emulationRow({ "a, 1 thread": 1.01, "a, 2 threads": 0.9, "b, 1 thread": 1.04 });
  assertEquals([row.name, row.unit, row.atMost], ["emulation/model", "ratio", 1.05]);
  assert(row.value !== null && Math.abs(row.value - 1 / 0.9) < 1e-12);
  assertEquals(reached(row), false);
  assertEquals(reached(emulationRow({ "a, 1 thread": 1.03, "b, 1 thread": 0.98 })), true);
  assertStringIncludes(row.note ?? "", "a, 2 threads 0.900");
  assertThrows(() => emulationRow({ a: NaN }), RangeError, 'Cannot make the row "emulation/model": a gave NaN');
  assertThrows(() => emulationRow({}), RangeError, "it has no ratios");
});

Deno.test("stepRow() is as far from the simulation as the worst setting's median turn, with its spread", () => {
  const row = stepRow([{ setting: "a", ratios: [1, 1.04, 1.02] }, { setting: "b", ratios: [0.7, 0.8, 0.9] }]);
  assertEquals([row.name, row.value, row.low, row.high], ["step/emulated", 1 / 0.8, 1 / 0.9, 1 / 0.7]);
  assertEquals(reached(row), false);
  assertStringIncludes(row.note ?? "", "a: 1.02 (1.00 to 1.04); b: 0.80 (0.70 to 0.90)");
  assertEquals(reached(stepRow([{ setting: "a", ratios: [0.95, 1.04, 1.2] }])), true);
  assertThrows(() => stepRow([]), RangeError, "it has no settings");
  assertThrows(
    () => stepRow([{ setting: "a", ratios: [1, NaN] }]),
    RangeError,
    'Cannot make the row "step/emulated": a',
  );
});

Deno.test("nullRow() is the share of met figures that a null model misses", () => {
  const metBy = { "dram": 3, "small-cache": 2, "uniform-keys": 1, "free-software": 4 };
  const row = nullRow({ within: 8, nulls: { reproduced: 2, caught: 6, metBy } });
  assertEquals([row.name, row.value], ["null-models/caught", 0.75]);
  assertStringIncludes(row.note ?? "", "6 of 8 figures that are met; 2 by all");
  assertThrows(() => nullRow({ within: 8 }), RangeError, "ran no null models");
});

Deno.test("coverageRow() is the share of relative figures in their bands", () => {
  const row = coverageRow({ coverage: { figures: 12, covered: 11 } });
  assertEquals([row.name, row.value], ["bands/coverage", 11 / 12]);
  assert(row.low !== null && row.high !== null && row.low < 11 / 12 && 11 / 12 < row.high && row.high < 1);
  // Bands that hold too much are as wrong as those that hold too little.
  const covers = (covered: number): boolean | undefined => reached(coverageRow({ coverage: { figures: 20, covered } }));
  assertEquals([16, 17, 19, 20].map(covers), [false, true, true, false]);
  assertThrows(() => coverageRow({}), RangeError, "no published figure has a band");
});

Deno.test("replayRows() are the project's bars, from what the program prints", () => {
  const printed = [
    "distinct=1000",
    "rate-zipf=60",
    "rate-zipf=40",
    "rate-zipf=70",
    "rate-uniform=20",
    "hits-zipf=0.7",
    "hits-uniform=0.01",
    "bytes-whole=23000",
    "bytes-distances=25000",
    "bytes-zipf=1000",
    "rate-distances=1",
    "rate-sampled=1",
    "error-sampled=0.002",
    "error-model=0.001",
    "error-formula=0.02",
    "terarow-seconds=61",
    "terarow-error-formula=0.003",
  ];
  const rows = replayRows(parseValues(`${printed.join("\n")}\n`));
  const missed = rows.filter((row) => reached(row) === false).map(({ name }) => name);
  assertEquals(missed, ["replay-memory/distances", "error/analytic", "terarow/seconds"]);
  const bars = rows.flatMap(({ name, atLeast, atMost }) => name.endsWith("/lru") ? [[name, atLeast ?? atMost]] : []);
  assertEquals(bars, [["replay-zipf/lru", 50], ["replay-uniform/lru", 15], ["replay-memory/lru", 24]]);
  assertEquals(rows[0]?.value, 60);
  assertThrows(
    () => replayRows(parseValues(printed.slice(1).join("\n"))),
    RangeError,
    'the bench printed no "distinct"',
  );
  assertThrows(() => parseValues("rate-zipf"), SyntaxError, "is not name=value");
});

Deno.test("freeRow() is the share of relative figures that set no parameter, half of them at least", () => {
  const row = (free: number) => freeRow({ relative: { figures: 19, free } });
  assertEquals([row(13).name, row(13).value, reached(row(10)), reached(row(9))], [
    "published/free",
    13 / 19,
    true,
    false,
  ]);
  assertThrows(() => freeRow({}), RangeError, "nothing relative is published");
});

Deno.test("parsePlan() takes parts; every row of the bench belongs to the part that makes it", () => {
  const places = { out: "there.json" };
  assertEquals(parsePlan([], places), { parts: PARTS, out: "there.json" });
  assertEquals(parsePlan(["--only=media,step", "--out=x.json"], places), { parts: ["media", "step"], out: "x.json" });
  assertThrows(
    () => parsePlan(["--only=stop"], places),
    RangeError,
    'Cannot run "stop": expected replay, emulation, step',
  );
  assertThrows(() => parsePlan(["--full"], places), RangeError, 'Cannot read "--full"');
  const media = mediaRows({ families: [{ name: "a", why: "too few" }], coverage: { points: 10, covered: 9 } });
  const accuracy = {
    within: 1,
    nulls: { reproduced: 1, caught: 1, metBy: { "dram": 0, "small-cache": 0, "uniform-keys": 0, "free-software": 0 } },
    coverage: { figures: 1, covered: 1 },
    relative: { figures: 1, free: 1 },
  };
  const of = (rows: readonly { readonly name: string }[]): (string | undefined)[] =>
    rows.map(({ name }) => partOf(name));
  assertEquals(of(media), ["media", "media"]);
  assertEquals(of([nullRow(accuracy), coverageRow(accuracy), freeRow(accuracy)]), [
    "published",
    "published",
    "published",
  ]);
  assertEquals(of([emulationRow({ a: 1 }), stepRow([{ setting: "a", ratios: [1] }])]), ["emulation", "step"]);
  assertEquals(partOf("import/npy"), "import");
  assertEquals(partOf("gone/row"), undefined);
});

Deno.test("keptRows() replaces rows that were made anew and keeps the others that may stay", () => {
  const row = (name: string, value: number) => ratioRow(name, [value]);
  const before = [row("a", 1), row("b", 1), row("c", 1)];
  const kept = keptRows(before, [row("b", 2), row("d", 2)], (name) => name !== "c");
  assertEquals(kept.map(({ name, value }) => `${name}=${value}`), ["a=1", "b=2", "d=2"]);
  assertEquals(keptRows(before, []).length, 3);
});
