import "../native_library.ts";
import fc from "fast-check";
import { checkScenario } from "../../scenarios/check.ts";
import { ScenarioError } from "../../base/diagnostics.ts";
import { readJsonc } from "../../base/jsonc.ts";
import { parseScenario, resolveScenario } from "../../scenarios/load.ts";
import { atPoint } from "../../base/matrix.ts";
import { MediaError, mediaStores, parseMedia } from "../../models/media/media.ts";
import { put } from "../../base/names.ts";
import { parsePlan } from "../../models/planning/load.ts";
import { parseSimulation } from "../../models/simulation/load.ts";
import { withFields } from "../../scenarios/variations.ts";
import { parseProfile, ProfileError } from "../../models/workloads/profile.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "../assert.ts";

/** Names that a map has without anybody putting them there. */
const NAMES = [...Object.getOwnPropertyNames(Object.prototype), "prototype"];

const read = (name: string) => Deno.readTextFile(new URL(`../../${name}`, import.meta.url));
const place = { file: "mine.jsonc", directory: "/" };

/** One document of each kind that people write, and what reads it. */
const KINDS: readonly { kind: string; text: string; parse: (text: string) => unknown }[] = [
  { kind: "scenario", text: await read("scenarios/contribute.jsonc"), parse: (text) => parseScenario(text, place) },
  {
    kind: "scenario of tables",
    text: await read("scenarios/wdl-tables.jsonc"),
    parse: (text) => parseScenario(text, place),
  },
  { kind: "simulation", text: await read("scenarios/terabyte.jsonc"), parse: (text) => parseSimulation(text, place) },
  { kind: "plan", text: await read("scenarios/plans/retail.jsonc"), parse: (text) => parsePlan(text, place) },
  {
    kind: "media model",
    text: await read("models/media/optane-100-1x256.jsonc"),
    parse: (text) => parseMedia(text, "mine"),
  },
  {
    kind: "profile",
    text: await read("models/workloads/profiles/oe-retail.json"),
    parse: (text) => parseProfile(text, "mine"),
  },
];

function objectsIn(value: unknown, found: object[] = []): object[] {
  if (typeof value !== "object" || value === null) return found;
  if (!Array.isArray(value)) found.push(value);
  for (const item of Object.values(value)) objectsIn(item, found);
  return found;
}

for (const { kind, text, parse } of KINDS) {
  Deno.test(`no ${kind} may use a name that every object has, at any place`, async () => {
    await parse(text);
    const { value: document } = readJsonc(text);
    const values = fc.oneof(
      fc.constantFrom<unknown>(7, [7], "x", null, true, {}, { storage: "DRAM" }, { pricePerHour: -5 }, {
        rows: 1,
        dim: 1,
      }),
      fc.jsonValue(),
    );
    const refused = async (i: number, names: readonly string[]): Promise<string> => {
      const changed = structuredClone(document);
      const object = objectsIn(changed)[i] as object;
      names.forEach((name, n) => put(object, name, fc.sample(values, { numRuns: 1, seed: i + n })[0]));
      const error = await Promise.resolve().then(() => parse(JSON.stringify(changed))).then(
        () => undefined,
        (error: unknown) => error,
      );
      assert(
        error instanceof ScenarioError || error instanceof MediaError || error instanceof ProfileError,
        `${names} in object ${i}: ${error}`,
      );
      return error.message;
    };
    for (let i = 0; i < objectsIn(document).length; i++) {
      const message = await refused(i, NAMES);
      // Those that the error leaves out are tried alone.
      for (const name of NAMES) {
        if (!message.includes(`"${name}"`)) assertStringIncludes(await refused(i, [name]), `"${name}"`);
      }
    }
    assertEquals(Object.keys(Object.prototype), []);
  });
}

Deno.test("readJsonc() keeps __proto__ as a field, and says where nesting is too deep", () => {
  const { value } = readJsonc('{"__proto__": {"storage": "DRAM"}, "a": [1, {"__proto__": 2,},]}');
  assertEquals(Object.keys(value as object), ["__proto__", "a"]);
  assertEquals((value as { storage?: string }).storage, undefined);
  assertEquals(readJsonc("[".repeat(1e6)).tooDeep, true);
});

Deno.test("a file that is nested too deeply is one clear error", async () => {
  for (
    const text of [
      "[".repeat(1e6),
      `{"name":${"[".repeat(1e5)}${"]".repeat(1e5)}}`,
      `{"a":${'{"b":'.repeat(200)}1${"}".repeat(201)}`,
    ]
  ) {
    const error = await assertRejects(() => parseScenario(text, place), ScenarioError);
    assert(/nested too deeply|objects or lists in one another/.test(error.message), error.message);
  }
});

Deno.test('a plan\'s machine "constructor" at -5 $/h is refused with its place', () => {
  const text = '{"kind":"plan","name":"p","target":{"p99Ms":1},"tables":{"t":{"rows":1,"dim":1,"profile":{"s":1}}},\n' +
    '"machines": {"constructor": {"pricePerHour": -5, "date": "2026-11", "tiers": []}}}';
  const error = assertThrows(() => parsePlan(text, place), ScenarioError);
  assertEquals(
    error.message,
    'mine.jsonc:2:14  machines.constructor: the name "constructor" cannot be used: every object has one of its own',
  );
});

Deno.test("names of tables and machines are of an allow-list", () => {
  for (const name of ["", " ", "a\u001b[31m", "a\nb", "a\u202eb", "a\u200bb", "../x", "x".repeat(101), "<b>"]) {
    const text = JSON.stringify({
      kind: "plan",
      name: "p",
      target: { p99Ms: 1 },
      tables: { [name]: { rows: 1, dim: 1, profile: { s: 1 } } },
    });
    assertStringIncludes(
      assertThrows(() => parsePlan(text, place), ScenarioError).message,
      "expected a name of 1 to 100",
    );
  }
});

Deno.test("a matrix over names that every object has is refused and changes no prototype", async () => {
  const media = await mediaStores();
  for (const name of NAMES) {
    for (const field of [name, `${name}.x`, `workload.${name}`, `workload.${name}.x`, `configurations.${name}.x`]) {
      const document = { name: "m", configurations: { d: { storage: "DRAM" } }, matrix: { [field]: [7] } };
      const problems = checkScenario(JSON.parse(JSON.stringify(document)), media);
      assert(problems.length > 0, field);
      const set = withFields(await resolveScenario({ name: "m", configurations: { d: { storage: "DRAM" } } }), {
        [field]: 7,
      });
      assert(checkScenario(set, media).length > 0, `--set ${field}`);
    }
  }
  assertEquals(({} as Record<string, unknown>)["x"], undefined);
  assertEquals(Object.keys(Object.prototype), []);
});

Deno.test("atPoint() sets items that a list has and nothing beside them", () => {
  const document = { tables: [{ rows: 1 }] };
  assertEquals(atPoint(document, { "tables.0.rows": 7 }), { tables: [{ rows: 7 }] });
  for (const key of ["1", "constructor", "length", "x"]) {
    const changed = atPoint(document, { [`tables.${key}.rows`]: 7 });
    assertEquals(Array.isArray(changed.tables), false, key);
  }
  assertEquals(document, { tables: [{ rows: 1 }] });
});
