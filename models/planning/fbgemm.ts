/**
 * A plan's tables for FBGEMM's benchmarks: as its JSON (EEG), and as a shell script of `tbe_training_benchmark.py` over the same
 * rows, lookups and laws. Options and their meaning were read from fbgemm-gpu 1.9 (`fbgemm_gpu/tbe/bench`: loaders of data,
 * embedding and benchmark options; `fbgemm_gpu/bench/tbe/tbe_training_benchmark.py`).
 *
 * @module
 */

import { shownLine } from "../../base/shown.ts";
import { cacheSize } from "../workloads/cache_size.ts";
import { type EegExport, type EegTable, exportEeg } from "../workloads/eeg_export.ts";
import { ProfileError, type ProfileTable } from "../workloads/profile.ts";
import { bagsOf } from "../workloads/reuse.ts";
import { profileAt } from "../workloads/scaled_law.ts";
import { lawOf } from "./inputs.ts";
import type { ResolvedPlanFile, ResolvedPlanTable } from "./plan_file.ts";

/** Iterations that are counted, and that are not: those of FBGEMM's own runs of this benchmark. */
const ITERATIONS = 100, WARMUP = 50;

/** Indices that the benchmark makes ahead at most, of 8 bytes each: batches repeat where an iteration's own would be more. */
const MOST_INDICES = 2 ** 28;

/** What `--row-wise/--no-row-wise` means; the benchmark has no other optimizer. */
const OPTIMIZERS: Readonly<Partial<Record<ResolvedPlanTable["optimizer"], string>>> = {
  rowwiseAdagrad: "--row-wise",
  adagrad: "--no-row-wise",
};

/** Popularity of a plan's table as FBGEMM can draw it. */
async function popularityOf(
  name: string,
  { rows, profile }: ResolvedPlanTable,
  directory: string,
  lost: Set<string>,
): Promise<ProfileTable["popularity"]> {
  if (typeof profile !== "string") return { zipf: { s: profile.s, q: profile.q ?? 0 } };
  const { name: of, tables } = await profileAt(profile, directory), [table, ...others] = tables;
  const refuse = (what: string): never => {
    throw new ProfileError(
      `Cannot export table "${name}" for FBGEMM: its profile "${of}" ${what}, and FBGEMM draws each table by one Zipf-Mandelbrot ` +
        'law; give "profile": { "s": …, "q": … }',
    );
  };
  if (table === undefined || others.length > 0) return refuse(`mixes ${tables.length} tables`);
  const { popularity, popularity: { zipf, heavyHitters = [], steps = [] } } = table;
  if (zipf === undefined || steps.length > 0) return refuse("is no such law");
  if (table.life !== undefined || table.repeats !== undefined) lost.add("Drift and repeats have no place in EEG.");
  if (rows === table.rows) return popularity;
  if (heavyHitters.length > 0) {
    return refuse(`has heavy hitters of ${table.rows} rows, which no law of ${rows} rows keeps`);
  }
  // The same share of the lookups for the same share of the rows: rank r covers r - ½ to r + ½, each end grows by the factor.
  const factor = rows / table.rows, q = factor * (zipf.q + 0.5) - 0.5;
  lost.add(`Profiles of other numbers of rows keep their shape by another shift, up to the rounding of ranks.`);
  return { zipf: { s: zipf.s, q } };
}

/**
 * A plan's tables as FBGEMM's tables.
 *
 * @throws {ProfileError} A law that FBGEMM cannot draw: whose, and why.
 */
async function eegTables(
  { tables, directory }: ResolvedPlanFile,
): Promise<{ tables: (EegTable & { readonly of: ResolvedPlanTable })[]; lost: readonly string[] }> {
  const lost = new Set<string>(), made = [];
  for (const [name, of] of Object.entries(tables)) {
    const popularity = await popularityOf(name, of, directory, lost);
    const table = { name, rows: of.rows, count: of.count, bags: bagsOf(of.lookups), popularity };
    made.push({ table, dim: of.dim, of });
  }
  return { tables: made, lost: [...lost] };
}

/**
 * A plan's tables as FBGEMM's `TBEDataConfig`, a feature each (of one kind alone: `T` tables alike); a batch is that of all
 * workers together.
 *
 * @throws {ProfileError} A law that FBGEMM cannot draw: whose, and why.
 */
export async function planEeg(file: ResolvedPlanFile): Promise<EegExport> {
  const { tables, lost } = await eegTables(file);
  const made = exportEeg(tables, { batch: file.batch * file.workers });
  return { ...made, lost: [...new Set([...lost, ...made.lost])] };
}

/** One run of FBGEMM's benchmark. */
export interface TbeCommand {
  /** What it measures, in a sentence. */
  readonly about: string;
  /** The words behind the script. */
  readonly words: readonly string[];
  /** The JSON that `--tbe-config` is to name; absent: all is said by words. */
  readonly config?: string;
}

/** How the caches are chosen. */
export interface TbeOptions {
  /** Share of a batch's different rows that each cache is to answer. Default 0.9. */
  readonly hits?: number;
}

/** Tables that one run can have: the benchmark takes one optimizer and one type of weights. */
function groupsOf<T extends { readonly of: ResolvedPlanTable }>(tables: readonly T[]): T[][] {
  const groups = new Map<string, T[]>();
  for (const table of tables) {
    const key = `${table.of.optimizer} ${table.of.dtype}`;
    groups.set(key, [...(groups.get(key) ?? []), table]);
  }
  return [...groups.values()];
}

