import { defaultPriceBook } from "../../../models/costs/default_prices.ts";
import { ownedCost, type OwnedRates } from "../../../models/costs/owned.ts";
import {
  missingForOwned,
  OWNED,
  ownedMachines,
  ownedPriceRange,
  ownedRates,
} from "../../../models/costs/owned_machines.ts";
import { type Platform, PLATFORMS, populations } from "../../../models/costs/populations.ts";
import { modulePrice, pricesAsOf, withOwnPrices } from "../../../models/costs/price_book.ts";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "../../assert.ts";

const ITEMS = "item,medium,capacity_gb,value,low,high,unit,currency,from,to,region,source,mark,note\n";
const dated = pricesAsOf(defaultPriceBook(), "2026-11");
const [pmemPlatform, cxlPlatform] = PLATFORMS as readonly [Platform, Platform];
const RATES: OwnedRates = {
  serverPrice: 8000,
  networkPrice: 800,
  serverWatts: 400,
  life: 5,
  capitalRate: 0,
  utilisation: 1,
  pue: 1.5,
  pricePerKWh: 0.1,
};

Deno.test("populations() fill channels alike and keep to the rules of PMem", () => {
  for (const { platform, dram, pmem, cxl, memoryMode } of PLATFORMS.flatMap(populations)) {
    const channels = platform.sockets * platform.channels;
    assertEquals(dram.count % channels, 0);
    assert(dram.count <= channels * platform.slots);
    if (pmem.count > 0) {
      assertEquals(dram.count, channels, "a slot of each channel is left for PMem");
      assert(pmem.count <= channels);
    }
    assert(cxl.count <= (platform.cxl?.mostCards ?? 0));
    const ratio = pmem.count * pmem.sizeGB / (dram.count * dram.sizeGB);
    assertEquals(memoryMode, pmem.count > 0 && ratio >= 4 && ratio <= 16);
  }
  // 4 sizes × (1 or 2 a channel, and 3 sizes × 3 counts of PMem); 6 sizes × 2 × (0 to 4 cards).
  assertEquals([populations(pmemPlatform).length, populations(cxlPlatform).length], [4 * (2 + 9), 6 * 2 * 5]);
});

Deno.test("populations() hold half of Alibaba's re6p: 192 + 756 GiB is what a socket takes", () => {
  const half = ownedMachines(dated).find(({ population: { dram, pmem } }) =>
    dram.sizeGB === 32 && pmem.count === 12 && pmem.sizeGB === 128
  )?.instance;
  assertEquals([half?.dramGib, half?.pmemGib], [2 * 192, 2 * 756]);
});

Deno.test("ownedCost(): terms add up, by hand", () => {
  const parts = [{ name: "12 × 64 GB", count: 12, price: 700, watts: 5 }];
  const { purchase, watts, terms, perHour } = ownedCost(parts, RATES);
  assertEquals([purchase, watts], [12 * 700 + 8800, 460]);
  assertAlmostEquals(terms.memory, 8400 / 5 / 8760, 1e-12);
  assertAlmostEquals(terms.energy, 0.46 * 1.5 * 0.1, 1e-12);
  assertAlmostEquals(perHour, 17200 / 5 / 8760 + 0.069, 1e-12);
  assertAlmostEquals(ownedCost(parts, { ...RATES, utilisation: 0.5 }).perHour, 2 * perHour, 1e-12);
  assertThrows(() => ownedCost(parts, { ...RATES, utilisation: 0 }), RangeError, "utilisation is 0");
});

Deno.test("ownedMachines() are priced by hand, from the latest module prices, and say how old these are", () => {
  const rates = ownedRates(dated);
  assertEquals([rates.life, rates.capitalRate, rates.pue, rates.utilisation], [6, 0.08, 1.54, 1]);
  const machine = ownedMachines(dated).find(({ instance }) => instance.name === "2 × Sapphire Rapids, 16 × 64 GB DDR5");
  const capital = (16 * 64 * 10.9 + 8000 + 800) * (0.08 / (1 - 1.08 ** -6)) / 8760;
  const energy = (400 + 16 * 5.5) / 1000 * 1.54 * 0.09;
  assertAlmostEquals(machine?.instance.pricePerHour ?? 0, capital + energy, 1e-9);
  assertEquals([machine?.instance.provider, machine?.instance.mark, machine?.instance.to], [OWNED, "C", "2025-12"]);
  assert(ownedMachines(dated).every(({ instance }) => instance.cxlGib === undefined), "CXL memory has no public price");
  const quote = "CXL expander 256 GB,CXL,256,9,,,GB,USD,2026-10,2026-10,here,an offer,V,";
  const quoted = pricesAsOf(
    withOwnPrices(defaultPriceBook(), [{ name: "q.csv", text: `${ITEMS}${quote}` }]),
    "2026-11",
  );
  const card = ownedMachines(quoted).find(({ instance }) => instance.name.endsWith("16 × 64 GB DDR5, 1 × 256 GB CXL"));
  assertEquals(card?.instance.cxlGib, 256);
  const more = 256 * 9 * (0.08 / (1 - 1.08 ** -6)) / 8760 + 0.025 * 1.54 * 0.09;
  assertAlmostEquals((card?.instance.pricePerHour ?? 0) - (machine?.instance.pricePerHour ?? 0), more, 1e-9);
});

Deno.test("ownedMachines() leaves out what has no price at the date", () => {
  assertEquals(missingForOwned(pricesAsOf(defaultPriceBook(), "2020")).includes("PUE average"), true);
  assertEquals(missingForOwned(dated), []);
  const without = { ...dated, items: dated.items.filter(({ medium }) => medium !== "PMem 100") };
  assert(ownedMachines(dated).some(({ instance }) => (instance.pmemGib ?? 0) > 0));
  assert(ownedMachines(without).every(({ instance }) => instance.pmemGib === 0));
  assertThrows(() => ownedRates({ ...dated, items: [] }), RangeError, 'has no "Server without memory"');
});

Deno.test("ownedPriceRange() takes every item at its cheap and at its dear end: a long life is cheap", () => {
  const range = ownedPriceRange(dated, "2 × Sapphire Rapids, 16 × 64 GB DDR5");
  const at = (server: number, network: number, rate: number, years: number, watts: number, price: number): number =>
    (16 * 64 * 10.9 + server + network) * (rate / (1 - (1 + rate) ** -years)) / 8760 + watts / 1000 * 1.54 * price;
  assertAlmostEquals(range?.low ?? 0, at(5000, 400, 0.05, 6, 300 + 16 * 4, 0.08), 1e-9);
  assertAlmostEquals(range?.high ?? 0, at(12000, 1500, 0.12, 5, 500 + 16 * 7, 0.10), 1e-9);
  assertEquals(ownedPriceRange(dated, "no such server"), undefined);
});

Deno.test("modulePrice() takes the latest price that fits the module", () => {
  const at = (date: string, gb: number): string | undefined =>
    modulePrice(pricesAsOf(defaultPriceBook(), date), "PMem 100", gb)?.item;
  assertEquals([at("2019-06", 128), at("2019-06", 256), at("2026", 256)], [
    "PMem 100 128 GB list",
    "PMem 100 256 GB street",
    "PMem second-hand",
  ]);
  assertEquals(at("2019-06", 1024), undefined);
});
