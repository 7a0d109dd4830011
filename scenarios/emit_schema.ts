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
import { simulationSchema } from "./simulation/schema.ts";

/** Where the schema is kept. */
export const SCHEMA_FILE: string = fileURLToPath(new URL("./scenario.schema.json", import.meta.url));

/** Where the schema of simulations is kept. */
export const SIMULATION_SCHEMA_FILE: string = fileURLToPath(new URL("./simulation.schema.json", import.meta.url));

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
  return schemaText(scenarioSchema, "tierbench scenario");
}

/** The JSON Schema (draft 7) of a simulation, as text. */
export function simulationSchemaJson(): string {
  return schemaText(simulationSchema, "tierbench simulation");
}

function schemaText(of: Parameters<typeof toJsonSchema>[0], title: string): string {
  const { $schema, ...schema } = convert(of);
  // The emitter collects definitions that only references would use; unions are written out, so there are none.
  const withoutDefinitions = (key: string, value: unknown) =>
    key === "$defs" || key === "definitions" ? undefined : value;
  const titled = { $schema, title, ...schema };
  return `${JSON.stringify(titled, withoutDefinitions, 2)}\n`;
}

if (import.meta.main) {
  await Deno.writeTextFile(SCHEMA_FILE, scenarioSchemaJson());
  await Deno.writeTextFile(SIMULATION_SCHEMA_FILE, simulationSchemaJson());
}
