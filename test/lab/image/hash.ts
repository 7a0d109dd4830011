/**
 * Names what goes into a part of the image.
 *
 * @module
 */

/** Sixteen hexadecimal digits that stand for these texts and bytes, in this order. */
export async function hash(pieces: readonly (string | Uint8Array)[]): Promise<string> {
  const encoder = new TextEncoder();
  const digests: Uint8Array[] = [];
  for (const piece of pieces) {
    const bytes = typeof piece === "string" ? encoder.encode(piece) : piece;
    digests.push(new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(bytes))));
  }
  const all = await new Blob(digests as Uint8Array<ArrayBuffer>[]).arrayBuffer();
  return new Uint8Array(await crypto.subtle.digest("SHA-256", all)).toHex().slice(0, 16);
}
