/**
 * `deno task bench:store`: how fast and how small the store is, against the least that any store must do and against
 * others' work, in one run on this machine. Prints a table and writes `reports/out/bench-store.json`.
 * How to read it: docs/performance.md.
 *
 * Exit codes: 0, bars reached or not; 1 if contenders disagree on results or the run fails; 2 for words it does not know;
 * 5 with --baseline if ours is slower.
 *
 * @module
 */

import { tableText } from "../cli/ui/table.ts";
import { BUILT_LIBRARY, NATIVE_FOLDER } from "../base/native_build.ts";
import { ensureBuild } from "../setup/build.ts";
import { baselineVerdict, measureBaseline, type OtherBuild } from "./baseline.ts";
import { parsePlan, type Part, type Plan, ROW_BYTES } from "./plan.ts";
import { type Facts, machineFacts, planOrUsage, run, writeResult } from "./program.ts";
import { type BenchRow, sortedRows, tableRows } from "./rows.ts";
import { orMissing, type Setting } from "./setting.ts";
import { measureHbm } from "./hbm.ts";
import { measureInserts, measureSpeed, measureStores } from "./speed.ts";
import { measureReads, measureWrites } from "./ssd.ts";
import {
  knowsWithoutEmulation,
  measureEmulation,
  measureMemory,
  measureNull,
  measureOpen,
  measurePmem,
  measureTypescript,
} from "./variants.ts";

const EXIT_SLOWER = 5;
const PROGRAMS = `${NATIVE_FOLDER}/build/bench`;
const WITHOUT = `${NATIVE_FOLDER}/build/no-emulation`;

/** Builds the programs; those of peers whose headers are missing are left out. */
async function buildPrograms(): Promise<{ peers: string[]; absent: Map<string, string> }> {
  const make = ["-s", "-C", `${NATIVE_FOLDER}/bench`];
  await run("make", [...make, `-j${navigator.hardwareConcurrency}`]);
  const own = ["workload", "raw_reads", "floor", "ours"];
  const peers = (await run("make", [...make, "list"])).trim().split(/\s+/).filter((name) => !own.includes(name));
  const lines = (await run("make", [...make, "missing"])).split("\n").filter((line) => line !== "");
  return { peers, absent: new Map(lines.map((line) => line.split(" ") as [string, string])) };
}

/** Builds the library a second time, without emulation, if it can be. */
async function buildWithoutEmulation(): Promise<string | undefined> {
  if (!knowsWithoutEmulation(NATIVE_FOLDER)) return undefined;
  const make = ["-s", "-C", NATIVE_FOLDER, "BUILD=build/no-emulation", "CFLAGS=-O3 -g -DTS_WITHOUT_EMULATION"];
  await run("make", [...make, `-j${navigator.hardwareConcurrency}`]);
  return `${WITHOUT}/libtierstore.so`;
}

/** Builds the library of another checkout and the program that drives it, which knows its interface. */
async function buildOther(checkout: string): Promise<OtherBuild> {
  const jobs = `-j${navigator.hardwareConcurrency}`, native = `${checkout}/native`;
  await run("make", ["-s", "-C", native, jobs]);
  await run("make", ["-s", "-C", `${native}/bench`, jobs]);
  return { programs: `${native}/build/bench`, library: `${native}/build/release/libtierstore.so` };
}

/** Facts that a reader of the result needs. */
function planFacts(plan: Plan): Facts {
  return {
    ...machineFacts(plan.library),
    full: plan.full,
    keys: plan.keys,
    row_bytes: ROW_BYTES,
    rounds: plan.rounds,
    round_ms: plan.ms,
  };
}

/** Runs the parts of the plan. */
async function measure(setting: Setting, facts: Facts): Promise<BenchRow[]> {
  const { plan, say } = setting;
  if (plan.baseline !== undefined) return await measureBaseline(setting, await buildOther(plan.baseline));
  const rows: BenchRow[] = [];
  const part = async (name: Part, bars: readonly string[], measured: () => Promise<BenchRow[]>): Promise<void> => {
    if (!plan.parts.includes(name)) return;
    const start = performance.now();
    say(`${name} …`);
    rows.push(...await orMissing(bars, measured));
    say(`${name} took ${((performance.now() - start) / 1000).toFixed(0)} s`);
  };
  const speed = ["floor", "absl", "tbb"].flatMap((other) => [`lookup/${other}`, `update/${other}`]);
  await part("speed", [...speed, "scaling/floor-scaling"], async () => {
    const measured = await measureSpeed(setting);
    Object.assign(facts, measured.facts);
    return measured.rows;
  });
  await part("insert", ["insert/absl", "insert/tbb"], () => measureInserts(setting));
  await part("stores", [], () => measureStores(setting));
  await part("memory", ["memory/rows"], () => measureMemory(setting));
  await part("open", ["open/ms"], () => measureOpen(setting));
  await part("typescript", ["typescript/c"], () => measureTypescript(setting));
  await part("null", [], () => measureNull(setting));
  await part("pmem", ["pmem-off/dram"], () => measurePmem(setting));
  await part("hbm", ["hbm-lookup/gather"], () => measureHbm(setting));
  await part(
    "emulation",
    ["emulation-off/compiled-out"],
    async () => measureEmulation(setting, await buildWithoutEmulation()),
  );
  await part("ssd", ["ssd-read/raw", "ssd-cpu/rocksdb"], () => measureReads(setting));
  await part("ssd", ["ssd-write-amplification"], () => measureWrites(setting));
  return rows;
}

/** The bench. */
async function main(args: readonly string[]): Promise<void> {
  const plan = planOrUsage("store", (places) => parsePlan(args, places));
  if (plan === undefined) return;
  const say = (text: string): void => console.error(text);
  if (plan.library === BUILT_LIBRARY) ensureBuild();
  const { peers, absent } = await buildPrograms();
  if (absent.size > 0) {
    say(
      `Left out: ${[...absent.keys()].join(", ")}. To measure them: ` +
        `"apt-get install -y --no-install-recommends g++ ${[...absent.values()].join(" ")}" as root`,
    );
  }
  Deno.mkdirSync(plan.scratch, { recursive: true });
  const scratch = Deno.makeTempDirSync({ dir: plan.scratch, prefix: "bench-store-" });
  try {
    const facts = planFacts(plan);
    const workload = `${scratch}/workload`;
    await run(`${PROGRAMS}/workload`, [workload, `${plan.keys}`, `${plan.batches}`]);
    const setting: Setting = {
      plan,
      programs: PROGRAMS,
      peers,
      absent,
      library: plan.library,
      workload,
      scratch,
      say,
    };
    const rows = await measure(setting, facts);
    const millions = `${plan.keys / 1e6} million keys`;
    const shown = sortedRows(rows).filter(({ name }) => !/1 thread|^rate |^cpu /.test(name));
    console.log(
      `\nThe store's bench, ${plan.full ? millions : `${millions} (the bars are about --full, 10 million)`}\n`,
    );
    console.log(tableText(tableRows(shown)));
    writeResult(plan.out, facts, rows);
    if (plan.baseline !== undefined) {
      const verdict = baselineVerdict(rows);
      console.log(verdict.text);
      if (verdict.slower) Deno.exitCode = EXIT_SLOWER;
    }
    console.log(`All rows, also of one thread and not as ratios: ${plan.out}`);
  } finally {
    Deno.removeSync(scratch, { recursive: true });
  }
}

if (import.meta.main) await main(Deno.args);
