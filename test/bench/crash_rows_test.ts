import { crashPage } from "../../bench/crash/page.ts";
import { parsePlan, partOf, PARTS } from "../../bench/crash/plan.ts";
import { crashRows, deltaRow, parseLab, parseSubjects, recoveryRow, slowdownRows } from "../../bench/crash/rows.ts";
import { TEN_MINUTE_UPDATES } from "../../bench/crash/ten_minutes.ts";
import { assertAlmostEquals, assertEquals, assertStringIncludes, assertThrows } from "../assert.ts";

const SAID = `checkpoints.runs=3
checkpoints.continued=2
checkpoints.tampered=1
checkpoints.points=5100
checkpoints.images=40000
checkpoints.faults=70
checkpoints.wrong=2
checkpoints.bugs=46
checkpoints.bugs-found=45
checkpoints.syncs-wasted=1
store.runs=3
store.continued=2
store.tampered=1
store.points=400
store.images=2000
store.faults=30
store.wrong=0
store.bugs=4
store.bugs-found=4
store.syncs-wasted=0
pmem-fsdax.runs=3
pmem-fsdax.continued=2
pmem-fsdax.tampered=1
pmem-fsdax.points=300
pmem-fsdax.images=200
pmem-fsdax.faults=10
pmem-fsdax.wrong=1
pmem-fsdax.bugs=30
pmem-fsdax.bugs-found=30
pmem-fsdax.syncs-wasted=0
pmem-file.runs=3
pmem-file.continued=2
pmem-file.tampered=1
pmem-file.points=200
pmem-file.images=100
pmem-file.faults=5
pmem-file.wrong=0
points-ssdhash.runs=3
points-ssdhash.continued=2
points-ssdhash.tampered=1
points-ssdhash.points=10
points-ssdhash.images=20
points-ssdhash.faults=2
points-ssdhash.wrong=0
points-ssdhash.bugs=10
points-ssdhash.bugs-found=10
points-ssdhash.syncs-wasted=0
points-dram-ssdhash.runs=3
points-dram-ssdhash.continued=2
points-dram-ssdhash.tampered=1
points-dram-ssdhash.points=10
points-dram-ssdhash.images=20
points-dram-ssdhash.faults=2
points-dram-ssdhash.wrong=0
points-dram-pmem-ssdhash.runs=3
points-dram-pmem-ssdhash.continued=2
points-dram-pmem-ssdhash.tampered=1
points-dram-pmem-ssdhash.points=10
points-dram-pmem-ssdhash.images=20
points-dram-pmem-ssdhash.faults=2
points-dram-pmem-ssdhash.wrong=0
points-pmem.runs=3
points-pmem.continued=2
points-pmem.tampered=1
points-pmem.points=10
points-pmem.images=20
points-pmem.faults=2
points-pmem.wrong=0
points-dram-pmem.runs=3
points-dram-pmem.continued=2
points-dram-pmem.tampered=1
points-dram-pmem.points=10
points-dram-pmem.images=20
points-dram-pmem.faults=2
points-dram-pmem.wrong=0
`;

Deno.test("parseLab() reads the crash lab's counts, and refuses what ended before", () => {
  assertEquals(parseLab(SAID), {
    points: 6050,
    images: 42400,
    faults: 125,
    wrong: 3,
    bugs: 90,
    bugsFound: 89,
    syncsWasted: 1,
  });
  assertThrows(() => parseLab(SAID.replace("store.bugs=4\n", "")), SyntaxError, "store.bugs=");
  assertThrows(() => parseLab(SAID.split("pmem-file.points")[0] ?? ""), SyntaxError, "pmem-file.points=");
});

const KILLED = { kills: 12, inPlace: { SSDHASH: 3, DRAM_PMEM: 4 }, wrong: ["process 3 lost a step"] };

Deno.test("crashRows() counts what was wrong of points and kills together, with the bars", () => {
  const rows = crashRows(parseLab(SAID), KILLED, { points: 5000, kills: 12 });
  assertEquals(rows.map(({ name, value, atLeast, atMost }) => [name, value, atLeast ?? null, atMost ?? null]), [
    ["crash/points", 6050, 5000, null],
    ["crash/wrong", 4, null, 0],
    ["crash/mutants-found", 89 / 90, 1, null],
    ["crash/wasted-flushes", 1, null, 0],
    ["crash/kills", 12, 12, null],
  ]);
  assertEquals(rows[1]?.note, "process 3 lost a step");
  assertEquals(rows[4]?.note, "SIGKILL; with restore points 3 SSDHASH, 4 DRAM_PMEM");
});

