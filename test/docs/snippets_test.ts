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

/** Runs Deno in the project's folder, where the snippets find the shipped scenarios; gives its exit code and errors. */
async function deno(...args: string[]): Promise<readonly [number, string]> {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: root, stdin: "null" }).output();
  return [code, new TextDecoder().decode(stderr)];
}

/** Starts all, as many at a time as there are cores, and gives the outcome of each. */
function startAll<T>(tasks: readonly (() => Promise<T>)[]): Promise<T>[] {
  const lanes = Array.from({ length: Math.min(4, navigator.hardwareConcurrency) }, () => Promise.resolve<unknown>(0));
  return tasks.map((task, i) => {
    const outcome = (lanes[i % lanes.length] ?? Promise.resolve()).then(task);
    lanes[i % lanes.length] = outcome;
    return outcome;
  });
}

Deno.test("the snippets of README, docs and documentation comments type-check, and run", async (t) => {
  const files = ["README.md", "mod.ts", ...FOLDERS.flatMap((folder) => [...filesOf(folder)])];
  const snippets = files.flatMap(snippetsOf);
  assert(snippets.some(({ name }) => name.startsWith("README.md:")) && snippets.some(({ runs }) => !runs));
  const folder = await Deno.makeTempDir();
  const config = fileURLToPath(new URL("deno.json", root));
  try {
    const programs = await Promise.all(snippets.map(async ({ name, code, runs }, i) => {
      const path = `${folder}/snippet_${i}.ts`;
      await Deno.writeTextFile(path, `${code}\nexport {};\n`);
      return { name, runs, path };
    }));
    const steps = [
      { name: "type-check", args: ["check", "--config", config, ...programs.map(({ path }) => path)] },
      ...programs.filter(({ runs }) => runs).map(({ name, path }) => ({
        name,
        args: ["run", "-A", "--no-check", "--config", config, path],
      })),
    ];
    const outcomes = startAll(steps.map(({ args }) => () => deno(...args)));
    for (const [i, { name }] of steps.entries()) {
      const fn = async () => {
        const [code, stderr] = await outcomes[i] ?? [-1, "it was not started"];
        assertEquals(code, 0, stderr);
      };
      await t.step({ name, fn, sanitizeOps: false, sanitizeResources: false }); // others run meanwhile
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
