/**
 * `deno task bench:tools`: what other people's tools make of our files, and we of theirs. TorchRec loads random exported table sets and
 * answers miss rates; files out of other people's packages and files that NumPy, PyTorch, pyarrow, fastparquet, Polars, pandas and libCacheSim write are read as their own tools read them; libCacheSim
 * replays the streams that our policies replay. Prints a table and writes `reports/out/bench-tools.json`; `--only=<parts>` runs
 * some and leaves the other rows of the file. They are installed into a Python environment of their own, once; a machine that
 * cannot have them is told so by name. How to read it: docs/performance.md.
 *
 * Exit codes: 0, bars reached or not; 1 if the run fails; 2 for words it does not know.
 *
 * @module
 */

import { tableText } from "../../cli/ui/table.ts";
import { BUILT_LIBRARY } from "../../base/native_build.ts";
import { parseColumns } from "../../models/workloads/trace/columns.ts";
import { readTrace } from "../../models/workloads/trace/read.ts";
import { TraceError } from "../../models/workloads/trace/batch.ts";
import { ensureBuild } from "../../setup/build.ts";
import { ROOT } from "../../setup/state.ts";
import { ContenderError } from "../contender.ts";
import { machineFacts, planOrUsage, run, withEarlierRows, writeResult } from "../program.ts";
import { makePython, type PythonEnvironment } from "../python_environment.ts";
import { type BenchRow, missingRow, tableRows } from "../rows.ts";
import { parsePlan, type Part, type Plan, ROWS_OF } from "./plan.ts";
import { fetchFound, FOUND, type FoundFile } from "./found.ts";
import { formatRows, foundRows, type ReadFile, type Replayed, replayRows, type ToldSet, torchRecRows } from "./rows.ts";
import { writeSets } from "./torchrec_sets.ts";

const ENVIRONMENT: PythonEnvironment = {
  name: "tools",
  folder: `${ROOT}/.cache/bench-tools`,
  packages: [
    "torch==2.14.1",
    "fbgemm-gpu-cpu==1.9.0",
    "numpy==2.4.6",
    "tensordict==0.15.3",
    "torchmetrics==1.0.3",
    "tqdm==4.70.1",
    "pyre-extensions==0.0.32",
    "PyYAML==6.0.4",
    "pandas==3.1.1",
    "pyarrow==26.0.1",
    "fastparquet==2026.9.0",
    "polars==2.1.0",
    "libcachesim==0.3.5",
  ],
  // It wants FBGEMM for GPUs, whose files have the names of those for CPUs.
  alone: ["torchrec==1.9.2"],
  size: "up to 4 GB, 7 GB unpacked",
};

const script = (name: string): string => new URL(name, import.meta.url).pathname;

/** JSON, a line each, among what the packages print. */
function lines<T>(text: string): T[] {
  return text.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as T);
}

/** A trace that another tool wrote, as `formats.py` lists it. */
interface WrittenFile {
  readonly file: string;
  readonly form: string;
  readonly columns: string | null;
  readonly tables: Readonly<Record<string, string>>;
  /** The package that it was found in. */
  readonly package?: string;
}

/** How a file is read, against what its own tool reads. */
async function readBack(folder: string, { file, form, columns, tables }: WrittenFile): Promise<ReadFile> {
  const found = new Map<string, bigint[]>(), whole = Object.keys(tables).length > 0;
  try {
    const options = columns === null ? {} : { columns: parseColumns(columns) };
    for await (const { table, keys } of readTrace(`${folder}/${file}`, options)) {
      const all = found.get(table) ?? [];
      found.set(table, all);
      for (const key of keys) all.push(key);
    }
  } catch (error) {
    if (!(error instanceof TraceError)) throw error;
    return { form, file, read: { refused: error.message } };
  }
  if (!whole) return { form, file, read: "words" };
  let same = found.size === Object.keys(tables).length;
  for (const [table, path] of Object.entries(tables)) {
    const bytes = await Deno.readFile(`${folder}/${path}`), wanted = new BigInt64Array(bytes.buffer);
    const read = found.get(table) ?? [];
    same &&= read.length === wanted.length && wanted.every((key, i) => key === read[i]);
  }
  return { form, file, read: same ? "same" : "wrong" };
}

