/**
 * What this machine is. The native library reads `/sys` and `/proc`, since the runtime may not.
 *
 * @module
 */

import { encodeText, message, readText } from "./errors.ts";
import { parseLines } from "./facts.ts";
import { native } from "./library.ts";

export { libraryVersion } from "./library.ts";

/**
 * The machine as pairs: `cpu.*`, `memory.*`, `node.<n>.*`, `dax.*`, `pmem.*`, `cxl.*`, `gpu.*`, `hugepages.*`, `noise.*`,
 * `library.*`, `mount.*`, `container.*`, `process.*`. What is unknown is absent.
 *
 * @param roots A folder put before `/sys`, `/proc` and `/dev`, for captured machines.
 */
export function probeMachine(roots = ""): Record<string, string> {
  const folder = encodeText(roots);
  return parseLines(readText("probe the machine", (...buffer) => native().ts_machine_probe(folder, ...buffer)));
}

/**
 * Tries whether files of a directory are persistent memory, with a file that has no name by then. The pairs are
 * those of `ts_machine_verify_dax` in `native/include/tierstore.h`.
 *
 * @throws {TierstoreError} `TS_EINVAL` if there is no such directory.
 */
export function verifyDax(path: string): Record<string, string> {
  const folder = encodeText(path);
  const { bytes, capacity } = message;
  return parseLines(readText(`verify "${path}"`, (...buffer) => {
    return native().ts_machine_verify_dax(folder, ...buffer, bytes, capacity);
  }));
}

/**
 * Tries whether a NUMA node gives memory, and whether memkind sees it. The pairs are those of `ts_machine_verify_node` in
 * `native/include/tierstore.h`. memkind reads `MEMKIND_DAX_KMEM_NODES` once a process.
 *
 * @throws {TierstoreError} `TS_EUNAVAILABLE` if there is no such node.
 */
export function verifyNode(node: number): Record<string, string> {
  const { bytes, capacity } = message;
  return parseLines(readText(`verify node ${node}`, (...buffer) => {
    return native().ts_machine_verify_node(node, ...buffer, bytes, capacity);
  }));
}
