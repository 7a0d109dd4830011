/**
 * Tables as other tools describe them in JSON, as tables of a plan:
 *
 * - TorchRec: fields of `EmbeddingBagConfig` (`name`, `num_embeddings`, `embedding_dim`, `data_type`, `feature_names`) in a list or
 *   by name, the latter as its benchmarks take it (`pooling_factor`); `pooling_factors` of `ParameterConstraints` are added up.
 * - NeuroShard and DreamShard (`table_configs.json`): `tables` with `row`, `dim`, `pooling_factor`. Their bins of how often rows were used
 *   are of one batch, and no law is made of them.
 * - FBGEMM: `embedding_specs`, or `Es` and `Ds`, of a `TBEDataConfig`, with `pooling_params`.
 *
 * None says how often which row is used: that is for whoever plans to say.
 *
 * @module
 */

import { foundText } from "../../base/diagnostics.ts";
import { shownName } from "../../base/names.ts";
import * as v from "../../base/valibot.ts";

/** Whose words tables are in. */
export type TableConfigForm = "TorchRec" | "NeuroShard" | "FBGEMM";

/** A table that was described. */
export interface ConfiguredTable {
  /** Its name. */
  readonly name: string;
  /** Rows. */
  readonly rows: number;
  /** Weights of a row. */
  readonly dim: number;
  /** Type of the weights. */
  readonly dtype: "fp32" | "bf16";
  /** Lookups of it a sample; absent: nothing is said. */
  readonly lookups?: number;
}

/** Tables of a file, and what was not taken as it is. */
export interface TableConfigs {
  /** Whose words they are in. */
  readonly form: TableConfigForm;
  /** The tables, as they came. */
  readonly tables: readonly ConfiguredTable[];
  /** Sentences. */
  readonly notes: readonly string[];
}

/** Table configs that cannot be used. */
export class TableConfigError extends Error {
  /** Name of the class. */
  override readonly name = "TableConfigError";
}

type Fields = Readonly<Record<string, unknown>>;
type Refuse = (what: string) => never;

/** Tables at most, as of a plan. */
const MOST_TABLES = 4096;
/** TorchRec's types of weights, and ours. Half precision has the bytes of bf16. */
const TYPES: Readonly<Record<string, "fp32" | "bf16">> = { FP32: "fp32", FP16: "bf16", BF16: "bf16" };

const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value as Fields : undefined;

function whole(at: string, value: unknown, refuse: Refuse): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
  return refuse(`${at} is ${foundText(value)}, expected a whole number above 0`);
}

function lookupsOf(at: string, value: unknown, refuse: Refuse): { lookups?: number } {
  if (value === undefined || value === null) return {};
  const all = Array.isArray(value) ? value : [value];
  const sum = all.reduce((total: number, each) => typeof each === "number" ? total + each : NaN, 0);
  if (all.length > 0 && Number.isFinite(sum) && sum > 0) return { lookups: sum };
  return refuse(`${at} is ${foundText(value)}, expected numbers above 0`);
}

function torchRecTable(name: string, at: string, fields: Fields, refuse: Refuse): ConfiguredTable {
  const type = fields["data_type"] ?? "FP32";
  // Python writes an enum as DataType.FP32.
  const dtype = typeof type === "string" ? TYPES[type.replace(/^DataType\./, "").toUpperCase()] : undefined;
  if (dtype === undefined) refuse(`${at}.data_type is ${foundText(type)}, expected ${Object.keys(TYPES).join(", ")}`);
  const factors = fields["pooling_factors"] ?? fields["pooling_factor"];
  return {
    name,
    rows: whole(`${at}.num_embeddings`, fields["num_embeddings"], refuse),
    dim: whole(`${at}.embedding_dim`, fields["embedding_dim"], refuse),
    dtype: dtype as "fp32" | "bf16",
    ...lookupsOf(`${at}.pooling_factor`, factors, refuse),
  };
}

function fbgemmTables(document: Fields, refuse: Refuse): ConfiguredTable[] {
  const { Es, Ds, embedding_specs: specs, feature_table_map: map } = document;
  const pooling = fieldsOf(document["pooling_params"]) ?? {}, bags = pooling["Ls"], bag = pooling["L"];
  // Es, Ds and Ls are of features, several of which may be of one table; specs are of tables.
  const count = Array.isArray(Es) ? Es.length : Array.isArray(specs) ? specs.length : 0;
  const tableOf = Array.isArray(map) ? map : Array.from({ length: count }, (_, i) => i);
  const tables = Array.isArray(specs) ? specs.map((_, i) => i) : [...new Set(tableOf)];
  if (!Array.isArray(specs) && (!Array.isArray(Ds) || Ds.length !== count || tableOf.length !== count)) {
    refuse("Es, Ds and feature_table_map have different lengths");
  }
  return tables.map((table) => {
    const features = tableOf.flatMap((of, i) => of === table ? [i] : []), [first = -1] = features;
    const spec: unknown = Array.isArray(specs) ? specs[table] : undefined;
    const [rows, dim] = Array.isArray(spec) ? spec : [(Es as unknown[])[first], (Ds as unknown[])[first]];
    const lengths = features.map((i) => Array.isArray(bags) ? bags[i] : bag);
    return {
      name: `table${table}`,
      rows: whole(`the number of rows of table ${table}`, rows, refuse),
      dim: whole(`the dimension of table ${table}`, dim, refuse),
      dtype: "fp32",
      ...(lengths.every((each) => each === undefined) ? {} : lookupsOf(`the bag of table ${table}`, lengths, refuse)),
    };
  });
}

