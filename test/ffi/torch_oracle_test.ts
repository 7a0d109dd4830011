import "../native_library.ts";
import { assert, assertEquals, assertThrows } from "../assert.ts";
import { CASES, type OracleCase } from "../oracle/cases.ts";
import { difference } from "../oracle/difference.ts";
import { type OracleRun, trainOurs, writeData } from "../oracle/run.ts";
import { checkRecording, readRecording, recordingFile, trainTorch } from "../oracle/torch.ts";
import { pythonWithTorch } from "../../bench/wdl/python.ts";

const python = pythonWithTorch();

async function withOurs(
  settings: OracleCase,
  test: (run: OracleRun, inputs: string, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "tierbench " });
  try {
    await writeData(settings, folder);
    const { run, inputs } = await trainOurs(settings, folder);
    await test(run, inputs, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * Losses agree to rounding, which is some 1e-8, until the sum before a ReLU is so near zero that rounding decides its
 * sign. Then the two runs part, as PyTorch in single precision parts from PyTorch in double. The bounds leave room for that.
 */
function assertSame(settings: OracleCase, run: OracleRun, reference: OracleRun): void {
  const adam = settings.optimizer.startsWith("adam");
  const found = difference(run, reference);
  // Five steps are enough to see a wrong optimizer, and too few for runs that have parted to be far apart.
  const bounds = {
    step1: 1e-6,
    steps5: 1e-5,
    steps20: 1e-4,
    steps: adam ? 1e-2 : 1e-3,
    auc: 1e-3,
    logloss: 1e-3,
    moved: 0.1,
  };
  assertEquals([run.losses.length, reference.losses.length], [settings.steps, settings.steps]);
  assertEquals(Object.keys(run.moved).sort(), Object.keys(reference.moved).sort());
  const beyond = Object.entries(bounds).filter(([figure, bound]) => !(found[figure as keyof typeof bounds] <= bound));
  assertEquals(beyond, [], `${settings.name}: ${JSON.stringify(found)} is beyond these bounds`);
  // Every part learned, so every part was compared.
  for (const [name, moved] of Object.entries(reference.moved)) assert(moved > 0, `${name} did not move`);
}

Deno.test.each(CASES.map((settings) => [settings.name, settings] as const))(
  "%s trains as PyTorch did when it was recorded",
  async (name, settings) => {
    const recording = await readRecording(name);
    await withOurs(settings, (run, inputs) => {
      checkRecording(recording, settings, inputs);
      assertSame(settings, run, recording);
      return Promise.resolve();
    });
  },
);

for (const settings of CASES) {
  Deno.test({
    name: `${settings.name} trains as PyTorch does here (needs python3-torch)`,
    ignore: python === undefined,
    fn: () =>
      withOurs(settings, async (run, _inputs, folder) => {
        assertSame(settings, run, await trainTorch(python ?? "", folder));
      }),
  });
}

Deno.test("every recording has its case", async () => {
  const recorded = (await Array.fromAsync(Deno.readDir(new URL(".", recordingFile("x"))))).map(({ name }) => name);
  assertEquals(recorded.sort(), CASES.map(({ name }) => `${name}.json`).sort());
});

Deno.test("a recording of other settings or of other data is refused, and the way to a new one told", async () => {
  const [settings] = CASES;
  assert(settings !== undefined);
  const recording = await readRecording(settings.name);
  checkRecording(recording, settings, recording.inputs);
  const data = assertThrows(() => checkRecording(recording, settings, "0"), Error, "of other rows or initial values");
  assert(data.message.endsWith(`test/oracle/record.ts ${settings.name}`));
  assertThrows(() => checkRecording(recording, { ...settings, seed: 99 }, "0"), Error, "of other settings");
});

Deno.test("difference() finds what is apart, and what is missing", () => {
  const run: OracleRun = { losses: [1, 2, 4], auc: 0.75, logloss: 0.5, moved: { a: 1, b: 2 } };
  const same = difference(run, run);
  assertEquals([same.step1, same.steps5, same.steps20, same.steps, same.auc, same.moved], [0, 0, 0, 0, 0, 0]);
  const other = difference({ ...run, losses: [1, 2, 5], auc: 0.5, moved: { a: 1, b: 3 } }, run);
  assertEquals([other.step1, other.steps, other.auc, other.moved, other.movedMost], [0, 0.25, 0.25, 0.5, "b"]);
  assertEquals(difference({ ...run, losses: [1, 2], moved: { a: 1 } }, run).steps, NaN);
  assertEquals(difference({ ...run, moved: { a: 1 } }, run).moved, NaN);
});
