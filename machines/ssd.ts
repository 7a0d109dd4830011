/**
 * Whether a tier on a disk can be opened in a directory: asked of the library, since it needs its own libraries, and of
 * the file system, since one in memory is no disk.
 *
 * @module
 */

import { statfsSync } from "node:fs";
import { EmbeddingStore } from "../ffi/store.ts";
import { isInMemory, SSD_FOLDER } from "./inventory/file_system.ts";
import type { SsdTier } from "../ffi/storage.ts";
import type { Found } from "./availability.ts";

/**
 * Looks at a directory for a tier.
 *
 * @param tier Which kind of tier.
 * @param directory Where its files would be. Default: the project's cache folder, which is made.
 */
export function probeSsd(tier: SsdTier, directory: string | undefined): Found<object> {
  const unavailable = (reason: string): Found<object> => ({ available: false, reason, emulable: false });
  const path = directory ?? SSD_FOLDER;
  try {
    if (directory === undefined) Deno.mkdirSync(path, { recursive: true });
    if (isInMemory(statfsSync(path))) return unavailable(`"${path}" is in memory (tmpfs), and a disk is needed`);
  } catch (error) {
    return unavailable(`"${path}" cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
  const answer = EmbeddingStore.probe({ storage: tier, path });
  return answer.available ? answer : unavailable(answer.reason);
}
