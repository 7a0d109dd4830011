/**
 * Bundles the scripts of the pages to `client.js`, which are kept in the repository so that writing a report needs no
 * bundler. Run it after a change in a folder `client/`: `deno task client`.
 *
 * @module
 */

import { fileURLToPath } from "node:url";

const HERE = new URL(".", import.meta.url);

/** Folders with a script: the report's, and that of the index over reports. */
const CLIENTS: readonly URL[] = [HERE, new URL("../publish/", HERE)];

/** A package whose code a script has in it. */
interface Bundled {
  /** Its name and version. */
  readonly name: string;
  /** The text of its licence. */
  readonly license: string;
}

/** What `deno info --json` says, as far as it is read here. */
interface Info {
  readonly modules: readonly { readonly npmPackage?: string }[];
  readonly npmPackages: Readonly<
    Record<string, {
      readonly name: string;
      readonly version: string;
      readonly dependencies: readonly string[];
      readonly localPath: string;
    }>
  >;
}

/**
 * Packages that a script's modules, or a peer of theirs, name, and of whose code the bundler leaves nothing in it; each with a
 * word of that code.
 */
const LEFT_OUT: Readonly<Record<string, string>> = { hyparquet: "RLE_DICTIONARY", typescript: "createSourceFile" };

/**
 * The packages in a script, with those that they import.
 *
 * @param folder Whose script. @default the report's
 * @throws {Error} When a package has no licence.
 */
async function bundledPackages(folder: URL = HERE): Promise<readonly Bundled[]> {
  const entry = fileURLToPath(new URL("client/main.ts", folder));
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", entry],
    cwd: fileURLToPath(HERE),
  })
    .output();
  const { modules, npmPackages } = JSON.parse(new TextDecoder().decode(stdout)) as Info;
  const reached = new Set(modules.flatMap(({ npmPackage }) => npmPackage ?? []));
  for (const id of reached) for (const needed of npmPackages[id]?.dependencies ?? []) reached.add(needed);
  const bundled: Bundled[] = [];
  for (const id of [...reached].sort()) {
    const found = npmPackages[id];
    if (found === undefined) throw new Error(`Cannot find the package "${id}" of the script`);
    if (Object.hasOwn(LEFT_OUT, found.name)) continue;
    const files = [...Deno.readDirSync(found.localPath)].map(({ name }) => name).filter((name) =>
      /^licen[cs]e/i.test(name)
    );
    const [file] = files;
    if (file === undefined) throw new Error(`Cannot bundle ${found.name}: the package has no licence`);
    const license = await Deno.readTextFile(`${found.localPath}/${file}`);
    bundled.push({ name: `${found.name} ${found.version}`, license: license.replaceAll("\r\n", "\n").trim() });
  }
  return bundled;
}

/** What the licences want every copy to carry, as a comment before the script. */
function notices(packages: readonly Bundled[]): string {
  return `/*! This script has code of ${packages.map(({ name }) => name).join(", ")}.\n\n${
    packages.map(({ name, license }) => `${name}\n\n${license}`).join("\n\n")
  }\n*/\n`;
}

/**
 * The repository's page on code of others that it has in it.
 *
 * @returns The text of `THIRD_PARTY.md`.
 */
export async function thirdPartyPage(): Promise<string> {
  const all = (await Promise.all(CLIENTS.map((folder) => bundledPackages(folder)))).flat();
  const packages = [...new Map(all.map((one) => [one.name, one])).values()].sort((a, b) => a.name < b.name ? -1 : 1);
  return `# Code of others in this repository

The scripts of reports (\`reports/html/client.js\`, \`reports/publish/client.js\`) have the packages below in them, and so does
every report; each copy carries their licences. \`deno task client\` writes this page. Everything else that the suite
uses is fetched by its package manager under its own licence: [decisions](docs/decisions.md) names it.

${packages.map(({ name, license }) => `## ${name}\n\n\`\`\`text\n${license}\n\`\`\``).join("\n\n")}
`;
}

/**
 * Bundles `client/main.ts` with its parts of Chart.js, behind the licences of what is in it.
 *
 * @param folder Whose script. @default the report's
 * @returns The minified script.
 * @throws {Error} When the bundler fails; it needs its npm package once from the network or the cache.
 */
export async function bundleClient(folder: URL = HERE): Promise<string> {
  const entry = fileURLToPath(new URL("client/main.ts", folder));
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--platform", "browser", "--format", "iife", "--minify", entry],
    cwd: fileURLToPath(HERE),
    stdout: "piped",
    stderr: "piped",
  }).output();
  if (!success) {
    throw new Error(`Cannot bundle the report's script: ${new TextDecoder().decode(stderr).trim()}`);
  }
  const script = new TextDecoder().decode(stdout);
  const there = Object.entries(LEFT_OUT).find(([, word]) => script.includes(word));
  if (there !== undefined) {
    throw new Error(`Cannot bundle the script: code of ${there[0]} is in it, whose licence is not`);
  }
  return notices(await bundledPackages(folder)) + script;
}

if (import.meta.main) {
  await Deno.writeTextFile(new URL("../../THIRD_PARTY.md", HERE), await thirdPartyPage());
  for (const folder of CLIENTS) {
    const script = await bundleClient(folder);
    if (script.includes("</script")) throw new Error('Cannot use the script: it contains "</script"');
    await Deno.writeTextFile(new URL("client.js", folder), script);
    console.log(`${fileURLToPath(folder)}client.js: ${(script.length / 1000).toFixed(0)} kB`);
  }
}