function embedding({ dtype, optimizer }: ResolvedPlanTable): string[] {
  return [OPTIMIZERS[optimizer] ?? "", "--emb-weights-dtype", dtype, "--emb-output-dtype", "fp32"];
}

function rounds(indices: number): string[] {
  const requests = Math.min(ITERATIONS, Math.max(1, Math.floor(MOST_INDICES / indices)));
  return [
    ...["--bench-iterations", String(ITERATIONS), "--bench-warmup-iterations", String(WARMUP)],
    ...["--bench-num-requests", String(requests)],
  ];
}

/**
 * The same case in FBGEMM's benchmark: all tables in the device's memory (without a GPU, the host's), a run for each optimizer
 * and type of weights; then each kind of table alone in unified memory behind a least recently used cache on the device, with
 * the load factor that answers the share of hits.
 *
 * @throws {RangeError} What the benchmark cannot do, by its name: another optimizer than Adagrad, half a lookup a sample.
 * @throws {ProfileError} A law that FBGEMM cannot draw: whose, and why.
 */
export async function tbeCommands(
  file: ResolvedPlanFile,
  { hits = 0.9 }: TbeOptions = {},
): Promise<{ commands: TbeCommand[]; lost: readonly string[] }> {
  const { tables, lost } = await eegTables(file), batch = file.batch * file.workers;
  for (const { table: { name }, of: { optimizer, lookups } } of tables) {
    if (OPTIMIZERS[optimizer] === undefined) {
      throw new RangeError(
        `Cannot write benchmark lines for table "${name}": it has the optimizer "${optimizer}", FBGEMM's benchmark has ` +
          "rowwiseAdagrad and adagrad",
      );
    }
    if (!Number.isInteger(lookups)) {
      throw new RangeError(
        `Cannot write benchmark lines for table "${name}": it has ${lookups} lookups a sample, FBGEMM's benchmark draws whole ` +
          "bags alone",
      );
    }
  }
  const told = new Set(lost), commands: TbeCommand[] = [];
  for (const group of groupsOf(tables)) {
    const [first] = group;
    if (first === undefined) continue;
    const { text, lost: more } = exportEeg(group, { batch, byFeature: true });
    const count = group.reduce((sum, { table }) => sum + table.count, 0);
    more.forEach((sentence) => told.add(sentence));
    commands.push({
      about: `${count} ${count === 1 ? "table" : "tables"} in memory`,
      words: [
        "device-with-speclist",
        ...embedding(first.of),
        ...rounds(group.reduce((sum, { table, of }) => sum + batch * of.lookups * table.count, 0)),
      ],
      config: text,
    });
  }
  for (const { table, dim, of } of tables) {
    const { rows } = table, law = await lawOf(rows, of.profile, file.directory);
    const config = JSON.parse(exportEeg([{ table, dim }], { batch }).text);
    const { heavy_hitters: hitters, zipf_q, zipf_s } = config.indices_params;
    const found = cacheSize({ law, hits, batch: Math.max(1, batch * of.lookups) });
    const factor = (found.rows ?? rows) / rows;
    commands.push({
      about:
        `table ${JSON.stringify(table.name)}${
          table.count === 1 ? "" : `, ${table.count} alike`
        }, behind a cache that ` +
        `answers ${(100 * found.hits).toFixed(2)} % of a batch's rows`,
      words: [
        "device",
        ...["--tbe-num-tables", String(table.count), "--tbe-num-embeddings", String(rows)],
        ...["--tbe-embedding-dim", String(dim), "--tbe-batch-size", String(batch)],
        ...["--tbe-pooling-size", String(of.lookups), "--tbe-indices-zipf", String(zipf_q), String(zipf_s)],
        ...(hitters.length === 0 ? [] : ["--tbe-indices-hitters", hitters.join(",")]),
        ...["--emb-location", "managed_caching", "--cache-load-factor", String(factor)],
        ...embedding(of),
        ...rounds(batch * of.lookups * table.count),
      ],
    });
  }
  return { commands, lost: [...told] };
}

/** The text of a shell script of these runs, which asks for the folder of FBGEMM's benchmarks in `FBGEMM`. */
export function tbeScript(name: string, commands: readonly TbeCommand[]): string {
  const runs = commands.map(({ about, words, config }, i) => {
    const [command = "", ...options] = words, file = `"$configs/${i}.json"`;
    const document = config === undefined ? "" : `cat > ${file} <<'EOF'\n${config}EOF\n`;
    const read = config === undefined ? "" : ` --tbe-config ${file}`;
    return `# ${shownLine(about)}\n${document}"$python" "$benchmark" ${command}${read} ${options.join(" ")}\n`;
  });
  return `#!/bin/sh
# The tables of the plan ${
    shownLine(JSON.stringify(name))
  } in FBGEMM's benchmark, written by tierbench for fbgemm-gpu 1.9.
set -eu
benchmark="\${FBGEMM:?the folder fbgemm_gpu/bench/tbe of FBGEMM's sources}/tbe_training_benchmark.py"
python="\${PYTHON:-python3}"
configs="$(mktemp -d)"
trap 'rm -rf "$configs"' EXIT

${runs.join("\n")}`;
}
