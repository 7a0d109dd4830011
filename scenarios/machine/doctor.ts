/**
 * What this machine has, in sections for the terminal; the same object is the JSON answer of the command.
 *
 * @module
 */

import { configurations, type ConfigurationState } from "./configurations.ts";
import { bytesText, daxOf, type Facts, mountsOf, namespacesOf, nodesOf, numberOf, regionsOf } from "./parts.ts";
import type { MachineRecord } from "../record.ts";

/** One finding. */
export interface DoctorLine {
  /** What is looked at. */
  readonly label: string;
  /** What was found. */
  readonly text: string;
  /** `ok`: as wished. `note`: worth knowing. `warning`: spoils figures or keeps something away. */
  readonly level: "ok" | "note" | "warning";
  /** The command that comes next. */
  readonly next?: string;
}

/** Findings on one subject. */
export interface DoctorSection {
  /** The subject. */
  readonly title: string;
  /** Findings, most telling first. */
  readonly lines: readonly DoctorLine[];
}

/** What `tierbench doctor` says. */
export interface DoctorReport {
  /** The machine in one line. */
  readonly summary: string;
  /** Every configuration and whether it runs here. */
  readonly configurations: readonly ConfigurationState[];
  /** Findings by subject. */
  readonly sections: readonly DoctorSection[];
}

const line = (label: string, text: string, level: DoctorLine["level"] = "ok", next?: string): DoctorLine => ({
  label,
  text,
  level,
  ...(next === undefined ? {} : { next }),
});

const size = (bytes: number | undefined) => bytes === undefined ? "unknown size" : bytesText(bytes);

function configurationLines(states: readonly ConfigurationState[]): DoctorLine[] {
  return states.map(({ configuration, state, because, next }) =>
    line(configuration, `${state}: ${because}`, state === "measured" ? "ok" : "note", next)
  );
}

function processor(machine: MachineRecord): DoctorLine[] {
  const { facts } = machine;
  const online = numberOf(facts, "cpu.online_count");
  const limited = online !== undefined && online > machine.cpus ? ` of ${online}` : "";
  return [
    line("CPU", machine.cpu),
    line("CPUs for this process", `${machine.cpus}${limited} (${facts["cpu.allowed"] ?? "which is unknown"})`),
    line("instruction sets", facts["cpu.flags"]?.replaceAll(",", ", ") || "none of those that matter"),
    line("kernel", machine.kernel),
  ];
}

function memory(machine: MachineRecord): DoctorLine[] {
  const { facts } = machine;
  const available = numberOf(facts, "memory.available");
  const limit = numberOf(facts, "memory.limit");
  const pools = Object.keys(facts).flatMap((key) => {
    const kind = /^hugepages\.(\d+)kB\.total$/.exec(key)?.[1];
    if (kind === undefined) return [];
    const free = facts[`hugepages.${kind}kB.free`] ?? "?";
    return [line(`huge pages of ${bytesText(Number(kind) * 1024)}`, `${facts[key]} reserved, ${free} free`)];
  });
  return [
    line(
      "DRAM",
      `${bytesText(machine.memoryBytes)}${available === undefined ? "" : `, ${bytesText(available)} available`}`,
    ),
    ...(limit === undefined ? [] : [
      line(
        "limit of this process",
        `${bytesText(limit)} (${facts["memory.limit_source"]})`,
        limit < machine.memoryBytes ? "note" : "ok",
      ),
    ]),
    ...(facts["hugepages.transparent"] === undefined
      ? []
      : [line("transparent huge pages", facts["hugepages.transparent"])]),
    ...pools,
  ];
}

function numa(facts: Facts): DoctorLine[] {
  const kmem = new Map(daxOf(facts).filter((d) => d.driver === "kmem").map((d) => [d.targetNode, d.name]));
  const lines = nodesOf(facts).map((node) => {
    const parts = [
      size(node.totalBytes),
      node.cpus === undefined ? "CPUs unknown" : node.cpus === "" ? "no CPUs" : `CPUs ${node.cpus}`,
      ...(node.distance === undefined ? [] : [`distances ${node.distance}`]),
      ...(node.tier === undefined ? [] : [node.tier.replace("memory_tier", "memory tier ")]),
      ...(kmem.has(node.node) ? [`from ${kmem.get(node.node)}`] : []),
      ...(node.readLatencyNs === undefined ? [] : [`${node.readLatencyNs} ns by firmware (HMAT)`]),
      ...(node.readBandwidthMBs === undefined ? [] : [`${node.readBandwidthMBs} MB/s by firmware`]),
      ...(node.sideCacheBytes === undefined ? [] : [`behind a cache of ${bytesText(node.sideCacheBytes)}`]),
    ];
    return line(`node ${node.node}`, parts.join(", "));
  });
  const nodes = lines.length > 0 ? lines : [line("NUMA", "no nodes in sysfs", "note")];
  // Memory that the kernel has not set up yet is missing from a node: sizes of nodes alone mislead.
  const sum = nodesOf(facts).reduce((bytes, node) => bytes + (node.totalBytes ?? 0), 0);
  const total = numberOf(facts, "memory.total") ?? 0;
  const lazy = lines.length > 0 && sum < total * 0.95
    ? [line("node sizes", `together ${bytesText(sum)} of ${bytesText(total)}: the kernel sets memory up late`, "note")]
    : [];
  return [...nodes, ...lazy];
}

