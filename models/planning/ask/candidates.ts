/**
 * Servers to choose from where a question names media and no machines: two sockets filled with the modules that the price book
 * has a price of, and beside them expanders, drives or PMem.
 *
 * Servers are the platforms of `models/costs/populations.ts`. Modules are those whose price is not more than a year old, if
 * there are such; else those with the latest price. Every module, card and drive is one that has a price, or the plan says
 * that it has none.
 *
 * @module
 */

import { monthIndex } from "../../costs/dates.ts";
import { type Platform, PLATFORMS } from "../../costs/populations.ts";
import { isStale, type Medium, modulePrice, type PriceBook } from "../../costs/price_book.ts";
import type { PlanFileMachine } from "../plan_file.ts";

/** Where rows may live, beside DRAM or in it alone. */
export type AskMedium = "dram" | "cxl" | "nvme" | "pmem";
/** Every {@linkcode AskMedium}. */
export const ASK_MEDIA: readonly AskMedium[] = ["dram", "cxl", "nvme", "pmem"];

/** Media models that stand for what servers are filled with. PMem has one for each size of a module. */
export const MODELS = {
  dram: "ddr5-4800-8ch",
  cxl: "cxl-type3-ddr4",
  nvme: "nvme-tlc",
  dramBesidePmem: "ddr4-2666-6ch",
} as const;

/** Expanders and drives of a server that are tried. */
const [CARDS, DRIVES] = [[1, 2, 4], [1, 2, 4, 8, 16]] as const;
/** The drive of the model, GB: tried also where the book has prices of larger ones alone, and then without a price. */
const MODELLED_DRIVE = 3840;
/** An expander where the book has a price of none by its size: that of the model, GiB. */
const MODELLED_CARD = 1024;

function platformWith(what: "cxl" | "pmem"): Platform {
  const found = PLATFORMS.find((one) => one[what] !== undefined);
  if (found === undefined) throw new RangeError(`Cannot build servers: no platform has ${what}`);
  return found;
}

/** Of some capacities those whose price is fresh, else those with the latest price, else all. */
function sold(dated: PriceBook, date: string, medium: Medium, sizes: readonly number[]): readonly number[] {
  const priced = sizes.flatMap((size) => {
    const price = modulePrice(dated, medium, size);
    return price === undefined ? [] : [{ size, price }];
  });
  if (priced.length === 0) return sizes;
  const fresh = priced.filter(({ price }) => !isStale(price, date));
  const latest = Math.max(...priced.map(({ price }) => monthIndex(price.to, "last")));
  const kept = fresh.length > 0 ? fresh : priced.filter(({ price }) => monthIndex(price.to, "last") === latest);
  return kept.map(({ size }) => size);
}

/** Capacities that the book names a price of. */
function capacities(dated: PriceBook, medium: Medium): number[] {
  const found = dated.items.filter((item) => item.medium === medium && item.unit === "GB");
  return [...new Set(found.flatMap(({ capacityGB }) => capacityGB ?? []))];
}

/** What servers are filled with: GB of one as sold, how many, and the words for it. */
interface Filled {
  readonly size: number;
  readonly count: number;
}

const words = ({ size, count }: Filled, of: string): string => `${count} x ${soldAs(size)} ${of}`;

/** Modules and cards come in powers of two, drives in powers of ten. */
function soldAs(size: number): string {
  const tera = size % 1024 === 0 ? size / 1024 : size / 1000;
  return tera >= 1 && Number.isInteger(tera * 100) ? `${tera} TB` : `${size} GB`;
}

const named = (...parts: readonly string[]): string => `server with ${parts.join(" and ")}`;

/**
 * The servers for some media.
 *
 * @param dated Prices as of the date.
 * @param holds Bytes that one device of a media model holds; undefined where its file does not say.
 */
