/**
 * What goes wrong in the native library, as exceptions: a status code and the message that C copied into the
 * caller's buffer become a {@linkcode TierstoreError}.
 *
 * @module
 */

/** The names of `ts_status` in `tierstore.h` by number. A test compares the two. */
export const STATUS_NAMES: Readonly<Record<string, StatusName>> = {
  "0": "TS_OK",
  "-1": "TS_EINVAL",
  "-2": "TS_ENOMEM",
  "-3": "TS_EFULL",
  "-4": "TS_EUNAVAILABLE",
  "-5": "TS_EIO",
  "-6": "TS_EFORMAT",
  "-7": "TS_ECANCELLED",
  "-8": "TS_ERANGE",
  "-9": "TS_EUNSUPPORTED",
  "-10": "TS_EINTERNAL",
  "-11": "TS_EDIVERGED",
};

/** The name of a status of the native library. */
export type StatusName =
  | "TS_OK"
  | "TS_EINVAL"
  | "TS_ENOMEM"
  | "TS_EFULL"
  | "TS_EUNAVAILABLE"
  | "TS_EIO"
  | "TS_EFORMAT"
  | "TS_ECANCELLED"
  | "TS_ERANGE"
  | "TS_EUNSUPPORTED"
  | "TS_EINTERNAL"
  | "TS_EDIVERGED";

/**
 * A call of the native library failed. `message` says what was asked, what was found and what to do.
 *
 * @example Act on one kind of failure
 * ```ts
 * import { EmbeddingStore, TierstoreError } from "../mod.ts";
 *
 * using store = EmbeddingStore.open({ storage: "DRAM", size: [64], sizeCounts: "rows" });
 * const table = store.table({ name: "user_id", dim: 16 }); // rows of 64 bytes: there is room for one
 * try {
 *   table.lookup([1n, 2n]);
 * } catch (error) {
 *   if (error instanceof TierstoreError && error.status === "TS_EFULL") console.log("the store is full");
 *   else throw error;
 * }
 * ```
 */
export class TierstoreError extends Error {
  /** Always `"TierstoreError"`. */
  override readonly name = "TierstoreError";
  /** The negative number that C returned. */
  readonly code: number;
  /** Its name, e.g. `"TS_EFULL"`. */
  readonly status: StatusName;

  /**
   * An error for a status.
   *
   * @param code The negative status.
   * @param message What was asked, what was found, what to do.
   */
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
    this.status = statusName(code);
  }
}

/** The name of a status; a number that this code does not know counts as `TS_EINTERNAL`. */
export function statusName(code: number): StatusName {
  return STATUS_NAMES[String(code)] ?? "TS_EINTERNAL";
}

/** Bytes of the buffer a message is copied to; the library cuts longer messages. */
const MESSAGE_BYTES = 2048;

/** The buffer a call writes its message to. One call at a time may use it. */
export class MessageBuffer {
  /** To be handed to C as `err`. */
  readonly bytes: Uint8Array<ArrayBuffer> = new Uint8Array(MESSAGE_BYTES);
  /** To be handed to C as `err_cap`. */
  readonly capacity: number = MESSAGE_BYTES;

  /** The text up to its NUL. */
  text(): string {
    return decodeText(this.bytes);
  }

  /**
   * Throws unless the status is `TS_OK`.
   *
   * @param status What the call returned.
   * @param action What was asked, used if C left no message, e.g. `"close the store"`.
   */
  check(status: number, action: string): void {
    if (status === 0) return;
    const text = this.text();
    this.bytes[0] = 0;
    throw new TierstoreError(status, text === "" ? `Cannot ${action}: ${statusName(status)}` : text);
  }
}

/**
 * The message buffer of blocking calls. Only one of those runs at a time in a JavaScript thread, so one buffer is
 * enough; a nonblocking call takes its own.
 */
export const message: MessageBuffer = new MessageBuffer();

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * A NUL-terminated UTF-8 copy of a text.
 *
 * @param text The text; a NUL in it is refused, since C would stop reading there.
 */
export function encodeText(text: string): Uint8Array<ArrayBuffer> {
  if (typeof text !== "string") {
    throw new TypeError(`Cannot pass ${typeof text} to the native library as a text: expected a string`);
  }
  if (text.includes("\0")) {
    throw new TypeError(`Cannot pass the text ${JSON.stringify(text)} to the native library: it contains a NUL`);
  }
  return encoder.encode(text + "\0");
}

/** The text in a buffer up to its first NUL. */
function decodeText(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return decoder.decode(end < 0 ? bytes : bytes.subarray(0, end));
}

/**
 * Reads a text by a function of the form (out, cap, needed): asks again with a longer buffer as often as C says
 * that the text has grown.
 *
 * @param action What was asked, e.g. `"describe the store"`.
 * @param call Calls C with the three arguments and returns its status.
 * @param bytes Room for the text at first; one that is known to be long is then asked for once.
 * @returns The text without its NUL.
 */
export function readText(
  action: string,
  call: (out: Uint8Array<ArrayBuffer>, capacity: bigint, needed: BigUint64Array<ArrayBuffer>) => number,
  bytes: number = 4096,
): string {
  const needed = new BigUint64Array(1);
  let out = new Uint8Array(bytes);
  for (;;) {
    const status = call(out, BigInt(out.length), needed);
    const length = Number(needed[0]);
    if (statusName(status) === "TS_ERANGE" && length > out.length) {
      out = new Uint8Array(length);
      continue;
    }
    message.check(status, action);
    return decodeText(out);
  }
}
