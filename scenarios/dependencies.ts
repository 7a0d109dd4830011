import type { RunDependencies } from "./prepare.ts";
/** tmp */
export function defaultDependencies(): RunDependencies {
  throw new Error("not yet");
}
