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

/**
 * Bundles `client/main.ts` with its parts of Chart.js.
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
  return new TextDecoder().decode(stdout);
}

if (import.meta.main) {
  for (const folder of CLIENTS) {
    const script = await bundleClient(folder);
    if (script.includes("</script")) throw new Error('Cannot use the script: it contains "</script"');
    await Deno.writeTextFile(new URL("client.js", folder), script);
    console.log(`${fileURLToPath(folder)}client.js: ${(script.length / 1000).toFixed(0)} kB`);
  }
}
