/**
 * Real kills: processes that train and make checkpoints, or restore points, all the while are killed (SIGKILL) at random
 * moments and begin again from the newest, each time on the storage type that was killed least so far, with another number of
 * shards and of threads. At the end rows, dense weights and every loss must be those of training that was never killed, to the bit, and no process may
 * take up less than what the one before it had said was durable.
 *
 * @module
 */

import { hasHbm, type ScenarioStorage, STORAGE_TIERS } from "../../ffi/storage.ts";
import { generateData } from "../../ffi/data.ts";
import { EmbeddingStore, type StoreOptions } from "../../ffi/store.ts";
import type { TrainerOptions } from "../../ffi/trainer.ts";
import { seededRandom } from "../../reports/statistics/random.ts";
import type { Life, LifeLine } from "./kills_process.ts";

/** What is to be tried. */
export interface KillsOptions {
  /** Processes to kill of each storage type. */
  readonly each: number;
  /** Where chance begins: the same moments, as far as the machine runs the same. */
  readonly seed: string;
  /** An empty folder to work in. */
  readonly folder: string;
  /** Storage types to go through; all that open here if absent. */
  readonly storages?: readonly ScenarioStorage[];
  /**
   * The last tier in which processes make restore points, and from whose files they go on; if absent, they write
   * checkpoints.
   */
  readonly inPlace?: "SSDHASH" | "PMEM";
  /** Called after every process. */
  readonly onLife?: (outcome: LifeOutcome) => void;
}

/** How a process ended. */
export interface LifeOutcome {
  readonly storage: ScenarioStorage;
  readonly shards: number;
  /** Whether it was killed; otherwise it trained to the end. */
  readonly killed: boolean;
  /** The step that it took up; undefined: it began at the beginning. */
  readonly restored: number | undefined;
  /** The last step whose checkpoint it called durable; undefined: none. */
  readonly durable: number | undefined;
  /** What was not as it must be; empty: nothing. */
  readonly wrong: readonly string[];
}

/** What came of all of them. */
export interface KillsResult {
  /** Processes that were killed. */
  readonly kills: number;
  /** How many of each storage type. */
  readonly killed: Readonly<Partial<Record<ScenarioStorage, number>>>;
  /** Of those and of what followed, the processes that took up a checkpoint. */
  readonly restored: number;
  /** Trainings that reached their end. */
  readonly ends: number;
  /** Storage types that do not open here, and why. */
  readonly skipped: Readonly<Record<string, string>>;
  /** What was not as it must be; empty: nothing. */
  readonly wrong: readonly string[];
}

const STEPS = 48;
const EVERY = 3;
const SHARDS = [1, 4, 16] as const;
/** The latest kill, in times that training without checkpoints takes; restore points take turns with steps, so later. */
const LATEST = 3;
const LATEST_IN_PLACE = 6;

/** First tiers are small, so that rows move all the while; counted by rows, since 26 tables on disks have buffers too. */
function storeOptions(storage: ScenarioStorage, shards: number, folder: string, kept?: string): StoreOptions {
  const tiers: readonly string[] = STORAGE_TIERS[storage];
  const last = 64 << 20;
  return {
    storage,
    seed: 5,
    shards,
    size: tiers.map((_, i) => i + 1 === tiers.length ? last : (64 << 10) << i),
    sizeCounts: "rows",
    ...(kept === undefined ? { trackChanges: true } : { persistent: true, ssdPath: kept }),
    ...(storage === "DRAM" ? {} : { path: lasts(storage) === "PMEM" ? kept ?? folder : folder }),
    ...(tiers.length > 1 && tiers.includes("PMEM") ? { pmem: "libpmem" as const } : {}),
    ...(storage === "PMEM_MBIND" ? { pmemNodes: [0] } : {}),
  };
}

/** What the environment must say so that PMEM types run their real code on ordinary memory. */
const ENVIRONMENT = { PMEM_IS_PMEM_FORCE: "1", MEMKIND_DAX_KMEM_NODES: "0" };

const SMALL = { batch: 200, dim: 8, hidden: [48, 24], seed: 1 } as const;

/** The trainings that are killed, in turn: between them everything that a checkpoint holds. */
const TRAINERS: readonly Omit<TrainerOptions, "data" | "threads">[] = [
  {
    ...SMALL,
    wideBuckets: 500,
    deepOptimizer: "adam",
    admission: { counter: { frequency: 2 } },
    expire: { steps: 20 },
    recordFrequency: true,
  },
  {
    ...SMALL,
    model: "dlrm",
    bottom: [16],
    deepOptimizer: "adagrad-decay",
    deepDecayStep: 7,
    bf16: "rows",
    dropout: 0.2,
    admission: { bloom: { frequency: 1, keys: 1000 } },
    recordVersion: true,
  },
];

