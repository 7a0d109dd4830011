/**
 * Where the frames of zstd data end (RFC 8878, section 3.1): the runtime's decoder stops at the end of the first frame, and says
 * nothing when one is cut short.
 *
 * @module
 */

const FRAME = 0xfd2fb528;
/** Frames to be gone over have 16 magic numbers from this one on. */
const SKIPPABLE = 0x184d2a50;
const DICTIONARY_BYTES = [0, 1, 2, 4];
const CONTENT_BYTES = [0, 2, 4, 8];

type State = "magic" | "length" | "descriptor" | "header" | "block" | "content" | "checksum";

/** Follows packed bytes as they go by. */
export class ZstdFrames {
  #state: State = "magic";
  /** Bytes that are missing to the end of this state's part. */
  #missing = 4;
  /** What was read of a number, lowest byte first. */
  #value = 0;
  #read = 0;
  #checksum = false;
  #last = false;

  /** Goes over bytes, up to the end of a frame. @returns How many it went over. */
  add(bytes: Uint8Array): number {
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === "content" || this.#state === "header" || this.#state === "checksum") {
        const count = Math.min(this.#missing, bytes.length - at);
        this.#missing -= count;
        at += count;
      } else {
        this.#value += (bytes[at++] ?? 0) * 2 ** (8 * this.#read++);
        this.#missing--;
      }
      while (this.#missing === 0) this.#next();
      if (this.whole) break;
    }
    return at;
  }

  /** Whether a frame has just ended, so that the data may. */
  get whole(): boolean {
    return this.#state === "magic" && this.#read === 0;
  }

  #go(state: State, missing: number): void {
    this.#state = state;
    this.#missing = missing;
    this.#value = 0;
    this.#read = 0;
  }

  /** The part that has been read decides on the next one, which may be empty. */
  #next(): void {
    const value = this.#value;
    if (this.#state === "magic") {
      // Anything else is the decoder's to refuse: the rest counts as content without an end.
      if (value === FRAME) return this.#go("descriptor", 1);
      if (value >= SKIPPABLE && value < SKIPPABLE + 16) return this.#go("length", 4);
      return this.#go("content", Infinity);
    }
    if (this.#state === "length") {
      this.#last = true;
      this.#checksum = false;
      return this.#go("content", value);
    }
    if (this.#state === "descriptor") {
      const single = (value & 0x20) !== 0, content = value >> 6;
      this.#checksum = (value & 4) !== 0;
      const contentBytes = content === 0 && single ? 1 : CONTENT_BYTES[content] ?? 0;
      return this.#go("header", (single ? 0 : 1) + (DICTIONARY_BYTES[value & 3] ?? 0) + contentBytes);
    }
    if (this.#state === "block") {
      this.#last = (value & 1) !== 0;
      return this.#go("content", (value >> 1 & 3) === 1 ? 1 : value >> 3);
    }
    if (this.#state === "content" && this.#last) return this.#go("checksum", this.#checksum ? 4 : 0);
    if (this.#state === "checksum") return this.#go("magic", 4);
    this.#go("block", 3);
  }
}
