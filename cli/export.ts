import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
// @ts-types="@commander-js/extra-typings"
import { Argument, type Command } from "commander";
import {
  loadPlan,
  mlLogs,
  planEeg,
  shownLine,
  tbeCommands,
  tbeScript,
  torchRecModule,
  torchRecTables,
  torchRecYaml,
  writing,
} from "../mod.ts";
import { answerText, type ExportAnswer } from "./answers.ts";
import { shareOf } from "./cache.ts";
import { UsageError } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { resultsOf } from "./page_argument.ts";
import { warnOfPlanProfiles } from "./profile_warnings.ts";
import { tableText } from "./ui/table.ts";

/** Load factor below which statistics that are not exact are no surprise to anybody who plans with them. */
const SMALL = 1e-4;

const TOOLS = ["torchrec", "torchrec-yaml", "eeg", "tbe", "mllog"] as const;
type Tool = typeof TOOLS[number];

const HELP = `
torchrec  a Python module with constraints for TorchRec's EmbeddingShardingPlanner: of each table the load factor of a least recently
          used cache that hits so often, lookups a sample, and EmbeddingOffloadStats, from which the planner scales caches up. Those
          are bins of equal width: where a small cache hits much, they are exact from the load factor on that is printed.
          With --both-hit rows are kept on SSDs, and KeyValueParams have the two caches above them.
torchrec-yaml
          the same tables and constraints for --yaml_config of TorchRec's benchmark_train_pipeline.py, without statistics
eeg       FBGEMM's JSON of tables (TBEDataConfig), a law of each (indices_params_list); "tierbench profile --from-eeg" reads it
tbe       a shell script of FBGEMM's tbe_training_benchmark.py over the same tables: in memory, and each behind a cache of --hit
mllog     of a result in place of a plan: MLPerf's :::MLLOG lines, a log for each run; --out is a folder of result_<n>.txt

Examples:
  tierbench export torchrec scenarios/plans/mlperf-dlrmv2.jsonc --hit 90% --out constraints.py
  tierbench export torchrec scenarios/plans/mlperf-dlrmv2.jsonc --hit 90% --both-hit 99% --out constraints.py
  tierbench export tbe scenarios/plans/mlperf-dlrmv2.jsonc --out dlrm.sh
  tierbench export mllog reports/out/pmem-modes --out logs`;

/** What one tool is given. */
interface Exported {
  /** The text; of several files, all of them. */
  readonly text: string;
  /** What `--out` holds, by name in its folder; absent: `text` in one file. */
  readonly files?: Readonly<Record<string, string>>;
  /** For `--json`. */
  readonly answer: ExportAnswer;
  /** What is said beside it. */
  readonly told: string;
}

const notes = (lost: readonly string[]): string => lost.map((sentence) => `note     ${shownLine(sentence)}\n`).join("");

async function torchrec(path: string, yaml: boolean, hits: number, bothHits: number | undefined): Promise<Exported> {
  const plan = await loadPlan(path);
  const tables = await torchRecTables(plan, { hits, ...(bothHits === undefined ? {} : { bothHits }) });
  return {
    text: yaml ? torchRecYaml(plan, tables) : torchRecModule(plan.name, tables),
    answer: {
      tool: yaml ? "torchrec-yaml" : "torchrec",
      plan: plan.name,
      tables: tables.map((table) => ({ ...table, histogram: [...table.histogram] })),
    },
    told: tableText([
      ["table", "rows", "load factor", "hits", "statistics are within 0.01", "caches"],
      ...tables.map(({ name, height, loadFactor, hits, exactFrom, keyValue }) => [
        name,
        String(height),
        loadFactor.toPrecision(3),
        `${(100 * hits).toFixed(2)} %`,
        exactFrom <= SMALL
          ? "everywhere"
          : exactFrom >= 1
          ? "of all rows alone"
          : `from a load factor of ${exactFrom.toPrecision(2)} on`,
        keyValue === undefined ? "" : `${keyValue.l1MiB} MiB above ${keyValue.l2GiB} GiB`,
      ]),
    ]),
  };
}

