/** The TypeScript of README, docs and documentation comments: all of it type-checks, and runs unless marked `ignore`. */

import { fileURLToPath } from "node:url";
import { assert, assertEquals } from "../assert.ts";

const root = new URL("../../", import.meta.url);
const FOLDERS = ["base/", "docs/", "ffi/", "machines/", "models/", "reports/", "scenarios/"];

interface Snippet {
  /** `<file>:<line>`. */
  readonly name: string;
  readonly code: string;
  readonly runs: boolean;
}

function* filesOf(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, root))) {
    if (isDirectory && name !== "out") yield* filesOf(`${folder}${name}/`);
    else if (/\.(md|ts)$/.test(name)) yield `${folder}${name}`;
  }
}

/** The fenced blocks of a file; imports, which are seen from the file, get their full address. */
function snippetsOf(file: string): Snippet[] {
  const text = Deno.readTextFileSync(new URL(file, root));
  return [...text.matchAll(/^( \* )?```ts( ignore)?\n([^]*?)^(?: \* )?```$/gm)].map((found) => {
    const [, comment = "", ignore, body = ""] = found;
    const lines = body.split("\n").map((line) => comment === "" ? line : line.slice(comment.length));
    return {
      name: `${file}:${text.slice(0, found.index).split("\n").length}`,
      code: lines.join("\n").replaceAll(/(?<=from ")\.[^"]+/g, (path) => new URL(path, new URL(file, root)).href),
      runs: ignore === undefined,
    };
  });
}

/** Runs Deno in the project's folder, where the snippets find the shipped scenarios. */
async function deno(...args: string[]): Promise<void> {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: root, stdin: "null" }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
}

Deno.test("the snippets of README, docs and documentation comments type-check, and run", async (t) => {
  const files = ["README.md", "mod.ts", ...FOLDERS.flatMap((folder) => [...filesOf(folder)])];
  const snippets = files.flatMap(snippetsOf);
  assert(snippets.some(({ name }) => name.startsWith("README.md:")) && snippets.some(({ runs }) => !runs));
  const folder = await Deno.makeTempDir();
  const config = fileURLToPath(new URL("deno.json", root));
  try {
    const programs = snippets.map((_, i) => `${folder}/snippet_${i}.ts`);
    for (const [i, { code }] of snippets.entries()) {
      await Deno.writeTextFile(programs[i] ?? "", `${code}\nexport {};\n`);
    }
    await t.step("type-check", () => deno("check", "--config", config, ...programs));
    for (const [i, { name, runs }] of snippets.entries()) {
      if (runs) await t.step(name, () => deno("run", "-A", "--no-check", "--config", config, programs[i] ?? ""));
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
