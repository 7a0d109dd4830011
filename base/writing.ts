/**
 * Words for what the system says when a file cannot be written.
 *
 * @module
 */

/**
 * Writes something and names the file if that fails.
 *
 * @param path The file or folder, for the message.
 * @param write Writes it.
 * @throws {Error} What the system said, with the file and what to do; other errors as they are.
 */
export async function writing<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const said = error instanceof Error ? /^(.+?) \(os error \d+\)/.exec(error.message)?.[1] : undefined;
    if (said === undefined) throw error;
    const next = said.startsWith("No space") ? "free some space or choose another folder" : "choose another folder";
    throw new Error(`Cannot write "${path}": ${said.toLowerCase()}; ${next}`, { cause: error });
  }
}
