/**
 * An answer in sentences and tables, the same for page, terminal and JSON.
 *
 * @module
 */

import { HOURS_PER_MONTH } from "../../models/costs/bill.ts";
import { driveWritesPerDay, paybackMonths } from "../../models/costs/owned.ts";
import { dollarsPerMillionSamples } from "../../models/costs/cost_model.ts";
import { significant } from "../../base/numbers.ts";
import { percentText, prefixed } from "../../base/numbers.ts";
import type { Asked } from "../../models/planning/ask/ask.ts";
import { weightsOf } from "../../models/planning/by_kernel.ts";
import { missShare, type Turn } from "../../models/planning/ask/turning.ts";
import { type Way, wayOf } from "../../models/planning/ask/ways.ts";
import type { Banded, Plan, PlanAnswer } from "../../models/planning/plan_types.ts";
import { uncalibrated } from "../../models/planning/verdict.ts";
import { listText } from "../text/format.ts";

/** A table of text: its first column heads the rows. */
export interface AskTable {
  /** What it shows. */
  readonly caption: string;
  /** Titles of its columns; those of words are aligned left. */
  readonly columns: readonly { readonly title: string; readonly words?: boolean }[];
  /** Its cells; the second of a pair stands small below the first. */
  readonly rows: readonly (readonly (string | readonly [string, string])[])[];
}

const TIERS: Readonly<Record<string, string>> = { CXL: "CXL memory", SSD: "NVMe drives", PMEM: "PMem" };

/** A way in words: `DRAM and NVMe drives`. */
export function wayText(name: string): string {
  const [tiers = "", ...rest] = name.split(", ");
  const named = tiers.split(" + ").map((tier) => TIERS[tier] ?? tier);
  return [named.length === 1 ? `${named[0]} alone` : listText(named), ...rest].join(", ");
}

/** `2 × server with …`, with the sign of multiplication. */
export function machinesText({ hosts, machine }: Plan): string {
  return `${hosts} × ${signs(machine.name)}`;
}

/** Names of machines can hold no sign of multiplication; where they are shown, they have it. */
function signs(text: string): string {
  return text.replaceAll(/(\d) x (\d)/g, "$1 × $2");
}

/** Bytes in powers of ten, as tables and drives are spoken of. */
export function decimalBytes(bytes: number): string {
  const [unit, factor] = bytes >= 1e12 ? ["TB", 1e12] : bytes >= 1e9 ? ["GB", 1e9] : ["MB", 1e6];
  return `${significant(bytes / Number(factor))} ${unit}`;
}

/** The ends of a band, or that there is none. */
function bandText({ low, high }: Banded, text: (value: number) => string): string {
  if (low === undefined || high === undefined) return "no band";
  return `90 %: ${text(low)} to ${text(high)}`;
}

function signOf({ bill }: PlanAnswer): string {
  return bill?.sign ?? "$";
}

/** Where the bill ends: `the whole bill`, or what it leaves out. */
function billOf({ bill }: PlanAnswer): string {
  return bill?.trainers === undefined ? "the machines that hold the tables alone" : "the whole bill";
}

const monthly = (perHour: number): string => significant(perHour * HOURS_PER_MONTH);

/** Bytes of rows of a plan file. */
function rowBytesOf({ placed }: Plan): number {
  return placed.reduce((sum, { table }) => sum + table.rows * table.rowBytes, 0);
}

/** The answer in one sentence, the bill first. */
export function headline({ answer, doubts, ways }: Asked): string {
  const { best } = answer;
  if (best === undefined) {
    const why = ways.map(({ name, why }) => `${wayText(name)}: ${why}`).join("; ");
    return `Nothing that has a price meets the target. ${why}`;
  }
  const sign = signOf(answer);
  const speed = `${prefixed(best.samplesPerSecond.value)} samples/s (${
    bandText(best.samplesPerSecond, (value) => prefixed(value))
  })`;
  const open = [...new Set(doubts.flatMap(({ media }) => media))];
  const quoted = ways.some(({ win }) => (win?.perGB?.bought ?? win?.perHour ?? 0) > 0);
  return `${monthly(best.billPerHour)} ${sign} a month, ${billOf(answer)}, ${
    doubts.length > 0 ? "leads" : quoted ? "is the least that has a price" : "is the least"
  }: ${decimalBytes(rowBytesOf(best))} of rows in ${wayText(wayOf(best.machine))}${
    best.placed[0]?.kind === "interleaved" ? `, placed by ${placedBy(best)}` : ""
  }, on ${machinesText(best)}, at ${speed} ` +
    `and ${significant(best.dollarsPerMillionSamples.value)} ${sign} a million samples${
      doubts.length === 0
        ? ""
        : `; that it wins cannot be told before ${listText(open.map(mediumText))} ${
          open.length > 1 ? "are" : "is"
        } measured`
    }.`;
}

