/**
 * Money: machines, prices with their sources, how the run was scaled, and what would change the answer.
 *
 * @module
 */

import { bytesText, decimalBytesText } from "../../base/bytes.ts";
import { percentText, significant } from "../../base/numbers.ts";
import { rentWords } from "../summary/owning_words.ts";
import { changeText, estimateText, listText } from "../text/format.ts";
import type { CaseSummary, Pricing, Summary } from "../summary/summary_types.ts";
import { rangeText } from "../summary/claim_text.ts";
import { BOUNDARY_WORDS, boundaryText, HOURS_PER_MONTH, partsWithin } from "../../models/costs/bill.ts";
import { HOURS_PER_YEAR } from "../../models/costs/owned.ts";
import { dateText, isStale, MARK_WORDS, type Provenance } from "../../models/costs/price_book.ts";
import { breakEven } from "./break_even.ts";
import { html, type Markup } from "../text/markup.ts";
import { type Cell, type Column, estimateCell, kind, more, table } from "./parts.ts";

/** The cost section; says why when nothing could be priced. */
export function cost(summary: Summary): Markup | undefined {
  if (summary.cases.length === 0) return undefined;
  const missing = summary.cases.filter((one) => one.costMissing !== undefined);
  const reasons = missing.length === 0 ? undefined : html`
    <h3>Not priced</h3>
    <ul>${missing.map((one) => html`<li>${one.name}: ${one.costMissing}.</li>`)}</ul>
  `;
  const pricing = summary.pricing;
  const body = pricing === undefined ? undefined : priced(summary, pricing);
  return html`<section aria-labelledby="cost"><h2 id="cost" tabindex="-1">Cost</h2>${body}${reasons}</section>`;
}

function priced(summary: Summary, pricing: Pricing): Markup {
  const cases = summary.cases.filter((one) => one.cost !== undefined);
  const stale = pricing.stale
    ? html`
      <span class="warn">These prices are more than a year older than ${pricing.asOf}.</span>
    `
    : undefined;
  const own = pricing.ownFiles.length === 0
    ? ""
    : ` Rows of ${listText(pricing.ownFiles)} come before those of the price book.`;
  return html`<p>For a model with ${
    decimalBytesText(pricing.modelBytes)
  } of rows, the cheapest machines of ${pricing.provider} that hold it, at prices of ${pricing.dates} (the latest as of ${pricing.asOf}). In the bill: ${
    boundaryText(pricing.boundary)
  }.${own}${stale}</p>
<h3 id="change" tabindex="-1">What would change this</h3>${change(cases, pricing)}${
    more(
      "machines that hold the model, and how the run was scaled to it",
      html`${machines(cases, pricing)}${owning(cases, pricing)}<p>${pricing.scaling}</p>${others(pricing)}`,
    )
  }${boundaries(cases, pricing)}${breakEven(summary)}${
    more("every price used, with date, source and mark", prices(pricing))
  }`;
}

function machines(cases: readonly CaseSummary[], { sign }: Pricing): Markup {
  return table(
    "Machines that hold the model and what a million samples costs on them",
    [
      { title: "case" },
      { title: "kind", words: true },
      { title: "machines", words: true },
      { title: `${sign}/h` },
      { title: `bill, ${sign}/month` },
      { title: `${sign}/year` },
      { title: "memory bought ÷ needed" },
      { title: `${sign} per million samples` },
      { title: "saved against DRAM, %" },
    ],
    cases.map((one) => {
      const { offer, need, pricePerHour, perMillion, saved } = one.cost as NonNullable<CaseSummary["cost"]>;
      const shape = [
        offer.instance.vcpus === undefined ? "" : `${offer.instance.vcpus} vCPU`,
        `${offer.instance.dramGib} GiB DRAM`,
        offer.instance.pmemGib === 0 ? "" : `${offer.instance.pmemGib} GiB PMem`,
      ].filter((text) => text !== "").join(", ");
      const holds = need.pmemBytes > 0
        ? `needs ${bytesText(need.pmemBytes)} of PMem, ${bytesText(need.dramBytes)} of DRAM for index and policy`
        : `needs ${bytesText(need.dramBytes)}${need.memoryMode ? " of PMem, DRAM is its cache" : " of DRAM"}`;
      return [
        one.name,
        kind(one),
        html`${offer.machines} × ${offer.instance.name}<small>${shape}; ${holds}</small>`,
        significant(offer.pricePerHour),
        significant(pricePerHour * HOURS_PER_MONTH),
        significant(pricePerHour * HOURS_PER_YEAR),
        significant(offer.overBuy),
        estimateCell(perMillion),
        estimateCell(saved, 100),
      ];
    }),
  );
}

