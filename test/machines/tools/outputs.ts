/** Captured outputs of tools, with what they mean; test/fixtures/tools/README.md says where they come from. */

import { parseCxl } from "../../../machines/tools/cxl.ts";
import { parseDaxctl } from "../../../machines/tools/daxctl.ts";
import { parseMemoryResources, parseModules } from "../../../machines/tools/ipmctl.ts";
import { parseLsblk } from "../../../machines/tools/lsblk.ts";
import { parseNdctl } from "../../../machines/tools/ndctl.ts";
import { parseNumactl } from "../../../machines/tools/numactl.ts";
import type { Parsed } from "../../../machines/inventory/tool.ts";
import { parseVersion } from "../../../machines/tools/version.ts";

const FOLDER = new URL("../../fixtures/tools/", import.meta.url);

export const PARSERS: Readonly<Record<string, (text: string) => Parsed<unknown>>> = {
  ndctl: parseNdctl,
  daxctl: parseDaxctl,
  cxl: parseCxl,
  numactl: parseNumactl,
  lsblk: parseLsblk,
  resources: parseMemoryResources,
  modules: parseModules,
  version: parseVersion,
};

export interface Captured {
  readonly path: string;
  readonly parser: string;
  readonly parse: (text: string) => Parsed<unknown>;
  readonly text: string;
  /** Its value, plain, without fields that are undefined; undefined: it must not be understood. */
  readonly value: unknown;
  /** Why it must not be understood. */
  readonly unknown: string | undefined;
}

/** A value without fields that are undefined. */
export function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function* filesIn(folder: URL, path = ""): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* filesIn(new URL(`${name}/`, folder), `${path}${name}/`);
    else if (path !== "") yield `${path}${name}`;
  }
}

/** Paths of all captured outputs. */
export function capturedPaths(): string[] {
  return [...filesIn(FOLDER)].sort();
}

export function textOf(path: string): string {
  return Deno.readTextFileSync(new URL(path, FOLDER));
}

/** All captured outputs that have an expected value. */
export function captured(): Captured[] {
  const expected = JSON.parse(textOf("expected.json")) as Record<
    string,
    { parser: string; value?: unknown; unknown?: string }
  >;
  return Object.entries(expected).map(([path, { parser, value, unknown }]) => {
    const parse = PARSERS[parser];
    if (parse === undefined) throw new Error(`There is no parser "${parser}"`);
    return { path, parser, parse, text: textOf(path), value, unknown };
  });
}
