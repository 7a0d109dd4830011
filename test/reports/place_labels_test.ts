import fc from "fast-check";
import { type Labelled, overlap, type Placed, placeLabels } from "../../reports/html/client/place_labels.ts";
import { assert, assertEquals } from "../assert.ts";

const AREA = { left: 60, top: 16, right: 900, bottom: 290 };

function labelled(points: readonly (readonly [number, number])[]): Labelled[] {
  return points.map(([x, y]) => ({ x, y, width: 90, height: 16 }));
}

function marksOf(points: readonly Labelled[]): { left: number; top: number; right: number; bottom: number }[] {
  return points.map(({ x, y }) => ({ left: x - 9, top: y - 9, right: x + 9, bottom: y + 9 }));
}

/** Square pixels that labels share with each other. */
function shared(placed: readonly Placed[]): number {
  return placed.reduce(
    (sum, one, i) => sum + placed.slice(i + 1).reduce((more, other) => more + overlap(one.box, other.box), 0),
    0,
  );
}

Deno.test("placeLabels() keeps labels of up to four points apart, off points and inside, wherever the points are", () => {
  const inside = fc.tuple(fc.integer({ min: 70, max: 890 }), fc.integer({ min: 26, max: 280 }));
  fc.assert(
    fc.property(fc.array(inside, { minLength: 1, maxLength: 4 }), (places) => {
      const points = labelled(places);
      const placed = placeLabels(points, marksOf(points), [], AREA);
      assertEquals(shared(placed), 0);
      for (const { box } of placed) {
        assert(box.left >= AREA.left && box.right <= AREA.right && box.top >= AREA.top && box.bottom <= AREA.bottom);
        for (const mark of marksOf(points)) assertEquals(overlap(box, mark), 0);
      }
    }),
    { numRuns: 200 },
  );
});

Deno.test("placeLabels() keeps labels of eight points in one spot apart", () => {
  const points = labelled(Array.from({ length: 8 }, (_, i) => [400 + 2 * i, 150 + i]));
  assertEquals(shared(placeLabels(points, marksOf(points), [], AREA)), 0);
});

Deno.test("placeLabels() gives whiskers a wide berth where there is room", () => {
  const points = labelled([[400, 150]]);
  const whisker = { left: 200, top: 148, right: 600, bottom: 152 };
  const [placed] = placeLabels(points, marksOf(points), [whisker], AREA);
  assert(placed !== undefined);
  assertEquals(overlap(placed.box, whisker), 0);
  assert(placed.distance <= 30);
});

Deno.test("placeLabels() keeps long labels on a narrow chart inside and apart", () => {
  const narrow = { left: 90, top: 16, right: 290, bottom: 250 };
  const points = [[147, 160], [148, 161], [205, 205], [204, 206]].map(([x, y]) => (
    { x: x as number, y: y as number, width: 170, height: 16 }
  ));
  const placed = placeLabels(points, marksOf(points), [], narrow);
  assertEquals(shared(placed), 0);
  for (const { box } of placed) assert(box.left >= narrow.left && box.right <= narrow.right);
});
