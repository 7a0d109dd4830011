/* The machine probe on captured trees (test/fixtures/machine) and on this machine. Run in native/. */
#include "machine/machine.h"
#include "test/check.h"
#include "test/tree.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void remove_tree(const char *root) {
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", root);
  CHECK(system(command) == 0);
}

/* The facts of a captured machine; of this one, if its name is empty. */
static char *probe(const char *tree) {
  char roots[] = "/tmp/tierstore-machine-XXXXXX", text_path[256];
  bool captured = tree[0] != '\0';
  if (captured) {
    snprintf(text_path, sizeof text_path, "../test/fixtures/machine/%s.txt", tree);
    CHECK(mkdtemp(roots) != NULL && make_tree(text_path, roots));
  }
  uint64_t needed = 0;
  CHECK(ts_machine_probe(captured ? roots : "", NULL, 0, &needed) == TS_ERANGE && needed > 1);
  /* Free memory may take one digit more by the next call. */
  char *text = malloc(needed + 1024);
  CHECK(ts_machine_probe(captured ? roots : "", text, needed + 1024, &needed) == TS_OK);
  if (captured) remove_tree(roots);
  return text;
}

static bool has(const char *text, const char *line) {
  size_t n = strlen(line);
  for (const char *at = strstr(text, line); at != NULL; at = strstr(at + 1, line))
    if ((at == text || at[-1] == '\n') && at[n] == '\n') return true;
  return false;
}

static void tree_has(const char *tree, const char *const *lines) {
  char *text = probe(tree);
  for (; *lines != NULL; lines++) {
    /* A line that begins with ! must not be there, even as a beginning. */
    if ((*lines)[0] == '!') CHECK_MSG(strstr(text, *lines + 1) == NULL, "%s: \"%s\" is there", tree, *lines + 1);
    else CHECK_MSG(has(text, *lines), "%s: \"%s\" is missing", tree, *lines);
  }
  free(text);
}

