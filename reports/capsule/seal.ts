/**
 * A capsule: a page with a SHA-256 of every part and one root hash over them, printed on the page. A page that was
 * changed, by accident or by an editor, is noticed, and what was changed has a name. The sums guard against accidents;
 * whoever wants to forge a page makes new sums, and is found by the root hash if that was written down elsewhere. The
 * form is described in docs/formats.md.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { checked, count, listOf, object, text } from "../../base/record_parts.ts";
import * as v from "../../base/valibot.ts";
import { Markup, scriptJson } from "../text/markup.ts";
import { BEFORE_ROOT, cutPage, ROOT_NAME, ROOT_SLOT } from "./parts.ts";
import { sha256Hex, treeRoot } from "./tree.ts";

/** A part of a page with its sum. */
export interface Part {
  /** What messages call it. */
  readonly name: string;
  /** Bytes in UTF-8. */
  readonly bytes: number;
  /** SHA-256 (hex) of these bytes; `root` for the printed root hash, which is compared with the tree's. */
  readonly sha256: string;
}

/** The table of sums, which stands in the page before its data. */
interface Manifest {
  readonly format: 1;
  /** Root hash (hex). */
  readonly root: string;
  /** Parts in the order of the page without this table: they are all of it. */
  readonly parts: readonly Part[];
}

const HASH = "expected 64 hexadecimal digits";
const hash = v.pipe(v.string(HASH), v.regex(/^[0-9a-f]{64}$/, HASH));

/** The schema of {@linkcode Manifest}: a table of sums may be a stranger's. */
const manifest = object({
  format: v.literal(1, "expected format 1; another version wrote it"),
  root: hash,
  parts: listOf(object({
    name: v.pipe(text, v.maxLength(1000, "expected a name of at most 1000 letters")),
    bytes: count,
    sha256: v.union([v.literal("root"), hash], HASH),
  })),
});

/** What is wrong with a page. */
export interface Damage {
  /** The part, as messages name it. */
  readonly part: string;
  /** What is wrong with it. */
  readonly found: string;
}

/** What a page's sums say. */
export interface PageCheck {
  /** Root hash (hex); undefined if the page carries no sums, or not as a whole. */
  readonly root: string | undefined;
  /** Its parts; none without sums. */
  readonly parts: readonly Part[];
  /** Whether the page says that it carries sums. Reports of early versions do not. */
  readonly sealed: boolean;
  /** What is damaged, in the order of the page; nothing in a whole one. */
  readonly damage: readonly Damage[];
}

/** A mark in the head: a page that has it has a table of sums. */
export const SEALED_MARK: Markup = new Markup('<meta name="tierbench-capsule" content="1">');
/** Where the root hash is printed. */
export const ROOT_PLACE: Markup = new Markup(`<code ${BEFORE_ROOT}${ROOT_SLOT}</code>`);

const TABLE_NAME = "the table of sums";
const TABLE = /<script type="application\/json" id="capsule" data-sha256="([0-9a-f]{64})">([^<]*)<\/script>/;
/** The table stands before the first data, so that a page cut off within them can still be told what it lacks. */
const FIRST_DATA = '<script type="application/';
const DIFFERS = "is damaged: its SHA-256 differs";

/** Puts sums into a page that has {@linkcode SEALED_MARK} and {@linkcode ROOT_PLACE}. */
export function seal(page: string): string {
  const parts = cutPage(page).map(({ name, text }): Part => ({
    name,
    bytes: Buffer.byteLength(text),
    sha256: name === ROOT_NAME ? "root" : sha256Hex(text),
  }));
  const root = rootOf(parts);
  const table: Manifest = { format: 1, root, parts };
  const sums = scriptJson(table).text;
  const element = `<script type="application/json" id="capsule" data-sha256="${sha256Hex(sums)}">${sums}</script>`;
  const at = page.indexOf(FIRST_DATA);
  return page.slice(0, at).replace(BEFORE_ROOT + ROOT_SLOT, BEFORE_ROOT + root) + element + page.slice(at);
}

