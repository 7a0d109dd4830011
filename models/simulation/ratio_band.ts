/**
 * How much faster one case is than another, with what is not known exactly.
 *
 * @module
 */

import type { SimulatedRecord } from "./record.ts";
import { engineDraw } from "./uncertainty.ts";

type Compared = Pick<SimulatedRecord, "samplesPerSecond" | "band">;

/**
 * The quotients of two cases' draws: what they share is alike in both, and says nothing of which is faster.
 *
 * @param more On each draw.
 */
function ratiosOf(a: Compared, b: Compared, more: (draw: number) => number): number[] | undefined {
  const [one, other] = [a.band, b.band];
  if ("why" in one || "why" in other || one.draws === undefined || other.draws === undefined) return undefined;
  const { draws } = other;
  const scale = a.samplesPerSecond / b.samplesPerSecond;
  return one.draws.map((factor, i) => scale * factor / (draws[i] ?? 1) * more(i)).sort((x, y) => x - y);
}

/** The 90 % band of how many times as fast `a` is as `b`; undefined where one has none. */
export function ratioBand(a: Compared, b: Compared): readonly [number, number] | undefined {
  return bandOf(a, b, () => 1);
}

/** The same with another range of the engine than the cases were drawn with. */
export function ratioBandWith(
  engine: number,
  a: SimulatedRecord,
  b: SimulatedRecord,
): readonly [number, number] | undefined {
  const other = ({ configuration, case: name }: SimulatedRecord, draw: number) =>
    engineDraw({ configuration, name }, draw, engine) / engineDraw({ configuration, name }, draw);
  return bandOf(a, b, (draw) => other(a, draw) / other(b, draw));
}

function bandOf(a: Compared, b: Compared, more: (draw: number) => number): readonly [number, number] | undefined {
  const ratios = ratiosOf(a, b, more);
  if (ratios !== undefined) {
    const at = (q: number) => ratios[Math.min(ratios.length - 1, Math.floor(q * ratios.length))] ?? 1;
    return [at(0.05), at(0.95)];
  }
  if ("why" in a.band || "why" in b.band) return undefined;
  const scale = a.samplesPerSecond / b.samplesPerSecond;
  return [scale * a.band.low / b.band.high, scale * a.band.high / b.band.low];
}
