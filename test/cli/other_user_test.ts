// The command for somebody who may read this checkout and no more, from a folder of their own.

import "../native_library.ts";
import { fileURLToPath } from "node:url";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { fixtureResult, toJsonLines } from "../fixtures/result_fixture.ts";
import { inFolder } from "./command.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const NOBODY = 65534;

/** Linked where that can be: it is some hundred megabytes. */
const COPY = 'cp -rl "$1" "$2" 2> /dev/null || { rm -rf "$2"; cp -r "$1" "$2"; }';

async function ran(command: string, args: readonly string[], cwd?: string) {
  const { code, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    stdin: "null",
    ...(cwd === undefined ? {} : { cwd }),
  }).output();
  return { code, out: new TextDecoder().decode(stdout), err: new TextDecoder().decode(stderr) };
}

/** Why another user cannot be tried here; undefined: one can. */
async function hindrance(): Promise<string | undefined> {
  if (Deno.uid() !== 0) return "only root can become another user";
  if ((await ran("sh", ["-c", "command -v setpriv"])).code !== 0) return "setpriv is not installed";
  const reads = await ran("setpriv", [`--reuid=${NOBODY}`, "--clear-groups", "test", "-r", `${ROOT}cli.ts`]);
  return reads.code === 0 ? undefined : "this checkout lies where other users may not read";
}

Deno.test("report, curve and plan work for a user who is not root, from another folder, on a checkout that they cannot write to", async () => {
  const why = await hindrance();
  if (why !== undefined) return console.log(`skipped: another user: ${why}`);
  await inFolder(async (folder) => {
    await Deno.chmod(folder, 0o755);
    // Deno and its cache as they are, at a place that everybody may read.
    const cache = JSON.parse((await ran(Deno.execPath(), ["info", "--json"])).out).denoDir as string;
    for (const [from, to] of [[Deno.execPath(), "deno"], [cache, "cache"]] as const) {
      const { code, err } = await ran("sh", ["-c", COPY, "sh", await Deno.realPath(from), `${folder}/${to}`]);
      assertEquals(code, 0, err);
    }
    const own = `${folder}/own folder`;
    await Deno.mkdir(own);
    await Deno.writeTextFile(`${own}/result.jsonl`, toJsonLines(fixtureResult({ samples: 2, steps: 5 })));
    await Deno.writeTextFile(`${own}/keys.txt`, Array.from({ length: 2000 }, (_, i) => `${i * i % 97}\n`).join(""));
    await Deno.copyFile(`${ROOT}scenarios/plans/retail.jsonc`, `${own}/plan.jsonc`);
    await ran("chown", ["-R", `${NOBODY}:${NOBODY}`, own]);
    const command = (...args: string[]) =>
      ran("setpriv", [
        `--reuid=${NOBODY}`,
        `--regid=${NOBODY}`,
        "--clear-groups",
        "env",
        "-i",
        "PATH=/usr/bin:/bin",
        `HOME=${own}`,
        `DENO_DIR=${folder}/cache`,
        `${folder}/deno`,
        "run",
        "-A",
        `${ROOT}cli.ts`,
        ...args,
      ], own);
    const refused = await command("run", "--out", `${ROOT}reports/out`);
    assert(refused.code !== 0 && /denied|Cannot/.test(refused.err), `the checkout can be written to: ${refused.err}`);
    const report = await command("report", "result.jsonl", "--out", "made");
    assertEquals(report.code, 0, report.err);
    const made = [...Deno.readDirSync(`${own}/made`)].map(({ name }) => name);
    assert(made.some((name) => name.endsWith(".html")), made.join());
    assertEquals(Deno.statSync(`${own}/made`).uid, NOBODY);
    const curve = await command("curve", "keys.txt");
    assertEquals(curve.code, 0, curve.err);
    assertStringIncludes(curve.out, "distinct rows");
    const plan = await command("plan", "plan.jsonc");
    assertEquals(plan.code, 0, plan.err);
    assertStringIncludes(plan.out, "ddr4-2666");
  });
});
