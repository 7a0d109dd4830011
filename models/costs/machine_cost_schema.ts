/**
 * How files say what a machine costs; the types are those of `machine_cost.ts`.
 *
 * @module
 */

import { described, real, whole } from "../../base/schema_parts.ts";
import { SIZE_PATTERN } from "../../base/units.ts";
import * as v from "../../base/valibot.ts";
import type { MachineCost } from "./machine_cost.ts";

const SIZE_FORM = 'expected a size such as "64 GB"';
const DATE_FORM = 'expected a date such as "2026-11"';
const CURRENCY_FORM = 'expected a currency such as "EUR"';
const FORM =
  'expected a machine of the price book, such as "AWS r7i.24xlarge", { pricePerHour, date } or { components }';

const parts = (text: string) =>
  v.exactOptional(described(
    v.strictObject({
      size: described(
        v.union([
          v.pipe(v.string(SIZE_FORM), v.regex(SIZE_PATTERN, SIZE_FORM)),
          v.pipe(v.number(SIZE_FORM), v.integer(SIZE_FORM), v.minValue(1, SIZE_FORM)),
        ], SIZE_FORM),
        "One of them.",
      ),
      count: v.exactOptional(whole("How many. Default: as many as the rows need, a tenth left free.", 1, 4096)),
      by: v.exactOptional(whole("They come by so many, as channels are filled alike. Default 1.", 1, 256)),
      medium: v.exactOptional(described(v.picklist(["DDR4", "DDR5"]), 'Of DRAM: which. Default "DDR5".')),
    }),
    text,
  ));

/** Date of a price. */
export const priceDate: v.GenericSchema<string> = v.pipe(
  v.string(DATE_FORM),
  v.regex(/^\d{4}(-(0[1-9]|1[0-2])(-\d{2})?)?$/, DATE_FORM),
);

/** Validates what {@linkcode MachineCost} describes. */
export const machineCostSchema: v.GenericSchema<MachineCost> = v.union([
  v.pipe(v.string(FORM), v.minLength(1, FORM)),
  v.strictObject({
    pricePerHour: real("An hour of one.", 1e-6, 1e9),
    date: described(priceDate, "When that price was true."),
    currency: v.exactOptional(described(
      v.pipe(v.string(CURRENCY_FORM), v.regex(/^[A-Z]{3}$/, CURRENCY_FORM)),
      'What it is in. Default "USD".',
    )),
  }),
  v.strictObject({
    components: described(
      v.strictObject({
        dram: parts("DRAM modules."),
        pmem: parts("PMem modules."),
        cxl: parts("CXL memory cards."),
        nvme: parts("NVMe drives."),
        hbm: parts("HBM."),
      }),
      "What a server of one's own is built of, by kind of part.",
    ),
  }),
], FORM);
