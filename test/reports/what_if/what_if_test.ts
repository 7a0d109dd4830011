/** What-if: the report's pricing at other inputs. */

import fc from "fast-check";
import { colours } from "../../../reports/html/page_data.ts";
import { missesAt } from "../../../reports/summary/miss_curve.ts";
import { paretoLine } from "../../../reports/summary/pareto.ts";
import { renderReport } from "../../../reports/html/render.ts";
import { NO_WIRE } from "../../../reports/summary/pricing.ts";
import { summarise } from "../../../reports/summary/summary.ts";
import { hashOf, stateOf } from "../../../reports/what_if/address.ts";
import { type WhatIfBase, whatIfBase } from "../../../reports/what_if/base.ts";
import { allowed, knobsOf, type NumberKnob, PLACES, sliderPlace, valueAt } from "../../../reports/what_if/knobs.ts";
import { whatIf } from "../../../reports/what_if/what_if.ts";
import { whatIfRows } from "../../../reports/what_if/words.ts";
import { assert, assertEquals } from "../../assert.ts";
import { type Estimate, mapEstimate } from "../../../reports/statistics/bootstrap.ts";
import { fixtureResult } from "../../fixtures/result_fixture.ts";

const summary = summarise(fixtureResult({ work: true }));
const base = whatIfBase(summary, colours(summary.cases)) as WhatIfBase;
const knobs = knobsOf(base);

/** A saving without what makes words of it, which a what-if has none of. */
function untested(of: Estimate | undefined): Estimate | undefined {
  return of === undefined ? undefined : mapEstimate(of, (value) => value);
}

/** $ per million samples of a case. */
function dollars(state: Parameters<typeof whatIf>[1], name: string): number {
  return whatIf(base, state).cases.find((one) => one.name === name)?.cost?.perMillion.value ?? NaN;
}

Deno.test("whatIf() with nothing changed gives the report's figures", () => {
  for (const { name, cost } of whatIf(base, {}).cases) {
    const reported = summary.cases.find((one) => one.name === name)?.cost;
    assertEquals(cost?.perMillion, reported?.perMillion);
    assertEquals([cost?.saved, cost?.flip, cost?.pricePerHour], [
      untested(reported?.saved),
      reported?.flip,
      reported?.pricePerHour,
    ]);
    assertEquals([cost?.offer.machines, cost?.offer.overBuy], [reported?.offer.machines, reported?.offer.overBuy]);
  }
});

Deno.test("whatIf() at another size and boundary gives what a scenario with them gives", () => {
  const result = fixtureResult({ work: true });
  const scenario = { ...result.run.scenario as object } as Record<string, unknown>;
  scenario["cost"] = { ...scenario["cost"] as object, priceFor: 2e12, boundary: "checkpoints" };
  const other = summarise({ ...result, run: { ...result.run, scenario: scenario as never } });
  for (const { name, cost } of whatIf(base, { size: 2000, boundary: "checkpoints" }).cases) {
    const reported = other.cases.find((one) => one.name === name)?.cost;
    assertEquals([cost?.perMillion, cost?.saved, cost?.flip], [
      reported?.perMillion,
      untested(reported?.saved),
      reported?.flip,
    ]);
  }
});

Deno.test("whatIf(): a machine's price moves the cases on it in proportion, and no others", () => {
  const [machine = ""] = whatIf(base, {}).cases.flatMap(({ name, cost }) =>
    name === "dram" ? cost?.offer.instance.name ?? "" : []
  );
  const price = knobs.find(({ id }) => id === `price:${machine}`) as NumberKnob;
  const half = { [price.id]: (price.value as number) / 2 };
  assert(Math.abs(dollars(half, "dram") / dollars({}, "dram") - 0.5) < 1e-12);
  assertEquals(dollars(half, "fsdax"), dollars({}, "fsdax"));
});

Deno.test("whatIf(): owned servers cost less over more years, more with dearer power and modules", () => {
  const owned = { model: "owned" };
  assert(dollars({ ...owned, life: 8 }, "dram") < dollars({ ...owned, life: 3 }, "dram"));
  assert(dollars({ ...owned, utilisation: 50 }, "dram") > 1.99 * dollars({ ...owned, utilisation: 100 }, "dram"));
  assert(dollars({ ...owned, pricePerKWh: 0.5 }, "dram") > dollars({ ...owned, pricePerKWh: 0.1 }, "dram"));
  assert(dollars({ ...owned, pue: 2 }, "dram") > dollars({ ...owned, pue: 1.1 }, "dram"));
  const dear = { ...owned, "modules:DDR4": 10, "modules:DDR5": 10 };
  assert(dollars(dear, "dram") > dollars(owned, "dram"));
});

