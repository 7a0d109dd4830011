/**
 * Colours of the report, the only place that names them. Page and charts read them; a test checks contrast and colour
 * blindness numerically. Hues follow Okabe and Ito's palette, moved until colour-blind readers tell them apart.
 *
 * @module
 */

/** Colours of one theme. */
export interface Theme {
  readonly page: string;
  readonly card: string;
  readonly line: string;
  readonly text: string;
  readonly muted: string;
  readonly accent: string;
  readonly warn: string;
  /** Cases, phases, purposes: in this order. The first is neutral, for the baseline. */
  readonly series: readonly string[];
}

/** Light theme. */
export const LIGHT: Theme = {
  page: "#f5f6f8",
  card: "#ffffff",
  line: "#dfe3e8",
  text: "#15191f",
  muted: "#566070",
  accent: "#0b63a5",
  warn: "#8a4b00",
  series: ["#73829a", "#0172b3", "#dc6618", "#078a61", "#902769", "#695806"],
};

/** Dark theme. */
export const DARK: Theme = {
  page: "#0e1116",
  card: "#161b22",
  line: "#2b323c",
  text: "#e9edf2",
  muted: "#a3adba",
  accent: "#7cc0f5",
  warn: "#f0b669",
  series: ["#b9c2cf", "#55baf5", "#f8944a", "#2cc294", "#c178ad", "#f3e264"],
};

/** The themes as CSS custom properties. */
export function themeCss(): string {
  const variables = (theme: Theme): string =>
    Object.entries(theme)
      .flatMap(([name, value]) =>
        typeof value === "string"
          ? [`--${name}:${value}`]
          : (value as readonly string[]).map((colour, i) => `--series-${i}:${colour}`)
      )
      .join(";");
  return `:root{${variables(LIGHT)}}@media (prefers-color-scheme:dark){:root{${variables(DARK)}}}` +
    `@media print{:root{${variables(LIGHT)}}}`;
}
