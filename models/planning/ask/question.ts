/**
 * From a question to the plan file that answers it: bytes of tables, a target, media. What comes out is an ordinary plan file,
 * to be changed by hand and given to `tierbench plan`.
 *
 * @module
 */

import { relative, resolve } from "node:path";
import { parseBytes } from "../../../base/bytes.ts";
import { type DocumentOptions, withValues } from "../../../base/document.ts";
import { readJsonc } from "../../../base/jsonc.ts";
import { readUserText } from "../../../base/user_file.ts";
import { isPathWord, wordAt } from "../../../base/path_word.ts";
import type { MachineCost } from "../../costs/machine_cost.ts";
import type { PriceBook } from "../../costs/price_book.ts";
import { listMedia, loadMedia, mediaCapacity } from "../../media/media.ts";
import { rowBytes, type TableOptimizer } from "../../workloads/row_bytes.ts";
import { namedTables } from "../../workloads/table_forms.ts";
import { loadPlan } from "../load.ts";
import { BOOK_MEDIA, type PlanFile, type PlanFileMachine, type PlanFileTable, type WrittenPlan } from "../plan_file.ts";
import { type AskMedium, candidates, MODELS } from "./candidates.ts";

/** Tables by their bytes. */
export interface AskedRows {
  /** Bytes of weights and optimizer slots of all rows, with a unit; or, without one, how many rows. */
  readonly rows: string;
  /** Weights of a row. */
  readonly dim: number;
  /** What updates it. */
  readonly optimizer: TableOptimizer;
  /** Lookups a sample. */
  readonly lookups: number;
  /** How often rows are used. */
  readonly profile: PlanFileTable["profile"];
}

/** What is asked. */
export interface Question {
  /** Names the plan. */
  readonly name: string;
  /** The tables. */
  readonly tables: Readonly<Record<string, PlanFileTable>>;
  /** What must be met. */
  readonly target: PlanFile["target"];
  /** Media that servers are built with. */
  readonly among: readonly AskMedium[];
  /** Training samples a step, of one worker. */
  readonly batch: number;
  /** Workers that train together. */
  readonly workers: number;
  /** Milliseconds of a step that the dense layers take. */
  readonly computeMs: number;
  /** What a machine of workers costs. */
  readonly trainers: MachineCost;
  /** Workers on one. */
  readonly workersPerHost: number;
  /** Date of the prices. */
  readonly prices: string;
  /** Providers of the price book whose machines for rent are tried, too. */
  readonly providers: readonly string[];
}

/**
 * The table that has so many bytes, or so many rows.
 *
 * @throws {RangeError | SyntaxError} `rows` is no size and no number.
 */
export function tableOfRows({ rows, dim, optimizer, lookups, profile }: AskedRows): PlanFileTable {
  const each = rowBytes(dim, optimizer === "none" ? "sgd" : optimizer);
  const count = /^\d+(\.\d+)?(e\d+)?$/i.test(rows) ? Number(rows) : Math.floor(parseBytes(rows) / each);
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new RangeError(
      `Cannot plan for rows of "${rows}": one row of ${dim} weights and its slots takes ${each} bytes`,
    );
  }
  return { rows: count, dim, optimizer, profile, lookups };
}

/**
 * The plan of a question.
 *
 * @param dated Prices as of the question's date.
 * @param holds Bytes that one device of a media model holds; undefined where its file does not say.
 */
export function planOfQuestion(
  { among, trainers, workersPerHost, ...question }: Question,
  dated: PriceBook,
  holds: (medium: string) => number | undefined,
): PlanFile {
  return {
    kind: "plan",
    name: question.name,
    tables: { ...question.tables },
    batch: question.batch,
    workers: question.workers,
    computeMs: question.computeMs,
    target: question.target,
    prices: question.prices,
    cost: { trainers, workersPerHost },
    providers: [...question.providers],
    media: { dram: MODELS.dram, cxl: MODELS.cxl, nvme: MODELS.nvme },
    machines: candidates(among, dated, question.prices, holds),
  };
}

/**
 * The tables of a plan file, for another plan.
 *
 * @param folder Where that plan will lie: paths of profiles are written from there.
 * @throws {ScenarioError} listing everything that is wrong with the file.
 */
export async function tablesOfFile(file: string, folder: string): Promise<Record<string, PlanFileTable>> {
  const { tables, directory } = await loadPlan(file);
  return movedTables(tables, directory, folder);
}

/** A path that is written from another folder; a name stays what it is. */
function moved(word: string, from: string, to: string): string {
  return isPathWord(word) ? relative(to, wordAt(word, from)) : word;
}

function movedTables(
  tables: Readonly<Record<string, PlanFileTable>>,
  from: string,
  to: string,
): Record<string, PlanFileTable> {
  return Object.fromEntries(
    Object.entries(tables).map(([name, table]) => {
      const { profile } = table;
      return [name, typeof profile === "string" ? { ...table, profile: moved(profile, from, to) } : table];
    }),
  );
}

/**
 * A plan file as written, for another folder: what it names by paths is named from there.
 *
 * @throws {ScenarioError} listing everything that is wrong with the file.
 */
export async function planFrom(file: string, folder: string): Promise<PlanFile> {
  const { directory } = await loadPlan(file);
  const written = readJsonc(await readUserText(file, "plan")).value as WrittenPlan;
  const plan: PlanFile = { ...written, tables: { ...namedTables(written.tables) } };
  const names = new Set([
    ...Object.values(plan.media ?? {}),
    ...Object.values(plan.machines ?? {}).flatMap(({ tiers }) => tiers.map(({ medium }) => medium)),
  ]);
  const { $schema: _, ...rest } = {
    ...plan,
    tables: movedTables(plan.tables, directory, folder),
    // Prices of software are a path whatever it looks like.
    ...(plan.software === undefined ? {} : { software: relative(folder, resolve(directory, plan.software)) }),
  };
  return [...names].filter(isPathWord)
    .reduce((plan: PlanFile, name) => withMedium(plan, name, moved(name, directory, folder)), rest);
}

/**
 * Bytes that one device of each shipped medium holds.
 *
 * @param instead Paths of the user's models that stand in the place of shipped ones, by the names of these.
 */
export async function deviceCapacities(
  instead: ReadonlyMap<string, string> = new Map(),
): Promise<(medium: string) => number | undefined> {
  const found = new Map<string, number | undefined>();
  for (const name of await listMedia()) found.set(name, mediaCapacity(await loadMedia(instead.get(name) ?? name)));
  return (medium) => found.get(medium);
}

/** A plan as the text of a file. @param how What its first line says, its schema, and fields with other values. */
export function planFileText(
  plan: PlanFile,
  how: { readonly about: string; readonly schema: string; readonly set?: DocumentOptions["set"] },
): string {
  const written = withValues({ $schema: how.schema, ...plan }, how.set);
  return `// ${how.about}\n// All fields: docs/planner.md.\n${JSON.stringify(written, undefined, 2)}\n`;
}

/** A plan with another media model in the place of one, wherever it names it. */
export function withMedium(plan: PlanFile, name: string, by: string): PlanFile {
  const put = (medium: string): string => medium === name ? by : medium;
  const machines = Object.entries(plan.machines ?? {}).map(([key, machine]): [string, PlanFileMachine] => [
    key,
    { ...machine, tiers: machine.tiers.map((tier) => ({ ...tier, medium: put(tier.medium) })) },
  ]);
  const media = Object.entries({ ...BOOK_MEDIA, ...plan.media }).map(([key, medium]) => [key, put(medium)]);
  return { ...plan, media: Object.fromEntries(media), machines: Object.fromEntries(machines) };
}
