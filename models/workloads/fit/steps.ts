/**
 * From a fitted mixture to the steps of a profile: whole rows, few numbers.
 *
 * @module
 */

import type { KeyStep } from "../../../ffi/simulator/key_source.ts";
import type { Component } from "./mixture.ts";

/** Longest list of steps; neighbours in rate are joined until it is reached. */
const MOST_STEPS = 96;

/** Rows are whole: fractions are carried on to the next step of lower rate and the same life, accesses with them. */
function wholeRows(components: readonly Component[]): KeyStep[] {
  const steps: KeyStep[] = [];
  let rows = 0, share = 0, given = 0, births = 0;
  const sorted = [...components].sort((a, b) => b.rate - a.rate);
  sorted.forEach((part, i) => {
    rows += part.rows;
    share += part.rows * part.rate;
    births += part.rows / part.life;
    const whole = i === sorted.length - 1 ? Math.max(Math.round(rows), given + 1) : Math.round(rows);
    if (whole <= given) return;
    const count = whole - given;
    // As many births an access as the mixture has: so lives are a little longer where rows were rounded up.
    steps.push({ rows: count, share, life: births > 0 ? Math.max(1, Math.round(count / births)) : 0 });
    given = whole;
    [share, births] = [0, 0];
  });
  return steps;
}

function joined(a: KeyStep, b: KeyStep): KeyStep {
  const rows = a.rows + b.rows;
  const births = a.life === 0 ? 0 : a.rows / a.life + b.rows / b.life;
  return { rows, share: a.share + b.share, life: births === 0 ? 0 : Math.max(1, Math.round(rows / births)) };
}

/** Cost of joining two neighbours: accesses times the square of the step between their rates, in logarithms. */
function cost(a: KeyStep, b: KeyStep): number {
  const step = Math.log(a.share / a.rows) - Math.log(b.share / b.rows);
  return a.share * b.share / (a.share + b.share) * step * step;
}

/**
 * Steps of a mixture: rows of equal rate and life.
 *
 * @param components The mixture; shares are per access of the stream it was fitted to.
 */
export function stepsOf(components: readonly Component[]): KeyStep[] {
  const lives = new Map<number, Component[]>();
  for (const part of components) {
    if (!(part.rows * part.rate > 0)) continue;
    lives.set(part.life, [...lives.get(part.life) ?? [], part]);
  }
  let lists = [...lives.values()].map(wholeRows);
  while (lists.reduce((sum, list) => sum + list.length, 0) > MOST_STEPS) {
    let best = { list: -1, at: 0, cost: Infinity };
    lists.forEach((list, index) => {
      list.slice(1).forEach((step, i) => {
        const price = cost(list[i] ?? step, step);
        if (price < best.cost) best = { list: index, at: i, cost: price };
      });
    });
    if (best.list < 0) break; // every life has one step
    lists = lists.map((list, index) => {
      const [a, b] = [list[best.at], list[best.at + 1]];
      if (index !== best.list || a === undefined || b === undefined) return list;
      return [...list.slice(0, best.at), joined(a, b), ...list.slice(best.at + 2)];
    });
  }
  const sum = lists.flat().reduce((total, step) => total + step.share, 0);
  return lists.flat().map((step) => ({ ...step, share: step.share / sum }));
}
