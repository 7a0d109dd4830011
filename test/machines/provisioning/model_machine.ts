/**
 * A machine that understands the lines of plans: it changes its state as the real tools would, refuses what they
 * refuse, and shows itself as an inventory. Lines it does not know are errors, so no plan
 * can drift away from it unseen.
 */

import type { BlockDevice, Inventory, NdBus, NdRegion, OsRelease } from "../../../machines/inventory/inventory.ts";
import { known } from "../../../machines/inventory/tool.ts";

const GIB = 1024 ** 3;

export const DEBIAN: OsRelease = { id: "debian", like: [], version: "12", name: "Debian GNU/Linux 12 (bookworm)" };
export const RHEL9: OsRelease = { id: "rhel", like: ["fedora"], version: "9.4", name: "Red Hat Enterprise Linux 9.4" };
export const CENTOS7: OsRelease = { id: "centos", like: ["rhel", "fedora"], version: "7", name: "CentOS Linux 7" };
export const ALINUX3: OsRelease = {
  id: "alinux",
  like: ["rhel", "fedora", "centos", "anolis"],
  version: "3",
  name: "Alibaba Cloud Linux 3",
};

interface Space {
  dev: string;
  mode: string;
  map: string | undefined;
  size: number;
  name: string | undefined;
}

interface Region {
  dev: string;
  provider: string;
  size: number;
  targetNode: number | undefined;
  spaces: Space[];
}

interface CxlRegionState {
  region: string;
  memdevs: string[];
  type: "pmem" | "ram";
  decoder: string;
}

const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  ndctl: ["ndctl", "cxl"],
  daxctl: ["daxctl"],
  "cxl-cli": ["cxl"],
  ipmctl: ["ipmctl"],
};
const LIBRARIES: Readonly<Record<string, string>> = {
  libpmem1: "libpmem",
  libpmem: "libpmem",
  libmemkind0: "memkind",
  memkind: "memkind",
};

const CREATE_NAMESPACE = new RegExp(
  "^ndctl create-namespace (?:--region=(region\\d+)|-f -e (namespace\\d+\\.\\d+)) " +
    "--mode=(fsdax|devdax) --map=(mem|dev) --align=2M --name=tierbench$",
);
const ADD_OPTION = new RegExp(
  "^grep -q '\\^GRUB_CMDLINE_LINUX=\\.\\*(memmap=\\S+)' /etc/default/grub \\|\\| " +
    "sed -i 's/\\^GRUB_CMDLINE_LINUX=\"/&memmap=\\S+ /' /etc/default/grub$",
);

/** What a machine is built of. */
export interface ModelParts {
  os?: OsRelease;
  installed?: readonly string[];
  libraries?: readonly string[];
  regions?: Region[];
  facts?: Record<string, string>;
  modules?: number;
  memdevs?: { memdev: string; pmem: number; ram: number }[];
  decoders?: { decoder: string; size: number; pmem: boolean; ram: boolean }[];
  /** Memory that firmware sets aside for special purposes, as HBM: a DAX device of origin hmem, of this node. */
  hmem?: { dax: string; node: number; size: number };
  /** CPU-less node of plain memory that memmap= can take away. */
  bare?: { node: number; start: number; end: number };
}

const UNTIERED = { "noise.numa_balancing": "1", "kernel.numa_demotion": "false" } as const;

export class ModelMachine {
  os: OsRelease;
  installed: Set<string>;
  libraries: Set<string>;
  regions: Region[];
  facts: Record<string, string>;
  modules: number;
  memoryMode = false;
  goal: "app-direct" | "memory-mode" | undefined;
  memdevs: { memdev: string; pmem: number; ram: number }[];
  decoders: { decoder: string; size: number; pmem: boolean; ram: boolean }[];
  cxlRegions: CxlRegionState[] = [];
  /** Namespaces of CXL devices stay on them. */
  cxlLabels: Map<string, Space[]> = new Map();
  bare: { node: number; start: number; end: number } | undefined;
  hmem: { dax: string; node: number; size: number } | undefined;
  autoOnline = "online";
  /** What the kernel has of promotion and demotion, and what it starts with. */
  tiering: Record<string, string> = { ...UNTIERED };
  /** Devices that are memory. */
  memory: Set<string> = new Set();
  fileSystems: Map<string, { type: string; label: string | undefined; serial: number }> = new Map();
  mounts: Map<string, { block: string; dax: boolean }> = new Map();
  folders: Set<string> = new Set();
  owners: Map<string, string> = new Map();
  files: Record<string, string> = {};
  enabled: Set<string> = new Set();
  /** The kernel's options, and those that the boot loader will give. */
  memmap: string | undefined;
  nextMemmap: string | undefined;
  /** How often something was made, by its name: nothing may be made twice. */
  made: Map<string, number> = new Map();
  #serial = 0;