function formOf(
  document: unknown,
): { form: TableConfigForm; items: readonly (readonly [name: string, value: unknown])[] } | undefined {
  const fields = fieldsOf(document), listed = Array.isArray(document) ? document : fields?.["tables"];
  const has = (value: unknown, ...names: string[]) => names.every((name) => fieldsOf(value)?.[name] !== undefined);
  if (Array.isArray(listed)) {
    const nameOf = (value: unknown, i: number) => {
      const { name, index = i } = fieldsOf(value) ?? {};
      return typeof name === "string" ? name : `table${Number.isSafeInteger(index) ? index : i}`;
    };
    const items = listed.map((value, i) => [nameOf(value, i), value] as const);
    if (has(listed[0], "num_embeddings", "embedding_dim")) return { form: "TorchRec", items };
    return has(listed[0], "row", "dim") ? { form: "NeuroShard", items } : undefined;
  }
  if (fields === undefined) return undefined;
  if (
    Array.isArray(fields["embedding_specs"]) || (Array.isArray(fields["Es"]) && has(fields, "Ds", "indices_params"))
  ) {
    return { form: "FBGEMM", items: [] };
  }
  const items = Object.entries(fields);
  return has(items[0]?.[1], "num_embeddings", "embedding_dim") ? { form: "TorchRec", items } : undefined;
}

/**
 * Tables that another tool's JSON describes.
 *
 * @param text The JSON.
 * @param source What to call it in errors.
 * @returns The tables; undefined: the text is no JSON, or none of these forms.
 * @throws {TableConfigError} If it is one of the forms, and a table of it cannot be one of a plan.
 * @example
 * ```ts
 * import { parseTableConfigs } from "@tierbench/tierbench";
 *
 * const text = '{"user": {"num_embeddings": 1000, "embedding_dim": 64, "pooling_factor": 3}}';
 * console.log(parseTableConfigs(text, "tables.json")?.tables[0]?.lookups); // 3
 * ```
 */
export function parseTableConfigs(text: string, source: string): TableConfigs | undefined {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return undefined;
  }
  const found = formOf(document);
  if (found === undefined) return undefined;
  const refuse = (what: string): never => {
    throw new TableConfigError(`Cannot read the tables of "${source}": ${what}`);
  };
  const { form, items } = found, notes: string[] = [];
  const tables = form === "FBGEMM"
    ? fbgemmTables(document as Fields, refuse)
    : items.map(([name, value], i): ConfiguredTable => {
      const at = `tables[${i}]`, fields = fieldsOf(value);
      if (fields === undefined) return refuse(`${at} is ${foundText(value)}, expected an object`);
      if (form === "TorchRec") return torchRecTable(name, at, fields, refuse);
      return {
        name,
        rows: whole(`${at}.row`, fields["row"], refuse),
        dim: whole(`${at}.dim`, fields["dim"], refuse),
        dtype: "fp32",
        // Mean bags below 1 are written as 0.
        ...(fields["pooling_factor"] === 0 ? {} : lookupsOf(`${at}.pooling_factor`, fields["pooling_factor"], refuse)),
      };
    });
  if (tables.length === 0 || tables.length > MOST_TABLES) {
    refuse(`it has ${tables.length} tables, expected 1 to ${MOST_TABLES}`);
  }
  const names = new Set<string>();
  for (const { name } of tables) {
    if (!v.is(shownName, name)) refuse(`a table is called ${foundText(name)}, which a plan cannot have as a name`);
    if (names.has(name)) refuse(`two tables are called "${name}"`);
    names.add(name);
  }
  if (/"FP16"|DataType\.FP16/i.test(text)) notes.push("FP16 became bf16, which has as many bytes.");
  const silent = tables.filter(({ lookups }) => lookups === undefined).length;
  if (silent > 0) {
    notes.push(`${silent} of ${tables.length} tables do not say how many lookups a sample has; a plan takes 1.`);
  }
  return { form, tables, notes };
}
