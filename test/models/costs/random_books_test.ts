/** What holds for every price book, however odd: dearer prices never make a bill smaller, terms add up, nothing is NaN. */

import fc from "fast-check";
import { type BillPart, billParts, BOUNDARIES, commonPerHour } from "../../../models/costs/bill.ts";
import { type Claim, claimedSaving, takeApart } from "../../../models/costs/claim/claim.ts";
import { dollarsPerMillionSamples, GIB, offers, savingWithCommon } from "../../../models/costs/cost_model.ts";
import { ownedCost, type OwnedRates, type Part } from "../../../models/costs/owned.ts";
import { parsePriceBook, type PriceBook } from "../../../models/costs/price_book.ts";
import { csvLine } from "../../../models/costs/csv.ts";
import { assert, assertAlmostEquals } from "../../assert.ts";

const BOOKS = 10_000;
const price = fc.double({ min: 1e-4, max: 1e4, noNaN: true });
const share = fc.double({ min: 0.01, max: 1, noNaN: true });

const MACHINES =
  "provider,name,role,vcpus,dram_gib,pmem_gib,network_gb_s,price,unit,currency,from,to,region,source,mark,note";
const ITEMS = "item,medium,capacity_gb,value,low,high,unit,currency,from,to,region,source,mark,note";
const ORIGIN = ["2026", "2026", "x", "made up", "M", ""];

/** A random book as text, so that reading it is part of what is tested. */
const books: fc.Arbitrary<(factor: number) => PriceBook> = fc.record({
  shapes: fc.array(
    fc.record({ dram: fc.integer({ min: 1, max: 4096 }), pmem: fc.integer({ min: 0, max: 8192 }), price }),
    {
      minLength: 1,
      maxLength: 6,
    },
  ),
  worker: price,
  storage: price,
}).map(({ shapes, worker, storage }) => (factor: number) => {
  const line = (name: string, role: string, dram: number | string, pmem: number | string, value: number): string =>
    csvLine(["P", name, role, 8, dram, pmem, 10, value * factor, "hour", "USD", ...ORIGIN]);
  return parsePriceBook([
    {
      name: "machines.csv",
      text: [
        MACHINES,
        ...shapes.map((shape, i) => line(`m${i}`, "memory", shape.dram, shape.pmem, shape.price)),
        line("w", "worker", "", "", worker),
      ].join("\n"),
    },
    {
      name: "items.csv",
      text: [ITEMS, csvLine(["Object storage", "", "", storage * factor, "", "", "GB-month", "USD", ...ORIGIN])].join(
        "\n",
      ),
    },
  ]);
});

Deno.test("10,000 random price books: bills rise with every price, in proportion to all of them", () => {
  const job = fc.record({
    gib: fc.double({ min: 0.1, max: 20_000, noNaN: true }),
    rate: price,
    usable: share,
    pmem: fc.boolean(),
  });
  const factors = fc.double({ min: 1, max: 100, noNaN: true });
  fc.assert(
    fc.property(books, job, factors, fc.nat(), (make, { gib, rate, usable, pmem }, factor, pick) => {
      const need = { dramBytes: pmem ? 0 : gib * GIB, pmemBytes: pmem ? gib * GIB : 0, memoryMode: false };
      const bill = (book: PriceBook): { total: number; parts: readonly BillPart[]; machines: number } | undefined => {
        const [offer] = offers(book.instances, need, usable);
        if (offer === undefined) return undefined;
        const parts = billParts({ workers: 2, worker: "w", dataBytes: 1e12, checkpoints: 3 }, book, gib * GIB);
        const common = commonPerHour(parts, "checkpoints");
        assert(common !== undefined);
        return { total: offer.pricePerHour + common, parts, machines: offer.pricePerHour };
      };
      const book = make(1);
      const before = bill(book);
      if (before === undefined) return; // no shape has PMem
      // Every boundary holds those before it, and the terms of the last add up.
      const ladder = BOUNDARIES.map((boundary) => commonPerHour(before.parts, boundary) ?? NaN);
      ladder.slice(1).forEach((sum, i) => assert(sum >= (ladder[i] as number)));
      const terms = before.parts.reduce((sum, { perHour }) => sum + (perHour ?? NaN), before.machines);
      assertAlmostEquals(terms, before.total, 1e-9 * before.total);
      assert(Number.isFinite(dollarsPerMillionSamples(before.total, rate)));
      // One price up: no bill goes down.
      const raised = pick % book.instances.length;
      const dearer = book.instances.map((one, i) =>
        i === raised ? { ...one, pricePerHour: one.pricePerHour * factor } : one
      );
      const after = bill({ ...book, instances: dearer });
      assert(after !== undefined && after.total >= before.total * (1 - 1e-12));
      const storage = bill({ ...book, items: book.items.map((item) => ({ ...item, value: item.value * factor })) });
      assert(storage !== undefined && storage.total >= before.total);
      // Units: the same book in cents has a hundredfold bill, and the same saving.
      const scaled = bill(make(100));
      assertAlmostEquals((scaled?.total ?? 0) / before.total, 100, 1e-7);
    }),
    { numRuns: BOOKS },
  );
});

