/** What an answer says of other ways and of what would turn it, held against plans made at those values. */

import "../../../native_library.ts";
import { defaultPriceBook } from "../../../../models/costs/default_prices.ts";
import { type PriceBook, pricesAsOf, withOwnPrices } from "../../../../models/costs/price_book.ts";
import { ask } from "../../../../models/planning/ask/ask.ts";
import type { AskMedium } from "../../../../models/planning/ask/candidates.ts";
import {
  deviceCapacities,
  planFileText,
  planFrom,
  planOfQuestion,
  type Question,
  tableOfRows,
  tablesOfFile,
  withMedium,
} from "../../../../models/planning/ask/question.ts";
import { wayOf } from "../../../../models/planning/ask/ways.ts";
import { planInputs } from "../../../../models/planning/inputs.ts";
import { parsePlan } from "../../../../models/planning/load.ts";
import { bestPlan } from "../../../../models/planning/planner.ts";
import { planRequest } from "../../../../models/planning/request.ts";
import type { ResolvedPlanFile } from "../../../../models/planning/plan_file.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../../assert.ts";

const ITEMS = "item,medium,capacity_gb,value,low,high,unit,currency,from,to,region,source,mark,note\n";
const CXL = `${ITEMS}CXL memory,CXL,,9,,,GB,USD,2026-10,2026-10,here,an offer,V,\n`;
const book = defaultPriceBook();
const quoted = withOwnPrices(book, [{ name: "q.csv", text: CXL }]);
const capacity = await deviceCapacities();

function question(among: readonly AskMedium[], more: Partial<Question> = {}): Question {
  return {
    name: "t",
    tables: {
      rows: tableOfRows({ rows: "2TB", dim: 64, optimizer: "adagrad", lookups: 26, profile: { s: 0.9 } }),
    },
    target: { samplesPerSecond: 500_000 },
    among,
    batch: 4096,
    workers: 8,
    computeMs: 10,
    trainers: "AWS p4d.24xlarge",
    workersPerHost: 8,
    prices: "2026-11",
    providers: [],
    ...more,
  };
}

function fileOf(asked: Question, prices: PriceBook): ResolvedPlanFile {
  const plan = planOfQuestion(asked, pricesAsOf(prices, asked.prices), capacity);
  const text = planFileText(plan, { about: "a test", schema: "./plan.schema.json" });
  return parsePlan(text, { file: "t.jsonc", directory: "." });
}

const asked = await ask(fileOf(question(["dram", "cxl", "nvme"]), quoted), quoted);

/** Way that wins for a plan file at prices. */
async function winner(file: ResolvedPlanFile, prices: PriceBook): Promise<string | undefined> {
  const best = bestPlan(planRequest(await planInputs(file), prices));
  return best === undefined ? undefined : wayOf(best.machine);
}

function scaled(prices: PriceBook, medium: string, factor: number): PriceBook {
  const items = prices.items.map((item) =>
    item.medium === medium && item.unit === "GB"
      ? { ...item, value: item.value * factor, low: item.low * factor, high: item.high * factor }
      : item
  );
  return { ...prices, items };
}

Deno.test("each turn of an answer is one: plans made on either side of it have other winners", async () => {
  const { answer: { best }, turns, file } = asked;
  assert(best !== undefined && turns.some(({ at }) => at !== undefined));
  const base = wayOf(best.machine);
  for (const turn of turns) {
    if (turn.at === undefined || turn.of === "misses") continue;
    const beyond = turn.at;
    const before = turn.at - (turn.at - turn.now) * 0.05;
    const at = (value: number): Promise<string | undefined> => {
      if (turn.of === "price") return winner(file, scaled(quoted, turn.medium ?? "", value / turn.now));
      if (turn.of === "target") return winner({ ...file, target: { samplesPerSecond: value } }, quoted);
      const change = turn.of === "bytes"
        ? (one: ResolvedPlanFile["tables"][string]) => ({ ...one, rows: Math.round(one.rows * value / turn.now) })
        : (one: ResolvedPlanFile["tables"][string]) => ({ ...one, profile: { s: value } });
      const tables = Object.fromEntries(Object.entries(file.tables).map(([name, one]) => [name, change(one)]));
      return winner({ ...file, tables }, quoted);
    };
    const where = `${turn.of} ${turn.medium ?? ""} ${turn.now} → ${turn.at}`;
    assertEquals(await at(beyond), turn.then === undefined ? undefined : wayOf(turn.then.machine), where);
    assertEquals(await at(before), base, `${where}, before`);
  }
});

Deno.test("a way without a price is in the answer with the most it may cost, and wins at just below that", async () => {
  const { ways } = await ask(fileOf(question(["dram", "cxl"]), book), book, { turns: false });
  const cxl = ways.find(({ name }) => name === "DRAM + CXL");
  const most = cxl?.win?.perGB?.bought ?? NaN;
  assert(most > 0 && cxl?.meets === false, JSON.stringify(cxl));
  for (const [share, wins] of [[0.99, "DRAM + CXL"], [1.01, "DRAM"]] as const) {
    const text = CXL.replace(",9,", `,${most * share},`);
    const priced = withOwnPrices(book, [{ name: "q.csv", text }]);
    const names = fileOf(question(["dram", "cxl"]), priced);
    assertEquals(await winner(names, priced), wins);
  }
});

