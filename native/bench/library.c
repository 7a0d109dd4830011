/* library.c - opens libtierstore by path. */
#include "library.h"

#include <dlfcn.h>
#include <string.h>

void *bench_library_open(const char *path, char *error) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    bench_fail(error, "Cannot open the library: %s", dlerror());
    return NULL;
  }
  __typeof__(ts_abi_version) *version = (__typeof__(ts_abi_version) *)bench_library_function(library, "ts_abi_version", error);
  if (version == NULL) return NULL;
  if (version() == TS_ABI_VERSION) return library;
  bench_fail(error, "Cannot use \"%s\": its ABI version is %u, expected %u", path, version(), TS_ABI_VERSION);
  return NULL;
}

void *bench_library_function(void *library, const char *name, char *error) {
  void *function = dlsym(library, name);
  if (function == NULL) bench_fail(error, "Cannot use the library: it has no %s", name);
  return function;
}

bool bench_configure(__typeof__(ts_config_set) *set, const bench_options *options, const char *prefix, ts_config *config,
                     char *error) {
  size_t length = strlen(prefix);
  for (unsigned i = 0; i < options->count; i++) {
    if (strncmp(options->words[i], prefix, length) != 0) continue;
    char name[128];
    const char *equals = strchr(options->words[i], '=');
    if (equals == NULL || (size_t)(equals - options->words[i]) - length >= sizeof name)
      return bench_fail(error, "Cannot read the option \"%s\": expected name=value", options->words[i]);
    snprintf(name, sizeof name, "%.*s", (int)(equals - options->words[i] - (long)length), options->words[i] + length);
    if (set(config, name, equals + 1, error, BENCH_TEXT) != TS_OK) return false;
  }
  return true;
}
