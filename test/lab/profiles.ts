/**
 * The machines that QEMU plays, as its arguments. Sources: QEMU's docs/nvdimm.txt, docs/system/devices/cxl.rst and its
 * manual page (`-numa`); what is said of Linux was seen with Debian 12's kernel 6.1 and QEMU 7.2.
 *
 * All have two processors. NVDIMMs and CXL devices are sparse files in the guest's folder, which outlive reboots and
 * power cuts as the media would.
 *
 * @module
 */

/** One machine. */
export interface Profile {
  /** Its arguments; device files lie in this folder. */
  readonly machine: (folder: string) => readonly string[];
  /** Device files and their sizes in MiB. */
  readonly files?: Readonly<Record<string, number>>;
  /** Kernel options that make the machine what it is. */
  readonly kernelOptions?: string;
  /** Whether it takes the kernel and the QEMU of Debian's backports. Default false. */
  readonly newer?: boolean;
  /** Whether the processor does not say that a hypervisor runs it. Default false. */
  readonly hidden?: boolean;
}

/** Name of a machine. */
export type ProfileName =
  | "plain"
  | "nvdimm"
  | "nvdimm-eadr"
  | "nvdimm-near"
  | "cxl"
  | "cxl-volatile"
  | "memmap"
  | "re7p"
  | "re7p-memmap"
  | "virtio-pmem"
  | "hmat"
  | "hbm";

/** A device file as memory. Shared: what the guest writes gets into the file. */
function backend(folder: string, id: string, mebibytes: number): string[] {
  const path = `${folder}/${id}.img`.replaceAll(",", ",,"); // QEMU's way to write a comma
  return ["-object", `memory-backend-file,id=${id},share=on,mem-path=${path},size=${mebibytes}M,align=2M`];
}

/** Memory of a node. */
function ram(id: string, mebibytes: number): string[] {
  return ["-object", `memory-backend-ram,id=${id},size=${mebibytes}M`];
}

/** Every item as an argument of `-numa`. */
function numa(...items: readonly string[]): string[] {
  return items.flatMap((item) => ["-numa", item]);
}

/** What each NVDIMM's file has: a region of 1 GiB and its label area. */
const NVDIMM_FILE = 1024 + 2;

/** An NVDIMM in a memory node of its own. Linux numbers nodes in the order of the devices' ids. */
function nvdimm(folder: string, number: number, node: number): string[] {
  return [
    ...backend(folder, `nv${number}`, NVDIMM_FILE),
    "-device",
    `nvdimm,id=nvdimm${number},memdev=nv${number},label-size=2M,node=${node}`,
  ];
}

/** Two sockets with an NVDIMM each; nodes 2 and 3 appear when their memory is used as such. */
function twoSockets(persistence: string): Profile["machine"] {
  return (folder) => [
    ...["-machine", `q35,nvdimm=on${persistence}`, "-smp", "2,sockets=2", "-m", "1536M,slots=4,maxmem=16G"],
    ...ram("ram0", 768),
    ...ram("ram1", 768),
    ...numa("node,nodeid=0,memdev=ram0,cpus=0", "node,nodeid=1,memdev=ram1,cpus=1", "node,nodeid=2", "node,nodeid=3"),
    ...numa("dist,src=0,dst=1,val=21", "dist,src=0,dst=2,val=17", "dist,src=0,dst=3,val=28"),
    ...numa("dist,src=1,dst=2,val=28", "dist,src=1,dst=3,val=17", "dist,src=2,dst=3,val=28"),
    ...nvdimm(folder, 0, 2),
    ...nvdimm(folder, 1, 3),
  ];
}

/** A cloud machine: the second gigabytes of memory are a node without processors (from 4 GiB on). */
const NODE_WITHOUT_CPUS: Profile["machine"] = () => [
  ...["-machine", "q35", "-smp", "2,sockets=2", "-m", "3072M"],
  ...ram("ram0", 2048),
  ...ram("ram1", 1024),
  ...numa("node,nodeid=0,memdev=ram0,cpus=0-1", "node,nodeid=1,memdev=ram1", "dist,src=0,dst=1,val=17"),
];

