/** The programs of docs/examples, run as a reader would, from another folder. */

import { fileURLToPath } from "node:url";
import { assertEquals } from "../assert.ts";

const EXPECTED: Readonly<Record<string, string>> = {
  "multi_tier_variable.ts": "weights 0.901227, accumulators 4.1\nall equal: true\nrows by tier: 4 + 2\n",
  "multi_tier_columns.ts": "loss 36\nweights 0.901227\naccumulators 4.1\nrows by tier: 4 + 2\n",
};

const FOLDER = new URL("../../docs/examples/", import.meta.url);

Deno.test("every program of docs/examples is tested", async () => {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(FOLDER)) names.push(name);
  assertEquals(names.sort(), Object.keys(EXPECTED).sort());
});

for (const [name, expected] of Object.entries(EXPECTED)) {
  Deno.test(`docs/examples/${name} prints what DeepRec computes`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      const program = fileURLToPath(new URL(name, FOLDER));
      const command = new Deno.Command(Deno.execPath(), { args: ["run", "-A", program], cwd: folder });
      const { code, stdout, stderr } = await command.output();
      assertEquals([new TextDecoder().decode(stderr), new TextDecoder().decode(stdout), code], ["", expected, 0]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
