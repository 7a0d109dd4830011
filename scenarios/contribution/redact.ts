/**
 * Takes out of a result what says whose machine it was: names of host and user, paths, serial numbers, UUIDs, hardware
 * addresses. What decides on a figure stays. Everything that is text and has no fixed form is looked at, so a field
 * that is added later is covered as well.
 *
 * @module
 */

import type { Result } from "../record.ts";
import { QUALITY_ID } from "../result.ts";
import type { Identity } from "./identity.ts";
import type { Removed } from "./record.ts";

/** Families of facts (`native/machine/machine.h`); a fact of another family is taken out. */
const FAMILIES = /^(kernel|cpu|memory|hugepages|node|pmem|dax|mount|cxl|firmware|gpu|noise|library)\./;

/** Facts that identify a device, whatever their family. */
const IDENTIFYING = /(^|[._])(serial|uuid|guid|wwn|wwid|mac|address|hostname|iset_?id|machine_id|boot_id|asset_tag)$/i;

/** Forms of identifying text: name, pattern. A pattern's first group, if it has one, stays. */
const FORMS: readonly (readonly [string, RegExp])[] = [
  ["UUID", /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi],
  ["hardware address", /(?<![\w:-])[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}(?![\w:-])/gi],
  // NVDIMM ids of ACPI 6.2 and later: vendor, place and date of manufacture if known, serial number.
  ["serial number", /(?<![\w-])[0-9a-f]{4}-(?:[0-9a-f]{2}-\d{4}-)?[0-9a-f]{8}(?![\w-])/gi],
  // As tools print them: "serial":"0x…", "iset_id":…, Serial Number: ….
  ["serial number", /("?\b(?:serial(?:[ _-]?(?:number|no\.?))?|iset_?id|uid|wwn|s\/n)"?\s*[:=]\s*)"?[\w.-]+"?/gi],
  ["serial number", /\b0x[0-9a-f]{8,}\b/gi],
];

