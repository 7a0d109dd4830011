/** Machines of price files with CXL memory and NVMe drives are planned as what they are; quotes without a price say what may be paid. */

import "../../native_library.ts";
import { defaultPriceBook } from "../../../models/costs/default_prices.ts";
import { lintPrices, withOwnPrices } from "../../../models/costs/price_book.ts";
import { planWin, planWinText } from "../../../models/planning/bill.ts";
import { planInputs } from "../../../models/planning/inputs.ts";
import { parsePlan } from "../../../models/planning/load.ts";
import { plan } from "../../../models/planning/planner.ts";
import { planRequest } from "../../../models/planning/request.ts";
import { assert, assertAlmostEquals, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";

const COLUMNS = "provider,name,role,vcpus,dram_gib,pmem_gib,network_gb_s,price,unit,currency,from,to,region,source," +
  "mark,note,cxl_gib,nvme_count,nvme_gb,hbm_gib\n";
const TAIL = "2026-10,2026-11,here,an offer,V,";

function planFile(rest = "") {
  const text = `{ "kind": "plan", "name": "t", "target": { "samplesPerSecond": 100000 }, "batch": 4096, ${rest}
    "tables": { "t": { "rows": 1e9, "dim": 64, "lookups": 8, "profile": { "s": 1.05 } } },
    "providers": ["Vendor"] }`;
  return parsePlan(text, { file: "t.jsonc", directory: Deno.cwd() });
}

function bookWith(...rows: string[]) {
  return withOwnPrices(defaultPriceBook(), [{ name: "q.csv", text: `${COLUMNS}${rows.join("\n")}\n` }]);
}

Deno.test("a vendor's row with CXL memory or drives has a tier of each, on its own medium and so many devices", async () => {
  const inputs = await planInputs(planFile());
  const request = planRequest(
    inputs,
    bookWith(
      `Vendor,cxl,memory,64,256,0,12.5,3,hour,USD,${TAIL},2048,,,`,
      `Vendor,nvme,memory,64,256,0,12.5,2,hour,USD,${TAIL},,4,30000,`,
      `Vendor,hbm,memory,64,256,0,12.5,2,hour,USD,${TAIL},,,,64`,
    ),
  );
  const { machines, unpriced } = request;
  const said = machines.map(({ name, tiers }) => [
    name,
    tiers.map((tier) => [tier.name, tier.medium, Math.round(tier.bytes / 0.9), tier.devices, tier.records]),
  ]);
  assertEquals(said, [
    ["Vendor cxl", [["DRAM", "ddr4-2666-6ch", 256 * 2 ** 30, 1, false], ["CXL", "cxl-type3-ddr4", 2 ** 41, 2, false]]],
    // Of each drive of 30 TB rows use what the measured one holds.
    ["Vendor nvme", [["DRAM", "ddr4-2666-6ch", 256 * 2 ** 30, 1, false], ["SSD", "nvme-tlc", 4 * 3.84e12, 4, true]]],
  ]);
  assertEquals(unpriced.map(({ name }) => name), ["Vendor hbm"]);
  assertStringIncludes(unpriced[0]?.why ?? "", "none of them HBM");
  const found = plan({ ...request, machines: machines.slice(1) }).best;
  assert((found?.placements[0]?.shares[1] ?? 0) > 0.3, "most rows are on the drives");
});

Deno.test("a quote without a price says at most what to pay; at that price it costs what the winner does", async () => {
  const inputs = await planInputs(planFile());
  const dram = `Vendor,dram,memory,64,768,0,12.5,6,hour,USD,${TAIL},,,,`;
  const nvme = (price: string) => `Vendor,nvme,memory,64,256,0,12.5,${price},hour,USD,${TAIL},,4,3840,`;
  const request = planRequest(inputs, bookWith(dram, nvme("")));
  const [one] = request.unpriced;
  assert(one !== undefined);
  const answer = plan(request);
  const win = planWin(one, request, answer);
  assert(win !== undefined && answer.best !== undefined);
  assertAlmostEquals(win.perHour * win.hosts, answer.best.pricePerHour, 1e-12);
  assertStringIncludes(planWinText(one, request, answer) ?? "", "an hour, or ");
  for (const [share, wins] of [[0.999, "Vendor nvme"], [1.001, "Vendor dram"]] as const) {
    const priced = plan(planRequest(inputs, bookWith(dram, nvme(`${win.perHour * share}`))));
    assertEquals(priced.best?.machine.name, wins);
  }
  const own = planFile(
    '"machines": { "quote": { "tiers": [{ "name": "DRAM", "medium": "ddr5-4800-8ch", "size": "1 TB" }] } },',
  );
  const free = planRequest(await planInputs(own), bookWith(dram)).unpriced;
  assertEquals(free.map(({ name, why }) => [name, why]), [["quote", "no price is stated"]]);
});

Deno.test("a row of the shipped book needs its price; one of the user's is either priced or a quote", () => {
  const text = `${COLUMNS}Vendor,x,memory,64,768,0,12.5,,hour,USD,${TAIL},,,,\n`;
  assertEquals(lintPrices([{ name: "q.csv", text }]).map(({ text }) => text), ["price is missing"]);
  assertEquals(lintPrices([{ name: "q.csv", text }], defaultPriceBook()), []);
});

Deno.test("a tier larger than its devices is refused with the devices that would hold it", async () => {
  const tier = '"tiers": [{ "name": "CXL", "medium": "cxl-type3-ddr4", "size": "3 TiB" }]';
  const large = planFile(`"machines": { "x": { "pricePerHour": 1, "date": "2026", ${tier} } },`);
  const error = await assertRejects(() => planInputs(large));
  assertStringIncludes(`${error}`, "one holds");
  assertStringIncludes(`${error}`, "3 devices would hold it");
});