Deno.test("whatIf(): more traffic needs more machines, and a slower case more of them than a faster one", () => {
  const machines = (traffic: number, name: string): number =>
    whatIf(base, { traffic }).cases.find((one) => one.name === name)?.cost?.offer.machines ?? NaN;
  assert(machines(5e4, "fsdax") >= 2 * machines(2e4, "fsdax"));
  assert(machines(5e4, "kmem-dax") > machines(5e4, "fsdax"));
});

Deno.test("a result whose samples do not say what a step sends has no traffic to ask, and its page says why", () => {
  const old = (result: ReturnType<typeof fixtureResult>) => ({
    ...result,
    samples: result.samples.map(({ wire: _, ...one }, i) => i === 0 ? one : { ...one, ...(_ && { wire: _ }) }),
  });
  const [now, before] = [fixtureResult({ work: true }), old(fixtureResult({ work: true }))];
  const baseOf = (result: typeof now) => {
    const summary = summarise(result);
    return whatIfBase(summary, colours(summary.cases)) as WhatIfBase;
  };
  const asked = (result: typeof now) => knobsOf(baseOf(result)).some(({ id }) => id === "traffic");
  assertEquals([asked(now), asked(before)], [true, false]);
  const [first] = whatIf(baseOf(before), { traffic: 20 }).cases;
  assertEquals([first?.cost, first?.costMissing], [undefined, NO_WIRE]);
  const escaped = NO_WIRE.slice(0, NO_WIRE.indexOf("(")); // as far as no character is written in another way
  const said = (result: typeof now) => renderReport(result).includes(`<p class="note">${escaped}`);
  assertEquals([said(now), said(before)], [false, true]);
});

Deno.test("whatIf(): a traffic buys the network that the recorded step sends", () => {
  const sends = (factor: number) => {
    const result = fixtureResult({ work: true });
    const samples = result.samples.map((one) => {
      const { distinctRows = 0, toServers = 0, fromServers = 0 } = one.wire ?? {};
      return { ...one, wire: { distinctRows, toServers, fromServers: fromServers + factor * toServers } };
    });
    const summary = summarise({ ...result, samples });
    const all = whatIfBase(summary, colours(summary.cases)) as WhatIfBase;
    // Of a shape whose network is not stated vCPUs alone count: every shape states one.
    const book = { ...all.book, instances: all.book.instances.map((one) => ({ ...one, networkGBs: 2 })) };
    const [dram] = whatIf({ ...all, book }, { traffic: 1e5 }).cases;
    return dram?.cost?.offer;
  };
  const [little, much] = [sends(0), sends(100)];
  assertEquals(much?.limit, "network");
  assert((much?.machines ?? 0) > (little?.machines ?? NaN));
});

Deno.test("whatIf(): a traffic buys vCPUs for the phases that touch rows, not for the workers' dense layers", () => {
  const { work } = base.cases.find(({ name }) => name === "dram") as { work?: { cpuSeconds: number } };
  const samples = fixtureResult({ work: true }).samples.filter(({ configuration }) => configuration === "dram");
  const of = (share: (one: typeof samples[number]) => number): number =>
    samples.reduce((sum, one) => sum + share(one) * one.threads / 1e9, 0) /
    samples.reduce((sum, one) => sum + one.batch * one.stepNs.length, 0);
  const rows = of(({ phaseNs }) => phaseNs.lookup + phaseNs.update + phaseNs.eviction);
  const whole = of(({ stepNs }) => stepNs.reduce((a, b) => a + b, 0));
  assert(Math.abs((work?.cpuSeconds ?? 0) / rows - 1) < 1e-9);
  assert(whole > 3 * rows, "the fixture's step is mostly dense layers, as steps are");
  const slow = fixtureResult({ work: true });
  const dense = slow.samples.map((one) => ({ ...one, stepNs: one.stepNs.map((ns) => 50 * ns) }));
  const summaryOfSlow = summarise({ ...slow, samples: dense });
  const slower = whatIfBase(summaryOfSlow, colours(summaryOfSlow.cases)) as WhatIfBase;
  const machines = (of: WhatIfBase) =>
    whatIf(of, { traffic: 2e5 }).cases.find(({ name }) => name === "dram")?.cost?.offer.machines;
  assertEquals(machines(slower), machines(base), "a slower dense layer needs more workers, not more servers");
});

