/**
 * A plan file: the tables of a model, how fast it must train, and the machines that may hold it. The one definition of its
 * fields; `plan.schema.json`, which gives editors their hovers, is emitted from it.
 *
 * @module
 */

import { parseBytes } from "../../base/bytes.ts";
import { described, flag, real, whole } from "../../base/schema_parts.ts";
import { shownName } from "../../base/names.ts";
import { SIZE_PATTERN } from "../../base/units.ts";
import * as v from "../../base/valibot.ts";
import type { MachineCost } from "../costs/machine_cost.ts";
import { machineCostSchema } from "../costs/machine_cost_schema.ts";
import { type Target, targetSchema } from "../simulation/target.ts";
import { TABLE_OPTIMIZERS, type TableOptimizer } from "../workloads/row_bytes.ts";
import { listedTables, namedTables, tablesSchema, type WrittenTables } from "../workloads/table_forms.ts";

/** A table as a plan file writes it. */
export interface PlanFileTable {
  /** Rows. */
  rows: number;
  /** Weights of a row. */
  dim: number;
  /** Type of the weights; `"f32"`, as simulations have it, is `"fp32"`. Default "fp32". */
  dtype?: "fp32" | "f32" | "bf16";
  /** What updates it. Default "adagrad". */
  optimizer?: TableOptimizer;
  /** How often rows are used: a named profile, the path of one, or the parameters of (rank + q)^-s. */
  profile: string | { s: number; q?: number };
  /** Lookups of it a sample. Default 1. */
  lookups?: number;
  /** So many tables of this kind. Default 1. */
  count?: number;
}

/** A machine of the user's own: with an hour's price and its date, or with `machine`, which says what it costs. */
export interface PlanFileMachine {
  /** An hour's price of one. */
  pricePerHour?: number;
  /** When that price was true. */
  date?: string;
  /** What it is in. Default "USD". */
  currency?: string;
  /** What it costs: a machine of the price book, an hour's price, or parts. Without any: at most what it may cost to win. */
  machine?: MachineCost;
  /** Its tiers, fastest first. */
  tiers: { name: string; medium: string; size: string | number; devices?: number; records?: boolean }[];
  /** Bytes a second of its network, each way. */
  network?: string | number;
  /** Threads that use its memory. Default 16. */
  threads?: number;
}

/** The rest of the bill. */
export interface PlanCost {
  /** What a machine of workers costs. */
  trainers: MachineCost;
  /** Workers on one. Default 1. */
  workersPerHost?: number;
}

/** A plan file as written. */
export interface PlanFile {
  /** Where editors find the schema of this file. */
  $schema?: string;
  /** Tells a plan from a scenario and from a simulation. */
  kind: "plan";
  /** Names the plan. */
  name: string;
  /** What it is for, in a sentence or two. */
  about?: string;
  /** The embedding tables, by name. */
  tables: Record<string, PlanFileTable>;
  /** Training samples a step, of one worker. Default 2048. */
  batch?: number;
  /** Workers that train together. Default 1. */
  workers?: number;
  /** Milliseconds of a step that the dense layers take. Default 0. */
  computeMs?: number;
  /** Whether embeddings move while the dense layers compute. Default false. */
  overlapped?: boolean;
  /** Nanoseconds of a core for a row that is looked up or updated, without its accesses to memory. Default 60. */
  perRowNs?: number;
  /** Path of a file of prices that `tierbench calibrate` wrote, from the folder of this plan; in place of `perRowNs`. */
  software?: string;
  /** Bytes of dense weights that workers exchange in a step. Default 0. */
  allReduce?: string | number;
  /**
   * What must be met, at least one of: training samples a second at least, milliseconds of the slowest step in a
   * hundred at most, US dollars an hour at most.
   */
  target: Target;
  /** Date of the prices. Default "2026-11". */
  prices?: string;
  /** What trains beside the machines that hold the tables. */
  cost?: PlanCost;
  /** Providers of the price book that are looked at; all of them without. */
  providers?: string[];
  /** Media of the price book's machines. */
  media?: Partial<BookMedia>;
  /** Machines of one's own, beside those of the price book. */
  machines?: Record<string, PlanFileMachine>;
  /** Share of each memory that tables may use. Default 0.9. */
  usableShare?: number;
  /** Machines of one shape at most. Default 256. */
  maxHosts?: number;
}

