import "../../native_library.ts";
import { evaluateMedia } from "../../../ffi/media.ts";
import { loadMedia, mediaOptions } from "../../../models/media/media.ts";
import { modelBands, modelLimit } from "../../../scenarios/run/model_facts.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";

const NAME = "optane-100-6x256";

Deno.test("modelLimit() is what the media model gives to rows of that size, read and written as the tier does", async () => {
  const options = mediaOptions(await loadMedia(NAME));
  const asked = (operation: "load" | "nt-store" | "cached-store", bytes: number, threads: number): number =>
    evaluateMedia(options, [{ ask: "bandwidth", operation, bytes, threads, prefetch: true }])[0] as number;
  for (const [type, write] of [["PMEM_LIBPMEM", "nt-store"], ["PMEM_MEMKIND", "cached-store"]] as const) {
    for (const [rowBytes, threads] of [[64, 1], [128, 2], [512, 16]] as const) {
      const { questions = [], ...limit } = await modelLimit(NAME, { type, rowBytes, threads });
      const how = { media: NAME, bytes: rowBytes, threads, depth: 1, devices: 1, hops: 0, prefetch: true, region: 0 };
      for (const { figures, alike, validated, band, ...question } of questions) {
        assert((band?.factor ?? 0) > 1, "each has a band");
        const { operation } = question, ahead = operation !== "nt-store";
        assertEquals(validated, operation !== "cached-store", operation);
        assertEquals(question, { ...how, operation, ahead, sequential: false, fenced: false });
        // The store asks ahead, which no published figure does: they are of plain loops, and alike at most.
        assert(alike > 20 && (ahead ? figures === 0 : figures <= alike), `${operation}: ${figures} and ${alike}`);
      }
      assertEquals(new Set(questions.map(({ operation }) => operation)), new Set<string>(["load", write]));
      assertEquals(limit, {
        readBytesPerSecond: asked("load", rowBytes, threads),
        writeBytesPerSecond: asked(write, rowBytes, threads),
        rowBytes,
        threads,
      });
    }
  }
  // Rows of 1 KiB cost a machine with prefetchers, which the store is slowed as, nearly half of the bandwidth.
  const plain = evaluateMedia(options, [{ ask: "bandwidth", operation: "load", bytes: 1024, threads: 16 }])[0] ?? NaN;
  const limit = await modelLimit(NAME, { type: "PMEM_LIBPMEM", rowBytes: 1024, threads: 16 });
  assert(limit.readBytesPerSecond < 0.7 * plain, `${limit.readBytesPerSecond} of ${plain}`);
  const [nt, cached] = [asked("nt-store", 128, 2), asked("cached-store", 128, 2)];
  assert(nt !== cached, `${nt} and ${cached} cannot tell the two apart`);
  const error = await assertRejects(() => modelLimit("optane-9", { type: "PMEM_LIBPMEM", rowBytes: 64, threads: 1 }));
  assert(`${error}`.includes("optane-9"));
});

Deno.test("modelBands() are those of the residuals; none where nothing published was compared", async () => {
  const text = await Deno.readTextFile(new URL("../../../models/media/calibration/residuals.json", import.meta.url));
  const known = JSON.parse(text)[NAME];
  const bands = await modelBands(NAME);
  // A run times rows: what media move for a byte, and tails, are for whoever asks for them.
  const timed = Object.keys(known).filter((kind) => !["amplification", "percentile"].includes(kind));
  assertEquals(bands.filter(({ access }) => access === undefined).map(({ kind }) => kind).sort(), timed.sort());
  for (const { kind, access, ...band } of bands) {
    const { readShare: _, hops: __, accesses: ___, beside: ____, validated: _____, byAccess, ...wanted } = known[kind];
    assertEquals<unknown>(band, access === undefined ? wanted : { ...wanted, ...byAccess[access] });
  }
  assert(bands.some(({ kind, access }) => kind === "write" && access === "nt-store"));
  assertEquals(await modelBands("cxl-type3-ddr5-4x"), []);
});
