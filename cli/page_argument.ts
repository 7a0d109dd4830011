import { join } from "node:path";
import { type ReadPage, readPage, readResult, type Result } from "../mod.ts";

/** Explains the argument in helps. */
export const RESULTS_HELP = "a report's page, a result.jsonl, or the folder of one";

/** Results that a word means, and the page they are in if it is one. */
export interface FoundResults {
  /** The file. */
  readonly path: string;
  readonly result: Result;
  readonly page: ReadPage | undefined;
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
  return { path, result: await readResult(path), page: undefined };
}