static void captured_trees(void) {
  tree_has("kmem", (const char *const[]){
                       "kernel.release=6.1.0-56-cloud-amd64", "kernel.auto_online_blocks=offline", "node.has_cpu=0-1",
                       "node.2.cpus=", "node.2.total=939524096", "node.2.tier=memory_tier22",
                       "node.2.distance=17 28 10 28", "dax.dax0.0.driver=kmem", "dax.dax0.0.target_node=2",
                       "dax.dax1.0.target_node=3", "pmem.modules=2", "dax.dax0.0.origin=pmem",
                       "dax.dax0.0.region=region0", "pmem.region0.provider=ACPI.NFIT",
                       "pmem.namespace0.0.mode=dax", "cpu.flags=avx2,clflushopt,clwb", "cpu.virtual=yes",
                       "node.2.start=4429185024", "node.2.end=5368709120", "node.0.start=0",
                       "node.0.end=805306368", "memory.ram.1.start=1048576", "memory.ram.1.end=1610452992",
                       "!memory.ram.2", "!side_cache", "!library.", "!mount.1.", "!container.", "!process.", NULL});
  tree_has("fsdax", (const char *const[]){
                        "mount.1.path=/mnt/pmem0", "mount.1.device=/dev/pmem0", "mount.1.dax=always",
                        "!cpu.packages", "!firmware.", "mount.1.writable=yes",
                        "pmem.namespace0.0.mode=memory", "pmem.namespace0.0.block=pmem0",
                        "pmem.namespace1.0.block=pmem1", "pmem.region1.available=536870912",
                        "pmem.region0.persistence_domain=memory_controller", "!pmem.namespace0.1", "!dax.", NULL});
  tree_has("side-cache", (const char *const[]){
                             "node.0.side_cache_size=67108864", "node.0.side_cache_indexing=0",
                             "node.2.read_latency_ns=300", "node.2.read_bandwidth_mb_s=7168",
                             "!node.2.side_cache", NULL});
  tree_has("cloud", (const char *const[]){"node.1.cpus=", "node.1.distance=17 10", "!dax.", "!pmem.", NULL});
  tree_has("memmap", (const char *const[]){"pmem.region0.provider=e820", "pmem.namespace0.0.block=pmem0",
                                           "mount.1.dax=always", "kernel.cmdline_memmap=memmap=1G!4G",
                                           "memory.ram.1.end=2147328000", "!memory.ram.2",
                                           "!pmem.region0.target_node", NULL});
  tree_has("cxl", (const char *const[]){"cxl.mem0.pmem_size=536870912", "cxl.mem0.ram_size=0",
                                        "cxl.region0.size=536870912", "pmem.region0.provider=CXL",
                                        "dax.dax0.0.target_node=1", "node.1.cpus=", NULL});
  tree_has("cxl-firmware", (const char *const[]){"cxl.decoder0.0.start=4294967296", "cxl.decoder0.0.size=2147483648",
                                                 "!cxl.decoder1.0", "cxl.mem0.ram_size=1073741824", "node.1.start=4294967296",
                                                 "node.1.end=5368709120", "node.1.interleave_weight=1",
                                                 "kernel.memmap_on_memory=N", "kernel.numa_demotion=true", NULL});
  tree_has("bare", (const char *const[]){
                       "memory.total=25276510208", "memory.limit=8589934592",
                       "memory.limit_source=/sys/fs/cgroup/memory/jobs/one/memory.limit_in_bytes",
                       "hugepages.transparent=madvise", "hugepages.2048kB.total=8", "hugepages.2048kB.free=6",
                       "cpu.packages=2", "cpu.package.1.cpus=1", "firmware.vendor=SeaBIOS", "firmware.version=1.16.2",
                       "firmware.date=04/01/2014",
                       "noise.steal_percent=1.00", "noise.loadavg=0.42 0.15 0.07", "noise.smt=off",
                       "cpu.flags=avx2,avx512f,avx512_bf16,clflushopt,clwb", "mount.0.path=/dev/shm", "!mount.1.",
                       "!kernel.cmdline_memmap", "!container.", "!noise.governor", "!noise.turbo", NULL});
  tree_has("user", (const char *const[]){"memory.nodes_allowed=0", "memory.lock_limit=8388608", "process.sys_nice=no",
                                         "process.sys_admin=no", "process.seccomp=filter", "!kernel.cmdline_memmap",
                                         "!memory.ram.", "!container.", NULL});
  tree_has("gpu", (const char *const[]){"gpu.card0.vendor=0x10de", "gpu.card0.driver=nvidia",
                                        "gpu.nvidia.0000:00:05.0.model=NVIDIA H200", "gpu.nvidia.nodes=1",
                                        "!gpu.card0-DP-1", "!cpu.", "!memory.", NULL});
}

static void this_machine(void) {
  char *text = probe("");
  CHECK(strstr(text, "cpu.model=") != NULL && strstr(text, "memory.total=") != NULL);
  CHECK(strstr(text, "library.libpmem.available=") != NULL && strstr(text, "library.zlib.available=") != NULL &&
        strstr(text, "library.leveldb.available=") != NULL);
  for (const char *line = text; *line != '\0';) {
    size_t n = strcspn(line, "\n");
    const char *equals = memchr(line, '=', n);
    CHECK_MSG(equals != NULL && equals > line, "\"%.*s\"", (int)n, line);
    line += n + 1;
  }
  free(text);
}

/* Writes one file of a made-up tree, with its folders. */
static void put(const char *root, const char *path, const char *bytes, size_t n) {
  char full[512];
  tree_path(root, path, full, sizeof full);
  FILE *file = fopen(full, "w");
  CHECK_MSG(file != NULL && fwrite(bytes, 1, n, file) == n, "%s", full);
  if (file != NULL) fclose(file);
}

