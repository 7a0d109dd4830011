/**
 * What ranks say, over a launcher that puts the output of all of them into one stream. Launchers read pipes by blocks and put
 * blocks of several ranks behind one another, wherever a line ends. So a message is cut into lines of one length, of which a
 * block holds a whole number: none is ever torn. Each says the rank's number and whether more of the message follows. They go
 * to the standard error, which is a pipe: Open MPI makes the standard output a terminal, whose blocks end anywhere.
 *
 * @module
 */

import type { WorkerMessage } from "./worker_protocol.ts";

/** Bytes of a line: an eighth of what pipes write whole and Open MPI reads at once (4096 bytes, PIPE_BUF). */
const LINE = 512;
/** Characters of a message in a line: what its number (at most four digits), signs and the end of the line leave. */
const MOST = LINE - 8;
const FORM = /^@(\d+)([+.])(.*)# *$/;
/** What `native/ranks/watch/watch.c` writes when a rank has ended, on a line of the same length. */
const ENDED = /^@!(\{.*\})# *$/;

/** How a rank ended, as the program that started it on its machine says. */
export interface RankEnd {
  /** Its number; -1 if the launcher does not give it to what it starts. */
  readonly rank: number;
  /** Its machine and its process there. */
  readonly host: string;
  readonly pid: number;
  /** Its exit code; 0 if a signal ended it. */
  readonly code: number;
  /** The number of the signal that ended it, or 0. */
  readonly signal: number;
  /** When, by its machine's clock: microseconds since 1970. */
  readonly us: number;
}

/** How a rank ended, if this is the line of the program that started it. */
export function rankEnd(line: string): RankEnd | undefined {
  const [, text] = ENDED.exec(line) ?? [];
  try {
    return text === undefined ? undefined : JSON.parse(text) as RankEnd;
  } catch {
    return undefined; // another's has torn it
  }
}

/** JSON in ASCII, so that a character is a byte. */
function asciiJson(value: unknown): string {
  const escaped = (one: string) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, escaped);
}

/** The lines of a rank's message, each with its end. */
export function rankLines(rank: number, message: WorkerMessage): string[] {
  const text = asciiJson(message);
  const parts = Array.from({ length: Math.ceil(text.length / MOST) }, (_, i) => text.slice(i * MOST, (i + 1) * MOST));
  return parts.map((part, i) => `@${rank}${i + 1 < parts.length ? "+" : "."}${part}#`.padEnd(LINE - 1) + "\n");
}

/** Puts the messages of ranks together again. */
export class RankReader {
  readonly #begun = new Map<number, string>();

  /**
   * Takes a line of the stream.
   *
   * @returns The message that it ends, "more" if it goes on, or undefined for a line that is a library's or the launcher's own,
   * or that another's has torn.
   */
  read(line: string): { readonly rank: number; readonly message: WorkerMessage } | "more" | undefined {
    const [, number = "", sign, part = ""] = FORM.exec(line) ?? [];
    if (sign === undefined) return undefined;
    const rank = Number(number);
    const text = (this.#begun.get(rank) ?? "") + part;
    if (sign === "+") this.#begun.set(rank, text);
    else this.#begun.delete(rank);
    if (sign === "+") return "more";
    try {
      return { rank, message: JSON.parse(text) as WorkerMessage };
    } catch {
      return undefined;
    }
  }
}
