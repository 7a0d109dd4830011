// Energy of samples, over made-up counters: what is read of /sys/class/powercap, and what becomes of it.

import "../native_library.ts";
import { type EnergyReading, readEnergy } from "../../ffi/energy.ts";
import { renderReport } from "../../mod.ts";
import { EnergyMeter } from "../../scenarios/run/energy.ts";
import { toCsv } from "../../reports/export/csv.ts";
import { summarise } from "../../reports/summary/summary.ts";
import { runWith } from "../../scenarios/run/run.ts";
import { parseResultText, resultOf } from "../../scenarios/result.ts";
import { fixtureResult, toJsonLines } from "../fixtures/result_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { fakes, FOUR } from "./fakes.ts";

const ZONES = "sys/class/powercap";

/** Makes counters as the kernel shows them. */
async function zones(
  root: string,
  files: Readonly<Record<string, readonly [name: string, used: string]>>,
): Promise<void> {
  for (const [zone, [name, used]] of Object.entries(files)) {
    const folder = `${root}/${ZONES}/${zone}`;
    await Deno.mkdir(folder, { recursive: true });
    await Deno.writeTextFile(`${folder}/name`, `${name}\n`);
    await Deno.writeTextFile(`${folder}/max_energy_range_uj`, "262143328850\n");
    // What may not be read: root may read any file, but nobody a folder.
    if (used === "") await Deno.mkdir(`${folder}/energy_uj`);
    else await Deno.writeTextFile(`${folder}/energy_uj`, `${used}\n`);
  }
}

