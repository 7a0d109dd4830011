// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { dirname, join, relative } from "node:path";
import {
  checkBaselineName,
  CONTRIBUTE_FILE,
  isSimulation,
  parseShard,
  preciseTo,
  type RankLauncher,
  renderTerminal,
  requireLike,
  type Result,
  resultPath,
  runContribution,
  RunMetrics,
  runScenario,
  type RunScenarioOptions,
  saveBaseline,
  scenarioFor,
  type Shard,
  summarise,
  writeReport,
} from "../mod.ts";
import type { RunLine } from "./answers.ts";
import { answersOf, shown, writeContribution } from "./contribute.ts";
import { EXIT, UsageError } from "./exit_codes.ts";
import { BASELINE_HELP, gate, tolerance as percent, TOLERANCE_HELP } from "./gate.ts";
import { baselineWord, RESULTS_HELP, resultsOf } from "./page_argument.ts";
import { SET_HELP, setField } from "./set_option.ts";
import type { Context } from "./main.ts";
import { checkPrices, listed, priceOptions, withPriceOptions } from "./price_files.ts";
import { RunView } from "./run_view.ts";
import { runVirtual } from "./run_virtual.ts";
import { LiveRun } from "./ui/live.ts";
import { VOUCH_HELP, vouched } from "./vouch.ts";
import { DEFAULT_SCENARIO, SCENARIO_HELP, scenarioFile } from "./scenario_argument.ts";

const WIDTH_HELP = "take rounds until every comparison is known to ± so many percent, or the scenario's budget is used";

/** A share from percent as they are written. */
function width(text: string): number {
  const percent = Number(text.replace(/%$/, ""));
  if (text.trim() !== "" && percent > 0 && percent < 100) return percent / 100;
  throw new UsageError(`Cannot use the width "${text}": expected percent above 0 and below 100, such as 3`);
}

const HELP = `
The results are in reports/out/<name>: index.html (open it in a browser), summary.md, summary.csv, summary.json and
result.jsonl, from which all of them can be made again. An earlier result.jsonl is kept under another name.

Examples:
  tierbench run
  tierbench run mine.jsonc --quick
  tierbench run --save-baseline main    and later: tierbench run --baseline main
  tierbench run --data train.txt.gz --out results/mine
  tierbench run --watch                 and a page that follows it, on this machine alone
  tierbench run --resume                go on after Ctrl-C
  tierbench run --json | jq -c 'select(.type == "sample") | .record.id'      progress and results as JSON lines
  tierbench run --width 3 --set 'budget="10 min"'    rounds until ratios are known to ±3 %, for ten minutes at most
  tierbench run scale-out               1, 2 and 4 processes train one model over an MPI
  tierbench run --preset contribute     measure PMEM or CXL memory that is here and make one file to send
  tierbench run --vouch optane-200      in a cloud VM: the PMEM that it shows as plain memory is real, says its owner
  tierbench run mine.jsonc --set workload.batch=512 --set 'workload.hidden=[64,32]'`;

function wholeNumber(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new UsageError(`Cannot use the seed "${text}": expected a whole number from 0 to 9007199254740991`);
}

function required(text: string): "measured" {
  if (text === "measured") return text;
  throw new UsageError(`Cannot require "${text}": expected "measured"`);
}

function launcher(text: string): RankLauncher {
  const names = ["mpirun", "srun", "none"] as const;
  const name = names.find((one) => one === text);
  if (name !== undefined) return name;
  throw new UsageError(`Unknown launcher "${text}": expected ${names.join(", ")}`);
}

/** The launcher is a field of the scenario's ranks. */
function withLauncher<W extends { readonly launcher?: RankLauncher; readonly set?: Record<string, unknown> }>(
  { launcher, ...words }: W,
) {
  return launcher === undefined ? words : { ...words, set: { ...words.set, "cluster.launcher": launcher } };
}

