import fc from "fast-check";
import "../../native_library.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "../../assert.ts";
import { evaluateMedia, type MediaQuery } from "../../../ffi/media.ts";
import {
  loadMedia,
  type Media,
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
  await assertRejects(() => loadMedia("record"), MediaError, "Known: cxl-type3-ddr4");
  await assertRejects(() => loadMedia("../record"), Deno.errors.NotFound, "Cannot read the media model");
});

Deno.test("parseMedia() says where a file is wrong", async () => {
  const text = await Deno.readTextFile(new URL("optane-100-1x256.jsonc", FOLDER));
  assertThrows(
    () => parseMedia(text.replace('"value": 305,', '"value": "305",'), "mine"),
    MediaError,
    'mine:22:35  parameters.read_latency_ns.value: expected a number, found "305"',
  );
  assertThrows(() => parseMedia(text.replace('"kind"', '"knid"'), "mine"), MediaError, 'unknown field "knid"');
  assertThrows(() => parseMedia('{\n  "name": ,\n}', "mine"), MediaError, "mine:2:11  expected a value");
});
