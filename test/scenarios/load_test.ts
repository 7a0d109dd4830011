import "../native_library.ts";
import fc from "fast-check";
import { ScenarioError } from "../../base/diagnostics.ts";
import { loadScenario, parseScenario, resolveScenario, shippedScenarios } from "../../scenarios/load.ts";
import { hasHbm, needsPmemLibrary, STORAGE_TYPES } from "../../ffi/storage.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../assert.ts";
import { FOUR } from "./fakes.ts";

/** What is wrong with a scenario whose configurations or other fields are these, without file and line. */
async function problemsOf(text: string): Promise<string> {
  const error = await assertRejects(() => parseScenario(text, { file: "mine.jsonc", directory: "/" }), ScenarioError);
  return error.message;
}

const FIELDS = (fields: string) => `{"name":"x","configurations":{"dram":{"storage":"DRAM"}},${fields}}`;
const CONFIGURATION = (fields: string) => `{"name":"x","configurations":{"one":{${fields}}}}`;

Deno.test("parseScenario() says file, line, column, path, what is wrong and what was meant", async () => {
  const text = `{
  // a comment
  "name": "mine",
  "configurations": {
    "fsdax": {
      "pmem": "libpmem",
      "storage": "DRAM_PMEN"
    }
  }
}`;
  assertEquals(
    await problemsOf(text),
    'mine.jsonc:7:18  configurations.fsdax.storage: unknown storage type "DRAM_PMEN"\n' +
      '    did you mean "DRAM_PMEM"?  all types: docs/scenarios.md#storage',
  );
});

Deno.test("parseScenario() lists everything that is wrong, in the order of the file", async () => {
  const message = await problemsOf(FIELDS(`"sede": 1,\n"budget": "1 day",\n"workload": {"batch": 0}`));
  assertEquals(message.split("\n").filter((line) => line.startsWith("mine")), [
    'mine.jsonc:1:58  sede: unknown field "sede"',
    'mine.jsonc:2:11  budget: expected a duration such as "150 s", found "1 day"',
    "mine.jsonc:3:23  workload.batch: expected a whole number from 1 to 1000000, found 0",
  ]);
});