/** What it takes to own the machines; nothing where all are rented and none states its power. */
function owning(cases: readonly CaseSummary[], { sign }: Pricing): Markup | undefined {
  const rows = cases.flatMap(({ name, cost }) => cost?.owning === undefined ? [] : [[name, cost.owning] as const]);
  if (rows.length === 0) return undefined;
  return table(
    "What it takes to own the machines: payback is the months in which renting costs as much as the purchase and its power",
    [
      { title: "case" },
      { title: `to buy, ${sign}` },
      { title: "watts" },
      { title: "payback, months" },
      { title: "against renting", words: true },
    ],
    rows.map(([name, { purchase, watts, payback }]) => [
      name,
      purchase === undefined ? "rented" : significant(purchase),
      watts === undefined ? "not stated" : significant(watts),
      payback === undefined ? "–" : significant(payback.months),
      payback === undefined ? "–" : rentWords(payback.against),
    ]),
  );
}

/** Cases that a table has beside each other. */
const MOST_COLUMNS = 6;

/** The saving under every boundary of the bill. */
function boundaries(cases: readonly CaseSummary[], pricing: Pricing): Markup | undefined {
  const compared = cases.filter((one) => one.cost?.saved !== undefined);
  if (compared.length === 0) return undefined;
  const within = partsWithin(pricing.bill, pricing.boundary);
  const lines = compared[0]?.cost?.savedWithin ?? [];
  const holds = lines.map(({ boundary }, i) =>
    `${i === 0 ? "" : "+ "}${BOUNDARY_WORDS[boundary]}${boundary === pricing.boundary ? " (this report)" : ""}`
  );
  const bill: Column[] = [
    { title: "the bill holds", words: true },
    { title: `added, ${pricing.sign}/h` },
    { title: "of", words: true },
  ];
  const billed = (i: number): Cell[] => {
    const part = pricing.bill.find((one) => one.boundary === lines[i]?.boundary);
    if (part === undefined) return [holds[i] ?? "", "–", "–"];
    const added = part.perHour === undefined ? "no price" : significant(part.perHour);
    return [holds[i] ?? "", added, `${part.what}${part.missing === undefined ? "" : `: ${part.missing}`}`];
  };
  const saving = (one: CaseSummary, i: number): Cell => {
    const saved = one.cost?.savedWithin[i]?.saved;
    return saved === undefined ? "no price" : estimateCell(saved, 100);
  };
  const caption = "Saved against DRAM if the bill ended elsewhere, percent";
  // A column a case, as far as a sheet of paper has room for them; more cases have a line each.
  const tables = compared.length <= MOST_COLUMNS
    ? table(
      caption,
      [...bill, ...compared.map(({ name }) => ({ title: name }))],
      lines.map((_, i) => [...billed(i), ...compared.map((one) => saving(one, i))]),
    )
    : html`
      ${table("What each line of the bill adds", bill, lines.map((_, i) => billed(i)))}${table(
        caption,
        [{ title: "case" }, ...holds.map((title) => ({ title }))],
        compared.map((one) => [one.name, ...lines.map((_, i) => saving(one, i))]),
      )}
    `;
  return more(
    "what is in the bill, and the savings if it ended elsewhere",
    html`
      ${tables}<p
        class="note">Each line holds those above it. ${within.length === 0
          ? ""
          : "What both sides pay alike makes a saving smaller. "}The scenario's cost.boundary moves the boundary; cost.bill says how many workers, how much data, how many checkpoints.</p>
    `,
  );
}

