/**
 * What the models say of a plan: how many different rows a step touches, which of them a cache misses, and how long a row takes
 * on a medium. The planner itself (`models/planning`) knows neither laws nor media.
 *
 * @module
 */

import { missRatioCurve, type PopularityLaw, type ZipfLaw } from "../../ffi/curve.ts";
import { evaluateMedia } from "../../ffi/media.ts";
import { bytesText } from "../../base/bytes.ts";
import { type Problem, ScenarioError } from "../../base/diagnostics.ts";
import { isPathWord } from "../../base/path_word.ts";
import { listMedia, loadMedia, type Media, mediaCapacity, mediaOptions } from "../media/media.ts";
import { bandFor, loadResiduals, type Residuals } from "../media/calibration/bands.ts";
import { DRIVE_BUFFER, driveQuestion } from "../media/calibration/drive.ts";
import { capacityOf } from "../simulation/capacity.ts";
import { STORES } from "../simulation/native_options.ts";
import { resolveTier } from "../simulation/resolve.ts";
import { rangesOf, storeCompute, storeSoftware } from "../simulation/software.ts";
import { loadSoftware } from "../simulation/software_file.ts";
import { profileLaw } from "../workloads/profile_keys.ts";
import { profileFaults } from "../workloads/profile_score.ts";
import { profileAt, scaledLaw } from "../workloads/scaled_law.ts";
import type { ResolvedPlanFile, ResolvedPlanTable } from "./plan_file.ts";
import type { PlanInputs, PlannedTable, RowTimes } from "./request.ts";
import { pageMisses } from "./page_heat.ts";
import { planTables } from "./sizes.ts";
import { planBandModel } from "./plan_band.ts";
import { planQuestions, planSimulator } from "./simulate_plan.ts";
import { MODE_OF, planStepModel, type StepSetting } from "./step.ts";

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
  const media = await loadAll([
    ...Object.values(file.media),
    ...Object.values(file.machines).flatMap(({ tiers }) => tiers.map((tier) => tier.medium)),
  ], file.directory);
  refuseOverfull(file, media);
  const tables: PlannedTable[] = [];
  for (const table of planTables(file)) {
    const { profile, lookups } = file.tables[table.name] as ResolvedPlanTable;
    const law = await lawOf(table.rows, profile, file.directory);
    const use = useOf(table.rows, law, lookups * file.batch, file.workers);
    const pageMissRatio = pageMisses(law, { ...table, lookups: lookups * file.batch, workers: file.workers });
    tables.push({ ...table, lookups, ...use, pageMissRatio });
  }
  const trains = Object.values(file.tables).some(({ optimizer }) => optimizer !== "none");
  const setting: StepSetting = {
    batch: file.batch,
    workers: file.workers,
    computeSeconds: file.computeMs / 1e3,
    overlapped: file.overlapped,
    trains,
    ...(file.software === undefined ? { software: { perRow: file.perRowNs * 1e-9 } } : await pricesAt(file, trains)),
    allReduceBytes: file.allReduceBytes,
    media,
  };
  const own = Object.entries(file.machines).map(([name, machine]) => ({ name, ...machine }));
  return {
    tables,
    own,
    providers: file.providers,
    media: file.media,
    capacity: (medium) => mediaCapacity(of(media, medium)),
    pages: (medium) => ["dram", "cxl"].includes(of(media, medium).kind),
    rowTimes: rowTimes(media, await loadResiduals([...media.keys()])),
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
    workers: file.workers,
    step: planStepModel(setting),
    band: planBandModel(setting),
    simulate: planSimulator(setting),
    questions: planQuestions(setting),
    maxHosts: file.maxHosts,
  };
}

/** What our store costs by the file that a plan names. */
async function pricesAt(
  { software = "", directory }: ResolvedPlanFile,
  trains: boolean,
): Promise<Pick<StepSetting, "software" | "ranges">> {
  const found = await loadSoftware(software, directory).catch((error) => {
    if (!(error instanceof ScenarioError || error instanceof Deno.errors.NotFound)) throw error;
    throw new ScenarioError([{ path: ["software"], message: error.message }]);
  });
  return {
    ranges: rangesOf(found),
    software: {
      ...storeCompute(found.prices),
      ...storeSoftware(found.prices, trains),
    },
  };
}

/**
 * How a step uses a table, in the steady state of least recently used rows leaving first.
 *
 * @param lookups Of one worker's batch.
 */
function useOf(
  rows: number,
  law: PopularityLaw | ZipfLaw,
  lookups: number,
  workers: number,
): Pick<PlannedTable, "distinctPerStep" | "distinctPerWorker" | "variancePerWorker" | "curve"> {
  const shares = Array.from({ length: POINTS }, (_, i) => LEAST_SHARE ** (1 - i / (POINTS - 1)));
  const sizes = [...new Set([0, ...shares.map((share) => Math.round(share * rows))])].sort((a, b) => a - b);
  const batch = (times: number) => Math.max(1, Math.round(lookups * times));
  const distinct = (times: number) => Math.min(rows, missRatioCurve({ law, sizes: [0], batch: batch(times) }).lookups);
  const curve = missRatioCurve({ law, sizes, batch: batch(workers) });
  const one = distinct(1);
  return {
    distinctPerStep: Math.min(rows, curve.lookups),
    distinctPerWorker: one,
    // Each row comes or does not: D(2n) - D(n) (native/simulator/demand.h).
    variancePerWorker: Math.max(0, distinct(2) - one),
    // All rows kept: nothing is missed, whatever the formula's last digit says.
    curve: { rows: sizes, misses: curve.missRatios.map((miss, i) => sizes[i] === rows ? 0 : miss) },
  };
}

