/** Every command of the README after every other, in one folder: none may fail on what another left. */

import { fileURLToPath } from "node:url";
import { EmbeddingStore } from "../../mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { RUNTIME_WORDS } from "../mutations.ts";
import "../native_library.ts";
import { inFolder, runCommand, type Said } from "./command.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The words of the README's commands, in its order. */
const COMMANDS = [...Deno.readTextFileSync(`${root}README.md`).matchAll(/^deno task tierbench ([^#\n]+)/gm)]
  .map(([, words = ""]) => words.trim());

const SCENARIO = {
  name: "mine",
  workload: {
    data: { synthetic: "criteo-kaggle", scale: 0.01, rows: 4096, testRows: 1024 },
    batch: 256,
    steps: 4,
    warmup: 0,
    hidden: [8],
    threads: 1,
  },
  configurations: { dram: { storage: "DRAM" } },
  quality: { samples: 0 },
};

const SIMULATION = {
  kind: "simulation",
  name: "tera",
  steps: 2,
  warmup: 0,
  workload: { batch: 100, tables: [{ name: "ids", rows: 1e6, dim: 16, lookups: 4, law: { s: 1.05 } }] },
  compute: { dense: "1 ms", source: "a test" },
  configurations: { dram: { mode: "dram", tiers: [{ media: "ddr4-2666-6ch" }] } },
};

/** Long runs in a quick form; undefined: needs root and the hardware, or ends the machine's peace. */
function quick(words: string): string | undefined {
  if (/--apply|--check/.test(words)) return undefined;
  const short: Readonly<Record<string, string>> = {
    "run --data train.tsv": "run mine.jsonc --data train.tsv",
    "calibrate": "calibrate --quick --force",
    "run --quick": "run mine.jsonc --quick",
    "run --watch": "run mine.jsonc --watch",
    "run --save-baseline main": "run mine.jsonc --save-baseline main",
    "run pmem-modes": "run mine.jsonc",
    "run terabyte": "run tera.jsonc",
    "run checkpointing": "run mine.jsonc --set checkpoint.interval=2 --out reports/out/checkpointing",
    "run paper-openembedding": "run tera.jsonc --out reports/out/paper",
  };
  return short[words] ?? words;
}

/** Rows in Criteo's form: label, 13 numbers, 26 ids. */
function criteo(rows: number): string {
  return Array.from({ length: rows }, (_, i) => {
    const numbers = Array.from({ length: 13 }, (_, c) => (i * 7 + c) % 50);
    const ids = Array.from({ length: 26 }, (_, c) => ((i * 2654435761 + c) >>> 0).toString(16).padStart(8, "0"));
    return [i % 3 === 0 ? 1 : 0, ...numbers, ...ids].join("\t");
  }).join("\n") + "\n";
}

async function run(words: string): Promise<Said> {
  const said = await runCommand(words.split(/\s+/), 120);
  // A machine without the medium is refused by provision; a rerun may meet noise.
  const fine = words.startsWith("provision") ? [0, 3] : words.startsWith("rerun") ? [0, 5] : [0];
  assert(fine.includes(said.code), `${said.code}: tierbench ${words}\n${said.out}${said.err}`);
  assert(!RUNTIME_WORDS.test(said.err), said.err);
  return said;
}

Deno.test("every command of the README works after every other, forwards and backwards, in one folder", async () => {
  const before = Deno.cwd();
  await inFolder(async (folder) => {
    Deno.chdir(folder);
    try {
      await Deno.symlink(`${root}scenarios`, "scenarios");
      await Deno.writeTextFile("train.tsv", criteo(4096));
      await Deno.writeTextFile("trace.csv", Array.from({ length: 300 }, (_, i) => `${(i * i) % 97}\n`).join(""));
      await Deno.writeTextFile("tera.jsonc", JSON.stringify(SIMULATION));
      using store = EmbeddingStore.open({ storage: "DRAM" });
      store.table({ name: "t" }).lookup([1, 2, 3]);
      await store.checkpoint({ path: "checkpoints" }).write();
      const commands = COMMANDS.flatMap((words) => quick(words) ?? [])
        .filter((words, i, all) => words !== all[i - 1]); // two that are one in their quick form
      assert(commands.length > 20, `${commands.length} commands`);
      for (const words of commands) {
        if (words.startsWith("verify")) {
          await Deno.copyFile("reports/out/mine/index.html", "report.html");
          for (const name of ["a.html", "b.html"]) await Deno.copyFile("report.html", name);
        }
        await run(words);
        if (words.startsWith("init")) await Deno.writeTextFile("mine.jsonc", JSON.stringify(SCENARIO));
      }
      for (const words of [...commands].reverse()) {
        if (/ --(quick|data)/.test(words)) continue; // in the same folder as the run without
        // A simulation's page takes the place of the run's, where the commands take both.
        if (words.startsWith("publish")) await Deno.copyFile("reports/out/tera/index.html", "report.html");
        if (words.startsWith("init")) await Deno.remove("mine.jsonc");
        await run(words);
      }
      const { out, err } = await run("publish reports/out");
      assertEquals(err, "");
      assertStringIncludes(out, "3 simulations");
      const index = await Deno.readTextFile("site/index.html");
      for (const href of ["reports/tera/index.html", "reports/mine/index.html"]) {
        assertStringIncludes(index, `href="${href}"`);
      }
      assertStringIncludes(await Deno.readTextFile("site/summary.md"), "## Simulations");
    } finally {
      Deno.chdir(before);
    }
  });
});
