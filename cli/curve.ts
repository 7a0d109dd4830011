// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import {
  type CurveOptions,
  formatBytes,
  KeySample,
  type KeySampleOptions,
  listProfiles,
  loadProfile,
  type MissRatioCurve,
  missRatioCurve,
  profileLaw,
  sampleTrace,
  type TraceOptions,
} from "../mod.ts";
import { answerText } from "./answers.ts";
import { UsageError } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import {
  BATCH_HELP,
  KEYS_HELP,
  LAW_HELP,
  MEMORY,
  MEMORY_HELP,
  memoryForKeys,
  ROW_BYTES_HELP,
  TABLE_HELP,
  traceOptions,
  withTraceOptions,
} from "./trace_options.ts";
import { warnOfProfile } from "./profile_warnings.ts";
import type { Terminal } from "./ui/terminal.ts";
import { tableText } from "./ui/table.ts";

const POINTS = 13;
/** Rows of a sample that was asked for. */
const SAMPLE = 2 ** 20;

/** `tierbench curve`: what caches of many sizes miss, and what a GiB more buys. */
export function addCurve(program: Command, { terminal }: Context): void {
  withTraceOptions(
    program.command("curve")
      .description("what caches of many sizes miss, of a key trace or of a popularity law")
      .argument(
        "[trace or profile]",
        KEYS_HELP,
      )
      .option(
        "--table <name>",
        TABLE_HELP,
      )
      .option("--rows <n>", LAW_HELP.rows)
      .option("--s <skew>", LAW_HELP.s, "1.05")
      .option("--q <shift>", LAW_HELP.q, "0")
      .option("--policy <name>", "lru, lfu, clock, s3fifo, sieve, tinylfu; analytic also fifo, random", "lru")
      .option("--method <name>", "exact, sampled or analytic; a trace: exact while it fits, a law: analytic")
      .option("--batch <n>", BATCH_HELP, "1")
      .option("--row-bytes <n>", ROW_BYTES_HELP, "256")
      .option("--sizes <rows>", "rows of the caches, separated by commas"),
  )
    .option("--memory <bytes>", MEMORY_HELP, MEMORY)
    .option("--json", "for machines: the curve and the optimum")
    .addHelpText(
      "after",
      "\nExamples:\n  tierbench curve trace.csv --batch 53248\n  tierbench curve --rows 1e12 --policy s3fifo --method sampled",
    )
    .action(async (trace, options) => {
      const number = (name: string, text: string): number => {
        if (text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
        throw new UsageError(`Cannot use --${name} ${text}: give a number`);
      };
      if ((trace === undefined) === (options.rows === undefined)) {
        throw new UsageError("Cannot make a curve: give either a trace, a profile or --rows");
      }
      const batch = number("batch", options.batch), rowBytes = number("row-bytes", options.rowBytes);
      // The command passes on what the library checks.
      const method = options.method as CurveOptions["method"], bytes = memoryForKeys(options.memory);
      const of: Pick<CurveOptions, "keys" | "law"> = trace !== undefined
        ? await keysOrLaw(trace, options.table, {
          ...traceOptions(options),
          batch,
          ...(method === "exact" ? {} : { bytes }),
          ...(method === "sampled" ? { rows: SAMPLE } : {}),
        }, terminal)
        : { law: { rows: number("rows", options.rows ?? ""), s: number("s", options.s), q: number("q", options.q) } };
      using _ = of.keys instanceof KeySample ? of.keys : undefined;
      if (!(rowBytes > 0)) throw new UsageError(`Cannot use --row-bytes ${options.rowBytes}: give a positive number`);
      const { distinct } = missRatioCurve({ ...of, sizes: [] });
      const sizes = options.sizes === undefined
        ? powers(distinct)
        : [...new Set(options.sizes.split(",").map((size) => number("sizes", size)))].sort((a, b) => a - b);
      const policy = options.policy as NonNullable<CurveOptions["policy"]>;
      const asked = { ...of, batch, ...(method === undefined ? {} : { method }) };
      const curve = missRatioCurve({ ...asked, policy, sizes });
      const optimum = missRatioCurve({ ...asked, policy: curve.method === "analytic" ? "popular" : "opt", sizes });
      if (options.json) {
        terminal.out(answerText("curve", { rowBytes, curve, optimum }));
        return;
      }
      const percent = (ratio: number | undefined): string => `${((ratio ?? NaN) * 100).toFixed(2)} %`;
      const about = curve.method === "exact" ? "" : "about ";
      terminal.out(
        `policy   ${policy}, ${curve.method}; ${about}${distinct.toPrecision(4)} distinct rows of ${rowBytes} bytes\n${
          howSampled(of.keys, [curve, optimum])
        }`,
      );
      const { errors } = curve, each = batch === 1 ? "every lookup counts" : `each row counts once in ${batch} lookups`;
      terminal.out(`misses   as a share of lookups: ${each}\n\n`);
      terminal.out(tableText([
        [
          "rows",
          "GiB",
          "misses",
          ...(errors === undefined ? [] : ["± 2 errors"]),
          `best (${optimum.policy})`,
          "saved by each GiB up to the next size",
        ],
        ...sizes.map((size, i) => {
          const next = sizes[i + 1];
          const saved = next === undefined ? "" : percent(
            ((curve.missRatios[i] ?? 0) - (curve.missRatios[i + 1] ?? 0)) / ((next - size) * rowBytes / 2 ** 30),
          );
          const gib = (size * rowBytes / 2 ** 30).toPrecision(3);
          return [
            String(size),
            gib,
            percent(curve.missRatios[i]),
            ...(errors === undefined ? [] : [percent(2 * (errors[i] ?? NaN))]),
            percent(optimum.missRatios[i]),
            saved,
          ];
        }),
      ]));
    });
}

/** What was kept of a trace, and what that took. */
function howSampled(keys: CurveOptions["keys"], curves: readonly MissRatioCurve[]): string {
  if (!(keys instanceof KeySample)) return "";
  const { added, kept, rate } = keys.facts(), count = (x: number) => x.toLocaleString("en-US");
  const memory = `memory   ${formatBytes(Math.max(...curves.map(({ bytes }) => bytes)))} for keys and curves\n`;
  if (rate === 1) return memory;
  return `sample   one row in ${count(1 / rate)} by its hash (SHARDS): ${count(kept)} of ${
    count(added)
  } lookups; errors by ` +
    `the spread of eight parts of it; --memory and --method exact keep more\n${memory}`;
}

/** The keys of a trace, or the law of a profile's table: a profile's name, or a file that ends with .json. */
export async function keysOrLaw(
  word: string,
  table: string | undefined,
  how: TraceOptions & KeySampleOptions,
  terminal: Terminal,
): Promise<Pick<CurveOptions, "keys" | "law">> {
  if (!word.endsWith(".json") && !(await listProfiles()).includes(word)) {
    return { keys: (await sampleTrace(word, { ...how, ...(table === undefined ? {} : { table }) })).keys };
  }
  const profile = await loadProfile(word);
  warnOfProfile(terminal, profile, table);
  return { law: profileLaw(profile, table) };
}

/** Sizes from all rows down, a factor of two between them. */
function powers(distinct: number): number[] {
  const sizes = Array.from({ length: POINTS }, (_, i) => Math.ceil(distinct / 2 ** (POINTS - 1 - i)));
  return [...new Set(sizes)].filter((size) => size > 0);
}
