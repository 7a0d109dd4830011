import { loadCalibration } from "/work/wt/media/scenarios/models/calibration.ts";
import { notCompared, pointsOf } from "/work/wt/media/scenarios/models/points.ts";
import { families } from "/work/wt/media/scenarios/models/fit.ts";
import { predict } from "/work/wt/media/scenarios/models/predict.ts";
const rows = await loadCalibration();
const points = pointsOf(rows);
console.log(points.length, [...notCompared(rows)].map(([k, v]) => `${k}: ${v.length} ${k===undefined? v.slice(0,8):""}`));
const want = Deno.args[0];
const all: Record<string, number[]> = {};
for (const f of await families(points)) for (const t of f.targets) {
  const a = predict(t.options, t.questions);
  const by: Record<string, string[]> = {}, err: Record<string, number[]> = {};
  t.questions.points.forEach((p, i) => {
    const e = a[i]! / p.value - 1;
    (all[t.media.name] ??= []).push(Math.abs(e));
    (by[p.curve] ??= []).push(`${(p.query.ask.startsWith("lat") ? (p.query.load ?? 0) / 1e9 : p.query.threads).toFixed(0)}:${(e * 100).toFixed(0)}`);
    (err[p.curve] ??= []).push(Math.abs(e));
  });
  if (want && t.media.name.match(want)) for (const [c, v] of Object.entries(by)) console.log(c, (err[c]!.reduce((x, y) => x + y) / err[c]!.length * 100).toFixed(0) + "%", v.join(" "));
}
for (const [m, e] of Object.entries(all)) { e.sort((x, y) => x - y); console.log(m.padEnd(24), e.length, "mean", (100 * e.reduce((x, y) => x + y) / e.length).toFixed(1), "p90", (100 * e[Math.ceil(e.length * .9) - 1]!).toFixed(1), "max", (100*e.at(-1)!).toFixed(0)); }
