/**
 * What this machine is. The native library reads `/sys` and `/proc`, since the runtime may not.
 *
 * @module
 */

import { encodeText, readText } from "./errors.ts";
import { parseLines } from "./facts.ts";
import { native } from "./library.ts";

export { libraryVersion } from "./library.ts";

/**
 * The machine as pairs: `cpu.*`, `memory.*`, `node.<n>.*`, `dax.*`, `pmem.*`, `cxl.*`, `gpu.*`, `hugepages.*`, `noise.*`,
 * `library.*`, `mount.*`. What is unknown is absent.
 *
 * @param roots A folder put before `/sys`, `/proc` and `/dev`, for captured machines.
 */
export function probeMachine(roots = ""): Record<string, string> {
  const folder = encodeText(roots);
  return parseLines(readText("probe the machine", (...buffer) => native().ts_machine_probe(folder, ...buffer)));
}
