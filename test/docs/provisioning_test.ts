/** The pages on provisioning say what the program says, and show what tools printed. */

import { fileURLToPath } from "node:url";
import { parsePackages } from "../../setup/packages.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { QUOTES } from "./guides.ts";
import { blocksOf, sectionsOf } from "./page.ts";

const root = new URL("../../", import.meta.url);
const read = (path: string) => Deno.readTextFileSync(new URL(path, root));
const pathOf = (page: string) => `docs/provisioning/${page}.md`;
const PAGES = ["memory-mode", "fsdax", "kmem-dax", "cxl-kmem", "hbm"];

for (const { page, section, language, blocks } of QUOTES) {
  Deno.test(`${page}.md, "${section}", has the program's ${language === "sh" ? "commands" : "words"}`, async () => {
    const wanted = await blocks();
    const found = blocksOf(read(pathOf(page)), section, language);
    wanted.forEach((text, i) => {
      if (found[i] === text) return;
      throw new Error(
        `${pathOf(page)}, section "${section}": ${language} block ${i + 1} is not what the program prints. ` +
          `It has to be:\n\n\`\`\`${language}\n${text}\n\`\`\`\n\nIt is:\n\n\`\`\`${language}\n${found[i]}\n\`\`\``,
      );
    });
    assertEquals(found.length, wanted.length, `${pathOf(page)}, section "${section}", has other blocks beside`);
  });
}

Deno.test("pages have no commands and no words of the program but those that are compared", () => {
  for (const page of PAGES) {
    const quoted = QUOTES.filter((one) => one.page === page).map(({ section, language }) => `${section}: ${language}`);
    const there = sectionsOf(read(pathOf(page))).flatMap(({ path, blocks }) =>
      blocks.filter(({ language }) => language === "sh" || language === "text").map(({ language }) =>
        `${path}: ${language}`
      )
    );
    assertEquals([...new Set(there)].sort(), [...new Set(quoted)].sort(), page);
    const kinds = new Set(sectionsOf(read(pathOf(page))).flatMap(({ blocks }) => blocks.map((one) => one.language)));
    for (const kind of kinds) assert(["sh", "text", "console", "text captured"].includes(kind), kind);
  }
});

Deno.test("every page has its sections", () => {
  for (const page of PAGES) {
    const found = new Set(sectionsOf(read(pathOf(page))).map(({ path }) => path));
    for (
      const section of [
        "Bare metal",
        "Cloud VM",
        "In a container",
        "Taking it back",
        "When it does not work",
        "Then train on it",
      ]
    ) assert(found.has(section), `${page}.md has no section "${section}"`);
  }
});

/** All texts below a folder. */
function* textsIn(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, root))) {
    if (isDirectory) yield* textsIn(`${folder}${name}/`);
    else if (name.endsWith(".txt")) yield read(`${folder}${name}`);
  }
}

Deno.test("expected outputs were captured", () => {
  // Spaces at the end of a line are not seen, and pages have none.
  const trimmed = (text: string) => `\n${text}\n`.replaceAll(/[ \t]+$/gm, "");
  const captured = [...textsIn("test/fixtures/guides/"), ...textsIn("test/fixtures/tools/")].map(trimmed);
  for (const page of PAGES) {
    for (const { blocks } of sectionsOf(read(pathOf(page)))) {
      for (const { language, text, line } of blocks) {
        if (language === "sh" || language === "text") continue;
        assert(
          captured.some((one) => one.includes(trimmed(text))),
          `${pathOf(page)}:${line}: no file in test/fixtures/guides or test/fixtures/tools has these lines`,
        );
      }
    }
  }
});

