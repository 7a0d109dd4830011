/**
 * What the user asks for, checked before any of it reaches a line for the shell.
 *
 * @module
 */

import type { ProvisionRequest } from "./contract.ts";
import { Refused } from "./refused.ts";

const RULES = {
  only: {
    pattern: /^(region|mem)\d{1,6}$/,
    wanted: 'names of regions or CXL memory devices such as "region0" or "mem0"',
  },
  erase: {
    pattern:
      /^(namespace\d{1,6}\.\d{1,6}|pmem\d{1,6}(\.\d{1,6})?s?(p\d{1,3})?|dax\d{1,6}\.\d{1,6}|(region|mem)\d{1,6})$/,
    wanted: 'names of devices such as "namespace0.0", "pmem0" or "dax0.0"',
  },
  owner: {
    // useradd(8), which is stricter than what the kernel takes.
    pattern: /^[A-Za-z_][A-Za-z0-9_.-]{0,31}$/,
    wanted: "the name of a user",
  },
  mountParent: {
    pattern: /^(?!.*\/\.{1,2}(\/|$))(\/[A-Za-z0-9_.-]{1,64}){1,16}$/,
    wanted: 'an absolute path of letters, digits, "_", "." and "-", without "." and ".." as names',
  },
  memmap: {
    pattern: /^[1-9]\d{0,5}G![1-9]\d{0,5}G$/,
    wanted: 'a range in whole GiB, size!start, such as "1008G!257G"',
  },
  tiering: { pattern: /^(on|off)$/, wanted: '"on" or "off"' },
} as const;

/** Refuses a request with anything in it that has no place on a command line. */
export function checkRequest(request: ProvisionRequest): void {
  for (const [name, { pattern, wanted }] of Object.entries(RULES)) {
    const value = request[name as keyof typeof RULES];
    const values: readonly string[] = value === undefined ? [] : typeof value === "string" ? [value] : value;
    const bad = values.find((one) => !pattern.test(one));
    if (bad !== undefined) throw new Refused(`${name} is ${JSON.stringify(bad)}, but must be ${wanted}.`);
  }
  if (request.tiering !== undefined && request.target !== "cxl-kmem") {
    throw new Refused(
      `tiering is "${request.tiering}", but only "cxl-kmem" sets the kernel's promotion and demotion, not ` +
        `"${request.target}".`,
      "Leave out --tiering.",
    );
  }
}
