/**
 * Lines of text whose fields lie plainly in their bytes: decimal keys, and words that need no decoding as long as they are those of
 * the line before. What is anything else is for {@linkcode readText}, line by line.
 *
 * @module
 */

import type { Layout } from "./columns.ts";

const [LF, CR, BLANK, QUOTE, COMMENT, ZERO, NINE, DEL] = [10, 13, 32, 34, 35, 48, 57, 127];
/** Digits that a double holds exactly, whatever they are. */
const MOST_DIGITS = 15;

/** Characters of a word at most, and words that are remembered. */
const LONGEST_WORD = 1024, REMEMBERED = 1024;

/** Where the fields of a line are that are not keys. */
const NO_FIELD = -1;

/** A column of words. Those that came lately are compared and not made again. */
class Words {
  /** The word of the line. */
  word = "";
  readonly #known: string[] = Array<string>(REMEMBERED).fill("");

  /** Looks at the next line's, which is ASCII. @returns Whether it is short enough. */
  set(block: Uint8Array, from: number, to: number): boolean {
    if (to - from > LONGEST_WORD) return false;
    let hash = 0;
    for (let i = from; i < to; i++) hash = (Math.imul(hash, 31) + (block[i] as number)) | 0;
    const place = hash & (REMEMBERED - 1), known = this.#known[place] as string;
    if (known.length === to - from) {
      let i = from;
      while (i < to && known.charCodeAt(i - from) === block[i]) i++;
      if (i === to) {
        this.word = known;
        return true;
      }
    }
    let word = "";
    for (let i = from; i < to; i++) word += String.fromCharCode(block[i] as number);
    this.word = this.#known[place] = word;
    return true;
  }
}

/** Reads lines of one layout. */
export class NumberLines {
  /** Keys of the line that was read, in the order of the layout's. */
  readonly keys: Float64Array;
  /** The column of the table, if there is one. */
  readonly table: Words = new Words();
  /** The column of the sample, if there is one. */
  readonly sample: Words = new Words();
  readonly #separator: number;
  readonly #fields: number;
  /** Of each column, which key it is. */
  readonly #keyOf: Int32Array;
  readonly #table: number;
  readonly #sample: number;
  readonly #longest: number;

  /** Whether lines of a layout may be plain. */
  static takes({ separator, fields, time, criteo }: Layout): boolean {
    return !criteo && time === undefined &&
      (fields === 1 || (typeof separator === "string" && /^[!-~\t]$/.test(separator) && !/["0-9]/.test(separator)));
  }

  /** Of a layout that {@linkcode NumberLines.takes} takes. @param longest Bytes of a line at most. */
  constructor({ separator, fields, keys, table = NO_FIELD, sample = NO_FIELD }: Layout, longest: number) {
    this.#longest = longest;
    this.#separator = fields === 1 ? LF : String(separator).charCodeAt(0);
    this.#fields = fields;
    this.#keyOf = new Int32Array(fields).fill(NO_FIELD);
    keys.forEach(({ index }, i) => this.#keyOf[index] = i);
    this.keys = new Float64Array(keys.length);
    [this.#table, this.#sample] = [table, sample];
  }

  /**
   * Reads the line that begins at a place.
   *
   * @returns Where the next one begins; 0: the line is not plain, or has no end here.
   */
  read(block: Uint8Array, start: number): number {
    const separator = this.#separator, length = block.length, last = this.#fields - 1;
    if (block[start] === COMMENT) return 0;
    let at = start;
    for (let column = 0;; column++) {
      const key = this.#keyOf[column] as number, from = at;
      let end: number;
      if (key >= 0) {
        let value = 0, byte = block[at] as number;
        while (byte >= ZERO && byte <= NINE) {
          value = 10 * value + (byte - ZERO);
          byte = block[++at] as number;
        }
        if (at === from || at - from > MOST_DIGITS) return 0;
        this.keys[key] = value;
        end = at;
      } else {
        let byte = block[at] as number;
        // Blanks, those beyond ASCII, too, and quotes are taken off fields, and control characters are refused.
        while (byte > BLANK && byte < DEL && byte !== QUOTE && byte !== separator) byte = block[++at] as number;
        end = at;
        if (end === from) return 0;
      }
      if (at >= length) return 0;
      if (column === this.#table && !this.table.set(block, from, end)) return 0;
      if (column === this.#sample && !this.sample.set(block, from, end)) return 0;
      if (column === last) break;
      if (block[at] !== separator) return 0;
      at++;
    }
    if (block[at] === CR) at++;
    return block[at] === LF && at - start <= this.#longest ? at + 1 : 0;
  }
}
