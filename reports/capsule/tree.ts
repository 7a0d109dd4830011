/**
 * The SHA-256 tree over the parts of a page: the Merkle tree hash of RFC 6962, section 2.1. A leaf is
 * SHA-256(0x00 ‖ leaf), a node SHA-256(0x01 ‖ left ‖ right), and the left side of n leaves holds the largest power of
 * two below n, so that no list of parts has the root of another.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

type Bytes = Uint8Array<ArrayBufferLike>;

function sha256(...parts: readonly Bytes[]): Bytes {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** SHA-256 (hex) of bytes, or of a text in UTF-8. */
export function sha256Hex(data: string | Bytes): string {
  return createHash("sha256").update(typeof data === "string" ? new TextEncoder().encode(data) : data).digest("hex");
}

/**
 * Root (hex) of the tree over leaves in their order.
 *
 * @param leaves The leaves' own bytes; none give the SHA-256 of nothing.
 */
export function treeRoot(leaves: readonly Bytes[]): string {
  return Buffer.from(node(leaves)).toString("hex");
}

function node(leaves: readonly Bytes[]): Bytes {
  const [only] = leaves;
  if (only === undefined) return sha256();
  if (leaves.length === 1) return sha256(Uint8Array.of(0), only);
  let left = 1;
  while (left * 2 < leaves.length) left *= 2;
  return sha256(Uint8Array.of(1), node(leaves.slice(0, left)), node(leaves.slice(left)));
}
