import { assertEquals } from "./assert.ts";

Deno.test("mod.ts works for a program in another folder, which knows nothing of this one's import map", async () => {
  const folder = await Deno.makeTempDir({ prefix: "tierbench " });
  try {
    const scenario = JSON.stringify(new URL("../scenarios/pmem-modes.jsonc", import.meta.url).pathname);
    await Deno.writeTextFile(
      `${folder}/program.ts`,
      `import { EmbeddingStore, loadScenario, renderReport } from ${
        JSON.stringify(new URL("../mod.ts", import.meta.url))
      };
using store = EmbeddingStore.open({ storage: "DRAM", size: ["1 MiB"] });
const rows = store.table({ name: "t" }).lookup([1n, 2n]);
const { name } = await loadScenario(decodeURIComponent(${scenario}));
console.log(rows.length, name, typeof renderReport);
`,
    );
    const command = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "program.ts"],
      cwd: folder,
      env: { NO_COLOR: "1" },
    });
    const { code, stdout, stderr } = await command.output();
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    assertEquals([out, code], ["32 pmem-modes function\n", 0], err);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
