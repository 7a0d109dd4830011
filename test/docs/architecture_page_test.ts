/** What docs/architecture.md names is there, and every folder of the project is named in it. */

import { assert, assertEquals } from "../assert.ts";

const root = new URL("../../", import.meta.url);
const PAGE = Deno.readTextFileSync(new URL("docs/architecture.md", root));
const GENERATED = ["native/build/", "reports/out/"];

/** Folders and files of the project, folders with a slash at their end. */
function* tree(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, root))) {
    const path = `${folder}${name}${isDirectory ? "/" : ""}`;
    if (name.startsWith(".") || name === "node_modules" || GENERATED.includes(path)) continue;
    yield path;
    if (isDirectory) yield* tree(path);
  }
}

/** Paths of a drawn tree: names at the beginning of lines, two spaces further in what is in the folder above. */
function drawn(text: string): string[] {
  const above: string[] = [];
  return text.split("\n").flatMap((line) => {
    const [, indent, name] = /^( *)(\S+) {2,}\S/.exec(line) ?? [];
    if (indent === undefined || name === undefined) return [];
    above.splice(indent.length / 2);
    above.push(name);
    return [above.join("")];
  });
}

const there = [...tree("")];
const house = drawn(/^## The house\n+```\n([^]*?)^```/m.exec(PAGE)?.[1] ?? "");

Deno.test("the house of docs/architecture.md has every folder but those that mirror others, and no other", () => {
  const folders = there.filter((path) => path.endsWith("/") && !path.startsWith("test/"));
  const missing = folders.filter((path) => !house.includes(path));
  assertEquals(missing, []);
  assertEquals(house.filter((path) => !there.includes(path)), []);
  assertEquals(new Set(house).size, house.length);
});

Deno.test("every path that docs/architecture.md names leads somewhere", () => {
  const named = [...PAGE.replaceAll(/^```[^]*?^```$/gm, "").matchAll(/`([\w.-]+(?:\/[\w.-]*)*)`/g)]
    .map(([, path = ""]) => path)
    .filter((path) => path.endsWith("/") || /^[\w/.-]+\.(c|h|ts|jsonc?|md|csv|css|js|txt)$/.test(path));
  assert(named.length > 80, `${named.length} paths`);
  const names = new Set(there.map((path) => path.slice(path.lastIndexOf("/") + 1)));
  // With a slash it is a path from the root; without one, the name of a file that has it alone or with its folder before.
  const leads = (path: string) => path.includes("/") ? there.includes(path) : names.has(path);
  assertEquals(named.filter((path) => !leads(path)), []);
});

Deno.test("no list of how to add has more than seven places", () => {
  const [, lists = ""] = /^## How to add\n([^]*?)^## /m.exec(PAGE) ?? [];
  const numbers = [...lists.matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number));
  assert(numbers.filter((number) => number === 1).length >= 7);
  assert(Math.max(...numbers) <= 7);
});
