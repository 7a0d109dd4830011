// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import {
  type CacheSize,
  cacheSize,
  EVICTION_POLICIES,
  type EvictionPolicy,
  formatBytes,
  KeySample,
  loadSimulation,
  missRatioCurve,
  rowCacheHits,
  type RowCacheSize,
  rowCacheSize,
  type StepCacheSize,
  stepCacheSizes,
} from "../mod.ts";
import { answerText } from "./answers.ts";
import { keysOrLaw } from "./curve.ts";
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
import { tableText } from "./ui/table.ts";

function positive(name: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && value > 0 && Number.isFinite(value)) return value;
    throw new UsageError(`Cannot use --${name} ${text}: give a positive number`);
  };
}

function ways(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isSafeInteger(value) && value > 0) return value;
  throw new UsageError(`Cannot use --ways ${text}: give how many places a row may have, such as FBGEMM's 32`);
}

/** Reads a share of hits, written as one or in per cent. */
export function shareOf(option: string): (text: string) => number {
  return (text) => {
    const value = text.endsWith("%") ? Number(text.slice(0, -1)) / 100 : Number(text);
    if (text.trim() !== "" && value > 0 && value < 1) return value;
    throw new UsageError(`Cannot use --${option} ${text}: give a share of hits such as 90% or 0.9`);
  };
}

function policies(text: string): readonly EvictionPolicy[] {
  if (text === "all") return EVICTION_POLICIES;
  return text.split(",").map((word) => {
    const found = EVICTION_POLICIES.find((one) => one === word);
    if (found !== undefined) return found;
    throw new UsageError(`Cannot use the policy "${word}": expected all, or some of ${EVICTION_POLICIES.join(", ")}`);
  });
}

/** A duration with its unit, in seconds. */
function stepOf(text: string): number {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?) ?(us|ms|s)$/.exec(text) ?? [];
  const value = Number(number) * ({ us: 1e-6, ms: 1e-3, s: 1 }[unit] ?? NaN);
  if (value > 0) return value;
  throw new UsageError(`Cannot use --step ${text}: give a time such as 20ms`);
}

/** What `--step` found, as a table. */
function stepText(seconds: number, sizes: readonly StepCacheSize[]): string {
  const ms = (value: number | undefined): string => value === undefined ? "" : `${(1e3 * value).toPrecision(4)} ms`;
  const rows = sizes.map(({ configuration, bytes, all, stepSeconds, stepSecondsOneGiBMore, cautiousBytes, why }) => [
    configuration,
    bytes === undefined ? "none" : formatBytes(bytes),
    bytes === undefined ? "" : `${(100 * bytes / all).toFixed(2)} %`,
    bytes === undefined ? `${ms(stepSeconds)} with all rows` : ms(stepSeconds),
    ms(stepSecondsOneGiBMore),
    bytes === undefined
      ? ""
      : why !== undefined
      ? `no band: ${why}`
      : cautiousBytes === undefined
      ? "none"
      : formatBytes(cautiousBytes),
  ]);
  const head = [
    "configuration",
    "first tier",
    "of all rows",
    "step",
    "with one GiB more",
    "at the slow end of the band",
  ];
  return `step     ${ms(seconds)} at most, simulated; bytes of one machine\n\n${tableText([head, ...rows])}`;
}

const HELP = `
A row is found in a cache that was filled before only if it came before: no cache answers first lookups of a trace. Of a law the
steady state counts, where all have come.

Examples:
  tierbench cache trace.csv --hit 90% --row-bytes 640
  tierbench cache criteo-kaggle --table C3 --hit 95% --policy all --batch 53248
  tierbench cache trace.csv --hit 90% --ways 32
  tierbench cache --rows 1e9 --s 1.05 --hit 0.8
  tierbench cache scenarios/terabyte.jsonc --step 20ms --configuration cxl`;

