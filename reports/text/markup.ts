/**
 * HTML by tagged template: everything put in is escaped unless it is markup already.
 *
 * @module
 */

import type { Result } from "../../scenarios/record.ts";

/** Text that is markup. */
export class Markup {
  /** The markup. */
  readonly text: string;
  /** Trusts the text. Use {@linkcode html} instead wherever possible. */
  constructor(text: string) {
    this.text = text;
  }
}

/** What a template takes. */
export type Part = string | number | Markup | readonly Markup[] | undefined;

/** Markup with every part escaped; undefined parts vanish, lists of markup are joined. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(strings.map((text, i) => text + (i < parts.length ? render(parts[i]) : "")).join(""));
}

/** Escapes text for element content and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

/** JSON that cannot end the script element it stands in. */
export function scriptJson(value: unknown): Markup {
  return new Markup(
    JSON.stringify(value).replaceAll("<", "\\u003c").replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029"),
  );
}

/** The records of a result as a page carries them: the lines of its `result.jsonl`, none of which can end a script. */
export function recordLines(
  { run, samples, again = [], failed, qualities, curves = [], end }: Result,
): readonly string[] {
  const records = [run, ...samples, ...again, ...failed, ...qualities, ...curves, ...(end === undefined ? [] : [end])];
  return records.map((record) => scriptJson(record).text);
}

function render(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Markup) return part.text;
  if (typeof part === "object") return part.map((one) => one.text).join("");
  return escapeHtml(`${part}`);
}
