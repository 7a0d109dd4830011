/**
 * Damage of captured outputs. What a parser then says is "unknown" with the text as it is, or true: damage in one place
 * changes no other value, and what is cut off or removed is missing and nothing else.
 */

import fc from "fast-check";
import { assert, assertEquals } from "../../assert.ts";
import { type Captured, captured, PARSERS, plain } from "./outputs.ts";

const RUNS = { numRuns: 3000 };
const understood = captured().filter((one) => one.unknown === undefined && one.text !== "");
/** Listed by their paths, which is what a counterexample then shows. */
function oneOf(outputs: readonly Captured[]): fc.Arbitrary<() => Captured> {
  const byPath = new Map(outputs.map((output) => [output.path, output]));
  return fc.constantFrom(...byPath.keys()).map((path) =>
    Object.assign(() => byPath.get(path) as Captured, { toString: () => path })
  );
}

const anyOutput = oneOf(understood);
const anyListing = oneOf(understood.filter(({ text }) => /^\s*[{[]/.test(text)));

type Leaves = ReadonlyMap<string, unknown>;

/** Every scalar of a value by its path. */
function leavesOf(value: unknown, path = "", leaves: Map<string, unknown> = new Map()): Leaves {
  if (typeof value !== "object" || value === null) return leaves.set(path, value);
  for (const [key, inner] of Object.entries(value)) leavesOf(inner, `${path}/${key}`, leaves);
  return leaves;
}

interface Difference {
  readonly path: string;
  readonly was: unknown;
  readonly is: unknown;
}

function differences(was: unknown, is: unknown): Difference[] {
  const [a, b] = [leavesOf(was), leavesOf(is)];
  return [...new Set([...a.keys(), ...b.keys()])].filter((path) => a.get(path) !== b.get(path))
    .map((path) => ({ path, was: a.get(path), is: b.get(path) }));
}

/** The value that a parser claims; undefined: it claims none, and has kept the text. */
function claimed({ parse }: Captured, text: string): unknown {
  const found = parse(text);
  if (found.known) return plain(found.value);
  assertEquals(found.raw, text);
  assert(found.reason !== "");
  return undefined;
}

/** Prints nothing where there is nothing, so a text that is cut off wholly cannot be told apart. */
const isBlankListing = ({ parser }: Captured, text: string) =>
  (parser === "ndctl" || parser === "daxctl") && text.trim() === "";

/** Whether `is` is the beginning of `was`. */
const isPrefix = (was: unknown, is: unknown) =>
  Array.isArray(was) && Array.isArray(is) && is.length < was.length &&
  JSON.stringify(was.slice(0, is.length)) === JSON.stringify(is);

Deno.test("An output that is cut off anywhere is unknown, unless only blanks are missing", () => {
  fc.assert(
    fc.property(anyOutput, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (chosen, share) => {
      const output = chosen();
      const text = output.text.slice(0, Math.floor(share * output.text.length));
      const value = claimed(output, text);
      if (value === undefined || isBlankListing(output, text)) return;
      // A table of modules has no end: whole rows may be missing, and no other.
      if (output.parser === "modules" && isPrefix(output.value, value)) return assert(text.endsWith("\n"));
      // A version is one word, of which every beginning may be one.
      if (output.parser === "version") return;
      assertEquals(value, output.value);
      assertEquals(output.text.slice(text.length).trim(), "");
    }),
    RUNS,
  );
});

/** The word, number or name of a JSON text that a position is in, and whether it is a name. */
function tokenAt(text: string, at: number): { from: number; to: number; isName: boolean } | undefined {
  for (const match of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[-\w.+]+/g)) {
    const to = match.index + match[0].length - (match[1]?.length ?? 0);
    if (match.index <= at && at < to) return { from: match.index, to, isName: match[1] !== undefined };
  }
  return undefined;
}

/** Whether a value is what a parser makes of a printed one: itself, or nothing of a size that lsblk has rounded. */
const isReadOf = (value: unknown, printed: string) =>
  String(value) === printed || (value === undefined && /^\d+(\.\d+)?[BKMGTP]$/.test(printed));

const anyByte = fc.integer({ min: 0, max: 255 }).map((byte) => String.fromCharCode(byte));

Deno.test("One damaged character of a listing changes the value that it is part of, or makes all unknown", () => {
  fc.assert(
    fc.property(anyListing, fc.nat(), anyByte, (chosen, place, byte) => {
      const output = chosen();
      const at = place % output.text.length;
      const text = output.text.slice(0, at) + byte + output.text.slice(at + 1);
      const value = claimed(output, text);
      if (value === undefined) return;
      const changed = differences(output.value, value);
      const inside = tokenAt(output.text, at);
      // A blank beside a number may become a digit of it.
      const grown = inside ?? tokenAt(text, at);
      const token = inside ?? (grown && tokenAt(output.text, grown.from === at ? at + 1 : at - 1));
      if (grown === undefined || token === undefined || token.isName) return assertEquals(changed, []);
      // Numbers as they are printed: doubles do not hold all of them.
      const [was, is] = [output.text.slice(token.from, token.to), text.slice(grown.from, grown.to)]
        .map((one) => one.trim()).map((one) => one.startsWith('"') ? JSON.parse(one) as string : one);
      assert(changed.length <= 1, JSON.stringify(changed));
      for (const one of changed) {
        assert(isReadOf(one.was, String(was)) && isReadOf(one.is, String(is)), JSON.stringify({ one, was, is }));
      }
    }),
    { numRuns: 6000 },
  );
});

Deno.test("One damaged character of a table changes one value at most, or makes all unknown", () => {
  const anyTable = oneOf(understood.filter(({ text, parser }) => !/^\s*[{[]/.test(text) && parser !== "version"));
  fc.assert(
    fc.property(anyTable, fc.nat(), anyByte, (chosen, place, byte) => {
      const output = chosen();
      const at = place % output.text.length;
      const value = claimed(output, output.text.slice(0, at) + byte + output.text.slice(at + 1));
      if (value === undefined) return;
      const changed = differences(output.value, value);
      assert(changed.length <= 1, JSON.stringify(changed));
      // What is said is a value of the same kind: nothing disappears, and nothing appears.
      for (const { was, is } of changed) assertEquals(typeof is, typeof was);
    }),
    { numRuns: 6000 },
  );
});

/** Objects in a JSON value. */
function objectsIn(value: unknown): Record<string, unknown>[] {
  if (typeof value !== "object" || value === null) return [];
  const inside = Object.values(value).flatMap(objectsIn);
  return Array.isArray(value) ? inside : [value as Record<string, unknown>, ...inside];
}

/** JSON of ndctl with its large numbers, which no double holds, as they are. */
const REWRITABLE = understood.filter(({ text }) => {
  try {
    return typeof JSON.parse(text) === "object" && !/\d{17}/.test(text);
  } catch {
    return false;
  }
});

/** Whether `is` says nothing but what `was` says: less, or that something which is only said where it is so is not. */
function saysLess(was: unknown, is: unknown): boolean {
  if (Array.isArray(was)) {
    if (!Array.isArray(is)) return false;
    // Elements may be missing, but those that are there keep their order.
    let from = 0;
    return is.every((one) => {
      const at = was.findIndex((other, i) => i >= from && saysLess(other, one));
      from = at + 1;
      return at >= 0;
    });
  }
  if (typeof was === "object" && was !== null) {
    return typeof is === "object" && is !== null &&
      Object.entries(is).every(([key, one]) => saysLess((was as Record<string, unknown>)[key], one));
  }
  return was === is || was === true && is === false;
}

Deno.test("A listing without one of its fields lacks this value and no other, or is unknown", () => {
  fc.assert(
    fc.property(oneOf(REWRITABLE), fc.nat(), fc.nat(), (chosen, i, j) => {
      const output = chosen();
      const json = JSON.parse(output.text) as unknown;
      const objects = objectsIn(json);
      const object = objects[i % Math.max(1, objects.length)];
      if (object === undefined) return;
      const keys = Object.keys(object);
      const key = keys[j % keys.length] ?? "";
      delete object[key];
      const claim = claimed(output, JSON.stringify(json));
      if (claim === undefined) return;
      assert(saysLess(output.value, claim), `${key} ${JSON.stringify(differences(output.value, claim))}`);
    }),
    RUNS,
  );
});

Deno.test("A value of the wrong type makes a listing unknown, unless nobody asks for it", () => {
  const wrong = fc.constantFrom<unknown>({}, -1, 1.5, [[]], [7]);
  fc.assert(
    fc.property(oneOf(REWRITABLE), fc.nat(), fc.nat(), wrong, (chosen, i, j, value) => {
      const output = chosen();
      const json = JSON.parse(output.text) as unknown;
      const objects = objectsIn(json);
      const object = objects[i % Math.max(1, objects.length)];
      if (object === undefined) return;
      const keys = Object.keys(object);
      object[keys[j % keys.length] ?? ""] = value;
      const claim = claimed(output, JSON.stringify(json));
      if (claim !== undefined) assertEquals(claim, output.value);
    }),
    RUNS,
  );
});

Deno.test("Junk, and JSON of other programs, is unknown", () => {
  const junk = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.uint8Array({ maxLength: 400 }).map((bytes) => new TextDecoder().decode(bytes)),
    fc.json(),
    fc.lorem({ maxCount: 20 }),
  );
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(PARSERS).filter((one) => one !== "version")), junk, (name, text) => {
      const found = PARSERS[name]?.(text) ?? { known: true };
      const none = /^\s*\[\s*\]\s*$/.test(text) && ["ndctl", "daxctl", "cxl"].includes(name);
      const blank = text.trim() === "" && ["ndctl", "daxctl"].includes(name);
      if (none || blank) return assert(found.known);
      assert(!found.known, JSON.stringify([name, text]));
      assertEquals(found.raw, text);
    }),
    RUNS,
  );
});

