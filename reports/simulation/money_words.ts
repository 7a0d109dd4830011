/**
 * What cases cost in words and cells: the cheapest first, the whole bill, how sure, and why another has no price.
 *
 * @module
 */

import { listText } from "../text/format.ts";
import { percentText, significant } from "../../base/numbers.ts";
import type { TextTable } from "./cells.ts";
import type { CaseMoney, NoMoney, SimulatedBill, WinPrice } from "./money.ts";

/** A case as sentences and cells need it. */
export interface PricedCase {
  readonly configuration: string;
  readonly label: string;
  readonly point: Readonly<Record<string, string | number | boolean>>;
  readonly money?: CaseMoney | (NoMoney & { readonly win?: WinPrice });
  readonly driveWrites?: number;
  /** Why it misses the target; absent where it meets it, or there is none. */
  readonly missesTarget?: string;
}

/** How the figures are written, and what they are of. */
export interface MoneyTerms {
  /** `$`, `EUR`. */
  readonly sign: string;
  /** Where the bill ends. */
  readonly bill: SimulatedBill;
}

type Paid = PricedCase & { readonly money: CaseMoney };

/** The sentence of each point of a study that has prices, or reasons for none. */
export function moneySentences(name: string, cases: readonly PricedCase[], terms: MoneyTerms): string[] {
  const points = new Map<string, PricedCase[]>();
  for (const one of cases) {
    const point = JSON.stringify(Object.entries(one.point).sort());
    points.set(point, [...points.get(point) ?? [], one]);
  }
  return [...points.values()].map((own) => pointSentence(name, own, terms));
}

function pointSentence(name: string, cases: readonly PricedCase[], { sign, bill }: MoneyTerms): string {
  const priced = cases.filter(isPaid);
  const paid = priced.filter(({ missesTarget }) => missesTarget === undefined)
    .sort((a, b) => a.money.perMillion - b.money.perMillion);
  const reasons = cases.flatMap(({ configuration, money }) =>
    money === undefined || "perHour" in money ? [] : [`${configuration}: ${reasonText(money, sign)}`]
  );
  const [best, ...others] = paid;
  const [first] = cases;
  const point = first === undefined ? "" : first.label.slice(first.configuration.length).trim();
  const where = `${name}${point === "" ? "" : `, at ${point}`}`;
  const missed = cases.flatMap(({ configuration, missesTarget }) =>
    missesTarget === undefined ? [] : [`${configuration} misses the target: ${missesTarget}`]
  );
  if (best === undefined) {
    const nothing = priced.length === 0 ? [] : ["nothing that has a price meets the target"];
    return `${where}: ${[...nothing, ...missed, ...new Set(reasons)].join("; ")}`;
  }
  const { money } = best;
  const verb = others.length === 0
    ? missed.length === 0 ? "costs" : "meets the target and costs"
    : `costs least${missed.length === 0 ? "" : " of what meets the target"}`;
  const whole = bill === "whole"
    ? `the whole bill${money.trainers === undefined ? "" : ", trainers included"}`
    : "the servers alone";
  const told = others.map((one) => `${one.configuration} ${dearer(one, best)}`).join(", ");
  const overlapping = others.filter((one) => overlaps(one, best) === true);
  const open = paid.filter((one) => one.money.band === undefined);
  return [
    `${where}: ${best.configuration} ${verb}, ${significant(money.perMillion)} ${sign} a ` +
    `million samples${bandText(money)}, ${significant(money.perHour)} ${sign} an hour or ${
      significant(money.perMonth)
    } a ` +
    `month for ${whole}${pricesText(paid)}`,
    ...(told === "" ? [] : [told]),
    ...(overlapping.length === 0 ? [] : [`90 % bands overlap with ${listText(overlapping.map(nameOf))}`]),
    ...(open.length === 0 || others.length === 0
      ? []
      : [`${listText(open.map(nameOf))} ${open.length === 1 ? "has" : "have"} no band, so the order is not sure`]),
    ...missed,
    ...reasons,
  ].join("; ");
}

