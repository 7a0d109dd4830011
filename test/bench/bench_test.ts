import { ContenderError, numberOf, parseAnswer, words } from "../../bench/contender.ts";
import { parsePlan, PARTS } from "../../bench/plan.ts";
import { processorName } from "../../bench/program.ts";
import {
  BARS,
  type BenchResult,
  type BenchRow,
  missingRow,
  ratioRow,
  reached,
  resultJson,
  tableRows,
  worstRow,
} from "../../bench/rows.ts";
import { starvedText } from "../../bench/setting.ts";
import { type Cell, speedRows } from "../../bench/speed.ts";
import { knowsWithoutEmulation } from "../../bench/variants.ts";
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes, assertThrows } from "../assert.ts";

const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);

function row(name: string, value: number | null): BenchRow {
  return { name, value, low: value, high: value, unit: "ratio" };
}

Deno.test("ratioRow() gives the median within its interval, the same each time", () => {
  const ratios = [0.9, 1.1, 1.0, 5.0, 0.8];
  const one = ratioRow("lookup/floor uniform", ratios);
  assertEquals(one.value, 1.0);
  assert(one.low !== null && one.low >= 0.8 && one.low < 1.0, `${one.low}`);
  assert(one.high !== null && one.high > 1.0 && one.high <= 5.0, `${one.high}`);
  assertEquals(ratioRow("lookup/floor uniform", ratios), one);
  const alone = ratioRow("memory/rows", [1.2]);
  assertEquals([alone.value, alone.low, alone.high], [1.2, null, null]);
  assertThrows(() => ratioRow("x", []), RangeError, "no rounds");
  assertThrows(() => ratioRow("x", [1, NaN]), RangeError, "NaN");
});

Deno.test("starvedText() tells a round whose threads had no processor of one whose threads ran", () => {
  assertEquals(starvedText({ seconds: "0.5", cpu: "0.98" }, 2), undefined);
  assertEquals(starvedText({ seconds: "0.5", cpu: "0.49" }, 1), undefined);
  assertStringIncludes(starvedText({ seconds: "0.505", cpu: "0.545" }, 2) ?? "", "ran for 54 % of a round");
  assertThrows(() => starvedText({ seconds: "0.5" }, 1), ContenderError, '"cpu"');
});

Deno.test("worstRow() takes the least of what should be large and the most of what should be small", () => {
  const large = worstRow("lookup/floor", [row("lookup/floor uniform", 0.9), row("lookup/floor Zipf 1.2", 0.7)]);
  assertEquals([large.name, large.value, large.atLeast, large.note], [
    "lookup/floor",
    0.7,
    0.85,
    "worst: Zipf 1.2",
  ]);
  const small = worstRow("memory/rows", [row("memory/rows a", 1.1), row("memory/rows b", 1.2)]);
  assertEquals([small.value, small.atMost, small.atLeast], [1.2, 1.15, undefined]);
});

Deno.test("worstRow() is not measured when one of its parts is not", () => {
  const worst = worstRow("lookup/tbb", [row("lookup/tbb uniform", 9), missingRow("lookup/tbb", "no headers")]);
  assertEquals([worst.value, worst.note], [null, "not available: no headers"]);
  assertEquals(worstRow("lookup/tbb", []).value, null);
  assertThrows(() => worstRow("lookup/other", [row("a", 1)]), RangeError, "no bar");
});

Deno.test("reached() compares with the bar, from the right side", () => {
  assertEquals(reached({ ...row("a", 0.85), atLeast: 0.85 }), true);
  assertEquals(reached({ ...row("a", 0.84), atLeast: 0.85 }), false);
  assertEquals(reached({ ...row("a", 1.2), atMost: 1.15 }), false);
  assertEquals(reached(row("a", 1)), undefined);
  assertEquals(reached({ ...row("a", null), atLeast: 1 }), undefined);
});

Deno.test("BARS are those of the documentation", async () => {
  const text = await Deno.readTextFile(`${root}docs/performance.md`);
  for (const [name, bar] of Object.entries(BARS)) {
    const sign = "atLeast" in bar ? `≥ ${bar.atLeast}` : `≤ ${bar.atMost}`;
    const line = text.split("\n").find((line) => line.startsWith(`| \`${name}\``)) ?? "";
    assertStringIncludes(line, sign, `docs/performance.md on ${name}`);
  }
});

Deno.test("processorName() tells generations of one name apart", () => {
  const cpuinfo = (family: number): string =>
    `vendor_id\t: AuthenticAMD\ncpu family\t: ${family}\nmodel\t\t: 2\nmodel name\t: AMD EPYC\nstepping\t: 1\n`;
  assertEquals(processorName(cpuinfo(26)), "AMD EPYC (family 26, model 2)");
  assertEquals(processorName(cpuinfo(25)), "AMD EPYC (family 25, model 2)");
  assertEquals(processorName("processor\t: 0\nBogoMIPS\t: 50.00\n"), "");
  assertEquals(processorName("model name\t: Some CPU\n"), "Some CPU");
});

Deno.test("resultJson() has the machine and rows, those with a bar first, each once", () => {
  const rows = [row("rate x", 3), missingRow("memory/rows", "why"), worstRow("lookup/floor", [row("a", 1)])];
  const result = JSON.parse(resultJson({ cpu: "some", keys: 5 }, rows)) as BenchResult;
  assertEquals(Object.keys(result), ["machine", "rows"]);
  assertEquals(result.rows.map(({ name }) => name), ["lookup/floor", "memory/rows", "rate x"]);
  for (const one of result.rows) {
    for (const key of ["name", "value", "low", "high", "unit"]) assert(key in one, `${one.name} has no ${key}`);
  }
  assertThrows(() => resultJson({}, [row("a", 1), row("a", 2)]), RangeError, 'the row "a" comes twice');
});

