/**
 * The system that tools run on and files lie on. Provisioning and the doctor ask through this interface alone, so that
 * tests can replay what another machine answered.
 *
 * @module
 */

import type { ToolOutput } from "./tool.ts";

/** Exit status of a command that was ended at its deadline, as `timeout(1)` of coreutils reports it. */
export const TIMED_OUT = 124;

/** Settings of one command. */
export interface RunToolOptions {
  /** Milliseconds until the command is ended: tools that talk to firmware may hang. Default: {@linkcode DEADLINE_MS}. */
  readonly timeoutMs?: number;
  /** Text for its standard input; default: none. */
  readonly stdin?: string;
}

/** Deadline of a command that names none, in milliseconds. */
export const DEADLINE_MS = 60_000;

/** Where commands run and files are read. */
export interface System {
  /** The user is root. */
  readonly root: boolean;
  /**
   * Runs a program without a shell, with `LC_ALL=C`.
   *
   * @returns What it printed, whatever its exit status; undefined: there is no such program. A command that was ended at
   *   its deadline has status {@linkcode TIMED_OUT}, what it had printed by then, and a last line on stderr that says so.
   */
  run(argv: readonly string[], options?: RunToolOptions): Promise<ToolOutput | undefined>;
  /**
   * The text of a file.
   *
   * @returns undefined: there is no such file.
   * @throws {Error} if it is there and cannot be read.
   */
  readText(path: string): Promise<string | undefined>;
  /**
   * Names in a directory, sorted.
   *
   * @returns undefined: there is no such directory.
   * @throws {Error} if it is there and cannot be read.
   */
  list(path: string): Promise<readonly string[] | undefined>;
}
