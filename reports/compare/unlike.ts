/**
 * In what two results are unlike.
 *
 * @module
 */

import type { MachineRecord, Result } from "../../scenarios/record.ts";
import { type Unlike, UnlikeResultsError } from "./comparison.ts";

/** Kind of document that a result's scenario is: `training` unless it says another. */
export function kindOf({ run }: Result): string {
  const kind = (run.scenario as unknown as Readonly<Record<string, unknown>>)["kind"];
  return typeof kind === "string" ? kind : "training";
}

/** Everything in which two results are unlike: what is refused first. */
export function unlikeOf(a: Result, b: Result): Unlike[] {
  const found = [...scenarios(a, b), ...machines(a.run.machine, b.run.machine), ...versions(a, b)];
  return [...found.filter(({ weight }) => weight === "refused"), ...found.filter(({ weight }) => weight !== "refused")];
}

/**
 * Refuses a baseline of another scenario or key stream before anything runs.
 *
 * @param baseline Results that another run is to be compared with.
 * @param scenario The scenario of that run, resolved.
 * @param names What the two are called.
 * @throws {UnlikeResultsError} naming what differs.
 */
export function requireLike(
  baseline: Result,
  scenario: Result["run"]["scenario"],
  names: readonly [string, string],
): void {
  const unlike = scenarios(baseline, { ...baseline, run: { ...baseline.run, scenario } });
  if (unlike.some(({ weight }) => weight === "refused")) throw new UnlikeResultsError(names, unlike);
}

/** Fields of a scenario that change neither what is run nor how. */
const WORDS = /^(name|about|cost\b.*|seed|version|kind|whenUnavailable|configurations\.[^.]+\.about)$/;
/** Fields that change how sure a figure is, or that are beside the speed. */
const EFFORT = /^(workload\.steps|repetitions|sampling|aa|budget|quality\b.*|ablation\b.*)$/;

function scenarios(a: Result, b: Result): Unlike[] {
  if (kindOf(a) !== kindOf(b)) return [{ what: "kind of scenario", a: kindOf(a), b: kindOf(b), weight: "refused" }];
  const [left, right] = [flat(a.run.scenario), flat(b.run.scenario)];
  const fields = [...new Set([...left.keys(), ...right.keys()])].filter((field) =>
    left.get(field) !== right.get(field)
  );
  const both = (name: string): boolean => [left, right].every((one) => hasUnder(one, `configurations.${name}`));
  const differ = fields.filter((field) => {
    if (WORDS.test(field)) return false;
    const [, configuration] = /^configurations\.([^.]+)/.exec(field) ?? [];
    return configuration === undefined || both(configuration); // a case in one of them only is listed as that
  });
  const [seedA, seedB] = [left.get("seed") ?? "none", right.get("seed") ?? "none"];
  return [
    ...differ.map((field): Unlike => ({
      what: `scenario.${field}`,
      a: left.get(field) ?? "absent",
      b: right.get(field) ?? "absent",
      weight: EFFORT.test(field) ? "labelled" : "refused",
    })),
    ...(seedA === seedB ? [] : [{ what: "seed", a: seedA, b: seedB, weight: "labelled" } as const]),
    ...keyStreams(a, b, seedA === seedB && differ.length === 0),
  ];
}

/** Equal scenarios and seeds must have equal key streams. */
function keyStreams({ run: { data: a } }: Result, { run: { data: b } }: Result, alike: boolean): Unlike[] {
  if (a.digest === b.digest) return [];
  return [{ what: "key stream", a: a.digest, b: b.digest, weight: alike ? "refused" : "labelled" }];
}

function machines(a: MachineRecord, b: MachineRecord): Unlike[] {
  const unlike = (what: string, weight: Unlike["weight"], of: (machine: MachineRecord) => string): Unlike[] =>
    of(a) === of(b) ? [] : [{ what: `machine.${what}`, a: of(a), b: of(b), weight }];
  const gib = ({ memoryBytes }: MachineRecord): string => `${(memoryBytes / 2 ** 30).toFixed(1)} GiB`;
  const ratio = a.memoryBytes / b.memoryBytes;
  return [
    ...unlike("cpu", "refused", ({ cpu }) => cpu),
    ...unlike("cpus", "refused", ({ cpus }) => `${cpus}`),
    ...unlike("nodes", "refused", ({ nodes }) => `${nodes}`),
    // A kernel keeps more or less for itself; a module more or less is another machine.
    ...(ratio > 0.9 && ratio < 1 / 0.9 ? [] : unlike("memory", "refused", gib)),
    ...unlike("kernel", "labelled", ({ kernel }) => kernel),
    ...settings(a, b),
  ];
}

/** Facts of a machine that change its speed and that somebody or something sets. */
const SETTINGS =
  /^(cpu\.(microcode|quota|flags|virtual|mitigations\..+)|memory\.(modules|limit)|hugepages\.(transparent|defrag|.+\.total)|noise\.(governor|turbo|smt|clocksource|numa_balancing)|kernel\.numa_demotion|container\.kind|firmware\.version)$/;

/** Settings that both machines tell of, and tell otherwise. Without a limit the kernel tells of none. */
function settings({ facts: a }: MachineRecord, { facts: b }: MachineRecord): Unlike[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => SETTINGS.test(name)).sort()
    .flatMap((name): Unlike[] => {
      const missing = name === "memory.limit" ? "none" : undefined;
      const [left, right] = [a[name] ?? missing, b[name] ?? missing];
      if (left === undefined || right === undefined || left === right) return [];
      return [{ what: `machine.${name}`, a: left, b: right, weight: "labelled" }];
    });
}

function versions({ run: { versions: a } }: Result, { run: { versions: b } }: Result): Unlike[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => a[name] !== b[name])
    .map((name) => ({
      what: `version of ${name}`,
      a: a[name] ?? "absent",
      b: b[name] ?? "absent",
      weight: "labelled",
    }));
}

/** Leaves of a value by their dotted path, as JSON. */
function flat(value: unknown, path: string = "", into: Map<string, string> = new Map()): Map<string, string> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return into.set(path, JSON.stringify(value));
  for (const [name, part] of Object.entries(value)) flat(part, path === "" ? name : `${path}.${name}`, into);
  return into;
}

function hasUnder(fields: ReadonlyMap<string, string>, path: string): boolean {
  return [...fields.keys()].some((field) => field === path || field.startsWith(`${path}.`));
}
