/**
 * What set-up remembers between runs, in `.cache/setup.json`: which packages it installed, and for which lock file
 * and folder the npm packages were fetched. Losing it costs only time.
 *
 * @module
 */

import { SetupError } from "./system.ts";

/** The folder of tierbench, as an absolute path without a final slash. */
export const ROOT: string = decodeURIComponent(new URL("..", import.meta.url).pathname).replace(/\/$/, "");

/** What is remembered. */
interface SetupState {
  /** Debian packages that set-up installed. */
  readonly installed: readonly string[];
  /** Identifies the npm packages that are in the cache. */
  readonly npm: string;
}

const FILE = ".cache/setup.json";

/** Reads what the last run remembered; nothing if there was none. */
export function readState(root: string = ROOT): SetupState {
  try {
    const state = JSON.parse(Deno.readTextFileSync(`${root}/${FILE}`)) as Partial<SetupState>;
    return { installed: state.installed ?? [], npm: state.npm ?? "" };
  } catch {
    return { installed: [], npm: "" };
  }
}

/**
 * Remembers.
 *
 * @throws {SetupError} If the folder cannot be written to.
 */
export function writeState(state: SetupState, root: string = ROOT): void {
  try {
    Deno.mkdirSync(`${root}/.cache`, { recursive: true });
    // Written beside it and renamed, since two set-ups may run at a time.
    const temporary = `${root}/${FILE}.${Deno.pid}`;
    Deno.writeTextFileSync(temporary, JSON.stringify(state, undefined, 2) + "\n");
    Deno.renameSync(temporary, `${root}/${FILE}`);
  } catch (error) {
    const said = (error as Error).message.replace(/ \(os error.*/s, "");
    throw new SetupError(`Cannot write "${root}/${FILE}" (${said}): set-up needs a folder that it can write to`, {
      cause: error,
    });
  }
}
