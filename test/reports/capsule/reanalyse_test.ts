import "../../native_library.ts";
import { reanalyse } from "../../../reports/reanalyse/reanalyse.ts";
import { renderReport } from "../../../reports/html/render.ts";
import { checkPage, parsePriceBook, type PriceBook, summarise } from "../../../reports/report.ts";
import { contributionOf } from "../../../scenarios/contribution/contribution.ts";
import { renderContribution } from "../../../reports/contribution/page.ts";
import { EDGE_CASES } from "../edge_cases.ts";
import { fixtureResult } from "../../fixtures/result_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";

const HEADER =
  "provider,name,role,vcpus,dram_gib,pmem_gib,network_gb_s,price,unit,currency,from,to,region,source,mark,note";

/** A book of a user: one provider, who sells memory at these prices. */
function bookOf(dram: number, pmem: number, from = "2025-01"): PriceBook {
  const row = (name: string, dramGib: number, pmemGib: number, price: number): string =>
    `own,${name},memory,,${dramGib},${pmemGib},,${price},hour,USD,${from},${from},here,our "offer" <1>,V,`.replace(
      'our "offer" <1>',
      '"our ""offer"" <1>"',
    );
  return parsePriceBook([{
    name: "own.csv",
    text: [HEADER, row("big", 768, 0, dram), row("mixed", 192, 756, pmem), ""].join("\n"),
  }]);
}

Deno.test("reanalyse() makes the same bytes from the page alone, of every result, book and option", async () => {
  const results = { "four configurations": () => fixtureResult({ failed: true }), ...EDGE_CASES };
  for (const [name, make] of Object.entries(results)) {
    const page = renderReport(make());
    assert(reanalyse(page, "r.html").same, name);
  }
  const own = renderReport(fixtureResult(), { prices: bookOf(7, 3), asOf: "2026-02" });
  const again = reanalyse(new TextEncoder().encode(own), "own.html");
  assertEquals([again.same, again.page === own, again.differing], [true, true, []]);
  assertEquals(again.options.prices?.instances.map(({ name }) => name), ["big", "mixed"]);
  assertEquals(again.options.asOf, "2026-02");
  assertStringIncludes(again.page, "our &quot;offer&quot; &lt;1&gt;");
  const text = `${HEADER}\r\nown,huge,memory,,4096,0,,1,hour,USD,2026,2026,here,"our </script> offer",V,\r\n`;
  const files = renderReport(fixtureResult(), { priceFiles: [{ name: "own.csv", text }] });
  assertEquals(reanalyse(files, "own.html").options.priceFiles, [{ name: "own.csv", text }]);
  assert(reanalyse(files, "own.html").same);
  const { damage } = checkPage(files.replace("own,huge,memory,,4096", "own,huge,memory,,4095"));
  assertEquals(damage.map(({ part }) => part), ['line 2 of the user\'s prices ("own.csv")']);
  const measured = fixtureResult();
  const contribution = await contributionOf({
    ...measured,
    samples: measured.samples.map((one) => ({ ...one, evidence: "measured" as const })),
  });
  assert(reanalyse(renderContribution(contribution), "c.html").same);
});

Deno.test("a report does not depend on time, zone, language or folder", async () => {
  const program = `import { renderReport } from ${
    JSON.stringify(new URL("../../../reports/html/render.ts", import.meta.url))
  };
import { fixtureResult } from ${JSON.stringify(new URL("../../fixtures/result_fixture.ts", import.meta.url))};
const { now } = Date;
Date.now = () => now() + 1e11;
await Deno.stdout.write(new TextEncoder().encode(renderReport(fixtureResult({ failed: true }))));`;
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/program.ts`, program);
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-check",
        "--config",
        new URL("../../../deno.json", import.meta.url).pathname,
        "program.ts",
      ],
      cwd: folder,
      env: { TZ: "Pacific/Kiritimati", LANG: "de_DE.UTF-8", LC_ALL: "de_DE.UTF-8", NO_COLOR: "1" },
    }).output();
    assert(success, new TextDecoder().decode(stderr));
    assert(new TextDecoder().decode(stdout) === renderReport(fixtureResult({ failed: true })));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** A summary without what is about money. */
function withoutMoney(of: ReturnType<typeof summarise>): unknown {
  const { pricing: _1, verdict: _2, claims: _5, cases, scenario: { cost: _3, ...scenario }, ...rest } = of;
  return { ...rest, scenario, cases: cases.map(({ cost: _4, costMissing: _5, ...one }) => one) };
}

Deno.test("other prices change money and nothing else, and the new page can be made again, too", () => {
  const page = renderReport(fixtureResult());
  const before = reanalyse(page, "r.html");
  for (
    const options of [{ prices: bookOf(9, 2) }, { asOf: "2020" }, { prices: bookOf(9, 2), asOf: "2026" }]
  ) {
    const after = reanalyse(page, "r.html", options);
    const [old, made] = [before, after].map(({ read, options }) => summarise(read.result, options));
    assert(old !== undefined && made !== undefined);
    assertEquals(withoutMoney(made), withoutMoney(old));
    assert(JSON.stringify(made.cases.map(({ cost }) => cost)) !== JSON.stringify(old.cases.map(({ cost }) => cost)));
    assertEquals(after.read.result, before.read.result);
    assertEquals(after.same, false);
    const money = new Set([
      "the text of the heading",
      ...["overview", "words", "cost", "claims", "worth", "change", "what-if"].map((id) =>
        `the text of the section "${id}"`
      ),
      "the data of the charts",
      "the options",
    ]);
    const other = after.differing.filter((name) => !money.has(name) && !/^the price of /.test(name));
    assertEquals(other, []);
    assert(reanalyse(after.page, "again.html").same);
  }
});

Deno.test("reanalyse() names the parts that another version of tierbench makes otherwise", () => {
  const page = renderReport(fixtureResult());
  const early = page.replace(/<script type="application\/json" id="capsule"[^>]*>[^<]*<\/script>/, "")
    .replace(/<meta name="tierbench-capsule"[^>]*>/, "").replace(/<code id="capsule-root">[0-9a-f]+<\/code>/, "");
  const { same, differing } = reanalyse(early, "early.html");
  assertEquals(same, false);
  assert(differing.includes("the script"));
});
