// Node, npm and npx are told in one line that Deno runs this.

import { fileURLToPath } from "node:url";
import { assert, assertEquals, assertMatch } from "../assert.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const TOLD =
  /^tierbench runs on Deno only, not on Node: in its folder, "(npx -y deno@[\d.]+ task) tierbench --help" starts it\n$/;

async function node(...args: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const env = { npm_config_user_agent: "npm/10.8.2 node/v20.20.2 linux x64" };
  const { code, stdout, stderr } = await new Deno.Command("node", { args, cwd: ROOT, env, stdin: "null" }).output();
  return { code, out: new TextDecoder().decode(stdout), err: new TextDecoder().decode(stderr) };
}

Deno.test("what npm installs and npx starts says in one line that Deno is needed, with a command that README has", async () => {
  const { bin, scripts } = JSON.parse(await Deno.readTextFile(`${ROOT}package.json`));
  assertEquals([scripts.preinstall, bin.tierbench], [`node ${bin.tierbench}`, "cli/node.mjs"]);
  const version = await node("--version").catch(() => undefined);
  if (version === undefined) return console.log("skipped: node is not installed");
  const { code, out, err } = await node(bin.tierbench);
  assertEquals([code, out], [1, ""]);
  assertMatch(err, TOLD);
  assert((await Deno.readTextFile(`${ROOT}README.md`)).includes(TOLD.exec(err)?.[1] ?? "?"));
  // Nodes before 22.18 do not read TypeScript at all.
  const [major = 0, minor = 0] = version.out.slice(1).split(".").map(Number);
  if (major < 22 || (major === 22 && minor < 18)) return;
  assertEquals(await node("cli.ts", "list"), { code: 1, out: "", err });
});

Deno.test("cli.ts imports nothing before it is known that Deno runs it", async () => {
  assert(!/^import\b(?! type)/m.test(await Deno.readTextFile(`${ROOT}cli.ts`)));
});