/** `tierbench cache`: the smallest cache that hits often enough. */
export function addCache(program: Command, { terminal }: Context): void {
  withTraceOptions(
    program.command("cache")
      .description("the smallest cache that hits often enough, under each policy, and what one GiB more would give")
      .argument(
        "[trace or profile]",
        `${KEYS_HELP}; with --step a simulation`,
      )
      .option("--hit <share>", "of the lookups, such as 90%", shareOf("hit"))
      .option(
        "--step <time>",
        "instead: the smallest first tier of a simulation whose step takes at most so long",
        stepOf,
      )
      .option("--configuration <name>", "with --step: of this configuration alone")
      .option(
        "--table <name>",
        TABLE_HELP,
      )
      .option("--rows <n>", LAW_HELP.rows, positive("rows"))
      .option("--s <skew>", LAW_HELP.s, Number, 1.05)
      .option("--q <shift>", LAW_HELP.q, Number, 0)
      .option("--policy <names>", `all, or some of ${EVICTION_POLICIES.join(",")}`, policies, ["lru"])
      .option(
        "--ways <n>",
        "also a cache on a GPU, where a row has so many places: 32 is FBGEMM's; lru, and of a trace lfu",
        ways,
      )
      .option("--batch <n>", BATCH_HELP, positive("batch"), 1)
      .option("--row-bytes <n>", ROW_BYTES_HELP, positive("row-bytes"), 256),
  )
    .option("--memory <bytes>", MEMORY_HELP, MEMORY)
    .option("--json", "for machines: a size for each policy")
    .addHelpText("after", HELP)
    .action(
      async (
        word,
        { hit, step, configuration, table, rows, s, q, policy: asked, ways, batch, rowBytes, memory, json, ...how },
      ) => {
        if ((hit === undefined) === (step === undefined)) {
          throw new UsageError("Cannot size a cache: give either --hit, a share of hits, or --step, a time");
        }
        if (step !== undefined) {
          if (word === undefined) throw new UsageError("Cannot size a cache for a step: give a simulation");
          const sizes = await stepCacheSizes(await loadSimulation(word), {
            seconds: step,
            ...(configuration === undefined ? {} : { configurations: [configuration] }),
          });
          return terminal.out(
            json ? answerText("cache", { stepSeconds: step, steps: sizes }) : stepText(step, sizes),
          );
        }
        if (hit === undefined) return;
        if ((word === undefined) === (rows === undefined)) {
          throw new UsageError("Cannot size a cache: give either a trace, a profile or --rows");
        }
        const of = word === undefined
          ? { law: { rows: rows ?? 1, s, q } }
          : await keysOrLaw(word, table, { ...traceOptions(how), batch, bytes: memoryForKeys(memory) }, terminal);
        using _ = of.keys instanceof KeySample ? of.keys : undefined;
        const gib = Math.floor(2 ** 30 / rowBytes);
        const told = <T extends CacheSize | RowCacheSize>(size: T, hitsOf: (rows: number) => number | undefined) => ({
          ...size,
          bytes: size.rows === undefined ? null : size.rows * rowBytes,
          hitsOfOneGiBMore: (size.rows === undefined ? undefined : hitsOf(size.rows + gib)) ?? null,
        });
        const found: ReturnType<typeof told<CacheSize | RowCacheSize>>[] = asked.map((policy) => {
          const size = cacheSize({ ...of, hits: hit, batch, policy }), { method } = size;
          return told(size, (held) => {
            const { missRatios: [missed] } = missRatioCurve({ ...of, batch, policy, method, sizes: [held] });
            return missed === undefined ? undefined : 1 - missed;
          });
        });
        if (ways !== undefined) {
          // A law has no formula for sets with lfu.
          for (const policy of of.law === undefined ? ["lru", "lfu"] as const : ["lru"] as const) {
            const sets = { ...of, batch, ways, policy };
            found.push(told(rowCacheSize({ ...sets, hits: hit }), (held) => rowCacheHits(sets).of(held)));
          }
        }
        const distinct = found[0]?.distinct ?? 0, rule = hit * distinct * rowBytes;
        if (json) return terminal.out(answerText("cache", { hit, batch, rowBytes, rule, sizes: found }));
        const percent = (value: number): string => `${(100 * value).toFixed(2)} %`;
        terminal.out(
          `hits     ${percent(hit)} of lookups; ${distinct.toPrecision(4)} distinct rows of ${rowBytes} bytes, ${
            formatBytes(distinct * rowBytes)
          }\n\n`,
        );
        terminal.out(tableText([
          ["policy", "how", "rows", "of all", "bytes", "hits there", "with one GiB more"],
          ...found.map(({ policy, method, rows: held, hits, bytes, hitsOfOneGiBMore: more, ...size }) => {
            const name = "ways" in size ? `${policy}, ${size.ways} ways` : policy;
            return held === undefined ? [name, method, "none", "", "", `${percent(hits)} at most`, ""] : [
              name,
              method,
              String(held),
              percent(held / distinct),
              formatBytes(bytes ?? 0),
              percent(hits),
              percent(more ?? NaN),
            ];
          }),
        ]));
        const best = found.flatMap(({ bytes }) => bytes ?? []).sort((a, b) => a - b)[0];
        if (best === undefined) return;
        terminal.out(
          `\nrule     rows × hit ratio would ask for ${formatBytes(rule)}, ${
            (rule / best).toPrecision(3)
          } times as much\n`,
        );
      },
    );
}
