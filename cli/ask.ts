// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { basename, dirname, join, relative, resolve } from "node:path";
import {
  ask,
  ASK_MEDIA,
  askJson,
  type AskMedium,
  askText,
  defaultPriceBook,
  deviceCapacities,
  type DocumentOptions,
  loadPlan,
  type PlanFile,
  planFileText,
  planFrom,
  planOfQuestion,
  type PriceBook,
  pricesAsOf,
  readUserText,
  TABLE_OPTIMIZERS,
  tableOfRows,
  type TableOptimizer,
  tablesOfFile,
  VERSION,
  withMedium,
  withOwnPrices,
  writeAsk,
  writing,
} from "../mod.ts";
import { EXIT, UsageError } from "./exit_codes.ts";
import { schemaFrom } from "./init.ts";
import type { Context } from "./main.ts";
import { priceOptions, thisMonth, withPriceOptions } from "./price_files.ts";
import { warnOfPlanProfiles } from "./profile_warnings.ts";
import { SET_HELP, setField } from "./set_option.ts";

const HELP = `
Without a plan file, one is made of the words, written beside the page and answered; "tierbench plan" takes it, too.
Rows are bytes of weights and optimizer slots with a unit, or their number without one.

Examples:
  tierbench ask --rows 2TB --dim 64 --target 500k/s --among dram,cxl,nvme --skew 0.9
  tierbench ask --rows 2TB --target 500k/s --profile oe-retail --prices offers.csv --currency EUR
  tierbench ask --tables mine.jsonc --target 20ms --among dram,cxl
  tierbench ask scenarios/plans/retail.jsonc

docs/planner.md says what is modelled and what is assumed.`;

const PREFIXES: Readonly<Record<string, number>> = { "": 1, k: 1e3, M: 1e6, G: 1e9 };

/** `500k/s`, `20ms`, or both with a comma between. */
export function targetOf(text: string): PlanFile["target"] {
  let found: PlanFile["target"] = {};
  for (const word of text.split(",")) {
    const rate = /^([\d.]+)\s*([kMG]?)\/s$/.exec(word.trim());
    const step = /^([\d.]+)\s*ms$/.exec(word.trim());
    const value = Number(rate?.[1] ?? step?.[1]) * (PREFIXES[rate?.[2] ?? ""] ?? 1);
    if (!(value > 0)) {
      throw new UsageError(
        `Cannot aim at "${word}": expected samples a second such as 500k/s, or a p99 step such as 20ms`,
      );
    }
    found = { ...found, ...(rate !== null ? { samplesPerSecond: value } : { p99Ms: value }) };
  }
  return found;
}

function amongOf(text: string): AskMedium[] {
  return text.split(",").map((word) => {
    const found = ASK_MEDIA.find((one) => one === word.trim());
    if (found === undefined) throw new UsageError(`Cannot choose among "${word}": expected ${ASK_MEDIA.join(", ")}`);
    return found;
  });
}

/** A number above 0, at most so large. */
function number(what: string, whole: boolean): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && value > 0 && Number.isFinite(value) && (!whole || Number.isSafeInteger(value))) {
      return value;
    }
    throw new UsageError(`Cannot use ${what} "${text}": expected a ${whole ? "whole " : ""}number above 0`);
  };
}

function atLeastZero(what: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && value >= 0 && Number.isFinite(value)) return value;
    throw new UsageError(`Cannot use ${what} "${text}": expected a number, 0 or more`);
  };
}

/** `nvme-tlc=drive.jsonc`: the user's own model in the place of a shipped one. */
function mediumPair(text: string, before: readonly (readonly [string, string])[] = []): (readonly [string, string])[] {
  const [, name, file] = /^([^=\s]+)=(.+)$/.exec(text) ?? [];
  if (name === undefined || file === undefined) {
    throw new UsageError(`Cannot use the medium "${text}": expected NAME=FILE, such as nvme-tlc=drive.jsonc`);
  }
  return [...before, [name, file]];
}

