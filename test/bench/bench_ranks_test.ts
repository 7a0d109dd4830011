import "../native_library.ts";
import { exchangeRows, identicalRow, networkRows, servedRows, stepRows, withRow } from "../../bench/ranks/rows.ts";
import { reached, resultJson } from "../../bench/rows.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "../assert.ts";

const WAYS = { "fused": [100, 200, 100], "separate": [300, 400, 150], "all": [250, 500, 250], "bf16": [80, 160, 80] };
const values = new Map(
  Object.entries(WAYS).flatMap(([way, times]) => [
    [way, times],
    [`${way}-floor`, times.map((time) => time * 0.95)],
    [`${way}-bytes`, times.map(() => way === "all" ? 4096 : 2048)],
  ]),
);

Deno.test("exchangeRows() compares rounds in pairs and says what was sent", () => {
  const rows = exchangeRows(values, 2);
  assertEquals(rows.map(({ name, value }) => [name, value]), [
    ["exchange/floor", 0.95],
    ["fused/separate", 2],
    ["dedup/none", 2.5],
    ["bf16/fp32 rows", 1.25],
  ]);
  assertEquals(rows.map(reached), [true, undefined, undefined, undefined]);
  assertStringIncludes(rows[0]?.note ?? "", "2 ranks, 2 KiB a rank");
  assertStringIncludes(rows[2]?.note ?? "", "4 KiB a rank without");
  assertThrows(() => exchangeRows(new Map([...values, ["fused", [1]]]), 2), RangeError, "as many rounds");
});

Deno.test("stepRows() are the ratios of steps a second, by rounds", () => {
  const rows = stepRows([{ one: 10, two: 12.5, ahead: 10, stale: 6.25 }, { one: 8, two: 10, ahead: 8, stale: 5 }]);
  assertEquals(rows.map(({ name, value, atLeast }) => [name, value, atLeast]), [
    ["ranks/one-process", 0.8, 0.9],
    ["ahead/none", 1.25, undefined],
    ["stale/none", 2, undefined],
  ]);
});

Deno.test("servedRows() are the ratios of asynchronous steps a second, and the share of a slow rank", () => {
  const one = { inStep: 10, asynchronous: 8, slowInStep: 20, slowAsynchronous: 10, slowShare: 0.25 };
  const rows = servedRows([one, { ...one, inStep: 20, asynchronous: 16, slowShare: 0.75 }]);
  assertEquals(rows.map(({ name, value, unit }) => [name, value, unit]), [
    ["async/in-step", 1.25, "ratio"],
    ["async/in-step, one slow", 2, "ratio"],
    ["slow rank's share", 0.5, "share of steps"],
  ]);
});

Deno.test("networkRows() sets what the simulator has against what was measured, or says why nothing was", async () => {
  const exchange = { rate: 8e9, payload: 1, latency: 0, tables: 4, dim: 16, keys: 1000 };
  const simulated = 1000 * (8 + 64 + 64 + 8) / 1e9;
  const of = (seconds: number) => ({ ...exchange, seconds, low: seconds / 2, high: seconds * 2 });
  const rows = await networkRows([of(simulated * 2), of(simulated)]);
  assertEquals(rows.map(({ name }) => name), [
    "simulated/measured",
    "simulated/measured 8 Gbit/s",
    "simulated/measured 8 Gbit/s",
  ]);
  const rounded = rows.map(({ value, low }) => [value, low].map((one) => one === null ? null : Number(one.toFixed(2))));
  assertEquals(rounded, [[0.5, null], [0.5, 0.25], [1, 0.5]]);
  assertEquals(rows.map(reached), [false, undefined, undefined]);
  const [skipped] = await networkRows("no namespaces");
  assertEquals([skipped?.value, skipped?.note], [null, "skipped: no namespaces"]);
});

Deno.test("identicalRow() finds one rank of one job with another digest or another loss", () => {
  const report = (digest: string, loss = 0.5) => ({ rank: 0, stepNs: 1, meanNs: 1, digest, loss, rowsBelow: 0 });
  const one = { name: "1 ranks", reports: [report("a")] };
  const two = { name: "2 ranks", reports: [report("a"), report("a")] };
  assertEquals([identicalRow([one, two, two]).value, reached(identicalRow([one, two]))], [1, true]);
  const odd = identicalRow([one, two, { name: "4 ranks", reports: [report("a"), report("b")] }]);
  assertEquals([odd.value, reached(odd), odd.note], [0.5, false, "other bits: 4 ranks"]);
  assertEquals(identicalRow([one, { name: "2 ranks", reports: [report("a", 0.6)] }]).value, 0);
  assertEquals(identicalRow([one, { name: "2 ranks", reports: [] }]).value, 0);
  assertThrows(() => identicalRow([one]), RangeError, "expected two or more");
});

Deno.test("withRow() replaces one row of a result, or adds it, and leaves the others and the machine", () => {
  const row = (name: string, value: number) => ({ name, value, low: null, high: null, unit: "ratio" });
  const result = resultJson({ cpu: "one" }, [row("exchange/floor", 0.5), row("ranks/identical", 0)]);
  const { machine, rows } = JSON.parse(withRow(result, row("ranks/identical", 1)));
  assertEquals(machine, { cpu: "one" });
  assertEquals(rows.map(({ name, value }: { name: string; value: number }) => [name, value]), [
    ["exchange/floor", 0.5],
    ["ranks/identical", 1],
  ]);
  assertEquals(JSON.parse(withRow(resultJson({}, []), row("ranks/identical", 1))).rows.length, 1);
});
