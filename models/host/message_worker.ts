/**
 * One of two ranks that send each other small messages. Argument: the MPI that started it. Rank 0 prints the nanoseconds of each as
 * a line of JSON.
 *
 * @module
 */

import { type Mpi, Ranks } from "../../ffi/ranks.ts";

/** A message without bytes to speak of; before those that count, caches and buffers of the MPI get warm. */
const BYTES = 8, WARM = 500, TIMES = 4000;

using ranks = Ranks.open({ mpi: Deno.args[0] as Mpi });
ranks.ping(BYTES, WARM);
const ns = ranks.ping(BYTES, TIMES);
if (ranks.describe().rank === 0) console.log(JSON.stringify([...ns].map(Number)));
