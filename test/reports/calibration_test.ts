// The page of a memory that was measured.

import "../native_library.ts";
import { loadedPoints } from "../../models/host/calibrate.ts";
import { renderCalibration } from "../../reports/calibration/page.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";

const PAGE = {
  date: "2026-11-24",
  cpu: "CPU <1>",
  virtual: true,
  quick: false,
  command: "tierbench calibrate",
} as const;

Deno.test("a loaded-latency curve has the load alone and beside others, with intervals, the model and nothing else", () => {
  const load = { operation: "load", bytes: 64 } as const;
  const found = loadedPoints([
    { kind: "read", curve: "load", query: { ...load, ask: "bandwidth", threads: 4 }, values: [9e9] },
    {
      kind: "latency",
      curve: "",
      query: { ...load, ask: "latency-at", threads: 4, load: 20e9 },
      values: [200, 180, 240],
    },
    { kind: "latency", curve: "", query: { ...load, ask: "latency", threads: 1 }, values: [80, 64, 100] },
    { kind: "latency", curve: "", query: { ...load, ask: "latency", operation: "nt-store", threads: 1 }, values: [50] },
  ], [1, 210, 81, 2]);
  assertEquals(found, [
    { threads: 1, bytesPerSecond: 64 / 80 * 1e9, ns: 80, low: 64, high: 100, modelNs: 81 },
    { threads: 4, bytesPerSecond: 20e9, ns: 200, low: 180, high: 240, modelNs: 210 },
  ]);
});

Deno.test("the page draws every point where it belongs, says the same in words and in a table, and what it was measured on", () => {
  const loaded = [
    { threads: 1, bytesPerSecond: 0.8e9, ns: 80, low: 64, high: 100, modelNs: 81 },
    { threads: 4, bytesPerSecond: 20e9, ns: 200, low: 180, high: 240, modelNs: 210 },
  ];
  const page = renderCalibration({ name: "node0", readBandwidth: 20e9, loaded }, PAGE);
  // The axes end at 20 GB/s and 500 ns: x from 44 to 326, y from 194 down to 12.
  assertStringIncludes(page, '<circle class="at" cx="326.0" cy="121.2"');
  assertStringIncludes(page, '<line class="span" x1="326.0" x2="326.0" y1="128.5" y2="106.6">');
  assertStringIncludes(page, 'aria-label="80.0 ns at 0.800 GB/s with 1 thread; 200 ns at 20.0 GB/s with 4 threads"');
  assertStringIncludes(page, "180 to 240");
  assertStringIncludes(page, "CPU &lt;1&gt;");
  assert(page.includes("This machine is a virtual one") && !page.includes("Quick"));
  assert(renderCalibration({ name: "node0", readBandwidth: 20e9, loaded }, { ...PAGE, quick: true }).includes("Quick"));
});
