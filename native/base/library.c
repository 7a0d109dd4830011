/* library.c - optional system libraries, opened when first needed, so that one build runs everywhere and each part
 * can say what it lacks. */
#include "base/base.h"

#include <dlfcn.h>

int32_t ts_library_open(const char *const *sonames, const char *package, void **handle, ts_err err) {
  const char *why = "no name given";
  for (uint32_t i = 0; sonames[i] != NULL; i++) {
    *handle = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
    if (*handle != NULL) return TS_OK;
    why = dlerror();
  }
  return ts_fail(err, TS_EUNAVAILABLE, "Cannot open %s: %s; install the package %s", sonames[0], why, package);
}

int32_t ts_library_symbols(void *handle, const char *library, const ts_symbol *symbols, ts_err err) {
  for (uint32_t i = 0; symbols[i].name != NULL; i++) {
    *symbols[i].address = dlsym(handle, symbols[i].name);
    if (*symbols[i].address == NULL)
      return ts_fail(err, TS_EUNAVAILABLE, "Cannot use %s: it has no symbol \"%s\"; another version is needed", library,
                     symbols[i].name);
  }
  return TS_OK;
}
