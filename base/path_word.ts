/**
 * Words that name something shipped or the path of a file of one's own: profiles, media models.
 *
 * @module
 */

import { isAbsolute, resolve } from "node:path";

/** Whether a word is the path of a file rather than a name: it has a slash, or ends as such files do. */
export function isPathWord(word: string): boolean {
  return /[/\\]|\.jsonc?$/.test(word);
}

/** A word with its path, if it is one, made absolute. */
export function wordAt(word: string, directory: string): string {
  return isPathWord(word) && !isAbsolute(word) ? resolve(directory, word) : word;
}
