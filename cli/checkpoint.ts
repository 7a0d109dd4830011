// @ts-types="@commander-js/extra-typings"
import { Argument, type Command } from "commander";
import { type CheckpointInfo, formatBytes, inspectCheckpoints, TierstoreError, verifyCheckpoints } from "../mod.ts";
import { EXIT } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { tableText } from "./ui/table.ts";

const HELP = `
inspect  lists the checkpoints of a folder, by their manifests alone
verify   reads every byte and compares it with its checksum; exit code 1 names the first damage

Examples:
  tierbench checkpoint inspect checkpoints
  tierbench checkpoint verify checkpoints --json`;

/** `tierbench checkpoint`: what a folder of checkpoints holds, and whether it is whole. */
export function addCheckpoint(program: Command, { terminal, exit }: Context): void {
  program.command("checkpoint")
    .description("list the checkpoints of a folder, or read all of them and compare their checksums")
    .addArgument(new Argument("<action>", "what to do").choices(["inspect", "verify"] as const))
    .argument("<folder>", "the folder that checkpoints were written to")
    .option("--json", "for machines")
    .addHelpText("after", HELP)
    .action(async (action, folder, { json }) => {
      const chain = inspectCheckpoints(folder);
      if (action === "inspect") {
        return terminal.out(json === true ? jsonText(chain) : chain.length === 0 ? noneText(folder) : chainText(chain));
      }
      const problem = await damageOf(folder);
      if (problem !== undefined) exit(EXIT.failed);
      const bytes = chain.reduce((sum, one) => sum + (one.bytes ?? 0), 0);
      const found = { folder, checkpoints: chain.length, bytes, whole: problem === undefined };
      if (json === true) terminal.out(jsonText(problem === undefined ? found : { ...found, problem }));
      else if (problem !== undefined) terminal.err(`${folder}: ${problem}\n`);
      else if (chain.length === 0) terminal.out(noneText(folder));
      else terminal.out(`${folder}: whole, ${chain.length} checkpoints, ${formatBytes(bytes)}\n`);
    });
}

/** What is damaged; undefined if nothing is. */
async function damageOf(folder: string): Promise<string | undefined> {
  try {
    await verifyCheckpoints(folder);
    return undefined;
  } catch (error) {
    if (error instanceof TierstoreError && error.status === "TS_EFORMAT") return error.message;
    throw error;
  }
}

function noneText(folder: string): string {
  return `${folder}: no checkpoints\n`;
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
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
