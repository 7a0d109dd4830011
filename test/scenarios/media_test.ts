import fc from "fast-check";
import { assert, assertAlmostEquals, assertEquals, assertRejects, assertThrows } from "../assert.ts";
import {
  BANDWIDTH_UNITS,
  bandwidthAt,
  listMedia,
  loadMedia,
  type Media,
  type MediaBandwidth,
  MediaError,
  mediaNativeOptions,
  type MediaOperation,
  parseMedia,
} from "../../scenarios/media.ts";

const FOLDER = new URL("../../scenarios/media/", import.meta.url);

/** id -> value and unit; the columns that hold commas come later in the line. */
async function calibration(): Promise<Map<string, { value: number; unit: string }>> {
  const lines = (await Deno.readTextFile(new URL("calibration.csv", FOLDER))).trim().split("\n").slice(1);
  return new Map(lines.map((line) => {
    const [id = "", value = "", unit = ""] = line.split(",");
    return [id, { value: Number(value), unit }];
  }));
}

const operations = (media: Media): [string, MediaOperation][] => [
  ["read", media.read],
  ["writeNt", media.writeNt],
  ["writeCached", media.writeCached],
];

/** Nanoseconds of a 64-byte line at a row's bandwidth. */
function lineNs(rows: Map<string, { value: number; unit: string }>, id: string): number {
  const row = rows.get(id);
  assert(row !== undefined, id);
  return 64e9 / (row.value * BANDWIDTH_UNITS[row.unit as keyof typeof BANDWIDTH_UNITS]);
}

Deno.test("media: every number is that of its rows, or says how it is derived", async () => {
  const rows = await calibration();
  const names = await listMedia();
  assert(names.length >= 6);
  for (const name of names) {
    const media = await loadMedia(name);
    assertEquals(media.name, name);
    const quantities = [["granuleBytes", media.granuleBytes] as const].concat(
      operations(media).flatMap(([op, o]) =>
        [["latencyNs", o.latencyNs], ["nextLatencyNs", o.nextLatencyNs], ["inFlight", o.inFlight]].map((
          [key, q],
        ) => [`${op}.${key}`, q] as never)
      ),
    );
    for (const [path, quantity] of quantities) {
      for (const id of quantity.from) assert(rows.has(id), `${name} ${path}: no row ${id}`);
      const row = rows.get(quantity.from[0] ?? "");
      if (quantity.how === undefined || quantity.from.length === 1 && row?.unit === "ns") {
        assertEquals(quantity.value, row?.value, `${name} ${path}`);
      }
    }
    for (const [op, { bandwidth }] of operations(media)) {
      assert((bandwidth.factor === undefined) === (bandwidth.how === undefined), `${name} ${op}`);
      for (const point of bandwidth.points) {
        const row = rows.get(bandwidth.from.replace("{threads}", String(point.threads)));
        assert(row !== undefined, `${name} ${op} ${point.threads}`);
        assertEquals(row.unit, bandwidth.unit, `${name} ${op}`);
        assertAlmostEquals(point.value, row.value, 1e-4, `${name} ${op} ${point.threads}`);
      }
    }
  }
});

Deno.test("media: derived numbers follow from their rows by Little's law", async () => {
  const rows = await calibration();
  const ns = (id: string) => rows.get(id)?.value ?? NaN;
  const near = (actual: number, expected: number) => assertAlmostEquals(actual, expected, expected * 1e-3);
  const optane = await loadMedia("optane-100-6x256");
  near(optane.read.inFlight.value, ns("OS-LAT-dram-Read-Random") / lineNs(rows, "OS-RAND-dram6-Load-0W-64B-1T"));
  near(
    optane.writeNt.inFlight.value,
    ns("OS-LAT-dram-Write-ntstore") / lineNs(rows, "OS-RAND-dram6-NTStore-0W-256B-1T"),
  );
  near(
    optane.writeCached.inFlight.value,
    ns("OS-LAT-dram-Read-Random") / lineNs(rows, "OS-RAND-dram6-Store-0W-256B-1T"),
  );
  const cxl = await loadMedia("cxl-type3-ddr4");
  const lines = ns("CXL-LAT-randomread-local-avg") / lineNs(rows, "CXL-SPLIT-randomread-64B-1T-0pct");
  near(cxl.read.inFlight.value, lines);
  near(cxl.read.latencyNs.value, lines * lineNs(rows, "CXL-BW-randomread-1dev-64B-1T"));
  near(cxl.writeCached.latencyNs.value, lines * lineNs(rows, "CXL-BW-randomwrite-1dev-64B-1T"));
  const further = (first: string, whole: string, n: number) =>
    lines * (n * lineNs(rows, whole) - lineNs(rows, first)) / (n - 1);
  near(
    cxl.read.nextLatencyNs.value,
    further("CXL-BW-randomread-1dev-64B-1T", "CXL-BW-randomread-1dev-1024B-1T", 16),
  );
  near(
    cxl.writeNt.nextLatencyNs.value,
    further("CXL-BW-randomwrite-1dev-64B-1T", "CXL-BW-randomwrite-1dev-1024B-1T", 16),
  );
  const second = await loadMedia("optane-200-8x256");
  near(
    second.read.latencyNs.value,
    ns("OS-LAT-pmem-Read-Random") + ns("PB-LAT-B-256-rp_64-1T-avg") - ns("PB-LAT-A-256-rp_64-1T-avg"),
  );
  near(second.read.inFlight.value, second.read.latencyNs.value / lineNs(rows, "PB-B-256-random_reads-64B-1T"));
  const ratio = ns("OS-RAND-pmem6-Store-15W-256B-16T") / ns("OS-RAND-pmem6-NTStore-15W-256B-6T");
  near(second.writeCached.bandwidth.factor ?? NaN, ratio);
});

