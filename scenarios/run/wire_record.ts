/**
 * What is recorded of the bytes that a step would send to servers and back.
 *
 * @module
 */

import { wireBytes } from "../../models/simulation/wire.ts";
import type { SampleRecord } from "../record.ts";
import type { SpeedOutcome } from "./worker_protocol.ts";

/**
 * Bytes of a mean counted step over the network, by the function that knows what a step costs, for the rows that took a
 * step in the sample.
 *
 * @returns Nothing where no row took one.
 */
export async function wireRecord({ tables, stepNs }: SpeedOutcome): Promise<Pick<SampleRecord, "wire">> {
  const steps = stepNs.length;
  const used = tables.flatMap(({ dim, distinct }) => distinct > 0 ? [{ dim, distinct: distinct / steps }] : []);
  if (used.length === 0) return {};
  const distinctRows = used.reduce((sum, { distinct }) => sum + distinct, 0);
  return { wire: { distinctRows, ...await wireBytes(used) } };
}
