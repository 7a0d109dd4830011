/** What simulated cases cost: by hand, with reasons for what has no price, in every output. */

import "../../native_library.ts";
import { resolveSimulation } from "../../../models/simulation/load.ts";
import type { SimulationResult } from "../../../models/simulation/record.ts";
import { runSimulation } from "../../../models/simulation/run.ts";
import type { Simulation } from "../../../models/simulation/simulation.ts";
import { reanalyseSimulation } from "../../../reports/reanalyse/simulation.ts";
import type { CaseMoney, NoMoney, WinPrice } from "../../../reports/simulation/money.ts";
import { renderSimulation } from "../../../reports/simulation/page.ts";
import { summariseSimulation } from "../../../reports/simulation/summary.ts";
import { renderSimulationTerminal, simulationCsv, simulationMarkdown } from "../../../reports/simulation/text.ts";
import { assert, assertAlmostEquals, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";

/** 100 GB of rows on two servers; 2 workers a host, 4 in all. */
const WRITTEN: Simulation = {
  kind: "simulation",
  name: "money",
  steps: 4,
  warmup: 1,
  workload: {
    batch: 1024,
    tables: [{ name: "ids", rows: 1e9, dim: 8, slots: 1, overhead: 36, lookups: 4, law: { s: 1.1 } }],
  },
  compute: { dense: "1 ms", on: "accelerator", source: "an assumption" },
  cluster: { workers: 4, workersPerHost: 2, servers: 2, network: { bandwidth: "100 Gbit/s" } },
  cost: { prices: "2026-11", trainers: { pricePerHour: 10, date: "2026-10" } },
  configurations: {
    dram: {
      mode: "dram",
      tiers: [{ media: "ddr5-4800-8ch" }],
      machine: { components: { dram: { size: "64 GB", by: 8 } } },
    },
    rented: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch" }], machine: "Alibaba Cloud ecs.r6e.13xlarge" },
    cxl: {
      mode: "cxl",
      tiers: [{ media: "ddr5-4800-8ch", size: "8 GB" }, { media: "cxl-type3-ddr4" }],
      machine: { components: { dram: { size: "16 GB", count: 8 }, cxl: { size: "256 GB" } } },
    },
    ssd: {
      mode: "ssd",
      tiers: [{ media: "ddr5-4800-8ch", size: "8 GB" }, { media: "nvme-tlc" }],
      machine: { components: { dram: { size: "16 GB", count: 8 }, nvme: { size: "30 TB", count: 2 } } },
    },
    fsdax: {
      mode: "fsdax",
      tiers: [{ media: "ddr4-2666-6ch", size: "8 GB" }, { media: "optane-100-6x256" }],
      machine: { components: { dram: { size: "64 GB", by: 6, medium: "DDR4" }, pmem: { size: "256 GB", by: 6 } } },
    },
    small: {
      mode: "dram",
      tiers: [{ media: "ddr5-4800-8ch" }],
      machine: { components: { dram: { size: "16 GB", count: 2 } } },
    },
    unsaid: { mode: "dram", tiers: [{ media: "ddr5-4800-8ch" }] },
    pmemOnDram: {
      mode: "fsdax",
      tiers: [{ media: "ddr4-2666-6ch", size: "8 GB" }, { media: "optane-100-6x256" }],
      machine: "Alibaba Cloud ecs.r6e.13xlarge",
    },
  },
};

const result: SimulationResult = await runSimulation(await resolveSimulation(WRITTEN));

type Money = CaseMoney | (NoMoney & { readonly win?: WinPrice });

function moneyOf(name: string, options = {}, of = result): Money | undefined {
  return summariseSimulation(of, options).studies[0]?.cases.find(({ configuration }) => configuration === name)?.money;
}

function paid(name: string, options = {}): CaseMoney {
  const money = moneyOf(name, options);
  assert(money !== undefined && "perHour" in money, `${name} has no price: ${JSON.stringify(money)}`);
  return money;
}

const rate = (name: string) =>
  result.cases.find(({ configuration }) => configuration === name)?.samplesPerSecond ?? NaN;

Deno.test("a case costs its servers and its trainers, by hand: an hour, a million samples, a month, a year", () => {
  // 1e9 rows of 100 B are 50 GB a server; modules of 64 GB come by eight.
  const capital = (8 * 64 * 10.9 + 8800) * (0.08 / (1 - 1.08 ** -6)) / 8760;
  const energy = (400 + 8 * 5.5) / 1000 * 1.54 * 0.09;
  const { servers, trainers, perHour, perMillion, perMonth, perYear, purchase, watts } = paid("dram");
  assertEquals([servers.count, trainers?.count, servers.what], [2, 2, "server with 8 × 64 GB DDR5"]);
  assertAlmostEquals(servers.perHour, 2 * (capital + energy), 1e-9);
  assertAlmostEquals(perHour, 2 * (capital + energy) + 20, 1e-9);
  assertAlmostEquals(perMillion, perHour / (rate("dram") * 3600) * 1e6, 1e-12);
  assertAlmostEquals(perMonth / perHour, 730, 1e-9);
  assertAlmostEquals(perYear / perHour, 8760, 1e-9);
  assertAlmostEquals(purchase ?? 0, 2 * (8 * 64 * 10.9 + 8800), 1e-6);
  assertAlmostEquals(watts ?? 0, 2 * (400 + 8 * 5.5), 1e-9);
  assertAlmostEquals(paid("rented").servers.perHour, 2 * 3.035, 1e-12);
  assertEquals(paid("dram", { boundary: "parameter-servers" }).perHour, servers.perHour);
});

Deno.test("a purchase is earned by the rent that it saves, less its power", () => {
  const { purchase = 0, powerPerHour = 0, payback } = paid("dram");
  const rent = 6.07 * rate("dram") / rate("rented");
  assertEquals(payback?.against, "rented");
  assertAlmostEquals(payback?.months ?? 0, purchase / ((rent - powerPerHour) * 730), 1e-9);
});

Deno.test("drives are written so often a day as the model writes them", () => {
  const one = result.cases.find(({ configuration }) => configuration === "ssd");
  const shown = summariseSimulation(result).studies[0]?.cases.find(({ configuration }) => configuration === "ssd");
  const perDay = (one?.tiers[1]?.writeBytes ?? 0) / (one?.step.mean ?? NaN) * 86_400;
  assert(perDay > 0);
  assertAlmostEquals((shown?.driveWrites ?? 0) / (perDay / 60e12), 1, 1e-9);
});

Deno.test("CXL memory has no price; at the one that it says, it costs as much as the cheapest case", () => {
  const money = moneyOf("cxl");
  assert(money !== undefined && "why" in money && money.win !== undefined);
  assertEquals(money.why, "no public price of CXL memory");
  const { perGB, against } = money.win;
  const head = "item,medium,capacity_gb,value,low,high,unit,currency,from,to,region,source,mark,note\n";
  const text = `${head}CXL 256 GB,CXL,256,${perGB},,,GB,USD,2026-10,2026-10,here,an offer,V,\n`;
  const quoted = paid("cxl", { priceFiles: [{ name: "q.csv", text }] });
  assertAlmostEquals(quoted.perMillion / paid(against).perMillion, 1, 1e-9);
});

Deno.test("what has no price says why, and nothing is priced as something else", () => {
  const why = (name: string, options = {}, of = result) => {
    const money = moneyOf(name, options, of);
    return money !== undefined && "why" in money ? money.why : "";
  };
  assertStringIncludes(why("small"), "a server needs 50 GB of DRAM, 2 × 16 GB have 28.8 GB for rows");
  assertStringIncludes(why("unsaid"), "configurations.unsaid.machine does not say what it runs on");
  assertStringIncludes(why("pmemOnDram"), "of PMem, ecs.r6e.13xlarge has 0 GB of it for rows");
  assertStringIncludes(
    why("rented", { asOf: "2020" }),
    'the price book has no machine "Alibaba Cloud ecs.r6e.13xlarge" by 2020',
  );
  const { cost: _, ...unpaid } = result.run.scenario;
  const without = { ...result, run: { ...result.run, scenario: unpaid } };
  assertStringIncludes(why("dram", {}, without), "cost.trainers does not say what one is");
  assertEquals(why("dram", { boundary: "parameter-servers" }, without), "");
});

Deno.test("terminal, Markdown, CSV, JSON and page have the same money, the whole bill in the first sentence", () => {
  const summary = summariseSimulation(result);
  assertMatch(
    summary.sentences[0] ?? "",
    /^all: \w+ costs least, [\d.]+ \$ a million samples \(.*\), [\d.]+ \$ an hour or [\d,]+ a month for the whole bill, trainers included, at prices of 20.*PMem 100: not sold new since 2025-12, in fsdax/,
  );
  const cost = paid("dram");
  assertStringIncludes(simulationCsv(summary), `${cost.perHour},${cost.perMillion}`);
  for (const text of [renderSimulationTerminal(summary, 400), simulationMarkdown(summary), renderSimulation(result)]) {
    assertStringIncludes(text, "Money, all: the whole bill");
    assertStringIncludes(text, "no public price of CXL memory; at most");
  }
});

Deno.test("a page carries its prices: it is made again to the byte, and in euros by a rate that the user gives", () => {
  const head = "item,medium,capacity_gb,value,low,high,unit,currency,from,to,region,source,mark,note\n";
  const rateFile = { name: "r.csv", text: `${head}USD per EUR,,,1.25,,,ratio,,2026-01,2026-11,not stated,test,V,\n` };
  const options = { priceFiles: [rateFile], currency: "EUR" };
  const page = renderSimulation(result, options);
  const again = reanalyseSimulation(page, "page.html");
  assertEquals([again?.same, again?.options.currency], [true, "EUR"]);
  assertAlmostEquals(paid("dram", options).perMillion * 1.25, paid("dram").perMillion, 1e-12);
  assertStringIncludes(summariseSimulation(result, options).sentences[0] ?? "", " EUR an hour or ");
  const dollars = reanalyseSimulation(page, "page.html", { currency: "USD" });
  assertEquals(dollars?.same, false);
});
