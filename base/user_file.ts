/**
 * Reads the files that a user names, all in one way: a file larger than its kind can be is refused before it is read, a byte
 * order mark is no part of the text, and text in UTF-16 is told from what is broken.
 *
 * @module
 */

import { formatBytes } from "./bytes.ts";
import { shownLine } from "./shown.ts";

const MIB = 2 ** 20;

/** A kind of file. */
export type FileKind =
  | ("scenario" | "simulation" | "plan" | "answers" | "profile" | "prices")
  | ("tables" | "histogram" | "report" | "result" | "media" | "software");

/** What messages call a file, and how many bytes it may have. */
const KINDS: Readonly<Record<FileKind, { readonly noun: string; readonly most: number }>> = {
  scenario: { noun: "the scenario", most: 4 * MIB },
  simulation: { noun: "the simulation", most: 4 * MIB },
  plan: { noun: "the plan", most: 4 * MIB },
  answers: { noun: "the answers", most: 4 * MIB },
  profile: { noun: "the profile", most: 64 * MIB },
  prices: { noun: "the prices", most: 16 * MIB },
  tables: { noun: "the table configs", most: 16 * MIB },
  histogram: { noun: "the histogram", most: 64 * MIB },
  report: { noun: "the report", most: 256 * MIB },
  result: { noun: "the results", most: 256 * MIB },
  media: { noun: "the media model", most: 4 * MIB },
  software: { noun: "the prices of software", most: 4 * MIB },
};

/** A file or folder that the user named is not there. */
export class MissingFileError extends Deno.errors.NotFound {
  /** The error. @param message What was to be read, and its path. */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "MissingFileError";
  }
}

/**
 * The bytes of a user's file.
 *
 * @throws {MissingFileError} if there is no such file.
 * @throws {TypeError} if it is a directory.
 * @throws {RangeError} if it is larger than a file of its kind may be; nothing of it is read then.
 */
export async function readUserFile(path: string, kind: FileKind): Promise<Uint8Array<ArrayBuffer>> {
  const { noun, most } = KINDS[kind];
  using file = await openUserFile(path, noun);
  const { isDirectory, size } = await file.stat();
  if (isDirectory) throw new TypeError(`Cannot read ${noun}: ${quoted(path)} is a directory, expected a file`);
  const refuse = (bytes: string): never => {
    throw new RangeError(
      `Cannot read ${noun}: ${quoted(path)} has ${bytes}, at most ${formatBytes(most)} are read; is it another file?`,
    );
  };
  if (size > most) refuse(formatBytes(size));
  // A pipe does not know its size, and a file may grow.
  let bytes = new Uint8Array(size + 1);
  let held = 0;
  for (let read = await file.read(bytes); read !== null; read = await file.read(bytes.subarray(held))) {
    held += read;
    if (held > most) refuse(`more than ${formatBytes(most)}`);
    if (held < bytes.length) continue;
    const larger = new Uint8Array(Math.min(2 * bytes.length + 65_536, most + 1));
    larger.set(bytes);
    bytes = larger;
  }
  return bytes.subarray(0, held);
}

/**
 * The text of a user's file, without a byte order mark.
 *
 * @throws {SyntaxError} if it is UTF-16, or no text. Otherwise as {@linkcode readUserFile}.
 */
export async function readUserText(path: string, kind: FileKind): Promise<string> {
  const bytes = await readUserFile(path, kind);
  const [first, second] = bytes;
  const { noun } = KINDS[kind];
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    throw new SyntaxError(`Cannot read ${noun}: ${quoted(path)} is text in UTF-16; save it as UTF-8`);
  }
  if (bytes.includes(0)) throw new SyntaxError(`Cannot read ${noun}: ${quoted(path)} is no text in UTF-8`);
  return new TextDecoder().decode(bytes);
}

/** Bytes that {@linkcode readHead} reads at most: a run's record says what and when before anything long. */
const HEAD = 65_536;

/** How the text of a file begins, however large it is; undefined if there is no such file. */
export async function readHead(path: string): Promise<string | undefined> {
  try {
    using file = await Deno.open(path);
    const bytes = new Uint8Array(HEAD);
    let held = 0;
    for (let read = await file.read(bytes); read !== null && read > 0; read = await file.read(bytes.subarray(held))) {
      held += read;
    }
    return new TextDecoder().decode(bytes.subarray(0, held));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** A text without its byte order mark. */
export function withoutMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

/**
 * Opens a user's file.
 *
 * @param noun What messages call it: "the plan".
 * @throws {MissingFileError} if there is no such file.
 */
export async function openUserFile(path: string, noun: string): Promise<Deno.FsFile> {
  try {
    return await Deno.open(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new MissingFileError(`Cannot read ${noun}: ${quoted(path)} does not exist`, { cause: error });
  }
}

function quoted(path: string): string {
  return `"${shownLine(path)}"`;
}
