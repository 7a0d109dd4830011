/** Every command of the pages on provisioning is run in the lab, but those that named lists leave out. */

import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { AS_PRINTED, guideBlocks, type GuideSection, OUTSIDE, outside, RUN_BY } from "../lab/guide_pages.ts";
import { sectionsOf } from "./page.ts";

const root = new URL("../../", import.meta.url);
const PAGES = ["memory-mode", "fsdax", "kmem-dax", "cxl-kmem"];

/** Lines of commands by section. */
function lines(): Map<string, string[]> {
  return new Map(
    PAGES.flatMap((page) =>
      sectionsOf(Deno.readTextFileSync(new URL(`docs/provisioning/${page}.md`, root)))
        .map(({ path, blocks }) => ({ path, blocks: blocks.filter(({ language }) => language === "sh") }))
        .filter(({ blocks }) => blocks.length > 0)
        .map(({ path, blocks }) => [`${page}: ${path}`, blocks.flatMap(({ text }) => text.split("\n"))] as const)
    ),
  );
}

Deno.test("a case runs every section with commands, but for those that cannot run there", () => {
  const left = [...lines()].filter(([, all]) => all.every((line) => outside(line) !== undefined)).map(([name]) => name);
  assertEquals(
    Object.keys(RUN_BY).sort(),
    [...lines().keys()].filter((name) => !left.includes(name) && !(name in AS_PRINTED)).sort(),
  );
  assertEquals(left.sort(), [
    "cxl-kmem: In a container",
    "fsdax: In a container",
    "kmem-dax: In a container",
    "memory-mode: Taking it back",
  ]);
});

Deno.test("the case that is named for a section names the section", async () => {
  for (const [section, file] of Object.entries(RUN_BY)) {
    const text = await Deno.readTextFile(new URL(`test/lab/${file}`, root));
    assert(text.includes(`"${section}"`), `${file} does not name "${section}"`);
  }
});

Deno.test("the lines that are left out are those of the tools that lists name, and no others", async () => {
  const out = new Map<string, Set<string>>();
  for (const all of lines().values()) {
    for (const line of all) {
      const why = outside(line);
      if (why !== undefined) out.set(why, (out.get(why) ?? new Set()).add(line.split(" ")[0] ?? ""));
    }
  }
  assertEquals([...out.keys()].sort(), Object.keys(OUTSIDE).sort(), "a name in the list that no line needs");
  assertEquals(
    Object.fromEntries([...out].map(([why, words]) => [why, [...words].sort()])),
    {
      "ipmctl": ["ipmctl"],
      "boot loader": ["grub2-mkconfig", "grubby", "update-grub"],
      "container engine": ["docker"],
      "package manager": ["dnf"],
    },
  );
  for (const [section, all] of lines()) {
    if (!(section in RUN_BY)) continue;
    const run = (await guideBlocks(section as GuideSection)).join("\n").split("\n");
    assertEquals([...run, ...all.filter((line) => outside(line) !== undefined)].sort(), [...all].sort(), section);
  }
});

Deno.test("a section that a case runs as printed for another machine names the case, which is there", () => {
  for (const [section, file] of Object.entries(AS_PRINTED)) {
    const [page = "", path = ""] = section.split(": ");
    const text = Deno.readTextFileSync(new URL(`docs/provisioning/${page}.md`, root));
    const title = path.split(" / ").at(-1) ?? "";
    const part = text.slice(text.indexOf(`# ${title}\n`)).split("```")[0] ?? "";
    assertStringIncludes(part, `test/lab/${file}`, section);
    assert(Deno.statSync(new URL(`test/lab/${file}`, root)).isFile, section);
  }
});