function isPaid(one: PricedCase): one is Paid {
  return one.money !== undefined && "perHour" in one.money;
}

/** `4.1 % more`. */
function dearer({ money }: Paid, { money: best }: Paid): string {
  const ratio = money.perMillion / best.perMillion;
  return ratio >= 2 ? `${significant(ratio)} times as much` : `${percentText(ratio - 1)} more`;
}

/** Whether two costs can be told apart by their bands; undefined where one has none. */
function overlaps({ money: { band: a } }: Paid, { money: { band: b } }: Paid): boolean | undefined {
  return a === undefined || b === undefined ? undefined : a.low <= b.high && b.low <= a.high;
}

function bandText({ band }: CaseMoney): string {
  return band === undefined ? " (no band)" : ` (90 %: ${significant(band.low)} to ${significant(band.high)})`;
}

/** Of when the prices are, that they are old, and what is not sold any more. */
function pricesText(paid: readonly Paid[]): string {
  const months = paid.flatMap(({ money }) => money.dates.flatMap((text) => text.split(" to "))).sort();
  const [from, to] = [months[0], months.at(-1)];
  const ended = new Map<string, string[]>();
  for (const { configuration, money } of paid) {
    for (const text of money.ended) ended.set(text, [...ended.get(text) ?? [], configuration]);
  }
  const stale = paid.filter(({ money }) => money.stale).map(nameOf);
  const notes = [
    ...(stale.length === 0
      ? []
      : [`some over a year old${stale.length === paid.length ? "" : `, of ${listText(stale)}`}`]),
    ...[...ended].map(([text, of]) => `${text}, in ${listText(of)}`),
  ];
  return `, at prices of ${from === to ? from : `${from} to ${to}`}${
    notes.length === 0 ? "" : ` (${notes.join("; ")})`
  }`;
}

const nameOf = ({ configuration }: PricedCase): string => configuration;

/** Why there is no price, and up to which one the case would cost least. */
export function reasonText({ why, win }: NoMoney & { readonly win?: WinPrice }, sign: string): string {
  if (win === undefined) return why;
  return win.perGB <= 0
    ? `${why}; as a gift it would not win against ${win.against}`
    : `${why}; at most ${significant(win.perGB)} ${sign}/GB to buy, or ${
      significant(win.perGBMonth)
    } ${sign}/GB-month, for it ` +
      `to win against ${win.against}`;
}

/** The table of a study. */
export function moneyTable(name: string, cases: readonly PricedCase[], { sign, bill }: MoneyTerms): TextTable {
  const machines = (of: { readonly count: number; readonly what: string }): string => `${of.count} × ${of.what}`;
  return {
    caption: `Money, ${name}: ${bill === "whole" ? "the whole bill" : "the servers alone"}`,
    columns: [
      "case",
      `${sign}/M samples`,
      "90 % band",
      `${sign}/h`,
      `${sign}/month`,
      `${sign}/year`,
      "servers kW",
      "drive writes/day",
      "payback, months",
      "machines",
    ],
    words: ["90 % band", "machines"],
    rows: cases.map(({ label, money, driveWrites }) => {
      const writes = driveWrites === undefined ? "–" : significant(driveWrites);
      if (money === undefined) return [label, "no price", "", "", "", "", "", writes, "", ""];
      if (!("perHour" in money)) return [label, "no price", "", "", "", "", "", writes, "", reasonText(money, sign)];
      const { servers, trainers, band, watts, payback } = money;
      return [
        label,
        significant(money.perMillion),
        band === undefined ? "not calibrated" : `${significant(band.low)} to ${significant(band.high)}`,
        significant(money.perHour),
        significant(money.perMonth),
        significant(money.perYear),
        watts === undefined ? "–" : significant(watts / 1e3),
        writes,
        payback === undefined ? "–" : `${significant(payback.months)} against ${payback.against}`,
        [servers, ...(trainers === undefined ? [] : [trainers])].map(machines).join(", "),
      ];
    }),
  };
}
