/**
 * Text of files as it may be shown on a terminal: characters that would move the cursor, change colours, turn the direction
 * of writing or show nothing at all are written as `\u001b`. As text of JSON that is the same value.
 *
 * @module
 */

/** C0 but tab and line feed, DEL, C1, marks of direction, characters without width, separators of lines, tags. */
const HIDDEN =
  // deno-lint-ignore no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

function escaped(characters: string): string {
  return Array.from(
    { length: characters.length },
    (_, i) => `\\u${characters.charCodeAt(i).toString(16).padStart(4, "0")}`,
  ).join("");
}

/** Text of several lines, whose tabs and line ends are its own. */
export function shownText(text: string): string {
  return text.replace(HIDDEN, escaped);
}

/** Text that stays in its line. */
export function shownLine(text: string): string {
  return shownText(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** A value all whose texts stay in their lines, for a renderer of many. Names of fields stay as they are. */
export function shownLines<T>(value: T): T {
  if (typeof value === "string") return shownLine(value) as T;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => shownLines(item)) as T;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shownLines(item)])) as T;
}
