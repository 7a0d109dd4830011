/**
 * Runs the command with the words it is given and presses Ctrl-C as soon as it has begun: no test can, whose runner ends at
 * SIGINT.
 *
 * @module
 */

import { runCommand } from "./command.ts";

// The command listens while its call runs; before and after that nobody would.
Deno.addSignalListener("SIGINT", () => {});
const running = runCommand(Deno.args, 120);
Deno.kill(Deno.pid, "SIGINT");
const said = await running;
console.log(JSON.stringify(said));
Deno.exit();
