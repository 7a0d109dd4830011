import { scenarioSchemaJson, SCHEMA_FILE, simulationSchemaJson } from "../../scenarios/emit_schema.ts";
import { assert, assertEquals } from "../assert.ts";

Deno.test("scenario.schema.json is current", async () => {
  const kept = await Deno.readTextFile(SCHEMA_FILE);
  assertEquals(JSON.parse(kept), JSON.parse(scenarioSchemaJson()), 'run "deno task tierbench schema --write"');
});

interface Node {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node | false;
  readonly anyOf?: readonly Node[];
  readonly items?: Node;
}

function undescribed(node: Node, path: string): string[] {
  const fields = Object.entries(node.properties ?? {}).flatMap(([name, field]) => [
    ...(field.description === undefined ? [`${path}.${name}`] : []),
    ...undescribed(field, `${path}.${name}`),
  ]);
  const others = [node.additionalProperties || undefined, node.items, ...node.anyOf ?? []];
  return [...fields, ...others.flatMap((other) => other === undefined ? [] : undescribed(other, path))];
}

Deno.test("every field of a simulation has a description for editors", () => {
  assertEquals(undescribed(JSON.parse(simulationSchemaJson()) as Node, ""), []);
});

Deno.test("every field of a scenario has a description for editors", () => {
  const schema = JSON.parse(scenarioSchemaJson()) as Node;
  assertEquals(undescribed(schema, ""), []);
  assert(Object.keys(schema.properties ?? {}).length > 10);
});
