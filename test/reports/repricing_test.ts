/** Prices change money and nothing else. */

import { claimData } from "../../reports/html/claim.ts";
import { renderReport, summarise, type Summary } from "../../reports/report.ts";
import type { Result } from "../../scenarios/record.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes, assertThrows } from "../assert.ts";

const ITEMS = "item,medium,capacity_gb,value,low,high,unit,currency,from,to,region,source,mark,note\n";
const MACHINES =
  "provider,name,role,vcpus,dram_gib,pmem_gib,network_gb_s,price,unit,currency,from,to,region,source,mark,note\n";
/** The PMem machine for half of its price. */
const CHEAP = {
  name: "offer.csv",
  text: `${MACHINES}Alibaba Cloud,ecs.re6p.13xlarge,memory,52,192,756,,1.90,hour,USD,2026-10,2026-10,here,an offer,V,`,
};

function withCost(cost: object): Result {
  const result = fixtureResult();
  const scenario = { ...result.run.scenario, cost } as unknown as Result["run"]["scenario"];
  return { ...result, run: { ...result.run, scenario } };
}

/** Dotted paths at which two values differ. */
function differences(a: unknown, b: unknown, path: string = ""): string[] {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b ? [] : [path];
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].flatMap((key) =>
    differences((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key], `${path}.${key}`)
  );
}

const MONEY = /^\.(cases\.\d+\.(cost|costMissing)|pricing|claims|verdict|scenario\.cost\.prices)(\.|$)/;

Deno.test("the same result priced as of two dates differs in money alone", () => {
  const result = fixtureResult();
  const plain = (summary: Summary): unknown => JSON.parse(JSON.stringify(summary));
  const [now, then] = [plain(summarise(result)), plain(summarise(result, { asOf: "2022-06" }))];
  const found = differences(now, then);
  assert(found.includes(".pricing.stale") && found.includes(".pricing.asOf"));
  assertEquals(found.filter((path) => !MONEY.test(path)), []);
  const repriced = differences(now, plain(summarise(result, { priceFiles: [CHEAP] })));
  assert(repriced.some((path) => path.startsWith(".cases.2.cost.saved")));
  assertEquals(repriced.filter((path) => !MONEY.test(path)), []);
  assertEquals(plain(summarise(result, { asOf: "2026-11" })), now);
});

Deno.test("prices are old in 2026 and not in 2022, and the page says so in amber", () => {
  const amber = (asOf: string): number => renderReport(fixtureResult(), { asOf }).split('class="warn"').length - 1;
  assertEquals(
    [summarise(fixtureResult()).pricing?.stale, summarise(fixtureResult(), { asOf: "2022" }).pricing?.stale],
    [
      true,
      false,
    ],
  );
  assert(amber("2026-11") > 20, "every old row of the book");
  assert(amber("2022-06") < amber("2026-11"));
  assertStringIncludes(renderReport(fixtureResult()), "2021 to 2022, over a year old");
});

Deno.test("own prices win, by option or carried by the result, and the page says whose they are", () => {
  const price = (summary: Summary): unknown[] => {
    const offer = summary.cases.find(({ name }) => name === "fsdax")?.cost?.offer;
    return [offer?.pricePerHour, offer?.instance.source, summary.pricing?.ownFiles];
  };
  const result = fixtureResult();
  assertEquals(price(summarise(result)).slice(0, 1), [3.80]);
  const own = [1.90, "an offer", ["offer.csv"]];
  assertEquals(price(summarise(result, { priceFiles: [CHEAP] })), own);
  const carried = { ...result, run: { ...result.run, priceFiles: [CHEAP] } };
  assertEquals(price(summarise(carried)), own);
  const page = renderReport(carried);
  assertStringIncludes(page, "your file offer.csv: an offer");
  assertStringIncludes(page, "Rows of offer.csv come before those of the price book");
  const broken = { name: "offer.csv", text: CHEAP.text.replace("2026-10,2026-10", ",") };
  assertThrows(() => summarise(result, { priceFiles: [broken] }), RangeError, '"offer.csv" line 2: from is missing');
});

Deno.test("a wider bill makes a saving smaller, and every report shows it under each boundary", () => {
  const bill = { worker: 10, workers: 2, data: "1 TB", checkpoints: 2 };
  const at = (boundary: string): Summary =>
    summarise(withCost({ boundary, bill, priceFor: "500 GB", prices: "2026-11" }));
  const saved = (summary: Summary): number =>
    summary.cases.find(({ name }) => name === "fsdax")?.cost?.saved?.value ?? NaN;
  const all = ["parameter-servers", "workers", "storage", "checkpoints"].map(at);
  const values = all.map(saved);
  const ladder = all[0]?.cases.find(({ name }) => name === "fsdax")?.cost?.savedWithin ?? [];
  // The boundary that is moved and the ladder that each report shows are the same numbers.
  assertEquals(ladder.map((step) => step.saved?.value), values);
  const ratio = all[0]?.cases.find(({ name }) => name === "fsdax")?.relative?.value ?? NaN;
  const commons = [0, 20, 20 + 23 / 730, 20 + 46 / 730]; // 1 TB at 0.023 $/GB-month; two checkpoints of 500 GB
  for (const [i, common] of commons.entries()) {
    assertAlmostEquals(values[i] ?? NaN, 1 - (3.80 + common) / (6.07 + common) / ratio, 1e-9);
    assertAlmostEquals(all[i]?.pricing?.common ?? NaN, common, 1e-9);
  }
  assert((values[1] as number) < (values[0] as number));
  assertStringIncludes(
    renderReport(withCost({ boundary: "workers", bill })),
    "In the bill: the machines that hold the tables and training workers.",
  );
});

