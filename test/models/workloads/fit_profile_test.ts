/** Profiles fitted to streams: how faithful their keys are, and what they must not hold. */

import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { fitProfile, generateKeys, profileText, readTrace, type TraceBatch } from "../../../mod.ts";
import "../../native_library.ts";

/** Numbers in [0, 1) that are the same in every run. */
function randomNumbers(seed: number): () => number {
  let state = BigInt(seed) * 2n + 1n;
  return () => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    return Number(state >> 11n) / 2 ** 53;
  };
}

/** Ranks from 0 of a Zipf law. */
function zipfRanks(rows: number, s: number, random: () => number): () => number {
  const sums = new Float64Array(rows);
  let total = 0;
  for (let i = 0; i < rows; i++) sums[i] = total += (i + 1) ** -s;
  return () => {
    const wanted = random() * total;
    let low = 0, high = rows - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

const N = 30_000;
/** Long enough for five lives of each row. */
const LIVES_N = 50_000;

type Make = (random: () => number) => (time: number, before: BigInt64Array) => number | bigint;

/**
 * Streams and how far their regenerated curves may be, under LRU and LFU. The aims are 0.01 and 0.02; streams that drift do
 * not reach them yet (docs/profiles.md).
 */
const STREAMS: readonly (readonly [string, Make, number, number])[] = [
  ["Zipf 1.05", (random) => zipfRanks(30_000, 1.05, random), 0.01, 0.02],
  ["even", (random) => () => Math.floor(random() * 15_000), 0.01, 0.02],
  [
    "Zipf 1 and new rows",
    (random) => {
      const rank = zipfRanks(20_000, 1, random);
      let next = 1e6;
      return () => random() < 0.3 ? next++ : rank();
    },
    0.01,
    0.02,
  ],
  [
    "Zipf 0.8 with repeats",
    (random) => {
      const rank = zipfRanks(30_000, 0.8, random);
      return (time, before) =>
        time > 200 && random() < 0.4 ? before[time - 1 - Math.floor(random() * 200)] ?? 0n : rank();
    },
    0.01,
    0.02,
  ],
  [
    "rows that live for a while",
    (random) => {
      const rank = zipfRanks(5000, 0.9, random);
      return (time) => {
        const row = rank();
        return row + 5000 * Math.floor((time + row * 7919 % 10_000) / 10_000);
      };
    },
    0.02,
    0.03,
  ],
];

function made(make: Make, seed: number, n: number = N): BigInt64Array {
  const next = make(randomNumbers(seed)), keys = new BigInt64Array(n);
  for (let i = 0; i < n; i++) keys[i] = BigInt(next(i, keys));
  return keys;
}

function traceOf(keys: BigInt64Array, table = "t"): TraceBatch[] {
  return [{ table, keys }];
}

for (const [name, make, lru, lfu] of STREAMS) {
  Deno.test(`fitProfile() is faithful to ${name}, more than a plain Zipf law`, async () => {
    const { fidelity, zipf, profile } = await fitProfile(traceOf(made(make, 1, name.includes("live") ? LIVES_N : N)), {
      name: "p",
    });
    assert(fidelity.lru <= lru, `LRU ${fidelity.lru}, expected ${lru} at most`);
    assert(fidelity.lfu <= lfu, `LFU ${fidelity.lfu}, expected ${lfu} at most`);
    assert(fidelity.lru <= zipf.lru + 0.002 && fidelity.lfu <= zipf.lfu + 0.004, `Zipf: ${JSON.stringify(zipf)}`);
    assert(profileText(profile).length < 12_000, `${profileText(profile).length} bytes`);
  });
}

Deno.test("fitProfile() leaves no key in the profile", async () => {
  const random = randomNumbers(4), rank = zipfRanks(500, 1.2, random);
  const keys = BigInt64Array.from({ length: 5_000 }, () => 987_654_321_000_000n + BigInt(rank()) * 1_234_577n);
  const { profile } = await fitProfile(traceOf(keys), { name: "p" });
  const text = profileText(profile).replaceAll(/[\s.]/g, "");
  for (const key of new Set(keys)) {
    assert(!text.includes(String(key)), `the key ${key} is in the profile`);
    assert(!text.includes(key.toString(16)), `the key ${key} is in the profile`);
  }
  // Other keys with the same counts make the same profile.
  const other = await fitProfile(traceOf(keys.map((key) => -key * 31n)), { name: "p" });
  assertEquals(profileText(other.profile), profileText(profile));
});

Deno.test("fitProfile() keeps a sample of rows of a stream beyond its memory", async () => {
  const keys = made((random) => zipfRanks(30_000, 1.05, random), 9);
  const whole = await fitProfile(traceOf(keys), { name: "p" });
  const part = await fitProfile(traceOf(keys), { name: "p", most: 8192 });
  assertEquals(whole.tables[0]?.rate, 1);
  assert((part.tables[0]?.rate ?? 1) < 0.6);
  const shares = ({ profile }: typeof whole) => {
    const [batch] = [...generateKeys(profile, { samples: N, batch: N })];
    return new Set(batch?.keys).size;
  };
  const distinct = new Set(keys).size;
  assert(Math.abs(shares(whole) / distinct - 1) < 0.02, `${shares(whole)} distinct keys, expected ${distinct}`);
  assert(Math.abs(shares(part) / distinct - 1) < 0.15, `${shares(part)} distinct keys, expected ${distinct}`);
});

Deno.test("fitProfile() sees which column follows which", async () => {
  const random = randomNumbers(5), rank = zipfRanks(2000, 0.7, random), other = zipfRanks(300, 0.5, random);
  const parent = BigInt64Array.from({ length: 10_000 }, () => BigInt(rank()));
  const child = parent.map((key) => random() < 0.8 ? key % 97n : BigInt(Math.floor(random() * 97)));
  const free = parent.map(() => BigInt(other()));
  const { profile } = await fitProfile([
    ...traceOf(child, "child"),
    ...traceOf(free, "free"),
    ...traceOf(parent, "parent"),
  ], { name: "p" });
  const tie = profile.tables.find(({ name }) => name === "child")?.parent;
  assertEquals(tie?.table, "parent");
  assert(Math.abs((tie?.share ?? 0) - 0.8) < 0.05, `share ${tie?.share}`);
  assertEquals(profile.tables.find(({ name }) => name === "free")?.parent, undefined);
});

async function withFile<T>(name: string, text: string, use: (path: string) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/${name}`, text);
    return await use(`${folder}/${name}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function keysOf(path: string): Promise<Record<string, { keys: bigint[]; bags: number[] }>> {
  const out: Record<string, { keys: bigint[]; bags: number[] }> = {};
  for await (const { table, keys, bags } of readTrace(path)) {
    const found = out[table] ??= { keys: [], bags: [] };
    found.keys.push(...keys);
    found.bags.push(...bags ?? []);
  }
  return out;
}

Deno.test("readTrace() reads keys, tables, samples and Criteo rows", async () => {
  assertEquals(await withFile("a.csv", "key\n1\n-2\n9223372036854775807\n", keysOf), {
    keys: { keys: [1n, -2n, 9223372036854775807n], bags: [] },
  });
  assertEquals((await withFile("a.csv", "a,1\nb,2\na,3", keysOf))["a"]?.keys, [1n, 3n]);
  assertEquals((await withFile("a.csv", "table,key,sample\r\na,1,0\r\na,2,0\r\na,3,7\r\n", keysOf))["a"], {
    keys: [1n, 2n, 3n],
    bags: [2, 1],
  });
  const row = ["0", ...new Array<string>(13).fill("1"), ...Array.from({ length: 26 }, (_, i) => i === 3 ? "" : "0a")];
  const criteo = await withFile("a.tsv", `${row.join("\t")}\n`, keysOf);
  assertEquals([Object.keys(criteo).length, criteo["C1"]?.keys, criteo["C4"]?.keys], [26, [10n], [-1n]]);
});

Deno.test("readTrace() names the line that is damaged", async () => {
  for (
    const [text, message] of [
      ["a,1\nb\n", "line 2: it has 1 fields"],
      ["a,1\n\nb,2\n", "line 2: it is empty"],
      ["1\n99999999999999999999\n", "line 2: the key 99999999999999999999 does not fit"],
      ["a,1\na,\n", "line 2: the key is empty"],
      ["a,b,c,d\n", "line 1: it has 4 fields"],
    ] as const
  ) await assertRejects(() => withFile("a.csv", text, keysOf), Error, message);
  await assertRejects(() => withFile("a.i64", "123456789", keysOf), Error, "it looks like text");
});

Deno.test({
  name: "fitProfile() is faithful to Criteo rows (TIERBENCH_CRITEO names a file)",
  ignore: Deno.env.get("TIERBENCH_CRITEO") === undefined,
  fn: async () => {
    const { fidelity, zipf } = await fitProfile(Deno.env.get("TIERBENCH_CRITEO") ?? "", { name: "criteo" });
    assert(fidelity.lru <= 0.01, `LRU ${fidelity.lru}`);
    assert(fidelity.lfu <= 0.02, `LFU ${fidelity.lfu}`);
    assert(fidelity.lru < zipf.lru && fidelity.lfu < zipf.lfu, JSON.stringify(zipf));
  },
});