/** A running process and what it told so far. */
class Running {
  readonly lines: LifeLine[] = [];
  readonly #process: Deno.ChildProcess;
  readonly #told: Promise<void>;
  readonly #complaint: Promise<string>;
  readonly #opened = Promise.withResolvers<void>();

  constructor(life: Life) {
    const program = decodeURIComponent(new URL("kills_process.ts", import.meta.url).pathname);
    this.#process = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", program, JSON.stringify(life)],
      env: ENVIRONMENT,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#told = this.#listen();
    this.#complaint = new Response(this.#process.stderr).text();
  }

  async #listen(): Promise<void> {
    let rest = "";
    for await (const text of this.#process.stdout.pipeThrough(new TextDecoderStream())) {
      const whole = (rest + text).split("\n");
      rest = whole.pop() ?? "";
      for (const line of whole) {
        this.lines.push(JSON.parse(line) as LifeLine);
        this.#opened.resolve();
      }
    }
    this.#opened.resolve();
  }

  /** Until it has opened its trainer, or ended. */
  opened(): Promise<void> {
    return this.#opened.promise;
  }

  kill(): void {
    try {
      this.#process.kill("SIGKILL");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // it has ended
    }
  }

  /** Whether it was killed, and what it said of what went wrong. */
  async end(): Promise<{ readonly killed: boolean; readonly complaint: string }> {
    const { signal, success } = await this.#process.status;
    await this.#told;
    const complaint = await this.#complaint;
    if (signal !== "SIGKILL" && !success) return { killed: false, complaint: complaint.trim() || "it failed" };
    return { killed: signal === "SIGKILL", complaint: "" };
  }
}

/** What training that nobody kills comes to, and how long it takes from opening to the end, milliseconds. */
interface Expected {
  readonly losses: ReadonlyMap<number, string>;
  readonly digest: string;
  readonly ms: number;
}

async function neverKilled(trainer: TrainerOptions): Promise<Expected> {
  const running = new Running({
    store: storeOptions("DRAM", 1, ""),
    trainer: { ...trainer, threads: 1 },
    steps: STEPS,
    every: EVERY,
  });
  await running.opened();
  const begun = performance.now();
  const { complaint } = await running.end();
  if (complaint !== "") throw new Error(`Cannot train without kills: ${complaint}`);
  const losses = new Map<number, string>();
  let digest = "";
  for (const line of running.lines) {
    if ("trained" in line) losses.set(line.trained, line.loss);
    if ("digest" in line) digest = line.digest;
  }
  return { losses, digest, ms: performance.now() - begun };
}

/** What a process told against what training that nobody kills comes to, and what was durable before it began. */
function judge(lines: readonly LifeLine[], expected: Expected, durable: number, mayBegin: boolean): string[] {
  const wrong: string[] = [];
  let restored: number | undefined;
  for (const line of lines) {
    if ("restored" in line) restored = line.restored;
    if ("trained" in line && expected.losses.get(line.trained) !== line.loss) {
      wrong.push(
        `the loss of the steps up to ${line.trained} is ${line.loss}, not ${expected.losses.get(line.trained)}`,
      );
    }
    if ("digest" in line && line.digest !== expected.digest) {
      wrong.push(`the digest at the end is ${line.digest}, not ${expected.digest}`);
    }
  }
  if (restored !== undefined && (restored < durable || restored % EVERY !== 0)) {
    wrong.push(`took up step ${restored}, and step ${durable} was durable`);
  }
  const went = lines.some((line) => "trained" in line);
  if (went && restored === undefined && !mayBegin) wrong.push(`began again, and step ${durable} was durable`);
  return wrong;
}

function last(lines: readonly LifeLine[], key: "durable" | "restored"): number | undefined {
  return lines.flatMap((line) => key in line ? [(line as Record<string, number>)[key] ?? 0] : []).at(-1);
}

/** The last tier of a storage type, if it can have restore points; DRAM_PMEM is over libpmem here. */
function lasts(storage: ScenarioStorage): "SSDHASH" | "PMEM" | undefined {
  const last = STORAGE_TIERS[storage].at(-1);
  if (last === "SSDHASH") return last;
  return last === "PMEM" && storage !== "PMEM_MEMKIND" && storage !== "PMEM_MBIND" ? last : undefined;
}