/** Media models that stand for the memory of the price book's machines, which the book does not name. */
export interface BookMedia {
  /** Default "ddr4-2666-6ch". */
  readonly dram: string;
  /** Default "cxl-type3-ddr4". */
  readonly cxl: string;
  /** Default "optane-100-6x256". */
  readonly pmem: string;
  /** Of its drives. Default "nvme-tlc". */
  readonly nvme: string;
}

/** Their defaults. */
export const BOOK_MEDIA: BookMedia = {
  dram: "ddr4-2666-6ch",
  cxl: "cxl-type3-ddr4",
  pmem: "optane-100-6x256",
  nvme: "nvme-tlc",
};

/** A table of a plan with its defaults. */
export type ResolvedPlanTable = Required<PlanFileTable> & {
  /** Type of the weights. */
  readonly dtype: "fp32" | "bf16";
};

/** A plan file with every default filled in. */
export interface ResolvedPlanFile {
  /** Tells a plan from a scenario and from a simulation. */
  readonly kind: "plan";
  /** Names the plan. */
  readonly name: string;
  /** What it is for; empty if nothing is written. */
  readonly about: string;
  /** Folder that relative paths start from. */
  readonly directory: string;
  /** The embedding tables, by name. */
  readonly tables: Readonly<Record<string, ResolvedPlanTable>>;
  /** Training samples a step, of one worker. */
  readonly batch: number;
  /** Workers that train together. */
  readonly workers: number;
  /** Milliseconds of a step that the dense layers take. */
  readonly computeMs: number;
  /** Whether embeddings move while the dense layers compute. */
  readonly overlapped: boolean;
  /** Nanoseconds of a core for a row that is looked up or updated, without its accesses to memory. */
  readonly perRowNs: number;
  /** Path of a file of prices, which count in place of `perRowNs`; absent: none is named. */
  readonly software?: string;
  /** Bytes of dense weights that workers exchange in a step. */
  readonly allReduceBytes: number;
  /** What must be met: samples a second, milliseconds of the slowest step in a hundred, US dollars an hour. */
  readonly target: PlanFile["target"];
  /** Date of the prices: the latest the price book has by then. */
  readonly prices: string;
  /** What trains; absent: nothing is said of it. */
  readonly cost?: Required<PlanCost>;
  /** Providers of the price book that are looked at; undefined: all of them. */
  readonly providers: readonly string[] | undefined;
  /** Media models that stand for the memory of the price book's machines. */
  readonly media: BookMedia;
  /** Machines of the user's own, by name; empty without any. */
  readonly machines: Readonly<Record<string, ResolvedMachine>>;
  /** Share of each memory that tables may use, above 0 and at most 1. */
  readonly usableShare: number;
  /** Machines of one shape at most. */
  readonly maxHosts: number;
}

/** A machine of the user's own with its defaults. */
export interface ResolvedMachine {
  /** What one machine costs; undefined: nobody says. */
  readonly machine: MachineCost | undefined;
  /** Its tiers, fastest first: name, media model, bytes of one machine, devices, and whether rows are records in files. */
  readonly tiers: readonly {
    readonly name: string;
    readonly medium: string;
    readonly bytes: number;
    readonly devices: number;
    readonly records: boolean;
  }[];
  /** Bytes a second of its network, each way; undefined: not known, and in none of the plan's times. */
  readonly networkBytesPerSecond: number | undefined;
  /** Threads that use its memory. */
  readonly threads: number;
}

/** Servers that a step's cost takes (native/simulator/engine_options.c). */
const MOST_HOSTS = 1024;

const SIZE_FORM = 'expected a size such as "512 GiB"';
const CURRENCY_FORM = 'expected a currency such as "EUR"';
const DATE_FORM = 'expected a date such as "2026-11"';
const size = v.union([
  v.pipe(v.string(SIZE_FORM), v.regex(SIZE_PATTERN, SIZE_FORM)),
  v.pipe(v.number(SIZE_FORM), v.integer(SIZE_FORM), v.minValue(0, SIZE_FORM)),
], SIZE_FORM);
const date = v.pipe(v.string(DATE_FORM), v.regex(/^\d{4}(-(0[1-9]|1[0-2])(-\d{2})?)?$/, DATE_FORM));
const text = v.pipe(v.string("expected text"), v.minLength(1, "expected text"));

