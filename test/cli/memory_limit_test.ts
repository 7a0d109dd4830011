/** Runs in real control groups: refused with the figures, or whole; nothing is killed. */

import { fileURLToPath } from "node:url";
import { readResult } from "../../scenarios/result.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { inMemoryGroup, type MemoryGroup, whyNoGroup } from "../scenarios/run/memory_group.ts";

const CLI = fileURLToPath(new URL("../../cli.ts", import.meta.url));
const MIB = 2 ** 20;

const reason = whyNoGroup();
const skipped = reason === undefined ? "" : ` (skipped: ${reason})`;

/** A scenario of all ways to hold rows, its tables as large as asked. */
function scenario(scale: number): string {
  return JSON.stringify({
    name: "limited",
    workload: {
      data: { synthetic: "criteo-kaggle", scale, rows: 4096, testRows: 256 },
      batch: 256,
      hidden: [64, 32],
      steps: 4,
      warmup: 1,
    },
    configurations: {
      "dram": { storage: "DRAM" },
      "fsdax": { storage: "DRAM_PMEM", pmem: "libpmem", media: "optane-100-6x256" },
    },
    repetitions: 3,
    quality: { samples: 0 },
    seed: 12,
  });
}

async function limited(
  bytes: number,
  scale: number,
  body: (ran: { code: number; out: string; err: string }, group: MemoryGroup, folder: string) => Promise<void> | void,
): Promise<void> {
  const folder = await Deno.makeTempDir({ dir: "/var/tmp" });
  try {
    await Deno.writeTextFile(`${folder}/limited.jsonc`, scenario(scale));
    await inMemoryGroup(bytes, async (group) => {
      const { code, stdout, stderr } = await group.run(
        [Deno.execPath(), "run", "-A", "--no-check", CLI, "run", "limited.jsonc", "--out", "out"],
        { cwd: folder, env: { NO_COLOR: "1" } },
      );
      const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).replace(/\s+/g, " ");
      await body({ code, out: text(stdout), err: text(stderr) }, group, folder);
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const asTest = { ignore: reason !== undefined };

Deno.test(
  `a run in a control group of 250 MiB is refused with the figures before data are made${skipped}`,
  asTest,
  async () => {
    await limited(250 * MIB, 0.05, ({ code, out, err }, group) => {
      assertEquals(code, 3, out + err);
      assertMatch(err, /dram cannot run here: it needs up to \d+ MiB \(rows and index \d+ MiB, network [\d.]+ MiB/);
      assertStringIncludes(err, `The memory limit of 250 MiB of the control group "${group.path}" leaves`);
      assert(!/\bdata criteo/.test(out), out);
      assertEquals(group.kills(), 0);
    });
  },
);

Deno.test(
  `a run that fits its control group is whole, and takes the disk for what memory cannot hold${skipped}`,
  asTest,
  async () => {
    await limited(250 * MIB, 0.005, async ({ code, out, err }, group, folder) => {
      assertEquals([code, group.kills()], [0, 0], out + err);
      const { samples, failed } = await readResult(`${folder}/out/result.jsonl`);
      assertEquals([samples.length, failed], [6, []]);
      const fsdax = samples.find(({ configuration }) => configuration === "fsdax");
      assertStringIncludes(fsdax?.how ?? "", "libpmem on a file on disk");
    });
  },
);