function pmem(facts: Facts): DoctorLine[] {
  const regions = regionsOf(facts).map((region) =>
    line(
      region.name,
      `${size(region.sizeBytes)} by ${region.provider ?? "an unknown provider"}, ` +
        `persistence domain ${region.persistenceDomain ?? "unknown"}`,
      region.provider === "ACPI.NFIT" || region.provider === "CXL" ? "ok" : "warning",
    )
  );
  const modes: Readonly<Record<string, string>> = { memory: "fsdax", dax: "devdax", safe: "sector", raw: "raw" };
  const spaces = namespacesOf(facts).map((space) =>
    line(
      space.name,
      `${size(space.sizeBytes)}, ${space.mode === undefined ? "mode unknown" : modes[space.mode] ?? space.mode}` +
        (space.block === undefined ? "" : `, /dev/${space.block}`),
    )
  );
  const lines = [...regions, ...spaces];
  return lines.length > 0 ? lines : [line("PMEM", "no region in /sys/bus/nd", "note")];
}

function dax(facts: Facts): DoctorLine[] {
  const devices = daxOf(facts).map((device) =>
    line(
      device.name,
      `${size(device.sizeBytes)}, ` +
        (device.driver === "kmem"
          ? `memory of node ${device.targetNode ?? "?"}`
          : device.driver === "device_dax"
          ? `/dev/${device.name}`
          : "no driver") +
        (device.origin === undefined ? "" : `, from ${device.origin}`),
    )
  );
  const mounts = mountsOf(facts).map((mount) =>
    line(
      mount.path,
      `${mount.fileSystem} on ${mount.device}` +
        (mount.fileSystem === "tmpfs"
          ? ""
          : `, ${mount.dax === undefined ? "no DAX" : `dax=${mount.dax === "dax" ? "always" : mount.dax}`}`) +
        (mount.writable ? "" : ", not writable") +
        (mount.freeBytes === undefined ? "" : `, ${bytesText(mount.freeBytes)} free`),
      mount.writable && (mount.fileSystem === "tmpfs" || mount.dax === "always" || mount.dax === "dax")
        ? "ok"
        : "warning",
    )
  );
  const lines = [...devices, ...mounts];
  return lines.length > 0 ? lines : [line("DAX", "no device and no mount", "note")];
}

function cxl(facts: Facts): DoctorLine[] {
  const memories = [...new Set(Object.keys(facts).flatMap((key) => /^cxl\.(mem\d+)\./.exec(key)?.[1] ?? []))];
  if (memories.length === 0) return [line("CXL", "no memory device in /sys/bus/cxl", "note")];
  return memories.map((name) => {
    const parts = (["pmem", "ram"] as const).flatMap((kind) => {
      const bytes = numberOf(facts, `cxl.${name}.${kind}_size`);
      return bytes === undefined || bytes === 0
        ? []
        : [`${bytesText(bytes)} ${kind === "pmem" ? "persistent" : "volatile"}`];
    });
    return line(name, parts.join(", ") || "no capacity");
  });
}

function gpu(facts: Facts): DoctorLine[] {
  const models = Object.entries(facts).filter(([key]) => /^gpu\.nvidia\..*\.model$/.test(key)).map(([, model]) =>
    model
  );
  const cards = Object.entries(facts).filter(([key]) => /^gpu\.card\d+\.driver$/.test(key))
    .map(([key, driver]) => line(key.split(".")[1] ?? "card", `driver ${driver}`));
  const lines = [...models.map((model) => line("NVIDIA", model)), ...cards];
  return lines.length > 0 ? lines : [line("GPU", "none", "note")];
}

