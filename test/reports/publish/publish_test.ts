import { bundled } from "../bundled.ts";
import { checkPage } from "../../../reports/capsule/seal.ts";
import { renderReport } from "../../../reports/html/render.ts";
import { badgeSvg, badgeText } from "../../../reports/publish/badge.ts";
import { publishReports } from "../../../reports/publish/publish.ts";
import { summarise } from "../../../reports/summary/summary.ts";
import { fixtureResult } from "../../fixtures/result_fixture.ts";
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "../../assert.ts";
import { runOn, writeReports } from "./reports.ts";

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Rows of the list: what is in their cells, as text. */
function rowsOf(page: string): string[][] {
  const list = page.slice(page.indexOf('class="sortable"'));
  const body = list.slice(list.indexOf("<tbody>"), list.indexOf("</tbody>"));
  return [...body.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([, row = ""]) =>
    [...row.matchAll(/<t[hd][^>]*>([\s\S]*?)<\/t[hd]>/g)].map(([, cell = ""]) =>
      cell.replace(/<[^>]+>/g, "").replace(/\s+/g, " ").trim()
    )
  );
}

Deno.test("publishReports() lists every report with date, machine, kind, verdict and root hash, and copies it whole", async () => {
  await inFolder(async (folder) => {
    await writeReports(`${folder}/in`);
    const { found, index } = await publishReports(`${folder}/in`, { out: `${folder}/site`, title: "Runs <&>" });
    const page = await Deno.readTextFile(index);
    assertEquals(found.unreadable, []);
    const rows = rowsOf(page);
    assertEquals(rows.map(([name, , run, machine, kinds]) => [name, run, machine, kinds]), [
      ["pmem-modes", "2026-11-19 12:00", "Other &lt;CPU&gt;, 2 CPUs", "measured emulated"],
      ["pmem-modes", "2026-11-14 12:00", "Test CPU 9000, 2 CPUs", "measured emulated"],
      ["pmem-modes", "2026-11-12 12:00", "Test CPU 9000, 2 CPUs", "measured emulated"],
      ["pmem-modes", "2026-11-10 12:00", "Test CPU 9000, 2 CPUs", "measured emulated"],
    ]);
    assertEquals(rows[3]?.[1], `${summarise(runOn("2026-11-10")).verdict.headline}.`);
    const links = [...page.matchAll(/<a href="(reports\/[^"]+)"/g)].map(([, href = ""]) => decodeURIComponent(href));
    assertEquals(links.length, 4);
    for (const [i, link] of links.entries()) {
      const bytes = await Deno.readFile(`${folder}/site/${link}`);
      assertEquals(bytes, found.reports[i]?.bytes);
      const { root, damage } = checkPage(bytes);
      assertEquals([damage, root?.slice(0, 12)], [[], rows[i]?.[5]]);
    }
    assertStringIncludes(page, "<h1>Runs &lt;&amp;&gt;</h1>");
    assert(!page.includes("notes.html"));
    // Publishing again over it, from a folder that now holds the site, finds no report twice.
    const again = await publishReports(folder, { out: `${folder}/site` });
    assertEquals(again.found.reports.length, 4);
  });
});

Deno.test("publishReports() makes a history of runs of one scenario on one machine, marked as compare says", async () => {
  await inFolder(async (folder) => {
    await writeReports(`${folder}/in`);
    const { histories, summary } = await publishReports(`${folder}/in`, { out: `${folder}/site` });
    assertEquals(histories.map(({ reports }) => reports.length), [1, 3]);
    const lines = histories[1]?.lines ?? [];
    assertEquals(
      lines.map((line) => [line.case, ...line.points.map(({ change }) => change ?? "first")]),
      [
        ["dram", "first", "no difference", "no difference"],
        ["memory-mode", "first", "no difference", "no difference"],
        ["fsdax", "first", "no difference", "slower"],
        ["kmem-dax", "first", "no difference", "no difference"],
      ],
    );
    const page = await Deno.readTextFile(`${folder}/site/index.html`);
    assertEquals(page.match(/▼ slower: × 0\.83/g)?.length, 1);
    assertEquals(page.match(/<canvas/g)?.length, 1);
    const trends = JSON.parse(/id="trends">([^<]*)</.exec(page)?.[1] ?? "") as { runs: string[]; lines: unknown[] }[];
    assertEquals(trends[0]?.runs, ["2026-11-10 12:00", "2026-11-12 12:00", "2026-11-14 12:00"]);
    const text = await Deno.readTextFile(summary);
    assertStringIncludes(text, "## pmem-modes on Test CPU 9000");
    assertStringIncludes(text, "### Compared with the run before\n\n**fsdax is 16.7 % slower");
    assertStringIncludes(text, "It is the first run: nothing to compare with.");
    const result = runOn("2026-11-14", 1.2);
    const against = await publishReports(`${folder}/in`, { out: `${folder}/site`, baseline: { name: "base", result } });
    assertStringIncludes(
      await Deno.readTextFile(against.summary),
      "### Compared with the baseline\n\n**No difference beyond the noise in 4 cases",
    );
  });
});

