/**
 * The `tierbench` command.
 *
 * @module
 */

import { main } from "./cli/main.ts";
import { processTerminal } from "./cli/ui/terminal.ts";

if (import.meta.main) Deno.exit(await main(Deno.args, processTerminal()));
