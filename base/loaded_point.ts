/** A load while others load: one point of a loaded-latency curve. */
export interface LoadedPoint {
  /** Threads at the memory, that of the load among them; 1: it is alone. */
  readonly threads: number;
  /** Bytes a second that all of them moved, median of the rounds. */
  readonly bytesPerSecond: number;
  /** Latency of a load, ns: median of the rounds. */
  readonly ns: number;
  /** Lower end of the median's 90 % interval, ns. */
  readonly low: number;
  /** Upper end, ns. */
  readonly high: number;
  /** What the fitted model says, ns. */
  readonly modelNs: number;
}
