/**
 * What a scenario says about ranks: several processes that train one model.
 *
 * @module
 */

import { described, whole } from "../base/schema_parts.ts";
import * as v from "../base/valibot.ts";
import type { RankLauncher, RankMpi } from "../machines/rank_launcher.ts";

export type { RankLauncher, RankMpi };

/** Who holds rows: every rank, which all train, or the last ranks, which do not train. */
export type RankLayout = "collocated" | "servers";

/** Whether ranks train every batch together, or each whole batches of its own beside the others. */
export type RankMode = "sync" | "async";

/** Ranks as a scenario says them. */
export interface RankCluster {
  /** Processes in all, servers included; 1, 2, 4 or 8 of them train. */
  ranks: number;
  /** How many of them, the last ones, only hold rows. Default 0. */
  servers?: number;
  /** Default: "servers" with servers, else "collocated". */
  layout?: RankLayout;
  /** Whether ranks train in step or, with servers, asynchronously. Default "sync". */
  mode?: RankMode;
  /** Asynchronous: of how many steps before it a step may miss the updates. Default: as many as ranks train. */
  staleness?: number;
  /** What starts them. Default "mpirun". */
  launcher?: RankLauncher;
  /** The MPI whose launcher starts them. Default "auto". */
  mpi?: RankMpi;
}

/** Ranks with every default filled in; a layout that is absent follows from the servers. */
export type ResolvedRankCluster = Readonly<
  Required<Omit<RankCluster, "layout" | "staleness">> & Pick<RankCluster, "layout" | "staleness">
>;

/** Largest bound, as in `native/ranks/tickets.h`. */
const MOST_STALENESS = 1024;

/** Most ranks of a job, as in `native/ranks/ranks.h`. */
const MOST_RANKS = 1024;

/** Field `cluster`. */
export const rankCluster: v.GenericSchema<RankCluster> = described(
  v.strictObject({
    ranks: whole("Processes in all, servers included; 1, 2, 4 or 8 of them train.", 1, MOST_RANKS),
    servers: v.exactOptional(
      whole("How many of the ranks, the last ones, only hold rows. Default 0.", 0, MOST_RANKS - 1),
    ),
    layout: v.exactOptional(described(
      v.picklist(["collocated", "servers"]),
      '"collocated": every rank trains and holds rows; "servers": the last ranks hold rows, the others train. Default: by ' +
        '"servers".',
    )),
    mode: v.exactOptional(described(
      v.picklist(["sync", "async"]),
      '"sync": ranks train every batch together; "async", with servers: each takes whole batches of its own. Default "sync".',
    )),
    staleness: v.exactOptional(whole(
      'Mode "async": of how many steps before it a step may miss the updates. Default: as many as ranks train.',
      0,
      MOST_STALENESS,
    )),
    launcher: v.exactOptional(described(
      v.picklist(["mpirun", "srun", "none"]),
      'What starts the ranks: "mpirun" of the MPI; "srun" of Slurm; "none": nothing, one rank alone. Default "mpirun".',
    )),
    mpi: v.exactOptional(described(
      v.picklist(["auto", "openmpi", "mpich", "mpi"]),
      'The MPI: "openmpi", "mpich", "mpi" where set-up found one mpicc without a name, or "auto": the first that is here. ' +
        'Default "auto".',
    )),
  }),
  "Ranks: processes that train one model together, over an MPI. Sizes of tiers are those of all ranks together.",
);

/** Ranks with every default filled in. */
export function resolveCluster(written: RankCluster): ResolvedRankCluster {
  const { ranks, servers = 0, layout, mode = "sync", launcher = "mpirun", mpi = "auto" } = written;
  const bound = mode === "sync" ? {} : { staleness: written.staleness ?? trainersOf(written) };
  return { ranks, servers, ...(layout === undefined ? {} : { layout }), mode, ...bound, launcher, mpi };
}

/** Ranks that train. */
export function trainersOf({ ranks, servers = 0 }: Pick<RankCluster, "ranks" | "servers">): number {
  return ranks - servers;
}

/** Ranks that hold rows. */
export function holdersOf({ ranks, servers = 0 }: Pick<RankCluster, "ranks" | "servers">): number {
  return servers === 0 ? ranks : servers;
}

/** Who holds rows. */
export function layoutOf({ servers = 0 }: Pick<RankCluster, "servers">): RankLayout {
  return servers === 0 ? "collocated" : "servers";
}
