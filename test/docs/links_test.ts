/** Links between the project's pages lead somewhere. */

import { assert, assertEquals } from "../assert.ts";

const root = new URL("../../", import.meta.url);

function* pages(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, root))) {
    if (isDirectory) yield* pages(`${folder}${name}/`);
    else if (name.endsWith(".md")) yield `${folder}${name}`;
  }
}

/** Without blocks of code, in which nothing is a link. */
function prose(text: string): string {
  return text.replaceAll(/^```[^]*?^```$/gm, "").replaceAll(/`[^`\n]+`/g, (code) => code.replaceAll(/[[\]]/g, ""));
}

/** Anchors of headings as GitHub makes them. */
function anchors(text: string): Set<string> {
  const found = new Set<string>();
  for (const [, title = ""] of prose(text).matchAll(/^#+ (.*)$/gm)) {
    const slug = title.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");
    let name = slug;
    for (let i = 1; found.has(name); i++) name = `${slug}-${i}`;
    found.add(name);
  }
  return found;
}

Deno.test("every link of README, CHANGELOG, docs and contributions leads to a file, and to a heading in it", () => {
  const files = ["README.md", "CHANGELOG.md", ...pages("docs/"), ...pages("contributions/")];
  const broken: string[] = [];
  let seen = 0;
  for (const file of files) {
    const text = Deno.readTextFileSync(new URL(file, root));
    for (const [, link = ""] of prose(text).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      seen++;
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? new URL(file, root) : new URL(path, new URL(file, root));
      try {
        const { isFile } = Deno.statSync(target);
        if (anchor !== undefined && !(isFile && anchors(Deno.readTextFileSync(target)).has(anchor))) {
          broken.push(`${file}: ${link} (no such heading)`);
        }
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
        broken.push(`${file}: ${link}`);
      }
    }
  }
  assert(seen > 40);
  assertEquals(broken, []);
});
