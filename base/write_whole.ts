/**
 * Writes files so that a reader never sees half of one.
 *
 * @module
 */

import { writing } from "./writing.ts";

/**
 * Writes a file beside its place and moves it there.
 *
 * @param path The file.
 * @param content Its text or bytes.
 * @param folder A folder that is made first, if absent.
 */
export async function writeWhole(path: string, content: string | Uint8Array, folder?: string): Promise<void> {
  const beside = `${path}.${crypto.randomUUID()}.tmp`;
  if (folder !== undefined) await writing(folder, () => Deno.mkdir(folder, { recursive: true }));
  try {
    await writing(path, async () => {
      if (typeof content === "string") await Deno.writeTextFile(beside, content);
      else await Deno.writeFile(beside, content);
      await Deno.rename(beside, path);
    });
  } catch (error) {
    await Deno.remove(beside).catch(() => {});
    throw error;
  }
}
