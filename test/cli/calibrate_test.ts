// `tierbench calibrate` as people call it: in a terminal, in a pipe, stopped, with words that cannot be meant.

import "../native_library.ts";
import { assert, assertEquals } from "../assert.ts";
import { loadMedia } from "../../models/media/media.ts";
import { inFolder, runCommand } from "./command.ts";

const CLI = decodeURIComponent(new URL("../../cli.ts", import.meta.url).pathname);

/** util-linux's script gives a program a terminal of its own. */
const hasScript = await new Deno.Command("script", { args: ["--version"], stdout: "piped", stderr: "null" }).output()
  .then(({ success, stdout }) => success && new TextDecoder().decode(stdout).includes("util-linux"), () => false);

/** Calls the command in a terminal of so many columns; types Ctrl-C once it shows a text. */
async function inTerminal(columns: number, args: string, stopAt?: string): Promise<{ code: number; shown: string }> {
  const line = `stty cols ${columns} rows 24 && exec '${Deno.execPath()}' run -A --no-check '${CLI}' ${args}`;
  const child = new Deno.Command("script", {
    args: ["-qec", line, "/dev/null"],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const keys = child.stdin.getWriter();
  let shown = "", stopped = false;
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    shown += text;
    if (stopAt === undefined || stopped || !shown.includes(stopAt)) continue;
    stopped = true;
    await keys.write(new Uint8Array([3]));
  }
  await keys.close().catch(() => {}); // the terminal is gone
  return { code: (await child.status).code, shown };
}

/** The states that a line which moves went through. */
function states(shown: string): string[] {
  // deno-lint-ignore no-control-regex
  return shown.split("\r\x1b[2K").map((state) => state.replaceAll(/\x1b\[[0-9;]*m/g, ""));
}

Deno.test({
  name: "in a terminal: one line moves, fills, fits its columns and is gone in the end (needs script of util-linux)",
  ignore: !hasScript,
  fn: () =>
    inFolder(async (folder) => {
      for (const columns of [80, 24]) {
        const out = `${folder}/${columns}`;
        const { code, shown } = await inTerminal(columns, `calibrate --quick --bytes '1 MiB' --node 0 --out '${out}'`);
        assertEquals(code, 0, shown.slice(-2000));
        const moving = states(shown).filter((state) => /^(node0|software) {2}[█░]/.test(state));
        assert(moving.length > 100 && moving.every((state) => !state.includes("\n") && state.length < columns), shown);
        for (const part of ["node0", "software"]) {
          const own = moving.filter((state) => state.startsWith(part));
          const filled = own.map((state) => [...state].filter((one) => one === "█").length);
          assert(filled.length > 0 && filled.every((n, i) => n >= (filled[i - 1] ?? 0)), `${part}: ${filled}`);
          assert(filled[0] === 0 && (filled.at(-1) ?? 0) >= 9, `${part}: ${filled}`);
        }
        assert((states(shown).at(-1) ?? "").startsWith("medium"), "the table begins where the line was");
        assertEquals([...Deno.readDirSync(out)].map(({ name }) => name).sort(), [
          "node0.html",
          "node0.jsonc",
          "software.jsonc",
        ]);
      }
    }),
});

Deno.test({
  name: "Ctrl-C ends it with exit code 130, says what is complete and leaves nothing else (needs script of util-linux)",
  ignore: !hasScript,
  fn: () =>
    inFolder(async (folder) => {
      const args = (out: string) => `calibrate --quick --bytes '1 MiB' --node 0 --out '${out}'`;
      const first = await inTerminal(80, args(`${folder}/a/b`), "node0  ");
      assertEquals(first.code, 130, first.shown.slice(-500));
      assert(first.shown.includes("Interrupted: nothing was written"), first.shown.slice(-500));
      assertEquals([...Deno.readDirSync(folder)], []);
      const second = await inTerminal(80, args(`${folder}/c`), "software  ");
      assertEquals(second.code, 130, second.shown.slice(-500));
      assert(second.shown.includes("complete are"), second.shown.slice(-500));
      assertEquals([...Deno.readDirSync(`${folder}/c`)].map(({ name }) => name), ["node0.jsonc"]);
      assertEquals((await loadMedia(`${folder}/c/node0.jsonc`)).name, "node0");
    }),
});

Deno.test("in a pipe: a line for each part on standard error, the table or JSON alone on standard output", async () => {
  await inFolder(async (folder) => {
    const args = ["calibrate", "--quick", "--bytes", "1 MiB", "--node", "0", "--out", folder, "--json"];
    const { code, out, err } = await runCommand(args, 80);
    assertEquals(code, 0, err);
    assertEquals(err.match(/^calibrate {2}\w+: \d+ (questions|runs)$/gm)?.length, 2, err);
    const { media, software } = JSON.parse(out);
    assertEquals([media[0].path, software.path], [`${folder}/node0.jsonc`, `${folder}/software.jsonc`]);
    const again = await runCommand(args, 80);
    assertEquals([again.code, again.out], [2, ""]);
    assert(again.err.includes("it is there, with an earlier calibration"), again.err);
  });
});

Deno.test("words that cannot be meant: one error each, exit code 2, nothing is measured", async () => {
  await inFolder(async (folder) => {
    const out = `${folder}/out`;
    for (
      const [words, message] of [
        [["--node", "x"], "give the number of a NUMA node"],
        [["--node", "4096"], "nodes with memory: "],
        [["--node", "0", "--node", "0"], "would be node0.jsonc"],
        [["--node-kind", "tape"], "expected one of dram, pmem, cxl, hbm"],
        [["--bytes", "much"], "expected a number and a unit"],
        [["--bytes", "5"], "expected 1 MiB or more"],
        [["--bytes", "1000 TiB"], "give fewer --bytes"],
        [["--drive", `${folder}/none`], "expected a folder"],
        [["--drive", "/dev/null"], "expected a folder"],
        [["--file", `${folder}/none`], "expected a folder"],
        [["--drive", ""], "expected a folder"],
      ] as const
    ) {
      const said = await runCommand(["calibrate", "--quick", "--out", out, ...words], 80);
      assertEquals([said.code, said.out], [2, ""], `${words}: ${said.err}`);
      assert(said.err.includes(message) && said.err.trimEnd().split("\n").length === 1, `${words}: ${said.err}`);
      assertEquals([...Deno.readDirSync(folder)], [], `${words}`);
    }
  });
});