for (
  const [text, expected] of [
    ["", "mine.jsonc:1:1  expected a scenario, found an empty file"],
    ["[]", "mine.jsonc:1:1  expected an object, found []"],
    ['{"name": "x" "y": 1}', 'mine.jsonc:1:14  expected ",", found "\\"y\\""'],
    ['{"name": "x",', "mine.jsonc:1:14  expected a field name in double quotes, found the end of the file"],
    ['{"name": "x"}', 'expected a field "configurations", found name'],
    [
      '{"name": "a/b", "configurations": {"d": {"storage": "DRAM"}}}',
      'name: expected a name of letters, digits, "-" and "_"',
    ],
    ['{"name": "x", "configurations": {}}', "configurations: expected at least one configuration, found {}"],
    ['{"name": "x", "configurations": {"a.b": {"storage": "DRAM"}}}', "expected a name of letters"],
    [FIELDS('"workload": {"bacth": 2}'), 'workload.bacth: unknown field "bacth"\n    did you mean "batch"?'],
    [FIELDS('"workload": {"zzz": 2}'), "known fields: model, data, batch"],
    [FIELDS('"workload": {"data": {"criteo": "x", "scale": 1}}'), 'workload.data.scale: unknown field "scale"'],
    [FIELDS('"workload": {"data": {"synthetic": "criteo"}}'), 'unknown data set "criteo"'],
    [FIELDS('"workload": {"data": {"synthetic": "criteo-kaggle", "skew": "oe-retial"}}'), 'did you mean "oe-retail"?'],
    [FIELDS('"workload": {"steps": "all"}'), 'workload.steps: expected "auto", found "all"'],
    [
      FIELDS('"workload": {"optimizer": {"deep": "adagard"}}'),
      'unknown optimizer "adagard"\n    did you mean "adagrad"?',
    ],
    [FIELDS('"workload": {"initializer": {"defaultValueMatrix": {"rows": 0}}}'), "defaultValueMatrix.rows: expected a"],
    [FIELDS('"workload": {"initializer": {"defaultValueMatrx": {}}}'), 'did you mean "defaultValueMatrix"?'],
    [FIELDS('"workload": {"initializer": {"uniform": {"low": 2, "high": 1}}}'), 'expected "low" below "high"'],
    [FIELDS('"dram": "24 Mib"'), 'dram: expected a size such as "24 MiB", found "24 Mib"'],
    [FIELDS('"dram": true'), "dram: expected a size such as"],
    [FIELDS('"repetitions": 2'), "repetitions: expected a whole number from 3 to 1000, found 2"],
    [FIELDS('"seed": -1'), "seed: expected a whole number from 0"],
    [FIELDS('"version": 2'), "version: expected 1, found 2"],
    [FIELDS('"cost": {"boundary": "moon"}'), "cost.boundary"],
    [FIELDS('"cost": {"bill": {"worker": -1}}'), "cost.bill.worker: expected $ an hour above 0"],
    [FIELDS('"cost": {"bill": {"coffee": 1}}'), "cost.bill.coffee"],
    [FIELDS('"cost": {"priceFiles": "a.csv"}'), "cost.priceFiles: expected a list of CSV files"],
    [FIELDS('"cost": {"priceFor": 0}'), "cost.priceFor: expected a size above 0, found 0"],
    [FIELDS('"cost": {"prices": "soon"}'), 'cost.prices: expected a date such as "2026-11", found "soon"'],
    [FIELDS('"cost": {"priceFor": "500"}'), "cost.priceFor: expected a size such as"],
    [CONFIGURATION('"storage": "DRAM_PMEM"'), 'configurations.one: expected a field "pmem" with storage "DRAM_PMEM"'],
    [CONFIGURATION('"storage": "DRAM", "pmem": "libpmem"'), 'expected no such field with storage "DRAM"'],
    [CONFIGURATION('"storage": "DRAM", "path": "/mnt"'), "expected no such field without libpmem"],
    [
      CONFIGURATION('"storage": "NULL"'),
      'configurations.one.storage: storage type "NULL" keeps no rows: nothing is trained',
    ],
    [
      CONFIGURATION('"storage": "HBM_DRAM"'),
      'configurations.one: expected a field "hbm" with storage "HBM_DRAM", found none',
    ],
    [
      CONFIGURATION('"storage": "HBM_DRAM_PMEM", "hbm": "opencl"'),
      'expected a field "pmem" with storage "HBM_DRAM_PMEM"',
    ],
    [CONFIGURATION('"storage": "HBM", "hbm": "cuda"'), 'configurations.one.hbm: unknown way to hold HBM "cuda"'],
    [CONFIGURATION('"storage": "DRAM", "hbm": "opencl"'), 'hbm: expected no such field with storage "DRAM"'],
    [CONFIGURATION('"storage": "HBM", "hbm": "opencl", "hbmNodes": [1]'), "hbmNodes: expected no such field"],
    [CONFIGURATION('"storage": "HBM", "hbm": "mbind", "hbmDevice": "x"'), "hbmDevice: expected no such field"],
    [CONFIGURATION('"storage": "HBM", "hbm": "mbind", "hbmPoolSteps": 1'), "hbmPoolSteps: expected no such field"],
    [CONFIGURATION('"storage": "DRAM", "hbmHostBytes": "1 MiB"'), "hbmHostBytes: expected no such field"],
    [CONFIGURATION('"storage": "HBM", "hbm": "opencl", "hbmPoolSteps": -1'), "hbmPoolSteps: expected"],
    [
      CONFIGURATION('"storage": "HBM_DRAM_SSDHASH", "hbm": "opencl", "size": ["1 MiB", "2 MiB"]'),
      "size[1]: expected the DRAM that every configuration with a tier below it gets",
    ],
    [
      CONFIGURATION('"storage": "DRAM_PMEM_SSDHASH"'),
      'configurations.one: expected a field "pmem" with storage "DRAM_PMEM_SSDHASH"',
    ],
    [CONFIGURATION('"storage": "DRAM_SSDHASH", "pmem": "libpmem"'), 'it belongs to "DRAM_PMEM", "DRAM_PMEM_SSDHASH"'],
    [CONFIGURATION('"storage": "DRAM", "ssdPath": "/mnt"'), "ssdPath: expected no such field without an SSD tier"],
    [
      CONFIGURATION('"storage": "DRAM_LEVELDB", "path": "/a", "ssdPath": "/b"'),
      'path: expected no such field beside "ssdPath" without libpmem, found "/a"',
    ],
    [CONFIGURATION('"storage": "SSDHASH", "policy": "lru"'), "policy: expected no such field with one tier"],
    [CONFIGURATION('"storage": "DRAM", "evictionThreads": 1'), "evictionThreads: expected no such field with one tier"],
    [CONFIGURATION('"storage": "DRAM_SSDHASH", "policy": "s3fifi"'), 'did you mean "s3fifo"?'],
    [
      CONFIGURATION('"storage": "DRAM_SSDHASH", "evictionThreads": 65'),
      "expected a whole number from 0 to 64, found 65",
    ],
    [CONFIGURATION('"storage": "DRAM_SSDHASH", "media": "optane-100-6x256"'), "a disk is never emulated"],
    [
      CONFIGURATION('"storage": "DRAM_PMEM_LEVELDB", "pmem": "memkind", "size": [1, 2, 3, 4]'),
      'expected at most 3 sizes for "DRAM_PMEM_LEVELDB", found 4',
    ],
    [CONFIGURATION('"storage": "DRAM_SSDHASH", "size": ["1 MiB"]'), 'write it in "dram" too'],
    [
      CONFIGURATION('"storage": "DRAM_PMEM", "pmem": "mbind", "memory": "kernel-tiering"'),
      'expected storage "DRAM" with memory "kernel-tiering"',
    ],
    [CONFIGURATION('"storage": "DRAM", "ssd": { "media": "nvme-tlc" }'), "expected no such field without an SSD tier"],
    [CONFIGURATION('"storage": "DRAM_SSDHASH", "ssd": { "media": "nvme-tlx" }'), 'unknown media model "nvme-tlx"'],
    [
      CONFIGURATION('"storage": "DRAM", "weights": [1, 4]'),
      'expected no such field without memory "weighted-interleave"',
    ],
    [CONFIGURATION('"storage": "DRAM", "memory": "weighted-interleave", "weights": [1]'), "expected two weights"],
    [CONFIGURATION('"storage": "DRAM", "memory": "memory-mode", "medium": "cxl"'), 'expected "pmem" in Memory Mode'],
    [CONFIGURATION('"storage": "PMEM_LIBPMEM", "nodes": [1]'), "expected no such field without memkind or mbind"],
    [CONFIGURATION('"storage": "PMEM_LIBPMEM", "memory": "memory-mode"'), 'expected storage "DRAM" in Memory Mode'],
    [CONFIGURATION('"storage": "DRAM", "size": [1, 2]'), 'expected at most 1 size for "DRAM", found 2'],
    [CONFIGURATION('"storage": "DRAM", "media": "optane-100-6x256"'), "plain DRAM is never emulated"],
    [CONFIGURATION('"storage": "PMEM_LIBPMEM", "media": "optane-100-6x265"'), 'did you mean "optane-100-6x256"?'],
    [CONFIGURATION('"storage": "DRAM_PMEM", "pmem": "libpmem", "size": ["1 MiB"]'), 'write it in "dram" too'],
    [
      CONFIGURATION('"storage": "DRAM_SSDHASH", "checkpoint": "in-place"'),
      'expected no such field without "checkpoint" of the scenario, found "in-place"',
    ],
    [
      '{"name": "x", "checkpoint": {"interval": 0.5}, "configurations": {"c": {"storage": "DRAM", "checkpoint": "in-place"}}}',
      'expected "full" or "delta" with storage "DRAM", found "in-place"',
    ],
    [
      '{"name": "x", "checkpoint": {"interval": 0.5}, "configurations": {"c": {"storage": "DRAM_PMEM", "pmem": "memkind", ' +
      '"checkpoint": "in-place"}}}',
      "memory is volatile",
    ],
    [
      '{"name": "x", "checkpoint": {"interval": 0.5}, "configurations": {"c": {"storage": "DRAM_LEVELDB", ' +
      '"checkpoint": "in-place"}}}',
      "LEVELDB keeps none",
    ],
    [
      '{"name": "x", "checkpoint": {"interval": 0.5}, "cluster": {"ranks": 2}, "configurations": {"c": ' +
      '{"storage": "DRAM_SSDHASH", "checkpoint": "in-place"}}}',
      "ranks write files",
    ],
    [FIELDS('"checkpoint": {"interval": 0}'), 'expected "none", a whole number of steps, or a share of them'],
    [FIELDS('"checkpoint": {"interval": 1.5}'), 'expected "none", a whole number of steps, or a share of them'],
    [FIELDS('"checkpoint": {"interval": "often"}'), "checkpoint.interval: expected"],
    [FIELDS('"checkpoint": {"kind": "half"}'), "checkpoint.kind: expected"],
    [FIELDS('"checkpoint": {"every": 2}'), 'checkpoint.every: unknown field "every"'],
    [FIELDS('"matrix": {"checkpoint.interval": ["none", 0.5, -1]}'), "matrix.checkpoint.interval[2]: expected"],
    [FIELDS('"matrix": {"workload.batch": 5}'), "matrix.workload.batch: expected a list of values, found 5"],
    [FIELDS('"matrix": {"workload.batch": []}'), "expected at least one value"],
    [FIELDS('"matrix": {"workload.batch": [1, "x"]}'), "matrix.workload.batch[1]: expected a whole number"],
    [
      FIELDS('"matrix": {"workload.btch": [1]}'),
      'matrix.workload.btch: unknown field "btch"\n    did you mean "batch"?',
    ],
    [FIELDS('"matrix": {"repetitions": [3]}'), "which belongs to the whole run"],
    [
      FIELDS('"matrix": {"configurations.drma.storage": ["DRAM_PMEM"]}'),
      'unknown configuration "drma"\n    did you mean "dram"?',
    ],
    [FIELDS('"workload": []'), "workload: expected an object, found []"],
  ] as const
) {
  Deno.test(`parseScenario() refuses ${text.slice(0, 110) || "an empty file"}`, async () => {
    assertStringIncludes(await problemsOf(text), expected);
  });
}