/** Words that make a plan; none goes with a plan file. */
const MAKING = [
  "rows",
  "tables",
  "dim",
  "optimizer",
  "lookups",
  "skew",
  "profile",
  "target",
  "among",
  "workers",
  "batch",
  "computeMs",
  "trainers",
  "workersPerHost",
  "providers",
  "name",
] as const;

/** `tierbench ask`: from bytes of tables, a target and media to a plan, its simulation and one page. */
export function addAsk(program: Command, { terminal, exit }: Context): void {
  withPriceOptions(
    program.command("ask")
      .description(
        "where should these tables live: the answer, what it costs, how sure, what would turn it, on one page",
      )
      .argument("[plan]", "a plan file; without one the words below make it"),
  )
    .option("--rows <size>", "bytes of rows such as 2TB, or how many such as 4e9")
    .option("--tables <file>", "tables of a plan file instead of --rows")
    .option("--dim <number>", "weights of a row (default: 64)", number("--dim", true))
    .option("--optimizer <name>", "what updates rows, which says their slots (default: adagrad)")
    .option("--lookups <number>", "lookups a sample (default: 26)", number("--lookups", false))
    .option("--skew <s>", "rows are used as rank^-s (default: 0.9)", atLeastZero("--skew"))
    .option("--profile <name>", "a profile of your keys, or a shipped one, instead of --skew")
    .option("--target <rate>", "samples a second such as 500k/s, a p99 step such as 20ms, or both", targetOf)
    .option("--among <media>", `where rows may live: ${ASK_MEDIA.join(", ")} (default: dram,cxl,nvme)`, amongOf)
    .option("--workers <number>", "workers that train together (default: 8)", number("--workers", true))
    .option("--batch <number>", "samples of one worker's step (default: 4096)", number("--batch", true))
    .option("--compute-ms <ms>", "what the dense layers of a step take (default: 10)", atLeastZero("--compute-ms"))
    .option("--trainers <machine>", 'what trains, a machine of the price book (default: "AWS p4d.24xlarge")')
    .option("--workers-per-host <number>", "workers on one of these (default: 8)", number("--workers-per-host", true))
    .option("--providers <names>", "machines for rent of these providers, too, such as AWS")
    .option("--medium <name=file>", "a medium you measured in the place of one; may be repeated", mediumPair)
    .option("--name <name>", "what to call it")
    .option("--set <field=value>", SET_HELP, setField)
    .option("--out <folder>", "where plan and page go (default: reports/out/ask-<name>)")
    .option("--no-limit", "no bound on the number of tables and machines")
    .option("--json", "for machines: the answer on standard output")
    .addHelpText("after", HELP)
    .action(async (given, { json, out, set, limit, prices, asOf: date, boundary, currency = "USD", ...words }) => {
      const { priceFiles = [], asOf } = await priceOptions({ prices, asOf: date });
      const book = priceFiles.length === 0 ? defaultPriceBook() : withOwnPrices(defaultPriceBook(), priceFiles);
      const made = MAKING.filter((word) => words[word] !== undefined);
      if (given !== undefined && made.length > 0) {
        const option = made[0]?.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
        throw new UsageError(
          `Cannot use --${option} with "${given}": the plan file says it; change it there, or with --set`,
        );
      }
      const called = given !== undefined ? (await loadPlan(given, { limit, set })).name : words.name ??
        (words.tables === undefined ? `${words.rows ?? ""} of rows` : basename(words.tables).replace(/\.jsonc?$/, ""));
      const folder = out ?? join("reports", "out", `ask-${called.replace(/[^A-Za-z0-9_-]+/g, "-")}`);
      const media = (words.medium ?? []).map(([name, file]) =>
        [name, relative(resolve(folder), resolve(file))] as const
      );
      const asGiven = given !== undefined && media.length === 0;
      const plan = async () => {
        const made = given === undefined ? await planFile() : await planFrom(given, resolve(folder));
        return media.reduce((plan, [name, file]) => withMedium(plan, name, file), made);
      };
      const path = asGiven ? given : await writtenPlan(await plan(), folder, set);
      const file = await loadPlan(path, { limit, set: asGiven ? set : undefined });
      await warnOfPlanProfiles(terminal, file);
      const asked = await ask(asOf === undefined ? file : { ...file, prices: asOf }, book, {
        currency,
        serversAlone: boundary === "parameter-servers",
      });
      const page = {
        plan: await readUserText(path, "plan"),
        command: `tierbench ask ${path}`,
        version: VERSION,
      };
      const files = await writeAsk(asked, folder, page, currency);
      if (json === true) terminal.out(askJson(asked, currency));
      else {
        terminal.out(askText(asked, terminal.width));
        terminal.out(`\nplan     ${near(path)}\npage     ${near(files.html)}\n`);
      }
      if (asked.answer.best === undefined) exit(EXIT.failed);

      async function planFile(): Promise<PlanFile> {
        const { target, rows, tables, profile, skew } = words;
        if ((rows === undefined) === (tables === undefined)) {
          throw new UsageError(
            "Cannot ask: expected a plan file, or either --rows such as 2TB or --tables with a file of them",
          );
        }
        if (target === undefined) {
          throw new UsageError("Cannot ask without a target: expected --target such as 500k/s or 20ms");
        }
        if (profile !== undefined && skew !== undefined) {
          throw new UsageError("Cannot use --skew with --profile: a profile says how often rows are used");
        }
        const at = (word: string): string => isPath(word) ? relative(resolve(folder), resolve(word)) : word;
        const month = asOf ?? thisMonth();
        return planOfQuestion(
          {
            name: called,
            tables: tables !== undefined ? await tablesOfFile(tables, resolve(folder)) : {
              rows: tableOfRows({
                rows: rows ?? "",
                dim: words.dim ?? 64,
                optimizer: optimizerOf(words.optimizer ?? "adagrad"),
                lookups: words.lookups ?? 26,
                profile: profile === undefined ? { s: skew ?? 0.9 } : at(profile),
              }),
            },
            target,
            among: words.among ?? ["dram", "cxl", "nvme"],
            batch: words.batch ?? 4096,
            workers: words.workers ?? 8,
            computeMs: words.computeMs ?? 10,
            trainers: words.trainers ?? "AWS p4d.24xlarge",
            workersPerHost: words.workersPerHost ?? 8,
            prices: month,
            providers: [...new Set([...words.providers?.split(",") ?? [], ...ownProviders(book)])],
          },
          pricesAsOf(book, month),
          await deviceCapacities(new Map((words.medium ?? []).map(([name, file]) => [name, resolve(file)]))),
        );
      }
    });
}

