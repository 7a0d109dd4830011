/** Random numbers of the run's order: a 32-bit counter mixed by the finaliser of MurmurHash3. Uniform in [0, 1). */
export function randomNumbers(seed: number): () => number {
  let state = (seed ^ Math.floor(seed / 2 ** 32) ^ 0x5bd1e995) >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let x = state;
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
    x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
    return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
  };
}

/** The items in a random order (Fisher and Yates), drawn from `random`; the given list stays as it is. */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}
