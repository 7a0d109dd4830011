/**
 * A contender of the bench: a process that takes one command a line and answers with one line.
 *
 * @module
 */

/** A contender that could not do what it was told; the message is its own. */
export class ContenderError extends Error {
  /** Sets the name. */
  override name = "ContenderError";
}

/** The numbers and words of an answer. */
export type Answer = Readonly<Record<string, string>>;

/** Reads "ok name=value …". */
export function parseAnswer(line: string): Answer {
  if (line.startsWith("error ")) throw new ContenderError(line.slice("error ".length));
  if (!/^ok( |$)/.test(line)) throw new ContenderError(`Cannot read the answer "${line}"`);
  const words = line.split(" ").filter((word) => word.includes("="));
  return Object.fromEntries(words.map((word) => {
    const at = word.indexOf("=");
    return [word.slice(0, at), word.slice(at + 1)];
  }));
}

/** A number of an answer. */
export function numberOf(answer: Answer, name: string): number {
  const value = Number(answer[name] ?? NaN);
  if (!Number.isFinite(value)) throw new ContenderError(`Cannot find "${name}" in ${JSON.stringify(answer)}`);
  return value;
}

/** Options as words of a command line. */
export function words(options: Readonly<Record<string, string | number>>): string {
  return Object.entries(options).map(([name, value]) => {
    if (/\s/.test(`${value}`)) throw new RangeError(`Cannot pass "${name}": "${value}" has a space in it`);
    return ` ${name}=${value}`;
  }).join("");
}

/** A running contender. Commands are answered one after the other. */
export class Contender implements AsyncDisposable {
  /** Of the program. */
  readonly name: string;
  readonly #process: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #lines: ReadableStreamDefaultReader<string>;
  #rest = "";

  /** Starts the program. */
  constructor(name: string, program: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    this.name = name;
    this.#process = new Deno.Command(program, {
      args: [...args],
      env: { ...env },
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#writer = this.#process.stdin.getWriter();
    this.#lines = this.#process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Waits for one line. */
  async answer(): Promise<Answer> {
    while (!this.#rest.includes("\n")) {
      const { value, done } = await this.#lines.read();
      if (done) throw new ContenderError(`${this.name} ended in the middle of its work`);
      this.#rest += value;
    }
    const end = this.#rest.indexOf("\n");
    const line = this.#rest.slice(0, end).trim();
    this.#rest = this.#rest.slice(end + 1);
    return parseAnswer(line);
  }

  /** Sends one line and waits for the answer. */
  async send(line: string): Promise<Answer> {
    try {
      await this.#writer.write(new TextEncoder().encode(`${line}\n`));
    } catch {
      throw new ContenderError(`${this.name} ended before "${line}"`);
    }
    return await this.answer();
  }

  /** Sends a command with options. */
  command(verb: string, options: Readonly<Record<string, string | number>> = {}): Promise<Answer> {
    return this.send(`${verb}${words(options)}`);
  }

  /** Ends the process and waits for its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#writer.close();
    } catch {
      // It has ended already.
    }
    await this.#lines.cancel();
    await this.#process.status;
  }
}
