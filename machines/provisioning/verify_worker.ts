/**
 * The process that tries one NUMA node and prints what it found as JSON.
 *
 * @module
 */

import { verifyNode } from "../../ffi/machine.ts";

if (import.meta.main) {
  try {
    console.log(JSON.stringify({ facts: verifyNode(Number(Deno.args[0])) }));
  } catch (error) {
    console.log(JSON.stringify({ error: error instanceof Error ? error.message : String(error) }));
  }
}