Deno.test("bandwidthAt() never rises with threads and passes through the falling points", async () => {
  const curve: MediaBandwidth = {
    unit: "GB/s",
    from: "x-{threads}",
    points: [{ threads: 1, value: 2 }, { threads: 4, value: 8 }, { threads: 8, value: 4 }],
  };
  assertEquals(bandwidthAt(curve, 1), 8e9);
  assertEquals(bandwidthAt(curve, 4), 8e9);
  assertEquals(bandwidthAt(curve, 6), 6e9);
  assertEquals(bandwidthAt(curve, 8), 4e9);
  assertEquals(bandwidthAt(curve, 100), 4e9);
  assertEquals(bandwidthAt({ ...curve, unit: "MiB/s", factor: 2 }, 8), 4 * 2 ** 20 * 2);
  const shipped = await Promise.all((await listMedia()).map(loadMedia));
  fc.assert(fc.property(fc.constantFrom(...shipped), fc.integer({ min: 1, max: 64 }), (media, threads) => {
    for (const [, { bandwidth }] of operations(media)) {
      assert(bandwidthAt(bandwidth, threads) >= bandwidthAt(bandwidth, threads + 1));
    }
  }));
});

Deno.test("mediaNativeOptions() gives the options of the native library in bytes a second", async () => {
  const media = await loadMedia("optane-100-6x256");
  const options = mediaNativeOptions(media, { prefix: "emulate", threads: 1 });
  assertEquals(options["emulate.medium"], "optane-100-6x256");
  assertEquals(options["emulate.granule"], "256");
  assertEquals(options["emulate.read_latency_ns"], "305");
  assertEquals(options["emulate.read_bandwidth"], String(37325 * 2 ** 20));
  assertEquals(options["emulate.write_nt_bandwidth"], String(12586 * 2 ** 20));
  const behind = mediaNativeOptions(media, { prefix: "memory_mode", threads: 2, cacheBytes: 25165824, seed: 7 });
  assertEquals(behind["memory_mode.cache_bytes"], "25165824");
  assertEquals(behind["memory_mode.seed"], "7");
  assert(!Object.keys(behind).some((key) => key.includes("write_nt")));
  assertThrows(() => mediaNativeOptions(media, { prefix: "emulate", threads: 0 }), RangeError, "current is 0");
  assertThrows(() => mediaNativeOptions(media, { prefix: "memory_mode", threads: 1 }), RangeError, "DRAM cache");
});

Deno.test("loadMedia() names what was meant and what there is", async () => {
  await assertRejects(
    () => loadMedia("optane-100-6x255"),
    MediaError,
    'did you mean "optane-100-6x256"?',
  );
  await assertRejects(() => loadMedia("../record"), MediaError, "Known: cxl-type3-ddr4");
});

Deno.test("parseMedia() says where a file is wrong", async () => {
  const text = await Deno.readTextFile(new URL("optane-100-6x256.jsonc", FOLDER));
  assertThrows(() => parseMedia(text.replace('"read":', '"raed":'), "mine"), MediaError, "mine: read");
  assertThrows(
    () => parseMedia(text.replace('"value": 305,', '"value": "305",'), "mine"),
    MediaError,
    "latencyNs.value",
  );
  assertThrows(() => parseMedia('{\n  "name": ,\n}', "mine"), MediaError, "line 2");
});
