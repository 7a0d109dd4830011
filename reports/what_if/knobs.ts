/**
 * What a what-if can change: each with the report's value, a range, a unit.
 *
 * @module
 */

import { significant } from "../../base/numbers.ts";
import { BOUNDARIES, BOUNDARY_WORDS } from "../../models/costs/bill.ts";
import { missingForOwned, OWNED, OWNED_ITEMS } from "../../models/costs/owned_machines.ts";
import { itemNamed } from "../../models/costs/price_book.ts";
import type { WhatIfBase } from "./base.ts";

/** A number that can be changed. */
export interface NumberKnob {
  readonly kind: "number";
  /** Its name in the address of the page: `price:re6p.26xlarge`. */
  readonly id: string;
  readonly group: Group;
  readonly label: string;
  readonly unit: string;
  /** The report's value; undefined where the report asks for none. */
  readonly value: number | undefined;
  /** Ends of the slider, both allowed. */
  readonly min: number;
  readonly max: number;
  /** How the slider's places are spread. */
  readonly scale: "linear" | "log";
  /** What it means, one sentence. */
  readonly note: string;
}

/** One of some words. */
export interface ChoiceKnob {
  readonly kind: "choice";
  readonly id: string;
  readonly group: Group;
  readonly label: string;
  /** The report's value. */
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly text: string }[];
  readonly note: string;
}

/** Anything that can be changed. */
export type Knob = NumberKnob | ChoiceKnob;

/** Fields that stand together. */
export const GROUPS = ["The job", "Prices", "Owned servers"] as const;
/** One of {@linkcode GROUPS}. */
export type Group = typeof GROUPS[number];

/** What was changed: values by the id of the knob. What is absent is as in the report. */
export type WhatIfState = Readonly<Record<string, number | string>>;

/** Places of a slider, from 0. */
export const PLACES = 200;

/** Prefix of the knobs that are prices of machines, and of media. */
export const PRICE = "price:";
/** Prefix of the knobs that multiply the prices of modules of a medium. */
export const MODULES = "modules:";

/** All knobs of a report, in the order they are shown. */
export function knobsOf(base: WhatIfBase): Knob[] {
  return [...jobKnobs(base), ...priceKnobs(base), ...ownedKnobs(base)];
}

function jobKnobs({ cases, cost, book, provider }: WhatIfBase): Knob[] {
  const knobs: Knob[] = [{
    kind: "number",
    id: "size",
    group: "The job",
    label: "Model size",
    unit: "GB of rows",
    value: cost.priceForBytes / 1e9,
    ...around(cost.priceForBytes / 1e9, 100),
    note: "Bytes of all rows of the model that is priced.",
  }];
  if (cases.every(({ work }) => work !== undefined)) {
    const rates = cases.map(({ throughput }) => throughput?.value ?? 0);
    knobs.push({
      kind: "number",
      id: "traffic",
      group: "The job",
      label: "Traffic",
      unit: "thousand samples/s",
      value: undefined,
      min: round(Math.min(...rates) / 1e3),
      max: round(1e4 * Math.max(...rates) / 1e3),
      scale: "log",
      note:
        "All machines together; vCPUs do what touches rows as fast as the run's threads, and a step sends what it sent in the run, where the price book states a network. Not asked in " +
        "the report, whose machines only hold the model.",
    });
  }
  if (cases.some(({ cache }) => cache !== undefined)) {
    const shares = cases.flatMap(({ cache }) => cache?.share ?? []);
    knobs.push({
      kind: "number",
      id: "cache",
      group: "The job",
      label: "DRAM for rows",
      unit: "% of their bytes",
      value: 100 * Math.max(...shares),
      min: 0.1,
      max: 100,
      scale: "log",
      note: "Time over DRAM changes as the misses of the recorded curve do; the DRAM is bought.",
    });
  }
  knobs.push({
    kind: "choice",
    id: "boundary",
    group: "The job",
    label: "In the bill",
    value: cost.boundary,
    options: BOUNDARIES.map((value, i) => ({ value, text: `${i === 0 ? "" : "+ "}${BOUNDARY_WORDS[value]}` })),
    note: "Each line holds those above it.",
  });
  const canOwn = missingForOwned(book).length === 0;
  if (canOwn && provider !== OWNED) {
    knobs.push({
      kind: "choice",
      id: "model",
      group: "The job",
      label: "Machines are",
      value: cost.model,
      options: [{ value: "cloud", text: `rented from ${provider}` }, { value: "owned", text: "bought and owned" }],
      note: "Owned servers are priced by their modules, power and years.",
    });
  }
  return knobs;
}

