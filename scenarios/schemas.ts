/**
 * The JSON Schemas of the files that people write. What makes them is loaded when one is asked for.
 *
 * @module
 */

import type { DocumentName } from "./emit_schema.ts";

export type { DocumentName } from "./emit_schema.ts";

/** The JSON Schema (draft 7) of a scenario, a simulation or a plan, as text: for editors. */
export async function documentSchema(document: DocumentName): Promise<string> {
  return (await import("./emit_schema.ts")).schemaJson(document);
}

/**
 * Writes the schemas that editors find beside the shipped files.
 *
 * @returns The paths of their files.
 */
export async function writeDocumentSchemas(): Promise<string[]> {
  const { DOCUMENTS, schemaFile, schemaJson } = await import("./emit_schema.ts");
  await Promise.all(DOCUMENTS.map((document) => Deno.writeTextFile(schemaFile(document), schemaJson(document))));
  return DOCUMENTS.map(schemaFile);
}