/** The storage types that open here, and why the others do not. */
function usable(wanted: readonly ScenarioStorage[], folder: string): [ScenarioStorage[], Record<string, string>] {
  const skipped: Record<string, string> = {};
  const open = wanted.filter((storage) => {
    const probe = EmbeddingStore.probe(storeOptions(storage, 1, folder));
    if (!probe.available) skipped[storage] = probe.reason;
    return probe.available;
  });
  return [open, skipped];
}

/**
 * Kills processes.
 *
 * @param options How many, where.
 * @returns What came of it.
 * @throws {Error} If even training without kills fails, or no storage type opens here.
 */
export async function tryKills(options: KillsOptions): Promise<KillsResult> {
  // The stores of this process, which no kill meets, open under the same words; they are taken back afterwards.
  const before = Object.keys(ENVIRONMENT).map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(ENVIRONMENT)) Deno.env.set(name, value);
  try {
    return await killing(options);
  } finally {
    for (const [name, value] of before) value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
  }
}

/** The storage type of which the fewest were killed; of several the one that was its turn longest ago. */
function leastKilled(killed: Map<ScenarioStorage, number>): ScenarioStorage {
  const [storage, kills] = [...killed].reduce((least, other) => other[1] < least[1] ? other : least);
  killed.delete(storage); // to the end of the turns
  killed.set(storage, kills);
  return storage;
}

async function killing(options: KillsOptions): Promise<KillsResult> {
  const { folder, inPlace, onLife } = options;
  const random = seededRandom(options.seed);
  const types = options.storages ?? (Object.keys(STORAGE_TIERS) as ScenarioStorage[]).filter((type) => !hasHbm(type));
  const [storages, skipped] = usable(types.filter((type) => inPlace === undefined || lasts(type) === inPlace), folder);
  if (storages.length === 0) throw new Error(`Cannot kill: no storage type opens here: ${JSON.stringify(skipped)}`);
  const data = `${folder}/train.cache`;
  await generateData({ out: data, rows: 20_000, scale: 0.001 });
  const expectations: (Expected | undefined)[] = [];
  const wrong: string[] = [];
  const killed = new Map<ScenarioStorage, number>(storages.map((storage) => [storage, 0]));
  let kills = 0;
  let restored = 0;
  let ends = 0;
  let lives = 0;
  const wanted = options.each * storages.length;
  for (let training = 0; kills < wanted; training++) {
    const which = training % TRAINERS.length;
    const trainer: TrainerOptions = { ...TRAINERS[which], data };
    const expected = expectations[which] ??= await neverKilled(trainer);
    const path = `${folder}/checkpoints-${training}`;
    if (inPlace !== undefined) await Deno.mkdir(path);
    let durable = 0;
    for (let ended = false; !ended;) {
      const storage = leastKilled(killed);
      const shards = SHARDS[Math.floor(random() * SHARDS.length)] ?? 1;
      const tiers = `${folder}/tiers-${lives++}`;
      await Deno.mkdir(tiers);
      const running = new Running({
        store: storeOptions(storage, shards, tiers, inPlace === undefined ? undefined : path),
        trainer: { ...trainer, threads: 1 + lives % 2 },
        ...(inPlace === undefined ? { path } : { inPlace: true }),
        steps: STEPS,
        every: EVERY,
      });
      await running.opened();
      // So late at most that some reach the end; after the last kill one is let live.
      const timer = kills < wanted
        ? setTimeout(() => running.kill(), random() * (inPlace === undefined ? LATEST : LATEST_IN_PLACE) * expected.ms)
        : undefined;
      const { killed: wasKilled, complaint } = await running.end();
      clearTimeout(timer);
      await Deno.remove(tiers, { recursive: true });
      const outcome: LifeOutcome = {
        storage,
        shards,
        killed: wasKilled,
        restored: last(running.lines, "restored"),
        durable: last(running.lines, "durable"),
        wrong: [...complaint === "" ? [] : [complaint], ...judge(running.lines, expected, durable, durable === 0)],
      };
      wrong.push(...outcome.wrong.map((what) => `${storage}, ${shards} shards, process ${lives}: ${what}`));
      onLife?.(outcome);
      durable = Math.max(durable, outcome.durable ?? 0);
      killed.set(storage, (killed.get(storage) ?? 0) + Number(wasKilled));
      kills += Number(wasKilled);
      restored += Number(outcome.restored !== undefined);
      ended = !wasKilled;
      ends += Number(ended && complaint === "");
    }
    await Deno.remove(path, { recursive: true });
  }
  return { kills, killed: Object.fromEntries(killed), restored, ends, skipped, wrong };
}