Deno.test("rows of what checkpoints cost: points scaled to ten minutes, delta by full, dd's time by the restore's", () => {
  // Ten times as many updates a row put down as ten minutes have, then as many: a tenth of what was measured, and all of it.
  const pair = (ratio: number, updates: number) => ({
    without: 2,
    with: 2 * ratio,
    withoutProcessor: 4,
    withProcessor: 5,
    updates,
    rows: 1000,
  });
  const [tenth, whole] = [100 * TEN_MINUTE_UPDATES, 1000 * TEN_MINUTE_UPDATES];
  const slowdowns = {
    SSDHASH: [1.5, 1.25, 1].map((ratio) => pair(ratio, tenth)),
    PMEM: [pair(1.125, whole)],
    files: [pair(3, 0)],
  };
  const rows = [
    ...slowdownRows({ slowdowns, steps: 24 }),
    deltaRow({ full: 800, delta: 100 }),
    recoveryRow({ restores: [{ dd: 1, restore: 4, restoreProcessor: 2 }], restoredBytes: 8e6 }),
  ];
  const expected = [
    ["checkpoint/slowdown", 1.025, null, 1.01],
    ["checkpoint/slowdown/processor", 1.025, null, null],
    ["checkpoint/slowdown-pmem", 1.125, null, 1.01],
    ["checkpoint/slowdown-pmem/processor", 1.25, null, null],
    ["checkpoint/slowdown-files", 3, null, null],
    ["checkpoint/slowdown-files/processor", 1.25, null, null],
    ["delta/full", 0.125, null, 1 / 6],
    ["recovery/dd", 0.25, 0.5, null],
  ] as const;
  assertEquals(rows.length, expected.length);
  for (const [i, [name, value, least, most]] of expected.entries()) {
    const row = rows[i];
    assertEquals([row?.name, row?.atLeast ?? null, row?.atMost ?? null], [name, least, most]);
    assertAlmostEquals(row?.value ?? 0, value, 1e-12);
  }
  assertStringIncludes(rows[0]?.note ?? "", "2.50 % of throughput; restore points in SSDHASH below DRAM; ");
  assertStringIncludes(
    rows[0]?.note ?? "",
    "measured × 1.250, one after each 24 steps, which take 2.00 s; 500 ms more",
  );
  assertStringIncludes(rows[0]?.note ?? "", "28 updates a row put down: in ten minutes 284");
  assertEquals(
    rows.at(-1)?.note,
    "restore 2 MB/s, by processor time 4 MB/s; dd 8 MB/s; 0.250 to 0.250 of 1; DRAM, page cache dropped",
  );
});

Deno.test("crashPage() shows points, images, faults and bugs of each thing under test and of all", () => {
  const subjects = parseSubjects(SAID);
  assertEquals(subjects.length, 9);
  assertEquals(subjects[0], {
    name: "checkpoints",
    runs: 3,
    points: 5100,
    images: 40000,
    continued: 2,
    faults: 70,
    tampered: 1,
    wrong: 2,
    bugs: { seeded: 46, found: 45 },
  });
  assertThrows(() => parseSubjects(SAID.replace("pmem-file.faults=5\n", "")), SyntaxError, "pmem-file.faults=");
  const rows = crashRows(parseLab(SAID), { kills: 12, inPlace: {}, wrong: [] }, { points: 5000, kills: 12 });
  const page = crashPage({ started: "2026-11-23 09:00 UTC", machine: "a CPU <two>", subjects, rows });
  const cells = (name: string): string[] => {
    const line = page.split("<tr>").find((row) => row.replaceAll(/<[^>]*>/g, "").includes(name)) ?? "";
    return [...line.matchAll(/<td[^>]*>([^<]*)</g)].map(([, text = ""]) => text);
  };
  assertEquals(cells("in files"), ["3", "5,100", "40,000", "2", "70", "1", "2", "45 of 46"]);
  assertEquals(cells("another file system"), ["3", "200", "100", "2", "5", "1", "0", "–"]);
  assertEquals(cells("all of them"), ["27", "6,050", "42,400", "18", "125", "9", "3", "89 of 90"]);
  assertStringIncludes(page, "a CPU &lt;two&gt;");
  assertStringIncludes(page, "MISSED");
  assertEquals([...page.matchAll(/(?:src|href)="(?!data:|#)/g)].length, 0);
});

Deno.test("parsePlan() of crash takes parts and sizes, and every row has its part", () => {
  const places = { out: "crash.json" };
  assertEquals(parsePlan([], places), { full: false, parts: PARTS, out: "crash.json" });
  assertEquals(parsePlan(["--full", "--only=recovery,delta", "--out=a.json"], places), {
    full: true,
    parts: ["recovery", "delta"],
    out: "a.json",
  });
  assertThrows(() => parsePlan(["--only=restores"], places), RangeError, "expected lab, slowdown, delta, recovery");
  assertThrows(() => parsePlan(["--fast"], places), RangeError, "Usage: deno task crash");
  const names = ["crash/points", "checkpoint/slowdown-pmem/processor", "delta/full", "recovery/dd", "exchange/floor"];
  assertEquals(names.map(partOf), ["lab", "slowdown", "delta", "recovery", undefined]);
});
