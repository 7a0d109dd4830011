/** What a step sends over the network, for what is recorded of a run and for bills of more traffic. */

import "../../native_library.ts";
import { wireBytes } from "../../../models/simulation/wire.ts";
import { assertAlmostEquals, assertRejects } from "../../assert.ts";

Deno.test("wireBytes() is keys twice and gradients up, weights down, for tables of any width", async () => {
  for (
    const tables of [
      [{ dim: 16, distinct: 10_400 }],
      [{ dim: 128, distinct: 50.25 }],
      [{ dim: 8, distinct: 3 }, { dim: 64, distinct: 7000.5 }, { dim: 256, distinct: 1 }],
      Array.from({ length: 26 }, (_, i) => ({ dim: 1 + i, distinct: 100 * (i + 1) })),
    ]
  ) {
    const { toServers, fromServers } = await wireBytes(tables);
    const weights = tables.reduce((sum, { dim, distinct }) => sum + distinct * dim * 4, 0);
    const keys = tables.reduce((sum, { distinct }) => sum + distinct * 8, 0);
    assertAlmostEquals(toServers / (weights + 2 * keys), 1, 1e-3);
    assertAlmostEquals(fromServers / weights, 1, 1e-3);
  }
});

Deno.test("wireBytes() refuses what is no table", async () => {
  for (const tables of [[], [{ dim: 16, distinct: 0 }], [{ dim: 0, distinct: 5 }], [{ dim: 16, distinct: NaN }]]) {
    await assertRejects(() => wireBytes(tables), RangeError, "Cannot say what a step sends");
  }
});
