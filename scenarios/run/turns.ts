/**
 * Samples of a round that run at the same time and train in turns, a few steps each: what the machine does meanwhile (a
 * neighbour, heat) meets all of them alike, where processes one after the other would each meet another minute of it.
 *
 * Never do two of them work at once: a process is started, fills its tables and warms up in its first turn; it waits
 * between two steps for the next one, with all threads of its training at rest; and it ends in its last.
 *
 * @module
 */

import { randomNumbers, shuffled } from "../../base/random.ts";

/** The turns of one sample. */
export interface Turn {
  /** Waits for the first turn, and for each after it. */
  next(): Promise<void>;
  /** The sample has ended, whatever became of it. */
  end(): void;
  /** Seconds that it had the machine so far. */
  readonly seconds: number;
}

/** Those who share the time of a round. */
export class Turns {
  readonly #left: Set<string>;
  readonly #waiting = new Map<string, () => void>();
  readonly #random: () => number;
  #queue: string[];
  #holder: { readonly name: string; readonly since: number } | undefined;
  readonly #seconds = new Map<string, number>();

  /**
   * @param names Who takes part; the first turns come in this order, those after them in a random one.
   * @param seed Draws the order.
   */
  constructor(names: readonly string[], seed: number) {
    this.#left = new Set(names);
    this.#queue = [...names];
    this.#random = randomNumbers(seed);
  }

  /** The turns of one of them. */
  of(name: string): Turn {
    const [next, end] = [() => this.#wait(name), () => this.#end(name)];
    const seconds = () => (this.#seconds.get(name) ?? 0) + (this.#holder?.name === name ? this.#held() : 0);
    return {
      next,
      end,
      get seconds() {
        return seconds();
      },
    };
  }

  #held(): number {
    return this.#holder === undefined ? 0 : (performance.now() - this.#holder.since) / 1000;
  }

  #wait(name: string): Promise<void> {
    return new Promise((resolve) => {
      this.#release(name);
      this.#waiting.set(name, resolve);
      this.#give();
    });
  }

  #end(name: string): void {
    this.#release(name);
    this.#left.delete(name);
    this.#waiting.get(name)?.(); // whoever waits for it is stopped by other means
    this.#waiting.delete(name);
    this.#give();
  }

  #release(name: string): void {
    if (this.#holder?.name !== name) return;
    this.#seconds.set(name, (this.#seconds.get(name) ?? 0) + this.#held());
    this.#holder = undefined;
  }

  /** The next one's turn, when everybody is there and nobody has one. */
  #give(): void {
    if (this.#holder !== undefined || this.#left.size === 0 || this.#waiting.size < this.#left.size) return;
    this.#queue = this.#queue.filter((name) => this.#left.has(name));
    if (this.#queue.length === 0) this.#queue = shuffled([...this.#left], this.#random);
    const name = this.#queue.shift() as string;
    const resolve = this.#waiting.get(name);
    this.#waiting.delete(name);
    this.#holder = { name, since: performance.now() };
    resolve?.();
  }
}
