/**
 * The dated file of a medium of this machine: what `tierbench calibrate` writes and `loadMedia` reads.
 *
 * @module
 */

import type { MachineRecord } from "../../machines/machine.ts";
import { isVirtual } from "../../machines/ways.ts";
import type { Measured } from "../media/measured.ts";
import { down, short, up } from "./digits.ts";
import { FINEST, type FittedMedium } from "./fit_medium.ts";
import { median } from "../../base/statistics.ts";
import { orderInterval, type SweptPoint } from "./sweep.ts";

/** Where and when something was measured. */
export function provenance(
  machine: MachineRecord,
  commands: readonly string[],
  date: Date,
): Pick<Measured, "host" | "date" | "machine" | "virtual" | "commands"> {
  return {
    host: Deno.hostname(),
    date: date.toISOString().slice(0, 10),
    machine: {
      cpu: machine.cpu,
      cpus: String(machine.cpus),
      kernel: machine.kernel,
      memory: String(machine.memoryBytes),
      ...(machine.facts["cpu.hypervisor"] === undefined ? {} : { hypervisor: machine.facts["cpu.hypervisor"] }),
    },
    virtual: isVirtual(machine.facts),
    commands,
  };
}

/** What a medium is called, and what it is made of. */
export interface MediumLabel {
  /** Its name, and that of its file. */
  readonly name: string;
  /** What it is made of. */
  readonly kind: "dram" | "pmem" | "cxl" | "hbm" | "ssd";
  /** One sentence for people. */
  readonly about: string;
  /** Bytes that it holds, where the machine says. */
  readonly capacity?: number;
}

/** The text of the file, which is a media model by path. */
export function mediumText(
  { name, kind, about, capacity }: MediumLabel,
  points: readonly SweptPoint[],
  { parameters, figures, answers }: FittedMedium,
  where: ReturnType<typeof provenance>,
): string {
  const written = Object.entries(parameters).map(([key, { value, low, high, how }]) => {
    const ends = low === high ? {} : { low: down(low), high: up(high) };
    return [key, { value: short(value), ...ends, from: [], how }];
  });
  const rows = points.map(({ query, kind, values }, i) => {
    const [low, high] = orderInterval(values);
    const ends = { low: down(low * (1 - FINEST)), high: up(high * (1 + FINEST)) };
    return { kind, ...query, value: short(median(values)), ...ends, model: short(answers[i] ?? NaN) };
  });
  const document = {
    name,
    about,
    kind,
    parameters: {
      ...(capacity === undefined ? {} : { capacity: { value: capacity, from: [], how: "as the machine says" } }),
      ...Object.fromEntries(written),
    },
    measured: {
      ...where,
      figures: Object.fromEntries(Object.entries(figures).map(([of, one]) => [of, { ...one, factor: up(one.factor) }])),
      points: rows,
    },
  };
  const text = JSON.stringify(document, undefined, 2).replaceAll(
    /\{\s+("(?:kind|value)": [^{}]*?)\s+\}/g,
    (_, inner) => `{ ${String(inner).replaceAll(/\s*\n\s*/g, " ")} }`,
  );
  const virtual = where.virtual
    ? "// Measured in a virtual machine: what its memory and drives are made of, its host decides. Not to be believed.\n"
    : "";
  return `// Measured by tierbench calibrate; numbers are those of native/media/media.h, low and high their 90 % intervals.\n${virtual}${text}\n`;
}
