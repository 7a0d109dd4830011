/**
 * Bundles the page's script to `client.js`, which is kept in the repository so that writing a report needs no bundler.
 * Run it after a change in `client/`: `deno run -A reports/html/build_client.ts`.
 *
 * @module
 */

import { fileURLToPath } from "node:url";

const HERE = new URL(".", import.meta.url);

/**
 * Bundles `client/main.ts` with its parts of Chart.js.
 *
 * @returns The minified script.
 * @throws {Error} When the bundler fails; it needs its npm package once from the network or the cache.
 */
export async function bundleClient(): Promise<string> {
  const entry = fileURLToPath(new URL("client/main.ts", HERE));
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
  const script = await bundleClient();
  if (script.includes("</script")) throw new Error('Cannot use the script: it contains "</script"');
  await Deno.writeTextFile(new URL("client.js", HERE), script);
  console.log(`client.js: ${(script.length / 1000).toFixed(0)} kB`);
}
