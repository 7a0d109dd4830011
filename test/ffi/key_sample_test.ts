import "../native_library.ts";
import { missRatioCurve } from "../../ffi/curve.ts";
import { TierstoreError } from "../../ffi/errors.ts";
import { KeySample } from "../../ffi/key_sample.ts";
import { KeyStream } from "../../ffi/simulator/key_stream.ts";
import { rowCacheHits } from "../../models/simulation/row_cache_size.ts";
import { assert, assertEquals, assertThrows } from "../assert.ts";

const KEYS = BigInt64Array.from({ length: 200_000 }, (_, i) => BigInt(((i * 7919) ^ (i >> 3)) % 50_021));
const SIZES = [10, 1000, 20_000];

function sampleOf(options: ConstructorParameters<typeof KeySample>[0]): KeySample {
  const sample = new KeySample(options);
  for (let at = 0; at < KEYS.length; at += 30_000) sample.add(KEYS.subarray(at, at + 30_000));
  return sample;
}

Deno.test("missRatioCurve() of a KeySample that keeps all is that of the keys", () => {
  for (const batch of [1, 500]) {
    using sample = sampleOf({ batch });
    for (const policy of ["lru", "lfu", "opt"] as const) {
      const { bytes, ...curve } = missRatioCurve({ keys: sample, policy, sizes: SIZES });
      const { bytes: without, ...expected } = missRatioCurve({ keys: KEYS, batch, policy, sizes: SIZES });
      assertEquals(curve, expected);
      assert(bytes >= without + KEYS.byteLength);
    }
    assertEquals(sample.keys(), KEYS);
    const { of: whole } = rowCacheHits({ keys: KEYS, batch }), { of: sampled } = rowCacheHits({ keys: sample, batch });
    assertEquals(sampled(4096), whole(4096));
  }
});

Deno.test("missRatioCurve() of a KeySample that keeps some rows says so, and refuses what needs all", () => {
  using sample = sampleOf({ rows: 8000 });
  const { rate, kept, added } = sample.facts();
  assert(rate <= 0.25 && kept < KEYS.length / 3 && added === KEYS.length);
  const curve = missRatioCurve({ keys: sample, sizes: SIZES });
  assertEquals([curve.method, curve.rate, curve.lookups, curve.errors?.length], ["sampled", rate, KEYS.length, 3]);
  assertThrows(() => missRatioCurve({ keys: sample, sizes: [1], method: "exact" }), RangeError, "more memory");
  assertThrows(() => missRatioCurve({ keys: sample, sizes: [1], batch: 3 }), RangeError, "batches of 1");
  assertThrows(() => missRatioCurve({ keys: sample, sizes: [1], rate: 0.1 }), TypeError, '"rate"');
  assertThrows(() => rowCacheHits({ keys: sample }), RangeError, "sets need all");
});

Deno.test("KeySample() names what it cannot use", () => {
  assertThrows(() => new KeySample({ rows: 0 }), RangeError, "rows is 0");
  assertThrows(() => new KeySample({ batch: 1.5 }), RangeError, "batch is 1.5");
  assertThrows(() => new KeySample({ bytes: 1000 }), TierstoreError, "1000 bytes may be used");
  const sample = new KeySample();
  sample[Symbol.dispose]();
  assertThrows(() => sample.add([1]), Error, "is closed");
});

Deno.test("KeyStream.limit() keeps fewer accesses from then on, of whole rows", () => {
  using stream = new KeyStream(1 << 17);
  stream.add(KEYS.subarray(0, 100_000));
  assertEquals(stream.facts().kept, 100_000);
  stream.limit(4096);
  const { kept, rate } = stream.facts();
  assert(kept < 4096 && kept > 1000 && rate < 1 / 16);
  const rows = new Set(stream.keys());
  assertEquals(kept, KEYS.subarray(0, 100_000).filter((key) => rows.has(key)).length);
  stream.add(KEYS.subarray(100_000));
  assert(stream.facts().kept < 4096 && stream.facts().accesses === KEYS.length);
  assertThrows(() => stream.limit(5), TierstoreError, "5 accesses may be kept");
});
