/**
 * The command as a person calls it, for tests.
 *
 * @module
 */

import { main } from "../../cli/main.ts";

/** What the command says and returns. */
export interface Said {
  /** Exit code. */
  readonly code: number;
  /** Standard output. */
  readonly out: string;
  /** Standard error. */
  readonly err: string;
}

/** Runs the command with these words, on a terminal of so many columns. */
export async function runCommand(args: readonly string[], width: number): Promise<Said> {
  let [out, err] = ["", ""];
  const terminal = {
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
    isTerminal: false,
    colors: false,
    width,
  };
  const code = await main(args, terminal);
  return { code, out, err };
}

/** Gives the body a folder of its own, which is removed afterwards. */
export async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
