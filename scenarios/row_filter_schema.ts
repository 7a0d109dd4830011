/**
 * The schemas of admission, expiry and what rows record: of a workload, and of a single table.
 *
 * @module
 */

import { oneOf } from "../base/one_of.ts";
import { type Admission, type Expiry, RECORDED, type Recorded } from "../models/workloads/row_filter.ts";
import { described, real, whole } from "../base/schema_parts.ts";
import * as v from "../base/valibot.ts";

const frequency = v.exactOptional(
  whole("Lookups of a key that are not answered with a row. Default 1.", 1, 2 ** 30),
);
const defaultValue = v.exactOptional(real("What each weight of such a key is meanwhile. Default 0.", -3e38, 3e38));

const admission: v.GenericSchema<Admission> = oneOf(
  [
    v.literal("none", 'expected "none", or an object such as { "counter": { "frequency": 3 } }'),
    v.strictObject({
      counter: described(
        v.strictObject({ frequency, defaultValue }),
        "Counts lookups exactly, 16 bytes a key that waits (DeepRec: CounterFilter).",
      ),
    }),
    v.strictObject({
      bloom: described(
        v.strictObject({
          frequency,
          keys: v.exactOptional(whole("Keys that are expected. Default 1048576.", 1, 2 ** 40)),
          error: v.exactOptional(
            real("Probability of a wrong count once there are so many. Default 0.01.", 1e-12, 0.5),
          ),
          counterBits: v.exactOptional(
            described(v.picklist([8, 16, 32, 64]), "Bits of a counter. Default 32."),
          ),
          defaultValue,
        }),
        "Counts lookups in a counting Bloom filter of fixed size, which may count too much (DeepRec: CBFFilter).",
      ),
    }),
  ],
  (input) => typeof input !== "object" || input === null ? 0 : "bloom" in input ? 2 : 1,
) as v.GenericSchema<Admission>;

const expiry: v.GenericSchema<Expiry> = oneOf(
  [
    v.literal("none", 'expected "none", or an object such as { "steps": 1000 }'),
    v.pipe(
      v.strictObject({
        steps: v.exactOptional(
          whole("Steps without an update after which a row is removed (DeepRec: GlobalStepEvict).", 0, 1e15),
        ),
        l2: v.exactOptional(
          real("A row is removed whose weight is below this (DeepRec: L2WeightEvict).", 0, 1e300),
        ),
        l2Form: v.exactOptional(described(
          v.picklist(["half-squared", "norm"]),
          'What "l2" is compared with: half the sum of squared weights, or the root of the sum. Default "half-squared".',
        )),
        l2Every: v.exactOptional(
          whole(
            'Rows are judged by "l2" at the beginning of each step that is a multiple of this. Default 1000.',
            1,
            1e15,
          ),
        ),
      }),
      v.check(({ steps, l2 }) => steps !== undefined || l2 !== undefined, 'expected "steps", "l2" or both'),
      v.check(({ l2, l2Form }) => l2Form === undefined || l2 !== undefined, 'expected "l2" beside "l2Form"'),
      v.check(({ l2, l2Every }) => l2Every === undefined || l2 !== undefined, 'expected "l2" beside "l2Every"'),
    ),
  ],
  (input) => typeof input === "object" && input !== null ? 1 : 0,
) as v.GenericSchema<Expiry>;

const record: v.GenericSchema<Recorded[]> = v.array(v.picklist(RECORDED));

/** The fields, of a workload and of each table. */
export const rowFilter: {
  readonly admission: v.ExactOptionalSchema<v.GenericSchema<Admission>, undefined>;
  readonly expiry: v.ExactOptionalSchema<v.GenericSchema<Expiry>, undefined>;
  readonly record: v.ExactOptionalSchema<v.GenericSchema<Recorded[]>, undefined>;
} = {
  admission: v.exactOptional(described(
    admission,
    "Which keys get a row (DeepRec: --ev_filter): those that were looked up more often than a frequency. Others are answered " +
      'with a default value and learn nothing. Tables with admission are not filled before the first step. Default "none".',
  )),
  expiry: v.exactOptional(described(
    expiry,
    'Which rows are removed for good (DeepRec: --ev_elimination), from whatever tier they are in. Default "none".',
  )),
  record: v.exactOptional(described(
    record,
    'What rows record: "frequency", their lookups, 4 bytes (DeepRec: TF_RECORD_FREQ); "version", the step of their last ' +
      'update, 8 bytes (TF_RECORD_VERSION), which "expiry" by steps has anyway. Default [].',
  )),
};
