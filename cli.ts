/**
 * The `tierbench` command. Nothing is imported before it is known that Deno runs it: Node is told so in one line.
 *
 * @module
 */

if (!("Deno" in globalThis)) {
  await import("./cli/node.mjs");
} else if (import.meta.main) {
  const { main } = await import("./cli/main.ts");
  const { processTerminal } = await import("./cli/ui/terminal.ts");
  Deno.exit(await main(Deno.args, processTerminal()));
}