function shard(text: string): Shard {
  try {
    return parseShard(text);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new UsageError(`Cannot watch on port "${text}": expected a number from 1 to 65535, or none for a free one`);
}

function baselineName(text: string): string {
  checkBaselineName(text);
  return text;
}

function preset(text: string): "contribute" {
  if (text === "contribute") return text;
  throw new UsageError(`Unknown preset "${text}": expected "contribute"`);
}

/** Words that mean nothing with a preset, or nothing without. */
function checkWords(
  word: string | undefined,
  { preset, data, note, answers }: { preset?: string; data?: string; note?: readonly string[]; answers?: string },
): void {
  if (preset === undefined && (note !== undefined || answers !== undefined)) {
    throw new UsageError("Cannot use --note or --answers: they belong to --preset contribute");
  }
  if (preset === undefined) return;
  if (word !== undefined) throw new UsageError(`Cannot run "${word}": --preset ${preset} runs its own scenario`);
  if (data !== undefined) throw new UsageError(`Cannot use --data: --preset ${preset} trains on generated rows`);
}

/** `tierbench run`: runs a scenario and writes its report. */
export function addRun(program: Command, { terminal, exit }: Context): void {
  withPriceOptions(
    program.command("run")
      .description("run a scenario and write its report")
      .argument("[scenario]", `${SCENARIO_HELP} (default: "${DEFAULT_SCENARIO}")`),
  )
    .option("--preset <name>", 'with "contribute": measure what is here, make one file to send', preset)
    .option("--note <text>", 'with the preset: an answer ("modules: …", "firmware: …", "idle: …") or a remark', listed)
    .option("--answers <file>", "with the preset: the same from a JSON file")
    .option("--quick", "a small version, under 30 s: for a first look, not for figures to quote")
    .option("--data <file>", "train on these rows in Criteo's format (TSV or CSV, plain or gzip)")
    .option("--require <kind>", 'with "measured": a medium that is not here is an error (exit code 3)', required)
    .option("--vouch <medium>", VOUCH_HELP, vouched)
    .option("--shard <i/n>", "one share of n, to be joined with the others by merge", shard)
    .option("--resume", "go on with an interrupted run")
    .option("--out <folder>", "where results go (default: reports/out/<name>)")
    .option("--seed <number>", "another seed than the scenario's", wholeNumber)
    .option("--set <field=value>", SET_HELP, setField)
    .option(
      "--launcher <name>",
      "what starts ranks: mpirun, srun or none (short for --set cluster.launcher=…)",
      launcher,
    )
    .option("--no-limit", "take however long it takes: no bound on samples, or on the work of a simulation")
    .option("--no-install", "never install system packages (deno task does so when they are missing)")
    .option("--baseline <results>", `${BASELINE_HELP}; ${RESULTS_HELP}`)
    .option("--tolerance <percent>", TOLERANCE_HELP, percent)
    .option("--save-baseline <name>", "keep the results under this name, for --baseline of later runs", baselineName)
    .option("--width <percent>", WIDTH_HELP, width)
    .option(
      "--watch [port]",
      "serve a page on 127.0.0.1 that follows the run, and /metrics (default port: a free one)",
      portOf,
    )
    .option("--json", "for machines: every event, then the summary, a JSON line each")
    .addHelpText("after", HELP)
    .action(async (word, all) => {
      const { json, install: _, preset, note, answers, prices, asOf, boundary, currency, ...more } = all;
      const { baseline, tolerance, width, saveBaseline: keep, watch, ...given } = more;
      const words = withLauncher(given);
      const priced = await priceOptions({ prices, asOf, boundary, currency });
      checkWords(word, {
        ...(preset === undefined ? {} : { preset }),
        ...(words.data === undefined ? {} : { data: words.data }),
        ...(note === undefined ? {} : { note }),
        ...(answers === undefined ? {} : { answers }),
      });
      if (baseline === undefined && tolerance !== undefined) {
        throw new UsageError("Cannot use --tolerance: it belongs to --baseline");
      }
      const said = await answersOf({ note, answers });
      const file = preset === undefined ? await scenarioFile(word ?? DEFAULT_SCENARIO) : CONTRIBUTE_FILE;
      const virtual = await isSimulation(file);
      const kept = baseline !== undefined ? "--baseline" : keep !== undefined ? "--save-baseline" : undefined;
      if (given.shard !== undefined && (kept !== undefined || preset !== undefined || virtual)) {
        throw new UsageError(
          "Cannot use --shard with --baseline, --save-baseline, --preset or a simulation: merge the shards first",
        );
      }
      if (width !== undefined && (given.shard !== undefined || preset !== undefined || virtual)) {
        throw new UsageError("Cannot use --width with --shard, --preset or a simulation: their rounds are fixed");
      }
      if (virtual && kept !== undefined) {
        throw new UsageError(
          `Cannot use ${kept} with the simulation "${file}": it is deterministic; use "tierbench compare"`,
        );
      }
      if (virtual && watch !== undefined) {
        throw new UsageError(
          `Cannot use --watch: "${file}" is a simulation; it runs whole, in virtual time, within seconds`,
        );
      }
      if (virtual) return await runVirtual(file, { ...words, json: json === true }, terminal, priced);
      // What cannot be compared is said before minutes are spent.
      const before = baseline === undefined
        ? undefined
        : (await resultsOf(await baselineWord(baseline, async () => (await scenarioFor(file, words)).name))).result;
      const view = new RunView(json ? { ...terminal, out: terminal.err, isTerminal: false } : terminal);
      const metrics = new RunMetrics();
      await using live = watch === undefined ? undefined : new LiveRun(watch === true ? 0 : watch, metrics);
      if (live !== undefined) view.line("watch", live.url);
      const line = (value: RunLine) => terminal.out(`${JSON.stringify(value)}\n`);
      const options = {
        ...words,
        ...(width === undefined ? {} : { until: preciseTo(width) }),
        metrics,
        onProgress: (event) => {
          live?.show(event);
          if (json) line(event);
          else view.show(event);
        },
        onResolved: (scenario, files) => {
          checkPrices(files); // a broken file is said now, not after the run
          if (before !== undefined && baseline !== undefined) requireLike(before, scenario, [baseline, file]);
        },
      } satisfies RunScenarioOptions;
      const result = await interruptible(
        (signal) =>
          preset === undefined ? runScenario(file, { ...options, signal }) : runContribution({ ...options, signal }),
        () => view.end(),
      );
      const folder = dirname(resultPath(result.run.scenario, options.out, options.shard));
      const summary = summarise(result, priced);
      const files = await writeReport(result, folder, priced);
      if (json) line({ type: "summary", report: files.html, summary });
      else terminal.out(`\n${renderTerminal(summary, terminal.width)}\n`);
      view.line("report", relative(Deno.cwd(), files.html) || join(folder, "index.html"));
      if (preset !== undefined) {
        const into = options.out === undefined ? dirname(folder) : folder;
        const { path, text } = await writeContribution(result, said, { folder: into, width: terminal.width });
        if (!json) terminal.out(`\n${text}\n`);
        view.line("send", shown(path));
        view.line("", "look into it first; docs/contributing-measurements.md says where to");
      }
      let code: number = EXIT.ok;
      if (before !== undefined && baseline !== undefined) {
        const form = tolerance === undefined ? {} : { tolerance };
        const out = (text: string) => json ? undefined : terminal.out(text);
        const judged = gate(before, result, [baseline, shown(files.html)], form, { ...terminal, out });
        if (json) line({ type: "comparison", comparison: judged.comparison });
        code = judged.code;
      }
      if (keep !== undefined) view.line("kept", await keptAs(result, keep, join(folder, "result.jsonl")));
      live?.end(`The run has ended. Report: ${shown(files.html)}`);
      exit(hasFailed(result) ? EXIT.failed : code);
    });
}

/** Keeps results as a baseline and says so; of a run with failed samples it says that it does not. */
async function keptAs({ run: { scenario }, failed }: Result, name: string, results: string): Promise<string> {
  if (failed.length > 0) return `no baseline "${name}": ${failed.length} samples failed`;
  return `as the baseline "${name}": ${shown(await saveBaseline(results, { scenario: scenario.name, name }))}`;
}

function hasFailed({ failed }: Result): boolean {
  return failed.length > 0;
}

/**
 * Runs until Ctrl-C or a request to end; the second one of its kind ends the process at once. Of two kinds they may be one
 * Ctrl-C: the terminal's, and the same passed on by `deno task`'s set-up.
 */
export async function interruptible<T>(run: (signal: AbortSignal) => Promise<T>, end: () => void): Promise<T> {
  const controller = new AbortController();
  const listeners = (["SIGINT", "SIGTERM"] as const).map((signal) => {
    let asked = 0;
    return [signal, () => ++asked > 1 ? Deno.exit(EXIT.interrupted) : controller.abort()] as const;
  });
  for (const [signal, stop] of listeners) Deno.addSignalListener(signal, stop);
  try {
    return await run(controller.signal);
  } finally {
    end();
    for (const [signal, stop] of listeners) Deno.removeSignalListener(signal, stop);
  }
}