Deno.test("the words of tierbench that pages name are words of the command", () => {
  const provision = read("cli/provision.ts"), run = read("cli/run.ts");
  let seen = 0;
  for (const page of [...PAGES, "README"]) {
    // Spans of code may go over the end of a line; in blocks a line is a command.
    const text = read(pathOf(page));
    const spans = [
      ...[...text.replaceAll(/^```[^]*?^```$/gm, "").matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code),
      ...sectionsOf(text).flatMap(({ blocks }) =>
        blocks.filter(({ language }) => language === "sh").flatMap((one) => one.text.split("\n"))
      ),
    ].map((code) => code.replaceAll(/\s+/g, " ").replace(/ #.*/, ""));
    for (const code of spans) {
      const [, verb = "", rest = ""] = /^(?:sudo )?tierbench ([a-z]+)\b(.*)$/.exec(code) ?? [];
      if (verb === "") continue;
      seen++;
      assert(["doctor", "provision", "run", "rerun", "report"].includes(verb), code);
      const source = verb === "provision" ? provision : verb === "run" ? run : "";
      for (const [flag] of rest.matchAll(/--[a-z-]+/g)) assertStringIncludes(source, `"${flag}`, code);
      const target = /^ ([a-z-]+)\b/.exec(rest)?.[1];
      if (verb === "provision" && target !== undefined) assert(PAGES.includes(target), code);
    }
  }
  assert(seen > 20);
});

Deno.test("README.md explains every option of the container's line", () => {
  const lines = PAGES.flatMap((page) => blocksOf(read(pathOf(page)), "In a container", "sh"));
  assertEquals(lines.length, 4);
  const text = read(pathOf("README"));
  const table = text.slice(text.indexOf("| option "));
  const options = new Set(lines.flatMap((line) => [...line.matchAll(/ (--?[a-z-]+)/g)].map(([, flag = ""]) => flag)));
  assert(options.size > 6);
  for (const option of options) {
    if (option !== "--rm" && option !== "-it") assertStringIncludes(table, `| \`${option}`);
  }
});

/** What `apt-get install` of a stage names. */
function installed(stage: string): string[] {
  const joined = stage.replaceAll("\\\n", " ");
  return [...joined.matchAll(/apt-get install -y --no-install-recommends ([a-z0-9 .+-]+)/g)]
    .flatMap(([, names = ""]) => names.trim().split(/\s+/)).sort();
}

/** What lies at the root and has modules that the command consists of, or is one. */
async function reached(): Promise<Set<string>> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "cli.ts"],
    cwd: root,
    stdin: "null",
  }).output();
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as {
    readonly modules: { readonly local?: string }[];
  };
  const here = fileURLToPath(root);
  const files = modules.flatMap(({ local }) => local?.startsWith(here) ? [local.slice(here.length)] : []);
  return new Set(files.map((file) => file.split("/")[0] ?? "").filter((name) => name !== "node_modules"));
}

Deno.test("the Containerfile has what the suite needs, and no more", async () => {
  const text = read("docs/provisioning/Containerfile");
  const [, build = "", image = ""] = text.split(/^FROM /m);
  const toBuild = ["gcc", "libc6-dev", "make"];
  const needed = parsePackages(read("setup/packages.txt")).filter(({ group }) => group === "run")
    .map(({ name }) => name);
  assertEquals(installed(build), ["ca-certificates", "nodejs", "npm", ...toBuild].sort());
  assertEquals(
    installed(image),
    ["ndctl", "daxctl", "numactl", ...needed.filter((name) => !toBuild.includes(name))].sort(),
  );
  assertEquals(text.match(/deno@[\w.]+/g), read("README.md").match(/deno@[\w.]+/g)?.slice(0, 1));
  const copied = [...text.matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, sources = ""]) => sources.split(" "));
  assertEquals(copied.toSorted(), [...await reached(), "deno.lock", "LICENSE", "native"].toSorted());
  const left = read(".dockerignore").split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  assertEquals(left, [".cache", ".git", "native/build", "reports/out"]); // what builds and runs on the host leave
  assertEquals(text.match(/^FROM .*$/gm), ["FROM debian:12-slim AS build", "FROM debian:12-slim"]);
  assert(!text.includes("://"));
  assertEquals(image.match(/^(USER|ENTRYPOINT|CMD) .*$/gm), [
    "USER tierbench",
    'ENTRYPOINT ["tierbench"]',
    'CMD ["doctor"]',
  ]);
});

Deno.test("the image's folders are those that pages mount on", () => {
  const image = read("docs/provisioning/Containerfile");
  const [, home = ""] = /^WORKDIR (\/home\/\S+)$/m.exec(image) ?? [];
  for (const page of ["README", "fsdax", "kmem-dax", "cxl-kmem"]) {
    assertStringIncludes(read(pathOf(page)), `-v "$PWD/out:${home}/reports/out"`);
  }
  const [command = ""] = /docker build .*$/m.exec(image) ?? [];
  assertStringIncludes(read(pathOf("README")), command);
});
