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
  // Debian's package ndctl has cxl in it.
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
  const missing = [
    ...needed.tools.filter((tool) => !installed(tool)),
    // Only what the loader could not find; a fact that is absent says nothing.
    ...needed.libraries.filter((library) => inventory.facts[`library.${library}.available`] === "no"),
  ];
  const all = words([...needed.tools, ...needed.libraries]);
  if (missing.length === 0) {
    return step({
      id: "packages",
      title: `Install ${all}`,
      commands: [],
      done: `${all} ${needed.tools.length + needed.libraries.length === 1 ? "is" : "are"} installed`,
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
  const packages = [...new Set(missing.map((name) => PACKAGES[system.family][name] ?? name))].join(" ");
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
