/**
 * TorchRec's planner, re-derived as a reference to compare ours with: its bandwidths, its bytes, its times, with its
 * constants. Not a model to believe in: it takes the size of a cache for its hit ratio and mixes bandwidths
 * arithmetically (see {@linkcode cachedBandwidth} for what that should be).
 *
 * Source: meta-pytorch/torchrec, torchrec/distributed/planner/constants.py (commit 143c144) and shard_estimators.py
 * (0519df2), where "GB" is 2^30 bytes.
 *
 * @module
 */

const GIB = 2 ** 30;

/** Constants of the planner. */
export interface TorchrecConstants {
  /** Bytes a second. */
  readonly hbmBandwidth: number;
  /** Bytes a second. */
  readonly ddrBandwidth: number;
  /** Bytes a second between the device's HBM and the host's DDR. */
  readonly hbmToDdrBandwidth: number;
  /** Bytes a second. */
  readonly ssdBandwidth: number;
  readonly hbmBytes: number;
  readonly ddrBytes: number;
  readonly ssdBytes: number;
  /** Size of a cache ÷ rows. */
  readonly cachingRatio: number;
  readonly bytesPerIndex: number;
  /** Rows are read as if they had so many weights at least. */
  readonly smallestDim: number;
  /** Time of the gradient ÷ time of the lookup. */
  readonly backwardFactor: number;
}

/** The planner's defaults. */
export const TORCHREC: TorchrecConstants = {
  hbmBandwidth: 897 * GIB,
  ddrBandwidth: 51 * GIB,
  hbmToDdrBandwidth: 32 * GIB,
  ssdBandwidth: 100 * 2 ** 20,
  hbmBytes: 32 * GIB,
  ddrBytes: 128 * GIB,
  ssdBytes: 2 * 2 ** 40,
  cachingRatio: 0.2,
  bytesPerIndex: 8,
  smallestDim: 32,
  backwardFactor: 2,
};

/** Kernels of a CUDA device. */
export type TorchrecKernel = "dense" | "fused" | "fused_uvm" | "fused_uvm_caching" | "key_value";

/** Bytes a second that the planner expects of a kernel on a CUDA device. @param ratio Size of the cache ÷ rows. */
export function torchrecBandwidth(kernel: TorchrecKernel, ratio: number = TORCHREC.cachingRatio): number {
  const { hbmBandwidth, hbmToDdrBandwidth, ssdBandwidth } = TORCHREC;
  switch (kernel) {
    case "dense":
      return 0.5 * hbmBandwidth;
    case "fused":
      return hbmBandwidth;
    case "fused_uvm":
      return hbmToDdrBandwidth / 10;
    case "fused_uvm_caching":
      return (ratio * hbmBandwidth + (1 - ratio) * hbmToDdrBandwidth) / 10;
    case "key_value":
      return ssdBandwidth;
  }
}

/** Bytes beside the rows of a cached table: 4 for every row, and 16 for every slot of the cache, rounded up. */
export function torchrecCacheBytes(rows: number, ratio: number = TORCHREC.cachingRatio): number {
  return Math.ceil(rows * (4 + ratio * 16));
}

/** Factor on the time of rows that leave threads of a block idle: fewer than 128 weights, fewer than 64. */
export function torchrecBlockPenalty(dim: number): number {
  return dim >= 128 ? 1 : dim >= 64 ? 1.15 : 1.75;
}

/** A shard of a table, in the planner's terms. */
export interface TorchrecShard {
  readonly kernel: TorchrecKernel;
  readonly dim: number;
  readonly weightBytes: number;
  /** Lookups of the shard in a step. */
  readonly lookups: number;
  /** Bytes of its pooled output in a step. */
  readonly outputBytes: number;
  /** Size of the cache ÷ rows. */
  readonly ratio?: number;
}

/** Seconds of a step that the planner expects for lookup and gradient of a shard, without communication and prefetch. */
export function torchrecSeconds(shard: TorchrecShard): { readonly forward: number; readonly backward: number } {
  const { kernel, dim, weightBytes, lookups, outputBytes, ratio } = shard;
  const bytes = lookups * TORCHREC.bytesPerIndex + lookups * Math.max(dim, TORCHREC.smallestDim) * weightBytes +
    outputBytes;
  const forward = bytes * torchrecBlockPenalty(dim) / torchrecBandwidth(kernel, ratio);
  return { forward, backward: TORCHREC.backwardFactor * forward };
}