Deno.test("parseScenario() fills every default in and turns sizes into bytes", async () => {
  const scenario = await parseScenario(
    `{"name": "x", "dram": "24 MiB", "budget": "2 min", "configurations": {"f": {"storage": "DRAM_PMEM",
      "pmem": "libpmem", "path": "pool", "size": ["24 MiB", "1 GB"]}},}`,
    { file: "x", directory: "/data" },
  );
  assertEquals([scenario.dram, scenario.budget, scenario.repetitions, scenario.workload.batch], [
    25165824,
    120,
    3,
    2048,
  ]);
  assertEquals(scenario.configurations["f"]?.size, [25165824, 1e9]);
  assertEquals(scenario.configurations["f"]?.path, "/data/pool");
  assertEquals(scenario.cost, {
    model: "cloud",
    prices: "2026-11",
    boundary: "checkpoints",
    bill: { workers: 1, worker: "p4d.24xlarge", data: 1e12, checkpoints: 2 },
    priceFor: 5e11,
  });
  assertEquals(scenario.workload.optimizer.deep, { adagrad: { learningRate: 0.01, initialAccumulator: 0.1 } });
});

Deno.test("parseScenario() fills the bill in, and finds price files beside the scenario", async () => {
  const text = `{"name": "x", "configurations": {"d": {"storage": "DRAM"}}, "cost": {"model": "owned",
    "priceFiles": ["mine.csv", "/else/other.csv"], "boundary": "checkpoints", "bill": {"worker": 12.5, "data": "3 TB"}}}`;
  const { cost } = await parseScenario(text, { file: "x", directory: "/data" });
  assertEquals([cost.model, cost.boundary], ["owned", "checkpoints"]);
  assertEquals(cost.priceFiles, ["/data/mine.csv", "/else/other.csv"]);
  assertEquals(cost.bill, { workers: 1, worker: 12.5, data: 3e12, checkpoints: 2 });
});

