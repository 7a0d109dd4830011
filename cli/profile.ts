// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import {
  exportEeg,
  fitProfile,
  type FittedProfile,
  type FittedTable,
  importEeg,
  importReuse,
  listProfiles,
  loadProfile,
  type Profile,
  profileFaults,
  profileText,
  readUserText,
  SCORE_BARS,
  SCORE_LEAST,
  unjudgedTables,
  writing,
} from "../mod.ts";
import { answerText } from "./answers.ts";
import { EXIT, UsageError } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { traceOptions, withTraceOptions } from "./trace_options.ts";
import { tableText } from "./ui/table.ts";

const EXAMPLES = `
Examples:
  tierbench profile trace.csv                      fit a profile, print how faithful it is
  tierbench profile trace.csv --out mine.json      and keep it: about 10 kB, without keys
  tierbench profile day_0.tsv --eeg day_0.eeg.json  for FBGEMM: Zipf-Mandelbrot with heavy hitters
  tierbench profile --from-eeg fbgemm.json --out mine.json
  tierbench profile --reuse reuse.json --out mine.json   from reuse histograms of a batch
  tierbench profile --list                         the shipped profiles

Exit code ${EXIT.unfaithful}: keys made from the profile miss a miss-ratio curve of the trace by more than ${SCORE_BARS.mean} in the mean
or ${SCORE_BARS.largest} at a size, with ${SCORE_LEAST} lookups or more. The profile is written all the same, and says so to whoever reads it.`;

interface Words {
  readonly out?: string;
  readonly eeg?: string;
  readonly fromEeg?: string;
  readonly reuse?: string;
  readonly rows?: string;
  readonly columns?: string;
  readonly separator?: string;
  readonly format?: string;
  readonly list?: true;
  readonly json?: true;
}

function baseName(path: string): string {
  return (path.split("/").at(-1) ?? path).replace(/\.[^.]*$/, "") || "profile";
}

/** An error of a curve: its mean over the sizes, and its largest. */
function errorText(error: FittedTable["fidelity"]["lru"]): string {
  return error === undefined ? "" : `${error.mean.toFixed(3)} ${error.largest.toFixed(3)}`;
}

/** The worst of several errors. */
function worstText(errors: FittedTable["fidelity"] | undefined): string {
  const all = Object.values(errors ?? {}), most = (what: "mean" | "largest") => Math.max(...all.map((e) => e[what]));
  return all.length === 0 ? "" : errorText({ mean: most("mean"), largest: most("largest") });
}

function renderFit({ tables, fidelity, zipf }: FittedProfile): string {
  const policies = Object.keys(fidelity) as (keyof typeof fidelity)[];
  const rows = tables.map((t) => [
    t.name,
    String(t.accesses),
    String(t.keys),
    t.order === undefined ? t.law : `${t.order}, ${t.law}`,
    ...policies.map((policy) => errorText(t.fidelity[policy])),
    worstText(t.apart),
    worstText(t.zipf),
  ]);
  const all = ["all", "", "", "", ...policies.map((policy) => errorText(fidelity[policy])), "", worstText(zipf)];
  const head = ["table", "accesses", "keys", "law", ...policies, "apart", "Zipf"];
  const sampled = tables.some(({ rate }) => rate < 1)
    ? "\nSome tables were too large to keep whole: their scores are of a sample of rows.\n"
    : "";
  return `${tableText([head, ...rows, ...(tables.length > 1 ? [all] : [])])}` +
    "\nErrors of miss-ratio curves by policy, keys made from the profile against the trace: their mean over sizes of caches, and the " +
    `largest (bars: ${SCORE_BARS.mean} and ${SCORE_BARS.largest}).\n` +
    "apart: the worst policy of a law of the first half alone, on the second half. Zipf: the worst of LRU and LFU for a plain Zipf law." +
    `${tables.length > 1 ? " all: mean of the tables by accesses." : ""}\n${sampled}`;
}

async function imported(path: string, rows: string | undefined): Promise<Profile> {
  const count = rows === undefined ? undefined : Number(rows);
  if (count !== undefined && !(Number.isSafeInteger(count) && count > 0)) {
    throw new UsageError(`Cannot import "${path}": --rows is "${rows}", expected a whole number, 1 or more`);
  }
  return importEeg(await readUserText(path, "histogram"), baseName(path), count === undefined ? {} : { rows: count });
}

