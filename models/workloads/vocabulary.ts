/** Keys of Criteo Kaggle's columns (`ts_criteo_kaggle_cardinality`), which scales and the law's q are relative to. */
export const KAGGLE_KEYS: readonly number[] = [
  ...[1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194],
  ...[27, 14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572],
];

/** Keys of every column of synthetic data, as the native library makes them (`ts_planted_vocabulary`). */
export function vocabularyOf(scale: number): number[] {
  return KAGGLE_KEYS.map((keys) => Math.min(keys, Math.max(3, Math.floor(keys * scale + 0.5))));
}
