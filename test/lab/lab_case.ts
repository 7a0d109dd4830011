/**
 * Cases of the lab: tests that need guests.
 *
 * @module
 */

import { findImage, IMAGE_VARIABLE } from "./image/image.ts";

async function whyNot(): Promise<string | undefined> {
  try {
    await new Deno.Command("qemu-system-x86_64", { args: ["--version"], stdin: "null" }).output();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return "no qemu-system-x86_64";
  }
  return await findImage() === undefined ? "no up-to-date image" : undefined;
}

// Under "deno task lab", which sets this, a case that cannot run fails.
const reason = Deno.env.get(IMAGE_VARIABLE) === undefined ? await whyNot() : undefined;

/** What a case needs of this machine besides. */
export interface LabCaseOptions {
  /** It mounts and changes its root here. */
  readonly root?: boolean;
}

/** Registers a case, as `Deno.test` does. Without QEMU, image or what it needs it is skipped, with the reason in its name. */
export function labCase(
  name: string,
  test: (t: Deno.TestContext) => Promise<void>,
  { root = false }: LabCaseOptions = {},
): void {
  const why = reason !== undefined
    ? `${reason}; "deno task lab" gets it`
    : root && Deno.uid() !== 0
    ? "needs root"
    : "";
  Deno.test(why === "" ? `lab: ${name}` : `lab: ${name} (skipped: ${why})`, { ignore: why !== "" }, test);
}
