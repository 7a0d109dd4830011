/**
 * Ranges for the kernel option `memmap=size!start` (Documentation/admin-guide/kernel-parameters.txt of Linux), which
 * sets RAM aside as if it were persistent memory. The kernel does not compare the range with the RAM there is: one that
 * names a hole, such as the window of PCI devices, makes a device that corrupts what is written. So the planner does.
 *
 * @module
 */

import { type Facts, nodesOf, numberOf } from "../inventory/parts.ts";
import { Refused } from "./refused.ts";
import { words } from "./shell.ts";

const GIB = 1024 ** 3;

/** Bytes from `start` to the first one behind. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** `16G!4G` as a range; undefined: it is none. */
function parseMemmap(text: string): Range | undefined {
  const [, size, start] = /^(\d+)G!(\d+)G$/.exec(text) ?? [];
  return size === undefined || start === undefined
    ? undefined
    : { start: Number(start) * GIB, end: (Number(start) + Number(size)) * GIB };
}

/** The option of the running kernel, e.g. `16G!4G`; undefined: none that sets memory aside, or not known. */
export function runningMemmap(facts: Facts): string | undefined {
  return facts["kernel.cmdline_memmap"]?.split(" ").map((word) => word.replace(/^memmap=/, ""))
    .find((value) => parseMemmap(value) !== undefined);
}

/** System RAM as the kernel lists it, neighbours joined. Empty for users to whom it shows no addresses. */
function ramRanges(facts: Facts): Range[] {
  const ranges: { start: number; end: number }[] = [];
  for (let i = 0;; i++) {
    const start = numberOf(facts, `memory.ram.${i}.start`);
    const end = numberOf(facts, `memory.ram.${i}.end`);
    if (start === undefined || end === undefined) return ranges;
    const last = ranges[ranges.length - 1];
    if (last !== undefined && last.end === start) last.end = end;
    else ranges.push({ start, end });
  }
}

/** `4 GiB to 20 GiB`. */
function text({ start, end }: Range): string {
  const gib = (bytes: number) => `${Number((bytes / GIB).toFixed(3))} GiB`;
  return `${gib(start)} to ${gib(end)}`;
}

/** Refuses a range that is not all RAM above 4 GiB, or takes all RAM there is above. */
export function checkRange(facts: Facts, option: string): void {
  const range = parseMemmap(option);
  if (range === undefined) throw new Refused(`memmap is "${option}", but must be a range in whole GiB, size!start.`);
  const ram = ramRanges(facts);
  if (ram.length === 0) {
    throw new Refused(
      "The ranges of System RAM could not be read, and the kernel does not check the option memmap= against them.",
      "Run it as root: the kernel hides the addresses in /proc/iomem from others.",
    );
  }
  if (range.start < 4 * GIB) {
    throw new Refused(
      `memmap=${option} names ${text(range)}, but below 4 GiB are the kernel, devices and firmware.`,
      `Name a range within ${
        words(ram.filter((one) => one.end > 4 * GIB).map(text)) || "RAM above 4 GiB; there is none"
      }.`,
    );
  }
  if (!ram.some((one) => one.start <= range.start && range.end <= one.end)) {
    throw new Refused(
      `memmap=${option} names ${text(range)}, which is not all RAM; System RAM is at ${words(ram.map(text))}.`,
      "Name a range within one of those.",
    );
  }
}

/** The range of the only node with memory and no CPUs, in whole GiB; throws where there is no such node. */
export function defaultMemmap(facts: Facts): string {
  const nodes = nodesOf(facts).filter((one) => one.cpus === "" && (one.totalBytes ?? 0) > 0);
  const [node, ...others] = nodes;
  if (node === undefined || others.length > 0) {
    throw new Refused(
      node === undefined
        ? "There is no PMEM region here, and no NUMA node with memory and without CPUs that could be set aside."
        : `There is no PMEM region here, and ${nodes.length} NUMA nodes have memory and no CPUs.`,
      "Name the range to set aside: --memmap size!start, such as 16G!4G.",
    );
  }
  const start = numberOf(facts, `node.${node.node}.start`);
  const end = numberOf(facts, `node.${node.node}.end`);
  if (start === undefined || end === undefined) {
    throw new Refused(
      `Where the memory of node ${node.node} lies could not be read.`,
      "Name the range to set aside: --memmap size!start, such as 16G!4G.",
    );
  }
  const first = Math.ceil(start / GIB);
  const size = Math.floor(end / GIB) - first;
  if (size < 1) throw new Refused(`The memory of node ${node.node} has no whole GiB in it: ${text({ start, end })}.`);
  return `${size}G!${first}G`;
}
