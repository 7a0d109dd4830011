/**
 * The kernel's own tiering between DRAM and nodes without CPUs, switched now and at every start: hot pages go up
 * (kernel.numa_balancing, Documentation/admin-guide/sysctl/kernel.rst of Linux), cold ones down
 * (Documentation/ABI/testing/sysfs-kernel-mm-numa). The first is a sysctl, the second none, so that sysctl.d(5) keeps
 * one and tmpfiles.d(5) the other. Each file remembers what was there before, which the way back writes again.
 *
 * @module
 */

import type { Inventory } from "../inventory/inventory.ts";
import type { Facts } from "../inventory/parts.ts";
import { type PlanContext, step } from "./context.ts";
import type { Step, Tiering } from "./contract.ts";
import { Refused } from "./refused.ts";
import { writeFile } from "./shell.ts";

/** One direction in which the kernel moves pages. */
export interface TieringSwitch {
  readonly id: "promotion" | "demotion";
  /** What it does, after "Let the kernel" and "Keep the kernel from". */
  readonly verb: readonly [letIt: string, keepItFrom: string];
  /** The probe's fact of its value. */
  readonly fact: string;
  /** Where the running kernel has it. */
  readonly setting: string;
  /** What it is set to. */
  readonly value: Readonly<Record<Tiering, string>>;
  /** The only words that are written back. */
  readonly known: RegExp;
  /** Written by us, read at every start. */
  readonly file: string;
  readonly line: (value: string) => string;
  /** The kernel option without which it is not there. */
  readonly built: string;
}

/** Both directions. */
export const TIERING_SWITCHES: readonly TieringSwitch[] = [
  {
    id: "promotion",
    verb: ["promote hot pages", "promoting hot pages"],
    fact: "noise.numa_balancing",
    setting: "/proc/sys/kernel/numa_balancing",
    value: { on: "2", off: "0" },
    known: /^[0-3]$/,
    file: "/etc/sysctl.d/99-tierbench-promotion.conf",
    line: (value) => `kernel.numa_balancing = ${value}`,
    built: "CONFIG_NUMA_BALANCING",
  },
  {
    id: "demotion",
    verb: ["demote cold pages", "demoting cold pages"],
    fact: "kernel.numa_demotion",
    setting: "/sys/kernel/mm/numa/demotion_enabled",
    value: { on: "true", off: "false" },
    known: /^(true|false)$/,
    file: "/etc/tmpfiles.d/tierbench-demotion.conf",
    line: (value) => `w /sys/kernel/mm/numa/demotion_enabled - - - - ${value}`,
    built: "CONFIG_MIGRATION, Linux 5.15",
  },
];

/** What a switch's file makes of it at every start; undefined: there is no file of ours, or it was changed by hand. */
export function atStart({ files }: Pick<Inventory, "files">, one: TieringSwitch): Tiering | undefined {
  const lines = files[one.file]?.split("\n") ?? [];
  return (["on", "off"] as const).find((tiering) => lines.includes(one.line(one.value[tiering])));
}

/** Whether the running kernel has a switch as it is wanted. One without promotion or demotion has it off. */
export function runs(facts: Facts, one: TieringSwitch, tiering: Tiering): boolean {
  return (facts[one.fact] ?? one.value.off) === one.value[tiering];
}

/** The steps of `--tiering`; without it those of an earlier run, so that the way back finds them. */
export function tieringSteps(context: PlanContext): Step[] {
  return TIERING_SWITCHES.flatMap((one) => {
    const tiering = context.request.tiering ?? atStart(context.inventory, one);
    return tiering === undefined ? [] : switchStep(context, one, tiering);
  });
}

function switchStep({ inventory, inside }: PlanContext, one: TieringSwitch, tiering: Tiering): Step[] {
  const { facts, files } = inventory;
  const now = facts[one.fact];
  if (now === undefined) {
    if (tiering === "off") return [];
    throw new Refused(
      `The running kernel cannot ${one.verb[0]}: ${one.setting} is not there (${one.built}).`,
      "Leave out --tiering, or start a kernel that has it.",
    );
  }
  const written = files[one.file];
  const noted = /^# before: (\S+)$/m.exec(written ?? "")?.[1] ?? now;
  const before = one.known.test(noted) ? noted : one.value.off;
  const value = one.value[tiering];
  const text = `# Written by tierbench provision\n# before: ${before}\n${one.line(value)}\n`;
  const running = runs(facts, one, tiering);
  return [step({
    id: one.id,
    title: `${tiering === "on" ? `Let the kernel ${one.verb[0]}` : `Keep the kernel from ${one.verb[1]}`}, ` +
      "now and at every start",
    commands: [
      `mkdir -p ${one.file.slice(0, one.file.lastIndexOf("/"))}`,
      writeFile(one.file, text),
      `echo ${value} > ${one.setting}`,
    ],
    undo: [`rm -f ${one.file}`, `echo ${before} > ${one.setting}`],
    done: !running
      ? undefined
      : inside
      ? `${one.setting} is ${value}; files of the host cannot be seen from a container`
      : written === text
      ? `${one.setting} is ${value}, and ${one.file} keeps it`
      : undefined,
    expected: `cat ${one.setting} prints ${value}`,
  })];
}
