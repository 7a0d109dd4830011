// Each price of software has its effect and no other: what a price adds to each part of a step, twice the price twice as much,
// a price of zero nothing.

import "../../native_library.ts";
import { assert, assertEquals } from "../../assert.ts";
import { softwareText } from "../../../models/host/software_text.ts";
import { runSimulation } from "../../../models/simulation/run.ts";
import type { SimulatedRecord } from "../../../models/simulation/record.ts";
import type { SoftwarePrices } from "../../../models/simulation/software_file.ts";
import type { SimulatedConfiguration, Simulation } from "../../../models/simulation/simulation.ts";

const DRAM = "ddr4-2666-6ch", PMEM = "optane-100-6x256";
const ONE: SimulatedConfiguration = { mode: "dram", tiers: [{ media: DRAM }] };
const TWO: SimulatedConfiguration = {
  mode: "fsdax",
  tiers: [{ media: DRAM, size: "64 MiB" }, { media: PMEM, size: "64 GiB" }],
};

/** A step whose parts follow one another: one core, nothing ahead and nothing in the background. */
const HOST: Omit<Simulation, "configurations"> = {
  kind: "simulation",
  name: "prices",
  workload: { batch: 512, tables: [{ name: "ids", rows: 1e6, dim: 32, lookups: 4, law: { s: 1 } }] },
  compute: { dense: "1 ms", source: "an example" },
  overlap: { ahead: 0 },
  cluster: { cores: 1, backgroundThreads: 0 },
};
/** The same with a worker and a server. */
const SERVED: Omit<Simulation, "configurations"> = {
  ...HOST,
  cluster: { ...HOST.cluster, servers: 1, network: { bandwidth: "10 GB/s", latency: 0 } },
};

/** Seconds of each part of a step. */
function partsOf({ parts }: SimulatedRecord): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { kind, seconds } of parts) sums.set(kind, (sums.get(kind) ?? 0) + seconds);
  return sums;
}

async function recordOf(simulation: Simulation): Promise<SimulatedRecord> {
  const { cases: [one] } = await runSimulation(simulation);
  assert(one !== undefined);
  return one;
}

/** What each part takes longer than another time, of those that change by more than a millionth of the step. */
function differences(of: SimulatedRecord, than: SimulatedRecord): Record<string, number> {
  const [after, before] = [partsOf(of), partsOf(than)];
  const found = [...new Set([...after.keys(), ...before.keys()])].map((kind) =>
    [kind, (after.get(kind) ?? 0) - (before.get(kind) ?? 0)] as const
  );
  return Object.fromEntries(found.filter(([, seconds]) => Math.abs(seconds) > 1e-6 * than.step.mean));
}

type Counts = { readonly keys: number; readonly rows: number; readonly missed: number };
const counts = ({ rows, misses }: SimulatedRecord): Counts => ({
  keys: rows.keys,
  rows: rows.worker,
  missed: misses.ofRows * rows.worker,
});

/** Asserts what a price, and twice as much, add to each part. */
async function assertEffect(
  name: string,
  priced: (seconds: number) => Simulation,
  effect: (counts: Counts) => Readonly<Record<string, number>>,
): Promise<void> {
  const price = 1e-6, none = await recordOf(priced(0)), wanted = effect(counts(none));
  for (const times of [1, 2]) {
    const found = differences(await recordOf(priced(times * price)), none);
    assertEquals(Object.keys(found).sort(), Object.keys(wanted).sort(), `${name}: parts that change`);
    for (const [part, count] of Object.entries(wanted)) {
      const ratio = (found[part] ?? 0) / (times * price * count);
      assert(Math.abs(ratio - 1) < 0.02, `${name} x ${times}: ${part} by ${found[part]} s, ${ratio} of ${count} times`);
    }
  }
}