/** The root hash over parts: a leaf is the line `<sha256> <bytes> <name>` and its newline. */
function rootOf(parts: readonly Part[]): string {
  return treeRoot(
    parts.filter(({ sha256 }) => sha256 !== "root")
      .map(({ name, bytes, sha256 }) => new TextEncoder().encode(`${sha256} ${bytes} ${name}\n`)),
  );
}

/**
 * Compares every part of a page with its sum.
 *
 * @param page The file's bytes, or its text.
 *
 * @example
 * ```ts
 * import { checkPage } from "../../mod.ts";
 *
 * const { sealed, damage } = checkPage("<!DOCTYPE html>");
 * console.log(sealed, damage.length); // false 0
 * ```
 */
export function checkPage(page: Uint8Array | string): PageCheck {
  const bytes = typeof page === "string" ? Buffer.from(page, "utf8") : Buffer.from(page);
  const latin = bytes.toString("latin1"); // a character a byte, so that places are bytes
  const [element, sum, sums] = TABLE.exec(latin) ?? [];
  const broken = (found: string): PageCheck => ({
    root: undefined,
    parts: [],
    sealed: true,
    damage: [{ part: TABLE_NAME, found }],
  });
  if (element === undefined || sums === undefined) {
    const sealed = /tierbench-capsule|id="capsule"|id="capsule-root"/.test(latin);
    return sealed ? broken("is missing or cut off") : { root: undefined, parts: [], sealed, damage: [] };
  }
  const table = Buffer.from(sums, "latin1");
  if (sha256Hex(table) !== sum) return broken(DIFFERS);
  let read: Manifest;
  try {
    read = checked(manifest, JSON.parse(table.toString("utf8"))) as Manifest;
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
    return broken(`cannot be used: ${error.message}`);
  }
  const { root, parts } = read;
  if (rootOf(parts) !== root) return broken("does not give its own root hash");
  const at = latin.indexOf(element);
  const rest = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + element.length)]);
  return { root, parts, sealed: true, damage: damages(rest, parts, root) };
}

/** Parts that differ: what is left when those that agree are taken from the front and from the back. */
function damages(rest: Buffer, parts: readonly Part[], root: string): Damage[] {
  const agrees = (part: Part, from: number): boolean => {
    if (from < 0 || from + part.bytes > rest.length) return false;
    const own = rest.subarray(from, from + part.bytes);
    return part.sha256 === "root" ? own.toString("latin1") === root : sha256Hex(own) === part.sha256;
  };
  let [first, from] = [0, 0];
  for (let part = parts[first]; part !== undefined && agrees(part, from); part = parts[first]) {
    from += part.bytes;
    first++;
  }
  let [last, to] = [parts.length, rest.length];
  for (let part = parts[last - 1]; last > first && part !== undefined; part = parts[last - 1]) {
    if (to - part.bytes < from || !agrees(part, to - part.bytes)) break;
    to -= part.bytes;
    last--;
  }
  const between = parts.slice(first, last);
  const expected = between.reduce((sum, { bytes }) => sum + bytes, 0);
  if (between.length === 0) {
    if (to === from) return [];
    const next = parts[first]?.name;
    const place = next === undefined ? "the end of the page" : `what stands before ${next}`;
    return [{ part: place, found: `was not there when the page was summed: ${to - from} bytes` }];
  }
  const [one] = between as [Part];
  if (expected === to - from) {
    let place = from;
    return between.flatMap((part) => {
      place += part.bytes;
      return agrees(part, place - part.bytes) ? [] : [{ part: part.name, found: DIFFERS }];
    });
  }
  if (to === from) return between.map(({ name }) => ({ part: name, found: "is missing" }));
  if (between.length === 1) {
    return [{ part: one.name, found: `has ${to - from} bytes, expected ${one.bytes}: its SHA-256 differs` }];
  }
  return between.map(({ name }, i) => ({
    part: name,
    found: i === 0 ? DIFFERS : "is damaged, missing or moved: what stands before it has another length",
  }));
}