Deno.test("readEnergy() has packages and their memory, not what is within them, or says why there is none", async () => {
  const root = await Deno.makeTempDir();
  try {
    assertStringIncludes(readEnergy(root).missing ?? "", "no processor shows its energy in /sys/class/powercap");
    await zones(root, { "intel-rapl:0": ["package-0", ""] });
    assertStringIncludes(readEnergy(root).missing ?? "", "the kernel lets root alone read energy_uj");
    await Deno.remove(`${root}/${ZONES}/intel-rapl:0`, { recursive: true });
    await zones(root, {
      "intel-rapl:0": ["package-0", "262143328849"],
      "intel-rapl:0:0": ["core", "5"],
      "intel-rapl:0:1": ["dram", "7"],
      "intel-rapl:1": ["package-1", "0"],
      "intel-rapl:2": ["psys", "9"],
      "intel-rapl-mmio:0": ["package-0", "1"],
    });
    const range = 262_143_328_850;
    assertEquals(readEnergy(root), {
      zones: [
        { zone: "intel-rapl:0", of: "package", used: 262_143_328_849, range },
        { zone: "intel-rapl:0:1", of: "dram", used: 7, range },
        { zone: "intel-rapl:1", of: "package", used: 0, range },
      ],
    });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("EnergyMeter adds packages up, follows counters that run over, and leaves out what others use in between", () => {
  let now = 0, used = [990e6, 10e6, 1e6];
  const read = (): EnergyReading => ({
    zones: used.map((one, i) => ({
      zone: `intel-rapl:${i}`,
      of: i === 2 ? "dram" : "package",
      used: one % 1000e6,
      range: 1000e6,
    })),
  });
  const use = (seconds: number, more: readonly number[]) => {
    now += seconds * 1e3;
    used = used.map((one, i) => one + (more[i] ?? 0) * 1e6);
  };
  using meter = new EnergyMeter(read, () => now);
  meter.on();
  use(2, [30, 5, 1]); // over the end of the first
  meter.tick();
  use(1, [10, 0, 1]);
  meter.off();
  use(100, [500, 500, 500]); // of others
  meter.on();
  use(1, [4, 1, 0.5]);
  meter.off();
  assertEquals(meter.record, { seconds: 4, packageJoules: 50, dramJoules: 2.5 });
  using none = new EnergyMeter(() => ({ zones: [], missing: "why" }), () => now);
  none.on();
  use(1, []);
  none.off();
  assertEquals(none.record, undefined);
});

Deno.test("a report has joules and watts of each sample, or says why not; results keep both", () => {
  const result = fixtureResult({ samples: 1, steps: 20 }), { samples, run } = result;
  const plain = { ...result, run: { ...run, energyMissing: "no <counter>" } };
  assertStringIncludes(renderReport(plain), "Power was not measured: no &lt;counter&gt;.");
  const energy = { seconds: 4, packageJoules: 500, dramJoules: 50 };
  const powered = { ...result, samples: samples.map((one) => ({ ...one, energy })) };
  const page = renderReport(powered);
  assertStringIncludes(page, "<td>500</td><td>125</td><td>50.0</td><td>12.5</td>");
  assert(page.includes("idle power") && !page.includes("Power was not measured"));
  assert(!renderReport(result).includes("Power was not measured"), "an earlier version's result says nothing of it");
  assertEquals(resultOf(parseResultText(toJsonLines(powered), "powered").records).samples[0]?.energy, energy);
  assertEquals(resultOf(parseResultText(toJsonLines(plain), "plain").records).run.energyMissing, "no <counter>");
});

Deno.test("a case has its watts with their interval, on the page and in CSV, and none where nothing was measured", () => {
  const result = fixtureResult({ samples: 3, steps: 20 });
  const watts = [100, 110, 120], memory = [10, 11, 12];
  const powered = {
    ...result,
    samples: result.samples.map((one) => {
      const i = one.sample % 3, seconds = 4;
      const of = { seconds, packageJoules: (watts[i] ?? 0) * seconds, dramJoules: (memory[i] ?? 0) * seconds };
      return one.case === "dram" ? { ...one, energy: of } : one;
    }),
  };
  const cells = (of: typeof result): Record<string, string | undefined>[] => {
    const [head = "", ...lines] = toCsv(summarise(of)).trim().split("\n");
    return lines.map((line) => Object.fromEntries(head.split(",").map((name, i) => [name, line.split(",")[i]])));
  };
  const { power } = summarise(powered).cases.find(({ name }) => name === "dram") ?? {};
  assertEquals([power?.packages.value, power?.memory?.value], [110, 11]);
  assert((power?.packages.low ?? 0) < 105 && (power?.packages.high ?? 0) > 115, "the interval has the spread in it");
  const found = cells(powered).map((line) => [line["processors_watts"], line["memory_watts"]].join());
  assertEquals(found.filter((one) => one === "110,11").length, 1);
  assertEquals(found.filter((one) => one === ",").length, found.length - 1);
  assert(cells(result).every((line) => line["processors_watts"] === "" && line["memory_watts_low"] === ""));
  assertStringIncludes(renderReport(powered), "Power of each case, watts");
  // Memory that one of the samples did not count is not told for the case.
  const partly = powered.samples.map((one, i) =>
    one.energy === undefined || i > 0 ? one : { ...one, energy: { seconds: 4, packageJoules: 400 } }
  );
  const mixed = summarise({ ...powered, samples: partly }).cases.find(({ name }) => name === "dram");
  assertEquals([mixed?.power?.memory, (mixed?.power?.packages.value ?? 0) > 99], [undefined, true]);
});

Deno.test("a run records what each sample used, or once why none did", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const { dependencies } = fakes(directory);
    const scenario = FOUR;
    let used = 0;
    // A joule from one reading to the next.
    const readEnergy = (): EnergyReading => ({
      zones: [{ zone: "intel-rapl:0", of: "package", used: used += 1e6, range: 1e15 }],
    });
    const metered = await runWith({ ...dependencies, readEnergy }, scenario, { out: `${directory}/metered` });
    assertEquals(metered.run.energyMissing, undefined);
    assert(metered.samples.length > 0 && metered.samples.every(({ energy }) => (energy?.packageJoules ?? 0) >= 1));
    assert(metered.samples.every(({ energy, processSeconds }) => (energy?.seconds ?? Infinity) <= processSeconds));
    const { run, samples } = await runWith(dependencies, scenario, { out: `${directory}/plain` });
    assertEquals([run.energyMissing, samples.some(({ energy }) => energy !== undefined)], ["a fake has none", false]);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
