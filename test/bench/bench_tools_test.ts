import { parsePlan, PARTS } from "../../bench/tools/plan.ts";
import { formatRows, foundRows, type Replayed, replayRows, torchRecRows } from "../../bench/tools/rows.ts";
import { type BenchRow, reached } from "../../bench/rows.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "../assert.ts";

const named = (rows: readonly BenchRow[], name: string): BenchRow => {
  const found = rows.find((row) => row.name === name);
  if (found === undefined) throw new Error(`no row ${name}: ${rows.map(({ name }) => name).join()}`);
  return found;
};

Deno.test("parsePlan() of bench:tools takes parts and sizes, and refuses what it does not know", () => {
  const places = { out: "/o", scratch: "/s" };
  assertEquals(parsePlan([], places), { parts: PARTS, sets: 200, requests: 1_000_000, rounds: 1, ...places });
  assertEquals(parsePlan(["--only=formats", "--sets=3"], places).parts, ["formats"]);
  for (const word of ["--full", "--only=pandas", "--requests=5"]) {
    assertThrows(() => parsePlan([word], places), RangeError);
  }
});

Deno.test("torchRecRows() counts refused sets, and takes the largest difference from where statistics say so on", () => {
  const sets = [[
    { name: "a", ask: [1e-5, 1e-3, 0.1], exactFrom: 1e-4, replayed: [0.9, 0.5, 0.1] },
    { name: "b", ask: [1e-3, 0.1], exactFrom: 0.05, replayed: [0.9, 0.2] },
  ], [{ name: "c", ask: [0.1], exactFrom: 0 }]];
  const told = [
    { set: 0, rejected: [], misses: { a: [0.1, 0.504, 0.1], b: [0.1, 0.193] } },
    { set: 1, rejected: ["ValueError: no"], misses: { c: [0.5] } },
  ];
  const rows = torchRecRows(sets, told);
  assertEquals([named(rows, "torchrec/loaded").value, reached(named(rows, "torchrec/loaded"))], [0.5, false]);
  assertStringIncludes(named(rows, "torchrec/loaded").note ?? "", "set 1: ValueError: no");
  const worst = named(rows, "torchrec/miss-rate");
  assertEquals([Math.round((worst.value ?? 0) * 1e6), reached(worst)], [7000, true]);
  assertStringIncludes(worst.note ?? "", "set 0, b, load factor 0.100");
  assertEquals(named(rows, "torchrec/exact-everywhere").value, 2 / 3);
});

Deno.test("formatRows() tells files that were read otherwise from those that were refused", () => {
  const rows = formatRows([
    { form: "npy", file: "a", read: "same" },
    { form: "npy", file: "b", read: { refused: 'Cannot read the array "/x/b": its columns are odd' } },
    { form: "text", file: "c", read: "wrong" },
  ]);
  assertEquals([named(rows, "formats/wrong").value, reached(named(rows, "formats/wrong"))], [1, false]);
  assertEquals([named(rows, "formats/npy").value, named(rows, "formats/npy").note], [
    0.5,
    "refused: its columns are odd",
  ]);
  assertEquals(named(rows, "formats/text").value, 0);
});

Deno.test("foundRows() judges files with whole numbers, and tells the others and the packages that are missing apart", () => {
  const rows = foundRows([
    { form: "npy", file: "a", read: "same", whole: true },
    { form: "npy", file: "a", read: "wrong", whole: true },
    { form: "npy", file: "b", read: { refused: 'Cannot read the array "/x/b": its elements are <f8' }, whole: false },
    { form: "npy", file: "c", read: "words", whole: false },
  ], ["parquet2: it cannot be had"]);
  assertEquals([named(rows, "found/wrong").value, reached(named(rows, "found/wrong"))], [1, false]);
  assertEquals([named(rows, "found/npy").value, named(rows, "found/npy").note], [0.5, "1 files"]);
  assertEquals(named(rows, "found/npy without whole numbers").value, 0.5);
  assertStringIncludes(named(rows, "found/parquet2").note ?? "", "it cannot be had");
});

Deno.test("replayRows() wants the same hits of exact policies, and says where ours is slowest and worst", () => {
  const replay = (policy: string, stream: string, ours: number, speed: number): Replayed => ({
    stream,
    size: 10,
    policy,
    requests: 100,
    theirs: 50,
    ours,
    seconds: [[speed, 1], [2 * speed, 1.5]],
  });
  const rows = replayRows([
    replay("sieve", "loop", 50, 3),
    replay("sieve", "scan", 49, 0.5),
    replay("s3fifo", "loop", 60, 2),
    replay("s3fifo", "scan", 45, 4),
  ]);
  const same = named(rows, "libcachesim/same-hits");
  assertEquals([same.value, reached(same)], [0.5, false]);
  assertStringIncludes(same.note ?? "", "sieve, scan, 10 rows: 49, theirs 50");
  const speed = named(rows, "libcachesim/speed sieve");
  assertEquals([speed.value, speed.high, reached(speed)], [0.5, 3, false]);
  const hits = named(rows, "libcachesim/hits s3fifo");
  assertEquals([hits.value, hits.high], [-0.05, 0.1]);
  assertStringIncludes(hits.note ?? "", "s3fifo, scan");
});