static void containers(void) {
  static const struct {
    const char *path, *text;
    size_t length; /* 0: that of the text */
    const char *kind, *evidence;
  } signs[] = {
      {"/.dockerenv", "", 0, "container.kind=docker", "container.evidence=/.dockerenv"},
      {"/run/.containerenv", "engine=podman", 0, "container.kind=podman", "container.evidence=/run/.containerenv"},
      {"/var/run/secrets/kubernetes.io/token", "x", 0, "container.kind=kubernetes",
       "container.evidence=/var/run/secrets/kubernetes.io"},
      {"/proc/1/environ", "TERM=x\0container=lxc\0A=b", 25, "container.kind=lxc", "container.evidence=/proc/1/environ"},
      {"/run/systemd/container", "systemd-nspawn\n", 0, "container.kind=systemd-nspawn",
       "container.evidence=/run/systemd/container"},
      {"/proc/self/cgroup", "0::/kubepods.slice/kubepods-pod1.slice/cri-1.scope\n", 0, "container.kind=kubernetes",
       "container.evidence=/proc/self/cgroup"},
      {"/proc/1/cgroup", "4:memory:/docker/0123\n", 0, "container.kind=docker", "container.evidence=/proc/1/cgroup"},
      {"/proc/1/environ", "TERM=x\0mycontainer=y", 20, "container.kind=none", "container.evidence=/proc/1/environ"},
      {"/run/systemd/system/x", "", 0, "container.kind=none", "container.evidence=/run/systemd/container"},
      {"/proc/self/cgroup", "0::/\n", 0, NULL, NULL}, /* says nothing */
      {"/proc/1/environ", "", 0, NULL, NULL},
  };
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
    char root[] = "/tmp/tierstore-machine-XXXXXX";
    CHECK(mkdtemp(root) != NULL);
    put(root, signs[i].path, signs[i].text, signs[i].length > 0 ? signs[i].length : strlen(signs[i].text));
    char text[4096];
    uint64_t needed;
    CHECK(ts_machine_probe(root, text, sizeof text, &needed) == TS_OK);
    if (signs[i].kind == NULL) CHECK_MSG(strstr(text, "container.") == NULL, "%s", text);
    else CHECK_MSG(has(text, signs[i].kind) && has(text, signs[i].evidence), "%s: %s", signs[i].kind, text);
    remove_tree(root);
  }
}

/* A module of memory as SMBIOS 3.3 has it, or so many bytes of it. */
static void put_module(const char *root, int number, uint16_t mib, uint8_t type, uint16_t speed, uint16_t configured, uint32_t extended,
                       size_t length) {
  unsigned char bytes[0x5C] = {17, 0x5C};
  bytes[0x0C] = (unsigned char)mib, bytes[0x0D] = (unsigned char)(mib >> 8);
  bytes[0x12] = type;
  bytes[0x15] = (unsigned char)speed, bytes[0x16] = (unsigned char)(speed >> 8);
  bytes[0x20] = (unsigned char)configured, bytes[0x21] = (unsigned char)(configured >> 8);
  for (uint32_t i = 0; i < 4; i++) bytes[0x58 + i] = (unsigned char)(extended >> 8 * i);
  char path[128];
  snprintf(path, sizeof path, "/sys/firmware/dmi/entries/17-%d/raw", number);
  put(root, path, (const char *)bytes, length);
}

/* What firmware and kernel say that makes two machines of one processor unlike. */
static void settings(void) {
  char root[] = "/tmp/tierstore-machine-XXXXXX", text[8192];
  uint64_t needed;
  CHECK(mkdtemp(root) != NULL);
  put_module(root, 0, 32768 - 1, 0x22, 5600, 4800, 0, 0x5C); /* larger than 32 GiB: its size is elsewhere */
  put_module(root, 1, 0, 0x22, 5600, 4800, 0, 0x5C);         /* an empty slot */
  put_module(root, 2, 16384, 0x22, 5600, 4800, 0, 0x5C);
  put_module(root, 3, 16384, 0x22, 0xFFFF, 0xFFFF, 70000, 0x5C);
  put_module(root, 10, 16384, 0x1A, 3200, 0, 0, 0x1B); /* of early firmware: no configured speed */
  put_module(root, 11, 512, 0x77, 0, 0, 0, 0x5C);
  static const char info[] = "model name\t: Some CPU\nmicrocode\t: 0x2b000571\nflags\t\t: avx2\n";
  put(root, "/proc/cpuinfo", info, strlen(info));
  put(root, "/sys/devices/system/cpu/vulnerabilities/spectre_v2", "Mitigation: Retpolines\n", 23);
  put(root, "/sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n", 13);
  put(root, "/proc/self/cgroup", "1:cpu:/x\n0::/jobs/one\n", 23);
  put(root, "/sys/fs/cgroup/jobs/one/cpu.max", "max 100000\n", 11);
  put(root, "/sys/fs/cgroup/jobs/cpu.max", "150000 100000\n", 14);
  put(root, "/sys/fs/cgroup/cpu.max", "400000 100000\n", 14);
  CHECK(ts_machine_probe(root, text, sizeof text, &needed) == TS_OK);
  static const char *const lines[] = {"memory.modules=2 DDR5 at 4800 MT/s, 1 DDR5 at 70000 MT/s, 1 DDR4 at 3200 MT/s, 1 other",
                                      "cpu.microcode=0x2b000571", "cpu.mitigations.spectre_v2=Mitigation: Retpolines",
                                      "cpu.mitigations.meltdown=Not affected", "cpu.quota=1.50"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) CHECK_MSG(has(text, lines[i]), "\"%s\" is missing: %s", lines[i], text);
  put(root, "/sys/fs/cgroup/jobs/cpu.max", "max 100000\n", 11);
  put(root, "/sys/fs/cgroup/cpu.max", "max 100000\n", 11);
  CHECK(ts_machine_probe(root, text, sizeof text, &needed) == TS_OK && strstr(text, "cpu.quota") == NULL);
  remove_tree(root);
}

