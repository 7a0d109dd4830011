/**
 * What was changed, as the end of an address: `#what-if?size=2000&boundary=workers`.
 *
 * @module
 */

import { allowed, type Knob, type WhatIfState } from "./knobs.ts";

const LEAD = "#what-if";

/** The hash of a state. */
export function hashOf(state: WhatIfState): string {
  const parts = Object.entries(state).map(([id, value]) => `${encodeURIComponent(id)}=${encodeURIComponent(value)}`);
  return parts.length === 0 ? LEAD : `${LEAD}?${parts.join("&")}`;
}

/**
 * The state of a hash, and what of it could not be used, in words.
 *
 * @returns Undefined for a hash that is about something else.
 */
export function stateOf(
  hash: string,
  knobs: readonly Knob[],
): { readonly state: WhatIfState; readonly ignored: readonly string[] } | undefined {
  if (hash !== LEAD && !hash.startsWith(`${LEAD}?`)) return undefined;
  const state: Record<string, number | string> = {};
  const ignored: string[] = [];
  for (const part of hash.slice(LEAD.length + 1).split("&").filter((text) => text !== "")) {
    const at = part.indexOf("=");
    const [id, text] = [decoded(part.slice(0, Math.max(0, at))), decoded(part.slice(at + 1))];
    const knob = knobs.find((one) => one.id === id);
    const value = knob?.kind === "choice" ? text : text === undefined || text.trim() === "" ? NaN : Number(text);
    if (knob === undefined || value === undefined || !allowed(knob, value)) ignored.push(part);
    else if (value !== knob.value) state[knob.id] = value;
  }
  return { state, ignored };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
