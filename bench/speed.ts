/**
 * In memory: our store against the floor and against maps that others wrote, paired round by round.
 *
 * @module
 */

import { type Contender, numberOf } from "./contender.ts";
import { DISTRIBUTIONS, type Kind, KINDS } from "./plan.ts";
import { BARS, type BenchRow, missingRow, ratioRow, worstRow } from "./rows.ts";
import { compareResults, ours, prepare, rate, type Setting, smaller } from "./setting.ts";

/** Keys a second of each contender in one round, by threads; `floor` stands beside `ours`, before and after it. */
type RoundRates = Readonly<Record<string, readonly [number, number]>>;

/** All rounds of one kind and distribution. */
export interface Cell {
  /** What was done. */
  readonly kind: Kind;
  /** On which keys. */
  readonly distribution: string;
  /** One entry a round. */
  readonly rounds: readonly RoundRates[];
}

/** Prefetch distances that the floor tries. */
const DISTANCES = [8, 16, 32, 64, 128];

/** Peers with a bar; the others are databases, which are measured apart and briefly. */
const MAPS = ["absl", "tbb"];

/** What rows call a kind. */
export const WORD: Readonly<Record<Kind, string>> = { lookup: "lookup", step: "update" };

/** Lets the floor find the distances that suit this machine. */
async function tuneFloor(setting: Setting, floor: Contender): Promise<Readonly<Record<string, number>>> {
  const best: Record<string, number> = { lookup: 32, update: 32 };
  for (const kind of KINDS) {
    let most = 0;
    for (const distance of DISTANCES) {
      await floor.command("distance", { ...best, [WORD[kind]]: distance });
      let product = 1;
      for (const distribution of [0, 2]) {
        const rates: number[] = [];
        for (const round of [0, 1, 2]) {
          rates.push(await rate(setting, floor, { kind, distribution, threads: 2, round }));
        }
        product *= Math.max(...rates);
      }
      if (product <= most) continue;
      most = product;
      best[WORD[kind]] = distance;
    }
  }
  await floor.command("distance", best);
  return best;
}

/**
 * The rows of the rounds: ours against the floor and each map, and how well it scales compared with the floor.
 *
 * @param absent Maps that are not here, with the package that they need.
 */
export function speedRows(cells: readonly Cell[], absent: ReadonlyMap<string, string>): BenchRow[] {
  const rows: BenchRow[] = [];
  const add = (name: string, parts: BenchRow[]): void => {
    rows.push(worstRow(name, parts), ...parts);
  };
  const at = (rates: RoundRates, name: string, thread: 0 | 1): number => rates[name]?.[thread] ?? NaN;
  for (const kind of KINDS) {
    const own = cells.filter((cell) => cell.kind === kind);
    for (const other of ["floor", ...MAPS]) {
      const name = `${WORD[kind]}/${other}`;
      const needed = absent.get(other);
      if (needed !== undefined) {
        rows.push(missingRow(name, `${other} needs ${needed}`));
        continue;
      }
      const parts = (thread: 0 | 1): BenchRow[] =>
        own.map(({ distribution, rounds }) => {
          const ratios = rounds.map((rates) => at(rates, "ours", thread) / at(rates, other, thread));
          return ratioRow(`${name} ${distribution}${thread === 0 ? ", 1 thread" : ""}`, ratios);
        });
      add(name, parts(1));
      rows.push(...parts(0));
    }
  }
  add(
    "scaling/floor-scaling",
    cells.map(({ kind, distribution, rounds }) => {
      const scaling = (rates: RoundRates, name: string): number => at(rates, name, 1) / at(rates, name, 0);
      const ratios = rounds.map((rates) => scaling(rates, "ours") / scaling(rates, "floor"));
      return ratioRow(`scaling/floor-scaling ${WORD[kind]} ${distribution}`, ratios);
    }),
  );
  // Not ratios: what the machine gives and what the store gives, to see what the ratios are made of.
  for (const { kind, distribution, rounds } of cells) {
    for (const name of ["floor", "ours", ...MAPS.filter((map) => !absent.has(map))]) {
      for (const thread of [0, 1] as const) {
        const rates = rounds.map((one) => at(one, name, thread) * 1e-6);
        rows.push({
          ...ratioRow(
            `rate ${WORD[kind]} ${name} ${distribution}, ${thread + 1} thread${thread === 0 ? "" : "s"}`,
            rates,
          ),
          unit: "million keys/s",
        });
      }
    }
  }
  return rows;
}