function priceKnobs({ machines, book, sign, cost: { bill } }: WhatIfBase): Knob[] {
  const price = (id: string, label: string, value: number): NumberKnob => ({
    kind: "number",
    id,
    group: "Prices",
    label,
    unit: `${sign}/h`,
    value,
    ...around(value, 5),
    note: "",
  });
  const worker = typeof bill.worker === "number"
    ? bill.worker
    : book.instances.find(({ name }) => name === bill.worker)?.pricePerHour;
  return [
    ...machines.flatMap((name) => {
      const found = book.instances.find((one) => one.name === name && one.role === "memory");
      return found === undefined ? [] : [price(`${PRICE}${name}`, name, found.pricePerHour)];
    }),
    ...(worker === undefined ? [] : [{
      ...price("worker", `worker${typeof bill.worker === "string" ? ` ${bill.worker}` : ""}`, worker),
      note: "Counts where workers are in the bill.",
    }]),
  ];
}

/** Knobs of owned servers; they count where machines are owned. */
function ownedKnobs({ book, sign }: WhatIfBase): Knob[] {
  if (missingForOwned(book).length > 0) return [];
  const item = (id: keyof typeof OWNED_ITEMS, label: string, unit: string, range: readonly [number, number]): Knob => ({
    kind: "number",
    id,
    group: "Owned servers",
    label,
    unit,
    value: itemNamed(book, OWNED_ITEMS[id]).value * (unit === "%" ? 100 : 1),
    min: range[0],
    max: range[1],
    scale: "linear",
    note: "",
  });
  const media = [...new Set(book.items.filter(({ unit }) => unit === "GB").flatMap(({ medium }) => medium ?? []))]
    .filter((medium) => ["DDR4", "DDR5", "PMem 100"].includes(medium));
  return [
    item("life", "Years of use", "years", [1, 10]),
    item("utilisation", "Utilisation", "%", [5, 100]),
    item("capitalRate", "Cost of capital", "%", [0, 25]),
    item("pue", "PUE", "", [1, 2.5]),
    item("pricePerKWh", "Electricity", `${sign}/kWh`, [0.01, 0.6]),
    ...media.map((medium): Knob => ({
      kind: "number",
      id: `${MODULES}${medium}`,
      group: "Owned servers",
      label: `${medium} modules`,
      unit: "× the book's price",
      value: 1,
      min: 0.1,
      max: 10,
      scale: "log",
      note: "",
    })),
  ];
}

function around(value: number, factor: number): { readonly min: number; readonly max: number; readonly scale: "log" } {
  return { min: round(value / factor), max: round(value * factor), scale: "log" };
}

/** The slider's place of a value, 0 to {@linkcode PLACES}. */
export function sliderPlace({ min, max, scale }: NumberKnob, value: number): number {
  const share = scale === "log" ? Math.log(value / min) / Math.log(max / min) : (value - min) / (max - min);
  return Math.min(PLACES, Math.max(0, Math.round(share * PLACES)));
}

/** The value of a slider's place, to three digits; the ends are the ends. */
export function valueAt({ min, max, scale }: NumberKnob, place: number): number {
  const share = place / PLACES;
  if (share <= 0) return min;
  if (share >= 1) return max;
  return round(scale === "log" ? min * (max / min) ** share : min + (max - min) * share);
}

/** A value of a knob in words: `3.2 $/h`. */
export function valueText(knob: Knob, value: number | string | undefined): string {
  if (knob.kind === "choice") return knob.options.find((one) => one.value === value)?.text ?? `${value}`;
  if (typeof value !== "number") return "not asked";
  return `${significant(value)}${knob.unit === "" ? "" : ` ${knob.unit}`}`;
}

/** Whether a knob can have a value. */
export function allowed(knob: Knob, value: number | string): boolean {
  if (knob.kind === "choice") return knob.options.some((one) => one.value === value);
  return typeof value === "number" && value >= knob.min && value <= knob.max;
}

/** Three significant digits. */
function round(value: number): number {
  return Number(value.toPrecision(3));
}
