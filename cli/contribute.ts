import { basename, dirname, join, relative } from "node:path";
import {
  type Answers,
  type Contribution,
  contributionName,
  contributionOf,
  joinAnswers,
  parseAnswers,
  parseNotes,
  readUserText,
  renderChecklist,
  renderContribution,
  type Result,
  writing,
} from "../mod.ts";

/** What the owner of the machine said on the command line. */
interface AnswerWords {
  readonly note?: readonly string[] | undefined;
  readonly answers?: string | undefined;
}

/** The answers that words and file give; a word counts more than the file. */
export async function answersOf({ note = [], answers: file }: AnswerWords): Promise<Answers> {
  const words = parseNotes(note);
  if (file === undefined) return words;
  return joinAnswers(parseAnswers(await readUserText(file, "answers"), file), words);
}

/** Writes the one file that is sent, and says what is in it. */
export async function writeContribution(
  result: Result,
  answers: Answers,
  { folder, width }: { readonly folder: string; readonly width: number },
): Promise<{ readonly path: string; readonly text: string; readonly contribution: Contribution }> {
  const contribution = await contributionOf(result, answers);
  const path = join(folder, contributionName(result.run));
  const page = renderContribution(contribution);
  await writing(path, () => Deno.writeTextFile(path, page));
  return { path, contribution, text: renderChecklist(contribution, width) };
}

/** Where the report of a page goes that was sent: a folder of its own, so that no other report is overwritten. */
export function folderOfPage(page: string): string {
  return join("reports", "out", basename(page).replace(/\.html?$/, ""));
}

/** A path as a person reads it. */
export function shown(path: string): string {
  return relative(Deno.cwd(), path) || join(dirname(path), basename(path));
}
