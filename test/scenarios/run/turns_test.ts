/** Turns: one at a time, all of them, in an order of each cycle's own; who has ended is not waited for. */

import { Turns } from "../../../scenarios/run/turns.ts";
import { assert, assertEquals } from "../../assert.ts";

/** Takes so many turns, and notes when they begin and end. */
async function taking(turns: Turns, name: string, count: number, log: string[]): Promise<number> {
  const turn = turns.of(name);
  for (let i = 0; i < count; i++) {
    await turn.next();
    log.push(`+${name}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
    log.push(`-${name}`);
  }
  turn.end();
  return turn.seconds;
}

Deno.test("never two have a turn, everybody has one a cycle, and cycles have orders of their own", async () => {
  const names = ["a", "b", "c", "d"];
  const turns = new Turns(names, 7);
  const log: string[] = [];
  const seconds = await Promise.all(names.toReversed().map((name) => taking(turns, name, 6, log)));
  assertEquals(log.length, 2 * 4 * 6);
  for (let i = 0; i < log.length; i += 2) assertEquals(log[i + 1], log[i]?.replace("+", "-"));
  const order = log.filter((one) => one.startsWith("+")).map((one) => one.slice(1));
  const cycles = Array.from({ length: 6 }, (_, i) => order.slice(4 * i, 4 * i + 4));
  assertEquals(cycles[0], names);
  for (const cycle of cycles) assertEquals(cycle.toSorted(), names);
  assert(new Set(cycles.map((cycle) => cycle.join(""))).size > 2);
  assert(seconds.every((one) => one > 0.005), `${seconds}`);
});

Deno.test("who has ended, in its turn or waiting for it, holds nobody up", async () => {
  const turns = new Turns(["a", "b", "c"], 1);
  const log: string[] = [];
  const [a, b] = [turns.of("a"), turns.of("b")];
  const first = a.next();
  const waiting = b.next();
  const c = taking(turns, "c", 3, log);
  await first;
  b.end();
  await waiting;
  a.end();
  await c;
  assertEquals(log.length, 6);
});
