import fc from "fast-check";
import "../../native_library.ts";
import { assert, assertAlmostEquals, assertEquals, assertRejects, assertThrows } from "../../assert.ts";
import { evaluateMedia, type MediaQuery } from "../../../ffi/media.ts";
import {
  listCpus,
  listMedia,
  loadCpu,
  loadMedia,
  loadMediaOn,
  type Media,
  mediaCapacity,
  MediaError,
  mediaNativeOptions,
  mediaOptions,
  parseMedia,
  shippedMedia,
} from "../../../models/media/media.ts";
import { BANDWIDTH_UNITS, isVerified, loadCalibration } from "../../../models/media/calibration/calibration.ts";

const FOLDER = new URL("../../../models/media/", import.meta.url);

const shipped = await shippedMedia();
const rows = new Map((await loadCalibration()).map((row) => [row.id, row]));

/** Rows that an id with `*` names. */
function matching(pattern: string): string[] {
  if (rows.has(pattern)) return [pattern];
  const expression = new RegExp(`^${RegExp.escape(pattern).replaceAll("\\*", ".*")}$`);
  return [...rows.keys()].filter((id) => expression.test(id));
}

Deno.test("media: every number names its rows, verified ones, and is theirs, derived or fitted", () => {
  assert(shipped.length >= 20);
  for (const media of shipped) {
    const parameters = [media.parameters, ...Object.values(media.platforms).map((p) => p.parameters)];
    for (const [key, { value, from, how, fit }] of parameters.flatMap((p) => Object.entries(p))) {
      assert(from.length > 0, `${media.name} ${key}: no row`);
      for (const pattern of from) {
        const ids = matching(pattern);
        assert(ids.length > 0, `${media.name} ${key}: no row ${pattern}`);
        for (const id of ids) {
          const row = rows.get(id);
          assert(row !== undefined && isVerified(row), `${media.name} ${key}: ${id} is not verified`);
        }
      }
      if (how === undefined && fit !== true) {
        assertEquals(value, Number(rows.get(from[0] ?? "")?.value), `${media.name} ${key}`);
      }
    }
  }
});

Deno.test("calibration: rows from memory and those without a source are told from verified ones", () => {
  const all = [...rows.values()];
  assert(all.length > 1500);
  assert(all.some((row) => row.note.startsWith("unverified") && !isVerified(row)));
  for (const { id, value, unit } of all) {
    if (BANDWIDTH_UNITS[unit] !== undefined || unit === "ns") assert(value.length > 0, id);
  }
});

/** Few parameters: never one a figure. */
Deno.test("media: a family has at most one fitted number for seven published figures", async () => {
  const { families } = await import("../../../models/media/calibration/fit.ts");
  const { pointsOf } = await import("../../../models/media/calibration/points.ts");
  let free = 0, points = 0;
  for (const family of await families(pointsOf([...rows.values()]))) {
    free += family.free.length;
    points += family.targets.reduce((sum, { questions }) => sum + questions.points.length, 0);
  }
  assert(points > 7 * free, `${points} figures, ${free} fitted numbers`);
});

const ask = (
  media: Media,
  queries: readonly MediaQuery[],
): number[] => [...evaluateMedia(mediaOptions(media), queries)];

Deno.test("media models: more threads of a core-limited medium, a faster medium, a lower load are never slower", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...shipped),
      fc.integer({ min: 1, max: 8192 }),
      fc.integer({ min: 1, max: 64 }),
      fc.boolean(),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (media, bytes, threads, prefetch, load) => {
        const query: MediaQuery = { ask: "bandwidth", operation: "load", bytes, threads, prefetch };
        const options = mediaOptions(media);
        const [rate = NaN] = evaluateMedia(options, [query]);
        const faster = (key: string, factor: number): number =>
          evaluateMedia({ ...options, [key]: String(Number(options[key] ?? 1) * factor) }, [query])[0] ?? NaN;
        assert(rate > 0 && Number.isFinite(rate), `${media.name} ${rate}`);
        assert(faster("read_bandwidth", 1.5) >= rate);
        assert(faster("latency_scale", 0.7) >= rate);
        const [idle = NaN, some = NaN, more = NaN] = ask(
          media,
          [0, load, Math.min(1, load * 1.1)].map((l) => ({ ...query, ask: "latency", load: l })),
        );
        assert(idle > 0 && idle <= some && some <= more, `${media.name} ${idle} ${some} ${more}`);
      },
    ),
    { numRuns: 200 },
  );
});