/**
 * The warnings of the profiles that a plan's tables name: those that are known to be bad.
 *
 * @throws {ProfileError} A profile is not known.
 */
export async function planProfileFaults({ tables, directory }: ResolvedPlanFile): Promise<string[]> {
  const words = new Set(Object.values(tables).flatMap(({ profile }) => typeof profile === "string" ? [profile] : []));
  const profiles = await Promise.all([...words].map((word) => profileAt(word, directory)));
  return profiles.flatMap((profile) => profileFaults(profile));
}

/** How popular the rows of a plan's table are. A profile of another number of rows keeps its shape. */
export async function lawOf(
  rows: number,
  profile: ResolvedPlanTable["profile"],
  directory: string,
): Promise<PopularityLaw | ZipfLaw> {
  if (typeof profile !== "string") return { rows, ...profile };
  return scaledLaw(profileLaw(await profileAt(profile, directory)), rows);
}

/** The media of a plan, by the names that it uses. */
async function loadAll(names: readonly string[], directory: string): Promise<ReadonlyMap<string, Media>> {
  const known = await listMedia();
  const media = new Map<string, Media>();
  for (const name of new Set(names)) {
    if (!isPathWord(name) && !known.includes(name)) {
      throw new ScenarioError([{
        path: ["media"],
        message: `unknown media model "${name}"`,
        hint: `all media models: ${known.join(", ")}`,
      }]);
    }
    media.set(name, await loadMedia(name, directory));
  }
  return media;
}

/**
 * Refuses tiers that are larger than what their devices hold.
 *
 * @throws {ScenarioError} naming the tiers, what their media hold and how many devices would hold them.
 */
function refuseOverfull({ machines }: ResolvedPlanFile, media: ReadonlyMap<string, Media>): void {
  const problems = Object.entries(machines).flatMap(([name, { tiers }]) =>
    tiers.flatMap(({ medium, bytes, devices }, k): Problem[] => {
      const capacity = capacityOf(of(media, medium), { size: bytes, devices });
      if (capacity === undefined || bytes <= capacity) return [];
      const holds = devices === 1 ? "one holds" : `${devices} devices hold`;
      return [{
        path: ["machines", name, "tiers", k, "size"],
        message: `expected a size of at most ${bytesText(capacity)}, which ${holds} of "${medium}", found ${
          bytesText(bytes)
        }`,
        hint: `${Math.ceil(bytes / (capacity / devices))} devices would hold it ("devices")`,
      }];
    })
  );
  if (problems.length > 0) throw new ScenarioError(problems);
}

function of(media: ReadonlyMap<string, Media>, name: string): Media {
  const medium = media.get(name);
  if (medium === undefined) throw new RangeError(`Cannot use "${name}": it is no medium of this plan`);
  return medium;
}

/** Times of rows on media, as the simulator asks for them; asked once for each size. */
function rowTimes(media: ReadonlyMap<string, Media>, residuals: Residuals): PlanInputs["rowTimes"] {
  const answers = new Map<string, RowTimes>();
  return (name, threads, rowBytes, devices = 1) => {
    const key = `${name} ${threads} ${rowBytes} ${devices}`;
    const answer = answers.get(key);
    if (answer !== undefined) return answer;
    const medium = of(media, name);
    const { store, round, depth } = resolveTier({ media: name }, MODE_OF[medium.kind], 1, 2);
    const [operation, bytes] = [STORES[store], Math.ceil(rowBytes / round) * round];
    const gathered = depth > 1;
    const inFlight = Math.min(65_536, threads * depth);
    const [read = NaN, write = NaN] = evaluateMedia(mediaOptions(medium), [
      { ask: "bandwidth", operation: "load", bytes, threads: inFlight, prefetch: true },
      gathered
        ? { ask: "bandwidth", operation, bytes: DRIVE_BUFFER, threads: inFlight, sequential: true }
        : { ask: "bandwidth", operation, bytes, threads: inFlight, prefetch: true },
    ]);
    const bands = ([["read", "load", read], ["write", operation, write]] as const).map(([kind, by, value]) => {
      const asked = gathered
        ? driveQuestion(medium, { op: kind, bytes, inFlight })
        : { operation: by, bytes, threads: inFlight };
      return bandFor(residuals, name, kind, value, asked);
    });
    const factors = bands.map((band, i) => band.calibrated ? band.high / ([read, write][i] ?? 1) : undefined);
    const widest = factors.some((factor) => factor === undefined) ? undefined : Math.max(...factors as number[]);
    const times: RowTimes = {
      readSeconds: bytes / read / devices,
      writeSeconds: bytes / write / devices,
      round,
      band: widest === undefined ? undefined : { low: 1 / widest, high: widest },
      ...(widest === undefined
        ? { outside: [...new Set(bands.flatMap((band) => band.calibrated ? [] : [band.outside]))].join("; ") }
        : {}),
    };
    answers.set(key, times);
    return times;
  };
}
