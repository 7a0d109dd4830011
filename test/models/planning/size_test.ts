import "../../native_library.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { parsePlan } from "../../../models/planning/load.ts";
import { measureSizes, planTables } from "../../../models/planning/sizes.ts";
import { tableSize } from "../../../models/planning/size.ts";

const PLAN = `{
  "kind": "plan", "name": "sizes", "target": { "samplesPerSecond": 1 },
  "tables": {
    "odd": { "rows": 2000, "dim": 10, "optimizer": "adagrad", "profile": "uniform" },
    "half": { "rows": 150000, "dim": 9, "dtype": "bf16", "optimizer": "adam", "profile": "uniform" },
    "served": { "rows": 300001, "dim": 33, "optimizer": "none", "profile": "uniform" },
    "one state": { "rows": 1000, "dim": 10, "optimizer": "rowwiseAdagrad", "profile": "uniform" }
  }
}`;

Deno.test("tableSize() gives the rows of a real store to the byte, and its index within the range", () => {
  const plan = parsePlan(PLAN, { file: "sizes.jsonc", directory: "." });
  const computed = planTables(plan).map(tableSize);
  const measured = measureSizes(plan);
  assertEquals(measured.map(({ rowBytes }) => rowBytes), computed.map(({ rowBytes }) => rowBytes));
  assertEquals(computed.map(({ rowBytes }) => rowBytes), [48 + 48, 32 + 48 + 48, 144, 48 + 4]);
  measured.forEach(({ purposes }, i) => {
    const { rows, index } = computed[i] ?? { rows: 0, index: { low: 0, high: 0 } };
    assertEquals(purposes["rows"], rows);
    const found = purposes["index"] ?? 0;
    assert(
      found >= index.low && found <= index.high,
      `index of ${found} bytes, computed ${index.low} to ${index.high}`,
    );
  });
});

Deno.test("MLPerf's tables take what is published of them, and one state a row what Adagrad's six hundred gigabytes become", async () => {
  const bytesOf = async (name: string, optimizer: string) => {
    const file = new URL(`../../../scenarios/plans/${name}.jsonc`, import.meta.url);
    const text = (await Deno.readTextFile(file)).replaceAll("rowwiseAdagrad", optimizer);
    const plan = parsePlan(text, { file: file.pathname, directory: "." });
    const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
    return {
      rows: sum(planTables(plan).map(({ rows }) => rows)),
      bytes: sum(planTables(plan).map((table) => tableSize(table).rows)),
      lookups: sum(Object.values(plan.tables).map(({ lookups = 1 }) => lookups)),
    };
  };
  const v4 = await bytesOf("mlperf-dlrmv4", "none");
  assertEquals(v4, { rows: 293_051_712, bytes: 600_169_906_176, lookups: 12_269 });
  assertEquals((await bytesOf("mlperf-dlrmv4", "rowwiseAdagrad")).bytes - v4.bytes, 4 * 293_051_712);
  assertEquals((await bytesOf("mlperf-dlrmv4", "adagrad")).bytes, 2 * v4.bytes);
  // Two bytes a weight: 1.024 TB of items, 10.24 GB of users.
  assertEquals(await bytesOf("mlperf-dlrmv3", "none"), {
    rows: 1_010_000_128,
    bytes: 1_034_240_131_072,
    lookups: 4_097,
  });
  assertEquals(await bytesOf("mlperf-dlrmv2", "none"), { rows: 204_184_588, bytes: 104_542_509_056, lookups: 214 });
});

Deno.test("tableSize() refuses what is no number of rows", () => {
  assertThrows(() => tableSize({ name: "a", rows: 1.5, rowBytes: 16 }), RangeError, 'table "a": rows: found 1.5');
});

Deno.test("measureSizes() refuses tables that memory does not hold", () => {
  const plan = parsePlan(PLAN.replace("300001", "3000000000"), { file: "sizes.jsonc", directory: "." });
  assertThrows(() => measureSizes(plan), RangeError, "leave --measure out");
});

Deno.test("parsePlan() names what is wrong with line and column", () => {
  const parse = (text: string) => parsePlan(text, { file: "p.jsonc", directory: "." });
  assertThrows(
    () => parse(PLAN.replace('"dim": 10', '"dims": 10')),
    Error,
    'p.jsonc:4:28  tables.odd.dims: unknown field "dims"',
  );
  assertThrows(() => parse(PLAN.replace("adagrad", "adagrat")), Error, 'did you mean "adagrad"?');
  assertThrows(
    () => parse(PLAN.replace('{ "samplesPerSecond": 1 }', "{}")),
    Error,
    "expected samplesPerSecond, p99Ms or",
  );
});
