/** Each cost model recovers a figure that somebody published; docs/how-numbers-are-made.md lists them. */

import {
  abstractCost,
  breakEvenRowSeconds,
  breakEvenSeconds,
  cachedBandwidth,
  rowRate,
} from "../../../models/costs/break_even.ts";
import { dollarsPerMillionSamples, fit, GIB, type Need } from "../../../models/costs/cost_model.ts";
import { capitalRecovery, energyPerYear } from "../../../models/costs/owned.ts";
import type { Instance } from "../../../models/costs/price_book.ts";
import { serversNeeded, tableBytes } from "../../../models/costs/traffic.ts";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "../../assert.ts";

Deno.test("abstractCost() recovers 67.29 % of the servers and 25.98 % saved (EuroSys 2024)", () => {
  const { servers, saving } = abstractCost({ dramSpeed: 10, cxlSpeed: 8, dramToCxl: 2, serverCost: 1.1 });
  assertEquals([(100 * servers).toFixed(2), (100 * saving).toFixed(2)], ["67.29", "25.98"]);
});

Deno.test("breakEvenSeconds() recovers 400 s of 1987 and 267 s of 1997", () => {
  const of1987 = { pagesPerMB: 1000, accessesPerSecond: 1, drivePrice: 2000, memoryPricePerMB: 5000 };
  const of1997 = { pagesPerMB: 128, accessesPerSecond: 64, drivePrice: 2000, memoryPricePerMB: 15 };
  assertEquals([breakEvenSeconds(of1987), Math.round(breakEvenSeconds(of1997))], [400, 267]);
});

Deno.test("breakEvenRowSeconds(): 512 B rows at 1e6 IOPS, before and after the prices rose", () => {
  const drive = { rowBytes: 512, accessesPerSecond: 1e6 };
  assertAlmostEquals(breakEvenRowSeconds({ ...drive, devicePrice: 3062, memoryPricePerGB: 5 }), 1196, 0.5);
  assertAlmostEquals(breakEvenRowSeconds({ ...drive, devicePrice: 10950, memoryPricePerGB: 20 }), 1069, 0.5);
});

Deno.test("breakEvenRowSeconds() is the page rule where rows are pages", () => {
  const page = breakEvenSeconds({ pagesPerMB: 128, accessesPerSecond: 64, drivePrice: 2000, memoryPricePerMB: 15 });
  const row = breakEvenRowSeconds({
    rowBytes: 1e6 / 128,
    accessesPerSecond: 64,
    devicePrice: 2000,
    memoryPricePerGB: 15000,
  });
  assertAlmostEquals(row, page, 1e-9);
});

Deno.test("breakEvenRowSeconds(): write-back costs, lookups of a batch share, granules are moved whole", () => {
  const rule = { rowBytes: 100, accessesPerSecond: 1e6, devicePrice: 1000, memoryPricePerGB: 10 };
  const plain = breakEvenRowSeconds(rule);
  assertAlmostEquals(breakEvenRowSeconds({ ...rule, writeShare: 0.5, writeCost: 3 }), 2.5 * plain, 1e-9);
  assertAlmostEquals(breakEvenRowSeconds({ ...rule, lookupsPerBatch: 4 }), plain / 4, 1e-9);
  assertEquals(rowRate({ ...rule, accessesPerSecond: Infinity, bytesPerSecond: 256e6, granuleBytes: 256 }), 1e6);
  assertEquals(rowRate({ ...rule, rowBytes: 257, bytesPerSecond: 256e6, granuleBytes: 256 }), 5e5);
  assertThrows(
    () => breakEvenRowSeconds({ rowBytes: 1, memoryPricePerGB: 1, devicePrice: 1 }),
    RangeError,
    "Infinity rows/s",
  );
});

Deno.test("cachedBandwidth() mixes in time: 39.6 where TorchRec plans 20.5", () => {
  const ours = cachedBandwidth(0.2, 897, 32);
  assertEquals(ours.toFixed(1), "39.6");
  assertEquals((20.5 / ours).toFixed(2), "0.52"); // TorchRec: cached share times one bandwidth plus the rest times the other
});

