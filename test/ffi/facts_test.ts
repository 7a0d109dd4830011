import "../native_library.ts";
import { parseDataDescription } from "../../ffi/data.ts";
import { digestText, numberOf, parseLines, parsePairs } from "../../ffi/facts.ts";
import { parseDescription, parseMemory } from "../../ffi/store.ts";
import { assertEquals, assertThrows } from "../assert.ts";

Deno.test("parseLines() keeps everything after the first equals sign", () => {
  assertEquals(parseLines("cpu.model=AMD = fast\n\nmemory.total=1\n"), {
    "cpu.model": "AMD = fast",
    "memory.total": "1",
  });
});

Deno.test("parsePairs() lets values contain spaces", () => {
  assertEquals(parsePairs("tier=1 type=PMEM_LIBPMEM medium=tmpfs file path=/dev/shm/a b is_pmem=0"), {
    tier: "1",
    type: "PMEM_LIBPMEM",
    medium: "tmpfs file",
    path: "/dev/shm/a b",
    is_pmem: "0",
  });
});

Deno.test("numberOf() refuses what is absent or no number", () => {
  assertEquals(numberOf({ a: "12" }, "a"), 12);
  assertThrows(() => numberOf({ a: "x" }, "a"), Error, 'Cannot read "a"');
  assertThrows(() => numberOf({}, "a"), Error, 'Cannot read "a"');
});

Deno.test("digestText() has 16 digits", () => {
  assertEquals(digestText(255n), "00000000000000ff");
});

Deno.test("parseMemory() sums purposes and places per tier", () => {
  const text = "tier=0 purpose=rows place=DRAM bytes=64\ntier=0 purpose=index place=DRAM bytes=32\n" +
    "tier=0 limit=1024 used=96\ntier=1 purpose=rows place=PMEM bytes=128\ntier=1 limit=2048 used=128\n";
  assertEquals(parseMemory(text), {
    tiers: [
      { tier: 0, limitBytes: 1024, usedBytes: 96, purposes: { rows: 64, index: 32 }, places: { DRAM: 96 } },
      { tier: 1, limitBytes: 2048, usedBytes: 128, purposes: { rows: 128 }, places: { PMEM: 128 } },
    ],
  });
});

Deno.test("parseDescription() keeps unknown facts as text", () => {
  assertEquals(parseDescription("tier=0 type=DRAM medium=DRAM huge_pages=0\n"), [
    { tier: 0, type: "DRAM", medium: "DRAM", facts: { huge_pages: "0" } },
  ]);
});

Deno.test("parseDataDescription() has the planted figures of synthetic data only", () => {
  const common = "rows=5\ndigest=00ff\ncardinality.0=3\ncardinality.1=4\n";
  const { facts: _, ...imported } = parseDataDescription(common);
  assertEquals(imported, { rows: 5, digest: "00ff", cardinalities: [3, 4] });
  assertEquals(parseDataDescription(common + "numerics=min_max\n").numerics, "min-max");
  const skipped = 'skipped=3\nskipped.label=2\nskipped.nul=1\nskipped.first=a:7: the label must be 0 or 1, found "="\n';
  assertEquals(parseDataDescription(common + skipped).skipped, {
    lines: 3,
    kinds: { label: 2, nul: 1 },
    first: 'a:7: the label must be 0 or 1, found "="',
  });
  assertEquals(parseDataDescription(common + "skipped=0\n").skipped, { lines: 0, kinds: {} });
  const synthetic = parseDataDescription(
    common + "planted_auc=0.8\nplanted_logloss=0.4\nnumeric_auc=0.7\n" +
      "categorical_variance=0.6\nunseen_share=0.01\n",
  );
  assertEquals([synthetic.plantedAuc, synthetic.plantedLogloss, synthetic.numericAuc], [0.8, 0.4, 0.7]);
  assertEquals([synthetic.categoricalVariance, synthetic.unseenShare], [0.6, 0.01]);
});
