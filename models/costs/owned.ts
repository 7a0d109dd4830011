/**
 * Owned hardware: what a server costs an hour. Modules that can be bought, in populations that can be built; capital by
 * straight line or capital recovery; energy.
 *
 * @module
 */

import { HOURS_PER_MONTH } from "./bill.ts";

/** Hours in a year of 365 days. */
export const HOURS_PER_YEAR = 8760;

/**
 * Share of a price that is paid each year so that price and interest are paid after some years: r ÷ (1 − (1 + r)^−n).
 * At 0 % it is the straight line 1 ÷ n.
 *
 * @param rate Cost of capital a year, as a share: 0.08.
 * @param years Life of the hardware, above 0.
 */
export function capitalRecovery(rate: number, years: number): number {
  if (!(years > 0 && rate >= 0)) {
    throw new RangeError(
      `Cannot spread a price: ${years} years at ${rate} a year, more than 0 years and a rate of 0 or more are needed`,
    );
  }
  // Below the rounding of 1 + rate there is no interest to speak of, and the formula would divide rounding errors.
  return rate < Number.EPSILON ? 1 / years : rate / -Math.expm1(-years * Math.log1p(rate));
}

/** What power costs. */
export interface PowerPrice {
  /** Power of the building ÷ power of the machines: PUE. */
  readonly pue: number;
  /** $ a kWh. */
  readonly pricePerKWh: number;
}

/** $ a year of a load that never rests. @param watts Mean power. */
export function energyPerYear(watts: number, { pue, pricePerKWh }: PowerPrice): number {
  return watts / 1000 * pue * HOURS_PER_YEAR * pricePerKWh;
}

/**
 * Months of rent that pay a purchase: purchase ÷ (rent of what does the same work − power), months of 730 hours.
 *
 * @param rentPerHour An hour of the machines that would be rented instead.
 * @param energyPerHour An hour of the power of what is bought.
 * @returns Undefined: power alone costs as much as the rent.
 */
export function paybackMonths(purchase: number, rentPerHour: number, energyPerHour: number): number | undefined {
  const saved = (rentPerHour - energyPerHour) * HOURS_PER_MONTH;
  return saved > 0 ? purchase / saved : undefined;
}

/** How often drives are written from end to end in a day. @param capacity Bytes of the drives. */
export function driveWritesPerDay(bytesPerSecond: number, capacity: number): number {
  return bytesPerSecond * 86_400 / capacity;
}

/** What owned servers cost besides their memory. */
export interface OwnedRates extends PowerPrice {
  /** $ of a server without memory: CPUs, board, case. */
  readonly serverPrice: number;
  /** $ of its share of the network. */
  readonly networkPrice: number;
  /** Watts of a server without memory. */
  readonly serverWatts: number;
  /** Years. */
  readonly life: number;
  /** Cost of capital a year; 0 is a straight line. */
  readonly capitalRate: number;
  /** Share of the hours in which the server works for somebody, 0 < share ≤ 1. */
  readonly utilisation: number;
}

/** Parts of one kind in a server. */
export interface Part {
  /** `12 × 64 GB DDR5`. */
  readonly name: string;
  /** Parts of this kind in one server. */
  readonly count: number;
  /** $ of one. */
  readonly price: number;
  /** Watts of one. */
  readonly watts: number;
}

/** The hourly cost of a server, by what it is for. */
export interface OwnedCost {
  /** $ of everything bought. */
  readonly purchase: number;
  /** Watts of everything. */
  readonly watts: number;
  /** $ an hour in use: memory, the rest of the server, network, energy; they add up to `perHour`. */
  readonly terms: {
    readonly memory: number;
    readonly server: number;
    readonly network: number;
    readonly energy: number;
  };
  /** $ an hour in use. */
  readonly perHour: number;
}

/** What a server with these parts costs for an hour in which it is used. */
export function ownedCost(parts: readonly Part[], rates: OwnedRates): OwnedCost {
  const { utilisation } = rates;
  if (!(utilisation > 0 && utilisation <= 1)) {
    throw new RangeError(`Cannot price servers: their utilisation is ${utilisation}, above 0 and at most 1 is needed`);
  }
  const memory = parts.reduce((sum, { count, price }) => sum + count * price, 0);
  const watts = parts.reduce((sum, part) => sum + part.count * part.watts, rates.serverWatts);
  const hourly = capitalRecovery(rates.capitalRate, rates.life) / HOURS_PER_YEAR / utilisation;
  const terms = {
    memory: memory * hourly,
    server: rates.serverPrice * hourly,
    network: rates.networkPrice * hourly,
    energy: energyPerYear(watts, rates) / HOURS_PER_YEAR / utilisation,
  };
  return {
    purchase: memory + rates.serverPrice + rates.networkPrice,
    watts,
    terms,
    perHour: terms.memory + terms.server + terms.network + terms.energy,
  };
}
