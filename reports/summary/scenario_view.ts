/**
 * What a report reads of a scenario, and nothing else: a report must be able to show a result file whose scenario has
 * fields it does not know.
 *
 * @module
 */

import { foundText } from "../../base/diagnostics.ts";
import * as v from "../../base/valibot.ts";
import type { Result } from "../../scenarios/record.ts";
import type { MachineCost } from "../../models/costs/machine_cost.ts";
import { machineCostSchema } from "../../models/costs/machine_cost_schema.ts";
import { type Target, targetSchema } from "../../models/simulation/target.ts";
import { type BillRequest, BOUNDARIES, type Boundary, DEFAULT_BILL, WHOLE_BILL } from "../../models/costs/bill.ts";

/** What cases are held against; at least one of its fields. */
export interface RunTarget extends Pick<Target, "samplesPerSecond" | "p99Ms"> {
  /** What the machines that hold the tables may cost an hour, in the currency of the report. */
  readonly perHour?: number;
}

/** The part of a scenario that reports use. */
export interface ScenarioView {
  /** Name of the scenario. */
  readonly name: string;
  /** One sentence about it. */
  readonly about: string;
  /** Seed as text, since it may exceed a double's integers. */
  readonly seed: string;
  /** How to price it. */
  readonly cost: {
    /** `cloud`: rented machines; `owned`: servers that are bought. */
    readonly model: string;
    /** Prices as of this date: `2026-11`. */
    readonly prices: string;
    /** What is in the bill. */
    readonly boundary: Boundary;
    /** What the job has beside parameter servers, for the wider boundaries. */
    readonly bill: BillRequest;
    /** Bytes of rows of the model to price. */
    readonly priceForBytes: number;
    /** Machines that configurations name; the others are priced on the cheapest that hold the model. */
    readonly machines?: Readonly<Record<string, MachineCost>>;
  };
  /** What must be met; absent: nothing. */
  readonly target?: RunTarget;
  /** Names of the configurations in the order of the scenario. */
  readonly configurations: readonly string[];
  /** AUC whose time is a result; undefined if the scenario names none. */
  readonly targetAuc: number | undefined;
}

/** Model size that is priced unless the scenario says otherwise: 500 GB of rows. */
const DEFAULT_PRICE_FOR = 5e11;

/** Reads the scenario of a result. Absent fields get defaults; a field of the wrong kind is an error. */
export function viewScenario(result: Result): ScenarioView {
  const scenario = record(result.run.scenario as unknown, "scenario");
  const cost = scenario["cost"] === undefined ? {} : record(scenario["cost"], "scenario.cost");
  const configurations = scenario["configurations"];
  const quality = scenario["quality"];
  return {
    name: text(scenario["name"], "scenario.name", "unnamed"),
    about: text(scenario["about"], "scenario.about", ""),
    seed: scenario["seed"] === undefined ? "not stated" : `${scenario["seed"]}`,
    cost: {
      model: text(cost["model"], "scenario.cost.model", "cloud"),
      prices: text(cost["prices"], "scenario.cost.prices", result.run.started.slice(0, 7)),
      boundary: boundary(cost["boundary"]),
      bill: bill(cost["bill"]),
      priceForBytes: bytes(cost["priceFor"], "scenario.cost.priceFor", DEFAULT_PRICE_FOR),
      ...machines(configurations),
    },
    ...target(scenario["target"]),
    configurations: typeof configurations === "object" && configurations !== null ? Object.keys(configurations) : [],
    targetAuc: typeof quality === "object" && quality !== null
      ? auc((quality as Record<string, unknown>)["targetAuc"])
      : undefined,
  };
}

/** The target, as the schema of scenarios has it; its price is in US dollars. */
function target(value: unknown): Pick<ScenarioView, "target"> {
  if (value === undefined) return {};
  const found = v.safeParse(targetSchema, value);
  if (!found.success) {
    throw new RangeError(
      `Cannot read "scenario.target": found ${foundText(value)}, samplesPerSecond, p99Ms or dollarsPerHour is needed`,
    );
  }
  const { dollarsPerHour, ...speed } = found.output;
  return { target: { ...speed, ...(dollarsPerHour === undefined ? {} : { perHour: dollarsPerHour }) } };
}

