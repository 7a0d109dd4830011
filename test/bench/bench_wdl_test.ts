import "../native_library.ts";
import { parsePlan, PARTS } from "../../bench/wdl/plan.ts";
import { ContenderError } from "../../bench/contender.ts";
import { makeFbgemm, mklProblem } from "../../bench/wdl/fbgemm.ts";
import { blasProblem, compareLosses } from "../../bench/wdl/measure.ts";
import { contendersOf, type Measured, type Round, type Times, wdlRows, type Who } from "../../bench/wdl/rows.ts";
import type { BenchResult, BenchRow } from "../../bench/rows.ts";
import { WrongResultError } from "../../bench/setting.ts";
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes, assertThrows } from "../assert.ts";

const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/** Milliseconds of a step, the machine being as fast as `speed` just then. */
const STEP: Readonly<Record<Who, number>> = {
  floor: 60,
  "floor-bf16": 30,
  keep: 50,
  bf16: 32,
  samples: 80,
  "samples-bf16": 40,
  none: 120,
  all: 50,
  torch: 100,
  "torch-bf16": 70,
  fbgemm: 96,
  "fbgemm-bf16": 60,
};

function times(who: Who, speed: number): Times {
  return { seconds: STEP[who] * 1e-3 / speed, cpu: STEP[who] * 3e-3 / speed };
}

function measured(name: string, more: Partial<Measured> = {}, without: readonly Who[] = []): Measured {
  const who = (Object.keys(STEP) as Who[]).filter((one) => !without.includes(one));
  const rounds = [1, 2, 4].map((speed): Round => ({
    ...Object.fromEntries(who.map((one) => [one, times(one, speed)])),
    keep: { ...times("keep", speed), input: 0.001 * speed },
  }));
  const embedding = [1, 2, 4].map((speed) => ({
    keep: 1 / speed,
    torch: 8 / speed,
    fbgemm: 3 / speed,
    floor: 0.5 / speed,
  }));
  return {
    name,
    parts: PARTS,
    rounds,
    embedding,
    auc: { keep: 0.75, bf16: 0.7504 },
    staged: 0.003,
    absent: new Map(),
    ...more,
  };
}

function find(rows: readonly BenchRow[], name: string): BenchRow {
  const row = rows.find((one) => one.name === name);
  assert(row !== undefined, `${name} is not among ${rows.map((one) => one.name).join(", ")}`);
  return row;
}

Deno.test("wdlRows() pairs each round, however fast the machine just is", () => {
  const rows = wdlRows([measured("429 inputs")]);
  const expected: Readonly<Record<string, number>> = {
    "step/floor": 60 / 80,
    "step-bf16/floor": 30 / 40,
    "first-layer/samples fp32, 429 inputs": 80 / 50,
    "first-layer/samples bf16, 429 inputs": 40 / 32,
    "step/torch fp32, 429 inputs": 100 / 50,
    "step/torch bf16, 429 inputs": 70 / 32,
    "step/torch": 100 / 50,
    "step/torch-fbgemm": 96 / 50,
    "step-bf16/torch-fbgemm": 60 / 32,
    "embedding/torch": 8,
    "embedding/torch-fbgemm 429 inputs": 3,
    "embedding/floor 429 inputs": 0.5,
    "bf16/fp32": 2,
    "auc-difference bf16/fp32": 0.0004,
    "all/none": 120 / 50,
    "parse-share": 0.002,
    "parse-share of the stage, 429 inputs": 0.003,
    "parse-share waited for, 429 inputs": 0.002,
    "keep/none 429 inputs": 120 / 80,
    "keep/none bound 429 inputs": 120 / 60,
    "step/floor 429 inputs, processor time": 60 / 80,
    "time keep 429 inputs": 25,
    "cpu keep 429 inputs": 75,
  };
  for (const [name, value] of Object.entries(expected)) {
    const row = find(rows, name);
    assertAlmostEquals(row.value ?? NaN, value, 1e-9, name);
  }
  assertEquals(find(rows, "step/floor").atLeast, 0.9);
  assertEquals(find(rows, "parse-share").atMost, 0.02);
  assertEquals([find(rows, "keep/none 429 inputs").atLeast, find(rows, "keep/none 429 inputs").note], [
    undefined,
    "at most 2.00: none ÷ floor",
  ]);
  const names = rows.map(({ name }) => name);
  assertEquals(names.length, new Set(names).size);
});