Deno.test("10,000 random owned servers: cost rises with every price, terms add up", () => {
  const part: fc.Arbitrary<Part> = fc.record({
    name: fc.constant("part"),
    count: fc.integer({ min: 0, max: 32 }),
    price,
    watts: fc.double({ min: 0, max: 50, noNaN: true }),
  });
  const rates: fc.Arbitrary<OwnedRates> = fc.record({
    serverPrice: price,
    networkPrice: price,
    serverWatts: price,
    life: fc.double({ min: 0.5, max: 20, noNaN: true }),
    capitalRate: fc.double({ min: 0, max: 0.5, noNaN: true }),
    utilisation: share,
    pue: fc.double({ min: 1, max: 3, noNaN: true }),
    pricePerKWh: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  const up = ["serverPrice", "networkPrice", "serverWatts", "capitalRate", "pue", "pricePerKWh"] as const;
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 3 }),
      rates,
      fc.double({ min: 1, max: 10, noNaN: true }),
      (parts, given, factor) => {
        const { perHour, terms } = ownedCost(parts, given);
        assert(Number.isFinite(perHour) && perHour > 0);
        assertAlmostEquals(Object.values(terms).reduce((a, b) => a + b, 0), perHour, 1e-9 * perHour);
        const least = perHour * (1 - 1e-12);
        for (const name of up) {
          assert(
            ownedCost(parts, { ...given, [name]: given[name] * factor }).perHour >= least,
            name,
          );
        }
        for (const [i] of parts.entries()) {
          const dearer = parts.map((one, k) =>
            k === i ? { ...one, price: one.price * factor, watts: one.watts * factor } : one
          );
          assert(ownedCost(dearer, given).perHour >= least);
        }
        assert(ownedCost(parts, { ...given, life: given.life * factor }).perHour <= perHour * (1 + 1e-12));
        assert(ownedCost(parts, { ...given, utilisation: given.utilisation / factor }).perHour >= least);
      },
    ),
    { numRuns: BOOKS },
  );
});

Deno.test("10,000 random claims: the saving falls with B's price and rises with A's; no term is NaN", () => {
  const side = fc.record({
    name: fc.constant("side"),
    machine: fc.constant("m"),
    price,
    machines: fc.integer({ min: 1, max: 100 }),
    overBuy: fc.double({ min: 1, max: 100, noNaN: true }),
    time: price,
  });
  const claims: fc.Arbitrary<Claim> = fc.record({
    name: fc.constant("claim"),
    a: side,
    b: side,
    inside: price,
    outside: price,
    timeRatio: fc.constant(undefined),
  });
  fc.assert(
    fc.property(claims, fc.double({ min: 1, max: 10, noNaN: true }), (claim, factor) => {
      const total = claimedSaving(claim);
      const { a, b, inside } = claim;
      const slack = 1e-9 * (1 + Math.abs(total));
      assertAlmostEquals(
        savingWithCommon(a.price * a.machines, b.price * b.machines, inside, a.time / b.time),
        total,
        slack,
      );
      assert(claimedSaving({ ...claim, b: { ...b, price: b.price * factor } }) <= total + slack);
      assert(claimedSaving({ ...claim, a: { ...a, price: a.price * factor } }) >= total - slack);
      assert(total <= 1);
      for (const { points, last, without } of takeApart(claim)) assert([points, last, without].every(Number.isFinite));
    }),
    { numRuns: BOOKS },
  );
});