/** The name of a medium: of a file of the user's, that of the file. */
function mediumText(medium: string): string {
  return medium.replace(/^.*[/\\]/, "").replace(/\.jsonc?$/, "");
}

/** What follows the headline, a sentence each. */
export function sentences(asked: Asked): string[] {
  const { answer, ways, simulated, sure } = asked;
  const { best, bill } = answer;
  if (best === undefined) return [];
  const sign = signOf(answer);
  const found: string[] = [];
  const next = ways.find(({ meets, plan }) => meets && plan !== best);
  if (next?.plan !== undefined) {
    const { billPerHour, pricePerHour } = next.plan;
    found.push(
      `Next: ${wayText(next.name)} on ${machinesText(next.plan)}, ${monthly(billPerHour)} ${sign} a month: ${
        more(billPerHour, best.billPerHour)
      } on the bill, ${more(pricePerHour, best.pricePerHour)} on the machines that hold the tables.`,
    );
  }
  for (const { name, why, win } of ways) {
    if (win === undefined) continue;
    const most = win.perGB === undefined
      ? `${significant(win.perHour)} ${sign} an hour`
      : `${significant(win.perGB.bought)} ${sign}/GB to buy, or ${significant(win.perGB.month)} ${sign}/GB-month,`;
    found.push(
      (win.perGB?.bought ?? win.perHour) <= 0
        ? `${wayText(name)}: ${why}; as a gift it would not win.`
        : `${wayText(name)}: ${why}; at most ${most} for ${machinesText(win.plan)} to win.`,
    );
  }
  for (const { name, why, plan } of ways) {
    if (plan === undefined && why !== undefined) found.push(`${wayText(name)}: ${signs(why)}.`);
  }
  if (bill?.trainers !== undefined) {
    found.push(
      `What trains (${bill.trainers}) is ${
        percentText(bill.commonPerHour / best.billPerHour)
      } of the bill, the same on every way.`,
    );
  }
  const owning = owningText(best, asked);
  if (owning !== undefined) found.push(owning);
  if (sure !== undefined) {
    found.push(
      `To meet the target at the slow end of every band takes ${machinesText(sure)}: ${
        monthly(sure.billPerHour)
      } ${sign} a month.`,
    );
  }
  const apart = simulated.flatMap(([plan, of]) =>
    of === undefined ? [] : [`${percentText(Math.abs(of.apart))} (${wayText(wayOf(plan.machine))})`]
  );
  if (apart.length > 0) found.push(`Planner and virtual time are apart by ${listText(apart)}.`);
  if (asked.rowRule !== undefined) found.push(`${asked.rowRule}.`);
  found.push(
    `Prices of ${best.machine.priceDate}${
      best.machine.priceNote === undefined ? "" : ` (${best.machine.priceNote})`
    }, as of ${asked.file.prices}.`,
  );
  return found;
}

function more(one: number, than: number): string {
  const share = one / than - 1;
  return Math.abs(share) < 5e-4 ? "as much" : `${percentText(Math.abs(share))} ${share > 0 ? "more" : "less"}`;
}

/** The ways side by side. */
export function waysTable({ answer, ways }: Asked): AskTable {
  const sign = signOf(answer);
  return {
    caption: `Ways to hold the tables: ${answer.bill?.of ?? billOf(answer)}`,
    columns: [
      { title: "way" },
      { title: `${sign} a month` },
      { title: "of it for tables" },
      { title: `${sign} a million samples` },
      { title: "samples/s" },
      { title: "machines", words: true },
      { title: "why not", words: true },
    ],
    rows: ways.map(({ name, plan, meets, why, win }) => {
      if (plan === undefined) return [wayText(name), "–", "–", "–", "–", "–", signs(why ?? "")];
      const speed = [
        prefixed(plan.samplesPerSecond.value),
        bandText(plan.samplesPerSecond, (value) => prefixed(value)),
      ] as const;
      const cost = win !== undefined ? ["no price", "no price", "no price"] as const : [
        monthly(plan.billPerHour),
        monthly(plan.pricePerHour),
        [
          significant(plan.dollarsPerMillionSamples.value),
          bandText(plan.dollarsPerMillionSamples, (value) => significant(value)),
        ] as const,
      ] as const;
      const reason = plan === answer.best ? "–" : `${meets ? "" : win === undefined ? "misses: " : ""}${why ?? ""}`;
      return [wayText(name), ...cost, speed, machinesText(plan), signs(reason)];
    }),
  };
}

