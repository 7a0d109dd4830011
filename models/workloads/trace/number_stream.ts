/**
 * Whole numbers of a file, as many at a time as are asked for.
 *
 * @module
 */

import { TraceError } from "./batch.ts";
import type { TraceBytes } from "./bytes.ts";
import { type NumberForm, numbersOf } from "./numbers.ts";

/** Numbers that are read from front to back. It closes the file. */
export class NumberStream implements Disposable {
  readonly #bytes: TraceBytes;
  readonly #form: NumberForm;
  #aligned = false;

  /** Reads on where a file has been read to. @param form How its numbers are stored. */
  constructor(bytes: TraceBytes, form: NumberForm) {
    this.#bytes = bytes;
    this.#form = form;
  }

  /** Closes the file. */
  [Symbol.dispose](): void {
    this.#bytes[Symbol.dispose]();
  }

  /** The next numbers. @throws {TraceError} If there are not so many. */
  async next(count: number): Promise<BigInt64Array<ArrayBuffer>> {
    const { width } = this.#form, size = count * width;
    if (!this.#aligned) this.#bytes.align(width);
    this.#aligned = true;
    const block = await this.#bytes.peek(size);
    if (block.length < size) throw new TraceError(`Cannot read "${this.#bytes.path}": it ends too early`);
    const numbers = numbersOf(block, this.#form);
    this.#bytes.skip(size);
    return numbers;
  }

  /** Reads on to the end of the file, which tells whether it was whole. @returns Bytes that were left. */
  async end(): Promise<number> {
    let left = 0;
    for (let block = await this.#bytes.take(); block.length > 0; block = await this.#bytes.take()) left += block.length;
    return left;
  }
}
