/**
 * Owns one native object: refuses its use after close, waits with freeing until no call works on it, and frees it
 * when the program forgot to.
 *
 * A handle may have children that must go first (a trainer works on a store). A child's calls have its parents for
 * themselves, too, unless it works beside them (a checkpoint is written while training goes on). Closing never blocks:
 * running calls are asked to stop, and whichever ends last frees the memory.
 *
 * @module
 */

import { statusName, TierstoreError } from "./errors.ts";

/** One native object and the calls that work on it. */
export class NativeHandle {
  /** What it is in messages, e.g. `store`. */
  readonly what: string;
  readonly #address: bigint;
  readonly #free: (address: bigint) => number;
  readonly #parents: readonly NativeHandle[];
  readonly #beside: boolean;
  readonly #children = new Set<NativeHandle>();
  /** Nonblocking calls that have this object for themselves, children's included: what each does, how to stop it. */
  readonly #calls = new Set<{ readonly action: string; readonly cancel: () => void }>();
  /** The object whose close() closed this one. */
  #closedWith: NativeHandle | undefined;
  #freed = false;

  /**
   * @param what What it is in messages.
   * @param address The native address.
   * @param free Frees it and returns a status. Must not refer to the object that owns this handle.
   * @param parents What it must not outlive.
   * @param beside Whether its calls leave the parents free for others.
   */
  constructor(
    what: string,
    address: bigint,
    free: (address: bigint) => number,
    parents: NativeHandle | readonly NativeHandle[] = [],
    beside: boolean = false,
  ) {
    this.what = what;
    this.#address = address;
    this.#free = free;
    this.#parents = [parents].flat();
    this.#beside = beside;
    for (const parent of this.#parents) parent.#children.add(this);
  }

  /** Whether close() was called. */
  get closed(): boolean {
    return this.#closedWith !== undefined;
  }

  /** Whether a nonblocking call works on it. */
  get busy(): boolean {
    return this.#calls.size > 0;
  }

  /**
   * The address, for a blocking call of a function that tolerates other threads.
   *
   * @param action What is asked, for the message, e.g. `look up`.
   * @throws {Error} If it is closed.
   */
  shared(action: string): bigint {
    if (this.#closedWith !== undefined) {
      throw new Error(`Cannot ${action}: the ${this.#closedWith.what} is closed`);
    }
    return this.#address;
  }

  /**
   * The address, for a blocking call that must have the object for itself.
   *
   * @param action What is asked, for the message.
   * @throws {Error} If it is closed or a nonblocking call works on it.
   */
  exclusive(action: string): bigint {
    const address = this.shared(action);
    for (const call of this.#calls) {
      throw new Error(`Cannot ${action} while another call is under way (${call.action}): await that one first`);
    }
    return address;
  }

  /**
   * Makes a nonblocking call, which has the object for itself until it ends, and its parents if it does not work beside
   * them.
   *
   * @param action What is asked, for messages.
   * @param cancel Asks the call to stop; used when the object is closed under way.
   * @param call Makes the call.
   */
  async run<T>(action: string, cancel: () => void, call: (address: bigint) => Promise<T>): Promise<T> {
    const address = this.exclusive(action);
    for (const parent of this.#beside ? [] : this.#parents) parent.exclusive(action);
    const entry = { action, cancel };
    const busy = this.#beside ? [this] : [...this.#lineage()];
    for (const handle of busy) handle.#calls.add(entry);
    try {
      return await call(address);
    } finally {
      for (const handle of busy) handle.#calls.delete(entry);
      for (const handle of this.#lineage()) handle.#release();
    }
  }

  /**
   * Closes it and its children. The first call frees the memory, or leaves that to the calls under way; later calls do
   * nothing.
   *
   * @throws {TierstoreError} If the library reports an error on freeing.
   */
  close(): void {
    this.#close(this);
  }

  #close(origin: NativeHandle): void {
    if (this.closed) return;
    this.#closedWith = origin;
    for (const child of [...this.#children]) child.#close(origin);
    for (const call of this.#calls) call.cancel();
    this.#release();
  }

  #release(): void {
    if (!this.closed || this.#freed || this.#calls.size > 0 || this.#children.size > 0) return;
    this.#freed = true;
    for (const parent of this.#parents) parent.#children.delete(this);
    const status = this.#free(this.#address);
    if (status !== 0) throw new TierstoreError(status, `Cannot close the ${this.what}: ${statusName(status)}`);
  }

  /** This object, its parents, and so on. */
  *#lineage(): Generator<NativeHandle> {
    yield this;
    for (const parent of this.#parents) yield* parent.#lineage();
  }
}

const handles = new WeakMap<object, NativeHandle>();

/** Frees what programs forget to close. Not to be relied on: V8 does not see how much native memory hangs on it. */
const forgotten = new FinalizationRegistry<NativeHandle>((handle) => {
  try {
    handle.close();
  } catch {
    // The object is gone, so nobody is left to hear that freeing failed.
  }
});

/** Makes an object the owner of a handle: when the object is forgotten, the handle is closed. */
export function own(owner: object, handle: NativeHandle): void {
  handles.set(owner, handle);
  forgotten.register(owner, handle);
}

/**
 * The handle that an object owns.
 *
 * @param owner The object.
 * @param what What it must be, as its handle says: a store's functions given a trainer would read another's memory.
 * @throws {TypeError} If it owns none, or one of something else.
 */
export function handleOf(owner: object, what: string): NativeHandle {
  const handle = handles.get(owner);
  if (handle?.what === what) return handle;
  const found = handle === undefined ? "an object that the native library did not open" : `a ${handle.what}`;
  throw new TypeError(`Cannot use ${found} as a ${what}`);
}

/** What constructors of native objects want to see: programs cannot have it, so they cannot make such objects. */
export const MAKER: symbol = Symbol("made by tierbench");

/**
 * Refuses whoever constructs a native object by hand.
 *
 * @param maker {@linkcode MAKER}.
 * @param name Of the class.
 * @param instead What makes one.
 */
export function checkMaker(maker: unknown, name: string, instead: string): void {
  if (maker !== MAKER) throw new TypeError(`Cannot construct a ${name}: use ${instead}`);
}
