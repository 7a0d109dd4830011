/**
 * What decides whether a contributed measurement can be compared with others, as far as the program can see it.
 *
 * @module
 */

import { type Facts, numberOf, regionsOf, socketsOf } from "../../machines/inventory/parts.ts";
import type { Result } from "../record.ts";
import { isAsShipped } from "./preset.ts";
import type { ChecklistItem } from "./record.ts";

type Finding = Omit<ChecklistItem, "id" | "title">;

const ok = (found: string): Finding => ({ status: "ok", found });
const notOk = (found: string, next: string): Finding => ({ status: "not ok", found, next });
const unknown = (found: string, next?: string): Finding => ({
  status: "unknown",
  found,
  ...(next === undefined ? {} : { next }),
});

const UNREADABLE = "the kernel does not tell";

/** An item that depends on one fact. */
function fact(facts: Facts, key: string, of: (value: string) => Finding, next?: string): Finding {
  const value = facts[key];
  return value === undefined ? unknown(UNREADABLE, next) : of(value);
}

/** Numbers of a list like `0-3,8`. */
function listed(list: string): Set<number> {
  const numbers = new Set<number>();
  for (const part of list.split(",").filter((one) => one !== "")) {
    const [from = "", to = from] = part.split("-");
    for (let n = Number(from); n <= Number(to); n++) numbers.add(n);
  }
  return numbers;
}

function sockets(facts: Facts): Finding {
  const packages = numberOf(facts, "cpu.packages");
  if (packages === 1) return ok("one socket");
  const allowed = facts["cpu.allowed"];
  const all = socketsOf(facts);
  if (allowed === undefined || all.length === 0) return unknown("which CPUs belong together cannot be read");
  const mine = listed(allowed);
  const used = all.filter(({ cpus }) => [...listed(cpus)].some((cpu) => mine.has(cpu)));
  const count = `${all.length} sockets`;
  if (used.length === 0) return unknown(`${count}; CPUs ${allowed} are of none of them`);
  const [only, ...others] = used;
  if (only !== undefined && others.length === 0) {
    return ok(`${count}; all threads on the CPUs of socket ${only.socket}`);
  }
  return notOk(
    `${count}; the threads ran on the CPUs of sockets ${used.map(({ socket }) => socket).join(", ")}`,
    "run on the CPUs of the socket beside the medium: numactl --physcpubind=<CPUs> deno task tierbench run " +
      `--preset contribute, with ${used.map(({ socket, cpus }) => `${cpus} for socket ${socket}`).join(" or ")}`,
  );
}

/** Media that nothing on the machine proves; absent where all were verified. */
function vouchedMedia({ run: { vouched = [] } }: Result): Finding | undefined {
  if (vouched.length === 0) return undefined;
  const found = vouched.map(({ configuration, medium, shows }) => `${configuration}: ${medium}; seen: ${shows}`);
  return unknown(`by the owner's word alone: ${found.join(". ")}`, 'say how you know it in the answer "modules"');
}

function load(value: string): Finding {
  const minute = Number(value.split(" ")[0]);
  if (Number.isNaN(minute)) return unknown(`load averages "${value}"`);
  return minute <= 0.5 ? ok(`${minute} in the minute before`) : notOk(
    `${minute} in the minute before: other programs took time`,
    "stop them, wait a minute, run again",
  );
}

function persistence(facts: Facts): Finding | undefined {
  const regions = regionsOf(facts);
  if (regions.length === 0) return undefined;
  const found = regions.map(({ name, persistenceDomain }) => `${name}: ${persistenceDomain ?? "not told"}`).join(", ");
  const known = regions.every(({ persistenceDomain }) =>
    persistenceDomain === "memory_controller" || persistenceDomain === "cpu_cache"
  );
  return known
    ? ok(found)
    : unknown(found, 'say in the answer "firmware" whether ADR or eADR is on, if the board has it');
}

function modules(facts: Facts): Finding {
  const dimms = numberOf(facts, "pmem.modules");
  const cards = new Set(Object.keys(facts).flatMap((key) => /^cxl\.(mem\d+)\./.exec(key)?.[1] ?? [])).size;
  const seen = [
    ...(dimms === undefined ? [] : [`${dimms} PMEM modules`]),
    ...(cards === 0 ? [] : [`${cards} CXL memory devices`]),
  ];
  return unknown(
    `${seen.length === 0 ? "no number of modules" : seen.join(", ")}; which channels they are in is not told`,
    'say it in the answer "modules"',
  );
}

