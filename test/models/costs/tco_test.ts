import fc from "fast-check";
import { parseCsv } from "../../../models/costs/csv.ts";
import {
  dollarsPerMillionSamples,
  fit,
  GIB,
  type Need,
  type Offer,
  offers,
  priceWithoutOverBuy,
  saving,
  savingWithCommon,
} from "../../../models/costs/cost_model.ts";
import { DEFAULT_PRICE_FILES, defaultPriceBook } from "../../../models/costs/default_prices.ts";
import {
  type Instance,
  isStale,
  lintPrices,
  monthIndex,
  parsePriceBook,
  type PriceBook,
  pricesAsOf,
  problemText,
  withOwnPrices,
} from "../../../models/costs/price_book.ts";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "../../assert.ts";

const book = defaultPriceBook();
/** OpenEmbedding's production model: 2.1e9 rows of 64 fp32, 500.7 GiB. */
const MODEL = 2.1e9 * 64 * 4;
const inDram: Need = { dramBytes: MODEL, pmemBytes: 0, memoryMode: false };
const inPmem: Need = { dramBytes: 0, pmemBytes: MODEL, memoryMode: false };

function named(name: string): Instance {
  const found = book.instances.find((instance) => instance.name === name);
  assert(found !== undefined, `the book has no "${name}"`);
  return found;
}

function cheapest(need: Need, provider = "Alibaba Cloud", share = 1): Offer {
  const [first] = offers(book.instances.filter((i) => i.provider === provider), need, share);
  assert(first !== undefined);
  return first;
}

Deno.test("the cost model recovers Table V of OpenEmbedding (ICDE 2023)", () => {
  const [dram, pmem] = [cheapest(inDram), cheapest(inPmem)];
  assertEquals([dram.instance.name, dram.machines], ["ecs.r6e.13xlarge", 2]);
  assertEquals([pmem.instance.name, pmem.machines], ["ecs.re6p.13xlarge", 1]);
  assertAlmostEquals(dram.pricePerHour, 6.07, 1e-9);
  assertAlmostEquals(pmem.pricePerHour, 3.80, 1e-9);
  assertAlmostEquals(dram.pricePerHour * 5.75, 34.9, 0.05);
  assertAlmostEquals(pmem.pricePerHour * 5.33, 20.3, 0.05);
  assertAlmostEquals(pmem.pricePerHour * 7.01, 26.6, 0.05);
  const throughputRatio = 5.75 / 5.33;
  assertAlmostEquals(saving(3.80 / 6.07, throughputRatio), 0.42, 0.005);
  assertAlmostEquals(saving(1, 7.01 / 5.33), 0.24, 0.005);
  assertAlmostEquals(dram.overBuy, 1.53, 0.005);
  assertAlmostEquals(pmem.overBuy, 756 / 500.7, 0.005);
});

Deno.test("savingWithCommon() recovers 26, 20 and 15 % with a worker of 5, 10 and 20 $/h", () => {
  for (const [worker, percent] of [[5, 26], [10, 20], [20, 15]] as const) {
    assertAlmostEquals(100 * savingWithCommon(6.07, 3.80, worker, 5.75 / 5.33), percent, 0.5);
  }
});

Deno.test("priceWithoutOverBuy() recovers 22.75 $ an epoch and a saving of 11 %", () => {
  const exact = priceWithoutOverBuy(cheapest(inDram));
  assertAlmostEquals(exact * 5.75, 22.75, 0.02);
  assertAlmostEquals(saving(3.80 / exact, 5.75 / 5.33), 0.11, 0.005);
});

Deno.test("dollarsPerMillionSamples() is price over samples an hour", () => {
  assertAlmostEquals(dollarsPerMillionSamples(3.6, 1000), 1, 1e-12);
  assertThrows(() => dollarsPerMillionSamples(1, 0), RangeError, "throughput is 0");
  assertThrows(() => dollarsPerMillionSamples(1, NaN), RangeError, "throughput is NaN");
});

Deno.test("fit() takes DRAM away from capacity in Memory Mode", () => {
  const machine = named("ecs.re6p.13xlarge");
  const bytes = 800 * GIB;
  assertEquals(fit(machine, { dramBytes: bytes, pmemBytes: 0, memoryMode: true }, 1)?.machines, 2);
  assertEquals(fit(machine, { dramBytes: 100 * GIB, pmemBytes: 700 * GIB, memoryMode: false }, 1)?.machines, 1);
  assertEquals(fit(named("ecs.r6e.13xlarge"), inPmem, 1), undefined);
  assertThrows(() => fit(machine, inPmem, 0), RangeError, "usable share is 0");
});

