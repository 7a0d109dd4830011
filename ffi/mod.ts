/**
 * What programs may use of the native library: stores and tables, the Wide & Deep trainer, its data, the machine.
 *
 * @module
 */

export { formatBytes, parseBytes } from "./bytes.ts";
export {
  type DataDescription,
  describeData,
  generateData,
  type GenerateOptions,
  importCriteo,
  type ImportOptions,
} from "./data.ts";
export { NativeLibraryError, type StatusName, TierstoreError } from "./errors.ts";
export { libraryVersion, probeMachine } from "./machine.ts";
export type { RunOptions } from "./run.ts";
export {
  type Availability,
  type DistributionOptions,
  EmbeddingStore,
  type FoundRows,
  type InitializerOptions,
  type Keys,
  type OptimizerOptions,
  type StorageType,
  type StoreMemory,
  type StoreOptions,
  Table,
  type TableOptions,
  type TierDescription,
  type TierMemory,
} from "./store.ts";
export { type Evaluation, type Phase, PHASES, type TrainerOptions, type TrainResult, WdlTrainer } from "./trainer.ts";
