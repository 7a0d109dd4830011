/** What plans cost: the same book and words as runs and simulations. */

import "../../native_library.ts";
import { inCurrency } from "../../../models/costs/currency.ts";
import { defaultPriceBook } from "../../../models/costs/default_prices.ts";
import { withOwnPrices } from "../../../models/costs/price_book.ts";
import { planWinText } from "../../../models/planning/bill.ts";
import { planInputs } from "../../../models/planning/inputs.ts";
import { loadPlan } from "../../../models/planning/load.ts";
import { plan } from "../../../models/planning/planner.ts";
import { planRequest } from "../../../models/planning/request.ts";
import { planText } from "../../../models/planning/text.ts";
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "../../assert.ts";

const inputs = await planInputs(await loadPlan(new URL("../../../scenarios/plans/retail.jsonc", import.meta.url)));
const book = defaultPriceBook();
const ITEMS = "item,medium,capacity_gb,value,low,high,unit,currency,from,to,region,source,mark,note\n";

Deno.test("a plan's bill has its trainers; --boundary leaves them out; the end of sale is said", () => {
  const answer = plan(planRequest(inputs, book));
  const text = planText(answer);
  assertAlmostEquals((answer.best?.billPerHour ?? 0) - (answer.best?.pricePerHour ?? 0), 40, 1e-9);
  assertStringIncludes(text, "the whole bill, with 4 × a machine of 10 $/h to train");
  assertStringIncludes(text, "over a year old; its memory is not sold new since 2025-12");
  const alone = plan(planRequest(inputs, book, { serversAlone: true }));
  assertEquals(alone.best?.billPerHour, alone.best?.pricePerHour);
  const { trainers: _, ...without } = inputs;
  assertStringIncludes(planText(plan(planRequest(without, book))), "cost.trainers does not say what it is");
});

Deno.test("a machine with CXL memory is not planned without a price; at the one it names, it costs what the winner does", () => {
  const request = planRequest(inputs, book);
  const [one, ...more] = request.unpriced;
  assert(one !== undefined && more.length === 0);
  assertEquals(one.why, "no public price of CXL memory");
  assert(request.machines.every(({ tiers }) => tiers.every(({ medium }) => !medium.startsWith("cxl"))));
  const answer = plan(request);
  const most = Number(/^at most ([\d.]+) \$\/GB/.exec(planWinText(one, request, answer) ?? "")?.[1]);
  const text = `${ITEMS}CXL 256 GB,CXL,256,${most},,,GB,USD,2026-10,2026-10,here,an offer,V,\n`;
  const quoted = planRequest(inputs, withOwnPrices(book, [{ name: "q.csv", text }]));
  assertEquals(quoted.unpriced, []);
  const own = quoted.machines.find(({ name }) => name === one.name);
  const found = own && plan({ ...quoted, machines: [own] }).best;
  assertAlmostEquals((found?.pricePerHour ?? 0) / (answer.best?.pricePerHour ?? 1), 1, 5e-3);
});

Deno.test("a plan in euros costs what it costs in dollars, by the rate that the user gives", () => {
  const rate = `${ITEMS}USD per EUR,,,1.25,,,ratio,,2026-01,2026-11,not stated,a test,V,\n`;
  const own = withOwnPrices(book, [{ name: "r.csv", text: rate }]);
  const [dollars, euros] = ["USD", "EUR"].map((currency) => plan(planRequest(inputs, own, { currency })));
  assertAlmostEquals((dollars?.best?.billPerHour ?? 0) / (euros?.best?.billPerHour ?? 1), 1.25, 1e-12);
  assert(euros !== undefined && planText(euros).includes(" EUR an hour") && !planText(euros).includes("$"));
  assertEquals(inCurrency(own, "USD", "2026-11"), own);
});