Deno.test("whatIf(): no figure is missing or not a number wherever the fields are", () => {
  const values = fc.record(
    Object.fromEntries(knobs.map((knob) => [
      knob.id,
      knob.kind === "choice"
        ? fc.constantFrom(...knob.options.map(({ value }) => value))
        : fc.integer({ min: 0, max: PLACES }).map((place) => valueAt(knob, place)),
    ])),
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(values, (state) => {
      for (const { cost, costMissing } of whatIf(base, state as Record<string, number | string>).cases) {
        assert(cost === undefined ? costMissing !== undefined : cost.perMillion.value > 0);
      }
      for (const row of whatIfRows(whatIf(base, state as Record<string, number | string>))) {
        assert(row.every((text) => !/NaN|undefined|Infinity/.test(text)), row.join());
      }
      const back = stateOf(hashOf(state as Record<string, number | string>), knobs);
      assertEquals(back?.ignored, []);
      const changed = knobs.filter(({ id, value }) => state[id] !== undefined && state[id] !== value);
      assertEquals(back?.state, Object.fromEntries(changed.map(({ id }) => [id, state[id]])));
    }),
    { numRuns: 60 },
  );
});

Deno.test("whatIf(): more DRAM for rows brings fewer misses of the curve, so more speed; the machines must have it", () => {
  const withCurve = summarise(fixtureResult({ work: true, curve: true }));
  const curved = whatIfBase(withCurve, colours(withCurve.cases)) as WhatIfBase;
  const fsdax = (cache: number) => whatIf(curved, { cache }).cases.find(({ name }) => name === "fsdax");
  const dram = curved.cases.find(({ name }) => name === "dram");
  const rate = (cache: number): number => fsdax(cache)?.throughput?.value ?? NaN;
  assert(rate(1) < rate(10) && rate(10) < rate(99));
  assert((fsdax(100)?.relative?.value ?? 0) === 1, "nothing misses where every row is in DRAM");
  assert(rate(100) < 1.05 * (dram?.throughput?.value ?? 0));
  assert((fsdax(90)?.cost?.need.dramBytes ?? 0) - (fsdax(10)?.cost?.need.dramBytes ?? 0) > 0.79 * 5e11);
});

Deno.test("missesAt() meets the recorded sizes and stays between its neighbours", () => {
  const curve = { shares: [0.01, 0.1, 1], misses: [0.6, 0.3, 0] };
  assertEquals([0.001, 0.01, 0.1, 1].map((share) => missesAt(curve, share)), [0.6, 0.6, 0.3, 0]);
  assert(Math.abs(missesAt(curve, Math.sqrt(0.001)) - 0.45) < 1e-12);
});

Deno.test("stateOf() names what it cannot use, and leaves other hashes alone", () => {
  assertEquals(stateOf("#cost", knobs), undefined);
  assertEquals(stateOf("#what-if", knobs), { state: {}, ignored: [] });
  assertEquals(stateOf("#what-if?size=2000&colour=red&life=-3&boundary=moon&pue=%E0%A4%A&size", knobs), {
    state: { size: 2000 },
    ignored: ["colour=red", "life=-3", "boundary=moon", "pue=%E0%A4%A", "size"],
  });
});

Deno.test("every place of a slider is an allowed value, and the value's own place is near it", () => {
  for (const knob of knobs) {
    if (knob.kind === "choice") continue;
    for (let place = 0; place <= PLACES; place++) {
      assert(allowed(knob, valueAt(knob, place)), `${knob.id} at ${place}`);
      assert(Math.abs(sliderPlace(knob, valueAt(knob, place)) - place) <= 1, `${knob.id} at ${place}`);
    }
    if (knob.value !== undefined) assert(allowed(knob, knob.value), knob.id);
  }
});

Deno.test("paretoLine() keeps what no other beats in both", () => {
  const points = [[1, 5], [2, 5], [3, 7], [2.5, 9], [3, 7]].map(([rate = 0, cost = 0]) => ({ rate, cost }));
  assertEquals(paretoLine(points).map(({ rate, cost }) => [rate, cost]), [[2, 5], [3, 7], [3, 7]]);
});