function noise(facts: Facts): DoctorLine[] {
  const steal = numberOf(facts, "noise.steal_percent");
  const load = Number(facts["noise.loadavg"]?.split(" ")[0] ?? NaN);
  const governor = facts["noise.governor"];
  const lines: (DoctorLine | undefined)[] = [
    facts["cpu.virtual"] === undefined ? undefined : line(
      "hypervisor",
      facts["cpu.virtual"] === "yes" ? "yes: neighbours may share this host" : "no",
      facts["cpu.virtual"] === "yes" ? "note" : "ok",
    ),
    steal === undefined ? undefined : line(
      "CPU time taken by the host",
      `${steal} % since boot`,
      steal > 1 ? "warning" : "ok",
    ),
    Number.isNaN(load) ? undefined : line(
      "load",
      `${facts["noise.loadavg"]?.replaceAll(" ", ", ")} (1, 5, 15 minutes)` +
        (load > 0.5 ? ": other programs take time from a run" : ""),
      load > 0.5 ? "warning" : "ok",
    ),
    governor === undefined ? undefined : line(
      "frequency governor",
      governor,
      governor === "performance" ? "ok" : "warning",
      governor === "performance" ? undefined : "cpupower frequency-set -g performance",
    ),
    facts["noise.turbo"] === undefined
      ? undefined
      : line("turbo", facts["noise.turbo"], facts["noise.turbo"] === "on" ? "note" : "ok"),
    facts["noise.smt"] === undefined
      ? undefined
      : line("hyper-threads", facts["noise.smt"], facts["noise.smt"] === "on" ? "note" : "ok"),
    facts["noise.numa_balancing"] === undefined ? undefined : line(
      "automatic NUMA balancing",
      facts["noise.numa_balancing"] === "0" ? "off" : "on: the kernel may move pages during a run",
      facts["noise.numa_balancing"] === "0" ? "ok" : "note",
    ),
  ];
  const known = lines.filter((one) => one !== undefined);
  return known.length > 0 ? known : [line("noise", "nothing is known", "note")];
}

function libraries(facts: Facts): DoctorLine[] {
  const packages: Readonly<Record<string, string>> = {
    libpmem: "libpmem1",
    memkind: "libmemkind0",
    libnuma: "libnuma1",
    libdnnl: "libdnnl2",
    leveldb: "libleveldb1d",
    liburing: "liburing2",
    zlib: "zlib1g",
  };
  return Object.entries(packages).flatMap(([name, debian]) => {
    const available = facts[`library.${name}.available`];
    if (available === undefined) return [];
    return available === "yes"
      ? [line(name, facts[`library.${name}.version`] ?? "there, tells no version")]
      : [line(name, facts[`library.${name}.error`] ?? "missing", "warning", `apt-get install ${debian}`)];
  });
}

/** One line: `AMD EPYC, 2 CPUs, 23.5 GiB DRAM, 1 NUMA node · no PMEM, no CXL, no GPU`. */
export function machineText(machine: MachineRecord): string {
  const { cpu, cpus, memoryBytes, nodes, facts } = machine;
  const some = (prefix: string) => Object.keys(facts).some((key) => key.startsWith(prefix));
  const has = [["PMEM", some("pmem.region")], ["CXL", some("cxl.mem")], ["GPU", some("gpu.")]] as const;
  const count = (n: number, word: string) => `${n} ${word}${n === 1 ? "" : "s"}`;
  return `${cpu}, ${count(cpus, "CPU")}, ${bytesText(memoryBytes)} DRAM, ${count(nodes, "NUMA node")} · ` +
    has.map(([word, there]) => there ? word : `no ${word}`).join(", ");
}

/**
 * What this machine has: configurations first, then what they rest on.
 *
 * @example
 * ```ts
 * import { doctor, inspectMachine } from "../machine.ts";
 *
 * for (const { title, lines } of doctor(inspectMachine()).sections) {
 *   for (const { label, text } of lines) console.log(`${title}: ${label}: ${text}`);
 * }
 * ```
 */
export function doctor(machine: MachineRecord): DoctorReport {
  const { facts } = machine;
  const states = configurations(machine);
  const sections: DoctorSection[] = [
    { title: "Configurations", lines: configurationLines(states) },
    { title: "Processor", lines: processor(machine) },
    { title: "Memory", lines: memory(machine) },
    { title: "NUMA", lines: numa(facts) },
    { title: "PMEM", lines: pmem(facts) },
    { title: "DAX", lines: dax(facts) },
    { title: "CXL", lines: cxl(facts) },
    { title: "GPU", lines: gpu(facts) },
    { title: "Noise", lines: noise(facts) },
    { title: "Libraries", lines: libraries(facts) },
  ];
  return {
    summary: machineText(machine),
    configurations: states,
    sections: sections.filter((section) => section.lines.length > 0),
  };
}