/** What a line of a bill is of, in the order of the chart's colours; what trains is in no bar. */
export const LINE_KINDS = ["memory and drives", "server and network", "power", "rent", "training"] as const;

/** A line of a bill. */
export interface BillLine {
  /** `2 × 16 × 64 GB DDR5`. */
  readonly name: string;
  /** What it is of. */
  readonly kind: typeof LINE_KINDS[number];
  /** An hour of it, all machines. */
  readonly perHour: number;
  /** What it costs to buy; absent where it is rented, or is power. */
  readonly purchase?: number;
}

const KIND_WORDS = { memory: "memory and drives", server: "server and network", power: "power" } as const;

/** The bill of a plan by component; the lines add up to the plan's bill. */
export function billLines({ machine, hosts, pricePerHour }: Plan, { bill }: PlanAnswer): BillLine[] {
  const { lines, purchase } = machine;
  const all = { perHour: pricePerHour, ...(purchase === undefined ? {} : { purchase: purchase * hosts }) };
  return [
    ...(lines === undefined
      ? [{ name: `${hosts} × ${signs(machine.name)}`, kind: "rent" as const, ...all }]
      : lines.map(({ name, kind, perHour, purchase }) => ({
        name: `${hosts} × ${signs(name)}`,
        kind: KIND_WORDS[kind],
        perHour: perHour * hosts,
        ...(purchase === undefined ? {} : { purchase: purchase * hosts }),
      }))),
    ...(bill?.trainers === undefined
      ? []
      : [{ name: `${bill.trainers}, to train`, kind: "training" as const, perHour: bill.commonPerHour }]),
  ];
}

/** What each way that has a price costs, by component. */
export function billTable({ answer, ways }: Asked): AskTable {
  const sign = signOf(answer);
  return {
    caption: "The bill by component",
    columns: [
      { title: "way and component" },
      { title: `${sign} to buy` },
      { title: `${sign} an hour` },
      { title: `${sign} a month` },
      { title: `${sign} a million samples` },
    ],
    rows: ways.flatMap(({ name, plan, win }) => {
      if (plan === undefined || win !== undefined) return [];
      const row = (what: string, perHour: number, purchase?: number): string[] => [
        what,
        purchase === undefined ? "–" : significant(purchase),
        significant(perHour),
        monthly(perHour),
        significant(dollarsPerMillionSamples(perHour, plan.samplesPerSecond.value)),
      ];
      const lines = billLines(plan, answer);
      const bought = lines.flatMap(({ purchase }) => purchase ?? []);
      return [
        ...lines.map(({ name: what, perHour, purchase }) => row(`${wayText(name)}: ${what}`, perHour, purchase)),
        row(
          `${wayText(name)}: all`,
          plan.billPerHour,
          bought.length === 0 ? undefined : bought.reduce((sum, one) => sum + one, 0),
        ),
      ];
    }),
  };
}

/** What it takes to own a way's machines. */
export interface Owning {
  /** What they cost to buy; absent where they are rented, or have no price. */
  readonly purchase?: number;
  /** Mean watts; absent where no source states them. */
  readonly watts?: number;
  /** Months of the rent of the cheapest rented machines that pay the purchase, less its power; absent without either. */
  readonly paybackMonths?: number;
  /** How often their drives are written from end to end in a day; absent without drives. */
  readonly driveWritesPerDay?: number;
}

/** What it takes to own the machines of a plan. `priced`: its price is one. */
export function owningOf(
  { machine, hosts, step, stepSeconds }: Plan,
  priced: boolean,
  { rented }: Pick<Asked, "rented">,
): Owning {
  const { purchase, watts, energyPerHour, nvmeBytes } = machine;
  const months = priced && purchase !== undefined && energyPerHour !== undefined && rented !== undefined
    ? paybackMonths(purchase * hosts, rented.pricePerHour, energyPerHour * hosts)
    : undefined;
  return {
    ...(priced && purchase !== undefined ? { purchase: purchase * hosts } : {}),
    ...(watts === undefined ? {} : { watts: watts * hosts }),
    ...(months === undefined ? {} : { paybackMonths: months }),
    ...(nvmeBytes === undefined
      ? {}
      : { driveWritesPerDay: driveWritesPerDay(step.recordBytes / stepSeconds.value, nvmeBytes * hosts) }),
  };
}

