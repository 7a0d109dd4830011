/**
 * What the models say of a plan: how many different rows a step touches, which of them a cache misses, and how long a row takes
 * on a medium. The planner itself (`models/planning`) knows neither laws nor media.
 *
 * @module
 */

import { missRatioCurve, type PopularityLaw, type ZipfLaw } from "../../ffi/curve.ts";
import { evaluateMedia } from "../../ffi/media.ts";
import { ScenarioError } from "../../base/diagnostics.ts";
import { isPathWord } from "../../base/path_word.ts";
import { listMedia, loadMedia, mediaOptions } from "../media/media.ts";
import { bandFor, loadResiduals } from "../media/calibration/bands.ts";
import { profileLaw } from "../workloads/profile_keys.ts";
import { profileAt, scaledLaw } from "../workloads/scaled_law.ts";
import type { PlanFileTable, ResolvedPlanFile } from "./plan_file.ts";
import type { PlanInputs, PlannedTable, RowTimes } from "./request.ts";
import { planTables } from "./sizes.ts";

/** Points of a curve, by logarithm between this share of the rows and all of them. */
const POINTS = 64;
const LEAST_SHARE = 1e-7;

/**
 * What the models say of a plan.
 *
 * @throws {ScenarioError} A medium is not known.
 * @throws {ProfileError} A profile is not known.
 */
export async function planInputs(file: ResolvedPlanFile): Promise<PlanInputs> {
  const { samplesPerSecond, p99Ms, dollarsPerHour } = file.target;
  const samplesPerStep = file.batch * file.workers;
  const tables: PlannedTable[] = [];
  for (const table of planTables(file)) {
    const { profile, lookups } = file.tables[table.name] as Required<PlanFileTable>;
    tables.push({ ...table, ...await useOf(table.rows, profile, lookups * samplesPerStep, file.directory) });
  }
  const own = Object.entries(file.machines).map(([name, machine]) => ({ name, ...machine }));
  return {
    tables,
    own,
    providers: file.providers,
    media: file.media,
    rowTimes: await rowTimes([
      file.media.dram,
      file.media.pmem,
      ...own.flatMap(({ tiers }) => tiers.map((t) => t.medium)),
    ], file.directory),
    prices: file.prices,
    ...(file.cost === undefined ? {} : {
      trainers: { machine: file.cost.trainers, count: Math.ceil(file.workers / file.cost.workersPerHost) },
    }),
    usableShare: file.usableShare,
    target: {
      ...(samplesPerSecond === undefined ? {} : { samplesPerSecond }),
      ...(p99Ms === undefined ? {} : { p99StepSeconds: p99Ms / 1e3 }),
      ...(dollarsPerHour === undefined ? {} : { dollarsPerHour }),
    },
    samplesPerStep,
    computeSeconds: file.computeMs / 1e3,
    overlapped: file.overlapped,
    maxHosts: file.maxHosts,
  };
}

/** How a step with so many lookups uses a table, in the steady state of least recently used rows leaving first. */
async function useOf(
  rows: number,
  profile: PlanFileTable["profile"],
  lookups: number,
  directory: string,
): Promise<Pick<PlannedTable, "distinctPerStep" | "curve">> {
  const law = await lawOf(rows, profile, directory);
  const shares = Array.from({ length: POINTS }, (_, i) => LEAST_SHARE ** (1 - i / (POINTS - 1)));
  const sizes = [...new Set([0, ...shares.map((share) => Math.round(share * rows))])].sort((a, b) => a - b);
  const curve = missRatioCurve({ law, sizes, batch: Math.max(1, Math.round(lookups)) });
  return {
    distinctPerStep: Math.min(rows, curve.lookups),
    // All rows kept: nothing is missed, whatever the formula's last digit says.
    curve: { rows: sizes, misses: curve.missRatios.map((miss, i) => sizes[i] === rows ? 0 : miss) },
  };
}

/** A profile of another number of rows keeps its shape. */
async function lawOf(
  rows: number,
  profile: PlanFileTable["profile"],
  directory: string,
): Promise<PopularityLaw | ZipfLaw> {
  if (typeof profile !== "string") return { rows, ...profile };
  return scaledLaw(profileLaw(await profileAt(profile, directory)), rows);
}

/** Times of rows on media, asked once for each size. */
async function rowTimes(names: readonly string[], directory: string): Promise<PlanInputs["rowTimes"]> {
  const known = await listMedia();
  const media = new Map<string, Record<string, string>>();
  const kinds = new Map<string, string>();
  for (const name of new Set(names)) {
    if (!isPathWord(name) && !known.includes(name)) {
      throw new ScenarioError([{
        path: ["media"],
        message: `unknown media model "${name}"`,
        hint: `all media models: ${known.join(", ")}`,
      }]);
    }
    const medium = await loadMedia(name, directory);
    media.set(name, mediaOptions(medium));
    kinds.set(name, medium.kind);
  }
  const residuals = await loadResiduals(names);
  const answers = new Map<string, RowTimes>();
  return (medium, threads, rowBytes) => {
    const key = `${medium} ${threads} ${rowBytes}`;
    const answer = answers.get(key);
    if (answer !== undefined) return answer;
    const options = media.get(medium);
    if (options === undefined) throw new RangeError(`Cannot time a row on "${medium}": it is no medium of this plan`);
    // libpmem copies rows with non-temporal stores; DRAM and CXL memory get ordinary ones, and so it is said of a disk.
    const operation = kinds.get(medium) === "pmem" ? "nt-store" : "cached-store";
    const [read = NaN, write = NaN] = evaluateMedia(options, [
      { ask: "bandwidth", operation: "load", bytes: rowBytes, threads },
      { ask: "bandwidth", operation, bytes: rowBytes, threads },
    ]);
    const bands = ([["read", "load", read], ["write", operation, write]] as const).map(([kind, by, value]) =>
      bandFor(residuals, medium, kind, value, { operation: by, bytes: rowBytes, threads })
    );
    const factors = bands.map((band, i) => band.calibrated ? band.high / ([read, write][i] ?? 1) : undefined);
    const widest = factors.some((factor) => factor === undefined) ? undefined : Math.max(...factors as number[]);
    const times: RowTimes = {
      readSeconds: rowBytes / read,
      writeSeconds: rowBytes / write,
      band: widest === undefined ? undefined : { low: 1 / widest, high: widest },
      ...(widest === undefined
        ? { outside: [...new Set(bands.flatMap((band) => band.calibrated ? [] : [band.outside]))].join("; ") }
        : {}),
    };
    answers.set(key, times);
    return times;
  };
}
