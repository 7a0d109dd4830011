/**
 * Names that must not leave the machine: its own, its user's, their home.
 *
 * @module
 */

import { hostname, userInfo } from "node:os";

/** What {@linkcode redactor} takes out wherever it stands in free text. */
export interface Identity {
  /** Names of the host, with and without its domain. */
  readonly hosts: readonly string[];
  /** Names of the user. */
  readonly users: readonly string[];
  /** Paths that may hold spaces and are known to be private: the user's home. */
  readonly paths: readonly string[];
}

/** Names that say nothing about anybody. */
const COMMON = new Set(["", "localhost", "localhost.localdomain", "root", "nobody", "(none)"]);

/** Names as a list without those that say nothing, longest first, so that no part of a name stays. */
export function telling(names: readonly (string | undefined)[]): string[] {
  const found = new Set(names.filter((name): name is string => name !== undefined && !COMMON.has(name)));
  return [...found].sort((a, b) => b.length - a.length);
}

/** The names of this machine and of whoever runs this process. */
export function identity(): Identity {
  const host = hostname();
  const user = userOf();
  const env = ["USER", "LOGNAME", "SUDO_USER"].map((name) => Deno.env.get(name));
  const homes = [user?.homedir ?? undefined, Deno.env.get("HOME")].filter((path) => path !== "/");
  return {
    hosts: telling([host, host.split(".")[0]]),
    users: telling([user?.username, ...env]),
    paths: telling(homes),
  };
}

/** The user's entry, or nothing for a number without an entry, as containers have. */
function userOf(): { username: string; homedir: string | null } | undefined {
  try {
    return userInfo();
  } catch {
    return undefined;
  }
}