Deno.test("fit() always buys enough, and never a machine too many", () => {
  const gib = fc.double({ min: 0.1, max: 5000, noNaN: true });
  fc.assert(fc.property(gib, gib, fc.double({ min: 0.1, max: 1, noNaN: true }), fc.boolean(), (d, p, share, mode) => {
    const need = { dramBytes: d * GIB, pmemBytes: p * GIB, memoryMode: mode };
    const offer = fit(named("ecs.re6p.13xlarge"), need, share);
    assert(offer !== undefined);
    const holds = (n: number): boolean =>
      mode
        ? d + p <= n * 756 * share * (1 + 1e-12)
        : d <= n * 192 * share * (1 + 1e-12) && p <= n * 756 * share * (1 + 1e-12);
    assert(holds(offer.machines));
    assert(offer.machines === 1 || !holds(offer.machines - 1 - 1e-9));
    assert(offer.overBuy >= 1 - 1e-12);
  }));
});

Deno.test("offers() puts the cheapest first and leaves workers out", () => {
  const all = offers(book.instances, inDram, 0.9);
  assert(all.length >= 2 && all.every((offer) => offer.instance.role === "memory"));
  all.slice(1).forEach((offer, i) => assert(offer.pricePerHour >= (all[i] as Offer).pricePerHour));
});

Deno.test("pricesAsOf() gives the latest price that had begun", () => {
  const names = (date: string): string[] => pricesAsOf(book, date).instances.map((instance) => instance.name);
  assertEquals(names("2020-12"), []);
  assertEquals(names("2023"), ["ecs.r6e.13xlarge", "ecs.re6p.13xlarge"]);
  assert(names("2026-11").includes("r7i.24xlarge"));
  const nvme = (date: string): number | undefined =>
    pricesAsOf(book, date).items.find((part) => part.item.startsWith("NVMe"))?.value;
  assertEquals([nvme("2025-12"), nvme("2026-11")], [0.10, 0.36]);
  assertThrows(() => pricesAsOf(book, "yesterday"), RangeError, 'the date "yesterday"');
});

Deno.test("isStale() flags prices more than a year old", () => {
  const price = named("ecs.re6p.13xlarge");
  assertEquals([isStale(price, "2023-12"), isStale(price, "2024-01")], [false, true]);
  assertEquals(monthIndex("2021", "first") + 11, monthIndex("2021", "last"));
});

const HEAD =
  "provider,name,role,vcpus,dram_gib,pmem_gib,network_gb_s,price,unit,currency,from,to,region,source,mark,note\n";
const GOOD = "P,m1,memory,4,16,0,,1.5,hour,USD,2024-01,2024-01,eu,a page,V,";
const ITEMS = "item,medium,capacity_gb,value,low,high,unit,currency,from,to,region,source,mark,note\n";
const ITEM = "Power of a part,,,5,4,7,W,,2024,2025,eu,a sheet,M,";

function parse(text: string, name = "mine.csv"): PriceBook {
  return parsePriceBook([{ name, text }]);
}

Deno.test("parsePriceBook() takes sound rows of both forms", () => {
  assertEquals(parse(HEAD + GOOD).instances[0]?.pricePerHour, 1.5);
  const [item] = parse(ITEMS + ITEM).items;
  assertEquals([item?.value, item?.low, item?.high, item?.unit, item?.own], [5, 4, 7, "W", false]);
});

Deno.test("the shipped book has no problem", () => {
  assertEquals(lintPrices(DEFAULT_PRICE_FILES).map(problemText), []);
  assert(book.items.length >= 45 && book.instances.length >= 6);
});

