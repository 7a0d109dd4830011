/* machine.h - what this machine is and can do, read from /proc, /sys and /dev, one file an idea.
 *
 * The answer is text, one fact a line, "key=value". A fact that cannot be read is absent, never guessed. Sizes are
 * bytes unless the key says otherwise. <n> are the kernel's own numbers and names.
 *
 * kernel.release, kernel.auto_online_blocks (what the kernel does with hot-plugged memory: offline | online | ...),
 *   kernel.numa_demotion (true | false), kernel.memmap_on_memory (Y | N | force), kernel.cmdline_memmap (the memmap= options of the kernel's command line, in
 *   their order, separated by spaces)
 * cpu.model, cpu.online and cpu.allowed (lists like 0-3,8), cpu.online_count, cpu.allowed_count (what this process may
 *   use), cpu.packages (processor sockets with CPUs that are online), cpu.package.<id>.cpus (the CPUs of a socket that are
 *   online, a list; NUMA nodes are not sockets), cpu.flags (those of avx2 avx512f avx512_bf16 clflushopt clwb that are
 *   there, comma-separated), cpu.virtual (yes | no: the CPU says that a hypervisor runs it), cpu.microcode (its revision),
 *   cpu.mitigations.<name> (what the kernel does against a weakness of the processor, or "Not affected"), cpu.quota
 *   (processors' worth of time that the control groups of version 2 allow, "1.50"; absent without a limit)
 * memory.modules (DMI, for root alone: "8 DDR5 at 4800 MT/s"), memory.total, memory.available, memory.swap_total, memory.limit and memory.limit_source (the tightest cgroup)
 * memory.ram.<i>.start, .end (physical addresses of System RAM in /proc/iomem; absent for users who are not root, to
 *   whom the kernel shows zeros), memory.nodes_allowed (NUMA nodes this process may use, a list), memory.lock_limit
 *   (bytes it may lock, or "unlimited")
 * container.kind (docker | podman | kubernetes | lxc | systemd-nspawn | what process 1 calls it | none; absent where
 *   nothing says that there is none), container.evidence (the file that says so)
 * process.sys_nice, process.sys_admin (yes | no: the capabilities; container engines allow mbind and move_pages with
 *   the first), process.seccomp (off | strict | filter)
 * hugepages.transparent, hugepages.defrag (the chosen word), hugepages.<k>kB.total, .free (pages)
 * node.online, node.has_cpu, node.has_memory (lists); node.<n>.cpus (empty: no CPUs), .total, .free, .distance,
 *   .start, .end (physical addresses of its memory blocks), .tier (the kernel's memory tier), .interleave_weight,
 *   .read_latency_ns, .write_latency_ns, .read_bandwidth_mb_s, .write_bandwidth_mb_s
 *   (HMAT and CDAT, from the nearest CPUs), .side_cache_size, .side_cache_line, .side_cache_indexing (0 direct-mapped,
 *   1 complex, 2 other), .side_cache_write_policy (0 write-back, 1 write-through)
 * pmem.<regionN>.provider (ACPI.NFIT, CXL, e820, virtio-pmem, ...), .size, .available, .persistence_domain, .numa_node,
 *   .target_node; pmem.<namespaceN.M>.region, .mode (raw, memory = fsdax, dax = devdax, safe = sector), .size, .block;
 *   pmem.modules (how many DIMMs the kernel lists, whatever their mode)
 * dax.<daxN.M>.driver (kmem: it is memory of a NUMA node; device_dax: it is /dev/daxN.M), .size, .target_node,
 *   .numa_node, .origin (pmem | cxl | hmem), .region
 * mount.<i>.path, .device, .filesystem, .dax (always | inode | never | dax), .writable (yes | no), .size, .free: mounts
 *   with a dax option, mounts of PMEM block devices, and the tmpfs at /dev/shm
 * cxl.<memN>.pmem_size, .ram_size, .numa_node, .serial, .firmware_version; cxl.<regionN>.start, .size, .mode;
 * cxl.<decoderN.M>.start, .size (windows of the root; .start for root alone)
 * firmware.vendor, firmware.version, firmware.date (DMI: the BIOS)
 * gpu.<cardN>.vendor, .device (PCI numbers), .driver; gpu.nvidia.version; gpu.nvidia.<address>.model; gpu.nvidia.nodes
 *   (number of /dev/nvidiaN)
 * noise.governor, noise.turbo (on | off), noise.smt (on | off), noise.steal_percent (of CPU time since boot),
 *   noise.loadavg (1, 5, 15 minutes), noise.vendor, noise.product (DMI), noise.clocksource, noise.numa_balancing
 * An end is the first byte behind a range.
 * library.<name>.available (yes | no), .version (what the library says), .error (what the loader says), for libpmem,
 *   memkind, libnuma, libdnnl, zlib. Not with a prefix: they belong to this process, not to a captured tree. */