Deno.test("wdlRows() gives the bar to the worse of two sizes", () => {
  const slow = measured("2189 inputs", { parts: ["floor"] });
  const rounds = slow.rounds.map((round): Round => ({ ...round, floor: times("floor", 2) }));
  const rows = wdlRows([measured("429 inputs"), { ...slow, rounds }]);
  const parts = ["429 inputs", "2189 inputs"].map((name) => find(rows, `step/floor ${name}`).value ?? NaN);
  const row = find(rows, "step/floor");
  assertEquals(row.value, Math.min(...parts));
  assertStringIncludes(row.note ?? "", "worst: ");
  // The second size has no other parts.
  assertEquals(rows.filter(({ name }) => /^(step.torch|all.none|keep.none).*2189/.test(name)), []);
  assertEquals(find(rows, "all/none").value, 120 / 50);
});

Deno.test("wdlRows() says why a row has no value", () => {
  const without = new Map<Who, string>([["torch", "no PyTorch"], ["torch-bf16", "no PyTorch"], ["bf16", "no BF16"], [
    "samples-bf16",
    "no BF16",
  ]]);
  const absent: readonly Who[] = ["torch", "torch-bf16", "bf16", "samples-bf16"];
  const less = measured("429 inputs", { absent: without, embedding: [{ keep: 1 }], auc: { keep: 0.7 } }, absent);
  const rows = wdlRows([less]);
  for (const name of ["step/torch", "embedding/torch"]) {
    assertEquals([find(rows, name).value, find(rows, name).note], [null, "not available: no PyTorch"]);
  }
  for (const name of ["step-bf16/floor", "bf16/fp32", "auc-difference bf16/fp32"]) {
    assertEquals([find(rows, name).value, find(rows, name).note], [null, "not available: no BF16"]);
  }
  assertAlmostEquals(find(rows, "step/floor").value ?? NaN, 0.75);
});

Deno.test("wdlRows() says of a floor without MKL that it is one of oneDNN alone", () => {
  const rows = wdlRows([measured("429 inputs", { withoutMkl: "no packages" })]);
  for (const name of ["step/floor", "step-bf16/floor"]) {
    assertStringIncludes(find(rows, name).note ?? "", "oneDNN's products alone: no packages");
  }
  assertEquals(find(rows, "step/torch-fbgemm 429 inputs").note, undefined);
});

Deno.test("contendersOf() has those that the parts need", () => {
  assertEquals(contendersOf(["floor"]).toSorted(), ["bf16", "floor", "floor-bf16", "keep", "samples", "samples-bf16"]);
  assertEquals(contendersOf(["switches"]).toSorted(), ["all", "floor", "none", "samples"]);
  assertEquals(contendersOf(["input"]), ["keep"]);
  assertEquals(contendersOf(["fbgemm"]).toSorted(), ["bf16", "fbgemm", "fbgemm-bf16", "keep"]);
  assertEquals(contendersOf(["embedding"]), []);
});

Deno.test("compareLosses() refuses contenders that do not train the same", () => {
  compareLosses(new Map<Who, number>([["keep", 0.5], ["torch", 0.52], ["samples", 0.51], ["none", 0.51]]));
  const far = new Map<Who, number>([["keep", 0.5], ["torch", 0.6]]);
  assertThrows(() => compareLosses(far), WrongResultError, '"keep" with "torch"');
  for (const [ours, theirs] of [["keep", "fbgemm"], ["bf16", "fbgemm-bf16"]] as const) {
    const apart = new Map<Who, number>([[ours, 0.5], [theirs, 0.6]]);
    assertThrows(() => compareLosses(apart), WrongResultError, `"${ours}" with "${theirs}"`);
  }
  // Switches that keep results keep every bit.
  const other = new Map<Who, number>([["samples", 0.5], ["none", 0.5000001]]);
  assertThrows(() => compareLosses(other), WrongResultError, '"samples" with "none"');
});

Deno.test("blasProblem() refuses the reference BLAS", () => {
  assertEquals(blasProblem("/usr/lib/x86_64-linux-gnu/openblas-openmp/libblas.so.3"), undefined);
  assertStringIncludes(blasProblem("/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0") ?? "", "libopenblas0-openmp");
});

Deno.test("mklProblem() wants MKL with the fastest instructions of the CPU, and no other library", () => {
  const [avx2, avx512] = [new Set(["avx2"]), new Set(["avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl"])];
  assertEquals(mklProblem("mkl-2024.2:avx2", avx2), undefined);
  assertEquals(mklProblem("mkl-2024.2:avx512_e1", avx512), undefined);
  assertStringIncludes(mklProblem("mkl-2024.2:avx2", avx512) ?? "", "avx2 where this CPU has avx512");
  assertStringIncludes(mklProblem("mkl-2024.2:branch-2", avx2) ?? "", "branch-2 where this CPU has avx2");
  assertEquals(mklProblem("mkl-2024.2:branch-2", new Set(["sse4_2"])), undefined);
  assertStringIncludes(mklProblem("/v/numpy.libs/libscipy_openblas64_.so", avx2) ?? "", "which is not MKL");
});

