import { fileURLToPath } from "node:url";
import { type DocumentName, DOCUMENTS, schemaFile, schemaJson } from "../../scenarios/emit_schema.ts";
import { assert, assertEquals } from "../assert.ts";

for (const document of DOCUMENTS) {
  Deno.test(`${document}.schema.json is current`, async () => {
    const kept = JSON.parse(await Deno.readTextFile(schemaFile(document))) as { readonly title: string };
    assertEquals(kept, JSON.parse(schemaJson(document)), 'run "deno task schema"');
    assertEquals(kept.title, `tierbench ${document}`);
  });

  Deno.test(`every field of a ${document} has a description for editors`, () => {
    const schema = JSON.parse(schemaJson(document)) as Node;
    assertEquals(undescribed(schema, ""), []);
    assert(Object.keys(schema.properties ?? {}).length > 10);
  });
}

Deno.test("the $schema of every shipped document leads to the schema of its kind", async () => {
  const folder = new URL("../../scenarios/", import.meta.url);
  const files = ["", "plans/"].flatMap((under) =>
    [...Deno.readDirSync(new URL(under, folder))].filter(({ name }) => name.endsWith(".jsonc"))
      .map(({ name }) => new URL(under + name, folder))
  );
  assert(files.length > 10);
  for (const file of files) {
    const text = await Deno.readTextFile(file);
    const kind = /^ {2}"kind": "(\w+)"/m.exec(text)?.[1] ?? "scenario";
    const schema = /^ {2}"\$schema": "([^"]+)"/m.exec(text)?.[1] ?? "";
    assertEquals(fileURLToPath(new URL(schema, file)), schemaFile(kind as DocumentName), file.pathname);
  }
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
