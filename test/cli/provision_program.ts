/**
 * Applies a plan whose first line is this program's argument, for tests that interrupt it.
 *
 * @module
 */

import { Machine } from "./provision_machine.ts";

if (import.meta.main) {
  const machine = new Machine();
  machine.first = Deno.args[0];
  const encoder = new TextEncoder();
  const { code } = await machine.say(
    "fsdax --apply --yes --erase pmem0",
    undefined,
    (text) => void Deno.stdout.writeSync(encoder.encode(text)),
  );
  machine[Symbol.dispose]();
  Deno.exit(code);
}
