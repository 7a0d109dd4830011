/** Shipped profiles against what is published, the format, and keys made from them. */

import "../../native_library.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import {
  generateKeys,
  listProfiles,
  loadProfile,
  parseProfile,
  ProfileError,
  profileLaw,
  profileText,
  topShare,
} from "../../../mod.ts";
import { META_2021, META_BATCH, META_TABLES, metaProfile } from "../../../models/workloads/meta_2021.ts";
import { reuseHistogram } from "../../../models/workloads/reuse.ts";
import { PROFILES } from "../../../models/workloads/ship_profiles.ts";

/** Percent of the accesses that the most popular part of the rows has. */
async function percent(name: string, part: number): Promise<number> {
  const profile = await loadProfile(name), rows = profile.tables[0]?.rows ?? 0;
  return 100 * topShare(profileLaw(profile), rows * part);
}

function assertNear(value: number, wanted: number, within: number, what: string): void {
  assert(Math.abs(value - wanted) <= within, `${what}: ${value}, expected ${wanted} ± ${within}`);
}

Deno.test("shipped profiles are what the program writes", async () => {
  assertEquals(await listProfiles(), PROFILES.map(({ name }) => name).sort());
  for (const profile of PROFILES) {
    assertEquals(await loadProfile(profile.name), parseProfile(JSON.stringify(profile), "here"));
    assert(profileText(profile).length < 10_000, `${profile.name} has more than 10 kB`);
  }
});

// OpenEmbedding, ICDE 2023, table II.
Deno.test("oe-retail has the published shares within 0.5 points", async () => {
  for (const [part, share] of [[0.0005, 85.7], [0.001, 89.5], [0.01, 95.7]] as const) {
    assertNear(await percent("oe-retail", part), share, 0.5, `hottest ${part}`);
  }
});

Deno.test("folded Zipf profiles have the published shares", async () => {
  for (
    const [name, part, share, within] of [
      ["torchrec-zipf-1.1", 0.2, 76.9, 0.2],
      ["torchrec-zipf-1.1", 0.01, 62.6, 0.2],
      ["torchrec-zipf-1.2", 0.2, 93.3, 0.2],
      ["torchrec-zipf-1.2", 0.01, 85.9, 0.2],
      ["fbgemm-train", 0.0005, 63.8, 0.2],
      ["fbgemm-train", 0.01, 77.0, 0.2],
      ["fbgemm-infer", 0.0005, 45.7, 0.2],
      ["fbgemm-infer", 0.01, 58.8, 0.2],
      ["hps-80-20", 0.2, 80, 1e-6],
      ["uniform", 0.2, 20, 1e-6],
    ] as const
  ) assertNear(await percent(name, part), share, within, `${name}, hottest ${part}`);
});

Deno.test("Criteo profiles have the published rows and bytes", async () => {
  for (
    const [name, rows, gigabytes] of [
      ["criteo-kaggle", 33_762_577, 17.29],
      ["criteo-1tb", 177_944_275, 91.11],
      ["mlperf-dlrmv2", 204_184_588, 104.54],
    ] as const
  ) {
    const { tables } = await loadProfile(name);
    assertEquals(tables.length, 26);
    const sum = tables.reduce((total, table) => total + table.rows, 0);
    assertEquals(sum, rows);
    assertNear(sum * 128 * 4 / 1e9, gigabytes, 0.005, `${name} in GB`);
  }
  const { tables } = await loadProfile("mlperf-dlrmv2");
  assertEquals(tables.reduce((sum, { bags }) => sum + (bags[0]?.[0] ?? 0), 0), 214);
});

// Scale: one table stands for 16 of the 856 tables, with all 65,536 samples. With less there would be no whole row in the
// hottest bins.
Deno.test("meta-2021 has the published reuse bins within 0.01", async () => {
  const profile = await loadProfile("meta-2021"), part = 16 / META_TABLES;
  const [batch] = [...generateKeys(profile, { samples: META_BATCH, seed: 2 })];
  const made = reuseHistogram(batch?.keys ?? new BigInt64Array(), META_2021.accessShares.length);
  META_2021.rowShares.forEach((share, bin) => assertNear(made.rowShares[bin] ?? 0, share, 0.01, `rows, bin ${bin}`));
  META_2021.accessShares.forEach((share, bin) =>
    assertNear(made.accessShares[bin] ?? 0, share, 0.01, `accesses, bin ${bin}`)
  );
  assertNear(made.lookups / (META_2021.lookups * part), 1, 0.001, "lookups");
  assertNear(made.rows / (META_2021.rows * part), 1, 0.01, "rows used");
});

Deno.test("metaProfile() at full size has the rows and lookups of the file", () => {
  const [table] = metaProfile(META_TABLES).tables;
  const steps = table?.popularity.steps ?? [];
  const used = steps.reduce((sum, { rows, share }) => sum + rows * -Math.expm1(-share * META_2021.lookups / rows), 0);
  assertNear(used / META_2021.rows, 1, 0.01, "rows used in a batch");
});

Deno.test("generateKeys() gives the same keys in any batches, and other keys with another seed", async () => {
  const profile = await loadProfile("mlperf-dlrmv2");
  const all = (batch: number, seed: number) =>
    [...generateKeys(profile, { table: "C20", samples: 500, batch, seed })].flatMap(({ keys }) => [...keys]);
  assertEquals(all(500, 1), all(7, 1));
  assert(all(500, 1).some((key, i) => key !== all(500, 2)[i]));
  assertEquals(all(500, 1).length, 6000);
});

Deno.test("parseProfile() names what is wrong", () => {
  const table = { name: "t", rows: 10, popularity: { zipf: { s: 1 } } };
  const text = (over: object) =>
    JSON.stringify({
      tierbenchProfile: 1,
      name: "p",
      about: "",
      origin: { source: "", mark: "assumed" },
      tables: [{ ...table, ...over }],
    });
  assertEquals(parseProfile(text({}), "p").tables[0]?.bags, [[1, 1]]);
  for (
    const [over, message] of [
      [{ rows: 0 }, "tables[0].rows: expected 1 or more"],
      [{ rows: 1.5 }, "whole number of rows"],
      [{ keys: [1] }, "keys"],
      [{ popularity: {} }, "no row has a share"],
      [{ popularity: { steps: [{ rows: 11, share: 0.5 }], zipf: { s: 1 } } }, "its steps and its walk have 11 rows"],
      [{ popularity: { steps: [{ rows: 1, share: 0.5 }] } }, "expected 1, or a law for the rest"],
      [{ parent: { table: "u", share: 1 } }, 'stands before it, found "u"'],
      [{ bags: [[0, 1]] }, "no bag holds a key"],
    ] as const
  ) assertThrows(() => parseProfile(text(over), "p"), ProfileError, message);
  assertThrows(() => parseProfile("{", "p"), ProfileError, "no JSON");
  assertThrows(() => parseProfile('{"tierbenchProfile": 3}', "p"), ProfileError, "expected version 1 or 2");
});