const WRONG: readonly (readonly [string, string, string, string])[] = [
  [HEAD + GOOD, "2024-01,2024-01", ",2024-01", "from is missing"],
  [HEAD + GOOD, "2024-01,2024-01", "2024-01,", "to is missing"],
  [HEAD + GOOD, "2024-01,2024-01", "2024-13,2024-13", "Cannot read the date"],
  [HEAD + GOOD, "2024-01,2024-01", "2024-02,2024-01", "begins in 2024-02"],
  [HEAD + GOOD, "a page", "", "source is missing"],
  [HEAD + GOOD, "a page", "-", "source is missing"],
  [HEAD + GOOD, ",V,", ",X,", 'mark is "X"'],
  [HEAD + GOOD, "1.5", "0", 'price is "0", a number above 0'],
  [HEAD + GOOD, "1.5", "NaN", 'price is "NaN", a number above 0'],
  [HEAD + GOOD, "USD", "euro", 'currency is "euro"'],
  [HEAD + GOOD, "hour", "month", 'unit is "month", "hour" is needed'],
  [HEAD + GOOD, "memory", "spare", 'role is "spare"'],
  [HEAD + GOOD, "4,16,0", "4,,0", "needs dram_gib"],
  [HEAD + GOOD, "eu,", ",", "region is missing"],
  [ITEMS + ITEM, ",W,,", ",parsec,,", 'unit is "parsec"'],
  [ITEMS + ITEM, ",W,,", ",W,USD,", "the unit is no money"],
  [ITEMS + ITEM, ",W,,", ",kWh,,", 'currency is "", three letters such as "USD"'],
  [ITEMS + ITEM, "5,4,7", "5,6,7", "value is 5, outside its range of 6 to 7"],
  [ITEMS + ITEM, "part,,,", "part,core,,", 'medium is "core"'],
  [ITEMS + ITEM, "2024,2025", ",2025", "from is missing"],
  [ITEMS + ITEM, "a sheet", "", "source is missing"],
  [ITEMS + ITEM, "Power of a part", "__proto__", 'item is "__proto__", a name that every object has'],
  [ITEMS + ITEM, "Power of a part", "\u202epart", 'item is "\u202epart": a name of 1 to 150 letters'],
  [ITEMS + ITEM, "Power of a part", "=cmd()", 'item is "=cmd()": a name of'],
  [ITEMS + ITEM, "part,,,", `${"p".repeat(151)},,,`, ": a name of 1 to 150 letters"],
  ["what,ever\n1,2", "1,2", "3,4", 'the header has neither "provider"'],
];

Deno.test.each(WRONG)("prices are refused: %#", (text, found, replacement, message) => {
  assert(text.includes(found), found);
  assertThrows(() => parse(text.replace(found, replacement)), RangeError, message);
});

Deno.test("lintPrices() lists every problem with its line, also across files and units", () => {
  const twice = `${HEAD}${GOOD}\n${GOOD}\n${GOOD.replace("a page", "").replace("2024-01,2024-01", "2025,2025")}`;
  assertEquals(lintPrices([{ name: "a.csv", text: twice }]).map(problemText), [
    '"a.csv" line 3: P m1 from 2024-01 is there twice, first in line 2',
    '"a.csv" line 4: source is missing',
  ]);
  const files = [{ name: "a.csv", text: ITEMS + ITEM }, { name: "b.csv", text: ITEMS + ITEM }];
  assertEquals(lintPrices(files).map(problemText), ['"b.csv": Power of a part from 2024 is in "a.csv", too']);
  const euros = `${ITEMS}PUE average,,,1.2,,,W,,2026,2026,here,meter,V,`;
  assertEquals(lintPrices([{ name: "c.csv", text: euros }], book).map(problemText), [
    '"c.csv": the unit of "PUE average" is "W", in "energy.csv" it is "ratio"',
  ]);
});

Deno.test("withOwnPrices(): the user's row wins from its date on, and says whose it is", () => {
  const text = `${ITEMS}PUE average,,,1.2,,,ratio,,2024-06,2024-12,here,our meter,V,`;
  const mixed = withOwnPrices(book, [{ name: "mine.csv", text }]);
  const pue = (date: string): unknown[] => {
    const found = pricesAsOf(mixed, date).items.find(({ item }) => item === "PUE average");
    return [found?.value, found?.own, found?.file];
  };
  assertEquals(pue("2026-11"), [1.2, true, "mine.csv"]); // although the book's row is newer
  assertEquals(pue("2024-07"), [1.2, true, "mine.csv"]);
  assertEquals(pue("2024-05"), [undefined, undefined, undefined]);
  const later = withOwnPrices(book, [{ name: "mine.csv", text: text.replace("2024-06,2024-12", "2026,2026") }]);
  assertEquals(pricesAsOf(later, "2025-12").items.find(({ item }) => item === "PUE average")?.value, 1.54);
  assertThrows(() => withOwnPrices(book, [{ name: "x.csv", text: "item\n1" }]), RangeError, "x.csv");
});

Deno.test("parseCsv() reads quotes and names broken lines", () => {
  assertEquals(parseCsv('a,b\n"x, ""y""",2\n', "f")[0]?.fields, { a: 'x, "y"', b: "2" });
  assertEquals(parseCsv("a,b\n1,\n", "f")[0]?.fields, { a: "1", b: "" });
  // As spreadsheets of many countries write it: a number may have a decimal comma, a text keeps its own.
  assertEquals(parseCsv('a;b;c\n6,20;"x; y";a, b\n', "f")[0]?.fields, { a: "6.20", b: "x; y", c: "a, b" });
  assertThrows(() => parseCsv("a,b\n1,2,3\n", "f"), SyntaxError, "found 3 fields, the header has 2; a field with");
  assertThrows(() => parseCsv("a,b\n1\n", "f"), SyntaxError, "line 2: found 1 fields");
  assertThrows(() => parseCsv('a\n"x\n', "f"), SyntaxError, "not closed");
});
