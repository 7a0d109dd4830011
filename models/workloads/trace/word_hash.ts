/**
 * 64 bits of a word.
 *
 * @module
 */

const encoder = new TextEncoder();

/** FNV-1a over UTF-8, 64 bits without a sign (Fowler, Noll and Vo, 1991). */
export function hashOf(word: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of encoder.encode(word)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash;
}