/** What a plan's own machines take, in a sentence; undefined where they are rented. */
function owningText(best: Plan, asked: Asked): string | undefined {
  const { rented, answer } = asked;
  const { purchase, watts, paybackMonths: months, driveWritesPerDay: writes } = owningOf(best, true, asked);
  if (purchase === undefined) return undefined;
  const sign = signOf(answer);
  const paid = rented === undefined
    ? "; no machines for rent meet the target"
    : months === undefined
    ? `; renting ${rentText(rented, sign)} costs less than its power`
    : `, which ${significant(months)} months of renting ${rentText(rented, sign)} pay`;
  const power = watts === undefined
    ? ""
    : `; ${watts < 1000 ? `${significant(watts)} W` : `${significant(watts / 1000)} kW`}`;
  const worn = writes === undefined ? "" : `; its drives are written ${significant(writes)} times a day`;
  return `To buy: ${significant(purchase)} ${sign}${paid}${power}${worn}.`;
}

/** `2 × AWS …, 3,400 $ a month at prices of 2025`. */
function rentText(rented: Plan, sign: string): string {
  const { priceDate, priceNote } = rented.machine;
  return `${machinesText(rented)} (${monthly(rented.pricePerHour)} ${sign} a month at prices of ${priceDate}${
    priceNote === undefined ? "" : `, ${priceNote}`
  })`;
}

/** What it takes to own each way's machines: money, power, wear. */
export function owningTable(asked: Asked): AskTable {
  const { rented, ways, answer } = asked;
  const sign = signOf(answer);
  return {
    caption: `What it takes to own it; payback is ${
      rented === undefined
        ? "not known: no machines for rent meet the target"
        : `the months in which renting ${rentText(rented, sign)} costs as much as the purchase and its power`
    }`,
    columns: [
      { title: "way" },
      { title: `${sign} to buy` },
      { title: "payback, months" },
      { title: "watts" },
      { title: "drive writes a day" },
    ],
    rows: ways.flatMap(({ name, plan, win }) => {
      if (plan === undefined) return [];
      const of = owningOf(plan, win === undefined, asked);
      const text = (value: number | undefined): string => value === undefined ? "–" : significant(value);
      const bought = win !== undefined ? "no price" : of.purchase === undefined ? "rented" : text(of.purchase);
      return [[wayText(name), bought, text(of.paybackMonths), text(of.watts), text(of.driveWritesPerDay)]];
    }),
  };
}

/** How sure each way's figure is. */
export function sureTable({ ways, simulated }: Asked): AskTable {
  const ms = (seconds: number): string => `${significant(seconds * 1e3)} ms`;
  return {
    caption: "How sure: the step by planner and virtual time, and the media behind it",
    columns: [
      { title: "way" },
      { title: "step, planned" },
      { title: "step, virtual time" },
      { title: "apart" },
      { title: "media without a band", words: true },
    ],
    rows: ways.flatMap(({ name, plan }) => {
      if (plan === undefined) return [];
      const of = simulated.find(([one]) => one === plan)?.[1];
      const open = uncalibrated(plan).map(({ medium, why }) => `${medium}: ${why}`);
      return [[
        wayText(name),
        [ms(plan.stepSeconds.value), bandText(plan.stepSeconds, ms)] as const,
        of === undefined ? "–" : ms(of.stepSeconds),
        of === undefined ? "–" : percentText(Math.abs(of.apart)),
        open.length === 0 ? "none" : open.join("; "),
      ]];
    }),
  };
}

