/**
 * The machine as results carry it.
 *
 * @module
 */

/** The machine as `native/machine` reports it: the raw `key=value` pairs and the few that every report prints. */
export interface MachineRecord {
  /** CPU model name as the kernel gives it. */
  readonly cpu: string;
  /** Logical CPUs this process may use. */
  readonly cpus: number;
  /** Bytes of DRAM. */
  readonly memoryBytes: number;
  /** NUMA nodes with memory. */
  readonly nodes: number;
  /** Kernel release. */
  readonly kernel: string;
  /** Every pair of `ts_machine_probe`. */
  readonly facts: Readonly<Record<string, string>>;
}
