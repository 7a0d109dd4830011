/* The machine probe on captured trees (test/fixtures/machine) and on this machine. Run in native/. */
#include "machine/machine.h"
#include "test/check.h"

#include <stdlib.h>
#include <string.h>

static char *probe(const char *tree) {
  char roots[256] = "";
  if (tree[0] != '\0') snprintf(roots, sizeof roots, "../test/fixtures/machine/%s", tree);
  uint64_t needed = 0;
  CHECK(ts_machine_probe(roots, NULL, 0, &needed) == TS_ERANGE && needed > 1);
  /* Free memory may take one digit more by the next call. */
  char *text = malloc(needed + 1024);
  CHECK(ts_machine_probe(roots, text, needed + 1024, &needed) == TS_OK);
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
                       "!side_cache", "!library.", "!mount.1.", NULL});
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
                                           "mount.1.dax=always", "!pmem.region0.target_node", NULL});
  tree_has("cxl", (const char *const[]){"cxl.mem0.pmem_size=536870912", "cxl.mem0.ram_size=0",
                                        "cxl.region0.size=536870912", "pmem.region0.provider=CXL",
                                        "dax.dax0.0.target_node=1", "node.1.cpus=", NULL});
  tree_has("bare", (const char *const[]){
                       "memory.total=25276510208", "memory.limit=8589934592",
                       "memory.limit_source=/sys/fs/cgroup/memory/jobs/one/memory.limit_in_bytes",
                       "hugepages.transparent=madvise", "hugepages.2048kB.total=8", "hugepages.2048kB.free=6",
                       "cpu.packages=2", "firmware.vendor=SeaBIOS", "firmware.version=1.16.2",
                       "firmware.date=04/01/2014",
                       "noise.steal_percent=1.00", "noise.loadavg=0.42 0.15 0.07", "noise.smt=off",
                       "cpu.flags=avx2,avx512f,avx512_bf16,clflushopt,clwb", "mount.0.path=/dev/shm", "!mount.1.",
                       "!noise.governor", "!noise.turbo", NULL});
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

int main(void) {
  captured_trees();
  this_machine();
  nothing_there();
  lists_and_fields();
  return test_result();
}
