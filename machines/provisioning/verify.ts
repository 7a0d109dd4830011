/**
 * Verification by trying, through the native library.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { verifyDax } from "../../ffi/machine.ts";
import { workerEnvironment } from "../../base/worker_environment.ts";

/** Tries a medium. The pairs are those of `ts_machine_verify_dax` and `ts_machine_verify_node`. */
export interface Verify {
  /**
   * Tries whether files of a directory are persistent memory.
   *
   * @throws {Error} if there is no such directory.
   */
  dax(path: string): Promise<Readonly<Record<string, string>>>;
  /**
   * Tries whether a NUMA node gives memory.
   *
   * @param nodes `MEMKIND_DAX_KMEM_NODES`; undefined: not set.
   * @throws {Error} if there is no such node.
   */
  node(node: number, nodes: string | undefined): Promise<Readonly<Record<string, string>>>;
}

const WORKER = fileURLToPath(new URL("verify_worker.ts", import.meta.url));

/** Milliseconds for a node: memory behind a sick device may never answer. */
const DEADLINE_MS = 60_000;

/**
 * Tries the media of this machine. Each node gets a process of its own, since memkind reads its environment once.
 */
export function processVerify(): Verify {
  return {
    dax: (path) => Promise.resolve().then(() => verifyDax(path)),
    node: async (node, nodes) => {
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-config", "--no-lock", "--no-remote", "--no-npm", "--no-check", WORKER, String(node)],
        clearEnv: true,
        env: workerEnvironment(nodes === undefined ? {} : { MEMKIND_DAX_KMEM_NODES: nodes }),
        stdin: "null",
        signal: AbortSignal.timeout(DEADLINE_MS),
      }).output();
      const decoder = new TextDecoder();
      const text = decoder.decode(stdout);
      try {
        const answer: unknown = JSON.parse(text);
        if (typeof answer === "object" && answer !== null && "facts" in answer) {
          return answer.facts as Readonly<Record<string, string>>;
        }
        if (typeof answer === "object" && answer !== null && "error" in answer) throw new Error(String(answer.error));
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
      }
      const said = decoder.decode(stderr).trim().split("\n").at(-1) ?? "";
      throw new Error(`Cannot verify NUMA node ${node}: the process that tried ended with status ${code}: ${said}`);
    },
  };
}
