/**
 * The schema of what a scenario says about checkpoints.
 *
 * @module
 */

import { oneOf } from "../base/one_of.ts";
import { described } from "../base/schema_parts.ts";
import * as v from "../base/valibot.ts";
import type { CheckpointSchedule } from "./scenario.ts";

const INTERVAL_FORM = 'expected "none", a whole number of steps, or a share of them between 0 and 1';
const PATH_FORM = 'expected a directory or "auto"';

const interval = oneOf(
  [
    v.literal("none", INTERVAL_FORM),
    v.pipe(
      v.number(INTERVAL_FORM),
      v.check((n) => n > 0 && n <= 1e9 && (n < 1 || Number.isInteger(n)), INTERVAL_FORM),
    ),
  ],
  (input) => typeof input === "number" ? 1 : 0,
);

/** Field `checkpoint`. */
export const checkpoint: v.GenericSchema<CheckpointSchedule> = described(
  v.strictObject({
    interval: v.exactOptional(described(
      interval,
      'Steps between two checkpoints, or, below 1, that share of the counted steps: 0.25 is four of them. "none": none. ' +
        'Default "none".',
    )),
    kind: v.exactOptional(described(
      v.picklist(["full", "delta"]),
      '"full": every row each time; "delta": after a first full one, what changed since the one before. Default "full".',
    )),
    path: v.exactOptional(described(
      v.pipe(v.string(PATH_FORM), v.minLength(1, PATH_FORM)),
      'Directory on the disk that they are written to, or "auto": the project\'s cache folder. Each sample has a folder of ' +
        'its own in it, removed at its end. Default "auto".',
    )),
  }),
  "Checkpoints that samples write while they train; at its end each sample is restored from the newest of them.",
) as v.GenericSchema<CheckpointSchedule>;
