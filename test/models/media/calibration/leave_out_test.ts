import "../../../native_library.ts";
import { assert, assertAlmostEquals, assertEquals, assertNotEquals } from "../../../assert.ts";
import { accuracyText } from "../../../../models/validation/accuracy.ts";
import { loadCalibration } from "../../../../models/media/calibration/calibration.ts";
import { families, type Family } from "../../../../models/media/calibration/fit.ts";
import { curvesOf, leaveOutCurve, loadLeftOut, modelsDigest } from "../../../../models/media/calibration/leave_out.ts";
import { halfWidth } from "../../../../models/media/calibration/make_bands.ts";
import { type CalibrationPoint, pointsOf } from "../../../../models/media/calibration/points.ts";
import { validateModels } from "../../../../models/media/calibration/validate.ts";

const points = pointsOf(await loadCalibration());
const leftOut = await loadLeftOut();
const validation = await validateModels();

async function familyOf(name: string, of: readonly CalibrationPoint[] = points): Promise<Family> {
  const found = (await families(of)).find((family) => family.name === name);
  assert(found !== undefined);
  return found;
}

Deno.test("left-out.json belongs to the media models and rows that are here: else tierbench validate-models --leave-out --write", async () => {
  assertEquals(leftOut.digest, await modelsDigest(points));
  assert(!validation.leftOutIsStale);
  const counted = [...Object.keys(leftOut.errors), ...leftOut.given, ...leftOut.alone];
  assertEquals(counted.toSorted(), points.map(({ id }) => id).toSorted());
});

Deno.test("modelsDigest() changes with a published figure", async () => {
  const moved = points.map((point, i) => i === 7 ? { ...point, value: point.value * 1.001 } : point);
  assertNotEquals(await modelsDigest(moved), leftOut.digest);
  const none = { relative: { figures: 1, free: 1 }, banded: [], engine: 1 };
  const page = accuracyText({ ...validation, leftOutIsStale: true }, [], none);
  assert(
    page.includes("Models or rows changed since") && !accuracyText(validation, [], none).includes("changed since"),
  );
});

Deno.test("leaveOutCurve() gives what left-out.json holds, and leaves the family as it was", async () => {
  for (const name of ["ddr4-2933-6ch", "cxl-type3-ddr4"]) {
    const family = await familyOf(name);
    const before = JSON.stringify([family.free, family.taken, family.targets.map(({ options }) => options)]);
    for (const curve of curvesOf(family).slice(0, 6)) {
      const { errors, given, alone } = leaveOutCurve(family, curve);
      for (const [id, error] of Object.entries(errors)) assertEquals(error, leftOut.errors[id], id);
      assert(given.every((id) => leftOut.given.includes(id)) && alone.every((id) => leftOut.alone.includes(id)));
    }
    assertEquals(JSON.stringify([family.free, family.taken, family.targets.map(({ options }) => options)]), before);
  }
});

Deno.test("leaveOutCurve() does not see the figures that it leaves out", async () => {
  const curve = "ddr5-4800-8ch-1dpc/MESS-MN5GPP-R51";
  const of = (point: CalibrationPoint) => `${point.medium}/${point.curve}` === curve;
  const moved = points.map((point) => of(point) ? { ...point, value: point.value * 1.5 } : point);
  const seen = leaveOutCurve(await familyOf("ddr5-4800-8ch-1dpc"), curve);
  const other = leaveOutCurve(await familyOf("ddr5-4800-8ch-1dpc", moved), curve);
  assertEquals(Object.keys(seen.errors).length, 6);
  for (const [id, error] of Object.entries(seen.errors)) {
    assertAlmostEquals(other.errors[id] ?? NaN, error - Math.log(1.5), 2e-4);
  }
});

Deno.test("leaveOutCurve() predicts worse than the fit, and says which rows it cannot predict", () => {
  const predicted = validation.comparisons.filter(({ id }) => id in leftOut.errors);
  const mean = (of: readonly number[]) => of.reduce((a, b) => a + Math.abs(b), 0) / of.length;
  const unseen = mean(predicted.map(({ id }) => leftOut.errors[id] ?? NaN));
  assert(unseen > 1.1 * mean(predicted.map(({ model, value }) => Math.log(model / value))));
  // The idle latency is this row; what traffic in both directions costs DRAM, these alone.
  assert(leftOut.given.includes("OS-LAT-pmem-Read-Random"));
  assert(leftOut.alone.includes("OS-MIX-PM-LDRAM-8-8"));
});

Deno.test("bands follow the errors of left-out curves and cover 85 % to 95 % of them", async () => {
  const { points: all, covered, coveredByFit } = validation.coverage;
  assert(all > 1000 && covered / all >= 0.85 && covered / all <= 0.95);
  assert(coveredByFit < covered);
  const doubled = Object.fromEntries(Object.entries(leftOut.errors).map(([id, error]) => [id, 2 * error]));
  const wide = (await validateModels(undefined, { ...leftOut, errors: doubled })).residuals;
  const now = validation.residuals;
  assertEquals(now["optane-100-6x256"]?.read?.basis, "kind");
  assertAlmostEquals(
    Math.log(wide["optane-100-6x256"]?.read?.factor ?? NaN),
    2 * Math.log(now["optane-100-6x256"]?.read?.factor ?? NaN),
    1e-3,
  );
});

Deno.test("bands of media with few figures are those of others, never of a perfect fit", () => {
  for (const [medium, kinds] of Object.entries(validation.residuals)) {
    for (const [kind, { factor }] of Object.entries(kinds)) assert(factor > 1.02, `${medium} ${kind}: x ${factor}`);
  }
  assertEquals(validation.residuals["ddr4-3200-8ch-zen2"]?.latency?.basis, "class");
  assertEquals(validation.residuals["link-nvlink-c2c"]?.read?.basis, "all");
});

Deno.test("halfWidth() is the ceil(0.9 (n + 1))-th smallest distance", () => {
  assertEquals(halfWidth(Array.from({ length: 19 }, (_, i) => 19 - i)), 18);
  assertEquals(halfWidth([1, 3, 2]), 3);
});
