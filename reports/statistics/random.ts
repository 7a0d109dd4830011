/**
 * Seeded random numbers for resampling: the same seed gives the same report on every machine.
 *
 * @module
 */

/** Uniform numbers in [0, 1). */
export type Random = () => number;

/**
 * The sfc32 generator (Chris Doty-Humphrey, PractRand): 128 bits of state, 32 bits a draw.
 *
 * @param seed Any text; equal text gives the equal sequence.
 */
export function seededRandom(seed: string): Random {
  let [a, b, c, counter] = [fnv1a(seed, 0x811c9dc5), fnv1a(seed, 0x01234567), fnv1a(seed, 0x9e3779b9), 1];
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum | 0;
    return (sum >>> 0) / 4294967296;
  };
  for (let i = 0; i < 12; i++) next(); // the generator's own recommendation: mix the seed in before use
  return next;
}

/** FNV-1a over UTF-16 code units, from a chosen offset basis. */
function fnv1a(text: string, basis: number): number {
  let hash = basis;
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return hash | 0;
}
