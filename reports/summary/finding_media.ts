/**
 * Rules about where rows were: whether a medium was asked at all, and whether it is what it is called.
 *
 * @module
 */

import { formatBytes } from "../../base/bytes.ts";
import type { SampleRecord } from "../../scenarios/record.ts";
import type { CaseSamples } from "./findings.ts";
import { about, perCase, percent, type Rule, touched } from "./finding_parts.ts";

/** Share of the bytes of its rows that a disk must have given: reads of neighbours are joined, so less than all is sound. */
const FROM_DISK = 0.1;
/** Bytes of rows that a disk must be asked for before that is looked at. */
const ASKED = 2 ** 20;
/** How many times its share of the rows the first tier must answer before keys count as skewed. */
const SKEWED = 1.15;

/** Tiers below the first in which no row was looked up and to which none was written, in any sample. */
function unused(
  { samples }: CaseSamples,
  wanted: (sample: SampleRecord, emulated: boolean) => boolean,
): string | undefined {
  const [first] = samples;
  const idle = first.tiers.filter(({ tier, emulates }) =>
    tier > 0 && wanted(first, emulates !== undefined) &&
    samples.every((sample) => touched(sample, tier).read === 0 && touched(sample, tier).written === 0)
  );
  if (idle.length === 0) return undefined;
  return `no row was read from or written to ${idle.map(({ type }) => type).join(" and ")} in the counted steps`;
}

/** Bytes of rows that tiers on a disk were asked for in the counted steps. */
function askedOfDisks(sample: SampleRecord): number {
  return sample.tiers.filter(({ type }) => type === "SSDHASH" || type === "LEVELDB").reduce(
    (sum, { tier, rows, purposes }) =>
      sum + (rows === 0 ? 0 : touched(sample, tier).read * (purposes["rows"] ?? 0) / rows),
    0,
  );
}

const FULL = "make the tables larger (workload.data.scale) or the first tier smaller (dram)";

