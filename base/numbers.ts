/**
 * Numbers as people read them: three significant digits, in English notation.
 *
 * @module
 */

/** Three significant digits without exponent: `52.9`, `0.0131`, `1,690,000`. */
export function significant(value: number, digits: number = 3): string {
  if (!Number.isFinite(value)) throw new RangeError(`Cannot print a number: found ${value}, a finite one is needed`);
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(digits));
  const magnitude = Math.floor(Math.log10(Math.abs(rounded)));
  const text = Math.abs(rounded).toFixed(Math.min(20, Math.max(0, digits - 1 - magnitude)));
  const [whole, fraction] = text.split(".") as [string, string | undefined];
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return (rounded < 0 ? "−" : "") + grouped + (fraction === undefined ? "" : `.${fraction}`);
}

/** A value scaled to a prefix: `52.9 k`, `1.02 M`. */
export function prefixed(value: number): string {
  const { factor, prefix } = prefixFor(value);
  return significant(value / factor) + (prefix === "" ? "" : ` ${prefix}`);
}

/** The decimal prefix in which a value has one to three digits before the point. */
export function prefixFor(value: number): { readonly factor: number; readonly prefix: string } {
  const size = Math.abs(Number(value.toPrecision(3)));
  if (size >= 1e9) return { factor: 1e9, prefix: "G" };
  if (size >= 1e6) return { factor: 1e6, prefix: "M" };
  if (size >= 1e3) return { factor: 1e3, prefix: "k" };
  return { factor: 1, prefix: "" };
}

/** Decimals that show a number to three significant digits. */
export function decimalsFor(value: number): number {
  return value === 0
    ? 0
    : Math.min(20, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(Number(value.toPrecision(3)))))));
}

/** A number with so many decimals and its thousands apart: `−1,690.0`; no sign where it rounds to 0. */
export function fixed(value: number, decimals: number): string {
  const text = Math.abs(value).toFixed(decimals).replace(/^\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));
  return value < 0 && Number(value.toFixed(decimals)) !== 0 ? `−${text}` : text;
}

/** A share as percent with one decimal at least: `93.2 %`. */
export function percentText(share: number): string {
  return `${significant(share * 100)} %`;
}
