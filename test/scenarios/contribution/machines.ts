/** Machines and results for tests of contributions. TEST DATA: no machine has measured these figures. */

import "../../native_library.ts";
import { machineFacts } from "../../fixtures/machine_tree.ts";
import type { Identity } from "../../../scenarios/contribution/identity.ts";
import { runContributionWith } from "../../../scenarios/contribution/preset.ts";
import { availability, inspectMachine } from "../../../machines/machine.ts";
import type { Result } from "../../../scenarios/record.ts";
import type { RunScenarioOptions } from "../../../scenarios/run/run.ts";
import { type Fakes, fakes } from "../fakes.ts";

/** Facts of a captured machine. */
export const captured: typeof machineFacts = machineFacts;

/**
 * Two captured machines as one: `fsdax` with a DAX file system on region 0, and what `kmem` made of region 1, the memory
 * of node 3.
 */
export function both(): Record<string, string> {
  const nodes = Object.entries(captured("kmem")).filter(([key]) =>
    /^(node\.3|dax\.dax1\.0|pmem\.region1|pmem\.namespace1\.0)\./.test(key)
  );
  const plain = Object.entries(captured("fsdax")).filter(([key]) => !/^pmem\.(region1|namespace1)/.test(key));
  return Object.fromEntries([...plain, ...nodes]);
}

/** Somebody whose names stand in facts and errors below. */
export const ADA: Identity = {
  hosts: ["vault7.acme.example", "vault7"],
  users: ["adalovelace"],
  paths: ["/home/ada lovelace"],
};

/** What a test works with. */
export interface Bench extends Fakes {
  readonly folder: string;
  run(options?: RunScenarioOptions): Promise<Result>;
}

/** Small enough for fakes; the matrix stays. */
export const TINY: Readonly<Record<string, unknown>> = { "workload.steps": 5, "workload.batch": 64 };

/** Runs the preset with fakes on a machine of these facts. */
export async function onMachine(
  facts: Readonly<Record<string, string>>,
  body: (bench: Bench) => Promise<void>,
  behaviours: Record<number, string> = {},
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const made = fakes(folder, behaviours);
    const dependencies = { ...made.dependencies, inspectMachine: () => inspectMachine(facts), availability };
    await body({
      ...made,
      dependencies,
      folder,
      run: (options = {}) => runContributionWith(dependencies, { out: folder, set: TINY, ...options }),
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
