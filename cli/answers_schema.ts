/**
 * The JSON Schemas of what verbs print with `--json`.
 *
 * @module
 */

import { fileURLToPath } from "node:url";

/** A JSON Schema (draft 7), or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Schemas of all verbs, and the definitions that they refer to. */
export interface AnswerSchemas {
  /** By the verb's name. */
  readonly verbs: Readonly<Record<string, JsonSchema>>;
  /** By name. */
  readonly definitions: Readonly<Record<string, JsonSchema>>;
}

/** Where they are kept. */
export const ANSWERS_FILE: string = fileURLToPath(new URL("answers.schema.json", import.meta.url));

/** Names of the definitions that a schema refers to, those of its definitions among them. */
function referred(schema: JsonSchema, { definitions }: AnswerSchemas, found: Set<string> = new Set()): Set<string> {
  for (const [, name] of JSON.stringify(schema).matchAll(/"\$ref":"#\/definitions\/(\w+)"/g)) {
    if (name === undefined || found.has(name)) continue;
    found.add(name);
    referred(definitions[name] ?? {}, { verbs: {}, definitions }, found);
  }
  return found;
}

/** The schemas as they are kept. */
export async function readAnswerSchemas(): Promise<AnswerSchemas> {
  return JSON.parse(await Deno.readTextFile(ANSWERS_FILE)) as AnswerSchemas;
}

/** The schema of a verb's answer, with its definitions; undefined if the verb has none. */
export function answerSchema(verb: string, schemas: AnswerSchemas): JsonSchema | undefined {
  const schema = schemas.verbs[verb];
  if (schema === undefined) return undefined;
  const names = [...referred(schema, schemas)].sort();
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: verb === "run" ? "a line of tierbench run --json" : `tierbench ${verb} --json`,
    ...schema,
    definitions: Object.fromEntries(names.map((name) => [name, schemas.definitions[name]])),
  };
}