async function eeg(path: string): Promise<Exported> {
  const plan = await loadPlan(path), { text, lost } = await planEeg(plan);
  return { text, answer: { tool: "eeg", plan: plan.name, lost }, told: notes(lost) };
}

async function tbe(path: string, hits: number): Promise<Exported> {
  const plan = await loadPlan(path), { commands, lost } = await tbeCommands(plan, { hits });
  const lines = commands.map(({ about, words }) => ({ about, words }));
  return {
    text: tbeScript(plan.name, commands),
    answer: { tool: "tbe", plan: plan.name, commands: lines, lost },
    told: notes(lost),
  };
}

async function mllog(path: string): Promise<Exported> {
  const { result } = await resultsOf(path), { logs, lost } = mlLogs(result);
  const named = logs.map(({ id, text }, i) => ({ file: `result_${i}.txt`, id, text }));
  return {
    text: named.map(({ text }) => text).join(""),
    files: Object.fromEntries(named.map(({ file, text }) => [file, text])),
    answer: {
      tool: "mllog",
      scenario: result.run.scenario.name,
      logs: named.map(({ file, id, text }) => ({ file, id, lines: text.split("\n").length - 1 })),
      lost,
    },
    told: notes(lost),
  };
}

async function exported(
  tool: Tool,
  path: string,
  hits: number | undefined,
  bothHits: number | undefined,
): Promise<Exported> {
  if (bothHits !== undefined && !tool.startsWith("torchrec")) {
    throw new UsageError(`Cannot use --both-hit with "${tool}": its caches are one above another for TorchRec alone`);
  }
  if (hits !== undefined && (tool === "eeg" || tool === "mllog")) {
    throw new UsageError(`Cannot use --hit with "${tool}": it has no caches`);
  }
  switch (tool) {
    case "torchrec":
    case "torchrec-yaml":
      return await torchrec(path, tool === "torchrec-yaml", hits ?? 0.9, bothHits);
    case "eeg":
      return await eeg(path);
    case "tbe":
      return await tbe(path, hits ?? 0.9);
    case "mllog":
      return await mllog(path);
  }
}

async function written(out: string, { text, files }: Exported): Promise<void> {
  await writing(out, async () => {
    if (files === undefined) return await writeFile(out, text);
    await mkdir(out, { recursive: true });
    for (const [name, each] of Object.entries(files)) await writeFile(join(out, name), each);
  });
}

/** `tierbench export`: a plan's tables, or a result, in the words of other tools. */
export function addExport(program: Command, { terminal }: Context): void {
  program.command("export")
    .description("write a plan's tables or a result in the words of another tool: TorchRec, FBGEMM, MLPerf")
    .addArgument(new Argument("<tool>", "whose").choices(TOOLS))
    .argument("<file>", "a plan file; of mllog, results: a report's page, a result.jsonl, or the folder of one")
    .option("--hit <share>", "of a batch's different rows that each cache is to answer (default: 90%)", shareOf("hit"))
    .option(
      "--both-hit <share>",
      "of TorchRec: rows are on SSDs, and this is what the caches of device and host are to answer together",
      shareOf("both-hit"),
    )
    .option("--out <file>", "where to; default: standard output, and what is said on standard error")
    .option("--json", "for machines: what is told of each table, instead of the text on standard output")
    .addHelpText("after", HELP)
    .action(async (tool, path, { hit, bothHit, out, json }) => {
      const made = await exported(tool, path, hit, bothHit);
      if (tool !== "mllog") await warnOfPlanProfiles(terminal, await loadPlan(path));
      if (out !== undefined) await written(out, made);
      if (json) {
        return terminal.out(answerText("export", { ...made.answer, ...(out === undefined ? {} : { file: out }) }));
      }
      const say = out === undefined ? terminal.err : terminal.out;
      if (out === undefined) terminal.out(made.text);
      say(made.told);
      if (out !== undefined) terminal.out(`${made.told === "" ? "" : "\n"}written  ${out}\n`);
    });
}
