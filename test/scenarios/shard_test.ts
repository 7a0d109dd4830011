/** A run in shares: together they are the run, none is twice, and what is compared stays on one machine. */

import "../native_library.ts";
import fc from "fast-check";
import { mergeResults } from "../../scenarios/merge.ts";
import { planSamples } from "../../scenarios/plan.ts";
import { mostShards, parseShard, type Shard, shardOf } from "../../scenarios/shard.ts";
import { readResult, resultOf, writeResult } from "../../scenarios/result.ts";
import { runWith } from "../../scenarios/run/run.ts";
import type { Result } from "../../scenarios/record.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "../assert.ts";
import { casesOf, fakes, FOUR } from "./fakes.ts";

const SCENARIO = { ...FOUR, aa: true, matrix: { "workload.batch": [64, 128] } };

Deno.test("shardOf(): all shares are the run, no sample is in two, and a round of a point is never divided", () => {
  const planned = planSamples(casesOf(SCENARIO), 5, 7);
  assertEquals(mostShards(planned), 10);
  fc.assert(fc.property(fc.integer({ min: 1, max: 10 }), (of) => {
    const shares = Array.from({ length: of }, (_, i) => shardOf(planned, { index: i + 1, of }));
    assertEquals(shares.flat().map(({ id }) => id).toSorted(), planned.map(({ id }) => id).toSorted());
    const units = shares.map((share) => new Set(share.map((one) => JSON.stringify([one.case.point, one.sample]))));
    assertEquals(units.reduce((sum, one) => sum + one.size, 0), 10, "a unit is in two shares");
    const sizes = shares.map(({ length }) => length);
    assert(Math.max(...sizes) - Math.min(...sizes) <= 4, "shares are as alike as whole rounds allow");
    for (const share of shares) {
      assertEquals(
        share.map(({ position }) => position),
        share.map(({ position }) => position).toSorted((a, b) => a - b),
      );
    }
  }));
  assertThrows(() => shardOf(planned, { index: 1, of: 11 }), RangeError, "it has 10 rounds");
});

Deno.test("parseShard() takes i/n and refuses the rest", () => {
  assertEquals(parseShard("2/8"), { index: 2, of: 8 });
  for (const bad of ["0/8", "9/8", "2", "2/", "a/b", "1/0", "-1/3", "1.5/3", "2/8/9"]) {
    assertThrows(() => parseShard(bad), RangeError, `Cannot use the shard "${bad}"`);
  }
});

/** Runs shares with fake workers. */
async function inShares(
  body: (run: (shard?: Shard, more?: object) => Promise<Result>) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    const { dependencies } = fakes(directory);
    await body((shard, more = {}) =>
      runWith(dependencies, SCENARIO, {
        out: `${directory}/${shard === undefined ? "whole" : `${shard.index}-${shard.of}`}`,
        ...(shard === undefined ? {} : { shard }),
        ...more,
      })
    );
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** A result without what differs from run to run: times, and what the machine did meanwhile. */
function timeless(result: Result): unknown {
  const text = JSON.stringify(result, (key, value) => {
    if (["started", "processSeconds", "conditions", "seconds", "trainSeconds", "merged", "how"].includes(key)) {
      return undefined;
    }
    return value;
  });
  return JSON.parse(text);
}

Deno.test("two shares merged are one run but for times, and are read back whole", async () => {
  await inShares(async (run) => {
    const whole = await run();
    const shares = [await run({ index: 2, of: 2 }), await run({ index: 1, of: 2 })];
    assertEquals(shares.map(({ qualities }) => qualities.length), [0, 1], "one share gives the AUC");
    const records = mergeResults(shares.map((result, i) => ({ name: `share ${i}`, result })));
    const merged = resultOf(records);
    assertEquals([merged.samples.length, merged.again?.length], [24, 6]);
    const byPosition = (of: Result): Result => ({
      ...of,
      samples: of.samples.toSorted((a, b) => a.position - b.position),
      again: (of.again ?? []).toSorted((a, b) => a.position - b.position),
    });
    assertEquals(timeless(byPosition(merged)), timeless(byPosition(whole)));
    const folder = await Deno.makeTempDir();
    try {
      assertEquals(await writeResult(`${folder}/result.jsonl`, records), merged);
      assertEquals(await readResult(`${folder}/result.jsonl`), merged);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
});

Deno.test("mergeResults() names shares that are lost, twice there, unfinished, or of another run", async () => {
  await inShares(async (run) => {
    const [one, two, three] = await Promise.all([1, 2, 3].map((index) => run({ index, of: 3 }))) as [
      Result,
      Result,
      Result,
    ];
    const named = (...results: readonly Result[]) => results.map((result, i) => ({ name: `file ${i}`, result }));
    const refused = (words: string, ...results: readonly Result[]): void => {
      assertThrows(() => mergeResults(named(...results)), Error, words);
    };
    refused("shard 2/3 is lost: run it with --shard 2/3", one, three);
    refused("shard 1/3 is lost: run it with --shard 1/3; shard 3/3 is lost", two);
    refused('"file 0" and "file 1": both are shard 1/3', one, one, two, three);
    refused("Cannot merge nothing");
    const short = { ...two, samples: two.samples.slice(2) };
    refused(
      `shard 2/3 in "file 1" lacks 2 of ${two.run.shard?.samples} samples: run it again with --resume`,
      one,
      short,
      three,
    );
    const { shard: _, ...unshared } = one.run;
    refused('"file 0": it is a whole run', { ...one, run: unshared });
    refused("their scenario differs", one, two, { ...three, run: { ...three.run, scenarioDigest: "ff".repeat(32) } });
    refused(
      "their key stream differs",
      one,
      { ...two, run: { ...two.run, data: { ...two.run.data, digest: "x" } } },
      three,
    );
    const partly = resultOf(mergeResults(named(one, short), { allowMissing: true }));
    assertEquals([partly.run.merged?.lost, partly.run.merged?.shards.map(({ missing }) => missing)], [[3], [0, 2]]);
  });
});

Deno.test("a share goes on as itself with resume, and not as another", async () => {
  await inShares(async (run) => {
    const first = await run({ index: 1, of: 2 });
    assertEquals(timeless(await run({ index: 1, of: 2 }, { resume: true })), timeless(first));
    const folder = await Deno.makeTempDir();
    try {
      await run({ index: 1, of: 2 }, { out: folder });
      const error = await assertRejects(() => run({ index: 2, of: 2 }, { out: folder, resume: true }), Error);
      assertStringIncludes(error.message, "it has shard 1/2, now shard 2/2 is asked for");
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
    await assertRejects(() => run({ index: 1, of: 99 }), RangeError, "it has 6 rounds");
  });
});
