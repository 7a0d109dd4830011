/**
 * Answers of `--json` against their schemas, for tests: every field that is printed must be in the schema, so that none can be
 * added without it.
 *
 * @module
 */

import { Ajv } from "ajv";
import { answerSchema, type JsonSchema, readAnswerSchemas } from "../../cli/answers_schema.ts";

/** A schema that allows no field that it does not name. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== "object" || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, strict(part)]));
  return "properties" in schema && !("additionalProperties" in schema)
    ? { ...parts, additionalProperties: false }
    : parts;
}

const schemas = await readAnswerSchemas();
const validators = new Map<string, (value: unknown) => string>();

/** What is wrong with a verb's answer; empty if nothing is. */
export function faultsOf(verb: string, value: unknown): string {
  let validate = validators.get(verb);
  if (validate === undefined) {
    const schema = answerSchema(verb, schemas);
    if (schema === undefined) return `${verb} has no schema`;
    const ajv = new Ajv({ strict: false }), compiled = ajv.compile(strict(schema) as JsonSchema);
    validate = (value) => compiled(value) ? "" : `${verb}: ${ajv.errorsText(compiled.errors)}`;
    validators.set(verb, validate);
  }
  return validate(value);
}

/** Compares what a verb printed with its schema: one value, or of `run` a value a line. @throws {Error} if they differ. */
export function checkAnswer(verb: string, out: string): void {
  const values = verb === "run" && out.startsWith('{"type":') ? out.trimEnd().split("\n") : [out];
  const faults = values.map((text) => faultsOf(verb, JSON.parse(text))).filter((fault) => fault !== "");
  if (faults.length > 0) throw new Error(`What is printed differs from its schema: ${faults[0]}`);
}