#ifndef TS_MACHINE_H
#define TS_MACHINE_H

#include "base/base.h"

typedef struct ts_probe {
  const char *roots; /* put before every path */
  ts_text text;
} ts_probe;

/* ---- reading (files.c) ---- */

/* Adds "key=value" without control characters; the key is a format. */
void ts_probe_fact(ts_probe *probe, const char *value, const char *key, ...) __attribute__((format(printf, 3, 4)));
void ts_probe_number(ts_probe *probe, uint64_t value, const char *key, ...) __attribute__((format(printf, 3, 4)));
/* First line of a file without its end; false if it cannot be read. The path is a format. */
bool ts_probe_line(const ts_probe *probe, char *out, size_t cap, const char *path, ...)
    __attribute__((format(printf, 4, 5)));
/* Whole text of a file (at most 4 MiB), or NULL; the caller frees it. */
char *ts_probe_text(const ts_probe *probe, const char *path, ...) __attribute__((format(printf, 2, 3)));
/* The same for files that may hold NULs; *length leaves out the one that is added. */
char *ts_probe_bytes(const ts_probe *probe, size_t *length, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
/* Whether a path exists and can be reached. */
bool ts_probe_there(const ts_probe *probe, const char *path);
/* A file's first line as the fact `key`. */
void ts_probe_copy(ts_probe *probe, const char *key, const char *path);
/* Where a path really leads, with the roots still before it; false if nowhere. out has PATH_MAX bytes. */
bool ts_probe_real(const ts_probe *probe, char *out, const char *path, ...) __attribute__((format(printf, 3, 4)));
/* Names in a directory that start with `prefix`, in natural order. */
typedef struct ts_names {
  char **names;
  uint32_t count;
} ts_names;
ts_names ts_probe_names(const ts_probe *probe, const char *prefix, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
void ts_names_free(ts_names *names);
/* The unsigned number after `label` in a text like /proc/meminfo ("MemTotal:  123 kB"); false if it is not there. */
bool ts_field_u64(const char *text, const char *label, uint64_t *out);
/* How many numbers a list like "0-3,8" names. */
uint32_t ts_list_count(const char *list);

/* ---- one idea each ---- */

void ts_probe_cpu(ts_probe *probe);
void ts_probe_memory(ts_probe *probe);
void ts_probe_modules(ts_probe *probe);
void ts_probe_ranges(ts_probe *probe);
void ts_probe_container(ts_probe *probe);
void ts_probe_permissions(ts_probe *probe);
void ts_probe_numa(ts_probe *probe);
void ts_probe_pmem(ts_probe *probe);
void ts_probe_dax(ts_probe *probe);
void ts_probe_mounts(ts_probe *probe);
void ts_probe_cxl(ts_probe *probe);
void ts_probe_gpu(ts_probe *probe);
void ts_probe_noise(ts_probe *probe);
void ts_probe_libraries(ts_probe *probe);

#endif
