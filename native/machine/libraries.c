/* libraries.c - which optional system libraries this process can open, and their versions where they tell. The loader's
 * own words are kept when one is missing. Opened libraries stay open: some do not survive being unloaded. */
#include "machine/machine.h"

#include <dlfcn.h>
#include <stdio.h>

typedef void (*version_writer)(void *handle, char *out, size_t cap);

/* pmem_check_version(major, minor) returns NULL while the library is at least that new, or a message: the highest minor
 * number it accepts is its interface version. */
static void pmem_version(void *handle, char *out, size_t cap) {
  const char *(*check)(unsigned, unsigned) = NULL;
  *(void **)&check = dlsym(handle, "pmem_check_version");
  if (check == NULL || check(1, 0) != NULL) return;
  unsigned minor = 0;
  while (minor < 100 && check(1, minor + 1) == NULL) minor++;
  snprintf(out, cap, "interface 1.%u", minor);
}

/* major x 1,000,000 + minor x 1,000 + patch. */
static void memkind_version(void *handle, char *out, size_t cap) {
  int (*version)(void) = NULL;
  *(void **)&version = dlsym(handle, "memkind_get_version");
  if (version == NULL) return;
  int v = version();
  snprintf(out, cap, "%d.%d.%d", v / 1000000, v / 1000 % 1000, v % 1000);
}

/* dnnl_version_t begins with three ints: major, minor, patch. */
static void dnnl_version(void *handle, char *out, size_t cap) {
  const int *(*version)(void) = NULL;
  *(void **)&version = dlsym(handle, "dnnl_version");
  const int *v = version == NULL ? NULL : version();
  if (v != NULL) snprintf(out, cap, "%d.%d.%d", v[0], v[1], v[2]);
}

/* Two functions of the C interface, major and minor. */
static void leveldb_version(void *handle, char *out, size_t cap) {
  int (*major)(void) = NULL, (*minor)(void) = NULL;
  *(void **)&major = dlsym(handle, "leveldb_major_version");
  *(void **)&minor = dlsym(handle, "leveldb_minor_version");
  if (major != NULL && minor != NULL) snprintf(out, cap, "%d.%d", major(), minor());
}

static void zlib_version(void *handle, char *out, size_t cap) {
  const char *(*version)(void) = NULL;
  *(void **)&version = dlsym(handle, "zlibVersion");
  if (version != NULL) snprintf(out, cap, "%s", version());
}

void ts_probe_libraries(ts_probe *probe) {
  if (probe->roots[0] != '\0') return;
  static const struct {
    const char *name, *package;
    const char *sonames[3];
    version_writer version;
  } libraries[] = {{"libpmem", "libpmem1", {"libpmem.so.1", NULL, NULL}, pmem_version},
                   {"memkind", "libmemkind0", {"libmemkind.so.0", NULL, NULL}, memkind_version},
                   {"libnuma", "libnuma1", {"libnuma.so.1", NULL, NULL}, NULL},
                   {"libdnnl", "libdnnl2", {"libdnnl.so.2", "libdnnl.so.3", NULL}, dnnl_version},
                   {"leveldb", "libleveldb1d", {"libleveldb.so.1d", "libleveldb.so.1", NULL}, leveldb_version},
                   {"zlib", "zlib1g", {"libz.so.1", NULL, NULL}, zlib_version}};
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    const char *name = libraries[i].name;
    char message[512] = "", version[64] = "";
    void *handle = NULL;
    int32_t status =
        ts_library_open(libraries[i].sonames, libraries[i].package, &handle, (ts_err){message, sizeof message});
    ts_probe_fact(probe, status == TS_OK ? "yes" : "no", "library.%s.available", name);
    if (status != TS_OK) {
      ts_probe_fact(probe, message, "library.%s.error", name);
      continue;
    }
    if (libraries[i].version != NULL) libraries[i].version(handle, version, sizeof version);
    if (version[0] != '\0') ts_probe_fact(probe, version, "library.%s.version", name);
  }
}
