#!/usr/bin/env node
// What Node, npm and npx are told: package.json is for them alone, Deno reads deno.json. No word of TypeScript, so that every
// Node can run it. `deno install` runs scripts of package.json, too, and goes on.

if (globalThis.Deno === undefined && !(process.env.npm_config_user_agent ?? "").startsWith("deno/")) {
  console.error(
    'tierbench runs on Deno only, not on Node: in its folder, "npx -y deno@2.9.6 task tierbench --help" starts it',
  );
  process.exitCode = 1;
}