Deno.test("The output of one tool means nothing to the parser of another", () => {
  const nothing = (value: unknown) => [...leavesOf(value)].length === 0;
  for (const output of understood) {
    for (const [name, parse] of Object.entries(PARSERS)) {
      if (name === output.parser || nothing(output.value)) continue;
      const found = parse(output.text);
      // ipmctl says in the same words that there are no modules, whatever was asked.
      assert(!found.known || /^Initialization failed/.test(output.text), `${name} ${output.path}`);
    }
  }
});

Deno.test("A name of a cxl listing that got a colon of its own makes the listing unknown", () => {
  const [begun] = understood.filter(({ text }) => text.includes('"endpoints:port1"'));
  assert(begun !== undefined);
  for (const name of ["e:dpoints:port1", "endpoint::port1", ":ndpoints:port1"]) {
    assertEquals(claimed(begun, begun.text.replace("endpoints:port1", name)), undefined, name);
  }
});

Deno.test("A listing of cxl with an entry that lost its name is unknown, also where the entry holds lists", async () => {
  const file = new URL("../../fixtures/tools/6.1/cxl/cxl-list-BPEMDRTi-begun.txt", import.meta.url);
  const text = await Deno.readTextFile(file);
  assert(PARSERS["cxl"]?.(text).known === true);
  assert(PARSERS["cxl"]?.(text.replace('"decoder":"decoder0.0"', '"d0coder":"decoder0.0"')).known === false);
});
