/**
 * Runs a worker process: environment set explicitly, spec in, messages out, one clear error whatever happens to it.
 *
 * @module
 */

import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { formatBytes } from "../../base/bytes.ts";
import { type MemoryLimit, memoryLimit } from "./memory_limit.ts";
import { workerEnvironment } from "../../base/worker_environment.ts";
import type { AskedProcess } from "./run_metrics.ts";
import {
  METRICS_LINE,
  type QualityOutcome,
  type SpeedOutcome,
  type WorkerMessage,
  type WorkerPhase,
  type WorkerSpec,
} from "./worker_protocol.ts";

/** How a worker is started: program and arguments. */
export type WorkerCommand = readonly [string, ...string[]];

/** The worker of this suite under the runtime that runs now. */
export function defaultWorkerCommand(): WorkerCommand {
  const script = fileURLToPath(new URL("./worker.ts", import.meta.url));
  // The worker imports no packages: no configuration, no lock file, no network. -A: /dev/shm is behind --allow-all.
  return [Deno.execPath(), "run", "-A", "--no-config", "--no-lock", "--no-remote", "--no-npm", "--no-check", script];
}

/** A worker that ended without an outcome. */
class WorkerError extends Error {
  /** Exit code; null if a signal ended it. */
  readonly exitCode: number | null;
  /** Signal that ended it. */
  readonly signal: string | null;

  /** The error. @param message What was asked, found, and what to do. */
  constructor(message: string, exitCode: number | null, signal: string | null) {
    super(message);
    this.name = "WorkerError";
    this.exitCode = exitCode;
    this.signal = signal;
  }
}

/** Options of {@linkcode runWorker}. */
interface WorkerOptions {
  readonly command: WorkerCommand;
  /** Variables of this process alone. */
  readonly environment: Readonly<Record<string, string>>;
  readonly onProgress?: (phase: WorkerPhase, done: number, total: number) => void;
  /** Of a worker that trains in turns: called when it waits for one, which it has when the promise resolves. */
  readonly onTurn?: () => Promise<void>;
  /** Told how the worker is asked what it counts; what it answers goes to what is returned, as does its end. */
  readonly onAskable?: (ask: () => void) => AskedProcess;
  readonly signal?: AbortSignal | undefined;
}

/** Characters of a worker's standard error that an error quotes. */
const QUOTED = 800;
/** Milliseconds a worker has to stop when asked, before it is killed. */
const PATIENCE = 5000;

/** The lines of a stream, the last one also without its end. */
export async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}

async function tailOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  let tail = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) tail = (tail + chunk).slice(-QUOTED);
  return tail.trim();
}

function memoryText(limit: MemoryLimit | undefined): string {
  if (limit === undefined) return "the machine may have run out of memory";
  return `the memory limit of ${formatBytes(limit.limit)} of the control group "${limit.group}" may have been reached`;
}

/** Where memory runs out the kernel shall end the worker, not the run, which can say what happened. */
async function offerToKernel(pid: number): Promise<void> {
  try {
    await Deno.writeTextFile(`/proc/${pid}/oom_score_adj`, "1000");
  } catch { /* it has ended, or there is no /proc */ }
}

function endText({ code, signal }: Deno.CommandStatus): string {
  if (signal === "SIGKILL") return `it was killed (SIGKILL); ${memoryText(memoryLimit())}`;
  if (signal !== null) return `it was ended by ${signal}`;
  return `it ended with exit code ${code} and no outcome`;
}

/**
 * Runs one worker to its end.
 *
 * @returns Its outcome.
 * @throws {WorkerError} if it ends without one: with its own message, or with how it ended.
 * @throws The signal's reason when aborted; the worker is stopped first.
 */
export async function runWorker(spec: WorkerSpec, options: WorkerOptions): Promise<SpeedOutcome | QualityOutcome> {
  options.signal?.throwIfAborted();
  const [program, ...args] = options.command;
  const child = new Deno.Command(program, {
    args,
    cwd: dirname(fileURLToPath(import.meta.url)),
    clearEnv: true,
    env: workerEnvironment(options.environment),
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await offerToKernel(child.pid);
  const input = child.stdin.getWriter();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => {
    input.close().catch(() => {}); // asks it to stop; it may be gone already
    timer = setTimeout(() => tryKill(child), PATIENCE);
  };
  options.signal?.addEventListener("abort", stop, { once: true });
  const giveTurn = () => {
    const given = async () => {
      await options.onTurn?.();
      await input.write(new TextEncoder().encode("turn\n"));
    };
    given().catch(() => {}); // it has ended, or is stopped
  };
  const asked = options.onAskable?.(() => {
    input.write(new TextEncoder().encode(`${METRICS_LINE}\n`)).catch(() => {}); // it has ended
  });
  const tail = tailOf(child.stderr);
  let outcome: SpeedOutcome | QualityOutcome | undefined;
  let said: string | undefined;
  try {
    await input.write(new TextEncoder().encode(JSON.stringify(spec) + "\n")).catch(() => {}); // its end says more
    for await (const line of linesOf(child.stdout)) {
      const message = parseMessage(line);
      if (message?.type === "progress") options.onProgress?.(message.phase, message.done, message.total);
      else if (message?.type === "turn") giveTurn();
      else if (message?.type === "metrics") asked?.answer(message.families);
      else if (message?.type === "outcome") outcome = message.outcome;
      else if (message?.type === "error") said = message.message;
    }
  } finally {
    asked?.end();
    options.signal?.removeEventListener("abort", stop);
    if (options.signal?.aborted !== true) await input.close().catch(() => {});
  }
  const status = await child.status;
  clearTimeout(timer);
  const quoted = await tail;
  options.signal?.throwIfAborted();
  if (outcome !== undefined && status.success) return outcome;
  const text = said ?? endText(status) + (quoted === "" ? "" : `; it said: ${quoted}`);
  throw new WorkerError(text, status.signal === null ? status.code : null, status.signal);
}

function tryKill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // it has ended already
  }
}

function parseMessage(line: string): WorkerMessage | undefined {
  try {
    return JSON.parse(line) as WorkerMessage;
  } catch {
    return undefined; // a library's own print; the outcome decides
  }
}
