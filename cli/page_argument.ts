import { join } from "node:path";
import {
  findBaseline,
  isBaselineName,
  isSimulationResult,
  listBaselines,
  parseSimulationResult,
  type ReadPage,
  readPage,
  readPageBytes,
  readResultText,
  readUserText,
  reanalyseSimulation,
  type Result,
  resultOf,
  type SimulationResult,
  type SummaryOptions,
} from "../mod.ts";
import { UsageError } from "./exit_codes.ts";

/** Explains the argument in helps. */
export const RESULTS_HELP = "a report's page, a result.jsonl, or the folder of one";

/** Results that a word means, and the page they are in if it is one. */
interface FoundResults {
  /** The file. */
  readonly path: string;
  readonly result: Result;
  readonly page: ReadPage | undefined;
  /** What to say of them: that damage could not be told. */
  readonly note?: string;
}

/** Whether a word means a page. */
export function isPage(word: string): boolean {
  return /\.html?$/.test(word);
}

/** Reads the results that a word means. @throws what reading them throws. */
export async function resultsOf(word: string): Promise<FoundResults> {
  if (isPage(word)) {
    const page = await readPage(word);
    return { path: word, result: page.result, page };
  }
  const path = word.endsWith(".jsonl") ? word : join(word, "result.jsonl");
  const { records, sums } = await readResultText(path);
  const note = sums ? {} : { note: `the lines of ${path} have no sums (an earlier version's): damage cannot be told` };
  return { path, result: resultOf(records), page: undefined, ...note };
}

/**
 * The results that `--baseline` means: a file or folder that is there, or the name of a baseline of this scenario.
 *
 * @param scenario Tells the scenario's name, if it is asked for.
 * @returns What {@linkcode resultsOf} takes.
 * @throws {BaselineError} if a name is of none. @throws {UsageError} if a word is both.
 */
export async function baselineWord(word: string, scenario: () => Promise<string>): Promise<string> {
  if (!isBaselineName(word)) return word;
  const there = await Deno.lstat(word).then(() => true, () => false);
  const of = await scenario();
  if (there && !(await listBaselines()).some((one) => one.scenario === of && one.name === word)) return word;
  const { file } = await findBaseline({ scenario: of, name: word });
  if (!there) return file;
  throw new UsageError(
    `Cannot tell what "${word}" is: a baseline of ${of} and a file have this name; "./${word}" is the file`,
  );
}

/** The simulation that a word means, and its file; undefined if it means something else, or nothing. */
export async function simulationOf(
  word: string,
): Promise<{ readonly path: string; readonly result: SimulationResult; readonly options: SummaryOptions } | undefined> {
  if (isPage(word)) {
    const found = reanalyseSimulation(await readPageBytes(word), word);
    return found === undefined ? undefined : { path: word, result: found.result, options: found.options };
  }
  const path = word.endsWith(".jsonl") ? word : join(word, "result.jsonl");
  const text = await readUserText(path, "result").catch(() => "");
  return isSimulationResult(text) ? { path, result: parseSimulationResult(text, path), options: {} } : undefined;
}