  constructor(parts: ModelParts) {
    this.os = parts.os ?? DEBIAN;
    this.installed = new Set(parts.installed ?? []);
    this.libraries = new Set(parts.libraries ?? []);
    this.regions = parts.regions ?? [];
    this.modules = parts.modules ?? 0;
    this.memdevs = parts.memdevs ?? [];
    this.decoders = parts.decoders ?? [];
    this.bare = parts.bare;
    this.hmem = parts.hmem;
    this.facts = { "cpu.virtual": "no", "kernel.release": "6.1.0-56-amd64", ...parts.facts };
    if (this.os.id !== "debian") this.files["/etc/default/grub"] = 'GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX="quiet"\n';
  }

  clone(): ModelMachine {
    const copy = Object.create(ModelMachine.prototype) as ModelMachine;
    return Object.assign(copy, structuredClone({ ...this }));
  }

  // ---- what it shows ----

  /** `namespace0.1` → `0.1`; the first of a region has no dot. */
  #block(dev: string): string {
    const [region = "", number = ""] = dev.slice("namespace".length).split(".");
    return `pmem${region}${number === "0" ? "" : `.${number}`}`;
  }

  #daxDevices(): { dax: string; node: number | undefined; size: number }[] {
    const spaces = this.regions.flatMap((region) =>
      region.spaces.filter((one) => one.mode === "devdax").map((one) => ({
        dax: one.dev.replace("namespace", "dax"),
        node: region.targetNode,
        size: one.size,
      }))
    );
    const volatile = this.cxlRegions.filter((one) => one.type === "ram").map((one) => ({
      dax: `dax${one.region.slice("region".length)}.0`,
      node: 1,
      size: this.memdevs.filter(({ memdev }) => one.memdevs.includes(memdev)).reduce((sum, { ram }) => sum + ram, 0),
    }));
    return [...spaces, ...volatile, ...(this.hmem === undefined ? [] : [this.hmem])];
  }

  inventory(): Inventory {
    const facts: Record<string, string> = {
      ...this.facts,
      "kernel.auto_online_blocks": this.autoOnline,
      ...this.tiering,
    };
    for (const name of ["libpmem", "memkind"]) {
      facts[`library.${name}.available`] = this.libraries.has(name) ? "yes" : "no";
    }
    if (this.modules > 0) facts["pmem.modules"] = String(this.modules);
    if (this.memmap !== undefined) facts["kernel.cmdline_memmap"] = `memmap=${this.memmap}`;
    facts["memory.total"] = String(64 * GIB);
    facts["node.0.cpus"] = "0-3";
    facts["node.0.total"] = String(64 * GIB);
    if (this.bare !== undefined) {
      const { node, start, end } = this.bare;
      const aside = this.memmap !== undefined;
      facts[`node.${node}.cpus`] = "";
      facts[`node.${node}.total`] = aside ? "0" : String(end - start);
      facts["memory.ram.0.start"] = String(1024 ** 2);
      facts["memory.ram.0.end"] = String(aside ? start : 2 * GIB);
      if (!aside) {
        facts[`node.${node}.start`] = String(start);
        facts[`node.${node}.end`] = String(end);
        facts["memory.ram.1.start"] = String(4 * GIB);
        facts["memory.ram.1.end"] = String(end);
      }
    }
    for (const one of this.regions) {
      facts[`pmem.${one.dev}.provider`] = one.provider;
      facts[`pmem.${one.dev}.size`] = String(one.size);
      facts[`pmem.${one.dev}.available`] = String(this.#free(one));
      if (one.targetNode !== undefined) facts[`pmem.${one.dev}.target_node`] = String(one.targetNode);
      for (const space of one.spaces) {
        facts[`pmem.${space.dev}.region`] = one.dev;
        facts[`pmem.${space.dev}.mode`] = { fsdax: "memory", devdax: "dax", sector: "safe" }[space.mode] ?? "raw";
        facts[`pmem.${space.dev}.size`] = String(space.size);
        if (space.mode !== "devdax") {
          facts[`pmem.${space.dev}.block`] = this.#block(space.dev) + (space.mode === "sector" ? "s" : "");
        }
      }
    }
    for (const one of this.#daxDevices()) {
      facts[`dax.${one.dax}.driver`] = this.memory.has(one.dax) ? "kmem" : "device_dax";
      facts[`dax.${one.dax}.size`] = String(one.size);
      if (one.node !== undefined) facts[`dax.${one.dax}.target_node`] = String(one.node);
      if (one.dax === this.hmem?.dax) facts[`dax.${one.dax}.origin`] = "hmem";
    }
    [...this.mounts].forEach(([path, mount], i) => {
      facts[`mount.${i}.path`] = path;
      facts[`mount.${i}.device`] = `/dev/${mount.block}`;
      facts[`mount.${i}.filesystem`] = this.fileSystems.get(mount.block)?.type ?? "ext4";
      if (mount.dax) facts[`mount.${i}.dax`] = "always";
      facts[`mount.${i}.writable`] = "yes";
    });
    for (const one of this.memdevs) facts[`cxl.${one.memdev}.pmem_size`] = String(one.pmem);
    const blocks: BlockDevice[] = this.regions.flatMap((region) =>
      region.spaces.filter((one) => one.mode !== "devdax").map((one) => {
        const name = this.#block(one.dev) + (one.mode === "sector" ? "s" : "");
        return {
          name,
          size: one.size,
          fileSystem: this.fileSystems.get(name)?.type,
          label: this.fileSystems.get(name)?.label,
          mountPoints: [...this.mounts].filter(([, mount]) => mount.block === name).map(([path]) => path),
        };
      })
    );
    const providers = [...new Set(this.regions.map((one) => one.provider))];
    const buses: NdBus[] = providers.map((provider, i) => ({
      dev: `ndbus${i}`,
      provider,
      dimms: [],
      regions: this.regions.filter((one) => one.provider === provider).map((one) => this.#ndRegion(one)),
    }));
    const versions: Readonly<Record<string, string>> = { ndctl: "76.1", daxctl: "76.1", cxl: "76.1", ipmctl: "3.0" };
    const names = ["ndctl", "daxctl", "cxl", "ipmctl", "numactl"] as const;
    return {
      facts,
      os: known(this.os),
      tools: names.map((name) => {
        const version = versions[name];
        const installed = this.installed.has(name);
        return { name, installed, ...(installed && version !== undefined ? { version } : {}) };
      }),
      ndctl: this.installed.has("ndctl") ? known(buses) : undefined,
      daxctl: this.installed.has("daxctl")
        ? known(
          this.#daxDevices().map((one) => ({
            chardev: one.dax,
            size: one.size,
            targetNode: one.node,
            align: 2 * 1024 ** 2,
            mode: this.memory.has(one.dax) ? "system-ram" : "devdax",
            onlineMemblocks: this.memory.has(one.dax) ? 7 : undefined,
            totalMemblocks: this.memory.has(one.dax) ? 7 : undefined,
            movable: this.memory.has(one.dax) ? true : undefined,
            disabled: false,
          })),
        )
        : undefined,
      cxl: this.installed.has("cxl")
        ? known({
          memdevs: this.memdevs.map((one) => ({
            memdev: one.memdev,
            pmemSize: one.pmem === 0 ? undefined : one.pmem,
            ramSize: one.ram === 0 ? undefined : one.ram,
            host: undefined,
            numaNode: undefined,
          })),
          regions: this.cxlRegions.map((one) => ({
            region: one.region,
            size: undefined,
            type: one.type,
            decodeState: "commit",
            memdevs: [...one.memdevs],
          })),
          rootDecoders: this.decoders.map((one) => ({
            decoder: one.decoder,
            size: one.size,
            maxAvailableExtent: one.size,
            pmemCapable: one.pmem,
            volatileCapable: one.ram,
            interleaveWays: 1,
          })),
        })
        : undefined,
      ipmctl: this.installed.has("ipmctl") && this.modules > 0
        ? {
          modules: known(Array.from({ length: this.modules }, (_, i) => ({
            id: `0x000${i}`,
            capacity: 126 * GIB,
            health: "Healthy",
            lock: "Disabled",
          }))),
          resources: known({
            layout: "3.x" as const,
            volatilePmem: this.memoryMode ? this.modules * 126 * GIB : 0,
            volatileDdr: this.memoryMode ? 0 : 64 * GIB,
            appDirect: this.memoryMode ? undefined : this.regions.length * 126 * GIB,
            cacheDdr: this.memoryMode ? 64 * GIB : undefined,
            inaccessible: undefined,
            physicalPmem: this.modules * 126 * GIB,
            physicalDdr: 64 * GIB,
          }),
        }
        : undefined,
      blocks: known(blocks),
      files: { ...this.files },
      units: Object.fromEntries(
        Object.keys(this.files).filter((path) => path.startsWith("/etc/systemd/system/"))
          .map((path) => path.slice("/etc/systemd/system/".length))
          .map((unit) => [unit, this.enabled.has(unit) ? "enabled" : "disabled"]),
      ),
      root: true,
    };
  }

  #free(region: Region): number {
    return Math.max(0, region.size - region.spaces.reduce((sum, one) => sum + one.size, 0));
  }

  #ndRegion(region: Region): NdRegion {
    return {
      dev: region.dev,
      size: region.size,
      align: 16 * 1024 ** 2,
      availableSize: this.#free(region),
      maxAvailableExtent: this.#free(region),
      type: "pmem",
      persistenceDomain: "memory_controller",
      targetNode: region.targetNode,
      numaNode: 0,
      isetId: undefined,
      dimms: [],
      disabled: false,
      namespaces: [
        ...region.spaces.map((one) => ({
          dev: one.dev,
          mode: one.mode,
          map: one.map,
          size: one.size,
          uuid: undefined,
          sectorSize: 512,
          align: 2 * 1024 ** 2,
          blockdev: one.mode === "devdax" ? undefined : this.#block(one.dev) + (one.mode === "sector" ? "s" : ""),
          chardev: one.mode === "devdax" ? one.dev.replace("namespace", "dax") : undefined,
          name: one.name,
          targetNode: region.targetNode,
          numaNode: 0,
          disabled: false,
        })),
        // The idle one that waits for capacity.
        {
          dev: `namespace${region.dev.slice("region".length)}.9`,
          mode: "raw",
          map: undefined,
          size: 0,
          uuid: undefined,
          sectorSize: 512,
          align: undefined,
          blockdev: undefined,
          chardev: undefined,
          name: undefined,
          targetNode: undefined,
          numaNode: undefined,
          disabled: true,
        },
      ],
    };
  }

  // ---- what it does ----

  /** Runs a line as a shell would; throws as the tool fails, or where the line is not known. */
  run(line: string): void {
    for (const [pattern, act] of this.#lines) {
      const match = pattern.exec(line);
      if (match !== null) return act(...match.slice(1).map((one) => one ?? ""));
    }
    throw new Error(`The model machine does not know this line: ${line}`);
  }

  get #lines(): [RegExp, (...parts: string[]) => void][] {
    const need = (tool: string) => {
      if (!this.installed.has(tool)) throw new Error(`${tool}: not found`);
    };
    return [
      [/^apt-get update$/, () => {}],
      [/^(apt-get|dnf|yum) install -y (?:--no-install-recommends )?([a-z0-9 -]+)$/, (manager, list) => {
        const wanted = this.os.id === "debian" ? "apt-get" : this.os.id === "centos" ? "yum" : "dnf";
        if (manager !== wanted) throw new Error(`${manager}: not found`);
        for (const name of (list ?? "").split(" ")) {
          const programs = PROGRAMS[name], library = LIBRARIES[name];
          if (programs === undefined && library === undefined) throw new Error(`No package ${name}`);
          for (const one of programs ?? []) {
            if (one !== "cxl" || manager === "apt-get" || name === "cxl-cli") this.installed.add(one);
          }
          if (library !== undefined) this.libraries.add(library);
        }
      }],
      [
        CREATE_NAMESPACE,
        (dev, victim, mode, map) => {
          need("ndctl");
          this.#createNamespace(dev ?? "", victim ?? "", mode ?? "", map ?? "");
        },
      ],
      [/^ndctl destroy-namespace -f (namespace\d+\.\d+)$/, (dev) => {
        need("ndctl");
        this.#destroy(dev ?? "");
      }],
      [/^wipefs -a \/dev\/(pmem[\d.]+s?)$/, (block) => {
        this.#there(block ?? "");
        this.fileSystems.delete(block ?? "");
      }],
      [
        /^mkfs\.ext4 -q (-F )?-b 4096 -E stride=512,stripe_width=512 -L (\S{1,16}) \/dev\/(pmem[\d.]+)$/,
        (force, label, block) => {
          this.#there(block ?? "");
          if ([...this.mounts.values()].some((one) => one.block === block)) throw new Error(`/dev/${block} is mounted`);
          if (this.fileSystems.has(block ?? "") && force === "") throw new Error("Proceed anyway? (y,N)");
          this.#make(`file system ${block}`);
          this.fileSystems.set(block ?? "", { type: "ext4", label, serial: ++this.#serial });
        },
      ],
      [/^udevadm (settle|control --reload)$/, () => {}],
      [/^mkdir -p (\/\S+)$/, (path) => void this.folders.add(path ?? "")],
      [/^cat > '?([^\s']+)'? <<'EOF'\n([\s\S]*\n)EOF$/, (path, text) => void (this.files[path ?? ""] = text ?? "")],
      [/^rm -f '?([^\s']+)'?$/, (path) => void delete this.files[path ?? ""]],
      [/^systemctl daemon-reload$/, () => {}],
      [/^systemctl start '?([^\s']+\.mount)'?$/, (unit) => this.#startMount(unit ?? "")],
      [/^systemctl enable '?([^\s']+)'?$/, (unit) => {
        this.#unit(unit ?? "");
        this.enabled.add(unit ?? "");
      }],
      [/^systemctl disable (?:--now )?'?([^\s']+)'?$/, (unit) => {
        const text = this.#unit(unit ?? "");
        this.enabled.delete(unit ?? "");
        this.mounts.delete(/^Where=(.*)$/m.exec(text)?.[1] ?? "");
      }],
      [/^umount (\/\S+)$/, (path) => {
        if (!this.mounts.delete(path ?? "")) throw new Error(`${path}: not mounted`);
      }],
      [/^chown ([a-z]+): (\/\S+)$/, (owner, path) => {
        if (!this.mounts.has(path ?? "")) throw new Error(`${path} is the folder below the mount`);
        this.owners.set(path ?? "", owner ?? "");
      }],
      [
        /^echo ([0-3]) > \/proc\/sys\/kernel\/numa_balancing$/,
        (value) => void (this.tiering["noise.numa_balancing"] = value ?? ""),
      ],
      [
        /^echo (true|false) > \/sys\/kernel\/mm\/numa\/demotion_enabled$/,
        (value) => void (this.tiering["kernel.numa_demotion"] = value ?? ""),
      ],
      [
        /^echo (\w+) > \/sys\/devices\/system\/memory\/auto_online_blocks$/,
        (policy) => void (this.autoOnline = policy ?? ""),
      ],
      [/^daxctl reconfigure-device --mode=(system-ram|devdax) (dax\d+\.\d+)$/, (mode, dax) => {
        need("daxctl");
        if (!this.#daxDevices().some((one) => one.dax === dax)) throw new Error(`${dax}: no such device`);
        if (mode === "devdax") return void this.memory.delete(dax ?? "");
        if (this.autoOnline !== "offline") throw new Error("kernel policy will auto-online memory, aborting");
        if (this.#daxDevices().find((one) => one.dax === dax)?.node === undefined) throw new Error("invalid node: -1");
        this.memory.add(dax ?? "");
      }],
      [/^daxctl offline-memory (dax\d+\.\d+)$/, (dax) => {
        if (!this.memory.has(dax ?? "")) throw new Error(`${dax} is in devdax mode`);
      }],
      [
        /^cxl create-region -m -t (pmem|ram) -d (decoder\d+\.\d+) -w (\d+) (mem\d+(?: mem\d+)*)$/,
        (type, decoder, ways, memdevs) => {
          need("cxl");
          const named = (memdevs ?? "").split(" ");
          if (named.length !== Number(ways)) throw new Error("interleave ways and memdevs differ");
          this.#createCxl(type as "pmem" | "ram", decoder ?? "", named);
        },
      ],
      [/^ipmctl create -f -goal PersistentMemoryType=AppDirect$/, () => {
        need("ipmctl");
        this.goal = "app-direct";
      }],
      [/^ipmctl create -f -goal MemoryMode=100$/, () => {
        need("ipmctl");
        if (this.regions.some((one) => one.spaces.length > 0)) throw new Error("namespaces exist");
        this.goal = "memory-mode";
      }],
      [
        ADD_OPTION,
        (option) => {
          const text = this.files["/etc/default/grub"] ?? "";
          if (!text.includes(option ?? "")) {
            this.files["/etc/default/grub"] = text.replace('GRUB_CMDLINE_LINUX="', `GRUB_CMDLINE_LINUX="${option} `);
          }
        },
      ],
      [/^sed -i '\/\^GRUB_CMDLINE_LINUX\/s\/ \*(memmap=\S+)\/\/' \/etc\/default\/grub$/, (option) => {
        const text = this.files["/etc/default/grub"];
        if (text !== undefined) this.files["/etc/default/grub"] = text.replace(option ?? "", "");
      }],
      [/^update-grub$/, () => this.#grub("debian")],
      [/^grub2-mkconfig -o (\S+|"[^"]+")$/, () => this.#grub("redhat")],
      [/^grubby --update-kernel=ALL --(remove-)?args='memmap=\S+'$/, () => this.#grub("redhat")],
    ];
  }

  #make(what: string): void {
    this.made.set(what, (this.made.get(what) ?? 0) + 1);
  }

  #grub(kind: "debian" | "redhat"): void {
    if ((this.os.id === "debian") !== (kind === "debian")) throw new Error("command not found");
    const text = `${this.files["/etc/default/grub"] ?? ""}${this.files["/etc/default/grub.d/tierbench.cfg"] ?? ""}`;
    this.nextMemmap = /memmap=([^\s"]+)/.exec(text)?.[1];
  }

  #there(block: string): void {
    const all = this.regions.flatMap((region) => region.spaces.filter((one) => one.mode !== "devdax"));
    if (!all.some((one) => this.#block(one.dev) + (one.mode === "sector" ? "s" : "") === block)) {
      throw new Error(`/dev/${block}: no such file or directory`);
    }
  }

  #destroy(dev: string): void {
    const region = this.regions.find((one) => one.spaces.some((space) => space.dev === dev));
    if (region === undefined) throw new Error(`${dev}: no such namespace`);
    const block = this.#block(dev);
    if ([...this.mounts.values()].some((one) => one.block === block || one.block === `${block}s`)) {
      throw new Error(`${dev}: in use by a mount`);
    }
    if (this.memory.has(dev.replace("namespace", "dax"))) throw new Error(`${dev}: in use as memory`);
    region.spaces = region.spaces.filter((one) => one.dev !== dev);
    this.fileSystems.delete(`${block}s`);
    // Bytes of another file system stay, and show through the next namespace with a block device.
  }

  #createNamespace(dev: string, victim: string, mode: string, map: string): void {
    const region = this.regions.find((one) => one.dev === dev || one.spaces.some((space) => space.dev === victim));
    if (region === undefined) throw new Error(`${dev}${victim}: not there`);
    const size = region.spaces.find((one) => one.dev === victim)?.size;
    if (victim !== "") this.#destroy(victim);
    if (this.#free(region) === 0) throw new Error("No space left on device");
    let number = 0;
    const name = (n: number) => `namespace${region.dev.slice("region".length)}.${n}`;
    while (region.spaces.some((one) => one.dev === name(number))) number++;
    region.spaces.push({ dev: name(number), mode, map, size: size ?? this.#free(region), name: "tierbench" });
    this.#make(`namespace ${region.dev}`);
  }

  #createCxl(type: "pmem" | "ram", decoder: string, memdevs: string[]): void {
    const root = this.decoders.find((one) => one.decoder === decoder);
    const devices = this.memdevs.filter(({ memdev }) => memdevs.includes(memdev));
    const [memdev = ""] = memdevs;
    const sizes = new Set(devices.map((one) => one[type]));
    if (root === undefined || !(type === "pmem" ? root.pmem : root.ram) || sizes.has(0) || devices.length === 0) {
      throw new Error("no active memdevs found");
    }
    if (devices.length !== memdevs.length || sizes.size > 1) throw new Error("devices of a region are of one size");
    const has = (one: CxlRegionState) => one.type === type && one.memdevs.some((name) => memdevs.includes(name));
    if (this.cxlRegions.some(has)) throw new Error("no free capacity");
    // The numbers that decoders hold, replayed.
    const taken = new Set(
      this.regions.filter((one) => one.provider !== "CXL").map((one) => Number(one.dev.slice("region".length))),
    );
    const take = () => {
      let number = 0;
      while (taken.has(number)) number++;
      taken.add(number);
      return number;
    };
    const next = new Map(this.decoders.map((one) => [one.decoder, take()]));
    for (const one of this.cxlRegions) next.set(one.decoder, take());
    const region = `region${next.get(decoder)}`;
    this.cxlRegions.push({ region, memdevs, type, decoder });
    if (type === "pmem") {
      this.regions.push({
        dev: region,
        provider: "CXL",
        size: devices[0]?.pmem ?? 0,
        targetNode: 1,
        spaces: this.cxlLabels.get(memdev) ?? [],
      });
    } else if (this.autoOnline !== "offline") throw new Error("the kernel brought the memory online, not movable");
  }

  #unit(unit: string): string {
    const text = this.files[`/etc/systemd/system/${unit}`];
    if (text === undefined) throw new Error(`Unit ${unit} not found`);
    return text;
  }

  #startMount(unit: string): void {
    const text = this.#unit(unit);
    const value = (key: string) => new RegExp(`^${key}=(.*)$`, "m").exec(text)?.[1] ?? "";
    const what = value("What");
    const label = /^\/dev\/disk\/by-label\/(.*)$/.exec(what)?.[1];
    const block = label === undefined
      ? what.replace("/dev/", "")
      : [...this.fileSystems].find(([, one]) => one.label === label)?.[0];
    if (block === undefined || this.fileSystems.get(block)?.type !== value("Type")) throw new Error(`${what}: no ext4`);
    const where = value("Where");
    if (!this.folders.has(where)) throw new Error(`${where}: no such directory`);
    const others = [...this.mounts].filter(([, one]) => one.block === block);
    if (others.some(([, one]) => !one.dax)) throw new Error("mounted already without DAX");
    this.mounts.set(where, { block, dax: /(^|,)dax(=always)?(,|$)/.test(value("Options")) });
  }

  /** Starts again: the kernel forgets, the boot loader and the units remember. */
  reboot(): void {
    if (this.goal === "app-direct") {
      this.regions = [0, 1].map((n) => ({
        dev: `region${n}`,
        provider: "ACPI.NFIT",
        size: 126 * GIB,
        targetNode: 2 + n,
        spaces: [],
      }));
    }
    if (this.goal === "memory-mode") {
      this.regions = [];
      this.memoryMode = true;
    }
    this.goal = undefined;
    this.memmap = this.nextMemmap;
    this.mounts.clear();
    this.memory.clear();
    this.autoOnline = "online";
    this.tiering = { ...UNTIERED };
    for (const [path, text] of Object.entries(this.files)) {
      const balancing = path.startsWith("/etc/sysctl.d/") && /^kernel\.numa_balancing = (\d)$/m.exec(text)?.[1];
      if (balancing) this.tiering["noise.numa_balancing"] = balancing;
      const demotion = path.startsWith("/etc/tmpfiles.d/") &&
        /^w \/sys\/kernel\/mm\/numa\/demotion_enabled - - - - (\w+)$/m.exec(text)?.[1];
      if (demotion) this.tiering["kernel.numa_demotion"] = demotion;
    }
    for (const one of this.cxlRegions.filter((cxl) => cxl.type === "pmem")) {
      this.cxlLabels.set(one.memdevs[0] ?? "", this.regions.find((region) => region.dev === one.region)?.spaces ?? []);
    }
    this.regions = this.regions.filter((one) => one.provider !== "CXL" && one.provider !== "e820");
    this.cxlRegions = [];
    if (this.memmap !== undefined && this.bare !== undefined) {
      const size = Number(this.memmap.split("G")[0]) * GIB;
      this.regions.push({
        dev: "region0",
        provider: "e820",
        size,
        targetNode: this.bare.node,
        spaces: [{ dev: "namespace0.0", mode: "fsdax", map: "mem", size, name: undefined }],
      });
    }
    for (
      const unit of [...this.enabled].sort((a, b) => Number(b.endsWith(".service")) - Number(a.endsWith(".service")))
    ) {
      if (unit.endsWith(".mount")) this.#startMount(unit);
      else {
        const policy = /^ExecStartPre=\/bin\/sh -c '(echo \w+ > \S+)'$/m.exec(this.#unit(unit))?.[1];
        if (policy !== undefined) this.run(policy);
        for (
          const [, region, line] of this.#unit(unit).matchAll(
            /until test -e \/sys\/bus\/cxl\/devices\/(\S+) \|\| \/usr\/bin\/(cxl [^;]+); do/g,
          )
        ) {
          if (!this.cxlRegions.some((one) => one.region === region)) this.run(line ?? "");
        }
      }
    }
    for (const { dax } of this.#daxDevices()) {
      const rule = this.files[`/etc/udev/rules.d/99-tierbench-${dax}.rules`];
      if (rule === undefined) continue;
      const [, stem, instance] = /SYSTEMD_WANTS}\+="([^@"]+@)([^"]+)\.service"/.exec(rule) ?? [];
      const text = this.#unit(`${stem}.service`);
      for (const [, command] of text.matchAll(/^ExecStart(?:Pre)?=(.*)$/gm)) {
        const shell = /^\/bin\/sh -c '(.*)'$/.exec(command ?? "")?.[1] ?? command ?? "";
        this.run(shell.replaceAll("%i", instance ?? "").replace(/^\/usr\/bin\//, ""));
      }
    }
  }
}

/** An NVDIMM's region as it comes: no labels, one raw namespace over all of it. */
export function unlabelled(number: number, size: number = 2 * GIB): Region {
  const space = { dev: `namespace${number}.0`, mode: "raw", map: undefined, size, name: undefined };
  return { dev: `region${number}`, provider: "ACPI.NFIT", size, targetNode: 2 + number, spaces: [space] };
}

/** A region with labels and no namespace. */
export function empty(number: number, size: number = 2 * GIB): Region {
  return { dev: `region${number}`, provider: "ACPI.NFIT", size, targetNode: 2 + number, spaces: [] };
}

/** A region that one namespace fills. */
export function filled(number: number, mode: string, name?: string): Region {
  const size = 2 * GIB;
  const space = { dev: `namespace${number}.0`, mode, map: undefined, size, name };
  return { dev: `region${number}`, provider: "ACPI.NFIT", size, targetNode: 2 + number, spaces: [space] };
}