/** The machines by name. */
export const PROFILES: Readonly<Record<ProfileName, Profile>> = {
  /** Nothing but DRAM. */
  plain: { machine: () => ["-machine", "q35", "-smp", "2", "-m", "1536M"] },

  /** Two sockets, two NVDIMMs whose memory controllers are in the persistence domain (ADR). */
  nvdimm: { machine: twoSockets(",nvdimm-persistence=mem-ctrl"), files: { nv0: NVDIMM_FILE, nv1: NVDIMM_FILE } },

  /** The same with the processors' caches in the persistence domain (eADR). */
  "nvdimm-eadr": { machine: twoSockets(",nvdimm-persistence=cpu"), files: { nv0: NVDIMM_FILE, nv1: NVDIMM_FILE } },

  /** An NVDIMM that the firmware puts into the node of the processors, so that its memory cannot be told from DRAM. */
  "nvdimm-near": {
    machine: (folder) => [
      ...["-machine", "q35,nvdimm=on", "-smp", "2", "-m", "1536M,slots=4,maxmem=16G"],
      ...ram("ram0", 1536),
      ...numa("node,nodeid=0,memdev=ram0,cpus=0-1"),
      ...nvdimm(folder, 0, 0),
    ],
    files: { nv0: NVDIMM_FILE },
  },

  /**
   * One persistent CXL memory device. The second root port is empty and has to be there: with one, Linux takes the host
   * bridge for a pass-through and leaves its decoder alone, which QEMU 7.2 wants set up; all data would be lost. The
   * device has a serial number, as real ones do: Linux ties labels of namespaces to it (cxl_pmem_region_probe in
   * drivers/cxl/pmem.c), and without one a region with labels stays disabled.
   */
  cxl: {
    machine: (folder) => [
      ...["-machine", "q35,cxl=on", "-smp", "2", "-m", "1536M,slots=4,maxmem=16G"],
      ...backend(folder, "cxl0", 512),
      ...backend(folder, "lsa0", 2),
      ...["-device", "pxb-cxl,bus_nr=12,bus=pcie.0,id=cxl.1"],
      ...["-device", "cxl-rp,port=0,bus=cxl.1,id=rp0,chassis=0,slot=2"],
      ...["-device", "cxl-rp,port=1,bus=cxl.1,id=rp1,chassis=0,slot=3"],
      ...["-device", "cxl-type3,bus=rp0,memdev=cxl0,lsa=lsa0,id=cxl-pmem0,sn=0xc1e0001"],
      ...["-M", "cxl-fmw.0.targets.0=cxl.1,cxl-fmw.0.size=4G"],
    ],
    files: { cxl0: 512, lsa0: 2 },
  },

  /**
   * Two expanders of 512 MiB, volatile and of one size, behind a host bridge each: a window over both, so that a region can be
   * interleaved over them. The processor hides that it is virtual: Linux makes a region only where it may empty the caches of
   * all processors, which it takes no guest to be able to (cpu_cache_has_invalidate_memregion in arch/x86/mm/pat/set_memory.c).
   * So nothing that runs here may be taken for a measurement: cases provision, and train nothing.
   */
  "cxl-volatile": {
    newer: true,
    hidden: true,
    machine: () => [
      ...["-machine", "q35,cxl=on", "-smp", "2", "-m", "1536M,slots=4,maxmem=16G"],
      ...[0, 1].flatMap((n) => [
        ...ram(`cxl${n}`, 512),
        ...["-device", `pxb-cxl,bus_nr=${12 + 100 * n},bus=pcie.0,id=cxl.${n}`],
        ...["-device", `cxl-rp,port=${n},bus=cxl.${n},id=rp${n},chassis=0,slot=${2 + n}`],
        ...["-device", `cxl-type3,bus=rp${n},volatile-memdev=cxl${n},id=cxl-vmem${n},sn=0xc1e000${2 + n}`],
      ]),
      ...["-M", "cxl-fmw.0.targets.0=cxl.0,cxl-fmw.0.targets.1=cxl.1,cxl-fmw.0.size=4G"],
    ],
  },

  /** 1 GiB of DRAM that the kernel is told to take for PMEM. q35 has memory beyond 2 GiB at 4 GiB. */
  memmap: { machine: () => ["-machine", "q35", "-smp", "2", "-m", "3072M"], kernelOptions: "memmap=1G!4G" },

  /** A cloud machine whose node 1 is memory without processors. */
  re7p: { machine: NODE_WITHOUT_CPUS },

  /** The same, with all of node 1 taken for PMEM. */
  "re7p-memmap": { machine: NODE_WITHOUT_CPUS, kernelOptions: "memmap=1G!4G" },

  /** A virtio-pmem device: DAX without MAP_SYNC. */
  "virtio-pmem": {
    machine: (folder) => [
      ...["-machine", "q35", "-smp", "2", "-m", "1536M,slots=4,maxmem=8G"],
      ...backend(folder, "vp0", 512),
      ...["-device", "virtio-pmem-pci,memdev=vp0,id=vp,bus=pcie.0"],
    ],
    files: { vp0: 512 },
  },

  /** Xeon Max in flat mode, as firmware shows it: node 1 has no processors, and four times DRAM's bandwidth. */
  hbm: {
    machine: () => [
      ...["-machine", "q35,hmat=on", "-smp", "2", "-m", "1536M"],
      ...ram("ram0", 1024),
      ...ram("ram1", 512),
      ...numa("node,nodeid=0,memdev=ram0,cpus=0-1,initiator=0", "node,nodeid=1,memdev=ram1,initiator=0"),
      ...numa("dist,src=0,dst=1,val=20"),
      ...([[0, 100, 100], [1, 130, 400]] as const).flatMap(([target, nanoseconds, gigabytes]) => {
        const about = `hmat-lb,initiator=0,target=${target},hierarchy=memory,data-type=access`;
        return numa(`${about}-latency,latency=${nanoseconds}`, `${about}-bandwidth,bandwidth=${gigabytes}G`);
      }),
    ],
  },

  /** An HMAT: latency and bandwidth of three nodes, memory-side caches as in Memory Mode, and an NVDIMM. */
  hmat: {
    machine: (folder) => [
      ...["-machine", "q35,nvdimm=on,hmat=on", "-smp", "2,sockets=2", "-m", "1536M,slots=4,maxmem=16G"],
      ...ram("ram0", 1024),
      ...ram("ram1", 512),
      ...numa(
        "node,nodeid=0,memdev=ram0,cpus=0-1",
        "node,nodeid=1,memdev=ram1,initiator=0",
        "node,nodeid=2,initiator=0",
      ),
      ...numa("dist,src=0,dst=1,val=20", "dist,src=0,dst=2,val=17", "dist,src=1,dst=2,val=28"),
      ...([[0, 80, 100], [1, 250, 30], [2, 300, 7]] as const).flatMap(([target, nanoseconds, gigabytes]) => {
        const about = `hmat-lb,initiator=0,target=${target},hierarchy=memory,data-type=access`;
        return numa(`${about}-latency,latency=${nanoseconds}`, `${about}-bandwidth,bandwidth=${gigabytes}G`);
      }),
      ...([[0, 64], [1, 256]] as const).flatMap(([node, mebibytes]) =>
        numa(`hmat-cache,node-id=${node},size=${mebibytes}M,level=1,associativity=direct,policy=write-back,line=64`)
      ),
      ...nvdimm(folder, 0, 2),
    ],
    files: { nv0: NVDIMM_FILE },
  },
};