/** A turn in words. */
export function turnText(turn: Turn, { answer }: Asked): readonly [string, string, string, string] {
  const sign = signOf(answer);
  const write: Readonly<Record<Turn["of"], (value: number) => string>> = {
    price: (value) => `${significant(value)} ${sign}/GB`,
    target: (value) => `${prefixed(value)} samples/s`,
    step: (value) => `a p99 step of ${significant(value * 1e3)} ms`,
    bytes: decimalBytes,
    misses: (value) => percentText(value),
    skew: (value) => `s = ${significant(value)}`,
  };
  const what: Readonly<Record<Turn["of"], string>> = {
    price: `price of ${turn.medium}`,
    target: "target",
    step: "target",
    bytes: "size of the rows",
    misses: "rows of a step that are not in DRAM, where it caches",
    skew: "skew, (rank + q)^-s",
  };
  const text = write[turn.of];
  const side = turn.tried < turn.now ? "down" : "up";
  if (turn.at === undefined) {
    return [`${what[turn.of]}, ${side}`, text(turn.now), `not ${side} to ${text(turn.tried)}`, "the same wins"];
  }
  const then = turn.then === undefined
    ? "nothing meets the target"
    : `${wayText(wayOf(turn.then.machine))}, on ${machinesText(turn.then)}${
      turn.of === "misses" ? `, whose DRAM misses ${percentText(missShare(turn.then))}` : ""
    }`;
  return [`${what[turn.of]}, ${side}`, text(turn.now), text(turn.at), then];
}

/** Who places the rows, in a few words. */
function placedBy({ placed }: Plan): string {
  const [first] = placed;
  if (first?.kind === "interleaved") {
    return `the kernel's weighted interleave (${weightsOf(first.answered).join(" : ")})`;
  }
  return first?.kind === "kernel tiering" ? "the kernel's tiering (at best)" : "the store, row by row";
}

/** How the machine is set for it. */
function settingOf({ placed, machine }: Plan): string {
  const [first] = placed;
  const names = machine.tiers.map(({ name }) => TIERS[name] ?? name);
  if (first?.kind === "interleaved") {
    const weights = weightsOf(first.answered).map((weight, k) => `${weight} for the node of ${names[k]}`);
    return `storage DRAM, memory weighted-interleave, Linux 6.9 or later; weights: ${listText(weights)}`;
  }
  return first?.kind === "kernel tiering"
    ? "storage DRAM, memory kernel-tiering: numa_balancing 2 and demotion; pages as if the kernel knew how often each is used, " +
      "which no kernel reaches: no plan rests on it"
    : `storage DRAM_PMEM: hot rows in ${names[0]}, the others bound to the node of ${names[1]}`;
}

/** The same in sentences: a line a way. */
export function placementLines({ placements }: Asked): string[] {
  return placements.map(({ way, plans }) => {
    const speeds = plans.map(([one]) => `${prefixed(one.samplesPerSecond.value)} samples/s placed by ${placedBy(one)}`);
    return `${wayText(way)}: ${speeds.join("; ")}`;
  });
}

/** Machines with DRAM and CXL memory by who places the rows on them. */
export function placementsTable({ placements }: Asked): AskTable {
  return {
    caption: "Who places the rows, on the same machines",
    columns: [
      { title: "way and who" },
      { title: "samples/s" },
      { title: "step, planned" },
      { title: "step, virtual time" },
      { title: "answered by", words: true },
      { title: "set so", words: true },
    ],
    rows: placements.flatMap(({ way, plans }) =>
      plans.map(([plan, of]) => [
        `${wayText(way)}: ${placedBy(plan)}`,
        [
          prefixed(plan.samplesPerSecond.value),
          bandText(plan.samplesPerSecond, (value) => prefixed(value)),
        ] as const,
        `${significant(plan.stepSeconds.value * 1e3)} ms`,
        of === undefined ? "–" : `${significant(of.stepSeconds * 1e3)} ms`,
        sharesText(plan, plan.placements[0]?.answered ?? []),
        settingOf(plan),
      ])
    ),
  };
}

/** Shares of a plan's tiers in words. */
function sharesText({ machine }: Plan, of: readonly number[]): string {
  return machine.tiers.flatMap(({ name }, k) =>
    (of[k] ?? 0) > 0 ? [`${percentText(of[k] ?? 0)} ${TIERS[name] ?? name}`] : []
  ).join(", ");
}

/** What would turn the answer around. */
export function turnsTable(asked: Asked): AskTable {
  return {
    caption: "What would turn it around, each moved by itself",
    columns: [{ title: "what" }, { title: "now" }, { title: "turns at" }, { title: "then wins", words: true }],
    rows: asked.turns.map((turn) => turnText(turn, asked)),
  };
}

