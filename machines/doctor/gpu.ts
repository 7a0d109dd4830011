/**
 * Graphics cards.
 *
 * @module
 */

import type { Facts } from "../inventory/parts.ts";
import { type DoctorLine, line } from "./lines.ts";

/** Findings. */
export function gpuLines(facts: Facts): DoctorLine[] {
  const models = Object.entries(facts).filter(([key]) => /^gpu\.nvidia\..*\.model$/.test(key)).map(([, model]) =>
    model
  );
  const cards = Object.entries(facts).filter(([key]) => /^gpu\.card\d+\.driver$/.test(key))
    .map(([key, driver]) => line(key.split(".")[1] ?? "card", `driver ${driver}`));
  const lines = [...models.map((model) => line("NVIDIA", model)), ...cards];
  return lines.length > 0 ? lines : [line("GPU", "none", "note")];
}
