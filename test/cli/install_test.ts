// What `tierbench install` puts under a folder: a launcher, completions of three shells, the manual.

import "../native_library.ts";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { SHELLS } from "../../cli/completions.ts";
import { shippedScenarios } from "../../mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { inFolder, runCommand } from "./command.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

async function said(...args: string[]): Promise<string> {
  const { code, out, err } = await runCommand(args, 100);
  assertEquals([code, err], [0, ""]);
  return out;
}

/** Whether a program is here; its absence is told. */
async function has(program: string): Promise<boolean> {
  const found =
    (await new Deno.Command("sh", { args: ["-c", `command -v ${program}`], stdin: "null" }).output()).success;
  if (!found) console.log(`skipped: ${program} is not installed`);
  return found;
}

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function ran(command: string, args: readonly string[], options: Deno.CommandOptions = {}): Promise<Ran> {
  const { code, stdout, stderr } = await new Deno.Command(command, { args: [...args], stdin: "null", ...options })
    .output();
  return { code, out: new TextDecoder().decode(stdout), err: new TextDecoder().decode(stderr) };
}

/** Every verb with the options of its help. */
async function verbs(): Promise<Map<string, string[]>> {
  const listed = (await said("--help")).match(/(?<=^Commands:\n)(?: {2}.*\n)+/m)?.[0] ?? "";
  const names = [...listed.matchAll(/^ {2}([a-z]\S*)/gm)].map(([, name]) => name as string).filter((name) =>
    name !== "help"
  );
  const options = async (name: string) =>
    [...(await said(name, "--help")).matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, long]) => long as string);
  return new Map(await Promise.all(names.map(async (name) => [name, await options(name)] as const)));
}

Deno.test.each(SHELLS.map((shell) => ({ shell })))(
  "completions of $shell know every verb, option and shipped scenario",
  async ({ shell }) => {
    const text = await said("completions", shell);
    for (const [verb, options] of await verbs()) {
      assertMatch(text, new RegExp(`\\b${verb}\\b`));
      for (const option of options) {
        if (option !== "--help") {
          assertStringIncludes(text, shell === "fish" ? `-l ${option.slice(2)} ` : option);
        }
      }
    }
    for (const { name } of await shippedScenarios()) assertStringIncludes(text, name);
  },
);

Deno.test("bash proposes verbs, options of the verb, words of an option, scenarios, and files", async () => {
  const proposed = async (...words: string[]): Promise<string[]> => {
    const script =
      `source /dev/stdin; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tierbench; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const child = new Deno.Command("bash", {
      args: ["-c", script, "bash", ...words],
      cwd: ROOT,
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(await said("completions", "bash")));
    await writer.close();
    return new TextDecoder().decode((await child.output()).stdout).trim().split("\n");
  };
  assertEquals(await proposed("tierbench", "rer"), ["rerun"]);
  assertEquals(await proposed("tierbench", "run", "--qu"), ["--quick"]);
  assertEquals(await proposed("tierbench", "run", "--data", "READ"), ["README.md"]);
  assertEquals(await proposed("tierbench", "run", "pmem-m"), ["pmem-modes"]);
  assertEquals(await proposed("tierbench", "checkpoint", "ins"), ["inspect"]);
  assertEquals(await proposed("tierbench", "list", "--qu"), [""]);
});

Deno.test("fish and zsh take their completions", async () => {
  await inFolder(async (folder) => {
    for (const shell of ["fish", "zsh"] as const) {
      if (!await has(shell)) continue;
      const file = `${folder}/${shell}`;
      await Deno.writeTextFile(file, await said("completions", shell));
      const args = shell === "fish"
        ? ["-c", `source ${file}; complete -C "tierbench run --qu"`]
        : ["-fc", `autoload -U compinit; compinit -D -u; source ${file}; print \${_comps[tierbench]}`];
      const { code, out, err } = await ran(shell, args, { env: { HOME: folder } });
      assertEquals([code, err], [0, ""]);
      assertMatch(out, shell === "fish" ? /^--quick\ta small version/ : /^_tierbench\n$/);
    }
  });
});

Deno.test("the manual has every verb and option, and groff finds nothing wrong in it", async () => {
  const text = await said("manual");
  assert([...text].every((letter) => letter.charCodeAt(0) < 127), "roff takes ASCII");
  for (const [verb, options] of await verbs()) {
    assertMatch(text, new RegExp(`^\\.SS ${verb.replaceAll("-", "\\\\-")}\\b`, "m"));
    for (const option of options) if (option !== "--help") assertStringIncludes(text, option.replaceAll("-", "\\-"));
  }
  if (!await has("groff")) return;
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/tierbench.1`, text);
    const { code, out, err } = await ran("groff", ["-man", "-ww", "-Tutf8", `${folder}/tierbench.1`]);
    assertEquals([code, err], [0, ""]);
    assertStringIncludes(out.replaceAll(new RegExp(`.${String.fromCharCode(8)}`, "g"), ""), "run [options] [scenario]");
  });
});

