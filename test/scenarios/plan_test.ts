import fc from "fast-check";
import { atPoint, matrixPoints, pointText } from "../../base/matrix.ts";
import { planSamples, repeatedCases } from "../../scenarios/plan.ts";
import type { Case } from "../../scenarios/plan.ts";
import { assert, assertEquals } from "../assert.ts";
import { casesOf, FOUR } from "./fakes.ts";

function names(count: number): Case[] {
  const [scenario] = casesOf(FOUR).map((one) => one.scenario);
  assert(scenario !== undefined);
  return Array.from({ length: count }, (_, i) => ({ name: `c${i}`, configuration: `c${i}`, point: {}, scenario }));
}

Deno.test("planSamples() holds every case once in each round, for every seed", () => {
  const shape = [fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 6 }), fc.maxSafeNat()] as const;
  fc.assert(fc.property(...shape, (cases, repetitions, seed) => {
    const samples = planSamples(names(cases), repetitions, seed);
    assertEquals(samples.length, cases * repetitions);
    assertEquals(new Set(samples.map(({ id }) => id)).size, samples.length);
    assertEquals(samples.map(({ position }) => position), samples.map((_, i) => i + 1));
    for (let round = 0; round < repetitions; round++) {
      const part = samples.slice(round * cases, (round + 1) * cases);
      assertEquals(new Set(part.map((one) => one.case.name)).size, cases);
      assert(part.every(({ sample }) => sample === round + 1));
    }
  }));
});

Deno.test("planSamples() orders by the seed alone, and no case is favoured", () => {
  const cases = names(4);
  const order = (seed: number) => planSamples(cases, 3, seed).map(({ id }) => id).join(" ");
  assertEquals(order(5), order(5));
  const first = Array.from({ length: 400 }, (_, seed) => planSamples(cases, 1, seed)[0]?.case.name);
  for (const { name } of cases) {
    const count = first.filter((one) => one === name).length;
    assert(count > 60 && count < 140, `${name} is first ${count} times of 400`);
  }
});

Deno.test("planCases() makes every configuration at every point of the matrix", () => {
  const cases = casesOf({ ...FOUR, matrix: { "workload.batch": [64, 128], "configurations.fsdax.media": ["a", "b"] } });
  assertEquals(cases.length, 16);
  assertEquals(cases[0]?.name, "dram workload.batch=64 configurations.fsdax.media=a");
  const last = cases.at(-1);
  assertEquals(last?.scenario.workload.batch, 128);
  assertEquals(last?.scenario.configurations["fsdax"]?.media, "b");
  assertEquals(last?.scenario.matrix, {});
});

Deno.test("matrixPoints() are all combinations, each once", () => {
  const values = fc.uniqueArray(fc.integer(), { minLength: 1, maxLength: 4 });
  fc.assert(fc.property(fc.dictionary(fc.constantFrom("a", "b.c", "d"), values), (matrix) => {
    const points = matrixPoints(matrix);
    assertEquals(points.length, Object.values(matrix).reduce((product, list) => product * list.length, 1));
    assertEquals(new Set(points.map(pointText)).size, points.length);
  }));
});

Deno.test("atPoint() sets dotted fields in a copy", () => {
  const document = { a: { b: 1 }, matrix: {} };
  assertEquals(atPoint<object>(document, { "a.b": 2, "c.d.e": true }), { a: { b: 2 }, c: { d: { e: true } } });
  assertEquals(document, { a: { b: 1 }, matrix: {} });
});

Deno.test("repeatedCases() repeats one case of every point where there is something to compare", () => {
  const again = (scenario: Parameters<typeof casesOf>[0]) =>
    repeatedCases(casesOf(scenario), (at) => at[0] as Case).map(({ name, again }) => [name, again]);
  const aa = { ...FOUR, aa: true };
  assertEquals(again(aa), [["dram (again)", "dram"]]);
  assertEquals(again({ ...aa, aa: false }), []);
  assertEquals(again({ ...aa, configurations: { dram: { storage: "DRAM" } } }), []);
  assertEquals(again({ ...aa, matrix: { "workload.batch": [64, 128] } }).map(([, of]) => of), [
    "dram workload.batch=64",
    "dram workload.batch=128",
  ]);
  const ablation = { switches: { fusion: true } } as never;
  assertEquals(again({ ...aa, ablation }).map(([, of]) => of), ["dram ablation=none"]);
});