Deno.test("media models: Optane moves whole granules, and what is near the module answers sooner", async () => {
  const media = await loadMedia("optane-100-6x256");
  const load = (bytes: number): MediaQuery => ({ ask: "peak", operation: "load", bytes, threads: 24 });
  const [small = NaN, whole = NaN] = ask(media, [load(64), load(256)]);
  assertEquals(Math.round(whole / small * 100) / 100, 4);
  const at = (region: number): MediaQuery => ({ ask: "latency", operation: "load", bytes: 64, threads: 1, region });
  const [near = NaN, middle = NaN, far = NaN] = ask(media, [at(8192), at(2 ** 22), at(2 ** 34)]);
  assert(near < middle && middle < far);
});

Deno.test("mediaNativeOptions() gives the options of the native library", async () => {
  const media = await loadMedia("optane-100-6x256");
  const options = mediaNativeOptions(media, { prefix: "emulate", threads: 1 });
  assertEquals(options["emulate.medium"], "optane-100-6x256");
  assertEquals(options["emulate.granule"], "256");
  assertEquals(options["emulate.modules"], "6");
  assertEquals(options["emulate.read_latency_ns"], "305");
  const behind = mediaNativeOptions(media, { prefix: "memory_mode", threads: 2, cacheBytes: 25165824, seed: 7 });
  assertEquals(behind["memory_mode.cache_bytes"], "25165824");
  assertEquals(behind["memory_mode.seed"], "7");
  assertEquals(behind["memory_mode.threads"], "2");
  assertThrows(() => mediaNativeOptions(media, { prefix: "emulate", threads: 0 }), RangeError, "current is 0");
  assertThrows(() => mediaNativeOptions(media, { prefix: "memory_mode", threads: 1 }), RangeError, "DRAM cache");
  const ssd = await loadMedia("optane-ssd");
  assertThrows(() => mediaNativeOptions(ssd, { prefix: "emulate", threads: 1 }), MediaError, "no parameter write_nt");
});

Deno.test("loadMedia() names what was meant and what there is", async () => {
  await assertRejects(() => loadMedia("optane-100-6x255"), MediaError, 'did you mean "optane-100-6x256"?');
  await assertRejects(() => loadMedia("record"), MediaError, "known: cxl-over-pcie5");
  await assertRejects(() => loadMedia("../record"), Deno.errors.NotFound, "Cannot read the media model");
});

Deno.test("parseMedia() says where a file is wrong", async () => {
  const text = await Deno.readTextFile(new URL("optane-100-1x256.jsonc", FOLDER));
  const line = text.split("\n").findIndex((one) => one.includes('"read_latency_ns": { "value": 305,')) + 1;
  assertThrows(
    () => parseMedia(text.replace('"value": 305,', '"value": "305",'), "mine"),
    MediaError,
    `mine:${line}:35  parameters.read_latency_ns.value: expected a number, found "305"`,
  );
  assertThrows(() => parseMedia(text.replace('"kind"', '"knid"'), "mine"), MediaError, 'unknown field "knid"');
  assertThrows(() => parseMedia('{\n  "name": ,\n}', "mine"), MediaError, "mine:2:11  expected a value");
});

