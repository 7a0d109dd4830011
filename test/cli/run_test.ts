/** The command over the real library and real worker processes, on a workload of seconds. */

import { fileURLToPath } from "node:url";
import { readResult } from "../../scenarios/result.ts";
import type { Scenario } from "../../scenarios/scenario.ts";
import { checkAnswer } from "./answer.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";

const CLI = fileURLToPath(new URL("../../cli.ts", import.meta.url));

const DATA = { synthetic: "criteo-kaggle", scale: 0.01, rows: 4096, testRows: 1024 } as const;

const TINY: Scenario = {
  name: "tiny",
  workload: {
    data: DATA,
    batch: 256,
    steps: 6,
    warmup: 1,
    hidden: [16, 8],
  },
  configurations: {
    "dram": { storage: "DRAM" },
    "memory-mode": { storage: "DRAM", memory: "memory-mode" },
    "fsdax": { storage: "DRAM_PMEM", pmem: "libpmem" },
    "kmem-dax": { storage: "DRAM_PMEM", pmem: "memkind" },
  },
  quality: { samples: 2560, evaluations: 2 },
  seed: 3,
};

async function inFolder(scenario: Scenario, body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/tiny.jsonc`, JSON.stringify(scenario));
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function command(folder: string, ...args: string[]): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", CLI, ...args],
    cwd: folder,
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  });
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

async function leftInMemory(): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of Deno.readDir("/dev/shm")) if (name.startsWith("tierbench-")) names.push(name);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error; // without it, scratch folders are on disk
  }
  return names;
}

Deno.test("tierbench run trains on all four, from any folder, to the same rows, and writes the report", async () => {
  await inFolder(TINY, async (folder) => {
    const { code, stdout, stderr } = await command(folder, "run", "tiny.jsonc").output();
    assertEquals([text(stderr), code], ["", 0], text(stdout));
    assertMatch(text(stdout), /^machine {2}.*\ndata {5}.*\nplan {5}tiny: 5 cases × 3 samples/m);
    assertStringIncludes(text(stdout), "\nreport   reports/out/tiny/index.html\n");
    const result = await readResult(`${folder}/reports/out/tiny/result.jsonl`);
    assertEquals(result.samples.length, 12);
    assertEquals(new Set(result.samples.map(({ digest }) => digest)).size, 1);
    assert(
      result.samples.every(({ stepNs, tableBytes }) =>
        stepNs.length === 6 && tableBytes === result.run.data.tableBytes
      ),
    );
    for (const { configuration, tiers, dramBytes } of result.samples) {
      if (configuration === "fsdax" || configuration === "kmem-dax") {
        assertEquals(tiers.length, 2);
        assertEquals(tiers[0]?.limitBytes, dramBytes);
        assert(dramBytes <= result.run.data.tableBytes / 4);
      }
      assert(tiers.every(({ usedBytes, limitBytes }) => usedBytes <= limitBytes));
    }
    for (const file of ["index.html", "summary.md", "summary.csv"]) {
      await Deno.stat(`${folder}/reports/out/tiny/${file}`);
    }
    const again = await command(folder, "report", "--json").output();
    assertEquals(again.code, 2); // no results of pmem-modes here
    const report = await command(folder, "report", "reports/out/tiny", "--json").output();
    assertEquals(report.code, 0);
    JSON.parse(text(report.stdout));
  });
});

Deno.test("tierbench run --json prints JSON lines alone: what happens, each sample, the summary, the comparison", async () => {
  await inFolder(TINY, async (folder) => {
    const lines = async (...more: string[]) => {
      const { code, stdout, stderr } = await command(folder, "run", "tiny.jsonc", "--json", ...more).output();
      checkAnswer("run", text(stdout));
      const found = text(stdout).trimEnd().split("\n").map((line) => JSON.parse(line));
      return { code, found, types: found.map(({ type }) => type as string), stderr: text(stderr) };
    };
    const { code, found, types, stderr } = await lines("--save-baseline", "first");
    assertEquals(code, 0, stderr);
    assertEquals(types.filter((type) => type === "sample").length, 15);
    for (const type of ["machine", "plan", "data", "sized", "progress", "quality"]) assert(types.includes(type), type);
    assertEquals(types.at(-1), "summary");
    assertEquals(found.at(-1).summary.cases.length, 4);
    const records = (await readResult(`${folder}/reports/out/tiny/result.jsonl`)).samples.map(({ id }) => id);
    const told = found.filter(({ type, record }) => type === "sample" && record.again === undefined);
    assertEquals(told.map(({ record }) => record.id).toSorted(), records.toSorted());
    const gated = await lines("--out", "second", "--baseline", "first", "--watch");
    assertEquals(gated.types.slice(-2), ["summary", "comparison"]);
    assertMatch(gated.stderr, /^watch +http:\/\/127\.0\.0\.1:\d+\/$/m);
    const { verdict } = gated.found.at(-1).comparison.gate;
    const codes: Record<string, number> = { worse: 5, "cannot tell": 6, better: 0, same: 0 };
    assertEquals(gated.code, codes[verdict as string], gated.stderr);
  });
});

Deno.test("tierbench run trains over disks to the same rows, and leaves no files", async () => {
  const three = { storage: "DRAM_PMEM_SSDHASH", pmem: "libpmem" } as const;
  await inFolder(TINY, async (folder) => {
    const ssdPath = `${folder}/ssd`;
    await Deno.mkdir(ssdPath);
    const disks: Scenario = {
      ...TINY,
      // Wide rows: LevelDB takes half a megabyte of DRAM for each of the 26 tables, whatever their size.
      workload: { ...TINY.workload, data: { ...DATA, scale: 0.006 }, dim: 64 },
      configurations: {
        "dram": { storage: "DRAM" },
        "ssdhash": { storage: "DRAM_SSDHASH", ssdPath, policy: "s3fifo" },
        "leveldb": { storage: "DRAM_LEVELDB", ssdPath, evictionThreads: 0 },
        "three": { ...three, ssdPath },
      },
      quality: { samples: 0 },
    };
    await Deno.writeTextFile(`${folder}/tiny.jsonc`, JSON.stringify(disks));
    const { code, stdout, stderr } = await command(folder, "run", "tiny.jsonc").output();
    const said = text(stdout) + text(stderr);
    if (said.includes("is in memory (tmpfs)")) return assertEquals(code, 3); // temporary files are on no disk here
    assertEquals(code, 0, said);
    const { samples } = await readResult(`${folder}/reports/out/tiny/result.jsonl`);
    assertEquals([samples.length, new Set(samples.map(({ digest }) => digest)).size], [12, 1]);
    const of = (name: string) => samples.find(({ configuration }) => configuration === name);
    assertEquals(of("ssdhash")?.tiers.map(({ type }) => type), ["DRAM", "SSDHASH"]);
    assertEquals(of("leveldb")?.tiers.map(({ type }) => type), ["DRAM", "LEVELDB"]);
    assertEquals(of("three")?.tiers.map(({ type }) => type), ["DRAM", "PMEM_LIBPMEM", "SSDHASH"]);
    assertEquals([of("ssdhash")?.evidence, of("three")?.evidence], ["measured", "emulated"]);
    for (const { tiers, tableBytes } of samples) {
      const rows = tiers.reduce((sum, tier) => sum + tier.rows, 0);
      assertEquals([rows * 512, tiers.every(({ usedBytes, limitBytes }) => usedBytes <= limitBytes)], [
        tableBytes,
        true,
      ]);
      assert((tiers.at(-1)?.rows ?? 0) > 0 && tiers.at(-1)?.medium !== "");
    }
    assertEquals([...Deno.readDirSync(ssdPath)], []);
  });
});

Deno.test("tierbench run interrupted by Ctrl-C ends with 130, leaves nothing behind, and resumes", async () => {
  const slow: Scenario = {
    ...TINY,
    workload: { ...TINY.workload, steps: 200, hidden: [256] },
    configurations: { "dram": { storage: "DRAM" }, "fsdax": { storage: "DRAM_PMEM", pmem: "libpmem" } },
  };
  await inFolder(slow, async (folder) => {
    const before = await leftInMemory();
    const child = command(folder, "run", "tiny.jsonc").spawn();
    const path = `${folder}/reports/out/tiny/result.jsonl`;
    for (let lines = 0; lines < 3;) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      lines = (await Deno.readTextFile(path).catch(() => "")).split("\n").length - 1;
    }
    child.kill("SIGINT");
    const { code, stderr } = await child.output();
    assertEquals(code, 130, text(stderr));
    assertMatch(
      text(stderr),
      /Interrupted: \d+ of 9 samples are complete in ".*"; the same run with --resume goes on/,
    );
    assertEquals(await leftInMemory(), before);
    const kept = await Deno.readTextFile(path);
    const resumed = await command(folder, "run", "tiny.jsonc", "--resume").output();
    assertEquals([text(resumed.stderr), resumed.code], ["", 0]);
    assert((await Deno.readTextFile(path)).startsWith(kept));
    assertEquals((await readResult(path)).samples.length, 6);
  });
});

Deno.test("tierbench run --data names file and line of a broken row, exit code 1", async () => {
  await inFolder(TINY, async (folder) => {
    const row = (label: string) => `${label}\t${Array(13).fill("1").join("\t")}\t${Array(26).fill("0a").join("\t")}\n`;
    await Deno.writeTextFile(`${folder}/rows.tsv`, row("1") + row("0") + row("x"));
    const { code, stderr } = await command(folder, "run", "tiny.jsonc", "--data", "rows.tsv").output();
    assertEquals(code, 1);
    assertMatch(text(stderr), /rows\.tsv.*\b3\b/);
    const missing = await command(folder, "run", "tiny.jsonc", "--data", "none.tsv").output();
    assertEquals(missing.code, 2);
    assertMatch(text(missing.stderr), /Cannot read the rows: ".*none\.tsv" does not exist/);
  });
});

Deno.test("tierbench run names samples whose training diverged, and loses no others", async () => {
  const deep = { sgd: { learningRate: 0.01 } };
  const wild: Scenario = {
    ...TINY,
    workload: { ...TINY.workload, model: "deepfm", batch: 32, steps: 20, optimizer: { deep } },
    configurations: { dram: { storage: "DRAM" } },
    matrix: { "workload.optimizer.deep.sgd.learningRate": [100, 0.01] },
  };
  await inFolder(wild, async (folder) => {
    const { code, stdout } = await command(folder, "run", "tiny.jsonc").output();
    assertEquals(code, 1, text(stdout));
    const out = `${folder}/reports/out/tiny`;
    const { samples, failed, quality } = await readResult(`${out}/result.jsonl`);
    assertEquals([samples.length, failed.length, quality], [3, 4, undefined]);
    const words =
      /training diverged; after \d+ steps .* not a finite number for \d+ of 32 .*; lower the learning rates/;
    for (const { error } of failed) assertMatch(error, words);
    for (const name of ["summary.md", "index.html"]) {
      assertMatch(await Deno.readTextFile(`${out}/${name}`), words, name);
    }
  });
});

Deno.test("tierbench run on labels of one class ends well: the AUC is not defined, in every report of it", async () => {
  await inFolder({ ...TINY, configurations: { dram: { storage: "DRAM" } } }, async (folder) => {
    const row = (n: number) =>
      `0\t${Array(13).fill(n % 7).join("\t")}\t${Array(26).fill((n % 50).toString(16)).join("\t")}\n`;
    await Deno.writeTextFile(`${folder}/rows.tsv`, Array.from({ length: 3000 }, (_, n) => row(n)).join(""));
    const set = ["--set", "quality.targetAuc=0.7"];
    const { code, stdout, stderr } = await command(folder, "run", "tiny.jsonc", "--data", "rows.tsv", ...set).output();
    assertEquals([text(stderr), code], ["", 0]);
    assertStringIncludes(text(stdout), "AUC not defined (labels of one class), logloss 0.");
    const out = "reports/out/tiny";
    const { quality, samples } = await readResult(`${folder}/${out}/result.jsonl`);
    assertEquals([samples.length, quality?.auc, quality?.curve.at(-1)?.auc], [3, null, null]);
    for (const words of [["report", out], ["verify", `${out}/index.html`], ["compare", out, `${out}/index.html`]]) {
      const found = await command(folder, ...words).output();
      assertEquals([text(found.stderr), found.code], ["", 0], words.join(" "));
    }
  });
});
