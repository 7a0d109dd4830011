/**
 * Emits `scenario.schema.json`, `simulation.schema.json` and `plan.schema.json`, which give editors the hovers and
 * completions of these files. Not loaded when scenarios run.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { toJsonSchema } from "@valibot/to-json-schema";
import { optionsOf } from "../base/one_of.ts";
import { planSchema } from "../models/planning/plan_file.ts";
import { scenarioSchema } from "./schema.ts";
import { simulationSchema } from "../models/simulation/schema.ts";
import type * as v from "../base/valibot.ts";

/** Documents that people write and editors check. */
export type DocumentName = "scenario" | "simulation" | "plan";
/** Every {@linkcode DocumentName}. */
export const DOCUMENTS: readonly DocumentName[] = ["scenario", "simulation", "plan"];

const SCHEMAS: Readonly<Record<DocumentName, v.GenericSchema>> = {
  scenario: scenarioSchema,
  simulation: simulationSchema,
  plan: planSchema,
};

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

/** Where the schema of a document is kept. */
export function schemaFile(document: DocumentName): string {
  return fileURLToPath(new URL(`./${document}.schema.json`, import.meta.url));
}

/** The JSON Schema (draft 7) of a document, as text. */
export function schemaJson(document: DocumentName): string {
  const { $schema, ...schema } = convert(SCHEMAS[document]);
  // The emitter collects definitions that only references would use; unions are written out, so there are none.
  const withoutDefinitions = (key: string, value: unknown) =>
    key === "$defs" || key === "definitions" ? undefined : value;
  const titled = { $schema, title: `tierbench ${document}`, ...schema };
  return `${JSON.stringify(titled, withoutDefinitions, 2)}\n`;
}

if (import.meta.main) {
  for (const document of DOCUMENTS) await Deno.writeTextFile(schemaFile(document), schemaJson(document));
}
