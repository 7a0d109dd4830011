import "../native_library.ts";
import { generateData } from "../../ffi/data.ts";
import { ScenarioError } from "../../base/diagnostics.ts";
import { fillDefaults } from "../../scenarios/resolve.ts";
import { trainerOf } from "../../scenarios/run/trainer_options.ts";
import type { PreparedCase } from "../../scenarios/run/prepare.ts";
import type { SpeedOutcome, WorkerSpec, WorkerTrainer } from "../../scenarios/run/worker_protocol.ts";
import { defaultWorkerCommand, runWorker } from "../../scenarios/run/worker_process.ts";
import { loadScenario, parseScenario } from "../../scenarios/load.ts";
import type { Scenario, Workload } from "../../scenarios/scenario.ts";
import { tableBytes } from "../../models/workloads/sizes.ts";
import { assert, assertEquals, assertRejects } from "../assert.ts";

const PLACE = { file: "mine.jsonc", directory: "/" };

function written(workload: Workload): Scenario {
  return { name: "x", configurations: { dram: { storage: "DRAM" } }, workload };
}

/** What the worker of a workload's case is told. */
function told(workload: Workload, data = "train.tbc"): WorkerTrainer {
  const scenario = fillDefaults(written(workload), "/");
  return trainerOf({ scenario, threads: 1, data: { train: data } } as unknown as PreparedCase);
}

Deno.test("a workload's admission, expiry and record hold for tables that say nothing else", () => {
  const { tables } = told({
    admission: { counter: { frequency: 3 } },
    expiry: { steps: 100 },
    record: ["version", "frequency"],
    tables: {
      C1: {},
      C2: { admission: "none", expiry: { l2: 0.5 }, record: [] },
      C5: { admission: "none", expiry: { l2: 0.5, l2Form: "norm", l2Every: 8 }, record: [] },
      C3: { admission: { bloom: { keys: 5 } }, expiry: "none" },
    },
  });
  const all = { recordFrequency: true, recordVersion: true };
  assertEquals(
    tables,
    [
      {
        name: "C1",
        dim: 16,
        columns: ["C1"],
        admission: { counter: { frequency: 3, defaultValue: 0 } },
        expire: { steps: 100 },
        ...all,
      },
      { name: "C2", dim: 16, columns: ["C2"], expire: { l2: 0.5, l2Form: "half-squared", l2Every: 1000 } },
      { name: "C5", dim: 16, columns: ["C5"], expire: { l2: 0.5, l2Form: "norm", l2Every: 8 } },
      {
        name: "C3",
        dim: 16,
        columns: ["C3"],
        admission: { bloom: { frequency: 1, keys: 5, error: 0.01, counterBits: 32, defaultValue: 0 } },
        ...all,
      },
    ] as unknown as typeof tables,
  );
  assert(told({}).tables.every((table) => Object.keys(table).join() === "name,dim,columns"));
});

Deno.test("what cannot be is said with its place", async () => {
  const cases: readonly (readonly [object, string])[] = [
    [{ admission: "counter" }, "workload.admission"],
    [{ admission: { counter: { frequency: 0 } } }, "workload.admission.counter.frequency"],
    [{ admission: { counter: {}, bloom: {} } }, "workload.admission"],
    [{ expiry: {} }, 'workload.expiry: expected "steps", "l2" or both'],
    [{ expiry: { steps: 1, l2Form: "norm" } }, 'workload.expiry: expected "l2" beside "l2Form"'],
    [{ expiry: { steps: 1, l2Every: 5 } }, 'workload.expiry: expected "l2" beside "l2Every"'],
    [{ expiry: { l2: 1, l2Every: 0 } }, "workload.expiry.l2Every: expected"],
    [{ record: ["age"] }, "workload.record[0]"],
    [{ tables: { C1: { expiry: { step: 1 } } } }, "workload.tables.C1.expiry.step"],
    [{ optimizer: { deep: "ftrl" } }, "workload.optimizer.deep"],
  ];
  for (const [workload, expected] of cases) {
    const text = JSON.stringify(written(workload as Workload));
    const { message } = await assertRejects(() => parseScenario(text, PLACE), ScenarioError);
    assert(message.includes(expected), `${message}\n${expected}`);
  }
});

Deno.test("recorded frequencies and versions count as bytes of rows", () => {
  const bytes = (workload: Workload) => tableBytes([10], fillDefaults(written(workload), "/").workload);
  const plain = bytes({});
  assertEquals(bytes({ record: ["frequency"] }), plain + 10 * 4);
  assertEquals(bytes({ record: ["frequency", "version"] }), plain + 10 * 12);
  assertEquals(bytes({ expiry: { steps: 5 } }), plain + 10 * 8);
  assertEquals(bytes({ optimizer: { embedding: "ftrl" } }), 10 * 3 * 64);
});

Deno.test("a worker trains with all of it and tells what was admitted, refused, expired, and waits", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const data = `${folder}/train.tbc`;
    await generateData({ out: data, rows: 8192, scale: 0.001, seed: 2 });
    const trainer = told({
      batch: 128,
      dim: 4,
      hidden: [8],
      threads: 1,
      admission: { counter: { frequency: 2 } },
      expiry: { steps: 4 },
      record: ["frequency"],
      optimizer: { embedding: { ftrl: { l1: 1e-6 } } },
      tables: { C1: {}, C3: {}, all: { columns: ["C4", "C12"], admission: "none", expiry: "none" } },
    }, data);
    const store = { storage: "DRAM", size: [2 ** 28], sizeCounts: "all", seed: 1, native: {} };
    const spec = { task: "speed", warmup: 5, steps: 15, store, trainer } as unknown as WorkerSpec;
    const outcome = await runWorker(spec, { command: defaultWorkerCommand(), environment: {} }) as SpeedOutcome;
    assertEquals(outcome.trainer["embedding_optimizer"], "ftrl");
    for (const name of ["created", "not_admitted", "expired"]) assert((outcome.statistics[name] ?? 0) > 0, name);
    assert((outcome.waitingKeys ?? 0) > 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a worker judges rows by weight as often as the workload's l2Every says", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const data = `${folder}/train.tbc`;
    await generateData({ out: data, rows: 2048, scale: 0.001, seed: 2 });
    const expired = async (expiry: Workload["expiry"]) => {
      const trainer = told(
        { batch: 64, dim: 4, hidden: [8], threads: 1, ...(expiry === undefined ? {} : { expiry }) },
        data,
      );
      const store = { storage: "DRAM", size: [2 ** 28], sizeCounts: "all", seed: 1, native: {} };
      const spec = { task: "speed", warmup: 2, steps: 10, store, trainer } as unknown as WorkerSpec;
      const { statistics } = await runWorker(spec, {
        command: defaultWorkerCommand(),
        environment: {},
      }) as SpeedOutcome;
      return statistics["expired"] ?? 0;
    };
    assert(await expired({ l2: 1e9, l2Every: 4 }) > 0);
    assertEquals(await expired({ l2: 1e9 }), 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the shipped scenario asks for all of it", async () => {
  const { workload } = await loadScenario(new URL("../../scenarios/wdl-filter.jsonc", import.meta.url));
  assert(workload.admission !== undefined && workload.expiry !== undefined);
  assertEquals(workload.record, ["frequency", "version"]);
  assert("ftrl" in (workload.optimizer.embedding ?? {}));
});
