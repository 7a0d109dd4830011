/**
 * Programs that build the image.
 *
 * @module
 */

import { SetupError } from "../../../setup/system.ts";

/** How to run a program. */
export interface ProgramOptions {
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where; by default here. */
  readonly cwd?: string;
  /** After this many seconds it is ended, with an error. */
  readonly seconds?: number;
}

/**
 * Runs a program.
 *
 * @param what What it does, for the error: "build the root file system".
 * @returns What it printed.
 * @throws {SetupError} If it fails, with the last lines of what it said.
 */
export async function program(
  what: string,
  [name = "", ...args]: readonly string[],
  { env = {}, cwd, seconds = 600 }: ProgramOptions = {},
): Promise<string> {
  const signal = AbortSignal.timeout(seconds * 1000);
  let result: Deno.CommandOutput;
  try {
    result = await new Deno.Command(name, { args, env: { ...env }, stdin: "null", signal, ...(cwd && { cwd }) })
      .output();
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    throw new SetupError(`Cannot ${what}: there is no program "${name}"`, { cause });
  }
  const decoder = new TextDecoder();
  if (result.success) return decoder.decode(result.stdout);
  const said = decoder.decode(result.stderr).trim().split("\n").slice(-15).join("\n");
  const how = signal.aborted ? `took longer than ${seconds} s` : `ended with ${result.code}`;
  throw new SetupError(`Cannot ${what}: ${name} ${how}:\n${said}`);
}
