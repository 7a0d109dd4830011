import { Buffer } from "node:buffer";
import fc from "fast-check";
import { cutPage } from "../../../reports/capsule/parts.ts";
import { DamagedPageError } from "../../../reports/capsule/damaged_page.ts";
import { parsePage } from "../../../reports/capsule/read.ts";
import { checkPage, type PageCheck } from "../../../reports/capsule/seal.ts";
import { sha256Hex } from "../../../reports/capsule/tree.ts";
import { renderReport } from "../../../reports/html/render.ts";
import { EDGE_CASES } from "../edge_cases.ts";
import { fixtureResult } from "../../fixtures/result_fixture.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../assert.ts";

const PAGE = renderReport(fixtureResult({ failed: true }));
const BYTES = new TextEncoder().encode(PAGE);
const TABLE = /<script type="application\/json" id="capsule" data-sha256="[0-9a-f]{64}">[^<]*<\/script>/;

/** Name of the part that a byte of the page belongs to, found by walking over the table of sums. */
function ownerOf(place: number, { parts }: PageCheck): string {
  const table = TABLE.exec(PAGE);
  assert(table !== null);
  const from = Buffer.byteLength(PAGE.slice(0, table.index));
  const length = Buffer.byteLength(table[0]);
  if (place >= from && place < from + length) return "the table of sums";
  let left = place < from ? place : place - length;
  for (const { name, bytes } of parts) {
    if (left < bytes) return name;
    left -= bytes;
  }
  throw new Error(`no part at ${place}`);
}

function flipped(place: number, bit: number): Uint8Array {
  const bytes = BYTES.slice();
  bytes[place] = (bytes[place] as number) ^ (1 << bit);
  return bytes;
}

Deno.test("checkPage() finds a page whole, and its parts are all of it", () => {
  const check = checkPage(BYTES);
  assertEquals([check.sealed, check.damage], [true, []]);
  const table = TABLE.exec(PAGE)?.[0] as string;
  assertEquals(check.parts.reduce((sum, { bytes }) => sum + bytes, 0), BYTES.length - Buffer.byteLength(table));
  assertStringIncludes(PAGE, `SHA-256 of all parts of this page: <code id="capsule-root">${check.root}</code>`);
  const names = new Set(check.parts.map(({ name }) => name));
  for (
    const name of [
      "the style sheet",
      "the script",
      "the scenario",
      "the versions",
      "the machine",
      "the data of the charts",
      "the options",
      'the sample "fsdax#2"',
      'the failed sample "fsdax#4"',
      "the quality record",
      'the price of "Alibaba Cloud ecs.re6p.13xlarge" of 2021',
      'the text of the section "cost"',
      "the text of the heading",
    ]
  ) assert(names.has(name), name);
});

Deno.test("a part's sum is that of its bytes, so that other programs can compare it", () => {
  const line = PAGE.split("\n").find((text) => text.startsWith("{") && text.includes('"id":"fsdax#2"')) as string;
  const part = checkPage(PAGE).parts.find(({ name }) => name === 'the sample "fsdax#2"');
  assertEquals(part?.sha256, sha256Hex(`${line}\n`));
});

Deno.test("one flipped bit is found and its part named, wherever it is", () => {
  const whole = checkPage(BYTES);
  const named = (place: number, bit: number): void => {
    const { damage } = checkPage(flipped(place, bit));
    assertEquals(damage.map(({ part }) => part), [ownerOf(place, whole)], `byte ${place}, bit ${bit}`);
  };
  // The first and last byte of every part, and of the table.
  const table = TABLE.exec(PAGE) as RegExpExecArray;
  const start = Buffer.byteLength(PAGE.slice(0, table.index));
  const edges = [start, start + Buffer.byteLength(table[0]) - 1];
  let at = 0;
  for (const { bytes } of whole.parts) {
    for (const place of [at, at + bytes - 1]) edges.push(place < start ? place : place + Buffer.byteLength(table[0]));
    at += bytes;
  }
  for (const place of edges) named(place, 0);
  const places = fc.integer({ min: 0, max: BYTES.length - 1 });
  fc.assert(fc.property(places, fc.integer({ min: 0, max: 7 }), named), { numRuns: 500, seed: 6 });
  // The script is more than half of the page: as many again outside of it.
  const script = Buffer.byteLength(PAGE.slice(0, PAGE.lastIndexOf("<script>")));
  fc.assert(fc.property(fc.integer({ min: 0, max: script - 1 }), fc.integer({ min: 0, max: 7 }), named), {
    numRuns: 500,
    seed: 8,
  });
});

