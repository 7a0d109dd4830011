/**
 * What the schemas of single fields are made of: numbers with their limits, words, and a description for editors.
 *
 * @module
 */

import { oneOf } from "./one_of.ts";
import * as v from "./valibot.ts";

/** A schema with the text that editors show. */
export function described<S extends v.GenericSchema>(schema: S, text: string): v.SchemaWithPipe<
  readonly [
    S,
    v.DescriptionAction<v.InferOutput<S>, string>,
  ]
> {
  return v.pipe(schema, v.description(text));
}

/** A whole number within limits. */
export function whole(text: string, min: number, max: number): v.GenericSchema<number> {
  const message = `expected a whole number from ${min} to ${max}`;
  return described(
    v.pipe(v.number(message), v.integer(message), v.minValue(min, message), v.maxValue(max, message)),
    text,
  );
}

/** A number within limits. */
export function real(text: string, min: number, max: number): v.GenericSchema<number> {
  const message = `expected a number from ${min} to ${max}`;
  return described(v.pipe(v.number(message), v.minValue(min, message), v.maxValue(max, message)), text);
}

/** True or false. */
export function flag(text: string): v.GenericSchema<boolean> {
  return described(v.boolean("expected true or false"), text);
}

/** A value, or the word "auto". */
export function auto<T>(schema: v.GenericSchema<T>, text: string): v.GenericSchema<T | "auto"> {
  return described(
    oneOf([v.literal("auto"), schema], (input) => typeof input === "string" && !/^\d/.test(input) ? 0 : 1),
    text,
  ) as v.GenericSchema<T | "auto">;
}

/** Widths of layers, one at least. */
export function widths(text: string, most: number): v.GenericSchema<number[]> {
  return described(
    v.pipe(
      v.array(whole("Width of a hidden layer.", 1, 16_384)),
      v.minLength(1, "expected at least one layer"),
      v.maxLength(most, `expected at most ${most} layers`),
    ),
    text,
  );
}