Deno.test("install puts a launcher that works from any folder, leaves others' files alone, and takes its own away", async () => {
  await inFolder(async (folder) => {
    const prefix = `${folder}/it's here`;
    const { code, out, err } = await runCommand(["install", "--prefix", prefix], 100);
    assertEquals([code, out.trim().split("\n").length], [0, 5]);
    assertMatch(err, /^note +.*bin is not in PATH/);
    const launcher = `${prefix}/bin/tierbench`;
    // A relative path is of the folder that one is in.
    await Deno.writeTextFile(`${folder}/mine.jsonc`, '{ "name": "mine" }');
    const valid = await ran(launcher, ["validate", "mine.jsonc"], { cwd: folder });
    assertEquals(valid.code, 2, valid.err);
    assertMatch(valid.out + valid.err, /^mine\.jsonc/m);
    const listed = await ran(launcher, ["list"], { cwd: folder });
    assertEquals([listed.code, listed.err], [0, ""]);
    assertStringIncludes(listed.out, "pmem-modes");
    const again = await runCommand(["install", "--prefix", prefix], 100);
    assertEquals([again.code, again.out], [0, out]);
    const removed = await runCommand(["install", "--prefix", prefix, "--remove"], 100);
    assertEquals([removed.code, removed.out], [0, out.replaceAll("written ", "removed ")]);
    assertEquals((await runCommand(["install", "--prefix", prefix, "--remove"], 100)).out, "");
    await Deno.writeTextFile(launcher, "#!/bin/sh\necho another's\n");
    for (const words of [[], ["--remove"]]) {
      const refused = await runCommand(["install", "--prefix", prefix, ...words], 100);
      assertEquals(refused.code, 2);
      assertMatch(refused.err, /bin\/tierbench: it is not tierbench's; move it, or choose another --prefix/);
    }
    assertEquals(await Deno.readTextFile(launcher), "#!/bin/sh\necho another's\n");
    assert(
      !(await Deno.readDir(`${prefix}/share/man/man1`)[Symbol.asyncIterator]().next()).value,
      "nothing was written beside it",
    );
  });
});

Deno.test("a checkout that cannot be written to plans, sizes and simulates into folders that can", async () => {
  if (Deno.uid() !== 0) return console.log("skipped: a read-only mount needs root");
  await inFolder(async (folder) => {
    const main = `${resolve(ROOT)}/setup/main.ts`;
    const script = [
      `mount --bind ${ROOT} ${ROOT} && mount -o remount,bind,ro ${ROOT} || exit 77`,
      `! touch ${ROOT}/written 2>/dev/null || exit 1`,
      `cd ${folder}`,
      ...["size", "plan"].map((verb) =>
        `${Deno.execPath()} run -A ${main} tierbench ${verb} ${ROOT}/scenarios/plans/retail.jsonc || exit 2`
      ),
      `${Deno.execPath()} run -A ${main} tierbench run paper-hierarchicalkv --out here || exit 3`,
      `${Deno.execPath()} run -A ${main} tierbench verify here/index.html`,
    ].join("\n");
    const { code, out, err } = await ran("unshare", ["-m", "sh", "-c", script]);
    if (code === 77 || /unshare failed/.test(err)) return console.log("skipped: mounts are not allowed here");
    assertEquals(code, 0, err);
    assertMatch(out, /here\/index\.html: whole/);
  });
});
