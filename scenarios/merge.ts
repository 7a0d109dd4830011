/**
 * Joins the results of a run that was taken in shares.
 *
 * @module
 */

import type { Result, ResultRecord, RunRecord, SampleRecord } from "./record.ts";
import { QUALITY_ID } from "./result.ts";
import { shardText } from "./shard.ts";

/** Shares that cannot be joined. */
export class MergeError extends Error {
  /** The error. @param message What was found and what to do. */
  constructor(message: string) {
    super(message);
    this.name = "MergeError";
  }
}

/** The result of one share, and what messages call it. */
export interface SharedResult {
  /** What messages call it: a file. */
  readonly name: string;
  /** What the share found. */
  readonly result: Result;
}

type ShardRecord = NonNullable<RunRecord["shard"]>;

/** Samples of a share that neither completed nor failed. */
function missingIn({ samples, again = [], failed }: Result, { samples: planned }: ShardRecord): number {
  return planned - samples.length - again.length - failed.length;
}

/**
 * The records of the whole run: those of all shares, in the order of the plan. The first line is that of the first share,
 * which says what was joined.
 *
 * @param allowMissing Joins what there is of a run whose shares are lost or unfinished; the report then names them.
 * @throws {MergeError} if shares are of different runs, twice there, lost or unfinished.
 *
 * @example
 * ```ts ignore
 * import { mergeResults, readResult, writeResult } from "../mod.ts";
 *
 * const names = ["shards/shard-1/result.jsonl", "shards/shard-2/result.jsonl"];
 * const shares = await Promise.all(names.map(async (name) => ({ name, result: await readResult(name) })));
 * await writeResult("merged/result.jsonl", mergeResults(shares));
 * ```
 */
export function mergeResults(
  given: readonly SharedResult[],
  { allowMissing = false }: { readonly allowMissing?: boolean } = {},
): ResultRecord[] {
  const shares = given.map(({ name, result }) => {
    const { shard } = result.run;
    if (shard === undefined) {
      throw new MergeError(`Cannot merge "${name}": it is a whole run, none that was run with --shard`);
    }
    return { name, result, shard };
  }).toSorted((a, b) => a.shard.index - b.shard.index);
  const [first] = shares;
  if (first === undefined) throw new MergeError("Cannot merge nothing: name the results of all shards");
  for (const one of shares.slice(1)) checkAlike(first, one);
  shares.forEach(({ name, shard }, i) => {
    const before = shares[i - 1];
    if (before?.shard.index === shard.index) {
      throw new MergeError(`Cannot merge "${before.name}" and "${name}": both are shard ${shardText(shard)}`);
    }
  });
  const there = new Set(shares.map(({ shard }) => shard.index));
  const lost = Array.from({ length: first.shard.of }, (_, i) => i + 1).filter((index) => !there.has(index));
  const unfinished = shares.filter(({ result, shard }) => missingIn(result, shard) > 0);
  if (!allowMissing && lost.length + unfinished.length > 0) {
    const said = [
      ...lost.map((index) =>
        `shard ${index}/${first.shard.of} is lost: run it with --shard ${index}/${first.shard.of}`
      ),
      ...unfinished.map(({ name, result, shard }) =>
        `shard ${shardText(shard)} in "${name}" lacks ${
          missingIn(result, shard)
        } of ${shard.samples} samples: run it again ` +
        "with --resume"
      ),
    ];
    throw new MergeError(`Cannot merge: ${said.join("; ")}; or join what there is with --allow-missing`);
  }
  const { shard: _, ...run } = first.result.run;
  const parts = shares.map(({ result, shard }) => ({
    index: shard.index,
    started: result.run.started,
    cpu: result.run.machine.cpu,
    missing: Math.max(0, missingIn(result, shard)),
  }));
  const all = shares.map(({ result }) => result);
  const taken: (SampleRecord | Result["failed"][number])[] = all.flatMap(({ samples, again = [], failed }) => [
    ...samples,
    ...again,
    ...failed,
  ]);
  const qualities = new Map(all.flatMap((one) => one.qualities).map((one) => [one.id ?? QUALITY_ID, one]));
  const curves = new Map(all.flatMap((one) => one.curves ?? []).map((one) => [JSON.stringify(one.point), one]));
  return [
    { ...run, merged: { of: first.shard.of, shards: parts, lost } },
    ...taken.toSorted((a, b) => a.position - b.position),
    ...qualities.values(),
    ...curves.values(),
  ];
}

/** @throws {MergeError} if two shares are of different runs. */
function checkAlike(
  a: SharedResult & { readonly shard: ShardRecord },
  b: SharedResult & { readonly shard: ShardRecord },
): void {
  const facts: readonly (readonly [string, (of: SharedResult & { readonly shard: ShardRecord }) => string])[] = [
    ["number of shards", ({ shard }) => `${shard.of}`],
    ["scenario", ({ result }) => result.run.scenarioDigest.slice(0, 12)],
    ["key stream", ({ result }) => result.run.data.digest],
    ["version of tierbench", ({ result }) => result.run.versions["tierbench"] ?? "unknown"],
    ["version of libtierstore", ({ result }) => result.run.versions["libtierstore"] ?? "unknown"],
  ];
  for (const [what, of] of facts) {
    if (of(a) === of(b)) continue;
    throw new MergeError(
      `Cannot merge "${a.name}" and "${b.name}": their ${what} differs, ${of(a)} and ${of(b)}; shards are of one run`,
    );
  }
}
