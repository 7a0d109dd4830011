/**
 * This machine as a {@linkcode System}.
 *
 * @module
 */

import { DEADLINE_MS, type RunToolOptions, type System, TIMED_OUT } from "./system.ts";
import type { ToolOutput } from "./tool.ts";

/** How long a command that was ended may take to be gone; one that waits for a device may never be. */
const GRACE_MS = 1_000;

/** Exit status of a program that is there and cannot be started, as a shell reports it. */
const NOT_EXECUTABLE = 126;

/** Folders of tools for root, which the search path of other users often lacks. */
const ROOT_FOLDERS = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

function searchPath(): string {
  const folders = (Deno.env.get("PATH") ?? "/usr/local/bin:/usr/bin:/bin").split(":").filter((one) => one !== "");
  return [...folders, ...ROOT_FOLDERS.filter((one) => !folders.includes(one))].join(":");
}

/** Text of a stream, as far as it has come. */
function follow(stream: ReadableStream<Uint8Array>): { text: () => string; end: Promise<void>; stop: () => void } {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const end = (async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value, { stream: true });
    }
    text += decoder.decode();
  })();
  return { text: () => text, end, stop: () => void reader.cancel().catch(() => {}) };
}

async function write(stream: WritableStream<Uint8Array>, text: string): Promise<void> {
  const writer = stream.getWriter();
  try {
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
  } catch {
    // The command ended without reading all of it; its exit status tells.
  }
}

async function run(argv: readonly string[], options: RunToolOptions = {}): Promise<ToolOutput | undefined> {
  const [program = "", ...args] = argv;
  const { timeoutMs = DEADLINE_MS, stdin } = options;
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(program, {
      args,
      env: { LC_ALL: "C", PATH: searchPath() },
      stdin: stdin === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    const reason = error instanceof Error ? error.message : String(error);
    return { command: argv, code: NOT_EXECUTABLE, stdout: "", stderr: `${reason}\n` };
  }
  const input = stdin === undefined ? Promise.resolve() : write(child.stdin, stdin);
  const [out, err] = [follow(child.stdout), follow(child.stderr)];
  const finished = Promise.all([child.status, out.end, err.end, input]).then(([status]) => status);
  const timers: ReturnType<typeof setTimeout>[] = [];
  const after = (milliseconds: number) =>
    new Promise<undefined>((resolve) => void timers.push(setTimeout(() => resolve(undefined), milliseconds)));
  try {
    const status = await Promise.race([finished, after(timeoutMs)]);
    if (status !== undefined) {
      return { command: argv, code: status.code, stdout: out.text(), stderr: err.text() };
    }
    try {
      child.kill("SIGKILL");
    } catch {
      // It ended just now; what it started may still hold its pipes.
    }
    await Promise.race([child.status, after(GRACE_MS)]);
    const late = `"${argv.join(" ")}" did not end within ${timeoutMs} ms and was ended`;
    const before = err.text();
    return {
      command: argv,
      code: TIMED_OUT,
      stdout: out.text(),
      stderr: `${before}${before === "" || before.endsWith("\n") ? "" : "\n"}${late}\n`,
    };
  } finally {
    for (const timer of timers) clearTimeout(timer);
    out.stop();
    err.stop();
    child.unref();
    await Promise.allSettled([out.end, err.end]);
  }
}

/** The value of a reading, or undefined where there is nothing to read. */
async function unlessAbsent<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    throw error;
  }
}

async function namesIn(path: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(path)) names.push(name);
  return names.sort();
}

/** This machine. */
export function localSystem(): System {
  return {
    root: Deno.uid() === 0,
    run,
    readText: (path) => unlessAbsent(Deno.readTextFile(path)),
    list: (path) => unlessAbsent(namesIn(path)),
  };
}
