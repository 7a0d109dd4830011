/**
 * What a message between two processes of this machine takes, by the MPI that carries our ranks: a price of our store's software.
 *
 * @module
 */

import { UnavailableError } from "../../base/unavailable.ts";
import { median } from "../../base/statistics.ts";
import { workerEnvironment } from "../../base/worker_environment.ts";
import { rankCommand, type RankStart, rankStart } from "../../machines/rank_launcher.ts";

/** How two ranks are started here; undefined where no MPI is, or its launcher is missing. */
export function messageStart(): RankStart | undefined {
  try {
    return rankStart({ ranks: 2, launcher: "mpirun", mpi: "auto" });
  } catch (error) {
    if (error instanceof UnavailableError) return undefined;
    throw error;
  }
}

/**
 * Median seconds of a small message each way between two ranks.
 *
 * @throws {Error} with what the launcher or a rank said, if they fail.
 */
export async function messageSeconds({ mpi = "mpi", words, environment }: RankStart): Promise<number> {
  const [program = "", ...args] = [...words, ...rankCommand(new URL("message_worker.ts", import.meta.url)), mpi];
  const { success, stdout, stderr } = await new Deno.Command(program, {
    args,
    clearEnv: true,
    env: { ...environment, ...workerEnvironment({}) },
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  const line = /^\[[\d,]+\]$/m.exec(text(stdout))?.[0];
  if (!success || line === undefined) {
    throw new Error(`Cannot measure messages between two ranks: ${text(stderr).trim() || "they printed nothing"}`);
  }
  return median(JSON.parse(line) as number[]) * 1e-9;
}
