/**
 * Our store against itself: bytes a row, what opening takes, what it costs without a medium, what a second memory tier costs while it is not
 * needed, and what emulation costs while it is off.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { Contender, ContenderError, numberOf } from "./contender.ts";
import { DISTRIBUTIONS, KINDS, ROW_BYTES } from "./plan.ts";
import { BARS, type BenchRow, missingRow, ratioRow, worstRow } from "./rows.ts";
import {
  compareResults,
  type Options,
  ours,
  pairedRatios,
  prepare,
  type Prepared,
  rate,
  type Setting,
  smaller,
  WrongResultError,
} from "./setting.ts";
import { WORD } from "./speed.ts";

/** A contender that goes through `mod.ts`. */
const PROGRAM: string = fileURLToPath(new URL("./typescript.ts", import.meta.url));

/** Bytes a row, by the store's account and by the kernel's; each in a process of its own that only fills. */
export async function measureMemory(setting: Setting): Promise<BenchRow[]> {
  const parts: BenchRow[] = [];
  for (const keys of [setting.plan.keys, Math.round(setting.plan.keys * 1.3)]) {
    const options = ours(setting, "DRAM", { "store.size": Math.max(2 ** 30, 3 * keys * ROW_BYTES) });
    const { contender, answer } = await prepare(setting, "ours", options, {}, keys);
    await using store = contender;
    const accounted = numberOf(await store.command("memory"), "all");
    const resident = numberOf(answer, "resident") - numberOf(answer, "baseline");
    const rows = `${keys / 1e6} M rows`;
    parts.push(ratioRow(`memory/rows ${rows}, accounted`, [accounted / (keys * ROW_BYTES)]));
    parts.push(ratioRow(`memory/rows ${rows}, resident`, [resident / (keys * ROW_BYTES)]));
  }
  return [worstRow("memory/rows", parts), ...parts];
}

/** How long a store takes to open, in a process that has one. */
export async function measureOpen(setting: Setting): Promise<BenchRow[]> {
  const few = await smaller(setting, 10_000, 1);
  await using store = (await prepare(few, "ours", ours(few, "DRAM"))).contender;
  const times: number[] = [];
  for (let round = 0; round < setting.plan.rounds; round++) times.push(numberOf(await store.command("open"), "ms"));
  return [{ ...ratioRow("open/ms", times), ...BARS["open/ms"], unit: "ms" }];
}

/**
 * What looking rows up through `mod.ts` costs against the same calls in C, on one thread: `lookupInto`, which the
 * documentation shows and the bar is about, and `lookup`, which makes an array a call.
 */
export async function measureTypescript(setting: Setting): Promise<BenchRow[]> {
  const plain = ours(setting, "DRAM", { stepped: 0 });
  await using c = (await prepare(setting, "ours", plain)).contender;
  await using ts = new Contender("typescript", Deno.execPath(), ["run", "-A", "--no-check", PROGRAM], {
    TIERBENCH_LIBRARY: setting.library,
  });
  await ts.command("prepare", { keys: setting.plan.keys, workload: setting.workload });
  const name = "typescript/c";
  const parts: BenchRow[] = [], others: BenchRow[] = [];
  for (const [distribution, word] of DISTRIBUTIONS.entries()) {
    const digests = await Promise.all([c, ts].map((one) => one.command("check", { kind: "lookup", distribution })));
    if (digests[0]?.["digest"] !== digests[1]?.["digest"]) {
      throw new WrongResultError(`Cannot compare TypeScript with C: lookups of ${word} differ`);
    }
    const ratios: [number[], number[]] = [[], []];
    for (let round = -1; round < setting.plan.rounds; round++) {
      const request = { kind: "lookup", distribution, threads: 1, round: Math.max(round, 0) } as const;
      const floor = await rate(setting, c, request);
      for (const into of [0, 1] as const) {
        const options = { distribution, into, ms: setting.plan.ms, first: request.round * 7 };
        const ratio = numberOf(await ts.command("round", options), "rate") / floor;
        if (round >= 0) ratios[into].push(ratio);
      }
    }
    parts.push(ratioRow(`${name} lookupInto ${word}`, ratios[1]));
    others.push(ratioRow(`${name} lookup ${word}`, ratios[0], "an array a call"));
  }
  return [worstRow(name, parts), ...parts, ...others];
}

/** Paired rounds of two stores over some cells; a ÷ b. */
async function against(
  setting: Setting,
  name: string,
  pair: readonly [Contender, Contender],
  note: string,
): Promise<BenchRow[]> {
  const parts: BenchRow[] = [];
  for (const kind of KINDS) {
    for (const [distribution, word] of DISTRIBUTIONS.entries()) {
      parts.push(
        ratioRow(`${name} ${WORD[kind]} ${word}`, await pairedRatios(setting, pair, kind, distribution), note),
      );
    }
  }
  return [worstRow(name, parts), ...parts];
}

