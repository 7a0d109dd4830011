/** The answer of a simulation's report: configurations at the same point, and only differences that bands leave. */

import { answersOf, bandsOverlap } from "../../../reports/simulation/answer.ts";
import type { SimulatedRecord } from "../../../models/simulation/record.ts";
import { assertEquals } from "../../assert.ts";

type Case = Parameters<typeof bandsOverlap>[0];

function one(configuration: string, speed: number, band: SimulatedRecord["band"], rows = 1): Case {
  return { configuration, point: { rows }, samplesPerSecond: speed, band, label: `${configuration} rows=${rows}` };
}

const NARROW = { low: 0.95, high: 1.05 };

Deno.test("answersOf() compares at the same point only, the fastest first", () => {
  const cases = [
    one("cxl", 998, NARROW, 1),
    one("dram", 1000, NARROW, 1),
    one("fsdax", 700, NARROW, 1),
    one("ssd", 250, NARROW, 1),
    one("memory-mode", 900, { why: "not calibrated" }, 1),
    one("dram", 100, NARROW, 2),
    one("fsdax", 80, NARROW, 2),
    one("kmem-dax", 90.2, NARROW, 2),
    one("cxl", 99.99, NARROW, 2),
  ];
  assertEquals(answersOf([{ name: "size", cases }]), [
    "size, at rows=1: dram has the highest speed; fsdax 30 % slower, ssd takes 4.00 times as long; " +
    "cannot be told apart, as 90 % bands say: cxl 0.2 % slower; without a band to tell: memory-mode 10 % slower",
    "size, at rows=2: dram has the highest speed; kmem-dax 10 % slower, fsdax 20 % slower; " +
    "cannot be told apart, as 90 % bands say: cxl less than 0.1 % slower",
  ]);
});

Deno.test("answersOf() tells others against a named baseline", () => {
  const cases = [one("dram", 1000, NARROW), one("fsdax", 700, NARROW), one("hbm", 3000, NARROW)];
  assertEquals(answersOf([{ name: "size", cases, baseline: "fsdax" }]), [
    "size, at rows=1: fsdax is what others are compared with; hbm 4.29 times as fast, dram 43 % faster",
  ]);
  assertEquals(answersOf([{ name: "size", cases: [one("dram", 1, NARROW), one("dram", 2, NARROW, 2)] }]), []);
});

Deno.test("what two cases share says nothing of which is faster: their draws are compared in pairs", () => {
  const shared = Array.from({ length: 100 }, (_, i) => 0.8 + i * 0.004);
  const drawn = (draws: number[]) => ({ low: 0.82, high: 1.18, draws });
  const [a, b] = [one("a", 100, drawn(shared)), one("b", 110, drawn(shared))];
  assertEquals(bandsOverlap(a, b), false);
  assertEquals(bandsOverlap(a, one("b", 110, drawn([...shared].reverse()))), true);
  // Without draws, as in results of older versions, both ends count.
  assertEquals(bandsOverlap(one("a", 100, { low: 0.82, high: 1.18 }), b), true);
});

Deno.test("bandsOverlap() needs two bands", () => {
  assertEquals(bandsOverlap(one("a", 100, NARROW), one("b", 110, NARROW)), true);
  assertEquals(bandsOverlap(one("a", 100, NARROW), one("b", 111, NARROW)), false);
  assertEquals(bandsOverlap(one("a", 100, NARROW), one("b", 100, { why: "unknown" })), undefined);
});
