/**
 * A neighbour: a process that loads one processor in bursts, 50 ms to 3 s long, with pauses as long between them, until it
 * is killed. `deno run bench/harness/neighbour.ts <seed>`.
 *
 * @module
 */

import { randomNumbers } from "../../base/random.ts";

if (import.meta.main) {
  const random = randomNumbers(Number(Deno.args[0] ?? 1));
  /** Logarithms alike between 50 ms and 3 s. */
  const milliseconds = () => 50 * 60 ** random();
  const sleep = new Int32Array(new SharedArrayBuffer(4));
  for (;;) {
    for (const end = performance.now() + milliseconds(); performance.now() < end;) Math.sqrt(random());
    Atomics.wait(sleep, 0, 0, milliseconds());
  }
}
