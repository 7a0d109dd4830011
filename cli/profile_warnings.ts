import { lawLeavesOut, planProfileFaults, type Profile, profileFaults, type ResolvedPlanFile } from "../mod.ts";
import type { Terminal } from "./ui/terminal.ts";

/** Tells that a profile is known to be bad, and what its law of popularity, which is all that is used, leaves out. */
export function warnOfProfile(terminal: Terminal, profile: Profile, table: string | undefined): void {
  const used = profile.tables.find(({ name }) => table === undefined || name === table);
  for (const fault of profileFaults(profile, used?.name)) terminal.err(`warning  ${fault}\n`);
  const without = used === undefined ? [] : lawLeavesOut(used);
  if (without.length === 0) return;
  terminal.err(`note     of the profile "${profile.name}" popularity alone counts here: no ${without.join(", no ")}\n`);
}

/** Tells which profiles of a plan are known to be bad. */
export async function warnOfPlanProfiles(terminal: Terminal, file: ResolvedPlanFile): Promise<void> {
  for (const fault of await planProfileFaults(file)) terminal.err(`warning  ${fault}\n`);
}
