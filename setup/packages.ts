/**
 * The Debian packages: which are missing, and how to get them.
 *
 * @module
 */

import { unsupported } from "./platform.ts";
import { labelled, secondsSince, SetupError, type System } from "./system.ts";

/** What packages are for: everything, or the tests on top. */
export type Group = "run" | "test";

/** One line of `setup/packages.txt`. */
export interface Package {
  /** Its name in Debian. */
  readonly name: string;
  /** Who needs it. */
  readonly group: Group;
  /** What for. */
  readonly why: string;
}

/** How to get packages. */
interface InstallOptions {
  /** False: say what is missing and stop. */
  readonly install: boolean;
}

/**
 * Reads the list of packages.
 *
 * @throws {SyntaxError} If a line is not a name, a group and a purpose.
 */
export function parsePackages(text: string): Package[] {
  return text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#")).map((line) => {
    const [, name = "", group = "", why = ""] = /^(\S+)\s+(run|test)\s+(\S.*)$/.exec(line) ?? [];
    if (name === "") {
      throw new SyntaxError(`Cannot read the package line "${line}": expected name, run or test, purpose`);
    }
    return { name, group: group as Group, why };
  });
}

/** The packages that are not installed. */
async function missingPackages(system: System, packages: readonly Package[]): Promise<Package[]> {
  const names = packages.map(({ name }) => name);
  const { code, stdout } = await system.run(["dpkg-query", "-W", "-f=${Package} ${db:Status-Status}\\n", ...names]);
  if (code === 127) throw unsupported("a system without dpkg");
  const installed = new Set(
    stdout.split("\n").filter((line) => line.endsWith(" installed")).map((line) => line.split(" ")[0]),
  );
  return packages.filter(({ name }) => !installed.has(name));
}

/**
 * Installs what is missing, after one line that says what and why.
 *
 * @returns The names of the packages it installed.
 * @throws {SetupError} If it may not or cannot; the message is the line for the user to run.
 */
export async function ensurePackages(
  system: System,
  packages: readonly Package[],
  options: InstallOptions,
): Promise<string[]> {
  const missing = await missingPackages(system, packages);
  if (missing.length === 0) return [];
  const names = missing.map(({ name }) => name);
  const advice = `run "apt-get update && apt-get install -y --no-install-recommends ${names.join(" ")}" as root`;
  const stop = (why: string): SetupError => new SetupError(`Cannot use ${names.join(", ")}: ${why}; ${advice}`);
  if (!options.install) throw stop("not installed, and --no-install was given");
  if ((await system.run(["apt-get", "--version"])).code !== 0) throw stop("not installed, and there is no apt-get");
  const prefix = await rootPrefix(system);
  if (prefix === undefined) throw stop("not installed, and installing needs root or sudo");

  const why = missing.map(({ why }) => why).join(", ");
  system.print(labelled("setup", `installing ${names.join(" ")} with apt, once (${why}) …`));
  const start = performance.now();
  const apt = (...args: string[]): ReturnType<System["run"]> => {
    // env passes the variable through sudo, which drops those it does not know.
    const command = [...prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", ...args];
    return system.run(command, { ask: prefix.length === 1 });
  };
  const install = ["install", "-y", "--no-install-recommends", ...names];
  let outcome = await hasCandidates(system, names) ? await apt(...install) : undefined;
  if (outcome?.code !== 0) {
    // No package lists yet, or lists that name versions which are gone.
    const update = await apt("update");
    if (update.code === 0 && !await hasCandidates(system, names)) {
      system.print("\n");
      throw unsupported("a system whose package lists lack some of them");
    }
    outcome = update.code === 0 ? await apt(...install) : update;
  }
  if (outcome.code !== 0) {
    const said = `${outcome.stdout}\n${outcome.stderr}`.split("\n").filter((line) => /^E: /.test(line)).join(" ");
    system.print("\n");
    throw stop(`apt-get ended with ${outcome.code}${said === "" ? "" : ` (${said})`}`);
  }
  system.print(` done ${secondsSince(start)}\n`);
  return names;
}

/** What to put before a command so that root runs it; nothing if nobody may. */
async function rootPrefix(system: System): Promise<string[] | undefined> {
  if (system.uid === 0) return [];
  if ((await system.run(["sudo", "-n", "true"])).code === 0) return ["sudo", "-n"];
  const mayAsk = system.terminal && (await system.run(["sudo", "-V"])).code === 0;
  return mayAsk ? ["sudo"] : undefined;
}

/** Whether apt's lists know a version of every package. */
async function hasCandidates(system: System, names: readonly string[]): Promise<boolean> {
  const { stdout } = await system.run(["apt-cache", "policy", ...names], { env: { LC_ALL: "C" } });
  const candidates = stdout.match(/^ {2}Candidate: (?!\(none\))/gm) ?? [];
  return candidates.length === names.length;
}
