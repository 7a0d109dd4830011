import "../../native_library.ts";
import { evaluateMedia } from "../../../ffi/media.ts";
import { loadMedia, mediaOptions } from "../../../models/media/media.ts";
import { modelBands, modelLimit } from "../../../scenarios/run/model_facts.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";

const NAME = "optane-100-6x256";

Deno.test("modelLimit() is what the media model gives to rows of that size, read and written as the tier does", async () => {
  const options = mediaOptions(await loadMedia(NAME));
  const asked = (operation: "load" | "nt-store" | "cached-store", bytes: number, threads: number): number =>
    evaluateMedia(options, [{ ask: "bandwidth", operation, bytes, threads }])[0] as number;
  for (const [type, write] of [["PMEM_LIBPMEM", "nt-store"], ["PMEM_MEMKIND", "cached-store"]] as const) {
    for (const [rowBytes, threads] of [[64, 1], [128, 2], [512, 16]] as const) {
      assertEquals(await modelLimit(NAME, { type, rowBytes, threads }), {
        readBytesPerSecond: asked("load", rowBytes, threads),
        writeBytesPerSecond: asked(write, rowBytes, threads),
        rowBytes,
        threads,
      });
    }
  }
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
  assertEquals(bands.map(({ kind }) => kind).sort(), timed.sort());
  for (const { kind, ...band } of bands) {
    const { readShare: _, hops: __, accesses: ___, beside: ____, ...wanted } = known[kind];
    assertEquals<unknown>(band, wanted);
  }
  assertEquals(await modelBands("cxl-type3-ddr5-4x"), []);
});
