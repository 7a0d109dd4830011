/** What weights and slots of a row are padded to, bytes; as `ts_table_row_bytes` says. */
const PADDING = 16;

/** Vectors of `dim` numbers in a row by optimizer: the weights, and Adagrad's accumulator. */
const VECTORS = { adagrad: 2, sgd: 1 } as const;

/**
 * Bytes of one embedding row: fp32 weights and optimizer slots, each padded to 16 bytes.
 *
 * @param dim Weights of the row.
 * @param optimizer What updates it.
 */
export function rowBytes(dim: number, optimizer: keyof typeof VECTORS): number {
  return Math.ceil(dim * 4 / PADDING) * PADDING * VECTORS[optimizer];
}
