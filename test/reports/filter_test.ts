import { renderReport } from "../../reports/report.ts";
import { toCsv } from "../../reports/export/csv.ts";
import { toJson } from "../../reports/export/json.ts";
import { toMarkdown } from "../../reports/export/markdown.ts";
import { summarise } from "../../reports/summary/summary.ts";
import { renderTerminal } from "../../reports/export/terminal.ts";
import type { Result } from "../../scenarios/record.ts";
import { assert, assertEquals } from "../assert.ts";
import { fixtureResult } from "../fixtures/result_fixture.ts";

const filter = { admitted: 12_345, refused: 67_890, expired: 4321, waiting: 987 };

function withFilter(result: Result): Result {
  return { ...result, samples: result.samples.map((sample) => ({ ...sample, filter })) };
}

Deno.test("reports show rows admitted, lookups refused, rows expired and keys waiting", () => {
  const plain = fixtureResult();
  const result = withFilter(plain);
  const summary = summarise(result);
  assertEquals(summary.cases[0]?.filter, filter);
  const [head = "", line = ""] = toCsv(summary).split("\n");
  const cell = (name: string) => line.split(",")[head.split(",").indexOf(name)];
  assertEquals(["rows_admitted", "lookups_refused", "rows_expired", "keys_waiting"].map(cell), [
    "12345",
    "67890",
    "4321",
    "987",
  ]);
  assertEquals(JSON.parse(toJson(summary)).cases[0].filter, filter);
  for (const text of [renderTerminal(summary), toMarkdown(summary), renderReport(result)]) {
    for (const word of ["rows admitted", "keys waiting", "12,345", "67,890", "4,321", "987"]) {
      assert(text.includes(word), `${word} in ${text.slice(0, 300)}`);
    }
  }
  for (const text of [renderTerminal(summarise(plain)), toMarkdown(summarise(plain)), renderReport(plain)]) {
    assert(!text.includes("rows admitted"));
  }
});