/** Ways to have a PMEM tier without PMEM; the first that opens is used, and named. */
function pmemWays(setting: Setting): readonly (readonly [string, Options, Readonly<Record<string, string>>])[] {
  const { "store.size": dram } = ours(setting, "DRAM");
  const size = `${dram},${256 * 2 ** 20}`;
  return [
    ["memkind on node 0", { "store.size": size, "store.pmem": "memkind" }, { MEMKIND_DAX_KMEM_NODES: "0" }],
    ["libpmem on /dev/shm", { "store.size": size, "store.pmem": "libpmem", "store.path": "/dev/shm" }, {}],
  ];
}

/** A store of two memory tiers, all rows in the first. */
async function twoTiers(setting: Setting): Promise<Prepared & { readonly way: string }> {
  const refused: string[] = [];
  for (const [way, options, env] of pmemWays(setting)) {
    try {
      const ready = await prepare(setting, "ours", ours(setting, "DRAM_PMEM", options), env);
      const moved = numberOf(await ready.contender.command("statistics"), "evicted");
      if (moved === 0) return { ...ready, way };
      await ready.contender[Symbol.asyncDispose]();
      throw new ContenderError(`${moved} rows left the first tier, though all fit in it`);
    } catch (error) {
      if (!(error instanceof ContenderError)) throw error;
      refused.push(`${way}: ${error.message}`);
    }
  }
  throw new ContenderError(refused.join("; "));
}

/** What the second tier costs while everything fits in the first. */
export async function measurePmem(setting: Setting): Promise<BenchRow[]> {
  const tiers = await twoTiers(setting);
  await using pmem = tiers.contender;
  await using dram = (await prepare(setting, "ours", ours(setting, "DRAM"))).contender;
  await compareResults([dram, pmem]);
  return await against(setting, "pmem-off/dram", [pmem, dram], tiers.way);
}

/** What a tier of records costs without a medium: lookups and steps of a store that keeps no rows, by one thread. */
export async function measureNull(setting: Setting): Promise<BenchRow[]> {
  // Not compared with what others hold: there is nothing to compare.
  await using store = (await prepare(setting, "ours", ours(setting, "NULL"))).contender;
  const rows: BenchRow[] = [];
  for (const kind of KINDS) {
    for (const [distribution, word] of DISTRIBUTIONS.entries()) {
      const times: number[] = [];
      for (let round = -1; round < setting.plan.rounds; round++) {
        const keys = await rate(setting, store, { kind, distribution, threads: 1, round: Math.max(round, 0) });
        if (round >= 0) times.push(1e9 / keys);
      }
      rows.push({ ...ratioRow(`null ${WORD[kind]} ${word}`, times, "keeps no rows"), unit: "ns a key" });
    }
  }
  return rows;
}

/** Whether the sources of the library know a build without emulation. */
export function knowsWithoutEmulation(native: string): boolean {
  const look = (folder: string): boolean => {
    for (const { name, isDirectory } of Deno.readDirSync(folder)) {
      if (isDirectory && !["build", "bench", "test"].includes(name) && look(`${folder}/${name}`)) return true;
      if (/\.[ch]$/.test(name) && Deno.readTextFileSync(`${folder}/${name}`).includes("TS_WITHOUT_EMULATION")) {
        return true;
      }
    }
    return false;
  };
  return look(native);
}

/**
 * What emulation costs while it is off: the same store from a library that was built without it.
 *
 * @param without Path of that library.
 */
export async function measureEmulation(setting: Setting, without: string | undefined): Promise<BenchRow[]> {
  const name = "emulation-off/compiled-out";
  if (without === undefined) return [missingRow(name, "no source of the library knows TS_WITHOUT_EMULATION")];
  let note = "DRAM_PMEM";
  let off: Prepared;
  let out: Prepared;
  try {
    const tiers = await twoTiers(setting);
    off = tiers;
    note += ` (${tiers.way})`;
    await using guard = new AsyncDisposableStack();
    guard.use(off.contender);
    out = await twoTiers({ ...setting, library: without });
    guard.move();
  } catch (error) {
    if (!(error instanceof ContenderError)) throw error;
    note = "DRAM, since no PMEM tier opens here";
    off = await prepare(setting, "ours", ours(setting, "DRAM"));
    out = await prepare({ ...setting, library: without }, "ours", ours({ ...setting, library: without }, "DRAM"));
  }
  await using a = off.contender;
  await using b = out.contender;
  await compareResults([a, b]);
  return await against(setting, name, [a, b], note);
}