/** Rules about media. */
export const MEDIA_RULES: readonly Rule[] = [
  perCase(
    "tier-unused-measured",
    "invalid",
    `the case says what DRAM does; ${FULL}`,
    (one) => unused(one, ({ evidence }, emulated) => evidence === "measured" && !emulated),
  ),
  perCase(
    "tier-unused",
    "open",
    `the case says what DRAM does; ${FULL}`,
    (one) => unused(one, ({ evidence }, emulated) => evidence !== "measured" || emulated),
  ),
  perCase("never-read-back", "open", "train more steps, or make the first tier smaller (dram)", ({ samples }) => {
    const dead = samples[0].tiers.filter(({ tier }) =>
      tier > 0 && samples.every((sample) => touched(sample, tier).read === 0) &&
      samples.some((sample) => touched(sample, tier).written > 0)
    );
    return dead.length === 0
      ? undefined
      : `rows were written to ${dead.map(({ type }) => type).join(" and ")}, none was read there`;
  }),
  perCase(
    "forced-pmem",
    "invalid",
    "name a folder on a DAX file system, without PMEM_IS_PMEM_FORCE",
    ({ samples }) =>
      samples.some(({ evidence, tiers }) =>
          evidence === "measured" && tiers.some(({ facts }) => facts["forced"] === "1")
        )
        ? "libpmem was told to take an ordinary file for PMEM, and the figures are called measured"
        : undefined,
  ),
  ({ run: { machine } }, cases) => {
    const cache = Number(machine.facts["cpu.last_cache_bytes"] ?? 0);
    const found = cases.filter(({ samples: [first] }) => first.tableBytes > 0 && first.tableBytes < cache);
    return about(
      "fits-in-cpu-cache",
      "open",
      found.map(({ name, samples: [first] }) => [
        name,
        `its rows take ${formatBytes(first.tableBytes)}, a last-level cache here has ${formatBytes(cache)}`,
      ]),
      "no medium is asked for rows that the processor keeps; raise workload.data.scale",
    );
  },
  perCase("fits-in-first-tier", "open", FULL, ({ samples: [first] }) => {
    const [upper] = first.tiers;
    if (upper === undefined || first.tiers.length < 2 || first.tableBytes === 0) return undefined;
    return upper.limitBytes >= first.tableBytes
      ? `its rows take ${formatBytes(first.tableBytes)}, the first tier may hold ${formatBytes(upper.limitBytes)}`
      : undefined;
  }),
  perCase(
    "page-cache",
    "open",
    "use SSDHASH, which goes past the page cache, or tables larger than memory",
    ({ samples }) => {
      const shares = samples.flatMap((sample) => {
        const [asked, read] = [askedOfDisks(sample), sample.conditions?.readBytes];
        return read === undefined || asked < ASKED ? [] : [read / asked];
      });
      return shares.length > 0 && Math.max(...shares) < FROM_DISK
        ? `the machine's disks gave at most ${
          percent(Math.max(...shares))
        } of the bytes that its rows on a disk have: ` +
          "the rest came from memory"
        : undefined;
    },
  ),
  perCase(
    "queue-depth",
    "open",
    "let several reads be in flight (the store's ssdhash.depth)",
    ({ samples: [first] }) => {
      const alone = first.tiers.find(({ type, facts }) => type === "SSDHASH" && Number(facts["depth"] ?? NaN) === 1);
      return alone === undefined ? undefined : "its disk has one read in flight at a time, which loads no SSD";
    },
  ),
  perCase("unlike-denominators", "open", "run both with the same version", ({ samples }) => {
    const of = new Set(samples.map(({ statistics }) => statistics["lookup_distinct"] !== undefined));
    return of.size > 1 ? "hit ratios of some samples are of distinct keys, of others of all looked-up keys" : undefined;
  }),
  (result, cases) => {
    const { data } = result.run.scenario.workload ?? {};
    const asked = data !== undefined && "skew" in data && data.skew?.s === 0;
    const seen = cases.flatMap(({ name, samples: [first] }) => {
      const [upper] = first.tiers;
      const rows = first.tiers.reduce((sum, tier) => sum + tier.rows, 0);
      const looked = first.statistics["lookup_keys"] ?? 0;
      const below = first.tiers.slice(1).reduce((sum, { tier }) => sum + touched(first, tier).read, 0);
      if (upper === undefined || first.tiers.length < 2 || looked === 0 || below === 0) return [];
      const [hits, share] = [touched(first, 0).read / looked, upper.rows / rows];
      return hits < SKEWED * share && share < 1
        ? [
          [
            name,
            `the first tier has ${percent(share)} of the rows and answers ${percent(hits)} of the lookups`,
          ] as const,
        ]
        : [];
    });
    const found = asked && seen.length === 0 ? [["all", "workload.data.skew draws every id alike"] as const] : seen;
    return about(
      "uniform-keys",
      "open",
      found,
      'recommenders\' keys are skewed, which is what caches live on; give a skew such as "criteo"',
    ).map((one) => asked && seen.length === 0 ? { ...one, cases: [] } : one);
  },
  ({ run: { modelBands = {} } }, cases) => {
    const media = (one: CaseSamples) => one.samples[0].tiers.flatMap(({ emulates }) => emulates ?? []);
    const found = cases.flatMap((one) => {
      const without = media(one).filter((name) => modelBands[name]?.length === 0);
      return without.length === 0
        ? []
        : [[one.name, `nothing published was compared with ${without.join(" and ")}`] as const];
    });
    return about(
      "not-calibrated",
      "open",
      found,
      "the emulated medium's error is not known; name one of docs/accuracy.md",
    );
  },
  ({ run: { modelBands } }, cases) =>
    about(
      "emulation-not-verified",
      "open",
      cases.flatMap(({ name, samples: [first] }) => {
        const media = first.tiers.flatMap(({ emulates }) => emulates ?? []);
        // Memory Mode's model names what is behind it, and has no bands of its own.
        const without = media.filter((one) => !one.startsWith("Memory Mode") && modelBands?.[one] === undefined);
        return without.length === 0 ? [] : [[name, `how far ${without.join(" and ")} is off is not recorded`] as const];
      }),
      "run it again with this version, which records that",
    ),
  ({ run: { modelBands = {} } }, cases) =>
    about(
      "fitted-on-itself",
      "open",
      cases.flatMap(({ name, samples: [first] }) => {
        const media = new Set(first.tiers.flatMap(({ emulates }) => emulates ?? []));
        const own = [...media].filter((one) => {
          const bands = modelBands[one] ?? [];
          return bands.length > 0 && bands.every(({ basis }) => basis === "fit");
        });
        return own.length === 0 ? [] : [
          [
            name,
            `the errors of ${own.join(" and ")} are those of its own fit, no other figure was foretold`,
          ] as const,
        ];
      }),
      "compare the medium with figures that its fit did not see (docs/accuracy.md)",
    ),
];
