/**
 * Runs the lines of a plan as they are printed.
 *
 * @module
 */

/** Settings of one line. */
export interface ShellOptions {
  /** Milliseconds until the line and everything it started is ended. */
  readonly timeoutMs: number;
  /** Receives output as it comes. */
  readonly onOutput: (text: string, stream: "stdout" | "stderr") => void;
  /** Ends the line and everything it started. */
  readonly signal?: AbortSignal;
}

/** How a line ended. */
export interface ShellExit {
  /** Exit status; that of a signal is 128 and its number. */
  readonly code: number;
  /** Why it did not end by itself. */
  readonly ended?: "deadline" | "killed";
}

/** Runs a line. */
export type Shell = (line: string, options: ShellOptions) => Promise<ShellExit>;

/** Milliseconds between the request to end and the signal that cannot be refused. */
const GRACE_MS = 5_000;
/** Milliseconds for which output of a finished line is still read: what it left running may keep the pipe open. */
const DRAIN_MS = 500;

/**
 * Runs a line with `/bin/sh -c`, messages in English, nothing on standard input. The line has a process group of its
 * own: Ctrl-C at the terminal does not reach it, so that it can finish, and its end is that of all it started.
 */
export const processShell: Shell = async (
  line: string,
  { timeoutMs, onOutput, signal }: ShellOptions,
): Promise<ShellExit> => {
  const child = new Deno.Command("/bin/sh", {
    args: ["-c", line],
    env: { LC_ALL: "C", PATH: searchPath() },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    detached: true,
  }).spawn();
  let ended: ShellExit["ended"];
  let force: ReturnType<typeof setTimeout> | undefined;
  const end = (why: "deadline" | "killed") => {
    if (ended !== undefined) return;
    ended = why;
    kill(child.pid, "SIGTERM");
    force = setTimeout(() => kill(child.pid, "SIGKILL"), GRACE_MS);
  };
  const kept = () => end("killed");
  const deadline = setTimeout(() => end("deadline"), timeoutMs);
  signal?.addEventListener("abort", kept);
  if (signal?.aborted) kept();
  const readers = [pump(child.stdout, "stdout", onOutput), pump(child.stderr, "stderr", onOutput)];
  try {
    const { code } = await child.status;
    let drain: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([
      Promise.all(readers.map(({ finished }) => finished)),
      new Promise((resolve) => drain = setTimeout(resolve, DRAIN_MS)),
    ]);
    clearTimeout(drain);
    return { code, ...(ended === undefined ? {} : { ended }) };
  } finally {
    clearTimeout(deadline);
    clearTimeout(force);
    signal?.removeEventListener("abort", kept);
    for (const { cancel } of readers) await cancel();
  }
};

/** The search path with the folders of root's tools, which that of a user who became root may lack. */
function searchPath(): string {
  const folders = (Deno.env.get("PATH") ?? "/usr/local/bin:/usr/bin:/bin").split(":");
  return [...folders, ...["/usr/local/sbin", "/usr/sbin", "/sbin"].filter((one) => !folders.includes(one))].join(":");
}

/** Sends a signal to a process group; one that is gone needs none. */
function kill(group: number, signal: Deno.Signal): void {
  try {
    Deno.kill(-group, signal);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

function pump(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  name: "stdout" | "stderr",
  onOutput: ShellOptions["onOutput"],
): { finished: Promise<void>; cancel: () => Promise<void> } {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  const read = async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onOutput(value, name);
    }
  };
  return { finished: read(), cancel: () => reader.cancel() };
}