function change(cases: readonly CaseSummary[], { sign }: Pricing): Markup {
  const compared = cases.filter((one) => one.cost?.saved !== undefined);
  if (compared.length === 0) return html`<p>Nothing is compared: there is no priced DRAM case.</p>`;
  const workers = compared[0]?.cost?.savedWithWorker.map(({ worker }) => worker) ?? [];
  return html`
    ${table(
      "Cost against DRAM if one thing were different, in percent of the DRAM cost",
      [
        { title: "case" },
        { title: "as priced" },
        { title: "memory sold to the byte" },
        ...workers.map((worker) => ({ title: `with workers of ${worker} ${sign}/h in the bill` })),
        { title: "cheaper while DRAM machines cost more than this multiple of their price" },
      ],
      compared.map((one) => {
        const { saved, savedWithoutOverBuy, savedWithWorker, flip } = one.cost as NonNullable<CaseSummary["cost"]>;
        return [
          one.name,
          saved === undefined ? "–" : changeText(-saved.value),
          savedWithoutOverBuy === undefined ? "–" : changeText(-savedWithoutOverBuy),
          ...savedWithWorker.map((at) => changeText(-at.saved)),
          flip === undefined ? "–" : estimateText(flip),
        ];
      }),
    )}${more(
      "what these columns mean",
      html`
        <p
          class="note">Memory sold to the byte: machines come in sizes, and part of a saving can be the size that happens to fit.
            Workers: training machines that every configuration rents alike; the more of the bill they are, the more speed counts and
            the less memory does. The multiple keeps the price of the PMem machine, which holds DRAM too, where it is.</p>
      `,
    )}
  `;
}

function others(pricing: Pricing): Markup | undefined {
  if (pricing.otherOffers.length === 0) return undefined;
  return html`<p class="note">Elsewhere, for scale and not compared: ${
    pricing.otherOffers.map(({ case: name, offer }) =>
      `${name} on ${offer.machines} × ${offer.instance.provider} ${offer.instance.name}, ${
        significant(offer.pricePerHour)
      } ${pricing.sign}/h (${dateText(offer.instance)}, ${MARK_WORDS[offer.instance.mark]})`
    ).join("; ")
  }.</p>`;
}

function prices(pricing: Pricing): Markup {
  const origin = (price: Provenance): (string | Markup)[] => [
    isStale(price, pricing.asOf)
      ? html`<span class="warn">${dateText(price)}, over a year old</span>`
      : dateText(price),
    price.region,
    `${price.mark}: ${MARK_WORDS[price.mark]}`,
    `${price.own ? `your file ${price.file}: ` : ""}${price.source}${price.note === "" ? "" : ` (${price.note})`}`,
  ];
  const columns = [
    { title: "date", words: true },
    { title: "region", words: true },
    { title: "mark", words: true },
    { title: "source", words: true },
  ];
  return html`
    ${table(
      "Machines in the price book",
      [{ title: "machine" }, { title: `${pricing.sign}/h` }, ...columns],
      pricing.instances.map((one) => [`${one.provider} ${one.name}`, significant(one.pricePerHour), ...origin(one)]),
    )}${table(
      "What memory, servers, power and storage have cost",
      [{ title: "item" }, { title: "price" }, ...columns],
      pricing.items.map((item) => [item.item, rangeText(item), ...origin(item)]),
    )}<p class="note">${pricing.model === "owned"
      ? "The machines above are computed from these."
      : "For context: they enter no figure of rented machines but storage."}</p><p
      class="note">At most ${percentText(pricing.usableShare)} of a machine's memory is given to tables.</p>
  `;
}