Deno.test("a boundary whose parts have no price is not priced, and says why", () => {
  const { cases, pricing } = summarise(withCost({ boundary: "workers", prices: "2022-06" }));
  assertEquals(pricing, undefined);
  assertStringIncludes(cases[0]?.costMissing ?? "", 'no machine "p4d.24xlarge" by this date');
  const alone = { prices: "2022-06", boundary: "parameter-servers" };
  const narrow = summarise(withCost(alone)).cases.find(({ name }) => name === "fsdax")?.cost;
  assertEquals(narrow?.savedWithin.map(({ saved }) => saved === undefined), [false, true, true, true]);
  const said = "Without a price by this date, and so as nothing outside the bill: 1 × p4d.24xlarge";
  assertStringIncludes(renderReport(withCost(alone)), said);
  assertEquals(
    summarise(withCost({ prices: "2022-06" }), { boundary: "parameter-servers" }).cases.map(({ cost }) => cost?.saved),
    summarise(withCost(alone)).cases.map(({ cost }) => cost?.saved),
  );
  assert(!renderReport(withCost({ prices: "2026-11" })).includes("Without a price by this date"));
  assertThrows(() => summarise(withCost({ boundary: "moon" })), RangeError, 'found "moon"');
  assertThrows(() => summarise(withCost({ bill: { workers: -1 } })), RangeError, "cost.bill.workers");
  assertThrows(() => summarise(withCost({ bill: { worker: 0 } })), RangeError, "above 0");
});

Deno.test("owned servers: PMEM for PMEM, Memory Mode only where its ratio is allowed, or why there is no price", () => {
  const { cases, pricing } = summarise(withCost({ model: "owned", prices: "2026-11" }));
  const offer = (name: string) => cases.find((one) => one.name === name)?.cost?.offer;
  assertEquals(pricing?.provider, "owned servers");
  assertEquals(offer("dram")?.instance.pmemGib, 0);
  const mode = offer("memory-mode")?.instance;
  const ratio = (mode?.pmemGib ?? 0) / (mode?.dramGib ?? 1) * 128 / 126;
  assert(ratio >= 4 && ratio <= 16, `${ratio}`);
  assert((offer("fsdax")?.instance.pmemGib ?? 0) > 0);
  const { claims } = summarise(withCost({ model: "owned", prices: "2026-11" }));
  const bar = claims[0]?.tornado.find(({ input }) => input.name === "price of a dram machine")?.input;
  assertEquals(bar?.why, "stated range");
  assert(bar !== undefined && bar.range.low < bar.value && bar.value < bar.range.high);
  const early =
    summarise(withCost({ model: "owned", prices: "2019", boundary: "parameter-servers" })).cases[0]?.costMissing ?? "";
  assertStringIncludes(early, "Owned servers need more prices than the book has by 2019: Server life, PUE average");
  const own = {
    name: "pue.csv",
    text: `${ITEMS}Utilisation of owned servers,,,0.5,,,share,,2026,2026,here,our logs,V,`,
  };
  const half = summarise(withCost({ model: "owned", prices: "2026-11" }), { priceFiles: [own] });
  assertAlmostEquals(
    (half.cases[0]?.cost?.offer.pricePerHour ?? 0) / (offer("dram")?.pricePerHour ?? 1),
    2,
    1e-9,
  );
});

Deno.test("savings in a report are taken apart: points add up, intervals come from the samples", () => {
  const { claims, cases } = summarise(fixtureResult());
  assertEquals(claims.map((claim) => claim.case), ["memory-mode", "fsdax", "kmem-dax"]);
  for (const claim of claims) {
    const saved = cases.find(({ name }) => name === claim.case)?.cost?.saved?.value ?? NaN;
    assertAlmostEquals(claim.causes.reduce((sum, { points }) => sum + points, 0), saved, 1e-12);
    const { low = NaN, high = NaN } = cases.find(({ name }) => name === claim.case)?.relative ?? {};
    assertEquals(claim.claim.timeRatio, { low: 1 / high, high: 1 / low });
    assert(claim.flips.some(({ interval }) => interval !== undefined));
  }
  for (const { saving, terms, bars } of claimData(summarise(fixtureResult()))) {
    assertAlmostEquals(terms.reduce((sum, { points }) => sum + points, 0), saving, 1e-9);
    assertEquals(bars.length, 6);
  }
  const [one] = summarise(fixtureResult({ samples: 1 })).claims;
  assert(one?.flips.every(({ interval }) => interval === undefined));
  assertStringIncludes(renderReport(fixtureResult()), "What the saving of fsdax comes from, percentage points");
});
