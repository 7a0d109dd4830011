/** Text of files cannot move a terminal's cursor, change its colours or turn the direction of writing. */

import fc from "fast-check";
import { safeTerminal, styleFor, terminalText } from "../../cli/ui/ansi.ts";
import { renderReport } from "../../mod.ts";
import { seal } from "../../reports/capsule/seal.ts";
import { shownLine, shownText } from "../../base/shown.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { fixtureResult, toJsonLines } from "../fixtures/result_fixture.ts";
import "../native_library.ts";
import { inFolder, runCommand } from "./command.ts";

/** Every character that must not reach a terminal. */
// deno-lint-ignore no-control-regex
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;
const CHARACTERS = [
  "\u0000",
  "\u0007",
  "\b",
  "\r",
  "\u001b[2J",
  "\u001b[31m",
  "\u001b]0;title\u0007",
  "\u007f",
  "\u0085",
  "\u009b31m",
  "\u200b",
  "\u200e",
  "\u2028",
  "\u202e",
  "\u2066",
  "\ufeff",
  "\u{e0041}",
];
const hostile = fc.array(fc.oneof(fc.constantFrom(...CHARACTERS), fc.string({ unit: "binary" })), { minLength: 1 })
  .map((parts) => parts.join(""));

Deno.test("shownText() and shownLine() leave nothing that a terminal obeys, and keep the value of JSON", () => {
  fc.assert(fc.property(hostile, (text) => {
    assert(!HIDDEN.test(shownText(text)));
    assert(!/[\n\t]/.test(shownLine(text)) && !HIDDEN.test(shownLine(text)));
    const json = JSON.stringify({ text: text.toWellFormed() });
    assertEquals(JSON.parse(shownText(json)), JSON.parse(json));
  }));
  assertEquals(shownText("one\ttwo\nµ − × 三 %"), "one\ttwo\nµ − × 三 %");
});

Deno.test("terminalText() lets colours of the command through and nothing of a file", () => {
  const { red } = styleFor(true);
  fc.assert(fc.property(hostile, (text) => {
    const shown = terminalText(red(text));
    assert(shown.startsWith("\u001b[31m") && shown.endsWith("\u001b[39m"));
    assert(!HIDDEN.test(shown.slice(5, -5)));
  }));
  let said = "";
  const plain = {
    out: (text: string) => void (said += text),
    err: () => {},
    isTerminal: true,
    colors: true,
    width: 80,
  };
  safeTerminal(plain).out("\u001b[31;1mno\u001b[0m\n");
  assertEquals(said, "\\u001b[31;1mno\\u001b[0m\n");
});

const EVIL = `evil\u001b[2J\u009b31m\u202e\u200b\r\u0007\nfalse.html: whole, 9 parts, root 0`;

/** A value with hostile text in every field that may hold any text. */
function poisoned(value: unknown, key: string): unknown {
  const kept = [
    "type",
    "status",
    "evidence",
    "started",
    "kind",
    "basis",
    "prices",
    "model",
    "boundary",
    "priceFor",
    "id",
  ];
  if (typeof value === "string") return kept.includes(key) ? value : `${value}${EVIL}`;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => poisoned(item, key));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, poisoned(item, name)]));
}

Deno.test("no command prints a control character, a mark of direction or a false line of any file", async () => {
  await inFolder(async (folder) => {
    const result = fixtureResult({ samples: 2, steps: 3, failed: true, work: true, curve: true, models: true });
    const bad = toJsonLines(result).trimEnd().split("\n").map((line) =>
      JSON.stringify(poisoned(JSON.parse(line), "")).replaceAll(
        `"type":"DRAM${JSON.stringify(EVIL).slice(1, -1)}"`,
        `"type":"DRAM"`,
      )
    ).join("\n") + "\n";
    const head = "item,medium,capacity_gb,value,low,high,unit,currency,from,to,region,source,mark,note\n";
    const oneLine = EVIL.replaceAll("\n", "").replaceAll("\r", "");
    const page = renderReport(result).replaceAll("fsdax#1", `fsdax#1${JSON.stringify(EVIL).slice(1, -1)}`);
    const sealedPage = seal(
      page.replace(/<script type="application\/json" id="capsule"[^>]*>[^<]*<\/script>/, "")
        .replace(/id="capsule-root">[0-9a-f]{64}/, `id="capsule-root">${"0".repeat(64)}`),
    );
    const broken = sealedPage.replace(/("id":"fsdax#1evil.*?"stepNs":\[)/, "$17,");
    const files: Readonly<Record<string, string>> = {
      "result.jsonl": bad,
      "page.html": sealedPage,
      "broken.html": broken,
      "scenario.jsonc": JSON.stringify({ name: EVIL, [EVIL]: 1, configurations: { [EVIL]: { storage: EVIL } } }),
      "syntax.jsonc": `{"name": ${EVIL}`,
      "plan.jsonc": JSON.stringify({ kind: "plan", name: EVIL, tables: { [EVIL]: { [EVIL]: 1 } }, target: {} }),
      "simulation.jsonc": JSON.stringify({ kind: "simulation", name: EVIL, [EVIL]: EVIL }),
      "prices.csv": `${head}${oneLine},,,0.21,,,kWh,USD,2026-01,2026-12,${oneLine},${oneLine},V,${oneLine}\n`,
      "wrong.csv": `${head}${oneLine},${oneLine},,x,,,${oneLine},USD,2026-01,2026-12,,${oneLine},V,\n`,
      "profile.json": JSON.stringify({ tierbenchProfile: 1, name: EVIL, [EVIL]: 1 }),
      "trace.csv": `1\n${oneLine}\n`,
    };
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${name}`, text);
    }
    const at = (name: string) =>
      `${folder}/${name}`;
    const commands = [
      ["report", at("result.jsonl"), "--out", at("report")],
      ["verify", at("page.html"), at("broken.html"), at("report/index.html")],
      ["compare", at("result.jsonl"), at("page.html"), "--force"],
      ["compare", at("result.jsonl"), at("result.jsonl")],
      ["reanalyse", at("report/index.html"), "--out", at("again.html")],
      ["reanalyse", at("broken.html"), "--out", at("again.html")],
      ["rerun", at("result.jsonl")],
      ["publish", folder, "--out", at("site")],
      ["validate", at("scenario.jsonc"), at("syntax.jsonc"), at("simulation.jsonc")],
      ["run", at("scenario.jsonc")],
      ["plan", at("plan.jsonc")],
      ["size", at("plan.jsonc")],
      ["prices", "--prices", at("prices.csv")],
      ["prices", "--prices", at("wrong.csv"), "--lint"],
      ["profile", at("trace.csv")],
      ["curve", at("profile.json")],
      ["claim", at("result.jsonl")],
      [EVIL],
      ["run", `--${EVIL}`],
      ["verify", at("page.html"), "--root", EVIL],
    ];
    for (const words of commands) {
      for (const more of [[], ["--json"]]) {
        const { out, err } = await runCommand([...words, ...more], 120);
        const what = `${words.join(" ").slice(0, 60)}: ${JSON.stringify(out + err).slice(0, 400)}`;
        assert(!HIDDEN.test(out + err), what);
        // Words of the command are its caller's own.
        assert(words.includes(EVIL) || words[1] === `--${EVIL}` || !/^\s*false\.html: whole/m.test(out + err), what);
        assert(out + err !== "", what);
      }
    }
    const { err } = await runCommand(["verify", at("broken.html")], 120);
    assertStringIncludes(err, 'the sample "fsdax#1evil\\u001b[2J');
  });
});
