/**
 * A worker that trains nothing: says what its spec asks for, or fails as its arguments say. First argument: a file that
 * counts how often it was started; second: JSON, start number to what happens in that start.
 */

import type { WorkerSpec } from "../../scenarios/run/worker_protocol.ts";

const [log = "", plan = "{}"] = Deno.args;
const reader = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).getReader();
const spec = JSON.parse((await reader.read()).value ?? "") as WorkerSpec;
await Deno.writeTextFile(log, `${JSON.stringify({ environment: Deno.env.toObject(), spec })}\n`, { append: true });
const start = (await Deno.readTextFile(log)).trimEnd().split("\n").length;
const behaviour = (JSON.parse(plan) as Record<string, string>)[start] ?? "complete";
const say = (message: unknown) => console.log(JSON.stringify(message));

say({ type: "progress", phase: "train", done: 1, total: 2 });
if (behaviour === "kill") Deno.kill(Deno.pid, "SIGKILL");
if (behaviour === "silent") Deno.exit(0);
if (behaviour === "crash") {
  console.error("oh no");
  Deno.exit(7);
}
if (behaviour === "error") {
  say({ type: "error", message: "Cannot write the pool file: the disk is full" });
  Deno.exit(1);
}
if (behaviour === "hang") { while (!(await reader.read()).done); }
// As a trainer's would: asynchronous lookups, BF16 and micro-batches end with rows of their own.
const { asyncEmbedding, bf16, microBatch } = spec.trainer;
const changed = [asyncEmbedding, bf16 !== "off", (microBatch ?? 1) > 1].map((one) => one ? "1" : "0").join("");
const digest = behaviour === "other-digest" ? "ffff" : changed === "000" ? "0123" : `01${changed}`;
// In turns: says so before each, and waits for a line.
if (spec.task === "speed" && spec.turn !== undefined) {
  for (let done = 0; done < spec.steps; done += spec.turn) {
    await Deno.writeTextFile(`${log}.turns`, `${Deno.pid} waits\n`, { append: true });
    say({ type: "turn" });
    if ((await reader.read()).done) Deno.exit(1);
    await Deno.writeTextFile(`${log}.turns`, `${Deno.pid} trains\n`, { append: true });
    if (behaviour === "crash-later" && done > 0) Deno.exit(7);
    if (behaviour === "hang-later" && done > 0) { while (!(await reader.read()).done); }
  }
  await Deno.writeTextFile(`${log}.turns`, `${Deno.pid} ends\n`, { append: true });
}
if (spec.task === "speed") {
  const names = spec.store.storage.startsWith("PMEM_") ? ["PMEM"] : spec.store.storage.split("_");
  const tiers = spec.store.size.map((limitBytes, tier) => ({
    tier,
    type: names[tier] === "PMEM" ? "PMEM_LIBPMEM" : names[tier],
    medium: "fake",
    limitBytes,
    usedBytes: 1,
    purposes: { rows: 128 },
    rows: 1,
    // As libpmem answers on a file system that does not map PMEM.
    ...(behaviour === "page-cache" && names[tier] === "PMEM"
      ? { facts: { is_pmem: "0", forced: "0", file_system: "tmpfs" } }
      : { facts: {} }),
  }));
  const stepNs = Array.from({ length: spec.steps }, () => 1e6);
  const phaseNs = { input: 1, lookup: 2, dense: 3, update: 4, eviction: 5 };
  const outcome = {
    task: "speed",
    stepNs,
    phaseNs,
    loss: 0.5,
    trainer: { model: spec.trainer.model },
    statistics: { lookups: 9 },
    tiers,
    tables: spec.trainer.tables.map(({ dim }) => ({ dim, distinct: 10 * spec.steps })),
    tableBytes: 128,
    digest,
  };
  say({ type: "outcome", outcome });
} else {
  const curve = Array.from({ length: spec.evaluations }, (_, i) => ({
    samples: Math.round(spec.steps * (i + 1) / spec.evaluations) * spec.trainer.batch,
    seconds: i + 1,
    trainSeconds: i + 0.5,
    logloss: 0.5,
    auc: 0.75,
  }));
  say({
    type: "outcome",
    outcome: {
      task: "quality",
      steps: spec.steps,
      curve,
      testRows: 100,
      trainer: { model: spec.trainer.model },
      digest,
    },
  });
}
Deno.exit(0);
