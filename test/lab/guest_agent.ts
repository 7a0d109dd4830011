/**
 * The channel into a guest: QEMU's guest agent, which speaks lines of JSON over a serial port (QEMU's
 * docs/interop/qemu-ga-ref). It needs no network and no login, and its port is a socket on this side.
 *
 * @module
 */

/** What a program in the guest did. */
export interface ProgramResult {
  /** Exit code; 128 + n if signal n ended it, as shells have it. */
  readonly code: number;
  /** What it printed, at most 16 MiB (the agent's limit). */
  readonly stdout: Uint8Array;
  /** What it complained about. */
  readonly stderr: Uint8Array;
}

/** The guest did not answer in time, or no longer can. */
export class AgentError extends Error {
  /** Always `"AgentError"`. */
  override readonly name = "AgentError";
}

interface ExecStatus {
  readonly exited: boolean;
  readonly exitcode?: number;
  readonly signal?: number;
  readonly "out-data"?: string;
  readonly "err-data"?: string;
  readonly "out-truncated"?: boolean;
  readonly "err-truncated"?: boolean;
}

/** The open channel. One request at a time. */
export class GuestAgent implements Disposable {
  readonly #socket: Deno.UnixConn;
  readonly #decoder = new TextDecoder();
  #received = "";

  private constructor(socket: Deno.UnixConn) {
    this.#socket = socket;
  }

  /**
   * Connects to the socket and waits until the agent answers.
   *
   * @param alive Says whether there is still a guest to wait for.
   * @throws {AgentError} If it does not answer in time.
   */
  static async connect(path: string, timeoutMs: number, alive: () => boolean): Promise<GuestAgent> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      try {
        const agent = new GuestAgent(await Deno.connect({ transport: "unix", path }));
        try {
          // Kept by QEMU until the guest reads from its port.
          await agent.#request("guest-ping", {}, deadline - Date.now());
          return agent;
        } catch (error) {
          agent[Symbol.dispose]();
          throw error;
        }
      } catch (error) {
        // QEMU makes the socket a moment after it starts.
        const early = error instanceof Deno.errors.NotFound || error instanceof Deno.errors.ConnectionRefused;
        if (!early) throw error;
        if (Date.now() > deadline || !alive()) throw new AgentError("The guest's port did not open", { cause: error });
        await pause(50);
      }
    }
  }

  /** Closes the channel. */
  [Symbol.dispose](): void {
    this.#socket.close();
  }

  /**
   * Runs a program and waits for its end.
   *
   * @throws {AgentError} If it does not end in time; it then goes on, which the caller has to make an end to.
   */
  async run(command: readonly string[], input: Uint8Array, timeoutMs: number): Promise<ProgramResult> {
    const deadline = Date.now() + timeoutMs;
    const [path, ...arg] = command;
    const { pid } = await this.#request<{ pid: number }>("guest-exec", {
      path,
      arg,
      "capture-output": true,
      "input-data": input.toBase64(),
    }, timeoutMs);
    for (let wait = 10;; wait = Math.min(wait * 1.5, 200)) {
      const left = deadline - Date.now();
      if (left <= 0) throw new AgentError(`"${command.join(" ")}" did not end in ${timeoutMs / 1000} s`);
      const status = await this.#request<ExecStatus>("guest-exec-status", { pid }, left);
      if (status.exited) {
        if (status["out-truncated"] || status["err-truncated"]) {
          throw new AgentError(`"${command.join(" ")}" printed more than the guest agent keeps (16 MiB)`);
        }
        return {
          code: status.exitcode ?? 128 + (status.signal ?? 0),
          stdout: Uint8Array.fromBase64(status["out-data"] ?? ""),
          stderr: Uint8Array.fromBase64(status["err-data"] ?? ""),
        };
      }
      await pause(Math.min(wait, Math.max(deadline - Date.now(), 1)));
    }
  }

  async #request<Answer>(execute: string, args: Readonly<Record<string, unknown>>, timeoutMs: number): Promise<Answer> {
    const timer = Promise.withResolvers<never>();
    const id = setTimeout(
      () => timer.reject(new AgentError(`The guest did not answer "${execute}" in ${Math.round(timeoutMs / 1000)} s`)),
      Math.max(timeoutMs, 1),
    );
    try {
      return await Promise.race([this.#exchange<Answer>(execute, args), timer.promise]);
    } finally {
      clearTimeout(id);
    }
  }

  async #exchange<Answer>(execute: string, args: Readonly<Record<string, unknown>>): Promise<Answer> {
    const bytes = new TextEncoder().encode(JSON.stringify({ execute, arguments: args }) + "\n");
    try {
      for (let written = 0; written < bytes.length;) written += await this.#socket.write(bytes.subarray(written));
    } catch (cause) {
      throw new AgentError(`The guest is gone: it cannot be asked "${execute}"`, { cause });
    }
    const buffer = new Uint8Array(65536);
    while (!this.#received.includes("\n")) {
      let count: number | null;
      try {
        count = await this.#socket.read(buffer);
      } catch (cause) {
        throw new AgentError(`The guest went away during "${execute}"`, { cause });
      }
      if (count === null) throw new AgentError(`The guest went away during "${execute}"`);
      this.#received += this.#decoder.decode(buffer.subarray(0, count), { stream: true });
    }
    const end = this.#received.indexOf("\n");
    const line = this.#received.slice(0, end);
    this.#received = this.#received.slice(end + 1);
    const answer = JSON.parse(line) as { return?: Answer; error?: { desc: string } };
    if (answer.error !== undefined) throw new AgentError(`The guest refused "${execute}": ${answer.error.desc}`);
    return answer.return as Answer;
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
