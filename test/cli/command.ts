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

/** Runs the command with these words, on a terminal of so many columns. What it says with `--json` must be as its schema says. */
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
  if (args.includes("--json") && out !== "") {
    const { checkAnswer } = await import("./answer.ts");
    checkAnswer(args[0]?.replace(/^--/, "") ?? "", out);
  }
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
