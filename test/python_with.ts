/**
 * Other people's Python packages, for tests that ask them; `TIERBENCH_PYTHON` names the Python that has them.
 *
 * @module
 */

import { assert } from "./assert.ts";

/** A Python that can import these modules; undefined, which is told, where there is none. */
export async function pythonWith(...modules: readonly string[]): Promise<string | undefined> {
  const python = Deno.env.get("TIERBENCH_PYTHON") ?? "python3";
  const args = ["-c", modules.map((name) => `import ${name}`).join("\n")];
  const found = await new Deno.Command(python, { args, stdin: "null", stdout: "null", stderr: "null" }).output().catch(
    () => undefined,
  );
  if (found?.success === true) return python;
  console.log(`skipped: ${python} has no ${modules.map((name) => name.split(".")[0]).join(" or no ")}`);
}

/** What a script prints last, as JSON; its other lines are the packages' own. */
export async function pythonSays(
  python: string,
  script: string,
  args: readonly string[],
  folder: string,
): Promise<unknown> {
  const command = new Deno.Command(python, { args: ["-c", script, ...args], cwd: folder, stdin: "null" });
  const { success, stdout, stderr } = await command.output();
  assert(success, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout).trim().split("\n").at(-1) ?? "");
}