Deno.test("makeFbgemm() names what is missing, says what it downloads, and makes nothing twice", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const said: string[] = [];
    const say = (text: string): void => void said.push(text);
    const at = { say, folder: `${folder}/env`, packages: ["some==1.0"] };
    assertThrows(() => makeFbgemm({ ...at, python: `${folder}/none` }), ContenderError, "is not installed");
    assertStringIncludes(said.join(), "downloads some==1.0");

    // A Python whose environments have a pip that finds nothing, then one that finds all.
    const python = `${folder}/python`;
    const pip = (end: string): string =>
      `#!/bin/sh\nmkdir -p "$4/bin" "$4/lib/python3.11"\nprintf '#!/bin/sh\\n${end}\\n' > "$4/bin/python"\nchmod +x "$4/bin/python"\n`;
    const write = (text: string): void => Deno.writeTextFileSync(python, text, { mode: 0o755 });
    write(pip("echo retried >&2; echo ERROR: no matching some >&2; echo hint >&2; exit 1"));
    assertThrows(() => makeFbgemm({ ...at, python }), ContenderError, "install some==1.0: no matching some; ");
    write(pip("exit 0"));
    const made = makeFbgemm({ ...at, python });
    assertEquals(made.mkl, `${folder}/env/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so`);
    assertStringIncludes(made.env["LD_PRELOAD"] ?? "", "mkl_every_cpu.so");
    const before = said.length;
    assertEquals(makeFbgemm({ ...at, python: `${folder}/none` }), made);
    assertEquals(said.length, before);
    // Another version is another environment.
    assertThrows(() => makeFbgemm({ ...at, packages: ["some==2.0"], python: `${folder}/none` }), ContenderError);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("parsePlan() of bench:wdl adds the reference configuration with --full, and refuses what it does not know", () => {
  const places = { scratch: "/s", library: "/l", out: "/o" };
  const plan = parsePlan([], places);
  assertEquals([plan.full, plan.threads, plan.parts, plan.models.map(({ name }) => name)], [
    false,
    2,
    PARTS.filter((part) => part !== "fbgemm"),
    ["429 inputs"],
  ]);
  const full = parsePlan(["--full", "--rounds=3", "--threads=4", "--only=floor,torch"], places);
  assertEquals([full.rounds, full.threads, full.parts], [3, 4, ["floor", "torch"]]);
  const all = parsePlan(["--full"], places);
  assertEquals(all.parts, PARTS);
  assertEquals(all.models.map(({ name, parts }) => [name, parts.length]), [
    ["429 inputs", PARTS.length],
    ["1677 inputs", 2],
    ["3341 inputs", 2],
    ["2189 inputs", PARTS.length],
  ]);
  const wide = parsePlan(["--only=fbgemm,bf16", "--dims=64,128"], places);
  assertEquals(wide.models.map(({ name, dims, parts }) => [name, dims, parts]), [
    ["1677 inputs", "64", ["fbgemm"]],
    ["3341 inputs", "128", ["fbgemm"]],
  ]);
  assertThrows(() => parsePlan(["--dims=32"], places), RangeError, "--dims=32");
  assertThrows(() => parsePlan(["--dims=64", "--only=bf16"], places), RangeError, "rows of 64 weights");
  const dims = all.models.at(-1)?.dims.split(",").map(Number) ?? [];
  assertEquals([dims.length, 13 + dims.reduce((sum, dim) => sum + dim, 0)], [26, 2189]);
  assertThrows(() => parsePlan(["--keys=5"], places), RangeError, '"--keys=5"');
  assertThrows(() => parsePlan(["--rounds=0"], places), RangeError, "--rounds=0");
  assertThrows(() => parsePlan(["--only=gpu"], places), RangeError, '"gpu"');
});

Deno.test("bench:wdl runs: floor and ours train on the same batches, and all rows are written", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const out = `${folder}/bench-wdl.json`;
    const small = [
      "--rounds=1",
      "--warmup=1",
      "--steps=1",
      "--rows=20480",
      "--only=floor,input",
      `--scratch=${folder}`,
      `--out=${out}`,
    ];
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", `${root}bench/wdl/main.ts`, ...small],
      stdin: "null",
    }).output();
    assert(success, new TextDecoder().decode(stderr));
    const { machine, rows } = JSON.parse(await Deno.readTextFile(out)) as BenchResult;
    assertEquals([machine["rows"], machine["full"]], [20480, false]);
    assert((find(rows, "step/floor").value ?? 0) > 0);
    assert((find(rows, "parse-share").value ?? -1) >= 0);
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["bench-wdl.json"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
