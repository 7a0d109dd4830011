/**
 * Rows in the memory of an OpenCL device: our lookups against the gather alone, and against a lookup whose index is on the
 * device, too.
 *
 * @module
 */

import { NATIVE_FOLDER } from "../base/native_build.ts";
import type { Contender } from "./contender.ts";
import { DISTRIBUTIONS, ROW_BYTES } from "./plan.ts";
import { run } from "./program.ts";
import { type BenchRow, ratioRow, worstRow } from "./rows.ts";
import { compareResults, ours, pairedRatios, prepare, type Setting } from "./setting.ts";

/** What the store's lookups are held against, and the floor's option for it. */
const AGAINST = [["hbm-lookup/gather", "known"], ["hbm-lookup/device-index", "device"]] as const;

/** The device, driver and kind of a description. */
function deviceOf(description: Readonly<Record<string, string>>): string {
  const { kind = "", device = "", driver = "" } = description;
  return `${kind}: ${device}, driver ${driver}`.replaceAll("_", " ");
}

/** One thread's lookups of rows that are all on the device: keys a second ÷ those of the gather there. */
export async function measureHbm(setting: Setting): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  const size = 2 * setting.plan.keys * ROW_BYTES;
  await using store =
    (await prepare(setting, "ours", ours(setting, "HBM", { "store.hbm": "opencl", "store.size": size })))
      .contender;
  const note = deviceOf(await store.command("describe"));
  await run("make", ["-s", "-C", `${NATIVE_FOLDER}/bench`, "hbm"]);
  for (const [name, index] of AGAINST) {
    await using floor = (await prepare(setting, "hbm_floor", { index })).contender;
    await compareResults([floor, store], ["lookup"]);
    const parts: BenchRow[] = [];
    for (const [distribution, word] of DISTRIBUTIONS.entries()) {
      await seeBatches(floor, setting.plan.batches, distribution);
      const ratios = await pairedRatios(setting, [store, floor], "lookup", distribution, 1);
      parts.push(ratioRow(`${name} ${word}`, ratios, note));
    }
    rows.push(...(name === "hbm-lookup/gather" ? [worstRow(name, parts)] : []), ...parts);
  }
  return rows;
}

/** The floor finds out where a batch's rows lie when it first sees it: all of them, before any round. */
async function seeBatches(floor: Contender, batches: number, distribution: number): Promise<void> {
  for (let first = 0; first < batches; first++) await floor.command("check", { kind: "lookup", distribution, first });
}
