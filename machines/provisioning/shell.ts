/**
 * Lines for `/bin/sh`: quoting, and files written by here-documents.
 *
 * @module
 */

/** A word for the shell, quoted where it has to be. */
export function quote(word: string): string {
  // deno-lint-ignore no-control-regex
  if (/[\x00-\x1f\x7f]/.test(word)) throw new RangeError(`Cannot quote a word with control characters: ${word}`);
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A line that writes `text`, which ends with a line feed, to `path`; nothing in it is expanded. */
export function writeFile(path: string, text: string): string {
  if (!text.endsWith("\n") || /^EOF$/m.test(text)) throw new RangeError(`Cannot write as a here-document: ${path}`);
  return `cat > ${quote(path)} <<'EOF'\n${text}EOF`;
}

/** A list in words: `a`, `a and b`, `a, b and c`. */
export function words(list: readonly string[]): string {
  return list.length < 2 ? list.join("") : `${list.slice(0, -1).join(", ")} and ${list[list.length - 1]}`;
}