Deno.test("parseScenario() says where each tier's files are, and who moves rows", async () => {
  const one = async (fields: string) => {
    const text = `{"name": "x", "configurations": {"c": {${fields}}}}`;
    const { configurations: { c } } = await parseScenario(text, { file: "x", directory: "/data" });
    const { storage, about, sizeCounts, ...others } = c ?? { storage: "", about: "", sizeCounts: "" };
    assertEquals([about, sizeCounts, storage === ""], ["", "all", false]);
    return others;
  };
  const moving = { policy: "clock", evictionThreads: 1 };
  const media = "optane-100-6x256";
  assertEquals(await one('"storage": "SSDHASH"'), { ssdPath: "auto" });
  assertEquals(await one('"storage": "DRAM_LEVELDB", "path": "ssd"'), { ssdPath: "/data/ssd", ...moving });
  assertEquals(await one('"storage": "DRAM_SSDHASH", "ssdPath": "ssd", "policy": "lru", "evictionThreads": 0'), {
    ssdPath: "/data/ssd",
    policy: "lru",
    evictionThreads: 0,
  });
  // With libpmem, `path` is on PMEM and never the place of a disk's files.
  const both = '"storage": "DRAM_PMEM_SSDHASH", "pmem": "libpmem", "path": "pool"';
  assertEquals(await one(both), { pmem: "libpmem", path: "/data/pool", ssdPath: "auto", ...moving, media });
  assertEquals(await one('"storage": "DRAM_PMEM_LEVELDB", "pmem": "memkind", "path": "ssd"'), {
    pmem: "memkind",
    ssdPath: "/data/ssd",
    nodes: "auto",
    ...moving,
    media,
  });
});

