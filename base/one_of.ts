import * as v from "./valibot.ts";

const OPTIONS = new WeakMap<object, readonly v.GenericSchema[]>();

/**
 * A union whose option is chosen by looking at the input, so that an error speaks of the option that was meant
 * instead of all of them.
 *
 * @param options The schemas of the union.
 * @param pick The position of the option that an input means; must not throw for any input.
 */
export function oneOf<const T extends readonly v.GenericSchema[]>(
  options: T,
  pick: (input: unknown) => number,
): v.GenericSchema<v.InferOutput<T[number]>> {
  const schema = v.lazy((input) => options[pick(input)] ?? options[0] ?? v.never());
  OPTIONS.set(schema.getter, options);
  return schema as v.GenericSchema<v.InferOutput<T[number]>>;
}

/** The options of a schema made by {@linkcode oneOf}; undefined for other schemas. */
export function optionsOf(schema: object): readonly v.GenericSchema[] | undefined {
  const getter = (schema as { readonly getter?: object }).getter;
  return getter === undefined ? undefined : OPTIONS.get(getter);
}
