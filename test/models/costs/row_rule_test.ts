// The five-minute rule for rows in a sentence, against the rule by hand, and in every report.

import "../../native_library.ts";
import { rowRulePrices, rowRuleSeconds, rowRuleText } from "../../../models/costs/row_rule.ts";
import { defaultPriceBook, pricesAsOf, renderReport, renderTerminal, summarise, toMarkdown } from "../../../mod.ts";
import { fixtureResult } from "../../fixtures/result_fixture.ts";
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "../../assert.ts";

const item = (medium: string, value: number, capacityGB: number) => ({
  item: `${medium} ${capacityGB}`,
  medium,
  unit: "GB",
  value,
  capacityGB,
  begin: "2026-01",
  end: "2026-03",
  mark: "published",
  source: "test",
});
const bookOf = (...items: unknown[]) => ({ instances: [], items }) as unknown as Parameters<typeof rowRulePrices>[0];

Deno.test("a row belongs in DRAM as long as its bytes cost less than the share of the drive that its reads take", () => {
  const prices = rowRulePrices(bookOf(item("DDR5", 10, 64), item("NVMe", 0.2, 4000)));
  assert(prices !== undefined);
  // A drive of 800 for a million reads a second: 0.0008 a read a second; a row of 144 B costs 144e-9 × 10.
  assertEquals(prices.drivePrice, 800);
  assertAlmostEquals(rowRuleSeconds(prices, 144), 0.0008 / (144e-9 * 10), 1e-9);
  const text = rowRuleText(prices, 144, "$");
  assertStringIncludes(
    text,
    "A row of 144 B that is read more often than every 9.26 minutes belongs in DRAM (10.0 $/GB",
  );
  assertStringIncludes(text, "(800 $,");
  // At the price that the sentence names, the rule's interval is the sentence's.
  const [, interval, price] = /read once in (\d+) minutes belongs there below ([\d.]+) \$\/GB/.exec(text) ?? [];
  assertEquals(interval, "10");
  assertAlmostEquals(rowRuleSeconds(prices, 144, Number(price) / 10), 600, 5);
});

Deno.test("without a price of memory or of a drive there is no sentence", () => {
  assertEquals(rowRulePrices(bookOf(item("DDR5", 10, 64))), undefined);
  assertEquals(rowRulePrices(bookOf(item("NVMe", 0.2, 4000))), undefined);
});

Deno.test("every report of a run has the sentence, for its own rows at its own prices", () => {
  const result = fixtureResult({ samples: 3 }), summary = summarise(result);
  const [sentence, ...more] = summary.verdict.sentences.filter((one) => one.startsWith("A row of "));
  assertEquals(more, []);
  // 86 MiB of rows over 1.69 million of them.
  const prices = rowRulePrices(pricesAsOf(defaultPriceBook(), "2026-11"));
  assert(prices !== undefined);
  assertEquals(sentence, rowRuleText(prices, Math.round(86 * 2 ** 20 / 1_690_000), "$"));
  const flat = (text: string) => text.replaceAll(/\s+/g, " ");
  assertStringIncludes(flat(renderTerminal(summary)), sentence ?? "");
  for (const text of [toMarkdown(summary), renderReport(result)]) {
    assertStringIncludes(text, "that is read more often than every");
  }
});