Deno.test("tableBytes() recovers the sums and bytes of the Criteo tables", () => {
  const lists = {
    kaggle: [
      ...[1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992, 5461306, 10],
      ...[5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572],
    ],
    terabyte: [
      ...[45833188, 36746, 17245, 7413, 20243, 3, 7114, 1441, 62, 29275261, 1572176, 345138, 10, 2209, 11267, 128, 4],
      ...[974, 14, 48937457, 11316796, 40094537, 452104, 12606, 104, 35],
    ],
    mlperf: [
      ...[40000000, 39060, 17295, 7424, 20265, 3, 7122, 1543, 63, 40000000, 3067956, 405282, 10, 2209, 11938, 155, 4],
      ...[976, 14, 40000000, 40000000, 40000000, 590152, 12973, 108, 36],
    ],
  };
  const sum = (rows: readonly number[]): number => tableBytes({ rows, dim: 1, weightBytes: 1 });
  const gigabytes = (rows: readonly number[]): string =>
    (tableBytes({ rows, dim: 128, weightBytes: 4 }) / 1e9).toFixed(2);
  assertEquals(Object.values(lists).map(sum), [33_762_577, 177_944_275, 204_184_588]);
  assertEquals(Object.values(lists).map(gigabytes), ["17.29", "91.11", "104.54"]);
  assertEquals(tableBytes({ rows: [10], dim: 8, weightBytes: 4, slots: 2 }), 10 * 8 * 4 * 3);
  assertEquals((tableBytes({ rows: [2.1e9], dim: 64, weightBytes: 4 }) / GIB).toFixed(1), "500.7");
});

Deno.test("machine-minutes: DLRM on one A100 takes 3.5 machines' minutes against 4 (torchrec issue 125)", () => {
  const box = 1; // $ of a box of eight for a minute
  const perRun = (price: number, minutes: number): number => dollarsPerMillionSamples(price * 60, 1e6 / (minutes * 60));
  assertAlmostEquals(perRun(box / 8, 28), 3.5, 1e-12);
  assertAlmostEquals(perRun(box, 4), 4, 1e-12);
});

Deno.test("capitalRecovery() recovers 0.302, 0.250 and 0.216 at 8 %, and the straight line at 0", () => {
  assertEquals([4, 5, 6].map((years) => capitalRecovery(0.08, years).toFixed(3)), ["0.302", "0.250", "0.216"]);
  assertEquals(capitalRecovery(0, 5), 0.2);
  assertAlmostEquals(capitalRecovery(1e-12, 5), 0.2, 1e-9);
  assertThrows(() => capitalRecovery(0.08, 0), RangeError, "0 years");
});

Deno.test("energyPerYear(): a DIMM of 64 GB at 5 W costs 0.105 $ a GB and year", () => {
  assertEquals((energyPerYear(5, { pue: 1.54, pricePerKWh: 0.10 }) / 64).toFixed(3), "0.105");
});

const SHAPE: Instance = {
  provider: "P",
  name: "m",
  role: "memory",
  vcpus: 10,
  dramGib: 100,
  pmemGib: 0,
  networkGBs: 2,
  pricePerHour: 1,
  from: "2026",
  to: "2026",
  region: "x",
  source: "test",
  mark: "V",
  note: "",
  file: "test",
  own: false,
};
const NEED: Need = { dramBytes: 150 * GIB, pmemBytes: 0, memoryMode: false };

Deno.test("fit() buys for the scarcest of memory, vCPUs and network, and says which", () => {
  const bought = (need: Partial<Need>): unknown[] => {
    const offer = fit(SHAPE, { ...NEED, ...need }, 1);
    return [offer?.machines, offer?.limit];
  };
  assertEquals(bought({}), [2, "DRAM"]);
  assertEquals(bought({ dramBytes: GIB }), [1, "one machine is enough"]);
  assertEquals(bought({ vcpus: 31 }), [4, "vCPU"]);
  assertEquals(bought({ networkBytesPerSecond: 9e9 }), [5, "network"]);
  assertEquals(fit({ ...SHAPE, networkGBs: undefined }, { ...NEED, networkBytesPerSecond: 1 }, 1), undefined);
  assertEquals(fit({ ...SHAPE, vcpus: undefined }, { ...NEED, vcpus: 1 }, 1), undefined);
  assertEquals(fit({ ...SHAPE, networkGBs: undefined }, NEED, 1)?.machines, 2);
});

Deno.test("serversNeeded() buys for bytes over the network and for CPUs, where the shape states them", () => {
  const work = { networkBytes: 8000 };
  const at = (samplesPerSecond: number, more: object = {}): number | undefined =>
    serversNeeded([SHAPE], NEED, samplesPerSecond, { ...work, ...more }, 1)[0]?.machines;
  assertEquals(at(1), 2);
  // 8 kB a sample: 2 GB/s carry 250,000 samples/s a machine.
  assertEquals([at(500_000), at(500_001)], [2, 3]);
  assertEquals(at(500_001, { networkBytes: 4000 }), 2);
  assertEquals(at(100, { cpuSeconds: 0.5 }), 5);
  assert(serversNeeded([{ ...SHAPE, networkGBs: undefined }], NEED, 1, work, 1).length === 0);
});