/** Measures floor, ours and maps. */
export async function measureSpeed(
  setting: Setting,
): Promise<{ rows: BenchRow[]; facts: Record<string, string | number> }> {
  const { plan } = setting;
  await using stack = new AsyncDisposableStack();
  const start = async (program: string, options: Readonly<Record<string, string | number>> = {}): Promise<Contender> =>
    stack.use((await prepare(setting, program, options)).contender);
  const floor = await start("floor");
  const store = await start("ours", ours(setting, "DRAM"));
  const maps: Contender[] = [];
  for (const map of MAPS.filter((name) => setting.peers.includes(name))) maps.push(await start(map));
  await compareResults([floor, store, ...maps]);
  const distances = await tuneFloor(setting, floor);
  const { kernels = "" } = await floor.command("kernels");
  setting.say(
    `  floor: ${kernels}, prefetch distance ${distances["lookup"]} (lookup), ${distances["update"]} (update)`,
  );

  const cells: Cell[] = [];
  for (const kind of KINDS) {
    for (const [number, distribution] of DISTRIBUTIONS.entries()) {
      const rounds: RoundRates[] = [];
      for (let round = -1; round < plan.rounds; round++) {
        const rates: Record<string, [number, number]> = {};
        // A floor round on either side of ours; every other round goes through everything backwards.
        const order = [floor, store, floor, ...maps];
        const threads: readonly (1 | 2)[] = round % 2 === 0 ? [1, 2] : [2, 1];
        for (const count of threads) {
          const beside: number[] = [];
          for (const contender of round % 2 === 0 ? order : order.toReversed()) {
            const request = { kind, distribution: number, threads: count, round: Math.max(round, 0) };
            const measured = await rate(setting, contender, request);
            if (contender === floor) beside.push(measured);
            else (rates[contender.name] ??= [NaN, NaN])[count - 1] = measured;
          }
          (rates["floor"] ??= [NaN, NaN])[count - 1] = ((beside[0] ?? NaN) + (beside[1] ?? NaN)) / 2;
        }
        if (round >= 0) rounds.push(rates); // the first one warms up
      }
      cells.push({ kind, distribution, rounds });
      setting.say(`  ${WORD[kind]} ${distribution}: ${rounds.length} rounds`);
    }
  }
  const rows = speedRows(cells, new Map([...setting.absent].filter(([name]) => MAPS.includes(name))));
  return {
    rows,
    facts: {
      "floor.kernels": kernels,
      "floor.lookup": distances["lookup"] ?? 0,
      "floor.update": distances["update"] ?? 0,
    },
  };
}

/** Rounds of creating rows: each fills every contender anew, which takes seconds. */
const INSERT_ROUNDS = { quick: 5, full: 7 };

/**
 * Rows created a second by one thread in an empty table that is told no size, against the maps; each round in processes
 * of their own, backwards every other time. Rows by processor time beside them: clearing of pages is in both.
 */
export async function measureInserts(setting: Setting): Promise<BenchRow[]> {
  const maps = MAPS.filter((name) => setting.peers.includes(name));
  const took = new Map<string, { wall: number[]; cpu: number[] }>();
  for (let round = 0; round < (setting.plan.full ? INSERT_ROUNDS.full : INSERT_ROUNDS.quick); round++) {
    const order = ["floor", "ours", ...maps];
    for (const name of round % 2 === 0 ? order : order.toReversed()) {
      const options = name === "ours" ? ours(setting, "DRAM", { stepped: 0 }) : { stepped: 0 };
      const { contender, answer } = await prepare(setting, name, options);
      await contender[Symbol.asyncDispose]();
      const times = took.getOrInsertComputed(name, () => ({ wall: [], cpu: [] }));
      times.wall.push(numberOf(answer, "create"));
      times.cpu.push(numberOf(answer, "create_cpu"));
    }
  }
  const ratios = (other: string, time: "wall" | "cpu"): number[] =>
    (took.get("ours")?.[time] ?? []).map((mine, round) => (took.get(other)?.[time][round] ?? NaN) / mine);
  const rows = [ratioRow("insert/floor", ratios("floor", "wall"), "the floor is told how many rows will come")];
  for (const other of MAPS) {
    const name = `insert/${other}`, needed = setting.absent.get(other);
    if (needed !== undefined) rows.push(missingRow(name, `${other} needs ${needed}`));
    else {rows.push(
        { ...ratioRow(name, ratios(other, "wall")), ...BARS[name] },
        ratioRow(`cpu ${name}`, ratios(other, "cpu")),
      );}
  }
  return rows;
}

/** Keys of the databases, as a part of all: filling them takes longer than anything else here. */
const STORES_PART = 8;

/** RocksDB, LevelDB and LMDB with everything in memory: no bar, since none comes near; two threads, two distributions. */
export async function measureStores(whole: Setting): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  const setting = await smaller(whole, Math.max(50_000, Math.round(whole.plan.keys / STORES_PART)), 8);
  const note = `all in memory, ${setting.plan.keys / 1e6} M keys`;
  for (const name of ["rocksdb", "leveldb", "lmdb"]) {
    if (!setting.peers.includes(name)) continue;
    await using store = (await prepare(setting, "ours", ours(setting, "DRAM"))).contender;
    await using peer = (await prepare(setting, name, { path: `${setting.scratch}/${name}` })).contender;
    await compareResults([store, peer]);
    for (const kind of KINDS) {
      for (const distribution of [0, 2]) {
        const ratios: number[] = [];
        for (let round = 0; round < 3; round++) {
          const request = { kind, distribution, threads: 2, round };
          const mine = await rate(setting, store, request);
          ratios.push(mine / await rate(setting, peer, request));
        }
        rows.push(ratioRow(`${WORD[kind]}/${name} ${DISTRIBUTIONS[distribution]}`, ratios, note));
      }
    }
    await Deno.remove(`${setting.scratch}/${name}`, { recursive: true });
  }
  return rows;
}
