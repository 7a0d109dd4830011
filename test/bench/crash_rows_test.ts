import { crashRows, parseLab } from "../../bench/crash/rows.ts";
import { assertEquals, assertThrows } from "../assert.ts";

const SAID = `checkpoints.runs=3
checkpoints.points=5100
checkpoints.images=40000
checkpoints.faults=70
checkpoints.wrong=2
checkpoints.bugs=46
checkpoints.bugs-found=45
checkpoints.syncs-wasted=1
`;

Deno.test("parseLab() reads the crash lab's counts, and refuses what ended before", () => {
  assertEquals(parseLab(SAID), {
    points: 5100,
    images: 40000,
    faults: 70,
    wrong: 2,
    bugs: 46,
    bugsFound: 45,
    syncsWasted: 1,
  });
  assertThrows(() => parseLab(SAID.split("checkpoints.bugs=")[0] ?? ""), SyntaxError, "checkpoints.bugs=");
});

Deno.test("crashRows() counts what was wrong of points and kills together, with the bars", () => {
  const rows = crashRows(parseLab(SAID), { kills: 12, wrong: ["process 3 lost a step"] }, { points: 5000, kills: 12 });
  assertEquals(rows.map(({ name, value, atLeast, atMost }) => [name, value, atLeast ?? null, atMost ?? null]), [
    ["crash/points", 5100, 5000, null],
    ["crash/wrong", 3, null, 0],
    ["crash/mutants-found", 45 / 46, 1, null],
    ["crash/wasted-flushes", 1, null, 0],
    ["crash/kills", 12, 12, null],
  ]);
  assertEquals(rows[1]?.note, "process 3 lost a step");
});