function firmware(facts: Facts): Finding {
  const bios = [facts["firmware.vendor"], facts["firmware.version"], facts["firmware.date"]].filter((part) =>
    part !== undefined
  );
  const cards = Object.entries(facts).flatMap(([key, version]) => {
    const name = /^cxl\.(mem\d+)\.firmware_version$/.exec(key)?.[1];
    return name === undefined ? [] : [`${name}: ${version}`];
  });
  return facts["firmware.version"] === undefined
    ? unknown([UNREADABLE, ...cards].join("; "), 'say its version in the answer "firmware"')
    : ok([bios.join(" "), ...cards].join("; "));
}

/** Huge pages: the store asks for them (`madvise`), so both `always` and `madvise` give them. */
function hugePages(value: string): Finding {
  return value === "always" || value === "madvise"
    ? ok(value)
    : notOk(value, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
}

async function scenarioItem({ run: { scenario } }: Result): Promise<Finding> {
  return await isAsShipped(scenario) ? ok("as it ships") : notOk(
    `another one than ships ("${scenario.name}")`,
    "run without --quick and --set: figures of other scenarios are not compared",
  );
}

function samplesItem({ samples, failed }: Result): Finding {
  return failed.length === 0 && samples.length > 0 ? ok(`all ${samples.length} completed`) : notOk(
    `${samples.length} completed, ${failed.length} failed`,
    "see the errors in the report; --resume takes the missing ones again",
  );
}

/**
 * The checklist of a run.
 *
 * @param result What was run, and the machine as it was when the run began.
 * @returns The items in the order in which they are shown.
 */
export async function checklistOf(result: Result): Promise<ChecklistItem[]> {
  const { machine: { facts } } = result.run;
  const vouched = (result.run.vouched ?? []).length > 0;
  const balancing = "sysctl kernel.numa_balancing=0";
  const items: readonly (readonly [string, string, Finding | undefined])[] = [
    ["scenario", "Scenario", await scenarioItem(result)],
    ["samples", "Samples", samplesItem(result)],
    [
      "bare-metal",
      "No hypervisor",
      fact(
        facts,
        "cpu.virtual",
        (value) =>
          value === "no" ? ok("none") : notOk(
            vouched
              ? "a hypervisor runs this machine: what its media are is not seen from inside"
              : "a hypervisor runs this machine: reports show no speed of its media",
            "run on bare metal",
          ),
      ),
    ],
    [
      "governor",
      "Frequency governor",
      fact(
        facts,
        "noise.governor",
        (value) => value === "performance" ? ok(value) : notOk(value, "cpupower frequency-set -g performance"),
      ),
    ],
    [
      "turbo",
      "Turbo",
      fact(facts, "noise.turbo", (value) =>
        value === "off" ? ok("off") : notOk(
          "on: the clock follows heat and load",
          "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > /sys/devices/system/cpu/cpufreq/boost",
        )),
    ],
    [
      "smt",
      "Hyper-threads",
      fact(
        facts,
        "noise.smt",
        (value) =>
          value === "off"
            ? ok("off")
            : notOk("on: two threads share a core", "echo off > /sys/devices/system/cpu/smt/control"),
      ),
    ],
    [
      "numa-balancing",
      "Automatic NUMA balancing off",
      fact(
        facts,
        "noise.numa_balancing",
        (value) => value === "0" ? ok("off") : notOk("on: the kernel may move pages during a run", balancing),
      ),
    ],
    ["load", "Load", fact(facts, "noise.loadavg", load)],
    ["medium", "Medium", vouchedMedia(result)],
    ["sockets", "Threads on one socket", sockets(facts)],
    ["huge-pages", "Transparent huge pages", fact(facts, "hugepages.transparent", hugePages)],
    ["firmware", "Firmware", firmware(facts)],
    ["persistence", "Persistence domain", persistence(facts)],
    ["modules", "Modules on channels", modules(facts)],
  ];
  return items.flatMap(([id, title, finding]) => finding === undefined ? [] : [{ id, title, ...finding }]);
}