const tableFields = {
  rows: whole("Rows.", 1, 2 ** 53 - 1),
  dim: whole("Weights of a row.", 1, 65_536),
  dtype: v.exactOptional(
    described(
      v.picklist(["fp32", "f32", "bf16"]),
      'Type of the weights; slots are fp32; "f32" is "fp32". Default "fp32".',
    ),
  ),
  optimizer: v.exactOptional(described(
    v.picklist(TABLE_OPTIMIZERS),
    'What updates it, which says the slots beside the weights; "none": served only. Default "adagrad".',
  )),
  profile: described(
    v.union([
      text,
      v.strictObject({
        s: real("Exponent; 0 is uniform.", 0, 10),
        q: v.exactOptional(real("Shift; flattens the head. Default 0.", 0, 1e12)),
      }),
    ], "expected the name of a profile, the path of one, or { s, q }"),
    "How often rows are used: a named profile, the path of one, or the parameters of weight (rank + q)^-s.",
  ),
  lookups: v.exactOptional(real("Lookups of it a sample. Default 1.", 1e-6, 1e6)),
  count: v.exactOptional(whole("So many tables of this kind. Default 1.", 1, 10_000)),
};

const tables = v.pipe(
  tablesSchema(
    v.strictObject(tableFields),
    v.strictObject({ name: described(shownName, "Names the table."), ...tableFields }),
    Infinity,
  ),
  v.check(
    (written) => new Set(listedTables(written).map(({ name }) => name)).size === listedTables(written).length,
    "expected a name of its own for each table, found one twice",
  ),
);

const machineFields = v.strictObject({
  pricePerHour: v.exactOptional(real("An hour of one.", 1e-6, 1e9)),
  date: v.exactOptional(described(date, "When that price was true.")),
  currency: v.exactOptional(described(
    v.pipe(v.string(CURRENCY_FORM), v.regex(/^[A-Z]{3}$/, CURRENCY_FORM)),
    'What it is in. Default "USD".',
  )),
  machine: v.exactOptional(described(
    machineCostSchema,
    "Instead of pricePerHour and date: a machine of the price book, an hour's price, or parts.",
  )),
  tiers: described(
    v.pipe(
      v.array(v.strictObject({
        name: described(text, "DRAM, PMEM, CXL, SSD."),
        medium: described(text, "A media model: a name in models/media, or the path of a file."),
        size: described(size, "Bytes of one machine."),
        devices: v.exactOptional(whole("Devices of one machine side by side: drives, expanders. Default 1.", 1, 1024)),
        records: v.exactOptional(flag("Whether rows are records in files, as on SSD. Default false.")),
      })),
      v.minLength(1, "expected at least one tier"),
      v.maxLength(3, "expected at most three tiers"),
    ),
    "Its tiers, fastest first.",
  ),
  network: v.exactOptional(described(size, "Bytes a second of its network, each way; without, it is in no time.")),
  threads: v.exactOptional(whole("Threads that use its memory. Default 16.", 1, 4096)),
});

const machine = v.pipe(
  machineFields,
  v.check(
    ({ machine, pricePerHour, date }) =>
      (pricePerHour === undefined) === (date === undefined) && (machine === undefined || pricePerHour === undefined),
    "expected pricePerHour with its date, or machine, or none of them",
  ),
);

/** A plan as a file may write it: tables are by name, or a list as in simulations. */
export type WrittenPlan = Omit<PlanFile, "tables"> & { readonly tables: WrittenTables<PlanFileTable> };