/** What to measure, and on what for a day. */
export interface Measure {
  /** The medium. */
  readonly medium: string;
  /** Why, and on what. */
  readonly text: string;
  /** The command that measures the medium. */
  readonly command: string;
  /** The command that trains over it, where a shipped scenario does. */
  readonly run?: string;
}

/** What to rent, or borrow, for a day to be sure: a line a medium. */
export function measures(asked: Asked): Measure[] {
  const { answer, doubts, ways } = asked;
  const { best } = answer;
  const plans = [best, ...ways.map(({ plan }) => plan)].flatMap((one) => one ?? []);
  const named = new Set(doubts.flatMap(({ media }) => media));
  const wanted = named.size > 0 ? [...named] : [...new Set((best?.machine.tiers ?? []).map(({ medium }) => medium))];
  return wanted.map((medium) => {
    const on = plans.find(({ machine }) => machine.tiers.some((tier) => tier.medium === medium));
    const tier = on?.machine.tiers.find((one) => one.medium === medium);
    const rented = ways.find(({ name, plan }) =>
      name.endsWith(", rented") && plan?.machine.tiers.some((one) => one.name === tier?.name)
    )?.plan?.machine;
    const day = rented === undefined
      ? "the price book names no machine for rent with it"
      : `a day of ${rented.name} is ${significant(rented.pricePerHour * 24)} ${signOf(answer)}`;
    const run = RUNS[tier?.name ?? ""];
    return {
      medium,
      text: `${TIERS[tier?.name ?? ""] ?? tier?.name ?? medium}, which ${
        mediumText(medium)
      } stands for: one machine such as ${
        on === undefined ? "the planned one" : signs(on.machine.name).replace(/^server /, "a server ")
      }; ${day}`,
      command: tier?.records === true ? "tierbench calibrate --drive FOLDER" : "tierbench calibrate",
      ...(run === undefined ? {} : { run: `tierbench run ${run}` }),
    };
  });
}

/** Scenarios that train over a tier where it is. */
const RUNS: Readonly<Record<string, string>> = {
  CXL: "cxl-modes --require measured",
  PMEM: "pmem-modes --require measured",
  SSD: "cxl-modes",
};

/** Where the rows are on the best machines. */
export function placementTable(plan: Plan): AskTable {
  const { placements, placed } = plan;
  const shares = (of: readonly number[]): string => sharesText(plan, of);
  return {
    caption: "Where the rows are, and what answers a step",
    columns: [
      { title: "table" },
      { title: "rows" },
      { title: "bytes, index with them" },
      { title: "placement", words: true },
      { title: "rows are in", words: true },
      { title: "answered by", words: true },
    ],
    rows: placements.map(({ table, kind, shares: where, answered, bytes }, i) => [
      table,
      prefixed(placed[i]?.table.rows ?? 0),
      decimalBytes(bytes.reduce((sum, one) => sum + one, 0)),
      kind,
      shares(where),
      shares(answered),
    ]),
  };
}

/** The sums behind the best plan, to be checked by hand. */
export function sumsTable({ answer: { best }, file }: Asked): AskTable {
  const rows: [string, string, string][] = [];
  if (best !== undefined) {
    const { placed, hosts, machine, usedBytes, step, stepSeconds } = best;
    const sum = (value: (one: typeof placed[number]["table"]) => number) =>
      placed.reduce((total, { table }) => total + value(table), 0);
    const keys = file.batch * sum(({ lookups }) => lookups);
    const one = sum(({ distinctPerWorker }) => distinctPerWorker);
    const all = sum(({ distinctPerStep }) => distinctPerStep);
    const weights = sum(({ distinctPerWorker, weightBytes }) => distinctPerWorker * weightBytes);
    rows.push(
      ["rows", prefixed(sum(({ rows }) => rows)), "of all tables"],
      ["bytes of rows", decimalBytes(rowBytesOf(best)), "rows × (weights and slots, each padded to 16 bytes)"],
      [
        "index and policy",
        decimalBytes(usedBytes.reduce((total, bytes) => total + bytes, 0) * hosts - rowBytesOf(best)),
        "in the first tier's memory: 35 bytes a row in memory, 16 a record on a drive",
      ],
      ...machine.tiers.map((tier, k): [string, string, string] => [
        `${TIERS[tier.name] ?? tier.name} of one machine`,
        `${decimalBytes(usedBytes[k] ?? 0)} of ${decimalBytes(tier.bytes)}`,
        `used, of what tables may use (${percentText(file.usableShare)} of it)`,
      ]),
      ["keys of a worker's step", prefixed(keys), "batch × lookups"],
      ["different rows of them", prefixed(one), "by the popularity law"],
      ["different rows of all workers", prefixed(all), `${file.workers} workers together`],
      [
        "rows over the network in a step",
        decimalBytes(weights * file.workers * 2),
        "different rows of each worker × bytes of weights, there and as gradients back",
      ],
      ["step", `${significant(stepSeconds.value * 1e3)} ms`, "from the end of one to the end of the next"],
      ["of it dense layers", `${significant(step.compute * 1e3)} ms`, "as stated"],
      [
        "busiest core or medium",
        `${significant(step.memory * 1e3)} ms`,
        "held so long in a step, in part beside the rest",
      ],
      [
        "busiest link",
        machine.networkBytesPerSecond === undefined ? "not known" : `${significant(step.network * 1e3)} ms`,
        "the same",
      ],
    );
  }
  return {
    caption: "The sums behind it",
    columns: [{ title: "what" }, { title: "value" }, { title: "how", words: true }],
    rows,
  };
}