/** Ends of a path in text: what separates words, quotes and brackets. */
const PATH = /(?<![\w.<])\/+[^\s"'`,;()<>[\]{}|]+/g;

/** Devices that say what a medium is and nothing else. */
const PLAIN_DEVICE = /^\/dev\/(?:shm|pmem\d+(?:\.\d+)?s?(?:p\d+)?|dax\d+\.\d+)$/;

/** A path as it may be told: what the kernel names is told, what people name is not. */
function toldPath(path: string): string {
  const end = /[.:!?]+$/.exec(path)?.[0] ?? "";
  const bare = path.slice(0, path.length - end.length);
  if (PLAIN_DEVICE.test(bare)) return path;
  if (bare.startsWith("/sys/fs/cgroup/")) return `/sys/fs/cgroup/<path>${end}`; // groups have names of users and jobs
  if (/^\/(sys|proc)(\/|$)/.test(bare)) return path;
  return `${bare.startsWith("/dev/") ? "<device>" : "<path>"}${end}`;
}

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** A name as a word of its own. */
const word = (name: string): RegExp => new RegExp(`(?<![\\w-])${literal(name)}(?![\\w-])`, "g");

/**
 * Makes the function that takes identifying text out of free text.
 *
 * @param who The names to take out.
 * @returns Text to what may be told of it, and what was taken out.
 */
export function redactor(who: Identity): (text: string) => { readonly text: string; readonly removed: string[] } {
  return (given) => {
    const removed: string[] = [];
    let text = given;
    const replace = (what: string, pattern: RegExp, by: (found: string, kept: string) => string) => {
      text = text.replace(pattern, (found: string, first: unknown) => {
        const told = by(found, typeof first === "string" ? first : "");
        if (told !== found) removed.push(what);
        return told;
      });
    };
    // Whole known paths first: they may hold spaces, at which the pattern of paths ends.
    for (const path of who.paths) {
      replace("path", new RegExp(`${literal(path)}(?:/[^\\s"'\`,;:]*)?`, "g"), () => "<path>");
    }
    replace("path", PATH, toldPath);
    for (const [what, pattern] of FORMS) replace(what, pattern, (_, kept) => `${kept}<${what}>`);
    for (const name of who.hosts) replace("host name", word(name), () => "<host>");
    for (const name of who.users) replace("user name", word(name), () => "<user>");
    return { text, removed };
  };
}

/** Fields whose text has a fixed form or comes from this project; all other text is looked at. */
const FIXED = new Set([
  "type",
  "id",
  "case",
  "configuration",
  "status",
  "evidence",
  "started",
  "digest",
  "scenarioDigest",
  "kind",
  "emulates",
]);

/** Fields of a scenario that a user writes paths into. */
const SCENARIO_PATHS = new Set(["path", "ssdPath", "criteo"]);

/**
 * A result without what identifies machine or user.
 *
 * @param result A result; it stays as it is.
 * @param who The names to take out.
 * @returns The result that may be given away, and every place where something was taken out.
 */
export function redact(result: Result, who: Identity): { readonly result: Result; readonly removed: Removed[] } {
  const removed: Removed[] = [];
  const known = knownPaths(result);
  const clean = redactor({ ...who, paths: [...new Set([...who.paths, ...known])].sort((a, b) => b.length - a.length) });
  const text = (value: string, where: string): string => {
    const told = clean(value);
    for (const what of new Set(told.removed)) removed.push({ where, what });
    return told.text;
  };
  const walk = (value: unknown, where: string, keep: (field: string) => boolean): unknown => {
    if (typeof value === "string") return text(value, where);
    if (Array.isArray(value)) return value.map((one, i) => walk(one, `${where}[${i}]`, keep));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([field, one]) => [
        field,
        typeof one === "string" && keep(field) ? one : walk(one, `${where}.${field}`, keep),
      ]),
    );
  };
  const record = <T extends object>(value: T, where: string): T => walk(value, where, (field) => FIXED.has(field)) as T;
  const { run } = result;
  const { scenario, machine, ...rest } = run;
  const facts = Object.fromEntries(
    Object.entries(machine.facts).filter(([key]) => {
      const what = IDENTIFYING.test(key)
        ? "serial number"
        : FAMILIES.test(key)
        ? undefined
        : "fact of an unknown family";
      if (what !== undefined) removed.push({ where: `run.machine.facts.${key}`, what });
      return what === undefined;
    }),
  );
  return {
    result: {
      run: {
        ...record(rest, "run"),
        scenario: walk(scenario, "run.scenario", (field) => !SCENARIO_PATHS.has(field)) as typeof scenario,
        machine: record({ ...machine, facts }, "run.machine"),
      },
      samples: result.samples.map((one) => ({ ...record(one, one.id), point: one.point })),
      ...(result.again === undefined
        ? {}
        : { again: result.again.map((one) => ({ ...record(one, one.id), point: one.point })) }),
      failed: result.failed.map((one) => ({ ...record(one, `${one.id} (failed)`), point: one.point })),
      quality: result.quality === undefined ? undefined : record(result.quality, QUALITY_ID),
      qualities: result.qualities.map((one) => record(one, one.id ?? QUALITY_ID)),
      ...(result.curves === undefined ? {} : { curves: result.curves }),
    },
    removed,
  };
}

/** Paths that stand in fields of their own and may come up in sentences: those that people name, spaces and all. */
function knownPaths({ run: { machine, scenario, data }, samples }: Result): string[] {
  const facts = Object.entries(machine.facts).filter(([key]) => /^mount\.\d+\.path$/.test(key)).map(([, path]) => path);
  const own = Object.values(scenario.configurations).flatMap(({ path, ssdPath }) => [path, ssdPath]);
  const tiers = samples.flatMap((sample) => sample.tiers.flatMap((tier) => tier.facts["path"]));
  return [...facts, ...own, ...tiers, data.kind === "criteo" ? data.source : undefined]
    .filter((path): path is string =>
      path !== undefined && path.length > 1 && path.startsWith("/") && toldPath(path) !== path
    );
}
