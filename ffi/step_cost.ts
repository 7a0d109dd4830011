/**
 * What a training step costs, without running it: what `native/simulator/step_cost.h` makes of a simulation's options, as
 * values.
 *
 * @module
 */

import { message, readText } from "./errors.ts";
import { numberOf, parsePairs, trafficOf } from "./facts.ts";
import { native } from "./library.ts";
import { type NativeOptions, withConfig } from "./options.ts";

/** How long a part of a step holds something of the busiest machine. */
interface StepBusy {
  /** The part, as in a simulation: `lookup`, `dense`, `update`, ... */
  readonly kind: string;
  /** `cores`, a link, the lock, or the label of a medium, with `, writes` where they have a direction of their own. */
  readonly on: string;
  /** Number of the tier, where it is a medium. */
  readonly tier: number | undefined;
  /** How many of it there are. */
  readonly places: number;
  /** Picoseconds of all places together. */
  readonly ps: number;
}

/** What one training step costs. */
export interface StepCost {
  /** Picoseconds from the end of a step to the end of the next. */
  readonly stepPs: number;
  /** Over the network, of all machines. */
  readonly netBytes: number;
  /** Picoseconds from the start of each part to its end; other parts may be beside it. */
  readonly spans: Readonly<Record<string, number>>;
  /** What holds what for how long. */
  readonly busy: readonly StepBusy[];
  /** What moves in each tier of all machines. */
  readonly traffic: readonly {
    readonly tier: number;
    readonly op: "read" | "write";
    readonly bytes: number;
    readonly accesses: number;
  }[];
}

/** Room for what the library writes, so that it need not be asked twice. */
const BYTES = 1 << 15;

/**
 * What one step of a simulation costs.
 *
 * @param options Those of `ts_simulate`, see `native/include/tierstore.h`.
 * @throws {TierstoreError} `TS_EINVAL` for an option that is wrong, `TS_ENOMEM`.
 */
export function stepCost(options: NativeOptions): StepCost {
  const text = withConfig(options, (config) =>
    readText(
      "say what a step costs",
      (out, cap, needed) => native().ts_step_cost(config, out, cap, needed, message.bytes, message.capacity),
      BYTES,
    ));
  const of = <T>(word: string, make: (pairs: Readonly<Record<string, string>>) => T): T[] =>
    text.split("\n").filter((line) => line.startsWith(`${word} `))
      .map((line) => make(parsePairs(line.slice(word.length + 1))));
  const facts = parsePairs(text.split("\n").filter((line) => !line.includes(" ")).join(" "));
  return {
    stepPs: numberOf(facts, "step_ps"),
    netBytes: numberOf(facts, "net_bytes"),
    spans: Object.fromEntries(of("phase", (one) => [one["kind"] ?? "", numberOf(one, "span_ps")])),
    busy: of("busy", (one) => ({
      kind: one["kind"] ?? "",
      on: one["on"] ?? "",
      tier: one["tier"] === undefined ? undefined : numberOf(one, "tier"),
      places: numberOf(one, "places"),
      ps: numberOf(one, "ps"),
    })),
    traffic: of("traffic", trafficOf),
  };
}
