/**
 * Energy of a sample: counters of the machine read while it runs, often enough that one which runs over is noticed.
 *
 * @module
 */

import type { EnergyReading } from "../../ffi/energy.ts";
import type { EnergyRecord } from "../record.ts";

/** Milliseconds between two readings. A range of 262 kJ (Intel's server parts) is over in 262 s at 1 kW. */
const EVERY_MS = 30_000;

/** Adds up what counters say while it is on; it may be off in between, when others have the machine. */
export class EnergyMeter implements Disposable {
  readonly #read: () => EnergyReading;
  readonly #now: () => number;
  #last: { readonly reading: EnergyReading; readonly at: number } | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #seconds = 0;
  readonly #joules = { package: 0, dram: 0 };
  #hasDram = false;

  /**
   * A meter that is off.
   *
   * @param read The counters now. @param now Milliseconds of a clock.
   */
  constructor(read: () => EnergyReading, now: () => number = () => performance.now()) {
    [this.#read, this.#now] = [read, now];
  }

  /** Counts from now on. */
  on(): void {
    const reading = this.#read();
    if (reading.zones.length === 0) return;
    this.#last = { reading, at: this.#now() };
    this.#timer ??= setInterval(() => this.tick(), EVERY_MS);
  }

  /** Takes what was used since the last reading. */
  tick(): void {
    if (this.#last === undefined) return;
    const reading = this.#read(), at = this.#now();
    for (const { zone, of, used, range } of reading.zones) {
      const before = this.#last.reading.zones.find((one) => one.zone === zone);
      if (before === undefined) continue;
      const more = used - before.used;
      this.#joules[of] += (more < 0 ? more + range : more) / 1e6;
      if (of === "dram") this.#hasDram = true;
    }
    this.#seconds += (at - this.#last.at) / 1e3;
    this.#last = { reading, at };
  }

  /** Counts no more. */
  off(): void {
    this.tick();
    this.#last = undefined;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** What was used while it was on; undefined where no counter can be read. */
  get record(): EnergyRecord | undefined {
    if (this.#seconds === 0) return undefined;
    const { package: packageJoules, dram: dramJoules } = this.#joules;
    return { seconds: this.#seconds, packageJoules, ...(this.#hasDram ? { dramJoules } : {}) };
  }

  /** Counts no more. */
  [Symbol.dispose](): void {
    this.off();
  }
}
