/** What a row of a price file can say: memory of every kind, purchases, currencies, the end of sale. */

import { fit } from "../../../models/costs/cost_model.ts";
import { inCurrency } from "../../../models/costs/currency.ts";
import { defaultPriceBook } from "../../../models/costs/default_prices.ts";
import { isEnded, parsePriceBook, pricesAsOf, withOwnPrices } from "../../../models/costs/price_book.ts";
import { assertAlmostEquals, assertEquals, assertThrows } from "../../assert.ts";

const OLD =
  "provider,name,role,vcpus,dram_gib,pmem_gib,network_gb_s,price,unit,currency,from,to,region,source,mark,note";
const HEAD = `${OLD},cxl_gib,hbm_gib,nvme_count,nvme_gb,watts,life_years,financing,rate,sold_until\n`;
const ITEMS = "item,medium,capacity_gb,value,low,high,unit,currency,from,to,region,source,mark,note\n";
const CXL = "us,cxl2t,memory,64,256,0,,3,hour,USD,2026-10,2026-10,here,an offer,V,,2048,,,,,,,,";
const BOUGHT = "us,nvme4,memory,64,256,0,,20000,machine,EUR,2026-10,2026-10,here,an offer,V,,,,4,7680,500,4,0.08,,";
const RATE = "USD per EUR,,,1.25,,,ratio,,2026-01,2026-12,not stated,a rate invented for this test,V,\n";

const machine = (row: string, head = HEAD) => parsePriceBook([{ name: "m.csv", text: head + row }]).instances[0];

Deno.test("a machine has CXL memory and drives, and is bought for them alone", () => {
  const [cxl, nvme] = [machine(CXL), machine(BOUGHT)];
  const none = { dramBytes: 1e9, pmemBytes: 0, memoryMode: false };
  const offer = cxl && fit(cxl, { ...none, cxlBytes: 5 * 2 ** 40 }, 0.9);
  assertEquals([offer?.machines, offer?.limit], [3, "CXL memory"]);
  assertAlmostEquals(offer?.overBuy ?? 0, 3 * 2 / 5, 1e-12);
  assertEquals(nvme && fit(nvme, { ...none, ssdBytes: 6e13 }, 0.9)?.machines, 3);
  assertEquals(nvme && fit(nvme, { ...none, cxlBytes: 1 }, 0.9), undefined);
  assertEquals(cxl && fit(cxl, { ...none, pmemBytes: 1 }, 0.9), undefined, "CXL memory is no PMem");
});

Deno.test("a machine that is bought costs capital over its life, and power as of the date", () => {
  const book = withOwnPrices(defaultPriceBook(), [{ name: "m.csv", text: HEAD + BOUGHT }, {
    name: "r.csv",
    text: ITEMS + RATE,
  }]);
  const capital = 20000 * (0.08 / (1 - 1.08 ** -4)) / 8760;
  const power = 0.5 * 1.54 * 0.09;
  const dollars = pricesAsOf(inCurrency(book, "USD", "2026-11"), "2026-11");
  const found = dollars.instances.find(({ name }) => name === "nvme4");
  assertAlmostEquals(found?.pricePerHour ?? 0, capital * 1.25 + power, 1e-9);
  assertEquals(pricesAsOf(dollars, "2026-11").instances, dollars.instances, "power is added once");
  const euros = pricesAsOf(inCurrency(book, "EUR", "2026-11"), "2026-11");
  const same = euros.instances.find(({ name }) => name === "nvme4");
  assertAlmostEquals(same?.pricePerHour ?? 0, capital + power / 1.25, 1e-9);
  const r6e = euros.instances.find(({ name }) => name === "ecs.r6e.13xlarge");
  assertAlmostEquals(r6e?.pricePerHour ?? 0, 3.035 / 1.25, 1e-12);
  assertEquals(r6e?.currency, "EUR");
});

Deno.test("no rate is invented: without one a foreign price is refused by name, with one in its row it is used", () => {
  const book = withOwnPrices(defaultPriceBook(), [{ name: "m.csv", text: HEAD + BOUGHT }]);
  assertThrows(() => inCurrency(book, "USD", "2026-11"), RangeError, 'EUR prices in "m.csv": no row says the rate');
  assertThrows(() => inCurrency(defaultPriceBook(), "EUR", "2026-11"), RangeError, 'add the item "USD per EUR"');
  const early = withOwnPrices(book, [{ name: "r.csv", text: ITEMS + RATE }]);
  assertThrows(() => inCurrency(early, "USD", "2025-12"), RangeError, "no row says the rate by 2025-12");
  const stated = HEAD + BOUGHT.replace("0.08,,", "0.08,1.2,");
  const own = inCurrency(parsePriceBook([{ name: "m.csv", text: stated }]), "USD", "2026-11").instances[0];
  assertAlmostEquals(own?.bought?.price ?? 0, 24000, 1e-9);
  assertEquals(inCurrency(defaultPriceBook(), "USD", "2026-11"), defaultPriceBook());
});

Deno.test("files of earlier versions read as before; contradictions in new columns are refused", () => {
  assertEquals(machine("P,m,memory,4,16,0,,1.5,hour,USD,2024-01,2024-01,eu,a page,V,", `${OLD}\n`)?.pricePerHour, 1.5);
  for (
    const [row, message] of [
      [BOUGHT.replace(",500,4,", ",500,,"), "needs life_years"],
      [CXL.replace(/,,,,$/, ",4,,,"), "life_years is given"],
      [BOUGHT.replace(",4,7680", ",4,"), "belong together"],
      [CXL.replace(/,,$/, ",1.2,"), "US dollars need none"],
      [CXL.replace(/,$/, ",soon"), "sold_until"],
    ] as const
  ) assertThrows(() => machine(row), RangeError, message);
});

Deno.test("what is not sold any more is known from the month after", () => {
  const re6p = defaultPriceBook().instances.find(({ name }) => name === "ecs.re6p.13xlarge");
  assertEquals(["2025-12", "2026-01", "2026"].map((date) => re6p && isEnded(re6p, date)), [false, true, true]);
});
