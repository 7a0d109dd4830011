/**
 * What set-up needs of the machine, behind one interface so that tests can play other machines.
 *
 * @module
 */

/** What a program did. */
export interface Outcome {
  /** Exit code; 127 if there is no such program. */
  readonly code: number;
  /** What it printed. */
  readonly stdout: string;
  /** What it complained about. */
  readonly stderr: string;
}

/** The machine that set-up works on. */
export interface System {
  /** As `Deno.build.os`. */
  readonly os: string;
  /** As `Deno.build.arch`. */
  readonly arch: string;
  /** The user's number; 0 is root. */
  readonly uid: number;
  /** Whether someone could type a password. */
  readonly terminal: boolean;
  /** The text of a file, or `undefined` if it cannot be read. */
  read(path: string): string | undefined;
  /**
   * Runs a program and waits for it.
   *
   * @param command The program and its arguments.
   * @param options `env` adds to the environment; `ask` lets it talk to the terminal.
   */
  run(
    command: readonly string[],
    options?: { readonly env?: Readonly<Record<string, string>>; readonly ask?: boolean },
  ): Promise<Outcome>;
  /** Prints, without a line end of its own. */
  print(text: string): void;
}

/** This machine. */
export const system: System = {
  os: Deno.build.os,
  arch: Deno.build.arch,
  uid: Deno.uid() ?? -1,
  terminal: Deno.stdin.isTerminal(),
  read(path) {
    try {
      return Deno.readTextFileSync(path);
    } catch {
      return undefined;
    }
  },
  async run([program = "", ...args], { env = {}, ask = false } = {}) {
    try {
      const stdin = ask ? "inherit" : "null";
      const result = await new Deno.Command(program, { args, env: { ...env }, stdin }).output();
      const decoder = new TextDecoder();
      return { code: result.code, stdout: decoder.decode(result.stdout), stderr: decoder.decode(result.stderr) };
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      return { code: 127, stdout: "", stderr: `${program}: not found` };
    }
  },
  print(text) {
    const bytes = new TextEncoder().encode(text);
    for (let written = 0; written < bytes.length;) written += Deno.stdout.writeSync(bytes.subarray(written));
  },
};

/** Set-up cannot go on; the message is one line that says what to do. Exit code 4. */
export class SetupError extends Error {
  /** Always `"SetupError"`. */
  override readonly name = "SetupError";
}

/** Seconds since a moment of `performance.now()`, as set-up prints them. */
export function secondsSince(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}

/** One line of set-up's output: a label and a text, without a line end. */
export function labelled(label: string, text: string): string {
  return `${label.padEnd(9)}${text}`;
}
