/** Where the command writes, so that tests can read it. */
export interface Terminal {
  /** Writes text to standard output, as it is. */
  readonly out: (text: string) => void;
  /** Writes text to standard error, as it is. */
  readonly err: (text: string) => void;
  /** True if a person looks at standard output: progress bars may be drawn over themselves. */
  readonly isTerminal: boolean;
  /** True if colours are wanted. */
  readonly colors: boolean;
  /** Columns. */
  readonly width: number;
}

function write(stream: { writeSync(bytes: Uint8Array): number }, text: string): void {
  const bytes = new TextEncoder().encode(text);
  try {
    for (let written = 0; written < bytes.length;) written += stream.writeSync(bytes.subarray(written));
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error; // the reader has seen enough
  }
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const isTerminal = Deno.stdout.isTerminal();
  return {
    out: (text) => write(Deno.stdout, text),
    err: (text) => write(Deno.stderr, text),
    isTerminal,
    colors: isTerminal && !Deno.noColor,
    width: isTerminal ? Deno.consoleSize().columns : 120,
  };
}
