/**
 * When keeping data in memory pays: the five-minute rule, the same for rows of a table, and the abstract cost model of
 * tiered memory servers.
 *
 * @module
 */

/** A drive and the memory that would replace its accesses. */
export interface PageRule {
  /** Pages in a megabyte of memory. */
  readonly pagesPerMB: number;
  /** Random accesses a second of the drive. */
  readonly accessesPerSecond: number;
  /** $ of the drive. */
  readonly drivePrice: number;
  /** $ of a megabyte of memory. */
  readonly memoryPricePerMB: number;
}

/**
 * Seconds between two accesses to a page below which it is cheaper in memory (Gray and Putzolu, SIGMOD 1987; Gray and
 * Graefe, SIGMOD Record 26(4), 1997): pages per MB ÷ accesses per second × price of drive ÷ price of a MB.
 */
export function breakEvenSeconds(rule: PageRule): number {
  const { pagesPerMB, accessesPerSecond, drivePrice, memoryPricePerMB } = rule;
  return pagesPerMB / accessesPerSecond * (drivePrice / memoryPricePerMB);
}

/** A row, the memory it may live in, and the device below. */
export interface RowRule {
  /** Bytes of the row as memory holds it. */
  readonly rowBytes: number;
  /** $ of a GB (1e9 bytes) of memory. */
  readonly memoryPricePerGB: number;
  /** $ of the device below. */
  readonly devicePrice: number;
  /** Its random accesses a second, at the granule; undefined where only bandwidth limits. */
  readonly accessesPerSecond?: number;
  /** Its bytes a second; undefined where only accesses limit. */
  readonly bytesPerSecond?: number;
  /** Bytes that it moves at least: 4096 for most SSDs, 256 for Optane media. Default 1. */
  readonly granuleBytes?: number;
  /** Share of the accesses that write the row back, 0 to 1. Default 0. */
  readonly writeShare?: number;
  /** Cost of a write in reads. Default 1. */
  readonly writeCost?: number;
  /** Lookups of the row in a batch that touches it, at least 1: they cost one access together. Default 1. */
  readonly lookupsPerBatch?: number;
}

/** Rows a second that a device reads: the lower of its access rate and its bandwidth in whole granules. */
export function rowRate(rule: RowRule): number {
  const { rowBytes, accessesPerSecond = Infinity, bytesPerSecond = Infinity, granuleBytes = 1 } = rule;
  const moved = Math.ceil(rowBytes / granuleBytes) * granuleBytes;
  const rate = Math.min(accessesPerSecond, bytesPerSecond / moved);
  if (!(rate > 0 && Number.isFinite(rate))) {
    throw new RangeError(`Cannot apply the row rule: the device reads ${rate} rows/s, a finite rate above 0 is needed`);
  }
  return rate;
}

/**
 * Mean seconds between two lookups of a row below which it is cheaper in memory: the five-minute rule with row bytes in
 * place of a page, write-back, and lookups that a batch repeats. One access a second costs the device's price ÷ its row
 * rate × (1 + write share × cost of a write); the row costs its bytes in memory.
 */
export function breakEvenRowSeconds(rule: RowRule): number {
  const { rowBytes, memoryPricePerGB, devicePrice, writeShare = 0, writeCost = 1, lookupsPerBatch = 1 } = rule;
  const access = devicePrice / rowRate(rule) * (1 + writeShare * writeCost);
  return access / (rowBytes / 1e9 * memoryPricePerGB) / lookupsPerBatch;
}

/** The parameters of the abstract cost model. */
export interface AbstractCost {
  /** Throughput with the working set in DRAM ÷ that on SSD, above 1. */
  readonly dramSpeed: number;
  /** Throughput with it in CXL memory ÷ that on SSD. */
  readonly cxlSpeed: number;
  /** Capacity of DRAM ÷ capacity of CXL memory of a server. */
  readonly dramToCxl: number;
  /** Cost of a server with CXL memory ÷ cost of one without. */
  readonly serverCost: number;
}

/**
 * Servers with CXL memory that replace one without, and the saving, at equal run time over one working set (Tang et al.,
 * EuroSys 2024, DOI 10.1145/3627703.3650061): N = C R_c (R_d − 1) ÷ (R_d R_c (C + 1) − C R_c − R_d); saving = 1 − R_t N.
 */
export function abstractCost({ dramSpeed, cxlSpeed, dramToCxl, serverCost }: AbstractCost): {
  readonly servers: number;
  readonly saving: number;
} {
  const servers = dramToCxl * cxlSpeed * (dramSpeed - 1) /
    (dramSpeed * cxlSpeed * (dramToCxl + 1) - dramToCxl * cxlSpeed - dramSpeed);
  return { servers, saving: 1 - serverCost * servers };
}

/**
 * Bandwidth of a cached tier: time adds up, so the mean is harmonic.
 *
 * @param hitRatio Share of the bytes that the fast tier answers: of a curve, not the size of the cache.
 * @param fast Bandwidth of the fast tier; `slow` that of the one below, in the same unit.
 */
export function cachedBandwidth(hitRatio: number, fast: number, slow: number): number {
  return 1 / (hitRatio / fast + (1 - hitRatio) / slow);
}
