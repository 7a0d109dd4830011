/**
 * Cases of the lab: tests that need guests.
 *
 * @module
 */

import { findImage } from "./image/image.ts";

/** Set by `deno task lab`: a case that cannot run fails. Elsewhere it is skipped, with the reason in its name. */
export const REQUIRED = "TIERBENCH_LAB";

async function whyNot(): Promise<string | undefined> {
  try {
    await new Deno.Command("qemu-system-x86_64", { args: ["--version"], stdin: "null" }).output();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return "no qemu-system-x86_64";
  }
  return await findImage() === undefined ? "no up-to-date image" : undefined;
}

const reason = Deno.env.get(REQUIRED) === undefined ? await whyNot() : undefined;

/** Registers a case, as `Deno.test` does. */
export function labCase(name: string, test: (t: Deno.TestContext) => Promise<void>): void {
  const skipped = reason === undefined ? "" : ` (skipped: ${reason}; "deno task lab" gets it)`;
  Deno.test(`lab: ${name}${skipped}`, { ignore: reason !== undefined }, test);
}
