/**
 * Parses the words of the command, calls the verb, turns errors into one message and an exit code.
 *
 * @module
 */

// @ts-types="@commander-js/extra-typings"
import { Command, CommanderError } from "commander";
import {
  AnswerError,
  BaselineError,
  CalibrationError,
  CalibrationInterrupted,
  MergeError,
  MissingFileError,
  NativeLibraryError,
  ProfileError,
  RerunError,
  RunInterrupted,
  ScenarioError,
  TableConfigError,
  TierstoreError,
  TraceError,
  UnavailableError,
  UnlikeResultsError,
  UnresumableError,
  VouchError,
} from "../mod.ts";
import { addAsk } from "./ask.ts";
import { addBaselines } from "./baselines.ts";
import { addCache } from "./cache.ts";
import { addCalibrate } from "./calibrate.ts";
import { addCheckpoint } from "./checkpoint.ts";
import { addClaim } from "./claim.ts";
import { addCurve } from "./curve.ts";
import { addCompletions } from "./completions.ts";
import { addCompare } from "./compare.ts";
import { addDoctor } from "./doctor.ts";
import { EXIT, EXIT_HELP, UsageError } from "./exit_codes.ts";
import { addExport } from "./export.ts";
import { addInit } from "./init.ts";
import { addInspect } from "./inspect.ts";
import { addInstall } from "./install.ts";
import { addList } from "./list.ts";
import { addManual } from "./manual.ts";
import { addMerge } from "./merge.ts";
import { addPlan } from "./plan.ts";
import { addPrices } from "./prices.ts";
import { addProfile } from "./profile.ts";
import { addProvision } from "./provision.ts";
import { addPublish } from "./publish.ts";
import { addReanalyse } from "./reanalyse.ts";
import { addReport } from "./report.ts";
import { addRerun } from "./rerun.ts";
import { addRun } from "./run.ts";
import { addSchema } from "./schema.ts";
import { addSize } from "./size.ts";
import type { Terminal } from "./ui/terminal.ts";
import { safeTerminal, styleFor } from "./ui/ansi.ts";
import { addValidate } from "./validate.ts";
import { addValidateModels } from "./validate_models.ts";
import { addVerify } from "./verify.ts";
import { versionText } from "./version.ts";

/** What a verb works with. */
export interface Context {
  readonly terminal: Terminal;
  /** Sets the exit code of a verb that ended without an error. */
  readonly exit: (code: number) => void;
}

const EXAMPLES = `
Examples ("tierbench" stands for "deno task tierbench"):
  tierbench run                                   the four memory configurations, about three minutes
  tierbench run --quick                           a first look, under 30 s
  tierbench run --data day_0.tsv.gz               the same on your own rows in Criteo's format
  tierbench run pmem-modes --require measured     only if the media are really here
  tierbench init mine.jsonc && tierbench run mine.jsonc
  tierbench compare before.html after.html        what got faster, what slower, how sure that is
  tierbench ask --rows 2TB --target 500k/s        where 2 TB of rows should live, what it costs, how sure that is
  tierbench doctor                                what this machine has and what it lacks
  tierbench provision fsdax                       the commands that set PMEM up on this machine`;

function program(context: Context): Command {
  const { terminal } = context;
  const style = styleFor(terminal.colors);
  const command = new Command("tierbench")
    .description("Tells where the embedding tables of a recommender should live: how fast, at what cost")
    .option(
      "-V, --version",
      "print the versions of tierbench, its native library and the runtime; with --json for machines",
    )
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err, getOutHasColors: () => terminal.colors })
    .configureHelp({
      helpWidth: Math.min(terminal.width, 120),
      styleTitle: style.bold,
      styleCommandText: style.green,
      styleOptionText: style.green,
    })
    .showSuggestionAfterError()
    .helpCommand(true)
    .exitOverride()
    .addHelpText("after", EXAMPLES + "\n" + EXIT_HELP);
  const add = [
    addRun,
    addInit,
    addList,
    addValidate,
    addReport,
    addVerify,
    addReanalyse,
    addRerun,
    addCompare,
    addBaselines,
    addMerge,
    addPublish,
    addClaim,
    addPrices,
    addAsk,
    addPlan,
    addSize,
    addExport,
    addCurve,
    addCache,
    addInspect,
    addProfile,
    addCalibrate,
    addCheckpoint,
    addValidateModels,
    addDoctor,
    addProvision,
    addSchema,
    addInstall,
    addCompletions,
    addManual,
  ];
  for (const verb of add) verb(command as Command, context);
  // Verbs inherit neither the override nor the output when they are added by hand.
  for (const verb of command.commands) verb.copyInheritedSettings(command as Command);
  return command as Command;
}

/** Errors of what was written: words, files, results that do not go together. */
const USAGE_ERRORS = [
  ScenarioError,
  UsageError,
  UnresumableError,
  AnswerError,
  BaselineError,
  CalibrationError,
  ProfileError,
  TableConfigError,
  TraceError,
  UnlikeResultsError,
  RerunError,
  VouchError,
  MergeError,
  MissingFileError,
] as const;

function exitCodeOf(error: unknown): number {
  if (error instanceof RunInterrupted || error instanceof CalibrationInterrupted) return EXIT.interrupted;
  if (USAGE_ERRORS.some((kind) => error instanceof kind)) return EXIT.usage;
  if (error instanceof UnavailableError) return EXIT.unavailable;
  if (error instanceof NativeLibraryError) return EXIT.setup;
  if (error instanceof TierstoreError && error.status === "TS_EUNAVAILABLE") return EXIT.setup;
  return EXIT.failed;
}

/**
 * Runs the command.
 *
 * @param args Its words.
 * @param given Where it writes.
 * @returns The exit code.
 */
export async function main(args: readonly string[], given: Terminal): Promise<number> {
  const terminal = safeTerminal(given);
  let code: number = EXIT.ok;
  const context: Context = { terminal, exit: (wanted) => code = wanted };
  try {
    if (args[0] === "--version" || args[0] === "-V") terminal.out(versionText(args.includes("--json")));
    else if (args.length === 0) program(context).outputHelp();
    else await program(context).parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const text = messageOf(error).replaceAll("\n", `\n${" ".repeat("error    ".length)}`);
    terminal.err(`${styleFor(terminal.colors).red("error")}    ${text}\n`);
    return exitCodeOf(error);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