Deno.test("a CPU's numbers come under a medium's, another CPU can be put to it, and none is a medium", async () => {
  const measured = await loadMedia("optane-100-6x256"), other = await loadMediaOn("optane-100-6x256", "cpu-ice-lake");
  assertEquals([measured.cpu, other.cpu], ["cpu-cascade-lake", "cpu-ice-lake"]);
  const cpu = await loadCpu("cpu-ice-lake");
  for (const key of ["read_in_flight", "write_nt_fence_ns", "cores"]) {
    assertEquals(other.parameters[key]?.value, cpu.parameters[key]?.value, key);
    assert(other.parameters[key]?.value !== measured.parameters[key]?.value, key);
  }
  assertEquals(other.parameters["read_bandwidth"], measured.parameters["read_bandwidth"]);
  // The 200 series was measured on another CPU, of whose flushes nothing was published.
  const later = await loadMedia("optane-200-8x256");
  assertEquals(later.parameters["write_flush_bandwidth"], undefined);
  assertEquals((await listMedia()).filter((name) => name.startsWith("cpu-")), []);
  for (const name of await listCpus()) await loadCpu(name);
  await assertRejects(() => loadMedia("cpu-grace"), MediaError, "no such model");
  await assertRejects(() => loadMediaOn("optane-100-6x256", "cpu-icelake"), MediaError, 'did you mean "cpu-ice-lake"?');
});

Deno.test("mediaCapacity() is what the name says, times the devices", async () => {
  assertEquals(mediaCapacity(await loadMedia("optane-100-6x256")), 1536e9);
  assertEquals(mediaCapacity(await loadMedia("nvme-tlc"), 4), 4 * 3.84e12);
  assertEquals(mediaCapacity(await loadMedia("link-pcie5-x16")), undefined);
});

Deno.test("one persist takes as long by its latency as by its bandwidth, on every medium", () => {
  for (const media of shipped.filter((m) => m.parameters["write_nt_bandwidth"] !== undefined && m.kind !== "ssd")) {
    const persist = { operation: "nt-store", bytes: 64, threads: 1, fenced: true } as const;
    const [latency = NaN, bandwidth = NaN] = ask(media, [
      { ask: "latency", ...persist },
      { ask: "bandwidth", ...persist },
    ]);
    assertAlmostEquals(64 / bandwidth * 1e9 / latency, 1, 0.01, media.name);
  }
});

Deno.test("no medium is slower under load than what is in flight, and drives are asked with depths and numbers", async () => {
  for (const media of shipped) {
    const query: MediaQuery = { ask: "latency", operation: "load", bytes: 64, threads: 1, readShare: 0.6 };
    const mixed = media.parameters["write_nt_bandwidth"] === undefined ? { ...query, readShare: 1 } : query;
    const [full = NaN, peak = NaN, idle = NaN] = ask(media, [
      { ...mixed, load: 1 },
      { ...mixed, ask: "peak" },
      mixed,
    ]);
    const of = (key: string, standard: number) => media.parameters[key]?.value ?? standard;
    const waiting = Math.max(of("waiting", 16), of("waiting_write", 16)) * of("cores", 16) * of("line", 64);
    assert(full <= Math.max(idle, waiting / peak * 1e9) * 1.001, `${media.name}: ${full} ns`);
  }
  const drive = await loadMedia("nvme-tlc");
  const at = (depth: number, devices: number, more: Partial<MediaQuery> = {}): MediaQuery => ({
    ask: "bandwidth",
    operation: "load",
    bytes: 4096,
    threads: 1,
    depth,
    devices,
    ...more,
  });
  const [one = NaN, deep = NaN, full = NaN, four = NaN] = ask(drive, [at(1, 1), at(8, 1), at(1024, 1), at(1024, 4)]);
  assert(deep > 7 * one && full < 900e3 * 4096 * 1.01 && four > 2.5 * full);
  const [idle = NaN, waits = NaN, tail = NaN] = ask(drive, [
    at(1, 1, { ask: "latency" }),
    at(256, 1, { ask: "latency" }),
    at(256, 1, { ask: "latency", percentile: 99 }),
  ]);
  assertAlmostEquals(idle, 92000, 1);
  assert(waits > 2 * idle && tail > 2 * waits);
});
