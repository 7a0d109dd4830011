import { existsSync } from "node:fs";
// @ts-types="@commander-js/extra-typings"
import { Argument, type Command } from "commander";
import {
  type CheckpointInfo,
  compactCheckpoints,
  formatBytes,
  inspectCheckpoints,
  type RunOptions,
  TierstoreError,
  verifyCheckpoints,
} from "../mod.ts";
import { answerText } from "./answers.ts";
import { EXIT, UsageError } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { barText } from "./ui/progress.ts";
import { tableText } from "./ui/table.ts";
import type { Terminal } from "./ui/terminal.ts";

const HELP = `
inspect  lists the checkpoints of a folder, by their manifests alone
verify   reads every byte and compares it with its checksum; exit code 1 names the first damage
compact  makes one full checkpoint of the newest and all that it stands on, and removes what it replaces

Ctrl-C stops verify and compact; the checkpoints stay as they were.

Examples:
  tierbench checkpoint inspect checkpoints
  tierbench checkpoint verify checkpoints --json
  tierbench checkpoint compact checkpoints`;

/** `tierbench checkpoint`: what a folder of checkpoints holds, whether it is whole, and one full one of many. */
export function addCheckpoint(program: Command, { terminal, exit }: Context): void {
  program.command("checkpoint")
    .description("list the checkpoints of a folder, compare their checksums, or make one full one of them")
    .addArgument(new Argument("<action>", "what to do").choices(["inspect", "verify", "compact"] as const))
    .argument("<folder>", "the folder that checkpoints were written to")
    .option("--json", "for machines")
    .addHelpText("after", HELP)
    .action(async (action, folder, { json }) => {
      if (!existsSync(folder)) {
        throw new UsageError(`Cannot read the checkpoints: the folder "${folder}" does not exist`);
      }
      const chain = inspectCheckpoints(folder);
      if (action === "inspect") {
        return terminal.out(
          json === true ? answerText("checkpoint", chain) : chain.length === 0 ? noneText(folder) : chainText(chain),
        );
      }
      if (action === "compact" && chain.length > 0) {
        if (!await shown(terminal, action, json, (run) => compactCheckpoints(folder, run))) {
          return exit(EXIT.interrupted);
        }
        const left = inspectCheckpoints(folder);
        const found = { folder, checkpoints: left.length, before: bytesOf(chain), bytes: bytesOf(left) };
        return terminal.out(
          json === true
            ? answerText("checkpoint", found)
            : `${folder}: ${counted(chain)} of ${formatBytes(found.before)} made ${counted(left)} of ` +
              `${formatBytes(found.bytes)}\n`,
        );
      }
      let problem: string | undefined;
      const whole = await shown(terminal, action, json, async (run) => {
        problem = chain.length === 0 ? undefined : await damageOf(folder, run);
      });
      if (!whole) return exit(EXIT.interrupted);
      if (problem !== undefined) exit(EXIT.failed);
      const bytes = bytesOf(chain);
      const found = { folder, checkpoints: chain.length, bytes, whole: problem === undefined };
      if (json === true) terminal.out(answerText("checkpoint", problem === undefined ? found : { ...found, problem }));
      else if (problem !== undefined) terminal.err(`${folder}: ${problem}\n`);
      else if (chain.length === 0) terminal.out(noneText(folder));
      else terminal.out(`${folder}: whole, ${counted(chain)}, ${formatBytes(bytes)}\n`);
    });
}

/** Shows a terminal how far a call is; Ctrl-C stops it. False if it was stopped. */
async function shown(
  terminal: Terminal,
  action: string,
  json: boolean | undefined,
  call: (run: RunOptions) => Promise<void>,
): Promise<boolean> {
  const stop = new AbortController();
  const interrupt = () => stop.abort(new Error("interrupted"));
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, interrupt);
  const drawn = terminal.isTerminal && json !== true;
  try {
    await call({
      signal: stop.signal,
      onProgress: (done, total) => {
        if (drawn && total > 0) {
          terminal.out(
            `\r\x1b[K${action}  ${barText(done / total, 30)}  ${formatBytes(done)} of ${formatBytes(total)}`,
          );
        }
      },
    });
    return true;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    terminal.err("Interrupted: the checkpoints are as they were\n");
    return false;
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.removeSignalListener(signal, interrupt);
    if (drawn) terminal.out("\r\x1b[K");
  }
}

function bytesOf(chain: readonly CheckpointInfo[]): number {
  return chain.reduce((sum, one) => sum + (one.bytes ?? 0), 0);
}

function counted({ length }: readonly CheckpointInfo[]): string {
  return `${length} ${length === 1 ? "checkpoint" : "checkpoints"}`;
}

/** What is damaged; undefined if nothing is. */
async function damageOf(folder: string, run: RunOptions): Promise<string | undefined> {
  try {
    await verifyCheckpoints(folder, run);
    return undefined;
  } catch (error) {
    if (error instanceof TierstoreError && error.status === "TS_EFORMAT") return error.message;
    throw error;
  }
}

function noneText(folder: string): string {
  return `${folder}: no checkpoints\n`;
}

function chainText(chain: readonly CheckpointInfo[]): string {
  const lines = chain.map((one) => [
    String(one.number),
    one.kind ?? "–",
    one.parent === undefined ? "–" : String(one.parent),
    one.step === undefined ? "–" : String(one.step),
    one.bytes === undefined ? "–" : formatBytes(one.bytes),
    one.links === undefined ? "–" : String(one.links),
    one.problem === undefined ? one.state : `${one.state}: ${one.problem}`,
  ]);
  return tableText([["number", "kind", "on", "step", "bytes", "files to restore", "state"], ...lines]);
}
