/**
 * What the cases would cost if something were different: the same pricing as the report's, with other inputs. The page
 * computes with this very module.
 *
 * @module
 */

import { paretoLine } from "../summary/pareto.ts";
import { priceCases, type Priced } from "../summary/pricing.ts";
import { mapEstimate } from "../statistics/bootstrap.ts";
import { OWNED_ITEMS } from "../../models/costs/owned_machines.ts";
import type { PriceBook } from "../../models/costs/price_book.ts";
import type { WhatIfBase, WhatIfCase } from "./base.ts";
import { missesAt } from "../summary/miss_curve.ts";
import { MODULES, PRICE, type WhatIfState } from "./knobs.ts";

/** The cases at other inputs. */
export interface WhatIf {
  readonly cases: readonly Priced<WhatIfCase>[];
  /** Names of the cases that no other beats in both speed and cost, of those with a cost. */
  readonly line: readonly string[];
}

/** Prices the cases of a report again with what was changed. Nothing changed gives the report's figures. */
export function whatIf(base: WhatIfBase, state: WhatIfState): WhatIf {
  const number = (id: string): number | undefined => typeof state[id] === "number" ? state[id] : undefined;
  const { cost } = base;
  const size = number("size");
  const worker = number("worker");
  const traffic = number("traffic");
  const { cases } = priceCases(
    cached(base.cases, number("cache")),
    {
      cost: {
        ...cost,
        model: typeof state["model"] === "string" ? state["model"] : cost.model,
        boundary: (state["boundary"] ?? cost.boundary) as typeof cost.boundary,
        priceForBytes: size === undefined ? cost.priceForBytes : size * 1e9,
        bill: worker === undefined ? cost.bill : { ...cost.bill, worker },
      },
    },
    repriced(base.book, state),
    traffic === undefined ? undefined : traffic * 1e3,
  );
  const points = cases.flatMap(({ name, throughput, cost }) =>
    throughput === undefined || cost === undefined
      ? []
      : [{ name, rate: throughput.value, cost: cost.perMillion.value }]
  );
  return { cases, line: paretoLine(points).map(({ name }) => name) };
}

/** The book with the prices that were changed. */
function repriced({ instances, items }: PriceBook, state: WhatIfState): PriceBook {
  const changed = new Map(
    Object.entries(OWNED_ITEMS).flatMap(([id, name]) => {
      const value = state[id];
      const share = id === "utilisation" || id === "capitalRate" ? 100 : 1;
      return typeof value === "number" ? [[name, value / share] as const] : [];
    }),
  );
  return {
    instances: instances.map((one) => {
      const price = one.role === "memory" ? state[`${PRICE}${one.name}`] : undefined;
      if (typeof price !== "number") return one;
      const { bought: _, ...rented } = one; // the price is stated now and follows from no purchase
      return { ...rented, pricePerHour: price };
    }),
    items: items.map((item) => {
      const factor = item.unit === "GB" && item.medium !== undefined ? state[`${MODULES}${item.medium}`] : undefined;
      const value = changed.get(item.item) ?? (typeof factor === "number" ? item.value * factor : undefined);
      return value === undefined ? item : { ...item, value, low: value, high: value };
    }),
  };
}

/**
 * The cases with DRAM for another share of their rows. The time that a case takes over DRAM is taken to be in proportion to
 * its misses; a case that is not slower than DRAM, or has no curve, keeps its speed.
 *
 * @param percent Share of the row bytes, in percent.
 */
function cached(cases: readonly WhatIfCase[], percent: number | undefined): readonly WhatIfCase[] {
  if (percent === undefined) return cases;
  return cases.map((one) => {
    const { cache, relative, throughput } = one;
    if (cache === undefined || relative === undefined || throughput === undefined) return one;
    const share = percent / 100;
    const before = missesAt(cache, cache.share);
    const misses = before === 0 ? 1 : missesAt(cache, share) / before;
    const over = (speed: number): number => Math.max(0, 1 / speed - 1);
    const changed = (speed: number): number => speed >= 1 ? speed : 1 / (1 + over(speed) * misses);
    const faster = changed(relative.value) / relative.value;
    return {
      ...one,
      cacheShare: share,
      relative: mapEstimate(relative, changed),
      throughput: mapEstimate(throughput, (rate) => rate * faster),
    };
  });
}