/* The CPUs of sockets: in the order of packages, whatever order their numbers have, without those that are offline. */
static void sockets(void) {
  static const struct {
    const char *packages[8]; /* of cpu0, cpu1, ...; NULL: offline */
    const char *lines[4];
  } machines[] = {
      {{"0", "0", "1", "1", "0", "0", "1", "1"}, {"cpu.packages=2", "cpu.package.0.cpus=0-1,4-5", "cpu.package.1.cpus=2-3,6-7"}},
      {{"3", NULL, "3", "3", NULL, NULL, NULL, "36"}, {"cpu.packages=2", "cpu.package.3.cpus=0,2-3", "cpu.package.36.cpus=7"}},
      {{"0", "-1", "0", "0", "0", "0", "0", "0"}, {"!cpu.package"}},
      {{"0", "1", "words", "0", "0", "0", "0", "0"}, {"!cpu.package"}},
  };
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
    char root[] = "/tmp/tierstore-machine-XXXXXX", text[4096];
    CHECK(mkdtemp(root) != NULL);
    put(root, "/sys/devices/system/cpu/cpufreq/boost", "0\n", 2);
    for (int cpu = 0; cpu < 8; cpu++) {
      const char *id = machines[i].packages[cpu];
      char path[128];
      snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", cpu,
               id == NULL ? "uevent" : "topology/physical_package_id");
      put(root, path, id == NULL ? "" : id, id == NULL ? 0 : strlen(id));
    }
    uint64_t needed;
    CHECK(ts_machine_probe(root, text, sizeof text, &needed) == TS_OK);
    for (const char *const *line = machines[i].lines; *line != NULL; line++) {
      if ((*line)[0] == '!') CHECK_MSG(strstr(text, *line + 1) == NULL, "%zu: %s", i, text);
      else CHECK_MSG(has(text, *line), "%zu: \"%s\" is missing: %s", i, *line, text);
    }
    remove_tree(root);
  }
}

