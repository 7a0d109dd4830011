/**
 * Random table sets, exported for TorchRec, and what streams of their laws miss in our replay.
 *
 * @module
 */

import { randomNumbers } from "../../base/random.ts";
import { missRatioCurve } from "../../ffi/curve.ts";
import { parsePlan } from "../../models/planning/load.ts";
import { torchRecModule, type TorchRecTable, torchRecTables, torchRecYaml } from "../../models/planning/torchrec.ts";
import type { AskedTable } from "./rows.ts";

/** Every so manieth set has a table that is replayed. */
const REPLAYED = 4;
/** Rows of a table that is replayed, at most; lookups that warm its caches, and that count. */
const MOST_ROWS = 200_000, WARM = 1_500_000, COUNTED = 1_500_000;

/** Draws of a Zipf law after each row once, the rarest first: a stream whose caches are full when it is counted. */
function stream(rows: number, s: number, lookups: number, random: () => number): BigInt64Array {
  const sums = new Float64Array(rows);
  for (let rank = 0, sum = 0; rank < rows; rank++) sums[rank] = sum += (rank + 1) ** -s;
  const all = sums[rows - 1] ?? 1, keys = new BigInt64Array(rows + lookups);
  for (let i = 0; i < rows; i++) keys[i] = BigInt(rows - 1 - i);
  for (let i = rows; i < keys.length; i++) {
    const at = random() * all;
    let low = 0, high = rows - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < at) low = middle + 1;
      else high = middle;
    }
    keys[i] = BigInt(low);
  }
  return keys;
}

/** Load factors to ask about: from a row up, and where the statistics begin to be exact. */
function factorsOf({ height, exactFrom, loadFactor }: TorchRecTable): number[] {
  const at = [1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 0.6, 0.9, exactFrom, loadFactor];
  return [...new Set(at.filter((one) => one * height >= 1 && one < 1))].sort((a, b) => a - b);
}

/**
 * Writes `count` sets into a folder: `set_<n>.py`, `set_<n>.yaml`, and `sets.json` with what is asked of each.
 *
 * @param folder Exists.
 */
export async function writeSets(folder: string, count: number): Promise<AskedTable[][]> {
  const random = randomNumbers(2026), sets: (AskedTable & Omit<TorchRecTable, "histogram" | "keyValue">)[][] = [];
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  for (let n = 0; n < count; n++) {
    const laws = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, i) => {
      const most = i === 0 && n % REPLAYED === 0 ? Math.log10(MOST_ROWS) : 8;
      return { rows: Math.ceil(10 ** (1 + random() * (most - 1))), s: Math.round(random() * 140) / 100 };
    });
    const tables = laws.map(({ rows, s }, i) =>
      [`t${i}${pick(["", " b", "_ä", "/c"])}`, {
        rows,
        dim: 4 * (1 + Math.floor(random() * 64)),
        profile: { s },
        lookups: pick([1, 1, 2, 5, 20]),
        dtype: pick(["fp32", "bf16"]),
      }] as const
    );
    const text = JSON.stringify({
      kind: "plan",
      name: `set ${n}`,
      batch: pick([64, 512, 4096]),
      workers: pick([1, 2, 8]),
      target: { samplesPerSecond: 1 },
      tables: Object.fromEntries(tables),
    });
    const plan = parsePlan(text, { file: `set ${n}`, directory: "." });
    const hits = pick([0.5, 0.8, 0.9, 0.99]);
    const exported = await torchRecTables(plan, { hits, ...(n % 2 === 0 ? {} : { bothHits: Math.max(hits, 0.95) }) });
    await Deno.writeTextFile(`${folder}/set_${n}.py`, torchRecModule(plan.name, exported));
    await Deno.writeTextFile(`${folder}/set_${n}.yaml`, torchRecYaml(plan, exported));
    sets.push(exported.map(({ histogram: _, keyValue, ...table }, i) => {
      const ask = factorsOf({ ...table, histogram: new Float32Array() }), law = laws[i];
      const asked = { ...table, ask, keyValue: keyValue !== undefined };
      if (i > 0 || n % REPLAYED > 0 || law === undefined) return asked;
      const { lookups } = plan.tables[table.name] ?? {};
      const batch = Math.round(plan.batch * plan.workers * (lookups ?? 1));
      const whole = (keys: number) => Math.ceil(keys / batch) * batch;
      const keys = stream(law.rows, law.s, whole(law.rows) - law.rows + whole(WARM) + whole(COUNTED), random);
      const sizes = ask.map((at) => Math.round(at * law.rows));
      const distinct = [...new Set(sizes)];
      const { missRatios } = missRatioCurve({ keys, batch, sizes: distinct, uncounted: whole(law.rows) + whole(WARM) });
      return { ...asked, replayed: sizes.map((size) => missRatios[distinct.indexOf(size)] ?? NaN) };
    }));
  }
  await Deno.writeTextFile(`${folder}/sets.json`, JSON.stringify(sets));
  return sets;
}
