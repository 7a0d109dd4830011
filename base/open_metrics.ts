/**
 * Metrics as OpenMetrics text, version 1.0 (https://openmetrics.io), which Prometheus and its kin read.
 *
 * @module
 */

/** One value of a family. */
export interface MetricSample {
  /** Label to value. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The value; of a counter 0 or more, of `info` always 1. */
  readonly value: number;
}

/** Values of one meaning. */
export interface MetricFamily {
  /** Letters, digits and `_`; without the ending `_total` or `_info` that the text gives it; with a unit it ends in that. */
  readonly name: string;
  /** What it is: a counter grows until it is set to 0. */
  readonly type: "counter" | "gauge" | "info";
  /** Unit in the base form that the format wants: `bytes`, `seconds`. */
  readonly unit?: string;
  /** One sentence. */
  readonly help: string;
  /** Its values, each with labels of its own. */
  readonly samples: readonly MetricSample[];
}

const SUFFIX: Readonly<Record<MetricFamily["type"], string>> = { counter: "_total", gauge: "", info: "_info" };

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return Number.isFinite(value) ? `${value}` : value > 0 ? "+Inf" : "-Inf";
}

/** Media type of the text over HTTP. */
export const OPEN_METRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/**
 * The text, which ends with `# EOF`. Families without a value are left out.
 *
 * @throws {RangeError} for a name or label that the format does not have, a unit that its name does not end in, a family
 * that comes twice, or a counter below 0.
 */
export function openMetricsText(families: readonly MetricFamily[]): string {
  const seen = new Set<string>();
  const lines = families.filter(({ samples }) => samples.length > 0).flatMap((family) => {
    const { name, type, unit, help, samples } = family;
    const refuse = (why: string) => new RangeError(`Cannot write the metric "${name}": ${why}`);
    if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)) throw refuse("expected letters, digits and _");
    if (unit !== undefined && !name.endsWith(`_${unit}`)) throw refuse(`expected a name that ends in _${unit}`);
    if (seen.has(name)) throw refuse("it comes twice");
    seen.add(name);
    return [
      `# TYPE ${name} ${type}`,
      ...(unit === undefined ? [] : [`# UNIT ${name} ${unit}`]),
      `# HELP ${name} ${escaped(help)}`,
      ...samples.map(({ labels = {}, value }) => {
        const bad = Object.keys(labels).find((label) => !/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(label));
        if (bad !== undefined) throw refuse(`its label "${bad}" is none`);
        if (type === "counter" && !(value >= 0)) throw refuse(`expected a counter of 0 or more, found ${value}`);
        const words = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`).join(",");
        return `${name}${SUFFIX[type]}${words === "" ? "" : `{${words}}`} ${numberText(value)}`;
      }),
    ];
  });
  return `${[...lines, "# EOF"].join("\n")}\n`;
}