export function candidates(
  among: readonly AskMedium[],
  dated: PriceBook,
  date: string,
  holds: (medium: string) => number | undefined,
): Record<string, PlanFileMachine> {
  const found: Record<string, PlanFileMachine> = {};
  const [modern, older] = [platformWith("cxl"), platformWith("pmem")];
  const channels = ({ sockets, channels }: Platform): number => sockets * channels;
  const cores = ({ vcpus }: Platform): number => vcpus / 2;
  const sizes = sold(dated, date, "DDR5", modern.dram.sizesGB);
  const least: Filled = { size: Math.min(...sizes), count: channels(modern) };
  const server = (platform: Platform) => ({ network: platform.networkGBs * 1e9, threads: cores(platform) });
  const dramTier = ({ size, count }: Filled, medium: string, { sockets }: Platform) => ({
    name: "DRAM",
    medium,
    size: `${size * count} GiB`,
    devices: sockets,
  });
  const dramParts = ({ size, count }: Filled, medium: "DDR4" | "DDR5") => ({ size: `${size} GiB`, count, medium });
  const base = {
    tier: dramTier(least, MODELS.dram, modern),
    parts: dramParts(least, "DDR5"),
    words: words(least, "DDR5"),
  };
  if (among.includes("dram")) {
    for (const size of sizes) {
      for (let slots = 1; slots <= modern.slots; slots++) {
        const dram = { size, count: slots * channels(modern) };
        found[named(words(dram, "DDR5"))] = {
          machine: { components: { dram: dramParts(dram, "DDR5") } },
          ...server(modern),
          tiers: [dramTier(dram, MODELS.dram, modern)],
        };
      }
    }
  }
  if (among.includes("cxl")) {
    const priced = capacities(dated, "CXL");
    for (const size of sold(dated, date, "CXL", priced.length === 0 ? [MODELLED_CARD] : priced)) {
      for (const count of CARDS.filter((count) => count <= (modern.cxl?.mostCards ?? 0))) {
        const bytes = size * count * 2 ** 30;
        found[named(base.words, words({ size, count }, "CXL"))] = {
          machine: { components: { dram: base.parts, cxl: { size: `${size} GiB`, count } } },
          ...server(modern),
          tiers: [
            base.tier,
            { name: "CXL", medium: MODELS.cxl, size: bytes, devices: devicesOf(bytes, holds(MODELS.cxl)) },
          ],
        };
      }
    }
  }
  if (among.includes("nvme")) {
    const priced = sold(dated, date, "NVMe", capacities(dated, "NVMe"));
    for (const size of priced.some((size) => size <= MODELLED_DRIVE) ? priced : [...priced, MODELLED_DRIVE]) {
      for (const count of DRIVES) {
        const bytes = Math.min(size * 1e9, holds(MODELS.nvme) ?? Infinity) * count;
        found[named(base.words, words({ size, count }, "NVMe"))] = {
          machine: { components: { dram: base.parts, nvme: { size: `${size} GB`, count } } },
          ...server(modern),
          tiers: [base.tier, { name: "SSD", medium: MODELS.nvme, size: bytes, devices: count, records: true }],
        };
      }
    }
  }
  if (among.includes("pmem") && older.pmem !== undefined) {
    const [dramSize = 64] = sold(dated, date, "DDR4", older.dram.sizesGB);
    const dram = { size: dramSize, count: channels(older) };
    for (const size of sold(dated, date, "PMem 100", older.pmem.sizesGB)) {
      const pmem = { size, count: older.sockets * Math.max(...older.pmem.perSocket) };
      found[named(words(dram, "DDR4"), words(pmem, "PMem"))] = {
        machine: { components: { dram: dramParts(dram, "DDR4"), pmem: { size: `${size} GB`, count: pmem.count } } },
        ...server(older),
        tiers: [
          dramTier(dram, MODELS.dramBesidePmem, older),
          {
            name: "PMEM",
            medium: `optane-100-6x${size}`,
            size: `${size * pmem.count} GB`,
            devices: older.sockets,
          },
        ],
      };
    }
  }
  return found;
}

function devicesOf(bytes: number, holds: number | undefined): number {
  return holds === undefined ? 1 : Math.max(1, Math.ceil(bytes / holds));
}