/** How each part is run. */
const MEASURE: Readonly<Record<Part, (python: string, folder: string, plan: Plan) => Promise<BenchRow[]>>> = {
  async torchrec(python, folder, { sets: count }) {
    const sets = await writeSets(folder, count);
    return torchRecRows(sets, lines<ToldSet>(await run(python, [script("torchrec_sets.py"), folder])));
  },
  async formats(python, folder) {
    await run(python, [script("formats.py"), folder]);
    const files = JSON.parse(await Deno.readTextFile(`${folder}/files.json`)) as readonly WrittenFile[];
    const read: ReadFile[] = [];
    for (const file of files) read.push(await readBack(folder, file));
    return formatRows(read);
  },
  async found(python, folder) {
    const all: FoundFile[] = [], missing: string[] = [];
    for (const one of FOUND) {
      const own = await Deno.makeTempDir({ dir: folder });
      try {
        all.push(...await fetchFound(one, own, python));
      } catch (error) {
        if (!(error instanceof ContenderError)) throw error;
        missing.push(`${one.name}: ${error.message}`);
      }
    }
    await Deno.writeTextFile(`${folder}/found.json`, JSON.stringify(all));
    await Deno.mkdir(`${folder}/read`);
    await run(python, [script("found.py"), `${folder}/read`, `${folder}/found.json`]);
    const listed = JSON.parse(await Deno.readTextFile(`${folder}/read/files.json`)) as readonly WrittenFile[];
    const read: (ReadFile & { readonly whole: boolean })[] = [];
    for (const file of listed) {
      read.push({ ...await readBack(`${folder}/read`, file), whole: Object.keys(file.tables).length > 0 });
    }
    return foundRows(read, missing);
  },
  async libcachesim(python, folder, { requests, rounds }) {
    const words = [script("replays.py"), BUILT_LIBRARY, folder, String(requests), String(rounds)];
    return replayRows(lines<Replayed>(await run(python, words)));
  },
};

/** The bench. */
async function main(args: readonly string[]): Promise<void> {
  const plan = planOrUsage("tools", (places) => parsePlan(args, places));
  if (plan === undefined) return;
  ensureBuild();
  const facts = {
    ...machineFacts(BUILT_LIBRARY),
    packages: [...ENVIRONMENT.packages, ...(ENVIRONMENT.alone ?? [])].join(" "),
  };
  const rows: BenchRow[] = [];
  Deno.mkdirSync(plan.scratch, { recursive: true });
  for (const part of plan.parts) {
    const started = performance.now(), load = Deno.loadavg()[0] ?? NaN;
    const measured = `${new Date().toISOString()}, load ${load.toFixed(2)} before`;
    const folder = Deno.makeTempDirSync({ dir: plan.scratch, prefix: "bench-tools-" });
    try {
      const python = makePython(ENVIRONMENT, (text) => console.error(text));
      rows.push(...(await MEASURE[part](python, folder, plan)).map((row) => ({ ...row, measured })));
    } catch (error) {
      if (!(error instanceof ContenderError)) throw error;
      rows.push({ ...missingRow(`${ROWS_OF[part]}all`, error.message), measured });
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
    console.error(`${part}: ${((performance.now() - started) / 1e3).toFixed(0)} s`);
  }
  console.log("\nOther people's tools\n");
  console.log(tableText(tableRows(rows)));
  const stays = (name: string) => !plan.parts.some((part) => name.startsWith(ROWS_OF[part]));
  const all = withEarlierRows(plan.out, facts, rows, stays);
  writeResult(plan.out, facts, all);
  console.log(`All rows, ${all.length - rows.length} of them of earlier runs: ${plan.out}`);
}

if (import.meta.main) await main(Deno.args);