Deno.test("candidates are filled with what has a fresh price; PMem says that it is not sold any more", async () => {
  const dated = pricesAsOf(book, "2026-11");
  const { machines = {} } = planOfQuestion(question(["dram", "cxl", "nvme", "pmem"]), dated, capacity);
  const names = Object.keys(machines);
  // Modules of 16 and 32 GB have prices of early 2025 alone.
  assert(names.every((name) => !/ (16|32) GB DDR5/.test(name)) && names.includes("server with 32 x 96 GB DDR5"));
  const inputs = await planInputs(fileOf(question(["pmem"]), book));
  const [pmem] = planRequest(inputs, book).machines;
  assertStringIncludes(pmem?.priceNote ?? "", "not sold new since 2025-12");
  const earlier = planOfQuestion(question(["dram"], { prices: "2025-06" }), pricesAsOf(book, "2025-06"), capacity);
  assert(Object.keys(earlier.machines ?? {}).some((name) => name.includes("32 GB DDR5")), "fresh by then");
});

Deno.test("an answer without a winner says why each way misses, and has no turns", async () => {
  const { answer, turns, ways } = await ask(fileOf(question(["dram"], { target: { p99Ms: 5 } }), book), book);
  assertEquals([answer.best, turns.length], [undefined, 0]);
  assert(ways.length > 0 && ways.every(({ why, meets }) => !meets && (why ?? "").length > 10));
});

Deno.test("a doubt names another way or the winner itself, never another number of the same drives", async () => {
  const drive = decodeURIComponent(new URL("../../../../models/media/nvme-tlc.jsonc", import.meta.url).pathname);
  const own = (among: readonly AskMedium[]): ResolvedPlanFile => {
    const plan = withMedium(planOfQuestion(question(among), pricesAsOf(book, "2026-11"), capacity), "nvme-tlc", drive);
    return parsePlan(planFileText(plan, { about: "a test", schema: "x" }), { file: "t.jsonc", directory: "." });
  };
  const { answer, doubts } = await ask(own(["nvme"]), book, { turns: false });
  assert(answer.doubts.some(({ turns }) => turns === "cheaper"), "the planner has such doubts");
  assertEquals(doubts.map(({ turns, machine }) => [turns, machine]), [["misses", answer.best?.machine.name]]);
  const both = await ask(own(["dram", "nvme"]), book, { turns: false });
  assert(both.doubts.some(({ turns, media }) => turns === "cheaper" && media.includes(drive)));
  assertEquals(asked.doubts, [], "drives whose queue keeps them full are asked what their data sheet says");
});

Deno.test("drives of a size that nobody sells at a known price are a way of their own, with what another size costs", () => {
  const [priced, other] = ["DRAM + SSD", "DRAM + SSD, of another size"].map((name) =>
    asked.ways.find((way) => way.name === name)
  );
  assert(priced?.plan !== undefined && other?.win?.perGB !== undefined);
  assertEquals(other.why, "no public price of NVMe drives of 3.84 TB (30 TB: 0.36 $/GB)");
  assertEquals(
    other.win.plan.machine.tiers[1]?.devices,
    priced.plan.machine.tiers[1]?.devices,
    "as many drives are as fast",
  );
  assert(other.win.perGB.bought > 0.36, `${other.win.perGB.bought}`);
});

Deno.test("tables and plans that move to another folder name their profiles and media from there", async () => {
  const directory = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${directory}/a`);
    const medium = await Deno.readTextFile(new URL("../../../../models/media/nvme-tlc.jsonc", import.meta.url));
    await Deno.writeTextFile(`${directory}/a/drive.jsonc`, medium);
    const plan = withMedium(
      planOfQuestion(question(["nvme"]), pricesAsOf(book, "2026-11"), capacity),
      "nvme-tlc",
      "drive.jsonc",
    );
    const path = `${directory}/a/plan.jsonc`;
    await Deno.writeTextFile(path, planFileText(plan, { about: "a test", schema: "x" }));
    const moved = await planFrom(path, `${directory}/b`);
    const media = Object.values(moved.machines ?? {}).map(({ tiers }) => tiers[1]?.medium);
    assert(media.length > 0 && media.every((one) => one === "../a/drive.jsonc"), `${media}`);
    assertEquals(moved.media?.nvme, "../a/drive.jsonc");
    assertEquals(Object.keys(await tablesOfFile(path, directory)), ["rows"]);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("rows are bytes with a unit, or a number; what is smaller than a row is refused", () => {
  const rows = { dim: 64, optimizer: "adagrad", lookups: 1, profile: { s: 1 } } as const;
  assertEquals(tableOfRows({ ...rows, rows: "1 GB" }).rows, Math.floor(1e9 / 512));
  assertEquals(tableOfRows({ ...rows, rows: "4e9" }).rows, 4e9);
  assertEquals(tableOfRows({ ...rows, rows: "1 GB", optimizer: "sgd" }).rows, Math.floor(1e9 / 256));
  assertThrows(() => tableOfRows({ ...rows, rows: "100 B" }), RangeError, "takes 512 bytes");
});