Deno.test("resolveScenario() of a resolved scenario changes nothing", async () => {
  const batch = fc.record({
    batch: fc.integer({ min: 1, max: 1e6 }),
    steps: fc.oneof(fc.constant("auto" as const), fc.integer({ min: 1, max: 100 })),
    optimizer: fc.constantFrom({ deep: "sgd" as const }, { deep: "adagrad" as const }, {}),
    initializer: fc.constantFrom(
      "glorot" as const,
      { constant: 1 },
      { truncatedNormal: { mean: 1 } },
      { defaultValueMatrix: {} },
      { defaultValueMatrix: { rows: 7, base: { constant: 1 } } },
    ),
  }, { requiredKeys: [] });
  const dram = fc.constantFrom("auto" as const, "1 MiB", 65536);
  await fc.assert(
    fc.asyncProperty(batch, dram, async (workload, dram) => {
      const once = await resolveScenario({ ...FOUR, workload, dram });
      assertEquals(await resolveScenario(once), once);
      for (const storage of STORAGE_TYPES) {
        const configuration = {
          storage,
          ...(needsPmemLibrary(storage) ? { pmem: "libpmem" as const } : {}),
          ...(hasHbm(storage) ? { hbm: "mbind" as const } : {}),
        };
        const other = await resolveScenario({ ...FOUR, configurations: { one: configuration } });
        assertEquals(await resolveScenario(other), other);
      }
      assertEquals(JSON.parse(JSON.stringify(once)), once);
    }),
    { numRuns: 30 },
  );
});

Deno.test("shippedScenarios() are valid and name themselves after their files", async () => {
  const scenarios = await shippedScenarios();
  assert(scenarios.some(({ name }) => name === "pmem-modes"));
  for (const { name, file, about } of scenarios) {
    assert(file.endsWith(`/${name}.jsonc`), file);
    assert(about.length > 20);
  }
});

Deno.test("loadScenario() says what is not there", async () => {
  const error = await assertRejects(() => loadScenario("no/such.jsonc"), Deno.errors.NotFound);
  assertEquals(error.message, 'Cannot read the scenario: "no/such.jsonc" does not exist');
});

Deno.test("checkpoints of a scenario have defaults where it speaks of them, and are absent where it does not", async () => {
  const resolved = async (fields: string) =>
    (await parseScenario(FIELDS(fields), { file: "mine.jsonc", directory: "/mine" })).checkpoint;
  assertEquals(await resolved('"seed": 1'), undefined);
  assertEquals(await resolved('"checkpoint": {}'), { interval: "none", kind: "full", path: "auto" });
  assertEquals(await resolved('"checkpoint": {"interval": 0.25, "kind": "delta", "path": "disk"}'), {
    interval: 0.25,
    kind: "delta",
    path: "/mine/disk",
  });
});

Deno.test("a scenario's target is that of plans and simulations: set from outside, never varied, refused when empty", async () => {
  const written = FIELDS('"target": {"samplesPerSecond": 1000}');
  const source = { file: "mine.jsonc", directory: "/" };
  const { target } = await parseScenario(written, { ...source, set: { "target.p99Ms": 5 } });
  assertEquals(target, { samplesPerSecond: 1000, p99Ms: 5 });
  assertEquals((await parseScenario(FIELDS('"seed": 1'), source)).target, undefined);
  const refused = (fields: string, why: string) =>
    problemsOf(FIELDS(fields)).then((text) => assertStringIncludes(text, why));
  await refused('"target": {}', "target: expected samplesPerSecond, p99Ms or dollarsPerHour");
  await refused('"target": {"speed": 1}', 'unknown field "speed"');
  await refused('"matrix": {"target.samplesPerSecond": [1, 2]}', "target.samplesPerSecond");
});
