import "../native_library.ts";
import { LEAST_STEPS } from "../../scenarios/run/budget.ts";
import { ScenarioError } from "../../base/diagnostics.ts";
import type { RunEvent } from "../../scenarios/run/events.ts";
import { ResultFolder } from "../../base/result_folder.ts";
import { readResult } from "../../scenarios/result.ts";
import { type RunInterrupted, type RunScenarioOptions, runWith } from "../../scenarios/run/run.ts";
import type { Scenario } from "../../scenarios/scenario.ts";
import type { Result } from "../../scenarios/record.ts";
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../assert.ts";
import type { Availability } from "../../machines/availability.ts";
import { ALL_PMEM, type Fakes, fakes, FOUR, NO_PMEM } from "./fakes.ts";

interface Bench extends Fakes {
  readonly path: string;
  readonly events: RunEvent[];
  run(options?: RunScenarioOptions, scenario?: Scenario): Promise<Result>;
}

async function bench(
  body: (bench: Bench) => Promise<void>,
  behaviours: Record<number, string> = {},
  here?: typeof ALL_PMEM,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    const made = fakes(directory, behaviours, here);
    const events: RunEvent[] = [];
    const run = (options: RunScenarioOptions = {}, scenario = FOUR) =>
      runWith(made.dependencies, scenario, {
        out: directory,
        ...options,
        onProgress: (event) => {
          events.push(event);
          options.onProgress?.(event);
        },
      });
    await body({ ...made, events, path: `${directory}/result.jsonl`, run });
    assertEquals([...made.scratch], [], "a pool directory was left");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("runScenario() takes every sample of every configuration and one quality run", async () => {
  await bench(async ({ run, path, starts }) => {
    const result = await run();
    assertEquals(result.samples.length, 12);
    assertEquals(result.failed, []);
    assertEquals(result.samples.map(({ position }) => position), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    assertEquals(new Set(result.samples.map(({ id }) => id)).size, 12);
    for (const { wire } of result.samples) {
      // Each fake table has 10 different rows a step: keys of pull and push and gradients go up, weights come down.
      const { distinctRows = 0, toServers = 0, fromServers = 0 } = wire ?? {};
      assert(distinctRows >= 10 && distinctRows % 10 === 0);
      assertAlmostEquals((toServers - fromServers) / distinctRows, 16, 0.1);
      assert(fromServers / distinctRows >= 4);
    }
    assertEquals(result.quality?.configuration, "dram");
    assertEquals(result.quality?.steps, 10);
    assertEquals(await readResult(path), result);
    assertEquals((await starts()).length, 13);
  });
});

Deno.test("runScenario() copies the scenario's own prices into the results, and fails first without them", async () => {
  await bench(async ({ run, path }) => {
    const prices = `${path}.prices.csv`;
    const scenario = { ...FOUR, cost: { priceFiles: [prices] } };
    await assertRejects(() => run({}, scenario), Error, `Cannot read the prices: "${prices}" does not exist`);
    await assertRejects(() => Deno.stat(path), Deno.errors.NotFound);
    await Deno.writeTextFile(prices, "item\n");
    const result = await run({}, scenario);
    assertEquals(result.run.priceFiles, [{ name: "result.jsonl.prices.csv", text: "item\n" }]);
    assertEquals((await readResult(path)).run.priceFiles, result.run.priceFiles);
  });
});

Deno.test("runScenario() sets emulation in the workers' environment alone, and nothing else gets in", async () => {
  await bench(async ({ run, starts }) => {
    Deno.env.set("TIERBENCH_TEST_SECRET", "1");
    try {
      await run();
    } finally {
      Deno.env.delete("TIERBENCH_TEST_SECRET");
    }
    assertEquals(Deno.env.get("PMEM_IS_PMEM_FORCE"), undefined);
    assertEquals(Deno.env.get("MEMKIND_DAX_KMEM_NODES"), undefined);
    const speed = (await starts()).filter(({ spec }) => spec.task === "speed");
    const forced = speed.filter(({ environment }) => environment["PMEM_IS_PMEM_FORCE"] === "1");
    const nodes = speed.filter(({ environment }) => environment["MEMKIND_DAX_KMEM_NODES"] === "0");
    assertEquals(forced.map(({ spec }) => spec.store["pmem"]), ["libpmem", "libpmem", "libpmem"]);
    assertEquals(nodes.map(({ spec }) => spec.store["pmem"]), ["memkind", "memkind", "memkind"]);
    assert(speed.every(({ environment }) => environment["TIERBENCH_TEST_SECRET"] === undefined));
  });
});

Deno.test("every sample's process has an environment of another length, which is in its record and in no other's way", async () => {
  await bench(async ({ run, starts }) => {
    const { samples } = await run();
    const paddings = samples.map(({ padding }) => padding ?? -1);
    assert(paddings.every((bytes) => bytes >= 0 && bytes < 4096) && new Set(paddings).size > 9, `${paddings}`);
    const speed = (await starts()).filter(({ spec }) => spec.task === "speed");
    assertEquals(speed.map(({ environment }) => environment["TIERBENCH_PADDING"]?.length ?? 0), paddings);
    assert(samples.every(({ environment }) => !("TIERBENCH_PADDING" in environment)));
    assertEquals((await run()).samples.map(({ padding }) => padding), paddings);
  });
});

Deno.test("runScenario() gives every configuration with PMEM the same DRAM, a quarter of the tables at most", async () => {
  await bench(async ({ run, starts }) => {
    const { samples, run: { data } } = await run();
    assertEquals(data.tableBytes, 100_000 * 128);
    const budgets = samples.filter(({ configuration }) => configuration !== "dram").map(({ dramBytes }) => dramBytes);
    assertEquals(new Set(budgets), new Set([48 * 65_536])); // a quarter is 48.8 steps
    const first = (await starts()).filter(({ spec }) => spec.store["storage"] === "DRAM_PMEM")
      .map(({ spec }) => (spec.store["size"] as number[])[0]);
    assertEquals(new Set(first), new Set([48 * 65_536]));
  });
  await bench(async ({ run }) => {
    const error = await assertRejects(() => run({}, { ...FOUR, dram: "4 MiB" }), ScenarioError);
    assertMatch(error.message, /^dram: expected at most 3\.05 MiB, a quarter of the tables' 12\.2 MiB, found 4 MiB\n/);
  });
});

Deno.test("runScenario() records CXL memory as that, measured and emulated, and a model of another kind is refused", async () => {
  const of = (more: object) =>
    ({
      ...FOUR,
      configurations: {
        dram: { storage: "DRAM" },
        one: {
          storage: "DRAM_PMEM_SSDHASH",
          pmem: "mbind",
          medium: "cxl",
          ssd: { media: "nvme-tlc", devices: 2 },
          ...more,
        },
      },
    }) as Scenario;
  const here: Availability = { ...ALL_PMEM, kmemDax: { available: true, nodes: [3], cxl: [3], virtual: false } };
  for (const [machine, nodes, emulates] of [[NO_PMEM, [0], "cxl-type3-ddr5"], [here, [3], undefined]] as const) {
    await bench(
      async ({ run, starts }) => {
        const { samples } = await run({}, of({ media: "cxl-type3-ddr5" }));
        const one = samples.find(({ configuration }) => configuration === "one");
        assertEquals(one?.tiers.map(({ kind }) => kind), ["dram", "cxl", "ssd"]);
        assertEquals(one?.tiers.map((tier) => tier.emulates), [undefined, emulates, undefined]);
        assertEquals(one?.tiers.map((tier) => tier.ssd?.devices), [undefined, undefined, 2]);
        const stores = (await starts()).map(({ spec }) => spec.store).filter(({ pmem }) => pmem === "mbind");
        assert(
          stores.length > 0 && stores.every(({ pmemNodes }) => `${pmemNodes}` === `${nodes}`),
          JSON.stringify(stores),
        );
      },
      {},
      machine,
    );
  }
  await bench(async ({ run }) => {
    const error = await assertRejects(() => run({}, of({ media: "optane-200-8x256" })), ScenarioError);
    assertStringIncludes(error.message, 'configurations.one.media: expected a model of "cxl", as "medium" says');
    const disk = await assertRejects(() => run({}, of({ ssd: { media: "optane-200-8x256" } })), ScenarioError);
    assertStringIncludes(
      disk.message,
      'configurations.one.ssd.media: expected a model of "ssd", found "optane-200-8x256"',
    );
  });
});

Deno.test("runScenario() gives interleaved rows their share of a model, and no more DRAM than others", async () => {
  const of = (weights?: number[]) =>
    ({
      ...FOUR,
      configurations: {
        dram: { storage: "DRAM" },
        one: { storage: "DRAM", memory: "weighted-interleave", ...(weights === undefined ? {} : { weights }) },
      },
    }) as Scenario;
  await bench(async ({ run, starts }) => {
    const { samples } = await run({}, of());
    const one = samples.find(({ configuration }) => configuration === "one");
    assertEquals(one?.tiers.map(({ kind, emulates, modelLimit }) => [kind, emulates, modelLimit]), [
      ["cxl", "cxl-type3-ddr4", undefined],
    ]);
    assertEquals(one?.tiers.map(({ questions }) => questions?.map(({ media }) => media)), [["cxl-type3-ddr4"]]);
    // The fake's 1 byte used, of 128 of rows 80 % behind CXL.
    assertEquals(one?.dramBytes, Math.round(1 - 128 * 0.8));
    const shares = (await starts()).map(({ spec }) =>
      (spec.store["native"] as Record<string, string>)["emulate.share"]
    );
    assertEquals([...new Set(shares)].sort(), ["0.8", undefined]);
  });
  await bench(async ({ run }) => {
    const error = await assertRejects(() => run({}, of([1, 2])), ScenarioError);
    assertStringIncludes(
      error.message,
      "configurations.one.weights: expected weights that leave at most 3 MiB of rows in DRAM",
    );
    assertStringIncludes(error.message, "[1, 4] does");
  });
});

Deno.test("runScenario() names the kind of every figure and how it was obtained", async () => {
  await bench(async ({ run }) => {
    const { run: record, samples } = await run();
    const evidence = Object.fromEntries(samples.map(({ configuration, evidence }) => [configuration, evidence]));
    assertEquals(evidence, {
      "dram": "measured",
      "memory-mode": "emulated",
      "fsdax": "emulated",
      "kmem-dax": "emulated",
    });
    const fsdax = samples.find(({ configuration }) => configuration === "fsdax");
    assertEquals(fsdax?.how, "libpmem on a file in memory (tmpfs), slowed to optane-100-6x256");
    assertEquals(fsdax?.tiers.map(({ emulates }) => emulates), [undefined, "optane-100-6x256"]);
    const limit = { readBytesPerSecond: 4e9, writeBytesPerSecond: 1e9, rowBytes: 128, threads: 2 };
    assertEquals(fsdax?.tiers.map(({ modelLimit }) => modelLimit), [undefined, limit]);
    const kinds = samples.map(({ configuration, tiers }) =>
      [configuration, ...tiers.map(({ kind }) => kind)].join(" ")
    );
    assertEquals([...new Set(kinds)].sort(), [
      "dram dram",
      "fsdax dram pmem",
      "kmem-dax dram pmem",
      "memory-mode pmem",
    ]);
    const behind = samples.find(({ configuration }) => configuration === "memory-mode");
    assertEquals(behind?.tiers.map(({ modelLimit }) => modelLimit), [undefined]);
    assertEquals(fsdax?.tiers.map(({ questions }) => questions?.map(({ bytes }) => bytes)), [undefined, [128]]);
    assertEquals(behind?.tiers.map(({ questions }) => questions), [undefined]);
    assertEquals(Object.keys(record.modelBands ?? {}), ["optane-100-6x256"]);
    assertEquals(record.modelBands?.["optane-100-6x256"]?.map(({ kind }) => kind), ["read"]);
  });
  await bench(
    async ({ run, starts }) => {
      const { run: record, samples } = await run({ require: "measured" });
      assertEquals(record.modelBands, undefined);
      assert(
        samples.every(({ evidence, environment }) => evidence === "measured" && !environment["PMEM_IS_PMEM_FORCE"]),
      );
      assert((await starts()).every(({ spec }) => Object.keys(spec.store["native"] as object).length === 0));
    },
    {},
    ALL_PMEM,
  );
});

Deno.test("runScenario() gives every sample folders of its own for PMEM and disk, and says what was emulated", async () => {
  const scenario: Scenario = {
    ...FOUR,
    configurations: {
      disk: { storage: "DRAM_SSDHASH", ssdPath: "/mnt/ssd", policy: "lru", evictionThreads: 2 },
      three: { storage: "DRAM_PMEM_SSDHASH", pmem: "libpmem" },
      alone: { storage: "LEVELDB" },
      dram: { storage: "DRAM" },
    },
  };
  await bench(async ({ run, starts }) => {
    const { samples, quality, failed } = await run({}, scenario);
    assertEquals([failed, quality?.configuration], [[], "dram"]);
    const of = (name: string) => samples.filter(({ configuration }) => configuration === name);
    assertEquals(new Set(of("disk").map(({ evidence }) => evidence)), new Set(["measured"]));
    assertEquals(
      of("disk")[0]?.how, // the 3 MiB of DRAM that are a quarter of these tables are less than the library takes over a disk
      "SSDHASH in files in /mnt/ssd, on its disk, wall clock; sizes count rows only, since the tables are small",
    );
    const [three] = of("three");
    assertEquals([three?.evidence, three?.tiers.map(({ type }) => type)], [
      "emulated",
      ["DRAM", "PMEM_LIBPMEM", "SSDHASH"],
    ]);
    assertEquals(three?.tiers.map(({ emulates }) => emulates), [undefined, "optane-100-6x256", undefined]);
    assertEquals(three?.dramBytes, of("disk")[0]?.dramBytes);
    assertEquals(of("alone")[0]?.dramBytes, 0);
    const stores = (await starts()).filter(({ spec }) => spec.task === "speed").map(({ spec }) => spec.store);
    for (const store of stores) {
      const folders = [store["path"], store["ssdPath"]].map((path) => String(path).split("/").at(-1)?.split("-")[0]);
      assertEquals(
        folders,
        {
          DRAM: ["undefined", "undefined"],
          DRAM_SSDHASH: ["ssd", "undefined"],
          DRAM_PMEM_SSDHASH: ["pool", "ssd"],
          LEVELDB: ["ssd", "undefined"],
        }[String(store["storage"])],
      );
    }
    const disk = stores.find((store) => store["storage"] === "DRAM_SSDHASH");
    assertEquals([disk?.["policy"], disk?.["evictionThreads"]], ["lru", 2]);
    assert(String(disk?.["path"]).startsWith("/mnt/ssd/"));
  });
});

Deno.test("runScenario() with require measured names everything that is not here and runs nothing", async () => {
  await bench(async ({ run, starts }) => {
    const error = await assertRejects(() => run({ require: "measured" }), Error);
    assertEquals(error.name, "UnavailableError");
    assertStringIncludes(error.message, "fsdax cannot be measured here: no region in ndctl\n");
    assertStringIncludes(error.message, "kmem-dax cannot be measured here: no node without CPUs\n");
    assertEquals(await starts(), []);
  });
});

for (
  const [behaviour, text] of [
    ["kill", /^it was killed \(SIGKILL\); the machine may have run out of memory$/],
    ["crash", /^it ended with exit code 7 and no outcome; it said: oh no$/],
    ["silent", /^it ended with exit code 0 and no outcome$/],
    ["error", /^Cannot write the pool file: the disk is full$/],
    [
      "other-digest",
      /^The rows differ from those of [\w-]+#1 after the same steps: digest ffff, expected 0123/,
    ],
  ] as const
) {
  Deno.test(`runScenario() records a sample that fails (${behaviour}) and goes on with the others`, async () => {
    await bench(async ({ run, path, events }) => {
      const result = await run();
      assertEquals(result.samples.length, 11);
      assertEquals(result.failed.length, 1);
      assertMatch(result.failed[0]?.error ?? "", text);
      assertEquals(result.failed[0]?.position, 2);
      assertEquals(result.quality?.auc, 0.75);
      assertEquals(await readResult(path), result);
      assertEquals(events.filter(({ type }) => type === "failed").length, 1);
    }, { 2: behaviour });
  });
}

Deno.test("runScenario() repeats the baseline in every round, and resumes what is missing of it", async () => {
  await bench(async ({ run, path, starts, events }) => {
    const result = await run({ set: { aa: true } });
    assertEquals([result.samples.length, result.failed.length], [12, 0]);
    const again = result.again ?? [];
    assertEquals(again.map(({ id }) => id), ["dram[again]#1", "dram[again]#2", "dram[again]#3"]);
    assertEquals(new Set(again.map((one) => [one.case, one.configuration, one.again].join())).size, 1);
    const positions = [...result.samples, ...again].map(({ position }) => position).toSorted((a, b) => a - b);
    assertEquals(positions, Array.from({ length: 15 }, (_, i) => i + 1));
    for (const { sample, position } of again) assertEquals(Math.ceil(position / 5), sample, "one in every round");
    const plan = events.find((event) => event.type === "plan");
    assertEquals(plan?.lines.map((line) => line.case), ["dram", "memory-mode", "fsdax", "kmem-dax", "dram (again)"]);
    assertEquals((await starts()).length, 16);
    // One of them is lost; with resume it alone is taken.
    const lines = (await Deno.readTextFile(path)).split("\n");
    await Deno.writeTextFile(path, lines.filter((line) => !line.includes('"dram[again]#2"')).join("\n"));
    const resumed = await run({ set: { aa: true }, resume: true });
    assertEquals(resumed.again?.map(({ sample }) => sample).toSorted(), [1, 2, 3]);
    assertEquals((await starts()).length, 17);
  });
});

Deno.test("runScenario() records a quality run that fails", async () => {
  await bench(async ({ run }) => {
    const result = await run();
    assertEquals(result.samples.length, 12);
    assertEquals(result.quality, undefined);
    assertEquals(result.failed.map(({ id }) => id), ["quality"]);
    const resumed = await run({ resume: true });
    assertEquals([resumed.failed.length, resumed.quality?.auc], [0, 0.75]);
  }, { 13: "error" });
});

async function interruptedAfter(samples: number, run: Bench["run"]): Promise<RunInterrupted> {
  const controller = new AbortController();
  let done = 0;
  return await assertRejects(() =>
    run({
      signal: controller.signal,
      onProgress: (event) => {
        if (event.type === "sample") done++;
        if (event.type === "progress" && done === samples) controller.abort();
      },
    }), Error) as RunInterrupted;
}

Deno.test("runScenario() stopped by its signal keeps complete records, and resume takes the missing ones only", async () => {
  await bench(async ({ run, path, starts }) => {
    const error = await interruptedAfter(4, run);
    assertEquals([error.name, error.completed, error.planned], ["RunInterrupted", 4, 12]);
    assertMatch(
      error.message,
      /^Interrupted: 4 of 12 samples are complete in ".*"; the same run with --resume goes on$/,
    );
    const before = (await Deno.readTextFile(path)).trimEnd().split("\n");
    assertEquals(before.length, 5);
    const result = await run({ resume: true });
    assertEquals(result.samples.length, 12);
    const after = (await Deno.readTextFile(path)).trimEnd().split("\n");
    assertEquals(after.slice(0, 5), before);
    assertEquals((await starts()).length, 5 + 8 + 1);
  }, { 5: "hang" });
});

Deno.test("runScenario() with resume reads under the lock: a run in between is refused, and no sample is lost", async () => {
  await bench(async ({ run, path, dependencies, starts }) => {
    await interruptedAfter(4, run);
    const before = await Deno.readTextFile(path);
    const { prepareData } = dependencies;
    let others = 0;
    // While one run prepares, another resumes the same folder, as a run that was stopped in between would find it.
    Object.assign(dependencies, {
      prepareData: async (...args: Parameters<typeof prepareData>) => {
        Object.assign(dependencies, { prepareData });
        const said = `another run (process ${Deno.pid}) writes to "${path}"`;
        for (const resume of [true, false]) await assertRejects(() => run({ resume }), Error, said);
        others++;
        return await prepareData(...args);
      },
    });
    const { samples } = await run({ resume: true });
    assertEquals([others, samples.length, (await starts()).length], [1, 12, 5 + 8 + 1]);
    assert((await Deno.readTextFile(path)).startsWith(before));
  }, { 5: "hang" });
});

Deno.test("runScenario() refuses, with the figures, cases that the container's memory limit cannot hold", async () => {
  await bench(async ({ run, dependencies, starts }) => {
    const MIB = 2 ** 20;
    const limit = { group: "/sys/fs/cgroup", limit: 250 * MIB, left: 100 * MIB };
    const { prepareData } = dependencies;
    let made = 0;
    Object.assign(dependencies, {
      memoryLimit: () => limit,
      prepareData: (...args: Parameters<typeof prepareData>) => {
        made++;
        return prepareData(...args);
      },
    });
    // 844 thousand keys of 128 bytes by the default scale, and no data yet.
    const before = await assertRejects(() => run(), Error);
    assertEquals([(before as Error).name, made], ["UnavailableError", 0]);
    for (const name of ["dram", "memory-mode", "kmem-dax"]) {
      assertMatch((before as Error).message, new RegExp(`${name} cannot run here: it needs up to (19|21)\\d MiB`));
    }
    // What was made is larger than what the scale says, as a file of rows may be: 12.2 MiB of tables, 3 MiB in DRAM.
    const set = { "workload.data.scale": 0.0001 };
    const error = await assertRejects(() => run({ set }), Error);
    assertEquals([(error as Error).name, made], ["UnavailableError", 1]);
    const { message } = error as Error;
    for (const name of ["dram", "memory-mode"]) {
      assertMatch(
        message,
        new RegExp(
          `${name} cannot run here: it needs up to 1\\d\\d MiB .rows and index 15.3 MiB, network 2\\d(.\\d)? MiB`,
        ),
      );
    }
    assert(!message.includes("fsdax cannot"), message);
    assertStringIncludes(message, 'limit of 250 MiB of the control group "/sys/fs/cgroup" leaves 100 MiB');
    assertEquals(await starts(), []);
    Object.assign(dependencies, { memoryLimit: () => ({ ...limit, left: 150 * MIB }) });
    assertEquals((await run({ set })).samples.length, 12);
    // A folder that stands for PMEM may be in memory, too.
    const mounted = { ...set, "configurations.fsdax.path": "/mnt/pmem0" };
    Object.assign(dependencies, {
      memoryLimit: () => ({ ...limit, left: 99.5 * MIB }),
      isInMemory: () => Promise.resolve(true),
    });
    const refused = await assertRejects(() => run({ set: mounted }), Error);
    assertStringIncludes((refused as Error).message, "fsdax cannot run here: it needs up to");
  });
});

Deno.test("runScenario() makes no data for a folder that another run has", async () => {
  await bench(async ({ run, dependencies, path }) => {
    let made = 0;
    Object.assign(dependencies, { prepareData: () => Promise.reject(new Error(`made ${++made}`)) });
    {
      using _ = await ResultFolder.take(path);
      await assertRejects(() => run(), Error, "another run");
    }
    assertEquals(made, 0);
    await assertRejects(() => run(), Error, "made 1");
  });
});

Deno.test("runScenario() reads its scenario and prices once, and tells them before anything is made", async () => {
  await bench(async ({ dependencies, path }) => {
    const [file, prices, out] = [`${path}.jsonc`, `${path}.csv`, path.replace(/\/[^/]*$/, "")];
    await Deno.writeTextFile(prices, "item\n");
    await Deno.writeTextFile(file, JSON.stringify({ ...FOUR, cost: { priceFiles: [prices] } }));
    const seen: string[] = [];
    const result = await runWith(dependencies, file, {
      out,
      onResolved: async ({ name }, files) => {
        seen.push(name, ...files.map(({ text }) => text));
        await assertRejects(() => Deno.stat(path), Deno.errors.NotFound);
        await Deno.writeTextFile(file, JSON.stringify({ ...FOUR, name: "edited" }));
        await Deno.writeTextFile(prices, "edited\n");
      },
    });
    assertEquals(seen, ["four", "item\n"]);
    assertEquals([result.run.scenario.name, result.run.priceFiles?.[0]?.text], ["four", "item\n"]);
  });
});

Deno.test("runScenario() resumes a file whose last line was cut off, and says so", async () => {
  await bench(async ({ run, path, events }) => {
    await run();
    const text = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, text.slice(0, -40));
    events.length = 0;
    const result = await run({ resume: true });
    assertEquals(result.quality?.auc, 0.75);
    assert(events.some((event) => event.type === "notice" && event.message.includes("cut off")));
    assertEquals((await Deno.readTextFile(path)).trimEnd().split("\n").length, 14);
  });
});

Deno.test("runScenario() begins when there is nothing to resume, and says so", async () => {
  await bench(async ({ run, events }) => {
    const result = await run({ resume: true });
    assertEquals(result.samples.length, 12);
    assert(events.some((event) => event.type === "notice" && event.message.startsWith("nothing to go on with")));
  });
});

Deno.test("runScenario() counts rows only where the tables are too small for their index and buffers", async () => {
  await bench(async ({ run, starts, events, dependencies }) => {
    const { prepareData } = dependencies;
    Object.assign(dependencies, {
      prepareData: async (...args: Parameters<typeof prepareData>) => {
        const data = await prepareData(...args);
        return { ...data, record: { ...data.record, cardinalities: [10_000] } };
      },
    });
    const { samples } = await run();
    const stores = (await starts()).map(({ spec }) => spec.store);
    const counts = (storage: string) =>
      new Set(stores.filter((store) => store["storage"] === storage).map((store) => store["sizeCounts"]));
    assertEquals([counts("DRAM_PMEM"), counts("DRAM")], [new Set(["rows"]), new Set(["all"])]);
    const said = samples.filter(({ how }) => how.includes("count rows only")).map(({ configuration }) => configuration);
    assertEquals(new Set(said), new Set(["fsdax", "kmem-dax"]));
    assertEquals(events.filter((event) => event.type === "notice" && event.message.includes("rows only")).length, 1);
  });
});

Deno.test("runScenario() refuses a batch with more rows than the data before anything runs", async () => {
  await bench(async ({ run, starts }) => {
    const error = await assertRejects(
      () => run({}, { ...FOUR, workload: { ...FOUR.workload, batch: 1001 } }),
      ScenarioError,
    );
    assertStringIncludes((error as Error).message, "workload.batch: expected at most the 1000 training rows");
    assertEquals(await starts(), []);
  });
});

Deno.test("runScenario() refuses to resume another scenario and touches nothing", async () => {
  await bench(async ({ run, path }) => {
    await run();
    const text = await Deno.readTextFile(path);
    const error = await assertRejects(() => run({ resume: true, seed: 8 }), Error);
    assertEquals(error.name, "UnresumableError");
    assertEquals(await Deno.readTextFile(path), text);
  });
});

Deno.test("runScenario() keeps an earlier result under another name", async () => {
  await bench(async ({ run, path }) => {
    await run();
    const text = await Deno.readTextFile(path);
    await run({ seed: 8 });
    const names: string[] = [];
    for await (const { name } of Deno.readDir(path.replace(/\/[^/]*$/, ""))) names.push(name);
    const kept = names.find((name) => /^result-.*\.jsonl$/.test(name));
    assertEquals(await Deno.readTextFile(path.replace("result.jsonl", kept ?? "none")), text);
  });
});

Deno.test("runScenario() sizes auto steps equally for all configurations of a point, and reuses them on resume", async () => {
  const scenario: Scenario = {
    ...FOUR,
    workload: { ...FOUR.workload, steps: "auto" },
    budget: "20 s",
    matrix: { "workload.batch": [64, 128] },
    quality: { samples: 0 },
  };
  await bench(async ({ run, starts }) => {
    const { samples } = await run({}, scenario);
    assertEquals(samples.length, 24);
    for (const batch of [64, 128]) {
      const steps = samples.filter(({ point }) => point["workload.batch"] === batch).map(({ stepNs }) => stepNs.length);
      assertEquals(new Set(steps).size, 1);
    }
    assertEquals((await starts()).length, 8 + 24);
    const resumed = await run({ resume: true }, scenario);
    assertEquals(resumed.samples.length, 24);
    assertEquals((await starts()).length, 8 + 24);
  });
});

Deno.test("runScenario() leaves samples their least steps before an auto quality run gets its share", async () => {
  const scenario: Scenario = {
    ...FOUR,
    workload: { ...FOUR.workload, steps: "auto" },
    budget: "1 s",
    repetitions: 48, // less than the processes of the samples take to start
    quality: { samples: "auto", evaluations: 1 },
  };
  await bench(async ({ run, events }) => {
    const { samples, quality } = await run({}, scenario);
    assertEquals(new Set(samples.map(({ stepNs }) => stepNs.length)), new Set([LEAST_STEPS]));
    assertEquals(quality?.steps, 1);
    const notices = events.flatMap((event) => event.type === "notice" ? [event.message] : []);
    assertEquals(notices.at(-1), "the quality run took 64 of 1,024 samples: the budget holds no more");
  });
});

/** Four variants on plain DRAM. */
const ABLATED: Scenario = {
  ...FOUR,
  configurations: { dram: { storage: "DRAM" }, fsdax: { storage: "DRAM_PMEM", pmem: "libpmem" } },
  ablation: { switches: { stage: 2, asyncEmbedding: true }, cases: ["alone", "all"] },
};

Deno.test("an ablation has a quality run for every variant whose rows ended otherwise, and no more", async () => {
  await bench(async ({ run, starts, path }) => {
    const result = await run({}, ABLATED);
    assertEquals(result.samples.length, 2 * 4 * 3);
    assertEquals(result.failed, []);
    assertEquals(result.qualities.map(({ id }) => id), ["quality", "quality[ablation=asyncEmbedding]"]);
    assertEquals(result.quality?.point, { ablation: "none" });
    assertEquals((await readResult(path)).qualities, result.qualities);
    const trained = (await starts()).filter(({ spec }) => spec.task === "quality")
      .map(({ spec }) => (spec as unknown as { trainer: { asyncEmbedding: boolean } }).trainer.asyncEmbedding);
    assertEquals(trained, [false, true]);
  });
});

Deno.test("an ablation that was interrupted between its quality runs goes on with those that are missing", async () => {
  await bench(async ({ run, path, starts }) => {
    await run({}, ABLATED);
    const lines = (await Deno.readTextFile(path)).trimEnd().split("\n");
    await Deno.writeTextFile(path, lines.slice(0, -1).join("\n") + "\n");
    const before = (await starts()).length;
    const result = await run({ resume: true }, ABLATED);
    assertEquals(result.qualities.length, 2);
    assertEquals((await starts()).length, before + 1);
  });
});

Deno.test("the fast mode gets a second quality run in deterministic mode", async () => {
  await bench(async ({ run }) => {
    const { qualities } = await run({}, { ...FOUR, workload: { ...FOUR.workload, deterministic: false } });
    assertEquals(qualities.map(({ id, deterministic }) => [id, deterministic]), [
      ["quality", false],
      ["quality[workload.deterministic=true]", true],
    ]);
  });
});

Deno.test("samples record what the trainer says of itself", async () => {
  await bench(async ({ run }) => {
    const { samples, quality } = await run({}, { ...FOUR, workload: { ...FOUR.workload, model: "deepfm" } });
    assert(samples.every(({ trainer }) => trainer?.["model"] === "deepfm"));
    assertEquals(quality?.trainer, { model: "deepfm" });
  });
});

Deno.test("what the CPU lacks refuses a run, and is left out of an ablation by name", async () => {
  await bench(async (made) => {
    const inspectMachine = () => ({
      cpu: "old",
      cpus: 2,
      memoryBytes: 1e9,
      nodes: 1,
      kernel: "6",
      facts: { "cpu.flags": "avx2" },
    });
    const dependencies = { ...made.dependencies, inspectMachine };
    const run = (scenario: Scenario) => runWith(dependencies, scenario, { out: made.path.replace(/\/[^/]*$/, "") });
    const dense = { ...FOUR, workload: { ...FOUR.workload, optimisations: { bf16: "dense" as const } } };
    const error = await assertRejects(() => run(dense));
    assertStringIncludes((error as Error).message, "old lacks avx512_bf16");
    const { run: record, samples } = await run({ ...ABLATED, ablation: { switches: { stage: 1, bf16: "all" } } });
    assertEquals(record.leftOut?.map((one) => one.switch), ["bf16"]);
    assertEquals(new Set(samples.map(({ point }) => point["ablation"])).size, 4);
  });
});
