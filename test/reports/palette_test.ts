import { DARK, LIGHT, type Theme } from "../../reports/html/palette.ts";
import { assert, assertAlmostEquals } from "../assert.ts";

type Rgb = readonly [number, number, number];

function linear(hex: string): Rgb {
  const channel = (at: number): number => {
    const v = parseInt(hex.slice(at, at + 2), 16) / 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

/** WCAG 2.1 contrast ratio. */
function contrast(a: string, b: string): number {
  const luminance = ([r, g, b]: Rgb): number => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  const [x, y] = [luminance(linear(a)), luminance(linear(b))];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

/** Severity 1.0 matrices of Machado, Oliveira and Fernandes (2009). */
const BLINDNESS: Readonly<Record<string, readonly Rgb[]>> = {
  none: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
};

function lab([r, g, b]: Rgb): Rgb {
  const f = (t: number): number => t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116;
  const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047);
  const y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function seen(hex: string, matrix: readonly Rgb[]): Rgb {
  const rgb = linear(hex);
  const [r, g, b] = matrix.map((row) =>
    Math.min(1, Math.max(0, row[0] * rgb[0] + row[1] * rgb[1] + row[2] * rgb[2]))
  ) as unknown as Rgb;
  return lab([r, g, b]);
}

const THEMES: readonly (readonly [string, Theme])[] = [["light", LIGHT], ["dark", DARK]];

Deno.test("contrast() agrees with the definition", () => {
  assertAlmostEquals(contrast("#000000", "#ffffff"), 21, 1e-9);
  assertAlmostEquals(contrast("#777777", "#ffffff"), 4.48, 0.01);
});

for (const [name, theme] of THEMES) {
  Deno.test(`palette, ${name}: series reach 3:1 against the card, text 4.5:1 against card and page`, () => {
    for (const colour of theme.series) {
      assert(contrast(colour, theme.card) >= 3, `${colour} has ${contrast(colour, theme.card).toFixed(2)}`);
    }
    for (const colour of [theme.text, theme.muted, theme.accent, theme.warn]) {
      for (const ground of [theme.card, theme.page]) {
        assert(contrast(colour, ground) >= 4.5, `${colour} on ${ground} has ${contrast(colour, ground).toFixed(2)}`);
      }
    }
  });

  Deno.test(`palette, ${name}: series differ, also for colour-blind readers`, () => {
    for (const [kind, matrix] of Object.entries(BLINDNESS)) {
      theme.series.forEach((a, i) =>
        theme.series.slice(i + 1).forEach((b) => {
          const [x, y] = [seen(a, matrix), seen(b, matrix)];
          const distance = Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
          assert(distance >= 15, `${kind}: ${a} and ${b} are ${distance.toFixed(1)} apart`);
        })
      );
    }
  });
}
