/**
 * Which columns go together: how often a column has the key that it had when another column last had the same key.
 *
 * @module
 */

/** A column that another follows, and in which share of the samples. */
export interface Parent {
  /** Name of the column. */
  readonly table: string;
  /** Share of the samples that take the rank from it. */
  readonly share: number;
}

/** Samples that are compared. */
const MOST_SAMPLES = 65_536;
/** Columns that are compared: each with each. */
const MOST_COLUMNS = 64;
/** Weaker ties are left out. */
const LEAST_SHARE = 0.3;

/** First keys of the first samples of each column, as 32 bits of them. */
export class Columns {
  readonly #columns = new Map<string, { keys: Int32Array; count: number; ended: boolean }>();

  /** Adds keys of a column; of samples with several keys the first counts, and a sample without keys ends the column. */
  add(table: string, keys: BigInt64Array, bags?: readonly number[]): void {
    const column = this.#columns.get(table) ?? { keys: new Int32Array(MOST_SAMPLES), count: 0, ended: false };
    if (!this.#columns.has(table) && this.#columns.size === MOST_COLUMNS) return;
    this.#columns.set(table, column);
    let at = 0;
    for (let sample = 0; at < keys.length && column.count < MOST_SAMPLES && !column.ended; sample++) {
      const bag = bags?.[sample] ?? 1;
      if (bag === 0) {
        column.ended = true;
        return;
      }
      const key = keys[at] ?? 0n;
      column.keys[column.count++] = Number(BigInt.asIntN(32, key ^ (key >> 32n)));
      at += bag;
    }
  }

  /** The parent of each column that has one: the column of more keys that it follows most. */
  parents(): Map<string, Parent> {
    const columns = [...this.#columns].filter(([, { count }]) => count > 1);
    const samples = Math.min(...columns.map(([, { count }]) => count));
    // Columns of one length only: else samples of one are not those of the other.
    if (columns.length < 2 || columns.some(([, { count }]) => count !== samples)) return new Map();
    const facts = columns.map(([name, { keys }]) => {
      const counts = new Map<number, number>();
      for (let i = 0; i < samples; i++) counts.set(keys[i] ?? 0, (counts.get(keys[i] ?? 0) ?? 0) + 1);
      // The chance that two samples have the same key.
      const same = [...counts.values()].reduce((sum, n) => sum + n * (n - 1), 0) / (samples * (samples - 1));
      return { name, keys, distinct: counts.size, same };
    }).sort((a, b) => b.distinct - a.distinct);
    const out = new Map<string, Parent>();
    facts.forEach((parent, p) => {
      const before = new Map<number, number>(), repeats = new Float64Array(facts.length);
      let compared = 0;
      for (let i = 0; i < samples; i++) {
        const key = parent.keys[i] ?? 0, last = before.get(key);
        before.set(key, i);
        if (last === undefined) continue;
        compared++;
        for (let c = p + 1; c < facts.length; c++) {
          if (facts[c]?.keys[i] === facts[c]?.keys[last]) repeats[c]! += 1;
        }
      }
      if (compared < 100) return;
      for (let c = p + 1; c < facts.length; c++) {
        const child = facts[c];
        if (child === undefined || child.same > 0.9) continue;
        // Both samples are tied with probability share squared; else they agree by chance.
        const excess = ((repeats[c] ?? 0) / compared - child.same) / (1 - child.same);
        const share = Math.sqrt(Math.max(0, Math.min(1, excess)));
        if (share >= LEAST_SHARE && share > (out.get(child.name)?.share ?? 0)) {
          out.set(child.name, { table: parent.name, share });
        }
      }
    });
    return out;
  }
}
