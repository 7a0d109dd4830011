import "../../native_library.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { lookupPrices, pricesOf, ROUND_RUNS, softwareRound } from "../../../models/host/software.ts";
import { messageSeconds, messageStart } from "../../../models/host/messages.ts";
import { lastUsed, runSteps, zipfBatches } from "../../../models/host/store_runs.ts";

const DRAM = {
  medium: "dram",
  read_latency_ns: "100",
  read_bandwidth: "1e11",
  write_nt_latency_ns: "100",
  write_nt_bandwidth: "1e11",
  write_cached_latency_ns: "100",
  write_cached_bandwidth: "1e11",
};

Deno.test("zipfBatches() are keys of the table, the same for a seed, the more alike the more skewed", () => {
  const of = (s: number, seed = 1) => zipfBatches({ rows: 1024, keys: 256, steps: 4, s, seed });
  assertEquals(of(1.1), of(1.1));
  assert(of(1.1).every((keys) => keys.length === 256 && keys.every((key) => key >= 0n && key < 1024n)));
  const distinct = (batches: BigInt64Array[]) => new Set(batches.flatMap((keys) => [...keys])).size;
  assert(distinct(of(1.3)) < distinct(of(0.8)) && distinct(of(0.8)) < distinct(of(0)));
});

Deno.test("lastUsed() has every row once, popular rows late, as an LRU tier that has run for ever", () => {
  const rows = 4096, order = lastUsed({ rows, s: 1, seed: 1 });
  assertEquals(new Set(order).size, rows);
  assertEquals(order, lastUsed({ rows, s: 1, seed: 1 }));
  // What the tier holds of the rows that a long stream asks for: as many as its last lookups have touched.
  const held = rows / 4, recent = new Set(order.slice(rows - held));
  const last = new Set<bigint>();
  const stream = zipfBatches({ rows, keys: 40_000, steps: 1, s: 1, seed: 2 })[0] as BigInt64Array;
  for (let at = stream.length - 1; last.size < held; at--) last.add(stream[at] as bigint);
  const hits = (of: ReadonlySet<bigint>) => [...stream].filter((key) => of.has(key)).length / stream.length;
  assert(Math.abs(hits(recent) - hits(last)) < 0.03, `${hits(recent)} ${hits(last)}`);
});

Deno.test("runSteps() counts the rows that come up from the second tier", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const rows = 4096, dim = 16, order = lastUsed({ rows, s: 0, seed: 1 });
    const batches = zipfBatches({ rows, keys: 512, steps: 12, s: 0, seed: 3 });
    const options = { rows, dim, batches, order, warmup: 2, folder };
    const quarter = await runSteps({ ...options, cacheBytes: rows * dim * 2 });
    const distinct = batches.slice(2).reduce((sum, keys) => sum + new Set(keys).size, 0) / 10;
    assert(Math.abs(quarter.missed / distinct - 0.75) < 0.05, `${quarter.missed} of ${distinct}`);
    assertEquals((await runSteps({ ...options, cacheBytes: rows * dim * 16 })).missed, 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("softwareRound() gives prices of zero or more, with intervals that have a width", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const runs = { rows: 4096, dim: 16, keys: 512, steps: 12, rounds: 2 };
    const asked: string[] = [];
    const onRun = (what: string) => asked.push(what);
    const rounds = [];
    for (const seed of [1, 2]) rounds.push(await softwareRound(runs, DRAM, folder, seed, { onRun }));
    assertEquals(asked.length, 2 * ROUND_RUNS);
    const prices = pricesOf(rounds, runs.keys);
    const others = [
      ...(navigator.hardwareConcurrency > 1 ? ["perLock"] : []),
      ...(messageStart() === undefined ? [] : ["perMessage"]),
    ];
    assertEquals(Object.keys(prices), ["perKey", "perRow", "perUpdate", "track", "upkeep", "perMiss", ...others]);
    if (prices.perMessage !== undefined) assert(prices.perMessage.value > 1e-8, "a message takes some time");
    for (const [name, { value, low, high }] of Object.entries(prices)) {
      assert(value >= 0 && low >= 0 && low <= value && value <= high && low < high, `${name}: ${low} ${value} ${high}`);
      assert(high < 1e-3, `${name}: ${high} s`);
    }
    const batches = zipfBatches({ ...runs, s: 1, seed: 3 });
    const { lookup, update } = await runSteps({ ...runs, batches, warmup: 2 });
    assert(lookup > 0 && update > 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("lookupPrices() finds what a key and a miss cost, and gives neither a price below zero", () => {
  const run = (track: number, perMiss: number) => (missed: number) => {
    const more = 512 * track + missed * perMiss;
    return { more, lookup: 2e-5 + more + missed * 1e-6, missed };
  };
  const of = (track: number, perMiss: number) => lookupPrices([5, 15, 300, 400].map(run(track, perMiss)), 512);
  const close = (found: number, wanted: number) => assert(Math.abs(found - wanted) < 1e-12, `${found} ${wanted}`);
  close(of(35e-9, 9e-7).track, 35e-9);
  close(of(35e-9, 9e-7).perMiss, 9e-7);
  assertEquals(of(-1e-9, 9e-7).track, 0);
  assertEquals(of(35e-9, -1e-9).perMiss, 0);
});

Deno.test("ranks that cannot send messages are an error with their words, no price", async () => {
  const start = { mpi: "openmpi", launcher: "mpirun", environment: {} } as const;
  await assertRejects(
    () => messageSeconds({ ...start, words: ["sh", "-c", "echo no memory for ranks >&2; exit 3"] }),
    Error,
    "Cannot measure messages between two ranks: no memory for ranks",
  );
  await assertRejects(() => messageSeconds({ ...start, words: ["true"] }), Error, "they printed nothing");
});
