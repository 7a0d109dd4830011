/**
 * Which keys get a row, which rows stay, and what rows record: as scenarios write it and as it runs.
 *
 * @module
 */

/** Which keys get a row, as written: those that were looked up more often than `frequency`. */
export type Admission =
  | "none"
  | {
    /** Counts lookups exactly, in the index. */
    counter: { frequency?: number; defaultValue?: number };
  }
  | {
    /** Counts lookups in a counting Bloom filter: fewer bytes, and sometimes a count that is too high. */
    bloom: {
      frequency?: number;
      keys?: number;
      error?: number;
      counterBits?: 8 | 16 | 32 | 64;
      defaultValue?: number;
    };
  };

/** Which rows are removed for good, as written. */
export type Expiry =
  | "none"
  | {
    /** Steps without an update after which a row goes. */
    steps?: number;
    /** A row goes whose weight is below this. */
    l2?: number;
    /** What `l2` is compared with: half the sum of squares, or its square root. Default "half-squared". */
    l2Form?: "half-squared" | "norm";
    /** Rows are judged by `l2` at the beginning of each step that is a multiple of this. Default 1000. */
    l2Every?: number;
  };

/** What a row records. */
export type Recorded = "frequency" | "version";

/** All of them. */
export const RECORDED: readonly Recorded[] = ["frequency", "version"];

/** What may be asked for all tables, and for each. */
interface RowFilter {
  /** Which keys get a row. Default "none": all at their first lookup. */
  admission?: Admission;
  /** Which rows are removed for good. Default "none". */
  expiry?: Expiry;
  /** What rows record. Default: nothing. */
  record?: Recorded[];
}

/** An admission with every default filled in. */
export type ResolvedAdmission =
  | { readonly counter: { readonly frequency: number; readonly defaultValue: number } }
  | {
    readonly bloom: {
      readonly frequency: number;
      readonly keys: number;
      readonly error: number;
      readonly counterBits: 8 | 16 | 32 | 64;
      readonly defaultValue: number;
    };
  };

/** An expiry with every default filled in. */
export interface ResolvedExpiry {
  /** Steps without an update after which a row goes. */
  readonly steps?: number;
  /** A row goes whose weight is below this. */
  readonly l2?: number;
  /** What `l2` is compared with; there with `l2`. */
  readonly l2Form?: "half-squared" | "norm";
  /** Rows are judged by `l2` at the beginning of each step that is a multiple of this; there with `l2`. */
  readonly l2Every?: number;
}

/** What holds for a table; what is absent is not asked for. */
export interface ResolvedRowFilter {
  /** Which keys get a row; absent: all. */
  readonly admission?: ResolvedAdmission | "none";
  /** Which rows are removed; absent: none. */
  readonly expiry?: ResolvedExpiry | "none";
  /** What rows record. */
  readonly record?: readonly Recorded[];
}

/** The filter with its defaults filled in. A table's "none" stays: it says that what holds for all does not hold for it. */
export function resolveRowFilter({ admission, expiry, record }: RowFilter | ResolvedRowFilter): ResolvedRowFilter {
  return {
    ...(admission === undefined ? {} : { admission: resolveAdmission(admission as Admission) }),
    ...(expiry === undefined ? {} : { expiry: resolveExpiry(expiry as Expiry) }),
    ...(record === undefined ? {} : { record: RECORDED.filter((one) => record.includes(one)) }),
  };
}

function resolveAdmission(written: Admission): ResolvedAdmission | "none" {
  if (written === "none") return written;
  if ("counter" in written) return { counter: { frequency: 1, defaultValue: 0, ...written.counter } };
  return { bloom: { frequency: 1, keys: 2 ** 20, error: 0.01, counterBits: 32, defaultValue: 0, ...written.bloom } };
}

function resolveExpiry(written: Expiry): ResolvedExpiry | "none" {
  if (written === "none" || written.l2 === undefined) return written;
  return { l2Form: "half-squared", l2Every: 1000, ...written };
}

/**
 * What holds for a table: its own words, else those of all tables.
 *
 * @param all What holds for all tables.
 * @param own What the table has for itself.
 */
export function rowFilterOf(all: ResolvedRowFilter, own: ResolvedRowFilter = {}): ResolvedRowFilter {
  const { admission = all.admission, expiry = all.expiry, record = all.record } = own;
  return {
    ...(admission === undefined || admission === "none" ? {} : { admission }),
    ...(expiry === undefined || expiry === "none" ? {} : { expiry }),
    ...(record === undefined || record.length === 0 ? {} : { record }),
  };
}
