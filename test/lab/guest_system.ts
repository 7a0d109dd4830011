/**
 * A guest as the system that inventories are read from: this process asks, the guest's tools answer.
 *
 * @module
 */

import type { System } from "../../machines/inventory/system.ts";
import type { ToolOutput } from "../../machines/inventory/tool.ts";
import { type Guest, quote } from "./guest.ts";

/** What a shell says of a program that is not there (POSIX, 2.8.2). */
const NOT_FOUND = 127;

/** A guest, and the outputs of everything that it was asked. */
export interface GuestSystem extends System {
  readonly outputs: readonly ToolOutput[];
}

/** Asks a guest, as root. */
export function guestSystem(guest: Guest): GuestSystem {
  const outputs: ToolOutput[] = [];
  // One at a time: the channel to the guest is one line.
  let before: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(ask: () => Promise<T>): Promise<T> => {
    const answer = before.then(ask);
    before = answer.catch(() => {});
    return answer;
  };
  return {
    root: true,
    outputs,
    run: (argv) =>
      inTurn(async () => {
        const result = await guest.run(`LC_ALL=C ${argv.map(quote).join(" ")}`);
        if (result.code === NOT_FOUND) return undefined;
        const output = { command: argv, ...result };
        outputs.push(output);
        return output;
      }),
    readText: (path) =>
      inTurn(async () => {
        const { code, stdout } = await guest.run(`test -e ${quote(path)} || exit 44; cat ${quote(path)}`);
        if (code !== 0 && code !== 44) throw new Error(`"${path}" cannot be read in the guest: ${code}`);
        return code === 0 ? stdout : undefined;
      }),
    list: (path) =>
      inTurn(async () => {
        const { code, stdout } = await guest.run(`test -d ${quote(path)} || exit 44; ls -A ${quote(path)}`);
        if (code !== 0 && code !== 44) throw new Error(`"${path}" cannot be listed in the guest: ${code}`);
        return code === 0 ? stdout.split("\n").filter((name) => name !== "").sort() : undefined;
      }),
  };
}
