/** Colours of a terminal; without colours the text stays as it is. */
export interface Style {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
}

/** Colours, or none. */
export function styleFor(colors: boolean): Style {
  const wrap = (on: number, off: number) => (text: string) => colors ? `\x1b[${on}m${text}\x1b[${off}m` : text;
  return { bold: wrap(1, 22), dim: wrap(2, 22), red: wrap(31, 39), green: wrap(32, 39), yellow: wrap(33, 39) };
}

/** Returns to the start of the line and clears it. */
export const CLEAR_LINE = "\r\x1b[2K";
