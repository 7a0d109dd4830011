/** Metrics of a run: what the processes that train count, asked while they do; none of those that have ended or say nothing. */

import "../../native_library.ts";
import type { MetricFamily } from "../../../base/open_metrics.ts";
import { runScenario } from "../../../scenarios/run/run.ts";
import { RunMetrics } from "../../../scenarios/run/run_metrics.ts";
import { assert, assertEquals } from "../../assert.ts";

const steps = (value: number): MetricFamily => ({
  name: "tierbench_steps",
  type: "counter",
  help: "Steps.",
  samples: [{ labels: { tier: "0" }, value }],
});

Deno.test("families of several processes are one, each process is asked once for readers at the same time, and has its labels", async () => {
  const metrics = new RunMetrics();
  assertEquals(await metrics.text(), "# EOF\n");
  let asked = 0;
  const a = metrics.join({ case: "a" }, () => asked++);
  const b = metrics.join({ case: "b" }, () => b.answer([steps(2)]));
  const readers = [metrics.families(), metrics.families()];
  assertEquals(asked, 1);
  a.answer([steps(1)]);
  const families = [{
    ...steps(0),
    samples: [{ labels: { case: "a", tier: "0" }, value: 1 }, { labels: { case: "b", tier: "0" }, value: 2 }],
  }];
  assertEquals(await Promise.all(readers), [families, families]);
});

Deno.test("a process that ends while it is asked, or has ended before, answers nothing", async () => {
  const metrics = new RunMetrics();
  const one = metrics.join({ case: "one" }, () => {});
  const reader = metrics.families();
  one.end();
  assertEquals(await reader, []);
  assertEquals(await metrics.families(), []);
});

Deno.test("a run's workers answer while they train, in turns and one after the other, and its samples are what they are without", async () => {
  for (const sampling of ["turns", "processes"] as const) {
    const folder = await Deno.makeTempDir();
    try {
      const metrics = new RunMetrics();
      let running = true;
      const run = runScenario({
        name: "asked",
        workload: {
          data: { synthetic: "criteo-kaggle", scale: 0.001, rows: 4096, testRows: 1024 },
          batch: 256,
          hidden: [32],
          warmup: 2,
          steps: 60,
        },
        configurations: { one: { storage: "DRAM" }, other: { storage: "DRAM" } },
        repetitions: 3,
        sampling,
        aa: false,
        quality: { samples: 0 },
        seed: 5,
      }, { out: folder, metrics }).finally(() => running = false);
      run.catch(() => {}); // it is awaited below
      const seen = new Map<string, number>(), tiers = new Set<string>();
      while (running) {
        for (const { name, samples } of await metrics.families()) {
          for (const { labels = {}, value } of samples) {
            const { case: of = "" } = labels;
            if (name === "tierbench_steps") seen.set(of, Math.max(value, seen.get(of) ?? 0));
            if (name === "tierstore_used_bytes" && value > 0) tiers.add(of);
          }
        }
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      const { samples, failed } = await run;
      assertEquals(failed.map(({ error }) => error), []);
      assertEquals(samples.length, 6);
      assert(samples.every(({ stepNs }) => stepNs.length === 60));
      assertEquals([...seen.keys()].sort(), ["one", "other"]);
      for (const [of, value] of seen) assert(value > 0 && value <= 62, `${of}: ${value} steps`);
      assertEquals([...tiers].sort(), ["one", "other"]);
      assertEquals(await metrics.text(), "# EOF\n");
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }
});