/** Files of prices that are zero but for one. */
async function withFile(
  name: keyof SoftwarePrices,
  run: (path: (value: number) => string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const nothing = { value: 0, low: 0, high: 1e-12 };
    await run((value) => {
      const path = `${folder}/${value}.jsonc`;
      const prices = {
        perKey: nothing,
        perRow: nothing,
        perUpdate: nothing,
        track: nothing,
        upkeep: nothing,
        perMiss: nothing,
        perLock: nothing,
        perMessage: nothing,
      };
      const own = value === 0 ? nothing : { value, low: value * 0.9, high: value * 1.1 };
      Deno.writeTextFileSync(
        path,
        softwareText({
          kind: "software",
          about: "",
          memory: "node0",
          prices: { ...prices, [name]: own },
          runs: { rows: 1, dim: 1, keys: 1, steps: 1, rounds: 1 },
          measured: { host: "lab7", date: "2026-11-22", machine: {}, virtual: false, commands: [] },
        }),
      );
      return path;
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What each price of a file adds on one machine, of two tiers and of one, where rows are trained and where they are served. */
const FILE_EFFECTS: Readonly<
  Record<keyof SoftwarePrices, {
    readonly two: (counts: Counts) => Record<string, number>;
    readonly one: (counts: Counts) => Record<string, number>;
    readonly served: (counts: Counts) => Record<string, number>;
  }>
> = {
  perKey: {
    two: ({ keys }) => ({ lookup: keys, update: keys }),
    one: ({ keys }) => ({ lookup: keys, update: keys }),
    served: ({ keys }) => ({ lookup: keys }),
  },
  perRow: {
    two: ({ rows }) => ({ lookup: rows }),
    one: ({ rows }) => ({ lookup: rows }),
    served: ({ rows }) => ({ lookup: rows }),
  },
  perUpdate: { two: ({ rows }) => ({ update: rows }), one: ({ rows }) => ({ update: rows }), served: () => ({}) },
  track: { two: ({ keys }) => ({ lookup: keys }), one: () => ({}), served: ({ keys }) => ({ lookup: keys }) },
  upkeep: { two: ({ rows }) => ({ lookup: rows }), one: () => ({}), served: () => ({}) },
  perMiss: { two: ({ missed }) => ({ lookup: missed }), one: () => ({}), served: ({ missed }) => ({ lookup: missed }) },
  // One thread, on one machine.
  perLock: { two: () => ({}), one: () => ({}), served: () => ({}) },
  perMessage: { two: () => ({}), one: () => ({}), served: () => ({}) },
};

for (const [name, { two, one, served }] of Object.entries(FILE_EFFECTS)) {
  Deno.test(`${name} of a file of prices adds to its own part of a step, as often as it is paid, and to no other`, async () => {
    await withFile(name as keyof SoftwarePrices, async (path) => {
      const of = (configuration: SimulatedConfiguration, trains = true) => (value: number): Simulation => ({
        ...HOST,
        workload: { ...HOST.workload, trains },
        software: path(value),
        configurations: { it: configuration },
      });
      await assertEffect(`${name}, two tiers`, of(TWO), two);
      await assertEffect(`${name}, one tier`, of(ONE), one);
      await assertEffect(`${name}, served`, of(TWO, false), served);
    });
  });
}

Deno.test("with a server: keys cost the worker, rows the server, a lock's turn its requests, latency each message", async () => {
  const compute = (field: string) => (value: number): Simulation => ({
    ...SERVED,
    compute: { ...SERVED.compute, [field]: value },
    configurations: { it: TWO },
  });
  const software = (field: string, configuration = TWO) => (value: number): Simulation => ({
    ...SERVED,
    configurations: { it: { ...configuration, software: { [field]: value } } },
  });
  await assertEffect("perKey", compute("perKey"), ({ keys }) => ({ parse: keys }));
  await assertEffect("perRow", compute("perRow"), ({ rows }) => ({ lookup: rows }));
  await assertEffect("perUpdate", compute("perUpdate"), ({ rows }) => ({ update: rows }));
  await assertEffect("track", software("track"), ({ rows }) => ({ lookup: rows }));
  await assertEffect("track, one tier", software("track", ONE), () => ({}));
  await assertEffect("miss", software("miss"), ({ missed }) => ({ lookup: missed }));
  await assertEffect("miss, one tier", software("miss", ONE), () => ({}));
  // What is done under the lock and beside it goes on side by side: a price that leaves nothing else to wait for.
  const lock = (value: number) => software("lock")(value * 1e3);
  await assertEffect("lock", lock, ({ rows }) => ({ lookup: 1e3 * rows, update: 1e3 * rows }));
  const thousand = (field: string) => (value: number) => compute(field)(value * 1e3);
  await assertEffect("perMessage", thousand("perMessage"), () => ({ pull: 2e3, push: 1e3 }));
  await assertEffect("perLock, one worker", compute("perLock"), () => ({}));
  const latency = (value: number): Simulation => ({
    ...SERVED,
    cluster: { ...SERVED.cluster, network: { bandwidth: "10 GB/s", latency: value * 1e3 } },
    configurations: { it: TWO },
  });
  await assertEffect("latency", latency, () => ({ pull: 2e3, push: 1e3 }));
});

Deno.test("perLock: a row takes longer by the price for each other thread, on one machine and at a server", async () => {
  const on =
    (base: Omit<Simulation, "configurations">, cluster: Simulation["cluster"]) => (perLock: number): Simulation => ({
      ...base,
      overlap: { ...base.overlap },
      compute: { ...base.compute, perLock },
      cluster: { ...base.cluster, ...cluster },
      configurations: { it: ONE },
    });
  const seconds = async (simulation: Simulation, part: string) => partsOf(await recordOf(simulation)).get(part) ?? NaN;
  // Parts are seconds on the critical path: those of one of the threads.
  for (const threads of [2, 4]) {
    const host = on(HOST, { cores: threads }), price = 1e-6;
    const rows = (await recordOf(host(0))).rows.worker;
    for (const part of ["lookup", "update"]) {
      const more = await seconds(host(price), part) - await seconds(host(0), part);
      const ratio = more / (price * (threads - 1) * rows / threads);
      assert(Math.abs(ratio - 1) < 0.05, `${threads} threads, ${part}: ${ratio}`);
    }
  }
  const served = on(SERVED, { cores: 2, workers: 2 });
  const two = await seconds(served(1e-6), "lookup") - await seconds(served(0), "lookup");
  const { rows } = await recordOf(served(0));
  assert(Math.abs(two / (1e-6 * rows.worker) - 1) < 0.1, `${two} s of ${rows.worker} rows`);
});

Deno.test("perMessage: many servers and workers pay for each of their messages; the cost of a step says so, too", async () => {
  const on = (workers: number, servers: number) => (perMessage: number): Simulation => ({
    ...SERVED,
    compute: { ...SERVED.compute, perMessage },
    cluster: { ...SERVED.cluster, workers, workersPerHost: 1, servers, cores: workers, allReduce: "1 MB" },
    configurations: { it: ONE },
  });
  for (const [workers, servers] of [[1, 4], [4, 1], [2, 2]] as const) {
    const [none, priced] = [await recordOf(on(workers, servers)(0)), await recordOf(on(workers, servers)(1e-4))];
    // At least: a request and an answer one after the other, all that one end has to take, the ring, and what is pushed.
    const least = 1e-4 * (Math.max(workers, servers) + 1 + 2 * (workers - 1) + 1);
    const more = priced.step.mean - none.step.mean;
    assert(
      more > 0.9 * least && more < 4 * least,
      `${workers} workers, ${servers} servers: ${more} s, at least ${least}`,
    );
  }
});
