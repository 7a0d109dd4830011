/** No answer is over capacity: bytes of rows, index and policy of each machine against its memory and its devices. */

import "../../../native_library.ts";
import { defaultPriceBook } from "../../../../models/costs/default_prices.ts";
import { pricesAsOf } from "../../../../models/costs/price_book.ts";
import { loadMedia, mediaCapacity } from "../../../../models/media/media.ts";
import { ask, type Asked } from "../../../../models/planning/ask/ask.ts";
import {
  deviceCapacities,
  planFileText,
  planOfQuestion,
  tableOfRows,
} from "../../../../models/planning/ask/question.ts";
import { loadPlan, parsePlan } from "../../../../models/planning/load.ts";
import type { Plan } from "../../../../models/planning/plan_types.ts";
import { headline } from "../../../../reports/ask/words.ts";
import { assert, assertEquals, assertMatch } from "../../../assert.ts";

const book = defaultPriceBook();

async function asked(rows: string): Promise<Asked> {
  const plan = planOfQuestion(
    {
      name: "t",
      tables: { ids: tableOfRows({ rows, dim: 64, optimizer: "adagrad", lookups: 26, profile: { s: 0.9 } }) },
      target: { samplesPerSecond: 100_000 },
      among: ["dram", "cxl", "nvme", "pmem"],
      batch: 4096,
      workers: 8,
      computeMs: 10,
      trainers: "AWS p4d.24xlarge",
      workersPerHost: 8,
      prices: "2026-11",
      providers: [],
    },
    pricesAsOf(book, "2026-11"),
    await deviceCapacities(),
  );
  const text = planFileText(plan, { about: "a test", schema: "./plan.schema.json" });
  return ask(parsePlan(text, { file: "t.jsonc", directory: "." }), book, { turns: false });
}

/** Refuses a plan any of whose machines holds more than it can, or whose machines together hold less than the rows. */
async function fits({ machine, hosts, usedBytes, placed }: Plan): Promise<void> {
  for (const [k, { name, medium, bytes, devices }] of machine.tiers.entries()) {
    const used = usedBytes[k] ?? 0;
    assert(used <= bytes, `${machine.name}: ${used} bytes of ${name} in ${bytes}`);
    const { kind, ...media } = await loadMedia(medium);
    const most = mediaCapacity({ kind, ...media }, devices);
    // DRAM comes in modules of other sizes than those measured: what the machine's name says is in it.
    if (kind !== "dram" && most !== undefined) {
      assert(bytes <= most, `${machine.name}: ${bytes} of ${name}, which hold ${most}`);
    }
  }
  const all = usedBytes.reduce((sum, one) => sum + one, 0) * hosts;
  const needs = placed.reduce((sum, { table }) => sum + table.rows * (table.rowBytes + 16), 0);
  assert(all >= needs * (1 - 1e-9), `${machine.name}: ${all} bytes used, rows and the least index take ${needs}`);
}

Deno.test("of every size asked, no way holds more than its devices, and one that cannot says the bytes a machine has", async () => {
  let plans = 0, refused = 0;
  for (const rows of ["200GB", "2TB", "20TB", "200TB", "3000TB"]) {
    const found = await asked(rows);
    for (const { plan, why } of found.ways) {
      if (plan === undefined) {
        refused++;
        assertMatch(
          why ?? "",
          /rows take [\d.,]+ (GiB|TiB|PiB), index and policy at least [\d.,]+ (GiB|TiB).* one has [\d.,]+/,
        );
        assertMatch(why ?? "", /\d+ (would|of it|machines|may)/);
        continue;
      }
      plans++;
      await fits(plan);
    }
    if (found.rented !== undefined) await fits(found.rented);
    if (found.answer.best === undefined) assertMatch(headline(found), /^Nothing that has a price meets the target/);
  }
  assert(plans >= 12 && refused >= 3, `${plans} plans, ${refused} refused`);
});

Deno.test("the answer of every shipped plan fits", async () => {
  const folder = new URL("../../../../scenarios/plans/", import.meta.url);
  const files = [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".jsonc"));
  assert(files.length > 0);
  for (const { name } of files) {
    const { ways } = await ask(await loadPlan(new URL(name, folder)), book, { turns: false });
    assertEquals(ways.some(({ plan }) => plan !== undefined), true);
    for (const { plan } of ways) if (plan !== undefined) await fits(plan);
  }
});
