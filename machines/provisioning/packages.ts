/**
 * Packages of the tools and libraries that are missing, by `/etc/os-release`.
 *
 * @module
 */

import type { OsRelease, ToolState } from "../inventory/inventory.ts";
import { type PlanContext, step } from "./context.ts";
import type { Step } from "./contract.ts";
import { Refused } from "./refused.ts";
import { words } from "./shell.ts";
import { compareVersions } from "./versions.ts";

/** What a configuration needs: tools on the command line, libraries by the probe's name. */
export interface Needed {
  readonly tools: readonly ToolState["name"][];
  readonly libraries: readonly ("libpmem" | "memkind")[];
}

/** Families of systems that differ in names of packages, in the package manager and in the boot loader. */
export type Family = "debian" | "redhat";

const PACKAGES: Readonly<Record<Family, Readonly<Record<string, string>>>> = {
  // Of Debian 12: its package ndctl has cxl in it.
  debian: {
    ndctl: "ndctl",
    daxctl: "daxctl",
    cxl: "ndctl",
    ipmctl: "ipmctl",
    numactl: "numactl",
    libpmem: "libpmem1",
    memkind: "libmemkind0",
  },
  // ndctl.spec of ndctl: package cxl-cli.
  redhat: {
    ndctl: "ndctl",
    daxctl: "daxctl",
    cxl: "cxl-cli",
    ipmctl: "ipmctl",
    numactl: "numactl",
    libpmem: "libpmem",
    memkind: "memkind",
  },
};

/** What releases changed, by `ID` and version: the name of a package, or `none`. Debian 13 split cxl from ndctl. */
const CHANGED: readonly {
  readonly id: string;
  readonly from: string;
  readonly names: Readonly<Record<string, string | undefined>>;
}[] = [{ id: "debian", from: "13", names: { cxl: "cxl", ipmctl: undefined, memkind: undefined } }];

/** The package of a tool or library; undefined: the release has none. */
export function packageOf(os: OsRelease, family: Family, name: string): string | undefined {
  const changed = CHANGED.find(({ id, from, names }) =>
    id === os.id && name in names && os.version !== undefined && (compareVersions(os.version, from) ?? -1) >= 0
  );
  return changed === undefined ? PACKAGES[family][name] ?? name : changed.names[name];
}

/** What is said of libraries that the release has in no package and that are not here; none can be installed. */
export function absentLibraries(
  { inventory: { os, facts } }: Pick<PlanContext, "inventory">,
  needed: Needed,
): string[] {
  const family = os.known ? familyOf(os.value) : undefined;
  if (!os.known || family === undefined) return [];
  return needed.libraries.filter((library) =>
    facts[`library.${library}.available`] === "no" && packageOf(os.value, family, library) === undefined
  ).map((library) =>
    `${library} is in no package of ${os.value.name}` +
    (library === "memkind" ? `: "pmem": "mbind" needs no library and takes the same node` : "")
  );
}

/** The family by `ID` and `ID_LIKE` of os-release(5). */
export function familyOf(os: OsRelease): Family | undefined {
  for (const name of [os.id, ...os.like]) {
    if (name === "debian" || name === "ubuntu") return "debian";
    if (["rhel", "fedora", "centos", "anolis"].includes(name)) return "redhat";
  }
  return undefined;
}

/** First versions with dnf, by `ID`; others of the family go by that of RHEL. */
const DNF_FROM: Readonly<Record<string, string>> = { fedora: "22", alinux: "3", amzn: "2022", rhel: "8" };

/** `apt-get`, `dnf` or `yum`. */
export function packageManager(os: OsRelease): "apt-get" | "dnf" | "yum" | undefined {
  const family = familyOf(os);
  if (family !== "redhat") return family === "debian" ? "apt-get" : undefined;
  // Rolling releases, such as CentOS Stream of Fedora's kind, print no version at times: those are new.
  const order = os.version === undefined ? 1 : compareVersions(os.version, DNF_FROM[os.id] ?? DNF_FROM["rhel"] ?? "8");
  return order === undefined || order >= 0 ? "dnf" : "yum";
}

/** The system, or a refusal that says why it has to be known. */
export function knownSystem({ inventory }: PlanContext, why: string): { os: OsRelease; family: Family } {
  const { os } = inventory;
  if (!os.known) throw new Refused(`/etc/os-release was not understood (${os.reason}), and ${why} depends on it.`);
  const family = familyOf(os.value);
  if (family === undefined) {
    throw new Refused(
      `${os.value.name} is not known here, and ${why} depends on it: commands exist for systems like Debian and RHEL.`,
    );
  }
  return { os: os.value, family };
}

/** The step that installs what is missing; done if nothing is. */
export function packagesStep(context: PlanContext, needed: Needed): Step {
  const { inventory } = context;
  const installed = (name: string) => inventory.tools.some((tool) => tool.name === name && tool.installed);
  const { os } = inventory;
  const known = os.known ? familyOf(os.value) : undefined;
  const none = (name: string) => os.known && known !== undefined && packageOf(os.value, known, name) === undefined;
  const libraries = needed.libraries.filter((library) =>
    inventory.facts[`library.${library}.available`] !== "no" || !none(library)
  );
  const missing = [
    ...needed.tools.filter((tool) => !installed(tool)),
    // Only what the loader could not find; a fact that is absent says nothing.
    ...libraries.filter((library) => inventory.facts[`library.${library}.available`] === "no"),
  ];
  const absent = missing.filter(none);
  if (os.known && absent.length > 0) {
    throw new Refused(
      `${words(absent)} is missing, and in no package of ${os.value.name}.`,
      `Build ${words(absent)} from its source, or start a release that has it, such as Debian 12.`,
    );
  }
  const all = words([...needed.tools, ...libraries]);
  if (missing.length === 0) {
    return step({
      id: "packages",
      title: `Install ${all === "" ? "nothing" : all}`,
      commands: [],
      done: all === ""
        ? "nothing has to be installed"
        : `${all} ${needed.tools.length + libraries.length === 1 ? "is" : "are"} installed`,
      expected: "the tools print their versions",
    });
  }
  let system: { os: OsRelease; family: Family };
  try {
    system = knownSystem(context, "the name of a package");
  } catch (error) {
    if (error instanceof Refused) {
      throw new Refused(`${words(missing)} missing. ${error.message}`, `Install ${words(missing)}.`);
    }
    throw error;
  }
  const manager = packageManager(system.os) ?? "apt-get";
  const packages = [...new Set(missing.map((name) => packageOf(system.os, system.family, name) ?? name))].join(" ");
  return step({
    id: "packages",
    title: `Install ${words(missing)}`,
    commands: manager === "apt-get"
      ? ["apt-get update", `apt-get install -y --no-install-recommends ${packages}`]
      : [`${manager} install -y ${packages}`],
    undo: [`${manager} remove -y ${packages}`],
    done: undefined,
    expected: `${words(missing)} can be found`,
    // Guests of the lab are Debian.
    ...(manager === "apt-get" ? {} : { outsideLab: "package manager" }),
  });
}