/* How many names a folder has. */
static int names_in(const char *path) {
  int count = 0;
  DIR *folder = opendir(path);
  for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

static void verified_folders(void) {
  char root[] = "/tmp/tierstore-verify-XXXXXX", text[4096], message[256];
  uint64_t needed = 0;
  unsetenv("PMEM_IS_PMEM_FORCE");
  CHECK(mkdtemp(root) != NULL);
  CHECK(ts_machine_verify_dax(root, text, sizeof text, &needed, message, sizeof message) == TS_OK);
  CHECK(needed == strlen(text) + 1);
  CHECK(has(text, "file.created=yes") && has(text, "file.removed=yes") && has(text, "folder.mode=0700") &&
        strstr(text, "map.faults=") != NULL);
  if (has(text, "pmem.library=yes")) {
    CHECK(has(text, "persist.bytes=1048576") && has(text, "persist.read_back=yes") && has(text, "pmem.map_file=yes") &&
          has(text, "pmem.aligned_2m=yes"));
    CHECK(has(text, "map_sync=yes") == has(text, "pmem.map_file_is_pmem=yes"));
  } else CHECK(has(text, "pmem.library=no") && strstr(text, "pmem.error=") != NULL);
  CHECK(has(text, "map_sync=yes") || strstr(text, "map_sync.error=") != NULL);
  CHECK(strstr(text, "map.page_size=") != NULL && strstr(text, "pmem.force=") == NULL);
  CHECK(names_in(root) == 0);
  /* Where no file can be made, the reason is among the facts and nothing is claimed. */
  CHECK(ts_machine_verify_dax("/proc", text, sizeof text, &needed, message, sizeof message) == TS_OK);
  CHECK(has(text, "file.created=no") && strstr(text, "file.error=") != NULL && strstr(text, "map_sync") == NULL);
  CHECK(ts_machine_verify_dax(root, text, 4, &needed, message, sizeof message) == TS_ERANGE && needed > 4);
  CHECK(names_in(root) == 0);
  CHECK(rmdir(root) == 0);
  CHECK(ts_machine_verify_dax(root, text, sizeof text, &needed, message, sizeof message) == TS_EINVAL);
  CHECK_MSG(strstr(message, "No such file") != NULL, "%s", message);
  CHECK(ts_machine_verify_dax("/proc/version", text, sizeof text, &needed, message, sizeof message) == TS_EINVAL);
  CHECK_MSG(strstr(message, "not a directory") != NULL, "%s", message);
  CHECK(ts_machine_verify_dax("", text, sizeof text, &needed, NULL, 0) == TS_EINVAL);
  CHECK(ts_machine_verify_dax(NULL, text, sizeof text, &needed, NULL, 0) == TS_EINVAL);
}

/* libpmem reads the variable once a process, so this is a program of its own. */
static int forced_folder(void) {
  char text[4096], message[256];
  uint64_t needed = 0;
  CHECK(ts_machine_verify_dax("/tmp", text, sizeof text, &needed, message, sizeof message) == TS_OK);
  CHECK(has(text, "pmem.force=1"));
  CHECK(has(text, "pmem.library=no") || (has(text, "pmem.is_pmem=yes") && has(text, "persist.by=pmem_persist")));
  return test_result();
}

static void verified_nodes(const char *self) {
  char text[4096], message[512], command[512];
  uint64_t needed = 0;
  int32_t status = ts_machine_verify_node(0, text, sizeof text, &needed, message, sizeof message);
  if (status == TS_OK) {
    /* A filter of a container engine may refuse the policy; then the pages are on no node for certain. */
    CHECK(strstr(text, "node.cpus=") != NULL && strstr(text, "node.total=") != NULL);
    CHECK(has(text, "bind.allowed=no") || strstr(text, "bind.error=too little") != NULL ||
          (has(text, "bind.pages=0:2048") && has(text, "bind.landed=yes")) ||
          strstr(text, "bind.move_pages_error=") != NULL);
  } else CHECK_MSG(status == TS_EUNAVAILABLE, "%s", message);
  CHECK(ts_machine_verify_node(1023, text, sizeof text, &needed, message, sizeof message) == TS_EUNAVAILABLE);
  CHECK_MSG(strstr(message, "node 1023") != NULL, "%s", message);
  CHECK(ts_machine_verify_node(1024, text, sizeof text, &needed, message, sizeof message) == TS_EINVAL);
  CHECK(ts_machine_verify_node(0, text, sizeof text, NULL, message, sizeof message) == TS_EINVAL);
  snprintf(command, sizeof command, "PMEM_IS_PMEM_FORCE=1 %s forced", self);
  CHECK(system(command) == 0);
}

static void nothing_there(void) {
  char out[64] = "x";
  uint64_t needed = 0;
  CHECK(ts_machine_probe("/nowhere", out, sizeof out, &needed) == TS_OK && needed == 1 && out[0] == '\0');
}

static void lists_and_fields(void) {
  CHECK(ts_list_count("0-3,8") == 5 && ts_list_count("") == 0 && ts_list_count("7") == 1 && ts_list_count("4-2") == 0);
  uint64_t n = 0;
  CHECK(ts_field_u64("MemTotal:   12 kB\n", "MemTotal:", &n) && n == 12);
  CHECK(!ts_field_u64("MemTotal: kB", "MemTotal:", &n) && !ts_field_u64("", "MemFree:", &n));
}

int main(int count, char **words) {
  if (count > 1) return forced_folder();
  captured_trees();
  containers();
  settings();
  sockets();
  verified_folders();
  verified_nodes(words[0]);
  this_machine();
  nothing_there();
  lists_and_fields();
  return test_result();
}