/** What the question left to be assumed, or said. */
export function assumptionsTable({ file, answer }: Asked): AskTable {
  const target = [
    ...(file.target.samplesPerSecond === undefined ? [] : [`${prefixed(file.target.samplesPerSecond)} samples/s`]),
    ...(file.target.p99Ms === undefined ? [] : [`p99 step of ${significant(file.target.p99Ms)} ms`]),
    ...(file.target.dollarsPerHour === undefined ? [] : [`${significant(file.target.dollarsPerHour)} $ an hour`]),
  ];
  const tables = Object.entries(file.tables).map(([name, { rows, dim, optimizer, lookups, profile, count }]) =>
    `${name}: ${count === 1 ? "" : `${count} × `}${prefixed(rows)} rows of ${dim} weights, ${optimizer}, ${
      significant(lookups)
    } lookups a sample, ${
      typeof profile === "string" ? profile : `s = ${profile.s}${profile.q === undefined ? "" : `, q = ${profile.q}`}`
    }`
  );
  return {
    caption: "What was asked and assumed; the plan file has all of it",
    columns: [{ title: "what" }, { title: "value", words: true }],
    rows: [
      ["tables", tables.join("; ")],
      ["target", target.join(", ")],
      ["workers", `${file.workers}, ${file.batch} samples each in a step`],
      ["dense layers of a step", `${significant(file.computeMs)} ms`],
      ["trained on", answer.bill?.of ?? "not said"],
      [
        "core time of a row",
        file.software === undefined
          ? `${significant(file.perRowNs)} ns beside its memory, looked up or updated`
          : `as measured of our store: ${file.software}`,
      ],
      ["memory that tables may use", percentText(file.usableShare)],
      ["prices as of", file.prices],
    ],
  };
}

/** Machines that lost to better ones of their way, and why. */
export function leftTable({ left }: Asked): AskTable {
  return {
    caption: "Machines that others of their kind are better than, or that cannot be planned with",
    columns: [{ title: "machine" }, { title: "why not", words: true }],
    rows: left.map(([name, why]) => [signs(name), why]),
  };
}

/** What the chart shows of a way. */
export interface WayBar {
  /** The way in words. */
  readonly name: string;
  /** Parts of a month's bill of the machines that hold the tables, in the currency of the bill. */
  readonly parts: readonly { readonly kind: BillLine["kind"]; readonly perMonth: number }[];
  /** Why it has none. */
  readonly why?: string;
}

/** Bars of the ways that have a price: the machines that hold the tables; what trains is the same on all. */
export function wayBars({ ways, answer }: Pick<Asked, "ways" | "answer">): WayBar[] {
  return ways.flatMap(({ name, plan, win }: Way) => {
    if (plan === undefined) return [];
    if (win !== undefined) return [{ name: wayText(name), parts: [], why: "no price" }];
    const lines = billLines(plan, answer);
    const parts = LINE_KINDS.filter((kind) => kind !== "training").flatMap((kind) => {
      const perHour = lines.filter((one) => one.kind === kind).reduce((sum, one) => sum + one.perHour, 0);
      return perHour === 0 ? [] : [{ kind, perMonth: perHour * HOURS_PER_MONTH }];
    });
    return [{ name: wayText(name), parts }];
  });
}
