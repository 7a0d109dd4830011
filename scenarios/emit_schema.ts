/**
 * Emits `scenario.schema.json`, which gives editors the hovers and completions of scenario files. Not loaded when
 * scenarios run.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { toJsonSchema } from "@valibot/to-json-schema";
import { optionsOf } from "./one_of.ts";
import { scenarioSchema } from "./schema.ts";

/** Where the schema is kept. */
export const SCHEMA_FILE: string = fileURLToPath(new URL("./scenario.schema.json", import.meta.url));

type Converted = ReturnType<typeof toJsonSchema>;

function convert(schema: Parameters<typeof toJsonSchema>[0]): Converted {
  return toJsonSchema(schema, {
    typeMode: "input",
    errorMode: "ignore",
    overrideSchema: ({ valibotSchema }) => {
      const options = optionsOf(valibotSchema);
      return options === undefined ? undefined : { anyOf: options.map((option) => withoutDialect(convert(option))) };
    },
  });
}

function withoutDialect({ $schema: _, ...schema }: Converted): Converted {
  return schema;
}

/** The JSON Schema (draft 7) of a scenario, as text. */
export function scenarioSchemaJson(): string {
  const { $schema, ...schema } = convert(scenarioSchema);
  // The emitter collects definitions that only references would use; unions are written out, so there are none.
  const withoutDefinitions = (key: string, value: unknown) =>
    key === "$defs" || key === "definitions" ? undefined : value;
  const titled = { $schema, title: "tierbench scenario", ...schema };
  return `${JSON.stringify(titled, withoutDefinitions, 2)}\n`;
}

if (import.meta.main) await Deno.writeTextFile(SCHEMA_FILE, scenarioSchemaJson());