Deno.test("tableRows() shows value, interval, bar and verdict", () => {
  const [head, first, second] = tableRows([
    { name: "lookup/floor", value: 0.5, low: 0.4, high: 0.6, unit: "ratio", atLeast: 0.85 },
    missingRow("memory/rows", "why"),
  ]);
  assertEquals(head?.length, first?.length);
  assertEquals(first, ["lookup/floor", "0.500", "0.400 – 0.600", "≥ 0.85", "MISSED", ""]);
  assertEquals(second, ["memory/rows", "–", "", "≤ 1.15", "", "not available: why"]);
});

Deno.test("speedRows() pairs each round, takes two threads for the bars, and the worst distribution", () => {
  // Ours is half of the floor on two threads and equal on one, in every round, however fast the machine just is.
  const cell = (kind: Cell["kind"], distribution: string, factor: number): Cell => ({
    kind,
    distribution,
    rounds: [1, 2, 4].map((speed) => ({
      floor: [10 * speed, 20 * speed],
      ours: [10 * speed, 10 * factor * speed],
      absl: [5 * speed, 5 * speed],
    })),
  });
  const cells = [cell("lookup", "uniform", 1), cell("lookup", "Zipf 0.9", 1.6), cell("step", "uniform", 1.2)];
  const rows = speedRows(cells, new Map([["tbb", "libtbb-dev"]]));
  const value = (name: string): number => rows.find((one) => one.name === name)?.value ?? NaN;
  assertAlmostEquals(value("lookup/floor"), 0.5);
  assertAlmostEquals(value("lookup/floor Zipf 0.9"), 0.8);
  assertAlmostEquals(value("lookup/floor uniform, 1 thread"), 1);
  assertAlmostEquals(value("update/floor"), 0.6);
  assertAlmostEquals(value("lookup/absl"), 2);
  assertAlmostEquals(value("scaling/floor-scaling"), 0.5);
  assertEquals(rows.find(({ name }) => name === "update/tbb")?.note, "not available: tbb needs libtbb-dev");
  const names = rows.map(({ name }) => name);
  assertEquals(names.length, new Set(names).size);
});

Deno.test("parseAnswer() reads words and throws what the contender said", () => {
  assertEquals(parseAnswer("ok rate=1.5 keys=3"), { rate: "1.5", keys: "3" });
  assertEquals(parseAnswer("ok"), {});
  assertEquals(numberOf(parseAnswer("ok rate=1.5"), "rate"), 1.5);
  assertThrows(() => numberOf({ rate: "x" }, "rate"), ContenderError);
  assertThrows(() => parseAnswer("error Cannot do that"), ContenderError, "Cannot do that");
  assertThrows(() => parseAnswer("nonsense"), ContenderError, "nonsense");
  assertEquals(words({ a: 1, b: "x" }), " a=1 b=x");
  assertThrows(() => words({ path: "/a b" }), RangeError, "space");
});

Deno.test("parsePlan() is short by default, and refuses what it does not know", () => {
  const places = { scratch: "/s", library: "/l", out: "/o" };
  const plan = parsePlan([], places);
  assertEquals([plan.full, plan.keys, plan.parts, plan.scratch, plan.library, plan.out], [
    false,
    2_000_000,
    PARTS,
    "/s",
    "/l",
    "/o",
  ]);
  assertEquals(parsePlan(["--full"], places).keys, 10_000_000);
  assertEquals(parsePlan(["--keys=50_000", "--only=speed,ssd"], places).parts, ["speed", "ssd"]);
  assertThrows(() => parsePlan(["--fast"], places), RangeError, '"--fast"');
  assertThrows(() => parsePlan(["--keys=x"], places), RangeError, "--keys=x");
  assertThrows(() => parsePlan(["--only=gpu"], places), RangeError, '"gpu"');
});

Deno.test("knowsWithoutEmulation() looks into the sources of the library", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${folder}/store`);
    await Deno.writeTextFile(`${folder}/store/a.c`, "int a;\n");
    assertEquals(knowsWithoutEmulation(folder), false);
    await Deno.writeTextFile(`${folder}/store/b.h`, "#ifdef TS_WITHOUT_EMULATION\n#endif\n");
    assertEquals(knowsWithoutEmulation(folder), true);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("bench:store runs: floor, ours and the peers that are here hold equal rows, and all rows are written", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const out = `${folder}/bench-store.json`;
    const small = [
      "--keys=50000",
      "--rounds=1",
      "--ms=2",
      "--only=speed,memory",
      `--scratch=${folder}`,
      `--out=${out}`,
    ];
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", `${root}bench/main.ts`, ...small],
      stdin: "null",
    }).output();
    assert(success, new TextDecoder().decode(stderr));
    const { machine, rows } = JSON.parse(await Deno.readTextFile(out)) as BenchResult;
    assertEquals([machine["keys"], machine["full"]], [50_000, false]);
    for (const name of ["lookup/floor", "update/floor", "scaling/floor-scaling", "memory/rows"]) {
      const one = rows.find((found) => found.name === name);
      assert((one?.value ?? 0) > 0, `${name}: ${JSON.stringify(one)}`);
    }
    assertStringIncludes(new TextDecoder().decode(stdout), "0.05 million keys");
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["bench-store.json"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