Deno.test("other damage has a name, too: edited, missing and added parts, a page cut off, other line ends", () => {
  const damage = (page: string): [string | undefined, string | undefined, number] => {
    const { damage: all } = checkPage(page);
    return [all[0]?.part, all[0]?.found, all.length];
  };
  const sample = PAGE.split("\n").find((text) => text.startsWith("{") && text.includes('"id":"fsdax#2"')) as string;
  const grown = sample.replace('"threads":2', '"threads":16');
  assertEquals(damage(PAGE.replace(sample, grown)), [
    'the sample "fsdax#2"',
    `has ${Buffer.byteLength(grown) + 1} bytes, expected ${Buffer.byteLength(sample) + 1}: its SHA-256 differs`,
    1,
  ]);
  assertEquals(damage(PAGE.replace(`${sample}\n`, "")), ['the sample "fsdax#2"', "is missing", 1]);
  assertEquals(damage(PAGE.replace(`${sample}\n`, `${sample}\n${sample}\n`))[2], 1);
  const price = /\{"list":"instances","row":\{"provider":"AWS","name":"r7i[^\n]*\n/.exec(PAGE)?.[0] as string;
  assertEquals(damage(PAGE.replace(price, ""))[0], 'the price of "AWS r7i.24xlarge" of 2024');
  assertEquals(damage(`${PAGE}<!-- seen -->`)[0], "the end of the page");
  assertEquals(damage(`\ufeff${PAGE}`)[0], "what stands before the head of the page");
  assertEquals(damage(PAGE.replaceAll("\n", "\r\n"))[0], "the head of the page");
  const two = checkPage(PAGE.replace('"threads":2', '"threads":3').replace("</h1>", "</h2>")).damage;
  assertEquals(two.map(({ part }) => part), ["the text of the heading", 'the sample "dram#1"']);
  for (let length = BYTES.length - 1; length > 300; length -= Math.ceil(BYTES.length / 80)) {
    assert(checkPage(BYTES.slice(0, length)).damage.length > 0 || length < PAGE.indexOf("capsule"), `${length} bytes`);
  }
  const cut = checkPage(PAGE.slice(0, PAGE.indexOf('"id":"fsdax#2"') + 90)).damage;
  assertEquals(cut[0]?.part, 'the sample "fsdax#2"');
});

Deno.test("parsePage() refuses a damaged page and reads one of an early version, which carries no sums", () => {
  const error = assertThrows(
    () => parsePage(PAGE.replace('"threads":2', '"threads":3'), "r.html"),
    DamagedPageError,
    'Cannot read the report in "r.html": the sample "dram#1" is damaged: its SHA-256 differs',
  );
  assertEquals(error.part, 'the sample "dram#1"');
  const early = PAGE.replace(TABLE, "").replace(/<meta name="tierbench-capsule"[^>]*>/, "")
    .replace(/<code id="capsule-root">[0-9a-f]+<\/code>/, "").replace(
      /<script type="[^"]*" id="prices">[^<]*<\/script>/,
      "",
    );
  assertEquals(checkPage(early), { root: undefined, parts: [], sealed: false, damage: [] });
  const read = parsePage(early, "r.html");
  assertEquals([read.result.samples.length, read.options, read.root], [12, undefined, undefined]);
});

Deno.test("pages of results at the edge are whole, and cutting loses no character", () => {
  for (const [name, make] of Object.entries(EDGE_CASES)) {
    const page = renderReport(make());
    assertEquals(checkPage(page).damage, [], name);
    assertEquals(cutPage(page).map(({ text }) => text).join(""), page, name);
  }
});