function near(path: string): string {
  return relative(Deno.cwd(), path) || path;
}

function isPath(word: string): boolean {
  return /[/\\]|\.jsonc?$/.test(word);
}

function optimizerOf(text: string): TableOptimizer {
  const found = TABLE_OPTIMIZERS.find((one) => one === text);
  if (found !== undefined) return found;
  throw new UsageError(`Cannot use the optimizer "${text}": expected ${TABLE_OPTIMIZERS.join(", ")}`);
}

/** Providers of the user's own rows: whoever gives prices of machines means them to be tried. */
function ownProviders({ instances, quotes = [] }: PriceBook): string[] {
  return [...instances, ...quotes].flatMap(({ own, provider, role }) => own && role === "memory" ? [provider] : []);
}

/** Writes a plan where its page goes; another one that is there is kept under another name. */
async function writtenPlan(plan: PlanFile, folder: string, set: DocumentOptions["set"]): Promise<string> {
  const path = join(folder, "plan.jsonc");
  const text = planFileText(plan, {
    about: `Made by "tierbench ask". Change it and ask again: tierbench ask ${path}`,
    schema: schemaFrom(resolve(folder), "plan.schema.json"),
    set,
  });
  await writing(folder, () => Deno.mkdir(folder, { recursive: true }));
  const before = await Deno.readTextFile(path).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  });
  if (before !== undefined && before !== text) {
    for (let i = 1;; i++) {
      const kept = join(dirname(path), `plan-${i}.jsonc`);
      if (await Deno.stat(kept).then(() => true, () => false)) continue;
      await Deno.rename(path, kept);
      break;
    }
  }
  await writing(path, () => Deno.writeTextFile(path, text));
  return path;
}