/** Machines that configurations name, as the schema of scenarios has them. */
function machines(configurations: unknown): Pick<ScenarioView["cost"], "machines"> {
  if (typeof configurations !== "object" || configurations === null) return {};
  const named = Object.entries(configurations as Record<string, { readonly machine?: unknown }>).flatMap(
    ([name, { machine }]): [string, MachineCost][] => {
      if (machine === undefined) return [];
      const found = v.safeParse(machineCostSchema, machine);
      if (found.success) return [[name, found.output]];
      throw new RangeError(
        `Cannot read "scenario.configurations.${name}.machine": found ${
          foundText(machine)
        }, a machine of the price book, ` +
          "{ pricePerHour, date } or { components } is needed",
      );
    },
  );
  return named.length === 0 ? {} : { machines: Object.fromEntries(named) };
}

const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

/** Bytes of a number or a text such as `500 GB`. */
function bytes(value: unknown, path: string, otherwise: number): number {
  if (value === undefined) return otherwise;
  if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
  const match = typeof value === "string" ? /^(\d+(?:\.\d+)?)\s*([a-zA-Z]+)$/.exec(value.trim()) : null;
  const unit = UNITS[match?.[2] ?? ""];
  if (match === null || unit === undefined || Number(match[1]) <= 0) {
    throw new RangeError(
      `Cannot read "${path}": found ${foundText(value)}, bytes or a text like "500 GB" is needed`,
    );
  }
  return Number(match[1]) * unit;
}

function boundary(value: unknown): Boundary {
  const found = text(value, "scenario.cost.boundary", WHOLE_BILL);
  if ((BOUNDARIES as readonly string[]).includes(found)) return found as Boundary;
  throw new RangeError(
    `Cannot read "scenario.cost.boundary": found "${found}", one of ${BOUNDARIES.join(", ")} is needed`,
  );
}

function bill(value: unknown): BillRequest {
  const written = value === undefined ? {} : record(value, "scenario.cost.bill");
  const count = (field: "workers" | "checkpoints"): number => {
    const found = written[field];
    if (found === undefined) return DEFAULT_BILL[field];
    if (typeof found === "number" && Number.isInteger(found) && found >= 0) return found;
    throw new RangeError(
      `Cannot read "scenario.cost.bill.${field}": found ${foundText(found)}, a whole number is needed`,
    );
  };
  const worker = written["worker"];
  if (typeof worker === "number" && !(worker > 0 && Number.isFinite(worker))) {
    throw new RangeError(`Cannot read "scenario.cost.bill.worker": found ${worker}, $ an hour above 0 are needed`);
  }
  return {
    workers: count("workers"),
    worker: typeof worker === "number" ? worker : text(worker, "scenario.cost.bill.worker", `${DEFAULT_BILL.worker}`),
    dataBytes: bytes(written["data"], "scenario.cost.bill.data", DEFAULT_BILL.dataBytes),
    checkpoints: count("checkpoints"),
  };
}

function auc(value: unknown): number | undefined {
  if (value === undefined || (typeof value === "number" && Number.isFinite(value))) return value;
  throw new RangeError(`Cannot read "scenario.quality.targetAuc": found ${foundText(value)}, a number is needed`);
}

function text(value: unknown, path: string, otherwise: string): string {
  if (value === undefined) return otherwise;
  if (typeof value !== "string") {
    throw new TypeError(`Cannot read "${path}": found ${foundText(value)}, a text is needed`);
  }
  return value;
}

function record(value: unknown, path: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null) {
    throw new TypeError(`Cannot read "${path}": found ${foundText(value)}, an object is needed`);
  }
  return value as Record<string, unknown>;
}