Deno.test("a history of ten runs and more has its change points, with the runs around them; a shorter one says what it lacks", async () => {
  await inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/in`);
    const day = (i: number): string => `2026-11-${String(i + 1).padStart(2, "0")}`;
    for (let i = 0; i < 12; i++) {
      // fsdax is a sixth slower from the eighth run on; everything becomes slower by a ten-thousandth a day, which is no change.
      const result = runOn(day(i), (i < 7 ? 1 : 1.2) * (1 + (i * 7 % 5 - 2) / 400));
      const run = { ...result.run, versions: { ...result.run.versions, commit: `c0ffee0${i}` } };
      await Deno.writeTextFile(`${folder}/in/${i}.html`, renderReport({ ...result, run }));
    }
    const { histories, index } = await publishReports(`${folder}/in`, { out: `${folder}/site` });
    const changes = histories[0]?.lines.flatMap((line) =>
      (line.changes ?? []).map((one) => ({ case: line.case, ...one }))
    );
    const [only] = changes ?? [];
    assertEquals([changes?.length, only?.case, only?.run, only?.before], [1, "fsdax", 7, 6]);
    assert(Math.abs((only?.ratio ?? 0) - 1 / 1.2) < 0.01 && (only?.p ?? 1) <= 0.01, JSON.stringify(only));
    const page = await Deno.readTextFile(index);
    assertStringIncludes(page, "Change points (E-divisive, p at most 0.01, at least 1 %), the newest first");
    assertMatch(page, /2026-11-08 12:00, commit c0ffee07.*2026-11-07 12:00, commit c0ffee06/s);
    const [trend] = JSON.parse(/id="trends">([^<]*)</.exec(page)?.[1] ?? "") as {
      lines: { name: string; shifts: number[] }[];
    }[];
    assertEquals(trend?.lines.map(({ name, shifts }) => [name, ...shifts]).filter(([, at]) => at !== undefined), [
      ["fsdax", 7],
    ]);
    for (let i = 0; i < 3; i++) await Deno.remove(`${folder}/in/${i}.html`);
    const shorter = await publishReports(`${folder}/in`, { out: `${folder}/shorter` });
    assertEquals(shorter.histories[0]?.lines.map((line) => line.changes), Array(4).fill(undefined));
    assertStringIncludes(await Deno.readTextFile(shorter.index), "Change points are looked for from 10 runs on.");
  });
});

Deno.test("publishReports() leaves damaged reports out and says which part is damaged, and takes an empty folder", async () => {
  await inFolder(async (folder) => {
    await assertRejects(
      () => publishReports(`${folder}/none`, { out: `${folder}/site` }),
      Deno.errors.NotFound,
      "no such",
    );
    await Deno.mkdir(`${folder}/in`);
    const empty = await publishReports(`${folder}/in`, { out: `${folder}/site` });
    assertEquals([empty.found.reports, empty.badge], [[], undefined]);
    assertStringIncludes(await Deno.readTextFile(empty.index), "0 reports");
    const page = renderReport(fixtureResult());
    await Deno.writeTextFile(`${folder}/in/good.html`, page);
    await Deno.writeTextFile(`${folder}/in/bad.html`, page.replace('"threads":2', '"threads":3'));
    const { found, index } = await publishReports(`${folder}/in`, { out: `${folder}/site` });
    assertEquals(found.reports.map(({ path }) => path), ["good.html"]);
    assertEquals(found.unreadable.map(({ path }) => path), ["bad.html"]);
    assertStringIncludes(
      await Deno.readTextFile(index),
      "the sample &quot;dram#1&quot; is damaged: its SHA-256 differs",
    );
    await assertRejects(() => Deno.stat(`${folder}/site/reports/bad.html`), Deno.errors.NotFound);
  });
});

Deno.test("badgeText() says the best saving with its kind, or the fastest, or how many ran", () => {
  assertMatch(badgeText(summarise(fixtureResult())), /^fsdax −\d+ % cost, emulated$/);
  assertMatch(badgeText(summarise(fixtureResult({ prices: "2020" }))), /^fsdax 0\.\d+ × DRAM, emulated$/);
  assertEquals(badgeText(summarise(fixtureResult({ configurations: ["dram"] }))), "1 case");
  assertEquals(badgeText(summarise(fixtureResult({ samples: 1 }))), "4 cases"); // no interval, so nothing is sure
  assertEquals(badgeText(summarise(fixtureResult({ samples: 0 }))), "no sample completed");
});

Deno.test("badgeSvg() is a picture with a name, whatever the text", () => {
  const svg = badgeSvg('a "b" <c> & d');
  assertStringIncludes(svg, 'role="img" aria-label="tierbench: a &quot;b&quot; &lt;c&gt; &amp; d"');
  assertStringIncludes(svg, "<title>tierbench: a &quot;b&quot; &lt;c&gt; &amp; d</title>");
  assert(!/<(c|script|image)\b|href/.test(svg));
});

const folder = new URL("../../../reports/publish/", import.meta.url);
const { bundle, skipped } = await bundled(folder);

Deno.test(
  `the script of the index page is the bundle of its client/${skipped}`,
  { ignore: bundle === undefined },
  async () => {
    const kept = await Deno.readTextFile(new URL("client.js", folder));
    assert(kept === bundle, "client.js is old: run deno task client");
  },
);
