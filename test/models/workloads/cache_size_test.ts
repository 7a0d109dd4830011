// Caches sized for a share of hits, against replays of what they were sized for.

import "../../native_library.ts";
import { randomNumbers } from "../../../base/random.ts";
import { missRatioCurve } from "../../../ffi/curve.ts";
import { EVICTION_POLICIES } from "../../../base/policies.ts";
import { cacheSize } from "../../../models/workloads/cache_size.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { inFolder, runCommand } from "../../cli/command.ts";

/** So many draws from a Zipf law of so many rows. */
function drawn(rows: number, s: number, count: number, seed: number): BigInt64Array {
  const sums: number[] = [];
  let sum = 0;
  for (let rank = 1; rank <= rows; rank++) sums.push(sum += rank ** -s);
  const random = randomNumbers(seed);
  return BigInt64Array.from({ length: count }, () => {
    const x = random() * sum;
    let [low, high] = [0, rows - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < x) low = middle + 1;
      else high = middle;
    }
    return BigInt(low * 7919 % 1_000_003);
  });
}

const COUNT = 60_000;
/** Streams whose caches differ most. */
const STREAMS: Readonly<Record<string, BigInt64Array>> = {
  skewed: drawn(5000, 1.1, COUNT, 1),
  "hardly skewed": drawn(3000, 0.4, COUNT, 2),
  "a loop": BigInt64Array.from({ length: COUNT }, (_, i) => BigInt(i % 700)),
  drift: BigInt64Array.from(drawn(800, 0.9, COUNT, 3), (key, i) => key + BigInt(Math.floor(i / 3000) * 40)),
  "scans between hot rows": BigInt64Array.from(
    drawn(300, 1, COUNT, 4),
    (key, i) => i % 4000 < 2500 ? key : BigInt(2_000_000 + (i % 4000)),
  ),
};

const replayed = (keys: BigInt64Array, policy: typeof EVICTION_POLICIES[number], rows: number): number =>
  1 - (missRatioCurve({ keys, policy, sizes: [rows] }).missRatios[0] ?? NaN);

Deno.test.each(Object.keys(STREAMS).map((name) => ({ name })))(
  "a stream, $name: what is found hits as often as it says",
  ({ name }) => {
    const keys = STREAMS[name] as BigInt64Array;
    for (const policy of EVICTION_POLICIES) {
      for (const hits of [0.3, 0.6, 0.8]) {
        const { rows, hits: said, distinct } = cacheSize({ keys, policy, hits });
        if (rows === undefined) {
          assert(replayed(keys, policy, distinct) < hits, `${policy}: a cache of all rows has ${hits}`);
          continue;
        }
        assertEquals(replayed(keys, policy, rows), said, `${policy}, ${hits}`);
        assert(said >= hits, `${policy}: ${said} for ${hits}`);
        // Of a stack algorithm what is a little smaller does not do.
        const smaller = Math.floor(rows * (1 - 1 / 256)) - 1;
        if (policy === "lru" && smaller > 0) {
          assert(replayed(keys, policy, smaller) < hits, `${smaller} rows are enough`);
        }
      }
    }
  },
);

Deno.test("a law: a stream drawn from it hits within a hundredth of what was asked for", () => {
  for (const [s, hits] of [[1.05, 0.7], [0.6, 0.5], [1.3, 0.9]] as const) {
    const rows = 20_000, keys = drawn(rows, s, 400_000, 9);
    for (const policy of EVICTION_POLICIES) {
      const found = cacheSize({ law: { rows, s }, hits, policy });
      assert(found.rows !== undefined && found.rows < rows, `${policy}: ${found.rows}`);
      const { missRatios: [missed = NaN] } = missRatioCurve({ keys, policy, sizes: [found.rows], uncounted: 200_000 });
      assert(Math.abs(1 - missed - hits) < 0.01, `s ${s}, ${policy}: ${1 - missed}, wanted ${hits}`);
    }
  }
});

Deno.test("batches count a row once, so that fewer of their lookups are hits", () => {
  const keys = STREAMS["skewed"] as BigInt64Array;
  const [single, batched] = [cacheSize({ keys, hits: 0.5 }), cacheSize({ keys, hits: 0.5, batch: 2000 })];
  assert((batched.rows ?? Infinity) > 2 * (single.rows ?? NaN), `${single.rows}, ${batched.rows}`);
});

Deno.test("tierbench cache says sizes, what one GiB more gives, what a rule asks for, and that some shares are none", async () => {
  for (const hits of [0, 1, NaN]) {
    assertThrows(() => cacheSize({ law: { rows: 10 }, hits }), RangeError, "Cannot size a cache");
  }
  const said = await runCommand(["cache", "--rows", "1e9", "--hit", "80%", "--json"], 120);
  assertEquals([said.code, said.err], [0, ""]);
  const { sizes: [lru], rule, hit } = JSON.parse(said.out);
  assertEquals([lru.policy, lru.method, hit, rule], ["lru", "analytic", 0.8, 0.8 * 1e9 * 256]);
  assertEquals(lru.bytes, lru.rows * 256);
  assert(lru.hitsOfOneGiBMore > lru.hits && lru.rows < 0.02 * 1e9);
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/new.csv`, `key\n${Array.from({ length: 2000 }, (_, i) => i).join("\n")}\n`);
    const none = await runCommand(["cache", `${folder}/new.csv`, "--hit", "50%", "--policy", "lru,sieve"], 120);
    assertEquals([none.code, none.err], [0, ""]);
    assert(/^lru .* none +.*0\.00 % at most/m.test(none.out) && !none.out.includes("rule"), none.out);
    for (
      const [words, why] of [
        [["--hit", "150%"], "give a share of hits such as 90% or 0.9"],
        [["--hit", "50%", "--policy", "mru"], 'Cannot use the policy "mru": expected all, or some of lru'],
        [["--hit", "50%", "--row-bytes", "0"], "--row-bytes 0: give a positive number"],
        [["--hit", "50%", "--rows", "10"], "give either a trace, a profile or --rows"],
      ] as const
    ) {
      const { code, err } = await runCommand(["cache", `${folder}/new.csv`, ...words], 120);
      assert(code === 2 && err.includes(why), `${code}: ${err}`);
    }
  });
});