/** Validates what {@linkcode WrittenPlan} describes. */
export const planSchema: v.GenericSchema<WrittenPlan> = v.strictObject({
  $schema: v.exactOptional(described(v.string(), "Where editors find the schema of this file.")),
  kind: described(v.literal("plan"), "What this file is."),
  name: described(text, "Names the plan."),
  about: v.exactOptional(described(v.string(), "What it is for, in a sentence or two.")),
  tables: described(tables, "The embedding tables, by name, or a list as in simulations."),
  batch: v.exactOptional(whole("Training samples a step, of one worker. Default 2048.", 1, 1e9)),
  workers: v.exactOptional(whole("Workers that train together. Default 1.", 1, 100_000)),
  computeMs: v.exactOptional(
    real("Milliseconds of a step that the dense layers take, as measured by a run. Default 0.", 0, 1e9),
  ),
  overlapped: v.exactOptional(
    flag("Whether embeddings move while the dense layers compute (asyncEmbedding). Default false."),
  ),
  perRowNs: v.exactOptional(
    real(
      "Nanoseconds of a core a row looked up or updated, memory apart: a hash probe and a copy. Default 60.",
      0,
      1e9,
    ),
  ),
  software: v.exactOptional(described(
    text,
    "Path of a file of prices that tierbench calibrate wrote, relative to this file: what our store costs, in place of perRowNs.",
  )),
  allReduce: v.exactOptional(described(size, "Bytes of dense weights that workers exchange in a step. Default 0.")),
  target: described(
    targetSchema,
    "What must be met: the cheapest machines that do win. With a budget alone, the fastest within it.",
  ),
  prices: v.exactOptional(described(date, 'Date of the prices: the latest the book has by then. Default "2026-11".')),
  cost: v.exactOptional(described(
    v.strictObject({
      trainers: described(machineCostSchema, "What a machine of workers costs."),
      workersPerHost: v.exactOptional(whole("Workers on one. Default 1.", 1, 1024)),
    }),
    "What trains beside the machines that hold the tables; without it the bill ends with these.",
  )),
  providers: v.exactOptional(described(v.array(text), "Providers of the price book; all of them without.")),
  media: v.exactOptional(described(
    v.strictObject({
      dram: v.exactOptional(described(text, `Default "${BOOK_MEDIA.dram}".`)),
      cxl: v.exactOptional(described(text, `Default "${BOOK_MEDIA.cxl}".`)),
      pmem: v.exactOptional(described(text, `Default "${BOOK_MEDIA.pmem}".`)),
      nvme: v.exactOptional(described(text, `Of drives. Default "${BOOK_MEDIA.nvme}".`)),
    }),
    "Media models that stand for the memory of the price book's machines, which the book does not name.",
  )),
  machines: v.exactOptional(described(v.record(shownName, machine), "Machines of one's own, by name.")),
  usableShare: v.exactOptional(real("Share of each memory that tables may use. Default 0.9.", 0.01, 1)),
  maxHosts: v.exactOptional(whole("Machines of one shape at most. Default 256.", 1, MOST_HOSTS)),
});

/** An hour's price, where one is stated with its date. */
function hourly({ pricePerHour, date, currency }: PlanFileMachine): MachineCost | undefined {
  if (pricePerHour === undefined || date === undefined) return undefined;
  return { pricePerHour, date, ...(currency === undefined ? {} : { currency }) };
}

/** Fills every default in. */
export function resolvePlan(written: WrittenPlan): Omit<ResolvedPlanFile, "directory"> {
  const tables = Object.entries(namedTables(written.tables)).map(([name, { dtype, ...one }]) => {
    const type = dtype === "bf16" ? "bf16" as const : "fp32" as const;
    return [name, { dtype: type, optimizer: "adagrad" as const, lookups: 1, count: 1, ...one }] as const;
  });
  const machines = Object.entries(written.machines ?? {}).map(([name, one]) =>
    [name, {
      machine: one.machine ?? hourly(one),
      tiers: one.tiers.map(({ name, medium, size, devices, records }) => ({
        name,
        medium,
        bytes: parseBytes(size),
        devices: devices ?? 1,
        records: records ?? false,
      })),
      networkBytesPerSecond: one.network === undefined ? undefined : parseBytes(one.network),
      threads: one.threads ?? 16,
    }] as const
  );
  return {
    kind: "plan",
    name: written.name,
    about: written.about ?? "",
    tables: Object.fromEntries(tables),
    batch: written.batch ?? 2048,
    workers: written.workers ?? 1,
    computeMs: written.computeMs ?? 0,
    overlapped: written.overlapped ?? false,
    perRowNs: written.perRowNs ?? 60,
    ...(written.software === undefined ? {} : { software: written.software }),
    allReduceBytes: parseBytes(written.allReduce ?? 0),
    target: written.target,
    prices: written.prices ?? "2026-11",
    ...(written.cost === undefined ? {} : { cost: { workersPerHost: 1, ...written.cost } }),
    providers: written.providers,
    media: { ...BOOK_MEDIA, ...written.media },
    machines: Object.fromEntries(machines),
    usableShare: written.usableShare ?? 0.9,
    maxHosts: written.maxHosts ?? 256,
  };
}
