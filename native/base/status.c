/* status.c - how the library says what went wrong: a status and a message written into the caller's buffer. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int32_t ts_fail(ts_err err, int32_t status, const char *format, ...) {
  if (err.text != NULL && err.cap > 0) {
    va_list args;
    va_start(args, format);
    vsnprintf(err.text, err.cap, format, args);
    va_end(args);
  }
  return status;
}

uint32_t ts_abi_version(void) { return TS_ABI_VERSION; }

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define COMPILER "gcc " STRING(__GNUC__) "." STRING(__GNUC_MINOR__) "." STRING(__GNUC_PATCHLEVEL__)
#endif

int32_t ts_version(char *out, uint64_t cap, uint64_t *needed) {
  ts_text text = {0};
  ts_text_add(&text, "0.2.0 (%s)", COMPILER);
  return ts_text_return(&text, out, cap, needed);
}

int32_t ts_status_name(int32_t status, char *out, uint64_t cap, uint64_t *needed) {
  static const char *const names[] = {"TS_OK",     "TS_EINVAL",  "TS_ENOMEM",    "TS_EFULL",
                                      "TS_EUNAVAILABLE", "TS_EIO", "TS_EFORMAT", "TS_ECANCELLED",
                                      "TS_ERANGE", "TS_EUNSUPPORTED", "TS_EINTERNAL", "TS_EDIVERGED"};
  if (status > 0 || status < TS_EDIVERGED) return TS_EINVAL;
  ts_text text = {0};
  ts_text_add(&text, "%s", names[-status]);
  return ts_text_return(&text, out, cap, needed);
}
