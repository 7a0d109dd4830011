/** A bar of `width` characters, filled to `share` (0 to 1). */
export function barText(share: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width);
  return "█".repeat(filled) + "░".repeat(width - filled);
}

/** A rate for people: `48.1 k samples/s`. */
export function rateText(perSecond: number): string {
  const [value, unit] = perSecond >= 1e6
    ? [perSecond / 1e6, "M "]
    : perSecond >= 1e3
    ? [perSecond / 1e3, "k "]
    : [perSecond, ""];
  return `${value.toPrecision(3)} ${unit}samples/s`;
}

/** Seconds for people: `18 s`, `2 min 5 s`. */
export function secondsText(seconds: number): string {
  if (seconds >= 0 && seconds < 9.95) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.max(0, Math.round(seconds));
  return whole < 100 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
