/**
 * Processes that train one model together.
 *
 * @module
 */

import { NATIVE_FOLDER } from "../base/native_build.ts";
import { checkFields, type FieldsOf } from "../base/fields.ts";
import { message, readText } from "./errors.ts";
import { numberOf, parseLines } from "./facts.ts";
import { checkMaker, handleOf, MAKER, NativeHandle, own } from "./handle.ts";
import { native } from "./library.ts";
import { nativeOptions, withConfig } from "./options.ts";

/** An MPI that set-up compiled a shim for: `"mpi"` where there is one `mpicc` without a name. */
export type Mpi = "openmpi" | "mpich" | "mpi";

/** Options of {@linkcode Ranks.open}. */
export interface RanksOptions {
  /** The MPI whose launcher started this process; absent: none did, one rank alone. */
  readonly mpi?: Mpi;
  /** How many ranks, the last ones, hold rows and do not train (0: all train and hold rows). */
  readonly servers?: number;
  /**
   * What a rank does until a message is there (`"poll"`). `"poll"`: asks without a pause, as MPI itself does. `"yield"`: gives
   * its processor away meanwhile: for ranks that share processors, or messages that are long under way. Keeps results.
   */
  readonly waits?: "poll" | "yield";
}

/** What {@linkcode Ranks.describe} returns. */
export interface RanksDescription {
  /** Number of this rank, counting from 0. */
  readonly rank: number;
  /** How many there are. */
  readonly size: number;
  /** How many train: the first ones. */
  readonly trainers: number;
  /** How many hold rows. */
  readonly owners: number;
  /** Name and version of the MPI; `"none"` for one rank alone. */
  readonly library: string;
  /** Messages of this rank since it joined, those by which ranks agree not counted. */
  readonly messages: number;
  /** Bytes that it sent to other ranks in them. */
  readonly sentBytes: number;
  /** Bytes that it received from other ranks. */
  readonly receivedBytes: number;
  /** Nanoseconds in messages, waiting for other ranks included. */
  readonly messageNs: number;
  /** Of these, as far as times were compared ({@linkcode Ranks.compare}), those that messages took it longer than the last rank to come. */
  readonly waitingNs: number;
  /** And those that they took that rank: moving bytes. */
  readonly movingNs: number;
}

const FIELDS: FieldsOf<RanksOptions> = { mpi: true, servers: true, waits: true };

/**
 * The ranks that train a model, as one of them: 1, 2, 4 or 8 that train, and any number of servers. Results are the same bits on
 * any number of them.
 *
 * @example Two ranks, started by `mpirun -n 2`
 * ```ts ignore
 * import { EmbeddingStore, Ranks, WdlTrainer } from "../mod.ts";
 *
 * using ranks = Ranks.open({ mpi: "openmpi" });
 * using store = EmbeddingStore.open({ storage: "DRAM" });
 * using trainer = WdlTrainer.open(store, { data: "train.bin" }, ranks);
 * const { loss } = await trainer.train(100);
 * if (ranks.describe().rank === 0) console.log(loss);
 * ```
 */
export class Ranks implements Disposable {
  private constructor(maker: symbol, address: bigint) {
    checkMaker(maker, "Ranks", "Ranks.open()");
    const close = (ranks: bigint): number => native().ts_ranks_close(ranks);
    own(this, new NativeHandle("group of ranks", address, close));
  }

  /**
   * Joins the processes that the launcher of an MPI started. A process may do so once; every one of them must, and close its
   * ranks in the end.
   *
   * @param options Which MPI, and how many ranks are servers.
   * @throws {TypeError} If there is an option that does not exist.
   * @throws {TierstoreError} `TS_EUNAVAILABLE` naming the packages if the MPI is missing, `TS_EINVAL` if not 1, 2, 4 or 8 ranks
   * train.
   */
  static open(options: RanksOptions = {}): Ranks {
    checkFields("ranks", options, FIELDS);
    const out = new BigUint64Array(1);
    const { mpi, servers, waits } = options;
    const shim = mpi === undefined ? undefined : shimOf(mpi);
    withConfig(nativeOptions({ shim, servers, waits }), (config) => {
      message.check(native().ts_ranks_open(config, out, message.bytes, message.capacity), "join the ranks");
    });
    return new Ranks(MAKER, out[0] ?? 0n);
  }

  /** Which of them this is, how many there are, and what was sent so far. */
  describe(): RanksDescription {
    const address = handleOf(this, "group of ranks").shared("describe the ranks");
    const facts = parseLines(readText("describe the ranks", (out, capacity, needed) => {
      return native().ts_ranks_describe(address, out, capacity, needed);
    }));
    return {
      rank: numberOf(facts, "rank"),
      size: numberOf(facts, "size"),
      trainers: numberOf(facts, "trainers"),
      owners: numberOf(facts, "owners"),
      library: facts["library"] ?? "",
      messages: numberOf(facts, "messages"),
      sentBytes: numberOf(facts, "sent_bytes"),
      receivedBytes: numberOf(facts, "received_bytes"),
      messageNs: numberOf(facts, "message_ns"),
      waitingNs: numberOf(facts, "waiting_ns"),
      movingNs: numberOf(facts, "moving_ns"),
    };
  }

  /**
   * Compares how long each message so far took the ranks, which divides all of `messageNs` into waiting and moving. Every rank
   * calls, while no trainer over them is at work.
   *
   * @throws {TierstoreError} `TS_EINTERNAL` if the MPI failed.
   */
  compare(): void {
    const address = handleOf(this, "group of ranks").shared("compare times of messages");
    message.check(native().ts_ranks_compare(address, message.bytes, message.capacity), "compare times of messages");
  }

  /**
   * Nanoseconds of messages to and from every other rank, one after the other, waiting for the others included. Every rank
   * calls, with the same numbers.
   *
   * @param bytes To each rank, 1 to 2^24.
   * @param times How many.
   * @throws {TierstoreError} `TS_EINVAL` of one rank alone, `TS_EINTERNAL` if the MPI failed.
   */
  ping(bytes: number, times: number): BigUint64Array<ArrayBuffer> {
    const address = handleOf(this, "group of ranks").shared("time messages"), ns = new BigUint64Array(times);
    const status = native().ts_ranks_ping(address, BigInt(bytes), times, ns, message.bytes, message.capacity);
    message.check(status, "time messages");
    return ns;
  }

  /**
   * Ends the processes of all ranks: for a rank that cannot go on, after it has said why. Returns only where there is one
   * rank alone.
   *
   * @param code Exit code of this process, 1 to 255.
   */
  abort(code = 1): void {
    native().ts_ranks_abort(handleOf(this, "group of ranks").shared("end all ranks"), code);
  }

  /** Leaves the ranks; trainers over them are closed first. Later calls do nothing. */
  close(): void {
    handleOf(this, "group of ranks").close();
  }

  /** As {@linkcode Ranks.close}. */
  [Symbol.dispose](): void {
    this.close();
  }
}

/**
 * Path of the shim for an MPI, which is there if that MPI was installed when the library was built.
 *
 * @param mpi Which.
 */
export function shimOf(mpi: Mpi): string {
  return `${NATIVE_FOLDER}/build/release/ranks_${mpi}.so`;
}

/** The program that starts a rank and says how it ended (`native/ranks/watch/watch.c`). */
export const RANK_WATCH: string = `${NATIVE_FOLDER}/build/release/rank_watch`;
