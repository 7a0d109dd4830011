/** What weights and slots of a row are padded to, bytes; as `ts_table_row_bytes` says. */
const PADDING = 16;

/** What updates the rows of a table. */
export type RowOptimizer = "sgd" | "adagrad" | "adagradDecay" | "adam" | "adamAsync" | "adamW" | "ftrl";

/** Vectors of `dim` numbers beside the weights, and single 32-bit numbers, that a row has for its optimizer. */
export const SLOTS: Readonly<Record<RowOptimizer, { readonly vectors: number; readonly scalars: number }>> = {
  sgd: { vectors: 0, scalars: 0 },
  adagrad: { vectors: 1, scalars: 0 },
  adagradDecay: { vectors: 1, scalars: 1 },
  adam: { vectors: 2, scalars: 0 },
  adamAsync: { vectors: 2, scalars: 0 },
  adamW: { vectors: 2, scalars: 0 },
  ftrl: { vectors: 2, scalars: 0 },
};

/**
 * Bytes of one embedding row: weights and fp32 optimizer slots, each padded to 16 bytes.
 *
 * @param dim Weights of the row.
 * @param optimizer What updates it.
 * @param weightBytes Bytes of a weight: 2 in bf16.
 */
export function rowBytes(dim: number, optimizer: RowOptimizer, weightBytes: 2 | 4 = 4): number {
  const padded = (bytes: number) => Math.ceil(bytes / PADDING) * PADDING;
  const { vectors, scalars } = SLOTS[optimizer];
  return padded(dim * weightBytes) + vectors * padded(dim * 4) + scalars * 4;
}