/** Words that only one way to a profile takes. */
const WORDS_OF = { "a trace": ["columns", "separator", "format", "eeg"], "--from-eeg": ["rows"] } as const;

/** Refuses words that the way that was chosen does not take: nothing is ignored. */
function checkWords(way: "a trace" | "--from-eeg" | "--reuse", words: Words): void {
  for (const [taker, names] of Object.entries(WORDS_OF)) {
    const given = taker === way ? undefined : names.find((name) => words[name] !== undefined);
    if (given !== undefined) {
      throw new UsageError(`Cannot use --${given} with ${way}: it belongs to ${taker}, see tierbench profile --help`);
    }
  }
}

/** `tierbench profile`: fits a profile to a trace of keys. */
export function addProfile(program: Command, { terminal, exit }: Context): void {
  withTraceOptions(
    program.command("profile")
      .description("fit a shareable profile to a trace of keys, and tell how faithful it is")
      .argument(
        "[trace]",
        "a trace: text, oracleGeneral, NumPy, tensors, Parquet or raw keys; tierbench inspect tells what a file is",
      )
      .option("--out <file>", "write the profile there")
      .option("--eeg <file>", "fit what FBGEMM's EEG can say, and write its JSON there (one table)")
      .option("--from-eeg <file>", "in place of a trace: a profile from FBGEMM's EEG JSON")
      .option("--reuse <file>", "in place of a trace: a profile from reuse histograms of one batch (JSON)")
      .option("--rows <n>", "rows of a table, where an EEG file does not say"),
  )
    .option("--list", "list the shipped profiles")
    .option("--json", "for machines: the scores, or the list")
    .addHelpText("after", EXAMPLES)
    .action(async (trace, words: Words) => {
      const { out, eeg, fromEeg, reuse, rows, list, json } = words;
      if (list) {
        const profiles = await Promise.all((await listProfiles()).map(loadProfile));
        const lines = profiles.map(({ name, about, origin }) => ({ name, about, mark: origin.mark }));
        terminal.out(
          json
            ? answerText("profile", lines)
            : `${tableText(lines.map(({ name, mark, about }) => [name, mark, about]))}\n`,
        );
        return;
      }
      if ([trace, fromEeg, reuse].filter((given) => given !== undefined).length !== 1) {
        throw new UsageError(
          "Cannot fit a profile: give either a trace, --from-eeg or --reuse, see tierbench profile --help",
        );
      }
      checkWords(fromEeg !== undefined ? "--from-eeg" : reuse !== undefined ? "--reuse" : "a trace", words);
      if (fromEeg !== undefined || reuse !== undefined) {
        const profile = reuse !== undefined
          ? importReuse(await readUserText(reuse, "histogram"), `"${reuse}"`, baseName(reuse))
          : await imported(fromEeg ?? "", rows);
        const text = profileText(profile);
        if (out === undefined || json) terminal.out(text);
        if (out === undefined) return;
        await writing(out, () => Deno.writeTextFile(out, text));
        if (!json) terminal.out(`profile  ${out}\n`);
        return;
      }
      if (trace === undefined) return;
      const fitted = await fitProfile(trace, {
        name: baseName(trace),
        law: eeg === undefined ? "best" : "zipf",
        trace: traceOptions(words),
      });
      if (out !== undefined) await writing(out, () => Deno.writeTextFile(out, profileText(fitted.profile)));
      if (eeg !== undefined) {
        const tables = fitted.profile.tables.map((table) => ({ table, dim: 128 }));
        const { text, lost } = exportEeg(tables, { batch: 2048 });
        await writing(eeg, () => Deno.writeTextFile(eeg, text));
        for (const sentence of lost) terminal.err(`note     ${sentence}\n`);
      }
      const { tables, fidelity, zipf, numbered } = fitted;
      terminal.out(json ? answerText("profile", { tables, fidelity, zipf }) : renderFit(fitted));
      if (out !== undefined && !json) terminal.out(`\nprofile  ${out}\n`);
      if (numbered) {
        terminal.err(
          "note     tables are numbered: nothing says that the first column names tables and not, say, users; " +
            "--columns table=1,key=2 keeps its words\n",
        );
      }
      for (const sentence of unjudgedTables(fitted.profile)) terminal.err(`note     ${sentence}\n`);
      const faults = profileFaults(fitted.profile);
      for (const fault of faults) terminal.err(`warning  ${fault}\n`);
      if (faults.length > 0) exit(EXIT.unfaithful);
    });
}
